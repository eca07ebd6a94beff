"""The maximally balanced set of 20 to 44 features: `python -m benchmarks.balance`.

Printed are the seconds and the peak of memory for half of the features and for any number of them, weights on a line (two
classes) and in space (more classes). Every figure comes from a fresh process.
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
    """Normal weights: one number a feature for two classes, otherwise a row that sums to zero."""
    rng = np.random.default_rng(seed)
    if classes == 2:
        return rng.normal(size=(features, 1))
    found = rng.normal(size=(features, classes))
    return found - found.mean(axis=1, keepdims=True)


def work(job: dict[str, Any]) -> dict[str, Any]:
    """Seconds of the first call and bytes it took, and what it found."""
    weights = weights_of(job["features"], job["classes"])
    peak = measuring.Peak()
    own = measuring.timed(lambda: balanced(weights, job["size"]), 0)
    found = own.result
    return {"seconds": own.first, "bytes": peak.beyond(), "set": found.features, "weight": found.weight, "exact": found.exact}


def told(figures: list[dict[str, Any]]) -> str:
    """All figures as a table."""
    lines = ["| classes | features | size | seconds | MiB | weight | exact |", "|---|---|---|---|---|---|---|"]
    for own in figures:
        head = f"| {own['classes']} | {own['features']} | {own['size'] or 'any'} |"
        if "failed" in own:
            lines.append(f"{head} {own['failed']} | | | |")
        else:
            exact = "yes" if own["exact"] else "no"
            lines.append(f"{head} {own['seconds']:.2f} | {own['bytes'] / 2**20:.0f} | {own['weight']:.3g} | {exact} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    made = argparse.ArgumentParser(prog="python -m benchmarks.balance", description=__doc__.splitlines()[0])
    made.add_argument("--features", type=int, nargs="+", default=FEATURES, help=f"how many features {FEATURES}")
    made.add_argument("--classes", type=int, nargs="+", default=CLASSES, help=f"how many classes {CLASSES}")
    made.add_argument("--timeout", type=float, default=120, help="seconds that a job may take (120)")
    made.add_argument("--json", type=Path, help="write all figures there")
    made.add_argument("job", nargs="?", type=json.loads, help=argparse.SUPPRESS)
    asked = made.parse_args(arguments)
    if asked.job is not None:
        print(json.dumps(work(asked.job)))
        return 0
    figures = []
    for classes in asked.classes:
        for features in asked.features:
            for size in (features // 2, None):
                job = {"classes": classes, "features": features, "size": size}
                figures.append({**job, **measuring.in_fresh_process("benchmarks.balance", job, timeout=asked.timeout)})
    print(told(figures))
    if asked.json:
        asked.json.write_text(json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
