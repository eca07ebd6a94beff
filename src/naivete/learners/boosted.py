"""Boosted trees of a sample, also learned without some of the cases: they represent concepts that follow rules exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from naivete._kernels import run_parallel
from naivete._kernels.boosting import BoostedTrees, Boosting, boost
from naivete._kernels.codes import Numbers
from naivete.cases.sample import Sample
from naivete.learners.folds import Folds
from naivete.network.spectrum import Boosted
from naivete.variables import CLASS, Variables

__all__ = ["WIDEST_OF_TREES", "cross_fitted_boosting"]

WIDEST_OF_TREES = 65_535
"""Features with so many states or more are not used by trees, whose codes have two bytes."""

FEWEST, MOST = 8, 64
"""The fewest and the most features by which a tree may split, between which it is half of the features."""


def cross_fitted_boosting(
    variables: Variables, features: Sequence[int], sample: Sample, folds: Folds, setting: Boosting, random: np.random.Generator
) -> tuple[Boosted, Numbers]:
    """Return the trees learned from all cases, and the scores of each row by trees that were learned without the cases of its fold.

    Parameters
    ----------
    variables : the variables, the class last.
    features : the features that are used, unless they have too many states.
    sample : the cases.
    folds : the rows, and which fold each is in.
    setting : how trees are boosted.
    random : draws the features of each tree.

    Returns
    -------
    boosted : the trees and the scores to which they add.
    scores : for each row of the folds.  # (row, class)
    """
    classes = variables[CLASS].card
    features = [x for x in features if variables[x].card < WIDEST_OF_TREES]
    states = [variables[x].card for x in features]
    nominal = [not variables[x].cuts for x in features]
    codes = np.empty((len(features), len(sample.labels)), np.uint16)
    for i, x in enumerate(features):
        codes[i] = np.minimum(sample.codes[x], states[i])
    trees = setting.rounds * (classes - (classes == 2))
    many = min(max(FEWEST, len(features) // 2), MOST, len(features))
    keys = random.random((trees, len(features)))
    candidates = np.sort(np.argsort(keys, axis=1)[:, :many], axis=1).astype(np.int32)

    def fitted(weight: Numbers) -> tuple[BoostedTrees, Numbers, Numbers]:
        base = _first_scores(sample, weight, classes)
        first = np.repeat(base[None], len(sample.labels), axis=0)
        result, last = boost(codes, states, nominal, sample.labels, weight, first, candidates, setting)
        return result, last, base

    scores = np.empty((len(folds.case), classes))

    def task(fold: int) -> tuple[BoostedTrees, Numbers] | None:
        if fold < 0:
            result, _, base = fitted(sample.weight)
            return result, base
        rows = np.flatnonzero(folds.fold == fold)
        scores[rows] = fitted(sample.weight * (1 - folds.share[:, fold]))[1][folds.case[rows]]
        return None

    tasks = [-1, *range(folds.share.shape[1])]
    whole = run_parallel(task, tasks, 100.0 * codes.size * trees)[0]
    assert whole is not None
    result, base = whole
    nodes = result.nodes.copy()
    inner = nodes[:, 0] >= 0
    nodes[inner, 0] = np.array(features, np.int64)[nodes[inner, 0]]
    return Boosted(result._replace(nodes=nodes), base), scores


def _first_scores(sample: Sample, weight: Numbers, classes: int) -> Numbers:
    """Return the logarithms of the class frequencies; for two classes relative to the first one."""
    logs = np.log(np.bincount(sample.labels, weight, classes) + 0.5)
    return np.asarray(logs - logs[0] if classes == 2 else logs - np.log(weight.sum() + classes / 2))
