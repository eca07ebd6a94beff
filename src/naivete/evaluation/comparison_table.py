"""The table of a comparison with its title, legend and conclusions, before any format has escaped it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from naivete.evaluation.comparison import MARKS, Comparison, Comparisons, Pair, Terms, visible

__all__ = ["Sheet", "sheet_of"]

_TESTS: Final = ("plain p", "corrected p", "Holm p", "Wilcoxon p", "P(worse)", "P(equal)", "P(better)")


class Sheet(NamedTuple):
    """A table with its title, legend and conclusions, not escaped yet; the first column holds names."""

    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    legend: str
    sentences: Sequence[str]

    def escaped(self, escape: Callable[[str], str]) -> tuple[str, list[list[str]], list[str]]:
        """The title, the headers with the rows, and the legend with the sentences, every text escaped by itself."""
        table = [[escape(cell) for cell in row] for row in (self.headers, *self.rows)]
        return escape(self.title), table, [escape(line) for line in (self.legend, *self.sentences)]


def sheet_of(result: Comparison | Comparisons) -> Sheet:
    """The table of the models on one data set with all tests, or of the data sets with the ranks of the models.

    Parameters
    ----------
    result : the comparison.
    """
    own = result if isinstance(result, Comparison) else result.comparisons[0]
    terms = result.terms
    legend = f"v: better, *: worse than {visible(own.baseline)} by the corrected paired t (p < {terms.alpha:g})"
    if isinstance(result, Comparisons):
        title = f"{terms.label}: mean (standard deviation) over the rounds"
        return Sheet(
            title,
            ["data set", *map(visible, result.models)],
            _rows_of_many(result),
            f"{legend}; rank 1 is best",
            result.sentences,
        )
    title = f"{f'{visible(own.data)}: ' * bool(own.data)}{terms.label}, {own.rounds} rounds, compared with {visible(own.baseline)}"
    headers = ["model", "mean ", "sd", "difference", *_TESTS]
    rows = [
        [visible(own.baseline), f"{terms.value(own.mean)}  ", terms.value(own.deviation), "", *[""] * len(_TESTS)],
        *(_row(p, terms) for p in own.pairs),
    ]
    return Sheet(title, headers, rows, f"{legend}; equal: within {terms.region}", result.sentences)


def _row(pair: Pair, terms: Terms) -> list[str]:
    p_values = (pair.plain.p, pair.corrected.p, pair.adjusted, pair.wilcoxon.p)
    scores = [f"{terms.value(pair.mean)} {MARKS[pair.verdict]}", terms.value(pair.deviation), terms.value(pair.difference)]
    return [
        visible(pair.model),
        *scores,
        *("<0.0001" if p < 0.0001 else f"{p:.4f}" for p in p_values),
        *(f"{p:.3f}" for p in pair.bayesian[:3]),
    ]


def _rows_of_many(result: Comparisons) -> list[list[str]]:
    told = result.terms.value
    rows = [
        [visible(own.data), f"{told(own.mean)} ({told(own.deviation)})  "]
        + [f"{told(pair.mean)} ({told(pair.deviation)}) {MARKS[pair.verdict]}" for pair in own.pairs]
        for own in result.comparisons
    ]
    counts = [f"{'/'.join(map(str, result.counts(m)))}  " for m in range(1, len(result.models))]
    return [*rows, ["v/ /*", "", *counts], ["average rank", *(f"{rank:.2f}  " for rank in result.nemenyi.ranks)]]
