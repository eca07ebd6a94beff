"""Calibration: posterior probabilities and relative frequencies in bins of rows, and the expected calibration error."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.errors import ParameterError, quoted
from naivete.evaluation.outcomes import Cases

__all__ = ["Calibration", "calibration", "calibration_error"]


class Calibration(NamedTuple):
    """Bins of rows with similar posteriors: the mean posterior, the relative frequency, and the share of the rows in each bin.

    Parameters
    ----------
    predicted : ndarray of shape (n_bins,)
        The mean posterior.
    observed : ndarray of shape (n_bins,)
        The relative frequency.
    share : ndarray of shape (n_bins,)
        The share of the rows.
    """

    predicted: Numbers
    observed: Numbers
    share: Numbers


def calibration(cases: Cases, c: int | None = None, *, bins: int = 10) -> Calibration:
    """Return the mean posterior and the relative frequency in bins with about the same number of rows.

    Equal posteriors are in the same bin, so that there can be fewer bins.

    Parameters
    ----------
    cases : Cases
        The posterior probabilities.
    c : int or None, default=None
        The class; by default the predicted class of each row, whose frequency is the accuracy.
    bins : int, default=10
        The number of bins.

    Returns
    -------
    Calibration
        The bins.

    Examples
    --------
    >>> from naivete.evaluation.measures import calibration
    >>> from naivete.evaluation.outcomes import Cases
    >>> calibration(Cases.of([0, 1, 1, 1], [[0.5, 0.5], [0.5, 0.5], [0.0, 1.0], [0.0, 1.0]]), 1, bins=2).observed.tolist()
    [0.5, 1.0]
    """
    if bins != int(bins) or bins < 1:
        raise ParameterError(f"bins={quoted(bins)}: expected a whole number, at least 1")
    posterior = cases.posterior.max(axis=1) if c is None else cases.posterior[:, c]
    occurred = cases.truth == (cases.decided if c is None else c)
    order = np.argsort(posterior, kind="stable")
    cumulative = np.cumsum(cases.weight[order])
    borders = cumulative[-1] * np.arange(1, int(bins)) / bins * (1 - 1e-12)  # robust against rounding errors
    bin_of = np.searchsorted(posterior[order[np.searchsorted(cumulative, borders)]], posterior)
    mass, predicted, observed = (np.bincount(bin_of, cases.weight * v, bins) for v in (np.ones(len(occurred)), posterior, occurred))
    used = mass > 0
    return Calibration(predicted[used] / mass[used], observed[used] / mass[used], mass[used] / mass.sum())


def calibration_error(cases: Cases, *, bins: int = 10) -> float:
    """Return the expected calibration error: the mean over bins of |relative frequency - mean posterior| of the predicted class.

    Parameters
    ----------
    cases : Cases
        The posterior probabilities.
    bins : int, default=10
        The number of bins.

    Returns
    -------
    float
        The error.

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017), On calibration of modern neural networks; bins of equal frequency: Nixon et al. (2019).

    Examples
    --------
    >>> from naivete.evaluation.measures import calibration_error
    >>> from naivete.evaluation.outcomes import Cases
    >>> calibration_error(Cases.of([0, 1], [[0.75, 0.25], [0.75, 0.25]]))
    0.25
    """
    curve = calibration(cases, bins=bins)
    return float((curve.share * abs(curve.observed - curve.predicted)).sum())
