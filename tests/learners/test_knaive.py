"""k-naive classifiers: naive Bayes at one end, the full network at the other, and the balanced set between."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris

from naivete import Encoder, Full, NaiveBayes
from naivete.cases import Cases, MemoryCases
from naivete.classifiers.augmented import KNaive
from naivete.counts.counts import Counts
from naivete.errors import ParameterError
from naivete.learners.derivatives import derivatives
from naivete.learners.full import full
from naivete.learners.knaive import knaive, knaive_choice, knaive_structure
from naivete.learners.naive import naive
from naivete.variables import CLASS
from tests.classifiers.test_densities import number_cases
from tests.oracles import identical
from tests.strategies import some_cases

quick = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
NORMAL = Encoder(numbers="normal", kinds="numeric")
HOW: dict[str, Any] = {"max_parents": None, "shared": False, "shrinkage": 0.0, "smoothing": 1.0, "prior": None}


@given(some_cases(features=(1, 4)), st.booleans())
@quick
def test_with_all_features_it_is_naive_and_with_none_full(cases: MemoryCases, strongly_naive: bool) -> None:
    counts = Counts(cases)
    assert identical(knaive(counts, k=len(counts.features), strongly_naive=strongly_naive), naive(counts))
    assert identical(knaive(counts, k=0, strongly_naive=strongly_naive), full(counts))


@given(number_cases(), st.booleans())
@quick
def test_with_all_continuous_features_naive_it_is_naive_bayes(cases: MemoryCases, strongly_naive: bool) -> None:
    counts = Counts(cases)
    assert identical(knaive(counts, k=len(counts.features), strongly_naive=strongly_naive), naive(counts))


@given(some_cases(features=(2, 4), has_missing=False, weights=None), st.integers(1, 3))
@quick
def test_the_set_is_the_best_balanced_one(cases: MemoryCases, k: int) -> None:
    counts = Counts(cases)
    k = min(k, len(counts.features))
    found, weights = knaive_choice(counts, k=k, **HOW)
    terms = derivatives(full(counts), naive(counts), cases.block.codes[:-1], cases.has_missing)
    assert np.allclose(weights, terms.mean_weights(), atol=1e-9)
    norms = {chosen: np.linalg.norm(weights[list(chosen)].sum(axis=0)) for chosen in combinations(counts.features, k)}
    assert found.exact
    assert np.isclose(found.weight, min(norms.values()), atol=1e-9)
    assert np.isclose(norms[found.features], found.weight, atol=1e-9)


@given(some_cases(features=(2, 4), has_missing=False, weights=None))
@quick
def test_without_k_features_of_weight_zero_are_added_to_the_best_balanced_set(cases: MemoryCases) -> None:
    found, weights = knaive_choice(Counts(cases), **HOW)
    heavy = [x for x in range(len(weights)) if weights[x].any()]
    assert {x for x in range(len(weights)) if x not in heavy} <= set(found.features)
    sets = [chosen for size in range(1, len(heavy) + 1) for chosen in combinations(heavy, size)]
    least = min((np.linalg.norm(weights[list(chosen)].sum(axis=0)) for chosen in sets), default=0.0)
    assert np.isclose(np.linalg.norm(weights[list(found.features)].sum(axis=0)), least, atol=1e-9)
    assert np.isclose(found.weight, least, atol=1e-9)


@given(some_cases(features=(2, 5)), st.data())
@quick
def test_naive_features_have_no_feature_parents_and_if_strongly_naive_no_children(cases: MemoryCases, data: st.DataObject) -> None:
    counts = Counts(cases)
    held = data.draw(st.sets(st.sampled_from(list(counts.features))))
    telling = [x for x in counts.features if cases.variables[x].card > 1]
    weak, strong = (knaive_structure(counts, held, strongly_naive=own) for own in (False, True))
    for x in held:
        assert weak[x] == strong[x] == (CLASS,)
    rest = [x for x in telling if x not in held]
    assert all(not held & set(strong[x]) for x in rest)
    assert all(held & set(telling) <= set(weak[x]) for x in rest)
    for structure in (weak, strong):
        among = sorted(len(set(structure[x]) & set(rest)) for x in rest)
        assert among == list(range(len(rest)))


@given(st.data())
@quick
def test_it_is_the_same_on_every_back_end(cases: Callable[[MemoryCases], Cases], data: st.DataObject) -> None:
    drawn = data.draw(some_cases(features=(1, 4)))
    assert identical(knaive(Counts(cases(drawn))), knaive(Counts(drawn)))


@pytest.mark.parametrize("strongly_naive", [True, False])
def test_numbers_lie_between_naive_and_full(strongly_naive: bool) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :6]
    likelihoods = []
    for k in range(7):
        model = KNaive(k=k, strongly_naive=strongly_naive, encoder=NORMAL).fit(X, y)
        assert len(model.naive_) == k
        likelihoods.append(model.predict_joint_log_proba(X)[np.arange(len(y)), y].sum())
    ends = [model.fit(X, y).predict_joint_log_proba(X) for model in (Full(encoder=NORMAL), NaiveBayes(encoder=NORMAL))]
    assert np.isclose(likelihoods[0], ends[0][np.arange(len(y)), y].sum())
    assert np.isclose(likelihoods[-1], ends[1][np.arange(len(y)), y].sum())
    assert max(likelihoods) == likelihoods[0]
    assert min(likelihoods) == likelihoods[-1]


def test_more_than_two_classes() -> None:
    X, y = load_iris(return_X_y=True)
    model = KNaive(encoder=NORMAL, shrinkage=0.1).fit(X, y)
    assert model.weights_.shape == (4, 3)
    assert model.exact_
    assert model.score(X, y) > 0.93


def test_max_parents_limits_the_parents() -> None:
    X, y = load_iris(return_X_y=True)
    network = KNaive(k=0, max_parents=1).fit(X, y).network_
    assert max(len(network.parents[x]) for x in network.features) == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"k": 5}, "k=5: a whole number from 0 to the number of features, 4"),
        ({"k": -1}, "k=-1"),
        ({"k": 1.5}, "k=1.5"),
        ({"k": True}, "k=True"),
        ({"strongly_naive": "yes"}, "strongly_naive='yes'"),
        ({"shrinkage": 2}, "shrinkage=2"),
        ({"max_parents": -1}, "max_parents=-1"),
        ({"starts": 0}, "starts=0"),
        ({"random_state": -1}, "random_state=-1"),
    ],
)
def test_parameters_out_of_range_are_refused(given: dict[str, Any], message: str) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ParameterError, match=message):
        KNaive(**given).fit(X, y)
