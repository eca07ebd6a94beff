"""Densities of continuous features: normal, with a mean that may depend on other continuous features, or kernel densities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.errors import DataError

__all__ = ["FAR", "Kernel", "Normal"]

KERNEL_CELLS = 1 << 20
"""The maximal number of pairs of a value and a point that are computed at a time."""

FAR = 1e6
"""Distances from the mean are limited to this many standard deviations, so that logarithms stay finite."""


@dataclass(frozen=True, eq=False)
class Normal:
    """A normal density of x in each configuration of its discrete parents, with a mean that is linear in its continuous parents.

    Parameters
    ----------
    means : the mean where all continuous parents are 0; an axis for each discrete parent in increasing order, the class last.
    variances : the variances, above zero, with the same axes.
    slopes : the coefficients of the continuous parents, with one more axis for these, in increasing order.
    """

    means: Numbers
    variances: Numbers
    slopes: Numbers | None = None

    def __post_init__(self) -> None:
        for array in (self.means, self.variances, *(() if self.slopes is None else (self.slopes,))):
            array.setflags(write=False)

    @cached_property
    def deviations(self) -> Numbers:
        """The standard deviations."""
        return np.sqrt(self.variances)

    @cached_property
    def log_peaks(self) -> Numbers:
        """The logarithms of the densities at the mean."""
        return np.asarray(-0.5 * np.log(2 * np.pi * self.variances))

    def logs(self, values: Numbers, index: Any, parents: Numbers | None = None) -> Numbers:
        """Return the logarithms of the density of some values in some configurations; finite also for values far from the mean.

        Parameters
        ----------
        values : the values of x.
        index : the index of the configurations of the discrete parents.
        parents : the values of the continuous parents, along the last axis.

        >>> Normal(np.zeros(1), np.ones(1)).logs(np.array([0.0, 1e300]), (np.array([0, 0]),)).round(3).tolist()[0]
        -0.919
        """
        if self.slopes is not None:
            terms = np.moveaxis(parents * self.slopes[index], -1, 0)
            values = values - reduce(np.add, terms)  # in this order, as in exported code
        with np.errstate(over="ignore"):
            distance = np.clip((values - self.means[index]) / self.deviations[index], -FAR, FAR)
        return np.asarray(self.log_peaks[index] - 0.5 * distance * distance)


@dataclass(frozen=True, eq=False, kw_only=True)
class Kernel(Normal):
    """A kernel density in each class: a mixture of normal densities around points; means and variances are those of the mixture.

    Parameters
    ----------
    points : the points, increasing.
    weights : the share of each point in each class.  # (point, class)
    widths : the bandwidth of each class, the standard deviation of the normal densities.
    """

    points: Numbers
    weights: Numbers
    widths: Numbers

    def check(self, classes: int, where: str) -> None:
        """Raise an error if the arrays do not fit each other and the number of classes."""
        count = len(self.points)
        shapes = self.points.shape, self.weights.shape, self.widths.shape
        if not count or shapes != ((count,), (count, classes), (classes,)):
            raise DataError(f"{where} needs points, and for each class a share of each point and a width")
        if not np.all(np.isfinite(self.points)) or not np.all(np.diff(self.points) > 0):
            raise DataError(f"{where} has points that are not finite, or do not increase")
        if not np.all(np.isfinite(self.widths)) or not self.widths.min() > 0:
            raise DataError(f"{where} has a width that is not above zero")
        if not self.weights.min() >= 0 or not np.all(np.abs(self.weights.sum(axis=0) - 1) <= 1e-9):
            raise DataError(f"{where} has negative or non-finite shares, or some that do not sum to 1")

    def logs(
        self,
        values: Numbers,
        index: Any,  # noqa: ARG002
        parents: Numbers | None = None,  # noqa: ARG002
    ) -> Numbers:
        """Return the logarithms of the density of some values in every class.  # (row, class)"""
        flat, logs = np.ravel(values), np.empty((np.size(values), len(self.widths)))
        step = max(1, KERNEL_CELLS // max(1, len(self.points)))
        with np.errstate(divide="ignore", over="ignore"):
            shares = np.log(self.weights)
            for lo in range(0, len(flat), step):
                differences = flat[lo : lo + step, None] - self.points  # (row, point)
                for c, width in enumerate(self.widths.tolist()):
                    points = np.flatnonzero(self.weights[:, c])
                    distance = np.clip(differences[:, points] / width, -FAR, FAR)
                    logs[lo : lo + step, c] = np.logaddexp.reduce(shares[points, c] - 0.5 * distance * distance, axis=1)
        return np.asarray(logs - np.log(self.widths) - 0.5 * np.log(2 * np.pi))
