"""Scores of families: how well a variable and its parents fit the counts, in nats; many families in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from math import log, pi, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from naivete.counts.counts import Counts
from naivete.counts.pairs import PairCounts
from naivete.counts.tables import TableStack
from naivete.errors import ParameterError, close_matches, quoted
from naivete.variables import CLASS, Family, family

__all__ = ["BDeu", "FamilyScores", "Score", "aic", "bic", "dirichlet", "k2", "likelihood", "score_of"]

Score = Callable[[NDArray[Any], int], Numbers]
"""Returns the score of each family from counts with the axes (..., configuration of the parents, state), of which configurations
without cases may be left out, and the number of all configurations."""

STIRLING = 16.0
"""From this argument on lgamma is computed by Stirling's series."""
TOLERANCE = 2.0**-36
"""Differences of scores up to this, times the number of cases, are rounding errors."""
OBSERVED_SHARE = 0.5
"""A parent is possible if it is observed in at least this share of the cases in which the variable is."""
ENTRY_BYTES = 400
"""About how many bytes a score or a gain takes that is kept, with its key."""
ADDITION_BYTES = 2500
"""About how many bytes an addition takes while its gain is computed."""
TABULATED = 1 << 20
"""Up to this total weight the logarithms of all possible counts are computed once and looked up."""

_family = lru_cache(maxsize=1 << 14)(family)


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


class FamilyScores:
    """The scores of families; scores are kept, and families that are requested together are counted in one pass.

    What is kept takes at most about an eighth of the budget, and what one call of `prepare` adds to it; `most_additions` limits
    that.

    Parameters
    ----------
    counts : the cases.
    score : the score of a family.

    Attributes
    ----------
    tolerance : differences up to this are rounding errors; scores that are equal within it are ties.
    """

    def __init__(self, counts: Counts, score: Score) -> None:
        self.counts = counts
        margins = counts.margins()
        self.score = looked_up(score, margins[CLASS,])
        self.tolerance = TOLERANCE * max(1.0, counts.total)
        self._has_missing = {**dict(enumerate(counts.cases.has_missing.tolist())), CLASS: False}
        self._weights = np.array([*(margins[x, CLASS].sum() for x in counts.features), margins[CLASS,].sum()], np.float64)
        self._scores: dict[tuple[int, Family], float] = {}
        self._observed: dict[Family, float] = {}  # the weight of the cases in which all members are observed
        self._gains: dict[tuple[int, Family, int], float] = {}
        self._first: Numbers | None = None

    def value(self, v: int, parents: Iterable[int]) -> float:
        """Return the score of a variable with these parents, over the cases in which all of them are observed."""
        key = v, _family(*parents)
        self._count([key])
        return self._scores[key]

    def gain(self, v: int, parents: Iterable[int], new: int) -> float:
        """Return by how much a new parent improves the score of a variable, over the cases in which it is observed, too.

        Minus infinity where the variable and all its parents are observed in fewer than half of the cases in which the variable
        is: too many cases would be ignored.
        """
        key = v, _family(*parents), new
        if key not in self._gains:
            if not key[1] and self._first is not None:
                return float(self._first[new, v])
            self.prepare([key])
        return self._gains[key]

    def prepare(self, additions: Iterable[tuple[int, Iterable[int], int]]) -> None:
        """Compute the gains of many additions (variable, its parents, a new one) in one pass."""
        if ENTRY_BYTES * (len(self._scores) + len(self._gains)) > self.counts.budget // 8:
            for kept in (self._scores, self._observed, self._gains):
                kept.clear()
        keys = {(v, _family(*parents), new) for v, parents, new in additions}
        uncounted = sorted(keys - self._gains.keys())
        firsts = sum(not parents for _, parents, _ in uncounted)
        if firsts and self._first is None and 4 * firsts > len(self.counts.variables) ** 2:
            self._first = self._first_gains()
        if self._first is not None:
            uncounted = [key for key in uncounted if key[1]]
        self._count([(v, parents) for v, parents, _ in uncounted], uncounted)
        for v, parents, new in uncounted:
            if not self._has_missing[new]:
                self._gains[v, parents, new] = self._scores[v, _family(*parents, new)] - self._scores[v, parents]

    @property
    def most_additions(self) -> int:
        """How many additions `prepare` can compute at once within a quarter of the budget; at least one for each variable."""
        return max(len(self.counts.variables), self.counts.budget // 4 // ADDITION_BYTES)

    def total(self, structure: dict[int, Family]) -> float:
        """Return the score of a whole structure, that of each family scaled to the weight of all cases."""
        self._count([(v, _family(*parents)) for v, parents in structure.items()])
        return sum(
            self._scores[v, _family(*parents)] / self._observed_share(family(v, *parents))
            for v, parents in sorted(structure.items())
        )

    def _observed_share(self, members: Family) -> float:
        """Return the share of the cases in which all members are observed."""
        if not any(self._has_missing[m] for m in members):
            return 1.0
        return max(self._observed[members] / self.counts.total, 1e-300)

    def _count(self, families: Iterable[tuple[int, Family]], additions: Iterable[tuple[int, Family, int]] = ()) -> None:
        """Count families and keep their scores; the new parent of an addition is the first axis, so that it can be summed over.

        Two additions may have the same family; it is counted twice only if the gains need both tables.
        """
        grown: dict[tuple[int, Family], tuple[int, Family, int]] = {}
        wanted = []
        for v, parents, new in additions:
            key = v, _family(*parents, new)
            if self._has_missing[new] or (key not in grown and key not in self._scores):
                wanted.append((v, parents, new))
            grown.setdefault(key, (v, parents, new))
        alone = [key for key in dict.fromkeys(families) if key not in self._scores and key not in grown]
        orders = [*((new, *parents, v) for v, parents, new in wanted), *((*parents, v) for v, parents in alone)]
        shapes = [self._shape(order, i < len(wanted)) for i, order in enumerate(orders)]
        for positions, tables in self.counts.arranged(orders, shapes):
            has_missing = [i < len(wanted) and self._has_missing[orders[i][0]] for i in positions]
            self._keep([orders[i] for i in positions], shapes[positions[0]], tables, has_missing)

    def _keep(self, orders: Sequence[Family], shape: tuple[int, int, int], tables: TableStack, has_missing: Sequence[bool]) -> None:
        """Keep the scores of families of one shape, and the gains of those whose first member has missing values."""
        n = tables.slices()
        scores = self.score(n, shape[0] * shape[1])
        for order, score, observed in zip(orders, scores.tolist(), n.sum(axis=(1, 2)).tolist(), strict=True):
            self._scores[order[-1], _family(*order[:-1])] = score
            self._observed[_family(*order)] = observed
        if not any(has_missing):
            return
        n = tables.slices_without_first()
        gains = (scores - self.score(n, shape[1])).tolist()
        for order, gain, observed, some_missing in zip(orders, gains, n.sum(axis=(1, 2)).tolist(), has_missing, strict=True):
            if some_missing:
                enough = observed >= OBSERVED_SHARE * self._weights[order[-1]]
                self._gains[order[-1], _family(*order[1:-1]), order[0]] = gain if enough else -np.inf

    def _first_gains(self) -> Numbers:
        """Return the gains of all first parents, from one pass over all pairs.  # (parent, variable), the class last"""
        n = len(self.counts.variables)
        gains = np.full((n, n), -np.inf)
        for pairs in self.counts.pairs():
            for pair in pairs.conditional_counts():
                gains[pair.parents, pair.children] = self._pair_gains(pair)
        for x in self.counts.features:
            table = self.counts.margins()[x, CLASS]
            feature, classes = np.array([x]), np.array([CLASS])
            gains[CLASS, x] = self._pair_gains(PairCounts(classes, feature, table.T[None], table.shape[1]))[0]
            gains[x, CLASS] = self._pair_gains(PairCounts(feature, classes, table[None], table.shape[0]))[0]
        return gains

    def _pair_gains(self, pair: PairCounts) -> Numbers:
        """Return the gains of one parent for each variable; minus infinity where both are observed in too few cases."""
        gains = self.score(pair.counts, pair.cards) - self.score(pair.counts.sum(axis=1, keepdims=True), 1)
        return np.where(pair.counts.sum(axis=(1, 2)) >= OBSERVED_SHARE * self._weights[pair.children], gains, -np.inf)

    def _shape(self, order: Family, addition: bool) -> tuple[int, int, int]:
        """Return the states of the new parent, the configurations of the other parents, and the states of the variable."""
        cards = self.counts.cards(order)
        return (cards[0], prod(cards[1:-1]), cards[-1]) if addition else (1, prod(cards[:-1]), cards[-1])


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
    terms, rows = _n_log_n(most), n.sum(axis=-1)
    logs = terms.take(n).sum(axis=(-2, -1)) - terms.take(rows).sum(axis=-1)
    penalty = 0.5 * np.log(np.maximum(rows.sum(axis=-1), 1)) if by_cases else 1.0
    return np.asarray(logs - penalty * configurations * (n.shape[-1] - 1))


@lru_cache(maxsize=16)
def _rising(a: float, most: int) -> Numbers:
    """Return lgamma(n + a) - lgamma(a) for n from 0 to `most`."""
    from scipy.special import gammaln

    table = gammaln(np.arange(most + 1) + a) - gammaln(a)
    table[0] = 0.0
    return np.asarray(table)


@lru_cache(maxsize=4)
def _n_log_n(most: int) -> Numbers:
    """Return n log n for n from 0 to `most`."""
    n = np.arange(most + 1)
    return np.asarray(n * np.log(np.maximum(n, 1)))
