"""Every public name has a docstring with typed parameters and their defaults, what it returns, an example and its references."""

from __future__ import annotations

import ast
import builtins
import doctest
import inspect
import re
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, Literal, NamedTuple

import pytest

import naivete
from naivete import evaluation
from naivete.classifiers.registry import REGISTRY
from naivete.errors import NaiveteError
from naivete.evaluation import measures, statistics
from naivete.network import conversions

NAMES = [name for name in naivete.__all__ if name != "__version__"]
FROM_PAPERS = {
    *(entry.name for entry in REGISTRY),
    *("Backoff", "ClarkNiblett", "InfoSelector", "JunctionTree", "K2Selector", "Loss", "LossAware", "MEstimate", "NaiveSelector"),
    *("Questionnaire", "diagnose", "expected_network", "mdl"),
}
TITLE = re.compile(r"^([A-Z][a-z]+(?: [A-Z][a-z]+)?)\n-+\n", re.MULTILINE)
ORDER = ["Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns", "See Also", "Notes", "References", "Examples"]


class Public(NamedTuple):
    """A public name: a function, a class, or a function, property or class method of a public class."""

    name: str
    value: Any
    property: bool = False


def members(cls: type[Any]) -> Iterator[Public]:
    for name in dir(cls):
        member = inspect.getattr_static(cls, name)
        getter = getattr(member, "fget", None) or getattr(member, "func", None)
        function = getattr(member, "__func__", getter or member)
        if not name.startswith("_") and inspect.isfunction(function) and function.__module__.startswith("naivete."):
            yield Public(function.__qualname__, function, isinstance(member, (property, cached_property)))


def with_members(values: Iterable[Any]) -> dict[str, Public]:
    """Return functions and classes, and the methods of the classes; a method that many classes inherit is there once."""
    public = [Public(value.__name__, value) for value in values]
    return {
        each.name: each for each in [*public, *(m for each in public if inspect.isclass(each.value) for m in members(each.value))]
    }


PUBLIC = with_members(getattr(naivete, name) for name in NAMES)
BESIDE = with_members(
    getattr(import_module(f"naivete.{module}"), name)
    for module, names in {
        "classifiers.predicting": ["Posteriors"],
        "classifiers.questionnaire": ["Answer"],
        "classifiers.questions": ["Question", "Questions"],
        "classifiers.reasons": ["Flip", "SufficientReason"],
        "classifiers.row_predictor": ["RowPredictor"],
        "classifiers.table_frames": ["TableFrames"],
        "counts.scores": ["BDeu", "aic", "bic", "k2", "score_of"],
        "data.files": ["read_arff", "read_csv", "read_parquet", "write_arff", "write_csv", "write_parquet"],
        "data.files.opening": ["Limits"],
        "data.generated": ["corral", "led7"],
        "display.explanation_text": ["Contribution"],
        "display.heatmap": ["Heatmap", "Panel"],
        "display.importance": ["Importance"],
        "display.network_drawing": ["svg"],
        "display.nomogram": ["Nomogram", "Scale"],
        "display.rules": ["rules"],
        "evaluation": [name for name in evaluation.__all__ if name not in ("Progress", "Protocol")],
        "evaluation.diagnosis.report": ["Case", "Diagnosis", "Summary"],
        "evaluation.diagram": ["critical_difference_diagram"],
        "evaluation.measures": [name for name in measures.__all__ if name != "LEAST"],
        "evaluation.statistics": statistics.__all__,
        "inference.em_steps": ["Convergence"],
        "inference.junction.evidence": ["Evidence"],
        "inference.log_odds": ["Attribution"],
        "inference.queries": ["MostProbable", "log_likelihoods", "posteriors"],
        "network.conversions": conversions.__all__,
        "network.formats": ["dumps", "loads"],
        "network.graphs": ["cpdag", "d_separated", "equivalent", "markov_blanket"],
        "network.smoothing": ["Context"],
    }.items()
    for name in names
)
"""What public functions and methods return, and the functions for experiments and other libraries; all but the examples is checked."""


def sections(docstring: str) -> dict[str, str]:
    start, *parts = TITLE.split(inspect.cleandoc(docstring))
    return {"": start, **dict(zip(parts[::2], parts[1::2], strict=True))}


def entries(section: str) -> dict[str, tuple[str, str]]:
    """Return the type and the description of every name in a section; a name that is there twice is an error."""
    texts = [entry.partition("\n") for entry in re.split(r"\n(?=\S)", section.strip("\n")) if entry]
    described = [
        (name.strip(), (head.partition(" : ")[2], inspect.cleandoc(text)))
        for head, _, text in texts
        for name in head.partition(" : ")[0].split(",")
    ]
    assert len(dict(described)) == len(described), "a name is described twice"
    return dict(described)


def defaults(value: Any) -> dict[str, Any]:
    """Return the default of every parameter, `inspect.Parameter.empty` where it has none; names with their stars."""
    exception = inspect.isclass(value) and issubclass(value, (NaiveteError, Warning))
    if exception and "__init__" not in vars(value):
        return {}
    parameters = inspect.signature(value).parameters.values()
    made = {
        field.name: field.default_factory()
        for field in (fields(value) if is_dataclass(value) else ())
        if field.default_factory is not MISSING
    }
    stars: dict[Any, str] = {inspect.Parameter.VAR_KEYWORD: "**", inspect.Parameter.VAR_POSITIONAL: "*"}
    return {stars.get(p.kind, "") + p.name: made.get(p.name, p.default) for p in parameters if p.name not in ("self", "cls")}


def unbound(docstring: str) -> set[str]:
    """Return the names that the examples use without importing or binding them."""
    nodes = list(ast.walk(ast.parse("".join(example.source for example in doctest.DocTestParser().get_examples(docstring)))))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    bound = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    bound |= {
        alias.asname or alias.name for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom)) for alias in node.names
    }
    bound |= {node.name for node in nodes if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.ExceptHandler)) and node.name}
    bound |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    return {node.id for node in names} - bound - set(dir(builtins))


def problems(each: Public) -> Iterator[str]:
    """Yield what is wrong with the docstring of a public name."""
    docstring = each.value.__doc__
    if not docstring:
        yield "no docstring"
        return
    parts = sections(docstring)
    summary, _, rest = parts[""].partition("\n")
    if not summary.endswith("."):
        yield f"the summary is not one line that ends with a period: {summary!r}"
    if rest and not rest.startswith("\n"):
        yield "the summary is not followed by an empty line"
    titles = [title for title in parts if title]
    if titles != [title for title in ORDER if title in titles]:
        yield f"sections {titles} are unknown or not in the order {ORDER}"
    if ">>>" in "".join(text for title, text in parts.items() if title != "Examples"):
        yield "an example outside the section Examples"
    if unbound(docstring):
        yield f"the examples do not import {unbound(docstring)}"
    if not each.property:
        yield from _problems_of_parameters(each.value, entries(parts.get("Parameters", "")))
        yield from _problems_of_results(each.value, parts)
    for name, (kind, text) in entries(parts.get("Attributes", "")).items():
        if not kind or not text:
            yield f"attribute {name}: no type or no description"


def _problems_of_parameters(value: Any, described: dict[str, tuple[str, str]]) -> Iterator[str]:
    expected = defaults(value)
    annotations = inspect.get_annotations(value.__init__ if inspect.isclass(value) else value)
    if list(described) != list(expected):
        yield f"parameters {list(described)} are described where the signature has {list(expected)}"
    for name, (kind, text) in described.items():
        declared, _, default = kind.partition("default=")
        if not declared.strip(" ,"):
            yield f"parameter {name}: no type"
        if not re.match(r"[^a-z]|log P", text) or not text.endswith("."):
            yield f"parameter {name}: the description is no sentence: {text!r}"
        if text.lower().startswith(f"{declared.strip(' ,').lower()} "):
            yield f"parameter {name}: the description repeats the type: {text!r}"
        for choice in re.findall(r"['\"][\w-]+['\"]", str(annotations.get(name, "")).replace("'", '"')):
            if choice not in declared:
                yield f"parameter {name}: the value {choice} of its annotation is not in the type {declared!r}"
        actual = expected.get(name, inspect.Parameter.empty)
        if (actual is inspect.Parameter.empty) != (not default):
            yield f"parameter {name}: default={default!r} is described where the signature has {actual!r}"
        elif default and eval(default, inspect.getmodule(value).__dict__) != actual:
            yield f"parameter {name}: default={default} is described where the signature has {actual!r}"


def _problems_of_results(value: Any, parts: dict[str, str]) -> Iterator[str]:
    if inspect.isclass(value):
        return
    returned = str(inspect.signature(value).return_annotation)
    if (returned not in ("None", "NoReturn")) != ("Returns" in parts or "Yields" in parts):
        yield f"it returns {returned}, and there is {'a' if 'Returns' in parts or 'Yields' in parts else 'no'} section Returns or Yields"
    for title in ("Returns", "Yields"):
        if title in parts and not re.match(r"\S.*\n    \S", parts[title]):
            yield f"{title}: a type and, indented below it, what it means are needed"


@pytest.mark.parametrize("name", PUBLIC | BESIDE)
def test_the_docstring_is_complete(name: str) -> None:
    assert list(problems((PUBLIC | BESIDE)[name])) == []


@pytest.mark.parametrize("name", NAMES)
def test_public_names_have_examples_and_those_from_papers_references(name: str) -> None:
    parts = sections(getattr(naivete, name).__doc__)
    assert ">>> " in parts.get("Examples", "")
    assert (name not in FROM_PAPERS) or re.search(r"\(\d{4}\)", parts.get("References", ""))


def test_the_version_is_a_text_and_everything_else_is_checked() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+\w*", naivete.__version__)
    assert len(PUBLIC) > 250
    assert {"KDB", "NetworkClassifier.fit", "Table.take", "Loss.of", "Passes.continuous", "Network.arcs"} <= set(PUBLIC)


def good(rows: int, *, by: Literal["feature", "family"] = "feature", **more: float) -> int:
    """Return a number.

    Parameters
    ----------
    rows : int
        The number of rows.
    by : {"feature", "family"}, default="feature"
        What is counted.
    **more : float
        Anything else.

    Returns
    -------
    int
        The number.

    Examples
    --------
    >>> from tests.repository.test_docstrings import good
    >>> good(1)
    1
    """
    return rows + len(by) * 0 + len(more)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("Return a number.", "Return a number", "the summary"),
        ("Return a number.", "Return a number\n    of rows.", "the summary"),
        ("rows : int\n        The number of rows.\n", "", "where the signature has"),
        ("**more : float", "more : float", "where the signature has"),
        ("rows : int", "rows", "no type"),
        ("The number of rows.", "the number of rows", "no sentence"),
        ("The number of rows.", "Int The number of rows.", "repeats the type"),
        ('{"feature", "family"}', '{"feature"}', "family"),
        (', default="feature"', "", "default"),
        ('default="feature"', 'default="family"', "default"),
        ("rows : int", "rows : int, default=1", "default"),
        ("Returns\n    -------\n    int\n        The number.\n", "", "no section Returns"),
        ("int\n        The number.\n", "The number.\n", "a type and"),
        ("import good", "import public", "do not import {'good'}"),
        ("Examples\n    --------\n", "", "outside the section Examples"),
        ("Examples\n    --------\n", "Example\n    -------\n", "unknown"),
    ],
)
def test_a_wrong_docstring_is_noticed(old: str, new: str, problem: str) -> None:
    assert list(problems(Public("good", good))) == []
    docstring = good.__doc__ or ""
    assert old in docstring

    def wrong(rows: int, *, by: Literal["feature", "family"] = "feature", **more: float) -> int:
        return good(rows, by=by, **more)

    wrong.__doc__ = docstring.replace(old, new)
    assert any(problem in text for text in problems(Public("wrong", wrong)))
