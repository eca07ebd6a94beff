"""How well models predict left-out cases, compared with the class frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from naivete import C45, KDB, TAN, Encoder, NaiveBayes, Spectrum, model_hash
from naivete.inference.leave_one_out import leave_one_out
from naivete.learners.left_out_score import LeftOutScore, scored_by_leave_one_out
from naivete.variables import CLASS

ROWS = 300
RNG = np.random.default_rng(3)
X = pd.DataFrame({"a": RNG.choice(list("xyz"), ROWS), "b": RNG.random(ROWS).round(4), "c": RNG.choice(list("pq"), ROWS)})
NOISE = np.where(RNG.random(ROWS) < 0.4, "yes", "no")
CLEAR = np.where((X["a"] == "x") ^ (RNG.random(ROWS) < 0.1), "yes", "no")
MODELS = [NaiveBayes(), TAN(calibration="leave-one-out"), KDB(k=2, theta=-np.inf), Spectrum(), Spectrum(members=1)]


def score(model: Any, y: Any, weight: Any = None, X: pd.DataFrame = X) -> LeftOutScore | None:
    with scored_by_leave_one_out() as scores:
        model.fit(X, y, weight)
    assert len(scores) <= 1
    return scores[0] if scores else None


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_noise_and_a_clear_dependence(model: Any) -> None:
    noise, clear = score(model, NOISE), score(model, CLEAR)
    assert noise is not None
    assert clear is not None
    assert (noise.better, clear.better) == (False, True)
    assert noise.majority == "no"
    assert noise.majority_accuracy == pytest.approx((NOISE == "no").mean())
    assert clear.accuracy > 0.85
    assert clear.log_loss < 0.7 < clear.prior_log_loss


def test_is_the_exact_leave_one_out_of_the_network() -> None:
    with scored_by_leave_one_out() as scores:
        counts = NaiveBayes().training_counts(X, CLEAR, None)[2]
        NaiveBayes().fit(X, CLEAR)
    posteriors = leave_one_out(counts, {CLASS: (), **dict.fromkeys(counts.features, (CLASS,))})
    (found,) = scores
    assert found.accuracy == pytest.approx((np.array(["no", "yes"])[posteriors.argmax(axis=1)] == CLEAR).mean())


@pytest.mark.parametrize("model", [NaiveBayes(), Spectrum(members=2, trees=4, boosting=5)], ids=str)
def test_the_model_stays_the_same_and_the_order_of_the_rows_does_not_matter(model: Any) -> None:
    plain = model_hash(model.fit(X, CLEAR))
    found, order = score(model, CLEAR), RNG.permutation(ROWS)
    assert model_hash(model) == plain
    assert score(model, CLEAR[order], X=X.iloc[order]) == found
    assert score(model, np.repeat(CLEAR, 2), X=X.loc[np.repeat(X.index, 2)]) == score(model, CLEAR, np.full(ROWS, 2.0))
    weight = RNG.integers(0, 3, ROWS).astype(float)
    present = weight > 0
    assert score(model, CLEAR, weight) == score(model, CLEAR[present], weight[present], X=X[present])


def test_models_and_tables_without_a_score() -> None:
    assert score(C45(), CLEAR) is None
    assert score(NaiveBayes(encoder=Encoder(numbers="normal")), CLEAR) is None
    assert score(NaiveBayes(prior="uniform"), CLEAR) is None
    assert score(NaiveBayes(), CLEAR[:40], X=X[:40]) is None
    assert score(NaiveBayes(), ["yes"] * ROWS) is None


def test_no_other_pass_where_the_rows_are_many() -> None:
    for model, number in ((NaiveBayes(), 0), (Spectrum(members=1), 1)):
        with scored_by_leave_one_out(another_pass=False) as scores:
            model.fit(X, CLEAR)
        assert len(scores) == number
