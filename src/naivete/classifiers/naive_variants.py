"""Naive Bayes on other variables than the features: joined attributes, clusters of cases, hidden variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.class_weights import ClassWeight
from naivete.classifiers.parameters import seed_of
from naivete.counts.budget import BUDGET
from naivete.encoding.encoder import Encoder
from naivete.errors import ParameterError, close_matches, quoted
from naivete.network.network import Network, Structure
from naivete.variables import Name

if TYPE_CHECKING:
    from naivete.counts.counts import Counts
    from naivete.learners.costs import Cost
    from naivete.learners.hidden.hidden_naive import LearnedHidden
    from naivete.network.smoothing import Prior

__all__ = ["HiddenNaive", "JoinedNaive", "Recursive"]


class JoinedNaive(NetworkClassifier):
    """Naive Bayes on groups of attributes, which are joined, added or removed by leave-one-out accuracy: BSEJ and FSSJ.

    Parameters
    ----------
    search : {"backward", "forward"}, default="backward"
        "backward" starts with all attributes and removes or joins them (BSEJ); "forward" starts with none and adds or joins them
        (FSSJ).
    accept_ties : bool, default=False
        Whether a change that leaves the accuracy the same is made too, unless all cases are classified correctly. Without it
        "forward" selects nothing where no single attribute is more accurate than the most frequent class.
    max_joined : int or None, default=None
        How many attributes a group may have; by default any number.

    Attributes
    ----------
    groups_ : list of list of int
        The positions of the attributes of each group; attributes in no group are not used.

    References
    ----------
    Pazzani (1995), Searching for dependencies in Bayesian classifiers.

    Examples
    --------
    >>> import itertools
    >>> from naivete import JoinedNaive
    >>> rows = [list(row) for row in itertools.product("01", repeat=3)] * 4
    >>> joined = JoinedNaive().fit(rows, [row[0] != row[2] for row in rows])
    >>> joined.groups_, joined.predict([["0", "1", "1"]]).tolist()
    ([[0, 2], [1]], [True])
    """

    saved_attributes = ("groups_",)

    _cheaper = "search='forward', fewer features (InfoAS selects them), or TAN"

    def __init__(
        self,
        *,
        search: str = "backward",
        accept_ties: bool = False,
        max_joined: int | None = None,
        smoothing: Any = 1.0,
        prior: Prior = None,
        calibration: str | None = None,
        class_weight: ClassWeight = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(
            smoothing=smoothing, prior=prior, calibration=calibration, class_weight=class_weight, encoder=encoder, budget=budget
        )
        self.search = search
        self.accept_ties = accept_ties
        self.max_joined = max_joined

    def _cost(self, counts: Counts, **known: Any) -> Cost | None:  # noqa: ARG002
        from naivete.learners.costs import cost_of, size_of

        return cost_of("fssj" if self.search == "forward" else "bsej", size_of(counts))

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        from naivete.learners.joined.search import bsej_groups, fssj_groups, joined_naive_on

        searches: dict[Any, Callable[..., list[tuple[int, ...]]]] = {"backward": bsej_groups, "forward": fssj_groups}
        if self.search not in list(searches):
            close = close_matches(self.search, searches)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise ParameterError(f"search={quoted(self.search)}: choose 'backward' (BSEJ) or 'forward' (FSSJ){hint}")
        groups = searches[self.search](counts, **self._arguments("search"))
        network = joined_naive_on(counts, groups, smoothing=self.smoothing, prior=self.prior)
        return network, {"groups_": [list(group) for group in groups]}


class Recursive(NetworkClassifier):
    """Recursive Bayesian classifier: a hierarchy of naive Bayes classifiers, each for the cases that the one above confuses.

    Parameters
    ----------
    min_rows : float, default=2
        A cluster with a smaller weight gets no classifier.
    prune : float, default=0.0
        The clusters of a classifier whose error rate on its own cases is at most this get no classifiers.
    max_depth : int or None, default=None
        How many classifiers may follow the first; 0 is naive Bayes, None any number.
    parity : {"stop", "split"}, default="stop"
        What is done where a classifier predicts one class for all its cases: "stop", or "split" them by the most informative
        feature.
    refit : bool, default=True
        Whether cases are sent down by the summaries of the clusters, as in the paper; otherwise by the classifier whose predictions
        made the clusters, which is often more accurate.
    prior : "uniform", sequence of float, dict or None, default=None
        P(c) for every class, used in every node; by default the relative frequencies.

    References
    ----------
    Langley (1993), Induction of recursive Bayesian classifiers, section 3; `prune` and `parity`: section 6.

    Examples
    --------
    >>> from naivete import Recursive
    >>> exclusive = [["0", "0"], ["0", "1"], ["1", "0"], ["1", "1"]]
    >>> model = Recursive(parity="split").fit(exclusive, ["no", "yes", "yes", "no"])
    >>> model.predict(exclusive).tolist()
    ['no', 'yes', 'yes', 'no']
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
        prior: Prior = None,
        class_weight: ClassWeight = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(smoothing=smoothing, prior=prior, class_weight=class_weight, encoder=encoder, budget=budget)
        self.min_rows = min_rows
        self.prune = prune
        self.max_depth = max_depth
        self.parity = parity
        self.refit = refit

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        from naivete.learners.recursive import recursive

        return recursive(counts, **self._arguments()), {}


class HiddenNaive(NetworkClassifier):
    """Naive Bayes with a hidden variable for each group of features that depend on one another given the class.

    Missing values in training rows are marginalized, whatever the encoder says.

    Parameters
    ----------
    groups : sequence of sequence of str or int, or None, default=None
        Disjoint groups of features, by name or position, each with one hidden variable; an empty list is naive Bayes. By default
        groups are found by I(X; Y | C), and kept where the hidden variable improves the BIC.
    states : int, sequence of int or None, default=None
        The number of states of the hidden variables, one number for all or, with given groups, one for each; by default the number
        with the best BIC.
    max_states : int, default=20
        The largest number of states that is tried.
    alpha : float, default=0.05
        The significance level of the tests that find groups, for all pairs together.
    starts : int, default=5
        How often expectation-maximization is started for each number of states.
    random_state : int, RandomState instance or None, default=0
        The seed of these starts: a whole number, a RandomState, or None for another one each time.
    tolerance : float, default=1e-07
        The relative change of the objective at which expectation-maximization stops.
    max_iterations : int, default=1000
        The most iterations; where the chosen tables have reached it, a warning says so.

    Attributes
    ----------
    groups_ : list of list of int
        The positions of the features of each group.
    states_ : list of int
        The number of states of the hidden variable of each group.
    convergence_ : list of dict
        For each group how expectation-maximization converged and the BIC of each number of states, as plain data.

    References
    ----------
    Jensen and Nielsen (2007), Bayesian networks and decision graphs, section 8.3, figure 8.5.

    Examples
    --------
    >>> from naivete import HiddenNaive
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
        prior: Prior = None,
        class_weight: ClassWeight = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(smoothing=smoothing, prior=prior, class_weight=class_weight, encoder=encoder, budget=budget)
        self.groups = groups
        self.states = states
        self.max_states = max_states
        self.alpha = alpha
        self.starts = starts
        self.random_state = random_state
        self.tolerance = tolerance
        self.max_iterations = max_iterations

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        return self._with_hidden_variables(counts, self.groups, self.states)

    def _reestimated(self, counts: Counts, structure: Structure) -> tuple[Network, dict[str, Any]]:  # noqa: ARG002
        return self._with_hidden_variables(counts, self.groups_, self.states_)

    def _completed(self, counts: Counts, network: Network) -> tuple[Network, dict[str, Any]]:  # noqa: ARG002
        return network, {}  # the tables of groups are estimated from all rows already; other features have no missing parents

    def _with_hidden_variables(self, counts: Counts, groups: Any, states: Any) -> tuple[Network, dict[str, Any]]:
        from naivete.learners.hidden.hidden_naive import hidden_network
        from naivete.learners.hidden.mixture import Search

        search = Search(self.max_states, self.starts, seed_of(self.random_state), self.tolerance, self.max_iterations)
        estimation = {"alpha": self.alpha, "smoothing": self.smoothing, "prior": self.prior}
        network, learned = hidden_network(counts, search, groups=groups, states=states, **estimation)
        return network, {
            "groups_": [list(hidden.group) for hidden in learned],
            "states_": [hidden.states for hidden in learned],
            "convergence_": [_plain(hidden) for hidden in learned],
        }


def _plain(hidden: LearnedHidden) -> dict[str, Any]:
    """Return what was learned about a hidden variable as lists, strings and numbers."""
    convergence = hidden.convergence
    return {
        "group": list(hidden.group),
        "states": hidden.states,
        "naive_bic": hidden.naive_bic,
        "trials": [asdict(trial) for trial in hidden.trials],
        "converged": convergence.converged,
        "log_likelihoods": list(convergence.log_likelihoods),
        "objectives": list(convergence.objectives),
    }
