"""`naivete demo`: compare models on included data sets, and write an HTML report."""

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
    """Add the arguments of the command."""
    parser.add_argument("--out", metavar="FILE", default=_PAGE, help=f"HTML file ({_PAGE}, which is replaced if it exists)")
    parser.add_argument("--force", action="store_true", help="replace an existing file of another name")
    parser.add_argument("--quick", action="store_true", help="use fewer data sets and folds")
    progress_option(parser)


def run(args: Namespace) -> int:
    """Compare the models, print the results, and write the HTML report."""
    force = args.force or args.out == _PAGE
    check_output(args.out, [], force)

    from naivete.evaluation.demo.models import domains, result_groups, run_all, steps
    from naivete.evaluation.demo.page import report
    from naivete.storage.atomic import atomic_write

    data_sets = domains(quick=args.quick)
    folds = 5 if args.quick else 10
    with progress("demo", steps(data_sets, folds), wanted=args.progress) as step:
        results = run_all(data_sets, folds=folds, progress=step)
    path = Path(args.out)
    atomic_write(path, str(report(data_sets, results, folds=folds)).encode(), overwrite=force)
    if args.json:
        records = {name: list(map(_record, by_model)) for name, by_model in results.items()}
        say(json_text({"page": str(path.resolve()), "folds": folds, "results": records}))
        return 0
    for part in result_groups(results):
        say(*summary(part), "")
    say(f"accuracy in per cent, mean +- standard deviation over {folds} folds; * marks the best")
    say("report with the networks, confusion matrices and probabilities:", escaped(path.resolve()))
    return 0


def _record(result: Result) -> dict[str, Any]:
    mean, deviation = result.accuracy
    return {"model": result.model, "accuracy": mean, "accuracy_sd": deviation, "log_loss_bits": result.log_loss}


COMMAND = Command(
    "demo",
    "Compare models on included data sets and write an HTML report.",
    ("naivete demo", "naivete demo --quick --out demo.html"),
    arguments,
    run,
)
