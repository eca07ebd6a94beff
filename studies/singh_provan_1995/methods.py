"""The classifiers of Singh and Provan (1995), and those of other readings of the paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from fractions import Fraction
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from naivete import C45, CB, K2AS, Counts, Encoder, InfoAS, NaiveBayes, Network, SelectiveNaive, Table, estimate
from naivete.counts.family_scores import FamilyScores
from naivete.counts.scores import score_of
from naivete.learners.accuracy import correct
from naivete.learners.cb import cb
from naivete.learners.feature_selection import network_on_selected
from naivete.learners.halves import halves
from naivete.learners.k2 import greedy_parents
from naivete.variables import CLASS

__all__ = ["MODIFICATIONS", "READINGS", "ClassLast", "InOrderOfEntry", "model_of", "models"]

STATE: Final = Encoder(missing="state", keep=True)
TREE: Final = "C4.5"
FINAL: Final = "cb:max_parents=none"
"""The network of the selected features: CB as in the paper, which does not limit the number of parents."""
_MODELS: Final[dict[str, Any]] = {
    "naive-ALL": NaiveBayes(),
    "naive-AS": SelectiveNaive(),
    "K2-AS": K2AS(learner=FINAL),
    "K2-AS<=": K2AS(accept_ties=True, learner=FINAL),
    "CB": CB(max_parents=None),
    "CIG-AS": InfoAS(metric="cig", learner=FINAL),
    "CGR-AS": InfoAS(metric="cgr", learner=FINAL),
    "CDC-AS": InfoAS(metric="cdc", learner=FINAL),
    TREE: C45(),
}
MODIFICATIONS: Final = {
    "naive Bayes on the selected features": InfoAS(learner="nb", encoder=STATE),
    "search guided by the metric, accuracy has to rise": InfoAS(guided="rises", learner=FINAL, encoder=STATE),
    "search guided by the metric, accuracy must not fall": InfoAS(guided="stays", learner=FINAL, encoder=STATE),
    "backward elimination afterwards": InfoAS(backward=True, learner=FINAL, encoder=STATE),
}
"""The modifications of CGR-AS in section 5.6."""


def model_of(method: str, encoder: Encoder = STATE) -> Any:
    """Return the classifier of a method: the defaults of the library, any number of parents, missing values as a state."""
    return copy(_MODELS[method]).set_params(encoder=encoder)


def models(methods: Sequence[str] = tuple(_MODELS)) -> dict[str, Any]:
    """Return the classifiers of some methods by name."""
    return {method: model_of(method) for method in methods}


class InOrderOfEntry:
    """CB on the selected features in the order of their selection, which decides where CB has a choice.

    Parameters
    ----------
    selecting : selects the features.
    learner : learns the network.
    """

    def __init__(self, selecting: Any, learner: CB) -> None:
        self.selecting, self.learner = selecting, learner

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """Return its parts, for copies and the record of a run."""
        return {"selecting": self.selecting, "learner": self.learner}

    def fit(self, X: Any, y: NDArray[Any], sample_weight: NDArray[np.float64] | None = None) -> InOrderOfEntry:
        """Select the features and learn the network; X is a table or a data frame."""
        self.order_: list[int] = copy(self.selecting).fit(X, y, sample_weight=sample_weight).selected_
        self.fitted_ = copy(self.learner).fit(self._ordered(X), y, sample_weight=sample_weight)
        self.classes_ = self.fitted_.classes_
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return P(class | row).  # (row, class)"""
        return np.asarray(self.fitted_.predict_proba(self._ordered(X)))

    def _ordered(self, X: Any) -> Any:
        if not isinstance(X, Table):
            return X.iloc[:, self.order_]
        return Table(tuple(X.columns[x] for x in self.order_), source=X.source, rows=len(X))


class ClassLast(K2AS):
    """K2-AS with the class after the features in the networks of its search, so that it has parents among them."""

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        selected = _class_last_selection(counts, self.random_state, self.smoothing)
        final = partial(cb, max_parents=None, smoothing=self.smoothing)
        return network_on_selected(counts, selected, final, self.smoothing), {"selected_": selected}


def _class_last_selection(counts: Counts, seed: int, smoothing: object) -> list[int]:
    """Return the features of K2-AS in the order of selection, where only the parents of the class matter."""
    train, test = halves(counts, seed)
    scores, tested = FamilyScores(train, score_of("k2")), counts.over(test)

    def accuracy(features: Sequence[int]) -> Fraction:
        parents = greedy_parents(scores, {CLASS: sorted(features)})[CLASS]
        return correct(tested, estimate(train, {CLASS: parents, **dict.fromkeys(train.features, ())}, smoothing))

    selected: list[int] = []
    best = accuracy(selected)
    while remaining := [x for x in train.features if x not in selected]:
        accuracies = [accuracy([*selected, x]) for x in remaining]
        if max(accuracies) <= best:
            break
        best = max(accuracies)
        selected.append(remaining[accuracies.index(best)])
    return selected


def _in_order(method: str) -> InOrderOfEntry:
    return InOrderOfEntry(model_of(method).set_params(learner="nb"), model_of("CB").set_params(smoothing=0.5))


READINGS: Final[dict[str, Callable[[str], Any]]] = {
    "significant-gain": lambda method: model_of(method).set_params(stopping_rule="chi2"),
    "missing-left-out": lambda method: model_of(method, Encoder(keep=True)),
    "class-last": lambda _: ClassLast(encoder=STATE),
    "order-of-entry": _in_order,
    "class-anywhere": lambda method: model_of(method).set_params(class_root=False),
}
"""The classifier of a method with each reading of readings.toml."""
