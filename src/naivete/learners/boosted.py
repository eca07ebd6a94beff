"""Boosted trees of a sample, also learned without some of the cases: they represent concepts that follow rules exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from naivete._kernels import run_parallel
from naivete._kernels.boosting import BoostedTrees, Boosting, boost
from naivete._kernels.codes import Numbers
from naivete.cases.sample import Sample
from naivete.inference.spectrum_terms import log_normalized
from naivete.learners.folds import Folds
from naivete.learners.weighting import temperature
from naivete.network.spectrum import Boosted
from naivete.variables import CLASS, Variables

__all__ = ["WIDEST_OF_TREES", "cross_fitted_boosting"]

WIDEST_OF_TREES = 65_535
"""Features with at least this many states are not used by trees, whose codes have two bytes."""

FEWEST, MOST = 8, 64
"""The fewest and the most features by which a tree may split, between which it is a third of the features."""

STAGE, PATIENCE = 10, 2
"""Trees are added in stages of `STAGE` rounds, until `PATIENCE` stages in a row have not improved the predictions of left-out
cases."""


def cross_fitted_boosting(
    variables: Variables, features: Sequence[int], sample: Sample, folds: Folds, setting: Boosting, random: np.random.Generator
) -> tuple[Boosted, Numbers]:
    """Return the trees learned from all cases, and the scores of each row by trees that were learned without the cases of its fold.

    There are no more rounds once these scores, at their best temperature, do not predict the rows any better.

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
    first = int(classes == 2)
    many = min(max(FEWEST, len(features) // 3), MOST, len(features))
    keys = random.random((setting.rounds * (classes - first), len(features)))
    candidates = np.sort(np.argsort(keys, axis=1)[:, :many], axis=1).astype(np.int32)
    weights = [sample.weight, *(sample.weight * (1 - folds.share[:, fold]) for fold in range(folds.share.shape[1]))]
    base = [_first_scores(sample, weight, classes) for weight in weights]
    last = [np.repeat(scores[None], len(sample.labels), axis=0) for scores in base]
    stages: list[BoostedTrees] = []
    losses: list[float] = []
    held_out = np.empty((len(folds.case), classes))
    while len(stages) * STAGE < setting.rounds and len(losses) - np.argmin([np.inf, *losses]) < PATIENCE:
        start = len(stages) * STAGE
        stage = replace(setting, rounds=min(STAGE, setting.rounds - start))
        chosen = candidates[start * (classes - first) : (start + stage.rounds) * (classes - first)]

        def task(i: int, stage: Boosting = stage, chosen: NDArray[np.int32] = chosen) -> BoostedTrees:
            trees, last[i] = boost(codes, states, nominal, sample.labels, weights[i], last[i], chosen, stage)
            return trees

        stages.append(run_parallel(task, range(len(weights)), 20.0 * codes.size * len(chosen))[0])
        for fold in range(folds.share.shape[1]):
            rows = np.flatnonzero(folds.fold == fold)
            held_out[rows] = last[fold + 1][folds.case[rows]]
        losses.append(temperature(log_normalized(held_out), sample.labels[folds.case], folds.weight)[1])
    return Boosted(_joined(stages, features), base[0]), held_out


def _joined(stages: Sequence[BoostedTrees], features: Sequence[int]) -> BoostedTrees:
    """Return the trees of some stages as one sequence, with the features by which they split instead of their positions."""
    nodes = np.concatenate([stage.nodes for stage in stages])
    inner = nodes[:, 0] >= 0
    nodes[inner, 0] = np.array(features, np.int64)[nodes[inner, 0]]
    sizes = np.concatenate([np.diff(stage.starts) for stage in stages])
    return BoostedTrees(nodes, np.concatenate([stage.values for stage in stages]), np.cumsum([0, *sizes]))


def _first_scores(sample: Sample, weight: Numbers, classes: int) -> Numbers:
    """Return the logarithms of the class frequencies; for two classes relative to the first one."""
    logs = np.log(np.bincount(sample.labels, weight, classes) + 0.5)
    return np.asarray(logs - logs[0] if classes == 2 else logs - np.log(weight.sum() + classes / 2))
