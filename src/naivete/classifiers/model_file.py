r"""Model files: plain data only, checksummed, one sequence of bytes for one model; opening one never runs anything.

The layout is that of a `container` whose magic is "\x8bNVT\r\n\x1a\n"; the header is described in `model_header`. The arrays
are the tables of the variables in order, the class last: float64 for a dense table; for a sparse one the int32 configurations
and float64 rows of each level, from all parents to the fewest, then the float64 default. The int64 and float64 arrays of the
derived columns follow, then the float64 means, variances and slopes of the densities, where there are some. Nothing is
compressed, and nothing names a file, a class or a function.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from naivete.classifiers.model_header import Block, Header, density_arrays, derived_arrays, described, levels, understood
from naivete.errors import DataError, ModelFileError, quoted
from naivete.network.conditional_tables import Cpt, SparseCpt
from naivete.network.densities import Kernel, Normal
from naivete.network.derived_columns import Derived
from naivete.network.network import Network
from naivete.storage.atomic import atomic_write
from naivete.storage.canonical_json import FieldError, Limits, canonical, parsed
from naivete.storage.container import Container, check_zeros, padded, up
from naivete.variables import CLASS

__all__ = ["Limits", "Model", "fingerprint", "model_bytes", "model_from_bytes", "read_model", "write_model"]

_MAGIC: Final = b"\x8bNVT\r\n\x1a\n"
_BOX: Final = Container("model", _MAGIC, (1, 0), ModelFileError)
_LIMITS: Final = Limits()
_SLACK: Final = 1e-9
"""How far above 1 a probability may be, as a row that sums to 1 within the same slack allows."""
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
    return model_from_bytes(_BOX.content(Path(path), _check_magic, limits.file_bytes), where=str(path), limits=limits)


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
        arrays = b"".join(padded(array) for array in _arrays(model.network))
        data = b"".join(_BOX.pieces(header, [arrays], len(arrays)))
        _understood(data, limits)
    except FieldError as error:
        raise ModelFileError(f"model: {error.field}: {error.reason}; this model cannot be saved, and nothing was written") from None
    return data


def model_from_bytes(data: bytes, where: str = "model", *, limits: Limits = _LIMITS) -> Model:
    """The model of these bytes.

    Parameters
    ----------
    data : the content of a model file.
    where : what errors call it, such as the name of the file.
    limits : the most it may ask for.
    """
    _check_magic(data, where)
    _BOX.check(data, where)
    try:
        return _understood(data, limits)
    except FieldError as error:
        raise _BOX.blamed(data, where, error) from None


def fingerprint(model: Model) -> str:
    """The SHA-256 of the model's canonical bytes, as `sha256sum` prints it for the saved file."""
    return hashlib.sha256(model_bytes(model)).hexdigest()


def _check_magic(data: bytes, where: str) -> None:
    if data.startswith(_MAGIC):
        return
    if len(data) < len(_MAGIC):
        raise ModelFileError(f"{where}: not a naivete model file: it has only {len(data)} bytes; was it copied in full?")
    alike = next((words for start, words in _LOOKALIKES if data.startswith(start)), None)
    found = f"this looks like {alike}" if alike else f"it begins with {quoted(data[:8])}"
    raise ModelFileError(f"{where}: not a naivete model file: {found}; give a file saved by naivete")


def _understood(data: bytes, limits: Limits) -> Model:
    """The model of bytes whose checksum was seen to; lengths first, then the header, then the arrays."""
    text, start, end = _BOX.parts(data)
    value = parsed(text, limits)
    header = understood(value)
    if canonical(value) != text:
        raise FieldError("header", "not in its canonical form of sorted keys, no blanks and shortest numbers")
    return Model(header.kind, header.parameters, _network(header, data, start, end - start), header.notes)


def _network(header: Header, data: bytes, start: int, size: int) -> Network:
    tables = sum(up(block.bytes) for table in header.tables for block in table.blocks)
    derived_bytes = sum(up(block.bytes) for column in header.derived for block in column.blocks)
    needed = tables + derived_bytes + sum(up(block.bytes) for _, blocks in header.densities for block in blocks)
    if needed != size:
        raise FieldError("tables", f"their shapes need {needed} bytes and the file holds {size}")
    places = (*range(len(header.variables) - 1), CLASS)
    cpts = dict(zip(places, _cpts(header, data, start), strict=True))
    try:
        parents, features = dict(zip(places, header.parents, strict=True)), len(header.variables) - 1
        derived = dict(zip(range(features - len(header.derived), features), _derived(header, data, start + tables), strict=True))
        return Network(header.variables, parents, cpts, derived, dict(_densities(header, data, start + tables + derived_bytes)))
    except DataError as error:
        field = next((f for word, f in (("derived", "derived"), ("density", "densities")) if word in str(error)), "tables")
        raise FieldError(field, str(error).removeprefix("network: ")) from None


def _cpts(header: Header, data: bytes, start: int) -> Iterator[Cpt]:
    """The table of each variable in turn."""
    for table in header.tables:
        arrays = []
        for block in table.blocks:
            arrays.append(_array(block, data, start))
            start += up(block.bytes)
        yield _cpt(arrays, table.levels)


def _derived(header: Header, data: bytes, start: int) -> Iterator[Derived]:
    """Each derived column in turn."""
    for column in header.derived:
        arrays = []
        for block in column.blocks:
            arrays.append(_array(block, data, start, most=np.inf))
            start += up(block.bytes)
        yield column.kind(*arrays)


def _densities(header: Header, data: bytes, start: int) -> Iterator[tuple[int, Normal]]:
    """The density of each number that is not cut."""
    for x, blocks in header.densities:
        arrays = []
        for block in blocks:
            arrays.append(_array(block, data, start, least=-np.inf, most=np.inf))
            start += up(block.bytes)
        names = [block.field.rpartition(".")[2] for block in blocks]
        yield x, (Kernel if "points" in names else Normal)(**dict(zip(names, arrays, strict=True)))


def _cpt(arrays: list[NDArray[Any]], parents: tuple[tuple[int, ...], ...]) -> Cpt:
    cpt: Cpt = arrays[-1]
    for own, configurations, rows in zip(reversed(parents), arrays[-3::-2], arrays[-2::-2], strict=True):
        cpt = SparseCpt(configurations, rows, cpt, own)
    return cpt


def _array(block: Block, data: bytes, start: int, *, least: float = 0.0, most: float = 1 + _SLACK) -> NDArray[Any]:
    """A view of the bytes, which nobody can write to; fractions are checked to be probabilities, or at least not negative."""
    end = start + block.bytes
    check_zeros(data, end, start + up(block.bytes))
    dtype = np.dtype(block.dtype)
    array = np.frombuffer(data, dtype, (end - start) // dtype.itemsize, start).reshape(block.shape)
    if dtype.kind == "f" and not (array.min(initial=0.0) >= least and array.max(initial=0.0) <= most):
        raise FieldError(block.field, "some of its cells are not probabilities between 0 and 1" if most < 2 else "some are below 0")
    return array.astype(dtype.newbyteorder("="), copy=False)


def _arrays(network: Network) -> Iterator[bytes]:
    for v in (*network.features, CLASS):
        sparse, last = levels(network.cpts[v])
        for level in sparse:
            yield np.asarray(level.configurations, dtype="<i4").tobytes()
            yield np.asarray(level.rows, dtype="<f8").tobytes()
        yield np.asarray(last, dtype="<f8").tobytes()
    for v in sorted(network.derived):
        for _, array in derived_arrays(network.derived[v])[1]:
            yield array.tobytes()
    for x in sorted(network.densities):
        yield from (np.asarray(array, dtype="<f8").tobytes() for array in density_arrays(network.densities[x]))
