"""Reports of experiments: the models compared, and one self-contained HTML page without scripts; all names are escaped."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from naivete import __version__
from naivete.data.labelled_table import LabelledTable
from naivete.display import page
from naivete.display.markup import Markup, element, figure
from naivete.errors import ParameterError, did_you_mean, quoted
from naivete.evaluation.comparison import Comparison, Comparisons, compare, compare_many
from naivete.evaluation.comparison_table import sheet_of
from naivete.evaluation.comparison_terms import visible
from naivete.evaluation.data_sets import Data, cases_by_name
from naivete.evaluation.diagram import critical_difference_diagram
from naivete.evaluation.protocols import LearningCurve, Protocol, Splits, TrainTest
from naivete.evaluation.records import Curve, Results

__all__ = ["LOWER", "MEASURES", "SHARES", "Report", "check_measure", "check_protocol", "report"]

HIGHER: Final = ("accuracy", "balanced_accuracy", "precision", "recall", "specificity", "f1", "roc_auc")
LOWER: Final = ("error", "log_loss", "log_loss_nats", "brier", "rmse", "calibration_error", "expected_loss", "least_expected_loss")
"""The measures for which lower values are better."""
MEASURES: Final = (*HIGHER, *LOWER)
SHARES: Final = (*HIGHER, "error")
"""The measures between 0 and 1 that can be shown in per cent."""
_SYNONYMS: Final = {
    "auc": "roc_auc",
    "area": "roc_auc",
    "sensitivity": "recall",
    "f": "f1",
    "nats": "log_loss_nats",
    "loss": "expected_loss",
    "cost": "expected_loss",
}
"""Other names of some measures."""
_MOST: Final = 40
"""The maximal number of classes of a confusion matrix on the page."""
_HEAD: Final = "text-align:right;overflow-wrap:break-word;max-width:12rem;"
_TIGHT: Final = "padding:.3rem .35rem;font-size:.84rem"
_TESTS: Final = 3
"""The number of columns between the name of a model and the tests."""
_WIDE: Final = 7
"""Tables with more columns have less padding, so that they fit on paper."""
_MARK: Final = "display:inline-block;width:1.1em;text-align:center;font-weight:700;color:var(--nv-{})"


@dataclass(frozen=True)
class Report:
    """An experiment with its comparison of models.

    Parameters
    ----------
    protocol : Protocol
        How the cases were divided.
    data : dict of {str: LabelledTable}
        The data sets by name.
    results : Results
        All records.
    final : Results
        The records that are compared: all, or those of the largest training sets of a learning curve.
    comparison : Comparison or Comparisons
        The comparison of the models with the baseline.
    """

    protocol: Protocol
    data: Mapping[str, LabelledTable]
    results: Results
    final: Results
    comparison: Comparison | Comparisons

    def means(self) -> dict[str, dict[str, dict[str, float]]]:
        """Return the mean of each measure, by data set, model and measure.

        Returns
        -------
        dict
            The means.
        """
        collected: dict[str, dict[str, dict[str, list[float]]]] = {}
        for record in self.final.records:
            scores = collected.setdefault(record.data, {}).setdefault(record.model, {})
            for name, value in record.measures.items():
                scores.setdefault(name, []).append(value)
        return {
            data: {model: {name: _mean(values) for name, values in scores.items()} for model, scores in models.items()}
            for data, models in collected.items()
        }

    def curves(self) -> dict[str, dict[str, Curve]]:
        """Return the learning curve of the compared measure, by data set and model; empty for other protocols.

        Returns
        -------
        dict of {str: dict of {str: Curve}}
            The curves.
        """
        if not isinstance(self.protocol, LearningCurve):
            return {}
        results, measure = self.results, self.comparison.terms.measure
        return {data: {model: results.curve(data, model, measure) for model in results.models} for data in results.data}

    def html(self, title: object = None) -> Markup:
        """Return the report as an HTML page.

        Parameters
        ----------
        title : object, default=None
            The heading of the page.

        Returns
        -------
        Markup
            The page.
        """
        result = self.comparison
        base = result.baseline if isinstance(result, Comparison) else result.models[0]
        overview = [page.note(*(element("p", line) for line in result.sentences)), *self._about()]
        sections: list[tuple[object, list[object]]] = [
            ("Summary", overview),
            (f"Compared with {visible(base)}", [_compared(result)]),
        ]
        if isinstance(result, Comparisons):
            caption = "The average ranks; a bar joins models that do not differ significantly by Nemenyi's test."
            sections.append(("Average ranks", [figure(critical_difference_diagram(result.nemenyi, result.models), caption)]))
        each = [result] if isinstance(result, Comparison) else result.comparisons
        means = self.means()
        sections += [(c.data, list(self._data_section(c, means[c.data], len(each) > 1))) for c in each]
        heading = title or f"{', '.join(map(visible, self.results.models))}: an experiment"
        return page.page(heading, sections, footer=f"Written by naivete {__version__}.")

    def _about(self) -> list[object]:
        rows = [[n, c.target, len(c), len(c.features.names), len(c.classes)] for n, c in self.data.items()]
        models = element("p", "Models: ", *_joined([element("strong", visible(name)) for name in self.results.models]), ".")
        return [
            f"Protocol: {self.protocol}.{self.at_size}",
            models,
            page.table(["data set", "class", "rows", "features", "classes"], rows, caption="The data."),
        ]

    @property
    def at_size(self) -> str:
        """A sentence about the training sets at which models are compared; empty unless the protocol is a learning curve."""
        curve = isinstance(self.protocol, LearningCurve)
        return " The models are compared at the largest training sets." if curve else ""

    def _data_section(self, comparison: Comparison, means: Mapping[str, Mapping[str, float]], several: bool) -> Iterator[object]:
        """Yield the tables and charts of one data set."""
        name = comparison.data
        if several:
            yield _compared(comparison)
            yield from comparison.sentences
        if name in (curves := self.curves()):
            yield _chart(curves[name], comparison.terms.measure)
        for order, direction in ((HIGHER, "higher is better"), (LOWER, "lower is better")):
            rows = [[m.replace("_", " "), *(means[o][m] for o in means)] for m in order if all(m in means[o] for o in means)]
            best = max if order is HIGHER else min
            caption = f"Means over {comparison.rounds} rounds; {direction}, the best in bold."
            yield page.table(["measure", *map(visible, means)], rows, highlight=best, caption=caption, digits=4)
        seconds = [[visible(m), *(sum(getattr(r, s) for r in self.results.of(name, m)) for s in _SECONDS)] for m in means]
        yield page.table(["model", "seconds of fitting", "seconds of prediction"], seconds, caption="Total time of all rounds.")
        yield from self._confusions(name)

    def _confusions(self, name: str) -> Iterator[object]:
        classes = self.final.classes[name]
        if len(classes) > _MOST:
            yield f"The confusion matrices are left out, because there are {len(classes)} classes."
            return
        for model in self.final.models:
            caption = f"{visible(model)}: the cases of all rounds by predicted and true class."
            yield page.confusion(self.final.confusion(name, model), classes, caption)


_SECONDS: Final = ("fit_seconds", "predict_seconds")


def report(
    results: Results,
    data: Data,
    protocol: Protocol,
    *,
    baseline: str | None = None,
    measure: str = "accuracy",
    alpha: float = 0.05,
    rope: float = 0.01,
) -> Report:
    """Return the report of an experiment, in which the models are compared on one data set or over several.

    Parameters
    ----------
    results : Results
        The result of `run`.
    data : LabelledTable, tuple (X, y), or dict of these
        The data of `run`.
    protocol : Protocol
        The protocol of `run`.
    baseline : str or None, default=None
        The model with which the others are compared, by default the first.
    measure : str, default="accuracy"
        The measure by which they are compared.
    alpha : float, default=0.05
        The significance level of the corrected test.
    rope : float, default=0.01
        The largest difference that does not matter in practice, in the unit of the measure.

    Returns
    -------
    Report
        The comparison; `html()` returns it as a page.
    """
    if measure not in results.measures:
        check_measure(measure, loss=False)
    final, cases = results, cases_by_name(data)
    if isinstance(protocol, LearningCurve):
        last = len(protocol.sizes) - 1
        final = Results(tuple(r for r in results.records if r.fold == last), results.classes)
    table, shares = final.table(measure), final.test_shares()
    options: dict[str, Any] = {"baseline": baseline, "measure": measure, "alpha": alpha, "rope": rope}
    options["higher_is_better"] = measure not in LOWER
    if len(table) > 1:
        return Report(protocol, cases, results, final, compare_many(table, test_share=shares, **options))
    ((name, scores),) = table.items()
    return Report(protocol, cases, results, final, compare(scores, test_share=shares[name], data=name, **options))


def check_protocol(protocol: Protocol) -> None:
    """Raise a ParameterError for a protocol with one round, which allows no statistical test."""
    if isinstance(protocol, TrainTest):
        raise ParameterError("protocol: one division allows no statistical test; choose 10x10-fold or 30-splits")
    if isinstance(protocol, (Splits, LearningCurve)) and protocol.count < 2:
        raise ParameterError(f"protocol: {protocol.count} division allows no statistical test; choose two or more")


def check_measure(measure: str, *, loss: bool) -> None:
    """Raise a ParameterError for a measure that the experiment will not have.

    Parameters
    ----------
    measure : the name of the measure.
    loss : whether the losses of wrong decisions are known.
    """
    if measure not in MEASURES:
        hint = did_you_mean(_SYNONYMS.get(measure, measure), MEASURES, "choose among")
        raise ParameterError(f"measure={quoted(measure)}: there is no such measure; {hint}")
    if measure.endswith("expected_loss") and not loss:
        raise ParameterError(f"measure={quoted(measure)}: it needs the losses of wrong decisions; pass `loss=`")


def _mean(scores: Sequence[float]) -> float:
    return math.fsum(scores) / len(scores)


def _chart(curves: Mapping[str, Curve], measure: str) -> Markup:
    series: dict[object, Sequence[tuple[float, float | tuple[float, float]]]] = {}
    for model, curve in curves.items():
        points = zip(curve.sizes, curve.means, curve.halfwidths, strict=True)
        series[visible(model)] = [(size, mean if math.isnan(half) else (mean, half)) for size, mean, half in points]
    caption = "Means over the divisions, with 95 % intervals."
    return page.line_chart(series, x="training rows", y=measure.replace("_", " "), caption=caption)


def _joined(parts: Sequence[Markup]) -> Iterator[object]:
    for i, part in enumerate(parts):
        yield from (Markup(", "), part) if i else (part,)


def _compared(result: Comparison | Comparisons) -> Markup:
    """Return the table of a comparison, with its marks and its legend."""
    sheet = sheet_of(result)
    caption = f"{sheet.title}. {sheet.legend}."
    if isinstance(result, Comparisons):
        return _grid(sheet.headers, sheet.rows, caption)
    tests = [[name, *cells[_TESTS:]] for name, *cells in sheet.rows[1:]]  # the baseline has none
    scores = _grid(sheet.headers[: _TESTS + 1], [row[: _TESTS + 1] for row in sheet.rows], caption)
    return Markup(scores + _grid([sheet.headers[0], *sheet.headers[_TESTS + 1 :]], tests, "All tests of the same differences."))


def _grid(headers: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> Markup:
    """Return a table with names in the first column and numbers with marks in the others."""
    tight = _TIGHT if len(headers) > _WIDE else ""
    first, *others = [name.strip() for name in headers]
    head = [element("th", first, scope="col", style=tight or None)]
    head += [element("th", name, scope="col", style=_HEAD + tight) for name in others]
    body = [element("tr", _row_name(name, tight), *(_cell(cell, tight) for cell in cells)) for name, *cells in rows]
    return figure(element("table", element("thead", element("tr", *head)), element("tbody", *body)), caption)


def _row_name(name: str, style: str) -> Markup:
    return element("th", element("span", name, class_="name"), scope="row", style=style or None)


def _cell(cell: str, style: str) -> Markup:
    """Return a table cell of a number with its mark, if any."""
    if not cell.strip():
        return element("td")
    value, mark = (cell[:-1], cell[-1]) if cell[-1] in "v* " else (cell, "")
    if not mark:
        return element("td", value, class_="num", style=style or None)
    symbol = element("span", Markup("") if mark == " " else mark, style=_MARK.format("class" if mark == "*" else "feature"))
    return element("td", value.strip(), symbol, class_="num", style=style or None)
