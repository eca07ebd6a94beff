"""The command `python -m benchmarks.accuracy`: run the contenders on the data sets and print the comparison."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.accuracy import contenders, runs, sets
from benchmarks.accuracy.results import Results, Setting
from benchmarks.measuring import ROOT

QUICK = Setting(folds=3, rows=10_000)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is missing in the results file."""
    args = parser().parse_args(arguments)
    setting = QUICK if args.quick else Setting()
    results = Results(args.results, setting)
    names = sets.names_of(args.sets)
    chosen = [contenders.checked(text) for text in args.contenders]
    for contender in args.redo:
        results.forget(contenders.checked(contender))
    plan = runs.Plan(names, chosen, sets.folder(args.data), args.cpu_limit, partial(print, flush=True))
    runs.run(plan, results)
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of the arguments."""
    result = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    option = result.add_argument
    option("contenders", nargs="*", default=contenders.DEFAULT, metavar="CONTENDER", help="such as kdb:k=2, sk:rf or lightgbm")
    option("--sets", nargs="+", default=["all"], metavar="SET", help=f"data sets, or groups of them: {', '.join(sets.GROUPS)}")
    option("--data", metavar="FOLDER", help=f"the files NAME.arff.gz (default: the variable {sets.VARIABLE})")
    option("--results", type=Path, default=ROOT / "benchmarks" / "results" / "accuracy.jsonl", metavar="FILE")
    option("--quick", action="store_true", help=f"{QUICK.folds} folds and at most {QUICK.rows:,} rows")
    option("--redo", nargs="+", default=[], metavar="CONTENDER", help="compute the results of these contenders again")
    option("--cpu-limit", type=float, default=600, metavar="SECONDS", help="for all folds of a set (default 600)")
    return result


if __name__ == "__main__":
    raise SystemExit(main())
