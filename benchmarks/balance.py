"""The maximally balanced set of 20 to 44 features: `python -m benchmarks.balance`.

Prints the time and the peak memory for sets of half of the features and of any size, with scalar weights (two classes) and
weight vectors (more classes). Every figure is measured in a new process.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import measuring
from naivete.learners.balance import balanced

FEATURES = (20, 30, 40, 44)
CLASSES = (2, 3, 5)


def weights_of(features: int, classes: int, seed: int = 0) -> np.ndarray:
    """Return normally distributed weights: one number per feature for two classes, otherwise a row that sums to zero."""
    rng = np.random.default_rng(seed)
    if classes == 2:
        return rng.normal(size=(features, 1))
    weights = rng.normal(size=(features, classes))
    return weights - weights.mean(axis=1, keepdims=True)


def work(job: dict[str, Any]) -> dict[str, Any]:
    """Return the time and memory of the first call, and its result."""
    weights = weights_of(job["features"], job["classes"])
    peak = measuring.Peak()
    call = measuring.timed(lambda: balanced(weights, job["size"]), 0)
    best = call.result
    return {"seconds": call.first, "bytes": peak.beyond(), "set": best.features, "weight": best.weight, "exact": best.exact}


def as_table(figures: list[dict[str, Any]]) -> str:
    """Return all figures as a table."""
    lines = ["| classes | features | size | seconds | MiB | weight | exact |", "|---|---|---|---|---|---|---|"]
    for row in figures:
        head = f"| {row['classes']} | {row['features']} | {row['size'] or 'any'} |"
        if "failed" in row:
            lines.append(f"{head} {row['failed']} | | | |")
        else:
            exact = "yes" if row["exact"] else "no"
            lines.append(f"{head} {row['seconds']:.2f} | {row['bytes'] / 2**20:.0f} | {row['weight']:.3g} | {exact} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.balance", description=__doc__.splitlines()[0])
    parser.add_argument("--features", type=int, nargs="+", default=FEATURES, help=f"numbers of features {FEATURES}")
    parser.add_argument("--classes", type=int, nargs="+", default=CLASSES, help=f"numbers of classes {CLASSES}")
    parser.add_argument("--timeout", type=float, default=120, help="time limit of a job in seconds (120)")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("job", nargs="?", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.job is not None:
        print(json.dumps(work(options.job)))
        return 0
    figures = []
    for classes in options.classes:
        for features in options.features:
            for size in (features // 2, None):
                job = {"classes": classes, "features": features, "size": size}
                figures.append({**job, **measuring.in_fresh_process("benchmarks.balance", job, timeout=options.timeout)})
    print(as_table(figures))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
