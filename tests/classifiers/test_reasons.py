"""Sufficient reasons and flips of fitted classifiers, compared with the predictions of all rows."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from naivete import C45, KDB, TAN, Encoder, HillClimb, Majority, NaiveBayes, NotFittedError
from naivete.classifiers.registry import REGISTRY
from naivete.errors import DataError, ParameterError
from tests.classifiers.test_questions import patients

STATES = {"smoker": ["no", "yes"], "town": ["north", "south"], "visits": [0, 1, 2]}


def three_classes(rows: int = 150) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, rows)
    noise = [rng.integers(0, card, rows) for card in (2, 2, 3)]
    keep = rng.random((3, rows)) < 0.6
    codes = [np.where(k, labels % card, n) for k, n, card in zip(keep, noise, (2, 2, 3), strict=True)]
    frame = pd.DataFrame({name: np.array(STATES[name], object)[c] for name, c in zip(STATES, codes, strict=True)})
    return frame.astype({"visits": int}), np.array(["a", "b", "c"])[labels]


ALL = pd.DataFrame([dict(zip(STATES, row, strict=True)) for row in product(*STATES.values())])
LEARNERS = [NaiveBayes(), TAN(), KDB(k=2, theta=-math.inf), HillClimb(), C45(prune=False), Majority()]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_reasons_and_flips_of_every_row(learner: Any) -> None:
    model = learner.fit(*three_classes())
    predicted = dict(zip(map(tuple, ALL.to_numpy().tolist()), model.predict(ALL).tolist(), strict=True))
    for row, label in predicted.items():
        reason = model.sufficient_reason(row)
        assert reason.sufficient
        assert reason.prediction == label
        assert {c for r, c in predicted.items() if agrees(r, reason.values)} == {label}
        for name in reason.values:
            fewer = {n: v for n, v in reason.values.items() if n != name}
            assert len({c for r, c in predicted.items() if agrees(r, fewer)}) > 1
        for target in [None, *({"a", "b", "c"} - {label})]:
            flip = model.flip(row, target)
            changes = [sum(map(differ, r, row)) for r, c in predicted.items() if (c != label if target is None else c == target)]
            assert flip.cost == min(changes, default=math.inf)
            if flip.found:
                changed = tuple(flip.changes.get(name, (None, value))[1] for name, value in zip(STATES, row, strict=True))
                assert predicted[changed] == flip.after
                assert sum(map(differ, changed, row)) == len(flip.changes)


def differ(one: Any, two: Any) -> bool:
    return bool(one != two)


def agrees(row: tuple[Any, ...], values: dict[Any, Any]) -> bool:
    return all(value == values.get(name, value) for name, value in zip(STATES, row, strict=True))


@pytest.fixture(scope="module")
def model() -> TAN:
    return TAN().fit(*patients())


def test_missing_values_can_be_anything(model: TAN) -> None:
    reason = model.sufficient_reason({"smoker": "yes"})
    assert not reason.sufficient
    assert reason.values == {"smoker": "yes"}
    assert reason.counterexample is not None
    intervals = model.schema_[0].labels
    assert reason.counterexample["age"] in intervals
    assert "is not decided: another class is predicted with age=" in str(reason)
    flip = model.flip({"smoker": "yes"})
    assert flip.cost == 0
    assert flip.changes == {}
    assert set(flip.assumed) == {"age", "town", "visits"}
    assert " assuming age=" in str(flip)
    assert "with assuming" not in str(flip)


def test_fixed_features_and_costs(model: TAN) -> None:
    row = {"age": 70, "smoker": "yes", "town": "north", "visits": 0}
    free = model.flip(row)
    assert list(free.changes) == ["age"]
    assert free.changes["age"][0] == model.schema_[0].labels[-1]
    assert not model.flip(row, fixed=["age", "smoker", "town", "visits"]).found
    assert "age" not in model.flip(row, fixed=["age"]).changes
    assert model.flip(row, costs={"age": 0.25}).cost == 0.25
    assert (
        model.flip(row, fixed=["smoker", "town", "visits"], costs={"age": {20: 2.5}}).changes["age"][1]
        == model.schema_[0].labels[0]
    )
    assert not model.flip(row, fixed=["smoker", "town", "visits"], costs={"age": {71: 1}}).found
    assert str(model.flip(row, fixed=list(row))) == "class=ill: no allowed change gives another class"


def test_text_and_html(model: TAN) -> None:
    row = {"age": 70, "smoker": "yes", "town": "north", "visits": 0}
    assert str(model.sufficient_reason(row)).startswith("class=ill, because age=> ")
    assert "<table>" in model.sufficient_reason(row)._repr_html_()
    assert str(model.flip(row)).startswith("class=well instead of ill with age=")
    assert "instead of" in model.flip(row)._repr_html_()
    majority = Majority().fit(*patients())
    assert str(majority.sufficient_reason(row)) == "class=well, whatever the values are"


def test_values_without_meaning_are_not_chosen() -> None:
    frame, labels = patients()
    frame.loc[::5, "smoker"] = None
    fitted = NaiveBayes(encoder=Encoder(missing="state", unseen="smooth")).fit(frame, labels)
    for row in frame[:30].to_dict("records"):
        flip = fitted.flip(row, fixed=["age"])
        values = [new for _, new in flip.changes.values()] + list(flip.assumed.values())
        assert not {"missing", "never seen"} & set(values)


def test_calibration_does_not_change_reasons() -> None:
    frame, labels = patients()
    calibrated = NaiveBayes(calibration="leave-one-out").fit(frame, labels)
    plain = NaiveBayes().fit(frame, labels)
    for row in frame[:20].to_dict("records"):
        assert calibrated.sufficient_reason(row).values == plain.sufficient_reason(row).values


@pytest.mark.parametrize("entry", REGISTRY, ids=lambda entry: entry.name)
def test_every_classifier_answers_or_refuses(entry: Any) -> None:
    frame, labels = patients(80)
    fitted = entry.estimator().fit(frame, labels)
    row = frame.iloc[3].to_dict()
    computed = fitted.network_.derived and entry.name not in ("ID3", "C45")
    if computed or entry.name in ("Spectrum", "AODE", "A2DE"):
        for method in (fitted.sufficient_reason, fitted.flip):
            with pytest.raises(ParameterError, match="one network of tables without hidden variables, or one tree"):
                method(row)
        return
    assert fitted.sufficient_reason(row).prediction == fitted.predict(frame[3:4])[0]
    flip = fitted.flip(row)
    if flip.found:
        changed = pd.DataFrame([{**row, **{name: middle(fitted, name, new) for name, (_, new) in flip.changes.items()}}])
        assert fitted.predict(changed)[0] == flip.after != flip.before


def middle(fitted: Any, name: str, value: Any) -> Any:
    """A number in the interval of this label, or the value itself."""
    variable = next(v for v in fitted.schema_ if v.name == name)
    if variable.cuts is None:
        return value
    bounds = [variable.cuts[0] - 2, *variable.cuts, variable.cuts[-1] + 2]
    code = variable.labels.index(value)
    return (bounds[code] + bounds[code + 1]) / 2


def test_wrong_input_is_refused(model: TAN) -> None:
    row = {"age": 70, "smoker": "yes", "town": "north", "visits": 0}
    with pytest.raises(ParameterError, match="target_class='sick': there is no such class"):
        model.flip(row, "sick")
    with pytest.raises(ParameterError, match="target_class='ill': this class is predicted already"):
        model.flip(row, "ill")
    with pytest.raises(ParameterError, match="fixed: there is no feature 'ages'; did you mean age"):
        model.flip(row, fixed=["ages"])
    with pytest.raises(ParameterError, match="fixed='age': a list of names is needed"):
        model.flip(row, fixed="age")
    for wrong in (0, -1, math.inf, math.nan, "1", {20: 0}):
        with pytest.raises(ParameterError, match="costs are finite numbers above 0"):
            model.flip(row, costs={"age": wrong})
    with pytest.raises(DataError, match="has no state 'west'"):
        model.flip(row, costs={"town": {"west": 1}})
    with pytest.raises(NotFittedError):
        TAN().sufficient_reason(row)
    normal = NaiveBayes(encoder=Encoder(numbers="normal")).fit(*patients())
    with pytest.raises(DataError, match="continuous feature 'age'"):
        normal.sufficient_reason(row)
    impossible = NaiveBayes(smoothing=0).fit(pd.DataFrame({"a": ["x", "y"], "b": ["x", "y"]}), [0, 1])
    with pytest.raises(DataError, match="probability 0 in every class"):
        impossible.sufficient_reason({"a": "x", "b": "y"})
