"""Predictions of models for rows they were not trained on; models that learn from counts alone share them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from naivete.cases.sparse import encoded_cases, encoded_parts
from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.registry import shares_counts
from naivete.data.frames import is_frame
from naivete.data.labelled_table import LabelledTable
from naivete.encoding.column_codes import Encoded
from naivete.encoding.encoder import Encoder
from naivete.encoding.feature_tables import FeatureTables
from naivete.errors import NaiveteWarning, UnseenValueWarning
from naivete.evaluation.external_models import rows_for, unfitted_copy, weight_parameter
from naivete.evaluation.fold_estimates import FoldEstimates, exact_pseudo_count
from naivete.evaluation.held_out_counts import HeldOutCounts, SharedCounts
from naivete.evaluation.partitioned_counts import PartitionedCounts, all_but_one, up_to
from naivete.evaluation.peers import Peer
from naivete.evaluation.protocols import Split
from naivete.variables import CLASS, Variable

__all__ = ["Prediction", "held_out_predictions"]


@dataclass(frozen=True, eq=False)
class Prediction:
    """The posterior probabilities of the test rows of a split by one model.

    Parameters
    ----------
    split : the split.
    model : the name of the model.
    posterior : P(class | row), zero for classes that did not occur in training.  # (row, class)
    fit_seconds, predict_seconds : the time; the time of computations that models share is divided equally among them.
    unseen : whether some value did not occur in training.
    fitted : the fitted model.
    """

    split: Split
    model: str
    posterior: NDArray[np.float64]
    fit_seconds: float
    predict_seconds: float
    unseen: bool
    fitted: Any


def held_out_predictions(models: Mapping[str, Any], cases: LabelledTable, splits: Sequence[Split]) -> Iterator[Prediction]:
    """Yield the predictions of all models for all splits, split by split.

    Cut points, states and structures are learned in each training set.

    Parameters
    ----------
    models : classifiers by name; copies of them are fitted. Those for which `shares_counts` is true learn from counts
        that are made once for all of them, others from the rows of each split.
    cases : the cases.
    splits : divisions of the cases; neighbors with the same parts share the counts of these.
    """
    groups = _groups(models)
    for neighbors in _with_same_parts(splits):
        for group in groups:
            group.prepare(cases, neighbors)
        for split in neighbors:
            for name in models:
                yield next(group for group in groups if name in group.models).predict(name, split)


def _with_same_parts(splits: Sequence[Split]) -> Iterator[list[Split]]:
    """Yield the splits in their order, neighbors that have the same parts together."""
    neighbors: list[Split] = []
    for split in splits:
        if neighbors and (split.parts is None or split.parts is not neighbors[0].parts):
            yield neighbors
            neighbors = []
        neighbors.append(split)
    if neighbors:
        yield neighbors


class _Group(Protocol):
    """Models that are fitted in the same way."""

    models: dict[str, Any]

    def prepare(self, cases: LabelledTable, splits: Sequence[Split]) -> None:
        """Prepare for the splits that follow."""

    def predict(self, name: str, split: Split) -> Prediction:
        """Fit a model to the training rows of a split and predict the test rows."""


def _groups(models: Mapping[str, Any]) -> list[_Group]:
    """Return groups of models that share counts, one for each encoder and budget, and a last group of all other models."""
    others, sharing = _FittedToRows({}), list[_FittedToCounts]()
    for name, model in models.items():
        encoder = model.checked_encoder() if shares_counts(model) else None
        if encoder is None or encoder.numbers != "cut" or encoder.missing == "em":  # not learned from counts alone
            others.models[name] = model
            continue
        group = next((g for g in sharing if g.encoder == encoder and g.budget == model.budget), None)
        if group is None:
            group = _FittedToCounts({}, encoder, model.budget)
            sharing.append(group)
        group.models[name] = model
    return [*sharing, others]


@dataclass
class _FittedToRows:
    """Models that are fitted to the rows of each training set."""

    models: dict[str, Any]
    cases: LabelledTable | None = None

    def prepare(self, cases: LabelledTable, splits: Sequence[Split]) -> None:  # noqa: ARG002
        """Keep the cases."""
        self.cases = cases

    def predict(self, name: str, split: Split) -> Prediction:
        """Fit a model to the training rows of a split and predict the test rows."""
        assert self.cases is not None
        train, test = self.cases.take(split.train), self.cases.take(split.test)
        model = unfitted_copy(self.models[name])
        weights = {} if train.weight is None else {weight_parameter(model, name): train.weight}
        train_rows, test_rows = rows_for(model, train), rows_for(model, test)
        if isinstance(model, Peer):
            model.load()
        with warnings.catch_warnings(record=True) as caught:
            _record_own_warnings()
            started = time.perf_counter()
            fitted = model.fit(train_rows, train.y, **weights)
            learned = time.perf_counter()
            probabilities = fitted.predict_proba(test_rows)
            done = time.perf_counter()
        position = {label: c for c, label in enumerate(self.cases.classes.tolist())}
        classes = np.array([position[label] for label in np.asarray(fitted.classes_).tolist()])
        posterior = _all_classes(probabilities, classes, len(self.cases.classes))
        return Prediction(split, name, posterior, learned - started, done - learned, _unseen(caught), fitted)


@dataclass
class _FittedToCounts:
    """Models that learn from the same counts."""

    models: dict[str, Any]
    encoder: Encoder
    budget: int
    cases: LabelledTable | None = None
    parts: PartitionedCounts | None = None
    estimates: dict[float, FoldEstimates] = field(default_factory=dict)
    seconds: float = 0.0
    current: _CountedSplit | None = None

    def prepare(self, cases: LabelledTable, splits: Sequence[Split]) -> None:
        """Count the parts, if the splits have any."""
        self.cases, self.parts, self.current, self.estimates, first = cases, None, None, {}, splits[0]
        started = time.perf_counter()
        if first.parts is not None and len(splits) > 1:
            training, count = up_to if first.nested else all_but_one, int(first.parts.max()) + 1
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.parts = PartitionedCounts.of(cases, first.parts, count, training, encoder=self.encoder, budget=self.budget)
        self.seconds = (time.perf_counter() - started) / len(splits)

    def predict(self, name: str, split: Split) -> Prediction:
        """Fit a model to the counts of a split, which are made for the first model, and predict the test rows."""
        assert self.cases is not None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self.current is None or self.current.split is not split:
                self.current = self._counted(split, self.cases)
            current, started = self.current, time.perf_counter()
            fitted = current.fitted(self.models[name])
            learned = time.perf_counter()
            posterior = _all_classes(current.posterior(fitted), current.classes, len(self.cases.classes))
            done = time.perf_counter()
        seconds = learned - started + current.seconds / len(self.models)
        return Prediction(split, name, posterior, seconds, done - learned, current.unseen, fitted)

    def _counted(self, split: Split, cases: LabelledTable) -> _CountedSplit:
        started = time.perf_counter()
        if self.parts is None:
            counted = self._counted_rows(split, cases)
        else:
            estimates = self._estimates if FoldEstimates.worthwhile(self.parts) else None
            counts = HeldOutCounts(self.parts, split.fold, estimates)
            kind = _CountedSplit if estimates is None else _EstimatedSplit
            counted = kind(split, cases, counts, counts.classes, self.parts.rows[split.fold], self)
        counted.seconds = self.seconds + time.perf_counter() - started
        return counted

    def _estimates(self, alpha: float) -> FoldEstimates:
        """Return the conditional tables of all training sets for a pseudo-count."""
        assert self.parts is not None
        if alpha not in self.estimates:
            self.estimates[alpha] = FoldEstimates(self.parts, alpha)
        return self.estimates[alpha]

    def _counted_rows(self, split: Split, cases: LabelledTable) -> _CountedSplit:
        """Count the training rows of a split in the same way as `fit`."""
        train, first = cases.take(split.train), next(iter(self.models.values()))
        batch = first.training_rows(train.features, train.labels, train.weight)
        value_counts = self.encoder.value_counts(batch.features, batch.labels, batch.classes.tolist(), batch.weight)
        features = self.encoder.schema(value_counts)
        variables = (*features, Variable(batch.target, value_counts.classes))
        rows = encoded_cases(batch.features, variables, batch.labels, batch.weight, self.encoder.unseen)
        counts = SharedCounts(rows, budget=self.budget, known=FeatureTables(value_counts, features), passes=1)
        return _CountedSplit(split, cases, counts, batch.classes, len(batch), self)


@dataclass
class _CountedSplit:
    """A split with the counts of its training rows, from which models are fitted.

    Parameters
    ----------
    split : the split.
    cases : all cases.
    counts : the counts of the training rows.
    classes : the classes that occur in training.
    rows : the number of training rows.
    group : the models, and what they share.
    seconds : the time that counting took.
    """

    split: Split
    cases: LabelledTable
    counts: SharedCounts
    classes: NDArray[Any]
    rows: int
    group: _FittedToCounts
    seconds: float = 0.0

    def fitted(self, model: NetworkClassifier) -> NetworkClassifier:
        """Return a copy of the model, fitted to the training rows."""
        self.counts.next_model()
        return copy(model).fit_counts(self.counts, self.classes, is_frame(self.cases.features), self.rows)

    def posterior(self, fitted: NetworkClassifier) -> NDArray[np.float64]:
        """Return P(class | row) of the test rows."""
        parts = [fitted.predictor_.posterior(*part)[0] for part in self.test[0]]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    @cached_property
    def test(self) -> tuple[list[Encoded], bool]:
        """The codes of the test rows, and whether some values did not occur in training."""
        features, table = self.counts.variables[:CLASS], self.cases.features.take(self.split.test)
        with warnings.catch_warnings(record=True) as caught:
            _record_own_warnings()
            return list(encoded_parts(table, features, unseen=self.group.encoder.unseen)), _unseen(caught)

    @property
    def unseen(self) -> bool:
        """Whether some value did not occur in training."""
        return self.test[1]


class _EstimatedSplit(_CountedSplit):
    """A fold of few rows: conditional tables are estimated for all folds at once, and posteriors computed from them."""

    def posterior(self, fitted: NetworkClassifier) -> NDArray[np.float64]:
        """Return P(class | row) of the test rows."""
        assert isinstance(self.counts, HeldOutCounts)
        estimates = self.group.estimates.get(exact_pseudo_count(fitted.smoothing) or 0.0)
        posterior = None
        if estimates is not None and self.counts.codes_are_shared:
            posterior = estimates.posterior(fitted.network_, self.split.fold)
        return super().posterior(fitted) if posterior is None else posterior

    @property
    def unseen(self) -> bool:
        """Whether some value did not occur in training."""
        assert isinstance(self.counts, HeldOutCounts)
        return not self.counts.codes_are_shared and self.test[1]


def _record_own_warnings() -> None:
    """Record the warnings of this library and ignore all others."""
    warnings.simplefilter("ignore")
    warnings.simplefilter("always", NaiveteWarning)


def _unseen(caught: Sequence[Any] | None) -> bool:
    return any(issubclass(w.category, UnseenValueWarning) for w in caught or ())


def _all_classes(posterior: NDArray[np.float64], classes: NDArray[Any], count: int) -> NDArray[np.float64]:
    """Return the posterior with a column for each class of the experiment, zero for those not in training."""
    if len(classes) == count:
        return posterior
    complete = np.zeros((len(posterior), count))
    complete[:, classes] = posterior
    return complete
