"""The base class of all classifiers: a scikit-learn estimator around a learner of networks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from naivete.classifiers.calibration import CalibrationMixin
from naivete.classifiers.categorical_attributes import CategoricalAttributesMixin
from naivete.classifiers.class_weights import ClassWeight, ClassWeightMixin
from naivete.classifiers.costs import CostMixin
from naivete.classifiers.decision_scores import DecisionScoresMixin
from naivete.classifiers.default_encoder import DefaultEncoderMixin
from naivete.classifiers.documentation import complete_docstring
from naivete.classifiers.estimator import Estimator
from naivete.classifiers.explaining import ExplainingMixin
from naivete.classifiers.family_counts import family_counts
from naivete.classifiers.from_cases import FromCasesMixin
from naivete.classifiers.incremental import IncrementalMixin
from naivete.classifiers.names import NamesMixin
from naivete.classifiers.questions import QuestionsMixin
from naivete.classifiers.reasons import ReasonsMixin
from naivete.classifiers.registry import with_densities
from naivete.classifiers.row_predictor import LazyTables
from naivete.classifiers.tables import TablesMixin
from naivete.counts.budget import BUDGET
from naivete.data.frames import is_frame
from naivete.encoding.encoder import DENSITIES, Encoder
from naivete.errors import ParameterError, ResourceError
from naivete.inference.derived_predictor import predictor_of
from naivete.network.network import Network, Structure
from naivete.storage.canonical_json import expect_keys
from naivete.variables import CLASS, Variables

if TYPE_CHECKING:
    from naivete.classifiers.batches import KeptCases
    from naivete.counts.counts import Counts
    from naivete.network.smoothing import Prior

__all__ = ["NetworkClassifier"]


class NetworkClassifier(
    DefaultEncoderMixin,
    ClassWeightMixin,
    CalibrationMixin,
    CostMixin,
    DecisionScoresMixin,
    FromCasesMixin,
    IncrementalMixin,
    ExplainingMixin,
    QuestionsMixin,
    ReasonsMixin,
    TablesMixin,
    NamesMixin,
    CategoricalAttributesMixin,
    Estimator,
    ABC,
):
    """A classifier that is a Bayesian network learned from counts: the base class of all classifiers of the library.

    A subclass defines the constructor and `_learn`; the class attributes below say what else it can do.

    Parameters
    ----------
    smoothing : float, str or smoothing method, default=1.0
        How probabilities are estimated from counts. A number is the pseudo-count added to every cell of a table (1 is Laplace's
        rule, 0 maximum likelihood); other methods are "m-estimate", "friedman", "clark-niblett" and "backoff", which may be
        followed by a number as in "m-estimate:3".
    prior : "uniform", sequence of float, dict or None, default=None
        P(c) for every class: a sequence in the order of `classes_`, a dict from labels to numbers, which are divided by their sum,
        or "uniform"; by default the relative frequencies.
    calibration : {"leave-one-out"} or None, default=None
        "leave-one-out" raises all posterior probabilities to the power of one temperature, which minimizes the log loss in exact
        leave-one-out on the training rows, with a small penalty on its distance from 1; it takes one pass more and changes no
        predicted class. By default the probabilities are those of the network.
    class_weight : dict, "balanced" or None, default=None
        The weight of each class by label, by which the weights of its rows are multiplied; classes that are not named have weight
        one. A class of weight 0 is left out with a warning. "balanced" gives all classes the same total weight, as in scikit-learn.
    encoder : Encoder or None, default=None
        How columns are encoded, an `Encoder`. By default text, categories, booleans and whole numbers with at most 20 values are
        nominal, other numbers are discretized by the minimum description length principle, and missing and unseen values are
        marginalized.
    budget : int, default=2147483648
        The most bytes that the tables may take, by default 2 GiB; a model that needs more is refused before anything is allocated.

    Attributes
    ----------
    network_ : Network
        The learned `Network`.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        The number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        The names of these columns, where X has names that are strings.
    rows_ : int
        The number of rows it was learned from; 0 for a classifier that was loaded.
    cases_ : float
        The total weight of these rows.
    passes_ : int
        The number of passes that `fit` made over the rows; 0 for a classifier that was loaded.
    relevance_ : ndarray of shape (n_features,)
        I(X; C) of every feature, in bits.
    arc_information_ : dict of {(int, int): float}
        I(X; Y | C) of every arc between features, in bits, by the positions (parent, child).
    information_ : dict
        Both of these, by the name of a feature and by the names (parent, child) of an arc.
    parents_ : dict of {str: tuple of str}
        The names of the parents of every variable by its name, the class last.
    predictor_ : Predictor
        The `Predictor` of the network, which computes posterior probabilities of encoded rows.
    temperature_ : float
        The exponent of the posterior probabilities, where calibration="leave-one-out"; below 1 the network is too sure.
    missing_tokens_ : tuple of str
        The texts that stood for missing values in the files of `naivete fit`; `naivete predict` uses them.
    em_ : Convergence
        How expectation-maximization converged, where the encoder has missing="em".

    Examples
    --------
    A learner of your own is a subclass with a method `_learn`, here naive Bayes with another name:

    >>> from naivete import NetworkClassifier
    >>> from naivete.learners.naive import naive
    >>> class Mine(NetworkClassifier):
    ...     def _learn(self, counts):
    ...         return naive(counts, smoothing=self.smoothing, prior=self.prior), {}
    >>> Mine().fit([["a"], ["b"], ["b"]], ["no", "yes", "yes"]).predict([["a"]]).tolist()
    ['no']
    """

    network_: Network
    classes_: NDArray[Any]
    n_features_in_: int
    rows_: int
    cases_: float
    passes_: int
    relevance_: NDArray[np.float64]
    arc_information_: dict[tuple[int, int], float]
    missing_tokens_: tuple[str, ...]
    predictor_: Any
    _framed: bool
    prior: Any
    _tables: LazyTables

    densities: ClassVar[tuple[str, ...]] = ()
    """The densities of continuous features that the learner can use: "normal", "kernel"."""
    saved_attributes: ClassVar[tuple[str, ...]] = ()
    """The attributes that are learned beside the network and written to model files."""
    shares_counts: ClassVar[bool] = False
    """Whether a cross-validation may let it learn from counts that were made once for several models."""
    reports_impossible: ClassVar[bool] = True
    """Whether rows that have probability zero in every class lead to a warning."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        complete_docstring(cls, NetworkClassifier)

    def __init__(
        self,
        *,
        smoothing: Any = 1.0,
        prior: Prior = None,
        calibration: str | None = None,
        class_weight: ClassWeight = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        self.smoothing = smoothing
        self.prior = prior
        self.calibration = calibration
        self.class_weight = class_weight
        self.encoder = encoder
        self.budget = budget

    @abstractmethod
    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        """Return the network, and the other attributes that were learned, by name."""

    def _arguments(self, *left_out: str, **replaced: Any) -> dict[str, Any]:
        """Return the parameters to pass to the learner: all but those of the base class alone and those left out; some replaced."""
        names = [name for name in _parameter_names(type(self)) if name not in left_out]
        return {name: replaced[name] if name in replaced else getattr(self, name) for name in names}

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from cases.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or Table of shape (n_rows, n_features)
            The features: a data frame (pandas, polars, pyarrow), array, list of rows, sparse matrix, or `naivete.Table`.
        y : array-like of shape (n_rows,)
            The class of every row; missing ones are refused.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            The weight of every row; a row of weight two counts as two rows, a row of weight zero is left out.

        Returns
        -------
        self : NetworkClassifier
            The fitted classifier.

        Raises
        ------
        DataError
            If the rows, the labels or the weights are not valid; the message says where.
        ParameterError
            If a parameter of the constructor is not valid.
        ResourceError
            If the tables would need more than `budget` bytes.

        Examples
        --------
        >>> from naivete import TAN
        >>> TAN().fit([["a", 1], ["b", 2], ["b", 1]], ["no", "yes", "yes"]).classes_.tolist()
        ['no', 'yes']
        """
        from naivete._kernels.device import keep_on_device
        from naivete.classifiers.batches import KeptCases

        with keep_on_device():
            cases, value_counts, counts = self.training_counts(X, y, sample_weight)
            enough = self._value_counts_suffice(self._encoder())
            kept = KeptCases(value_counts, None, cases.target, is_frame(X)) if enough else None
            return self.fit_counts(counts, cases.classes, is_frame(X), len(cases), kept)

    def checked_encoder(self) -> Encoder:
        """Check the parameters that all classifiers share, and return the encoder to use.

        Returns
        -------
        Encoder
            The encoder that was passed, or the default one.

        Raises
        ------
        ParameterError
            If a parameter is not valid.
        """
        from naivete.network.smoothing import smoothing_of

        encoder = super().checked_encoder()
        smoothing_of(self.smoothing)
        self._check_densities(encoder.numbers in DENSITIES)
        self._check_calibration(encoder)
        if encoder.numbers == "kernel" and "kernel" not in self.densities:
            others = " or ".join(with_densities("kernel"))
            raise ParameterError(
                f"numbers='kernel': {type(self).__name__} has no kernel densities; choose {others}, or numbers='normal'"
            )
        return replace(encoder, numbers="cut") if encoder.numbers == "auto" and not self.densities else encoder

    def _check_densities(self, continuous: bool) -> None:
        if continuous and not self.densities:
            *most, last = with_densities("normal")
            raise ParameterError(
                f"numbers='normal' or 'kernel': {type(self).__name__} learns from tables only; choose {', '.join(most)} or {last}, "
                "which can use densities, or numbers='cut'"
            )

    def fit_counts(
        self,
        counts: Counts,
        classes: NDArray[Any],
        framed: bool,
        rows: int,
        kept: KeptCases | None = None,
        structure: Structure | None = None,
    ) -> Self:
        """Learn from counts; the last step of all ways to fit.

        Parameters
        ----------
        counts : Counts
            The counts of the encoded cases.
        classes : ndarray of shape (n_classes,)
            The class labels.
        framed : bool
            Whether the columns came with names.
        rows : int
            The number of cases.
        kept : KeptCases or None, default=None
            What is kept of the cases for `partial_fit`, `merge` and `forget`.
        structure : dict of {int: tuple of int} or None, default=None
            The parents of every variable, where only the tables are to be estimated; by default they are learned.

        Returns
        -------
        self : NetworkClassifier
            The fitted classifier.
        """
        from naivete.counts.information import arc_information

        counts.class_weighted = self.class_weight is not None
        try:
            if structure is None:
                self._announce_cost(counts)
                network, learned = self._learn(counts)
            else:
                network, learned = self._reestimated(counts, structure)
            network, completed = self._completed(counts, network)
            completed |= self._temperature(counts, network, learned)
        except MemoryError as error:
            if isinstance(error, ResourceError):
                raise
            raise ResourceError(f"the machine has no memory left: {error}") from error
        columns = len(network.inputs)
        arcs = arc_information(counts, [arc for arc in network.arcs if max(arc) < columns])
        attributes: dict[str, Any] = {"rows_": rows, "cases_": counts.total, "passes_": counts.passes}
        attributes |= {"relevance_": self._relevance(counts, network), "arc_information_": arcs}
        attributes["_family_counts"] = {} if "em_" in completed else family_counts(counts, network)
        self._score_left_out(counts, network, completed)
        return self._adopt(network, classes, framed, {**attributes, **learned, **completed, "_kept": kept})

    def _score_left_out(self, counts: Counts, network: Network, completed: Mapping[str, Any]) -> None:
        """Report how well left-out cases are predicted, where that is asked for and exact leave-one-out is possible."""
        from naivete.learners.left_out_score import network_score, report_score, scores_wanted

        exact = self.one_network and not counts.continuous and not network.derived and "em_" not in completed and self.prior is None
        if not exact or not scores_wanted(another_pass=True):
            return
        with suppress(MemoryError):  # then there is no score; a ResourceError is one too
            report_score(network_score(counts, network, temperature=completed.get("temperature_", 1.0), **self._table_settings()))

    def _relevance(self, counts: Counts, network: Network) -> NDArray[np.float64]:
        """Return I(X; C) of every feature, in bits; for features whose thresholds the learner chose, after `mdl` discretization."""
        from naivete.counts.information import joined_relevance
        from naivete.encoding.discretization import mdl_of_columns

        chosen = [x for x in network.inputs if network.variables[x] != counts.variables[x]]
        tables = [np.asarray(counts.margins()[x, CLASS], np.float64)[: counts.variables[x].known] for x in chosen]
        cuts = mdl_of_columns([(np.arange(float(len(table))), table) for table in tables])
        return joined_relevance(counts, {x: np.ceil(points).astype(np.int64) for x, points in zip(chosen, cuts, strict=True)})

    def _predictor(self) -> Any:
        """Return the predictor of the fitted model; of the network, unless a subclass has more than a network."""
        return predictor_of(self.network_)

    def plain_more(self) -> dict[str, Any]:
        """Return what the fitted model has beside its network, as values and arrays for a model file: nothing, by default.

        Returns
        -------
        dict
            The values and arrays by name.
        """
        return {}

    def more_of(self, more: Mapping[str, Any], network: Network) -> dict[str, Any]:  # noqa: ARG002
        """Return the attributes that `plain_more` stands for; a FieldError is raised about data that is not valid.

        Parameters
        ----------
        more : dict
            The values and arrays of a model file that `plain_more` has returned.
        network : Network
            The network of the model file.

        Returns
        -------
        dict
            The fitted attributes by name: none, by default.
        """
        expect_keys(more, "more", ())
        return {}

    @property
    def schema_(self) -> Variables:
        """The variables of the features under which rows are encoded."""
        return tuple(self.network_.columns)

    def _reestimated(self, counts: Counts, structure: Structure) -> tuple[Network, dict[str, Any]]:
        """Return the network of a given structure with newly estimated tables, and what was learned with the structure."""
        from naivete.network.estimation import estimate

        learned = {name: getattr(self, name) for name in self.saved_attributes if hasattr(self, name)}
        return estimate(counts, structure, self.smoothing, prior=self.prior), learned

    def _completed(self, counts: Counts, network: Network) -> tuple[Network, dict[str, Any]]:
        """With missing="em", return the network estimated from all rows, also those with missing values, and its convergence."""
        from naivete.inference.em import expected_network

        if self._encoder().missing != "em":
            return network, {}
        if network.derived:
            raise ParameterError(
                f"missing='em' estimates tables of the columns themselves, and {type(self).__name__} has tables of derived ones; "
                "choose 'omit' or 'state'"
            )
        completed, convergence = expected_network(counts, network.parents, self.smoothing, prior=self.prior)
        return completed, {"em_": convergence}

    def _adopt(self, network: Network, classes: NDArray[Any], framed: bool, known: dict[str, Any]) -> Self:
        """Set all fitted attributes at once, so that an interrupted fit leaves the earlier ones as they were."""
        names = [variable.name for variable in network.columns]
        fitted = {"network_": network, "classes_": classes, "n_features_in_": len(names), "_framed": framed}
        if framed and all(isinstance(name, str) for name in names):
            fitted["feature_names_in_"] = np.array(names, object)
        parameters = {key: value for key, value in self.__dict__.items() if not key.endswith("_")}
        earlier = self.__dict__
        self.__dict__ = {**parameters, **fitted, **known}
        try:
            self.predictor_, self._tables = self._predictor(), LazyTables()
        except BaseException:
            self.__dict__ = earlier
            raise
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")

    def _repr_html_(self) -> str:
        """Return a drawing of the network, or scikit-learn's table of parameters where it is not fitted."""
        if not hasattr(self, "network_"):
            return super()._repr_html_()
        from naivete.display.network_drawing import svg

        return svg(self.network_, information=self.information_, title=repr(self))

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:  # noqa: ARG002
        """Return what notebooks show: the drawing of the network, or scikit-learn's table of parameters where it is not fitted."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {key: value for key, value in state.items() if key not in ("predictor_", "explainer_", "_tables")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "network_" in state:
            self.predictor_, self._tables = self._predictor(), LazyTables()


@cache
def _parameter_names(kind: type[NetworkClassifier]) -> tuple[str, ...]:
    """Return the names of the parameters of a class that its learner may use: not those of all classifiers."""
    return tuple(name for name in kind._get_param_names() if name not in ("encoder", "budget", "calibration", "class_weight"))
