"""The log odds of a class in bits, as the sum of a base and of contributions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from naivete._kernels.codes import Integers, Numbers
from naivete.inference.elimination import log

__all__ = [
    "BITS",
    "ZERO",
    "Attribution",
    "Scores",
    "against_rest",
    "bits_of",
    "log_odds_of",
    "posterior_log_odds",
    "relative",
]

BITS = 1 / np.log(2)
"""The number of bits of a natural unit of information."""
ZERO = -100.0
"""The logarithm in bits that stands for a probability of zero, so that contributions are finite."""
STEPS = 40
"""The number of bisections; each halves the interval in which the weights of the other classes are sought."""


class Attribution(NamedTuple):
    """A base value and a contribution of each term, in bits; together they are the log odds.

    Parameters
    ----------
    base : ndarray of shape (n_rows,)
        The log odds before anything is known about the row.
    values : ndarray of shape (n_rows, n_terms)
        The contribution of each term.
    standard_errors : ndarray of shape (n_rows, n_terms) or None, default=None
        The standard errors of estimated contributions; None if all are exact.
    """

    base: Numbers
    values: Numbers
    standard_errors: Numbers | None = None

    @property
    def log_odds(self) -> Numbers:
        """The log odds of each row: the base and all contributions."""
        return np.asarray(self.base + self.values.sum(axis=1))

    def of_rows(self, rows: Integers) -> Attribution:
        """Return the base and the contributions of some rows.

        Parameters
        ----------
        rows : ndarray of int
            The positions of the rows.

        Returns
        -------
        Attribution
            The base and the contributions.
        """
        errors = self.standard_errors
        return Attribution(self.base[rows], self.values[rows], None if errors is None else errors[rows])


class Scores(NamedTuple):
    """Scores of some rows relative to the first class, in bits.

    Parameters
    ----------
    base : the base of each row.  # (class - 1, row)
    parts : what each term adds.  # (term, class - 1, row)
    """

    base: Numbers
    parts: Numbers


def log_odds_of(scores: Scores, target: Integers, other: Integers | None) -> tuple[Numbers, Numbers]:
    """Return the base of each row and the contributions of the terms to the log odds of a class.  # (row), (term, row)

    Parameters
    ----------
    scores : the scores of the rows.
    target : the class of each row.
    other : the class against which it is compared in each row; None for all others together.
    """
    rows = np.arange(len(target))
    if not len(scores.base):
        return np.full(len(rows), np.inf), np.zeros((len(scores.parts), len(rows)))
    base = np.concatenate([np.zeros((1, len(rows))), scores.base])  # (class, row)
    weights = np.zeros_like(base)
    if other is not None:
        weights[other, rows] = -1.0
        start = base[target, rows] - base[other, rows]
    elif len(base) == 2:
        weights[1 - target, rows] = -1.0
        start = base[target, rows] - base[1 - target, rows]
    else:
        end = base + np.concatenate([np.zeros((1, len(rows))), scores.parts.sum(axis=0)])
        start, weights = against_rest(base, end, target)
    weights[target, rows] += 1.0
    if len(base) == 2:
        return start, scores.parts[:, 0] * weights[1]
    return start, np.einsum("tcr,cr->tr", scores.parts, weights[1:])


def against_rest(base: Numbers, end: Numbers, target: Integers) -> tuple[Numbers, Numbers]:
    """Return the log odds of a class against all others at the base, and minus the weights of the others.

    Let s be the scores of the classes, and R the logarithm of the sum of exp2(s) over the other classes. The log odds are the score
    of the class minus R. On the line from the base to the row there is a point at which the shares w of the other classes among
    themselves satisfy sum of w (s(row) - s(base)) = R(row) - R(base), by the mean value theorem. So the contribution of a term is
    its contribution to the score of the class minus the weighted mean, with weights w, of its contributions to the scores of the
    others, and all contributions add up to the log odds. With two classes w is 1; with three, w (s(row) - s(base)) are the
    Aumann-Shapley values of R.

    Parameters
    ----------
    base, end : the scores at the base and of the row, in bits.  # (class, row)
    target : the class of each row.
    """
    rows = np.arange(len(target))
    base, end, change = base.copy(), end.copy(), end - base
    at_base = base[target, rows]
    base[target, rows], end[target, rows], change[target, rows] = -np.inf, -np.inf, 0.0
    wanted = _log_sum(end) - _log_sum(base)
    low, high = np.zeros(len(rows)), np.ones(len(rows))
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        below = (_shares(base + middle * change) * change).sum(axis=0) < wanted
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    first, last = _shares(base + low * change), _shares(base + high * change)
    lower, upper = (first * change).sum(axis=0), (last * change).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.where(upper > lower, np.clip((wanted - lower) / (upper - lower), 0, 1), 0.5)
    return at_base - _log_sum(base), -(first + part * (last - first))


def _log_sum(scores: Numbers) -> Numbers:
    top = scores.max(axis=0)
    return np.asarray(np.log2(np.exp2(scores - top).sum(axis=0)) + top)


def _shares(scores: Numbers) -> Numbers:
    shares = np.exp2(scores - scores.max(axis=0))
    return np.asarray(shares / shares.sum(axis=0))


def posterior_log_odds(posterior: Numbers, target: Integers, other: Integers | None = None) -> Numbers:
    """Return the log odds of a class in each row, in bits, against one other class or against all others together.

    Parameters
    ----------
    posterior : P(class | row).  # (row, class)
    target : the class of each row.
    other : the class against which it is compared in each row; by default all others together.

    >>> posterior_log_odds(np.array([[0.5, 0.25, 0.25]]), np.array([0])).tolist()
    [0.0]
    """
    rows, rest = np.arange(len(target)), posterior.copy()
    if posterior.shape[1] == 1:
        return np.full(len(rows), np.inf)
    rest[rows, target] = 0.0
    against = rest.sum(axis=1) if other is None else posterior[rows, other]
    return np.asarray(bits_of(posterior[rows, target]) - bits_of(against))


def bits_of(probabilities: Numbers) -> Numbers:
    """Return logarithms in bits; `ZERO` for a probability of zero."""
    logs = log(probabilities) * BITS
    return np.where(np.isneginf(logs), ZERO, logs)


def relative(logs: Numbers) -> Numbers:
    """Return the scores relative to the first class.  # (class, ...) -> (class - 1, ...)"""
    return np.asarray(logs[1:] - logs[0])
