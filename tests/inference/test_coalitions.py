"""Shapley values of functions of a row: exact by enumeration, and estimates that add up and have honest standard errors."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from naivete.inference.coalitions import Game

MISSING = 255


def function(codes: Any) -> np.ndarray:
    """Products of neighbors, so that features interact; a missing value counts as 7."""
    rows = np.stack([np.where(column == MISSING, 7, column) for column in codes], axis=1).astype(float)
    return np.asarray(rows.sum(axis=1) ** 2 / 10 + (rows[:, :-1] * rows[:, 1:]).sum(axis=1))


def by_permutations(row: Any, background: Any) -> tuple[float, np.ndarray]:
    """The mean change over all permutations of the observed features and all background rows."""
    players = [x for x, column in enumerate(row) if column[0] != MISSING]
    start = [column if x in players else np.full_like(column, MISSING) for x, column in enumerate(background)]
    values, orders = np.zeros(len(row)), list(permutations(players))
    for order in orders:
        codes, before = list(start), function(start)
        for x in order:
            codes[x] = np.full_like(codes[x], row[x][0])
            after = function(codes)
            values[x] += (after - before).mean() / len(orders)
            before = after
    return float(function(start).mean()), values


def columns(rows: Any) -> list[np.ndarray]:
    return list(np.asarray(rows, np.uint8).T)


@pytest.fixture
def background() -> list[np.ndarray]:
    return columns(np.random.default_rng(0).integers(0, 4, (9, 5)))


@pytest.mark.parametrize("values", [[3, 0, 2, 1, 3], [3, MISSING, 2, 1, MISSING], [MISSING] * 5, [MISSING, 1] + [MISSING] * 3])
def test_enumeration_equals_the_mean_over_all_permutations(values: list[int], background: Any) -> None:
    row = columns([values])
    exact = Game(function, row, background).exact()
    base, expected = by_permutations(row, background)
    assert np.isclose(exact.base, base)
    assert np.allclose(exact.values, expected)
    assert exact.standard_errors is None
    assert np.isclose(exact.base + exact.values.sum(), function(row)[0])


@pytest.mark.parametrize("values", [[3, 0, 2, 1, 3], [3, MISSING, 2, 1, MISSING], [MISSING] * 5, [MISSING, 1] + [MISSING] * 3])
def test_estimates_add_up_and_a_missing_value_contributes_nothing(values: list[int], background: Any) -> None:
    row = columns([values])
    game = Game(function, row, background)
    estimate, exact = game.estimated(4, seed=1), game.exact()
    assert np.isclose(estimate.base, exact.base, rtol=0, atol=1e-12)
    assert np.isclose(estimate.base + estimate.values.sum(), function(row)[0], rtol=0, atol=1e-9)
    absent = np.array(values) == MISSING
    assert estimate.standard_errors is not None
    assert not estimate.values[absent].any()
    assert not estimate.standard_errors[absent].any()
    assert np.array_equal(estimate.values, game.estimated(4, seed=1).values)


def test_standard_errors_are_those_of_the_estimates(background: Any) -> None:
    def curved(codes: Any) -> np.ndarray:
        return np.asarray(np.exp(np.stack(codes, axis=1).astype(float) @ [0.5, -0.3, 0.4, 0.2, -0.6]))

    game = Game(curved, columns([[3, 0, 2, 1, 3]]), background)
    exact, runs = game.exact().values, [game.estimated(4, seed) for seed in range(200)]
    values = np.array([run.values for run in runs])
    errors = np.array([run.standard_errors for run in runs])
    assert np.allclose(values.mean(axis=0), exact, atol=5 * values.std(axis=0).max() / np.sqrt(200))
    assert np.allclose(np.sqrt((errors**2).mean(axis=0)), values.std(axis=0), rtol=0.25)
    many = game.estimated(64, 0).standard_errors
    assert many is not None
    assert (many < errors.mean(axis=0) / 2).all()


def test_equal_rows_are_evaluated_once(background: Any) -> None:
    sizes = []

    def counted(codes: Any) -> np.ndarray:
        sizes.append(len(codes[0]))
        return function(codes)

    row = [column[:1] for column in background]
    Game(counted, row, row).exact()
    assert sizes == [1]
    Game(counted, row, background).estimated(4, 0)
    assert sum(sizes) <= 2 + 9 + 9 * 4 * 4
