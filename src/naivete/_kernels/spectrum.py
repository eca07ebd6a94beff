"""Posteriors of a spectrum, computed row by row in one pass: weighted sums of terms that come from contexts, trees and scores.

The scores of a row are several channels with a number for each class: the first is the weighted sum of all terms, the others are
the single terms of the mixture. See spectrum.c for how the sums are computed, with tables or, for few rows, without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.boosting import BoostedTrees
from naivete._kernels.codes import Integers, Numbers
from naivete._kernels.context_trees import SMALLEST, Bins, ContextEstimate, ContextFamily
from naivete._kernels.dispatch import address, columns_struct, loaded, require_memory
from naivete._kernels.layout import Codes
from naivete._kernels.threads import ranges, run_parallel

__all__ = ["BoostedTerms", "ForestTerms", "LinearTerms", "MixtureTerms", "PosteriorKernel", "StructureTerms", "can_be_numbered"]


def _struct(integers: str, floats: str = "") -> np.dtype[Any]:
    """Return the type of a C struct whose members have eight bytes each; those named in `floats` are doubles."""
    return np.dtype([(name, np.float64 if name in floats.split() else np.int64) for name in integers.split()])


_PART = _struct(
    "margin members levels parents states total weights tails whole cards first starts next longest places values factors",
    "states total",
)
_STRUCTURE = _struct("parts count bins theta delta least channel", "theta delta least")
_TREE = _struct("nodes counts steps ends")
_FOREST = _struct("trees count m share weights tails sets channel mean_weight mean_channel", "m share mean_weight")
_BOOSTED = _struct("steps values starts depths count first")
_MODEL = _struct(
    "K width channels depths states tree_columns tree_width tree_missing wanted structures structure_count forests forest_count "
    "linear_columns linear_tables linear_count linear_channel linear_weight linear_base "
    "boosted boosted_channel boosted_weight boosted_base constant shares temperatures prior unknown informative informative_count",
    "linear_weight boosted_weight",
)
_PLAN = _struct("wanted longest places contexts pairs combinations integers numbers")
ENDS = 0xFFFF
"""The code for trees of a missing value of a complete column."""
MOST_NODES = 1 << 16
"""The nodes of a tree and the columns by which trees split have numbers of two bytes."""


class StructureTerms(NamedTuple):
    """The terms of a structure.

    Parameters
    ----------
    families : its features with their parents.
    total : the weight of all cases.
    bins : the bins of the features.
    rule : the estimate.
    weights : for each family the weights of log P at each depth; the contexts of larger depths are not used.  # (family, depth)
    channel : the channel to which their sum is added.
    """

    families: Sequence[ContextFamily]
    total: float
    bins: Bins
    rule: ContextEstimate
    weights: Numbers
    channel: int


class ForestTerms(NamedTuple):
    """The terms of a group of trees.

    Parameters
    ----------
    trees : the nodes of each tree, and the weight of each class in each node.
    m : the weight of the parent's estimate.
    weights : the weights of the mean of log P at each depth, for one or two channels.  # (channel, depth)
    channel : the second channel.
    mean_weight : the weight of the logarithm of the mean posterior.
    mean_channel : its channel, 0 if it has none of its own.
    """

    trees: Sequence[tuple[Integers, Numbers]]
    m: float
    weights: Numbers
    channel: int
    mean_weight: float
    mean_channel: int


class LinearTerms(NamedTuple):
    """Scores that are sums over features: the columns, their tables (code, class), the constants, the weight and the channel."""

    columns: Sequence[int]
    tables: Sequence[Numbers]
    base: Numbers
    weight: float
    channel: int


class BoostedTerms(NamedTuple):
    """The scores of boosted trees: the trees, the constants, the weight and the channel."""

    trees: BoostedTrees
    base: Numbers
    weight: float
    channel: int


class MixtureTerms(NamedTuple):
    """The shares of the channels and of the prior, the temperatures of the channels after the first, and the prior."""

    shares: Numbers
    temperatures: Numbers
    prior: Numbers


def _smallest_product(parts: NDArray[Any], theta: float) -> Numbers:
    """Return a bound of the products of the factors of nested contexts: P of a value that occurs in none of them is not smaller."""
    factor = theta / (parts["total"] + theta)
    return np.asarray(factor ** (parts["parents"] + 1) / (parts["total"] + parts["states"]))


def _place(structs: NDArray[Any]) -> int:
    """Return the address of an array of structs, faster than `address`."""
    return address(structs.view(np.uint8))


def can_be_numbered(nodes: Sequence[int], columns: int) -> bool:
    """Return whether trees with these numbers of nodes, which split by some of the columns, can be numbered with two bytes."""
    return max((*nodes, columns + 1)) < MOST_NODES


class PosteriorKernel:
    """Computes P(class | row) of a spectrum with the compiled kernels.

    Parameters
    ----------
    states : the number of codes of each column.
    complete : whether each column had no missing values in training: a row in which it is missing ends at the nodes of trees that
        split by it.
    constant : what is added to the scores of all rows.  # (channel, class)
    structures, forests, linear, boosted : the terms.
    depths : the depths of trees whose posteriors are terms.
    mixture : how the channels are mixed; None if the first one alone is used.
    informative : the columns that carry information.
    unknown : the posterior of a row in which the values of all these are missing.

    Attributes
    ----------
    parts : for each structure the C structs of its families, without tables.
    """

    def __init__(
        self,
        states: Sequence[int],
        complete: Sequence[bool],
        constant: Numbers,
        structures: Sequence[StructureTerms],
        forests: Sequence[ForestTerms],
        linear: LinearTerms,
        boosted: BoostedTerms | None,
        depths: Sequence[int],
        mixture: MixtureTerms | None,
        informative: Sequence[int],
        unknown: Numbers,
    ) -> None:
        library = loaded()
        assert library is not None, "only the compiled kernels predict rows in this way"
        self._library, self._kept_alive = library, list[Any]()
        channels, self.classes = constant.shape
        self.parts: list[NDArray[Any]] = []
        self._bins: list[tuple[Bins, Integers]] = []
        self._structures, self._families = np.zeros(len(structures), _STRUCTURE), [list(s.families) for s in structures]
        for record, terms in zip(self._structures, structures, strict=True):
            self._add_structure(record, terms)
        nodes = [nodes for forest in forests for nodes, _ in forest.trees] + ([] if boosted is None else [boosted.trees.nodes])
        columns = np.unique(np.concatenate([tree[tree[:, 0] >= 0, 0] for tree in nodes] or [np.empty(0, np.int64)]))
        self._tree_columns = np.zeros(len(states), np.int64)  # their positions among the columns by which trees split
        self._tree_columns[columns] = np.arange(len(columns))
        self._tree_width = len(columns)
        self._trees: list[tuple[NDArray[Any], Integers]] = []  # with the first node of each
        self._forests = np.zeros(len(forests), _FOREST)
        for record, forest in zip(self._forests, forests, strict=True):
            self._add_forest(record, forest)
        self.model = np.zeros(1, _MODEL)
        tables = [np.ascontiguousarray(table, np.float64) for table in linear.tables]
        values: dict[str, Any] = {
            "K": self.classes,
            "width": len(states),
            "channels": channels,
            "depths": len(depths),
            "structures": self._structures,
            "structure_count": len(structures),
            "forests": self._forests,
            "forest_count": len(forests),
            "states": np.array(states, np.int64),
            "tree_columns": columns,
            "tree_width": len(columns),
            "tree_missing": np.where(complete, ENDS, states).astype(np.int64)[columns],
            "wanted": np.array(depths, np.int64),
            "constant": np.ascontiguousarray(constant, np.float64),
            "linear_columns": np.array(linear.columns, np.int64),
            "linear_tables": self._pointers(tables),
            "linear_count": len(tables),
            "linear_channel": linear.channel,
            "linear_weight": linear.weight,
            "linear_base": np.ascontiguousarray(linear.base, np.float64),
            "informative": np.array(informative, np.int64),
            "informative_count": len(informative),
            "unknown": np.ascontiguousarray(unknown, np.float64),
        }
        if boosted is not None:
            base = np.ascontiguousarray(boosted.base, np.float64)
            values |= {"boosted": self._boosted(boosted.trees), "boosted_base": base}
            values |= {"boosted_channel": boosted.channel, "boosted_weight": boosted.weight}
        if mixture is not None:
            values |= {name: np.array(part, np.float64) for name, part in mixture._asdict().items()}
        self._set(self.model[0], values)
        self._place = _place(self.model)

    def _set(self, record: Any, values: dict[str, Any]) -> None:
        """Set members of a struct: numbers, and the addresses of arrays, which are kept alive."""
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                self._kept_alive.append(value)
                value = _place(value) if value.dtype.names else address(value)
            record[name] = value

    def _pointers(self, arrays: Sequence[NDArray[Any]]) -> Integers:
        self._kept_alive.extend(arrays)
        return np.array([address(array) for array in arrays], np.int64)

    def _add_structure(self, record: Any, terms: StructureTerms) -> None:
        families, (theta, delta, least) = terms.families, terms.rule
        parts, depths = np.zeros(len(families), _PART), terms.weights.shape[1]
        used = [min(family.tree.depth, depths - 1) for family in families]  # parents
        members = np.array([v for f, n in zip(families, used, strict=True) for v in (f.x, *f.parents[:n])], np.int64)
        cards = np.array([c for f, n in zip(families, used, strict=True) for c in (*f.tree.cards[:n], f.tree.cards[-2])], np.int64)
        weights = np.ascontiguousarray(terms.weights, np.float64)
        tails = np.ascontiguousarray(np.cumsum(weights[:, ::-1], axis=1)[:, ::-1])
        parts["parents"] = used
        starts = np.cumsum(parts["parents"] + 1) - parts["parents"] - 1
        parts["margin"] = [address(family.margin) for family in families]
        parts["levels"] = [address(family.tree.struct) for family in families]
        parts["states"], parts["total"] = [family.states for family in families], terms.total
        parts["members"], parts["cards"] = address(members) + 8 * starts, address(cards) + 8 * starts
        for name, array in (("weights", weights), ("tails", tails)):
            parts[name] = address(array) + 8 * depths * np.arange(len(parts))
        for i in np.flatnonzero(_smallest_product(parts, theta) < 2 * SMALLEST).tolist():
            counts = _place(parts[i : i + 1]), address(families[i].tree.sizes), families[i].tree.cards[-2]
            parts["whole"][i] = self._library.naivete_context_lowest(*counts, theta, delta) < 2 * SMALLEST
        self._kept_alive += [families, members, cards, weights, tails]
        self._set(record, {"parts": parts, "count": len(parts), "bins": self._shared_bins(terms.bins), "channel": terms.channel})
        self._set(record, {"theta": theta, "delta": delta, "least": least})
        self.parts.append(parts)

    def _shared_bins(self, bins: Bins) -> Integers:
        """Return the addresses of bins: the same array for structures with the same bins, whose codes are looked up once."""
        for other, pointers in self._bins:
            if other is bins or all(map(np.array_equal, other, bins)):
                return pointers
        self._bins.append((bins, self._pointers([np.ascontiguousarray(table, np.uint32) for table in bins])))
        return self._bins[-1][1]

    def _add_forest(self, record: Any, terms: ForestTerms) -> None:
        trees, share = np.zeros(len(terms.trees), _TREE), 1.0 / len(terms.trees)
        starts = np.cumsum([0, *(len(nodes) for nodes, _ in terms.trees)])
        nodes = self._tree_nodes(np.concatenate([nodes for nodes, _ in terms.trees]))
        counts = np.concatenate([counts for _, counts in terms.trees]).astype(np.float64, copy=False)
        trees["nodes"], trees["counts"] = address(nodes) + 24 * starts[:-1], address(counts) + 8 * self.classes * starts[:-1]
        weights = np.ascontiguousarray(terms.weights * share)
        tails = np.ascontiguousarray(np.cumsum(weights[:, ::-1], axis=1)[:, ::-1])
        self._kept_alive += [nodes, counts]
        self._set(record, {"trees": trees, "count": len(trees), "m": terms.m, "share": share, "weights": weights, "tails": tails})
        self._set(record, {"sets": len(weights), "channel": terms.channel})
        self._set(record, {"mean_weight": terms.mean_weight, "mean_channel": terms.mean_channel})
        self._trees.append((trees, starts))

    def _tree_nodes(self, nodes: Integers) -> Integers:
        """Return the nodes of trees with the positions of the columns among those by which trees split."""
        result, inner = np.array(nodes, np.int64), nodes[:, 0] >= 0
        result[inner, 0] = self._tree_columns[result[inner, 0]]
        return result

    def _boosted(self, trees: BoostedTrees) -> NDArray[Any]:
        nodes, starts = self._tree_nodes(trees.nodes), np.array(trees.starts, np.int64)
        steps, depths, result = np.empty((len(nodes), 4), np.uint16), np.zeros(len(starts) - 1, np.int64), np.zeros(1, _BOOSTED)
        places = (address(array) for array in (steps, depths))
        require_memory(self._library.naivete_boosted_steps(address(nodes), address(starts), len(depths), self._tree_width, *places))
        values = {"steps": steps, "values": np.ascontiguousarray(trees.values, np.float64), "starts": starts, "depths": depths}
        self._set(result[0], {**values, "count": len(depths), "first": int(self.classes == 2)})
        return result

    def add_context_tables(self) -> None:
        """Make the tables of all structures, so that many rows are predicted faster.

        They are made in copies of the structs, which then replace them: another thread may predict rows meanwhile.
        """
        for i, families in enumerate(self._families):
            self._add_tables_of(i, families)

    def _add_tables_of(self, i: int, families: Sequence[ContextFamily]) -> None:
        """Make the tables of one structure: those of all families in three arrays."""
        library, parts, plans = self._library, self.parts[i].copy(), np.zeros(len(families), _PLAN)
        sizes, structure = self._pointers([family.tree.sizes for family in families]), _place(self._structures[i : i + 1])
        library.naivete_plan_tables(structure, address(sizes), self.classes, _place(plans))
        lengths = np.stack([plans["integers"], plans["numbers"], 2 * (parts["parents"] + 2)], axis=1)
        ends = np.cumsum(lengths, axis=0)
        starts, total = np.ascontiguousarray(ends - lengths), ends[-1].tolist() if len(ends) else [0, 0, 0]
        arrays = np.empty(total[0], np.int32), np.empty(total[1]), np.empty(total[2], np.int64)
        places = _place(parts), _place(plans), address(sizes), self.classes, address(starts), *map(address, arrays)

        def make(part: tuple[int, int]) -> int:
            return int(library.naivete_make_tables(structure, *places, *part))

        work = 8 * self.classes * int(plans["pairs"].sum())
        for status in run_parallel(make, ranges(len(parts), work, 8), work):
            require_memory(status)
        self._kept_alive += [starts, arrays]
        self._set(self._structures[i], {"parts": parts})

    def add_tree_tables(self) -> None:
        """Make the tables of all trees, as `add_context_tables` does."""
        library = self._library
        for i, (before, starts) in enumerate(self._trees):
            trees, sets = before.copy(), int(self._forests[i]["sets"])
            steps, ends = np.empty((int(starts[-1]), 4), np.uint16), np.empty((int(starts[-1]), sets + 1, self.classes))
            structs = self._place, _place(self._forests[i : i + 1]), _place(trees)
            places = *structs, address(starts), address(steps), address(ends)

            def make(part: tuple[int, int], places: tuple[int, ...] = places) -> int:
                return int(library.naivete_forest_tables(*places, *part))

            work = 8 * self.classes * int(starts[-1])
            for status in run_parallel(make, ranges(len(trees), work, 4), work):
                require_memory(status)
            self._kept_alive += [steps, ends]
            self._set(self._forests[i], {"trees": trees})

    def posterior(self, codes: Codes) -> Numbers:
        """Return P(class | row).  # (row, class)"""
        result = np.empty((len(codes[0]), self.classes))
        columns, _kept_alive = columns_struct(codes)

        def fill(part: tuple[int, int]) -> int:
            return int(self._library.naivete_spectrum_posterior(self._place, address(columns), *part, address(result)))

        parts = sum(map(len, self.parts)) + sum(len(trees) for trees, _ in self._trees)
        work = 16 * self.classes * len(result) * parts
        for status in run_parallel(fill, ranges(len(result), work, 4, 64), work):
            require_memory(status)
        return result
