"""Parts of the page of the demonstration: fitted models, drawings, tables of predictions and of accuracies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.specification import classifier_of
from naivete.data.table import Column, Table
from naivete.display import page
from naivete.display.markup import Markup, element
from naivete.display.network_drawing import svg
from naivete.evaluation import LabelledTable, Result
from naivete.evaluation.demo.models import Domain
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = [
    "ARCS",
    "SHADES",
    "accuracies",
    "conditional_tables",
    "confusion_matrix",
    "drawn",
    "first_row",
    "fitted_to",
    "informative_part",
    "predictions_of",
    "side_by_side",
]

ARCS: Final = "Arcs carry I(X;Y|C), darker features have more I(X;C), both in bits."
SHADES: Final = "Darker features have more I(X;C)."


def fitted_to(domain: Domain, model: str, rows: Any = None) -> NetworkClassifier:
    """Return a model learned from the data set, or from some of its rows."""
    cases = domain.cases if rows is None else domain.cases.take(rows)
    return classifier_of(model, encoder=domain.encoder).fit(cases.features, cases.column)


def drawn(classifier: NetworkClassifier | _Drawable, title: str, caption: str = ARCS) -> Markup:
    """Return a drawing of a network with its information."""
    return page.figure(svg(classifier.network_, information=classifier.information_, title=title), caption)


def confusion_matrix(results: Sequence[Result], model: str) -> Markup:
    """Return the confusion matrix of a model."""
    result = next(r for r in results if r.model == model)
    mean, deviation = result.accuracy
    caption = f"{model}: {100 * mean:.1f} ± {100 * deviation:.1f} % correct"
    return page.confusion(result.confusion, result.classes.tolist(), caption)


def side_by_side(*parts: Markup) -> Markup:
    """Return parts side by side where there is room."""
    return element("div", *parts, style="display:flex;flex-wrap:wrap;gap:0 4rem")


class _Drawable:
    """A network, and the information of its features and arcs in bits."""

    def __init__(self, network: Network, information: Mapping[Any, float]) -> None:
        self.network_, self.information_ = network, information


def informative_part(classifier: NetworkClassifier) -> _Drawable:
    """Return the network without the features that have a single state."""
    network = classifier.network_
    kept = [x for x in network.features if network.variables[x].card > 1]
    index = {x: i for i, x in enumerate(kept)} | {CLASS: CLASS}
    parents = {index[v]: tuple(index[p] for p in network.parents[v]) for v in (*kept, CLASS)}
    cpts = {index[v]: network.cpts[v] for v in (*kept, CLASS)}
    reduced = Network(tuple(network.variables[v] for v in (*kept, CLASS)), parents, cpts)
    bits = {index[x]: float(classifier.relevance_[x]) for x in kept}
    arcs = {(index[p], index[x]): b for (p, x), b in classifier.arc_information_.items() if x in index and p in index}
    return _Drawable(reduced, bits | arcs)


def conditional_tables(classifier: NetworkClassifier, *names: str) -> list[object]:
    """Return the conditional tables of some features."""
    network = classifier.network_
    index = {network.name(v): v for v in network.features}
    return [page.figure(page.conditional_table_html(network, index[name], max_columns=12)) for name in names]


def _without(table: Table, rows: Sequence[int], hidden: Sequence[str]) -> Table:
    """Return these rows, with missing values in the hidden columns."""
    part = table.take(np.array(rows))
    return replace(part, columns=tuple(_missing(c) if c.name in hidden else c for c in part.columns))


def _missing(column: Column) -> Column:
    if column.states is not None:
        return replace(column, values=np.full(len(column), -1))
    return replace(column, values=np.full(len(column), np.nan))


def predictions_of(domain: Domain, models: Sequence[str], shown: Sequence[tuple[int, Sequence[str]]]) -> list[page.Prediction]:
    """Return the predictions for some rows with hidden columns, of models that were trained on the other rows."""
    cases = domain.cases
    training = np.setdiff1d(np.arange(len(cases)), [row for row, _ in shown])
    trained = {model: fitted_to(domain, model, training) for model in models}
    predictions = []
    for row, hidden in shown:
        table = _without(cases.features, [row], hidden)
        for model, classifier in trained.items():
            p = classifier.predict_proba(table)[0].tolist()
            probabilities = dict(zip(classifier.classes_.tolist(), p, strict=True))
            predictions.append(page.Prediction(f"{model}: {_case(table)}", cases.classes[cases.labels[row]], probabilities))
    return predictions


def _case(table: Table, most: int = 8) -> str:
    """Return the values of a row as text, with a question mark for missing values."""
    cells = [f"{c.name} {_value(next(iter(c)))}" for c in table.columns[:most]]
    return ", ".join(cells) + (", ..." if len(table.columns) > most else "")


def _value(value: object) -> str:
    return "?" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def first_row(cases: LabelledTable, **values: str) -> int:
    """Return the first row with these values."""
    matches = np.ones(len(cases), bool)
    for name, value in values.items():
        column = cases.features[name]
        assert column.states is not None
        matches &= column.values == column.states.index(value)
    return int(np.flatnonzero(matches)[0])


def accuracies(results: Mapping[str, Sequence[Result]], heads: Sequence[str], caption: str) -> Markup:
    """Return a table of the accuracies of models, with a row for every data set."""
    rows = [[name, *((100 * r.accuracy[0], 100 * r.accuracy[1]) for r in runs)] for name, runs in results.items()]
    return page.table(["data", *heads], rows, highlight=max, digits=1, caption=caption)
