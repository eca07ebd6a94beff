"""Normal densities against numpy and scikit-learn, on one table of floats: `python -m benchmarks.densities [rows columns]`.

Each run is a process of its own. `numpy` is one pass of its own mean and variance over the rows of each class, and of mean and
matrix product for the covariances. Printed are the best seconds of several, the peak of memory beyond the table, and how many
times as long as numpy's own pass it took.
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
    """Two classes, some columns of which differ."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(rows, columns)), rng.integers(0, 2, rows)
    X[:, : columns // 10] += y[:, None]
    return X, y


def numpy_naive(X: np.ndarray, y: np.ndarray) -> list[Any]:
    """Mean and variance of each class."""
    return [(part.mean(axis=0), part.var(axis=0)) for part in (X[y == c] for c in (0, 1))]


def numpy_full(X: np.ndarray, y: np.ndarray) -> list[Any]:
    """Mean and scatter matrix of each class."""
    found = []
    for c in (0, 1):
        part = X[y == c]
        part = part - part.mean(axis=0)
        found.append(part.T @ part)
    return found


def ours(name: str) -> Run:
    """One of our classifiers."""
    import naivete

    encoder = naivete.Encoder(numbers="normal", kinds="numeric")
    return lambda X, y: getattr(naivete, name)(encoder=encoder).fit(X, y)


def theirs(name: str) -> Run:
    """The equivalent of scikit-learn."""
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
    """What a process of its own finds."""
    job = json.dumps([run, rows, columns, repeat])
    done = subprocess.run([sys.executable, "-m", "benchmarks.densities", "--job", job], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measured(run: str, rows: int, columns: int, repeat: int) -> dict[str, float]:
    """Seconds and bytes in this process."""
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
    parser.add_argument("--repeat", type=int, default=3, help="best of so many (3)")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.job:
        print(json.dumps(measured(*json.loads(asked.job))))
        return 0
    rows, columns = asked.size
    found = {}
    print(f"{rows:,} x {columns} floats, two classes\n{'':26} {'seconds':>8} {'memory':>10} {'x numpy':>8}")
    for run, (base, _) in RUNS.items():
        found[run] = alone(run, rows, columns, asked.repeat)
        own = found[run]
        ratio = own["seconds"] / found[base]["seconds"]
        print(f"  {run:24} {own['seconds']:8.3f} {own['bytes'] / 2**20:6.0f} MiB {ratio:8.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
