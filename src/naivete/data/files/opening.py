"""Opening of files: regular files only, decompressed and decoded block by block, within limits."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, Final

from naivete.errors import DataError, FileError, NaiveteError, NaiveteWarning, ParameterError, quoted, warn
from naivete.storage.atomic import file_error

__all__ = ["Limits", "PathLike", "TextBlock", "display_name", "limit_error", "open_file", "reported_reading", "text_blocks"]

PathLike = str | os.PathLike[str]

_CHUNK: Final = 1 << 20
_GZIP: Final = b"\x1f\x8b"
UNUSUAL_RATIO: Final = 100
UNUSUAL_SIZE: Final = 100 << 20
"""A file that decompresses to more than this many times its size, and more than this many bytes, is reported."""

_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes above which a reader refuses a file; the error names the limit to raise.

    Parameters
    ----------
    line : int, default=67108864
        The number of characters of a line, or of a record that spans lines.
    columns : int, default=1000000
        The number of columns.
    states : int, default=16000000
        The number of distinct values of a nominal column.
    cells : int, default=4294967296
        The number of rows times the number of columns.
    decompressed : int, default=17179869184
        The number of bytes of a compressed file after decompression.

    Examples
    --------
    >>> from naivete.data.files.opening import Limits
    >>> Limits(columns=10).columns
    10
    """

    line: int = 64 << 20
    columns: int = 1_000_000
    states: int = 16_000_000
    cells: int = 1 << 32
    decompressed: int = 16 << 30

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ParameterError(f"Limits: {field.name} has to be a positive integer, got {quoted(value)}")


def limit_error(place: str, limit: str, value: int, problem: str) -> DataError:
    """Return the error for a file that exceeds a limit.

    >>> limit_error("a.csv:1", "columns", 10, "more than 10 columns")
    DataError('a.csv:1: more than 10 columns; if that is intended, raise the limit: Limits(columns=...), now 10')
    """
    return DataError(f"{place}: {problem}; if that is intended, raise the limit: Limits({limit}=...), now {value}")


@dataclass(frozen=True)
class TextBlock:
    """Complete lines of a text, each with its line end, except perhaps the last line of the text."""

    first: int
    text: str

    @cached_property
    def lines(self) -> list[str]:
        """The lines; the number of the first one is `first`."""
        return _lines(self.text)


def display_name(path: PathLike) -> str:
    r"""Return the name of a file for messages, without control characters.

    >>> display_name("a\nb.csv")
    "'a\\nb.csv'"
    """
    try:
        text = os.fsdecode(path)
    except TypeError as error:
        raise ParameterError(f"a file is named by text or a path, not by {quoted(path)}") from error
    return text if text.isprintable() else repr(text)


@contextmanager
def open_file(path: PathLike) -> Iterator[BinaryIO]:
    """Open a file for reading; refuse one that is not a regular file, or that changes while it is open."""
    name = display_name(path)
    try:
        with _regular(path, name) as file:
            before = os.fstat(file.fileno())
            yield file
            after = os.fstat(file.fileno())
    except NaiveteError:
        raise
    except OSError as error:
        raise file_error(Path(name), "cannot be read", error) from error
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise FileError(f"{name}: the file changed while it was read; read it again once nothing writes to it")


def _regular(path: PathLike, name: str) -> BinaryIO:
    """Open the file without waiting for the other end of a pipe."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0)
    try:
        descriptor = os.open(path, flags)
    except ValueError as error:
        raise FileError(f"{name}: cannot be a file name: {error}; check the name") from error
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise FileError(f"{name}: is {_file_type(mode)}, not a regular file; give the name of a file with data")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _file_type(mode: int) -> str:
    kinds = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a device"))
    return next((kind for test, kind in kinds if test(mode)), "something else")


def text_blocks(file: BinaryIO, name: str, encoding: str, limits: Limits) -> Iterator[TextBlock]:
    """Iterate over the text of a file in blocks of complete lines; a line ends with a line feed, a carriage return, or both."""
    first = 1
    pieces: list[str] = []
    for text in _texts(file, name, encoding, limits):
        if "\0" in text:
            raise _zero_byte(name, first, "".join(pieces) + text[: text.index("\0")])
        end = max(text.rfind("\n"), text.rfind("\r", 0, -1)) + 1  # a last \r may be the first half of \r\n
        if end:
            text, rest = "".join(pieces) + text[:end], text[end:]
            yield _block(first, text, name, limits)
            first += text.count("\n") + text.count("\r") - text.count("\r\n")
            pieces, text = [], rest
        pieces.append(text)
        if sum(map(len, pieces)) > limits.line:
            raise _long_line(name, first, limits)
    if rest := "".join(pieces):
        yield _block(first, rest, name, limits)


def _block(first: int, text: str, name: str, limits: Limits) -> TextBlock:
    block = TextBlock(first, text)
    if len(text) > limits.line:
        for number, line in enumerate(block.lines, start=first):
            if len(line) > limits.line:
                raise _long_line(name, number, limits)
    return block


def _lines(text: str) -> list[str]:
    return io.StringIO(text, newline="").readlines()


def _long_line(name: str, line: int, limits: Limits) -> DataError:
    return limit_error(f"{name}:{line}", "line", limits.line, f"a line of more than {limits.line} characters")


def _zero_byte(name: str, first: int, before: str) -> DataError:
    line = first + len(_lines(f"{before}.")) - 1
    return DataError(f"{name}:{line}: a zero byte, so this is not plain text; if it is UTF-16, pass `encoding='utf-16'`")


def _texts(file: BinaryIO, name: str, encoding: str, limits: Limits) -> Iterator[str]:
    """Iterate over the decoded text, without its byte order mark."""
    decoder = _decoder(encoding)
    offset, start = 0, True
    for chunk in _chunks(file, name, limits):
        text = _decoded(decoder, chunk, name, encoding, offset)
        offset += len(chunk)
        if text:
            yield text.removeprefix("\ufeff") if start else text
            start = False
    yield _decoded(decoder, b"", name, encoding, offset)


def _decoder(encoding: str) -> codecs.IncrementalDecoder:
    try:
        "".encode(encoding)  # refuses encodings that are not of text
        return codecs.getincrementaldecoder(encoding)()
    except (LookupError, ValueError, TypeError) as error:
        raise ParameterError(f"`encoding={quoted(encoding)}` is unknown; try 'utf-8', 'utf-16', 'latin-1' or 'cp1252'") from error


def _decoded(decoder: codecs.IncrementalDecoder, chunk: bytes, name: str, encoding: str, offset: int) -> str:
    try:
        return decoder.decode(chunk, final=not chunk)
    except UnicodeDecodeError as error:
        buffered = len(error.object) - len(chunk)
        position = offset - buffered + error.start
        value = quoted(error.object[error.start : error.start + 8])
        hint = "utf-16" if position == 0 and chunk.startswith(_UTF16) else "latin-1"
        raise DataError(
            f"{name}: byte {position} is not {encoding}: {value}; pass `encoding={hint!r}` or the encoding of the file"
        ) from error
    except UnicodeError as error:
        raise DataError(f"{name}: not {encoding} before byte {offset + len(chunk)}: {error}; pass another `encoding=`") from error


Report = Callable[[int, int], None]
"""A function of the bytes of a file that have been read, and of the size of the file."""
_REPORT: ContextVar[Report | None] = ContextVar("report", default=None)


@contextmanager
def reported_reading(report: Report) -> Iterator[None]:
    """Call a function after each part of a text file that is read in the body, in this thread."""
    token = _REPORT.set(report)
    try:
        yield
    finally:
        _REPORT.reset(token)


def _chunks(file: BinaryIO, name: str, limits: Limits) -> Iterator[bytes]:
    size, report = file.seek(0, os.SEEK_END), _REPORT.get()
    file.seek(0)
    compressed = file.read(len(_GZIP)) == _GZIP
    file.seek(0)
    for chunk in _inflated(file, name, size, limits) if compressed else iter(lambda: file.read(_CHUNK), b""):
        if report is not None:
            report(file.tell(), size)
        yield chunk


def _inflated(file: BinaryIO, name: str, size: int, limits: Limits) -> Iterator[bytes]:
    total, unusual = 0, max(UNUSUAL_SIZE, UNUSUAL_RATIO * size)
    stream = gzip.GzipFile(fileobj=file, mode="rb")
    try:
        while chunk := stream.read(_CHUNK):
            if total <= unusual < total + len(chunk):
                warn(_unusual_compression(name, size, unusual, limits), NaiveteWarning)
            total += len(chunk)
            if total > limits.decompressed:
                raise limit_error(
                    name, "decompressed", limits.decompressed, f"decompresses to more than {limits.decompressed} bytes"
                )
            yield chunk
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{name}: the compressed data is damaged or cut after {total} bytes: {error}; fetch it again") from error


def _unusual_compression(name: str, size: int, read: int, limits: Limits) -> str:
    return (
        f"{name}: this file of {size:,} bytes decompresses to more than {read:,} bytes, {read // size:,} times its size, which is "
        f"unusual for a table; reading goes on, and stops with an error at {limits.decompressed:,} bytes"
    )
