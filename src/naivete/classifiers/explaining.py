"""Explanations of predictions: the method `explain` of all classifiers that are one network."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from naivete.classifiers.incremental import NotFittedError
from naivete.classifiers.registry import REGISTRY
from naivete.encoding.column_codes import Encoded
from naivete.errors import ParameterError, quoted
from naivete.inference.predictor import argmax_class
from naivete.network.network import Network
from naivete.network.smoothing import smoothing_of

if TYPE_CHECKING:  # learning and predicting need none of these
    from naivete.display.explanation import Explanation
    from naivete.display.importance import Importance
    from naivete.display.nomogram import Nomogram
    from naivete.inference.certainty import Training
    from naivete.inference.explanation import Explainer

__all__ = ["ExplainingMixin"]


class ExplainingMixin(ABC):
    """The method `explain`."""

    network_: Network
    classes_: NDArray[Any]
    predictor_: Any
    explainer_: Explainer
    cases_: float

    @abstractmethod
    def encoded(self, X: Any, unseen: str | None = None) -> Iterator[Encoded]:
        """Return the codes of the rows."""

    def explain(self, X: Any, target_class: Any = None, *, background: Any = None) -> Explanation:
        """Return the contributions of features and of families to the log odds of a class, for every row.

        The contributions of features are exact interventional Shapley values, those of families the terms that the predictor adds.
        Both add up to the log odds of the class, in bits. With more than two classes, the log odds are those of the class against
        all others together; `Explanation.against` compares two classes. Missing values are marginalized exactly.

        Parameters
        ----------
        X : the rows.
        target_class : the class to explain, one of `classes_`; by default the predicted class of each row.
        background : rows from which the values of absent features are drawn in the game of the Shapley values; by default the
            distribution of the network.
        """
        from naivete.display.explanation import Explanation
        from naivete.display.explanation_text import class_position

        codes, has_missing = _joined(self.encoded(X))
        explainer = self._explainer(background)
        temperature = {} if explainer.temperature == 1 else {"temperature": explainer.temperature}
        posterior = self.predictor_.posterior(codes, has_missing, **temperature)[0]
        position = None if target_class is None else class_position(self.classes_, target_class, "target_class")
        target = argmax_class(posterior) if position is None else np.full(len(posterior), position)
        return Explanation(explainer, codes, has_missing, posterior, target.astype(np.int64), self.classes_)

    def importances(self, background: Any = None) -> Importance:
        """Return the mean absolute contribution of every feature to the log odds, and of every arc between features, in bits.

        Parameters
        ----------
        background : the rows over which the contributions of features are averaged, and from which absent features are drawn; by
            default rows drawn from the network.
        """
        from naivete.display.importance import Importance
        from naivete.inference.importance import arc_importances, feature_importances

        self._check_fitted()
        explainer, network = self._explainer(background), self.network_
        features = {network.name(x): float(b) for x, b in zip(explainer.features, feature_importances(explainer), strict=True)}
        arcs = {(network.name(p), network.name(x)): bits for (p, x), bits in arc_importances(network).items()}
        return Importance(features, arcs)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The mean absolute contributions of the features to the log odds, normalized so that they sum to 1."""
        from naivete.inference.importance import feature_importances

        self._check_fitted()
        if not self.explainable:
            raise AttributeError(f"{type(self).__name__} has no feature_importances_: it does not predict with one network")
        explainer = self._explainer(None)
        if explainer.features != tuple(self.network_.inputs):
            raise AttributeError(
                f"{type(self).__name__} has no feature_importances_: it predicts by a column computed from the others"
            )
        bits = feature_importances(explainer)
        total = bits.sum()
        return np.asarray(bits / total if total > 0 else bits)

    def nomogram(self, target_class: Any = None, other_class: Any = None) -> Nomogram:
        """Return the nomogram of a classifier in which each feature has at most one feature as a parent, such as TAN.

        Every value of a feature has points, and the total of the points gives the probability of a class. `svg()` draws it.

        Parameters
        ----------
        target_class : the class whose probability is given; by default the last one.
        other_class : the class with which it is compared; needed if there are more than two.
        """
        from naivete.display.explanation_text import class_position
        from naivete.display.nomogram import nomogram_of

        self._check_fitted()
        explainer = self._explainer(None)
        last = len(self.classes_) - 1
        target = last if target_class is None else class_position(self.classes_, target_class, "target_class")
        if other_class is None and last != 1:
            raise ParameterError(f"a nomogram compares two classes, and there are {last + 1}; pass target_class and other_class")
        other = 1 - target if other_class is None else class_position(self.classes_, other_class, "other_class")
        if other == target:
            raise ParameterError(f"other_class={quoted(other_class)} is the target class; name another one")
        return nomogram_of(self.network_, target, other, explainer.temperature)

    def _check_fitted(self) -> None:
        if not hasattr(self, "network_"):
            raise NotFittedError(f"this {type(self).__name__} instance is not fitted yet; call 'fit' first")

    explainable: ClassVar[bool] = True
    """Whether predictions are those of the network, so that they can be explained."""

    def _explainer(self, background: Any) -> Explainer:
        """Return the explainer; the one for the distribution of the network is made once."""
        from naivete.inference.explanation import Explainer

        if not self.explainable:
            raise ParameterError(
                f"{type(self).__name__} does not predict with one network, and only predictions of one network can be explained; "
                f"choose among {', '.join(explainable())}"
            )
        settings = getattr(self, "temperature_", 1.0), self.training()
        if background is not None:
            return Explainer(self.network_, _joined(self.encoded(background)).codes, *settings)
        if not hasattr(self, "explainer_"):
            self.explainer_ = Explainer(self.network_, None, *settings)
        return self.explainer_

    def training(self) -> Training | None:
        """Return the number of cases and the smoothing, for intervals; None if a model file does not have the number."""
        from naivete.inference.certainty import Training

        smoothing, known_prior = smoothing_of(getattr(self, "smoothing", 0.0)), getattr(self, "prior", None) is not None
        return Training(self.cases_, smoothing, known_prior) if hasattr(self, "cases_") else None


def explainable() -> list[str]:
    """Return the names of the classifiers whose predictions can be explained."""
    return [entry.name for entry in REGISTRY if entry.estimator.explainable]


def _joined(encoded: Iterator[Encoded]) -> Encoded:
    """Return the codes of all parts in one."""
    parts = list(encoded)
    if len(parts) == 1:
        return parts[0]
    columns = zip(*(part.codes for part in parts), strict=True)
    return Encoded(tuple(np.concatenate(column) for column in columns), np.logical_or.reduce([part.has_missing for part in parts]))
