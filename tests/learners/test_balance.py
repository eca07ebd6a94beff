"""The maximally balanced set against enumeration of all sets."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import balance as benchmark
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from naivete.errors import ParameterError
from naivete.learners import balance
from naivete.learners.balance import Balanced, balanced
from tests import LONG

quick = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def rounded(weights: np.ndarray) -> list[list[Fraction]]:
    """The weights as multiples of 2**-50 of the power of two above the largest."""
    largest = max((abs(Fraction(float(w))) for w in weights.ravel()), default=Fraction(0))
    unit = Fraction(2) ** (math.frexp(float(largest))[1] - 50)
    return [[round(Fraction(float(w)) / unit) * unit for w in row] for row in weights]


def enumerated(weights: np.ndarray, size: int | None) -> tuple[tuple[int, ...], float]:
    """The best of all sets, by the documented rule for ties."""
    rows, n = rounded(weights), len(weights)
    sizes = [size] if size is not None else range(1, n + 1) if n else [0]
    sets = [own for s in sizes for own in combinations(range(n), s)]
    squares = {
        own: sum(sum((rows[x][c] for x in own), Fraction(0)) ** 2 for c in range(len(rows[0]) if rows else 1)) for own in sets
    }
    limit = min(squares.values()) * (1 + Fraction(2, 10**12))
    best = max((own for own in sets if squares[own] <= limit), key=lambda own: [x in own for x in range(n)])
    return best, math.sqrt(squares[best])


def scattered(kind: str, n: int, columns: int, seed: int) -> np.ndarray:
    """Weights of some kind: any numbers, or few different ones, so that there are many ties."""
    rng = np.random.default_rng(seed)
    shape = (n, columns)
    found = {
        "any": rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4),
        "small whole": rng.integers(-3, 4, shape).astype(float),
        "tenths": rng.integers(-5, 6, shape) / 10,
        "mostly zero": rng.normal(size=shape) * (rng.random((n, 1)) < 0.3),
        "repeated": rng.normal(size=(3, columns))[rng.integers(0, 3, n)],
        "positive": rng.random(shape) + 0.1,
        "wide": rng.normal(size=shape) * 10.0 ** rng.integers(-12, 13, (n, 1)),
        "zero": np.zeros(shape),
    }[kind]
    return found - found.mean(axis=1, keepdims=True) if columns > 2 else found


kinds = st.sampled_from(["any", "small whole", "tenths", "mostly zero", "repeated", "positive", "wide", "zero"])


@st.composite
def problems(draw: st.DrawFn, *, most: int = 9) -> tuple[np.ndarray, int | None]:
    n = draw(st.integers(0, most))
    weights = scattered(draw(kinds), n, draw(st.sampled_from([1, 1, 2, 3, 5])), draw(st.integers(0, 2**32 - 1)))
    return weights, draw(st.none() | st.integers(0, n))


@pytest.fixture(params=["as it is", "in the middle", "in small pieces"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without the shortcut for few sets, and with pieces so small that there are several."""
    if request.param != "as it is":
        monkeypatch.setattr(balance, "FEW_CELLS", 0)
    if request.param == "in small pieces":
        monkeypatch.setattr(balance, "PIECE", 3)


@pytest.mark.usefixtures("way")
@given(problem=problems())
@example(problem=(np.zeros((0, 1)), None))
@example(problem=(np.zeros((5, 3)), None))
@example(problem=(np.array([[1.0], [-1.0], [1.0], [-1.0]]), 2))
@quick
def test_the_balanced_set_equals_enumeration(problem: tuple[np.ndarray, int | None]) -> None:
    weights, size = problem
    found = balanced(weights, size)
    expected, weight = enumerated(weights, size)
    assert found.exact
    assert found.features == expected
    assert found.weight == pytest.approx(weight, rel=1e-11)


MANY = 20 if LONG else 16
"""So many features that there are more algorithms than enumeration."""


@pytest.mark.parametrize("size", [None, 1, 7, 10, 16, 20] if LONG else [None, 7, 16])
@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("kind", ["any", "small whole", "repeated"])
def test_the_balanced_set_of_many_features_equals_enumeration(kind: str, columns: int, size: int | None) -> None:
    """All sets at once, in whole numbers small enough for their squares."""
    weights = scattered(kind, MANY, columns, 5)
    steps = np.rint(weights / np.abs(weights).max() * 2**24).astype(np.int64)
    inside = (np.arange(1, 1 << MANY)[:, None] >> np.arange(MANY - 1, -1, -1) & 1).astype(np.int64)
    squares = ((inside @ steps) ** 2).sum(axis=1)
    squares[(inside.sum(axis=1) != size) & (size is not None)] = np.iinfo(np.int64).max
    best = inside[np.flatnonzero(squares <= squares.min() * (1 + 2e-12))[-1]]
    found = balanced(steps.astype(float), size)
    assert found.features == tuple(np.flatnonzero(best).tolist())
    assert found.weight == pytest.approx(math.sqrt(squares.min()), rel=1e-11)


@given(problem=problems(most=12), seed=st.integers(0, 99))
@quick
def test_local_search_is_never_better_and_is_reported_as_not_exact(problem: tuple[np.ndarray, int | None], seed: int) -> None:
    weights, size = problem
    exact = balanced(weights, size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(balance, "FEW_CELLS", -1)
        patch.setattr(balance, "MOST_ON_A_LINE", -1)
        patch.setattr(balance, "MOST_IN_SPACE", -1)
        searched = balanced(weights, size if len(weights) else 0, random_state=seed)
    assert not searched.exact
    assert searched.weight >= exact.weight * (1 - 1e-11)
    assert size is None or len(searched.features) == size
    assert searched.features or size == 0 or not len(weights)
    assert searched == Balanced(searched.features, searched.weight, False)


def test_local_search_mostly_finds_the_best_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    problems = [
        (scattered("any", 10, columns, seed), size) for columns in (1, 3) for seed in range(15 if LONG else 3) for size in (None, 4)
    ]
    exact = [balanced(weights, size) for weights, size in problems]
    for name in ("FEW_CELLS", "MOST_ON_A_LINE", "MOST_IN_SPACE"):
        monkeypatch.setattr(balance, name, -1)
    searched = [balanced(weights, size) for weights, size in problems]
    assert sum(one.features == two.features for one, two in zip(exact, searched, strict=True)) >= 0.9 * len(problems)


def test_beyond_the_limit_it_is_a_local_search_that_depends_on_the_seed_alone() -> None:
    weights = scattered("any", 60, 1, 0)
    found = balanced(weights, 30, random_state=3)
    assert not found.exact
    assert len(found.features) == 30
    assert found.weight < 1e-3
    assert found == balanced(weights, 30, random_state=3)
    assert balanced(weights, 30, starts=64, random_state=3).weight <= found.weight


@pytest.mark.parametrize("size", [0, 1, 2, 59, 60])
def test_few_sets_are_exact_whatever_the_number_of_features(size: int) -> None:
    weights = scattered("any", 60, 1, 1)
    found = balanced(weights, size)
    assert found.exact
    assert found.features == enumerated(weights, size)[0]


def test_too_many_close_pairs_leave_a_local_search(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = scattered("any", 12, 5, 2)
    exact = balanced(weights)
    monkeypatch.setattr(balance, "MOST_PAIRS", 0)
    searched = balanced(weights)
    assert exact.exact
    assert not searched.exact
    assert searched.weight >= exact.weight


def test_fewer_pairs_that_find_a_better_bound_first_end_in_the_same_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """A poor start, so that the first reach is too wide."""
    problems = [scattered("any", 14, 3, seed) for seed in range(20 if LONG else 4)]
    exact = [balanced(weights) for weights in problems]
    monkeypatch.setattr(balance, "_searched", lambda *_: tuple(range(14)))
    for meetings in (5, 20, 100):
        monkeypatch.setattr(balance, "MOST_PAIRS", meetings)
        found = [balanced(weights) for weights in problems]
        assert all(one == two for one, two in zip(exact, found, strict=True) if two.exact)
        assert sum(own.exact for own in found) >= len(problems) / 4


@given(problem=problems(), power=st.integers(-300, 100))
@quick
def test_scaling_weights_by_a_power_of_two_has_no_effect(problem: tuple[np.ndarray, int | None], power: int) -> None:
    weights, size = problem
    weights = np.where(np.abs(weights) < 1e-20, 0.0, weights)
    found, moved = balanced(weights, size), balanced(np.ldexp(weights, power), size)
    assert moved.features == found.features
    assert moved.weight == pytest.approx(math.ldexp(found.weight, power), rel=1e-12)


@given(problem=problems())
@quick
def test_opposite_weights_have_the_same_set(problem: tuple[np.ndarray, int | None]) -> None:
    weights, size = problem
    assert balanced(weights, size) == balanced(-weights, size)


def test_a_feature_of_weight_zero_is_in_every_set_of_any_size() -> None:
    assert balanced([5.0, 0.0, 3.0, -3.0, 0.0]).features == (1, 2, 3, 4)
    assert balanced(np.zeros((45, 3)), starts=2).weight == 0
    assert balanced(np.zeros(44)) == Balanced(tuple(range(44)), 0.0, True)


def test_forty_features_are_searched_exactly() -> None:
    """Weights that were made to cancel: 20 pairs of opposite numbers; all of them together weigh nothing."""
    numbers = np.random.default_rng(0).random(20) + 0.5
    assert balanced(np.concatenate([numbers, -numbers])) == Balanced(tuple(range(40)), 0.0, True)
    pair = balanced(np.concatenate([numbers, -numbers]), 2)
    assert pair == Balanced((0, 20), 0.0, True)


@pytest.mark.slow
def test_the_benchmark_prints_its_table(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    assert benchmark.main(["--features", "8", "--classes", "2", "3", "--json", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("|")[1:4] for line in lines[2:]] == [[f" {c} ", " 8 ", f" {size} "] for c in (2, 3) for size in (4, "any")]
    assert all(line.endswith("| yes |") for line in lines[2:])
    first = json.loads(out.read_text())[0]
    assert balanced(benchmark.weights_of(8, 2), 4) == Balanced(tuple(first["set"]), first["weight"], True)


@pytest.mark.parametrize(
    ("weights", "options", "message"),
    [
        ([1.0, math.nan], {}, r"feature 1 is \[nan\]; it must be finite"),
        ([[1.0, 2.0], [3.0, math.inf]], {}, r"feature 1 is \[3.0, inf\]"),
        ([1e200], {}, "at most 1e\\+150"),
        ([[[1.0]]], {}, r"shape \(1, 1, 1\)"),
        (np.zeros((2, 0)), {}, r"shape \(2, 0\)"),
        (3.0, {}, r"shape \(\)"),
        (["a"], {}, "a number for each feature"),
        ([1.0, 2.0], {"size": 3}, "size=3: there are 2 features"),
        ([1.0, 2.0], {"size": -1}, "size=-1: a whole number, at least 0"),
        ([1.0, 2.0], {"size": 1.0}, "size=1.0: a whole number"),
        ([1.0, 2.0], {"size": True}, "size=True: a whole number"),
        ([1.0, 2.0], {"starts": 0}, "starts=0: a whole number, at least 1"),
        ([1.0, 2.0], {"random_state": -1}, "random_state=-1: a whole number, at least 0"),
    ],
)
def test_bad_inputs_are_refused(weights: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        balanced(weights, **options)
