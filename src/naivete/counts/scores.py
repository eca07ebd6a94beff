"""Scores of families: how well a variable and its parents fit the counts, in nats; all that a search step asks for at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from math import log, pi, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from naivete.counts.counts import Counts
from naivete.counts.pairs import PairCounts
from naivete.errors import ParameterError, close_matches, quoted
from naivete.variables import CLASS, Family, family

__all__ = ["BDeu", "FamilyScores", "Score", "aic", "bic", "dirichlet", "k2", "likelihood", "score_of"]

Score = Callable[[NDArray[Any], int], Numbers]
"""From counts with the axes (..., configuration of the parents, state) and the number of configurations that there could be."""

Parents = tuple[int, ...]

STIRLING = 16.0
GRAIN = 2.0**-36
ENOUGH = 0.5

_sorted = lru_cache(maxsize=1 << 14)(family)
"""The members in order; the same few are asked for again and again."""
LOOKED_UP = 1 << 20


def k2(n: NDArray[Any], configurations: int) -> Numbers:  # noqa: ARG001
    """log P(cases | structure) of one family with a uniform prior over its distributions: the logarithm of K2's g.

    The sum over configurations of lgamma(r) - lgamma(N + r) + the sum over states of lgamma(n + 1).

    >>> float(np.exp(k2(np.array([[2, 1]]), 1)).round(9))  # 1! 2! 1! / 4!
    0.083333333

    References
    ----------
    Cooper and Herskovits (1992), A Bayesian method for the induction of probabilistic networks from data, equation 12.
    """
    return dirichlet(n, 1.0)


@dataclass(frozen=True)
class BDeu:
    """log P(cases | structure) with `weight` virtual cases spread evenly over the cells: equal for equivalent structures.

    >>> score = BDeu(1.0)
    >>> a, b, both = np.array([[3, 1]]), np.array([[2, 2]]), np.array([[2, 1], [0, 1]])
    >>> forth, back = score(a, 1) + score(both, 2), score(b, 1) + score(both.T, 2)
    >>> float(abs(forth - back).round(12))
    0.0

    References
    ----------
    Heckerman, Geiger and Chickering (1995), Learning Bayesian networks: the combination of knowledge and statistical data.
    """

    weight: float = 1.0

    def __call__(self, n: NDArray[Any], configurations: int) -> Numbers:
        """The score of each family."""
        return dirichlet(n, self.weight / (configurations * n.shape[-1]))


def likelihood(n: NDArray[Any], configurations: int = 1) -> Numbers:  # noqa: ARG001
    """The largest log likelihood of the counts: the sum of n log(n / N).

    >>> float(likelihood(np.array([[1, 1]])) / np.log(2))
    -2.0
    """
    counts = np.asarray(n, np.float64)
    occurs = counts > 0
    total = np.broadcast_to(counts.sum(axis=-1, keepdims=True), counts.shape)[occurs]
    terms = np.zeros(counts.shape)
    own = counts[occurs]
    terms[occurs] = own * _log_share(own, total - own, total)
    return np.asarray(terms.sum(axis=(-2, -1)))


def bic(n: NDArray[Any], configurations: int) -> Numbers:
    """The log likelihood less half the logarithm of the number of cases for each free parameter; MDL up to its sign."""
    cases = np.maximum(np.asarray(n, np.float64).sum(axis=(-2, -1)), 1.0)
    return np.asarray(likelihood(n) - 0.5 * np.log(cases) * configurations * (n.shape[-1] - 1))


def aic(n: NDArray[Any], configurations: int) -> Numbers:
    """The log likelihood less one for each free parameter."""
    return np.asarray(likelihood(n) - configurations * (n.shape[-1] - 1))


_SCORES: dict[str, Score] = {"k2": k2, "bic": bic, "mdl": bic, "aic": aic}


def score_of(value: object, name: str = "score") -> Score:
    """The score that a parameter stands for: a function, or "k2", "bdeu" (perhaps with a weight as in "bdeu:10"), "bic", "aic".

    Parameters
    ----------
    value : the function or the word.
    name : what the parameter is called.

    >>> score_of("bdeu:10")
    BDeu(weight=10.0)
    """
    if callable(value):
        return value
    word, _, number = str(value).partition(":")
    if isinstance(value, str) and word in _SCORES and not number:
        return _SCORES[word]
    if isinstance(value, str) and word == "bdeu":
        try:
            weight = float(number or 1.0)
        except ValueError:
            weight = -1.0
        if not 0 < weight < float("inf"):
            raise ParameterError(f"{name}={quoted(value)}: the number of virtual cases has to be above 0, as in 'bdeu:10'")
        return BDeu(weight)
    close = close_matches(word, [*_SCORES, "bdeu"])
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise ParameterError(f"{name}={quoted(value)}: choose 'k2', 'bdeu', 'bdeu:10', 'bic' or 'aic', or pass a function{hint}")


def dirichlet(n: NDArray[Any], a: float) -> Numbers:
    """The sum over configurations of log of the integral of the likelihood under Dirichlet(a, ..., a).

    Nothing of the size of n log n is ever subtracted from its like: Stirling's series is taken apart, so that a configuration of
    a billion cases in one state loses no digits.
    """
    counts = np.asarray(n, np.float64)
    states = counts.shape[-1]
    total = counts.sum(axis=-1)
    occurs = counts > 0
    own, row = counts[occurs], np.broadcast_to(total[..., None], counts.shape)[occurs]
    x, full = own + a, total + states * a
    cells = np.zeros(counts.shape)
    cells[occurs] = (
        (x - 0.5) * _log_share(x, row - own + (states - 1) * a, row + states * a) + _rest(x) + (0.5 * log(2 * pi) - _gammaln(a))
    )
    present = occurs.sum(axis=-1)
    seen = present > 0
    m, big = present[seen], full[seen]
    rows = np.zeros(total.shape)
    rows[seen] = (
        -0.5 * (m - 1) * np.log(big) - (states - m) * a * (np.log(big) - 1) - _rest(big) - 0.5 * log(2 * pi) + _gammaln(states * a)
    )
    return np.asarray((cells.sum(axis=-1) + rows).sum(axis=-1))


def _log_share(x: Numbers, others: Numbers, total: Numbers) -> Numbers:
    """log(x / total) where total = x + others, to all digits also where the share is nearly one."""
    logs = np.log(x / total)
    most = x > others
    logs[most] = np.log1p(-others[most] / total[most])
    return np.asarray(logs)


def _gammaln(a: float) -> float:
    from scipy.special import gammaln

    return float(gammaln(a))


def _rest(x: Numbers) -> Numbers:
    """lgamma(x) less Stirling's (x - 1/2) log x - x + log(2 pi) / 2."""
    y = 1 / np.maximum(x, STIRLING)
    z = y * y
    rest = y * (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * (1 / 1680 - z * (1 / 1188 - z * 691 / 360360)))))
    small = x < STIRLING
    if small.any():
        from scipy.special import gammaln

        own = x[small]
        rest[small] = gammaln(own) - ((own - 0.5) * np.log(own) - own + 0.5 * log(2 * pi))
    return np.asarray(rest)


class FamilyScores:
    """The scores of families of some counts; what was found is kept, and what is asked for together is one pass.

    Parameters
    ----------
    counts : the cases.
    score : the score of a family.

    Attributes
    ----------
    tolerance : differences up to this are rounding; what is equal within it is a tie.
    """

    def __init__(self, counts: Counts, score: Score) -> None:
        self.counts = counts
        self.score = looked_up(score, counts.margins()[CLASS,])
        self.tolerance = GRAIN * max(1.0, counts.total)
        self._gaps = {**dict(enumerate(counts.cases.gaps.tolist())), CLASS: False}
        margins = counts.margins()
        self._alone = np.array([*(margins[x, CLASS].sum() for x in counts.features), margins[CLASS,].sum()], np.float64)
        self._values: dict[tuple[int, Parents], float] = {}
        self._known: dict[Family, float] = {}
        self._gains: dict[tuple[int, Parents, int], float] = {}
        self._first: Numbers | None = None

    def value(self, v: int, parents: Iterable[int]) -> float:
        """The score of a variable with these parents, over the cases that know them all."""
        key = v, _sorted(*parents)
        self._count([key])
        return self._values[key]

    def gain(self, v: int, parents: Iterable[int], new: int) -> float:
        """By how much one more parent raises the score of a variable, over the cases that know it too.

        Minus infinity where fewer than half of the cases that know the variable know its parents too: what the others tell would
        be lost.
        """
        key = v, _sorted(*parents), new
        if key not in self._gains:
            if not key[1] and self._first is not None:
                return float(self._first[new, v])
            self.prepare([key])
        return self._gains[key]

    def prepare(self, wanted: Iterable[tuple[int, Iterable[int], int]]) -> None:
        """Find the gains of all these additions (variable, its parents, a new one) in one pass."""
        keys = {(v, _sorted(*parents), new) for v, parents, new in wanted}
        left = sorted(keys - self._gains.keys())
        firsts = sum(not parents for _, parents, _ in left)
        if firsts and self._first is None and 4 * firsts > len(self.counts.variables) ** 2:
            self._first = self._first_gains()
        if self._first is not None:
            left = [key for key in left if key[1]]
        self._count([(v, parents) for v, parents, _ in left], left)
        for v, parents, new in left:
            if not self._gaps[new]:
                self._gains[v, parents, new] = self._values[v, _sorted(*parents, new)] - self._values[v, parents]

    def total(self, structure: dict[int, Parents]) -> float:
        """The score of a whole structure, each family as if all cases knew it."""
        self._count([(v, _sorted(*parents)) for v, parents in structure.items()])
        return sum(
            self._values[v, _sorted(*parents)] / self._share(family(v, *parents)) for v, parents in sorted(structure.items())
        )

    def _share(self, members: Family) -> float:
        """The share of the cases that know all members."""
        if not any(self._gaps[m] for m in members):
            return 1.0
        return max(self._known[members] / self.counts.total, 1e-300)

    def _count(self, values: Iterable[tuple[int, Parents]], gains: Iterable[tuple[int, Parents, int]] = ()) -> None:
        """Count these families and keep their scores; the new parent of a gain comes first, so that it can be summed out."""
        made: dict[tuple[int, Parents], tuple[int, Parents, int]] = {}
        asked = []
        for v, parents, new in gains:
            at = v, _sorted(*parents, new)
            if self._gaps[new] or (at not in made and at not in self._values):
                asked.append((v, parents, new))
            made.setdefault(at, (v, parents, new))
        alone = [key for key in dict.fromkeys(values) if key not in self._values and key not in made]
        orders = [*((new, *parents, v) for v, parents, new in asked), *((*parents, v) for v, parents in alone)]
        shapes = [self._shape(order, i < len(asked)) for i, order in enumerate(orders)]
        for which, tables in self.counts.arranged(orders, shapes):
            shape, own = shapes[which[0]], [orders[i] for i in which]
            grown = [i < len(asked) and self._gaps[orders[i][0]] for i in which]
            n = tables.slices()
            after = self.score(n, shape[0] * shape[1])
            self._values |= {(o[-1], _sorted(*o[:-1])): s for o, s in zip(own, after.tolist(), strict=True)}
            self._known |= {_sorted(*o): known for o, known in zip(own, n.sum(axis=(1, 2)).tolist(), strict=True)}
            if any(grown):
                n = tables.slices_without_first()
                gained = (after - self.score(n, shape[1])).tolist()
                for o, gain, known, wanted in zip(own, gained, n.sum(axis=(1, 2)).tolist(), grown, strict=True):
                    if wanted:
                        enough = known >= ENOUGH * self._alone[o[-1]]
                        self._gains[o[-1], _sorted(*o[1:-1]), o[0]] = gain if enough else -np.inf

    def _first_gains(self) -> Numbers:
        """The gains of all first parents, from one pass over all pairs.  # (parent, variable), the class last"""
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
        """Return the gains of one parent for each variable; minus infinity where too few cases have both."""
        gains = self.score(pair.counts, pair.cards) - self.score(pair.counts.sum(axis=1, keepdims=True), 1)
        return np.where(pair.counts.sum(axis=(1, 2)) >= ENOUGH * self._alone[pair.children], gains, -np.inf)

    def _shape(self, order: tuple[int, ...], grows: bool) -> tuple[int, int, int]:
        """The states of the new parent, the configurations of the others, and the states of the variable itself."""
        cards = self.counts.cards(order)
        return (cards[0], prod(cards[1:-1]), cards[-1]) if grows else (1, prod(cards[:-1]), cards[-1])


def looked_up(score: Score, classes: NDArray[Any]) -> Score:
    """The score by looking logarithms up, where the counts are whole numbers and not too many; else the score itself.

    What is looked up has the rounding of lgamma of all cases, about 1e-16 of it; enough for a search, and many times faster.
    """
    if classes.dtype.kind != "i" or classes.sum() >= LOOKED_UP:
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
    terms, rows = _entropic(most), n.sum(axis=-1)
    logs = terms.take(n).sum(axis=(-2, -1)) - terms.take(rows).sum(axis=-1)
    penalty = 0.5 * np.log(np.maximum(rows.sum(axis=-1), 1)) if by_cases else 1.0
    return np.asarray(logs - penalty * configurations * (n.shape[-1] - 1))


@lru_cache(maxsize=16)
def _rising(a: float, most: int) -> Numbers:
    """lgamma(n + a) - lgamma(a) for n from 0 to `most`."""
    from scipy.special import gammaln

    table = gammaln(np.arange(most + 1) + a) - gammaln(a)
    table[0] = 0.0
    return np.asarray(table)


@lru_cache(maxsize=4)
def _entropic(most: int) -> Numbers:
    """n log n for n from 0 to `most`."""
    n = np.arange(most + 1)
    return np.asarray(n * np.log(np.maximum(n, 1)))
