"""Archives of plain values: model files, checkpoints, and counts that travel between machines.

The first member of such an archive is canonical JSON with the version of the format and some fields by name; the arrays among
their values follow as .npy members (see `values`), and then the checksums (see `archive`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from naivete.errors import ModelFileError
from naivete.storage.archive import DamagedError, archive_pieces, check_start, members, read_bytes
from naivete.storage.canonical_json import FieldError, Limits, canonical, check_extent, expect, expect_keys, parsed, whole
from naivete.storage.values import decoded, encoded

__all__ = ["PACKED", "CheckpointError", "Format", "packed", "pieces", "unpacked"]

T = TypeVar("T")


class CheckpointError(ModelFileError):
    """A checkpoint or packed value is damaged, not valid, of another run, or of a version this library cannot read."""


@dataclass(frozen=True)
class Format:
    """One kind of archive.

    Parameters
    ----------
    noun : what errors call the content; also the name of the JSON member, without its ending.
    error : the error about a file that is damaged, not valid or too new.
    limits : the largest file.
    kinds : the kinds of values allowed beside those that stand for themselves, such as "$tuple".
    errors : "surrogatepass" to allow strings with half of a surrogate pair.
    writable : whether arrays that are read may be written to.
    version : major and minor version of the format; a file of a newer minor version is read if there is nothing unknown in it.
    """

    noun: str
    error: type[ModelFileError]
    limits: Limits
    kinds: frozenset[str]
    errors: str = "strict"
    writable: bool = False
    version: tuple[int, int] = (1, 0)

    @property
    def member(self) -> str:
        """The name of the JSON member."""
        return f"{self.noun}.json"

    def pieces(self, fields: Mapping[str, Any]) -> Iterator[bytes]:
        """Return the bytes of an archive of some fields by name, in pieces of bounded size; raise a FieldError before the first."""
        tree, arrays = encoded(dict(sorted({"format": list(self.version), **fields}.items())), self.kinds)
        text = canonical(tree, errors=self.errors)
        check_extent(text, self.limits)
        return archive_pieces({self.member: lambda: [text], **arrays})

    def built(self, data: bytes, build: Callable[[dict[str, Any]], T], *, where: str, advice: str) -> T:
        """Return what a function makes of the fields of an archive.

        Parameters
        ----------
        data : the bytes of the archive.
        build : called with the fields by name; it raises a FieldError about a field that is not valid.
        where : what errors call the data, such as the name of the file.
        advice : what errors recommend if it is damaged.
        """
        version = self.version
        self._check_start(data, where, advice)
        try:
            contents = members(data)
            tree = parsed(bytes(contents.pop(self.member)), self.limits, errors=self.errors)
            version = _version(tree)
            if not 1 <= version[0] <= self.version[0]:
                raise FieldError("format", f"there is no format {_dotted(version)} here")
            fields = expect(decoded(tree, contents, self.kinds, writable=self.writable), "", dict, "an object")
            return build({name: value for name, value in fields.items() if name != "format"})
        except DamagedError as error:
            raise self.error(f"{where}: truncated or damaged: {error}; {advice}") from None
        except FieldError as error:
            raise self._refusal(error, where, version) from None

    def read(self, path: str | os.PathLike[str], *, advice: str) -> bytes:
        """Return the bytes of a file, if it begins like an archive of this format and is not too large."""
        try:
            return read_bytes(path, lambda data: self._check_start(data, str(path), advice), self.limits.file_bytes)
        except DamagedError as error:
            raise self.error(f"{path}: {error}; {advice}") from None

    def _check_start(self, data: bytes, where: str, advice: str) -> None:
        try:
            check_start(data, self.member)
        except DamagedError as error:
            raise self.error(f"{where}: not a {self.noun} file of naivete: {error}; {advice}") from None

    def _refusal(self, error: FieldError, where: str, version: tuple[int, int]) -> ModelFileError:
        """Return the error about a field of a file with correct checksums: written by a newer version, or not by naivete."""
        newer = f"the file has format {_dotted(version)} and this naivete reads {_dotted(self.version)}; update naivete"
        other = "all checksums are correct, so naivete did not write this file; do not use it"
        field = error.field.removeprefix(".")[:200] or self.member
        return self.error(f"{where}: {field}: {error.reason}; {newer if version > self.version else other}")


def _version(tree: Any) -> tuple[int, int]:
    parts = expect(expect(tree, "", dict, "an object").get("format"), "format", list, "a list of two version numbers")
    if len(parts) != 2:
        raise FieldError("format", "a list of two version numbers was expected")
    return whole(parts[0], "format", 0, 999), whole(parts[1], "format", 0, 999)


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


PACKED: Final = Format(
    "value",
    CheckpointError,
    Limits(file_bytes=2**40, json_bytes=2**29, values=2**29, depth=100),
    frozenset({"$int", "$float", "$fraction", "$tuple", "$dict", "$array", "$record"}),
    errors="surrogatepass",
    writable=True,
)


def packed(value: object) -> bytes:
    """Return the bytes of a value; equal values of equal types, with dicts in equal order, have equal bytes.

    >>> unpacked(packed({("a", 1): [0.5, -0.0, None]}))
    {('a', 1): [0.5, -0.0, None]}
    """
    return b"".join(pieces(value))


def pieces(value: object) -> Iterator[bytes]:
    """Return the same bytes in pieces, so that large arrays are not copied."""
    try:
        return PACKED.pieces({"value": value})
    except FieldError as error:
        raise CheckpointError(f"{error.field.removeprefix('.') or 'value'}: {error.reason}") from None


def unpacked(data: bytes, where: str = "data", *, advice: str = "get a new copy") -> Any:
    """Return the value of some bytes, from any source; its arrays are copies that may be written to.

    Parameters
    ----------
    data : what `packed` returned; a CheckpointError is raised about anything else.
    where : what errors call the data, such as the name of the file or of the machine.
    advice : what errors recommend.
    """
    return PACKED.built(data, _only_value, where=where, advice=advice)


def _only_value(fields: dict[str, Any]) -> Any:
    expect_keys(fields, "", ["value"])
    return fields["value"]
