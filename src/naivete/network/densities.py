"""Densities of numbers that are not cut: one bell in each class, perhaps moved by other numbers, or a sum of bells."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete.errors import DataError

__all__ = ["FAR", "Kernel", "Normal"]

KERNEL_CELLS = 1 << 20

FAR = 1e6
"""How many deviations from the mean are told apart; what is further out tells nothing more."""


@dataclass(frozen=True, eq=False)
class Normal:
    """A normal density of x in each configuration of its discrete parents, its mean linear in its numeric ones.

    Parameters
    ----------
    means : the mean where all numeric parents are 0, with an axis for each discrete parent in increasing order, the class last.
    variances : the variance likewise, above zero.
    slopes : by how much the mean rises with each numeric parent, with one more axis for these, in increasing order.
    """

    means: NDArray[np.float64]
    variances: NDArray[np.float64]
    slopes: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        for array in (self.means, self.variances, *(() if self.slopes is None else (self.slopes,))):
            array.setflags(write=False)

    @cached_property
    def _scale(self) -> NDArray[np.float64]:
        """The deviations."""
        return np.sqrt(self.variances)

    @cached_property
    def _top(self) -> NDArray[np.float64]:
        """The logarithms of the densities at the mean."""
        return np.asarray(-0.5 * np.log(2 * np.pi * self.variances))

    def logs(self, values: NDArray[np.float64], at: Any, numbers: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """The logarithms of the density of some values in some configurations; finite also where a value is far out.

        `numbers` are those of the numeric parents, along the last axis.

        >>> Normal(np.zeros(1), np.ones(1)).logs(np.array([0.0, 1e300]), (np.array([0, 0]),)).round(3).tolist()[0]
        -0.919
        """
        if self.slopes is not None:
            values = values - (numbers * self.slopes[at]).sum(axis=-1)
        with np.errstate(over="ignore"):
            away = np.clip((values - self.means[at]) / self._scale[at], -FAR, FAR)
        return np.asarray(self._top[at] - 0.5 * away * away)


@dataclass(frozen=True, eq=False, kw_only=True)
class Kernel(Normal):
    """A density that is a sum of normal ones around points, in each class; its means and variances are those of the whole.

    Parameters
    ----------
    points : the points, increasing.
    weights : what share each has in each class.  # (point, class)
    widths : the deviation of the bells of each class.
    """

    points: NDArray[np.float64]
    weights: NDArray[np.float64]
    widths: NDArray[np.float64]

    def check(self, classes: int, where: str) -> None:
        """Refuse arrays that do not fit each other and the number of classes."""
        count = len(self.points)
        shapes = self.points.shape, self.weights.shape, self.widths.shape
        if not count or shapes != ((count,), (count, classes), (classes,)):
            raise DataError(f"{where} needs points, and for each class a share of each point and a width")
        if not np.all(np.isfinite(self.points)) or not np.all(np.diff(self.points) > 0):
            raise DataError(f"{where} has points that are no numbers, or do not increase")
        if not np.all(np.isfinite(self.widths)) or not self.widths.min() > 0:
            raise DataError(f"{where} has a width that is not above zero")
        if not self.weights.min() >= 0 or not np.all(np.abs(self.weights.sum(axis=0) - 1) <= 1e-9):
            raise DataError(f"{where} has negative or non-finite shares, or some that do not sum to 1")

    def logs(
        self,
        values: NDArray[np.float64],
        at: Any,  # noqa: ARG002
        numbers: NDArray[np.float64] | None = None,  # noqa: ARG002
    ) -> NDArray[np.float64]:
        """The logarithms of the density of some values in every class.  # (row, class)"""
        flat, found = np.ravel(values), np.empty((np.size(values), len(self.widths)))
        step = max(1, KERNEL_CELLS // max(1, len(self.points)))
        with np.errstate(divide="ignore", over="ignore"):
            shares = np.log(self.weights)
            for lo in range(0, len(flat), step):
                apart = flat[lo : lo + step, None] - self.points  # (row, point)
                for c, width in enumerate(self.widths.tolist()):
                    own = np.flatnonzero(self.weights[:, c])
                    away = np.clip(apart[:, own] / width, -FAR, FAR)
                    found[lo : lo + step, c] = np.logaddexp.reduce(shares[own, c] - 0.5 * away * away, axis=1)
        return np.asarray(found - np.log(self.widths) - 0.5 * np.log(2 * np.pi))
