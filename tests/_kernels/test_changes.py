"""The errors after changes: compiled, in NumPy, and row by row."""

from __future__ import annotations

import numpy as np
import pytest

from naivete._kernels import use
from naivete._kernels.changes import Changes, RelativeLogs, changed_errors
from naivete._kernels.dispatch import loaded

TIERS = ["numpy", pytest.param("c", marks=pytest.mark.skipif(loaded() is None, reason="the compiled kernels are not installed"))]


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("seed", range(8))
def test_errors_after_changes_are_those_of_each_row(seed: int, tier: str) -> None:
    rng = np.random.default_rng(seed)
    rows, features, classes, k, moves = int(rng.integers(0, 60)), 5, int(rng.integers(2, 5)), int(rng.integers(1, 4)), 7
    codes = rng.integers(0, 3, (features, rows)).astype(np.int32)
    labels = rng.integers(0, classes, rows).astype(np.int32)
    logs, bounds = rng.integers(-2, 3, (rows, classes)).astype(float), np.zeros((rows, classes))
    bounds[np.arange(rows), labels] = np.inf
    relative = RelativeLogs(codes, labels, rng.integers(1, 4, rows), logs, bounds)
    strides = np.array([3**j for j in range(k)][::-1])
    attributes = np.stack([rng.choice(features, k, replace=False) for _ in range(moves)])
    other, own = (rng.integers(-2, 3, (moves, 3**k, classes)).astype(float) for _ in range(2))
    affected = rng.integers(0, rows + 1, moves)
    expected = []
    for m in range(moves):
        wrong = 0
        for r in range(affected[m]):
            cell = sum(int(s) * int(codes[x, r]) for s, x in zip(strides, attributes[m], strict=True))
            after = [logs[r, c] + other[m, cell, c] - own[m, cell, labels[r]] for c in range(classes) if c != labels[r]]
            wrong += int(relative.weight[r]) if max(after) >= 0 else 0
        expected.append(wrong)
    with use(tier):  # type: ignore[arg-type]
        assert changed_errors(relative, Changes(attributes, strides, other, own), affected).tolist() == expected
