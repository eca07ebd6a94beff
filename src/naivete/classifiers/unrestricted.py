"""Classifiers that are unrestricted networks: the class is a variable like the others, and its Markov blanket answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from naivete.classifiers.base import NetworkClassifier
from naivete.counts.counts import BUDGET, Counts
from naivete.counts.information import relevance
from naivete.counts.scores import score_of
from naivete.encoding.encoder import Encoder
from naivete.errors import ParameterError, close_matches, quoted
from naivete.learners.cb import cb
from naivete.learners.hill_climb import hill_climb
from naivete.learners.k2 import k2
from naivete.learners.pc import pc
from naivete.network.network import Network
from naivete.variables import CLASS, Name

__all__ = ["CB", "K2", "PC", "HillClimb"]


class K2(NetworkClassifier):
    """A network whose variables have the best parents, by a score, among those before them in an order.

    Parameters
    ----------
    order : "given", the class and then the features as they come; "relevance", the class and then the features that tell most
        about it first; or a list of all features, by name or position, in which None stands for the class (put first where it
        is left out).
    max_parents : how many parents a variable may have, the class included; by default any number.
    criterion : the score of families: "k2", "bdeu" (perhaps with a weight, "bdeu:10"), "bic", "aic", or a function like those of
        `naivete.counts.scores`.
    smoothing, prior, encoder, budget : as for `NetworkClassifier`; `prior` counts where the class has no parents.

    >>> weather = [["sunny", "hot"], ["rain", "mild"], ["sunny", "mild"], ["rain", "hot"]] * 3
    >>> K2().fit(weather, ["out", "in", "out", "in"] * 3).predict([["sunny", None]]).tolist()
    ['out']
    """

    def __init__(
        self,
        *,
        order: str | Sequence[Name] = "given",
        max_parents: int | None = None,
        criterion: Any = "k2",
        smoothing: Any = 1.0,
        prior: Sequence[float] | None = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(smoothing=smoothing, prior=prior, encoder=encoder, budget=budget)
        self.order = order
        self.max_parents = max_parents
        self.criterion = criterion

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        order = self._order(counts)
        common: dict[str, Any] = {"smoothing": self.smoothing, "prior": self.prior}
        return k2(counts, order=order, max_parents=self.max_parents, score=score_of(self.criterion, "criterion"), **common), {}

    def _order(self, counts: Counts) -> list[int]:
        if isinstance(self.order, str):
            if self.order == "given":
                return [CLASS, *counts.features]
            if self.order == "relevance":
                return [CLASS, *np.argsort(-relevance(counts), kind="stable").tolist()]
            raise ParameterError(f"order={quoted(self.order)}: choose 'given', 'relevance', or give a list of all features")
        if not isinstance(self.order, (list, tuple, np.ndarray)):
            raise ParameterError(f"order={quoted(self.order)}: choose 'given', 'relevance', or give a list of all features")
        names = [v.name for v in counts.variables[:-1]]
        found = [self._place(name, names) for name in self.order]
        return found if CLASS in found else [CLASS, *found]

    def _place(self, name: Name, names: list[Name]) -> int:
        if name is None and None not in names:
            return CLASS
        if name in names:
            return names.index(name)
        if isinstance(name, (int, np.integer)) and not isinstance(name, bool) and CLASS <= name < len(names):
            return int(name)
        close = close_matches(name, names)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ParameterError(f"order={quoted(self.order)}: there is no feature {quoted(name)}{hint}")


class HillClimb(NetworkClassifier):
    """The network that adding, removing and turning single arcs leads to, with a tabu list to get over small dips.

    Parameters
    ----------
    criterion : as for `K2`.
    max_parents : how many parents a variable may have; by default any number.
    tabu : for how many steps without a better network the search goes on; 0 stops on the first summit.
    max_steps : the most changes; by default any number.
    class_root : whether the class must have no parents.
    smoothing, prior, encoder, budget : as for `NetworkClassifier`; `prior` counts where the class has no parents.
    """

    def __init__(
        self,
        *,
        criterion: Any = "bdeu",
        max_parents: int | None = None,
        tabu: int = 10,
        max_steps: int | None = None,
        class_root: bool = False,
        smoothing: Any = 1.0,
        prior: Sequence[float] | None = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(smoothing=smoothing, prior=prior, encoder=encoder, budget=budget)
        self.criterion = criterion
        self.max_parents = max_parents
        self.tabu = tabu
        self.max_steps = max_steps
        self.class_root = class_root

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        found = hill_climb(
            counts,
            score=score_of(self.criterion, "criterion"),
            max_parents=self.max_parents,
            tabu=self.tabu,
            max_steps=self.max_steps,
            class_root=self.class_root,
            smoothing=self.smoothing,
            prior=self.prior,
        )
        return found, {}


class CB(NetworkClassifier):
    """The network of K2 for an order that tests of independence suggest (Singh and Valtorta).

    Parameters
    ----------
    alpha : the level of the tests; more leaves more edges.
    test : "g" (likelihood ratio) or "chi2" (Pearson).
    criterion : as for `K2`.
    stop : whether it goes on with larger tests while the "accuracy" on the training cases rises, or the "score".
    class_root : whether the class comes first in the order.
    partial_order : whether parents are chosen only among the neighbours that the tests left.
    max_order : the most neighbours to condition on; None for any number.
    max_parents : how many parents a variable may have; by default any number.
    smoothing, prior, encoder, budget : as for `NetworkClassifier`; `prior` counts where the class has no parents.
    """

    def __init__(
        self,
        *,
        alpha: float = 0.1,
        test: Any = "g",
        criterion: Any = "k2",
        stop: Any = "accuracy",
        class_root: bool = True,
        partial_order: bool = False,
        max_order: int | None = 2,
        max_parents: int | None = None,
        smoothing: Any = 1.0,
        prior: Sequence[float] | None = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(smoothing=smoothing, prior=prior, encoder=encoder, budget=budget)
        self.alpha = alpha
        self.test = test
        self.criterion = criterion
        self.stop = stop
        self.class_root = class_root
        self.partial_order = partial_order
        self.max_order = max_order
        self.max_parents = max_parents

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        own = {name: getattr(self, name) for name in CB_PARAMETERS}
        return cb(counts, **own, score=score_of(self.criterion, "criterion"), smoothing=self.smoothing, prior=self.prior), {}


CB_PARAMETERS = ("alpha", "test", "stop", "class_root", "partial_order", "max_order", "max_parents")
"""What `CB` hands on to its learner as it is, beside what every classifier has."""


class PC(NetworkClassifier):
    """The network of a graph whose edges no test of independence could remove.

    Parameters
    ----------
    alpha : the level of the tests; more leaves more edges.
    test : "g" (likelihood ratio) or "chi2" (Pearson).
    max_order : the most neighbours to condition on; by default any number.
    smoothing, prior, encoder, budget : as for `NetworkClassifier`; `prior` counts where the class has no parents.
    """

    def __init__(
        self,
        *,
        alpha: float = 0.05,
        test: Any = "g",
        max_order: int | None = None,
        smoothing: Any = 1.0,
        prior: Sequence[float] | None = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(smoothing=smoothing, prior=prior, encoder=encoder, budget=budget)
        self.alpha = alpha
        self.test = test
        self.max_order = max_order

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        common: dict[str, Any] = {"smoothing": self.smoothing, "prior": self.prior}
        return pc(counts, alpha=self.alpha, test=self.test, max_order=self.max_order, **common), {}
