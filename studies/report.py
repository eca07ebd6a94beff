"""A reproduction as lines of text, as Markdown and as an HTML page."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from naivete import __version__
from naivete.display import page
from studies.results import Cell, Figure, Pairing, Reproduction, Sheet
from studies.verdicts import mark, p_text, value_text

__all__ = ["Section", "html", "lines", "markdown", "sections"]

_WIDTH: Final = 100
_ESCAPES: Final = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_{}[]<>#|~!&"})


class Section(NamedTuple):
    """A table under its title."""

    title: str
    heads: list[str]
    rows: list[list[str]]
    figure: Figure | None = None


def sections(result: Reproduction) -> Iterator[Section]:
    """Return the tables of a reproduction, all values as text."""
    yield from map(_sheet, result.sheets)
    for title, pairs in (result.pairings or {}).items():
        yield Section(title, ["", "printed", "t", "ours", "t", "corrected t", "verdict"], [_pairing(pair) for pair in pairs])
    if result.claims:
        heads = [result.claimed, "printed", "printed p", "ours", "paired t p", "corrected t p"]
        rows = [
            [
                c.name,
                f"{c.printed_difference:+.1f}",
                _p(c.printed_p),
                f"{c.difference:+.1f}",
                _p(c.plain_p),
                _p(c.corrected_p),
                c.verdict,
            ]
            for c in result.claims
        ]
        yield Section("Claims, tested again: points of accuracy", [*heads, f"confirmed (p < {result.claimed_level:.2f})"], rows)
    yield from map(_figure, result.figures)


def _sheet(sheet: Sheet) -> Section:
    """Return the table of a sheet; columns that would be empty are left out."""
    shown = {
        "difference": sheet.differences,
        "p": any(cell.p is not None for cell in sheet.cells),
        "verdict": True,
        "note": any(cell.note for cell in sheet.cells),
    }
    heads = ["", "printed", "ours", *(head for head, present in shown.items() if present)]
    return Section(sheet.title, heads, [[_cell(cell, head, sheet.digits) for head in heads] for cell in sheet.cells])


def _cell(cell: Cell, head: str, digits: int) -> str:
    if head in ("printed", "ours"):
        return value_text(getattr(cell, head), digits)
    if head == "p":
        return "-" if cell.p is None else _p(cell.p)
    if head == "difference":
        return "-" if cell.difference is None else f"{cell.difference:+.{digits}f}"
    return str(getattr(cell, head or "name"))


def _p(p: float) -> str:
    return p_text(p).removeprefix("p ").removeprefix("= ")


def _pairing(pair: Pairing) -> list[str]:
    """Return the row of a difference; the sign behind a t marks it as significant."""
    return [
        pair.name,
        "-" if pair.printed_difference is None else f"{pair.printed_difference:+.2f}",
        "-" if pair.printed_t is None else f"{pair.printed_t:.2f} {pair.printed_mark or ' '}",
        f"{pair.difference:+.2f}",
        f"{pair.t:.2f} {mark(pair.difference, pair.p) or ' '}",
        f"{pair.corrected_t:.2f} {mark(pair.difference, pair.corrected_p) or ' '}",
        pair.verdict,
    ]


def _figure(figure: Figure) -> Section:
    """Return the points of a figure: for each x the mean of every curve and half the width of its interval."""
    texts = {name: {x: value_text((y, half), 1) for x, y, half in points} for name, points in figure.curves.items()}
    places = sorted({x for points in texts.values() for x in points})
    rows = [[f"{x:g}", *(points.get(x, "-") for points in texts.values())] for x in places]
    return Section(figure.title, [figure.x, *figure.curves], rows, figure)


def lines(result: Reproduction) -> Iterator[str]:
    """Return the report as lines of ASCII for a terminal; the summary is the last one."""
    yield result.title
    for sentence in result.about:
        yield from _wrapped(sentence)
    for section in sections(result):
        notes = section.heads[-1] == "note"
        columns = len(section.heads) - notes
        table = _columns([row[:columns] for row in (section.heads, *section.rows)])
        yield from ("", _ascii(section.title), table[0])
        for line, row in zip(table[1:], section.rows, strict=True):
            yield line
            yield from _wrapped(row[-1], "    ") if notes else ()
    yield from ("", "Remarks")
    for kind, text in result.remarks:
        yield from _wrapped(f"{kind}: {text}", "  ")
    yield from ("", result.summary)


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows with aligned columns, the first to the left, the others to the right.

    >>> _columns([["model", "n"], ["nb", "10"]])
    ['model   n', 'nb     10']
    """
    cells = [[_ascii(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in cells]


def _ascii(text: str) -> str:
    return text.replace("±", "+-")


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(_ascii(text), _WIDTH, initial_indent=indent, subsequent_indent=indent)


def markdown(result: Reproduction) -> str:
    """Return the report as Markdown; the summary comes first."""
    command = f"Written by `python3 dev.py reproduce {_escaped(result.name)} --markdown FILE` (naivete {__version__})."
    head = [_escaped(result.title), f"**{_escaped(result.summary)}**", command, *map(_escaped, result.about)]
    parts = [f"# {_escaped(result.name)}", *head]
    for section in sections(result):
        rows = [[_escaped(cell) for cell in row] for row in (section.heads, *section.rows)]
        table = "\n".join(f"| {' | '.join(row)} |" for row in [rows[0], ["---"] * len(rows[0]), *rows[1:]])
        parts += [f"## {_escaped(section.title)}", table]
    parts += ["## Remarks", "\n".join(f"- **{_escaped(kind)}**: {_escaped(text)}" for kind, text in result.remarks)]
    return "\n\n".join(parts) + "\n"


def _escaped(text: str) -> str:
    r"""Return the text with the signs of Markdown escaped.

    >>> _escaped("P#(a|b)")
    'P\\#(a\\|b)'
    """
    return " ".join(text.split()).translate(_ESCAPES)


def html(result: Reproduction) -> str:
    """Return the report as an HTML page, with the curves as charts."""
    parts: list[tuple[object, list[object]]] = [("Summary", [page.note(result.summary), *result.about])]
    for section in sections(result):
        heads = [section.heads[0] or "value", *section.heads[1:]]
        parts.append((section.title, [_chart(section.figure) if section.figure else page.table(heads, section.rows)]))
    parts.append(("Remarks", [f"{kind}: {text}" for kind, text in result.remarks]))
    return str(page.page(result.title, parts, footer=f"{result.name}, written by naivete {__version__}"))


def _chart(figure: Figure) -> object:
    series: dict[object, Sequence[tuple[float, float | tuple[float, float]]]] = {
        name: [(x, (y, half)) for x, y, half in points] for name, points in figure.curves.items()
    }
    return page.line_chart(series, x=figure.x, y=figure.y, caption=f"{figure.title}: means with 95 % intervals.")
