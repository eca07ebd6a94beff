"""The answers of models about cases they have not seen: learned together where they can share counts, else one by one."""

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
from naivete.evaluation.fold_estimates import Estimates, Remembered, exact_pseudo_count
from naivete.evaluation.held_out_counts import HeldOut, Shared
from naivete.evaluation.partitioned_counts import Parts, all_but_one, up_to
from naivete.evaluation.protocols import Split
from naivete.variables import CLASS, Variable

__all__ = ["Answer", "answers"]


@dataclass(frozen=True, eq=False)
class Answer:
    """What a model said of the test rows of a split.

    Parameters
    ----------
    split : which one.
    model : the name of the model.
    posterior : P(class | row), zero for classes that were not in training.  # (row, class)
    fit_seconds, predict_seconds : the time; what models share goes to all of them in equal parts.
    unseen : whether some value did not occur in training.
    fitted : the model.
    """

    split: Split
    model: str
    posterior: NDArray[np.float64]
    fit_seconds: float
    predict_seconds: float
    unseen: bool
    fitted: Any


def answers(models: Mapping[str, Any], cases: LabelledTable, splits: Sequence[Split]) -> Iterator[Answer]:
    """The answers of all models to all splits, split by split; cut points and structures are learned in each training set.

    Parameters
    ----------
    models : classifiers by name. Those of this library stay as they are; others are fitted, one split after the other.
        Those that `shares_counts` names learn from counts that are made once for all of them, others from the rows of each split.
    cases : the cases.
    splits : divisions of them; those with the same parts share the counts of these.
    """
    groups = _groups(models)
    for splits_of_parts in _together(splits):
        for group in groups:
            group.prepare(cases, splits_of_parts)
        for split in splits_of_parts:
            for name in models:
                yield next(group for group in groups if name in group.models).answer(name, split)


def _together(splits: Sequence[Split]) -> Iterator[list[Split]]:
    """The splits in their order, neighbours that have the same parts together."""
    own: list[Split] = []
    for split in splits:
        if own and (split.parts is None or split.parts is not own[0].parts):
            yield own
            own = []
        own.append(split)
    if own:
        yield own


class _Group(Protocol):
    """Models that are fitted together."""

    models: dict[str, Any]

    def prepare(self, cases: LabelledTable, splits: Sequence[Split]) -> None:
        """Get ready for these splits."""

    def answer(self, name: str, split: Split) -> Answer:
        """The answer of a model to a split."""


def _groups(models: Mapping[str, Any]) -> list[_Group]:
    """The models that share counts, by encoder and budget, and all others."""
    strangers, sharing = _Strangers({}), list[_Sharing]()
    for name, model in models.items():
        encoder = model.checked_encoder() if shares_counts(model) else None
        if encoder is None or encoder.numbers != "cut" or encoder.missing == "em":  # not a matter of counts alone
            strangers.models[name] = model
            continue
        group = next((g for g in sharing if g.encoder == encoder and g.budget == model.budget), None)
        if group is None:
            group = _Sharing({}, encoder, model.budget)
            sharing.append(group)
        group.models[name] = model
    return [*sharing, strangers]


@dataclass
class _Strangers:
    """Models that fit and answer by themselves."""

    models: dict[str, Any]
    cases: LabelledTable | None = None

    def prepare(self, cases: LabelledTable, splits: Sequence[Split]) -> None:  # noqa: ARG002
        """Keep the cases."""
        self.cases = cases

    def answer(self, name: str, split: Split) -> Answer:
        """Fit and ask."""
        assert self.cases is not None
        train, test = self.cases.take(split.train), self.cases.take(split.test)
        with warnings.catch_warnings(record=True) as told:
            _hushed()
            own = self.models[name]
            started = time.perf_counter()
            fitted = (copy(own) if isinstance(own, NetworkClassifier) else own).fit(
                train.features, train.labels, sample_weight=train.weight
            )
            learned = time.perf_counter()
            said = fitted.predict_proba(test.features)
            done = time.perf_counter()
        posterior = _among(said, fitted.classes_, len(self.cases.classes))
        return Answer(split, name, posterior, learned - started, done - learned, _unseen(told), fitted)


@dataclass
class _Sharing:
    """Models that learn from the same counts."""

    models: dict[str, Any]
    encoder: Encoder
    budget: int
    cases: LabelledTable | None = None
    parts: Parts | None = None
    estimates: dict[float, Estimates] = field(default_factory=dict)
    seconds: float = 0.0
    ready: _Ready | None = None

    def prepare(self, cases: LabelledTable, splits: Sequence[Split]) -> None:
        """Count the parts, where the splits have any."""
        self.cases, self.parts, self.ready, self.estimates, first = cases, None, None, {}, splits[0]
        started = time.perf_counter()
        if first.parts is not None and len(splits) > 1:
            training, count = up_to if first.nested else all_but_one, int(first.parts.max()) + 1
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.parts = Parts.of(cases, first.parts, count, training, encoder=self.encoder, budget=self.budget)
        self.seconds = (time.perf_counter() - started) / len(splits)

    def answer(self, name: str, split: Split) -> Answer:
        """Learn from the counts, which the first model has made, and ask."""
        assert self.cases is not None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self.ready is None or self.ready.split is not split:
                self.ready = self._made(split, self.cases)
            ready, started = self.ready, time.perf_counter()
            fitted = ready.fitted(self.models[name])
            learned = time.perf_counter()
            posterior = _among(ready.posterior(fitted), ready.classes, len(self.cases.classes))
            done = time.perf_counter()
        seconds = learned - started + ready.seconds / len(self.models)
        return Answer(split, name, posterior, seconds, done - learned, ready.unseen, fitted)

    def _made(self, split: Split, cases: LabelledTable) -> _Ready:
        started = time.perf_counter()
        if self.parts is None:
            ready = self._honest(split, cases)
        else:
            held = HeldOut(self.parts, split.fold)
            quick = Estimates.pays(self.parts)
            ready = (_Quick if quick else _Ready)(split, cases, held, held.classes, self.parts.rows[split.fold], self)
        ready.seconds = self.seconds + time.perf_counter() - started
        return ready

    def _honest(self, split: Split, cases: LabelledTable) -> _Ready:
        """The counts of the training rows, as `fit` makes them."""
        train, first = cases.take(split.train), next(iter(self.models.values()))
        batch = first.training_rows(train.features, train.labels, train.weight)
        tallies = self.encoder.value_counts(batch.features, batch.labels, batch.classes.tolist(), batch.weight)
        features = self.encoder.schema(tallies)
        variables = (*features, Variable(batch.target, tallies.classes))
        rows = encoded_cases(batch.features, variables, batch.labels, batch.weight, self.encoder.unseen)
        counts = Shared(rows, budget=self.budget, known=FeatureTables(tallies, features), passes=1)
        return _Ready(split, cases, counts, batch.classes, len(batch), self)


@dataclass
class _Ready:
    """A split that models can learn from and be asked about."""

    split: Split
    cases: LabelledTable
    counts: Shared
    classes: NDArray[Any]
    rows: int
    group: _Sharing
    seconds: float = 0.0

    def fitted(self, model: NetworkClassifier) -> NetworkClassifier:
        """A copy of the model that has learned from the training rows."""
        self.counts.anew()
        return copy(model).fit_counts(self.counts, self.classes, is_frame(self.cases.features), self.rows)

    def posterior(self, fitted: NetworkClassifier) -> NDArray[np.float64]:
        """P(class | row) of the test rows."""
        said = [fitted.predictor_.posterior(*part)[0] for part in self.test[0]]
        return said[0] if len(said) == 1 else np.concatenate(said)

    @cached_property
    def test(self) -> tuple[list[Encoded], bool]:
        """The codes of the test rows, and whether there are values that did not occur in training."""
        features, table = self.counts.variables[:CLASS], self.cases.features.take(self.split.test)
        with warnings.catch_warnings(record=True) as told:
            _hushed()
            return list(encoded_parts(table, features, unseen=self.group.encoder.unseen)), _unseen(told)

    @property
    def unseen(self) -> bool:
        """Whether some value did not occur in training."""
        return self.test[1]


class _Quick(_Ready):
    """A fold of few rows: estimates are made for all folds at once, and answers are sums of them where no value is missing."""

    def fitted(self, model: NetworkClassifier) -> NetworkClassifier:
        """A copy of the model that has learned from the training rows."""
        alpha = exact_pseudo_count(model.smoothing)
        if alpha is None:
            return super().fitted(model)
        assert self.group.parts is not None
        assert isinstance(self.counts, HeldOut)
        estimates = self.group.estimates.setdefault(alpha, Estimates(self.group.parts, alpha))
        own = copy(model)
        own.smoothing = Remembered(alpha, estimates, self.counts)
        own = super().fitted(own)
        own.smoothing = model.smoothing
        return own

    def posterior(self, fitted: NetworkClassifier) -> NDArray[np.float64]:
        """P(class | row) of the test rows."""
        assert isinstance(self.counts, HeldOut)
        estimates = self.group.estimates.get(exact_pseudo_count(fitted.smoothing) or 0.0)
        found = None if estimates is None or not self.counts.plain else estimates.posterior(fitted.network_, self.split.fold)
        return super().posterior(fitted) if found is None else found

    @property
    def unseen(self) -> bool:
        """Whether some value did not occur in training: never where no state is lacking."""
        assert isinstance(self.counts, HeldOut)
        return not self.counts.plain and self.test[1]


def _hushed() -> None:
    """Keep the warnings of this library, and only these."""
    warnings.simplefilter("ignore")
    warnings.simplefilter("always", NaiveteWarning)


def _unseen(told: Sequence[Any] | None) -> bool:
    return any(issubclass(w.category, UnseenValueWarning) for w in told or ())


def _among(said: NDArray[np.float64], classes: NDArray[Any], count: int) -> NDArray[np.float64]:
    """The posterior with a column for every class of the experiment."""
    if len(classes) == count:
        return said
    posterior = np.zeros((len(said), count))
    posterior[:, classes] = said
    return posterior
