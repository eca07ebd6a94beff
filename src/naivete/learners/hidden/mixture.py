"""A hidden variable between the class and a group of features: its tables by expectation-maximisation, its states by BIC."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from naivete.cases.views import missing_as_states, select_features
from naivete.counts.counts import Counts
from naivete.inference.em_steps import Convergence, EMStep, check_iterations, iterate_em
from naivete.learners.parameters import checked_integer
from naivete.variables import CLASS, family

__all__ = ["Fit", "Observed", "Search", "Tables", "Trial", "fitted", "naive_bic", "observed", "searched"]


SHORT = 15
"""How many iterations every start gets before the best of them goes on."""
PATIENCE = 2
"""After how many numbers of states without a gain the search ends."""


@dataclass(frozen=True, eq=False)
class Observed:
    """All that a group of features tells: the different configurations of it that occur, and how often in each class.

    Parameters
    ----------
    codes : the configurations, the number of states where a feature is missing.  # (configuration, feature)
    counts : the weight of each in each class.  # (configuration, class)
    cards : how many states each feature has.
    """

    codes: NDArray[np.int64]
    counts: Numbers
    cards: tuple[int, ...]

    @property
    def total(self) -> float:
        """The weight of all cases."""
        return float(self.counts.sum())

    @property
    def freedom(self) -> int:
        """The free parameters of one distribution of every feature."""
        return sum(card - 1 for card in self.cards)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where the states of each feature begin among those of all."""
        return np.cumsum([0, *self.cards[:-1]])

    @cached_property
    def states(self) -> Any:
        """Which states of all features each configuration has; none of a feature that is missing.  # (state, configuration)"""
        from scipy.sparse import csr_array

        at, which = np.nonzero(self.codes < np.array(self.cards))
        state = (self.codes + self.starts)[at, which]
        return csr_array((np.ones(len(at)), (state, at)), shape=(sum(self.cards), len(self.codes)))

    @cached_property
    def configurations(self) -> Any:
        """Which configurations each state occurs in.  # (configuration, state)"""
        return self.states.T.tocsr()

    @cached_property
    def members(self) -> list[NDArray[np.intp]]:
        """The configurations that occur in each class."""
        return [np.flatnonzero(n) for n in self.counts.T]

    def normalised(self, n: Numbers) -> Numbers:
        """Made to sum to one over the states of each feature; uniform where nothing is.  # (state, ...)"""
        sums, cards = np.add.reduceat(n, self.starts, axis=0), np.array(self.cards)
        total, card = (np.repeat(part, cards, axis=0) for part in (sums, cards.reshape(-1, *(1,) * (n.ndim - 1))))
        return np.where(total > 0, n / np.where(total > 0, total, 1.0), 1 / card)


class Tables(NamedTuple):
    """P(hidden | class) and P(state | hidden) of the states of all features."""

    hidden: Numbers  # (hidden, class)
    features: Numbers  # (state, hidden)


@dataclass(frozen=True)
class Search:
    """How the tables of a hidden variable and the number of its states are sought.

    Parameters
    ----------
    max_states : the largest number of states that is tried.
    starts : how many places expectation-maximisation begins from, for each number of states.
    random_state : the seed of those places.
    tolerance : a climb ends when the objective changes by less than this share of it.
    max_iterations : a climb ends after so many iterations in any case.
    """

    max_states: int = 20
    starts: int = 5
    random_state: int = 0
    tolerance: float = 1e-7
    max_iterations: int = 1000

    def check(self) -> None:
        """Refuse settings out of their range."""
        for name, least in {"max_states": 2, "starts": 1, "random_state": 0}.items():
            checked_integer(getattr(self, name), name, least)
        check_iterations(self.tolerance, self.max_iterations)


@dataclass(frozen=True)
class Trial:
    """What a number of hidden states is worth.

    Parameters
    ----------
    states : the number of states.
    log_likelihood : of the features of the group given the class, in nats.
    parameters : how many free parameters there are: |C| (s - 1) + s * sum of (|X| - 1).
    bic : log likelihood - parameters / 2 * ln N; more is better.
    iterations : how many the climb took.
    converged : whether it arrived.
    """

    states: int
    log_likelihood: float
    parameters: int
    bic: float
    iterations: int
    converged: bool


@dataclass(frozen=True, eq=False)
class Fit:
    """The tables of a hidden variable, the counts they let expect, and how they were found."""

    tables: Tables
    expected: Tables
    convergence: Convergence


def observed(counts: Counts, groups: Sequence[tuple[int, ...]]) -> list[Observed]:
    """What each group of features tells, in one pass; after it the rows are not needed any more."""
    features = sorted({x for group in groups for x in group})
    filled = counts.over(missing_as_states(select_features(counts.cases, tuple(features))))
    families = [family(*(features.index(x) for x in group), CLASS) for group in groups]
    tables = filled.tables(families)
    found = []
    for group, members in zip(groups, families, strict=True):
        codes, n = tables[members].occurring(members[:-1], by=CLASS)
        found.append(Observed(np.stack(codes, axis=1), n.astype(np.float64), counts.cards(group)))
    return found


def searched(own: Observed, states: int | None, search: Search, alpha: float) -> tuple[Fit, list[Trial]]:
    """The hidden variable with so many states, or with the best BIC, the fewest states of equals, and what each was worth.

    Numbers of states are tried from 2 upwards, to `max_states` or one less than there are configurations of the features, and no
    further when two in a row are no better than the best before them.
    """
    most = min(search.max_states, math.prod(own.cards) - 1)
    best, trial = _tried(own, states or 2, search, alpha)
    trials, at = [trial], 0
    while states is None and trials[-1].states < most and len(trials) - 1 - at < PATIENCE:
        fit, trial = _tried(own, trials[-1].states + 1, search, alpha)
        if trial.bic > trials[at].bic:
            best, at = fit, len(trials)
        trials.append(trial)
    return best, trials


def _tried(own: Observed, states: int, search: Search, alpha: float) -> tuple[Fit, Trial]:
    fit = fitted(own, states, search, alpha)
    told, free = fit.convergence, own.counts.shape[1] * (states - 1) + states * own.freedom
    likelihood = told.log_likelihoods[-1]
    return fit, Trial(states, likelihood, free, _bic(likelihood, free, own.total), told.iterations, told.converged)


def _bic(likelihood: float, parameters: int, total: float) -> float:
    return likelihood - parameters * math.log(total) / 2


def naive_bic(own: Observed, alpha: float) -> float:
    """The BIC of the same features without a hidden variable, each depending on the class alone."""
    n: Numbers = np.asarray(own.states @ own.counts)  # (state, class)
    likelihood = float((n * _log(np.where(n > 0, own.normalised(n + alpha), 1.0))).sum())
    return _bic(likelihood, own.counts.shape[1] * own.freedom, own.total)


def fitted(own: Observed, states: int, search: Search, alpha: float) -> Fit:
    """The tables of a hidden variable with so many states, the most frequent first.

    Every start is climbed from for some iterations, the best of them, the first of equals, to the end. `alpha` is the
    pseudo-count of every cell.
    """

    def expectation(tables: Tables) -> EMStep[Tables]:
        return _expectation(own, tables, alpha)

    def maximised(expected: Tables) -> Tables:
        hidden = expected.hidden + alpha
        total = hidden.sum(axis=0)
        shares = np.where(total > 0, hidden / np.where(total > 0, total, 1.0), 1 / states)
        return Tables(shares, own.normalised(expected.features + alpha))

    def further(tables: Tables, iterations: int) -> tuple[Tables, Tables, Convergence]:
        return iterate_em(tables, expectation, maximised, tolerance=search.tolerance, max_iterations=iterations)

    short = min(SHORT, search.max_iterations)
    begun = (_start(own, states, np.random.default_rng([search.random_state, states, start])) for start in range(search.starts))
    tables, expected, told = max((further(start, short) for start in begun), key=lambda found: found[2].objectives[-1])
    if not told.converged and search.max_iterations > short:
        tables, expected, more = further(tables, search.max_iterations - short)
        told = told.then(more)
    order = _order(tables, expected)
    one, two = (Tables(each.hidden[order], each.features[:, order]) for each in (tables, expected))
    return Fit(one, two, told)


def _order(tables: Tables, expected: Tables) -> list[int]:
    """The hidden states by decreasing weight, then by their tables, whatever they were called on the way."""
    weight = expected.hidden.sum(axis=1)
    return sorted(range(len(weight)), key=lambda h: (-weight[h], tables.features[:, h].tolist()))


def _expectation(own: Observed, tables: Tables, alpha: float) -> EMStep[Tables]:
    """What the tables let expect of the hidden variable; missing features have no say."""
    logs = np.asarray(own.configurations @ _log(tables.features))  # (configuration, hidden)
    prior = _log(tables.hidden)
    shares, hidden, likelihoods = np.zeros_like(logs), np.zeros_like(prior), []
    for c, rows in enumerate(own.members):
        joint = logs[rows] + prior[:, c]
        top = joint.max(axis=1, keepdims=True)
        weights = np.exp(joint - top)
        total = weights.sum(axis=1, keepdims=True)
        n = own.counts[rows, c][:, None]
        weights *= n / total
        shares[rows] += weights
        hidden[:, c] = weights.sum(axis=0)
        likelihoods.append(float((n * (np.log(total) + top)).sum()))
    likelihood = math.fsum(likelihoods)
    penalty = alpha * float(_log(tables.features).sum() + prior.sum()) if alpha else 0.0
    return EMStep(likelihood, likelihood + penalty, Tables(hidden, np.asarray(own.states @ shares)))


def _start(own: Observed, states: int, rng: np.random.Generator) -> Tables:
    """Hidden states halfway between all cases and one of them each, drawn by weight, and rather unlike those drawn before."""
    n = own.counts.sum(axis=1)
    everywhere = own.normalised(np.asarray(own.states @ n) + 1)[:, None]
    far, drawn = np.ones(len(n)), []
    for _ in range(states):
        odds = n * far if (n * far).any() else n
        drawn.append(int(rng.choice(len(n), p=odds / odds.sum())))
        apart = np.count_nonzero(own.codes != own.codes[drawn[-1]], axis=1)
        far = np.minimum(far if len(drawn) > 1 else np.inf, apart)
    single = own.states[:, drawn].toarray()  # (state, hidden)
    known = np.repeat(np.add.reduceat(single, own.starts, axis=0), own.cards, axis=0) > 0
    features = np.where(known, (single + everywhere) / 2, everywhere)
    return Tables(np.full((states, own.counts.shape[1]), 1 / states), features)


def _log(p: Numbers) -> Numbers:
    with np.errstate(divide="ignore"):
        return np.log(p)
