"""Contributions of features to the scores of the classes in a classification tree: exact Shapley values, leaf by leaf."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from math import factorial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Bools, Integers, Numbers, missing
from naivete.inference.elimination import Codes
from naivete.network.derived_columns import Tree

__all__ = ["TreeTerms"]


class _Leaf(NamedTuple):
    """A leaf and the conditions on the way to it.

    Parameters
    ----------
    features : the features that are tested on the way, at most 62.
    allowed : for each of them, which of its states lead to the leaf.
    scores : the scores of the leaf.  # (class - 1,)
    """

    features: tuple[int, ...]
    allowed: tuple[Bools, ...]
    scores: Numbers

    def masks(self, codes: Codes, rows: Integers) -> Integers:
        """Return for each row the conditions that it meets, as bits."""
        result = np.zeros(len(rows), np.int64)
        for i, (x, allowed) in enumerate(zip(self.features, self.allowed, strict=True)):
            result |= allowed[codes[x][rows].astype(np.int64)].astype(np.int64) << i
        return result


class TreeTerms:
    """The Shapley values of a function of the leaf of a row.

    The function is a sum over leaves, each the product of the conditions on the way to it. For a row and a row of the background,
    let A be the conditions that only the first meets, and B those that only the second meets. If together they meet all, the
    features of A share the score of the leaf with the weight (|A| - 1)! |B|! / (|A| + |B|)! each, and those of B get
    -|A|! (|B| - 1)! / (|A| + |B|)! of it.

    Parameters
    ----------
    tree : the tree.
    scores : the scores of each leaf.  # (leaf, class - 1)
    background : a function that returns the columns of the rows of the background, in which no tested value is missing.

    References
    ----------
    Lundberg et al. (2020), From local explanations to global understanding with explainable AI for trees, section 4.
    """

    def __init__(self, tree: Tree, scores: Numbers, background: Callable[[], Codes]) -> None:
        self.tree = tree
        self.scores = scores
        self.background = background

    @cached_property
    def mean(self) -> Numbers:
        """The mean of the scores in the background.  # (class - 1,)"""
        return np.asarray(self.scores[self.tree.column(self.background()).astype(np.int64)].mean(axis=0))

    @cached_property
    def order(self) -> list[int]:
        """The features that are tested, in the order of the nodes."""
        return list(dict.fromkeys(x for x in self.tree.features.tolist() if x >= 0))

    @cached_property
    def _leaves(self) -> list[tuple[_Leaf, Integers, Numbers]]:
        """The leaves, each with the sets of conditions that rows of the background meet and the shares of these rows."""
        codes = self.background()
        rows = np.arange(len(codes[0]))
        result = []
        for leaf in self._paths(0, {}):
            masks, counts = np.unique(leaf.masks(codes, rows), return_counts=True)
            result.append((leaf, masks, counts / len(rows)))
        return result

    def _paths(self, node: int, conditions: Mapping[int, Bools]) -> Iterator[_Leaf]:
        """Yield the leaves below a node that some row can reach."""
        x = int(self.tree.features[node])
        if x < 0:
            leaf = self.scores[self.tree.state_of[node]]
            yield _Leaf(tuple(conditions), tuple(conditions.values()), leaf)
            return
        children = self.tree.children_of(node)
        for child in np.unique(children).tolist():
            allowed = (children == child) & conditions.get(x, True)
            if allowed.any():
                yield from self._paths(child, {**conditions, x: allowed})

    def add(self, parts: Numbers, codes: Codes, rows: Integers, position: Mapping[int, int]) -> None:
        """Add the contributions of the features in rows in which all tested values are observed.

        Parameters
        ----------
        parts : the contributions, changed in place.  # (feature, class - 1, row)
        codes : the columns.
        rows : the rows.
        position : the position of each feature in `parts`.
        """
        for leaf, others, shares in self._leaves:
            masks, index = np.unique(leaf.masks(codes, rows), return_inverse=True)
            weights = _weights(masks, others, shares, len(leaf.features))
            for i, x in enumerate(leaf.features):
                if weights[:, i].any():
                    parts[position[x]][:, rows] += leaf.scores[:, None] * weights[index.ravel(), i]

    def observed(self, codes: Codes) -> Bools:
        """Return the rows in which all tested values are observed."""
        return np.asarray(np.logical_and.reduce([np.ones(len(codes[0]), bool), *(~missing(codes[x]) for x in self.order)]))


def _weights(masks: Integers, others: Integers, shares: Numbers, conditions: int) -> Numbers:
    """Return the weight with which each feature shares the score of a leaf.  # (mask, feature)

    Parameters
    ----------
    masks : sets of conditions that rows meet.
    others, shares : sets of conditions that rows of the background meet, and their shares.
    conditions : the number of conditions.
    """
    first, second = masks[:, None], others[None, :]
    together = (first | second) == (1 << conditions) - 1
    alone, against = first & ~second, second & ~first  # A and B
    a, b = _bit_count(alone), _bit_count(against)
    table = np.array(
        [[factorial(i) * factorial(j) / factorial(i + j + 1) for j in range(conditions + 1)] for i in range(conditions + 1)]
    )
    share = np.where(together, shares, 0.0)
    gain = share * np.where(a > 0, table[np.maximum(a - 1, 0), b], 0.0)
    loss = share * np.where(b > 0, table[a, np.maximum(b - 1, 0)], 0.0)
    bits = np.arange(conditions)
    return np.stack(
        [np.where(alone >> i & 1, gain, 0.0).sum(axis=1) - np.where(against >> i & 1, loss, 0.0).sum(axis=1) for i in bits]
        or [np.zeros(len(masks))],
        axis=1,
    )


def _bit_count(masks: NDArray[np.int64]) -> Integers:
    return np.bitwise_count(masks).astype(np.int64)
