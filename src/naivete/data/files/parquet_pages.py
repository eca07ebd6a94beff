"""What a Parquet file says about its columns and pages, read without pyarrow and before pyarrow allocates memory for it.

The footer and the header of every page are structures in Thrift's compact protocol. A damaged or hostile header of a few bytes
can claim two gigabytes, and pyarrow allocates them before it reads the page; and with a damaged footer, asking pyarrow for the
metadata of a column can end the process.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, Final, NamedTuple

__all__ = ["Chunk", "check_pages", "chunks"]

ALWAYS_ALLOWED: Final = 16 << 20
"""A page that claims at most this many bytes is not checked further."""
CHECKED: Final = 32 << 20
"""The largest file whose pages are checked; reading the headers of larger ones takes too long. A page claims 2 GB at most."""
RATIOS: Final = {0: 1, 1: 32, 2: 1100, 5: 256, 7: 256}
"""How many times its size a page can have decompressed at most: not compressed, Snappy, gzip, and the two kinds of LZ4."""
LARGEST_RATIO: Final = 1 << 16
"""The same for zstd and Brotli, whose blocks of equal bytes take three to four bytes each."""
DEEPEST: Final = 16
"""The deepest nesting of structures."""
HEADER_BYTES: Final = 256
"""How many bytes are read for the header of a page; four times as many each time that they do not suffice."""

_TRUE, _FALSE, _BYTE, _INTEGERS, _DOUBLE, _BINARY, _LISTS, _STRUCT = 1, 2, 3, (4, 5, 6), 7, 8, (9, 10), 12
"""The types of fields in Thrift's compact protocol that occur in Parquet files."""


class Chunk(NamedTuple):
    """What the footer says about a column in a row group."""

    codec: int
    values: int
    decompressed: int
    """Its size in bytes without compression."""
    start: int
    """The position of its first page."""
    stop: int


def chunks(file: BinaryIO) -> list[list[Chunk]]:
    """Return the columns of each row group from the footer of a Parquet file; raise a ValueError if it is damaged.

    Parameters
    ----------
    file : the file; its position changes.
    """
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - 8))
    length = int.from_bytes(file.read(8)[:4], "little")
    if length > size - 8:
        raise ValueError("the footer is larger than the file")
    file.seek(size - 8 - length)
    groups = _Reader(file.read(length)).struct().get(4, [])
    return [[_chunk(column) for column in _as(list, _as(dict, group).get(1, []))] for group in _as(list, groups)]


def _chunk(column: object) -> Chunk:
    about = _as(dict, _as(dict, column).get(3, {}))
    codec, values, decompressed, compressed, data, first = (_as(int, about.get(field, 0)) for field in (4, 5, 6, 7, 9, 11))
    start = first if 0 < first < data else data
    return Chunk(codec, values, decompressed, start, start + compressed)


def _as(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise ValueError("a field of the footer has an unexpected type")
    return value


def check_pages(file: BinaryIO, groups: Sequence[Sequence[Chunk]]) -> None:
    """Raise a ValueError if a page of a file of at most `CHECKED` bytes claims a size that it cannot have.

    Parameters
    ----------
    file : the Parquet file; its position changes.
    groups : the columns of each row group, as returned by `chunks`.
    """
    size = file.seek(0, io.SEEK_END)
    for chunk in (chunk for group in groups for chunk in group if chunk.values and size <= CHECKED):
        position, ratio = chunk.start, RATIOS.get(chunk.codec, LARGEST_RATIO)
        while 0 <= position < min(chunk.stop, size):
            decompressed, compressed, position = page_sizes(file, position)
            if min(decompressed, compressed) < 0 or compressed > size - position:
                raise ValueError(f"the page at byte {position:,} claims {compressed:,} bytes")
            if decompressed > max(ALWAYS_ALLOWED, ratio * compressed):
                raise ValueError(f"the page at byte {position:,} claims {decompressed:,} bytes in {compressed:,}")
            position += compressed


def page_sizes(file: BinaryIO, position: int) -> tuple[int, int, int]:
    """Return the size of a page decompressed and that in the file, and where its content starts, from its header at a position."""
    count = HEADER_BYTES
    while True:
        file.seek(position)
        reader = _Reader(file.read(count))
        try:
            header = reader.struct()
        except _EndError:
            if len(reader.data) < count:
                raise
            count *= 4
            continue
        return _as(int, header.get(2, 0)), _as(int, header.get(3, 0)), position + reader.position


class _EndError(ValueError):
    """The bytes end within a value."""


class _Reader:
    """Reads values of Thrift's compact protocol from bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Return the values of a structure by the numbers of their fields."""
        return {field: self._value(kind, depth) for field, kind in self._fields()}

    def _fields(self) -> Iterator[tuple[int, int]]:
        """Yield the number and the type of each field of a structure; the caller reads its value."""
        field = 0
        while byte := self._byte():
            field = field + (byte >> 4) if byte >> 4 else self._integer()
            yield field, byte & 15

    def _value(self, kind: int, depth: int) -> Any:
        if depth > DEEPEST:
            raise ValueError("the structures are nested too deeply")
        if kind in _INTEGERS:
            return self._integer()
        if kind == _BINARY:
            return self._bytes(self._varint())
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in _LISTS:
            return self._list(depth + 1)
        if kind in (_TRUE, _FALSE):  # the value of a boolean field is its type
            return kind == _TRUE
        if kind in (_BYTE, _DOUBLE):
            return self._bytes(1 if kind == _BYTE else 8)
        raise ValueError(f"there is a field of type {kind}")

    def _list(self, depth: int) -> list[Any]:
        byte = self._byte()
        count, kind = self._varint() if byte >> 4 == 15 else byte >> 4, byte & 15
        if count > len(self.data) - self.position:  # each value takes a byte at least
            raise _EndError("a list ends too early")
        return [self._value(_BYTE if kind in (_TRUE, _FALSE) else kind, depth) for _ in range(count)]

    def _byte(self) -> int:
        return self._bytes(1)[0]

    def _bytes(self, count: int) -> bytes:
        if count > len(self.data) - self.position:
            raise _EndError("a value ends too early")
        self.position += count
        return self.data[self.position - count : self.position]

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise ValueError("a number has too many bytes")

    def _integer(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
