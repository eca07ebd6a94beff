"""The table of a comparison with its title, legend and conclusions, before it is escaped for an output format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from naivete.evaluation.comparison import MARKS, Comparison, Comparisons, Pair
from naivete.evaluation.comparison_terms import Terms, visible

__all__ = ["Sheet", "sheet_of"]

_TESTS: Final = ("plain p", "corrected p", "Holm p", "Wilcoxon p", "P(worse)", "P(equal)", "P(better)")


class Sheet(NamedTuple):
    """A table with its title, legend and conclusions, not escaped; the first column has the names."""

    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    legend: str
    sentences: Sequence[str]

    def escaped(self, escape: Callable[[str], str]) -> tuple[str, list[list[str]], list[str]]:
        """Return the title, the headers with the rows, and the legend with the sentences, each text escaped separately."""
        table = [[escape(cell) for cell in row] for row in (self.headers, *self.rows)]
        return escape(self.title), table, [escape(line) for line in (self.legend, *self.sentences)]


def sheet_of(result: Comparison | Comparisons) -> Sheet:
    """Return the table of the models on one data set with all tests, or of several data sets with the ranks of the models.

    Parameters
    ----------
    result : the comparison.
    """
    first = result if isinstance(result, Comparison) else result.comparisons[0]
    terms = result.terms
    legend = f"v: better, *: worse than {visible(first.baseline)} by the corrected paired t (p < {terms.alpha:g})"
    if isinstance(result, Comparisons):
        title = f"{terms.label}: mean (standard deviation) over the rounds"
        return Sheet(
            title,
            ["data set", *map(visible, result.models)],
            _rows_of_many(result),
            f"{legend}; rank 1 is best",
            result.sentences,
        )
    name = f"{visible(first.data)}: " if first.data else ""
    title = f"{name}{terms.label}, {first.rounds} rounds, compared with {visible(first.baseline)}"
    headers = ["model", "mean ", "sd", "difference", *_TESTS]
    rows = [
        [visible(first.baseline), f"{terms.value(first.mean)}  ", terms.value(first.deviation), "", *[""] * len(_TESTS)],
        *(_row(p, terms) for p in first.pairs),
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
    value = result.terms.value
    rows = [
        [visible(one.data), f"{value(one.mean)} ({value(one.deviation)})  "]
        + [f"{value(pair.mean)} ({value(pair.deviation)}) {MARKS[pair.verdict]}" for pair in one.pairs]
        for one in result.comparisons
    ]
    counts = [f"{'/'.join(map(str, result.counts(m)))}  " for m in range(1, len(result.models))]
    return [*rows, ["better/undecided/worse", "", *counts], ["average rank", *(f"{rank:.2f}  " for rank in result.nemenyi.ranks)]]
