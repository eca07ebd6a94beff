"""The command `python -m benchmarks.accuracy`: run the contenders on the data sets and print the comparison."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.accuracy import contenders, report, runs, sets
from benchmarks.accuracy.results import Results, Setting
from benchmarks.accuracy.summary import summarize
from benchmarks.measuring import ROOT

QUICK = Setting(folds=3, rows=10_000)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compute the results that are missing in the results file, then print the tables."""
    args = parser().parse_args(arguments)
    results = Results(args.results, QUICK if args.quick else Setting())
    names = sets.names_of(args.sets)
    if not args.report:
        run(args, names, results)
    summary = summarize(results, names, args.contenders or results.contenders)
    if not summary.sets:
        raise SystemExit(f"{args.results} has no results for these data sets and contenders")
    print(report.report(results, summary, args.of or report.default_main(summary), markdown=args.markdown, wall=args.wall))
    if args.diagram:
        args.diagram.write_text(report.diagram(summary))
    return 0


def run(args: argparse.Namespace, names: Sequence[str], results: Results) -> None:
    """Compute the results that are missing."""
    chosen = [contenders.checked(text) for text in args.contenders or contenders.DEFAULT]
    for contender in args.redo:
        results.forget(contenders.checked(contender))
    if args.retry:
        results.forget_failures()
    runs.run(runs.Plan(names, chosen, sets.folder(args.data), args.cpu_limit, partial(print, flush=True)), results)
    print()


def parser() -> argparse.ArgumentParser:
    """Return the parser of the arguments."""
    result = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    option = result.add_argument
    option("contenders", nargs="*", metavar="CONTENDER", help=f"such as {', '.join(contenders.DEFAULT)} (these are the default)")
    option("--sets", nargs="+", default=["all"], metavar="SET", help=f"data sets, or groups of them: {', '.join(sets.GROUPS)}")
    option("--data", metavar="FOLDER", help=f"the files NAME.arff.gz (default: the variable {sets.VARIABLE})")
    option(
        "--results", type=Path, default=ROOT / "benchmarks" / "results" / "accuracy.jsonl", metavar="FILE", help="the results file"
    )
    option("--quick", action="store_true", help=f"{QUICK.folds} folds and at most {QUICK.rows:,} rows instead of 5 and 20,000")
    option("--redo", nargs="+", default=[], metavar="CONTENDER", help="compute the results of these contenders again")
    option("--retry", action="store_true", help="try contenders again on the sets on which they failed")
    option("--cpu-limit", type=float, default=600, metavar="SECONDS", help="for all folds of a set (default 600)")
    option("--report", action="store_true", help="run nothing, print the tables for all contenders in the results file")
    option("--of", metavar="CONTENDER", help="the contender that is compared with each other one (default: the best of naivete)")
    option("--markdown", action="store_true", help="print the tables in Markdown")
    option("--wall", action="store_true", help="compare times on the clock instead of CPU times")
    option("--diagram", type=Path, metavar="FILE", help="write the critical-difference diagram of the log loss as SVG")
    return result


if __name__ == "__main__":
    raise SystemExit(main())
