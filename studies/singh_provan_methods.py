"""The classifiers of Singh and Provan (1995), and two that stand for other readings of the paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from naivete.classifiers.augmented import NaiveBayes
from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.selective import K2AS, InfoAS, Selecting, SelectiveNaive
from naivete.classifiers.trees import C45
from naivete.classifiers.unrestricted import CB
from naivete.counts.counts import Counts
from naivete.counts.scores import FamilyScores, score_of
from naivete.data.table import Table
from naivete.encoding.encoder import Encoder
from naivete.learners.accuracy import correct
from naivete.learners.feature_selection import network_on_selected
from naivete.learners.halves import halves
from naivete.learners.k2 import greedy_parents
from naivete.network.estimation import estimate
from naivete.network.network import Network
from naivete.variables import CLASS
from studies.singh_provan_tables import METHODS

__all__ = ["STATE", "TREE", "ClassLast", "InOrderOfEntry", "model_of", "models"]

STATE: Final = Encoder(missing="state")
TREE: Final = "C4.5"
_MADE: Final[dict[str, Callable[[], NetworkClassifier]]] = {
    "naive-ALL": NaiveBayes,
    "naive-AS": SelectiveNaive,
    "K2-AS": K2AS,
    "K2-AS<=": lambda: K2AS(equal=True),
    "CB": CB,
    "CIG-AS": lambda: InfoAS(metric="cig"),
    "CGR-AS": lambda: InfoAS(metric="cgr"),
    "CDC-AS": lambda: InfoAS(metric="cdc"),
    TREE: C45,
}


def model_of(method: str, encoder: Encoder = STATE) -> Any:
    """The classifier of a method with the usual settings of this library; by default a missing value is a state of its own."""
    return _MADE[method]().set_params(encoder=encoder)


def models(methods: Sequence[str] = (*METHODS, TREE)) -> dict[str, Any]:
    """The classifiers of some methods by name."""
    return {method: model_of(method) for method in methods}


class InOrderOfEntry:
    """A network that is learned from the selected features in the order they entered, which decides where CB has a choice.

    Parameters
    ----------
    selecting : selects the features.
    learner : learns the network.
    """

    def __init__(self, selecting: Selecting, learner: CB) -> None:
        self.selecting, self.learner = selecting, learner

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """What it is made of, for the record of a run."""
        return {"selecting": repr(self.selecting), "learner": repr(self.learner)}

    def fit(self, X: Table, y: NDArray[Any], sample_weight: NDArray[np.float64] | None = None) -> InOrderOfEntry:
        """Select, then learn."""
        self.order_: list[int] = copy(self.selecting).fit(X, y, sample_weight=sample_weight).selected_
        self.fitted_ = copy(self.learner).fit(self._ordered(X), y, sample_weight=sample_weight)
        self.classes_ = self.fitted_.classes_
        return self

    def predict_proba(self, X: Table) -> NDArray[np.float64]:
        """P(class | row)."""
        return np.asarray(self.fitted_.predict_proba(self._ordered(X)))

    def _ordered(self, X: Table) -> Table:
        return Table(tuple(X.columns[x] for x in self.order_), source=X.source, rows=len(X))


class ClassLast(K2AS):
    """K2-AS whose networks on the way have the class behind the features, so that it takes parents among them."""

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        selected = _class_last_selection(counts, self.random_state, self.smoothing)
        return network_on_selected(counts, selected, self._final(), self.smoothing), {"selected_": selected}


def _class_last_selection(counts: Counts, seed: int, smoothing: object) -> list[int]:
    """The features of K2-AS in the order they enter, where only the parents of the class matter."""
    learn, judge = halves(counts, seed)
    scores, judged = FamilyScores(learn, score_of("k2")), counts.over(judge)

    def right(features: Sequence[int]) -> Fraction:
        parents = greedy_parents(scores, {CLASS: sorted(features)})[CLASS]
        return correct(judged, estimate(learn, {CLASS: parents, **dict.fromkeys(learn.features, ())}, smoothing))

    selected: list[int] = []
    best = right(selected)
    while left := [x for x in learn.features if x not in selected]:
        found = [right([*selected, x]) for x in left]
        if max(found) <= best:
            break
        best = max(found)
        selected.append(left[found.index(best)])
    return selected
