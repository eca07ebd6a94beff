"""The GPU tier: which device is used, and columns of codes in its memory. torch is imported only where this tier is chosen."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import missing_code
from naivete._kernels.column_blocks import row_major_matrix
from naivete._kernels.dispatch import Codes, device_setting, torch_module
from naivete._kernels.threads import run_parallel
from naivete.errors import ParameterError, ResourceError

__all__ = [
    "ALIGNED",
    "DeviceColumns",
    "columns_on_device",
    "device",
    "device_name",
    "fits",
    "fused",
    "in_row_blocks",
    "is_kept",
    "keep_on_device",
    "on_device",
    "padded_store",
    "register_columns",
    "streamed_blocks",
]

T = TypeVar("T")

ALIGNED = 128
"""Columns on the device begin at multiples of this many bytes and have a multiple of this many rows: that makes reading fast."""

STAGED = 64 << 20
"""The bytes of page-locked memory through which columns are copied, twice."""

STREAMED = 16 << 20, 64 << 20
"""The smallest and the largest number of bytes of a block of rows that is copied while the block before is counted."""

BLOCKS = 6
"""Into how many such blocks a table is divided, if these sizes allow it."""

SHARE = 0.4
"""The share of the free memory of the device that the columns of a table may take; the rest is for sorted copies and counts."""

SMALLEST_BLOCK = 1 << 12
"""Blocks of rows are not divided further than this when the memory of the device is exhausted."""


@cache
def _device_of(name: str) -> Any:
    torch = torch_module()
    try:
        chosen = torch.device(name or "cuda")
        if chosen.type == "cuda":
            if not torch.cuda.is_available():
                raise ParameterError(
                    f"torch {torch.__version__} finds no CUDA device; install a driver and a build of torch for it, set "
                    "NAIVETE_DEVICE=cpu to run the kernels of this tier on the processor, or unset NAIVETE_KERNELS"
                )
            torch.zeros(1, device=chosen)
    except RuntimeError as error:
        first_line = str(error).splitlines()[0]
        raise ParameterError(
            f"torch cannot use the device {name!r}: {first_line}; choose cuda, cuda:0, cuda:1, ... or cpu by NAIVETE_DEVICE or "
            "use_kernels('gpu', device=...)"
        ) from error
    return chosen


def device() -> Any:
    """Return the torch device of the GPU tier: as of `use_kernels`, else NAIVETE_DEVICE, by default the first CUDA device."""
    return _device_of(device_setting())


def device_name() -> str:
    """Return the name of the device and its memory, for people."""
    torch, chosen = torch_module(), device()
    if chosen.type != "cuda":
        return f"{chosen} by torch {torch.__version__}"
    properties = torch.cuda.get_device_properties(chosen)
    kernels = "fused kernels by Triton" if fused() else "plain torch, as Triton is not installed"
    return f"{properties.name}, {properties.total_memory / 2**30:.0f} GiB, torch {torch.__version__}, {kernels}"


def fused() -> Any:
    """Return the module of fused kernels; None where Triton is not installed or the device is not a CUDA device."""
    return _triton_kernels() if device().type == "cuda" else None


@cache
def _triton_kernels() -> Any:
    try:
        return import_module("naivete._kernels.device_triton")
    except ImportError:
        return None


Line = tuple[Any, int]
"""A column on the device: a tensor of columns, and the number of the column."""


class DeviceColumns:
    """Columns of codes on the device: bytes, or 32-bit integers for more than 255 states, where -1 means missing.

    Every column begins at a multiple of `ALIGNED` bytes, and is padded to a multiple of `ALIGNED` rows with codes for missing.

    Parameters
    ----------
    lines : where each column is.
    rows : the number of rows.
    """

    def __init__(self, lines: Sequence[Line], rows: int) -> None:
        self.lines = lines
        self.rows = rows

    def __len__(self) -> int:
        return len(self.lines)

    def column(self, v: int) -> Any:
        """Return the codes of one column."""
        store, line = self.lines[v]
        return store[line, : self.rows]

    @cached_property
    def pointers(self) -> Any:
        """The address of each column, and whether its codes are wide, on the device.  # (column, 2)"""
        starts = {id(store): (store.data_ptr(), store.stride(0) * store.element_size()) for store, _ in self.lines}
        numbers = [(starts[id(s)][0] + line * starts[id(s)][1], s.element_size() == 4) for s, line in self.lines]
        return on_device(np.array(numbers, np.int64).reshape(-1, 2))

    def together(self) -> tuple[Any, NDArray[np.int64]]:
        """Return a tensor of bytes with all columns, and the line of each: without a copy if they are in one tensor."""
        torch = torch_module()
        store = self.lines[0][0]
        if store.dtype == torch.uint8 and all(s is store for s, _ in self.lines):
            return store, np.array([line for _, line in self.lines], np.int64)
        copy = padded_store(len(self), self.rows)
        for v, line in enumerate(copy):
            line[: self.rows] = self.column(v)
        return copy, np.arange(len(self))


@dataclass
class _Kept:
    """The columns that are kept on the device while `keep_on_device` is active, by the identity of the arrays on the host."""

    depth: int
    columns: dict[int, tuple[NDArray[Any], Line]]


_kept = _Kept(0, {})
_lock = threading.RLock()


@contextmanager
def keep_on_device() -> Iterator[None]:
    """Keep the columns that are copied to the device until the end of the with statement; arrays must not change meanwhile."""
    with _lock:
        _kept.depth += 1
    try:
        yield
    finally:
        with _lock:
            _kept.depth -= 1
            if not _kept.depth:
                _kept.columns.clear()


def _absent(codes: Codes) -> list[int]:
    """Return the positions of the columns that are not kept on the device."""
    return [i for i, column in enumerate(codes) if id(column) not in _kept.columns]


def is_kept(codes: Codes) -> bool:
    """Return whether all columns are kept on the device, or will be."""
    return _kept.depth > 0 or not _absent(codes)


def register_columns(columns: Codes, tensor: Any) -> None:
    """Use a tensor of bytes that is on the device already for columns, inside `keep_on_device`: without a copy if it is aligned.

    Parameters
    ----------
    columns : the same codes on the host.
    tensor : the codes on the device.  # (column, row)
    """
    rows = tensor.shape[1]
    if rows % ALIGNED or not tensor.is_contiguous() or tensor.data_ptr() % ALIGNED:
        store = padded_store(len(tensor), rows)
        store[:, :rows] = tensor
    else:
        store = tensor
    with _lock:
        if _kept.depth:
            _kept.columns.update({id(column): (column, (store, i)) for i, column in enumerate(columns)})


def padded_store(columns: int, rows: int) -> Any:
    """Return bytes for columns of `rows` rows, each padded with codes for missing to a multiple of `ALIGNED` rows."""
    torch = torch_module()
    width = max(ALIGNED, -(-rows // ALIGNED) * ALIGNED)
    store = torch.empty((columns, width), dtype=torch.uint8, device=device())
    store[:, rows:] = 255
    return store


def columns_on_device(codes: Codes, rows: slice | None = None) -> DeviceColumns:
    """Return columns on the device; those that are kept there are not copied again.

    Parameters
    ----------
    codes : columns of unsigned integers on the host.
    rows : the rows to copy, which are not kept; all rows by default.
    """
    if rows is not None:
        parts = [column[rows] for column in codes]
        return DeviceColumns(_uploaded(parts), len(parts[0]))
    with _lock:
        absent = _absent(codes)
        uploaded = dict(zip(absent, _uploaded([codes[i] for i in absent]), strict=True))
        if _kept.depth:
            _kept.columns.update({id(codes[i]): (codes[i], line) for i, line in uploaded.items()})
        lines = [uploaded[i] if i in uploaded else _kept.columns[id(column)][1] for i, column in enumerate(codes)]
    return DeviceColumns(lines, len(codes[0]))


def on_device(array: NDArray[Any]) -> Any:
    """Return a small array as a tensor on the device."""
    return torch_module().from_numpy(np.ascontiguousarray(array)).to(device())


def _uploaded(codes: Codes) -> list[Line]:
    """Return where each column is after a copy: the bytes together in one tensor, wider codes as 32-bit integers."""
    torch = torch_module()
    narrow = [i for i, column in enumerate(codes) if column.dtype == np.uint8]
    lines: list[Any] = [None] * len(codes)
    if narrow:
        store = _upload_bytes([codes[i] for i in narrow])
        for line, i in enumerate(narrow):
            lines[i] = store, line
    for i, column in enumerate(codes):
        if column.dtype != np.uint8:
            wide = np.full((1, -(-max(1, len(column)) // ALIGNED) * ALIGNED), -1, np.int32)
            wide[0, : len(column)] = column  # 2**32 - 1 becomes -1
            if column.dtype == np.uint16:
                wide[0, : len(column)][column == missing_code(np.uint16)] = -1
            lines[i] = torch.from_numpy(wide).to(device()), 0
    return lines


def _upload_bytes(columns: Codes) -> Any:
    """Return columns of bytes as one tensor, padded as `padded_store`.  # (column, row)"""
    matrix = row_major_matrix(columns) if len(columns) > 1 else None
    store = padded_store(len(columns), len(columns[0]))
    _fill(store, columns, matrix, slice(0, len(columns[0])))
    return store


def _fill(store: Any, columns: Codes, matrix: NDArray[np.uint8] | None, rows: slice) -> None:
    """Copy some rows of columns, which are those of a row-major matrix if there is one, into a tensor on the device."""
    count, copies = rows.stop - rows.start, _copies_to(str(device()))
    if matrix is not None:
        step = max(1, STAGED // len(columns))
        for lo in range(0, count, step):
            part = matrix[rows.start + lo : min(rows.start + lo + step, rows.stop)]
            _transpose(copies.copied(part), store[:, lo : lo + len(part)])
        return
    step = max(1, min(count, STAGED))
    height = max(1, STAGED // step)
    for lo in range(0, count, step):
        part_rows = slice(rows.start + lo, min(rows.start + lo + step, rows.stop))
        for top in range(0, len(columns), height):
            some = [column[part_rows] for column in columns[top : top + height]]
            source = some[0][None] if len(some) == 1 else some
            store[top : top + len(some), lo : lo + len(some[0])] = copies.copied(source)


def _transpose(matrix: Any, columns: Any) -> None:
    """Write the transposed matrix into columns on the device."""
    kernels = fused()
    if kernels is None:
        columns.copy_(matrix.T)
    else:
        kernels.transpose(matrix, columns)


def streamed_blocks(columns: Codes) -> Iterator[tuple[slice, Any]]:
    """Yield the rows of each block of columns of bytes, and its codes on the device, copied while earlier blocks are processed."""
    rows, matrix = len(columns[0]), row_major_matrix(columns) if len(columns) > 1 else None
    smallest, largest = STREAMED
    size = min(max(smallest, rows * len(columns) // BLOCKS), largest)
    step = max(SMALLEST_BLOCK, -(-size // len(columns) // ALIGNED) * ALIGNED)
    for lo in range(0, rows, step):
        part = slice(lo, min(lo + step, rows))
        store = padded_store(len(columns), part.stop - lo)
        _fill(store, columns, matrix, part)
        yield part, store


class _Copies:
    """Copies to the device through two page-locked buffers: while one is copied, threads fill the other.

    Arrays in page-locked memory are copied directly.
    """

    def __init__(self) -> None:
        torch = torch_module()
        cuda = device().type == "cuda"
        self.buffers = [torch.empty(STAGED, dtype=torch.uint8, pin_memory=True) for _ in range(2)] if cuda else []
        self.free = [torch.cuda.Event() for _ in self.buffers]
        self.next = 0
        self.lock = threading.Lock()

    def copied(self, source: NDArray[np.uint8] | Codes) -> Any:
        """Return an array, or columns of the same length, as a tensor on the device."""
        if device().type != "cuda":
            return torch_module().from_numpy(np.array(source))
        if isinstance(source, np.ndarray) and source.flags.c_contiguous:
            direct = _unchecked_tensor(source)
            if direct.is_pinned():
                return self._sent(direct)
        with self.lock:
            return self._through_buffer(source)

    def _through_buffer(self, source: NDArray[np.uint8] | Codes) -> Any:
        buffer, event = self.buffers[self.next], self.free[self.next]
        self.next = 1 - self.next
        event.synchronize()
        shape = len(source), *source[0].shape
        staged = buffer[: int(np.prod(shape))].view(shape)
        array = staged.numpy()

        def fill(task: tuple[Any, slice]) -> None:
            rows, columns = task
            array[rows, columns] = source[rows, columns] if isinstance(source, np.ndarray) else source[rows][columns]

        tasks: list[tuple[Any, slice]]
        if isinstance(source, np.ndarray) and len(source) > 1:
            tasks = [(rows, slice(None)) for rows in _pieces(len(source), 32)]
        else:
            tasks = [(i, part) for i in range(len(source)) for part in _pieces(shape[1], max(1, 32 // len(source)))]
        run_parallel(fill, tasks, array.size)
        tensor = self._sent(staged)
        event.record(_copy_stream())
        return tensor

    def _sent(self, staged: Any) -> Any:
        """Return a copy on the device, made by the copy engine beside the kernels that run."""
        torch, stream = torch_module(), _copy_stream()
        with torch.cuda.stream(stream):
            tensor = staged.to(device(), non_blocking=True)
        current = torch.cuda.current_stream(device())
        current.wait_stream(stream)
        tensor.record_stream(current)
        return tensor


def _pieces(count: int, pieces: int) -> list[slice]:
    """Return ranges of about the same length that cover `range(count)`.

    >>> _pieces(5, 2)
    [slice(0, 2, None), slice(2, 5, None)]
    """
    return [slice(i * count // pieces, (i + 1) * count // pieces) for i in range(pieces)]


def _unchecked_tensor(array: NDArray[np.uint8]) -> Any:
    """Return a tensor that shares the memory of an array; it must not be written to."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of arrays that cannot be written to
        return torch_module().from_numpy(array)


@cache
def _copy_stream() -> Any:
    return torch_module().cuda.Stream(device())


@cache
def _copies_to(name: str) -> _Copies:  # noqa: ARG001
    return _Copies()


def in_row_blocks(codes: Codes, function: Callable[[DeviceColumns, slice], T]) -> Iterator[T]:
    """Yield the values of a function for blocks of rows that fit into the memory of the device: one block where all fit.

    Where the memory is exhausted nevertheless, smaller blocks are tried.
    """
    rows = len(codes[0])
    step = min(rows, _rows_that_fit(codes))
    lo = 0
    while lo < rows or not rows:
        part = slice(lo, min(lo + step, rows))
        whole = part.stop - part.start == rows
        try:
            value = function(columns_on_device(codes, None if whole else part), part)
        except torch_module().OutOfMemoryError as error:
            _release()
            if step <= SMALLEST_BLOCK:
                raise ResourceError(
                    f"the memory of {device_name()} is not enough for {step:,} rows of {len(codes):,} columns and their counts; "
                    "free some of it, or unset NAIVETE_KERNELS to use the processor"
                ) from error
            step = max(SMALLEST_BLOCK, step // 2)
            continue
        yield value
        lo = part.stop
        if not rows:
            return


def fits(codes: Codes) -> bool:
    """Return whether all rows of the columns fit into the memory of the device at the same time."""
    return _rows_that_fit(codes) >= len(codes[0])


def _rows_that_fit(codes: Codes) -> int:
    torch, chosen = torch_module(), device()
    if chosen.type != "cuda":
        return len(codes[0]) or 1
    width = sum(1 if codes[i].dtype == np.uint8 else 4 for i in _absent(codes))
    if not width:
        return len(codes[0]) or 1
    if width * len(codes[0]) <= _all_memory(chosen) // 16:  # asking for the free memory takes half a millisecond
        return len(codes[0]) or 1
    free, _ = torch.cuda.mem_get_info(chosen)
    unused = torch.cuda.memory_reserved(chosen) - torch.cuda.memory_allocated(chosen)
    return max(SMALLEST_BLOCK, int(SHARE * (free + unused)) // max(1, width))


@cache
def _all_memory(chosen: Any) -> int:
    return int(torch_module().cuda.get_device_properties(chosen).total_memory)


def _release() -> None:
    """Release the columns that are kept and the memory that torch has reserved."""
    with _lock:
        _kept.columns.clear()
    if device().type == "cuda":
        torch_module().cuda.empty_cache()
