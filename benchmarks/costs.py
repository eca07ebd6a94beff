"""The cost model of learning: constants measured on this machine, and the predicted time and memory for any size.

`python -m benchmarks.costs` measures the constants with one thread, compares the model with measured runs, and prints the
prediction for 10^9 to 10^12 rows on 1 to 1,000 workers. docs/guide/larger-than-memory.md explains the model.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale import CLASSES, COLUMNS, STATES, make

BLOCK = 1 << 17
PACKAGE = 120e6
"""Bytes of a process that has loaded all modules and no rows."""


@dataclass(frozen=True)
class Constants:
    """Seconds of one core: to read the label of a row; to decode, count and encode a cell; to count a pair of features in a row;
    to update a family table; to merge a byte of tables; and the overhead of a block."""

    label: float
    decode: float
    count: float
    encode: float
    pair: float
    update: float
    merge: float
    block: float


@dataclass(frozen=True)
class Task:
    """A table and a learner: KDB with k parents."""

    rows: float
    columns: int = COLUMNS
    states: int = STATES
    classes: int = CLASSES
    k: int = 2

    @property
    def pair_bytes(self) -> float:
        """The size of the tables of all pairs of features."""
        return 4 * self.columns * (self.columns - 1) / 2 * (self.states - 1) ** 2 * self.classes

    @property
    def family_bytes(self) -> float:
        """The size of the tables of the families."""
        return 8.0 * self.columns * self.states ** (self.k + 1) * self.classes


def seconds(task: Task, cost: Constants, workers: int = 1, bandwidth: float = 1e9, latency: float = 0.01) -> dict[str, float]:
    """Return the time of the three passes, with an equal share of the rows for every core, and of merging in a tree.

    Parameters
    ----------
    task : the table and the learner.
    cost : the constants.
    workers : the number of cores, on one or more machines.
    bandwidth, latency : bytes per second and seconds per message between machines; eight tables are merged at each node.
    """
    share, n = task.rows / workers, task.columns
    depth = math.ceil(math.log(workers, 8)) if workers > 1 else 0
    tables = task.pair_bytes + task.family_bytes
    parts = {
        "labels": 3 * share * cost.label,
        "decoding": 3 * share * (n + 1) * cost.decode,
        "schema": share * n * cost.count,
        "encoding": 2 * share * n * cost.encode,
        "pairs": share * n * (n - 1) / 2 * cost.pair,
        "tables": share * n * cost.update,
        "blocks": share / BLOCK * (3 * cost.block + 2 * tables * cost.merge),
        "merging": depth * 8 * (tables * (cost.merge + 1 / bandwidth) + 3 * latency),
    }
    return {**parts, "total": sum(parts.values())}


def memory(task: Task) -> float:
    """Return the bytes of a worker: the program, three blocks of rows in several forms, planes, and tables twice."""
    rows = 3 * BLOCK * 8 * (task.columns + 2) + BLOCK * task.columns * (task.states - 1) / 8
    return PACKAGE + rows + 2 * (task.pair_bytes + task.family_bytes) + 8.0 * task.columns**2


def best(work: Any, repeat: int = 5) -> float:
    """Return the time of the fastest of several calls, after one warm-up call."""
    work()
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def measured(folder: Path) -> Constants:
    """Measure the constants of this machine in this process, which should use one thread."""
    from functools import partial, reduce

    from naivete._kernels.exact_sums import add_sums
    from naivete.cases.rows import BatchRows, EncodedCases, count_row_values
    from naivete.counts.counts import Counts
    from naivete.counts.information import dependence
    from naivete.data.files import pieces
    from naivete.data.labelled_table import ColumnRoles
    from naivete.encoding.column_codes import encode
    from naivete.encoding.encoder import Encoder
    from naivete.variables import Variable

    piece = pieces(folder).pieces[0]
    tables = list(piece.tables(rows=BLOCK))[:4]
    cells = sum(map(len, tables)) * COLUMNS
    parts = [ColumnRoles("y").divide_weighted(table) for table in tables]
    encoder, rows = Encoder(), BatchRows(tuple(parts))
    value_counts = count_row_values(rows, encoder)
    features = encoder.schema(value_counts)
    variables = (*features, Variable("y", value_counts.classes))
    small = BatchRows(tuple(part.take(np.arange(1000)) for part in parts))

    def pairs(batches: Any) -> Any:
        dependence(Counts(EncodedCases(batches, variables, value_counts.has_missing)))

    families = [(*sorted({x, (x + 1) % COLUMNS, (x + 2) % COLUMNS}), -1) for x in range(COLUMNS)]

    def counted(batches: Any) -> Any:
        Counts(EncodedCases(batches, variables, value_counts.has_missing)).tables(families)

    limb = {0: np.ones(1 << 20, np.int64)}
    encode_ = best(lambda: [encode(part.features, features) for part in parts]) / cells
    per_block = best(partial(pairs, small)) / len(parts)
    blocks = len(parts)
    pair_rows = cells * (COLUMNS - 1) / 2
    one_row = EncodedCases(BatchRows(tuple(parts)), (variables[-1],), np.zeros(0, bool))
    labels = best(lambda: [ColumnRoles("y").divide_weighted(table) for table in tables])
    return Constants(
        label=(labels + best(lambda: list(one_row.map(len)))) / sum(map(len, tables)),
        decode=best(lambda: sum(len(t) for t in piece.tables(rows=BLOCK)), 3) / (piece.rows or 1) / (COLUMNS + 1),
        count=(best(lambda: count_row_values(rows, encoder)) - blocks * 0.001) / cells,
        encode=encode_,
        pair=max(0.0, best(partial(pairs, rows)) - blocks * per_block - cells * encode_) / pair_rows,
        update=max(0.0, best(partial(counted, rows)) - best(partial(counted, small)) - cells * encode_) / cells,
        merge=best(lambda: reduce(add_sums, [limb, limb])) / (8 << 20),
        block=per_block,
    )


def one_thread(folder: Path) -> Constants:
    """Measure the constants in a new process with one thread."""
    environment = {**os.environ, "NAIVETE_THREADS": "1", "OMP_NUM_THREADS": "1", "ARROW_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "benchmarks.costs", "--constants", "--folder", str(folder)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return Constants(**json.loads(done.stdout))


def learned(folder: Path, threads: int) -> float:
    """Return the time of learning KDB(k=2) from the files in a new process with the given number of threads."""
    code = (
        "import os, sys, time, pyarrow, naivete; pyarrow.set_cpu_count(int(sys.argv[2])); naivete.NaiveBayes().fit([[1]], [1]);"
        "sys.argv[2] == '1' and hasattr(os, 'sched_setaffinity') and os.sched_setaffinity(0, {0});"
        "began = time.perf_counter(); naivete.KDB(k=2).fit_cases(sys.argv[1], 'y'); print(time.perf_counter() - began)"
    )
    environment = {**os.environ, "NAIVETE_THREADS": str(threads)}
    command = [sys.executable, "-c", code, str(folder), str(threads)]
    return min(
        float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout) for _ in range(3)
    )


def as_text(cost: Constants) -> str:
    """Return the constants and the predictions as text."""
    lines = ["constants of one core: " + ", ".join(f"{name} {1e9 * value:.3g} ns" for name, value in asdict(cost).items()), ""]
    lines += ["| rows | workers | time | decoding | pairs | merging | memory of a worker |", "|---|---|---|---|---|---|---|"]
    for exponent in (9, 10, 11, 12):
        for workers in (1, 10, 100, 1000):
            parts = seconds(Task(10.0**exponent), cost, workers)
            shares = " | ".join(f"{parts[name] / parts['total']:.0%}" for name in ("decoding", "pairs", "merging"))
            size = f"{memory(Task(10.0**exponent)) / 1e6:.0f} MB"
            lines.append(f"| 10^{exponent} | {workers:,} | {clock(parts['total'])} | {shares} | {size} |")
    return "\n".join(lines)


def clock(value: float) -> str:
    """Return seconds as text with a suitable unit.

    >>> clock(42.0), clock(4200.0), clock(420000.0)
    ('42 s', '1.2 h', '4.9 d')
    """
    for size, unit in ((86400 * 2, "d"), (3600, "h"), (120, "min")):
        if value >= size:
            return f"{value / {'d': 86400, 'h': 3600, 'min': 60}[unit]:.1f} {unit}"
    return f"{value:.0f} s"


def main() -> None:
    """Measure, compare and predict."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.costs", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="the folder of the data sets; by default $NAIVETE_BENCH, else bench-data")
    parser.add_argument("--constants", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.constants:
        if "ARROW_NUM_THREADS" in os.environ:
            import pyarrow as pa

            pa.set_cpu_count(int(os.environ["ARROW_NUM_THREADS"]))
        print(json.dumps(asdict(measured(options.folder))))
        return
    folder = (options.data or Path(os.environ.get("NAIVETE_BENCH") or "bench-data")) / "scale-10M"
    make(folder, 10)
    cost = one_thread(folder)
    print(as_text(cost))
    print("\ncompared with runs on this machine:")
    for workers, threads in ((1, 1), (2, 2)):
        took, guess = learned(folder, threads), seconds(Task(1e7), cost, 1)["total"] / workers
        print(f"  KDB(k=2) of 10^7 rows with {threads} thread(s): {took:.2f} s, predicted {guess:.2f} s ({took / guess:.2f} times)")


if __name__ == "__main__":
    main()
