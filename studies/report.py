"""A reproduction as rows of text, as Markdown, as a record for JSON, and as one HTML page that fetches nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from naivete import __version__
from naivete.display import page
from naivete.display.markup import Markup, element
from studies.pairings import AGREES, NOT_THERE, OPPOSITE, Pairings, mark
from studies.verdicts import (
    INSIDE,
    REPRODUCED,
    Cell,
    Claim,
    Figure,
    Reproduction,
    Sheet,
    Value,
    chance,
    shown_value,
)

__all__ = [
    "PAIRING_HEADS",
    "as_html",
    "as_markdown",
    "as_record",
    "cell_heads",
    "cell_rows",
    "claim_heads",
    "claim_rows",
    "figure_heads",
    "figure_rows",
    "pairing_rows",
]

PAIRING_HEADS: Final = ("", "printed", "t", "ours", "t", "corrected t", "verdict")
_SPECIAL: Final = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_{}[]<>#|~!&"})


def cell_heads(sheet: Sheet) -> list[str]:
    """The headings of the columns of a sheet; those that would be empty are left out."""
    there = {
        "difference": sheet.differences,
        "p": any(cell.p is not None for cell in sheet.cells),
        "verdict": True,
        "note": any(cell.note for cell in sheet.cells),
    }
    return ["", "printed", "ours", *(head for head, shown in there.items() if shown)]


def cell_rows(sheet: Sheet) -> list[list[str]]:
    """The cells of a sheet as rows of text, under those headings."""
    heads = cell_heads(sheet)
    return [[_text(cell, head, sheet.digits) for head in heads] for cell in sheet.cells]


def _text(cell: Cell, head: str, digits: int) -> str:
    if head in ("printed", "ours"):
        return shown_value(getattr(cell, head), digits)
    if head == "p":
        return "-" if cell.p is None else _p(cell.p)
    if head == "difference":
        return "-" if cell.difference is None else f"{cell.difference:+.{digits}f}"
    return str(getattr(cell, head or "name"))


def claim_heads(result: Reproduction) -> list[str]:
    """The headings of the table of claims."""
    tests = ["printed p", "ours", "paired t p", "corrected t p"]
    return [result.claimed, "printed", *tests, f"confirmed (p < {result.claimed_level:.2f})"]


def claim_rows(claims: Iterable[Claim]) -> list[list[str]]:
    """The claims as rows of text, under `claim_heads`."""
    return [
        [
            claim.name,
            f"{claim.printed_difference:+.1f}",
            _p(claim.printed_p),
            f"{claim.difference:+.1f}",
            _p(claim.plain_p),
            _p(claim.corrected_p),
            claim.verdict,
        ]
        for claim in claims
    ]


def pairing_rows(pairings: Pairings) -> list[list[str]]:
    """The differences as rows of text, under `PAIRING_HEADS`; a sign behind a t says that it is significant."""
    return [
        [
            own.name,
            "-" if own.printed_difference is None else f"{own.printed_difference:+.2f}",
            "-" if own.printed_t is None else _marked(own.printed_t, own.printed_mark),
            f"{own.difference:+.2f}",
            _marked(own.t, mark(own.difference, own.p)),
            _marked(own.corrected, mark(own.difference, own.corrected_p)),
            own.verdict,
        ]
        for own in pairings.pairs
    ]


def _marked(t: float, sign: str) -> str:
    """A t with the sign that says it is significant, or as much room.

    >>> _marked(-2.345, "-"), _marked(1.0, "")
    ('-2.35 -', '1.00  ')
    """
    return f"{t:.2f} {sign or ' '}"


def figure_heads(figure: Figure) -> list[str]:
    """The headings of a figure as a table."""
    return [figure.x, *figure.curves]


def figure_rows(figure: Figure) -> list[list[str]]:
    """The points of a figure as rows of text: for each x the mean of every curve and half the width of its interval."""
    at = {name: {x: shown_value((y, half), 1) for x, y, half in points} for name, points in figure.curves.items()}
    return [[f"{x:g}", *(own.get(x, "-") for own in at.values())] for x in sorted({x for own in at.values() for x in own})]


def _p(p: float) -> str:
    """A p value without its letter.

    >>> _p(0.01234), _p(0.00001), _p(1.0)
    ('0.0123', '< 0.0001', '1')
    """
    return chance(p).removeprefix("p ").removeprefix("= ")


def as_record(result: Reproduction) -> dict[str, Any]:
    """Everything, as plain values."""
    return {
        "name": result.name,
        "title": result.title,
        "about": list(result.about),
        "sheets": [{"title": sheet.title, "cells": list(map(_cell_record, sheet.cells))} for sheet in result.sheets],
        "pairings": [{"title": own.title, "pairs": list(map(vars, own.pairs))} for own in result.pairings],
        "claims": [vars(claim) for claim in result.claims],
        "figures": [{**vars(own), "curves": {n: list(map(list, c)) for n, c in own.curves.items()}} for own in result.figures],
        "remarks": [vars(remark) for remark in result.remarks],
        "summary": result.summary,
    }


def _cell_record(cell: Cell) -> dict[str, Any]:
    own = {"name": cell.name, "verdict": cell.verdict, "p": cell.p, "difference": cell.difference, "note": cell.note}
    return {**own, **_value_record("printed", cell.printed), **_value_record("ours", cell.ours)}


def _value_record(name: str, value: Value) -> dict[str, Any]:
    return {name: value[0], f"{name}_deviation": value[1]} if isinstance(value, tuple) else {name: value}


def as_markdown(result: Reproduction) -> str:
    """The reproduction as Markdown, every text of it inert."""
    parts = [f"# {_inert(result.name)}", _inert(result.title), *map(_inert, result.about)]
    for sheet in result.sheets:
        parts += [f"## {_inert(sheet.title)}", _markdown_table(cell_heads(sheet), cell_rows(sheet))]
    for own in result.pairings:
        parts += [f"## {_inert(own.title)}", _markdown_table(PAIRING_HEADS, pairing_rows(own))]
    if result.claims:
        parts += ["## Claims, tested again", _markdown_table(claim_heads(result), claim_rows(result.claims))]
    for figure in result.figures:
        parts += [f"## {_inert(figure.title)}", _markdown_table(figure_heads(figure), figure_rows(figure))]
    parts += ["## Remarks", "\n".join(f"- **{_inert(r.kind)}**: {_inert(r.text)}" for r in result.remarks)]
    return "\n\n".join([*parts, _inert(result.summary)]) + "\n"


def _markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    told = [[_inert(cell) for cell in row] for row in (heads, *rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in [told[0], ["---"] * len(heads), *told[1:]])


def _inert(text: str) -> str:
    r"""The text with the marks of Markdown escaped.

    >>> _inert("P#(a|b)")
    'P\\#(a\\|b)'
    """
    return " ".join(text.split()).translate(_SPECIAL)


def as_html(result: Reproduction) -> Markup:
    """The reproduction as a page, good to read and to print."""
    sections: list[tuple[object, list[object]]] = [("Summary", [page.note(result.summary), *result.about])]
    sections += [(sheet.title, [_html_table(sheet)]) for sheet in result.sheets]
    sections += [(own.title, [_html_pairings(own)]) for own in result.pairings]
    if result.claims:
        told = "Differences in points of accuracy; only the corrected t allows for training sets that overlap."
        sections.append(("Claims, tested again", [page.table(claim_heads(result), _html_claims(result.claims), caption=told)]))
    sections += [(figure.title, [_chart(figure)]) for figure in result.figures]
    remarks = [element("p", element("strong", remark.kind), ": ", remark.text) for remark in result.remarks]
    sections.append(("Remarks", [*remarks]))
    return page.page(result.title, sections, footer=f"{result.name}, written by naivete {__version__}")


def _html_table(sheet: Sheet) -> Markup:
    heads = cell_heads(sheet)
    rows = [[_html_value(cell, head, sheet) for head in heads] for cell in sheet.cells]
    return page.table([head or "figure" for head in heads], rows, digits=sheet.digits)


def _html_value(cell: Cell, head: str, sheet: Sheet) -> object:
    """Numbers as they are where the whole column has numbers, so that they are set to the right; all else as text."""
    if head in ("printed", "ours"):
        words = any(isinstance(getattr(own, head), str) for own in sheet.cells)
        return shown_value(getattr(cell, head), sheet.digits) if words else getattr(cell, head)
    if head == "verdict":
        return _verdict(cell.verdict)
    if head == "note" and not cell.note:
        return Markup("")
    return _text(cell, head, sheet.digits)


def _verdict(verdict: str) -> Markup:
    striking = verdict.startswith("outside") or verdict == "misprint"
    quiet = verdict not in (INSIDE, REPRODUCED) and not striking
    return element("span", verdict, class_="wrong" if striking else "muted" if quiet else None)


def _html_claims(claims: Iterable[Claim]) -> list[list[object]]:
    return [[*row[:-1], _claimed(row[-1])] for row in claim_rows(claims)]


def _claimed(verdict: str) -> Markup:
    return element("span", verdict, class_="wrong" if verdict == "not confirmed" else None)


def _html_pairings(pairings: Pairings) -> Markup:
    rows = [[*row[:-1], _agreement(row[-1])] for row in pairing_rows(pairings)]
    told = "A sign behind a t: significant at 95 %."
    return page.table(["compared", *PAIRING_HEADS[1:]], rows, caption=told)


def _agreement(verdict: str) -> Markup:
    quiet = verdict in (AGREES, NOT_THERE)
    return element("span", verdict, class_="wrong" if verdict == OPPOSITE else "muted" if quiet else None)


def _chart(figure: Figure) -> Markup:
    series: dict[object, Sequence[tuple[float, float | tuple[float, float]]]] = {
        name: [(x, (y, half)) for x, y, half in points] for name, points in figure.curves.items()
    }
    return page.line_chart(series, x=figure.x, y=figure.y, caption=f"{figure.title}: means with 95 % intervals.")
