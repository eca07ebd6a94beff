"""Normal densities compared with NumPy and scikit-learn on one table of floats: `python -m benchmarks.densities [rows columns]`.

Each run is a new process. `numpy` is one pass of NumPy's mean and variance over the rows of each class, or of the mean and a
matrix product for the covariances. Prints the fastest of several runs, the peak memory beyond the table, and the ratio of the
time to that of NumPy's pass.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import measuring

Run = Callable[[np.ndarray, np.ndarray], Any]


def data(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a table of two classes, which differ in some of the columns."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(rows, columns)), rng.integers(0, 2, rows)
    X[:, : columns // 10] += y[:, None]
    return X, y


def numpy_naive(X: np.ndarray, y: np.ndarray) -> list[Any]:
    """Return the mean and the variance of each class."""
    return [(part.mean(axis=0), part.var(axis=0)) for part in (X[y == c] for c in (0, 1))]


def numpy_full(X: np.ndarray, y: np.ndarray) -> list[Any]:
    """Return the scatter matrix of each class."""
    matrices = []
    for c in (0, 1):
        part = X[y == c]
        part = part - part.mean(axis=0)
        matrices.append(part.T @ part)
    return matrices


def ours(name: str) -> Run:
    """Return the fit of one of the classifiers of naivete."""
    import naivete

    encoder = naivete.Encoder(numbers="normal", kinds="numeric")
    return lambda X, y: getattr(naivete, name)(encoder=encoder).fit(X, y)


def theirs(name: str) -> Run:
    """Return the fit of the equivalent in scikit-learn."""
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
    from sklearn.naive_bayes import GaussianNB

    return {"GaussianNB": GaussianNB, "QDA": QuadraticDiscriminantAnalysis}[name]().fit


RUNS: dict[str, tuple[str, Callable[[], Run]]] = {
    "numpy mean, variance": ("numpy mean, variance", lambda: numpy_naive),
    "NaiveBayes": ("numpy mean, variance", lambda: ours("NaiveBayes")),
    "scikit-learn GaussianNB": ("numpy mean, variance", lambda: theirs("GaussianNB")),
    "numpy mean, product": ("numpy mean, product", lambda: numpy_full),
    "Full": ("numpy mean, product", lambda: ours("Full")),
    "scikit-learn QDA": ("numpy mean, product", lambda: theirs("QDA")),
    "TAN": ("numpy mean, product", lambda: ours("TAN")),
    "KDB": ("numpy mean, product", lambda: ours("KDB")),
}


def alone(run: str, rows: int, columns: int, repeat: int) -> dict[str, float]:
    """Return the figures of a run in a new process."""
    job = json.dumps([run, rows, columns, repeat])
    done = subprocess.run([sys.executable, "-m", "benchmarks.densities", "--job", job], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measured(run: str, rows: int, columns: int, repeat: int) -> dict[str, float]:
    """Return the time and memory of a run in this process."""
    X, y = data(rows, columns)
    fit, peak = RUNS[run][1](), measuring.Peak()
    first = measuring.timed(lambda: fit(X, y), 0)
    used = peak.beyond()
    best = measuring.timed(lambda: fit(X, y), repeat)
    return {"seconds": min(first.first, best.first, best.best), "bytes": used}


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.densities", description=__doc__.splitlines()[0])
    parser.add_argument("size", nargs="*", type=int, default=[1_000_000, 50], help="rows and columns (1000000 50)")
    parser.add_argument("--repeat", type=int, default=3, help="number of calls, of which the fastest counts (3)")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.job:
        print(json.dumps(measured(*json.loads(options.job))))
        return 0
    rows, columns = options.size
    figures: dict[str, dict[str, float]] = {}
    print(f"{rows:,} x {columns} floats, two classes\n{'':26} {'seconds':>8} {'memory':>10} {'x numpy':>8}")
    for run, (base, _) in RUNS.items():
        row = figures[run] = alone(run, rows, columns, options.repeat)
        ratio = row["seconds"] / figures[base]["seconds"]
        print(f"  {run:24} {row['seconds']:8.3f} {row['bytes'] / 2**20:6.0f} MiB {ratio:8.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
