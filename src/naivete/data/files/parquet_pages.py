"""Check of the sizes that the pages of a Parquet file claim, before pyarrow allocates memory for them.

A page starts with a header in Thrift's compact protocol, which says how many bytes the page has in the file and decompressed. A
damaged or hostile header of a few bytes can claim two gigabytes, and pyarrow allocates them before it reads the page.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, BinaryIO, Final

__all__ = ["check_pages"]

ALWAYS_ALLOWED: Final = 16 << 20
"""A page that claims at most this many bytes is not checked further."""
CHECKED: Final = 32 << 20
"""The largest file that is checked; in larger ones, reading thousands of headers takes too long. A page claims 2 GB at most."""
RATIOS: Final = {"UNCOMPRESSED": 1, "SNAPPY": 32, "LZ4": 256, "LZ4_RAW": 256, "GZIP": 1100}
"""How many times its size a page can have decompressed at most, by the format of the compression."""
LARGEST_RATIO: Final = 1 << 16
"""The same for zstd and Brotli, whose blocks of equal bytes take three to four bytes each."""
DEEPEST: Final = 16
"""The deepest nesting of structures in a header; that of the format is 3."""

_BOOLEANS, _BYTE, _INTEGERS, _DOUBLE, _BINARY, _LISTS, _STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, (9, 10), 12
"""The types of fields in Thrift's compact protocol that occur in Parquet files."""


def check_pages(file: BinaryIO, metadata: Any) -> None:
    """Raise a ValueError if a page of a file of at most `CHECKED` bytes claims a size that it cannot have.

    Parameters
    ----------
    file : the Parquet file; its position changes.
    metadata : its footer, by pyarrow.
    """
    size = file.seek(0, io.SEEK_END)
    groups = range(metadata.num_row_groups) if size <= CHECKED else ()
    for row_group in map(metadata.row_group, groups):
        for chunk in map(row_group.column, range(row_group.num_columns)):
            if chunk.num_values:
                _check_chunk(file, chunk, size)


def _check_chunk(file: BinaryIO, chunk: Any, size: int) -> None:
    """Check the pages of a column in a row group, one after the other."""
    position = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < (first := chunk.dictionary_page_offset) < position:
        position = first
    end = min(position + chunk.total_compressed_size, size)
    ratio = RATIOS.get(chunk.compression, LARGEST_RATIO)
    while 0 <= position < end:
        file.seek(position)
        header = _Header(file)
        sizes = header.sizes()
        position += header.length
        if min(sizes) < 0 or sizes[1] > size - position:
            raise ValueError(f"the page at byte {position:,} claims {sizes[1]:,} bytes")
        if sizes[0] > max(ALWAYS_ALLOWED, ratio * sizes[1]):
            raise ValueError(f"the page at byte {position:,} claims {sizes[0]:,} bytes in {sizes[1]:,}")
        position += sizes[1]


class _Header:
    """Reads the header of a page from the position of a file.

    Parameters
    ----------
    file : the file.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.length = 0

    def sizes(self) -> tuple[int, int]:
        """Return the size of the page decompressed and that in the file, its fields 2 and 3."""
        found = {2: 0, 3: 0}
        for field, kind in self._fields():
            if field in found and kind in _INTEGERS:
                found[field] = self._integer()
            else:
                self._skip(kind, 0)
        return found[2], found[3]

    def _bytes(self, count: int) -> bytes:
        data = self.file.read(count)
        if len(data) < count:
            raise ValueError("the file ends in the header of a page")
        self.length += count
        return data

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._bytes(1)[0]
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise ValueError("a number in the header of a page has too many bytes")

    def _integer(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _fields(self) -> Iterator[tuple[int, int]]:
        """Yield the number and the type of each field of a structure; the caller reads or skips its value."""
        field = 0
        while byte := self._bytes(1)[0]:
            field = field + (byte >> 4) if byte >> 4 else self._integer()
            yield field, byte & 15

    def _skip(self, kind: int, depth: int) -> None:
        """Skip a value."""
        if depth > DEEPEST:
            raise ValueError("the header of a page is nested too deeply")
        if kind in _INTEGERS:
            self._varint()
        elif kind in (_BYTE, _DOUBLE, _BINARY):
            self._skip_bytes({_BYTE: 1, _DOUBLE: 8}.get(kind) or self._varint())
        elif kind == _STRUCT:
            for _, inner in self._fields():
                self._skip(inner, depth + 1)
        elif kind in _LISTS:
            self._skip_list(depth)
        elif kind not in _BOOLEANS:  # the value of a boolean field is its type
            raise ValueError(f"the header of a page has a field of type {kind}")

    def _skip_list(self, depth: int) -> None:
        byte = self._bytes(1)[0]
        for _ in range(self._varint() if byte >> 4 == 15 else byte >> 4):
            self._skip(_BYTE if byte & 15 in _BOOLEANS else byte & 15, depth + 1)

    def _skip_bytes(self, count: int) -> None:
        self.file.seek(count, io.SEEK_CUR)
        self.length += count
