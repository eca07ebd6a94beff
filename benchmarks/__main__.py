"""`python -m benchmarks [W1 W2 ...]`: see README.md in this folder."""

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
    """Return the items of a comma-separated list, each one of the allowed ones; upper and lower case are equivalent."""
    by_name = {item.lower(): item for item in allowed}
    items = [item.strip().lower() for item in text.split(",") if item.strip()]
    unknown = [item for item in items if item not in by_name]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(allowed)}")
    return [by_name[item] for item in items]


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    command = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Compare naivete with other libraries, as ratios within one run."
    )
    command.add_argument("names", nargs="*", metavar="W1", help=f"workloads, of {', '.join(workloads.SPECS)}; by default all")
    command.add_argument("--jobs", type=lambda t: listed(t, JOBS), default=list(JOBS), help=f"of {','.join(JOBS)}; by default all")
    command.add_argument("--peers", type=lambda t: listed(t, LIBRARIES), default=list(LIBRARIES), help=f"of {','.join(LIBRARIES)}")
    command.add_argument("--tier", choices=runs.TIERS, help="only these kernels of naivete; by default both")
    command.add_argument("--data", type=Path, help="the folder of the workloads; by default $NAIVETE_BENCH, else bench-data")
    command.add_argument(
        "--repeat", type=int, default=5, help="calls after a warm-up call, of which the fastest counts (default 5)"
    )
    command.add_argument("--timeout", type=float, default=120, help="time limit of a job in seconds (default 120)")
    command.add_argument("--json", type=Path, help="write all figures to this file")
    return command


def main(arguments: list[str] | None = None) -> int:
    """Run the selected benchmarks and print the tables."""
    options = parser().parse_args(arguments)
    unknown = [name for name in options.names if name not in workloads.SPECS]
    if unknown:
        parser().error(f"there is no workload {unknown[0]}; choose from {', '.join(workloads.SPECS)}")
    folder = options.data or Path(os.environ.get("NAIVETE_BENCH") or "bench-data")
    names = options.names or list(workloads.SPECS)
    tiers = [options.tier] if options.tier else list(runs.TIERS)
    plan = runs.Plan(names, options.jobs, options.peers, tiers, folder, options.repeat, options.timeout)
    for name in names:
        workloads.ensure(name, folder)
    results = measured(plan)
    print(report.whole(results))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    return 0


def measured(plan: runs.Plan) -> dict[str, Any]:
    """Return all figures, as they are written to the JSON file."""
    return {
        "machine": runs.machine(plan),
        "classify": list(runs.classified(plan)),
        "pairs": runs.all_pairs(plan),
        "growth": runs.grown(plan),
        "cold": runs.cold(plan),
    }


if __name__ == "__main__":
    sys.exit(main())
