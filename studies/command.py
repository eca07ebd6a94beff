"""The command line: `python -m studies NAME` prints the published values beside ours, with a verdict for each."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Final

from naivete import NaiveteError
from studies.report import html, lines, markdown
from studies.results import Options, Reproduction

__all__ = ["PAPERS", "main", "reproduce"]

PAPERS: Final = {
    "sahami-1996": (),
    "langley-1993": ("alternatives",),
    "jensen-2007": (),
    "barrow-2011": (),
    "singh-provan-1995": ("alternatives", "modifications", "resume"),
}
"""The options that only some papers have."""


def reproduce(name: str, options: Options | None = None) -> Reproduction:
    """Run a published experiment again.

    Parameters
    ----------
    name : a key of `PAPERS`.
    options : how it is run.
    """
    module = import_module(f"studies.{name.replace('-', '_')}")
    result: Reproduction = module.reproduce(options or Options())
    return result


def _parser() -> ArgumentParser:
    parser = ArgumentParser("reproduce", description="Run a published experiment again and print its values beside ours.")
    parser.add_argument("name", metavar="NAME", choices=PAPERS, help=f"the publication: {', '.join(PAPERS)}")
    parser.add_argument("--seed", type=_seed, default=0, help="the seed of divisions and of generated data (0)")
    parser.add_argument("--quick", action="store_true", help="run a small part; the report says so")
    parser.add_argument("--only", metavar="SET", nargs="+", default=(), help="run some data sets only")
    parser.add_argument(
        "--alternatives", action="store_true", help=f"also run other readings of the paper ({_with('alternatives')})"
    )
    parser.add_argument("--modifications", action="store_true", help=f"also run section 5.6 ({_with('modifications')})")
    parser.add_argument("--resume", metavar="FOLDER", type=Path, help=f"keep finished divisions here ({_with('resume')})")
    parser.add_argument(
        "--data", metavar="FOLDER", type=Path, help="further data sets as NAME.arff.gz (default: the variable NAIVETE_DATA)"
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="write the report as Markdown, too")
    parser.add_argument("--html", metavar="FILE", type=Path, help="write the report as an HTML page with charts, too")
    return parser


def _with(option: str) -> str:
    return ", ".join(name for name, options in PAPERS.items() if option in options)


def _seed(text: str) -> int:
    seed = int(text)
    if seed < 0:
        raise ValueError
    return seed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, or 2 for wrong usage, or 1 for data sets and files that cannot be read or written."""
    parser = _parser()
    args = parser.parse_args(arguments)
    for option in ("alternatives", "modifications", "resume"):
        if getattr(args, option) and option not in PAPERS[args.name]:
            parser.error(f"--{option} is for {_with(option)}, not for {args.name}")
    try:
        result = reproduce(args.name, _options(args))
        for path, form in ((args.markdown, markdown), (args.html, html)):
            if path is not None:
                path.write_text(form(result), encoding="utf-8")
    except (NaiveteError, OSError) as error:
        print(f"reproduce: {error}", file=sys.stderr)
        return 1
    print(json.dumps(asdict(result), indent=1) if args.json else "\n".join(lines(result)))
    return 0


def _options(args: Namespace) -> Options:
    settings = {name: getattr(args, name) for name in ("seed", "quick", "only", "alternatives", "modifications", "resume")}
    return Options(**settings, data=args.data, progress=_progress())


def _progress() -> Callable[[str], None]:
    """Return a function that shows the steps on a terminal, each in place of the one before."""
    count = 0

    def show(step: str) -> None:
        nonlocal count
        count += 1
        if sys.stderr.isatty():
            print(f"\r\033[Kreproduce: {count} {step}", end="\r", file=sys.stderr, flush=True)

    return show
