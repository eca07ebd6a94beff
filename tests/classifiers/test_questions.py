"""Questions about one row: rows in many forms, costs, losses, every classifier."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from naivete import C45, KDB, TAN, Encoder, HillClimb, Loss, NaiveBayes, NotFittedError, Spectrum
from naivete.classifiers.registry import REGISTRY
from naivete.errors import DataError, ParameterError, UnseenValueWarning
from naivete.inference.queries import posterior
from tests import oracles


def patients(rows: int = 200) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    ill = rng.random(rows) < 0.4
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, rows) + 20 * ill + 0.5,
            "smoker": np.where(rng.random(rows) < 0.3 + 0.4 * ill, "yes", "no"),
            "town": rng.choice(["north", "south"], rows),
            "visits": rng.integers(0, 3, rows),
        }
    )
    return frame, np.where(ill, "ill", "well")


@pytest.fixture(scope="module")
def model() -> NaiveBayes:
    return NaiveBayes().fit(*patients())


@pytest.mark.parametrize(
    "learner", [NaiveBayes(), TAN(), KDB(k=2, theta=-math.inf), HillClimb()], ids=lambda learner: type(learner).__name__
)
def test_gains_equal_the_joint_distribution_of_each_feature_and_the_class(learner: Any) -> None:
    fitted = learner.fit(*patients())
    questions = fitted.ask_next({"smoker": "yes"})
    for question in questions:
        table = posterior(fitted, [question.feature, "class"], {"smoker": "yes"}).to_numpy()
        assert question.gain == pytest.approx(max(oracles.exact_information(table[..., None] * 2**40), 0), abs=1e-9)
    assert questions.posterior == pytest.approx(posterior(fitted, "class", {"smoker": "yes"}).to_numpy())
    assert [q.gain for q in questions] == sorted((q.gain for q in questions), reverse=True)
    assert questions.best.gain <= questions.entropy


def test_rows_in_many_forms_are_the_same_row(model: NaiveBayes) -> None:
    frame, _ = patients()
    row = frame.iloc[0].copy()
    row["age"] = math.nan
    table = pd.DataFrame([row])[frame.columns]
    expected = model.ask_next({"smoker": row["smoker"], "town": row["town"], "visits": int(row["visits"])}).columns()
    for same in (row, table, row.tolist(), [row.tolist()], np.array(row, object), row.to_dict(), dict(row, age=None)):
        assert model.ask_next(same).columns() == expected
    assert len(model.ask_next()) == 4
    assert list(model.ask_next(frame.iloc[0])) == []
    assert model.ask_next(frame.iloc[0]).best is None


def test_values_by_label_and_interval(model: NaiveBayes) -> None:
    last = model.schema_[0].labels[-1]
    assert model.ask_next({"age": last}).columns() == model.ask_next({"age": 1000}).columns()


def test_costs_change_the_ranking_and_losses_the_gain(model: NaiveBayes) -> None:
    assert model.ask_next()[0].feature == "age"
    dear = model.ask_next(costs={"age": 1000})
    assert dear[0].feature == "smoker"
    assert {q.feature: q.gain for q in dear} == {q.feature: q.gain for q in model.ask_next()}
    assert dear.columns() == model.ask_next(costs=[1000, 1, 1, 1]).columns()
    losses = [
        model.ask_next(loss=loss)
        for loss in (
            [[0, 5], [1, 0]],
            {("ill", "well"): 5, ("well", "ill"): 1},
            Loss(("well", "ill"), np.array([[0.0, 1.0], [5.0, 0.0]])),
        )
    ]
    assert losses[0].unit == "loss"
    assert losses[0].columns() == losses[1].columns() == losses[2].columns()
    table = posterior(model, ["age", "class"]).to_numpy()
    matrix = np.array([[0, 5], [1, 0]])
    saved = (matrix @ table.sum(axis=0)).min() - (matrix @ table.T).min(axis=0).sum()
    assert losses[0][0].gain == pytest.approx(saved)


def test_text_and_html(model: NaiveBayes) -> None:
    text = str(model.ask_next({"smoker": "yes"}, costs={"town": 2.5}))
    assert text.startswith("P(class=ill) = ")
    assert "town    0.00" in text
    assert ", cost 2.5" in text
    html = model.ask_next({"smoker": "yes"}, costs={"town": 2.5})._repr_html_()
    assert "bits per cost" in html
    hostile = NaiveBayes().fit(pd.DataFrame({"<script>": ["a", "b"], "b": ["a", "b"]}), [0, 1])
    assert "<script>" not in hostile.ask_next()._repr_html_()
    assert repr(hostile.ask_next()) == "Questions(2 features, best: '<script>')"


@pytest.mark.parametrize("entry", REGISTRY, ids=lambda entry: entry.name)
def test_every_classifier_can_be_asked(entry: Any) -> None:
    frame, labels = patients(80)
    fitted = entry.estimator().fit(frame, labels)
    questions = fitted.ask_next({"smoker": "yes"})
    assert {q.feature for q in questions} == {"age", "town", "visits"}
    assert all(0 <= q.gain <= 1 for q in questions)
    nothing = {"age": [math.nan], "town": [None], "visits": [math.nan]}
    row = pd.DataFrame({"smoker": ["yes"], **nothing})
    queried = np.asarray(posterior(fitted.network_, "class", {"smoker": "yes"})) if fitted.asks_network else None
    expected = fitted.predict_proba(row)[0] if queried is None else queried
    assert questions.posterior == pytest.approx(expected, abs=1e-9)


def test_trees_average_their_posterior_after_each_answer() -> None:
    frame, labels = patients(80)
    fitted = C45(prune=False).fit(frame, labels)
    (gain,) = (q.gain for q in fitted.ask_next({"smoker": "yes", "age": 45, "visits": 1}))
    rows = pd.DataFrame({"age": [45.0] * 2, "smoker": ["yes"] * 2, "town": ["north", "south"], "visits": [1, 1]})
    shares = np.exp(fitted.predict_joint_log_proba(rows)).sum(axis=1)
    table = fitted.predict_proba(rows) * (shares / shares.sum())[:, None]
    assert gain == pytest.approx(oracles.exact_information(table[..., None]), abs=1e-9)


def test_answers_to_a_spectrum_average_to_what_is_known_before() -> None:
    """A value that is not known yet is open, although a spectrum counts missing values as a state."""
    frame, labels = patients(80)
    frame.loc[::7, "town"] = None
    fitted = Spectrum(members=1).fit(frame, labels)
    before = fitted.ask_next().posterior
    shares = posterior(fitted.network_, "smoker", {}).to_numpy()
    after = [fitted.ask_next({"smoker": state}).posterior for state in ("no", "yes")]
    assert shares @ np.array(after) == pytest.approx(before, abs=1e-9)


@pytest.mark.parametrize("numbers", ["normal", "kernel"])
def test_continuous_features_can_be_asked_and_observed(numbers: str) -> None:
    fitted = NaiveBayes(encoder=Encoder(numbers=numbers)).fit(*patients())
    (age,) = (q for q in fitted.ask_next({"smoker": "yes"}) if q.feature == "age")
    assert age.answers == ()
    assert 0.3 < age.gain < 0.6
    frame = pd.DataFrame({"age": [70.25], "smoker": [None], "town": [None], "visits": [math.nan]})
    assert fitted.ask_next({"age": 70.25}).posterior == pytest.approx(fitted.predict_proba(frame)[0])


def test_missing_as_a_state_is_not_observed_but_a_possible_answer() -> None:
    frame, labels = patients()
    frame.loc[::5, "smoker"] = None
    fitted = NaiveBayes(encoder=Encoder(missing="state")).fit(frame, labels)
    (smoker,) = (q for q in fitted.ask_next({"town": "north"}) if q.feature == "smoker")
    assert smoker.answers == ("no", "yes", "missing")


def test_unseen_values_are_treated_as_the_encoder_says() -> None:
    frame, labels = patients()
    with pytest.warns(UnseenValueWarning, match="'town': 1"):
        questions = NaiveBayes().fit(frame, labels).ask_next({"town": "west"})
    assert "town" in {q.feature for q in questions}
    smooth = NaiveBayes(encoder=Encoder(unseen="smooth")).fit(frame, labels).ask_next({"town": "west"})
    assert "town" not in {q.feature for q in smooth}
    with pytest.raises(DataError, match="has no state 'west'"):
        NaiveBayes(encoder=Encoder(unseen="error")).fit(frame, labels).ask_next({"town": "west"})


def test_wrong_input_is_refused(model: NaiveBayes) -> None:
    frame, _ = patients()
    with pytest.raises(DataError, match="no feature 'smokes'; did you mean smoker"):
        model.ask_next({"smokes": "yes"})
    with pytest.raises(DataError, match="3 values where the classifier has 4 features"):
        model.ask_next([1, 2, 3])
    with pytest.raises(DataError, match="one row is needed, got 2"):
        model.ask_next(frame[:2])
    with pytest.raises(DataError, match="'age'"):
        model.ask_next({"age": "old"})
    with pytest.raises(ParameterError, match="costs: there is no feature 'smoke'"):
        model.ask_next(costs={"smoke": 1})
    for wrong in (0, -1, math.inf, math.nan, "1", None, True):
        with pytest.raises(ParameterError, match="finite numbers above 0"):
            model.ask_next(costs={"smoker": wrong})
    with pytest.raises(ParameterError, match="2 numbers for 4 features"):
        model.ask_next(costs=[1, 2])
    with pytest.raises(ParameterError, match="loss matrix of shape"):
        model.ask_next(loss=[[0, 1]])
    with pytest.raises(NotFittedError):
        NaiveBayes().ask_next({})
    impossible = NaiveBayes(smoothing=0).fit(pd.DataFrame({"a": ["x", "y"], "b": ["x", "y"]}), [0, 1])
    with pytest.raises(DataError, match="probability 0 in every class"):
        impossible.ask_next({"a": "x", "b": "y"})
