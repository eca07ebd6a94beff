"""How many cases networks classify rightly, in one pass over any back end."""

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
from naivete.network.estimation import checked_prior
from naivete.network.network import Network
from naivete.variables import CLASS, Variables

__all__ = ["correct", "majority_correct", "trial"]


def correct(counts: Counts, network: Network) -> Fraction:
    """The weight of the cases that a network classifies rightly, exactly."""
    return _totals(counts.fold(_Correct((network,), counts.cases.gaps), add_sums))[0]


def majority_correct(judged: Counts, learned: Counts, prior: Sequence[float] | None) -> Fraction:
    """The weight of the cases that belong to the class which is most frequent among others, exactly."""
    classes = learned.margins()[CLASS,]
    found = int(np.argmax(classes if prior is None else checked_prior(prior, len(classes))))
    return _totals(judged.fold(_OfClass(found), add_sums))[0]


def trial(counts: Counts, network: Network, selected: Sequence[int], new: Sequence[int]) -> list[Fraction]:
    """What is right with the class, the selected features and each of the new ones in turn, whose parents are among those.

    The other new features are left out of account. Without missing values and zeros the families that are the same for all are
    summed once.
    """
    parts = [network.cpts[v] for v in (*selected, *new)]
    if not counts.cases.gaps[[*selected, *new]].any() and all(isinstance(cpt, np.ndarray) and cpt.min() > 0 for cpt in parts):
        return _totals(counts.fold(_Additions(network, tuple(selected), tuple(new)), add_sums))
    networks = tuple(_part(network, [*selected, x]) for x in new)
    return _totals(counts.fold(_Correct(networks, counts.cases.gaps), add_sums))


@dataclass(frozen=True)
class _Correct:
    """The weight of the rows of a block that each network classifies rightly."""

    networks: tuple[Network, ...]
    gaps: NDArray[np.bool_]

    def __call__(self, block: Block) -> LimbSums:
        right = [argmax_class(Predictor(n).posterior(block.codes, self.gaps)[0]) == block.codes[CLASS] for n in self.networks]
        return _weights(block, right)


@dataclass(frozen=True)
class _OfClass:
    """The weight of the rows of a block that belong to a class."""

    found: int

    def __call__(self, block: Block) -> LimbSums:
        return _weights(block, [block.codes[CLASS] == self.found])


@dataclass(frozen=True)
class _Additions:
    """The weight of the rows that are right with each of the new families beside those that are there."""

    network: Network
    selected: tuple[int, ...]
    new: tuple[int, ...]

    def __call__(self, block: Block) -> LimbSums:
        base = _log_joint(self.network, (CLASS, *self.selected), block)
        right: list[NDArray[np.bool_]] = []
        unchanged = argmax_class(base) == block.codes[CLASS]
        for x in self.new:
            tells = CLASS in self.network.parents[x]
            joint = base + _log_joint(self.network, (x,), block) if tells else base
            right.append(argmax_class(joint) == block.codes[CLASS] if tells else unchanged)
        return _weights(block, right)


def _log_joint(network: Network, variables: Sequence[int], block: Block) -> NDArray[np.float64]:
    """The sum of the logarithms of some families that contain the class.  # (row, class)"""
    own = [v for v in variables if network.family(v)[-1] == CLASS]
    layout = _kernels.Layout(tuple(map(network.family, own)), tuple(v.card for v in network.variables))
    with np.errstate(divide="ignore"):
        values = np.concatenate([np.log(np.asarray(network.cpts[v])).ravel() for v in own])
    return _kernels.gather(block.codes, layout, values, network.variables[CLASS].card)


def _weights(block: Block, right: Sequence[NDArray[np.bool_]]) -> LimbSums:
    return {
        q: np.array([int(np.count_nonzero(r)) if limb is None else int(limb[r].sum()) for r in right], np.int64)
        for q, limb in limbs(block.weight).items()
    }


def _totals(parts: LimbSums) -> list[Fraction]:
    """What limbs stand for, as exact numbers."""
    shares = [(Fraction(2) ** (32 * q), part.tolist()) for q, part in parts.items()]
    return [sum((unit * own[i] for unit, own in shares), Fraction(0)) for i in range(len(shares[0][1]))]


def _part(network: Network, features: Sequence[int]) -> Network:
    """The network with the other features cut off; those that stay have no parents among them."""
    kept = {CLASS, *features}
    parents = {v: own if v in kept else () for v, own in network.parents.items()}
    cpts: dict[int, Any] = {v: network.cpts[v] if v in kept else _any(network.variables, v) for v in parents}
    return Network(network.variables, parents, cpts, check=False)


def _any(variables: Variables, v: int) -> NDArray[np.float64]:
    return np.full(variables[v].card, 1 / variables[v].card)
