"""Export to Python: one file that needs the standard library only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from naivete._kernels.codes import Numbers
from naivete.classifiers.export import python_text
from naivete.classifiers.export.tabular_form import MARGINALIZED, Input, SumOfTables, Table
from naivete.inference.elimination import FACTOR_CELLS
from naivete.network.densities import FAR
from naivete.network.derived_columns import Hierarchy, Tree
from naivete.network.joint_density import Joint

__all__ = ["python_code"]


def python_code(model: SumOfTables) -> str:
    """Return the text of a Python file with `predict_proba(row)` and `predict(row)`."""
    return "".join(_pieces(model))


def _pieces(model: SumOfTables) -> Iterator[str]:
    yield python_text.DOCSTRING
    yield from (f"# {line}\n" for line in model.header())
    yield from _imports(model)
    yield "REFUSED = -2\n"
    yield from _constants(model)
    yield f"\n{python_text.ENCODE}"
    if model.joint is not None:
        yield python_text.JOINT
    if model.densities:
        yield python_text.DENSITIES.format(joint=python_text.JOINT_STEP if model.joint is not None else "")
    if model.marginalized:
        yield python_text.MARGINALIZED.format(cells=FACTOR_CELLS)
    if model.has_zeros:
        yield python_text.FALLBACK.format(row=0 if model.fallback_column is None else f"codes[{model.fallback_column}]")
    yield python_text.POSTERIOR.format(steps="".join(python_text.STEPS[step] for step in _steps(model)))
    yield python_text.TREE if model.tree is not None else python_text.HIERARCHY if model.hierarchy is not None else ""
    hidden = f" + [None] * {len(model.hidden)}" if model.hidden else ""
    posterior = "_with_leaf(codes)" if model.tree is not None else f"_posterior(codes{hidden})"
    yield python_text.PREDICT.format(
        evidence="" if model.no_evidence is None else python_text.EVIDENCE,
        posterior="_with_classifier(codes)" if model.hierarchy is not None else posterior,
    )


def _imports(model: SumOfTables) -> Iterator[str]:
    yield "\nfrom bisect import bisect_left\n"
    if model.marginalized:
        yield "from itertools import product\n"
    logarithm, joint = model.marginalized or model.joint is not None, model.joint is not None
    yield f"from math import exp, inf, isfinite{', log' if logarithm else ''}{', pi, sqrt' if joint else ''}\n\n"


def _steps(model: SumOfTables) -> list[str]:
    needed = {
        "densities": bool(model.densities),
        "marginalized": bool(model.marginalized),
        "constant": bool(model.constant),
        "fallback": model.has_zeros,
        "temperature": model.temperature != 1,
    }
    return [step for step, is_needed in needed.items() if is_needed]


def _constants(model: SumOfTables) -> Iterator[str]:
    position = {table.variable: i for i, table in enumerate(model.used)}
    yield _constant("CLASSES", map(_literal, model.classes))
    yield _constant("COLUMNS", map(_column, model.inputs), "(name, kind, codes, code of missing values, code of other values)")
    yield _constant("TABLES", map(_table, model.used), "(variable, members, strides, log-probabilities by class)")
    yield f"ADDED = {tuple(position[table.variable] for table in model.added)}\n"
    if model.constant:
        yield f"CONSTANT = {tuple(position[table.variable] for table in model.constant)}\n"
    if model.densities:
        yield from _density_constants(model)
    if model.marginalized:
        yield from _elimination_constants(model)
    if model.has_zeros:
        yield _constant("PRIOR", map(_literal, model.fallback))
    if model.temperature != 1:
        yield f"TEMPERATURE = {model.temperature!r}\n"
    if model.no_evidence is not None:
        yield f"EVIDENCE = {model.evidence}\nWITHOUT_EVIDENCE = {_literal(model.no_evidence)}\n"
    if model.tree is not None:
        yield _constant("TREE", _nodes(model.tree), "(feature, child by state, (child, share) by branch, leaf)")
    if model.hierarchy is not None:
        yield _constant("HIERARCHY", _classifiers(model.hierarchy), "(feature or -1, next classifier by state or class)")


def _constant(name: str, values: Iterable[str], comment: str = "") -> str:
    lines = "".join(f"    {value},\n" for value in values)
    return f"{name} = (  # {comment}\n{lines})\n" if comment else f"{name} = (\n{lines})\n"


def _literal(value: Any) -> str:
    """Return a Python expression in plain ASCII for a value, or for nested arrays as tuples; `inf` is defined in the file."""
    if hasattr(value, "tolist"):
        return _literal(value.tolist())
    if isinstance(value, (list, tuple)):
        return f"({', '.join(map(_literal, value))}{',' if len(value) == 1 else ''})"
    return ascii(value)


def _column(column: Input) -> str:
    codes = ", ".join(f"({isinstance(state, bool)}, {_literal(state)}): {code}" for code, state in enumerate(column.states))
    known = {"states": f"{{{codes}}}", "intervals": _literal(column.cuts), "number": repr(column.origin), "unused": "None"}
    missing, unseen = (None if code == MARGINALIZED else code for code in (column.missing, column.unseen))
    return f'({_literal(column.name)}, "{column.kind}", {known[column.kind]}, {missing}, {unseen})'


def _table(table: Table) -> str:
    rows = "".join(f"        {_literal(row)},\n" for row in table.logs)
    return f"({table.variable}, {table.members}, {table.strides}, (\n{rows}    ))"


def _density_constants(model: SumOfTables) -> Iterator[str]:
    yield f"FAR = {FAR!r}\n"
    yield _constant(
        "DENSITIES",
        (_literal(tuple(density)) for density in model.densities),
        "(variable, members, strides, continuous parents, means, deviations, log-densities at the mean, slopes)",
    )
    if model.joint is not None:
        yield from _joint_constants(model.joint)


def _joint_constants(joint: Joint) -> Iterator[str]:
    def by_class(values: Numbers) -> Iterable[str]:
        return map(_literal, values)

    yield f"CONTINUOUS = {joint.features}\n"
    yield _constant("MEANS", by_class(joint.means)) + _constant("COVARIANCES", by_class(joint.covariances))


def _elimination_constants(model: SumOfTables) -> Iterator[str]:
    children = {table.variable: [t.variable for t in model.families if table.variable in t.members] for table in model.families}
    yield f"CARDS = {(*model.cards, len(model.classes))}\n"
    yield f"CHILDREN = { ({v: tuple(y for y in ys if y != v) for v, ys in children.items()}) }\n"
    yield f"PARENTS = {model.marginalized}\n"


def _nodes(tree: Tree) -> Iterator[str]:
    first, count, child, share = tree.branches
    for node, feature in enumerate(tree.features.tolist()):
        children = tree.children_of(node) if feature >= 0 else ()
        branches = range(first[node], first[node] + count[node])
        parts = tuple((int(child[b]), float(share[b])) for b in branches)
        yield _literal((feature, children, parts, int(tree.state_of[node])))


def _classifiers(hierarchy: Hierarchy) -> Iterator[str]:
    return (
        _literal((feature, children)) for feature, children in zip(hierarchy.features.tolist(), hierarchy.children, strict=True)
    )
