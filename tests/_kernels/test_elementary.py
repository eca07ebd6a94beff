"""Exponentials and logarithms in C: as exact as they claim, and the same bits with every instruction set."""

from __future__ import annotations

from collections.abc import Iterator

import mpmath
import numpy as np
import pytest

from naivete._kernels.boosting import Boosting, boost
from naivete._kernels.dispatch import address, loaded
from naivete._kernels.linear import LinearRows, fit_linear, gram
from naivete._kernels.weights import fit_weights, temperature

library = loaded()
pytestmark = pytest.mark.skipif(library is None, reason="the compiled kernels are not installed")


@pytest.fixture
def levels() -> Iterator[list[int]]:
    """The instruction sets of this processor; the best one is in use again afterwards."""
    assert library is not None
    yield sorted({library.naivete_level(level) for level in range(3)})
    library.naivete_level(99)


def computed(name: str, numbers: np.ndarray) -> np.ndarray:
    result = numbers.copy()
    getattr(library, f"naivete_{name}")(address(result), len(result))
    return result


def worst(name: str, numbers: np.ndarray) -> float:
    """The largest relative error, in units of 2^-52."""
    exact = mpmath.exp if name == "exponentials" else mpmath.log
    with mpmath.workprec(120):
        errors = [
            abs(mpmath.mpf(got) / exact(x) - 1) for x, got in zip(numbers.tolist(), computed(name, numbers).tolist(), strict=True)
        ]
        return float(max(errors) * 2**52)


def test_exponentials(levels: list[int]) -> None:
    rng = np.random.default_rng(0)
    numbers = np.concatenate([rng.uniform(-1, 1, 300), rng.uniform(-700, 700, 300), -rng.exponential(10, 300)])
    assert worst("exponentials", numbers) < 2
    assert computed("exponentials", np.array([0.0, -1e9, -np.inf])).tolist() == pytest.approx([1.0, 0.0, 0.0], abs=1e-300)


def test_logarithms(levels: list[int]) -> None:
    rng = np.random.default_rng(1)
    numbers = np.concatenate([rng.uniform(0.5, 2, 500), np.exp(rng.uniform(-690, 690, 300))])
    assert worst("logarithms", numbers[abs(numbers - 1) > 1e-6]) < 2
    assert computed("logarithms", np.array([1.0, 2.0])).tolist() == [0.0, np.log(2)]


def results(classes: int) -> list[np.ndarray]:
    """What the searches and boosted trees of one table give."""
    rng = np.random.default_rng(classes)
    rows, columns = 150, 13
    labels, weight = rng.integers(0, classes, rows).astype(np.uint32), rng.integers(0, 3, rows).astype(np.float64)
    terms = np.log(rng.dirichlet(np.ones(classes), (rows, 11))).transpose(0, 2, 1).copy()
    found = [fit_weights(terms, labels, weight, np.full(11 + classes, 0.5), np.zeros(11 + classes), 50)]
    matrix = LinearRows(
        np.arange(0, 3 * rows + 1, 3), rng.integers(0, columns, 3 * rows).astype(np.uint32), rng.random(3 * rows), np.zeros(columns)
    )
    shape = (columns + 1, classes)
    curvatures = np.tile(0.2 * gram(matrix, weight) + np.eye(columns + 1), (classes, 1, 1))
    found.append(fit_linear(matrix, labels, weight, np.ones(shape), np.zeros(shape), np.zeros(shape), 50, curvatures))
    found += [np.array(temperature(terms[:, :, j], labels, weight, 1.0)) for j in range(3)]
    codes = rng.integers(0, 21, (4, rows)).astype(np.uint16)
    candidates = np.tile(np.arange(4, dtype=np.int32), (6 * classes, 1))
    trees, scores = boost(codes, [20] * 4, [False] * 4, labels, weight, np.zeros((rows, classes)), candidates, Boosting(rounds=6))
    return [*found, *trees, scores]


@pytest.mark.parametrize("classes", [2, 3, 9])
def test_all_instruction_sets_give_the_same_bits(classes: int, levels: list[int]) -> None:
    assert library is not None
    found = []
    for level in levels:
        library.naivete_level(level)
        found.append([array.tobytes() for array in results(classes)])
    assert all(same == found[0] for same in found)
