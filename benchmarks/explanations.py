"""Speed of explanations: `python -m benchmarks.explanations [--rows ROWS]`.

Prints how many rows a second `explain` handles for a TAN with 60 features, how long one row of a TAN with 12 features takes, and
the CPU time of questions about one row: sufficient reasons, flips and what to ask next, for TAN and for KDB with all arcs.
Where pyAgrum's module of explanations can be imported (it needs IPython, matplotlib and pydot), its marginal Shapley values of the
same network are timed too, with the same number of rows in the background; this takes about a minute.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import naivete
from naivete.network.conversions import to_pyagrum

BACKGROUND = 10
"""The number of rows of the background in the comparison."""


def data(rows: int, features: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return a table of four values in each column, which depend on the class or on earlier columns."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    columns: list[np.ndarray] = []
    for j in range(features):
        source = y if j < 3 or rng.random() < 0.3 else columns[rng.integers(j)]
        columns.append(np.where(rng.random(rows) < 0.5, (source + j) % 4, rng.integers(0, 4, rows)))
    return np.stack(columns, axis=1), y


def fastest(run: Callable[[], Any], times: int) -> float:
    """Return the seconds of the fastest of several runs."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def pyagrum_seconds(model: Any, X: np.ndarray) -> float | None:
    """Return the seconds in which pyAgrum explains one row, None where its explanations cannot be imported."""
    try:
        import pandas as pd
        from pyagrum import explain
    except ImportError:
        return None
    network = to_pyagrum(model.network_)
    names = [str(variable.name) for variable in model.network_.variables]
    labels = model.predict(X.astype(str).tolist()).astype(str)
    frame = pd.DataFrame(np.column_stack([X.astype(str), labels]), columns=names)
    target = network.idFromName(names[-1])
    values = explain.MarginalShapValues(network, target, (frame.iloc[:BACKGROUND], True), sample_size=BACKGROUND, logit=True)
    return fastest(lambda: values.compute((frame.iloc[BACKGROUND].to_dict(), True)), 1)


def measure_questions(name: str, model: Any, features: int, rows: int = 10) -> None:
    """Print the median and largest CPU time of questions about one row, of which half is observed where it is asked what to ask."""
    X, y = data(3000, features)
    table = X.astype(str).tolist()
    model.fit(table, y)
    names = [variable.name for variable in model.schema_]
    halves = [dict(zip(names[: features // 2], row, strict=False)) for row in table]
    for method, questions in [("sufficient_reason", table), ("flip", table), ("ask_next", halves)]:
        refused = 0
        seconds = []
        for row in questions[:rows]:
            start = time.process_time()
            try:
                getattr(model, method)(row)
            except naivete.ResourceError:
                refused += 1
            seconds.append(1000 * (time.process_time() - start))
        note = f", {refused} of {rows} refused" if refused else ""
        print(f"{name} with {features} features: {method} {np.median(seconds):.1f} ms, at most {max(seconds):.1f} ms{note}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.explanations", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000, help="the number of rows that are explained")
    rows = parser.parse_args().rows
    X, y = data(rows, 60)
    model = naivete.TAN().fit(X[:20_000], y[:20_000])
    first = fastest(lambda: model.explain(X[:1]).by_feature, 1)
    seconds = fastest(lambda: model.explain(X).by_feature, 5)
    print(f"TAN with 60 features: {rows / seconds:,.0f} rows a second after a preparation of {first:.2f} s")
    X, y = data(20_000, 12)
    model = naivete.TAN().fit(X.astype(str).tolist(), y)
    text, background = X.astype(str).tolist(), X[:BACKGROUND].astype(str).tolist()
    fastest(lambda: model.explain(text[:1], background=background).by_feature, 1)
    seconds = fastest(lambda: model.explain(text, background=background).by_feature, 3) / len(text)
    print(f"TAN with 12 features: {seconds * 1e6:.2f} microseconds a row")
    measure_questions("TAN", naivete.TAN(), 100)
    for features in (30, 60, 100):
        measure_questions("KDB (k=2, all arcs)", naivete.KDB(k=2, theta=-np.inf), features)
    theirs = pyagrum_seconds(model, X)
    if theirs is None:
        print("pyAgrum: its explanations cannot be imported")
    else:
        print(f"pyAgrum's marginal Shapley values: {theirs:.3f} s a row, {theirs / seconds:,.0f} times as long")


if __name__ == "__main__":
    main()
