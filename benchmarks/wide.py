"""Learners on wide tables: `python -m benchmarks.wide`, and `--tree PATH` for another version of naivete.

Fits `HillClimb`, `K2`, `PC` and others to 1,000 rows of 500 columns and 10,000 rows of 200 columns, sampled from a random network
of variables with 3 or 4 states (`benchmarks/wide_job.py`). Each fit is a new process with a time limit. Prints processor time,
elapsed time, peak memory beyond the rows, the estimate of `estimate_cost` and its ratio to the processor time, and a hash of the
structure. With --json, finished fits are written to a file after each one and not repeated; --before names such a file of another
version, for the ratio to it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from benchmarks import measuring
from benchmarks.wide_job import LEARNERS

SIZES = ("1000x500", "10000x200")
SHOWN = ("hc", "k2", "pc")


def measured(learner: str, size: str, timeout: float, tree: Path | None) -> dict[str, Any]:
    """Return the figures of one fit in a new process."""
    rows, columns = map(int, size.split("x"))
    job = json.dumps({"learner": learner, "rows": rows, "columns": columns})
    path = str((tree or measuring.ROOT).resolve() / "src")
    command = [sys.executable, str(measuring.ROOT / "benchmarks" / "wide_job.py"), job]
    return measuring.json_output(command, timeout, {"PYTHONPATH": path})


def line(learner: str, size: str, figures: dict[str, Any], before: dict[str, Any]) -> str:
    """Return one row of the table in Markdown."""
    name = f"| {LEARNERS[learner][0]} (`{learner}`) | {size.replace('x', ' x ')} "
    if "failed" in figures:
        return f"{name}| {figures['failed']} | | | | | {before.get('failed') or seconds(before)} | |"
    estimate = figures.get("estimate")
    guess = " | " if estimate is None else f"{estimate:.1f} s | {estimate / figures['cpu']:.2f}"
    ratio = f"{before['cpu'] / figures['cpu']:.1f}x" if "cpu" in before else ""
    needed = f"{figures['bytes'] / 1e6:.0f} MB"
    return (
        f"{name}| {figures['cpu']:.1f} s | {figures['seconds']:.1f} s | {needed} | {guess} | "
        f"{before.get('failed') or seconds(before)} | {ratio} |"
    )


def seconds(figures: dict[str, Any]) -> str:
    """Return processor time and memory as text, nothing where there are no figures."""
    return f"{figures['cpu']:.1f} s, {figures['bytes'] / 1e6:.0f} MB" if "cpu" in figures else ""


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wide", description=__doc__.splitlines()[0])
    parser.add_argument("learners", nargs="*", default=list(SHOWN), help=f"of {', '.join(LEARNERS)}; by default {', '.join(SHOWN)}")
    parser.add_argument("--sizes", default=",".join(SIZES), help="rows x columns (default %(default)s)")
    parser.add_argument("--timeout", type=float, default=300, help="time limit of a fit in seconds (default 300)")
    parser.add_argument("--tree", type=Path, help="the folder of another version of naivete, with its kernels built")
    parser.add_argument("--json", type=Path, help="file of the figures; fits that it has are not repeated")
    parser.add_argument("--before", type=Path, help="file of the figures of another version, for the ratio")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.learners if name not in LEARNERS]
    if unknown:
        parser.error(f"there is no learner {unknown[0]!r}; choose from {', '.join(LEARNERS)}")
    done = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
    before = json.loads(options.before.read_text()) if options.before else {}
    print("| learner | rows x columns | processor | elapsed | memory | estimate | ratio | before | faster |")
    print("|---|---|---|---|---|---|---|---|---|")
    for size in options.sizes.split(","):
        for learner in options.learners:
            key = f"{learner} {size}"
            if key not in done:
                done[key] = measured(learner, size, options.timeout, options.tree)
                if options.json:
                    partial = options.json.with_suffix(".part")
                    partial.write_text(json.dumps(done, indent=1))
                    os.replace(partial, options.json)
            print(line(learner, size, done[key], before.get(key, {})), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
