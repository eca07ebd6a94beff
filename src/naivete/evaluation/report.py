"""What an experiment found, compared and put on one HTML page that fetches nothing and runs nothing, all names inert."""

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
from naivete.evaluation.comparison import Comparison, Comparisons, compare, compare_many, visible
from naivete.evaluation.comparison_table import sheet_of
from naivete.evaluation.data_sets import Data, cases_by_name
from naivete.evaluation.diagram import critical_difference_diagram
from naivete.evaluation.protocols import LearningCurve, Protocol, Splits, TrainTest
from naivete.evaluation.records import Curve, Results

__all__ = ["LOWER", "MEASURES", "SHARES", "Report", "check_measure", "check_protocol", "report"]

HIGHER: Final = ("accuracy", "precision", "recall", "specificity", "f", "area")
LOWER: Final = ("error", "log_loss", "brier", "rmse", "calibration_error", "expected_loss", "least_expected_loss")
"""The measures of which less is better."""
MEASURES: Final = (*HIGHER, *LOWER)
SHARES: Final = (*HIGHER, "error")
"""The measures that are shares of 1."""
_ALSO: Final = {"auc": "area", "roc_auc": "area", "sensitivity": "recall", "loss": "expected_loss", "cost": "expected_loss"}
"""What others call some of them."""
_MOST: Final = 40
"""How many classes a confusion matrix on the page has at most."""
_HEAD: Final = "text-align:right;overflow-wrap:break-word;max-width:12rem;"
_TIGHT: Final = "padding:.3rem .35rem;font-size:.84rem"
_TESTS: Final = 3
"""After how many numbers the tests begin."""
_WIDE: Final = 7
"""How many columns a table has at most whose cells stand wide apart, so that others fit on paper."""
_MARK: Final = "display:inline-block;width:1.1em;text-align:center;font-weight:700;color:var(--nv-{})"


@dataclass(frozen=True)
class Report:
    """An experiment with what may be concluded from it.

    Parameters
    ----------
    protocol : how the cases were divided.
    data : the cases by name.
    results : all records.
    final : the records that are compared: all, or those of the largest training sets of a learning curve.
    comparison : the models against the baseline.
    """

    protocol: Protocol
    data: Mapping[str, LabelledTable]
    results: Results
    final: Results
    comparison: Comparison | Comparisons

    def means(self) -> dict[str, dict[str, dict[str, float]]]:
        """The mean of every measure, by data set, model and measure."""
        found: dict[str, dict[str, dict[str, list[float]]]] = {}
        for own in self.final.records:
            scores = found.setdefault(own.data, {}).setdefault(own.model, {})
            for name, value in own.measures.items():
                scores.setdefault(name, []).append(value)
        return {
            data: {model: {name: _mean(values) for name, values in scores.items()} for model, scores in of.items()}
            for data, of in found.items()
        }

    def curves(self) -> dict[str, dict[str, Curve]]:
        """The measure that is compared, by data set, model and number of training rows; nothing unless it is a learning curve."""
        if not isinstance(self.protocol, LearningCurve):
            return {}
        own, measure = self.results, self.comparison.terms.measure
        return {data: {model: own.curve(data, model, measure) for model in own.models} for data in own.data}

    def html(self, title: object = None) -> Markup:
        """The page, good to read and to print.

        Parameters
        ----------
        title : its heading.
        """
        result = self.comparison
        base = result.baseline if isinstance(result, Comparison) else result.models[0]
        overview = [page.note(*(element("p", line) for line in result.sentences)), *self._about()]
        sections: list[tuple[object, list[object]]] = [
            ("Summary", overview),
            (f"Compared with {visible(base)}", [_compared(result)]),
        ]
        if isinstance(result, Comparisons):
            told = "The average ranks; a bar joins models that Nemenyi's test does not tell apart."
            sections.append(("Average ranks", [figure(critical_difference_diagram(result.nemenyi, result.models), told)]))
        each = [result] if isinstance(result, Comparison) else result.comparisons
        means = self.means()
        sections += [(own.data, list(self._of_data(own, means[own.data], len(each) > 1))) for own in each]
        named = title or f"{', '.join(map(visible, self.results.models))}: an experiment"
        return page.page(named, sections, footer=f"Written by naivete {__version__}.")

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
        """At which training sets the models are compared, where that is a question."""
        curve = isinstance(self.protocol, LearningCurve)
        return " The models are compared at the largest training sets." if curve else ""

    def _of_data(self, own: Comparison, means: Mapping[str, Mapping[str, float]], several: bool) -> Iterator[object]:
        """The parts about one data set."""
        name = own.data
        if several:
            yield _compared(own)
            yield from own.sentences
        if name in (curves := self.curves()):
            yield _chart(curves[name], own.terms.measure)
        for order, told in ((HIGHER, "more is better"), (LOWER, "less is better")):
            rows = [[m.replace("_", " "), *(means[o][m] for o in means)] for m in order if all(m in means[o] for o in means)]
            best = max if order is HIGHER else min
            caption = f"Means over {own.rounds} rounds; {told}, the best in bold."
            yield page.table(["measure", *map(visible, means)], rows, highlight=best, caption=caption, digits=4)
        seconds = [[visible(m), *(sum(getattr(r, s) for r in self.results._of(name, m)) for s in _SECONDS)] for m in means]
        yield page.table(["model", "seconds of learning", "seconds of answering"], seconds, caption="All rounds together.")
        yield from self._confusions(name)

    def _confusions(self, name: str) -> Iterator[object]:
        classes = self.final.classes[name]
        if len(classes) > _MOST:
            yield f"Which classes were taken for which is left out: there are {len(classes)} of them."
            return
        for model in self.final.models:
            told = f"{visible(model)}: the cases of all rounds by the class they were given and the one they have."
            yield page.confusion(self.final.confusion(name, model), classes, told)


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
    """The experiment with its models compared: on one data set, or over several.

    Parameters
    ----------
    results, data, protocol : what was found, on which cases, by which protocol; the data as for `run`.
    baseline, measure, alpha, rope : as for `compare`.
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
    """Refuse a protocol of one round, from which nothing can be concluded, before any work is done."""
    if isinstance(protocol, TrainTest):
        raise ParameterError("protocol: one division tells no chance from merit; choose 10x10-fold or 30-splits")
    if isinstance(protocol, (Splits, LearningCurve)) and protocol.count < 2:
        raise ParameterError(f"protocol: {protocol.count} division tells no chance from merit; choose two or more")


def check_measure(measure: str, *, loss: bool) -> None:
    """Refuse a measure that the experiment will not have.

    Parameters
    ----------
    measure : its name.
    loss : whether the costs of wrong decisions are given.
    """
    if measure not in MEASURES:
        hint = did_you_mean(_ALSO.get(measure, measure), MEASURES, "choose among")
        raise ParameterError(f"measure={quoted(measure)}: there is no such measure; {hint}")
    if measure.endswith("expected_loss") and not loss:
        raise ParameterError(f"measure={quoted(measure)}: it needs the costs of wrong decisions; give them with `loss=`")


def _mean(scores: Sequence[float]) -> float:
    return math.fsum(scores) / len(scores)


def _chart(curves: Mapping[str, Curve], measure: str) -> Markup:
    series: dict[object, Sequence[tuple[float, float | tuple[float, float]]]] = {}
    for model, curve in curves.items():
        points = zip(curve.sizes, curve.means, curve.halfwidths, strict=True)
        series[visible(model)] = [(size, mean if math.isnan(half) else (mean, half)) for size, mean, half in points]
    told = "Means over the divisions, with 95 % intervals."
    return page.line_chart(series, x="training rows", y=measure.replace("_", " "), caption=told)


def _joined(parts: Sequence[Markup]) -> Iterator[object]:
    for i, part in enumerate(parts):
        yield from (Markup(", "), part) if i else (part,)


def _compared(result: Comparison | Comparisons) -> Markup:
    """The table of a comparison, with its marks and its legend."""
    sheet = sheet_of(result)
    told = f"{sheet.title}. {sheet.legend}."
    if isinstance(result, Comparisons):
        return _grid(sheet.headers, sheet.rows, told)
    tests = [[name, *cells[_TESTS:]] for name, *cells in sheet.rows[1:]]  # the baseline has none
    scores = _grid(sheet.headers[: _TESTS + 1], [row[: _TESTS + 1] for row in sheet.rows], told)
    return Markup(scores + _grid([sheet.headers[0], *sheet.headers[_TESTS + 1 :]], tests, "All tests of the same differences."))


def _grid(headers: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> Markup:
    """A table of names, and of numbers with their marks."""
    tight = _TIGHT if len(headers) > _WIDE else ""
    first, *others = [name.strip() for name in headers]
    head = [element("th", first, scope="col", style=tight or None)]
    head += [element("th", name, scope="col", style=_HEAD + tight) for name in others]
    body = [element("tr", _row_name(name, tight), *(_cell(cell, tight) for cell in cells)) for name, *cells in rows]
    return figure(element("table", element("thead", element("tr", *head)), element("tbody", *body)), caption)


def _row_name(name: str, style: str) -> Markup:
    return element("th", element("span", name, class_="name"), scope="row", style=style or None)


def _cell(cell: str, style: str) -> Markup:
    """A number, and its mark where it has one."""
    if not cell.strip():
        return element("td")
    value, mark = (cell[:-1], cell[-1]) if cell[-1] in "v* " else (cell, "")
    if not mark:
        return element("td", value, class_="num", style=style or None)
    own = element("span", Markup("") if mark == " " else mark, style=_MARK.format("class" if mark == "*" else "feature"))
    return element("td", value.strip(), own, class_="num", style=style or None)
