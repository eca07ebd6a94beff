"""The memory of every command that takes `--memory`, compared with the limit: `python -m tests.memory_run [model ...]`.

A table that is larger than the limit is written as delimited text and as Parquet. Each command runs in a process of its own, whose
largest resident memory must not exceed the limit.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from naivete.classifiers.registry import REGISTRY

LIMIT = 300_000_000
COLUMNS, NUMBERS, STATES, TEXT = 16, 4, 4, 48


class Run(NamedTuple):
    """A command and its figures."""

    command: str
    peak: int
    seconds: float
    status: int
    message: str


def tables(folder: Path) -> tuple[Path, Path]:
    """Return the files."""
    return folder / "table.csv", folder / "table.parquet"


def write_tables(folder: Path, rows: int) -> None:
    """Write a table of long texts and of numbers, which depend on a class, as CSV and as Parquet."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    texts = np.array([f"{'state ' * 20}{state}"[-TEXT:] for state in range(STATES)])
    delimited, columnar = tables(folder)
    writer, part = None, 50_000
    with delimited.open("w") as file:
        file.write(",".join([*(f"c{i}" for i in range(COLUMNS)), *(f"n{i}" for i in range(NUMBERS)), "y"]) + "\n")
        for lo in range(0, rows, part):
            size = min(part, rows - lo)
            y = rng.integers(0, 2, size)
            codes = np.where(rng.random((size, COLUMNS)) < 0.4, y[:, None], rng.integers(0, STATES, (size, COLUMNS)))
            columns = {f"c{i}": texts[codes[:, i]] for i in range(COLUMNS)}
            numbers = {f"n{i}": rng.normal(y * (i + 1) / 2, 1.0).round(3) for i in range(NUMBERS)}
            table = pa.table({**columns, **numbers, "y": np.array(["no", "yes"])[y]})
            writer = writer or parquet.ParquetWriter(columnar, table.schema, use_dictionary=False, compression="none")
            writer.write_table(table)
            cells = zip(*(column.to_pylist() for column in table.columns), strict=True)
            file.writelines(",".join(map(str, row)) + "\n" for row in cells)
    if writer is not None:
        writer.close()


def measured(arguments: list[str]) -> Run:
    """Run `naivete` in a process of its own."""
    start = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen([sys.executable, "-m", "naivete", *arguments], stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)  # it is not waited for again
        output.seek(0)
        message = output.read().decode(errors="replace").strip()
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    shown = " ".join(Path(a).name if os.sep in a else a for a in arguments)
    return Run(shown, peak, time.perf_counter() - start, process.returncode, message)


def runs(folder: Path, models: list[str], rows: int, limit: int) -> Iterator[Run]:
    """Learn every model from text, and predict with it; learn and predict once from Parquet."""
    writing = (
        "import sys, pathlib; from tests.memory_run import write_tables; write_tables(pathlib.Path(sys.argv[1]), int(sys.argv[2]))"
    )
    # a new process starts with the peak of the one that starts it, so that this one has to stay small
    subprocess.run([sys.executable, "-c", writing, str(folder), str(rows)], check=True)
    delimited, columnar = tables(folder)
    sizes = ", ".join(f"{path.name} {path.stat().st_size / 1e6:,.0f} MB" for path in (delimited, columnar))
    print(f"{rows:,} rows: {sizes}; limit {limit / 1e6:,.0f} MB", flush=True)
    options = ["--memory", str(limit), "--force"]
    for model in models:
        path = str(folder / f"{model}.nvt")
        yield measured(["fit", str(delimited), "--model", model, "--target", "y", "--out", path, *options])
        if Path(path).exists():
            yield measured(["predict", path, str(delimited), "--out", str(folder / "predicted.csv"), *options])
    last = str(folder / f"{models[0]}.nvt")
    yield measured(["fit", str(columnar), "--model", models[0], "--target", "y", "--out", last, *options])
    for ending in ("csv", "parquet"):
        yield measured(["predict", last, str(columnar), "--append", "--out", str(folder / f"predicted.{ending}"), *options])


def main(arguments: list[str] | None = None) -> int:
    """Print a table; return 1 if a command failed or took more memory than its limit."""
    parser: Any = argparse.ArgumentParser(prog="python -m tests.memory_run", description=__doc__)
    parser.add_argument("model", nargs="*", help="the models to learn; by default all")
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--memory", type=int, default=LIMIT, help=f"the limit in bytes ({LIMIT:,})")
    options = parser.parse_args(arguments)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        print("| command | peak, MB | share of the limit | seconds |\n|---|---|---|---|")
        models = options.model or [entry.word for entry in REGISTRY]
        for run in runs(Path(folder), models, options.rows, options.memory):
            print(f"| {run.command} | {run.peak / 1e6:,.0f} | {run.peak / options.memory:.0%} | {run.seconds:,.0f} |", flush=True)
            if run.status or run.peak > options.memory:
                failed += 1
                print(f"FAILED: status {run.status}; {run.message[-600:]}", flush=True)
    print(f"{failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
