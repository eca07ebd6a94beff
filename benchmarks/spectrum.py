"""Time, memory and growth of Spectrum beside HistGradientBoosting: `python -m benchmarks.spectrum [W2 W3 ...]`.

Every figure comes from a new process. `fit` and `predict` are the fastest of `--repeat` calls after the first; `MiB` is the peak of
the first fit beyond the data, `tables` what the model itself takes. The growth varies the number of rows, features, states or
classes of a table by factors of two and reports the exponent with which the time of a fit grows.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import measuring, workloads

MODELS = ("spectrum", "spectrum:members=1", "sk:hgb")
BASE = {"rows": 12_000, "features": 16, "states": 4, "classes": 2}
GROWTH = {"rows": (12_000, 48_000, 192_000), "features": (16, 32, 64), "states": (4, 16, 64), "classes": (2, 4, 8)}
"""Sizes of each kind, the others as in BASE. Up to the size of the sample (10,000 cases) all costs grow with the rows."""


def model_of(name: str) -> Any:
    """Return an estimator that takes an array of codes."""
    if name == "sk:hgb":
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(random_state=0)
    from naivete import Encoder, Spectrum

    parameters = {"members": 1} if name.endswith("members=1") else {}
    return Spectrum(encoder=Encoder(kinds="nominal", keep=True), **parameters)


def drawn(rows: int, features: int, states: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random codes, each column dependent on the class and on the column before it."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, rows)
    X = rng.integers(0, states, (rows, features)).astype(np.uint8)
    for x in range(features):
        copied = rng.random(rows)
        X[copied < 0.3, x] = y[copied < 0.3] % states
        if x:
            X[copied > 0.8, x] = X[copied > 0.8, x - 1]
    return X, y


def measured(job: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of one model on one table."""
    if "workload" in job:
        data = workloads.load(job["workload"], Path(job["folder"]))
        X, y, test = data.X, data.y, data.X_test
    else:
        X, y = drawn(**job["size"])
        test = X
    model_of(job["model"]).fit(X[:100], y[:100])  # imports
    peak = measuring.Peak()
    first = model_of(job["model"]).fit(X, y)
    memory = peak.beyond()
    del first
    fit = measuring.timed(lambda: model_of(job["model"]).fit(X, y), job["repeat"])
    result = {"fit": fit.best, "bytes": memory, "data": X.nbytes, "tables": table_bytes(fit.result)}
    predict = measuring.timed(lambda: fit.result.predict_proba(test), job["repeat"])
    return {**result, "predict": predict.best / len(test) * 1e6, "passes": getattr(fit.result, "passes_", None)}


def table_bytes(model: Any) -> int | None:
    """Return the bytes of the counts, contexts and trees of a Spectrum; None for another model."""
    if not hasattr(model, "spectrum_"):
        return None
    spectrum = model.spectrum_
    structures = (spectrum.main, *spectrum.members)
    counts = sum(a.nbytes for s in structures for arrays in (s.keys, s.weights) for a in arrays)
    contexts = sum(family.tree.pool.nbytes for s in structures for family in s.families)
    trees = sum(tree.nodes.nbytes + tree.weights.nbytes for group in spectrum.trees for tree in group)
    return counts + contexts + trees + sum(a.nbytes for a in (spectrum.boosted.trees if spectrum.boosted else ()))


def line(name: str, model: str, figures: dict[str, Any], peer: dict[str, Any]) -> str:
    """Return one row of the table."""
    if "failed" in figures:
        return f"{name:10} {model:20} {figures['failed']}"
    ratios = [figures[key] / peer[key] if "failed" not in peer else math.nan for key in ("fit", "predict")]
    return (
        f"{name:10} {model:20} {figures['fit']:8.2f} {ratios[0]:7.2f} {figures['predict']:12.1f} {ratios[1]:7.2f} "
        f"{figures['bytes'] / 2**20:8.0f} {figures['data'] / 2**20:8.0f} {(figures['tables'] or 0) / 2**20:8.0f} "
        f"{figures['passes'] or '-':>6}"
    )


def slopes(values: tuple[int, ...], seconds: list[float]) -> str:
    """Return the exponents between consecutive sizes."""
    pairs = zip(itertools.pairwise(values), itertools.pairwise(seconds), strict=True)
    return "  ".join(f"{math.log(t1 / t0) / math.log(n1 / n0):5.2f}" for (n0, n1), (t0, t1) in pairs)


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spectrum", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="W2", default=["W1", "W2", "W3"], help="workloads (default W1 W2 W3)")
    parser.add_argument("--repeat", type=int, default=2, help="number of calls after the first one (default 2)")
    parser.add_argument("--timeout", type=float, default=600, help="time limit of a run in seconds (default 600)")
    parser.add_argument("--data", type=Path, help="the folder of the workloads; by default $NAIVETE_BENCH, else bench-data")
    parser.add_argument("--no-growth", action="store_true", help="only the workloads")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.job:
        print(json.dumps(measured(json.loads(options.job))))
        return 0

    def alone(**job: Any) -> dict[str, Any]:
        call = [sys.executable, "-W", "ignore", "-m", "benchmarks.spectrum", "--job", json.dumps({**job, "repeat": options.repeat})]
        return measuring.json_output(call, options.timeout)

    folder = options.data or Path(os.environ.get("NAIVETE_BENCH") or "bench-data")
    titles = f"{'MiB':>8} {'data':>8} {'tables':>8} {'passes':>6}"
    print(f"{'':10} {'':20} {'fit s':>8} {'x hgb':>7} {'predict us/row':>12} {'x hgb':>7} {titles}")
    for name in options.names:
        workloads.ensure(name, folder)
        figures = {model: alone(model=model, workload=name, folder=str(folder)) for model in MODELS}
        for model in MODELS:
            print(line(name, model, figures[model], figures["sk:hgb"]), flush=True)
    if not options.no_growth:
        print("\nexponent of the time of a fit between consecutive sizes")
        for (kind, values), model in itertools.product(GROWTH.items(), MODELS):
            runs = [alone(model=model, size={**BASE, kind: value}) for value in values]
            known = all("failed" not in run for run in runs)
            text = slopes(values, [run["fit"] for run in runs]) if known else str(runs)
            print(f"{kind:10} {', '.join(map(str, values)):22} {model:20} {text}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
