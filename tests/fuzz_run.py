"""Mutated inputs for every reader, in parts that can be continued: `python -m tests.fuzz_run [reader ...] [--total N] [--state FILE]`.

Part i of a reader is always the same thousand inputs. A state file holds the number of parts that were read and their figures,
so that a run that was stopped continues where it was.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from dataclasses import asdict, dataclass, field
from pathlib import Path

from naivete.errors import NaiveteWarning
from naivete.storage.atomic import atomic_write
from tests.fuzz import MEMORY, READERS, SECONDS, Found, fuzz, memory

PART = 1000


@dataclass
class Total:
    """The figures of one reader over all parts."""

    inputs: int = 0
    refused: int = 0
    slowest: float = 0.0
    memory: int = 0
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)

    @property
    def stopped(self) -> bool:
        """Whether it stopped because of its problems."""
        return self.inputs % PART > 0 or len(self.problems) >= 10

    def add(self, found: Found, seconds: float) -> None:
        self.inputs += found.inputs
        self.refused += found.refused
        self.slowest = max(self.slowest, round(found.slowest, 3))
        self.memory = max(self.memory, found.memory)
        self.seconds = round(self.seconds + seconds, 1)
        self.problems += [f"{problem}\n    {data[:2000]!r}" for data, problem in found.problems]


@dataclass
class State:
    """The seed of a run, and the figures of each reader."""

    seed: int
    readers: dict[str, Total]

    @classmethod
    def read(cls, path: Path | None, seed: int, names: list[str]) -> State:
        """Return the state in a file, or a new one."""
        kept = json.loads(path.read_text()) if path is not None and path.exists() else {"seed": seed, "readers": {}}
        if kept["seed"] != seed:
            raise SystemExit(f"{path} is of a run with --seed {kept['seed']}; pass this seed, or name another file")
        totals = {name: Total(**figures) for name, figures in kept["readers"].items()}
        return cls(seed, {**totals, **{name: totals.get(name, Total()) for name in names}})

    def write(self, path: Path | None) -> None:
        if path is not None:
            atomic_write(path, json.dumps(asdict(self), indent=1).encode())


def run(state: State, names: list[str], count: int, path: Path | None) -> None:
    """Read `count` inputs with every reader, those of the state included, one part after the other."""
    for name in names:
        READERS[name].corpus()  # before the memory is measured
    baseline = memory()
    while waiting := [name for name in names if state.readers[name].inputs < count and not state.readers[name].stopped]:
        for name in waiting:
            total, start = state.readers[name], time.process_time()
            found = fuzz(READERS[name], PART, f"{state.seed} {name} {total.inputs // PART}", baseline, SECONDS)
            total.add(found, time.process_time() - start)
            state.write(path)


def report(state: State, names: list[str]) -> str:
    """Return the figures as a table."""
    lines = ["| reader | inputs | refused | problems | slowest, s | memory, MiB | processor, s |", "|---|---|---|---|---|---|---|"]
    totals = {name: state.readers[name] for name in names}
    for name, total in totals.items():
        figures = (
            f"{total.inputs:,}",
            f"{total.refused:,}",
            f"{len(total.problems)}",
            f"{total.slowest:.2f}",
            f"{total.memory / 2**20:.0f}",
            f"{total.seconds:,.0f}",
        )
        lines.append(f"| {name} | {' | '.join(figures)} |")
    inputs, seconds = sum(total.inputs for total in totals.values()), sum(total.seconds for total in totals.values())
    problems = [f"{name}: {problem}" for name, total in totals.items() for problem in total.problems]
    lines.append(
        f"\n{inputs:,} inputs, {len(problems)} problems (limits: {SECONDS:.0f} s, {MEMORY >> 20} MiB), {seconds:,.0f} s of processor time"
    )
    return "\n".join([*lines, *problems])


def main(arguments: list[str] | None = None) -> int:
    """Run, print the figures, and return 1 if there was a problem."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz_run", description=__doc__)
    parser.add_argument("reader", nargs="*", help=f"which readers, of {', '.join(READERS)}; by default all")
    parser.add_argument("--total", type=int, help="the number of inputs in all; by default 50,000 for every reader")
    parser.add_argument("--state", type=Path, metavar="FILE", help="a file to continue from, and to keep the figures in")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    names = options.reader or list(READERS)
    unknown = [name for name in names if name not in READERS]
    if unknown:
        parser.error(f"unknown reader {unknown[0]!r}")
    count = 50_000 if options.total is None else -(-options.total // len(names))
    state = State.read(options.state, options.seed, names)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", NaiveteWarning)  # those of others are problems
        run(state, names, count, options.state)
    print(report(state, names))
    return int(any(state.readers[name].problems for name in names))


if __name__ == "__main__":
    sys.exit(main())
