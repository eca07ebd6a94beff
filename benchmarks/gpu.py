"""The GPU tier beside the C tier: `python -m benchmarks.gpu [pairs] [fits] [hashes]`; needs a CUDA device and torch.

pairs: the counts of all pairs of features with the class, with the codes on the device and from host memory, in rows times pairs
a second. fits: TAN and KDB(k=2) end to end on arrays in host memory, against the C kernels on all cores. hashes: whether the models
of both tiers are equal to the last bit, with weights and missing values too. Times are the shortest of several after a first run.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import workloads
from naivete import KDB, TAN, NaiveBayes, _kernels, model_hash
from naivete._kernels import dispatch
from naivete._kernels.device import columns_on_device, device_name, keep_on_device
from naivete._kernels.device_planes import device_gram, device_planes
from naivete._kernels.dispatch import torch_module

WIDE = (1_000_000, 2_000)


def seconds(function: Callable[[], object], repeat: int = 5) -> float:
    """Return the shortest time of several calls after a first one."""
    torch = torch_module()
    times = []
    for _ in range(repeat + 1):
        start = time.perf_counter()
        function()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return min(times[1:])


def random_table(rows: int, features: int, states: int) -> tuple[Any, Any]:
    """Return codes whose columns depend on one another and on the class, of two classes; drawn on the device."""
    torch = torch_module()
    torch.manual_seed(1)
    X = torch.randint(0, states, (rows, features), dtype=torch.uint8, device="cuda")
    y = torch.randint(0, 2, (rows,), dtype=torch.uint8, device="cuda")
    X[:, 1::2] = torch.where(torch.rand((rows, 1), device="cuda") < 0.5, X[:, 0::2], X[:, 1::2])
    X[:, 0] = torch.where(torch.rand(rows, device="cuda") < 0.6, y, X[:, 0])
    return X.cpu().numpy(), y.cpu().numpy()


def pairs() -> Iterator[str]:
    """Yield the table of counting all pairs."""
    torch = torch_module()
    yield "| table | copy, page-locked | copy, ordinary | pairs, codes on the device | rows x pairs a second |" + (
        " from page-locked memory | x copy | from ordinary memory | x copy |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for rows, features, states in ((4_000_000, 40, 4), (1_000_000, 1_000, 2)):
        X, y = random_table(rows, features, states)
        locked_X, locked_y = torch.from_numpy(X).pin_memory(), torch.from_numpy(y).pin_memory()
        locked = seconds(lambda: locked_X.to("cuda", non_blocking=True))  # noqa: B023
        ordinary = seconds(lambda: torch.from_numpy(X).to("cuda"))  # noqa: B023

        def count(columns: list[Any], labels: Any, cards: int = states) -> Any:
            planes = device_planes(columns, [cards] * len(columns), [False] * len(columns), labels, 2)
            every = range(int(planes.first[-1]))
            return device_gram(planes, every, every)

        columns, locked_columns = ([matrix[:, j] for j in range(features)] for matrix in (X, locked_X.numpy()))
        with keep_on_device():
            columns_on_device([*columns, y])
            there = seconds(lambda: count(columns, y), 20)  # noqa: B023
        from_locked = seconds(lambda: count(locked_columns, locked_y.numpy()), 20)  # noqa: B023
        from_ordinary = seconds(lambda: count(columns, y))  # noqa: B023
        rate = rows * features * (features - 1) / 2 / there
        times = f"{1e3 * locked:.2f} ms | {1e3 * ordinary:.1f} ms | {1e3 * there:.2f} ms | {rate:.2g}"
        others = f"{1e3 * from_locked:.2f} ms | {from_locked / locked:.2f} | {1e3 * from_ordinary:.1f} ms"
        yield f"| {rows:,} x {features:,}, {states} states | {times} | {others} | {from_ordinary / ordinary:.2f} |"


def tables(names: list[str], folder: Path) -> Iterator[tuple[str, Any, Any]]:
    """Yield the names, features and classes of workloads, and of a wide table of binary columns."""
    for name in names:
        if name == "wide":
            yield f"{WIDE[0]:,} x {WIDE[1]:,}, 2 states", *random_table(*WIDE, 2)
            continue
        workloads.ensure(name, folder)
        workload = workloads.load(name, folder)
        yield f"{name}: {len(workload.X):,} x {workload.X.shape[1]:,}, {workload.states} states", workload.X, workload.y


def fits(folder: Path) -> Iterator[str]:
    """Yield the table of fits by both tiers."""
    yield "| table | model | C, all cores | GPU | times as fast | same model |"
    yield "|---|---|---|---|---|---|"
    for name, X, y in tables(["W3", "W4", "W7", "wide"], folder):
        for model in (TAN, KDB):
            times, hashes = {}, {}
            for tier in ("c", "gpu"):
                with _kernels.use(tier):  # type: ignore[arg-type]
                    times[tier] = seconds(lambda: model().fit(X, y), 3)  # noqa: B023
                    hashes[tier] = model_hash(model().fit(X, y))
            same = "yes" if hashes["c"] == hashes["gpu"] else "NO"
            ratio = times["c"] / times["gpu"]
            yield f"| {name} | {model.__name__} | {times['c']:.3f} s | {times['gpu']:.3f} s | {ratio:.1f} | {same} |"


def hashes(folder: Path) -> Iterator[str]:
    """Yield whether the models of both tiers are equal, on all workloads."""
    dispatch.SMALL = 0  # everything is counted on the device, however little it is
    yield "| table | plain | weights | missing values | both |"
    yield "|---|---|---|---|---|"
    for name, X, y in tables(list(workloads.SPECS), folder):
        rng = np.random.default_rng(0)
        weight = rng.choice([0.5, 1.0, 2.0, 3.75], len(y))
        some = X if X.size < 5e7 else X[: int(5e7) // X.shape[1]]
        holes = some.astype(np.float32)
        holes[rng.random(some.shape, np.float32) < 0.03] = np.nan
        cells = []
        for data, weights in ((X, None), (X, weight), (holes, None), (holes, weight)):
            equal = True
            for model in (NaiveBayes, TAN, KDB):
                found = set()
                for tier in ("c", "gpu"):
                    with _kernels.use(tier):  # type: ignore[arg-type]
                        rows = slice(len(data))
                        found.add(model_hash(model().fit(data, y[rows], None if weights is None else weights[rows])))
                equal &= len(found) == 1
            cells.append("equal" if equal else "DIFFERENT")
        yield f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    """Run the benchmarks that the command line names, by default all."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("jobs", nargs="*", choices=["pairs", "fits", "hashes", []], help="by default all")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("NAIVETE_BENCH", "bench-data")))
    args = parser.parse_args()
    jobs = {"pairs": pairs, "fits": lambda: fits(args.data), "hashes": lambda: hashes(args.data)}
    print(f"{device_name()}; C kernels on {_kernels.threads()} threads\n")
    for job in args.jobs or jobs:
        for line in jobs[job]():
            print(line, flush=True)
        print()


if __name__ == "__main__":
    main()
