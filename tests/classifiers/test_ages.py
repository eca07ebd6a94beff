"""Cases that lose their weight with age: the model is that of `fit` on the cases that are left, with the stated weights."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from naivete import K2, KDB, TAN, Encoder, HillClimb, InfoAS, NaiveBayes, load, model_hash, save
from naivete._kernels.exact_sums import halve_sums, limbs, sums_as_numbers
from naivete.classifiers.base import NetworkClassifier
from naivete.errors import DataError, ParameterError
from tests.classifiers.test_streams import Batch, batch

MODELS: dict[str, NetworkClassifier] = {
    "NaiveBayes": NaiveBayes(),
    "TAN": TAN(),
    "KDB": KDB(),
    "em": KDB(encoder=Encoder(missing="em")),
    "HillClimb": HillClimb(),
}
CLASSES = ["x", "y", "z"]
QUICK = ("NaiveBayes", "KDB")
NAMES = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in MODELS]
each = pytest.mark.parametrize("name", NAMES)
streams = pytest.mark.parametrize("name", NAMES[:3])


def taught(model: Any, batches: list[Batch], **ages: Any) -> Any:
    for X, y, weight in batches:
        model.partial_fit(X, y, classes=CLASSES, sample_weight=weight, **ages)
    return model


def fitted(model: NetworkClassifier, batches: list[Batch], factors: list[float] | None = None) -> str:
    """Return the hash of the model of these rows, the weights of every batch multiplied by its factor."""
    pairs = list(zip(batches, factors or [1.0] * len(batches), strict=True))
    X = pd.concat([X for (X, _, _), factor in pairs if factor], ignore_index=True)
    y = np.concatenate([y for (_, y, _), factor in pairs if factor])
    weight = np.concatenate([weight * factor for (_, _, weight), factor in pairs if factor])
    return model_hash(clone(model).fit(X, y, sample_weight=weight))


def factors_of(sizes: list[int], half_life: int) -> list[float]:
    """Return the factor of every batch, by the definition in the documentation of `partial_fit`."""
    starts = np.cumsum([0, *sizes[:-1]])
    periods = [int(start) // half_life for start in starts]
    return [0.0 if periods[-1] // 32 > p // 32 + 1 else 2.0 ** (p - periods[-1]) for p in periods]


@each
def test_a_window_is_a_fit_on_its_cases(name: str) -> None:
    model, batches = MODELS[name], [batch(seed, 60) for seed in range(5)]
    for window, left in ((1, 1), (120, 2), (121, 3), (math.inf, 5)):
        streamed = taught(clone(model), batches, window=window)
        assert model_hash(streamed) == fitted(model, batches[-left:]), window


@each
def test_weights_are_halved_exactly(name: str) -> None:
    model, batches = MODELS[name], [batch(seed, 60) for seed in range(5)]
    for half_life in (1, 90, 10_000):
        streamed = taught(clone(model), batches, half_life=half_life)
        factors = factors_of([60] * 5, half_life)
        assert model_hash(streamed) == fitted(model, batches, factors), (half_life, factors)


@pytest.mark.parametrize("model", [K2(), InfoAS()])
def test_learners_that_look_up_logarithms_of_counts_take_halved_weights(model: NetworkClassifier) -> None:
    """The sums over the classes are whole numbers, those over the values are not."""
    X, y = [["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]], ["x", "y", "y", "x"]
    batches = [(pd.DataFrame(X), np.array(y), np.ones(len(y)))] * 2
    streamed = clone(model)
    for rows, labels, _ in batches:
        streamed.partial_fit(rows, labels, half_life=len(y))
    assert model_hash(streamed) == fitted(model, batches, [0.5, 1.0])


@streams
def test_tables_in_place_of_rows_have_ages_too(name: str, tmp_path: Path) -> None:
    """The classifier is saved and loaded in the middle, where its tables have replaced the rows."""
    model, batches = MODELS[name], [batch(seed, 1000) for seed in range(6)]
    factors = factors_of([1000] * 6, 1500)
    for ages, expected in (
        ({"window": 3000}, fitted(model, batches[-3:])),
        ({"half_life": 1500}, fitted(model, batches, factors)),
    ):
        streamed = taught(clone(model), batches[:5], **ages)
        assert streamed._kept.batches is None
        save(streamed, tmp_path / "m.nvt", counts=True, overwrite=True)
        loaded = taught(load(tmp_path / "m.nvt"), batches[5:])  # the rule is stored
        assert model_hash(loaded) == expected
        assert model_hash(taught(streamed, batches[5:], **ages)) == expected


@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=6),
    half_life=st.sampled_from([1, 2, 7, 33]),
    window=st.integers(1, 200),
    name=st.sampled_from(["NaiveBayes", "TAN", "KDB"]),
)
@settings(max_examples=30, deadline=None)
@pytest.mark.filterwarnings("ignore::naivete.errors.NaiveteWarning")
def test_any_sequence_of_batches(sizes: list[int], half_life: int, window: int, name: str) -> None:
    model, batches = MODELS[name], [with_all_classes(seed, n) for seed, n in enumerate(sizes)]
    sizes = [n + 3 for n in sizes]
    halved = taught(clone(model), batches, half_life=half_life)
    assert model_hash(halved) == fitted(model, batches, factors_of(sizes, half_life))
    younger = [sum(sizes[i + 1 :]) for i in range(len(sizes))]
    left = [b for b, after in zip(batches, younger, strict=True) if after < window or after == 0]
    assert model_hash(taught(clone(model), batches, window=window)) == fitted(model, left)


def with_all_classes(seed: int, n: int) -> Batch:
    X, y, weight = batch(seed, n + 3)
    return X, np.array([*CLASSES, *y[3:]]), weight


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_memory_does_not_depend_on_the_length_of_the_stream(name: str) -> None:
    for ages in ({"window": 1200}, {"half_life": 60}):
        model, sizes = clone(MODELS[name]), {}
        for number in range(1, 101):
            taught(model, [batch(number % 7, 300)], **ages)
            sizes[number] = len(pickle.dumps(model._kept))
        assert sizes[100] < 1.2 * max(sizes[number] for number in range(10, 50)), ages


def test_old_cases_are_forgotten_by_age() -> None:
    batches = [batch(seed, 60) for seed in range(4)]
    for name, ages in (("em", {}), ("KDB", {"window": math.inf}), ("NaiveBayes", {"window": math.inf})):
        model = taught(clone(MODELS[name]), batches, **ages)
        assert model_hash(model.forget(older_than=120)) == fitted(MODELS[name], batches[-2:])
        assert model_hash(taught(model, batches[:1])) == fitted(MODELS[name], [*batches[-2:], batches[0]])
        assert model_hash(model.forget(older_than=1)) == fitted(MODELS[name], batches[:1])


def test_ages_begin_with_the_cases_so_far_as_one_batch() -> None:
    batches = [batch(seed, 60) for seed in range(5)]
    model = taught(clone(MODELS["TAN"]), batches[:2])
    assert model_hash(taught(model, batches[2:4], window=121)) == fitted(MODELS["TAN"], batches[:4])
    assert model_hash(taught(model, batches[4:])) == fitted(MODELS["TAN"], batches[2:])


def test_what_is_refused_changes_nothing() -> None:
    batches = [batch(seed, 60) for seed in range(3)]
    model = taught(clone(MODELS["KDB"]), batches, window=100)
    before, (X, y, weight) = model_hash(model), batches[-1]
    for arguments, message in (
        ({"window": 0}, r"window=0: a number of cases, from 1"),
        ({"window": 7.5}, r"window=7\.5: a number of cases"),
        ({"half_life": "soon"}, r"half_life='soon': a number of cases"),
        ({"half_life": 5, "window": 5}, "choose one of them"),
        ({"half_life": 10**400}, r"half_life=.*: a number of cases, from 1 to 2\*\*53"),
        ({"half_life": 5}, r"the earlier calls had window=100; pass the same, or neither"),
    ):
        with pytest.raises(ParameterError, match=message):
            model.partial_fit(X, y, sample_weight=weight, **arguments)
    with pytest.raises(DataError, match="lose their weight with age"):
        model.forget(X, y, weight)
    with pytest.raises(DataError, match="lose their weight with age"):
        model.merge(taught(clone(model), batches))
    for arguments in ({}, {"X": X}, {"X": X, "y": y, "older_than": 5}):
        with pytest.raises(ParameterError, match=r"forget: pass the cases"):
            model.forget(**arguments)
    with pytest.raises(ParameterError, match=r"older_than=-1: a number of cases"):
        model.forget(older_than=-1)
    assert model_hash(model) == before
    with pytest.raises(DataError, match="the ages of the cases are not known"):
        taught(NaiveBayes(), batches).forget(older_than=5)
    with pytest.raises(DataError, match="with half_life the cases of many batches are kept together"):
        taught(NaiveBayes(), batches, half_life=5).forget(older_than=5)


@given(st.lists(st.integers(0, 2**50).map(lambda value: value / 2**20), min_size=1, max_size=20), st.integers(0, 64))
def test_halving_sums_is_exact(weights: list[float], times: int) -> None:
    weight = np.array(weights)
    parts = {q: limb for q, limb in limbs(weight).items() if limb is not None}
    assert np.array_equal(sums_as_numbers(halve_sums(parts, times)), np.ldexp(weight, -times))
