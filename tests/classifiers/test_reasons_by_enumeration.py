"""Sufficient reasons and flips of classifiers with up to twelve features, compared with the predictions of all rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from naivete import KDB, TAN, HillClimb, NaiveBayes
from naivete.variables import CLASS

STATES = ("a", "b", "c")
LEARNERS = {
    "naive Bayes": lambda smoothing: NaiveBayes(smoothing=smoothing),
    "TAN": lambda smoothing: TAN(smoothing=smoothing),
    "KDB(2)": lambda smoothing: KDB(k=2, theta=-math.inf, smoothing=smoothing),
    "hill climbing": lambda smoothing: HillClimb(smoothing=smoothing),
}
QUICK = [(name, seed) for seed in range(2) for name in LEARNERS]
SLOW = [pytest.param(name, seed, marks=pytest.mark.slow) for seed in range(2, 60) for name in LEARNERS]


def table(features: int, rng: np.random.Generator, rows: int = 150) -> tuple[list[list[str]], list[str]]:
    """Columns with two or three states, which depend on the class or on an earlier column; two or three classes."""
    y = rng.integers(0, rng.integers(2, 4), rows)
    columns: list[np.ndarray] = []
    for x in range(features):
        card = int(rng.integers(2, 4))
        source = y if x == 0 or rng.random() < 0.5 else columns[rng.integers(x)]
        columns.append(np.where(rng.random(rows) < 0.45, (source + x) % card, rng.integers(0, card, rows)))
    X = [[STATES[code] for code in row] for row in np.stack(columns, axis=1).tolist()]
    return X, [f"class {c}" for c in y.tolist()]


def all_predictions(model: Any) -> np.ndarray:
    """The predicted class of every complete row, an axis for each feature; -1 where the row is impossible in every class."""
    network = model.network_
    cards = [network.variables[x].card for x in network.features]
    logs = np.zeros((*cards, network.variables[CLASS].card))
    with np.errstate(divide="ignore"):
        for v in network.order:
            members = network.family(v)
            shape = [card if x in members else 1 for x, card in enumerate(cards)]
            logs += np.log(network.full_table(v)).reshape(*shape, -1 if CLASS in members else 1)
    best = logs.max(axis=-1)
    return np.where(np.isneginf(best), -1, np.argmax(logs >= best[..., None] - 1e-9, axis=-1))


class Problem:
    """A fitted classifier, its predictions for all rows, and one row in which some values may be missing."""

    def __init__(self, name: str, seed: int) -> None:
        self.rng = rng = np.random.default_rng([seed, len(name)])
        X, y = table(7 + seed % 6 if seed else 12, rng)
        self.model = LEARNERS[name](0.0 if seed % 4 == 3 else 1.0).fit(X, y)
        self.names = [variable.name for variable in self.model.schema_]
        self.predictions = all_predictions(self.model)
        self.states = [variable.states for variable in self.model.schema_]
        row = X[int(rng.integers(len(X)))]
        hidden = rng.random(len(row)) < (0.2 if seed % 3 == 1 else 0.0)
        self.row = {name: value for name, value, h in zip(self.names, row, hidden, strict=True) if not h}

    def classes(self, values: dict[Any, Any]) -> set[Any]:
        """The classes that are predicted for the possible rows with these values."""
        index = tuple(
            states.index(values[name]) if name in values else slice(None)
            for name, states in zip(self.names, self.states, strict=True)
        )
        found = np.unique(self.predictions[index])
        return {self.model.classes_[c] for c in found if c >= 0}

    def costs(self) -> tuple[list[Any], dict[Any, Any], np.ndarray]:
        """Features that must not change, costs of the others, and the cost of every row."""
        fixed = [name for name in self.names if self.rng.random() < 0.2]
        choices: list[Any] = [1, 2.5, 0.25, {"a": 1.5, "b": 3}]
        costs = {name: choices[int(self.rng.integers(4))] for name in self.names if self.rng.random() < 0.6}
        total = np.zeros(self.predictions.shape)
        for x, (name, states) in enumerate(zip(self.names, self.states, strict=True)):
            if name in self.row:
                cost = costs.get(name, 1)
                each = [cost.get(s, math.inf) if isinstance(cost, dict) else cost for s in states]
                each = [0 if s == self.row[name] else math.inf if name in fixed else c for s, c in zip(states, each, strict=True)]
                total += np.array(each, float).reshape([-1 if i == x else 1 for i in range(total.ndim)])
        return fixed, costs, total


@pytest.mark.parametrize(("name", "seed"), [*QUICK, *SLOW])
def test_reasons_and_flips_are_exact(name: str, seed: int) -> None:
    problem = Problem(name, seed)
    check_reason(problem)
    check_flips(problem)


def check_reason(problem: Problem) -> None:
    """No completion of the reason changes the class, and none of its values can be left out."""
    reason = problem.model.sufficient_reason(problem.row)
    if not reason.sufficient:
        assert reason.counterexample is not None
        assert problem.classes(problem.row | reason.counterexample) - {reason.prediction}
        return
    assert reason.values.items() <= problem.row.items()
    assert problem.classes(reason.values) == {reason.prediction}
    for left_out in reason.values:
        fewer = {name: value for name, value in reason.values.items() if name != left_out}
        assert problem.classes(fewer) > {reason.prediction}


def check_flips(problem: Problem) -> None:
    """The changed row has another class, and no cheaper row has; with and without a target class."""
    model = problem.model
    fixed, costs, total = problem.costs()
    before = model.flip(problem.row).before
    for target in [None, *(c for c in model.classes_ if c != before)]:
        flip = model.flip(problem.row, target, fixed=fixed, costs=costs)
        position = model.classes_.tolist().index(before if target is None else target)
        wanted = (
            (problem.predictions != position) & (problem.predictions >= 0) if target is None else problem.predictions == position
        )
        cheapest = total[wanted].min(initial=math.inf)
        assert flip.cost == pytest.approx(cheapest, abs=1e-9)
        assert flip.found == math.isfinite(cheapest)
        if flip.found:
            changed = problem.row | flip.assumed | {name: new for name, (_, new) in flip.changes.items()}
            assert problem.classes(changed) == {flip.after}
            assert flip.after == target if target is not None else flip.after != before
            assert not set(flip.changes) & set(fixed)
