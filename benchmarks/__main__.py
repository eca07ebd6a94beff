"""`python -m benchmarks [W1 W2 ...]`: see README.md beside this file."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from benchmarks import contenders, report, runs, workloads

JOBS = (*contenders.MODELS, "pairs", "growth", "cold")
LIBRARIES = (contenders.OURS, *contenders.PEERS)


def listed(text: str, allowed: tuple[str, ...]) -> list[str]:
    """The words of a list with commas, each one of the allowed ones; their case does not matter."""
    by_word = {word.lower(): word for word in allowed}
    words = [word.strip().lower() for word in text.split(",") if word.strip()]
    wrong = [word for word in words if word not in by_word]
    if wrong:
        raise argparse.ArgumentTypeError(f"{wrong[0]!r} is none of {', '.join(allowed)}")
    return [by_word[word] for word in words]


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="python -m benchmarks", description="naivete against its peers, as ratios in one run.")
    made.add_argument("names", nargs="*", metavar="W1", help=f"workloads, of {', '.join(workloads.SPECS)}; by default all")
    made.add_argument("--jobs", type=lambda t: listed(t, JOBS), default=list(JOBS), help=f"of {','.join(JOBS)}; by default all")
    made.add_argument("--peers", type=lambda t: listed(t, LIBRARIES), default=list(LIBRARIES), help=f"of {','.join(LIBRARIES)}")
    made.add_argument("--tier", choices=runs.TIERS, help="only these kernels of ours; by default both")
    made.add_argument("--data", type=Path, help="the folder of the workloads; by default $NAIVETE_BENCH, else bench-data")
    made.add_argument("--repeat", type=int, default=5, help="best of so many, after one to warm up (default 5)")
    made.add_argument("--timeout", type=float, default=120, help="seconds that a job may take (default 120)")
    made.add_argument("--json", type=Path, help="write all figures there")
    return made


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for and print the tables."""
    asked = parser().parse_args(arguments)
    unknown = [name for name in asked.names if name not in workloads.SPECS]
    if unknown:
        parser().error(f"there is no workload {unknown[0]}; choose of {', '.join(workloads.SPECS)}")
    folder = asked.data or Path(os.environ.get("NAIVETE_BENCH") or "bench-data")
    names = asked.names or list(workloads.SPECS)
    tiers = [asked.tier] if asked.tier else list(runs.TIERS)
    plan = runs.Plan(names, asked.jobs, asked.peers, tiers, folder, asked.repeat, asked.timeout)
    for name in names:
        workloads.ensure(name, folder)
    results = measured(plan)
    print(report.whole(results))
    if asked.json:
        asked.json.write_text(json.dumps(results, indent=1))
    return 0


def measured(plan: runs.Plan) -> dict[str, Any]:
    """All figures, as they go to the JSON file."""
    return {
        "machine": runs.machine(plan),
        "classify": list(runs.classified(plan)),
        "pairs": runs.all_pairs(plan),
        "growth": runs.grown(plan),
        "cold": runs.cold(plan),
    }


if __name__ == "__main__":
    sys.exit(main())
