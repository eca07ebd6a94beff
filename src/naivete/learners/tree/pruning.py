"""Pruning classification trees by pessimistic estimates of their errors, as C4.5 does."""

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
SAVED = 1e-3

Truths = NDArray[np.bool_]


def added_errors(cases: Numbers, wrong: Numbers, confidence: float) -> Numbers:
    """How many errors more than were seen are to be expected at leaves, by the upper limit of a binomial rate.

    Without errors the limit is exact, N (1 - CF^(1/N)); from one error on it is the normal approximation with a correction for
    continuity, and between the two it is interpolated.

    Parameters
    ----------
    cases : the weight of the cases at each leaf, above 0.
    wrong : the weight of those that are not of its class.
    confidence : the level CF.

    >>> added_errors(np.array([6.0, 9.0, 1.0]), np.zeros(3), 0.25).round(3).tolist()
    [1.238, 1.285, 0.75]

    References
    ----------
    Quinlan (1993), C4.5: Programs for machine learning, section 4.2.
    """
    none = cases * (1 - confidence ** (1 / cases))
    many = _normal_errors(cases, np.maximum(wrong, 1.0), confidence)
    return np.where(wrong < 1, none + wrong * (many - none), many)


def _normal_errors(cases: Numbers, wrong: Numbers, confidence: float) -> Numbers:
    from scipy.special import ndtri

    z = float(ndtri(1 - confidence))
    rate = np.minimum((wrong + 0.5) / cases, 1.0)
    spread = np.sqrt(rate / cases - rate**2 / cases + z**2 / (4 * cases**2))
    limit = (rate + z**2 / (2 * cases) + z * spread) / (1 + z**2 / cases)
    return np.where(wrong + 0.5 >= cases, np.maximum(cases - wrong, 0.0), limit * cases - wrong)


def collapsed(nodes: Nodes) -> Nodes:
    """The tree without the tests that save no error on the training cases."""
    saved = nodes.wrong - _summed(nodes.wrong, nodes, nodes.waves()[0])
    return nodes.cut(np.flatnonzero(nodes.inner & (saved <= SAVED))).compact()


def _summed(values: Numbers, nodes: Nodes, waves: list[Positions]) -> Numbers:
    """The values of the leaves at and below each node of a tree, or of several, added up; its levels are given."""
    found = values.copy()
    for above, below in reversed(list(pairwise(waves))):
        inner = above[nodes.inner[above]]
        found[inner] = np.add.reduceat(found[below], np.cumsum(nodes.widths[inner]) - nodes.widths[inner], axis=0)
    return found


def pruned(counts: Counts, nodes: Nodes, *, confidence: float, raising: bool) -> Nodes:
    """The tree in which every node is replaced by a leaf, or by its largest branch, where that is expected to err no more.

    Nodes are looked at from the leaves up, those of all branches together. A node that becomes its largest branch takes all
    its cases there, and the branch is looked at again.

    Parameters
    ----------
    counts : the training cases.
    nodes : the tree.
    confidence : the level of `added_errors`.
    raising : whether a node may be replaced by a branch; each round that tries it is a pass over the cases, or one for each
        level of the branches where values are missing.
    """
    turns, alone = _Turns(nodes), _estimated(nodes.weights, confidence)
    ready = turns.first(nodes, np.zeros(1, np.int64))
    while len(ready):
        leaf, whole = alone[ready], _summed(alone, nodes, nodes.waves(ready)[0])[ready]
        branch, trial, again = np.full(len(ready), np.inf), nodes, alone
        if raising:
            trial, again = _raised(counts, nodes, ready, turns.parents, alone, confidence)
            branch = _summed(again, trial, trial.waves(ready)[0])[ready]
        better_leaf = (leaf - whole - SLACK < EPSILON) & (leaf - branch - SLACK < EPSILON)
        raises = ~better_leaf & (branch - whole - SLACK < EPSILON)
        nodes, alone = _taken_over(nodes.cut(ready[better_leaf]), alone, trial, again, ready[raises])
        ready = np.sort(np.concatenate([turns.after(ready[~raises]), turns.first(nodes, ready[raises])]))
    return nodes


class _Turns:
    """Whose turn it is: inner nodes wait until all inner nodes below them have been looked at."""

    def __init__(self, nodes: Nodes) -> None:
        self.parents = np.full(len(nodes), -1, np.int64)
        self.waits_for = np.zeros(len(nodes), np.int64)

    def first(self, nodes: Nodes, roots: Positions) -> Positions:
        """The first nodes of the trees below some nodes, which have to be looked at from the beginning."""
        waves, parents = nodes.waves(roots)
        own = np.concatenate(waves)
        below = own[len(roots) :]
        self.parents[below] = parents[below]
        self.waits_for[own] = 0
        self.waits_for += np.bincount(parents[below[nodes.inner[below]]], minlength=len(nodes))
        return np.asarray(own[nodes.inner[own] & (self.waits_for[own] == 0)])

    def after(self, done: Positions) -> Positions:
        """The nodes that waited for nothing but these."""
        above = self.parents[done]
        above = above[above >= 0]
        self.waits_for -= np.bincount(above, minlength=len(self.waits_for))
        return np.unique(above[self.waits_for[above] == 0])


def _estimated(weights: Numbers, confidence: float) -> Numbers:
    """The errors to be expected at leaves with these class weights."""
    by_class = np.ascontiguousarray(weights.T)
    cases = by_class.sum(axis=0)
    wrong = cases - by_class.max(axis=0, initial=0.0)
    found, some = np.zeros(len(cases)), cases > EPSILON
    found[some] = wrong[some] + added_errors(cases[some], wrong[some], confidence)
    return found


def _raised(
    counts: Counts, nodes: Nodes, ready: Positions, parents: Positions, alone: Numbers, confidence: float
) -> tuple[Nodes, Numbers]:
    """The tree in which nodes are their largest branches, and the errors to be expected if each of its nodes were a leaf."""
    largest = _largest_branches(nodes, ready)
    some = nodes.inner[largest]
    roots = ready[some]
    trial = _weighed(counts, nodes.asking(roots, nodes, largest[some]), roots, parents).cut(ready[~some])
    own = np.concatenate(trial.waves(roots)[0])
    errors = alone.copy()
    errors[own] = _estimated(trial.weights[own], confidence)
    return trial, errors


def _largest_branches(nodes: Nodes, at: Positions) -> Positions:
    """The child of each node with the largest weight, the last of equals."""
    children, widths = nodes.children(at), nodes.widths[at]
    starts = np.cumsum(widths) - widths
    totals = nodes.weights[children].sum(axis=1)
    most = np.maximum.reduceat(totals, starts)
    near = np.where(totals >= np.repeat(most, widths) - EPSILON, np.arange(len(children)), -1)
    return children[np.maximum.reduceat(near, starts)]


def _weighed(counts: Counts, nodes: Nodes, roots: Positions, parents: Positions) -> Nodes:
    """The tree with the class weights below some nodes counted anew; those of the nodes themselves are right."""
    if not len(roots):
        return nodes
    waves, below = nodes.waves(roots)
    path = _reaching(nodes, roots, parents)
    own = np.concatenate(waves)
    asked = np.unique(nodes.features[own][nodes.inner[own]])
    if counts.cases.gaps[asked].any():
        for wave in waves[1:]:
            nodes = _divided(counts, nodes, path, wave, below)
        return nodes
    leaves = own[~nodes.inner[own]]
    weights = nodes.weights.copy()
    weights[leaves] = _counted(counts, path.asking(own, nodes, own), leaves)
    return replace(nodes, weights=_summed(weights, nodes, waves[1:]))


def _by_parent(weights: Numbers, parents: Positions, size: int) -> Numbers:
    """The class weights of the nodes that have the same parent added up."""
    return np.stack([np.bincount(parents, own, size) for own in weights.T], axis=1)


def _reaching(nodes: Nodes, roots: Positions, parents: Positions) -> Nodes:
    """The tree with nothing but the questions on the way to some nodes."""
    asks = np.zeros(len(nodes), bool)
    at = parents[roots]
    while len(at := np.unique(at[at >= 0])):
        asks[at] = True
        at = parents[at]
    return nodes.cut(np.flatnonzero(~asks))


def _counted(counts: Counts, nodes: Nodes, wanted: Positions) -> Numbers:
    """The class weights of some nodes, in a pass."""
    own = at_nodes(counts, nodes, wanted, whole=False)
    return np.asarray(own.margins()[0, CLASS], np.float64)


def _divided(counts: Counts, nodes: Nodes, path: Nodes, wave: Positions, below: Positions) -> Nodes:
    """The tree with the class weights of one level of branches counted, and the cases that lack a value divided among them."""
    above = np.unique(below[wave])
    closed = nodes.shares.copy()
    closed[wave] = 0.0
    known = _counted(counts, replace(_reopened(path, nodes, above, below), shares=closed), wave)
    bags, places = known.sum(axis=1), np.searchsorted(above, below[wave])
    total = np.bincount(places, bags, len(above))[places]
    number = np.bincount(places)[places]
    shares, weights = nodes.shares.copy(), nodes.weights.copy()
    shares[wave] = np.where(total > 0, bags / np.where(total > 0, total, 1.0), 1.0 / number)
    lacking = np.maximum(nodes.weights[above] - _by_parent(known, places, len(above)), 0.0)
    weights[wave] = known + shares[wave][:, None] * lacking[places]
    return replace(nodes, shares=shares, weights=weights)


def _reopened(path: Nodes, nodes: Nodes, above: Positions, below: Positions) -> Nodes:
    """The path with the questions of some nodes and of those between them and the roots."""
    asks: list[Positions] = []
    at = above
    while len(at):
        asks.append(at)
        at = np.unique(below[at])
        at = at[at >= 0]
    own = np.concatenate(asks)
    return path.asking(own, nodes, own)


def _taken_over(nodes: Nodes, alone: Numbers, trial: Nodes, again: Numbers, up: Positions) -> tuple[Nodes, Numbers]:
    """The tree with the branches that were raised in a trial, and the cases and errors of all nodes below."""
    if not len(up):
        return nodes, alone
    own = np.concatenate(trial.waves(up)[0])
    shares, weights, errors = nodes.shares.copy(), nodes.weights.copy(), alone.copy()
    shares[own], weights[own], errors[own] = trial.shares[own], trial.weights[own], again[own]
    return replace(nodes.asking(up, trial, up), shares=shares, weights=weights), errors
