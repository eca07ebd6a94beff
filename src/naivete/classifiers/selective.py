"""Classifiers that select their features first: by accuracy (naive-AS, K2-AS) or by information (Info-AS)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.class_weights import ClassWeight
from naivete.classifiers.parameters import seed_of
from naivete.classifiers.specification import classifier_of, parse_spec
from naivete.counts.budget import BUDGET
from naivete.encoding.encoder import Encoder
from naivete.errors import ParameterError, quoted
from naivete.network.network import Network

if TYPE_CHECKING:
    from naivete.counts.counts import Counts
    from naivete.learners.costs import Cost
    from naivete.learners.feature_selection import Learner
    from naivete.network.smoothing import Prior

__all__ = ["K2AS", "InfoAS", "SelectiveNaive"]


class SelectiveNaive(NetworkClassifier):
    """naive-AS: naive Bayes on the features that make it most accurate on the half of the cases that it was not learned from.

    Parameters
    ----------
    random_state : int, RandomState instance or None, default=0
        The seed of the halves: a whole number, a RandomState, or None for another one each time.

    Attributes
    ----------
    selected_ : list of int
        The positions of the selected features, in the order in which they were selected.

    References
    ----------
    Langley and Sage (1994), Induction of selective Bayesian classifiers; Singh and Provan (1995), Efficient learning of selective
    Bayesian network classifiers, sections 2 and 5.1.

    Examples
    --------
    >>> from naivete import SelectiveNaive
    >>> rows = [["sun", "a"], ["sun", "b"], ["rain", "a"], ["rain", "b"]] * 5
    >>> SelectiveNaive().fit(rows, ["out", "out", "in", "in"] * 5).predict([["sun", "b"]]).tolist()
    ['out']
    """

    saved_attributes = ("selected_",)

    _cheaper = "fewer features, or InfoAS, which needs one pass for each selected feature"

    def __init__(
        self,
        *,
        random_state: Any = 0,
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
        self.random_state = random_state

    def _cost(self, counts: Counts, **known: Any) -> Cost | None:  # noqa: ARG002
        from naivete.learners.costs import cost_of, size_of

        return cost_of("naive-as", size_of(counts))

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        from naivete.learners.naive_as import naive_on_selected, naive_selection

        selected = naive_selection(counts, **self._arguments(random_state=seed_of(self.random_state)))
        return naive_on_selected(counts, selected, smoothing=self.smoothing, prior=self.prior), {"selected_": selected}


class Selecting(NetworkClassifier):
    """A classifier that selects features and then learns a network from them."""

    learner: Any
    saved_attributes = ("selected_",)

    def _final_classifier(self) -> NetworkClassifier:
        """Return the classifier whose learner makes the network of the selected features."""
        if isinstance(self.learner, NetworkClassifier):
            return self.learner
        if isinstance(self.learner, str):
            return self._specified(self.learner)
        raise ParameterError(f"learner={quoted(self.learner)}: pass a classifier, or a model specification such as 'kdb:k=1'")

    def _final_learner(self) -> Learner:
        """Return what learns the network from the selected features."""
        classifier = self._final_classifier()
        if classifier.calibration is not None:
            raise ParameterError(
                f"learner={quoted(self.learner)}: set the calibration of the {type(self).__name__}, not of its learner"
            )
        return lambda counts: _without_derived_columns(classifier._learn(counts)[0], self.learner)

    def _table_settings(self) -> dict[str, Any]:
        """Return the smoothing and the prior of the tables: those of the final learner."""
        return self._final_classifier()._table_settings()

    def _specified(self, learner: str) -> NetworkClassifier:
        """Return the classifier of a specification, with the smoothing and the prior of this one unless it sets them."""
        try:
            spec = parse_spec(learner)
        except ParameterError as error:
            raise ParameterError(f"learner: {error}") from None
        classifier = classifier_of(spec)
        names = {"smoothing", "prior"} & set(classifier.get_params(deep=False)) - set(spec.parameters)
        classifier.set_params(**{name: getattr(self, name) for name in names})
        return classifier


def _without_derived_columns(network: Network, learner: Any) -> Network:
    if network.derived:
        raise ParameterError(
            f"learner={quoted(learner)}: its network has derived columns; choose one over the features, such as 'cb', 'nb' or 'kdb'"
        )
    return network


class K2AS(Selecting):
    """K2-AS: a network on the features with which K2 is most accurate on the half of the cases that it was not learned from.

    Parameters
    ----------
    accept_ties : bool, default=False
        Whether a feature that leaves the accuracy the same is selected too: K2-AS<=.
    learner : NetworkClassifier or str, default="cb"
        What learns the final network from the selected features: a classifier, or a model specification such as "cb", "nb" or
        "kdb:k=1", which then has the smoothing and the prior of this classifier.
    criterion : {"k2", "bdeu", "bic", "aic"}, str or callable, default="k2"
        The score of families, as for `K2`, for the networks of the selection.
    max_parents : int or None, default=None
        How many parents a variable of these networks may have; by default any number.
    random_state : int, RandomState instance or None, default=0
        The seed of the halves: a whole number, a RandomState, or None for another one each time.

    Attributes
    ----------
    selected_ : list of int
        The positions of the selected features, in the order in which they were selected.

    References
    ----------
    Singh and Provan (1995), Efficient learning of selective Bayesian network classifiers, section 3.

    Examples
    --------
    >>> from naivete import K2AS
    >>> rows = [["sun", "a"], ["sun", "b"], ["rain", "a"], ["rain", "b"]] * 5
    >>> model = K2AS(learner="nb").fit(rows, ["out", "out", "in", "in"] * 5)
    >>> model.selected_, model.predict([["sun", "b"]]).tolist()
    ([0], ['out'])
    """

    _cheaper = "fewer features, or InfoAS, which needs one pass for each selected feature"

    def __init__(
        self,
        *,
        accept_ties: bool = False,
        learner: Any = "cb",
        criterion: Any = "k2",
        max_parents: int | None = None,
        random_state: Any = 0,
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
        self.accept_ties = accept_ties
        self.learner = learner
        self.criterion = criterion
        self.max_parents = max_parents
        self.random_state = random_state

    def _cost(self, counts: Counts, **known: Any) -> Cost | None:  # noqa: ARG002
        from naivete.learners.costs import cost_of, size_of

        return cost_of("k2-as", size_of(counts))

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        from naivete.learners.feature_selection import network_on_selected
        from naivete.learners.k2_as import k2_selection

        learner = self._final_learner()
        arguments = self._arguments("learner", random_state=seed_of(self.random_state))
        selected = k2_selection(counts, **arguments)
        return network_on_selected(counts, selected, learner, self.smoothing, self.prior), {"selected_": selected}


class InfoAS(Selecting):
    """Info-AS: a network on the features with the most information about the class, given those already selected.

    Parameters
    ----------
    metric : {"cig", "cgr", "cdc"}, default="cgr"
        "cig" (conditional information gain), "cgr" (gain ratio) or "cdc" (complement of the conditional distance).
    learner : NetworkClassifier or str, default="cb"
        What learns the final network from the selected features: a classifier, or a model specification such as "cb", "nb" or
        "kdb:k=1", which then has the smoothing and the prior of this classifier.
    stopping_rule : {"zero", "chi2"}, default="zero"
        "zero" selects while the metric is above zero; "chi2" also requires that the gain is significant at the level `alpha`.
    alpha : float, default=0.05
        The significance level of stopping_rule="chi2".
    guided : {"no", "rises", "stays"}, default="no"
        "rises" or "stays" to require that a feature also increases, or does not reduce, the accuracy on half of the cases; "no" to
        require nothing more.
    backward : bool, default=False
        Whether features are removed afterwards as long as that does not reduce the accuracy.
    random_state : int, RandomState instance or None, default=0
        The seed of the halves for `guided` and `backward`.

    Attributes
    ----------
    selected_ : list of int
        The positions of the selected features, in the order in which they were selected.

    References
    ----------
    Singh and Provan (1995), Efficient learning of selective Bayesian network classifiers, section 4;
    stopping_rule="chi2": section 6; `guided` and `backward`: section 5.6.

    Examples
    --------
    >>> from naivete import InfoAS
    >>> rows = [["sun", "a"], ["sun", "b"], ["rain", "a"], ["rain", "b"]] * 5
    >>> model = InfoAS(learner="tan").fit(rows, ["out", "out", "in", "in"] * 5)
    >>> model.selected_, model.predict([["sun", "b"]]).tolist()
    ([0], ['out'])
    """

    def __init__(
        self,
        *,
        metric: str = "cgr",
        learner: Any = "cb",
        stopping_rule: Any = "zero",
        alpha: float = 0.05,
        guided: Any = "no",
        backward: bool = False,
        random_state: Any = 0,
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
        self.metric = metric
        self.learner = learner
        self.stopping_rule = stopping_rule
        self.alpha = alpha
        self.guided = guided
        self.backward = backward
        self.random_state = random_state

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        from naivete.learners.feature_selection import network_on_selected
        from naivete.learners.info_as import info_selection

        learner = self._final_learner()
        selected = info_selection(counts, **self._arguments("learner", random_state=seed_of(self.random_state)))
        return network_on_selected(counts, selected, learner, self.smoothing, self.prior), {"selected_": selected}
