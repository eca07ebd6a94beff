"""The fitted attributes of scikit-learn's CategoricalNB, for classifiers whose network is that of naive Bayes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete.classifiers.estimator import check_fitted
from naivete.classifiers.family_counts import FamilyCounts
from naivete.inference.predictor import Predictor
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["CategoricalAttributesMixin"]


class CategoricalAttributesMixin:
    """Attributes with the names and the meaning of scikit-learn's CategoricalNB.

    They exist where every feature has the class as its only parent and a table, not a density; other classifiers raise an
    AttributeError, so that `hasattr` is False. The order of the categories is that of `network_.variables[x].labels`.
    """

    network_: Network
    cases_: float
    _family_counts: FamilyCounts

    @property
    def class_log_prior_(self) -> NDArray[np.float64]:
        """The natural logarithm of P(c), of every class."""
        network = self._naive_network("class_log_prior_")
        with np.errstate(divide="ignore"):
            return np.log(network.full_table(CLASS))

    @property
    def feature_log_prob_(self) -> list[NDArray[np.float64]]:
        """The natural logarithm of P(category | c), an array (class, category) for each feature."""
        network = self._naive_network("feature_log_prob_")
        with np.errstate(divide="ignore"):
            return [np.log(network.full_table(x).T) for x in network.features]

    @property
    def n_categories_(self) -> NDArray[np.int64]:
        """The number of categories of every feature."""
        network = self._naive_network("n_categories_")
        return np.array([network.variables[x].card for x in network.features], np.int64)

    @property
    def class_count_(self) -> NDArray[np.float64]:
        """The total weight of the cases of every class; not known for a loaded classifier with a `prior`."""
        network = self._naive_network("class_count_")
        if CLASS in self._counts():
            return np.asarray(self._counts()[CLASS].full(), np.float64)
        model: Any = self
        if model.prior is None and hasattr(self, "cases_"):
            return _near_whole(network.full_table(CLASS) * self.cases_)
        raise self._not_kept("class_count_")

    @property
    def category_count_(self) -> list[NDArray[np.float64]]:
        """The total weight of the cases with each category, an array (class, category) for each feature; not in model files."""
        network = self._naive_network("category_count_")
        counts = self._counts()
        if not counts:
            raise self._not_kept("category_count_")
        return [np.asarray(counts[x].full(), np.float64).T for x in network.features]

    def _counts(self) -> FamilyCounts:
        return getattr(self, "_family_counts", {})

    def _naive_network(self, attribute: str) -> Network:
        """Return the network; raise an AttributeError if the attribute of CategoricalNB has no meaning for it."""
        check_fitted(self)
        name, network = type(self).__name__, self.network_
        naive = all(network.parents[x] == (CLASS,) for x in network.features) and not network.parents[CLASS]
        if not naive or not isinstance(getattr(self, "predictor_", None), Predictor):
            raise AttributeError(f"{name} has no {attribute}: its features depend on more than the class; see `tables_`")
        if network.densities:
            feature = network.name(min(network.densities))
            raise AttributeError(f"{name} has no {attribute}: the feature {feature!r} has a density and no categories")
        return network

    def _not_kept(self, attribute: str) -> AttributeError:
        return AttributeError(
            f"this {type(self).__name__} has no {attribute}: counts are known after fitting tables of moderate size, but not after "
            "loading a model file, which has probabilities only, nor after expectation-maximization"
        )


def _near_whole(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the counts without the rounding errors of numbers that are whole but for these.

    >>> _near_whole(np.array([3.0000000000000004, 1.5])).tolist()
    [3.0, 1.5]
    """
    whole = np.rint(counts)
    return np.where(np.abs(counts - whole) <= 1e-12 * np.maximum(whole, 1), whole, counts)
