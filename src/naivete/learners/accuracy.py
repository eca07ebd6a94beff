"""The weight of the cases that networks classify correctly, exactly and in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.exact_sums import LimbSums, add_sums, limbs
from naivete.cases import Block
from naivete.counts.counts import Counts
from naivete.inference.predictor import Predictor, argmax_class
from naivete.network.network import Network
from naivete.network.smoothing import prior_probabilities
from naivete.variables import CLASS, Variables

__all__ = ["AdditionAccuracy", "correct", "majority_correct"]


def correct(counts: Counts, network: Network) -> Fraction:
    """Return the weight of the cases that a network classifies correctly."""
    return _totals(counts.fold(_Correct((network,), counts.cases.has_missing), add_sums))[0]


def majority_correct(test: Counts, train: Counts, prior: Sequence[float] | None) -> Fraction:
    """Return the weight of the test cases that belong to the most frequent class of the training cases."""
    classes = train.margins()[CLASS,]
    majority = int(np.argmax(classes if prior is None else prior_probabilities(prior, train.variables[CLASS].states)))
    return _totals(test.fold(_OfClass(majority), add_sums))[0]


class AdditionAccuracy:
    """The weight of the cases that are classified correctly with some selected features and each of some new ones in turn.

    The parents of a new feature are the class and selected features; the other new features are ignored. Without missing values
    and zeros, the terms of the selected features are summed only once, and for rows in memory the term of a new feature is kept
    from step to step as long as its parents are the same, if all terms together need at most an eighth of the budget.

    Parameters
    ----------
    counts : the cases.
    """

    def __init__(self, counts: Counts) -> None:
        self.counts = counts
        rows, classes = counts.rows, counts.cards([CLASS])[0]
        in_memory = isinstance(getattr(counts.cases, "block", None), Block) and rows is not None
        self._terms = _Terms({}) if in_memory and 8 * len(counts.features) * (rows or 0) * classes <= counts.budget // 8 else None

    def correct(self, network: Network, selected: Sequence[int], new: Sequence[int]) -> list[Fraction]:
        """Return the correct weight for each of the new features, in a network that has all of them."""
        members = [*selected, *new]
        positive = network.sparse.isdisjoint(members) and not any(network.table(v).has_zeros for v in members)
        if positive and not self.counts.cases.has_missing[members].any():
            return _totals(self.counts.fold(_Additions(network, tuple(selected), tuple(new), self._terms), add_sums))
        networks = tuple(_restricted(network, [*selected, x]) for x in new)
        return _totals(self.counts.fold(_Correct(networks, self.counts.cases.has_missing), add_sums))


@dataclass(frozen=True, eq=False)
class _Terms:
    """The logarithms of features given their parents, for the rows of the only block: by feature, with the parents."""

    kept: dict[int, tuple[tuple[int, ...], NDArray[np.float64]]]

    def of(self, network: Network, x: int, block: Block) -> NDArray[np.float64]:
        """Return the term of a feature, computed unless it is kept.  # (row, class)"""
        parents = network.parents[x]
        if x not in self.kept or self.kept[x][0] != parents:
            self.kept[x] = parents, _log_joint(network, (x,), block)
        return self.kept[x][1]


@dataclass(frozen=True)
class _Correct:
    """The weight of the rows of a block that each network classifies correctly."""

    networks: tuple[Network, ...]
    has_missing: NDArray[np.bool_]

    def __call__(self, block: Block) -> LimbSums:
        right = [
            argmax_class(Predictor(n).posterior(block.codes, self.has_missing)[0]) == block.codes[CLASS] for n in self.networks
        ]
        return _weights(block, right)


@dataclass(frozen=True)
class _OfClass:
    """The weight of the rows of a block that belong to a class."""

    state: int

    def __call__(self, block: Block) -> LimbSums:
        return _weights(block, [block.codes[CLASS] == self.state])


@dataclass(frozen=True)
class _Additions:
    """The weight of the rows that are classified correctly with each of the new features beside the selected ones."""

    network: Network
    selected: tuple[int, ...]
    new: tuple[int, ...]
    terms: _Terms | None = None

    def __call__(self, block: Block) -> LimbSums:
        base = _log_joint(self.network, (CLASS, *self.selected), block)
        right: list[NDArray[np.bool_]] = []
        unchanged = argmax_class(base) == block.codes[CLASS]
        terms = self.terms or _Terms({})
        for x in self.new:
            informative = CLASS in self.network.parents[x]
            joint = base + terms.of(self.network, x, block) if informative else base
            right.append(argmax_class(joint) == block.codes[CLASS] if informative else unchanged)
            if self.terms is None:
                terms.kept.clear()
        return _weights(block, right)


def _log_joint(network: Network, variables: Sequence[int], block: Block) -> NDArray[np.float64]:
    """Return the sum of the logarithms of those families that contain the class.  # (row, class)"""
    with_class = [v for v in variables if network.family(v)[-1] == CLASS]
    layout = _kernels.Layout(tuple(map(network.family, with_class)), tuple(v.card for v in network.variables))
    with np.errstate(divide="ignore"):
        values = np.concatenate([np.log(np.asarray(network.cpts[v])).ravel() for v in with_class])
    return _kernels.gather(block.codes, layout, values, network.variables[CLASS].card)


def _weights(block: Block, right: Sequence[NDArray[np.bool_]]) -> LimbSums:
    """Return the exact weight of the rows for which each condition holds."""
    return {
        q: np.array([int(np.count_nonzero(r)) if limb is None else int(limb[r].sum()) for r in right], np.int64)
        for q, limb in limbs(block.weight).items()
    }


def _totals(parts: LimbSums) -> list[Fraction]:
    """Return the numbers that limbs represent, as exact fractions."""
    shares = [(Fraction(2) ** (32 * q), part.tolist()) for q, part in parts.items()]
    return [sum((unit * part[i] for unit, part in shares), Fraction(0)) for i in range(len(shares[0][1]))]


def _restricted(network: Network, features: Sequence[int]) -> Network:
    """Return the network with only these features; the other ones get no parents and uniform tables."""
    kept = {CLASS, *features}
    parents = {v: family if v in kept else () for v, family in network.parents.items()}
    cpts: dict[int, Any] = {v: network.cpts[v] if v in kept else _uniform(network.variables, v) for v in parents}
    return Network(network.variables, parents, cpts, check=False)


def _uniform(variables: Variables, v: int) -> NDArray[np.float64]:
    return np.full(variables[v].card, 1 / variables[v].card)
