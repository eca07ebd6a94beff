"""The graph of a pass: a task for each part of the rows, and above them tasks that merge the values of eight."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import dask

from naivete.cases.dask.tasks import Job, counted, given, merged
from naivete.data.files import Files

__all__ = ["FileParts", "FrameSource", "Graph", "Parts", "fold_graph", "shared", "tree"]

Graph = dict[Any, Any]

_FAN_IN: Final = 8


class Parts(Protocol):
    """Rows in parts that workers can get at."""

    @property
    def rows(self) -> int | None:
        """How many rows there are, where that is known."""

    def __len__(self) -> int:
        """How many parts there are."""

    def graph(self, first: int, stop: int) -> tuple[Graph, list[Any]]:
        """A graph, and in it, or in itself, what stands for each of these parts."""


@dataclass(frozen=True, eq=False)
class FileParts:
    """The pieces of files, which every worker opens itself."""

    files: Files

    @property
    def rows(self) -> int | None:
        """How many rows there are, where that is known."""
        return self.files.rows

    def __len__(self) -> int:
        return len(self.files.pieces)

    def graph(self, first: int, stop: int) -> tuple[Graph, list[Any]]:
        """No graph, and the pieces."""
        return {}, list(self.files.pieces[first:stop])


@dataclass(frozen=True, eq=False)
class FrameSource:
    """The partitions of a Dask DataFrame."""

    frame: Any
    title = "the Dask DataFrame"

    @property
    def names(self) -> tuple[Any, ...]:
        """The columns."""
        return tuple(self.frame.columns)

    @property
    def rows(self) -> None:
        """How many rows there are is not known."""
        return

    def __len__(self) -> int:
        return int(self.frame.npartitions)

    def without(self, columns: Collection[Any]) -> FrameSource:
        """The partitions without these columns."""
        return FrameSource(self.frame[[name for name in self.names if name not in columns]]) if columns else self

    def graph(self, first: int, stop: int) -> tuple[Graph, list[Any]]:
        """The frame's own graph, and the keys of the partitions."""
        chosen = self.frame if (first, stop) == (0, len(self)) else self.frame.partitions[first:stop]
        best = chosen.optimize()  # not dask.optimize, which gave the wrong columns and partitions in 2026.8
        return dict(best.__dask_graph__()), list(best.__dask_keys__())


def fold_graph(job: Job, parts: Parts, first: int, stop: int, cores: int = 0) -> tuple[Graph, list[Hashable]]:
    """The tasks of some parts, and their keys in order.

    Dask spreads many tasks over the workers, but gives a few to the worker that has what they need: so each of a few parts gets
    a copy of the job.
    """
    graph, sources = parts.graph(first, stop)
    few = len(sources) <= 2 * cores
    graph[_key("job", job)] = (given, job)
    keys: list[Hashable] = []
    for at, source in enumerate(sources, start=first):
        keys.append((_key("part", job), at))
        own = (_key("own-job", job), at) if few else _key("job", job)
        if few:
            graph[own] = (given, job)
        graph[keys[-1]] = (counted, own, at, source)
    return graph, keys


def tree(job: Job, keys: Sequence[Hashable]) -> tuple[Graph, Hashable]:
    """The tasks that merge these keys, a few at a time, and the last of them."""
    graph: Graph = {}
    level, depth, width = list(keys), 0, 1
    while len(level) > 1:
        depth, width = depth + 1, width * _FAN_IN
        above: list[Hashable] = []
        for at in range(0, len(level), _FAN_IN):
            above.append((_key(f"merge-{depth}", job), at // _FAN_IN))
            graph[above[-1]] = (merged, _key("job", job), at // _FAN_IN * width, level[at : at + _FAN_IN])
        level = above
    return graph, level[0]


def _key(what: str, job: Job) -> str:
    return f"naivete-{what}-{job.token}"


def shared(value: Any) -> Any:
    """The value as one task of the graph of a data frame, so that it travels once; as it is where Dask is too old for that."""
    old = tuple(map(int, dask.__version__.split(".")[:2])) < (2025, 7)
    return value if old else dask.delayed(value, traverse=False)
