"""Files that need not fit into memory: when they are streamed, which ones are meant, and how far reading them has come."""

from __future__ import annotations

import glob
import threading
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from naivete.cli.tables import Header, bytes_of, heard, is_delimited, kinds_of, left_out, reading
from naivete.errors import ParameterError, quoted

if TYPE_CHECKING:
    from naivete.data.files import Files
    from naivete.data.table import Kind, Table
    from naivete.variables import Name

__all__ = [
    "Meter",
    "Opened",
    "check_saving",
    "checkpoint_options",
    "data_argument",
    "is_many",
    "is_streamed",
    "memory_option",
    "opened_files",
    "settled",
    "tables_of",
]

LARGE: Final = 64 << 20
"""A single file of more bytes than this is not read at once."""


def data_argument(parser: ArgumentParser, what: str) -> None:
    """One or several files, patterns or folders."""
    parser.add_argument("data", metavar="DATA", nargs="+", help=f"{what}: files, patterns in quotes ('part-*.csv'), folders")


def memory_option(parser: ArgumentParser, about: str) -> Any:
    """How much memory the process may take; the group of options that this one stands in comes back.

    Parameters
    ----------
    parser : the parser.
    about : how the results compare with those of data that is read at once.
    """
    when = "Several files, a folder, and a file of more than 64 MiB are read some rows at a time."
    group = parser.add_argument_group("data larger than memory", f"{when} {about}")
    group.add_argument("--memory", type=bytes_of, metavar="BYTES", help="the most this process may take, such as 500MB or 2GiB")
    group.add_argument("--progress", action="store_true", help="tell the progress although standard error is no terminal")
    return group


def checkpoint_options(group: Any) -> None:
    """Where the state of the work is kept, and where the work is done."""
    group.add_argument("--checkpoint", metavar="FOLDER", help="keep the state of the work there; the same command goes on from it")
    group.add_argument("--every", type=_seconds, metavar="SECONDS", help="the time between two checkpoints (30)")
    group.add_argument("--restart", action="store_true", help="begin again, whatever the checkpoint holds")
    group.add_argument("--cluster", metavar="WHERE", help="count with Dask: 'local', or the address of a scheduler")


def _seconds(text: str) -> float:
    """A time in seconds.

    >>> _seconds("0.5")
    0.5
    """
    with suppress(ValueError):
        if 0 <= float(text) < float("inf"):
            return float(text)
    raise ArgumentTypeError(f"{quoted(text)} is not a number of seconds; write for instance 30")


def check_saving(args: Namespace) -> None:
    """Refuse options that say something of checkpoints where there are none."""
    if args.checkpoint is None and (args.restart or args.every is not None):
        option = "--restart" if args.restart else "--every"
        raise ParameterError(f"{option} is for checkpoints; name their folder with --checkpoint, or leave {option} out")


def is_streamed(args: Namespace) -> bool:
    """Whether the data is read some rows at a time: where there may be much of it, or an option asks for that."""
    asked = any(getattr(args, option, None) is not None for option in ("memory", "checkpoint", "cluster"))
    return asked or len(args.data) > 1 or _is_large(args.data[0])


def is_many(path: str) -> bool:
    """Whether this is a folder, or a pattern and not the name of a file."""
    try:
        return Path(path).is_dir() or (glob.has_magic(path) and not Path(path).exists())
    except (OSError, ValueError):
        return False


def _is_large(path: str) -> bool:
    try:
        return is_many(path) or Path(path).stat().st_size > LARGE
    except (OSError, ValueError):  # there is no such file, which will be told
        return False


@dataclass(frozen=True)
class Opened:
    """Files whose headers were read, and how the rest will be.

    Parameters
    ----------
    files : the files.
    reading : how they are read, as for `naivete.read`.
    header : the names of the columns, and the first file.
    path : where the first file stands.
    ignored : the columns that the options leave out.
    """

    files: Files
    reading: Mapping[str, Any]
    header: Header
    path: str
    ignored: Sequence[Name]

    @property
    def names(self) -> tuple[Name, ...]:
        """The columns that are kept."""
        return tuple(name for name in self.header.names if name not in self.ignored)


def opened_files(args: Namespace, kinds: Mapping[str, Kind] | None = None, *, wanted: Collection[Name] | None = None) -> Opened:
    """The files that the arguments mean, read as the options say.

    Parameters
    ----------
    args : the arguments.
    kinds : kinds of columns, which come before those of the options.
    wanted : the columns of which warnings are passed on; by default all that are kept.
    """
    with heard() as told:
        given = kinds_of(args.kinds)
        found = _opened(args, {**({} if isinstance(given, str) else given), **(kinds or {})})
        if isinstance(given, str) and not kinds and is_delimited(found.path, args):
            told.forget()  # what was guessed is no matter
            features = [n for n in found.names if n not in (getattr(args, "target", None), getattr(args, "weight", None))]
            found = _opened(args, {str(name): given for name in features})
        told.wanted = found.names if wanted is None else wanted
    return found


def _opened(args: Namespace, kinds: Mapping[str, Kind]) -> Opened:
    from naivete.data.files import pieces

    how = reading(args, kinds)
    files = pieces(args.data, **how)
    first = files.files[0]
    told = [constant.name for constant in first.constants]
    own = [name for name in files.names if name not in told]
    header = Header((*told, *own), first.title)  # what the names of folders tell is not the last column of a file
    return Opened(files, how, header, first.path, left_out(header, first.path, args))


def tables_of(files: Files, rows: int, only: Collection[str] | None = None) -> Iterator[Table]:
    """All rows of the files, so many at a time."""
    for piece in files.pieces:
        yield from piece.tables(rows=rows, only=only)


def settled(files: Files, rows: int, only: Collection[str], went: Callable[[int], None]) -> tuple[Files, frozenset[Name]]:
    """The files with columns of text that are text throughout, and the columns that have a gap or a fraction somewhere.

    What type the numbers of a column are of is decided by all rows, as if they were read at once; that takes a pass of its own.

    Parameters
    ----------
    files : the files.
    rows : how many rows to read at a time.
    only : the columns to look at.
    went : told how many rows were looked at, after each table.
    """
    from naivete.data.files import KindError

    while only:
        types: dict[Name, set[str]] = {}
        done = 0
        try:
            for table in tables_of(files, rows, only):
                for column in table.columns:
                    types.setdefault(column.name, set()).add(column.values.dtype.kind if column.states is None else "")
                done += len(table)
                went(done)
        except KindError as error:
            files = files.widened(error.columns)
        else:
            return files, frozenset(name for name, kinds in types.items() if "f" in kinds and len(kinds) > 1)
    return files, frozenset()


class Meter:
    """How many bytes of some files were read in the pass at hand; for files that do not tell how many rows they have."""

    def __init__(self, files: Files) -> None:
        self.size = files.size
        self._before: dict[str, int] = {}
        at = 0
        for file in files.files:
            self._before[file.path] = at
            at += file.size
        self._lock = threading.Lock()
        self._at = 0
        self._open: BinaryIO | None = None

    def watched(self, files: Files) -> Files:
        """The same files, but this meter sees how far they are read."""
        from naivete.cli.opened_files import watched

        return replace(files, pieces=tuple(replace(piece, file=watched(piece.file, self.reading)) for piece in files.pieces))

    @contextmanager
    def reading(self, path: str, file: BinaryIO) -> Iterator[None]:
        """As long as a file is read."""
        with self._lock:
            self._at, self._open = self._before[path], file
        try:
            yield
        finally:
            with self._lock:
                if self._open is file:
                    self._at, self._open = self._at + file.tell(), None

    def share(self) -> float:
        """The share of the bytes that were read, from 0 to 1."""
        with self._lock:
            at = self._at + (self._open.tell() if self._open is not None else 0)
        return min(1.0, at / self.size) if self.size else 1.0
