"""The recursive Bayesian classifier (RBC): a hierarchy of naive Bayes classifiers."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers, narrowest
from naivete.cases.base import Block
from naivete.cases.views import transformed_cases
from naivete.counts.counts import Counts
from naivete.counts.information import information
from naivete.counts.moments import Moments
from naivete.inference.predictor import Predictor, most_probable_class
from naivete.learners.parameters import checked_choice, checked_count, checked_flag, checked_min_rows, checked_share
from naivete.network.densities import Normal
from naivete.network.derived_columns import Hierarchy
from naivete.network.network import Network
from naivete.network.normal_densities import normal
from naivete.network.smoothing import Backoff, Context, Smoothing, backoff_table, normalized, prior_probabilities, smoothing_of
from naivete.variables import CLASS, Variable, Variables, unused_name

__all__ = ["recursive"]

BY_CLASS = -1
"""In the features of `Branches`: cases are sent on by their predicted class, not by a feature."""


def recursive(
    counts: Counts,
    *,
    min_rows: float = 2,
    prune: float = 0.0,
    max_depth: int | None = None,
    parity: Literal["stop", "split"] = "stop",
    refit: bool = True,
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> Network:
    """Return a hierarchy of naive Bayes classifiers: RBC.

    The classifier of a node predicts the class of each of its cases; the cases with the same predicted class are a cluster. A
    cluster that contains other true classes gets a classifier of its own, and so on. To classify a case, it is sent down the
    hierarchy by the summaries of the clusters; the last classifier that it reaches predicts its class. In the network, the number
    of that classifier is a derived column, the cell, which is a parent of the class and of every feature.

    Parameters
    ----------
    counts : the training cases.
    min_rows : a cluster of smaller weight gets no classifier.
    prune : the clusters of a classifier get no classifiers if its share of errors on its own cases is at most this.
    max_depth : how many levels of classifiers follow the first; 0 is naive Bayes, None no limit.
    parity : what happens where a classifier predicts one class for all its cases, so that the only cluster equals its parent:
        "stop", or "split" the cases by the feature with the largest I(X; C), which parity concepts need.
    refit : whether cases are sent down by naive Bayes classifiers learned from the clusters, as in the paper; otherwise by the
        classifier whose predictions made the clusters, so that every training case reaches the node where it was counted.
    smoothing, prior : as for `naive`; the prior changes the class frequencies of every node by the same factors.

    The class is the exclusive or of a and b, which naive Bayes cannot learn but one split can:

    >>> from naivete.cases import Block, MemoryCases
    >>> a, b = np.array([0, 0, 1, 1], np.uint8), np.array([0, 1, 0, 1], np.uint8)
    >>> cases = MemoryCases(tuple(Variable(name, (0, 1)) for name in "abc"), Block((a, b, a ^ b)), np.array([False, False]))
    >>> recursive(Counts(cases)).variables[2].card, recursive(Counts(cases), parity="split").variables[2].card  # classifiers
    (1, 3)

    References
    ----------
    Langley (1993), Induction of recursive Bayesian classifiers, section 3; `prune` and `parity`: section 6.
    """
    _check_parameters(min_rows, prune, max_depth, parity, refit)
    depth = sys.maxsize if max_depth is None else max_depth
    growth = _Growth(
        counts, smoothing_of(smoothing), _prior_factors(counts, prior), min_rows, prune, depth, parity == "split", refit
    )
    return _hierarchy(counts, growth.grown())


def _check_parameters(min_rows: Any, prune: Any, max_depth: Any, parity: Any, refit: Any) -> None:
    checked_min_rows(min_rows, zero=True)
    checked_count(max_depth, "max_depth")
    checked_share(prune, "prune", "a share of errors")
    checked_choice(parity, "parity", ("stop", "split"))
    checked_flag(refit, "refit")


def _prior_factors(counts: Counts, prior: Sequence[float] | None) -> Numbers | None:
    """Return the factors by which class frequencies are multiplied, so that the root has the given prior."""
    if prior is None:
        return None
    shares = normalized(counts.margins()[CLASS,].astype(np.float64), 0)
    return np.divide(prior_probabilities(prior, counts.variables[CLASS].states), shares, out=np.ones(len(shares)), where=shares > 0)


class Classifiers(NamedTuple):
    """Naive Bayes classifiers of some nodes: P(class | node), P(x | node, class), and densities of continuous features."""

    rates: Numbers  # (node, class)
    tables: dict[int, Numbers]  # (x, node, class)
    densities: dict[int, Normal]  # (node, class)

    def __len__(self) -> int:
        return len(self.rates)


class Branches(NamedTuple):
    """By which feature each classifier of a level sends cases on (BY_CLASS for the predicted class), and to which node of the
    next level (-1 for none)."""

    features: NDArray[np.int64]  # (node)
    children: NDArray[np.int64]  # (node, class or state)


class Level(NamedTuple):
    """One level of the hierarchy.

    Parameters
    ----------
    predicting : the classifiers of the nodes, which predict the class of the cases that stop here.
    branches : where cases go on.
    routed : the nodes whose cases are sent on by `routing`.
    routing : the naive Bayes classifiers of the clusters of those nodes.
    """

    predicting: Classifiers
    branches: Branches
    routed: NDArray[np.intp]
    routing: Classifiers


@dataclass(frozen=True)
class _Growth:
    counts: Counts
    smoothing: Smoothing
    prior_factors: Numbers | None
    min_rows: float
    prune: float
    max_depth: int
    split: bool
    refit: bool

    def grown(self) -> list[Level]:
        """Return the levels, two passes for each."""
        features, cell = self.counts.features, len(self.counts.features)
        margins, classes = self.counts.margins(), self.counts.cards([CLASS])[0]
        whole = self.counts.with_column(_numbered(1), _Zero(), has_missing=False)
        counted, weights = {x: margins[x, CLASS][:, None] for x in features}, margins[CLASS,][None]
        continuous = self.counts.continuous
        moments = {x: moment.at((1, classes)) for x, moment in self.counts.moments(continuous, (CLASS,)).items()}
        levels: list[Level] = []
        while True:
            predicting = self._classifiers(counted, weights, moments, self.prior_factors)
            here = _network(self.counts.variables, predicting, np.full(len(weights), 1 / len(weights)), {})
            predicted = self._transformed(whole, len(weights) * classes, _Predicted(here, whole.cases.has_missing))
            clusters = [(x, cell) for x in features if self.refit and len(levels) < self.max_depth]
            tables = predicted.tables([*clusters, (cell, CLASS)])
            confusion = np.asarray(tables[cell, CLASS]).reshape(-1, classes, classes)
            branches = self._branches(counted, confusion) if len(levels) < self.max_depth else _none(len(weights), classes)
            routed = np.flatnonzero((branches.features == BY_CLASS) & (branches.children >= 0).any(axis=1) & self.refit)
            summed = {f[0]: np.asarray(tables[f]).reshape(-1, len(weights), classes)[:, routed] for f in clusters}
            factors = 1.0 if self.prior_factors is None else self.prior_factors
            shape = len(weights), classes
            clustered = predicted.moments(continuous if len(routed) else (), (cell,))
            cluster_moments = {x: moment.at(shape, routed) for x, moment in clustered.items()}
            routing = self._classifiers(summed, (confusion[routed] * factors).sum(axis=2), cluster_moments)
            levels.append(Level(predicting, branches, routed, routing))
            count = int(branches.children.max()) + 1
            if not count:
                return levels
            whole = self._transformed(predicted, count, _SentOn(branches, classes))
            tables = whole.tables([*((x, cell, CLASS) for x in features), (cell, CLASS)])
            counted, weights = {x: np.asarray(tables[x, cell, CLASS]) for x in features}, np.asarray(tables[cell, CLASS])
            moments = whole.moments(continuous, (cell, CLASS))

    def _transformed(self, counts: Counts, cells: int, change: Any) -> Counts:
        """Return the counts of the cases after a change to the column of their nodes."""
        variables = (*self.counts.variables[:CLASS], _numbered(cells), self.counts.variables[CLASS])
        return counts.over(transformed_cases(counts.cases, variables, counts.cases.has_missing, change, same_rows=False))

    def _classifiers(
        self,
        counted: Mapping[int, NDArray[Any]],
        weights: NDArray[Any],
        moments: Mapping[int, Moments],
        prior_factors: Numbers | None = None,
    ) -> Classifiers:
        """Return the naive Bayes classifiers of some nodes from the counts and moments of their cases."""
        rates = normalized((weights if prior_factors is None else weights * prior_factors).astype(np.float64), 1)
        tables = {x: self._smoothed(table, weights) for x, table in counted.items()}
        return Classifiers(rates, tables, {x: normal(moment) for x, moment in moments.items()})

    def _smoothed(self, table: NDArray[Any], weights: NDArray[Any]) -> Numbers:
        """Return P(x | node, class), in each node as naive Bayes would learn it from the cases of that node alone."""
        n = table.astype(np.float64)
        if isinstance(self.smoothing, Backoff):
            return backoff_table(n, 0, [2], self.smoothing.m)
        marginal = normalized(n.sum(axis=2, keepdims=True), 0)
        return self.smoothing(n, 0, Context(marginal, normalized(weights, 1), weights.sum(axis=1)[:, None]))

    def _branches(self, counted: Mapping[int, NDArray[Any]], confusion: NDArray[Any]) -> Branches:
        """Return the branches of each classifier, given its confusion matrix.  # (node, predicted class, true class)"""
        wrong = confusion * ~np.eye(confusion.shape[1], dtype=bool)
        clusters = confusion.sum(axis=2)  # (node, predicted class)
        erring = wrong.any(axis=(1, 2)) & (wrong.sum(axis=(1, 2)) > self.prune * clusters.sum(axis=1))
        single = np.count_nonzero(clusters, axis=1) == 1
        mixed = wrong.any(axis=2) & (clusters >= self.min_rows) & (erring & ~single)[:, None]
        features = np.full(len(confusion), BY_CLASS)
        if self.split and (erring & single).any():
            features = np.where(erring & single, _most_informative(counted, len(confusion)), BY_CLASS)
        cards = [self.counts.cards([x])[0] for x in np.unique(features[features >= 0]).tolist()]
        continues = np.zeros((len(confusion), max([mixed.shape[1], *cards])), bool)
        continues[:, : mixed.shape[1]] = mixed
        for node in np.flatnonzero(features >= 0).tolist():
            states = counted[int(features[node])][:, node]  # (state, class)
            others = np.delete(states, int(np.argmax(clusters[node])), axis=1)
            continues[node, : len(states)] = others.any(axis=1) & (states.sum(axis=1) >= self.min_rows)
        return Branches(features, np.where(continues, np.cumsum(continues).reshape(continues.shape) - 1, -1))


def _most_informative(counted: Mapping[int, NDArray[Any]], nodes: int) -> NDArray[np.int64]:
    """Return the feature with the largest I(X; C) in each node, -1 where no feature has two values."""
    best, most = np.full(nodes, BY_CLASS), np.full(nodes, -1.0)
    for x, table in counted.items():
        bits = np.round([information(table[:, node]) for node in range(nodes)], 12)  # so that ties do not depend on rounding
        better = (np.count_nonzero(table.sum(axis=2), axis=0) > 1) & (bits > most)
        best, most = np.where(better, x, best), np.where(better, bits, most)
    return best


def _none(nodes: int, classes: int) -> Branches:
    return Branches(np.full(nodes, BY_CLASS), np.full((nodes, classes), -1, np.int64))


def _numbered(count: int) -> Variable:
    return Variable(None, tuple(range(count)))


@dataclass(frozen=True)
class _Zero:
    """A column of zeros: all cases are at the first classifier."""

    def __call__(self, block: Block) -> NDArray[Any]:
        return np.zeros(len(block), np.uint8)


@dataclass(frozen=True, eq=False)
class _Predicted:
    """The cases with their clusters in the column before the class: node x number of classes + predicted class."""

    network: Network
    has_missing: NDArray[np.bool_]

    def __call__(self, block: Block) -> Block:
        classes = self.network.variables[CLASS].card
        predicted = most_probable_class(Predictor(self.network).posterior(block.codes[:-1], self.has_missing)[0])
        cluster = block.codes[-2].astype(np.int64) * classes + predicted
        column = cluster.astype(narrowest(self.network.variables[-2].card * classes))
        return Block((*block.codes[:-2], column, block.codes[-1]), block.weight)


@dataclass(frozen=True, eq=False)
class _SentOn:
    """The cases that are sent on, with their nodes of the next level."""

    branches: Branches
    classes: int

    def __call__(self, block: Block) -> Block:
        node, predicted = np.divmod(block.codes[-2].astype(np.int64), self.classes)
        child = Hierarchy(self.branches.children, self.branches.features).below(node, block.codes, predicted)
        rows = np.flatnonzero(child >= 0)
        kept = block.take(rows)
        column = child[rows].astype(narrowest(int(self.branches.children.max()) + 1))
        return Block((*kept.codes[:-2], column, kept.codes[-1]), kept.weight)


def _network(variables: Variables, classifiers: Classifiers, cells: Numbers, derived: Mapping[int, Hierarchy]) -> Network:
    """Return naive Bayes classifiers as one network: the class depends on the cell, every feature on both.

    `cells` is the distribution of the cell, before any feature is observed.
    """
    cell = len(variables) - 1
    extended = (*variables[:CLASS], Variable(unused_name("cell", variables), tuple(range(len(classifiers)))), variables[CLASS])
    parents = {**dict.fromkeys(range(cell), (cell, CLASS)), cell: (), CLASS: (cell,)}
    cpts = {**classifiers.tables, cell: cells, CLASS: classifiers.rates}
    return Network(extended, parents, cpts, derived, classifiers.densities, check=False)


def _hierarchy(counts: Counts, levels: Sequence[Level]) -> Network:
    """Return the network of a hierarchy: on each level first the classifiers that send cases on, then those that predict."""
    width = max(level.branches.children.shape[1] for level in levels)
    sizes = [len(level.routing) + len(level.predicting) for level in levels]
    starts = np.cumsum([0, *sizes])
    children, features = np.full((starts[-1], width), -1, np.int64), np.full(starts[-1], BY_CLASS, np.int64)
    for depth, level in enumerate(levels):
        predicting_nodes = starts[depth] + len(level.routing) + np.arange(len(level.predicting))
        below = level.branches.children
        below = np.where(below >= 0, _entries(levels, starts, depth + 1)[below], -1)
        features[predicting_nodes] = level.branches.features
        children[predicting_nodes, : below.shape[1]] = below
        children[predicting_nodes[level.routed]] = -1
        routers = starts[depth] + np.arange(len(level.routing))
        children[routers, : level.predicting.rates.shape[1]] = np.where(below >= 0, below, predicting_nodes[:, None])[
            level.routed, : level.predicting.rates.shape[1]
        ]
    parts = [part for level in levels for part in (level.routing, level.predicting) if len(part)]
    rates = np.concatenate([part.rates for part in parts])
    tables = {x: np.concatenate([part.tables[x] for part in parts], axis=1) for x in counts.features}
    densities = {x: _stacked([part.densities[x] for part in parts]) for x in levels[0].predicting.densities}
    derived = {len(counts.features): Hierarchy(children, features)}
    first = (np.arange(len(rates)) == len(levels[0].routing)).astype(np.float64)
    return _network(counts.variables, Classifiers(rates, tables, densities), first, derived)


def _stacked(parts: Sequence[Normal]) -> Normal:
    return Normal(np.concatenate([part.means for part in parts]), np.concatenate([part.variances for part in parts]))


def _entries(levels: Sequence[Level], starts: NDArray[np.int64], depth: int) -> NDArray[np.int64]:
    """Return the first classifier of a case in each node of a level: the one that sends it on, otherwise the one that predicts."""
    if depth == len(levels):
        return np.full(1, -1, np.int64)
    level = levels[depth]
    entries: NDArray[np.int64] = starts[depth] + len(level.routing) + np.arange(len(level.predicting))
    entries[level.routed] = starts[depth] + np.arange(len(level.routing))
    return entries
