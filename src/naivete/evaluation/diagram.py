"""Comparisons as text, Markdown, LaTeX, CSV and JSON, and the critical-difference diagram as SVG; names are escaped in all."""

from __future__ import annotations

import csv
import io
import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from naivete.display.markup import Markup, attribute, element, shorten, text_width
from naivete.errors import DataError
from naivete.evaluation.comparison import MARKS, Comparison, Comparisons
from naivete.evaluation.comparison_table import sheet_of
from naivete.evaluation.comparison_terms import visible
from naivete.evaluation.rank_tests import Nemenyi

__all__ = ["as_csv", "as_json", "as_latex", "as_markdown", "as_text", "critical_difference_diagram"]

_MARKDOWN: Final = re.compile(r"[\\`*_{}\[\]<>#!|~$&@^]|(?<=:)/|(?<=www)\.|^[-+](?=\s)", re.IGNORECASE)
_LATEX: Final = {char: f"\\{char}" for char in "_&%#${}"} | {char: f"{{{char}}}" for char in "[]*"}
_LATEX_WORDS: Final = {"\\": "backslash", "~": "asciitilde", "^": "asciicircum", "<": "less", ">": "greater", "|": "bar"}
_NAME, _ROW, _BAR = 13.0, 20.0, 9.0
_LENGTH, _MARGIN, _GAP, _FIGURES, _LEAD = 340.0, 12.0, 8.0, 46.0, 30.0  # of the axis; around all; of a rank's digits and line
_STYLE: Final = (
    ".nv-cd{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;font-size:13px}"
    ".nv-cd:root{color:#1c2430;background:#fff}"
    ".nv-cd text{fill:currentColor}.nv-cd .nv-small{font-size:11px;opacity:.8}"
    ".nv-cd path{fill:none;stroke:currentColor}.nv-cd .nv-lead{opacity:.6}"
    ".nv-cd .nv-group{stroke:var(--nv-class,#d9692a);stroke-width:4;stroke-linecap:round}"
    "@media (prefers-color-scheme:dark){.nv-cd:root{color:#e4e8ee;background:#14181e}}"
)


def as_text(result: Comparison | Comparisons) -> str:
    """Return aligned columns with a mark beside models that are better (v) or worse (*), the legend, and the conclusions."""
    title, table, notes = sheet_of(result).escaped(lambda cell: visible(cell) if cell.strip() else cell)
    widths = [max(map(_columns, column)) for column in zip(*table, strict=True)]
    lines = ["  ".join(_padded(*cell, i == 0) for i, cell in enumerate(zip(row, widths, strict=True))) for row in table]
    return "\n".join([title, "", *(line.rstrip() for line in lines), "", notes[0], "", *notes[1:], ""])


def as_markdown(result: Comparison | Comparisons) -> str:
    """Return a table in GitHub's Markdown, with the legend below and the conclusions as a list."""
    title, (head, *rows), notes = sheet_of(result).escaped(_markdown)
    lines = [f"| {' | '.join(row)} |" for row in (head, [":--", *["--:"] * (len(head) - 1)], *rows)]
    return "\n".join([title, "", *lines, "", notes[0], "", *(f"- {line}" for line in notes[1:]), ""])


def as_latex(result: Comparison | Comparisons) -> str:
    """Return a LaTeX `tabular`, which needs no package, and the legend and conclusions as paragraphs."""
    title, table, notes = sheet_of(result).escaped(_latex)
    head, *rows = [" & ".join(row) + r" \\" for row in table]
    begin = rf"\begin{{tabular}}{{l{'r' * (len(table[0]) - 1)}}}"
    paragraphs = [part for line in notes for part in ("", line)]
    return "\n".join([title, "", begin, r"\hline", head, r"\hline", *rows, r"\hline", r"\end{tabular}", *paragraphs, ""])


def as_csv(result: Comparison | Comparisons) -> str:
    """Return CSV with one line for each model and data set with all tests; control characters in names are escaped."""
    records = [{k: visible(v) if isinstance(v, str) else v for k, v in record.items()} for record in _records(result)]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def as_json(result: Comparison | Comparisons) -> dict[str, Any]:
    """Return values for `json.dumps`: the lines of `as_csv` as "pairs", the other tests, the conclusions; None for infinity."""
    first = result if isinstance(result, Comparison) else result.comparisons[0]
    terms = vars(result.terms) | {"baseline": first.baseline}
    plain: dict[str, Any] = terms | {"pairs": list(_records(result)), "sentences": list(result.sentences)}
    if isinstance(result, Comparisons):
        counts = {m: dict(zip(MARKS, result.counts(i), strict=True)) for i, m in enumerate(result.models) if i}
        ranks = {"models": list(result.models)} | result.nemenyi._asdict()
        across = [{"model": m} | test._asdict() for m, test in zip(result.models[1:], result.across, strict=True)]
        plain |= {"counts": counts, "friedman": result.friedman._asdict(), "nemenyi": ranks, "wilcoxon": across}
    return dict(_finite(plain))


def critical_difference_diagram(ranks: Nemenyi, models: Sequence[object], *, title: object = None) -> Markup:
    """Return an SVG of the average ranks on an axis, the best on the left; bars join models that do not differ significantly.

    Parameters
    ----------
    ranks : Nemenyi
        The result of Nemenyi's test.
    models : sequence of str
        The names of the models, in the order of the ranks.
    title : str or None, default=None
        The title above the diagram.

    Returns
    -------
    Markup
        The drawing.

    References
    ----------
    Demsar (2006), Statistical comparisons of classifiers over multiple data sets, section 3.2.4.
    """
    k = len(ranks.ranks)
    if len(models) != k:
        raise DataError(f"critical_difference_diagram: {len(models)} names for {k} average ranks")
    names = [shorten(model, 240, _NAME) for model in models]
    side = max(160.0, _MARGIN + max(text_width(name, _NAME) for name in names) + _GAP + _FIGURES + _LEAD)
    axis = _Axis(side, 78.0 if title is None else 104.0, k)
    levels = _levels(ranks)
    first = axis.y + 26 + _BAR * (1 + max((level for level, _ in levels), default=-1))
    order = sorted(range(k), key=lambda m: ranks.ranks[m])
    width, height = 2 * side + _LENGTH, first + _ROW * ((k + 1) // 2 - 1) + _MARGIN + 6
    heading = [] if title is None else [_text(shorten(title, width - 2 * _MARGIN, 15, 200), width / 2, 26, "middle", font_size=15)]
    body = [*heading, *_scale(axis), *_ruler(ranks, axis), *_leaders(ranks, names, order, axis, first), *_bars(levels, axis)]
    label = "Critical-difference diagram" if title is None else shorten(title, 900, 15, 200)
    return element(
        "svg",
        element("title", label),
        element("desc", _description(ranks, models, order)),
        element("style", Markup(_STYLE)),
        *body,
        xmlns="http://www.w3.org/2000/svg",
        class_="nv-cd",
        role="img",
        aria_label=label,
        viewBox=f"0 0 {_n(width)} {_n(height)}",
        width=width,
        height=height,
        style="max-width:100%;height:auto",
    )


class _Axis(NamedTuple):
    """The axis of ranks from 1 to k; a call returns the position of a rank in pixels."""

    left: float
    y: float
    k: int

    def __call__(self, rank: float) -> float:
        return self.left + _LENGTH * (rank - 1) / (self.k - 1)


def _scale(axis: _Axis) -> Iterator[Markup]:
    """Yield the axis, with at most about twenty labels."""
    yield _path(f"M{_n(axis.left)} {_n(axis.y)}h{_n(_LENGTH)}")
    for rank in range(1, axis.k + 1, -(-axis.k // 20)):
        yield _path(f"M{_n(axis(rank))} {_n(axis.y)}v-6")
        yield _text(str(rank), axis(rank), axis.y - 10, "middle", class_="nv-small")
    yield _text("average rank, 1 is best", axis.left - 10, axis.y - 10, "end", class_="nv-small")


def _ruler(ranks: Nemenyi, axis: _Axis) -> Iterator[Markup]:
    """Yield the critical difference as a length above the axis, if it is not longer than the axis."""
    label, y = f"critical difference {ranks.critical_difference:.2f} (p < {ranks.alpha:g})", axis.y - 44
    if ranks.critical_difference <= axis.k - 1:
        yield _path(f"M{_n(axis.left)} {_n(y - 4)}v8m0 -4H{_n(axis(1 + ranks.critical_difference))}m0 -4v8")
    else:
        label = f"{label}: longer than the axis"
    yield _text(label, axis.left, y - 10, "start", class_="nv-small")


def _leaders(ranks: Nemenyi, names: Sequence[str], order: Sequence[int], axis: _Axis, first: float) -> Iterator[Markup]:
    """Yield a line from the axis to each name: the better half on the left, the others on the right, the outermost on top."""
    for position, model in enumerate(order):
        left = position < (axis.k + 1) // 2
        y = first + _ROW * (position if left else axis.k - 1 - position)
        end, away, anchor = (axis.left - _LEAD, -1, "end") if left else (axis.left + _LENGTH + _LEAD, 1, "start")
        yield _path(f"M{_n(axis(ranks.ranks[model]))} {_n(axis.y)}V{_n(y)}H{_n(end)}", "nv-lead")
        yield _text(f"{ranks.ranks[model]:.2f}", end + away * _GAP, y + 4, anchor)
        yield _text(names[model], end + away * (_GAP + _FIGURES), y + 4, anchor)


def _bars(levels: Sequence[tuple[int, tuple[float, float]]], axis: _Axis) -> Iterator[Markup]:
    for level, (start, end) in levels:
        yield _path(f"M{_n(axis(start) - 4)} {_n(axis.y + 14 + _BAR * level)}H{_n(axis(end) + 4)}", "nv-group")


def _levels(ranks: Nemenyi) -> list[tuple[int, tuple[float, float]]]:
    """Return the level and the ends of the bar of each group; bars on the same level do not touch."""
    levels: list[tuple[int, tuple[float, float]]] = []
    free: list[float] = []
    for group in ranks.groups():
        start, end = ranks.ranks[group[0]], ranks.ranks[group[-1]]
        level = next((i for i, last in enumerate(free) if last + 0.04 * len(ranks.ranks) < start), len(free))
        free[level : level + 1] = [end]
        levels.append((level, (start, end)))
    return levels


def _description(ranks: Nemenyi, models: Sequence[object], order: Sequence[int]) -> str:
    listed = ", ".join(f"{shorten(models[m], 300, _NAME)} {ranks.ranks[m]:.2f}" for m in order)
    groups = "; ".join(", ".join(shorten(models[m], 300, _NAME) for m in group) for group in ranks.groups()) or "none"
    return f"Average ranks over {ranks.data_sets} data sets: {listed}. No significant difference: {groups}."


def _n(value: float) -> str:
    return attribute(float(value))


def _path(commands: str, class_: str | None = None) -> Markup:
    return element("path", d=commands, class_=class_)


def _text(content: str, x: float, y: float, anchor: str, **attributes: object) -> Markup:
    return element("text", content, x=float(x), y=float(y), text_anchor=anchor, **attributes)


def _records(result: Comparison | Comparisons) -> Iterator[dict[str, Any]]:
    for one in [result] if isinstance(result, Comparison) else result.comparisons:
        about = {"data_set": one.data, "baseline": one.baseline, "rounds": one.rounds, "baseline_mean": one.mean}
        for pair in one.pairs:
            yield about | {
                "baseline_sd": one.deviation,
                "model": pair.model,
                "mean": pair.mean,
                "sd": pair.deviation,
                "difference": pair.difference,
                "verdict": pair.verdict,
                "plain_t": pair.plain.statistic,
                "plain_p": pair.plain.p,
                "corrected_t": pair.corrected.statistic,
                "corrected_p": pair.corrected.p,
                "holm_p": pair.adjusted,
                "wilcoxon": pair.wilcoxon.statistic,
                "wilcoxon_p": pair.wilcoxon.p,
                "p_worse": pair.bayesian.left,
                "p_equal": pair.bayesian.rope,
                "p_better": pair.bayesian.right,
            }


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _padded(cell: str, width: int, left: bool) -> str:
    padding = " " * (width - _columns(cell))
    return cell + padding if left else padding + cell


def _columns(cell: str) -> int:
    """Return the number of terminal columns of a text."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in cell)


def _markdown(cell: str) -> str:
    r"""Return the text, escaped for Markdown.

    >>> print(_markdown("a|b_c <i>"), _markdown("1. x"))
    a\|b\_c \<i\> 1\. x
    """
    marked = _MARKDOWN.sub(lambda match: f"\\{match[0]}", visible(cell).strip()) if cell.strip() else ""
    return re.sub(r"^(\d+)([.)])(?=\s)", r"\1\\\2", marked)


def _latex(cell: str) -> str:
    r"""Return the text, escaped for LaTeX.

    >>> print(_latex("50% of a_b"))
    50\% of a\_b
    """
    named = _LATEX | {char: rf"\text{word}{{}}" for char, word in _LATEX_WORDS.items()} | {'"': "''"}
    return "".join(named.get(char, char) for char in visible(cell).strip()) if cell.strip() else ""
