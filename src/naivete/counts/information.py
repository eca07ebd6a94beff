"""Entropies and informations of tables, in bits, and those of all features at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import combinations, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels import run_parallel, threads
from naivete._kernels.codes import Numbers
from naivete.counts.counts import Counts, Table
from naivete.counts.moments import normal_dependence, normal_relevance
from naivete.counts.pairs import Pairs, SparsePair
from naivete.counts.sparse_tables import SparseTable
from naivete.variables import CLASS

__all__ = [
    "arc_information",
    "conditional_information",
    "dependence",
    "entropy",
    "information",
    "informations",
    "relevance",
    "selection_information",
]


SCALE = 2.0**56
GRID = 2.0**44
TABULATED = 1 << 20
TILE = 512


def entropy(table: NDArray[Any]) -> float:
    """H of the variables of a table of counts, in bits.

    >>> entropy(np.array([1, 1, 2]))
    1.5
    """
    return -float(_Logs(table.sum()).sums(table.reshape(1, -1))[0]) / SCALE


def information(table: NDArray[Any]) -> float:
    """I(X; Y) in bits from counts with the axes X and Y.

    >>> information(np.array([[2, 0], [0, 2]]))
    1.0
    """
    return conditional_information(table[:, :, None])


def conditional_information(table: NDArray[Any]) -> float:
    """I(X; Y | Z) in bits from counts with the axes X, Y and Z.

    >>> conditional_information(np.array([[[1, 1], [1, 1]], [[1, 1], [1, 1]]]))
    0.0
    """
    return max(0.0, float(_informations(_Logs(table.sum()), table[None, None])[0, 0]))


def selection_information(tables: Table, total: Any, *, alone: int | None = None) -> Numbers:
    """I(X; C | Z), H(X | Z) and H(X, C | Z) in bits, each over the cases that know X and Z.  # (measure, table)

    Parameters
    ----------
    tables : counts with the axes (table, X, C, Z), or a single sparse table over X, Z and C.
    total : the weight of all cases.
    alone : the last state of Z, where it stands for cases of which no two agree: they count, but tell nothing.

    >>> selection_information(np.array([[[[1, 1, 1], [0, 1, 1]], [[0, 1, 0], [1, 1, 0]]]]), 8)[:, 0].tolist()
    [0.25, 0.75, 1.5]
    """
    logs = _Logs(total)
    if isinstance(tables, SparseTable):
        cases, sums = tables.counts.sum(keepdims=True)[0], _sparse_sums(tables, alone)
    else:
        n, cases = tables[..., :alone], tables.reshape(len(tables), -1).sum(axis=1)
        both, other = n.sum(axis=2), n.sum(axis=1)
        sums = (n, both, other, other.sum(axis=1))
    every, within, classes, given = (logs.terms(part).reshape(len(part), -1).sum(axis=1) for part in sums)
    share = np.asarray(cases, np.float64) / logs.total
    found = np.stack([every - within - classes + given, given - within, given - every]) / SCALE
    return _settled(found / np.where(share > 0, share, 1.0))


def _sparse_sums(table: SparseTable, alone: int | None) -> tuple[NDArray[Any], ...]:
    """The counts of a sparse table over (x, z) with the class: of all cells, without the class, without x, of z alone."""
    states = table.configurations[:, 1]
    own = np.ones(len(states), bool) if alone is None else states != alone
    counts, totals = table.counts[own], _summed_by(states[own], table.counts[own])
    return counts[None], counts.sum(axis=1)[None], totals[None], totals.sum(axis=1)[None]


def relevance(counts: Counts) -> Numbers:
    """I(X; C) of every feature with the class, in bits, over the rows where the feature is known; of numbers that are not cut, as
    if they were normal in each class and over all.

    The values are rounded to 2**-44 bit, so that informations which are equal but for rounding are equal.
    """
    if counts.relevance is None:
        margins = counts.margins()
        logs = _Logs(margins[CLASS,].sum())
        values = np.zeros(len(counts.features))
        for features, tables in _by_shape(counts):
            values[features] = _informations(logs, tables[:, None, :, :, None])[:, 0]
        numbers = [x for x in counts.features if counts.variables[x].density]
        for x, moments in counts.moments(numbers, (CLASS,)).items():
            values[x] = normal_relevance(moments)
        counts.relevance = _settled(values)
    return counts.relevance


def _by_shape(counts: Counts) -> Iterator[tuple[list[int], NDArray[Any]]]:
    """The tables of the features with the class, those of one shape together.  # (feature, x, class)"""
    groups: dict[int, list[int]] = {}
    for x in counts.features:
        groups.setdefault(counts.variables[x].card, []).append(x)
    margins = counts.margins()
    for features in groups.values():
        yield features, np.stack([margins[x, CLASS] for x in features])


def dependence(counts: Counts) -> Numbers:
    """I(X; Y | C) of every pair of features given the class, in bits, a symmetric matrix with a zero diagonal.

    Numbers that are not cut are taken as normal in each class; a number and a column of states as independent.

    Each pair is judged on the rows where both are known. The values are rounded to 2**-44 bit, so that informations which are
    equal but for rounding are equal, whatever the order of rows and states.
    """
    if counts.dependence is None:
        counts.dependence = informations(counts.pairs_to_weigh(), counts)
        numbers = [x for x in counts.features if counts.variables[x].density]
        if len(numbers) > 1:
            counts.dependence[np.ix_(numbers, numbers)] = _settled(_number_dependence(counts, numbers))
    return counts.dependence


def _number_dependence(counts: Counts, numbers: Sequence[int]) -> Numbers:
    """I(X; Y | C) of pairs of numbers that are normal in each class, each pair on the rows where both are known."""
    if not counts.cases.gaps[list(numbers)].any():
        return normal_dependence(counts.scatters([numbers], (CLASS,))[0])
    pairs = list(combinations(range(len(numbers)), 2))
    found = np.zeros((len(numbers), len(numbers)))
    scatters = counts.scatters([(numbers[i], numbers[j]) for i, j in pairs], (CLASS,))
    for (i, j), scatter in zip(pairs, scatters, strict=True):
        found[i, j] = found[j, i] = normal_dependence(scatter)[0, 1]
    return found


def informations(pairs: Iterable[Pairs | SparsePair], counts: Counts) -> Numbers:
    """I(X; Y | C) of these pairs of the features of these counts, as `dependence` has it of all of them."""
    n, every = len(counts.features), iter(pairs)
    some = list(islice(every, 8 * threads()))  # refused here where there is not enough room
    matrix = np.zeros((n, n))
    context: _Context | None = None
    while some:
        context = context or _Context(counts)  # the margins come with the first pairs
        run_parallel(partial(_fill, matrix, context), some)
        some = list(islice(every, 8 * threads()))
    _mirror(matrix)
    return matrix


def _mirror(matrix: Numbers) -> None:
    """Make a matrix symmetric that has one of each two opposite cells, the other being zero; in tiles, for the cache."""
    tiles = [slice(at, at + TILE) for at in range(0, len(matrix), TILE)]

    def turn(row: int) -> None:
        for column in range(row, len(tiles)):
            one, two = (tiles[row], tiles[column]), (tiles[column], tiles[row])
            both = matrix[one] + matrix[two].T
            matrix[one], matrix[two] = both, both.T

    run_parallel(turn, range(len(tiles)), matrix.size)


def arc_information(counts: Counts, arcs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], float]:
    """I(X; Y | C) of these arcs, in bits, where `dependence` has been asked for; nothing is counted for it."""
    known = counts.dependence
    return {} if known is None else {(p, x): float(known[p, x]) for p, x in arcs}


class _Context:
    """What the informations of pairs without gaps share: the terms of the features with the class, and of the class."""

    def __init__(self, counts: Counts) -> None:
        margins = counts.margins()
        self.logs = _Logs(margins[CLASS,].sum())
        self.alone = np.zeros(len(counts.features), np.int64)
        for features, tables in _by_shape(counts):
            self.alone[features] = self.logs.terms(tables).sum(axis=(1, 2))
        self.classes = int(self.logs.terms(margins[CLASS,]).sum())


def _fill(matrix: Numbers, context: _Context, pairs: Pairs | SparsePair) -> None:
    """Write the informations of some pairs, on one side of the diagonal."""
    if isinstance(pairs, SparsePair):
        matrix[pairs.first, pairs.second] = _settled(np.array(_of_occurring(pairs, context)))
        return
    if pairs.complete:
        cells = context.logs.sums(pairs.tables)
        cells -= context.alone[pairs.first][:, None]
        cells -= context.alone[pairs.second] - context.classes
        values = cells / SCALE
    else:
        values = _informations(context.logs, pairs.tables)
    if pairs.first[0] == pairs.second[0]:
        square = values[:, : len(pairs.first)]
        square *= np.arange(len(pairs.first)) > np.arange(len(pairs.first))[:, None]
    matrix[_across(pairs.first, pairs.second)] = _settled(values)


def _across(first: NDArray[np.int64], second: NDArray[np.int64]) -> Any:
    """The index of a submatrix, by slices where the features are neighbours."""
    if all(own[-1] - own[0] == len(own) - 1 for own in (first, second)):
        return tuple(slice(int(own[0]), int(own[-1]) + 1) for own in (first, second))
    return np.ix_(first, second)


def _of_occurring(pair: SparsePair, context: _Context) -> float:
    """I(X; Y | C) from the configurations that occur: the same whole numbers as from a full table, whose other cells add zero."""
    logs, x, y = context.logs, pair.first, pair.second
    cells = logs.total_of(pair.counts)
    if pair.complete:
        return float((cells - context.alone[x] - context.alone[y] + context.classes) / SCALE)
    own, other = (_summed_by(states, pair.counts) for states in pair.configurations.T)
    classes = own.sum(axis=0)
    share = float(classes.sum()) / logs.total
    parts = cells - logs.total_of(own) - logs.total_of(other) + logs.total_of(classes)
    return float(parts / SCALE / (share if share > 0 else 1.0))


def _summed_by(states: NDArray[np.int32], counts: NDArray[Any]) -> NDArray[Any]:
    """The counts of each state.  # (state, class)"""
    table = np.zeros((int(states.max(initial=0)) + 1, counts.shape[1]), counts.dtype)
    np.add.at(table, states, counts)
    return table


def _informations(logs: _Logs, tables: NDArray[Any]) -> Numbers:
    """I(X; Y | Z) of tables (i, j, x, y, z), each over its own cases."""
    x, y = tables.sum(axis=3), tables.sum(axis=2)
    z = x.sum(axis=2)
    share = np.asarray(z.sum(axis=2), np.float64) / logs.total
    parts = logs.sums(tables) - logs.sums(x) - logs.sums(y) + logs.sums(z)
    return parts / SCALE / np.where(share > 0, share, 1.0)


def _settled(values: Numbers) -> Numbers:
    """The values rounded to the grid, in place; what rounding left below zero is zero."""
    values *= GRID
    np.rint(values, out=values)
    values /= GRID
    return np.maximum(values, 0.0, out=values)


class _Logs:
    """p log2 p of counts as whole multiples of 2**-56, whose sums do not depend on their order.

    Sums of these for a table, less those of its margins, are informations: the total cancels. Counts below a limit are looked
    up, others computed.
    """

    def __init__(self, total: Any) -> None:
        self.total = max(float(total), np.finfo(float).tiny)
        self.most = int(total) if isinstance(total, (int, np.integer)) and total <= TABULATED else None

    @cached_property
    def _table(self) -> NDArray[np.int64]:
        return self._computed(np.arange((self.most or 0) + 1))

    def _computed(self, counts: NDArray[Any]) -> NDArray[np.int64]:
        p = np.ascontiguousarray(counts, np.float64) / self.total
        return np.rint(p * np.log2(np.where(p > 0, p, 1.0)) * SCALE).astype(np.int64)

    def terms(self, counts: NDArray[Any]) -> NDArray[np.int64]:
        """p log2 p of every count: looked up where there are more of them than possible values, else computed."""
        return self._table.take(counts) if self.most is not None and counts.size > self.most else self._computed(counts)

    def total_of(self, counts: NDArray[Any]) -> np.int64:
        """The sum of the terms of all counts."""
        return np.int64(self.terms(counts).sum())

    def sums(self, tables: NDArray[Any]) -> NDArray[np.int64]:
        """The sum of the terms of each table; the first two axes say which, or only the first of a plain list."""
        lead = min(2, tables.ndim - 1)
        cells = np.moveaxis(tables, range(lead), range(-lead, 0)).reshape(-1, *tables.shape[:lead])
        if self.most is None or cells.size <= self.most or len(cells) > cells[0].size:
            return np.asarray(self.terms(cells).sum(axis=0))
        total: NDArray[np.int64] = self._table.take(cells[0], mode="clip")
        for cell in cells[1:]:
            total += self._table.take(cell, mode="clip")
        return total
