"""`python -m benchmarks.workers`: two Dask workers against one on the counting passes, of one thread each, in one run.

Counts all pairs and the families of three features of 8 million rows by 20 columns of the data set of `benchmarks.scale`, on
fresh local clusters of one and two workers in turn.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale import COLUMNS, STATES, make


@contextmanager
def cluster(workers: int) -> Iterator[Any]:
    """A client of so many workers on this machine, each with one thread."""
    from distributed import Client, LocalCluster

    one = {"NAIVETE_THREADS": "1", "OMP_NUM_THREADS": "1"}
    settings = {"threads_per_worker": 1, "processes": True, "host": "127.0.0.1", "dashboard_address": None, "memory_limit": 0}
    with LocalCluster(n_workers=workers, env=one, **settings) as local, Client(local, set_as_default=False) as client:
        yield client


def passes(client: Any, folder: Path) -> tuple[float, float]:
    """Seconds of the pass over all pairs and of that over the families."""
    from naivete.cases import EncodedCases
    from naivete.cases.dask import DaskRows
    from naivete.counts.counts import Counts
    from naivete.data.files import pieces
    from naivete.data.labelled_table import ColumnRoles
    from naivete.variables import Variable

    variables = (*(Variable(f"x{x}", tuple(range(STATES))) for x in range(COLUMNS)), Variable("y", (0, 1)))
    rows = DaskRows(pieces(folder), ColumnRoles("y"), client=client)
    counts = Counts(EncodedCases(rows, variables, np.zeros(COLUMNS, bool)))
    began = time.perf_counter()
    assert all(pairs.tables is not None for pairs in counts.pairs())
    between = time.perf_counter()
    counts.tables((*sorted({x, (x + 1) % COLUMNS, (x + 2) % COLUMNS}), -1) for x in range(COLUMNS))
    return between - began, time.perf_counter() - between


def main() -> None:
    """Measure and print."""
    made = argparse.ArgumentParser(prog="python -m benchmarks.workers", description=__doc__.splitlines()[0])
    made.add_argument("--data", type=Path, help="where the data set is made; by default $NAIVETE_BENCH, else bench-data")
    made.add_argument("--repeat", type=int, default=5, help="passes on each cluster, of which the best counts (5)")
    asked = made.parse_args()
    folder = (asked.data or Path(os.environ.get("NAIVETE_BENCH") or "bench-data")) / "scale-8M"
    make(folder, 8)
    best: dict[int, np.ndarray] = {}
    for workers in (1, 2, 1, 2):
        with cluster(workers) as client:
            passes(client, folder)
            found = np.min([passes(client, folder) for _ in range(asked.repeat)], axis=0)
        best[workers] = np.minimum(found, best.get(workers, np.inf))
        print(f"{workers} worker(s): pairs {found[0]:.2f} s, tables {found[1]:.2f} s", flush=True)
    pairs, tables = (best[1] / best[2]).tolist()
    both = best[1].sum() / best[2].sum()
    print(f"two workers against one: pairs {pairs:.2f}, tables {tables:.2f}, both {both:.2f} times as fast")


if __name__ == "__main__":
    main()
