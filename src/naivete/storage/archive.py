"""Deterministic ZIP archives: equal content gives equal bytes, and all other bytes are refused.

An archive is an ordinary ZIP file that `unzip` or Python's `zipfile` can open. Members are stored without compression, dated
1980-01-01, without comments, and without extra fields except for the sizes of archives above 4 GiB. The last member, `sha256`,
lists the SHA-256 of the others as `sha256sum` prints them. Every other byte of the file follows from the names, sizes and
checksums of the members, so that a reader can compare all of it: a file that differs in a single byte is refused.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from naivete.errors import NaiveteError, quoted
from naivete.storage.atomic import file_error

__all__ = ["DamagedError", "archive_pieces", "check_start", "members", "read_bytes"]

_SUMS: Final = "sha256"
_NAME: Final = re.compile(rb"[A-Za-z0-9.]{1,40}")
_MEMBERS: Final = 64
"""The most members of an archive."""
_LARGE: Final = 2**32 - 1
"""The first size or offset that needs a 64-bit field; in its 32-bit field it is replaced by this number."""
_VERSION: Final = 20
_MADE_BY_UNIX: Final = 3 << 8 | _VERSION
_READABLE_FILE: Final = 0o100644 << 16
_DATE: Final = 1 << 5 | 1  # 1980-01-01
_LOCAL: Final = struct.Struct("<4sHHHHHIIIHH")
_CENTRAL: Final = struct.Struct("<4sHHHHHHIIIHHHHHII")
_END: Final = struct.Struct("<4sHHHHIIH")
_LARGE_END: Final = struct.Struct("<4sQHHIIQQQQ")
_LARGE_LOCATOR: Final = struct.Struct("<4sIQI")

_PICKLE: Final = "a pickle, which naivete never opens"
_DEVELOPMENT: Final = "a file of a development version of naivete, whose format is no longer read: fit again"
_LOOKALIKES: Final = {
    **{bytes([0x80, protocol]): _PICKLE for protocol in range(2, 6)},
    **dict.fromkeys((b"c", b"(", b"\x78"), _PICKLE),  # protocols 0 and 1, and zlib, with which joblib compresses
    **dict.fromkeys((b"\x8bNVT", b"\x8bNVC"), _DEVELOPMENT),
    b"PK": "a ZIP archive that naivete did not write",
    **dict.fromkeys((b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd"), "a compressed file; unpack it first"),
    b"\x93NUMPY": "an array of numpy",
    b"PAR1": "a Parquet file",
    b"{": "JSON",
    b"<": "XML or HTML",
}


class DamagedError(Exception):
    """The bytes are not those of an archive; the message is the reason."""


@dataclass(frozen=True)
class _Entry:
    """A member of an archive: its name, size, CRC-32, and the offset of its header in the file."""

    name: bytes
    size: int
    crc: int
    offset: int

    @property
    def local(self) -> bytes:
        """The header before the content."""
        size, extra = min(self.size, _LARGE), _large_fields([self.size] * 2 if self.size >= _LARGE else [])
        fields = _VERSION, 0, 0, 0, _DATE, self.crc, size, size, len(self.name), len(extra)
        return _LOCAL.pack(b"PK\3\4", *fields) + self.name + extra

    @property
    def central(self) -> bytes:
        """The entry in the directory at the end of the file."""
        size, offset = min(self.size, _LARGE), min(self.offset, _LARGE)
        extra = _large_fields(
            [*([self.size] * 2 if self.size >= _LARGE else []), *([self.offset] if self.offset >= _LARGE else [])]
        )
        fields = self.crc, size, size, len(self.name), len(extra), 0, 0, 0, _READABLE_FILE, offset
        return _CENTRAL.pack(b"PK\1\2", _MADE_BY_UNIX, _VERSION, 0, 0, 0, _DATE, *fields) + self.name + extra

    @property
    def content(self) -> slice:
        """The place of the content in the file."""
        first = self.offset + len(self.local)
        return slice(first, first + self.size)


def _large_fields(values: list[int]) -> bytes:
    return struct.pack(f"<HH{len(values)}Q", 1, 8 * len(values), *values) if values else b""


def _directory(entries: list[_Entry]) -> bytes:
    """The end of the archive: an entry for each member, and where these entries are."""
    listed = b"".join(entry.central for entry in entries)
    offset, count = entries[-1].content.stop, len(entries)
    large = b""
    if offset >= _LARGE:
        record = _LARGE_END.pack(b"PK\6\6", 44, _MADE_BY_UNIX, _VERSION, 0, 0, count, count, len(listed), offset)
        large = record + _LARGE_LOCATOR.pack(b"PK\6\7", 0, offset + len(listed), 1)
    return listed + large + _END.pack(b"PK\5\6", 0, 0, count, count, len(listed), min(offset, _LARGE), 0)


def archive_pieces(contents: Mapping[str, Callable[[], Iterable[bytes]]]) -> Iterator[bytes]:
    """Yield the bytes of an archive in pieces.

    Parameters
    ----------
    contents : for each member, by its name and in the order of the archive, a function that returns its content in pieces. It is
        called twice: once for the checksums, which come first in the file, and once for the content itself.

    >>> import io, zipfile
    >>> data = b"".join(archive_pieces({"a.txt": lambda: [b"some ", b"text"]}))
    >>> zipfile.ZipFile(io.BytesIO(data)).read("a.txt")
    b'some text'
    >>> bytes(members(data)["a.txt"])
    b'some text'
    """
    entries: list[_Entry] = []
    sums: list[str] = []
    offset = 0
    for name, content in (*contents.items(), (_SUMS, lambda: ["".join(sums).encode()])):
        entry, digest = _measured(name, content(), offset)
        yield entry.local
        yield from content()
        entries.append(entry)
        sums.append(_sum_line(digest, name))
        offset = entry.content.stop
    yield _directory(entries)


def _measured(name: str, content: Iterable[bytes], offset: int) -> tuple[_Entry, str]:
    size, crc, digest = 0, 0, hashlib.sha256()
    for piece in content:
        size, crc = size + len(piece), zlib.crc32(piece, crc)
        digest.update(piece)
    return _Entry(name.encode(), size, crc, offset), digest.hexdigest()


def _sum_line(digest: str, name: str) -> str:
    return f"{digest}  {name}\n"


def check_start(data: bytes, name: str) -> None:
    """Raise a DamagedError if the bytes do not begin like an archive whose first member has this name."""
    like = _Entry(name.encode(), 0, 0, 0).local
    if data[:14] == like[:14] and data[26 : len(like)] == like[26:]:  # between them: the CRC-32 and the sizes
        return
    alike = next((words for first, words in _LOOKALIKES.items() if data.startswith(first)), None)
    raise DamagedError(f"it looks like {alike}" if alike else f"it begins with {quoted(data[:8])}")


def members(data: bytes) -> dict[str, memoryview]:
    """Return the content of each member by its name, in order, without the list of checksums.

    Parameters
    ----------
    data : the bytes of a file; a DamagedError is raised if they are not exactly what `archive_pieces` writes.
    """
    entries, view = _entries(data), memoryview(data)
    contents = {entry.name.decode(): view[entry.content] for entry in entries}
    if len(contents) < len(entries) or entries[-1].name != _SUMS.encode():
        raise DamagedError(f"a member is there twice, or the last member is not {_SUMS!r}")
    listed = contents.pop(_SUMS)
    sums = "".join(_sum_line(hashlib.sha256(content).hexdigest(), name) for name, content in contents.items())
    if listed != sums.encode() or any(zlib.crc32(view[entry.content]) != entry.crc for entry in entries):
        raise DamagedError("a checksum does not match")
    return contents


def _entries(data: bytes) -> list[_Entry]:
    """Return the members, as their headers describe them; raise an error unless the directory agrees in every byte."""
    entries: list[_Entry] = []
    offset = 0
    while data[offset : offset + 4] == b"PK\3\4" and len(entries) <= _MEMBERS:
        entry = _entry_at(data, offset)
        entries.append(entry)
        offset = entry.content.stop
    if not entries or len(entries) > _MEMBERS:
        raise DamagedError(f"it has {'no member' if not entries else f'more than {_MEMBERS} members'}")
    if data[offset:] != _directory(entries):
        raise DamagedError("the directory at its end does not match its members")
    return entries


def _entry_at(data: bytes, offset: int) -> _Entry:
    """The member whose header is at this offset."""
    first = offset + _LOCAL.size
    if first > len(data):
        raise DamagedError("it ends inside a header")
    *_, crc, size, _, name_size, extra_size = _LOCAL.unpack_from(data, offset)
    name = data[first : first + name_size]
    if size == _LARGE and extra_size == 20 and first + name_size + extra_size <= len(data):
        size = struct.unpack_from("<Q", data, first + name_size + 4)[0]
    entry = _Entry(name, size, crc, offset)
    if not _NAME.fullmatch(name) or data[offset : entry.content.start] != entry.local:
        raise DamagedError(
            "a member is compressed, encrypted or named in a way that naivete never writes, or its header is damaged"
        )
    if entry.content.stop > len(data):
        raise DamagedError(f"it has {len(data)} bytes where a member ends at byte {entry.content.stop}")
    return entry


def read_bytes(path: str | os.PathLike[str], check: Callable[[bytes], None], limit: int) -> bytes:
    """Return the content of a file.

    Parameters
    ----------
    path : the file, which has to be a regular one.
    check : called with the first 64 bytes before the others are read; raises an error if they are not those of the right format.
    limit : the largest size in bytes; a DamagedError is raised above it.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116
            raise DamagedError("not a regular file")
        with open(path, "rb") as file:  # noqa: PTH123
            check(file.read(64))
            size = os.fstat(file.fileno()).st_size
            if size > limit:
                raise DamagedError(f"{size} bytes are more than the limit of {limit}")
            file.seek(0)
            return file.read(size)
    except NaiveteError:
        raise
    except OSError as error:
        raise file_error(path, "cannot be read", error) from error
    except ValueError as error:  # a zero byte in the name
        raise file_error(path, "cannot be read", OSError(str(error)), "give the name of a file") from error
