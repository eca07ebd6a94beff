"""Unrestricted networks: the class is a variable like the others, and its Markov blanket decides the prediction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.class_weights import ClassWeight
from naivete.counts.budget import BUDGET
from naivete.encoding.encoder import Encoder
from naivete.errors import ParameterError, did_you_mean, quoted
from naivete.network.network import Network
from naivete.variables import CLASS, Name

if TYPE_CHECKING:
    from naivete.counts.counts import Counts
    from naivete.learners.costs import Cost
    from naivete.network.smoothing import Prior

__all__ = ["CB", "K2", "PC", "HillClimb"]

MaxParents = int | Literal["auto"] | None
MaxOrder = int | Literal["auto"] | None


class K2(NetworkClassifier):
    """K2: every variable has the parents with the best score among the variables before it in an order.

    Parameters
    ----------
    order : {"given", "relevance"} or sequence of str, int or None, default="given"
        "given", the class and then the features as they come; "relevance", the class and then the features by decreasing I(X; C);
        or a list of all features, by name or position, in which None stands for the class (first where it is left out).
    max_parents : int, "auto" or None, default=None
        How many parents a variable may have, the class included; "auto" for as many as leave one case for each cell of its table;
        by default any number.
    criterion : {"k2", "bdeu", "bic", "aic"}, str or callable, default="k2"
        The score of families: "k2", "bdeu" (or with an equivalent sample size, "bdeu:10"), "bic", "aic", or a function like those
        of `naivete.counts.scores`.
    prior : "uniform", sequence of float, dict or None, default=None
        P(c) for every class, used where the class has no parents; by default the relative frequencies.

    References
    ----------
    Cooper and Herskovits (1992), A Bayesian method for the induction of probabilistic networks from data, section 3.1.2.

    Examples
    --------
    >>> from naivete import K2
    >>> weather = [["sunny", "hot"], ["rain", "mild"], ["sunny", "mild"], ["rain", "hot"]] * 3
    >>> K2().fit(weather, ["out", "in", "out", "in"] * 3).predict([["sunny", None]]).tolist()
    ['out']
    """

    _cheaper = "fewer features (InfoAS selects them), or KDB"

    def __init__(
        self,
        *,
        order: str | Sequence[Name] = "given",
        max_parents: MaxParents = None,
        criterion: Any = "k2",
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
        self.order = order
        self.max_parents = max_parents
        self.criterion = criterion

    def _cost(self, counts: Counts, **known: Any) -> Cost | None:  # noqa: ARG002
        from naivete.learners.costs import cost_of, size_of

        return cost_of("k2", size_of(counts))

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        from naivete.learners.k2 import k2

        return k2(counts, **self._arguments(order=self._order(counts))), {}

    def _order(self, counts: Counts) -> list[int]:
        from naivete.counts.information import relevance

        if isinstance(self.order, str):
            if self.order == "given":
                return [CLASS, *counts.features]
            if self.order == "relevance":
                return [CLASS, *np.argsort(-relevance(counts), kind="stable").tolist()]
        if not isinstance(self.order, (list, tuple, np.ndarray)):
            raise ParameterError(f"order={quoted(self.order)}: choose 'given', 'relevance', or give a list of all features")
        names = [v.name for v in counts.variables[:-1]]
        positions = [self._position(name, names) for name in self.order]
        return positions if CLASS in positions else [CLASS, *positions]

    def _position(self, name: Name, names: list[Name]) -> int:
        if name is None and None not in names:
            return CLASS
        if name in names:
            return names.index(name)
        if isinstance(name, (int, np.integer)) and not isinstance(name, bool) and CLASS <= name < len(names):
            return int(name)
        hint = did_you_mean(name, names, "the features are")
        raise ParameterError(f"order={quoted(self.order)}: there is no feature {quoted(name)}; {hint}")


class HillClimb(NetworkClassifier):
    """Hill climbing: single arcs are added, removed or reversed to improve the score; a tabu list leads out of local optima.

    Parameters
    ----------
    criterion : {"k2", "bdeu", "bic", "aic"}, str or callable, default="bdeu"
        The score of families, as for `K2`.
    max_parents : int or None, default=None
        How many parents a variable may have; by default any number.
    tabu : int, default=10
        How many steps without an improvement are made before the search stops; 0 stops at the first local optimum.
    max_steps : int or None, default=None
        The most steps; by default any number.
    class_root : bool, default=False
        Whether the class must have no parents.
    prior : "uniform", sequence of float, dict or None, default=None
        P(c) for every class, used where the class has no parents; by default the relative frequencies.

    References
    ----------
    Heckerman, Geiger and Chickering (1995), Learning Bayesian networks, section 7; Glover (1989), Tabu search, part I.

    Examples
    --------
    >>> from naivete import HillClimb
    >>> weather = [["sunny", "hot"], ["rain", "mild"], ["sunny", "mild"], ["rain", "hot"]] * 3
    >>> HillClimb(class_root=True).fit(weather, ["out", "in", "out", "in"] * 3).network_.parents[0]
    (-1,)
    """

    _cheaper = "max_steps=, fewer features (InfoAS selects them), or K2"

    def __init__(
        self,
        *,
        criterion: Any = "bdeu",
        max_parents: int | None = None,
        tabu: int = 10,
        max_steps: int | None = None,
        class_root: bool = False,
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
        self.criterion = criterion
        self.max_parents = max_parents
        self.tabu = tabu
        self.max_steps = max_steps
        self.class_root = class_root

    def _cost(self, counts: Counts, **known: Any) -> Cost | None:  # noqa: ARG002
        from naivete.learners.costs import cost_of, size_of

        return cost_of("hc", size_of(counts), tabu=self.tabu, max_steps=self.max_steps)

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        from naivete.learners.hill_climb import hill_climb

        return hill_climb(counts, **self._arguments()), {}


class CB(NetworkClassifier):
    """CB: independence tests give an order of the variables, and K2 the network for that order.

    Parameters
    ----------
    alpha : float, default=0.1
        The significance level of the tests; a larger one keeps more edges.
    test : {"g", "chi2"}, default="g"
        "g" (likelihood ratio) or "chi2" (Pearson).
    criterion : {"k2", "bdeu", "bic", "aic"}, str or callable, default="k2"
        The score of families, as for `K2`.
    stopping_rule : {"accuracy", "score"}, default="accuracy"
        The tests condition on more variables while this improves: the "accuracy" on the training cases, or the "score".
    class_root : bool, default=True
        Whether the class comes first in the order.
    partial_order : bool, default=False
        Whether parents are chosen only among the neighbors that the tests left.
    max_order : int or None, default=2
        How many variables the tests condition on at most; None for any number.
    max_parents : int, "auto" or None, default="auto"
        How many parents a variable may have; by default as many as leave one case for each cell of its table; None for any number,
        as in the papers.
    prior : "uniform", sequence of float, dict or None, default=None
        P(c) for every class, used where the class has no parents; by default the relative frequencies.

    References
    ----------
    Singh and Valtorta (1995), Construction of Bayesian network structures from data; Singh and Provan (1995), Efficient learning of
    selective Bayesian network classifiers, section 3.

    Examples
    --------
    >>> from naivete import CB
    >>> weather = [["sunny", "hot"], ["rain", "mild"], ["sunny", "mild"], ["rain", "hot"]] * 9
    >>> CB().fit(weather, ["out", "in", "out", "in"] * 9).predict([["sunny", None]]).tolist()
    ['out']
    """

    _cheaper = "max_order=0, fewer features (InfoAS selects them), or K2"

    def __init__(
        self,
        *,
        alpha: float = 0.1,
        test: Any = "g",
        criterion: Any = "k2",
        stopping_rule: Any = "accuracy",
        class_root: bool = True,
        partial_order: bool = False,
        max_order: int | None = 2,
        max_parents: MaxParents = "auto",
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
        self.alpha = alpha
        self.test = test
        self.criterion = criterion
        self.stopping_rule = stopping_rule
        self.class_root = class_root
        self.partial_order = partial_order
        self.max_order = max_order
        self.max_parents = max_parents

    def _cost(self, counts: Counts, **known: Any) -> Cost | None:
        from naivete.learners.costs import cost_of, size_of

        return cost_of("cb", size_of(counts), max_order=self.max_order, **known)

    def _probe(self, counts: Counts) -> dict[str, Any]:
        return _dependent(counts, self.test, self.alpha)

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        from naivete.learners.cb import cb

        return cb(counts, **self._arguments()), {}


class PC(NetworkClassifier):
    """PC: the network of the graph whose edges no independence test removes.

    Parameters
    ----------
    alpha : float, default=0.05
        The significance level of the tests; a larger one keeps more edges.
    test : {"g", "chi2"}, default="g"
        "g" (likelihood ratio) or "chi2" (Pearson).
    max_order : int, "auto" or None, default="auto"
        How many variables the tests condition on at most; None for any number. By default 0 and 1, and more as long as each number
        takes at most a million tests: one for each set of this size of neighbors of either end of an edge with five cases for each
        cell.
    max_parents : int, "auto" or None, default="auto"
        How many parents a variable may have; by default as many as leave one case for each cell of its table; None for any number.
        The strongest parents are kept, and the other arcs are reversed or left out.
    prior : "uniform", sequence of float, dict or None, default=None
        P(c) for every class, used where the class has no parents; by default the relative frequencies.

    References
    ----------
    Spirtes, Glymour and Scheines (1993), Causation, prediction and search; Colombo and Maathuis (2014), Order-independent
    constraint-based causal structure learning.

    Examples
    --------
    >>> from naivete import PC
    >>> weather = [["sunny", "hot"], ["rain", "mild"], ["sunny", "mild"], ["rain", "hot"]] * 9
    >>> PC().fit(weather, ["out", "in", "out", "in"] * 9).predict([["sunny", None]]).tolist()
    ['out']
    """

    _cheaper = "max_order=1, a smaller alpha=, fewer features (InfoAS selects them), or K2"

    def __init__(
        self,
        *,
        alpha: float = 0.05,
        test: Any = "g",
        max_order: MaxOrder = "auto",
        max_parents: MaxParents = "auto",
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
        self.alpha = alpha
        self.test = test
        self.max_order = max_order
        self.max_parents = max_parents

    def _cost(self, counts: Counts, **known: Any) -> Cost | None:
        from naivete.learners.costs import cost_of, size_of

        return cost_of("pc", size_of(counts), max_order=self.max_order, **known)

    def _probe(self, counts: Counts) -> dict[str, Any]:
        return _dependent(counts, self.test, self.alpha)

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        from naivete.learners.pc import pc

        return pc(counts, **self._arguments()), {}


def _dependent(counts: Counts, test: Any, alpha: float) -> dict[str, Any]:
    """Return the shares of dependent pairs, from a sample."""
    from naivete.counts.independence import statistic_of
    from naivete.learners.costs import dependences

    return dict(dependences(counts, statistic_of(test), alpha))
