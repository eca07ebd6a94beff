"""Naive Bayes with hidden variables: each stands between the class and a group of features that depend on one another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import narrowest
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
"""What a configuration of a group takes for each of its features, and for each hidden state, in numbers of eight bytes."""


@dataclass(frozen=True, repr=False)
class LearnedHidden:
    """A hidden variable that was learned.

    Parameters
    ----------
    group : the features it mediates, by position.
    states : how many states it has.
    trials : what each number of states that was tried is worth.
    naive_bic : what the features are worth without it, each depending on the class alone.
    convergence : how its tables were climbed to.
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
    """A naive Bayes network in which hidden variables mediate between the class and groups of dependent features.

    Each hidden variable has the class as its parent and is the only parent of the features of its group; all other features
    have the class as theirs. The tables come from expectation-maximisation, which sums out missing values of the group; the
    number of states is the one with the largest BIC, log likelihood - parameters / 2 * ln N, where the parameters are
    |C| (s - 1) + s * sum of (|X| - 1). The states are in decreasing order of weight.

    Parameters
    ----------
    counts : the training cases.
    groups : disjoint groups of features, by name or position, each with a hidden variable of its own; none at all is naive
        Bayes. One in which fewer than two features have more than one state gets none. By default they are found, see
        `found_groups`, and one stays if its hidden variable has a better BIC than the same features without it.
    states : how many states each hidden variable has, one number for all or, with given groups, one for each; by default the
        number with the best BIC. It is sought from 2 upwards, to
        `max_states` or one less than there are configurations of the group, and no further when two numbers in a row are no
        better than the best before them.
    max_states : the largest number of states that is tried.
    alpha : the level of the tests that find groups, for all pairs together.
    starts : how many places expectation-maximisation begins from, for each number of states.
    random_state : the seed of those places.
    tolerance : a climb ends when the objective changes by less than this share of it.
    max_iterations : a climb ends after so many iterations, with a warning where its tables are those chosen.
    smoothing : pseudo-count added to every cell, with which the log likelihood plus the log prior never decreases (with 0 the
        log likelihood itself). Another smoothing makes the tables of the counts that a pseudo-count of 1 lets expect.
    prior : P(c) for every class; by default the relative frequencies.

    Two features that agree three times out of four, whatever the class:

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
    """The network of `hidden_naive`, and what was found for each hidden variable.

    Parameters
    ----------
    counts : the training cases.
    search : how the tables and the number of states are sought.
    groups, states, alpha, smoothing, prior : as for `hidden_naive`.
    """
    search.check()
    how = smoothing_of(smoothing)
    pseudo_count = how.alpha if isinstance(how, Lidstone) else 1.0
    level = checked_level(alpha)
    wanted = found_groups(counts, level) if groups is None else given_groups(counts, groups)
    sizes = _sizes(states, len(wanted), groups is not None)
    chosen = {group: size for group, size in zip(wanted, sizes, strict=True) if sum(c > 1 for c in counts.cards(group)) > 1}
    kept = []
    for group, own in zip(chosen, observed(counts, list(chosen)) if chosen else (), strict=True):
        if (chosen[group] or 0) > max(2, prod(counts.cards(group))):
            names = ", ".join(quoted(counts.variables[x].name) for x in group[:5])
            raise ParameterError(
                f"states={quoted(chosen[group])}: {names} have {prod(counts.cards(group))} configurations together, and a hidden "
                "variable of more states says no more; ask for fewer"
            )
        counts.check_budget({family(*group, CLASS): CELLS * len(own.codes) * (len(group) + (chosen[group] or search.max_states))})
        fit, trials = searched(own, chosen[group], search, pseudo_count)
        told = LearnedHidden(group, len(fit.tables.hidden), tuple(trials), naive_bic(own, pseudo_count), fit.convergence)
        if groups is not None or max(trial.bic for trial in trials) > told.naive_bic:
            kept.append((told, fit))
            _warn_unsettled(counts, told)
    return _network(counts, kept, how, prior), tuple(told for told, _ in kept)


def _sizes(states: Any, groups: int, given: bool) -> list[int | None]:
    """The number of states of the hidden variable of each group, None where it is sought."""
    if states is None:
        return [None] * groups
    several = isinstance(states, (list, tuple, np.ndarray))
    sizes = list(states) if several else [states]
    for size in sizes:
        checked_integer(size, "states", 2)
    if several and (not given or len(sizes) != groups):
        raise ParameterError(f"states={quoted(states)}: one number for all groups, or one for each group that is given")
    return sizes if several else sizes * groups


def _warn_unsettled(counts: Counts, told: LearnedHidden) -> None:
    if not told.convergence.converged:
        names = ", ".join(quoted(counts.variables[x].name) for x in told.group[:5]) + (", ..." if len(told.group) > 5 else "")
        warn(
            f"the hidden variable of {names} has not settled after {told.convergence.iterations} iterations; its tables are used "
            "as they are; raise `max_iterations` or `tolerance`",
            NaiveteWarning,
        )


@dataclass(frozen=True)
class _Unknown:
    """A column that is missing in every row."""

    card: int

    def __call__(self, block: Block) -> NDArray[Any]:
        dtype = narrowest(self.card)
        return np.full(len(block), np.iinfo(dtype).max, dtype)


def _network(counts: Counts, kept: list[tuple[LearnedHidden, Fit]], how: Smoothing, prior: Sequence[float] | None) -> Network:
    """The network of the features and the hidden variables, the tables of the latter from the counts they let expect."""
    structure: dict[int, tuple[int, ...]] = {CLASS: (), **dict.fromkeys(counts.features, (CLASS,))}
    tables: dict[Family, CountTable] = {}
    whole, first = counts, len(counts.features)
    for h, (told, fit) in enumerate(kept, start=first):
        variable = Variable(unused_name("hidden", whole.variables), tuple(range(1, told.states + 1)))
        whole = whole.with_column(variable, _Unknown(told.states), gaps=True)
        structure |= {h: (CLASS,), **dict.fromkeys(told.group, (h,))}
        parts = np.split(fit.expected.features, np.cumsum(counts.cards(told.group))[:-1])
        expected = {(h, CLASS): fit.expected.hidden, **{(x, h): part for x, part in zip(told.group, parts, strict=True)}}
        tables |= {members: DenseTable(members, n) for members, n in expected.items()}
    found = estimate(ExpectedCounts(whole, tables), structure, how, prior=prior)
    hidden = {h: Hidden() for h in range(first, first + len(kept))}
    return Network(found.variables, found.parents, found.cpts, hidden, check=False)
