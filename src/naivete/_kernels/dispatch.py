"""Access to the kernels: which implementation is in use, how arrays are passed to C, and arrays in the memory of a GPU."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from importlib import import_module
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from naivete.errors import ParameterError

__all__ = [
    "Codes",
    "Columns",
    "Struct",
    "Tier",
    "address",
    "columns_struct",
    "compiled",
    "device_setting",
    "host_copy",
    "in_device_memory",
    "loaded",
    "on_gpu",
    "require_memory",
    "tensor_of",
    "tier",
    "torch_module",
    "use",
    "use_kernels",
    "without_continuous",
]

Tier = Literal["c", "numpy", "gpu"]
Codes = Sequence[NDArray[Any]]
"""One array for each variable, the class last: uint8, uint16 or uint32 of any stride; the largest code means missing.

A continuous variable has a float64 array instead, nan where missing."""

_chosen: Tier | None = None
_chosen_device: str | None = None


def tier() -> Tier:
    """Return which kernels are in use: "c", "numpy" or "gpu"."""
    if _chosen is not None:
        return _chosen
    setting = os.environ.get("NAIVETE_KERNELS", "")
    if setting not in ("", "c", "numpy", "gpu"):
        raise ParameterError(f"the environment variable NAIVETE_KERNELS is {setting!r}; set it to c, numpy or gpu, or unset it")
    if setting == "gpu":
        _require_device()
        return "gpu"
    if setting == "numpy":
        return "numpy"
    if loaded() is not None:
        return "c"
    if setting == "c":
        raise ParameterError(
            "the environment variable NAIVETE_KERNELS is 'c', but the compiled kernels are not installed; "
            "reinstall naivete with a C compiler, or unset the variable"
        )
    return "numpy"


@contextmanager
def use(tier: Tier) -> Iterator[None]:
    """Select the kernels for the body of a with statement, in all threads."""
    global _chosen
    if tier == "c" and loaded() is None:
        raise ParameterError("the compiled kernels are not installed; reinstall naivete with a C compiler")
    if tier == "gpu":
        _require_device()
    before, _chosen = _chosen, tier
    try:
        yield
    finally:
        _chosen = before


@contextmanager
def use_kernels(tier: Tier, device: str | None = None) -> Iterator[None]:
    """Select the kernels that count and predict, for the body of a with statement, in all threads.

    All kernels give the same models and predictions, to the last bit, except those of `Spectrum`, which agree to about 1e-8.

    Parameters
    ----------
    tier : {"c", "numpy", "gpu"}
        "c" for the compiled kernels, "numpy" for those without a compiler, "gpu" for a GPU by torch (`naivete[gpu]`).
    device : str or None, default=None
        The device of torch for "gpu", such as "cuda" or "cuda:1"; by default the environment variable NAIVETE_DEVICE, else the
        first CUDA device.

    Yields
    ------
    None
        Nothing.

    Raises
    ------
    ParameterError
        If the kernels are not installed or there is no such device.

    Examples
    --------
    >>> from naivete import NaiveBayes, use_kernels
    >>> with use_kernels("numpy"):
    ...     model = NaiveBayes().fit([["a"], ["b"]], [0, 1])
    """
    global _chosen_device
    if tier not in ("c", "numpy", "gpu"):
        raise ParameterError(f"tier={tier!r}: choose 'c', 'numpy' or 'gpu'")
    if device is not None and tier != "gpu":
        raise ParameterError(f"device={device!r}: only the kernels 'gpu' run on a device")
    before, _chosen_device = _chosen_device, device
    try:
        with use(tier):
            yield
    finally:
        _chosen_device = before


def device_setting() -> str:
    """Return the name of the chosen device: of `use_kernels`, else of NAIVETE_DEVICE, else empty."""
    return _chosen_device or os.environ.get("NAIVETE_DEVICE", "").strip()


def _require_device() -> None:
    """Raise an error where the GPU tier cannot be used."""
    from naivete._kernels.device import device

    device()


_P, _I, _D = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double

_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {  # the result and the arguments of each function of the C sources
    "level": (ctypes.c_int, [ctypes.c_int]),
    "scatter": (ctypes.c_int, [_P, _I, _P, _I, _I, _I, _I, _I, _P, _P]),
    "gather": (ctypes.c_int, [_P, _I, _P, _I, _I, _I, _I, _P, _I, _P]),
    "posterior": (None, [_P, _I, _I, _P]),
    "log_sum_exp": (None, [_P, _I, _I, _I, _P]),
    "class_order": (None, [_P, _I, _I, _I, _P, _P]),
    "pack": (ctypes.c_int, [_P, _I, _P, _P, _P, _P, _P, _I, _I]),
    "gram": (None, [_P, _I, _I, _I, _I, _I, _I, _P, _I, _I]),
    "margins": (None, [_P, _I, _I, _I, _P]),
    "sparse_columns": (None, [_P, _P, _P, _I, _I, _I, _P, _P, _P]),
    "sparse_gram": (None, [_P, _I, _I, _I, _I, _P, _I, _I]),
    "seen": (ctypes.c_int, [_P, _I, _I, _I, _P]),
    "descend": (None, [_P, _P, _I, _I, _P]),
    "context_keys": (None, [_P, _P, _P, _P, _P, _I, _I, _I, _P]),
    "context_counts": (None, [_P, _P, _P, _P, _P, _P, _P, _I, _I, _P, _P, _P, _P]),
    "place_contexts": (_I, [_P, _P, _I, _P, _P]),
    "contexts_room": (_I, [_I, _P, _I, _P]),
    "contexts": (ctypes.c_int, [_P, _P, _I, _P, _I, _D, _P, _P, _P, _P, _P]),
    "context_logs": (ctypes.c_int, [_P, _P, _P, _I, _P, _I, _I, _I, _D, _D, _D, _P, _P, _P, _I, _I, _P, _P]),
    "context_lowest": (_D, [_P, _P, _I, _D, _D]),
    "tree_leaves": (None, [_P, _P, _P, _I, _I, _P]),
    "tree_sums": (None, [_P, _P, _I, _I, _P]),
    "tree_posteriors": (ctypes.c_int, [_P, _P, _P, _P, _P, _P, _I, _I, _I, _D, _P, _P, _P, _I, _I, _I, _P, _P]),
    "grow_tree": (_I, [_P, _P, _P, _I, _I, _P, _P, _I, _D, _I, _I, _I, ctypes.c_uint64, _I, _P]),
    "exponentials": (None, [_P, _I]),
    "logarithms": (None, [_P, _I]),
    "fit_weights": (ctypes.c_int, [_P, _P, _P, _I, _I, _I, _P, _P, _I, _I, _D, _P]),
    "boost": (ctypes.c_int, [_P, _P, _P, _I, _P, _P, _I, _P, _I, _I, _I, _D, _D, _D, _D, _I, _P, _P, _P, _P]),
    "boosted_scores": (ctypes.c_int, [_P, _P, _P, _I, _P, _P, _P, _I, _I, _I, _I, _I, _I, _P]),
    "plan_tables": (None, [_P, _P, _I, _P]),
    "make_tables": (ctypes.c_int, [_P, _P, _P, _P, _I, _P, _P, _P, _P, _I, _I]),
    "forest_tables": (ctypes.c_int, [_P, _P, _P, _P, _P, _P, _I, _I]),
    "boosted_steps": (ctypes.c_int, [_P, _P, _I, _I, _P, _P]),
    "spectrum_posterior": (ctypes.c_int, [_P, _P, _I, _I, _P]),
    "changed_errors": (None, [_P, _I, _P, _P, _I, _P, _P, _I, _I, _P, _P, _P, _P, _P, _I, _I, _P]),
    "gram_of_rows": (ctypes.c_int, [_P, _P, _P, _P, _P, _I, _I, _I, _P]),
    "factorize": (None, [_P, _I, _I]),
    "row_scores": (None, [_P, _P, _P, _P, _I, _I, _I, _P, _P]),
    "fit_linear": (ctypes.c_int, [_P, _P, _P, _P, _P, _P, _I, _I, _I, _P, _P, _P, ctypes.c_int, _I, _D, _P]),
    "temperature": (_D, [_P, _I, _I, _P, _P, _I, _I, _D, _D, _D, _D, _P]),
}


@cache
def loaded() -> ctypes.CDLL | None:
    """Return the compiled library, None if it is not installed or cannot be loaded."""
    path = os.path.join(os.path.dirname(__file__), "libkernels.dll" if os.name == "nt" else "libkernels.so")  # noqa: PTH118, PTH120
    try:
        library = ctypes.CDLL(path) if os.path.exists(path) else None  # noqa: PTH110
        for name, (result, arguments) in _SIGNATURES.items() if library else ():
            function = getattr(library, f"naivete_{name}")
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError):  # built for another platform, or from other versions of the sources
        return None
    if library:
        library.naivete_level(99)
    return library


def compiled() -> ctypes.CDLL | None:
    """Return the compiled library if it is in use, None if the NumPy kernels are; beside a GPU it is used where it is installed."""
    return None if tier() == "numpy" else loaded()


_of_buffer: Any = ctypes.c_char.from_buffer


def address(array: NDArray[Any]) -> int:
    """Return the memory address of the first element."""
    try:
        return ctypes.addressof(_of_buffer(array))  # takes a sixth of the time of the array interface
    except (TypeError, ValueError):  # read-only, not contiguous, or empty
        return int(array.__array_interface__["data"][0])


class Struct:
    """A C struct of pointers and integers; it keeps the arrays that the pointers refer to alive."""

    def __init__(self, *members: NDArray[Any] | int) -> None:
        self.members = members
        self.struct = np.array([m if isinstance(m, int) else address(m) for m in members], np.int64)
        self.address = address(self.struct)


class Columns(tuple[NDArray[Any], ...]):
    """Columns of codes whose struct is made once, where they are passed to compiled code many times."""

    @cached_property
    def struct(self) -> tuple[NDArray[np.int64], Codes]:
        """The result of `columns_struct`."""
        return columns_struct(tuple(self))


def columns_struct(codes: Codes) -> tuple[NDArray[np.int64], Codes]:
    """Return data, stride and item size of each column, as in the C struct `column`, and the arrays, to be kept alive.

    Compiled code can read codes of one, two or four bytes only: a TypeError is raised about others.
    """
    if isinstance(codes, Columns):
        return codes.struct
    for x, column in enumerate(codes):
        if column.dtype.kind != "u" or column.itemsize > 4:
            raise TypeError(f"column {x} has codes of type {column.dtype}; they have to be uint8, uint16 or uint32")
    arrays = [c if c.flags.aligned else c.copy() for c in codes]
    places = [c.__array_interface__["data"][0] for c in arrays]  # of strided columns too, for which `address` takes longer
    return np.array([(p, c.strides[0], c.itemsize) for p, c in zip(places, arrays, strict=True)], np.int64).reshape(-1, 3), arrays


SMALL = 1 << 22
"""Work of fewer elementary steps is done by the processor: it takes less time than copying the columns to a GPU."""


def on_gpu(work: float) -> bool:
    """Return whether the GPU tier is in use, and `work` elementary steps are worth copying columns to the device."""
    return work >= SMALL and tier() == "gpu"


def without_continuous(codes: Codes, families: Iterable[Sequence[int]]) -> Codes:
    """Return the columns with the values of continuous features replaced by code 0, or by the code for missing where nan.

    A continuous feature that is in none of the families becomes a column of zeros.
    """
    continuous = [x for x, column in enumerate(codes) if column.dtype.kind == "f"] if isinstance(codes, (list, tuple)) else []
    if not continuous:
        return codes
    members = {v for family in families for v in family}
    columns = list(codes)
    for x in continuous:
        columns[x] = np.isnan(codes[x]).view(np.uint8) * np.uint8(255) if x in members else np.zeros(len(codes[x]), np.uint8)
    return columns


def require_memory(status: int) -> None:
    """Raise MemoryError if a C function returned 0, that is, could not allocate memory."""
    if not status:
        raise MemoryError("not enough memory for a block of rows")


@cache
def torch_module() -> Any:
    """Return torch; raise an error that names the next step where it is not installed."""
    try:
        return import_module("torch")
    except ImportError as error:
        raise ParameterError(
            "the kernels for a GPU need torch, which is not installed; pip install 'naivete[gpu]', or unset NAIVETE_KERNELS"
        ) from error


def in_device_memory(array: object) -> bool:
    """Return whether an array of another library is in the memory of a device, as its DLPack method says.

    An array whose method refuses to answer cannot be exchanged by DLPack: pyarrow's arrays of text, or with missing values.
    """
    place = getattr(array, "__dlpack_device__", None)
    if place is None:
        return False
    try:
        return int(place()[0]) not in (1, 3)  # ordinary and page-locked memory of the host
    except (BufferError, TypeError, ValueError):
        return False


def host_copy(array: Any) -> Any:
    """Return a NumPy copy of an array in the memory of a device; anything else as it is."""
    return tensor_of(array).cpu().numpy() if in_device_memory(array) else array


def tensor_of(array: Any) -> Any:
    """Return an array in the memory of a device as a tensor that shares this memory."""
    return torch_module().from_dlpack(array)
