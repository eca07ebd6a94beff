"""Boosted trees of a sample: the scores of left-out rows, and when no more trees are added."""

from __future__ import annotations

import numpy as np
import pytest

from naivete._kernels.boosting import Boosting, boosted_scores
from naivete.cases.sample import Sample
from naivete.learners.boosted import PATIENCE, STAGE, cross_fitted_boosting
from naivete.learners.folds import folds_of
from naivete.variables import Variable

STATES = 4


def drawn(labels: str, rows: int = 300, seed: int = 0) -> tuple[tuple[Variable, ...], Sample]:
    """Return random codes of three features; the label is random or follows from the first two features."""
    rng = np.random.default_rng(seed)
    codes = tuple(rng.integers(0, STATES, rows).astype(np.uint8) for _ in range(3))
    y = rng.integers(0, 2, rows) if labels == "random" else (codes[0] > 1) & (codes[1] > 0)
    variables = tuple(Variable(f"x{i}", tuple(range(STATES))) for i in range(3))
    return (*variables, Variable("class", (0, 1))), Sample(codes, y.astype(np.uint32), np.ones(rows), np.ones(rows))


def boosted(labels: str, rounds: int = 100):
    variables, sample = drawn(labels)
    folds = folds_of(sample, 5)
    result, scores = cross_fitted_boosting(variables, range(3), sample, folds, Boosting(rounds), np.random.default_rng(1))
    return sample, folds, result, scores


def test_no_more_trees_where_they_do_not_help() -> None:
    """With random labels the first stage is the best one, after which there are as many stages as patience allows."""
    _, _, result, _ = boosted("random")
    assert STAGE * PATIENCE <= len(result.trees.starts) - 1 < 100


def test_trees_are_added_while_they_help() -> None:
    sample, folds, result, scores = boosted("rule", rounds=25)
    assert len(result.trees.starts) - 1 == 25
    assert (scores.argmax(axis=1) == sample.labels[folds.case]).all()


@pytest.mark.parametrize("labels", ["random", "rule"])
def test_the_trees_of_all_stages_are_one_sequence(labels: str) -> None:
    """A tree of any stage has the first node at its start; together they give the scores of the training rows."""
    sample, _, result, _ = boosted(labels, rounds=25)
    starts, nodes = result.trees.starts, result.trees.nodes
    assert starts[0] == 0
    assert starts[-1] == len(nodes) == len(result.trees.values)
    sizes = np.diff(starts)
    for start, size in zip(starts[:-1], sizes, strict=True):
        inner = nodes[start : start + size, 0] >= 0
        assert (nodes[start : start + size][inner, 2] + 1 < size).all()
    first = np.repeat(result.base[None], len(sample.labels), axis=0)
    scores = boosted_scores(sample.codes, [STATES] * 3 + [2], [False] * 4, result.trees, first)
    if labels == "rule":
        assert (scores.argmax(axis=1) == sample.labels).all()


def test_left_out_rows_are_predicted_without_their_label() -> None:
    """The scores of the rows of a fold stay the same if the labels of this fold change."""
    variables, sample = drawn("rule")
    folds = folds_of(sample, 5)
    other = sample._replace(labels=np.where(np.arange(300) % 5 == 0, 1 - sample.labels, sample.labels).astype(np.uint32))
    assert (folds.fold[folds.case % 5 == 0] == folds.fold[0]).all()
    one, two = (
        cross_fitted_boosting(variables, range(3), s, folds, Boosting(STAGE), np.random.default_rng(1))[1] for s in (sample, other)
    )
    held_out = folds.fold == folds.fold[0]
    np.testing.assert_array_equal(one[held_out], two[held_out])
    assert not np.array_equal(one[~held_out], two[~held_out])
