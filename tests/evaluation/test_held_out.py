from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naivete.classifiers.augmented import KDB, TAN, NaiveBayes
from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.baselines import Lookup, Majority
from naivete.classifiers.registry import shares_counts
from naivete.classifiers.saving import model_hash
from naivete.counts.information import relevance
from naivete.data.labelled_table import LabelledTable
from naivete.data.table import Column, Table
from naivete.encoding.discretization import EqualFrequency
from naivete.encoding.encoder import Encoder
from naivete.errors import DataError, NaiveteWarning
from naivete.evaluation import held_out_counts as held_out
from naivete.evaluation import held_out_predictions as module
from naivete.evaluation.held_out_counts import HeldOutCounts
from naivete.evaluation.held_out_predictions import held_out_predictions
from naivete.evaluation.partitioned_counts import PartitionedCounts, up_to
from naivete.evaluation.protocols import KFold, LearningCurve, Protocol, Splits
from naivete.network.estimation import estimate
from naivete.network.network import Network
from naivete.variables import CLASS
from tests import LONG

ENCODERS = [
    Encoder(),
    Encoder(missing="state"),
    Encoder(unseen="smooth"),
    Encoder(missing="state", unseen="smooth", max_integer_states=2),
    Encoder(cut=EqualFrequency(3), max_integer_states=0),
]


def models(encoder: Encoder, **settings: Any) -> dict[str, NetworkClassifier]:
    return {
        "majority": Majority(encoder=encoder, **settings),
        "lookup": Lookup(encoder=encoder),
        "nb": NaiveBayes(encoder=encoder, **settings),
        "tan": TAN(encoder=encoder, **settings),
        "kdb": KDB(k=2, encoder=encoder, **settings),
        "chi2": KDB(k=2, theta="chi2", encoder=encoder, **settings),
        "auto": KDB(k="auto", theta="auto", k_max=2, encoder=encoder, **settings),
        "lookup again": Lookup(encoder=encoder),  # asks for no dependences, and must not find those of others
        "k=0": KDB(k=0, encoder=encoder, **settings),
    }


@st.composite
def tables(draw: st.DrawFn, *, rows: tuple[int, int] = (4, 25), weights: bool = True) -> LabelledTable:
    """Numbers, text, truth values and gaps; states and classes that occur once or twice; whole weights."""
    count = draw(st.integers(*rows))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kinds = draw(
        st.lists(st.sampled_from(["text", "rare", "declared", "whole", "number", "mixed", "truth"]), min_size=1, max_size=5)
    )
    columns = []
    for j, kind in enumerate(kinds):
        has_missing = rng.random(count) < draw(st.sampled_from([0.0, 0.0, 0.1]))
        few = rng.integers(0, 3, count)
        if kind in ("text", "declared"):
            columns.append(Column(f"x{j}", np.where(has_missing, -1, few), tuple("bca"), declared=kind == "declared"))
        elif kind == "rare":
            rare = np.where(rng.random(count) < 0.1, 2 + few, 0)
            columns.append(Column(f"x{j}", np.where(has_missing, -1, rare), ("b", 1, "c", True, 2.5)))
        elif kind == "truth":
            columns.append(Column(f"x{j}", few > 0))
        else:
            values = rng.integers(0, 30, count) / (1 if kind == "whole" else 4)
            values = np.where(rng.random(count) < 0.9, np.floor(values), values) if kind == "mixed" else values
            columns.append(Column(f"x{j}", np.where(has_missing, np.nan, values)))
    labels = np.where(rng.random(count) < 0.1, 2, rng.integers(0, 2, count))
    if draw(st.booleans()):
        labels = np.where(few == 0, labels, few - 1)
    classes, codes = np.unique(labels, return_inverse=True)
    weight = rng.integers(1, 4, count).astype(float) if weights and draw(st.booleans()) else None
    return LabelledTable(Table(tuple(columns)), "c", classes, codes, weight)


def check_equal_to_refitting(cases: LabelledTable, protocol: Protocol, own: dict[str, NetworkClassifier]) -> int:
    """Every model and every answer is that of a model fitted to the training rows alone, bit for bit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for answer in held_out_predictions(own, cases, list(protocol.splits(cases))):
            train, test = cases.take(answer.split.train), cases.take(answer.split.test)
            model = own[answer.model].fit(train.features, train.labels, sample_weight=train.weight)
            assert not shares_counts(model) or model_hash(answer.fitted) == model_hash(model), answer.model
            assert answer.fitted.network_.parents == model.network_.parents
            assert answer.fitted.classes_.tolist() == model.classes_.tolist()
            assert answer.fitted.rows_ == model.rows_
            honest = np.zeros((len(test), len(cases.classes)))
            honest[:, model.classes_] = model.predict_proba(test.features)
            assert answer.posterior.tobytes() == honest.tobytes(), answer.model
    return 1


@settings(deadline=None, max_examples=30)
@given(tables(), st.sampled_from(ENCODERS), st.integers(2, 5), st.sampled_from([1.0, 0.1, "m-estimate", "backoff"]))
def test_subtracting_a_fold_equals_refitting_bit_for_bit(cases: LabelledTable, encoder: Encoder, folds: int, how: Any) -> None:
    check_equal_to_refitting(cases, KFold(min(folds, len(cases))), models(encoder, smoothing=how))


@settings(deadline=None, max_examples=12)
@given(tables(rows=(12, 30)), st.sampled_from(ENCODERS))
def test_the_steps_of_a_learning_curve_equal_refitting_bit_for_bit(cases: LabelledTable, encoder: Encoder) -> None:
    check_equal_to_refitting(cases, LearningCurve((2, 5, 8) if LONG else (2, 7), count=2, test=4), models(encoder))


@settings(deadline=None, max_examples=8)
@given(tables(rows=(6, 25)), st.sampled_from(ENCODERS))
def test_models_that_share_the_counts_of_a_split_equal_refitting(cases: LabelledTable, encoder: Encoder) -> None:
    check_equal_to_refitting(cases, Splits(2), models(encoder))


def large(rows: int = 400, states: int = 3, features: int = 6, seed: int = 0) -> LabelledTable:
    rng = np.random.default_rng(seed)
    names = tuple(f"s{i}" for i in range(states))
    hidden = rng.integers(0, states, rows)
    columns = [
        Column(f"x{j}", np.where(rng.random(rows) < 0.5, hidden, rng.integers(0, states, rows)), names) for j in range(features)
    ]
    return LabelledTable(Table(tuple(columns)), "c", np.array(["no", "yes"]), (hidden + (rng.random(rows) < 0.2)) % 2)


def folds_of(cases: LabelledTable, count: int = 5) -> PartitionedCounts | None:
    return PartitionedCounts.of(cases, next(iter(KFold(count).splits(cases))).parts, count)  # type: ignore[arg-type]


def test_an_ordinary_table_is_counted_once_for_all_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = large()
    monkeypatch.setattr(held_out._TrainingRows, "block", property(lambda _: pytest.fail("training rows were encoded")))
    contenders = {name: model for name, model in models(Encoder()).items() if name != "auto" and "lookup" not in name}
    assert len(list(held_out_predictions(contenders, cases, list(KFold(5).splits(cases))))) == 30


@pytest.mark.parametrize("states", [12, 30])
def test_tables_that_are_too_large_to_keep_are_counted_fold_by_fold(states: int) -> None:
    cases = large(states=states)
    parts = folds_of(cases)
    assert parts is not None
    assert (parts.pairs is None) == (states > 12)
    models = {"tan": TAN(), "k3": KDB(k=3)}
    assert check_equal_to_refitting(cases, KFold(5), models)  # type: ignore[arg-type]


def test_cut_points_that_differ_between_folds() -> None:
    rng = np.random.default_rng(3)
    cases = large(300)
    numbers = tuple(Column(f"n{j}", rng.normal(cases.labels * (j + 1), 1.0)) for j in range(4))
    mixed = LabelledTable(Table((*cases.features.columns, *numbers)), "c", cases.classes, cases.labels)
    parts = folds_of(mixed)
    assert parts is not None
    assert len({own.cuts for own in parts.variables[-1]}) > 1
    assert any(held.recoded for held in (HeldOutCounts(parts, at) for at in range(5)))
    assert check_equal_to_refitting(mixed, KFold(5), models(Encoder()))


def with_weight(weight: Any) -> LabelledTable:
    cases = large(40)
    return LabelledTable(cases.features, "c", cases.classes, cases.labels, np.full(40, weight))


@pytest.mark.parametrize("weight", [0.5, 2.0**33, 0.0])
def test_weights_that_cannot_be_subtracted_exactly_are_refused(weight: float) -> None:
    assert folds_of(with_weight(weight)) is None
    assert folds_of(with_weight(3.0)) is not None


def test_fractional_weights_equal_refitting() -> None:
    cases = with_weight(1.0)
    weight = np.random.default_rng(0).random(40)
    assert check_equal_to_refitting(
        LabelledTable(cases.features, "c", cases.classes, cases.labels, weight), KFold(3), models(Encoder())
    )


def column(values: Any, rows: int = 12) -> LabelledTable:
    return LabelledTable(Table((Column("x", np.asarray(values)),)), "c", np.array([0, 1]), np.arange(rows) % 2)


def test_a_column_that_is_nominal_in_some_folds_only_equals_refitting() -> None:
    values = np.arange(12.0)
    values[0] = 0.5
    assert folds_of(column(values), 3) is None
    assert check_equal_to_refitting(column(values), KFold(3), models(Encoder()))


def test_a_column_without_a_value_in_some_training_set_equals_refitting() -> None:
    values = np.full(12, np.nan)
    values[0] = 1.0
    with pytest.warns(NaiveteWarning, match="no value in any row"):
        assert folds_of(column(values), 3) is None


def test_numbers_in_cells_equal_refitting(monkeypatch: pytest.MonkeyPatch) -> None:
    from naivete.encoding import counting as tallying
    from naivete.encoding import value_counts as tallies

    for room in (tallies, tallying):
        monkeypatch.setattr(room, "CELLS", 8)
    assert folds_of(column(np.random.default_rng(0).normal(size=12)), 3) is None


def test_partitioned_counts_beyond_the_budget_are_not_made() -> None:
    cases = large(40)
    part = np.arange(40) % 4
    assert PartitionedCounts.of(cases, part, 4, budget=8 * 18 * 2 * 4 * 4) is not None
    assert PartitionedCounts.of(cases, part, 4, budget=8 * 18 * 2 * 4 * 4 - 1) is None


def test_steps_of_a_curve_are_sums() -> None:
    cases = large(60)
    part = np.repeat([0, 1, -1], 20)
    parts = PartitionedCounts.of(cases, part, 2, up_to)
    assert parts is not None
    assert parts.rows == [20, 40]
    assert HeldOutCounts(parts, 1).total == 40


def test_an_unseen_value_is_refused_where_the_encoder_says_so() -> None:
    cases = LabelledTable(
        Table((Column("x", np.arange(12) % 6, tuple("abcdef")),)), "c", np.array([0, 1]), (np.arange(12) > 5).astype(np.int64)
    )
    splits = list(KFold(2, 20).splits(cases))
    assert any(answer.unseen for answer in held_out_predictions({"nb": NaiveBayes()}, cases, splits))
    with pytest.raises(DataError, match="did not occur in training"):
        list(held_out_predictions({"nb": NaiveBayes(encoder=Encoder(unseen="error"))}, cases, splits))


def test_models_with_other_encoders_and_budgets_do_not_share() -> None:
    models = {
        "a": NaiveBayes(),
        "b": TAN(),
        "c": NaiveBayes(encoder=Encoder(max_integer_states=3)),
        "d": NaiveBayes(budget=10**6),
        "e": object(),
    }
    assert [list(group.models) for group in module._groups(models)] == [["a", "b"], ["c"], ["d"], ["e"]]


class Doubtful(NaiveBayes):
    """A classifier with tables of its own: whatever was made for all folds at once must not be taken for them."""

    def _learn(self, counts: Any) -> Any:
        network, learned = super()._learn(counts)
        cpts = {v: (np.asarray(cpt) + 1) / (np.asarray(cpt) + 1).sum(axis=0) for v, cpt in network.cpts.items()}
        return Network(network.variables, network.parents, cpts), learned


@pytest.mark.parametrize("how", [0.0, 0.5, 3])
def test_estimates_for_all_folds_at_once_equal_those_of_each(how: Any) -> None:
    cases = large(90, features=4)
    models: dict[str, Any] = {
        "given prior": NaiveBayes(smoothing=how, prior=[0.0, 1.0]),
        "tan": TAN(smoothing=how),
        "kdb": KDB(k=3, smoothing=how),
        "root": TAN(root="x2", smoothing=how),
    }
    assert check_equal_to_refitting(cases, KFold(5, 2), models)


def test_tables_that_a_classifier_makes_itself_are_respected() -> None:
    cases = large(90)
    for answer in held_out_predictions({"nb": NaiveBayes(), "doubtful": Doubtful()}, cases, list(KFold(3).splits(cases))):
        train, test = cases.take(answer.split.train), cases.take(answer.split.test)
        honest = type(answer.fitted)().fit(train.features, train.labels).predict_proba(test.features)
        assert answer.posterior.tobytes() == honest.tobytes()


def test_sharing_counts_does_not_change_the_models() -> None:
    cases = large(60)
    models = {"nb": NaiveBayes(smoothing=2.0), "tan": TAN()}
    for answer in held_out_predictions(models, cases, list(KFold(3).splits(cases))):
        assert answer.fitted.smoothing == models[answer.model].smoothing
        assert type(answer.fitted.smoothing) is float
    assert not any(hasattr(model, "network_") for model in models.values())


class Picky(NetworkClassifier):
    """Every feature depends on the one that tells most about the class; the pseudo-count is used as a number."""

    def __init__(self, *, smoothing: float = 1.0, score: Any = relevance) -> None:
        super().__init__(smoothing=smoothing)
        self.score = score

    def _learn(self, counts: Any) -> Any:
        best = int(np.argmax(self.score(counts)))
        parents = {x: (CLASS,) if x == best else (best, CLASS) for x in counts.features}
        return estimate(counts, {CLASS: (), **parents}, 0.5 * self.smoothing, prior=self.prior), {"best_": best}


class Blunt(KDB):
    """Answers by itself: every posterior is drawn half of the way to the uniform one."""

    def predict_proba(self, X: Any) -> Any:
        said = super().predict_proba(X)
        return (said + 1 / said.shape[1]) / 2


@settings(deadline=None, max_examples=10)
@given(tables(rows=(8, 25)), st.sampled_from([KFold(3, 2), LearningCurve((2, 5), count=2, test=3), Splits(2)]))
def test_any_other_classifier_is_fitted_to_every_training_set(cases: LabelledTable, protocol: Protocol) -> None:
    models: dict[str, Any] = {"nb": NaiveBayes(), "picky": Picky(), "tan": TAN(), "blunt": Blunt(k=1)}
    check_equal_to_refitting(cases, protocol, models)


def test_an_unknown_learner_is_fitted_to_every_training_set_without_changing_the_model() -> None:
    rng = np.random.default_rng(0)
    columns = tuple(Column(f"x{j}", rng.integers(0, 2, 40), ("a", "b")) for j in range(6))
    cases = LabelledTable(Table(columns), "c", np.array([0, 1]), rng.integers(0, 2, 40))
    models = {"nb": NaiveBayes(), "picky": Picky()}
    found = [
        answer.fitted for answer in held_out_predictions(models, cases, list(KFold(4, 2).splits(cases))) if answer.model == "picky"
    ]
    assert len({model.best_ for model in found}) > 1
    assert len({id(model) for model in found}) == 8
    assert not any(hasattr(model, "network_") for model in models.values())


def test_only_classifiers_that_learn_from_counts_share_them() -> None:
    models = {"a": NaiveBayes(), "picky": Picky(), "b": KDB(), "blunt": Blunt()}
    assert [list(group.models) for group in module._groups(models)] == [["a", "b"], ["picky", "blunt"]]
