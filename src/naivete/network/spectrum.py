"""The model that weighs all degrees of dependence: counts in nested contexts, trees, and the weights of their terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels import run_parallel
from naivete._kernels.boosting import BoostedTrees, boosted_scores
from naivete._kernels.codes import Integers, Numbers
from naivete._kernels.contexts import ContextEstimate, ContextFamily, context_tree
from naivete._kernels.layout import Codes
from naivete.variables import CLASS, Variables

__all__ = ["DEPTHS_OF_TREES", "Bins", "Boosted", "Linear", "Member", "Mixture", "Spectrum", "TermSlices", "Tree"]

Bins = tuple[NDArray[np.uint32], ...]
"""For each feature the bin of every code, and last the bin of a missing value, which is the largest bin."""
DEPTHS_OF_TREES = (2, 4, 8, 1 << 30)
"""The depths of a tree whose estimates are terms of the model; the last one is the leaf."""


class _WithoutCaches:
    """Pickles and copies only the fields of a dataclass, not the trees that were built from them."""

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Member(_WithoutCaches):
    """One structure: the parents of each feature, the strongest first, and the counts of their contexts.

    Parameters
    ----------
    bins : the bins of the features.
    parents : the parents of each feature.
    keys : for each feature the cells that occur of its table with the axes parents, feature, class; increasing positions.
    weights : the weight of each of these cells.
    classes : the number of classes.
    rule : the estimate.
    """

    bins: Bins
    parents: tuple[tuple[int, ...], ...]
    keys: tuple[NDArray[np.uint64], ...]
    weights: tuple[Numbers, ...]
    classes: int
    rule: ContextEstimate

    def cards(self, x: int) -> tuple[int, ...]:
        """The number of bins of the parents of a feature and of the feature itself, and the number of classes."""
        return (*(int(self.bins[v][-1]) + 1 for v in (*self.parents[x], x)), self.classes)

    @cached_property
    def families(self) -> list[ContextFamily]:
        """The features with their contexts."""
        return run_parallel(self._family, range(len(self.parents)), 64.0 * sum(map(len, self.keys)))

    def release(self, size: int) -> None:
        """Free the memory of `families` if they take more bytes than `size`; they are built again when they are needed."""
        if sum(family.tree.pool.nbytes for family in self.families) > size:
            del self.__dict__["families"]

    def _family(self, x: int) -> ContextFamily:
        cards = self.cards(x)
        tree = context_tree(self.keys[x], self.weights[x], cards, self.rule.least)
        margin = tree.margin
        if np.count_nonzero(margin) < 2:
            margin = np.zeros_like(margin)  # a feature that has a single value carries no information: it adds nothing
        return ContextFamily(x, self.parents[x], tree, margin, cards[-2] - int(margin[-1] == 0))


@dataclass(frozen=True, eq=False)
class Tree:
    """A classification tree all of whose nodes keep the weights of the classes.

    Parameters
    ----------
    nodes : column, last code of the first branch and first child of each node, as in `naivete._kernels.trees`.  # (node, 3)
    weights : the weight of each class in each node.  # (node, class)
    m : the weight of the parent's estimate in that of a node.
    """

    nodes: Integers
    weights: Numbers
    m: float


@dataclass(frozen=True, eq=False)
class Linear:
    """Scores of the classes that are sums over features, each of a number for the code of the feature and the class.

    Parameters
    ----------
    tables : for each feature the scores of its codes, and last of a missing value.  # (code, class)
    intercepts : a constant for each class.
    """

    tables: tuple[Numbers, ...]
    intercepts: Numbers

    def scores(self, codes: Codes, rows: int) -> Numbers:
        """Return the scores of `rows` rows, given one column of codes for each table.  # (row, class)"""
        result = np.repeat(self.intercepts[None], rows, axis=0)
        for column, table in zip(codes, self.tables, strict=True):
            result += table[np.minimum(column, len(table) - 1)]
        return result


@dataclass(frozen=True, eq=False)
class Boosted:
    """Scores of the classes by boosted trees.

    Parameters
    ----------
    trees : the trees, one for each class in turn; of two classes only the second has trees.
    base : the scores to which their values are added.
    """

    trees: BoostedTrees
    base: Numbers

    def scores(self, codes: Codes, states: Sequence[int], complete: Sequence[bool], rows: int) -> Numbers:
        """Return the scores of `rows` rows, given the columns, their numbers of states and which are complete.  # (row, class)"""
        return boosted_scores(codes, states, complete, self.trees, np.repeat(self.base[None], rows, axis=0))


@dataclass(frozen=True)
class Mixture:
    """The probabilities of the weighted terms averaged with those of single terms, each at its own temperature, and the prior.

    Parameters
    ----------
    shares : the share of the weighted terms, then that of each single term, then that of the prior; they sum to 1.
    terms : the positions of the single terms.
    temperatures : the factor of the logarithms of each.
    """

    shares: tuple[float, ...]
    terms: tuple[int, ...]
    temperatures: tuple[float, ...]


class TermSlices(NamedTuple):
    """Where the terms of each kind are."""

    members: slice
    main: slice
    features: slice
    trees: slice
    linear: slice
    boosted: slice


@dataclass(frozen=True, eq=False)
class Spectrum(_WithoutCaches):
    """A log-linear model: log P(class | row) is, up to a constant, the weighted sum of terms that come from counts.

    The terms are, in this order: the log-posterior at each depth of the members, averaged over them; the log-posterior at each
    depth of the main structure; log P(x | class) of some features; for each group of trees, the mean logarithm of their
    posteriors at four depths and the logarithm of their mean posterior; the log-posterior of the linear scores; that of the
    boosted trees.

    Parameters
    ----------
    variables : the variables under which rows are encoded, the class last.
    class_weights : the weight of each class.
    depth : the largest number of parents.
    main : the main structure.
    informative : the features that have more than one value, missing ones counted as a value.
    features : the features whose own terms are used, those of the main structure at depth 0.
    members : further structures with other bins and orders.
    trees : the groups of trees.
    linear : the linear scores of the informative features.
    boosted : the scores of boosted trees; None if there are none.
    coefficients : the weight of each term.
    intercepts : a constant for each class.
    mixture : how the result is mixed with single terms; None if it is not.
    """

    variables: Variables
    class_weights: Numbers
    depth: int
    main: Member
    informative: tuple[int, ...]
    features: tuple[int, ...]
    members: tuple[Member, ...]
    trees: tuple[tuple[Tree, ...], ...]
    linear: Linear
    boosted: Boosted | None
    coefficients: Numbers
    intercepts: Numbers
    mixture: Mixture | None = None

    @property
    def classes(self) -> int:
        """The number of classes."""
        return self.variables[CLASS].card

    @cached_property
    def complete(self) -> tuple[bool, ...]:
        """For each feature whether it had no missing values in training.

        Trees have learned no branch for them: a row in which such a feature is missing ends at the node that splits by it.
        """
        return tuple(bool(family.tree.margin[-1] == 0) for family in self.main.families)

    @property
    def term_names(self) -> list[str]:
        """A name for each term."""
        names = [f"members, depth {d}" for d in range(self.depth + 1)] if self.members else []
        names += [f"main structure, depth {d}" for d in range(self.depth + 1)]
        names += [f"feature {self.variables[x].name}" for x in self.features]
        for i, group in enumerate(self.trees):
            if group:
                names += [f"trees {i + 1}, depth {d}" for d in DEPTHS_OF_TREES[:-1]] + [f"trees {i + 1}, leaf"]
                names += [f"trees {i + 1}, mean"]
        return [*names, "linear", *(["boosted trees"] if self.boosted else [])]

    @property
    def slices(self) -> TermSlices:
        """Where the terms of each kind are."""
        depths, trees = self.depth + 1, (len(DEPTHS_OF_TREES) + 1) * sum(map(bool, self.trees))
        ends = np.cumsum([depths * bool(self.members), depths, len(self.features), trees, 1, self.boosted is not None]).tolist()
        return TermSlices(*(slice(start, end) for start, end in pairwise([0, *ends])))
