"""The classifier with hidden variables between the class and groups of features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.selective import seed_of
from naivete.counts.counts import BUDGET, Counts
from naivete.encoding.encoder import Encoder
from naivete.learners.hidden import LearnedHidden, hidden_network
from naivete.learners.hidden_mixture import Search
from naivete.network.network import Network, Structure
from naivete.variables import Name

__all__ = ["HiddenNaive"]


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

    def _renewed(self, counts: Counts, held: Structure) -> tuple[Network, dict[str, Any]]:  # noqa: ARG002
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
