"""Prediction: sums over the families of the table value of each row, sums over states, and posterior probabilities."""

from __future__ import annotations

import ctypes
from math import prod

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.counting import RowBlock
from naivete._kernels.dispatch import address, columns_struct, compiled, on_gpu, require_memory, without_continuous
from naivete._kernels.layout import Codes, Layout
from naivete._kernels.threads import NUMPY_STEPS, ranges, run_parallel
from naivete.variables import CLASS

__all__ = ["gather", "log_sum_exp", "posterior"]


def gather(codes: Codes, layout: Layout, values: NDArray[np.float64], classes: int) -> NDArray[np.float64]:
    """Return, for each row and class, the sum over the families of the value in the row's cell, added in the order of families.

    A family with a missing member in a row adds nothing to that row.

    Parameters
    ----------
    codes : the feature columns, at least one, without the class.
    layout : families that end with the class.
    values : the tables of the families.
    classes : the number of classes.

    >>> layout = Layout(((-1,), (0, -1)), cards=(2, 2))
    >>> gather([np.array([0, 1, 255], np.uint8)], layout, np.array([1.0, 2.0, 10.0, 20.0, 30.0, 40.0]), 2).tolist()
    [[11.0, 22.0], [31.0, 42.0], [1.0, 2.0]]
    """
    library, codes = compiled(), without_continuous(codes, layout.families)
    if on_gpu(len(codes[0]) * len(layout.families)):
        from naivete._kernels.device_counting import gather_on_device

        return gather_on_device(codes, layout, values, classes)
    if library is None or max(layout.sizes, default=0) >= 1 << 32:
        return _gather_numpy(codes, layout, values, classes)
    return _gather_c(library, codes, layout, np.ascontiguousarray(values, np.float64), classes)


def _gather_c(library: ctypes.CDLL, codes: Codes, layout: Layout, values: NDArray[np.float64], classes: int) -> NDArray[np.float64]:
    rows, families, n = len(codes[0]), len(layout.families), len(codes)
    joint = np.empty((rows, classes))
    columns, _kept_alive = columns_struct(codes)
    struct = layout.struct(-1)
    block = min(max(128, (1 << 15) // max(n, classes) // 16 * 16), 1024)

    def fill(part: tuple[int, int]) -> None:
        lo, hi = part
        arguments = (address(columns), n, struct.address, families, lo, hi, min(block, hi - lo))
        require_memory(library.naivete_gather(*arguments, address(values), classes, address(joint)))

    work = rows * families * 4
    run_parallel(fill, ranges(rows, work, 8, 4096), work)
    return joint


def _gather_numpy(codes: Codes, layout: Layout, values: NDArray[np.float64], classes: int) -> NDArray[np.float64]:
    joint = np.zeros((len(codes[0]), classes))
    block = 8192

    def fill(lo: int) -> None:
        part, rows = RowBlock(codes, slice(lo, lo + block)), joint[lo : lo + block]
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

    run_parallel(fill, range(0, len(joint), block), work=NUMPY_STEPS * joint.size * len(layout.families))
    return joint


def posterior(joint: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities of the classes in each row from joint log-probabilities, at least one finite in each row.

    >>> posterior(np.log([[1.0, 3.0]])).round(6).tolist()
    [[0.25, 0.75]]
    """
    library = compiled()
    return _posterior_numpy(joint) if library is None else _posterior_c(library, np.ascontiguousarray(joint, np.float64))


def _posterior_c(library: ctypes.CDLL, joint: NDArray[np.float64]) -> NDArray[np.float64]:
    result = np.empty(joint.shape)
    classes = joint.shape[1]

    def fill(part: tuple[int, int]) -> None:
        lo, hi = part
        library.naivete_posterior(address(joint[lo:hi]), hi - lo, classes, address(result[lo:hi]))

    work = 16 * joint.size
    run_parallel(fill, ranges(len(joint), work, 8, 64), work)
    return result


def _posterior_numpy(joint: NDArray[np.float64]) -> NDArray[np.float64]:
    result = np.empty(joint.shape)

    def fill(lo: int) -> None:
        with np.errstate(under="ignore"):  # underflow to zero is correct, whatever error state the caller has set
            part = np.exp(joint[lo : lo + 4096] - joint[lo : lo + 4096].max(axis=1, keepdims=True))
            total = part[:, 0].copy()
            for c in range(1, part.shape[1]):  # the order of additions must not depend on the number of rows
                total += part[:, c]
            np.divide(part, total[:, None], out=result[lo : lo + 4096])

    run_parallel(fill, range(0, len(joint), 4096), work=NUMPY_STEPS * 8 * joint.size)
    return result


def log_sum_exp(values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Return log(sum(exp(values))) over one axis, added in the order of the axis; -inf where all values are.

    Parameters
    ----------
    values : logarithms, none of them nan or inf.
    axis : the axis of the sum, counted from the first.

    >>> log_sum_exp(np.log([[0.25, 0.5], [0.5, 0.5]]), 0).round(6).tolist()
    [-0.287682, 0.0]
    """
    library = compiled()
    return _log_sum_exp_numpy(values, axis) if library is None else _log_sum_exp_c(library, values, axis)


def _log_sum_exp_c(library: ctypes.CDLL, values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    values, shape = np.ascontiguousarray(values, np.float64), values.shape
    outer, states, inner = prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
    result = np.empty((*shape[:axis], *shape[axis + 1 :]))
    first, out = address(values), address(result)

    def fill(part: tuple[int, int]) -> None:
        lo, hi = part
        library.naivete_log_sum_exp(first + 8 * lo * states * inner, hi - lo, states, inner, out + 8 * lo * inner)

    work = 16 * values.size
    run_parallel(fill, ranges(outer, work, 8, 16), work)
    return result


def _log_sum_exp_numpy(values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    top = values.max(axis=axis, keepdims=True)
    top = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore", under="ignore"):
        first, *others = np.moveaxis(np.exp(values - top), axis, 0)
        total = first.copy()
        for part in others:  # the order of additions must not depend on the shape
            total += part
        return np.asarray(np.log(total) + top.squeeze(axis))
