r"""Model files: plain data only, checksummed, one sequence of bytes for one model; opening one never runs anything.

    offset      content                                        all numbers little-endian
    0           8 bytes, "\x8bNVT\r\n\x1a\n"                   what decides that it is a model file
    8           u16 major, u16 minor                           the version of the format
    12          u32 h, u64 a                                   the lengths of the header and of the arrays
    24          h bytes, then zeros to a multiple of 8         the header, see `model_header`
    ...         a bytes                                        the arrays, each followed by zeros to a multiple of 8
    -32         32 bytes                                       the SHA-256 of everything before, in every version

The arrays are the tables of the variables in order, the class last: float64 for a dense table; for a sparse one the int32
configurations and float64 rows of each level, from all parents to the fewest, then the float64 default. Nothing is
compressed, and nothing names a file, a class or a function.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from naivete.atomic import atomic_write, file_error
from naivete.canonical_json import FieldError, Limits, canonical, parsed
from naivete.errors import DataError, ModelFileError, shown
from naivete.model_header import Block, Header, described, levels, understood
from naivete.network import Cpt, Network, SparseCpt
from naivete.variables import CLASS

__all__ = ["Limits", "Model", "fingerprint", "model_bytes", "model_from_bytes", "read_model", "write_model"]

_MAGIC: Final = b"\x8bNVT\r\n\x1a\n"
_VERSION: Final = (1, 0)
_LIMITS: Final = Limits()
_PREFIX: Final = struct.Struct("<8sHHIQ")
_SUM: Final = 32
_SNIFF: Final = 64
_SLACK: Final = 1e-9
"""How far above 1 a probability may be, as a row that sums to 1 within the same slack allows."""
_FORGED: Final = "the checksum fits, so the file was made like this; do not use it"
_LOOKALIKES: Final = (
    *((bytes([0x80, protocol]), "a pickle; naivete never opens pickles") for protocol in range(2, 6)),
    (b"c", "a pickle; naivete never opens pickles"),
    (b"(", "a pickle; naivete never opens pickles"),
    (b"PK", "a zip archive, perhaps of another library"),
    (b"\x1f\x8b", "a gzip file; unpack it first if a model is inside"),
    (b"BZh", "a bzip2 file; unpack it first if a model is inside"),
    (b"\xfd7zXZ", "an xz file; unpack it first if a model is inside"),
    (b"\x28\xb5\x2f\xfd", "a zstandard file; unpack it first if a model is inside"),
    (b"\x78", "a zlib stream, perhaps a compressed pickle; naivete never opens pickles"),
    (b"\x93NUMPY", "an array of numpy"),
    (b"\x89HDF", "an HDF5 file"),
    (b"PAR1", "a Parquet file: data, not a model"),
    (b"{", "JSON"),
    (b"<", "XML or HTML"),
    (_MAGIC[:4], "a model file damaged by a transfer in text mode; copy it again in binary mode"),
)


@dataclass(frozen=True, eq=False)
class Model:
    """A learned model as plain data; two models are the same when their fingerprints are.

    Parameters
    ----------
    kind : a short lowercase word for the learner, such as "kdb".
    parameters : what it was learned with: None, bool, int, float (not nan), str, and lists and dicts of those.
    network : the variables, parents and tables.
    notes : facts about the training, as plain as the parameters; nothing that differs between two equal runs.
    """

    kind: str
    parameters: dict[str, Any]
    network: Network
    notes: dict[str, Any]


def write_model(path: str | os.PathLike[str], model: Model, *, overwrite: bool = True, limits: Limits = _LIMITS) -> None:
    """Save the model so that the file is whole or, after any failure, as it was before.

    Parameters
    ----------
    path : the file, by custom with the ending .nvt; its folder has to exist.
    model : what to save; what could not be read back with these limits is refused.
    overwrite : whether an existing file may be replaced.
    limits : what a reader will accept.
    """
    atomic_write(Path(path), model_bytes(model, limits=limits), overwrite=overwrite)


def read_model(path: str | os.PathLike[str], *, limits: Limits = _LIMITS) -> Model:
    """Load a model; a file that is not exactly what `write_model` writes is refused, and nothing in it is ever run.

    Parameters
    ----------
    path : the file; its content decides what it is, not its name.
    limits : the most it may ask for, checked before anything is allocated.
    """
    return model_from_bytes(_content(Path(path), limits), where=str(path), limits=limits)


def model_bytes(model: Model, *, limits: Limits = _LIMITS) -> bytes:
    """The canonical bytes of the model, those of its file; equal models have equal bytes.

    >>> from naivete.variables import Variable
    >>> coin = Network((Variable("side", ("heads", "tails")),), {-1: ()}, {-1: np.array([0.5, 0.5])})
    >>> data = model_bytes(Model("majority", {}, coin, {"rows": 2}))
    >>> len(data), data[:4]
    (280, b'\\x8bNVT')
    >>> model_from_bytes(data).notes
    {'rows': 2}
    """
    try:
        header = canonical(described(model.kind, model.parameters, model.notes, model.network))
        arrays = b"".join(_padded(array) for array in _arrays(model.network))
        data = _PREFIX.pack(_MAGIC, *_VERSION, len(header), len(arrays)) + _padded(header) + arrays
        _understood(data + bytes(_SUM), limits)
    except FieldError as error:
        raise ModelFileError(
            f"model: {error.field}: {error.reason}; this model cannot be saved, and nothing was written"
        ) from None
    return data + hashlib.sha256(data).digest()


def model_from_bytes(data: bytes, where: str = "model", *, limits: Limits = _LIMITS) -> Model:
    """The model of these bytes.

    Parameters
    ----------
    data : the content of a model file.
    where : what errors call it, such as the name of the file.
    limits : the most it may ask for.
    """
    _check_magic(data, where)
    _check_sum(data, where)
    major, minor = _PREFIX.unpack_from(data)[1:3]
    _check_version(major, minor, where)
    try:
        return _understood(data, limits)
    except FieldError as error:
        newer = f"the file has format {_dotted(major, minor)} and this naivete reads {_dotted(*_VERSION)}; update naivete"
        raise ModelFileError(f"{where}: {error.field}: {error.reason}; {newer if minor > _VERSION[1] else _FORGED}") from None


def fingerprint(model: Model) -> str:
    """The SHA-256 of the model's canonical bytes, as `sha256sum` prints it for the saved file."""
    return hashlib.sha256(model_bytes(model)).hexdigest()


def _content(path: Path, limits: Limits) -> bytes:
    """The bytes of the file, once its size and its first bytes are those of a model file."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise ModelFileError(f"{path}: not a regular file; give the name of a saved model")
        with path.open("rb") as file:
            _check_magic(file.read(_SNIFF), str(path))
            size = os.fstat(file.fileno()).st_size
            if size > limits.file_bytes:
                raise ModelFileError(f"{path}: {size} bytes are more than the limit of {limits.file_bytes}; pass other limits")
            file.seek(0)
            return file.read(size)
    except ModelFileError:
        raise
    except OSError as error:
        raise file_error(path, "cannot be read", error) from error
    except ValueError as error:
        raise file_error(path, "cannot be read", OSError(str(error)), "give the name of a file") from error


def _check_magic(data: bytes, where: str) -> None:
    if data.startswith(_MAGIC):
        return
    if len(data) < len(_MAGIC):
        raise ModelFileError(f"{where}: not a naivete model file: it has only {len(data)} bytes; was it copied in full?")
    alike = next((words for start, words in _LOOKALIKES if data.startswith(start)), None)
    found = f"this looks like {alike}" if alike else f"it begins with {shown(data[:8])}"
    raise ModelFileError(f"{where}: not a naivete model file: {found}; give a file saved by naivete")


def _check_sum(data: bytes, where: str) -> None:
    if len(data) < _PREFIX.size + _SUM:
        raise ModelFileError(f"{where}: truncated: it has only {len(data)} bytes; get a new copy")
    if hashlib.sha256(memoryview(data)[:-_SUM]).digest() != data[-_SUM:]:
        header, arrays = _PREFIX.unpack_from(data)[3:]
        needed = _PREFIX.size + _up(header) + arrays + _SUM
        length = "" if needed == len(data) else f", and it has {len(data)} bytes where its start speaks of {needed}"
        raise ModelFileError(f"{where}: truncated or damaged: its checksum does not fit{length}; get a new copy")


def _check_version(major: int, minor: int, where: str) -> None:
    if major > _VERSION[0]:
        versions = f"the file has format {_dotted(major, minor)}, this naivete reads up to {_dotted(*_VERSION)}"
        raise ModelFileError(f"{where}: {versions}; update naivete")
    if major < 1:
        raise ModelFileError(f"{where}: there is no format {_dotted(major, minor)}; {_FORGED}")


def _dotted(major: int, minor: int) -> str:
    return f"{major}.{minor}"


def _understood(data: bytes, limits: Limits) -> Model:
    """The model of bytes whose checksum was seen to; lengths first, then the header, then the arrays."""
    length, size = _PREFIX.unpack_from(data)[3:]
    start = _PREFIX.size + _up(length)
    if start + size + _SUM != len(data):
        raise FieldError("lengths", f"{length} and {size} do not add up to the {len(data)} bytes of the file")
    text = data[_PREFIX.size : _PREFIX.size + length]
    value = parsed(text, limits)
    header = understood(value)
    if canonical(value) != text:
        raise FieldError("header", "not in its canonical form of sorted keys, no blanks and shortest numbers")
    _check_zeros(data, _PREFIX.size + length, start)
    return Model(header.kind, header.parameters, _network(header, data, start, size), header.notes)


def _network(header: Header, data: bytes, start: int, size: int) -> Network:
    needed = sum(_up(block.bytes) for table in header.tables for block in table.blocks)
    if needed != size:
        raise FieldError("tables", f"their shapes need {needed} bytes and the file holds {size}")
    places = (*range(len(header.variables) - 1), CLASS)
    cpts = dict(zip(places, _cpts(header, data, start), strict=True))
    try:
        return Network(header.variables, dict(zip(places, header.parents, strict=True)), cpts)
    except DataError as error:
        raise FieldError("tables", str(error).removeprefix("network: ")) from None


def _cpts(header: Header, data: bytes, start: int) -> Iterator[Cpt]:
    """The table of each variable in turn."""
    for table in header.tables:
        arrays = []
        for block in table.blocks:
            arrays.append(_array(block, data, start))
            start += _up(block.bytes)
        yield _cpt(arrays, table.levels)


def _cpt(arrays: list[NDArray[Any]], parents: tuple[tuple[int, ...], ...]) -> Cpt:
    cpt: Cpt = arrays[-1]
    for own, configurations, rows in zip(reversed(parents), arrays[-3::-2], arrays[-2::-2], strict=True):
        cpt = SparseCpt(configurations, rows, cpt, own)
    return cpt


def _array(block: Block, data: bytes, start: int) -> NDArray[Any]:
    """A view of the bytes, which nobody can write to; probabilities are checked to be some."""
    end = start + block.bytes
    _check_zeros(data, end, start + _up(block.bytes))
    dtype = np.dtype(block.dtype)
    array = np.frombuffer(data, dtype, (end - start) // dtype.itemsize, start).reshape(block.shape)
    if dtype.kind == "f" and not (array.min(initial=0.0) >= 0 and array.max(initial=0.0) <= 1 + _SLACK):
        raise FieldError(block.field, "some of its cells are not probabilities between 0 and 1")
    return array.astype(dtype.newbyteorder("="), copy=False)


def _check_zeros(data: bytes, start: int, end: int) -> None:
    if any(data[start:end]):
        raise FieldError("padding", f"byte {start} to byte {end} have to be zero")


def _arrays(network: Network) -> Iterator[bytes]:
    for v in (*network.features, CLASS):
        sparse, last = levels(network.cpts[v])
        for level in sparse:
            yield np.asarray(level.configurations, dtype="<i4").tobytes()
            yield np.asarray(level.rows, dtype="<f8").tobytes()
        yield np.asarray(last, dtype="<f8").tobytes()


def _up(size: int) -> int:
    """The size with its padding."""
    return -(-size // 8) * 8


def _padded(data: bytes) -> bytes:
    return data + bytes(_up(len(data)) - len(data))
