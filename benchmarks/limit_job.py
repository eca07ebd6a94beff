"""The all-pairs pass of a prototype in numba, with which the pass of naivete is compared.

`PYTHON -m benchmarks.limit_job '{"limit": FILE, ...}'`, where PYTHON has numba and FILE is a `limit.py` with the functions named
below. Only the pass itself is timed, without compilation, in the same way as that of naivete: the fastest of several calls.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import measuring, workloads

Way = Callable[[], Any]


def ways(limit: Any, data: workloads.Workload) -> dict[str, Way]:
    """Return the fast methods for the table, each from the rows to the counts."""
    X, y, v, c = data.X, data.y, data.states, data.classes

    def planes() -> Any:
        order, bounds = limit.class_order(y, c)
        bits, words = limit.pack_rows(X, order, bounds, v)
        return limit.marginals_bits(bits, words, bounds, X.shape[1], v), limit.gram_b44(bits, words, v - 1, 16, 512)

    def increments() -> Any:
        order, bounds = limit.class_order(y, c)
        columns = limit.gather_columns(X, order, 4096)
        return limit.marginals(columns, bounds, v), limit.pairs_inc4(columns, bounds, v, 16384)

    return {"bit planes": planes} if v <= 16 else {"increments": increments}


def sparse_way(limit: Any, data: workloads.Workload) -> dict[str, Way]:
    """Return the method that increments over nonzero cells if there are few; it starts from a compressed sparse matrix."""
    if data.states > 2 or data.X[:1000].mean() > 0.05:
        return {}
    import scipy.sparse as sp

    rows = sp.csr_matrix(data.X)
    rows.sort_indices()
    columns = rows.tocsc()
    parts = rows.indptr, rows.indices, columns.indptr, columns.indices
    return {"sparse increments": lambda: limit.gram_sparse(*parts, data.y, data.classes, data.X.shape[1])}


def prototype(path: str) -> Any:
    """Import the prototype."""
    spec = importlib.util.spec_from_file_location("limit", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["limit"] = importlib.util.module_from_spec(spec)  # numba looks up its cached functions in sys.modules
    spec.loader.exec_module(module)
    return module


def run(job: dict[str, Any]) -> dict[str, float]:
    """Return the seconds of each method."""
    limit = prototype(job["limit"])
    data = workloads.load(job["workload"], Path(job["folder"]))
    small = np.arange(0, len(data.X), max(1, len(data.X) // 500))
    part = workloads.Workload("", data.states, data.classes, data.X[small, :6].copy(), data.y[small], data.X[:0], data.y[:0])
    for way in {**ways(limit, part), **sparse_way(limit, part)}.values():
        way()  # compile
    methods = {**ways(limit, data), **sparse_way(limit, data)}
    return {name: measuring.timed(way, job["repeat"]).best for name, way in methods.items()}


if __name__ == "__main__":
    print(json.dumps(run(json.loads(sys.argv[1]))))
