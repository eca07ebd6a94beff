"""Sums of continuous features: moments, scatter matrices and points of kernel densities, kept once they are computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.cases.base import Cases
from naivete.counts.moments import Moments, MomentsIn, Scatter, ScattersIn, merged
from naivete.counts.passes import Passes
from naivete.counts.points import Points, PointsIn
from naivete.errors import DataError, quoted
from naivete.variables import CLASS, Family

__all__ = ["ContinuousSums"]


class ContinuousSums(Passes):
    """The sums from which densities of continuous features are estimated.

    Parameters
    ----------
    cases : Cases
        The rows, in any back end.
    passes : int, default=0
        The number of passes that were made before.
    """

    def __init__(self, cases: Cases, *, passes: int = 0) -> None:
        super().__init__(cases, passes=passes)
        self._moments: dict[tuple[int, Family], Moments] = {}
        self._scatters: dict[tuple[tuple[int, ...], Family], Scatter] = {}

    def moments(self, columns: Sequence[int], given: Family) -> dict[int, Moments]:
        """Return the moments of continuous features in each configuration of discrete variables, in at most one pass.

        The discrete variables must not have missing values.

        Parameters
        ----------
        columns : sequence of int
            The positions of the continuous features.
        given : tuple of int
            The discrete variables.

        Returns
        -------
        dict of {int: Moments}
            The weights, means and squared deviations by feature.
        """
        self._moments |= self._moments_of_scatters(given)
        new = tuple(x for x in columns if (x, given) not in self._moments)
        counted: list[Moments] = self.fold(MomentsIn(new, given, self.cards(given)), merged) if new else []
        self._check_squares(new, [moments.deviations for moments in counted])
        self._moments |= {(x, given): moments for x, moments in zip(new, counted, strict=True)}
        return {x: self._moments[x, given] for x in columns}

    def _moments_of_scatters(self, given: Family) -> dict[tuple[int, Family], Moments]:
        """Return the moments that are known from scatter matrices of columns without missing values."""
        result: dict[tuple[int, Family], Moments] = {}
        for (columns, discrete), scatter in self._scatters.items():
            if discrete == given and not self.cases.has_missing[list(columns)].any():
                for j, x in enumerate(columns):
                    moments = Moments(scatter.weights, scatter.means[:, j], scatter.products[:, j, j])
                    result[x, given] = self._moments.get((x, given), moments.at(self.cards(given)))
        return result

    def points(self, columns: Sequence[int]) -> dict[int, Points]:
        """Return the distinct values of continuous features and their weight in each class, in one pass.

        Parameters
        ----------
        columns : sequence of int
            The positions of the continuous features.

        Returns
        -------
        dict of {int: Points}
            The values and weights by feature.
        """
        counted: list[Points] = self.fold(PointsIn(tuple(columns), self._cards[CLASS]), merged) if columns else []
        return dict(zip(columns, counted, strict=True))

    def scatters(self, sets: Sequence[Sequence[int]], given: Family) -> list[Scatter]:
        """Return the scatter of sets of continuous features in each configuration of discrete variables, in at most one pass.

        The discrete variables must not have missing values.

        Parameters
        ----------
        sets : sequence of sequence of int
            The sets of continuous features.
        given : tuple of int
            The discrete variables.

        Returns
        -------
        list of Scatter
            The weights, means and products of deviations of each set.
        """
        wanted = [tuple(columns) for columns in sets]
        new = tuple(columns for columns in dict.fromkeys(wanted) if (columns, given) not in self._scatters)
        counted: list[Scatter] = self.fold(ScattersIn(new, given, self.cards(given)), merged) if new else []
        for columns, scatter in zip(new, counted, strict=True):
            self._check_squares(columns, np.moveaxis(np.diagonal(scatter.products, axis1=1, axis2=2), 1, 0))
        self._scatters |= {(columns, given): scatter for columns, scatter in zip(new, counted, strict=True)}
        return [self._scatters[columns, given] for columns in wanted]

    def _check_squares(self, columns: Sequence[int], squares: Iterable[Numbers]) -> None:
        for x, deviations in zip(columns, squares, strict=True):
            if not np.isfinite(deviations).all():
                raise DataError(
                    f"column {quoted(self.variables[x].name)}: its numbers are too large to be squared, as a density needs; "
                    "scale it, or discretize it (numbers='cut')"
                )
