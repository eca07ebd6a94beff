"""Model cards: what a fitted classifier was learned from, what it needs, how good it is, and its limits, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.estimator import check_fitted
from naivete.classifiers.predictions import can_be_impossible, label_positions
from naivete.classifiers.saving import model_hash
from naivete.classifiers.specification import spec_of
from naivete.display.markdown import listed, markdown_table, markdown_text
from naivete.display.tree_outline import has_outline, outline, relevant_columns
from naivete.errors import DataError, ParameterError, quoted
from naivete.evaluation.data_sets import Given, cases_of
from naivete.evaluation.measures import measures, per_class
from naivete.evaluation.records import data_hash
from naivete.inference.certainty import discrete_part
from naivete.inference.junction import Evidence, JunctionTree
from naivete.variables import CLASS, Variable, number_text

__all__ = ["HeldOutMeasures", "held_out_measures", "model_card"]

STRONGEST: Final = 10
"""The number of features and arcs that are listed by their information."""
_MEASURES: Final = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy (mean recall of the classes)",
    "log_loss": "log loss, bits",
    "log_loss_nats": "log loss, nats",
    "brier": "Brier score (sum over the classes; 0 is best, 2 worst)",
    "roc_auc": "area under the ROC curve (mean over the classes)",
    "calibration_error": "expected calibration error (10 bins)",
}
_BY_CLASS: Final = ("precision", "recall", "specificity", "f1", "roc_auc")
_NEEDS_OTHERS: Final = ("specificity", "roc_auc")
"""The measures of a class that need test cases of other classes."""
ONE_CLASS: Final = "cannot be computed: all test cases are of one class"
_POLICIES: Final = {
    "marginalise": "treated as a missing value, with a warning",
    "smooth": "one state of its own",
    "error": "refused with an error",
}
NO_PURPOSE: Final = "*Not stated. Describe what the model is for, who uses it, and which decisions must not depend on it.*"


class HeldOutMeasures(NamedTuple):
    """The measures of a classifier on cases that it was not trained on.

    Attributes
    ----------
    rows : int
        The number of test cases.
    weight : float
        Their total weight.
    data : str
        The SHA-256 of the test cases.
    measures : dict
        The measures by name, as `naivete.evaluation.measures.measures` returns them.
    by_class : dict
        The measures of each class that occurs, by label.
    """

    rows: int
    weight: float
    data: str
    measures: dict[str, float]
    by_class: dict[Any, dict[str, float]]


def held_out_measures(model: NetworkClassifier, test: Given) -> HeldOutMeasures:
    """Return the measures of a fitted classifier on test cases.

    Parameters
    ----------
    model : NetworkClassifier
        The fitted classifier.
    test : LabelledTable or tuple
        The test cases: the result of `label_table`, or (X, y).

    Returns
    -------
    HeldOutMeasures
        The measures.
    """
    check_fitted(model)
    cases = cases_of(test, "test")
    states = model.network_.variables[CLASS].states
    _, positions = label_positions(cases.column, states)
    unknown = np.flatnonzero(positions < 0)
    if len(unknown):
        label = cases.y[unknown[0]].tolist()
        raise DataError(f"test: row {unknown[0] + 1} has the label {quoted(label)}, which is not a class of the model: {states}")
    is_whole = isinstance(test, tuple) and np.shape(test[0])[:1] == (len(cases),)
    posterior = model.predict_proba(test[0] if is_whole else cases.features)  # type: ignore[index]
    weight = len(cases) if cases.weight is None else float(cases.weight.sum())
    return HeldOutMeasures(
        len(cases),
        float(weight),
        data_hash(cases),
        measures(positions, posterior, states, weight=cases.weight),
        per_class(positions, posterior, states, weight=cases.weight),
    )


def model_card(model: NetworkClassifier, *, test: Given | HeldOutMeasures | None = None, purpose: str | None = None) -> str:
    """Return a model card: a description of a fitted classifier in Markdown.

    It states the data and the parameters from which the classifier was learned, its columns and classes, its structure, its
    measures on test cases, and its limits. It holds no date: the same classifier and test cases give the same text. Names and
    values are escaped, so that they cannot become markup.

    Parameters
    ----------
    model : NetworkClassifier
        The fitted classifier.
    test : LabelledTable, tuple, HeldOutMeasures or None, default=None
        Test cases that the classifier was not trained on, as for `held_out_measures`, or the result of `held_out_measures`. By
        default the card says that the model has not been evaluated.
    purpose : str or None, default=None
        The intended use, a paragraph of plain text. By default a placeholder asks for it.

    Returns
    -------
    str
        The card.

    Examples
    --------
    >>> from naivete import NaiveBayes, model_card
    >>> X, y = [["a"], ["a"], ["b"], ["b"]], ["no", "yes", "yes", "yes"]
    >>> card = model_card(NaiveBayes().fit(X, y), test=(X, y), purpose="An example.")
    >>> print(*card.splitlines()[:5], sep="\\n")
    # Model card: NaiveBayes for class
    <BLANKLINE>
    ## Intended use
    <BLANKLINE>
    An example.
    """
    if not isinstance(model, NetworkClassifier):
        raise ParameterError(f"model={quoted(model)}: pass a fitted classifier of naivete, such as naivete.load returns")
    check_fitted(model)
    if purpose is not None and not isinstance(purpose, str):
        raise ParameterError(f"purpose={quoted(purpose)}: a text is needed")
    result = test if test is None or isinstance(test, HeldOutMeasures) else held_out_measures(model, test)
    name = markdown_text(model.network_.name(CLASS))
    sections = {
        "Intended use": [_paragraph(purpose)],
        "Model": _model_lines(model),
        "Classes": _class_lines(model),
        "Columns": _column_lines(model),
        "Structure": _structure_lines(model),
        "Evaluation": _evaluation_lines(result),
        "Limits": _limit_lines(model),
    }
    lines = [f"# Model card: {type(model).__name__} for {name}"]
    for heading, body in sections.items():
        lines += ["", f"## {heading}", "", *body]
    return "\n".join(lines) + "\n"


def _paragraph(purpose: str | None) -> str:
    """Return the purpose as escaped text, its paragraphs separated by empty lines."""
    if purpose is None or not purpose.strip():
        return NO_PURPOSE
    lines = [" ".join(paragraph.split()) for paragraph in purpose.strip().split("\n\n")]
    return "\n\n".join(markdown_text(line, longest=None) for line in lines if line)


def _model_lines(model: NetworkClassifier) -> list[str]:
    settings = model.checked_encoder().get_params()
    if model.missing_is_a_value:  # the classifier chooses how missing values are counted, and the intervals unless they were passed
        del settings["missing"]
        if model.encoder is None or model.encoder.cut is None:
            del settings["cut"]
    parameters = spec_of(model).parameters
    cases = getattr(model, "cases_", None)
    rows = [
        ["classifier", f"{type(model).__name__} (`{spec_of(model).word}`)"],
        ["parameters", ", ".join(f"{name}={markdown_text(value)}" for name, value in parameters.items()) or "defaults"],
        ["encoder", ", ".join(f"{name}={markdown_text(value)}" for name, value in settings.items() if _is_set(name, value))],
        ["total weight of the training cases", "not recorded" if cases is None else number_text(cases, 12)],
        *([["training rows", f"{model.rows_:,}"]] if model.rows_ else []),
        ["texts read as missing values", listed(["", *getattr(model, "missing_tokens_", ())])],
        ["SHA-256 of the model file", f"`{model_hash(model)}`"],
    ]
    return markdown_table(["", ""], rows)


def _is_set(name: str, value: Any) -> bool:
    """Return whether a setting of the encoder is shown: the policies always, the others if they are not the default."""
    from naivete.encoding.encoder import Encoder

    return name in ("missing", "unseen", "numbers") or value != getattr(Encoder(), name)


def _class_lines(model: NetworkClassifier) -> list[str]:
    labels = model.network_.variables[CLASS].labels
    rows = [[markdown_text(label), f"{p:.4f}"] for label, p in zip(labels, _class_probabilities(model), strict=True)]
    network = f"in its {model.network_beside}" if not model.one_network else "in the model"
    changed = [name for name in ("prior", "class_weight") if getattr(model, name, None) is not None]
    note = f" It is changed by the parameters {' and '.join(changed)}." if changed else ""
    return [
        f"The class is {markdown_text(model.network_.name(CLASS))}. The probability is that of a class before anything is known "
        f"about a row, {network}.{note}",
        "",
        *markdown_table(["class", "probability"], rows),
    ]


def _class_probabilities(model: NetworkClassifier) -> Numbers:
    tree = JunctionTree(discrete_part(model.network_))
    return np.asarray(tree.posterior((CLASS,), Evidence())[0])


def _column_lines(model: NetworkClassifier) -> list[str]:
    unseen, usual = model.checked_encoder().unseen, "unknown" if model.missing_is_a_value else "marginalized"
    missing = dict.fromkeys(model.missing_as_value_, "a state of its own")
    rows = [
        [
            markdown_text(variable.name),
            _kind(variable),
            _values(variable),
            "-" if variable.left_out else missing.get(variable.name, usual),
            _POLICIES["smooth" if variable.other else unseen] if variable.states else "-",
            f"{bits:.4f}",
        ]
        for variable, bits in zip(model.schema_, model.relevance_.tolist(), strict=True)
    ]
    headers = ["column", "kind", "values", "missing values", "values that did not occur in training", "I(X;C), bits"]
    return markdown_table(headers, rows)


def _kind(variable: Variable) -> str:
    if variable.left_out:
        return "not used"
    if variable.density:
        return "numeric, kernel density" if variable.kernel else "numeric, normal density"
    return "nominal" if variable.cuts is None else f"numeric, {len(variable.cuts) + 1} intervals"


def _values(variable: Variable) -> str:
    if variable.left_out or variable.density:
        return "-"
    return listed(variable.states) if variable.cuts is None else f"cut points: {listed([*map(number_text, variable.cuts)])}"


def _structure_lines(model: NetworkClassifier) -> list[str]:
    network = model.network_
    used = relevant_columns(network)
    lines = (
        []
        if model.one_network
        else [f"{type(model).__name__} does not predict with one network. Described here is its {model.network_beside}.", ""]
    )
    items = [f"{len(network.inputs):,} features, {network.cells:,} cells in tables"]
    if has_outline(network):
        tree = outline(network)
        depth = max(node.depth for node in tree.nodes)
        items.append(f"a {'tree' if tree.leaves else 'hierarchy'} with {tree.total:,} nodes, depth {depth:,}")
    items.append(f"{len(used):,} features on which the class depends when all are observed: {_names(model, used)}")
    if hasattr(model, "selected_"):
        items.append(f"features in the order of selection: {_names(model, model.selected_)}")
    items += _strongest(model)
    return [*lines, *(f"- {item}" for item in items)]


def _strongest(model: NetworkClassifier) -> Iterator[str]:
    """Yield the most informative features and arcs."""
    features = sorted(zip(model.schema_, model.relevance_.tolist(), strict=True), key=lambda pair: -pair[1])[:STRONGEST]
    listed_features = ", ".join(f"{markdown_text(variable.name)} ({bits:.4f})" for variable, bits in features)
    yield f"most informative features, by I(X;C) in bits: {listed_features or 'none'}"
    arcs = sorted(model.arc_information_.items(), key=lambda pair: -pair[1])
    if arcs:
        name = model.network_.name
        texts = [f"{markdown_text(name(p))} → {markdown_text(name(x))} ({bits:.4f})" for (p, x), bits in arcs[:STRONGEST]]
        yield f"{len(arcs):,} arcs between features; the strongest, by I(X;Y given C) in bits: {', '.join(texts)}"


def _names(model: NetworkClassifier, features: Any) -> str:
    return listed([model.network_.name(x) for x in features])


def _evaluation_lines(result: HeldOutMeasures | None) -> list[str]:
    if result is None:
        return ["*Not evaluated. Pass labelled cases that the model was not trained on.*"]
    one_class = len(result.by_class) == 1
    rows = [
        [text, ONE_CLASS if one_class and name == "roc_auc" else f"{result.measures[name]:.4f}"] for name, text in _MEASURES.items()
    ]
    by_class = [
        [
            markdown_text(label),
            *("-" if one_class and name in _NEEDS_OTHERS else f"{values[name]:.4f}" for name in _BY_CLASS),
            number_text(values["support"], 12),
        ]
        for label, values in result.by_class.items()
    ]
    weight = "" if result.weight == result.rows else f" with a total weight of {number_text(result.weight, 12)}"
    return [
        f"On {result.rows:,} test case{'s' * (result.rows != 1)}{weight} (SHA-256 `{result.data}`):",
        "",
        *markdown_table(["measure", "value"], rows),
        "",
        *markdown_table(["class", *(name.replace("_", " ") for name in _BY_CLASS), "cases"], by_class),
    ]


def _limit_lines(model: NetworkClassifier) -> list[str]:
    encoder, unused = model.checked_encoder(), [variable.name for variable in model.schema_ if variable.left_out]
    with_state = list(model.missing_as_value_)
    lines = [
        "Probabilities hold for rows from the population of the training cases; they say nothing about others.",
        "Dependence is no causation: the arcs and informations describe the data, not effects of interventions.",
        f"Values that did not occur in training are {_POLICIES[encoder.unseen]}.",
        (
            f"A missing value is a value of its own in {listed(with_state)}: it counts as it did in the training cases, also where "
            "a whole column is missing or a value did not occur in training. In other columns a missing value is unknown"
            if with_state
            else "No value was missing in the training cases: a missing value, or one that did not occur in training, is unknown"
        )
        + ", and what depends on it is left out of the prediction."
        if model.missing_is_a_value
        else "Missing values are marginalized: the result is the probability given the observed values, if being missing carries "
        f"no information.{f' In {listed(with_state)} missing is a state of its own.' if with_state else ''}",
        *([f"Columns left out, because they carry no information for new rows: {listed(unused)}."] if unused else []),
        "Numbers outside the range of the training cases fall into the first or last interval."
        if any(variable.cuts for variable in model.schema_)
        else "",
        "The tables have probabilities of zero: a row can be impossible in every class, and is then predicted by the prior."
        if can_be_impossible(model)
        else "",
        f"Posterior probabilities are raised to the power {model.temperature_:.4f} (calibration by leave-one-out)."
        if hasattr(model, "temperature_")
        else "The terms of the model are weighted by leave-one-out; check its probabilities on test cases."
        if hasattr(model, "term_weights_")
        else "Probabilities are not calibrated after learning; check them on test cases.",
    ]
    return [f"- {line}" for line in lines if line]
