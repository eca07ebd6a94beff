"""SKDB: the choice equals that of refitting without each case, and the limits of k and of the number of features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from naivete import KDB, SKDB, NaiveBayes, ParameterError
from naivete.cases import MemoryCases
from naivete.counts.counts import Counts, informative_features
from naivete.counts.information import relevance
from naivete.learners.skdb import skdb, skdb_choice
from naivete.variables import CLASS
from tests.oracles import chunked, honest_leave_one_out, identical
from tests.strategies import some_cases

quick = settings(deadline=None, max_examples=25)


def honest_loss(cases: MemoryCases, structure: Any, criterion: str) -> float:
    labels = cases.block.codes[-1].astype(int)
    weight = np.ones(len(labels)) if cases.block.weight is None else cases.block.weight
    posterior = honest_leave_one_out(cases, structure, 1.0)
    true = posterior[np.arange(len(labels)), labels]
    losses = {
        "squared": (1 - true) ** 2,
        "log": -np.log2(np.maximum(true, 2.0**-64)),
        "zero-one": posterior.argmax(axis=1) != labels,
    }
    return float((weight * losses[criterion]).sum())


@pytest.mark.parametrize("criterion", ["squared", "log", "zero-one"])
@given(cases=some_cases(rows=(2, 12), features=(1, 3), max_card=3, has_missing=False), k_max=st.integers(0, 2))
@quick
def test_the_choice_is_that_of_refitting_without_each_case(criterion: str, cases: MemoryCases, k_max: int) -> None:
    counts = Counts(cases)
    k, selected, parents = skdb_choice(counts, k_max=k_max, criterion=criterion)
    bits = relevance(counts, bias="corrected")
    order = sorted(informative_features(counts), key=lambda x: (-bits[x], x))
    assert selected == order[: len(selected)]
    losses = {
        (size, m): honest_loss(
            cases,
            {CLASS: (), **{x: (*parents[x][:size], CLASS) if x in order[:m] else () for x in counts.features}},
            criterion,
        )
        for size in range(k_max + 1)
        for m in range(len(order) + 1)
    }
    assume(criterion != "zero-one" or cases.block.weight is None)  # two classes may be equally probable up to rounding
    tolerance = 1e-6 * (1 + float(counts.total))
    if criterion == "zero-one":
        assert losses[k, len(selected)] <= min(losses.values()) + 1  # as above
    else:
        assert losses[k, len(selected)] <= min(losses.values()) + tolerance
        simpler = [loss for (size, m), loss in losses.items() if size <= k and m < len(selected)]
        assert all(loss > losses[k, len(selected)] - tolerance for loss in simpler)
    network, *chosen = skdb(Counts(cases), k_max=k_max, criterion=criterion)
    assert chosen == [k, selected]
    assert dict(network.parents) == {CLASS: (), **{x: (*parents[x][:k], CLASS) if x in selected else () for x in counts.features}}


@given(cases=some_cases(rows=(2, 30), features=(1, 4)), seed=st.integers(0, 99))
@quick
def test_blocks_and_their_order_do_not_matter(cases: MemoryCases, seed: int) -> None:
    one, two = skdb(Counts(cases), k_max=2), skdb(Counts(chunked(cases, np.random.default_rng(seed))), k_max=2)
    assert one[1:] == two[1:]
    assert identical(one[0], two[0])


def table(seed: int = 0, rows: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Three informative features, and three that are noise."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (rows, 6))
    return X, (X[:, 0] + X[:, 1] + X[:, 2] > 3) ^ (rng.random(rows) < 0.05)


def test_noise_is_left_out_and_the_network_is_that_of_kdb_on_the_rest() -> None:
    X, y = table(rows=2000)
    fitted = SKDB(k_max=3).fit(X, y)
    assert sorted(fitted.selected_) == [0, 1, 2]
    assert fitted.k_ == 2
    alone = KDB(k=2).fit(X[:, :3], y)
    assert np.allclose(fitted.predict_proba(X), alone.predict_proba(X[:, :3]), rtol=0, atol=1e-12)
    assert all(fitted.network_.parents[x] == () for x in (3, 4, 5))
    assert fitted.passes_ == 4  # schema, pairs, tables, leave-one-out


def test_with_k_max_zero_it_is_naive_bayes_on_selected_features() -> None:
    X, y = table()
    fitted = SKDB(k_max=0).fit(X, y)
    assert fitted.k_ == 0
    kept = sorted(fitted.selected_)
    assert np.allclose(fitted.predict_proba(X), NaiveBayes().fit(X[:, kept], y).predict_proba(X[:, kept]), rtol=0, atol=1e-12)


def test_k_max_may_exceed_the_number_of_features() -> None:
    X, y = table()
    assert identical(SKDB(k_max=50).fit(X[:, :3], y).network_, SKDB(k_max=2).fit(X[:, :3], y).network_)


def test_without_information_no_feature_is_selected() -> None:
    y = np.arange(40) % 2
    assert SKDB().fit(np.zeros((40, 2), int), y).selected_ == []
    nothing = SKDB().fit((np.arange(40) // 2 % 2)[:, None], y)
    assert nothing.selected_ == []
    assert nothing.predict_proba([[0], [1]]).tolist() == [[0.5, 0.5]] * 2


def test_the_criteria_may_choose_differently() -> None:
    choices = {}
    for criterion in ("squared", "log", "zero-one"):
        for seed in range(6):
            X, y = table(seed, 40)
            choices.setdefault(seed, set()).add(len(SKDB(criterion=criterion).fit(X, y).selected_))
    assert any(len(found) > 1 for found in choices.values())


@pytest.mark.parametrize("parameters", [{"k_max": -1}, {"k_max": 1.5}, {"criterion": "rmse"}, {"criterion": None}], ids=str)
def test_parameters_are_checked(parameters: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        SKDB(**parameters).fit([["a"], ["b"]], [0, 1])
