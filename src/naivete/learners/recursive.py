"""The recursive Bayesian classifier: a hierarchy of naive Bayes classifiers, each for the cases that the one above mixes up."""

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
from naivete.network.smoothing import Backoff, Context, Smoothing, backoff_table, checked_prior, normalised, smoothing_of
from naivete.variables import CLASS, Variable, Variables, unused_name

__all__ = ["recursive"]

BY_CLASS = -1


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
    """A hierarchy of naive Bayes classifiers: RBC.

    The classifier of a node gives each of its cases a class, and the cases that it gives one class are a cluster. A cluster that
    does not consist of that class alone gets a classifier of its own, and so on. A case is sent down by the summaries of the
    clusters and answered by the last classifier on its way. In the network that is a derived column, the cell, on which the
    class and every feature depend.

    Parameters
    ----------
    counts : the training cases.
    min_rows : a cluster of less weight gets no classifier.
    prune : nor do the clusters of a classifier whose share of errors on its own cases does not exceed this.
    max_depth : how many classifiers may come after the first; 0 is naive Bayes, None any number.
    parity : what is done where a classifier gives all its cases one class, so that the only cluster equals its parent: "stop", or
        "split" them by the feature that tells most about the class, which parity concepts need.
    refit : whether cases are sent down by what was learned of the clusters, as the paper has it; else by the classifier whose
        answers made the clusters, so that every training case arrives where it was counted.
    smoothing, prior : as for `naive`; the prior weighs the classes in every node.

    References
    ----------
    Langley (1993), Induction of recursive Bayesian classifiers, section 3; `prune` and `parity`: section 6.
    """
    _check(min_rows, prune, max_depth, parity, refit)
    most = sys.maxsize if max_depth is None else max_depth
    growth = _Growth(counts, smoothing_of(smoothing), _odds(counts, prior), min_rows, prune, most, parity == "split", refit)
    return _hierarchy(counts, growth.grown())


def _check(min_rows: Any, prune: Any, max_depth: Any, parity: Any, refit: Any) -> None:
    checked_min_rows(min_rows, zero=True)
    checked_count(max_depth, "max_depth")
    checked_share(prune, "prune", "a share of errors")
    checked_choice(parity, "parity", ("stop", "split"))
    checked_flag(refit, "refit")


def _odds(counts: Counts, prior: Sequence[float] | None) -> Numbers | None:
    """What the share of each class has to be multiplied with to have the given prior at the root."""
    if prior is None:
        return None
    shares = normalised(counts.margins()[CLASS,].astype(np.float64), 0)
    return np.divide(checked_prior(prior, len(shares)), shares, out=np.ones(len(shares)), where=shares > 0)


class Classifiers(NamedTuple):
    """Some naive Bayes classifiers: P(class | node), P(x | node, class) for each x, and the densities of numbers."""

    rates: Numbers  # (node, class)
    tables: dict[int, Numbers]  # (x, node, class)
    densities: dict[int, Normal]  # (node, class)

    def __len__(self) -> int:
        return len(self.rates)


class Branches(NamedTuple):
    """By which feature the classifiers of one depth send cases on, -1 by class; and to which of the next depth, -1 to none."""

    features: NDArray[np.int64]  # (node)
    children: NDArray[np.int64]  # (node, class or state)


class Level(NamedTuple):
    """The classifiers of one depth, what they are followed by, and the summaries of their clusters that cases are sent by."""

    answering: Classifiers
    branches: Branches
    routed: NDArray[np.intp]
    routing: Classifiers


@dataclass(frozen=True)
class _Growth:
    counts: Counts
    how: Smoothing
    odds: Numbers | None
    min_rows: float
    prune: float
    max_depth: int
    split: bool
    refit: bool

    def grown(self) -> list[Level]:
        """The classifiers of every depth, two passes each."""
        features, cell = self.counts.features, len(self.counts.features)
        margins, classes = self.counts.margins(), self.counts.cards([CLASS])[0]
        whole = self.counts.with_column(_numbered(1), _Zero(), gaps=False)
        counted, weights = {x: margins[x, CLASS][:, None] for x in features}, margins[CLASS,][None]
        numbers = [x for x in features if self.counts.variables[x].density]
        moments = {x: own.at((1, classes)) for x, own in self.counts.moments(numbers, (CLASS,)).items()}
        levels: list[Level] = []
        while True:
            answering = self._classifiers(counted, weights, moments, self.odds)
            here = _network(self.counts.variables, answering, np.full(len(weights), 1 / len(weights)), {})
            sent = self._seen(whole, len(weights) * classes, _Sent(here, whole.cases.gaps))
            clusters = [(x, cell) for x in features if self.refit and len(levels) < self.max_depth]
            told = sent.tables([*clusters, (cell, CLASS)])
            most_probable_class = np.asarray(told[cell, CLASS]).reshape(-1, classes, classes)
            ways = self._branches(counted, most_probable_class) if len(levels) < self.max_depth else _none(len(weights), classes)
            routed = np.flatnonzero((ways.features == BY_CLASS) & (ways.children >= 0).any(axis=1) & self.refit)
            summed = {f[0]: np.asarray(told[f]).reshape(-1, len(weights), classes)[:, routed] for f in clusters}
            odds = 1.0 if self.odds is None else self.odds
            shape = len(weights), classes
            gathered = {x: own.at(shape, routed) for x, own in sent.moments(numbers if len(routed) else (), (cell,)).items()}
            routing = self._classifiers(summed, (most_probable_class[routed] * odds).sum(axis=2), gathered)
            levels.append(Level(answering, ways, routed, routing))
            count = int(ways.children.max()) + 1
            if not count:
                return levels
            whole = self._seen(sent, count, _Kept(ways, classes))
            found = whole.tables([*((x, cell, CLASS) for x in features), (cell, CLASS)])
            counted, weights = {x: np.asarray(found[x, cell, CLASS]) for x in features}, np.asarray(found[cell, CLASS])
            moments = whole.moments(numbers, (cell, CLASS))

    def _seen(self, counts: Counts, cells: int, change: Any) -> Counts:
        variables = (*self.counts.variables[:CLASS], _numbered(cells), self.counts.variables[CLASS])
        return counts.over(transformed_cases(counts.cases, variables, counts.cases.gaps, change, same_rows=False))

    def _classifiers(
        self,
        counted: Mapping[int, NDArray[Any]],
        weights: NDArray[Any],
        moments: Mapping[int, Moments],
        odds: Numbers | None = None,
    ) -> Classifiers:
        """The naive Bayes classifiers of some nodes from the counts and moments of their cases."""
        rates = normalised((weights if odds is None else weights * odds).astype(np.float64), 1)
        tables = {x: self._smoothed(table, weights) for x, table in counted.items()}
        return Classifiers(rates, tables, {x: normal(own) for x, own in moments.items()})

    def _smoothed(self, table: NDArray[Any], weights: NDArray[Any]) -> Numbers:
        """P(x | node, class), in each node as naive Bayes learned from its cases alone has it."""
        n = table.astype(np.float64)
        if isinstance(self.how, Backoff):
            return backoff_table(n, 0, [2], self.how.m)
        marginal = normalised(n.sum(axis=2, keepdims=True), 0)
        return self.how(n, 0, Context(marginal, normalised(weights, 1), weights.sum(axis=1)[:, None]))

    def _branches(self, counted: Mapping[int, NDArray[Any]], most_probable_class: NDArray[Any]) -> Branches:
        """What follows each classifier, from the weight of its cases by the class it gives and the true one."""
        wrong = most_probable_class * ~np.eye(most_probable_class.shape[1], dtype=bool)
        clusters = most_probable_class.sum(axis=2)  # (node, class given)
        erring = wrong.any(axis=(1, 2)) & (wrong.sum(axis=(1, 2)) > self.prune * clusters.sum(axis=1))
        stuck = np.count_nonzero(clusters, axis=1) == 1
        mixed = wrong.any(axis=2) & (clusters >= self.min_rows) & (erring & ~stuck)[:, None]
        features = np.full(len(most_probable_class), BY_CLASS)
        if self.split and (erring & stuck).any():
            features = np.where(erring & stuck, _telling(counted, len(most_probable_class)), BY_CLASS)
        cards = [self.counts.cards([x])[0] for x in np.unique(features[features >= 0]).tolist()]
        open_ = np.zeros((len(most_probable_class), max([mixed.shape[1], *cards])), bool)
        open_[:, : mixed.shape[1]] = mixed
        for node in np.flatnonzero(features >= 0).tolist():
            states = counted[int(features[node])][:, node]  # (state, class)
            others = np.delete(states, int(np.argmax(clusters[node])), axis=1)
            open_[node, : len(states)] = others.any(axis=1) & (states.sum(axis=1) >= self.min_rows)
        return Branches(features, np.where(open_, np.cumsum(open_).reshape(open_.shape) - 1, -1))


def _telling(counted: Mapping[int, NDArray[Any]], nodes: int) -> NDArray[np.int64]:
    """The feature that tells most about the class in each node, -1 where none has two values."""
    best, most = np.full(nodes, BY_CLASS), np.full(nodes, -1.0)
    for x, table in counted.items():
        bits = np.round([information(table[:, node]) for node in range(nodes)], 12)  # so that equals are equal
        better = (np.count_nonzero(table.sum(axis=2), axis=0) > 1) & (bits > most)
        best, most = np.where(better, x, best), np.where(better, bits, most)
    return best


def _none(nodes: int, classes: int) -> Branches:
    return Branches(np.full(nodes, BY_CLASS), np.full((nodes, classes), -1, np.int64))


def _numbered(count: int) -> Variable:
    return Variable(None, tuple(range(count)))


@dataclass(frozen=True)
class _Zero:
    """A column of zeros: every case is at the first classifier."""

    def __call__(self, block: Block) -> NDArray[Any]:
        return np.zeros(len(block), np.uint8)


@dataclass(frozen=True, eq=False)
class _Sent:
    """Each case at the class that its classifier gives it: classifier x classes + class in the last column."""

    network: Network
    gaps: NDArray[np.bool_]

    def __call__(self, block: Block) -> Block:
        classes = self.network.variables[CLASS].card
        given = most_probable_class(Predictor(self.network).posterior(block.codes[:-1], self.gaps)[0])
        cluster = block.codes[-2].astype(np.int64) * classes + given
        column = cluster.astype(narrowest(self.network.variables[-2].card * classes))
        return Block((*block.codes[:-2], column, block.codes[-1]), block.weight)


@dataclass(frozen=True, eq=False)
class _Kept:
    """The cases that go on, at their next classifier."""

    ways: Branches
    classes: int

    def __call__(self, block: Block) -> Block:
        node, given = np.divmod(block.codes[-2].astype(np.int64), self.classes)
        child = Hierarchy(self.ways.children, self.ways.features).below(node, block.codes, given)
        rows = np.flatnonzero(child >= 0)
        left = block.take(rows)
        column = child[rows].astype(narrowest(int(self.ways.children.max()) + 1))
        return Block((*left.codes[:-2], column, left.codes[-1]), left.weight)


def _network(variables: Variables, found: Classifiers, at: Numbers, derived: Mapping[int, Hierarchy]) -> Network:
    """Naive Bayes classifiers as a network: the class depends on the cell, every feature on both.

    `at` says where a row is before anything is known of it.
    """
    cell = len(variables) - 1
    own = (*variables[:CLASS], Variable(unused_name("cell", variables), tuple(range(len(found)))), variables[CLASS])
    parents = {**dict.fromkeys(range(cell), (cell, CLASS)), cell: (), CLASS: (cell,)}
    return Network(own, parents, {**found.tables, cell: at, CLASS: found.rates}, derived, found.densities, check=False)


def _hierarchy(counts: Counts, levels: Sequence[Level]) -> Network:
    """The network of a whole hierarchy: on each level first the classifiers that send cases on, then those that answer."""
    width = max(level.branches.children.shape[1] for level in levels)
    sizes = [len(level.routing) + len(level.answering) for level in levels]
    starts = np.cumsum([0, *sizes])
    children, features = np.full((starts[-1], width), -1, np.int64), np.full(starts[-1], BY_CLASS, np.int64)
    for at, level in enumerate(levels):
        answers = starts[at] + len(level.routing) + np.arange(len(level.answering))
        own = level.branches.children
        below = np.where(own >= 0, _entries(levels, starts, at + 1)[own], -1)
        features[answers] = level.branches.features
        children[answers, : own.shape[1]] = below
        children[answers[level.routed]] = -1
        routers = starts[at] + np.arange(len(level.routing))
        children[routers, : level.answering.rates.shape[1]] = np.where(below >= 0, below, answers[:, None])[
            level.routed, : level.answering.rates.shape[1]
        ]
    parts = [part for level in levels for part in (level.routing, level.answering) if len(part)]
    rates = np.concatenate([part.rates for part in parts])
    tables = {x: np.concatenate([part.tables[x] for part in parts], axis=1) for x in counts.features}
    densities = {x: _stacked([part.densities[x] for part in parts]) for x in levels[0].answering.densities}
    derived = {len(counts.features): Hierarchy(children, features)}
    first = (np.arange(len(rates)) == len(levels[0].routing)).astype(np.float64)
    return _network(counts.variables, Classifiers(rates, tables, densities), first, derived)


def _stacked(parts: Sequence[Normal]) -> Normal:
    return Normal(np.concatenate([part.means for part in parts]), np.concatenate([part.variances for part in parts]))


def _entries(levels: Sequence[Level], starts: NDArray[np.int64], at: int) -> NDArray[np.int64]:
    """Where a case comes first in each node of a level: to the classifier that sends it on, or else to the one that answers."""
    if at == len(levels):
        return np.full(1, -1, np.int64)
    level = levels[at]
    found: NDArray[np.int64] = starts[at] + len(level.routing) + np.arange(len(level.answering))
    found[level.routed] = starts[at] + np.arange(len(level.routing))
    return found
