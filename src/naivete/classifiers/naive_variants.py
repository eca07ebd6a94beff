"""Naive Bayes on other variables than the features: joined attributes, clusters of cases, hidden variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.parameters import seed_of
from naivete.counts.counts import BUDGET, Counts
from naivete.encoding.encoder import Encoder
from naivete.errors import ParameterError, close_matches, quoted
from naivete.learners.hidden.hidden_naive import LearnedHidden, hidden_network
from naivete.learners.hidden.mixture import Search
from naivete.learners.joined.search import bsej_groups, fssj_groups, joined_naive_on
from naivete.learners.recursive import recursive
from naivete.network.network import Network, Structure
from naivete.variables import Name

__all__ = ["SEARCHES", "HiddenNaive", "JoinedNaive", "Recursive"]

SEARCHES: dict[str, Callable[..., list[tuple[int, ...]]]] = {"backward": bsej_groups, "forward": fssj_groups}
"""BSEJ and FSSJ."""


class JoinedNaive(NetworkClassifier):
    """Naive Bayes whose features are groups of attributes, chosen by leave-one-out accuracy: BSEJ and FSSJ of Pazzani.

    The groups are `groups_` afterwards, as lists of positions; attributes in none of them do not count.

    >>> import itertools
    >>> rows = [list(row) for row in itertools.product("01", repeat=3)] * 4
    >>> joined = JoinedNaive().fit(rows, [row[0] != row[2] for row in rows])
    >>> joined.groups_, joined.predict([["0", "1", "1"]]).tolist()
    ([[0, 2], [1]], [True])

    Parameters
    ----------
    search : "backward" begins with all attributes and takes away or joins (BSEJ), "forward" with none and adds or joins (FSSJ).
    equal : whether a change is made too after which as much is right as before, unless that is everything. Without it "forward"
        goes nowhere where no attribute alone is better than the most frequent class.
    max_joined : at most how many attributes a group may have; by default any number.
    smoothing, prior, encoder, budget : as for `NetworkClassifier`.
    """

    saved_attributes = ("groups_",)

    def __init__(
        self,
        *,
        search: str = "backward",
        equal: bool = False,
        max_joined: int | None = None,
        smoothing: Any = 1.0,
        prior: Sequence[float] | None = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(smoothing=smoothing, prior=prior, encoder=encoder, budget=budget)
        self.search = search
        self.equal = equal
        self.max_joined = max_joined

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        if self.search not in list(SEARCHES):
            close = close_matches(self.search, SEARCHES)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise ParameterError(f"search={quoted(self.search)}: choose 'backward' (BSEJ) or 'forward' (FSSJ){hint}")
        common: dict[str, Any] = {"smoothing": self.smoothing, "prior": self.prior}
        groups = SEARCHES[self.search](counts, equal=self.equal, max_joined=self.max_joined, **common)
        return joined_naive_on(counts, groups, **common), {"groups_": [list(group) for group in groups]}


class Recursive(NetworkClassifier):
    """A hierarchy of naive Bayes classifiers, each for the cases that the one above mixes up: RBC (Langley).

    >>> exclusive = [["0", "0"], ["0", "1"], ["1", "0"], ["1", "1"]]
    >>> model = Recursive(parity="split").fit(exclusive, ["no", "yes", "yes", "no"])
    >>> model.predict(exclusive).tolist()
    ['no', 'yes', 'yes', 'no']

    Parameters
    ----------
    min_rows : a cluster of less weight gets no classifier of its own.
    prune : nor do the clusters of a classifier whose share of errors on its own cases does not exceed this.
    max_depth : how many classifiers may come after the first; 0 is naive Bayes, None any number.
    parity : what is done where a classifier gives all its cases one class: "stop", or "split" them by the feature that tells most
        about the class.
    refit : whether cases are sent down by the summaries of the clusters, as the paper has it; else by the classifier whose
        answers made the clusters, which is often more accurate.
    smoothing, prior, encoder, budget : as for `NetworkClassifier`; the prior weighs the classes in every node.
    """

    densities = ("normal",)

    def __init__(
        self,
        *,
        min_rows: float = 2,
        prune: float = 0.0,
        max_depth: int | None = None,
        parity: Any = "stop",
        refit: bool = True,
        smoothing: Any = 1.0,
        prior: Sequence[float] | None = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(smoothing=smoothing, prior=prior, encoder=encoder, budget=budget)
        self.min_rows = min_rows
        self.prune = prune
        self.max_depth = max_depth
        self.parity = parity
        self.refit = refit

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        found = recursive(
            counts,
            min_rows=self.min_rows,
            prune=self.prune,
            max_depth=self.max_depth,
            parity=self.parity,
            refit=self.refit,
            smoothing=self.smoothing,
            prior=self.prior,
        )
        return found, {}


class HiddenNaive(NetworkClassifier):
    """Naive Bayes with a hidden variable for each group of features that depend on one another given the class.

    Missing values of training rows are summed out, whatever the encoder says.

    Parameters
    ----------
    groups : disjoint groups of features, by name or position, each with a hidden variable of its own; an empty list is naive
        Bayes. By default they are found by I(X; Y | C), and one stays if its hidden variable has a better BIC than the same
        features without it.
    states : how many states each hidden variable has, one number for all or, with given groups, one for each; by default the
        number with the best BIC.
    max_states : the largest number of states that is tried.
    alpha : the level of the tests that find groups, for all pairs together.
    starts : how many places expectation-maximisation begins from, for each number of states.
    random_state : the seed of those places: a whole number, a RandomState, or None for another one each time.
    tolerance : a climb ends when the objective changes by less than this share of it.
    max_iterations : a climb ends after so many iterations, with a warning where its tables are those chosen.
    smoothing, prior, encoder, budget : as for `NetworkClassifier`.

    Attributes
    ----------
    groups_ : the features of each group, by position.
    states_ : how many states the hidden variable of each group has.
    convergence_ : for each group how its tables were found and what each number of states is worth, as plain data.

    >>> toss = [[0, 0], [0, 0], [0, 0], [1, 1], [1, 1], [1, 1], [0, 1], [1, 0]] * 3
    >>> model = HiddenNaive(groups=[[0, 1]]).fit(toss, [0, 0, 0, 1, 1, 1, 0, 1] * 3)
    >>> model.predict([[0, None], [1, 1]]).tolist(), model.groups_, model.states_
    ([0, 1], [[0, 1]], [2])
    """

    saved_attributes = ("groups_", "states_")
    groups_: list[list[int]]
    states_: list[int]
    convergence_: list[dict[str, Any]]

    def __init__(
        self,
        *,
        groups: Sequence[Sequence[Name]] | None = None,
        states: int | Sequence[int] | None = None,
        max_states: int = 20,
        alpha: float = 0.05,
        starts: int = 5,
        random_state: Any = 0,
        tolerance: float = 1e-7,
        max_iterations: int = 1000,
        smoothing: Any = 1.0,
        prior: Sequence[float] | None = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(smoothing=smoothing, prior=prior, encoder=encoder, budget=budget)
        self.groups = groups
        self.states = states
        self.max_states = max_states
        self.alpha = alpha
        self.starts = starts
        self.random_state = random_state
        self.tolerance = tolerance
        self.max_iterations = max_iterations

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        return self._mediated(counts, self.groups, self.states)

    def _reestimated(self, counts: Counts, structure: Structure) -> tuple[Network, dict[str, Any]]:  # noqa: ARG002
        return self._mediated(counts, self.groups_, self.states_)

    def _completed(self, counts: Counts, network: Network) -> tuple[Network, dict[str, Any]]:  # noqa: ARG002
        return network, {}  # nothing is missing from the tables of groups, and those of other features have no parent to miss

    def _mediated(self, counts: Counts, groups: Any, states: Any) -> tuple[Network, dict[str, Any]]:
        search = Search(self.max_states, self.starts, seed_of(self.random_state), self.tolerance, self.max_iterations)
        common: dict[str, Any] = {"alpha": self.alpha, "smoothing": self.smoothing, "prior": self.prior}
        network, found = hidden_network(counts, search, groups=groups, states=states, **common)
        learned = {"groups_": [list(told.group) for told in found], "states_": [told.states for told in found]}
        return network, {**learned, "convergence_": [_plain(told) for told in found]}


def _plain(told: LearnedHidden) -> dict[str, Any]:
    """What was found for a hidden variable, as lists, texts and numbers."""
    climb = told.convergence
    return {
        "group": list(told.group),
        "states": told.states,
        "naive_bic": told.naive_bic,
        "trials": [asdict(trial) for trial in told.trials],
        "converged": climb.converged,
        "log_likelihoods": list(climb.log_likelihoods),
        "objectives": list(climb.objectives),
    }
