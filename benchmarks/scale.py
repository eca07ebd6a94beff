"""`python -m benchmarks.scale [--rows 10,100]`: learning from Parquet files larger than the memory limit.

Generates data sets of the given numbers of million rows by 20 columns of four states and two classes, sampled from a
2-dependence model, and learns KDB(k=2) and HillClimb from each in a new process with a memory budget. Prints rows per second,
the share of decoding, the peak resident memory and the number of passes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

COLUMNS, STATES, CLASSES = 20, 4, 2
GROUP = 1 << 20
FILE_GROUPS = 10
SEED = 20261115


def drawn(rows: int, rng: np.random.Generator, tables: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Sample rows: the class, then each column given the class and the two columns before it."""
    y = (rng.random(rows) < 0.4).astype(np.uint8)
    columns: list[np.ndarray] = []
    for x, cumulative in enumerate(tables):
        a, b = (columns[x - 1], columns[x - 2]) if x > 1 else (y, y)
        draw = rng.integers(0, 1 << 16, rows, dtype=np.uint16)
        configuration = (a * np.uint8(STATES) + b) * np.uint8(CLASSES) + y
        columns.append((draw[:, None] >= cumulative[configuration]).sum(axis=1, dtype=np.uint8))
    return {**{f"x{i}": column for i, column in enumerate(columns)}, "y": y}


def make(folder: Path, millions: int) -> None:
    """Write the data set as files of ten row groups, unless it exists."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    done = folder / "done.json"
    if done.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(SEED)
    shares = rng.dirichlet(np.full(STATES, 0.6), (COLUMNS, STATES * STATES * CLASSES))
    tables = list((np.cumsum(shares, axis=2)[:, :, :-1] * (1 << 16)).astype(np.uint16))
    remaining, began = millions * 10**6, time.perf_counter()
    for number in range(-(-remaining // (GROUP * FILE_GROUPS))):
        path = folder / f"part-{number:03}.parquet"
        with pq.ParquetWriter(path, pa.schema([(f"x{i}", pa.uint8()) for i in range(COLUMNS)] + [("y", pa.uint8())])) as writer:
            for _ in range(FILE_GROUPS):
                rows = min(GROUP, remaining)
                if rows:
                    writer.write_table(pa.table(drawn(rows, rng, tables)), row_group_size=GROUP)
                remaining -= rows
    done.write_text(json.dumps({"rows": millions * 10**6, "seconds": time.perf_counter() - began}))


def decode(folder: Path) -> dict[str, Any]:
    """Measure the time in which pyarrow decodes the files."""
    import pyarrow.parquet as pq

    began, rows = time.perf_counter(), 0
    for path in sorted(folder.glob("*.parquet")):
        for batch in pq.ParquetFile(path).iter_batches(batch_size=1 << 17):
            rows += batch.num_rows
    return {"rows": rows, "seconds": time.perf_counter() - began}


def stream(folder: Path) -> dict[str, Any]:
    """Measure the time of reading the files as tables, as learning does."""
    from naivete.data.files import pieces

    began, rows = time.perf_counter(), 0
    for piece in pieces(folder).pieces:
        for table in piece.tables(rows=1 << 17):
            rows += len(table)
    return {"rows": rows, "seconds": time.perf_counter() - began}


def learn(folder: Path, memory: int, name: str) -> dict[str, Any]:
    """Learn a classifier within the memory budget."""
    from naivete import KDB, HillClimb
    from naivete.classifiers.saving import model_hash

    marks: dict[int, float] = {}
    began = time.perf_counter()

    def progress(number: int, done: int, total: int | None) -> None:  # noqa: ARG001
        marks[number] = time.perf_counter() - began

    model = (KDB(k=2) if name == "kdb" else HillClimb()).fit_cases(folder, "y", memory=memory, progress=progress)
    seconds = time.perf_counter() - began
    ends = [marks[number] for number in sorted(marks)]
    passes = [end - start for start, end in zip([0.0, *ends], ends, strict=False)]
    return {"seconds": seconds, "passes": model.passes_, "each": passes, "hash": model_hash(model), "peak": _peak()}


def _peak() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) * 1024


JOBS = {"decode": decode, "stream": stream}
LEARNERS = ("kdb", "hill-climb")


def measured(job: str, folder: Path, memory: int) -> dict[str, Any]:
    """Return the figures of a job in a new process."""
    command = [sys.executable, "-m", "benchmarks.scale", "--job", job, "--folder", str(folder), "--memory", str(memory)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def as_text(millions: int, figures: dict[str, dict[str, Any]], memory: int) -> str:
    """Return the figures of one data set as text."""
    rows = millions * 10**6
    fit, climb, bare = figures["kdb"], figures["hill-climb"], figures["decode"]["seconds"]
    each = ", ".join(f"{seconds:.1f}" for seconds in fit["each"])
    return "\n".join(
        [
            f"{millions:,} million rows x {COLUMNS} columns, budget {memory / 1e6:,.0f} MB",
            f"  decoding alone    {bare:8.1f} s a pass  {rows / bare / 1e6:8.1f} million rows/s",
            f"  as tables         {figures['stream']['seconds']:8.1f} s a pass",
            f"  KDB(k=2)          {fit['seconds']:8.1f} s         {rows / fit['seconds'] / 1e6:8.1f} million rows/s,"
            f" {fit['passes']} passes of {each} s",
            f"  HillClimb         {climb['seconds']:8.1f} s         {climb['passes']} passes, the last of"
            f" {climb['each'][-1]:.1f} s, highest memory {climb['peak'] / 1e6:.0f} MB",
            f"  decoding's share  {fit['passes'] * bare / fit['seconds']:8.0%} of the time",
            f"  highest memory    {fit['peak'] / 1e6:8.0f} MB ({fit['peak'] / memory:.0%} of the budget)",
            f"  model             {fit['hash'][:16]}",
        ]
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="10,100", help="millions of rows of each data set (10,100)")
    parser.add_argument("--memory", type=int, default=500_000_000, help="memory budget of learning in bytes (500 million)")
    parser.add_argument("--data", type=Path, help="the folder of the data sets; by default $NAIVETE_BENCH, else bench-data")
    parser.add_argument("--job", choices=(*JOBS, *LEARNERS), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        figures = (
            learn(options.folder, options.memory, options.job) if options.job in LEARNERS else JOBS[options.job](options.folder)
        )
        print(json.dumps(figures))
        return
    data = options.data or Path(os.environ.get("NAIVETE_BENCH") or "bench-data")
    for millions in map(int, options.rows.split(",")):
        folder = data / f"scale-{millions}M"
        make(folder, millions)
        figures = {job: measured(job, folder, options.memory) for job in (*JOBS, *LEARNERS)}
        print(as_text(millions, figures, options.memory), flush=True)


if __name__ == "__main__":
    main()
