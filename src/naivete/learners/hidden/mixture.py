"""A hidden variable between the class and a group of features: tables by EM, number of states by BIC."""

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


FIRST_ITERATIONS = 15
"""The iterations of every start before only the best of them continues."""
PATIENCE = 2
"""The search ends when this many numbers of states in a row are no better than the best before them."""


@dataclass(frozen=True, eq=False)
class Observed:
    """The sufficient statistics of a group of features: the configurations that occur, and how often in each class.

    Parameters
    ----------
    codes : the configurations; the code of a missing value is the number of states.  # (configuration, feature)
    counts : the weight of each in each class.  # (configuration, class)
    cards : the number of states of each feature.
    """

    codes: NDArray[np.int64]
    counts: Numbers
    cards: tuple[int, ...]

    @property
    def total(self) -> float:
        """The total weight of the cases."""
        return float(self.counts.sum())

    @property
    def freedom(self) -> int:
        """The number of free parameters of one distribution for every feature."""
        return sum(card - 1 for card in self.cards)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The position of the first state of each feature among the states of all features."""
        return np.cumsum([0, *self.cards[:-1]])

    @cached_property
    def states(self) -> Any:
        """Which states each configuration has, none for missing features.  # (state, configuration), sparse"""
        from scipy.sparse import csr_array

        configuration, feature = np.nonzero(self.codes < np.array(self.cards))
        state = (self.codes + self.starts)[configuration, feature]
        return csr_array((np.ones(len(state)), (state, configuration)), shape=(sum(self.cards), len(self.codes)))

    @cached_property
    def configurations(self) -> Any:
        """The transpose of `states`.  # (configuration, state)"""
        return self.states.T.tocsr()

    @cached_property
    def members(self) -> list[NDArray[np.intp]]:
        """The configurations that occur in each class."""
        return [np.flatnonzero(n) for n in self.counts.T]

    def normalized(self, n: Numbers) -> Numbers:
        """Return counts normalized over the states of each feature, uniform where all are zero.  # (state, ...)"""
        sums, cards = np.add.reduceat(n, self.starts, axis=0), np.array(self.cards)
        total, card = (np.repeat(part, cards, axis=0) for part in (sums, cards.reshape(-1, *(1,) * (n.ndim - 1))))
        return np.where(total > 0, n / np.where(total > 0, total, 1.0), 1 / card)


class Tables(NamedTuple):
    """P(hidden | class), and P(state | hidden) for the states of all features; or expected counts."""

    hidden: Numbers  # (hidden, class)
    features: Numbers  # (state, hidden)


@dataclass(frozen=True)
class Search:
    """The settings of EM and of the search for the number of states.

    Parameters
    ----------
    max_states : the largest number of states that is tried.
    starts : the number of random starts of EM, for each number of states.
    random_state : the seed of the starts.
    tolerance : EM ends when the relative change of the objective is smaller than this.
    max_iterations : EM ends after this number of iterations in any case.
    """

    max_states: int = 20
    starts: int = 5
    random_state: int = 0
    tolerance: float = 1e-7
    max_iterations: int = 1000

    def check(self) -> None:
        """Refuse settings that are out of range."""
        for name, least in {"max_states": 2, "starts": 1, "random_state": 0}.items():
            checked_integer(getattr(self, name), name, least)
        check_iterations(self.tolerance, self.max_iterations)


@dataclass(frozen=True)
class Trial:
    """The result for one number of hidden states.

    Parameters
    ----------
    states : the number of states.
    log_likelihood : of the features of the group given the class, in nats.
    parameters : the number of free parameters, |C| (s - 1) + s * sum of (|X| - 1).
    bic : log likelihood - parameters / 2 * ln N; larger is better.
    iterations : the number of iterations of EM.
    converged : whether EM converged.
    """

    states: int
    log_likelihood: float
    parameters: int
    bic: float
    iterations: int
    converged: bool


@dataclass(frozen=True, eq=False)
class Fit:
    """The tables of a hidden variable, the expected counts, and the iterations of EM."""

    tables: Tables
    expected: Tables
    convergence: Convergence


def observed(counts: Counts, groups: Sequence[tuple[int, ...]]) -> list[Observed]:
    """Return the sufficient statistics of each group of features, in one pass; EM does not need the rows again."""
    features = sorted({x for group in groups for x in group})
    filled = counts.over(missing_as_states(select_features(counts.cases, tuple(features))))
    families = [family(*(features.index(x) for x in group), CLASS) for group in groups]
    tables = filled.tables(families)
    result = []
    for group, members in zip(groups, families, strict=True):
        codes, n = tables[members].occurring(members[:-1], by=CLASS)
        result.append(Observed(np.stack(codes, axis=1), n.astype(np.float64), counts.cards(group)))
    return result


def searched(data: Observed, states: int | None, search: Search, alpha: float) -> tuple[Fit, list[Trial]]:
    """Return the hidden variable with the given number of states, or with the best BIC, and all results.

    Numbers of states are tried from 2 upwards, to `max_states` or one less than the number of configurations of the features,
    until two in a row are no better than the best before them. Ties go to fewer states.
    """
    largest = min(search.max_states, math.prod(data.cards) - 1)
    best, trial = _tried(data, states or 2, search, alpha)
    trials, best_trial = [trial], 0
    while states is None and trials[-1].states < largest and len(trials) - 1 - best_trial < PATIENCE:
        fit, trial = _tried(data, trials[-1].states + 1, search, alpha)
        if trial.bic > trials[best_trial].bic:
            best, best_trial = fit, len(trials)
        trials.append(trial)
    return best, trials


def _tried(data: Observed, states: int, search: Search, alpha: float) -> tuple[Fit, Trial]:
    fit = fitted(data, states, search, alpha)
    convergence, free = fit.convergence, data.counts.shape[1] * (states - 1) + states * data.freedom
    likelihood = convergence.log_likelihoods[-1]
    bic = _bic(likelihood, free, data.total)
    return fit, Trial(states, likelihood, free, bic, convergence.iterations, convergence.converged)


def _bic(likelihood: float, parameters: int, total: float) -> float:
    return likelihood - parameters * math.log(total) / 2


def naive_bic(data: Observed, alpha: float) -> float:
    """Return the BIC of the same features without a hidden variable, each depending on the class alone."""
    n: Numbers = np.asarray(data.states @ data.counts)  # (state, class)
    likelihood = float((n * _log(np.where(n > 0, data.normalized(n + alpha), 1.0))).sum())
    return _bic(likelihood, data.counts.shape[1] * data.freedom, data.total)


def fitted(data: Observed, states: int, search: Search, alpha: float) -> Fit:
    """Return the tables of a hidden variable with `states` states, the most frequent state first.

    EM makes some iterations from every start; only the best start, the first of equals, continues to the end. `alpha` is the
    pseudo-count of every cell.
    """

    def expectation(tables: Tables) -> EMStep[Tables]:
        return _expectation(data, tables, alpha)

    def maximized(expected: Tables) -> Tables:
        hidden = expected.hidden + alpha
        total = hidden.sum(axis=0)
        shares = np.where(total > 0, hidden / np.where(total > 0, total, 1.0), 1 / states)
        return Tables(shares, data.normalized(expected.features + alpha))

    def iterated(tables: Tables, iterations: int) -> tuple[Tables, Tables, Convergence]:
        return iterate_em(tables, expectation, maximized, tolerance=search.tolerance, max_iterations=iterations)

    first = min(FIRST_ITERATIONS, search.max_iterations)
    begun = (_start(data, states, np.random.default_rng([search.random_state, states, start])) for start in range(search.starts))
    tables, expected, convergence = max((iterated(start, first) for start in begun), key=lambda result: result[2].objectives[-1])
    if not convergence.converged and search.max_iterations > first:
        tables, expected, more = iterated(tables, search.max_iterations - first)
        convergence = convergence.then(more)
    order = _order(tables, expected)
    one, two = (Tables(each.hidden[order], each.features[:, order]) for each in (tables, expected))
    return Fit(one, two, convergence)


def _order(tables: Tables, expected: Tables) -> list[int]:
    """Return the hidden states by decreasing weight, then by their tables."""
    weight = expected.hidden.sum(axis=1)
    return sorted(range(len(weight)), key=lambda h: (-weight[h], tables.features[:, h].tolist()))


def _expectation(data: Observed, tables: Tables, alpha: float) -> EMStep[Tables]:
    """Return the expected counts of the hidden variable and the likelihood; missing features are marginalized."""
    logs = np.asarray(data.configurations @ _log(tables.features))  # (configuration, hidden)
    prior = _log(tables.hidden)
    shares, hidden, likelihoods = np.zeros_like(logs), np.zeros_like(prior), []
    for c, rows in enumerate(data.members):
        joint = logs[rows] + prior[:, c]
        top = joint.max(axis=1, keepdims=True)
        weights = np.exp(joint - top)
        total = weights.sum(axis=1, keepdims=True)
        n = data.counts[rows, c][:, None]
        weights *= n / total
        shares[rows] += weights
        hidden[:, c] = weights.sum(axis=0)
        likelihoods.append(float((n * (np.log(total) + top)).sum()))
    likelihood = math.fsum(likelihoods)
    penalty = alpha * float(_log(tables.features).sum() + prior.sum()) if alpha else 0.0
    return EMStep(likelihood, likelihood + penalty, Tables(hidden, np.asarray(data.states @ shares)))


def _start(data: Observed, states: int, rng: np.random.Generator) -> Tables:
    """Return tables whose hidden states lie halfway between all cases and one case each.

    These cases are drawn by weight, with larger probability if they differ from those drawn before.
    """
    n = data.counts.sum(axis=1)
    everywhere = data.normalized(np.asarray(data.states @ n) + 1)[:, None]
    distance, drawn = np.ones(len(n)), []
    for _ in range(states):
        odds = n * distance if (n * distance).any() else n
        drawn.append(int(rng.choice(len(n), p=odds / odds.sum())))
        differing = np.count_nonzero(data.codes != data.codes[drawn[-1]], axis=1)
        distance = np.minimum(distance if len(drawn) > 1 else np.inf, differing)
    single = data.states[:, drawn].toarray()  # (state, hidden)
    known = np.repeat(np.add.reduceat(single, data.starts, axis=0), data.cards, axis=0) > 0
    features = np.where(known, (single + everywhere) / 2, everywhere)
    return Tables(np.full((states, data.counts.shape[1]), 1 / states), features)


def _log(p: Numbers) -> Numbers:
    with np.errstate(divide="ignore"):
        return np.log(p)
