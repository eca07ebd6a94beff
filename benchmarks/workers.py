"""`python -m benchmarks.workers`: two Dask workers compared with one on the counting passes, each with one thread.

Counts all pairs and the families of three features of 8 million rows by 20 columns of the data set of `benchmarks.scale`, on
new local clusters of one and two workers alternately.
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
    """Start a local cluster with the given number of workers, each with one thread, and yield its client."""
    from distributed import Client, LocalCluster

    one = {"NAIVETE_THREADS": "1", "OMP_NUM_THREADS": "1"}
    settings = {"threads_per_worker": 1, "processes": True, "host": "127.0.0.1", "dashboard_address": None, "memory_limit": 0}
    with LocalCluster(n_workers=workers, env=one, **settings) as local, Client(local, set_as_default=False) as client:
        yield client


def passes(client: Any, folder: Path) -> tuple[float, float]:
    """Return the seconds of the pass that counts all pairs and of the pass that counts the families."""
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
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workers", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="the folder of the data set; by default $NAIVETE_BENCH, else bench-data")
    parser.add_argument("--repeat", type=int, default=5, help="repetitions on each cluster, of which the fastest counts (5)")
    options = parser.parse_args()
    folder = (options.data or Path(os.environ.get("NAIVETE_BENCH") or "bench-data")) / "scale-8M"
    make(folder, 8)
    best: dict[int, np.ndarray] = {}
    for workers in (1, 2, 1, 2):
        with cluster(workers) as client:
            passes(client, folder)
            seconds = np.min([passes(client, folder) for _ in range(options.repeat)], axis=0)
        best[workers] = np.minimum(seconds, best.get(workers, np.inf))
        print(f"{workers} worker(s): pairs {seconds[0]:.2f} s, tables {seconds[1]:.2f} s", flush=True)
    pairs, tables = (best[1] / best[2]).tolist()
    both = best[1].sum() / best[2].sum()
    print(f"two workers compared with one: pairs {pairs:.2f}, tables {tables:.2f}, both {both:.2f} times as fast")


if __name__ == "__main__":
    main()
