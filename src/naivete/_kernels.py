"""The inner loops: counting, bit planes and prediction, each in numpy and, where it was compiled, in C.

Counting (`scatter`) writes where prediction (`gather`) reads: a `Layout` gives every family its place in one flat array,
and a row's cell in the table of a family is found by the same mixed-radix address in both. All pairs of features are
counted at once by bit planes: `pack` makes one bitmap of every state, `gram` counts the ones that two bitmaps share.

Both tiers give the same integers, and `gather` the same floats to the bit. The environment variable NAIVETE_KERNELS
chooses one (`numpy` or `c`); otherwise C is used where the library lies beside this file.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from naivete.errors import ParameterError
from naivete.variables import CLASS, Family

__all__ = [
    "Codes",
    "Layout",
    "Planes",
    "gather",
    "gram",
    "margins",
    "pack",
    "posterior",
    "scatter",
    "seen",
    "spread",
    "threads",
    "tier",
    "use",
]

Codes = Sequence[NDArray[Any]]
"""One array for each variable, the class last: uint8, uint16 or uint32 of any stride; the largest code means missing."""

Tier = Literal["c", "numpy"]
Task = TypeVar("Task")
Result = TypeVar("Result")

WORD = 64
PADDING = 8  # the words of a class are a multiple of this, so that a vector never reaches into the next class
AT_ONCE = 1 << 19  # words of one numpy operation: enough for threads not to wait for each other, few enough for the cache
SERIAL = 1 << 18  # a job of fewer elementary steps is done before a thread would have woken up


def _address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


class _Struct:
    """A C struct of pointers and numbers, made of arrays and integers that are kept alive with it."""

    def __init__(self, *members: NDArray[Any] | int) -> None:
        self.members = members
        self.struct = np.array([m if isinstance(m, int) else _address(m) for m in members], np.int64)
        self.address = _address(self.struct)


@dataclass(frozen=True)
class Layout:
    """Where the tables of some families lie in one flat array.

    Parameters
    ----------
    families : the members of each table in the order of its axes.
    cards : how many states each variable has, the class last.

    >>> layout = Layout(((0, -1), (0, 1, -1)), cards=(3, 2, 2))
    >>> layout.size, layout.offsets.tolist(), layout.strides((0, 1, -1)), layout.shape(1)
    (18, [0, 6], (4, 2, 1), (3, 2, 2))
    """

    families: tuple[Family, ...]
    cards: tuple[int, ...]

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many cells each table has."""
        return tuple(prod(self.cards[v] for v in family) for family in self.families)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Where each table begins."""
        return np.cumsum([0, *self.sizes[:-1]], dtype=np.int64)[: len(self.families)]

    @cached_property
    def size(self) -> int:
        """How many cells all tables have together."""
        return sum(self.sizes)

    def strides(self, family: Family) -> tuple[int, ...]:
        """How many cells further the next state of each member lies."""
        return tuple(prod(self.cards[v] for v in family[at + 1 :]) for at in range(len(family)))

    def struct(self, last: int | None) -> _Struct:
        """The layout as _kernels.c wants it; `last` is -1 to leave out the class, the last member of each family."""
        if last not in self._structs:
            members = [family[:last] for family in self.families]
            flat = [v % len(self.cards) for family in members for v in family]
            strides = [s for family in self.families for s in self.strides(family)[:last]]
            first = np.cumsum([0, *map(len, members)], dtype=np.int64)
            lists = (np.array(numbers, np.int64) for numbers in (flat, strides, self.offsets, self.sizes))
            self._structs[last] = _Struct(first, *lists)
        return self._structs[last]

    @cached_property
    def _structs(self) -> dict[int | None, _Struct]:
        return {}

    def shape(self, index: int) -> tuple[int, ...]:
        """The shape of the table of one family."""
        return tuple(self.cards[v] for v in self.families[index])

    def table(self, flat: NDArray[Any], index: int) -> NDArray[Any]:
        """The table of one family, a view of the flat array."""
        start = int(self.offsets[index])
        return flat[start : start + self.sizes[index]].reshape(self.shape(index))


@dataclass(frozen=True)
class Planes:
    """One bitmap for each state of each feature but the first, over rows that are grouped by class.

    Parameters
    ----------
    words : the bitmaps, row r of a class is bit r % 64 of word r // 64 of the class.  # (plane, word)
    bounds : where the words of each class begin, and the end of the last.  # (class + 1,)
    first : where the planes of each feature begin, and the end of the last; the last plane of a feature that has
        missing values tells where it is present.  # (feature + 1,)
    counts : how many rows each class has.  # (class,)
    """

    words: NDArray[np.uint64]
    bounds: NDArray[np.int64]
    first: NDArray[np.int64]
    counts: NDArray[np.int64]


def threads() -> int:
    """How many threads to use: NAIVETE_THREADS, else OMP_NUM_THREADS, else the processors this process may run on."""
    for name in ("NAIVETE_THREADS", "OMP_NUM_THREADS"):
        text = os.environ.get(name, "").split(",")[0].strip()
        if text.isdecimal() and int(text) > 0:
            return int(text)
        if text and name == "NAIVETE_THREADS":
            raise ParameterError(f"NAIVETE_THREADS is {text!r}; it has to be a positive whole number")
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_worker = threading.local()


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    def mark() -> None:
        _worker.here = True

    return ThreadPoolExecutor(workers, thread_name_prefix="naivete", initializer=mark)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


def spread(function: Callable[[Task], Result], tasks: Sequence[Task], work: float = np.inf) -> list[Result]:
    """The results of all tasks in order, made by the shared threads unless the work is too small to be worth it.

    The calling thread takes its part; inside one of the shared threads everything is done on the spot.

    >>> spread(abs, [1, -2, 3])
    [1, 2, 3]
    """
    alone = len(tasks) < 2 or work < SERIAL or getattr(_worker, "here", False)
    workers = 1 if alone else min(threads(), len(tasks))
    if workers < 2:
        return [function(task) for task in tasks]
    results: list[Any] = [None] * len(tasks)
    waiting = iter(range(len(tasks)))  # next() of it is atomic

    def help_out() -> None:
        for at in waiting:
            results[at] = function(tasks[at])

    helpers = [_pool(threads()).submit(help_out) for _ in range(workers - 1)]
    try:
        help_out()
    finally:
        for helper in helpers:
            helper.exception()
    for helper in helpers:
        helper.result()
    return results


_chosen: Tier | None = None


def tier() -> Tier:
    """Which kernels are in use: "c" or "numpy"."""
    if _chosen is not None:
        return _chosen
    wanted = os.environ.get("NAIVETE_KERNELS", "")
    if wanted not in ("", "c", "numpy"):
        raise ParameterError(f"NAIVETE_KERNELS is {wanted!r}; it can be c or numpy")
    if wanted == "numpy":
        return "numpy"
    if _library() is not None:
        return "c"
    if wanted == "c":
        raise ParameterError("NAIVETE_KERNELS asks for c, but the compiled library is not there; install with a C compiler")
    return "numpy"


@contextmanager
def use(tier: Tier) -> Iterator[None]:
    """Choose the kernels for the body of a with statement, in all threads."""
    global _chosen
    if tier == "c" and _library() is None:
        raise ParameterError("the compiled library is not there; install with a C compiler")
    before, _chosen = _chosen, tier
    try:
        yield
    finally:
        _chosen = before


_P, _I = ctypes.c_void_p, ctypes.c_int64
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {  # the result and the arguments of each function of _kernels.c
    "level": (ctypes.c_int, [ctypes.c_int]),
    "scatter": (ctypes.c_int, [_P, _I, _P, _I, _I, _I, _I, _I, _P, _P]),
    "gather": (ctypes.c_int, [_P, _I, _P, _I, _I, _I, _I, _P, _I, _P]),
    "posterior": (None, [_P, _I, _I, _P]),
    "class_order": (None, [_P, _I, _I, _I, _P, _P]),
    "pack": (ctypes.c_int, [_P, _I, _P, _P, _P, _P, _P, _I, _I]),
    "gram": (None, [_P, _I, _I, _I, _I, _I, _I, _P, _I, _I]),
    "margins": (None, [_P, _I, _I, _I, _P]),
    "seen": (ctypes.c_int, [_P, _I, _I, _I, _P]),
}


@cache
def _library() -> ctypes.CDLL | None:
    path = Path(__file__).with_name("libkernels.dll" if os.name == "nt" else "libkernels.so")
    try:
        library = ctypes.CDLL(str(path)) if path.exists() else None
        for name, (result, arguments) in _SIGNATURES.items() if library else ():
            function = getattr(library, f"naivete_{name}")
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError):  # built for another machine, or another version of this file
        return None
    if library:
        library.naivete_level(99)
    return library


def _compiled() -> ctypes.CDLL | None:
    return _library() if tier() == "c" else None


def _columns(codes: Codes) -> tuple[NDArray[np.int64], Codes]:
    """Data, stride and item size of each column, as in struct column; and the arrays, to be kept alive."""
    held = [c if c.flags.aligned else c.copy() for c in codes]
    return np.array([(_address(c), c.strides[0], c.itemsize) for c in held], np.int64).reshape(-1, 3), held


def _remembered(done: int) -> None:
    if not done:
        raise MemoryError("no memory for a block of rows")


def _total(private: NDArray[Any]) -> NDArray[Any]:
    """The sum of what the threads counted."""
    total: NDArray[Any] = private[0] if len(private) == 1 else private.sum(axis=0, dtype=private.dtype)
    return total


def _ranges(count: int, work: float, each: int = 1, multiple: int = 1) -> list[tuple[int, int]]:
    """The numbers below count in `each` ranges for every thread, or in one for little work; they begin at multiples."""
    parts = each * threads() if work >= SERIAL else 1
    step = max(multiple, -(-count // parts // multiple) * multiple)
    return [(lo, min(lo + step, count)) for lo in range(0, count, step)]


def scatter(codes: Codes, layout: Layout, weight: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """The counts of all families in one pass over the rows; a row with a missing member is left out of that family.

    Parameters
    ----------
    codes : the columns, the class last.
    layout : the families to count.
    weight : how often each row counts; once where None.

    >>> codes = [np.array([0, 0, 1, 255], np.uint8), np.array([0, 1, 1, 1], np.uint8)]
    >>> scatter(codes, Layout(((0, -1), (-1,)), cards=(2, 2))).tolist()
    [1, 1, 0, 1, 1, 3]
    """
    library = _compiled()
    if library is None or max(layout.sizes, default=0) >= 1 << 32:
        return _scatter_numpy(codes, layout, weight)
    return _scatter_c(library, codes, layout, None if weight is None else np.ascontiguousarray(weight, np.int64))


def _scatter_c(library: ctypes.CDLL, codes: Codes, layout: Layout, weight: NDArray[np.int64] | None) -> NDArray[np.int64]:
    rows, families, n = len(codes[0]), len(layout.families), len(codes)
    columns, _held = _columns(codes)
    struct = layout.struct(None)
    block = min(max(256, (1 << 17) // n // 16 * 16), 4096) if layout.size <= 1 << 15 else 1 << 15
    work, heavy = rows * families, None if weight is None else _address(weight)

    def fill(counts: NDArray[np.int64], first: int, last: int, lo: int, hi: int) -> None:
        at = (_address(columns), n, struct.address, first, last, lo, hi, min(block, hi - lo))
        _remembered(library.naivete_scatter(*at, heavy, _address(counts)))

    workers = threads() if work >= SERIAL else 1
    if workers > 1 and layout.size * workers > max(rows, 1 << 16) and families >= workers:
        counts = np.zeros(layout.size, np.int64)
        spread(lambda part: fill(counts, *part, 0, rows), _ranges(families, work, 4), work)
        return counts
    parts = _ranges(rows, work, 1, 4096)
    private = np.zeros((max(1, len(parts)), layout.size), np.int64)
    spread(lambda i: fill(private[i], 0, families, *parts[i]), range(len(parts)), work)
    return _total(private)


def _scatter_numpy(codes: Codes, layout: Layout, weight: NDArray[np.int64] | None) -> NDArray[np.int64]:
    counts = np.zeros(layout.size, np.int64)
    tables = list(zip(layout.families, layout.offsets.tolist(), layout.sizes, strict=True))
    block = min(max(8192, 4 * max(layout.sizes, default=1)), 1 << 20)
    for lo in range(0, len(codes[0]), block):  # in one thread: bincount keeps the others waiting
        part, heavy = _Block(codes, slice(lo, lo + block)), None if weight is None else weight[lo : lo + block]
        for family, start, size in tables:
            address, missing = part.address(family, layout.strides(family), size)
            if missing is None:
                counts[start : start + size] += _histogram(address, heavy, size)
            else:
                there = ~missing
                counts[start : start + size] += _histogram(address[there], None if heavy is None else heavy[there], size)
    return counts


def _histogram(address: NDArray[Any], weight: NDArray[np.int64] | None, size: int) -> NDArray[np.int64]:
    if weight is None:
        return np.bincount(address, minlength=size)
    if float(np.abs(weight).sum(dtype=np.float64)) < 2.0**52:  # every partial sum is a float without rounding
        return np.bincount(address, weight, minlength=size).astype(np.int64)
    counts = np.zeros(size, np.int64)
    np.add.at(counts, address, weight)
    return counts


class _Block:
    """Some rows of the columns, each made contiguous when first asked for."""

    def __init__(self, codes: Codes, rows: slice) -> None:
        self.codes = codes
        self.rows = rows
        self.columns: dict[int, tuple[NDArray[Any], NDArray[np.bool_] | None]] = {}

    def column(self, variable: int) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """The codes of one variable and where they are missing, None where nowhere."""
        if variable not in self.columns:
            column = np.ascontiguousarray(self.codes[variable][self.rows])
            last = np.iinfo(column.dtype).max
            missing = column == last if len(column) and column.max() == last else None
            self.columns[variable] = column, missing
        return self.columns[variable]

    def address(self, members: Family, strides: Sequence[int], size: int) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """The cell of each row, and the rows that have none."""
        dtype = np.uint16 if size < 1 << 16 else np.uint32 if size < 1 << 32 else np.int64
        rows = len(self.codes[0][self.rows])
        address: NDArray[Any] = np.zeros(rows, dtype)
        anywhere: NDArray[np.bool_] | None = None
        for member, stride in zip(members, strides, strict=True):
            column, missing = self.column(member)
            address += np.multiply(column, stride, dtype=dtype, casting="unsafe")
            if missing is not None:
                anywhere = missing if anywhere is None else anywhere | missing
        return address, anywhere


def gather(codes: Codes, layout: Layout, values: NDArray[np.float64], classes: int) -> NDArray[np.float64]:
    """For each row and class the sum over the families, in their order, of the value in the row's cell.

    A family of which a member is missing adds nothing to the row. Rows come from the first column, so there has to be one.

    Parameters
    ----------
    codes : the feature columns, without the class.
    layout : families that end with the class.
    values : the tables of the families.
    classes : how many classes there are.

    >>> layout = Layout(((-1,), (0, -1)), cards=(2, 2))
    >>> gather([np.array([0, 1, 255], np.uint8)], layout, np.array([1.0, 2.0, 10.0, 20.0, 30.0, 40.0]), 2).tolist()
    [[11.0, 22.0], [31.0, 42.0], [1.0, 2.0]]
    """
    library = _compiled()
    if library is None or max(layout.sizes, default=0) >= 1 << 32:
        return _gather_numpy(codes, layout, values, classes)
    return _gather_c(library, codes, layout, np.ascontiguousarray(values, np.float64), classes)


def _gather_c(
    library: ctypes.CDLL, codes: Codes, layout: Layout, values: NDArray[np.float64], classes: int
) -> NDArray[np.float64]:
    rows, families, n = len(codes[0]), len(layout.families), len(codes)
    joint = np.empty((rows, classes))
    columns, _held = _columns(codes)
    struct = layout.struct(-1)
    block = min(max(128, (1 << 15) // max(n, classes) // 16 * 16), 1024)

    def fill(part: tuple[int, int]) -> None:
        lo, hi = part
        at = (_address(columns), n, struct.address, families, lo, hi, min(block, hi - lo))
        _remembered(library.naivete_gather(*at, _address(values), classes, _address(joint)))

    work = rows * families * 4
    spread(fill, _ranges(rows, work, 8, 4096), work)
    return joint


def _gather_numpy(codes: Codes, layout: Layout, values: NDArray[np.float64], classes: int) -> NDArray[np.float64]:
    joint = np.zeros((len(codes[0]), classes))
    block = 8192

    def fill(lo: int) -> None:
        part, rows = _Block(codes, slice(lo, lo + block)), joint[lo : lo + block]
        for index, family in enumerate(layout.families):
            table = layout.table(values, index).reshape(-1, classes)
            if family == (CLASS,):
                rows += table
                continue
            strides = [stride // classes for stride in layout.strides(family)[:-1]]
            address, missing = part.address(family[:-1], strides, len(table))
            if missing is not None:
                address[missing] = 0
            terms = table.take(address, axis=0)
            if missing is not None:
                terms[missing] = 0.0
            rows += terms

    spread(fill, range(0, len(joint), block), work=joint.size * len(layout.families))
    return joint


def posterior(joint: NDArray[np.float64]) -> NDArray[np.float64]:
    """The probabilities of the classes in each row from their joint logarithms; each row has one that is finite.

    >>> posterior(np.log([[1.0, 3.0]])).round(6).tolist()
    [[0.25, 0.75]]
    """
    library = _compiled()
    return _posterior_numpy(joint) if library is None else _posterior_c(library, np.ascontiguousarray(joint, np.float64))


def _posterior_c(library: ctypes.CDLL, joint: NDArray[np.float64]) -> NDArray[np.float64]:
    result = np.empty(joint.shape)
    classes = joint.shape[1]

    def fill(part: tuple[int, int]) -> None:
        lo, hi = part
        library.naivete_posterior(_address(joint[lo:hi]), hi - lo, classes, _address(result[lo:hi]))

    work = 16 * joint.size
    spread(fill, _ranges(len(joint), work, 8, 64), work)
    return result


def _posterior_numpy(joint: NDArray[np.float64]) -> NDArray[np.float64]:
    result = np.empty(joint.shape)

    def fill(lo: int) -> None:
        part = np.exp(joint[lo : lo + 4096] - joint[lo : lo + 4096].max(axis=1, keepdims=True))
        total = part[:, 0].copy()
        for c in range(1, part.shape[1]):  # in this order whatever the number of rows
            total += part[:, c]
        np.divide(part, total[:, None], out=result[lo : lo + 4096])

    spread(fill, range(0, len(joint), 4096), work=8 * joint.size)
    return result


def pack(codes: Codes, cards: Sequence[int], missing: Sequence[bool], labels: NDArray[Any], classes: int) -> Planes:
    """The bit planes of some feature columns; rows without a label are left out.

    Parameters
    ----------
    codes : the columns.
    cards : how many states each has.
    missing : whether a column gets a plane that tells where it is present.
    labels : the class column.
    classes : how many classes there are.

    >>> planes = pack([np.array([0, 1, 2, 1], np.uint8)], [3], [False], np.array([1, 0, 1, 1], np.uint8), 2)
    >>> planes.words[:, planes.bounds[:2]].tolist(), planes.counts.tolist()
    ([[1, 4], [0, 2]], [1, 3])
    """
    first = np.cumsum([0, *(card - 1 + bool(gaps) for card, gaps in zip(cards, missing, strict=True))], dtype=np.int64)
    library = _compiled()
    if library is None or len(labels) >= 1 << 32:
        order, counts = _class_order_numpy(labels, classes)
        planes = _room(first, counts)
        _pack_numpy(codes, cards, missing, order, planes)
    else:
        rows, counts = _class_order_c(library, labels, classes)
        planes = _room(first, counts)
        _pack_c(library, codes, cards, missing, rows, planes)
    return planes


def _room(first: NDArray[np.int64], counts: NDArray[np.int64]) -> Planes:
    """Planes without their contents, aligned with the lines of the cache."""
    bounds = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(-(-counts // (WORD * PADDING)) * PADDING, out=bounds[1:])
    planes, width = int(first[-1]), int(bounds[-1])
    flat = np.empty(planes * width + 8, np.uint64)
    start = -_address(flat) % 64 // 8
    return Planes(flat[start : start + planes * width].reshape(planes, width), bounds, first, counts)


def _class_order_c(library: ctypes.CDLL, labels: NDArray[Any], classes: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The rows by class, those without a label last: counted part by part, then each part written where it belongs."""
    column, _held = _columns([labels])
    parts = _ranges(len(labels), len(labels), 1, 4096)
    at = np.zeros((len(parts), classes + 1), np.int64)
    order = np.empty(len(labels), np.uint32)

    def go(i: int, to: int | None) -> None:
        library.naivete_class_order(_address(column), *parts[i], classes, _address(at[i]), to)

    spread(lambda i: go(i, None), range(len(parts)), len(labels))
    counts = at.sum(axis=0)
    at[:] = np.cumsum(at.T).reshape(classes + 1, -1).T - at  # by class, then by part
    spread(lambda i: go(i, _address(order)), range(len(parts)), len(labels))
    return order, counts[:classes]


def _bitmaps(planes: Planes) -> _Struct:
    return _Struct(planes.words, planes.bounds, planes.counts, planes.words.shape[1], len(planes.counts))


def _pack_c(
    library: ctypes.CDLL, codes: Codes, cards: Sequence[int], missing: Sequence[bool], order: NDArray[np.uint32], planes: Planes
) -> None:
    columns, _held = _columns(codes)
    bitmaps = _bitmaps(planes)
    sizes, gaps = np.array(cards, np.int64), np.array(missing, np.uint8)
    before = (_address(columns), len(codes), _address(sizes), _address(gaps), _address(planes.first), _address(order))
    work = len(order) * len(codes)

    def fill(part: tuple[int, int]) -> None:
        _remembered(library.naivete_pack(*before, bitmaps.address, *part))

    spread(fill, _ranges(planes.words.shape[1], work, 8, 16), work)


def _class_order_numpy(labels: NDArray[Any], classes: int) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """The rows by class, those of one class in their order, and how many there are of each."""
    counts = np.bincount(labels[labels != np.iinfo(labels.dtype).max], minlength=classes)
    if classes > 8:
        return np.argsort(labels, kind="stable")[: counts.sum()], counts
    return np.concatenate([np.flatnonzero(labels == c) for c in range(classes)]), counts


def _pack_numpy(codes: Codes, cards: Sequence[int], missing: Sequence[bool], order: NDArray[np.intp], planes: Planes) -> None:
    out = planes.words.view(np.uint8)
    kinds = {c.dtype for c in codes}
    together = [_Together(np.flatnonzero([c.dtype == kind for c in codes]), codes, cards, missing) for kind in kinds]
    step = max(512, min(1 << 14, (1 << 20) // max(1, len(codes)) // 512 * 512))
    starts, tasks = np.cumsum(planes.counts) - planes.counts, []
    for start, count, at in zip(starts.tolist(), planes.counts.tolist(), planes.bounds.tolist(), strict=False):
        tasks += [(start + lo, min(step, count - lo), at * 8 + lo // 8) for lo in range(0, count, step)]

    def fill(task: tuple[int, int, int]) -> None:
        start, count, lo = task
        hi = lo + -(-count // 512) * WORD
        for some in together:
            chunk = some.rows(order[start : start + count], (hi - lo) * 8)
            for members, state in some.states:
                rows = chunk if len(members) == len(chunk) else chunk[members]
                out[planes.first[some.columns[members]] + (state - 1), lo:hi] = np.packbits(rows == state, 1, "little")
            if len(some.gaps):
                there = chunk[some.gaps] != some.none
                out[planes.first[some.columns[some.gaps] + 1] - 1, lo:hi] = np.packbits(there, 1, "little")

    spread(fill, tasks, work=len(order) * len(out))


class _Together:
    """Columns of one type, which numpy packs together.

    `states` holds every state but the first with the positions of the columns that have it, `gaps` the positions of those
    that need a plane for being present.
    """

    def __init__(self, columns: NDArray[np.intp], codes: Codes, cards: Sequence[int], missing: Sequence[bool]) -> None:
        self.columns, self.codes = columns, [codes[j] for j in columns]
        sizes = np.array(cards)[columns]
        self.states = [(np.flatnonzero(sizes > state), state) for state in range(1, int(sizes.max()))]
        self.gaps = np.flatnonzero(np.array(missing)[columns])
        self.none = np.iinfo(self.codes[0].dtype).max
        self.matrix = _matrix(self.codes)

    def rows(self, rows: NDArray[np.intp], width: int) -> NDArray[Any]:
        """The codes of the rows, then missing ones up to the width.  # (column, row)"""
        chunk = np.full((len(self.codes), width), self.none, self.codes[0].dtype)
        if self.matrix is not None:
            chunk[:, : len(rows)] = self.matrix.take(rows, 0).T if self.matrix.flags.c_contiguous else self.matrix[rows].T
            return chunk
        for line, column in zip(chunk, self.codes, strict=True):
            line[: len(rows)] = column[rows]
        return chunk


def _matrix(columns: Codes) -> NDArray[Any] | None:
    """The row-major matrix whose neighbouring columns these are, None where there is none.  # (row, column)"""
    start, step, item = _address(columns[0]), columns[0].strides[0], columns[0].itemsize
    if len(columns[0]) == 0 or step < len(columns) * item:
        return None
    if any(c.strides[0] != step or _address(c) != start + j * item for j, c in enumerate(columns)):
        return None
    shape = len(columns[0]), len(columns)
    return np.lib.stride_tricks.as_strided(columns[0], shape, (step, item), writeable=False)


def margins(planes: Planes) -> NDArray[np.int64]:
    """How many rows of each class each plane holds.  # (class, plane)"""
    library = _compiled()
    return _margins_numpy(planes) if library is None else _margins_c(library, planes)


def _margins_c(library: ctypes.CDLL, planes: Planes) -> NDArray[np.int64]:
    count, width = planes.words.shape
    totals = np.empty((len(planes.counts), count), np.int64)
    bitmaps = _bitmaps(planes)

    def fill(part: tuple[int, int]) -> None:
        library.naivete_margins(bitmaps.address, *part, count, _address(totals))

    work = count * width
    spread(fill, _ranges(count, work, 2, 4), work)
    return totals


def _margins_numpy(planes: Planes) -> NDArray[np.int64]:
    totals = np.empty((len(planes.counts), len(planes.words)), np.int64)
    for c, (lo, hi) in enumerate(zip(planes.bounds[:-1].tolist(), planes.bounds[1:].tolist(), strict=True)):
        totals[c] = np.bitwise_count(planes.words[:, lo:hi]).sum(axis=1, dtype=np.int64)
    return totals


def gram(planes: Planes, rows: slice, columns: slice) -> NDArray[np.int32]:
    """How many rows of each class two planes share: one of `rows`, the other of `columns`.

    A pair of which the second plane comes before the first may be left 0.  # (class, rows, columns)
    """
    library, height = _compiled(), len(planes.words)
    down, across = range(*rows.indices(height)), range(*columns.indices(height))
    return _gram_numpy(planes, down, across) if library is None else _gram_c(library, planes, down, across)


def _gram_c(library: ctypes.CDLL, planes: Planes, rows: range, columns: range) -> NDArray[np.int32]:
    shape = len(planes.counts), len(rows), len(columns)
    width, cells = planes.words.shape[1], shape[1] * shape[2]
    work = cells * width // 4
    bitmaps = _bitmaps(planes)

    def fill(counts: NDArray[np.int32], row: tuple[int, int], words: tuple[int, int]) -> None:
        lo, hi = (rows.start + r for r in row)
        to = _address(counts[:, row[0] :])
        library.naivete_gram(bitmaps.address, lo, hi, columns.start, columns.stop, *words, to, cells, shape[2])

    if work < SERIAL or cells * shape[0] > width * 64:  # many pairs of short planes: a strip of rows at a time
        counts = np.zeros(shape, np.int32)
        spread(lambda row: fill(counts, row, (0, width)), _ranges(shape[1], work, 16, 4), work)
        return counts
    parts = _ranges(width, work, 1, PADDING)
    private = np.zeros((len(parts), *shape), np.int32)
    spread(lambda i: fill(private[i], (0, shape[1]), parts[i]), range(len(parts)), work)
    return _total(private)


def _gram_numpy(planes: Planes, rows: range, columns: range) -> NDArray[np.int32]:
    counts = np.zeros((len(planes.counts), len(rows), len(columns)), np.int32)
    spans = _spans(planes.bounds.tolist())
    longest = max((span[-1][2] - span[0][1] for span in spans), default=1)
    wide = max(1, min(len(columns), AT_ONCE // longest))
    high = max(1, min(len(rows), AT_ONCE // (wide * longest)))

    def fill(strip: tuple[int, int]) -> None:
        top, bottom = strip
        down = slice(rows.start + top, rows.start + bottom)
        shared = np.empty(high * wide * longest, np.uint64)
        ones = np.empty(shared.shape, np.uint8)
        for span in spans:
            lo, hi = span[0][1], span[-1][2]
            for left in range(max(0, down.start - columns.start), len(columns), wide):
                right = min(left + wide, len(columns))
                across = slice(columns.start + left, columns.start + right)
                shape = bottom - top, right - left, hi - lo
                both, bits = shared[: prod(shape)], ones[: prod(shape)]
                np.bitwise_and(planes.words[down, None, lo:hi], planes.words[None, across, lo:hi], out=both.reshape(shape))
                np.bitwise_count(both, out=bits)
                for c, start, end in span:
                    counts[c, top:bottom, left:right] += _sums(bits.reshape(shape)[..., start - lo : end - lo])

    work = len(rows) * len(columns) * planes.words.shape[1]
    spread(fill, [(top, min(top + high, len(rows))) for top in range(0, len(rows), high)], work)
    return counts


def _spans(bounds: list[int]) -> list[list[tuple[int, int, int]]]:
    """Words of several classes, up to 512 together: the class, where they begin and where they end.

    >>> _spans([0, 8, 8, 1000])
    [[(0, 0, 8)], [(2, 8, 520)], [(2, 520, 1000)]]
    """
    spans: list[list[tuple[int, int, int]]] = []
    for c, (start, end) in enumerate(pairwise(bounds)):
        for lo in range(start, end, 512):
            hi = min(lo + 512, end)
            if not spans or hi - spans[-1][0][1] > 512:
                spans.append([])
            spans[-1].append((c, lo, hi))
    return spans


def _sums(ones: NDArray[np.uint8]) -> NDArray[Any]:
    """Sums over the last axis of at most 512 numbers up to 64; of a few a product is quicker than a sum."""
    if ones.shape[-1] >= 256:
        total: NDArray[Any] = np.add.reduce(ones, axis=-1, dtype=np.uint16)
    else:
        total = (ones @ np.ones(ones.shape[-1], np.float32)).astype(np.int32)
    return total


def seen(columns: Codes) -> list[NDArray[np.bool_]]:
    """Which of the 256 values occur in each of the uint8 columns.

    >>> np.flatnonzero(seen([np.array([3, 1, 3], np.uint8)])[0]).tolist()
    [1, 3]
    """
    library = _compiled()
    return _seen_numpy(columns) if library is None else _seen_c(library, columns)


def _seen_c(library: ctypes.CDLL, columns: Codes) -> list[NDArray[np.bool_]]:
    struct, held = _columns(columns)
    rows = len(held[0]) if held else 0
    parts = _ranges(rows, rows * len(held), 1, 1024)
    found = np.zeros((len(parts), len(held), 256), bool)

    def fill(i: int) -> None:
        _remembered(library.naivete_seen(_address(struct), len(held), *parts[i], _address(found[i])))

    spread(fill, range(len(parts)), rows * len(held))
    return list(np.logical_or.reduce(found, axis=0))


def _seen_numpy(columns: Codes) -> list[NDArray[np.bool_]]:
    found = np.zeros((len(columns), 256), bool)

    def look(j: int) -> None:
        for lo in range(0, len(columns[j]), 1 << 16):
            part = np.ascontiguousarray(columns[j][lo : lo + (1 << 16)])
            known = np.flatnonzero(~found[j])  # codes are dense, so there is seldom anything above the first of these
            if not len(known) or (part.max() >= known[0]):
                found[j, part] = True

    spread(look, range(len(columns)), work=sum(map(len, columns)))
    return list(found)
