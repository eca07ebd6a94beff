"""The scikit-learn shell around a learner: everything but the learner itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_array

from naivete.cases.sparse import encoded_cases, encoded_parts
from naivete.classifiers.batches import Kept
from naivete.classifiers.incremental import LearnsFromRows, NotFittedError
from naivete.classifiers.parameters import check_budget
from naivete.classifiers.registry import with_densities
from naivete.counts.counts import BUDGET, Counts
from naivete.counts.information import arc_information, information, relevance
from naivete.data.frames import as_array, is_frame, table_of
from naivete.data.labelled import LabelledTable
from naivete.data.labels import checked_weights, class_name, encode_classes, label_values, usable_rows
from naivete.data.table import Table
from naivete.encoding.discretization import mdl
from naivete.encoding.encoder import DENSITIES, Encoded, Encoder, FeatureTables, matched_columns
from naivete.encoding.value_counts import ValueCounts
from naivete.errors import (
    DataError,
    DataTypeError,
    ImpossibleEvidenceWarning,
    ParameterError,
    ResourceError,
    quoted,
    warn,
)
from naivete.inference.derived_predictor import DerivedPredictor, predictor_of
from naivete.inference.em import expected_network
from naivete.inference.predictor import Predictor, argmax_class
from naivete.network.estimation import estimate, smoothing_of
from naivete.network.network import Network, Structure
from naivete.variables import CLASS, Name, Variable

__all__ = ["EncodesRows", "NetworkClassifier", "NotFittedError", "Posteriors"]


class Posteriors(NamedTuple):
    """P(class | row), and which rows no class could have produced."""

    posterior: NDArray[np.float64]
    impossible: NDArray[np.int64]


class EncodesRows:
    """The way from a table of values and its labels to counts, for everything that is fitted to them."""

    encoder: Encoder | None
    budget: int

    def checked_encoder(self) -> Encoder:
        """The encoder, once the parameters have been looked at."""
        encoder = self._encoder()
        check_budget(self.budget)
        return encoder

    def _encoder(self) -> Encoder:
        encoder = Encoder() if self.encoder is None else self.encoder
        if not isinstance(encoder, Encoder):
            raise ParameterError(f"encoder={quoted(encoder)}: pass a naivete.Encoder or None")
        encoder.check()
        return encoder

    def training_counts(self, X: Any, y: Any, sample_weight: Any) -> tuple[LabelledTable, ValueCounts, Counts]:
        """The cases, how often each value occurs in each class, and what counts them under the schema that this gives."""
        encoder = self.checked_encoder()
        batch = self.training_rows(X, y, sample_weight, names=None)
        tallies = encoder.tallied(batch.features, batch.labels, batch.classes.tolist(), batch.weight)
        features = encoder.schema(tallies)
        target = Variable(batch.target, tallies.classes)
        cases = encoded_cases(batch.features, (*features, target), batch.labels, batch.weight, encoder.unseen, tallies.gaps)
        return batch, tallies, Counts(cases, budget=self.budget, known=FeatureTables(tallies, features), passes=1)

    def training_rows(self, X: Any, y: Any, sample_weight: Any, *, names: Kept | None, rows: int = 1) -> LabelledTable:
        """The cases to learn from: those with a label and a weight above zero."""
        if names is None:
            table = table_of(self._checked(X, rows=rows), finite=False)
        else:
            table = self._matched(X, names.names, names.framed)
            table = replace(table, columns=tuple(matched_columns(table, [Variable(name) for name in names.names])))
        if rows:
            _check_size(table)
        values, weight = label_values(y, len(table)), None
        if not rows and sample_weight is not None and np.size(sample_weight) and not np.any(sample_weight):
            table, values, sample_weight = table.take(slice(0)), values[:0], None  # a batch of rows that do not count
        if len(table):
            weight = checked_weights(table.weight if sample_weight is None else sample_weight, len(table))
            table, values, weight = usable_rows(table, values, weight, self._encoder().unlabelled)
        classes, labels = encode_classes(values) if len(values) else (values[:0], np.zeros(0, np.uint8))
        target = class_name(y, table.names) if names is None else names.target
        return LabelledTable(table, target, classes, labels, weight)

    def _checked(self, X: Any, *, rows: int) -> Any:
        """X, refused by scikit-learn's rules for arrays unless it is a frame, which has columns to be judged one by one."""
        if is_frame(X):
            return X
        rows_of_values = as_array(X) if isinstance(X, (list, tuple)) else X  # text and numbers stay what they are
        try:
            return check_array(
                rows_of_values,
                accept_sparse=["csr", "csc"],
                dtype=None,
                ensure_all_finite=False,  # infinity is refused with its column and row
                ensure_min_samples=rows,
                estimator=self,
            )
        except ValueError as error:
            raise DataError(str(error)) from error
        except TypeError as error:
            raise DataTypeError(str(error)) from error

    def _matched(self, X: Any, names: Sequence[Name], named: bool) -> Table:
        """X as a table under the names seen in fit; where either side has no names, the columns are matched by position."""
        framed = is_frame(X)
        table = table_of(self._checked(X, rows=0), only=set(names) if framed and named else None, finite=False)
        if framed and named:
            return table
        if len(table.columns) != len(names):
            raise DataError(
                f"X has {len(table.columns)} features, but {type(self).__name__} is expecting {len(names)} features as input"
            )
        if framed != named:
            here, there = ("has feature names", "without") if framed else ("does not have valid feature names", "with")
            warn(
                f"X {here}, but {type(self).__name__} was fitted {there} feature names; the columns are matched by position",
                UserWarning,
            )
        return table.renamed(names)


class NetworkClassifier(EncodesRows, LearnsFromRows, ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A classifier that is a Bayesian network learned from counts.

    Parameters
    ----------
    smoothing : pseudo-count added to every cell of the tables (Lidstone; 1 is Laplace's rule, 0 maximum likelihood), or one of
        "m-estimate", "friedman", "clark-niblett", "backoff", perhaps with a number as in "m-estimate:3".
    prior : P(c) for every class in the order of `classes_`; by default the relative frequencies.
    encoder : how columns become states, an `Encoder`; by default text, categories, booleans and whole numbers with few values
        are nominal, other numbers are cut by the minimum description length principle, missing and unseen values are
        marginalised.
    budget : the most bytes the tables may take; more is refused before anything is allocated.

    Attributes
    ----------
    network_ : the `Network`.
    classes_ : the class labels.
    n_features_in_, feature_names_in_ : the columns seen in fit.
    rows_ : how many rows it was learned from; 0 for a classifier that was loaded.
    passes_ : how often `fit` went over the rows; 0 for a classifier that was loaded.
    relevance_ : I(X; C) of every feature, in bits.
    arc_information_ : I(X; Y | C) of every arc between features that was weighed, in bits, by (parent, child).
    em_ : how the tables were completed, a `naivete.inference.em_steps.Convergence`, where the encoder says missing="em".
    """

    network_: Network
    classes_: NDArray[Any]
    n_features_in_: int
    rows_: int
    passes_: int
    relevance_: NDArray[np.float64]
    arc_information_: dict[tuple[int, int], float]
    _framed: bool
    predictor_: Predictor | DerivedPredictor
    densities: ClassVar[tuple[str, ...]] = ()
    """The densities of continuous features that the learner can use: "normal", "kernel"."""
    saved_attributes: ClassVar[tuple[str, ...]] = ()
    """What is learned beside the network and belongs into a model file."""
    shares_counts: ClassVar[bool] = False
    """Whether a cross-validation may let it learn from counts that were made once for several models."""
    reports_impossible: ClassVar[bool] = True
    """Whether it is worth a warning that a row has probability zero in every class."""

    def __init__(
        self, *, smoothing: Any = 1.0, prior: Sequence[float] | None = None, encoder: Encoder | None = None, budget: int = BUDGET
    ) -> None:
        self.smoothing = smoothing
        self.prior = prior
        self.encoder = encoder
        self.budget = budget

    @abstractmethod
    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        """The network, and what else was learned on the way, by the name of its attribute."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from cases.

        Parameters
        ----------
        X : the features: a data frame (pandas, polars, pyarrow), array, list of rows, sparse matrix, or `naivete.Table`.
        y : the class of every row; missing ones are refused.
        sample_weight : the weight of every row; a weight of two is the row twice, a weight of zero its absence.
        """
        batch, tallies, counts = self.training_counts(X, y, sample_weight)
        kept = Kept(tallies, None, batch.target, is_frame(X)) if self._sums_suffice else None
        return self.fit_counts(counts, batch.classes, is_frame(X), len(batch), kept)

    def checked_encoder(self) -> Encoder:
        """The encoder, once the parameters have been looked at."""
        encoder = super().checked_encoder()
        smoothing_of(self.smoothing)
        self._check_densities(encoder.numbers in DENSITIES)
        if encoder.numbers == "kernel" and "kernel" not in self.densities:
            others = " or ".join(with_densities("kernel"))
            raise ParameterError(
                f"numbers='kernel': {type(self).__name__} has no kernel densities; choose {others}, or numbers='normal'"
            )
        return replace(encoder, numbers="cut") if encoder.numbers == "auto" and not self.densities else encoder

    def _check_densities(self, asked: bool) -> None:
        if asked and not self.densities:
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
        kept: Kept | None = None,
        held: Structure | None = None,
    ) -> Self:
        """Become the classifier that is learned from these counts, or estimated for the structure that is held."""
        try:
            if held is None:
                network, learned = self._learn(counts)
            else:
                network, learned = self._renewed(counts, held)
            network, completed = self._completed(counts, network)
        except MemoryError as error:
            if isinstance(error, ResourceError):
                raise
            raise ResourceError(f"the machine has no memory left: {error}") from error
        relevant = _relevance(counts, network)
        arcs = arc_information(counts, [arc for arc in network.arcs if max(arc) in network.inputs])
        told = {"rows_": rows, "passes_": counts.passes, "relevance_": relevant, "arc_information_": arcs}
        return self._adopt(network, classes, framed, {**told, **learned, **completed, "_kept": kept})

    def _renewed(self, counts: Counts, held: Structure) -> tuple[Network, dict[str, Any]]:
        """The network of a structure that is held, its tables estimated anew, and what was learned with the structure."""
        learned = {name: getattr(self, name) for name in self.saved_attributes if hasattr(self, name)}
        return estimate(counts, held, self.smoothing, prior=self.prior), learned

    def _completed(self, counts: Counts, network: Network) -> tuple[Network, dict[str, Any]]:
        """The network with tables from all rows, also those with missing values, where the encoder says so, and how that went."""
        if self._encoder().missing != "em":
            return network, {}
        if network.derived:
            raise ParameterError(
                f"missing='em' estimates tables of the columns themselves, and {type(self).__name__} has tables of derived ones; "
                "choose 'omit' or 'state'"
            )
        found, told = expected_network(counts, network.parents, self.smoothing, prior=self.prior)
        return found, {"em_": told}

    def _adopt(self, network: Network, classes: NDArray[Any], framed: bool, known: dict[str, Any]) -> Self:
        """Become the classifier of this network; all at once, so that an interrupted fit leaves the earlier one whole."""
        names = [network.name(x) for x in network.inputs]
        own = {"network_": network, "classes_": classes, "n_features_in_": len(names), "_framed": framed}
        if framed and all(isinstance(name, str) for name in names):
            own["feature_names_in_"] = np.array(names, object)
        kept = {key: value for key, value in self.__dict__.items() if not key.endswith("_")}
        self.__dict__ = {**kept, **own, **known, "predictor_": predictor_of(network)}
        return self

    def posteriors(self, X: Any, *, unseen: Literal["marginalise", "smooth", "error"] | None = None) -> Posteriors:
        """The posterior of every row, and the rows that are impossible in every class and answered by the documented rule.

        Parameters
        ----------
        X : the rows.
        unseen : what values that did not occur in training get; by default what the encoder says.
        """
        parts = [self.predictor_.posterior(*part) for part in self.encoded(X, unseen)]
        starts = np.cumsum([0, *(len(posterior) for posterior, _ in parts)])
        impossible = np.concatenate([rows + start for (_, rows), start in zip(parts, starts[:-1], strict=True)])
        return Posteriors(_joined([posterior for posterior, _ in parts]), impossible if self.reports_impossible else impossible[:0])

    def _posterior(self, X: Any) -> NDArray[np.float64]:
        posterior, impossible = self.posteriors(X)
        if len(impossible):
            warn(
                f"{len(impossible)} rows have probability zero in every class (the first is row {impossible[0] + 1}); they are "
                "answered by the prior of the classes with the fewest impossible factors; smoothing above 0 avoids this",
                ImpossibleEvidenceWarning,
            )
        return posterior

    def encoded(self, X: Any, unseen: str | None = None) -> Iterator[Encoded]:
        """The codes of the rows, those of a sparse matrix some at a time."""
        if not hasattr(self, "network_"):
            raise NotFittedError(f"this {type(self).__name__} instance is not fitted yet; call 'fit' first")
        features = self.network_.columns
        table = self._matched(X, [v.name for v in features], self._framed)
        return encoded_parts(table, features, unseen=unseen or self._encoder().unseen)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of every row, the first of equals."""
        posterior = self._posterior(X)
        return self.classes_[argmax_class(posterior)]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """P(class | row), exact also where values are missing.  # (row, class)"""
        return self._posterior(X)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """log P(class | row).  # (row, class)"""
        with np.errstate(divide="ignore"):
            return np.log(self._posterior(X))

    def predict_joint_log_proba(self, X: Any) -> NDArray[np.float64]:
        """log P(row, class), missing values summed out.  # (row, class)"""
        return _joined([self.predictor_.joint(*part) for part in self.encoded(X)])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _repr_html_(self) -> str:
        """The network drawn, once there is one; before that, what scikit-learn shows of the parameters."""
        if not hasattr(self, "network_"):
            return str(super()._repr_html_inner())
        from naivete.display.network_drawing import svg

        return svg(self.network_, information=self.information_, title=repr(self))

    @property
    def information_(self) -> dict[Any, float]:
        """I(X; C) by feature and I(X; Y | C) by arc (parent, child), in bits, as drawings show them."""
        return {**{x: float(bits) for x, bits in enumerate(self.relevance_)}, **self.arc_information_}

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {key: value for key, value in state.items() if key != "predictor_"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "network_" in state:
            self.predictor_ = predictor_of(self.network_)


def _relevance(counts: Counts, network: Network) -> NDArray[np.float64]:
    """I(X; C) of every feature, in bits; of numbers whose thresholds the learner looked for itself, as `mdl` would cut them."""
    found = relevance(counts).copy()
    for x in network.inputs:
        if network.variables[x] != counts.variables[x]:
            table = np.asarray(counts.margins()[x, CLASS])[: counts.variables[x].known]
            cuts = mdl(np.arange(float(len(table))), table.astype(np.float64))
            parts = np.split(table, np.ceil(cuts).astype(np.int64))
            found[x] = information(np.stack([part.sum(axis=0) for part in parts]))
    return found


def _joined(parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The rows of all parts, one after the other."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _check_size(table: Table) -> None:
    if not len(table):
        raise DataError(f"{table.source}: found 0 sample(s) (shape=(0, {len(table.columns)})) while a minimum of 1 is required")
    if not table.columns:
        raise DataError(f"{table.source}: found 0 feature(s) (shape=({len(table)}, 0)) while a minimum of 1 is required")
