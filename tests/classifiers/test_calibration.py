"""Posterior probabilities that are calibrated by a temperature from exact leave-one-out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import naivete
from naivete import KDB, TAN, NaiveBayes
from naivete.cases import MemoryCases
from naivete.cases.base import Block
from naivete.classifiers.ande import A2DE, AODE
from naivete.classifiers.augmented import FAN, Full, KNaive
from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.baselines import Majority
from naivete.classifiers.naive_variants import JoinedNaive
from naivete.classifiers.registry import REGISTRY
from naivete.classifiers.saving import model_hash
from naivete.classifiers.selective import K2AS, InfoAS, SelectiveNaive
from naivete.classifiers.specification import classifier_of, spec_of
from naivete.classifiers.unrestricted import CB, K2, PC, HillClimb
from naivete.counts.counts import Counts
from naivete.encoding.encoder import Encoder
from naivete.errors import ModelFileError, ParameterError
from naivete.evaluation import cross_validate
from naivete.learners.calibration import PENALTY, leave_one_out_temperature
from naivete.network.estimation import estimate
from tests.oracles import honest_leave_one_out
from tests.strategies import some_cases, structures

LEAVE_ONE_OUT = "leave-one-out"
CALIBRATED: list[Any] = [NaiveBayes, TAN, FAN, KDB, Full, KNaive, K2, HillClimb, CB, PC, SelectiveNaive, K2AS, InfoAS, JoinedNaive]
CALIBRATED += [AODE, A2DE]


def rows(n: int = 200, *, missing: bool = True) -> pd.DataFrame:
    """Copies of one noisy column, which make naive Bayes too sure, and two other columns."""
    rng = np.random.default_rng(3)
    label = rng.integers(0, 3, n)
    noisy = np.where(rng.random(n) < 0.6, label, rng.integers(0, 3, n))
    frame = pd.DataFrame({f"copy{i}": np.where(rng.random(n) < 0.9, noisy, 0) for i in range(5)}).astype(str)
    frame["number"] = label + rng.normal(size=n)
    frame["other"] = np.array(list("ab"))[rng.integers(0, 2, n)]
    if missing:
        frame.loc[rng.random(n) < 0.1, "copy0"] = None
    frame["y"] = np.array(["no", "perhaps", "yes"])[label]
    return frame


FRAME = rows()
X, Y = FRAME.drop(columns="y"), FRAME["y"]


def loss(posterior: Any, labels: Any, weight: Any, power: float) -> float:
    p = np.maximum(posterior, 1e-300) ** power
    return float(-(weight * np.log(p[np.arange(len(labels)), labels] / p.sum(axis=1))).sum())


@given(training=some_cases(rows=(2, 14), max_card=3, features=(1, 3)), data=st.data())
@settings(deadline=None, max_examples=40)
def test_the_temperature_minimizes_the_loss_of_honest_leave_one_out(training: MemoryCases, data: st.DataObject) -> None:
    structure = data.draw(structures(len(training.variables) - 1))
    if training.block.weight is not None:  # equal rows are one case, of which one row is left out: whole weights
        block = Block(training.block.codes, np.ceil(training.block.weight))
        training = MemoryCases(training.variables, block, training.has_missing)
    count = Counts(training)
    power = leave_one_out_temperature(count, estimate(count, structure, "backoff"), smoothing="backoff")
    labels = training.block.codes[-1].astype(int)
    weight = np.ones(len(labels)) if training.block.weight is None else training.block.weight
    posterior = honest_leave_one_out(training, structure, "backoff")
    used = np.bincount(labels, weight)[labels] > np.minimum(weight, 1.0)
    powers = (power, 0.02, 8.0, *np.geomspace(0.02, 8, 60))
    lost = {t: loss(posterior[used], labels[used], weight[used], t) + PENALTY * (t - 1) ** 2 / 2 for t in powers}
    assert lost[power] <= min(lost.values()) + 1e-3 * (1 + weight.sum())


@pytest.mark.parametrize("kind", CALIBRATED, ids=lambda kind: kind.__name__)
def test_every_classifier_of_tables_can_be_calibrated(kind: type[NetworkClassifier], tmp_path: Path) -> None:
    plain, calibrated = kind().fit(X, Y), kind(calibration=LEAVE_ONE_OUT).fit(X, Y)
    assert 0.02 <= calibrated.temperature_ <= 8
    power = plain.predict_proba(X) ** calibrated.temperature_
    assert np.allclose(calibrated.predict_proba(X), power / power.sum(axis=1, keepdims=True), rtol=1e-9)
    assert np.allclose(np.exp(calibrated.predict_log_proba(X)), calibrated.predict_proba(X))
    assert calibrated.predict(X).tolist() == plain.predict(X).tolist()
    assert calibrated.passes_ - plain.passes_ <= 2 if hasattr(plain, "selected_") else calibrated.passes_ == plain.passes_ + 1
    naivete.save(calibrated, tmp_path / "model.nvt")
    loaded = naivete.load(tmp_path / "model.nvt")
    assert loaded.temperature_ == calibrated.temperature_
    assert np.array_equal(loaded.predict_proba(X), calibrated.predict_proba(X))
    word = str(spec_of(calibrated))
    assert "calibration=leave-one-out" in word
    assert classifier_of(word).calibration == LEAVE_ONE_OUT


@pytest.mark.parametrize("kind", [NaiveBayes, KDB, TAN], ids=lambda kind: kind.__name__)
def test_calibration_does_little_harm_where_no_left_out_case_is_wrong(kind: type[NetworkClassifier]) -> None:
    """Without a penalty the temperature of some folds is the largest one, and the log loss is three to five times as high."""
    features, labels = load_wine(return_X_y=True)
    losses = []
    for calibration in (None, LEAVE_ONE_OUT):
        classifier, folds = kind(calibration=calibration), StratifiedKFold(5, shuffle=True, random_state=0)
        posterior = cross_val_predict(classifier, features, labels, cv=folds, method="predict_proba")
        losses.append(-np.log(posterior[np.arange(len(labels)), labels]).mean())
    assert losses[1] < 1.25 * losses[0]


def test_too_sure_a_classifier_gets_a_low_temperature() -> None:
    train, test = FRAME.iloc[:100], FRAME.iloc[100:]
    plain = NaiveBayes().fit(train.drop(columns="y"), train["y"])
    calibrated = NaiveBayes(calibration=LEAVE_ONE_OUT).fit(train.drop(columns="y"), train["y"])
    assert calibrated.temperature_ < 0.8
    truth = np.searchsorted(plain.classes_, test["y"])
    losses = [loss(m.predict_proba(test.drop(columns="y")), truth, 1.0, 1.0) for m in (plain, calibrated)]
    assert losses[1] < losses[0]


def test_the_order_of_the_rows_and_the_back_end_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = TAN(calibration=LEAVE_ONE_OUT, smoothing="backoff")
    wanted = model_hash(clone(model).fit(X, Y))
    mixed = FRAME.sample(frac=1, random_state=0)
    assert model_hash(clone(model).fit(mixed.drop(columns="y"), mixed["y"])) == wanted
    FRAME.to_parquet(tmp_path / "rows.parquet")
    monkeypatch.setattr("naivete.cases.sources.ROWS", 37)
    assert model_hash(clone(model).fit_cases(tmp_path / "rows.parquet", "y")) == wanted
    batches = clone(model).partial_fit(X[:90], Y[:90], classes=sorted(set(Y))).partial_fit(X[90:], Y[90:])
    assert model_hash(batches) == wanted


def test_naive_bayes_in_batches_keeps_its_rows_for_the_calibration() -> None:
    batches = NaiveBayes(calibration=LEAVE_ONE_OUT).partial_fit(X[:90], Y[:90], classes=sorted(set(Y))).partial_fit(X[90:], Y[90:])
    assert batches.temperature_ == NaiveBayes(calibration=LEAVE_ONE_OUT).fit(X, Y).temperature_


def test_a_cross_validation_uses_the_calibration() -> None:
    models = {"plain": NaiveBayes(), "calibrated": NaiveBayes(calibration=LEAVE_ONE_OUT)}
    plain, calibrated = cross_validate(models, (X, Y), folds=3)
    assert calibrated.log_loss < plain.log_loss
    assert calibrated.accuracy == plain.accuracy


def test_without_a_calibration_model_files_are_as_before() -> None:
    assert "calibration" not in naivete.classifiers.saving.model_of(TAN().fit(X, Y)).parameters


REFUSED: dict[str, tuple[Any, str]] = {
    "value": (TAN(calibration="sigmoid"), "calibration='sigmoid': choose 'leave-one-out'"),
    "type": (TAN(calibration=1), "calibration=1: choose"),
    "em": (TAN(calibration=LEAVE_ONE_OUT, encoder=Encoder(missing="em")), "missing='em' has expected counts"),
    "densities": (NaiveBayes(calibration=LEAVE_ONE_OUT, encoder=Encoder(numbers="normal")), "NaiveBayes has densities"),
    "learner": (K2AS(learner=TAN(calibration=LEAVE_ONE_OUT)), "set the calibration of the K2AS"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_has_no_leave_one_out_is_refused(case: str) -> None:
    classifier, message = REFUSED[case]
    with pytest.raises(ParameterError, match=message):
        classifier.fit(X, Y)


def test_a_specification_says_which_models_have_no_calibration() -> None:
    without = {entry.word for entry in REGISTRY if "calibration" not in entry.parameters}
    assert {"c45", "id3", "recursive", "hidden", "spectrum"} <= without
    with pytest.raises(ParameterError, match="spectrum is calibrated already: its weights are fitted by leave-one-out"):
        classifier_of("spectrum:calibration=leave-one-out")
    for word in without - {"spectrum"}:
        with pytest.raises(ParameterError, match="has no calibration, since there is no exact leave-one-out"):
            classifier_of(f"{word}:calibration=leave-one-out")


def test_a_file_with_an_invalid_temperature_is_refused() -> None:
    from naivete.classifiers.saving import classifier_of as classifier_of_model
    from naivete.classifiers.saving import model_of

    for wrong in (-1.0, 0.0, "1", True, None):
        model = model_of(TAN(calibration=LEAVE_ONE_OUT).fit(X, Y))
        model.notes["learned"]["temperature_"] = wrong
        with pytest.raises(ModelFileError, match="temperature_"):
            classifier_of_model(model, "model.nvt")


def test_one_class_and_single_cases() -> None:
    assert TAN(calibration=LEAVE_ONE_OUT).fit([["a"], ["b"]], ["x", "x"]).temperature_ == 1
    assert TAN(calibration=LEAVE_ONE_OUT).fit([["a"], ["b"]], ["x", "y"]).temperature_ == 1
    assert Majority(calibration=LEAVE_ONE_OUT).fit([["a"], ["b"], ["b"]], ["x", "y", "y"]).predict([["a"]]).tolist() == ["y"]


def test_only_classifiers_with_a_calibration_document_its_temperature() -> None:
    for entry in REGISTRY:
        assert ("temperature_ :" in (entry.estimator.__doc__ or "")) == ("calibration" in entry.parameters), entry.name


def test_an_average_in_any_order_has_the_same_temperature(tmp_path: Path) -> None:
    """Also where it is learned from a file and in batches."""
    model = AODE(calibration=LEAVE_ONE_OUT)
    wanted = model_hash(clone(model).fit(X, Y))
    mixed = FRAME.sample(frac=1, random_state=0)
    assert model_hash(clone(model).fit(mixed.drop(columns="y"), mixed["y"])) == wanted
    FRAME.to_parquet(tmp_path / "rows.parquet")
    assert model_hash(clone(model).fit_cases(tmp_path / "rows.parquet", "y")) == wanted
    batches = clone(model).partial_fit(X[:90], Y[:90], classes=sorted(set(Y))).partial_fit(X[90:], Y[90:])
    assert model_hash(batches) == wanted


def test_explanations_scores_and_single_rows_of_a_calibrated_average() -> None:
    few = FRAME[FRAME["y"] != "perhaps"]
    model = AODE(calibration=LEAVE_ONE_OUT).fit(few.drop(columns="y"), few["y"])
    assert model.temperature_ != 1
    rows_, expected = few.drop(columns="y").iloc[:3], model.predict_proba(few.drop(columns="y").iloc[:3])
    assert np.allclose(model.explain(rows_).posterior, expected)
    odds = np.log(expected[:, 1] / expected[:, 0])
    assert np.allclose(model.decision_function(rows_), odds)
    explained = model.explain(rows_, target_class="yes").by_feature
    assert np.allclose(explained.base + explained.values.sum(axis=1), odds / np.log(2))
    assert np.allclose(list(model.row_predictor()(rows_.iloc[0]).values()), expected[0])
    assert np.allclose(model.predict_proba(rows_.iloc[:1]), expected[:1])
