"""The classifier with hidden variables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from naivete.classifiers.augmented import NaiveBayes
from naivete.classifiers.naive_variants import HiddenNaive
from naivete.encoding.encoder import Encoder
from naivete.errors import ParameterError
from tests.learners.test_hidden import sampled
from tests.oracles import identical, missing, posterior

quick = settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])


def table(seed: int, **more: Any) -> tuple[np.ndarray, np.ndarray, list[int]]:
    own, sizes, _ = sampled(seed, **more)
    codes = np.stack([np.where(missing(c), np.nan, c) for c in own.block.codes[:-1]], axis=1)
    return codes, own.block.codes[-1], sizes


@given(seed=st.integers(0, 99))
@quick
def test_answers_are_those_of_enumeration(seed: int) -> None:
    X, y, _ = table(seed, missing_rate=0.2)
    fitted = HiddenNaive(groups=[[0, 1, 2]], states=2, starts=1).fit(X[:200], y[:200])
    found = fitted.predict_proba(X[200:215])
    for row, own in zip(X[200:215], found, strict=True):
        codes = [None if np.isnan(x) else int(x) for x in row]
        assert np.allclose(own, posterior(fitted.network_, [*codes, None]), rtol=0, atol=1e-12)


def test_what_was_learned_is_told_as_plain_data() -> None:
    X, y, sizes = table(3, groups=2, alone=1)
    fitted = HiddenNaive().fit(X, y)
    assert sorted(fitted.states_) == sorted(sizes)
    assert len(fitted.groups_) == 2
    for told, group, states in zip(fitted.convergence_, fitted.groups_, fitted.states_, strict=True):
        assert (told["group"], told["states"], told["converged"]) == (group, states, True)
        assert max(told["trials"], key=lambda t: t["bic"])["states"] == states
    assert fitted.n_features_in_ == X.shape[1]
    assert fitted.score(X, y) >= NaiveBayes().fit(X, y).score(X, y)


def test_missing_training_values_change_little() -> None:
    X, y, sizes = table(1)
    holes = X.copy()
    holes[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    one, two = HiddenNaive().fit(X, y), HiddenNaive().fit(holes, y)
    assert one.states_ == two.states_ == sizes
    assert np.abs(one.predict_proba(X) - two.predict_proba(X)).mean() < 0.03
    assert identical(two.network_, HiddenNaive(encoder=Encoder(missing="em")).fit(holes, y).network_)


def test_groups_have_names() -> None:
    X, y, _ = table(0)
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    fitted = HiddenNaive(groups=[["c2", "c0"]], states=2).fit(frame, y)
    assert fitted.groups_ == [[0, 2]]
    assert fitted.feature_names_in_.tolist() == list(frame.columns)
    with pytest.raises(ParameterError, match=r"did you mean c2\?"):
        HiddenNaive(groups=[["c22", "c0"]]).fit(frame, y)
    with pytest.raises(ParameterError, match="groups: there is no feature 'zzz'; the features are c0, c1"):
        HiddenNaive(groups=[["zzz", "c0"]]).fit(frame, y)


def test_the_structure_can_be_kept() -> None:
    X, y, _ = table(1)
    half = len(y) // 2
    fitted = HiddenNaive().partial_fit(X[:half], y[:half])
    groups, states = fitted.groups_, fitted.states_
    fitted.partial_fit(X[half:], y[half:], structure="keep")
    again = HiddenNaive(groups=groups, states=states).fit(X, y)
    assert (fitted.groups_, fitted.states_) == (groups, states)
    assert identical(fitted.network_, again.network_)


def test_another_seed_each_time_and_a_generator() -> None:
    X, y, _ = table(1)
    for random_state in (None, np.random.RandomState(0), 5):
        assert HiddenNaive(random_state=random_state, groups=[[0, 1]], states=2).fit(X[:300], y[:300]).states_ == [2]
    with pytest.raises(ParameterError, match="random_state="):
        HiddenNaive(random_state="a").fit(X[:50], y[:50])
