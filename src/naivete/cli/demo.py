"""`naivete demo`: the spectrum of models on embedded data, with a page to look at."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from naivete.cli.evaluate import summary
from naivete.cli.options import check_output, progress_option
from naivete.cli.output import escaped, json_text, say
from naivete.cli.parsing import Command
from naivete.cli.progress import progress

if TYPE_CHECKING:
    from naivete.evaluation import Result

__all__ = ["COMMAND"]

_PAGE = "naivete-demo.html"


def arguments(parser: ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("--out", metavar="FILE", default=_PAGE, help=f"the page ({_PAGE}, which is replaced)")
    parser.add_argument("--force", action="store_true", help="replace a file of another name if there is one")
    parser.add_argument("--quick", action="store_true", help="fewer data sets and folds")
    progress_option(parser)


def run(args: Namespace) -> int:
    """Compare, print, and write the page."""
    force = args.force or args.out == _PAGE
    check_output(args.out, [], force)

    from naivete.evaluation.demo.models import domains, result_groups, run_all, steps
    from naivete.evaluation.demo.page import report
    from naivete.storage.atomic import atomic_write

    chosen = domains(quick=args.quick)
    folds = 5 if args.quick else 10
    with progress("demo", steps(chosen, folds), wanted=args.progress) as step:
        results = run_all(chosen, folds=folds, progress=step)
    path = Path(args.out)
    atomic_write(path, str(report(chosen, results, folds=folds)).encode(), overwrite=force)
    if args.json:
        rows = {domain: list(map(_record, own)) for domain, own in results.items()}
        say(json_text({"page": str(path.resolve()), "folds": folds, "results": rows}))
        return 0
    for part in result_groups(results):
        say(*summary(part), "")
    say(f"accuracy in per cent, mean +- standard deviation over {folds} folds; * marks the best")
    say("the page with the networks, confusion matrices and probabilities:", escaped(path.resolve()))
    return 0


def _record(result: Result) -> dict[str, Any]:
    mean, deviation = result.accuracy
    return {"model": result.model, "accuracy": mean, "accuracy_sd": deviation, "log_loss_bits": result.log_loss}


COMMAND = Command(
    "demo",
    "Compare the spectrum of models on embedded data and write a page to look at.",
    ("naivete demo", "naivete demo --quick --out demo.html"),
    arguments,
    run,
)
