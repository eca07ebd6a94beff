r"""The box around everything we store: what it is, its version, its lengths, a header, arrays, and a checksum of it all.

offset      content                                        all numbers little-endian
0           8 bytes                                        the magic: what decides what it is
8           u16 major, u16 minor                           the version of the format
12          u32 h, u64 a                                   the lengths of the header and of the arrays
24          h bytes, then zeros to a multiple of 8         the header, canonical JSON
...         a bytes                                        the arrays, each followed by zeros to a multiple of 8
-32         32 bytes                                       the SHA-256 of everything before, in every version
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

from naivete.errors import ModelFileError
from naivete.storage.atomic import file_error
from naivete.storage.canonical_json import FieldError

__all__ = ["SUM", "Container", "check_zeros", "padded", "up"]

SUM: Final = 32
_PREFIX: Final = struct.Struct("<8sHHIQ")
_SNIFF: Final = 64


@dataclass(frozen=True)
class Container:
    """One kind of box.

    Parameters
    ----------
    noun : what errors call the content, such as "model".
    magic : its first eight bytes.
    version : the major and minor version that is written; other minor versions are read as far as they are understood.
    error : what is raised about a box that is damaged, forged or too new.
    """

    noun: str
    magic: bytes
    version: tuple[int, int]
    error: type[ModelFileError]

    def pieces(self, header: bytes, arrays: Iterable[bytes], size: int) -> Iterator[bytes]:
        """The bytes of a box, piece by piece; the last piece is the checksum.

        Parameters
        ----------
        header : its text.
        arrays : their bytes, padded.
        size : the number of these bytes.
        """
        digest = hashlib.sha256()
        for piece in chain([_PREFIX.pack(self.magic, *self.version, len(header), size), padded(header)], arrays):
            digest.update(piece)
            yield piece
        yield digest.digest()

    def check(self, data: bytes, where: str, advice: str = "get a new copy") -> None:
        """Refuse bytes that are truncated, damaged or of a version to come."""
        if len(data) < _PREFIX.size + SUM:
            raise self.error(f"{where}: truncated: it has only {len(data)} bytes; {advice}")
        major, minor, header, arrays = _PREFIX.unpack_from(data)[1:]
        if hashlib.sha256(memoryview(data)[:-SUM]).digest() != data[-SUM:]:
            needed = _PREFIX.size + up(header) + arrays + SUM
            length = "" if needed == len(data) else f", and it has {len(data)} bytes where its start speaks of {needed}"
            raise self.error(f"{where}: truncated or damaged: its checksum does not fit{length}; {advice}")
        if major > self.version[0]:
            versions = f"the file has format {major}.{minor}, this naivete reads up to {_dotted(self.version)}"
            raise self.error(f"{where}: {versions}; update naivete")
        if major < 1:
            raise self.error(f"{where}: there is no format {major}.{minor}; {_forged('do not use it')}")

    def blamed(self, data: bytes, where: str, error: FieldError, advice: str = "do not use it") -> ModelFileError:
        """The error about a field of a box whose checksum fits: it was made by a newer version or by somebody else."""
        version = _PREFIX.unpack_from(data)[1:3]
        newer = f"the file has format {_dotted(version)} and this naivete reads {_dotted(self.version)}; update naivete"
        return self.error(f"{where}: {error.field}: {error.reason}; {newer if version[1] > self.version[1] else _forged(advice)}")

    def parts(self, data: bytes) -> tuple[bytes, int, int]:
        """The text of the header, and where the arrays begin and end."""
        length, size = _PREFIX.unpack_from(data)[3:]
        start = _PREFIX.size + up(length)
        if start + size + SUM != len(data):
            raise FieldError("lengths", f"{length} and {size} do not add up to the {len(data)} bytes of the file")
        check_zeros(data, _PREFIX.size + length, start)
        return data[_PREFIX.size : _PREFIX.size + length], start, start + size

    def content(self, path: Path, check: Callable[[bytes, str], None], limit: int) -> bytes:
        """The bytes of a file, once `check` let its first bytes pass and its size is within the limit."""
        try:
            if not stat.S_ISREG(path.stat().st_mode):
                raise self.error(f"{path}: not a regular file; give the name of a saved {self.noun}")
            with path.open("rb") as file:
                check(file.read(_SNIFF), str(path))
                size = os.fstat(file.fileno()).st_size
                if size > limit:
                    raise self.error(f"{path}: {size} bytes are more than the limit of {limit}; pass other limits")
                file.seek(0)
                return file.read(size)
        except ModelFileError:
            raise
        except OSError as error:
            raise file_error(path, "cannot be read", error) from error
        except ValueError as error:
            raise file_error(path, "cannot be read", OSError(str(error)), "give the name of a file") from error


def _forged(advice: str) -> str:
    return f"the checksum fits, so the file was made like this; {advice}"


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def check_zeros(data: bytes, start: int, end: int) -> None:
    """Refuse padding that says something."""
    if any(data[start:end]):
        raise FieldError("padding", f"byte {start} to byte {end} have to be zero")


def up(size: int) -> int:
    """The size with its padding."""
    return -(-size // 8) * 8


def padded(data: bytes) -> bytes:
    """The bytes with their padding."""
    return data + bytes(up(len(data)) - len(data))
