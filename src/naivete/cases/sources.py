"""Sources of tables (files, Arrow streams and data frames), and how many rows of them to read at a time."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from naivete import __version__
from naivete.cases.files import ROWS, FileRows, Progress, Source
from naivete.cases.spill import Spill
from naivete.data.files import Files, arrow_tables, pieces
from naivete.data.frames import is_frame, table_of
from naivete.data.labelled_table import ColumnRoles, unknown_column_error
from naivete.data.table import Table
from naivete.errors import FileError, ParameterError, ResourceError, quoted
from naivete.storage.checkpoints import Checkpoint

__all__ = ["Plan", "StreamSource", "check_roles", "open_rows", "plain_settings", "plan_reading", "resident", "source_of"]

LEAST_ROWS = 1 << 10
"""At least this many rows are read at a time; a memory limit that does not allow for it is refused."""
OVERHEAD = 32 << 20
"""Bytes that reading and counting take in addition to the rows and the tables."""
TEXT_BYTES = 128
"""About how many bytes a text takes as an object, with its entry in a dictionary."""


@dataclass(frozen=True)
class StreamSource:
    """Rows that an object returns as tables in every pass: one piece."""

    stream: Any

    @property
    def pieces(self) -> tuple[StreamSource, ...]:
        """The source itself."""
        return (self,)

    @property
    def rows(self) -> int | None:
        """The number of rows, or None if it is unknown."""
        count = len(self.stream) if isinstance(self.stream, Table) else getattr(self.stream, "num_rows", None)
        return count if isinstance(count, int) else None

    def tables(self, *, rows: int, only: Collection[str] | None = None, skip: int = 0) -> Iterator[Table]:
        """Read the rows after the first `skip`, at most `rows` at a time."""
        if not isinstance(self.stream, Table):
            yield from arrow_tables(self.stream, rows=rows, only=only, skip=skip)
            return
        for start in range(skip, len(self.stream), rows):
            yield self.stream.take(slice(start, start + rows))


def source_of(cases: Any, **reading: Any) -> Source:
    """Return the source of the tables of some cases.

    Parameters
    ----------
    cases : a file, a pattern or a folder, or several of them; a data frame; an object with an Arrow stream, or a function that
        returns a new one for every pass.
    reading : how to read files, as for `naivete.read`.
    """
    if isinstance(cases, Files):
        return cases
    if isinstance(cases, (str, os.PathLike)) or (
        isinstance(cases, Sequence) and cases and all(isinstance(c, (str, os.PathLike)) for c in cases)
    ):
        return pieces(cases, **reading)
    if reading:
        raise _no_files(cases, reading)
    if hasattr(cases, "__arrow_c_stream__") and not type(cases).__module__.startswith("pandas"):
        return StreamSource(cases)
    if is_frame(cases):
        return StreamSource(table_of(cases, source="cases"))
    if callable(cases):
        return StreamSource(cases)
    raise ParameterError(
        f"cases={quoted(cases)}: pass the name of a file, a pattern or a folder, a list of them, a data frame, or an object with "
        "an Arrow stream"
    )


def check_roles(roles: ColumnRoles, source: Source) -> None:
    """Refuse roles of columns that a file does not have."""
    names = getattr(source, "names", None)
    if names is not None:
        for name in (roles.target, roles.weight, *roles.ignore):
            if name is not None and name not in names:
                raise unknown_column_error(name, names, getattr(source, "files", [source])[0].title)


@contextmanager
def open_rows(
    cases: Any,
    roles: ColumnRoles,
    *,
    memory: int | None,
    disk: int | None,
    budget: int,
    progress: Progress | None,
    cluster: Any,
    settings: Mapping[str, Any],
    saving: Mapping[str, Any],
    reading: Mapping[str, Any],
) -> Iterator[tuple[Any, int]]:
    """Open the rows of some cases, with their checkpoint and their cluster; also return the most bytes that tables may take.

    Parameters
    ----------
    cases, reading : as for `source_of`; or a Dask DataFrame; or a user-defined back end, whose `with_roles` takes the roles of
        the columns.
    roles : which columns are the class and the weight.
    memory, budget : as for `plan_reading`.
    disk : the most bytes of temporary disk space for the encoded rows, as for `Spill`.
    progress : called after each part of the rows.
    cluster : the cluster on which to count, if any: as for `naivete.cases.dask.connected`.
    settings : other settings that a resumed run has to have in common, because the result depends on them.
    saving : the folder of the checkpoint, whether to start again, and the seconds between two checkpoints.
    """
    from_dask = is_dask_frame(cases)
    if not from_dask and hasattr(type(cases), "with_roles"):
        _refuse_unused(cases, cluster, saving["folder"], reading)
        yield cases.with_roles(roles), plan_reading(memory, None, budget).budget
        return
    if from_dask and reading:
        raise _no_files(cases, reading)
    source = _dask().FrameSource(cases) if from_dask else source_of(cases, **reading)
    check_roles(roles, source)
    names = getattr(source, "names", None)
    texts, overhead = getattr(source, "texts", 0), getattr(source, "overhead", 0)
    plan = plan_reading(memory, None if names is None else len(names), budget, texts=texts, overhead=overhead)
    with ExitStack() as stack:
        saved = None
        if saving["folder"] is not None:
            if not isinstance(source, Files):
                raise ParameterError(f"checkpoint={quoted(saving['folder'])}: only runs on files can be resumed; write a file")
            fingerprint = {"version": __version__, "files": source.fingerprint(), "roles": repr(roles), "reading": repr(reading)}
            saved = stack.enter_context(
                Checkpoint(saving["folder"], {**fingerprint, **settings}, every=saving["every"], restart=saving["restart"])
            )
        if cluster is None and not from_dask:
            spill = stack.enter_context(Spill(disk, saving["folder"])) if _decoded_in_every_pass(source) else None
            yield FileRows(source, roles, plan.rows, saved, progress, spill), plan.budget
            return
        if isinstance(source, StreamSource):
            raise ParameterError(
                f"`cluster={quoted(cluster)}`: workers read files and the partitions of a Dask DataFrame, not {quoted(cases)}; "
                "write a file, or leave out `cluster=`"
            )
        client = stack.enter_context(_dask().connected(cluster))
        yield _dask().DaskRows(source, roles, plan.rows, saved, progress, client=client), plan.budget


def _decoded_in_every_pass(source: Source) -> bool:
    """Whether the rows are not in memory already."""
    return not (isinstance(source, StreamSource) and isinstance(source.stream, Table))


def is_dask_frame(cases: object) -> bool:
    """Return whether this is a Dask DataFrame, without importing Dask."""
    return type(cases).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(cases, "partitions")


def _dask() -> Any:
    """Import the back end for Dask when it is needed."""
    try:
        import naivete.cases.dask
    except ImportError as error:
        raise FileError("counting on a cluster needs Dask; install it with: pip install naivete[dask]") from error
    return naivete.cases.dask


def _refuse_unused(cases: Any, cluster: Any, folder: Any, reading: Mapping[str, Any]) -> None:
    """Raise an error about parameters that a user-defined back end does not use."""
    if reading:
        raise _no_files(cases, reading)
    for name, value in (("cluster", cluster), ("checkpoint", folder)):
        if value is not None:
            raise ParameterError(f"{name}={quoted(value)}: {type(cases).__name__} does not use it; leave it out")


def _no_files(cases: Any, reading: Mapping[str, Any]) -> ParameterError:
    return ParameterError(f"{', '.join(reading)}: these are options for reading files, and {quoted(cases)} is not a file")


@dataclass(frozen=True)
class Plan:
    """The number of rows to read at a time, and the most bytes that tables may take."""

    rows: int
    budget: int


def plan_reading(memory: object, columns: int | None, budget: int, *, texts: int = 0, overhead: int = 0) -> Plan:
    """Return how many rows to read at a time, and how many bytes tables may take, so that the process stays within its memory.

    A row takes up to eight bytes a column in each of four stages: decoded, queued, encoded and counted; a text that occurs once
    also takes an object in each of them.

    Parameters
    ----------
    memory : the most bytes that the process may take; None where only the tables are limited.
    columns : the number of columns, where it is known.
    budget : the most bytes that tables may take in any case.
    texts : the number of columns that may have a different text in every row.
    overhead : bytes that reading takes however few rows are read at a time.
    """
    if memory is None:
        return Plan(ROWS, budget)
    if not isinstance(memory, int) or isinstance(memory, bool) or memory <= 0:
        raise ParameterError(f"`memory={quoted(memory)}`: a number of bytes, at least 1")
    taken = resident() + OVERHEAD + overhead
    free = memory - taken
    width = 8 * ((columns or 64) + 2)
    if free < 16 * LEAST_ROWS * width:
        least = taken + 16 * LEAST_ROWS * width
        raise ResourceError(
            f"`memory={memory}` bytes are not enough to read {columns or 64} columns: the program itself takes {resident():,}; "
            f"allow at least `memory={-(-least // 10**6) * 10**6}`"
        )
    rows = free // 2 // (4 * (width + TEXT_BYTES * texts))
    return Plan(max(LEAST_ROWS, min(ROWS, rows)), min(budget, free // 2))


def resident() -> int:
    """Return the bytes of memory that this process takes now."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):  # not Linux: the most memory that it has taken so far
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024


def plain_settings(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return settings as text that is the same in every process, for the fingerprint of a run."""
    return {name: _plain(value) for name, value in sorted(settings.items())}


def _plain(value: Any) -> str:
    if isinstance(value, Callable) and hasattr(value, "__qualname__"):  # type: ignore[arg-type]
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, np.ndarray):
        return f"array({value.dtype}, {value.shape}, {hashlib.sha256(repr(value.tolist()).encode()).hexdigest()})"
    if is_dataclass(value) and not hasattr(value, "get_params"):
        return f"{type(value).__name__}({plain_settings({f.name: getattr(value, f.name) for f in fields(value)})})"
    if type(value) in (list, tuple):
        items = ", ".join(map(_plain, value)) + ("," if type(value) is tuple and len(value) == 1 else "")
        return f"[{items}]" if type(value) is list else f"({items})"
    inner = value.get_params() if hasattr(value, "get_params") else None
    return f"{type(value).__name__}({plain_settings(inner)})" if inner is not None else repr(value)
