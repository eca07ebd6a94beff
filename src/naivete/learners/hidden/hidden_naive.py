"""Naive Bayes with hidden variables, each between the class and a group of dependent features."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import missing_code, narrowest
from naivete.cases.base import Block
from naivete.counts.counts import Counts
from naivete.counts.independence import checked_level
from naivete.counts.tables import CountTable, DenseTable
from naivete.errors import NaiveteWarning, ParameterError, quoted, warn
from naivete.inference.em import ExpectedCounts
from naivete.inference.em_steps import Convergence
from naivete.learners.hidden.groups import Group, found_groups, given_groups
from naivete.learners.hidden.mixture import Fit, Search, Trial, naive_bic, observed, searched
from naivete.learners.parameters import checked_integer
from naivete.network.derived_columns import Hidden
from naivete.network.estimation import estimate
from naivete.network.network import Network
from naivete.network.smoothing import Lidstone, Smoothing, smoothing_of
from naivete.variables import CLASS, Family, Name, Variable, family, unused_name

__all__ = ["LearnedHidden", "hidden_naive", "hidden_network"]

CELLS = 5
"""How many numbers a configuration of a group needs for each of its features, and for each hidden state."""


@dataclass(frozen=True, repr=False)
class LearnedHidden:
    """A learned hidden variable.

    Parameters
    ----------
    group : the features of its group, by position.
    states : the number of its states.
    trials : the BIC of each number of states that was tried.
    naive_bic : the BIC of the features without it, each depending on the class alone.
    convergence : the iterations of EM.
    """

    group: Group
    states: int
    trials: tuple[Trial, ...]
    naive_bic: float
    convergence: Convergence

    def __repr__(self) -> str:
        tried = ", ".join(f"{trial.states}: {trial.bic:.1f}" for trial in self.trials)
        return f"<{self.states} states for features {', '.join(map(str, self.group))}; BIC {tried}, without {self.naive_bic:.1f}>"


def hidden_naive(
    counts: Counts,
    *,
    groups: Iterable[Iterable[Name]] | None = None,
    states: int | Sequence[int] | None = None,
    max_states: int = 20,
    alpha: float = 0.05,
    starts: int = 5,
    random_state: int = 0,
    tolerance: float = 1e-7,
    max_iterations: int = 1000,
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> Network:
    """Return naive Bayes with hidden variables between the class and groups of dependent features.

    The class is the parent of each hidden variable, which is the only parent of the features of its group; the class is the
    parent of all other features. The tables are estimated by expectation-maximization, which marginalizes missing values of the
    group. The number of states s has the largest BIC, log likelihood - parameters / 2 * ln N, with |C| (s - 1) + s * sum of
    (|X| - 1) parameters. The states are in decreasing order of weight.

    Parameters
    ----------
    counts : the training cases.
    groups : disjoint groups of features, by name or position, each of which gets a hidden variable; without groups this is naive
        Bayes. A group in which fewer than two features have more than one state gets none. By default groups are searched, see
        `found_groups`, and kept if the hidden variable has a larger BIC than the same features without it.
    states : the number of states of the hidden variables, one number for all or one for each given group; by default the number
        with the largest BIC. It is searched from 2 upwards, to `max_states` or one less than the number of configurations of
        the group, until two numbers in a row are no better than the best before them.
    max_states : the largest number of states that is tried.
    alpha : the significance level of the tests that find groups, for all pairs together.
    starts : the number of random starts of EM, for each number of states.
    random_state : the seed of the starts.
    tolerance : EM ends when the relative change of the objective is smaller than this.
    max_iterations : EM ends after this number of iterations, with a warning if the resulting tables are used.
    smoothing : pseudo-count added to every cell. EM then never reduces the log likelihood plus the log prior (with 0 the log
        likelihood itself). Another smoothing is applied to the expected counts of EM with a pseudo-count of 1.
    prior : P(c) for every class; by default the relative frequencies.

    Two features that agree three times out of four, in a single class:

    >>> from naivete.cases import Block, MemoryCases
    >>> a, b = np.array([0, 0, 0, 1, 1, 1, 0, 1], np.uint8), np.array([0, 0, 0, 1, 1, 1, 1, 0], np.uint8)
    >>> names = tuple(Variable(name, (0, 1)) for name in "abc")
    >>> cases = MemoryCases(names, Block((a, b, np.zeros(8, np.uint8))), np.array([False, False]))
    >>> network = hidden_naive(Counts(cases), groups=[["a", "b"]], states=2)
    >>> network.arcs, network.name(2)
    ([(2, 0), (2, 1)], 'hidden')

    References
    ----------
    Jensen and Nielsen (2007), Bayesian networks and decision graphs, section 8.3, figure 8.5.
    """
    search = Search(max_states, starts, random_state, tolerance, max_iterations)
    return hidden_network(counts, search, groups=groups, states=states, alpha=alpha, smoothing=smoothing, prior=prior)[0]


def hidden_network(
    counts: Counts,
    search: Search,
    *,
    groups: Iterable[Iterable[Name]] | None = None,
    states: int | Sequence[int] | None = None,
    alpha: float = 0.05,
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> tuple[Network, tuple[LearnedHidden, ...]]:
    """Return the network of `hidden_naive`, and the details of each hidden variable.

    Parameters
    ----------
    counts : the training cases.
    search : the settings of EM and of the search for the number of states.
    groups, states, alpha, smoothing, prior : as for `hidden_naive`.
    """
    search.check()
    smoother = smoothing_of(smoothing)
    pseudo_count = smoother.alpha if isinstance(smoother, Lidstone) else 1.0
    level = checked_level(alpha)
    wanted = found_groups(counts, level) if groups is None else given_groups(counts, groups)
    sizes = _sizes(states, len(wanted), groups is not None)
    chosen = {group: size for group, size in zip(wanted, sizes, strict=True) if sum(c > 1 for c in counts.cards(group)) > 1}
    kept = []
    for group, data in zip(chosen, observed(counts, list(chosen)) if chosen else (), strict=True):
        if (chosen[group] or 0) > max(2, prod(counts.cards(group))):
            names = ", ".join(quoted(counts.variables[x].name) for x in group[:5])
            raise ParameterError(
                f"states={quoted(chosen[group])}: {names} have {prod(counts.cards(group))} configurations together, and a hidden "
                "variable with more states has no effect; use fewer"
            )
        counts.check_budget({family(*group, CLASS): CELLS * len(data.codes) * (len(group) + (chosen[group] or search.max_states))})
        fit, trials = searched(data, chosen[group], search, pseudo_count)
        learned = LearnedHidden(group, len(fit.tables.hidden), tuple(trials), naive_bic(data, pseudo_count), fit.convergence)
        if groups is not None or max(trial.bic for trial in trials) > learned.naive_bic:
            kept.append((learned, fit))
            _warn_if_not_converged(counts, learned)
    return _network(counts, kept, smoother, prior), tuple(learned for learned, _ in kept)


def _sizes(states: Any, groups: int, given: bool) -> list[int | None]:
    """Return the number of states of the hidden variable of each group, None where it is searched."""
    if states is None:
        return [None] * groups
    several = isinstance(states, (list, tuple, np.ndarray))
    sizes = list(states) if several else [states]
    for size in sizes:
        checked_integer(size, "states", 2)
    if several and (not given or len(sizes) != groups):
        raise ParameterError(f"states={quoted(states)}: one number for all groups, or one for each group that is given")
    return sizes if several else sizes * groups


def _warn_if_not_converged(counts: Counts, learned: LearnedHidden) -> None:
    if not learned.convergence.converged:
        names = ", ".join(quoted(counts.variables[x].name) for x in learned.group[:5]) + (", ..." if len(learned.group) > 5 else "")
        warn(
            f"the hidden variable of {names} has not converged after {learned.convergence.iterations} iterations; its tables are "
            "used as they are; increase `max_iterations` or `tolerance`",
            NaiveteWarning,
        )


@dataclass(frozen=True)
class _Missing:
    """A column that is missing in every row."""

    card: int

    def __call__(self, block: Block) -> NDArray[Any]:
        dtype = narrowest(self.card)
        return np.full(len(block), missing_code(dtype), dtype)


def _network(counts: Counts, kept: list[tuple[LearnedHidden, Fit]], smoothing: Smoothing, prior: Sequence[float] | None) -> Network:
    """Return the network of the features and the hidden variables, with tables from the expected counts of EM."""
    structure: dict[int, tuple[int, ...]] = {CLASS: (), **dict.fromkeys(counts.features, (CLASS,))}
    tables: dict[Family, CountTable] = {}
    whole, first = counts, len(counts.features)
    for h, (learned, fit) in enumerate(kept, start=first):
        variable = Variable(unused_name("hidden", whole.variables), tuple(range(1, learned.states + 1)))
        whole = whole.with_column(variable, _Missing(learned.states), has_missing=True)
        structure |= {h: (CLASS,), **dict.fromkeys(learned.group, (h,))}
        parts = np.split(fit.expected.features, np.cumsum(counts.cards(learned.group))[:-1])
        expected = {(h, CLASS): fit.expected.hidden, **{(x, h): part for x, part in zip(learned.group, parts, strict=True)}}
        tables |= {members: DenseTable(members, n) for members, n in expected.items()}
    network = estimate(ExpectedCounts(whole, tables), structure, smoothing, prior=prior)
    hidden = {h: Hidden() for h in range(first, first + len(kept))}
    return Network(network.variables, network.parents, network.cpts, hidden, check=False)
