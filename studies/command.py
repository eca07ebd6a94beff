"""`naivete reproduce`: published tables run again, every figure beside ours with a verdict."""

from __future__ import annotations

import textwrap
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from naivete.cli.options import check_output
from naivete.cli.output import escaped, json_text, note, say, text_table
from naivete.cli.parsing import Command
from naivete.cli.progress import progress
from naivete.errors import ParameterError, close_matches, quoted

if TYPE_CHECKING:
    from studies import Reproduction

__all__ = ["COMMAND"]

_NAMES: Final = ("sahami-1996", "langley-1993", "jensen-2007", "barrow-2011", "singh-provan-1995")
_LAST: Final = "singh-provan-1995"
_READ: Final = ("langley-1993", _LAST)
"""Those that have other readings to run."""
_WIDTH: Final = 100


def arguments(parser: ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("name", metavar="NAME", help=f"the publication: {' or '.join(_NAMES)}")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the folds and of generated data (0)")
    parser.add_argument("--quick", action="store_true", help="fewer folds; the report says so")
    parser.add_argument("--alternatives", action="store_true", help=f"{' and '.join(_READ)}: also run other readings of the paper")
    parser.add_argument("--modifications", action="store_true", help=f"{_LAST}: also try the modifications of section 5.6")
    parser.add_argument("--resume", metavar="FOLDER", help=f"{_LAST}: keep every finished division here; a killed run goes on")
    parser.add_argument("--data", metavar="FOLDER", help="the data sets as NAME.arff.gz (NAIVETE_DATA, else fetched from OpenML)")
    parser.add_argument("--markdown", action="store_true", help="print the report as Markdown")
    parser.add_argument("--html", metavar="FILE", help="write the report as a page, too")
    parser.add_argument("--force", action="store_true", help="replace the page if there is one")
    parser.add_argument("--progress", action="store_true", help="tell the progress although standard error is no terminal")


def run(args: Namespace) -> int:
    """Run the experiment again, print the report, and write the page."""
    _check(args)
    check_output(args.html, [], args.force)

    from naivete.storage.atomic import atomic_write
    from studies.report import as_html, as_markdown, as_record

    result = _result(args)
    if args.html:
        atomic_write(Path(args.html), str(as_html(result)).encode(), overwrite=args.force)
        note(f"the page: {Path(args.html).resolve()}")
    if args.json:
        say(json_text(as_record(result)))
    elif args.markdown:
        say(as_markdown(result).rstrip("\n"))
    else:
        say(*_lines(result))
    return 0


def _check(args: Namespace) -> None:
    if args.name not in _NAMES:
        close = close_matches(args.name, _NAMES)
        hint = f"did you mean {close[0]}?" if close else f"choose {' or '.join(_NAMES)}"
        raise ParameterError(f"reproduce: there is no reproduction {quoted(args.name)}; {hint}")
    if args.alternatives and args.name not in _READ:
        raise ParameterError(f"reproduce: --alternatives is for {' and '.join(_READ)}, not for {args.name}")
    if args.name != _LAST and (args.modifications or args.resume):
        raise ParameterError(f"reproduce: --modifications and --resume are for {_LAST}, not for {args.name}")
    if args.seed < 0:
        raise ParameterError("--seed is at least 0")
    if args.json and args.markdown:
        raise ParameterError("reproduce: --json and --markdown exclude each other; choose one")


def _result(args: Namespace) -> Reproduction:
    from studies import (
        barrow,
        barrow_2011,
        jensen_2007,
        langley,
        langley_1993,
        sahami,
        sahami_1996,
        singh_provan,
        singh_provan_1995,
    )

    common = {"seed": args.seed, "quick": args.quick, "data": args.data}
    if args.name == "jensen-2007":
        return jensen_2007()
    if args.name == "sahami-1996":
        with progress("reproduce", sahami.steps(quick=args.quick), wanted=args.progress) as step:
            return sahami_1996(**common, progress=step)
    if args.name == "barrow-2011":
        with progress("reproduce", barrow.steps(quick=args.quick, data=args.data), wanted=args.progress) as step:
            return barrow_2011(**common, progress=step)
    if args.name == "langley-1993":
        own = {"quick": args.quick, "alternatives": args.alternatives}
        with progress("reproduce", langley.steps(**own), wanted=args.progress) as step:
            return langley_1993(**common, alternatives=args.alternatives, progress=step)
    more = {"alternatives": args.alternatives, "modifications": args.modifications}
    with progress("reproduce", singh_provan.steps(quick=args.quick, **more), wanted=args.progress) as step:
        return singh_provan_1995(**common, **more, kept=args.resume, progress=step)


def _lines(result: Reproduction) -> Iterator[str]:
    """The report as lines for a terminal; the summary is the last."""
    from studies import report

    yield escaped(result.title)
    for sentence in result.about:
        yield from _wrapped(sentence)
    for sheet in result.sheets:
        heads = report.cell_heads(sheet)
        yield from ("", escaped(sheet.title))
        notes = heads[-1] == "note"
        rows = [[_plus_minus(cell) for cell in row[: len(row) - notes]] for row in report.cell_rows(sheet)]
        lines = text_table(heads[: len(heads) - notes], rows)
        yield lines[0]
        for line, cell in zip(lines[1:], sheet.cells, strict=True):
            yield line
            yield from _wrapped(cell.note, "    ") if cell.note else ()
    for own in result.pairings:
        yield from ("", escaped(own.title), *text_table(list(report.PAIRING_HEADS), report.pairing_rows(own)))
    if result.claims:
        yield from ("", f"Claims, tested again: points of accuracy, printed and ours; {result.claimed}")
        yield from text_table(report.claim_heads(result), report.claim_rows(result.claims))
    for figure in result.figures:
        rows = [[_plus_minus(cell) for cell in row] for row in report.figure_rows(figure)]
        yield from ("", escaped(figure.title), *text_table(report.figure_heads(figure), rows))
    yield from ("", "Remarks")
    for remark in result.remarks:
        yield from _wrapped(f"{remark.kind}: {remark.text}", "  ")
    yield from ("", escaped(result.summary))


def _plus_minus(text: str) -> str:
    """The text in letters that every terminal has."""
    return text.replace("±", "+-")


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(_plus_minus(escaped(text)), _WIDTH, initial_indent=indent, subsequent_indent=indent)


COMMAND = Command(
    "reproduce",
    "Run a published experiment again and print its table beside ours, with a verdict for every figure.",
    (
        "naivete reproduce jensen-2007",
        "NAIVETE_DATA=folder naivete reproduce sahami-1996 --html sahami.html",
        "naivete reproduce sahami-1996 --quick --markdown",
        "NAIVETE_DATA=folder naivete reproduce langley-1993 --html langley.html",
        "NAIVETE_DATA=folder naivete reproduce barrow-2011 --html barrow.html",
        "naivete reproduce singh-provan-1995 --alternatives --resume folder --html singh-provan.html",
    ),
    arguments,
    run,
)
