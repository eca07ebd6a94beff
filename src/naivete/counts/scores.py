"""Scores of families: how well a variable and its parents fit the counts, in nats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from math import log, pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from naivete.errors import ParameterError, close_matches, quoted

__all__ = ["TABULATED", "BDeu", "Score", "aic", "bic", "dirichlet", "k2", "likelihood", "looked_up", "n_log_n", "score_of"]

Score = Callable[[NDArray[Any], int], Numbers]
"""Returns the score of each family from counts with the axes (..., configuration of the parents, state), of which configurations
without cases may be left out, and the number of all configurations."""

STIRLING = 16.0
"""From this argument on lgamma is computed by Stirling's series."""
TABULATED = 1 << 20
"""Up to this total weight the logarithms of all possible counts are computed once and looked up."""
RISING_CELLS = 1 << 22
"""How many logarithms of the gamma function are kept at most, or 16 tables of them."""


def k2(n: NDArray[Any], configurations: int) -> Numbers:  # noqa: ARG001
    """Return log P(cases | structure) of one family with a uniform prior over its distributions: the logarithm of K2's g.

    It is the sum over configurations of lgamma(r) - lgamma(N + r) + the sum over states of lgamma(n + 1).

    Parameters
    ----------
    n : ndarray
        The counts of the family, with the states of the variable on the last axis.
    configurations : int
        The number of configurations of the parents.

    Returns
    -------
    ndarray
        The score, summed over the configurations.

    References
    ----------
    Cooper and Herskovits (1992), A Bayesian method for the induction of probabilistic networks from data, equation 12.

    Examples
    --------
    >>> import numpy as np
    >>> from naivete.counts.scores import k2
    >>> float(np.exp(k2(np.array([[2, 1]]), 1)).round(9))  # 1! 2! 1! / 4!
    0.083333333
    """
    return dirichlet(n, 1.0)


@dataclass(frozen=True)
class BDeu:
    """The score log P(cases | structure) with virtual cases spread evenly over the cells: equal for equivalent structures.

    Parameters
    ----------
    weight : float, default=1.0
        The number of virtual cases, the equivalent sample size.

    References
    ----------
    Heckerman, Geiger and Chickering (1995), Learning Bayesian networks: the combination of knowledge and statistical data.

    Examples
    --------
    >>> import numpy as np
    >>> from naivete.counts.scores import BDeu
    >>> score = BDeu(1.0)
    >>> a, b, both = np.array([[3, 1]]), np.array([[2, 2]]), np.array([[2, 1], [0, 1]])
    >>> forth, back = score(a, 1) + score(both, 2), score(b, 1) + score(both.T, 2)
    >>> float(abs(forth - back).round(12))
    0.0
    """

    weight: float = 1.0

    def __call__(self, n: NDArray[Any], configurations: int) -> Numbers:
        """Return the score of each family."""
        return dirichlet(n, self.weight / (configurations * n.shape[-1]))


def likelihood(n: NDArray[Any], configurations: int = 1) -> Numbers:  # noqa: ARG001
    """Return the maximal log likelihood of the counts: the sum of n log(n / N).

    >>> float(likelihood(np.array([[1, 1]])) / np.log(2))
    -2.0
    """
    counts = np.asarray(n, np.float64)
    occurs = counts > 0
    total = np.broadcast_to(counts.sum(axis=-1, keepdims=True), counts.shape)[occurs]
    terms = np.zeros(counts.shape)
    positive = counts[occurs]
    terms[occurs] = positive * _log_share(positive, total - positive, total)
    return np.asarray(terms.sum(axis=(-2, -1)))


def bic(n: NDArray[Any], configurations: int) -> Numbers:
    """Return the log likelihood less half the logarithm of the number of cases for each free parameter; MDL up to its sign.

    Parameters
    ----------
    n : ndarray
        The counts of the family, with the states of the variable on the last axis.
    configurations : int
        The number of configurations of the parents.

    Returns
    -------
    ndarray
        The score, summed over the configurations.
    """
    cases = np.maximum(np.asarray(n, np.float64).sum(axis=(-2, -1)), 1.0)
    return np.asarray(likelihood(n) - 0.5 * np.log(cases) * configurations * (n.shape[-1] - 1))


def aic(n: NDArray[Any], configurations: int) -> Numbers:
    """Return the log likelihood less one for each free parameter.

    Parameters
    ----------
    n : ndarray
        The counts of the family, with the states of the variable on the last axis.
    configurations : int
        The number of configurations of the parents.

    Returns
    -------
    ndarray
        The score, summed over the configurations.
    """
    return np.asarray(likelihood(n) - configurations * (n.shape[-1] - 1))


_SCORES: dict[str, Score] = {"k2": k2, "bic": bic, "mdl": bic, "aic": aic}


def score_of(value: object, name: str = "score") -> Score:
    """Return the score for a parameter value: a function, or "k2", "bdeu" (or with a weight, "bdeu:10"), "bic", "mdl" or "aic".

    Parameters
    ----------
    value : str or callable
        The value.
    name : str, default="score"
        The name of the parameter, for error messages.

    Returns
    -------
    callable
        The score.

    Examples
    --------
    >>> from naivete.counts.scores import score_of
    >>> score_of("bdeu:10")
    BDeu(weight=10.0)
    """
    if callable(value):
        return value
    score, _, number = str(value).partition(":")
    if isinstance(value, str) and score in _SCORES and not number:
        return _SCORES[score]
    if isinstance(value, str) and score == "bdeu":
        try:
            weight = float(number or 1.0)
        except ValueError:
            weight = -1.0
        if not 0 < weight < float("inf"):
            raise ParameterError(f"{name}={quoted(value)}: the number of virtual cases has to be above 0, as in 'bdeu:10'")
        return BDeu(weight)
    close = close_matches(score, [*_SCORES, "bdeu"])
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise ParameterError(f"{name}={quoted(value)}: choose 'k2', 'bdeu', 'bdeu:10', 'bic' or 'aic', or pass a function{hint}")


def dirichlet(n: NDArray[Any], a: float) -> Numbers:
    """Return the sum over configurations of the log marginal likelihood with a prior Dirichlet(a, ..., a).

    The terms of the size of n log n in Stirling's series cancel and are left out, so that a configuration of a billion cases in
    one state loses no digits.
    """
    counts = np.asarray(n, np.float64)
    states = counts.shape[-1]
    total = counts.sum(axis=-1)
    occurs = counts > 0
    positive, row = counts[occurs], np.broadcast_to(total[..., None], counts.shape)[occurs]
    x, full = positive + a, total + states * a
    share = _log_share(x, row - positive + (states - 1) * a, row + states * a)
    cells = np.zeros(counts.shape)
    cells[occurs] = (x - 0.5) * share + _stirling_rest(x) + (0.5 * log(2 * pi) - _gammaln(a))
    occurring = occurs.sum(axis=-1)
    nonempty = occurring > 0
    m, large = occurring[nonempty], full[nonempty]
    logs = np.log(large)
    rows = np.zeros(total.shape)
    rows[nonempty] = (
        -0.5 * (m - 1) * logs - (states - m) * a * (logs - 1) - _stirling_rest(large) - 0.5 * log(2 * pi) + _gammaln(states * a)
    )
    return np.asarray((cells.sum(axis=-1) + rows).sum(axis=-1))


def _log_share(x: Numbers, others: Numbers, total: Numbers) -> Numbers:
    """Return log(x / total) where total = x + others, accurate also where the share is nearly one."""
    logs = np.log(x / total)
    most = x > others
    logs[most] = np.log1p(-others[most] / total[most])
    return np.asarray(logs)


def _gammaln(a: float) -> float:
    from scipy.special import gammaln

    return float(gammaln(a))


def _stirling_rest(x: Numbers) -> Numbers:
    """Return lgamma(x) less Stirling's (x - 1/2) log x - x + log(2 pi) / 2."""
    y = 1 / np.maximum(x, STIRLING)
    z = y * y
    rest = y * (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * (1 / 1680 - z * (1 / 1188 - z * 691 / 360360)))))
    small = x < STIRLING
    if small.any():
        from scipy.special import gammaln

        few = x[small]
        rest[small] = gammaln(few) - ((few - 0.5) * np.log(few) - few + 0.5 * log(2 * pi))
    return np.asarray(rest)


def looked_up(score: Score, classes: NDArray[Any]) -> Score:
    """Return the score with logarithms that are looked up, where all counts are whole numbers and not too many; else the score.

    The rounding error is that of lgamma of the number of cases, about 1e-16 of it: enough for a search, and many times faster.

    Parameters
    ----------
    score : the score.
    classes : the counts of the classes.
    """
    if classes.dtype.kind != "i" or classes.sum() >= TABULATED:
        return score
    most = int(classes.sum())
    if score is k2:
        return partial(_dirichlet_looked_up, weight=None, most=most)
    if isinstance(score, BDeu):
        return partial(_dirichlet_looked_up, weight=score.weight, most=most)
    if score is bic or score is aic:
        return partial(_likelihood_looked_up, by_cases=score is bic, most=most)
    return score


def _dirichlet_looked_up(n: NDArray[Any], configurations: int, weight: float | None, most: int) -> Numbers:
    states = n.shape[-1]
    a = 1.0 if weight is None else weight / (configurations * states)
    cells = _rising(a, most).take(n).sum(axis=(-2, -1))
    return np.asarray(cells - _rising(a * states, most).take(n.sum(axis=-1)).sum(axis=-1))


def _likelihood_looked_up(n: NDArray[Any], configurations: int, by_cases: bool, most: int) -> Numbers:
    terms, rows = n_log_n(most), n.sum(axis=-1)
    logs = terms.take(n).sum(axis=(-2, -1)) - terms.take(rows).sum(axis=-1)
    penalty = 0.5 * np.log(np.maximum(rows.sum(axis=-1), 1)) if by_cases else 1.0
    return np.asarray(logs - penalty * configurations * (n.shape[-1] - 1))


_RISING: dict[tuple[float, int], Numbers] = {}
"""The latest results of `_rising`."""


def _rising(a: float, most: int) -> Numbers:
    """Return lgamma(n + a) - lgamma(a) for n from 0 to `most`; the latest tables are kept."""
    table = _RISING.get((a, most))
    if table is None:
        from scipy.special import gammaln

        table = np.asarray(gammaln(np.arange(most + 1) + a) - gammaln(a))
        table[0] = 0.0
        if len(_RISING) >= max(16, RISING_CELLS // (most + 1)):
            _RISING.clear()
        _RISING[a, most] = table
    return table


@lru_cache(maxsize=4)
def n_log_n(most: int) -> Numbers:
    """Return n log n for n from 0 to `most`."""
    n = np.arange(most + 1)
    return np.asarray(n * np.log(np.maximum(n, 1)))
