"""Pruning of classification trees by pessimistic estimates of their errors, as in C4.5."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from naivete.counts.counts import Counts
from naivete.learners.tree.nodes import EPSILON, Nodes, Numbers, Positions, at_nodes
from naivete.variables import CLASS

__all__ = ["added_errors", "collapsed", "pruned"]

SLACK = 0.1
"""A leaf or branch replaces a node if its estimated errors exceed those of the node by no more than this (J48)."""
SAVED = 1e-3
"""A split that saves fewer training errors than this is removed."""

Truths = NDArray[np.bool_]


def added_errors(cases: Numbers, wrong: Numbers, confidence: float) -> Numbers:
    """Return how many more errors than observed are expected at leaves, by the upper limit of a binomial proportion.

    Without errors the limit is exact, N (1 - CF^(1/N)); from one error on it is the normal approximation with a correction for
    continuity, and between the two it is interpolated.

    Parameters
    ----------
    cases : the weight of the cases at each leaf, above 0.
    wrong : the weight of those that do not belong to its class.
    confidence : the level CF.

    >>> added_errors(np.array([6.0, 9.0, 1.0]), np.zeros(3), 0.25).round(3).tolist()
    [1.238, 1.285, 0.75]

    References
    ----------
    Quinlan (1993), C4.5: Programs for machine learning, section 4.2.
    """
    none = cases * (1 - confidence ** (1 / cases))
    many = _normal_errors(cases, np.maximum(wrong, 1.0), confidence)
    return np.where(wrong < 1, none + np.minimum(wrong, 1.0) * (many - none), many)


def _normal_errors(cases: Numbers, wrong: Numbers, confidence: float) -> Numbers:
    from scipy.special import ndtri

    z = float(ndtri(1 - confidence))
    rate = np.minimum((wrong + 0.5) / cases, 1.0)
    squared = np.minimum(cases, 1e150) ** 2  # the square of larger weights would overflow
    deviation = np.sqrt(rate / cases - rate**2 / cases + z**2 / (4 * squared))
    limit = (rate + z**2 / (2 * cases) + z * deviation) / (1 + z**2 / cases)
    return np.where(wrong + 0.5 >= cases, np.maximum(cases - wrong, 0.0), limit * cases - wrong)


def collapsed(nodes: Nodes) -> Nodes:
    """Return the tree without the splits that save no error on the training cases."""
    saved = nodes.wrong - _summed(nodes.wrong, nodes, nodes.levels()[0])
    return nodes.cut(np.flatnonzero(nodes.inner & (saved <= SAVED))).compact()


def _summed(values: Numbers, nodes: Nodes, levels: list[Positions]) -> Numbers:
    """Return the sums of the values of the leaves at and below each node; `levels` are those of one or more trees."""
    sums = values.copy()
    for above, below in reversed(list(pairwise(levels))):
        inner = above[nodes.inner[above]]
        sums[inner] = np.add.reduceat(sums[below], np.cumsum(nodes.widths[inner]) - nodes.widths[inner], axis=0)
    return sums


def pruned(counts: Counts, nodes: Nodes, *, confidence: float, subtree_raising: bool) -> Nodes:
    """Return the tree in which nodes are replaced by leaves, or by their largest branches, where that is expected to err no more.

    Nodes are visited from the leaves up, those of all branches together. A node that is replaced by its largest branch sends all
    its cases there, and the nodes of the branch are visited again.

    Parameters
    ----------
    counts : the training cases.
    nodes : the tree.
    confidence : the level of `added_errors`.
    subtree_raising : whether a node may be replaced by its largest branch (subtree raising); each round then takes a pass over the
        cases, or one for each level of the branches where values are missing.
    """
    schedule, as_leaf = _Schedule(nodes), _estimated(nodes.weights, confidence)
    ready = schedule.first(nodes, np.zeros(1, np.int64))
    while len(ready):
        leaf, whole = as_leaf[ready], _summed(as_leaf, nodes, nodes.levels(ready)[0])[ready]
        branch, trial, trial_errors = np.full(len(ready), np.inf), nodes, as_leaf
        if subtree_raising:
            trial, trial_errors = _raised(counts, nodes, ready, schedule.parents, as_leaf, confidence)
            branch = _summed(trial_errors, trial, trial.levels(ready)[0])[ready]
        better_leaf = (leaf - whole - SLACK < EPSILON) & (leaf - branch - SLACK < EPSILON)
        raises = ~better_leaf & (branch - whole - SLACK < EPSILON)
        nodes, as_leaf = _with_raised(nodes.cut(ready[better_leaf]), as_leaf, trial, trial_errors, ready[raises])
        ready = np.sort(np.concatenate([schedule.after(ready[~raises]), schedule.first(nodes, ready[raises])]))
    return nodes


class _Schedule:
    """The order of the visits: an inner node waits until all inner nodes below it have been visited."""

    def __init__(self, nodes: Nodes) -> None:
        self.parents = np.full(len(nodes), -1, np.int64)
        self.waits_for = np.zeros(len(nodes), np.int64)

    def first(self, nodes: Nodes, roots: Positions) -> Positions:
        """Return the first nodes to visit in the trees below some nodes, none of which count as visited."""
        levels, parents = nodes.levels(roots)
        members = np.concatenate(levels)
        below = members[len(roots) :]
        self.parents[below] = parents[below]
        self.waits_for[members] = 0
        self.waits_for += np.bincount(parents[below[nodes.inner[below]]], minlength=len(nodes))
        return np.asarray(members[nodes.inner[members] & (self.waits_for[members] == 0)])

    def after(self, done: Positions) -> Positions:
        """Return the nodes that can be visited after these."""
        above = self.parents[done]
        above = above[above >= 0]
        self.waits_for -= np.bincount(above, minlength=len(self.waits_for))
        return np.unique(above[self.waits_for[above] == 0])


def _estimated(weights: Numbers, confidence: float) -> Numbers:
    """Return the expected errors of leaves with these class weights."""
    by_class = np.ascontiguousarray(weights.T)
    cases = by_class.sum(axis=0)
    wrong = cases - by_class.max(axis=0, initial=0.0)
    errors, positive = np.zeros(len(cases)), cases > EPSILON
    errors[positive] = wrong[positive] + added_errors(cases[positive], wrong[positive], confidence)
    return errors


def _raised(
    counts: Counts, nodes: Nodes, ready: Positions, parents: Positions, as_leaf: Numbers, confidence: float
) -> tuple[Nodes, Numbers]:
    """Return the tree in which nodes are replaced by their largest branches, and the expected errors of each node as a leaf."""
    largest = _largest_branches(nodes, ready)
    is_inner = nodes.inner[largest]
    roots = ready[is_inner]
    trial = _weighed(counts, nodes.with_tests_of(roots, nodes, largest[is_inner]), roots, parents).cut(ready[~is_inner])
    changed = np.concatenate(trial.levels(roots)[0])
    errors = as_leaf.copy()
    errors[changed] = _estimated(trial.weights[changed], confidence)
    return trial, errors


def _largest_branches(nodes: Nodes, parents: Positions) -> Positions:
    """Return the child of each node with the largest weight; ties go to the last."""
    children, widths = nodes.children(parents), nodes.widths[parents]
    starts = np.cumsum(widths) - widths
    totals = nodes.weights[children].sum(axis=1)
    largest = np.maximum.reduceat(totals, starts)
    near = np.where(totals >= np.repeat(largest, widths) - EPSILON, np.arange(len(children)), -1)
    return children[np.maximum.reduceat(near, starts)]


def _weighed(counts: Counts, nodes: Nodes, roots: Positions, parents: Positions) -> Nodes:
    """Return the tree with the class weights below some nodes counted again; the weights of those nodes do not change."""
    if not len(roots):
        return nodes
    levels, below = nodes.levels(roots)
    path = _reaching(nodes, roots, parents)
    members = np.concatenate(levels)
    features = np.unique(nodes.features[members][nodes.inner[members]])
    if counts.cases.has_missing[features].any():
        for level in levels[1:]:
            nodes = _divided(counts, nodes, path, level, below)
        return nodes
    leaves = members[~nodes.inner[members]]
    weights = nodes.weights.copy()
    weights[leaves] = _counted(counts, path.with_tests_of(members, nodes, members), leaves)
    return replace(nodes, weights=_summed(weights, nodes, levels[1:]))


def _by_parent(weights: Numbers, parents: Positions, size: int) -> Numbers:
    """Return the sums of the class weights of the nodes with the same parent."""
    return np.stack([np.bincount(parents, column, size) for column in weights.T], axis=1)


def _reaching(nodes: Nodes, roots: Positions, parents: Positions) -> Nodes:
    """Return the tree with only the splits on the paths to some nodes."""
    on_path = np.zeros(len(nodes), bool)
    level = parents[roots]
    while len(level := np.unique(level[level >= 0])):
        on_path[level] = True
        level = parents[level]
    return nodes.cut(np.flatnonzero(~on_path))


def _counted(counts: Counts, nodes: Nodes, wanted: Positions) -> Numbers:
    """Return the class weights of some nodes, in one pass."""
    reached = at_nodes(counts, nodes, wanted, whole=False)
    return np.asarray(reached.margins()[0, CLASS], np.float64)


def _divided(counts: Counts, nodes: Nodes, path: Nodes, level: Positions, below: Positions) -> Nodes:
    """Return the tree with the class weights of one level counted, and the cases with missing values divided among the branches."""
    above = np.unique(below[level])
    closed = nodes.shares.copy()
    closed[level] = 0.0
    known = _counted(counts, replace(_reopened(path, nodes, above, below), shares=closed), level)
    sizes, positions = known.sum(axis=1), np.searchsorted(above, below[level])
    total = np.bincount(positions, sizes, len(above))[positions]
    number = np.bincount(positions)[positions]
    shares, weights = nodes.shares.copy(), nodes.weights.copy()
    shares[level] = np.where(total > 0, sizes / np.where(total > 0, total, 1.0), 1.0 / number)
    missing = np.maximum(nodes.weights[above] - _by_parent(known, positions, len(above)), 0.0)
    weights[level] = known + shares[level][:, None] * missing[positions]
    return replace(nodes, shares=shares, weights=weights)


def _reopened(path: Nodes, nodes: Nodes, above: Positions, below: Positions) -> Nodes:
    """Return the path with the splits of some nodes and of those between them and the roots."""
    levels: list[Positions] = []
    level = above
    while len(level):
        levels.append(level)
        level = np.unique(below[level])
        level = level[level >= 0]
    members = np.concatenate(levels)
    return path.with_tests_of(members, nodes, members)


def _with_raised(nodes: Nodes, as_leaf: Numbers, trial: Nodes, trial_errors: Numbers, raised: Positions) -> tuple[Nodes, Numbers]:
    """Return the tree with the branches that were raised in a trial, and the cases and errors of all nodes below."""
    if not len(raised):
        return nodes, as_leaf
    changed = np.concatenate(trial.levels(raised)[0])
    shares, weights, errors = nodes.shares.copy(), nodes.weights.copy(), as_leaf.copy()
    shares[changed], weights[changed], errors[changed] = trial.shares[changed], trial.weights[changed], trial_errors[changed]
    return replace(nodes.with_tests_of(raised, trial, raised), shares=shares, weights=weights), errors
