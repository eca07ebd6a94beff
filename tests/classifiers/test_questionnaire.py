"""A questionnaire asks the most valuable question until a stopping rule holds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from naivete import TAN, Encoder, NaiveBayes, NotFittedError, Questionnaire
from naivete.errors import DataError, ParameterError
from tests.classifiers.test_questions import patients


@pytest.fixture(scope="module")
def model() -> TAN:
    return TAN().fit(*patients())


def test_it_asks_the_best_question_after_each_answer(model: TAN) -> None:
    questionnaire, known = Questionnaire(model, stop={"questions": 10}), {}
    answers = {"age": 45, "smoker": "yes", "town": "north", "visits": 2}
    while question := questionnaire.next():
        assert question == model.ask_next(known).best
        assert questionnaire.next() == question
        questionnaire.answer(answers[question.feature])
        known[question.feature] = answers[question.feature]
        assert questionnaire.posterior == pytest.approx(model.ask_next(known).posterior)
        assert questionnaire.history[-1].posterior is questionnaire.posterior
    assert questionnaire.stopped == "no questions"
    assert len(questionnaire.history) == 4
    assert questionnaire.history[0].feature == "age"
    assert questionnaire.prediction == model.predict(pd.DataFrame([answers]))[0]
    assert questionnaire.spent == 4


def test_stopping_rules(model: TAN) -> None:
    sure = Questionnaire(model, stop=0.5)
    assert (sure.next(), sure.stopped) == (None, "posterior")
    none = Questionnaire(model, stop={"questions": 0})
    assert (none.next(), none.stopped) == (None, "questions")
    dull = Questionnaire(model, stop={"gain": 0.99})
    assert (dull.next(), dull.stopped) == (None, "gain")
    with pytest.raises(DataError, match=r"has ended \(gain\)"):
        dull.answer("yes")
    dull.answer("yes", feature="smoker")
    assert dull.history[0].feature == "smoker"


def test_the_gain_rule_holds_for_each_question(model: TAN) -> None:
    """A cheap question with little information is not asked where a dear one has enough."""
    gains = {q.feature: q.gain for q in model.ask_next()}
    cheap = {"town": 1e-9}
    assert model.ask_next(costs=cheap).best.feature == "town"
    questionnaire = Questionnaire(model, costs=cheap, stop={"gain": (gains["town"] + gains["age"]) / 2})
    assert questionnaire.next().feature == "age"  # type: ignore[union-attr]


def test_unknown_answers_are_not_asked_again(model: TAN) -> None:
    questionnaire = Questionnaire(model)
    before, first = questionnaire.posterior, questionnaire.next()
    assert first is not None
    questionnaire.answer(None)
    assert questionnaire.posterior == pytest.approx(before)
    assert first.feature not in {q.feature for q in questionnaire.questions}
    assert questionnaire.history[0].value is None
    questionnaire.answer(70, feature=first.feature)
    assert questionnaire.history[1].value == model.schema_[0].labels[-1]
    questionnaire.answer(None, feature=first.feature)
    assert questionnaire.posterior == pytest.approx(before)


def test_unknown_is_an_answer_where_missing_is_a_state() -> None:
    frame, labels = patients()
    frame.loc[labels == "ill", "smoker"] = None
    model = NaiveBayes(encoder=Encoder(missing="state")).fit(frame, labels)
    questionnaire = Questionnaire(model)
    assert questionnaire.next().feature == "smoker"  # type: ignore[union-attr]
    questionnaire.answer(None)
    assert questionnaire.prediction == "ill"
    assert questionnaire.history[0].value == "missing"
    assert questionnaire.stopped == "posterior"


def test_a_row_costs_and_a_loss(model: TAN) -> None:
    questionnaire = Questionnaire(model, row={"age": 45}, costs={"smoker": 3}, loss=[[0, 1], [1, 0]], stop={"questions": 2})
    assert questionnaire.questions.unit == "loss"
    expected = model.ask_next({"age": 45}, costs={"smoker": 3}, loss=[[0, 1], [1, 0]])
    assert questionnaire.questions.columns() == expected.columns()
    questionnaire.answer("no", feature="smoker")
    assert questionnaire.spent == 3


def test_calibrated_posteriors_are_those_of_the_classifier() -> None:
    frame, labels = patients()
    model = NaiveBayes(calibration="leave-one-out").fit(frame, labels)
    row = frame.iloc[0].to_dict()
    questionnaire = Questionnaire(model, row=row)
    assert questionnaire.posterior == pytest.approx(model.predict_proba(frame[:1])[0])
    assert sum(model.ask_next({"age": 45}).posterior) == pytest.approx(1)


def test_a_refused_answer_changes_nothing(model: TAN) -> None:
    questionnaire = Questionnaire(model)
    with pytest.raises(DataError, match="has no state 'perhaps'"):
        questionnaire.answer("perhaps", feature="smoker")
    with pytest.raises(ParameterError, match="no feature 'smoke'; did you mean smoker"):
        questionnaire.answer("yes", feature="smoke")
    assert questionnaire.history == []
    frame = pd.DataFrame({"a": ["x", "y"] * 2, "b": ["x", "y"] * 2})
    impossible = Questionnaire(NaiveBayes(smoothing=0).fit(frame, [0, 1, 0, 1]), stop={"questions": 3}, row={"a": "x"})
    with pytest.raises(DataError, match="probability 0 in every class"):
        impossible.answer("y", feature="b")
    assert impossible.history == []
    assert impossible.posterior == pytest.approx(np.array([1.0, 0.0]))


def test_wrong_parameters_are_refused(model: TAN) -> None:
    for stop in (1.5, -0.1, "sure", None, {"gain": -1}, {"questions": "many"}, {"posterior": np.nan}):
        with pytest.raises(ParameterError, match="stop: "):
            Questionnaire(model, stop=stop)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="no rule 'posteriour'; did you mean posterior"):
        Questionnaire(model, stop={"posteriour": 0.9})
    with pytest.raises(ParameterError, match="costs"):
        Questionnaire(model, costs={"smoker": 0})
    with pytest.raises(NotFittedError):
        Questionnaire(NaiveBayes())


def test_it_shows_where_it_stands(model: TAN) -> None:
    questionnaire = Questionnaire(model)
    assert repr(questionnaire).endswith("next: 'age')")
    questionnaire.answer(70)
    assert "1 answers" in repr(questionnaire)
