"""Accuracy, time and memory of the classifiers on a table with one column too many.

`python -m benchmarks.junk` takes 6,000 rows of `adult` as a pandas DataFrame and adds one column at a time that carries no
information: a random zip code, identifiers as text and as whole numbers, a timestamp, amounts of money as text, a constant, and the
copy of a column. Every classifier with its default parameters is cross-validated on the same folds with and without the column, and
fitted to all rows. The accuracy may fall by at most one point, the processor time and the peak memory of the fit may grow to at
most 1.5 times. Every job has its own process, with limits of time and memory. All classifiers take about 12 minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import naivete
from benchmarks.measuring import in_fresh_process
from naivete.classifiers.registry import BY_WORD
from naivete.classifiers.specification import classifier_of
from naivete.evaluation import cross_validate

ROWS, SEED, FOLDS = 6000, 0, 5
MODELS = ("spectrum:members=1", *BY_WORD)
POINTS, RATIO = 1.0, 1.5
"""What a column may cost: points of accuracy, and the factor of time and memory."""
MEGABYTE = 2.0**20

Made = Callable[[pd.DataFrame, np.random.Generator], Any]


def _timestamps(rows: int, rng: np.random.Generator) -> Any:
    moments = np.datetime64("2024-01-01T00:00:00") + np.sort(rng.integers(0, 366 * 86400, rows))
    return [str(moment).replace("T", " ") for moment in moments]


COLUMNS: Mapping[str, Made | None] = {
    "none": None,
    "zip code": lambda frame, rng: [f"{10000 + code}" for code in rng.integers(0, 2000, len(frame))],
    "ID (text)": lambda frame, rng: [f"C{number:06d}" for number in rng.permutation(10 * len(frame))[: len(frame)]],
    "ID (integer)": lambda frame, rng: np.arange(len(frame)) + 1,  # noqa: ARG005
    "timestamp": lambda frame, rng: _timestamps(len(frame), rng),
    "currency": lambda frame, rng: [f"${amount:,.2f}" for amount in rng.gamma(2.0, 1000.0, len(frame))],
    "constant": lambda frame, rng: ["USA"] * len(frame),  # noqa: ARG005
    "copy": lambda frame, rng: frame["marital-status"],  # noqa: ARG005
}


def cases(column: str, rows: int = ROWS) -> tuple[pd.DataFrame, pd.Series]:
    """Return a sample of `adult` with one more column, and its classes."""
    folder = Path(os.environ.get("NAIVETE_DATA") or Path(__file__).parents[2] / "shared" / "data")
    table = naivete.read(folder / "adult.arff.gz")
    rng = np.random.default_rng(SEED)
    sample = table.take(np.sort(rng.permutation(len(table))[:rows]))
    frame = pd.DataFrame({c.name: c.to_numpy() for c in sample.columns})
    target = frame.pop(frame.columns[-1])
    made = COLUMNS[column]
    return frame if made is None else frame.assign(junk=made(frame, rng)), target


def job(column: str, model: str, rows: int = ROWS) -> dict[str, float]:
    """Return the accuracy in per cent, the processor time of a fit in seconds, and its peak memory with the table in MiB."""
    X, y = cases(column, rows)
    classifier = classifier_of(model)
    classifier.fit(X[:100], y[:100])  # imports
    times = []
    while len(times) < 5 and sum(times) < 2:
        began = time.process_time()
        classifier.fit(X, y)
        times.append(time.process_time() - began)
    tracemalloc.start()
    classifier.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1] + int(X.memory_usage(deep=True).sum())
    tracemalloc.stop()
    (result,) = cross_validate({model: classifier_of(model)}, (X, y), folds=FOLDS)
    return {"accuracy": 100 * result.accuracy[0], "seconds": min(times), "memory": peak / MEGABYTE}


def measured(column: str, model: str, rows: int, timeout: float) -> dict[str, Any]:
    """Return the figures of a job in a process of its own."""
    return in_fresh_process("benchmarks.junk", {"column": column, "model": model, "rows": rows}, timeout=timeout)


def cell(figures: Mapping[str, Any], base: Mapping[str, Any]) -> tuple[str, bool]:
    """Return the change of the accuracy in points and the factors of time and memory as text, and whether all are allowed."""
    if "failed" in figures or "failed" in base:
        return "failed", False
    points = figures["accuracy"] - base["accuracy"]
    factors = [figures[name] / base[name] for name in ("seconds", "memory")]
    return f"{points:+.1f} x{factors[0]:.1f} x{factors[1]:.1f}", points >= -POINTS and max(factors) <= RATIO


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--columns", nargs="+", choices=list(COLUMNS)[1:], default=list(COLUMNS)[1:])
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--timeout", type=float, default=120, help="time limit of a job in seconds (default 120)")
    args = parser.parse_args()
    print(f"adult, {args.rows:,} rows: change of the accuracy in points, factor of the processor time, factor of the peak memory")
    print("| model | accuracy %, s, MiB | " + " | ".join(args.columns) + " |")
    print("|---" * (2 + len(args.columns)) + "|", flush=True)
    short = []
    for model in args.models:
        base = measured("none", model, args.rows, args.timeout)
        cells = [cell(measured(column, model, args.rows, args.timeout), base) for column in args.columns]
        short += [f"{model} with {column}" for column, (_, allowed) in zip(args.columns, cells, strict=True) if not allowed]
        start = base["failed"] if "failed" in base else f"{base['accuracy']:.1f}, {base['seconds']:.3f}, {base['memory']:.1f}"
        print(f"| {model} | {start} | " + " | ".join(f"{text}{'' if ok else ' !'}" for text, ok in cells) + " |", flush=True)
    if short:
        raise SystemExit(f"more than {POINTS:g} point or {RATIO:g} times: {'; '.join(short)}")


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].startswith("{"):
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
        warnings.simplefilter("ignore")
        print(json.dumps(job(**json.loads(sys.argv[1]))))
    else:
        main()
