"""Explanations of predictions: the method `explain` of all classifiers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from naivete.classifiers.estimator import check_fitted
from naivete.classifiers.parameters import seed_of
from naivete.classifiers.registry import REGISTRY
from naivete.encoding.column_codes import Encoded
from naivete.errors import ParameterError, quoted
from naivete.inference.predictor import argmax_class
from naivete.network.network import Network

if TYPE_CHECKING:  # learning and predicting need none of these
    from naivete.display.explanation import Explanation
    from naivete.display.importance import Importance
    from naivete.display.nomogram import Nomogram
    from naivete.inference.certainty import Training
    from naivete.inference.ensemble_explanation import AnyExplainer, Ensemble
    from naivete.inference.explanation import Explainer

__all__ = ["ExplainingMixin", "one_network_classifiers"]


class ExplainingMixin(ABC):
    """The method `explain`."""

    network_: Network
    classes_: NDArray[Any]
    predictor_: Any
    explainer_: AnyExplainer
    cases_: float

    @abstractmethod
    def encoded(self, X: Any, unseen: str | None = None) -> Iterator[Encoded]:
        """Return the codes of the rows.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or Table of shape (n_rows, n_features)
            The rows.
        unseen : {"marginalise", "smooth", "error"} or None, default=None
            How values that did not occur in training are treated; by default as the encoder says.

        Returns
        -------
        iterator of Encoded
            The codes of the rows, part by part, and which columns have missing values.
        """

    def explain(
        self, X: Any, target_class: Any = None, *, background: Any = None, permutations: int = 4, random_state: Any = 0
    ) -> Explanation:
        """Return the contributions of features and of families to the log odds of a class, for every row.

        The contributions of features are exact interventional Shapley values, those of families the terms that the predictor adds.
        Both add up to the log odds of the class, in bits. With more than two classes, the log odds are those of the class against
        all others together; `Explanation.against` compares two classes. Missing values are marginalized exactly.

        `Spectrum`, `AODE` and `A2DE` do not predict with one network. Their contributions of features are interventional Shapley
        values on background rows: exact for `Spectrum(members=1)`, which also has contributions of families, and where at most 8
        features are observed; otherwise estimated from permutations, with a standard error for each.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or Table of shape (n_rows, n_features)
            The rows.
        target_class : class label or None, default=None
            The class to explain, one of `classes_`; by default the predicted class of each row.
        background : array-like, data frame, Table or None, default=None
            Rows from which the values of absent features are drawn in the game of the Shapley values; by default the distribution
            of the network. A classifier that does not predict with one network uses a random sample of these rows (64, or 1024 for
            `Spectrum(members=1)`), by default rows drawn from `network_` (64, or 256).
        permutations : int, default=4
            The number of permutations of the features for each background row, where contributions are estimated: an even number,
            at least 4. Four times as many halve the standard errors.
        random_state : int, RandomState instance or None, default=0
            The seed of the background rows and the permutations of estimated contributions: a whole number, a RandomState, or None
            for another one each time.

        Returns
        -------
        Explanation
            The contributions; it can be printed, drawn, and converted to frames.

        Examples
        --------
        >>> from naivete import NaiveBayes
        >>> X = [["sun", "warm"], ["rain", "cold"], ["sun", "cold"], ["rain", "warm"]]
        >>> explanation = NaiveBayes().fit(X, ["out", "in", "out", "in"]).explain([["sun", None]])
        >>> explanation.by_feature.values.round(3).tolist()
        [[1.585, 0.0]]
        """
        from naivete.display.explanation import Explanation
        from naivete.display.explanation_text import class_position

        codes, has_missing = _joined(self.encoded(X))
        explainer = self._explainer(background, permutations, random_state)
        temperature = {} if explainer.temperature == 1 else {"temperature": explainer.temperature}
        posterior = self.predictor_.posterior(codes, has_missing, **temperature)[0]
        position = None if target_class is None else class_position(self.classes_, target_class, "target_class")
        target = argmax_class(posterior) if position is None else np.full(len(posterior), position)
        return Explanation(explainer, codes, has_missing, posterior, target.astype(np.int64), self.classes_)

    def importances(self, background: Any = None) -> Importance:
        """Return the mean absolute contribution of every feature to the log odds, and of every arc between features, in bits.

        Parameters
        ----------
        background : array-like, data frame, Table or None, default=None
            The rows over which the contributions of features are averaged, and from which absent features are drawn; by default
            rows drawn from the network. `Spectrum`, `AODE` and `A2DE` use a sample of 32 rows, and have no arcs.

        Returns
        -------
        Importance
            The contributions by name; printed as text with bars.
        """
        from naivete.display.importance import Importance
        from naivete.inference.explanation import Explainer
        from naivete.inference.importance import arc_importances, feature_importances

        check_fitted(self)
        explainer, network = self._explainer(background), self.network_
        bits = feature_importances(explainer)
        features = {explainer.variables[x].name: float(b) for x, b in zip(explainer.features, bits, strict=True)}
        if not isinstance(explainer, Explainer):
            return Importance(features, {}, explainer.importance_note)
        arcs = {(network.name(p), network.name(x)): bits for (p, x), bits in arc_importances(network).items()}
        return Importance(features, arcs)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The mean absolute contributions of the features to the log odds, normalized so that they sum to 1."""
        from naivete.inference.importance import feature_importances

        check_fitted(self)
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
        target_class : class label or None, default=None
            The class whose probability is given; by default the last one.
        other_class : class label or None, default=None
            The class with which it is compared; needed if there are more than two.

        Returns
        -------
        Nomogram
            The points of every value, and the probability of every total.

        Raises
        ------
        ParameterError
            If a feature has more than one feature as a parent, or the classifier is not one network.
        """
        from naivete.display.explanation_text import class_position
        from naivete.display.nomogram import nomogram_of

        check_fitted(self)
        if not self.one_network:
            raise ParameterError(
                f"{type(self).__name__} does not predict with one network, and a nomogram shows one; fit NaiveBayes or TAN"
            )
        explainer = self._explainer(None)
        last = len(self.classes_) - 1
        target = last if target_class is None else class_position(self.classes_, target_class, "target_class")
        if other_class is None and last != 1:
            raise ParameterError(f"a nomogram compares two classes, and there are {last + 1}; pass target_class and other_class")
        other = 1 - target if other_class is None else class_position(self.classes_, other_class, "other_class")
        if other == target:
            raise ParameterError(f"other_class={quoted(other_class)} is the target class; name another one")
        return nomogram_of(self.network_, target, other, explainer.temperature)

    one_network: ClassVar[bool] = True
    """Whether predictions are those of `network_`."""

    network_beside: ClassVar[str] = ""
    """What `network_` is called in texts if predictions are not those of it; otherwise empty."""

    def ensemble(self) -> Ensemble | None:
        """Return what is explained in place of one network; None if predictions are those of `network_`.

        Returns
        -------
        Ensemble or None
            The predictor, the variables and the network beside it.
        """
        return None

    def _explainer(self, background: Any, permutations: Any = 4, random_state: Any = 0) -> AnyExplainer:
        """Return the explainer; the one with the default arguments is made once."""
        check_permutations(permutations)
        seed = seed_of(random_state)
        is_default = background is None and (self.one_network or (permutations == 4 and random_state == 0))
        if is_default and hasattr(self, "explainer_"):
            return self.explainer_
        codes = None if background is None else _joined(self.encoded(background)).codes
        ensemble = self.ensemble()
        explainer = (
            self._network_explainer(codes) if ensemble is None else _ensemble_explainer(ensemble, codes, int(permutations), seed)
        )
        if is_default:
            self.explainer_ = explainer
        return explainer

    def _network_explainer(self, background: Any) -> Explainer:
        from naivete.inference.explanation import Explainer

        return Explainer(self.network_, background, getattr(self, "temperature_", 1.0), self.training())

    def training(self) -> Training | None:
        """Return the number of cases and the smoothing, for intervals; None if a model file does not have the number.

        Returns
        -------
        Training or None
            The number of cases and the smoothing.
        """
        from naivete.inference.certainty import Training
        from naivete.network.smoothing import smoothing_of

        smoothing, known_prior = smoothing_of(getattr(self, "smoothing", 0.0)), getattr(self, "prior", None) is not None
        return Training(self.cases_, smoothing, known_prior) if hasattr(self, "cases_") else None


def _ensemble_explainer(ensemble: Ensemble, background: Any, permutations: int, seed: int) -> AnyExplainer:
    from naivete.inference.ensemble_explanation import EnsembleExplainer

    return EnsembleExplainer(ensemble, background, permutations, seed)


def check_permutations(permutations: Any) -> None:
    """Refuse a number of permutations from which no standard errors can be computed."""
    is_number = isinstance(permutations, (int, np.integer)) and not isinstance(permutations, bool)
    if not is_number or permutations < 4 or permutations % 2:
        raise ParameterError(f"permutations={quoted(permutations)}: an even number, at least 4")


def one_network_classifiers() -> list[str]:
    """Return the names of the classifiers that predict with one network or one tree."""
    return [entry.name for entry in REGISTRY if entry.estimator.one_network]


def _joined(encoded: Iterator[Encoded]) -> Encoded:
    """Return the codes of all parts in one."""
    parts = list(encoded)
    if len(parts) == 1:
        return parts[0]
    columns = zip(*(part.codes for part in parts), strict=True)
    return Encoded(tuple(np.concatenate(column) for column in columns), np.logical_or.reduce([part.has_missing for part in parts]))
