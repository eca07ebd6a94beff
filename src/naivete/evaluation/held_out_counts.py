"""The counts of one training set, made of the counts of the parts of all rows.

They are exactly those that counting the training rows gives: the schema of the training rows (states that occur there, cut points
learned there) is applied to the counts instead of the rows. Every model of an experiment learns from the same counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import narrowest
from naivete.cases import Block
from naivete.counts.counts import Counts
from naivete.counts.memory_budget import DENSE_CELLS
from naivete.counts.pairs import Pairs, SparsePair
from naivete.counts.tables import CountTable, DenseTable
from naivete.encoding.column_codes import encode
from naivete.encoding.value_counts import state_key
from naivete.evaluation.partitioned_counts import Parts
from naivete.variables import CLASS, Family, Variable, Variables

__all__ = ["HeldOut", "Shared"]

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class _TrainingRows:
    """The rows of a training set, whose codes are made only where counts do not tell enough."""

    parts: Parts
    at: int
    variables: Variables

    @property
    def gaps(self) -> NDArray[np.bool_]:
        """Which features have missing values."""
        return np.asarray(self.parts.gaps[:, self.at] & ~np.array([v.missing for v in self.variables[:CLASS]]))

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.parts.rows[self.at]

    @cached_property
    def block(self) -> Block:
        """All rows."""
        parts, classes = self.parts, self.parts.class_sets[self.at]
        chosen = np.eye(parts.count, dtype=np.int64)[parts.part]  # (row, part)
        own = parts.cases.take(np.flatnonzero(parts.training(chosen)[:, self.at]))
        encoded = encode(own.features, self.variables[:CLASS], unseen=parts.encoder.unseen)
        position = np.zeros(parts.classes, narrowest(len(classes)))
        position[classes] = np.arange(len(classes))
        return Block((*encoded.codes, position[own.labels]), own.weight)

    def map(self, function: Callable[[Block], T]) -> Iterable[T]:
        """The function's value for the block."""
        return [function(self.block)]

    def fold(self, function: Callable[[Block], T], merge: Callable[[T, T], T]) -> T:  # noqa: ARG002
        """The function's value for the block; nothing to merge."""
        return function(self.block)


class Shared(Counts):
    """Counts that several models learn from one after the other, each as if it were the first.

    What a model asks for stays; but `dependence` is there only for a model that has asked for pairs itself.
    """

    _bits: NDArray[np.float64] | None = None
    _asked = False

    def anew(self) -> None:
        """The next model comes."""
        self._asked = False

    @property
    def dependence(self) -> NDArray[np.float64] | None:
        """I(X; Y | C) of all pairs, once the model has asked for them."""
        return self._bits if self._asked else None

    @dependence.setter
    def dependence(self, found: NDArray[np.float64] | None) -> None:
        self._bits = found if self._bits is None else self._bits

    def pairs_to_weigh(self) -> Iterator[Pairs | SparsePair]:
        """The tables of all pairs of features with the class; none where their informations are known."""
        self._asked = True
        return super().pairs_to_weigh() if self._bits is None else iter(())


class HeldOut(Shared):
    """The counts of one training set, made of the counts of the parts where these are small enough to keep.

    Parameters
    ----------
    parts : the rows.
    at : which training set.
    """

    def __init__(self, parts: Parts, at: int) -> None:
        self.parts, self.at = parts, at
        self.classes = parts.class_sets[at]
        self._whole = len(self.classes) == parts.classes
        features = tuple(own[at] for own in parts.variables)
        variables = (*features, Variable(parts.target, tuple(self.classes.tolist())))
        super().__init__(_TrainingRows(parts, at, variables), budget=parts.budget)
        self.plain_tables: dict[int, tuple[Family, NDArray[Any]]] = {}
        luts = {x: _lut(parts.shared.variables[x], features[x]) for x in parts.unsteady}
        self.moved = {x: lut for x, lut in luts.items() if lut is not None}
        self.relevance = None if self._joins or parts.relevances is None else parts.relevances[at]

    def tables(self, families: Iterable[Family]) -> dict[Family, CountTable]:
        """The table of each family for the training rows."""
        wanted = list(dict.fromkeys(families))
        new = [f for f in wanted if f not in self._kept]
        if not new or self._taken(new):
            return {f: self._kept[f] for f in wanted}
        dense = [f for f in new if f in self._margins or math.prod(self.cards(f)) <= DENSE_CELLS]
        self.check_budget({f: math.prod(self.cards(f)) for f in dense})
        found = self.parts.tables(_with_class(f) for f in dense)
        for f in dense:
            if _with_class(f) in found:
                self._keep(f, found[_with_class(f)])
        return super().tables(wanted)

    def _taken(self, new: Sequence[Family]) -> bool:
        """Keep the tables of these families if the parts have all of them and the budget allows them; whether they were kept."""
        found = self.parts.tables(f for f in new if f[-1] == CLASS)
        if len(found) < len(new) or 8 * sum(tables[0].size for tables in found.values()) > self.budget:
            return False
        for f, tables in found.items():
            self._keep(f, tables)
        return True

    def _keep(self, f: Family, tables: NDArray[Any]) -> None:
        """Keep the table of this training set of those of all."""
        if f[-1] != CLASS:
            self.keep([DenseTable(f, self._own(tables[self.at], (*f, CLASS)).sum(axis=-1))])
        elif self._whole and self.moved.keys().isdisjoint(f):
            table = tables[self.at]
            self.keep([DenseTable(f, table)])
            self.plain_tables[id(table)] = f, table  # no other array can have this identity while this one is kept
        else:
            self.keep([DenseTable(f, self._own(tables[self.at], f))])

    @cached_property
    def plain(self) -> bool:
        """Whether this training set has all states and classes, and its test rows all values: their codes are the shared ones."""
        if self.moved or not self._whole:
            return False
        missing = np.flatnonzero(self.parts.missing[:, self.at]).tolist()
        return all(self.variables[x].missing for x in missing)

    def pairs_to_weigh(self) -> Iterator[Pairs | SparsePair]:
        """The tables of all pairs of features with the class; none where their informations are known for all training sets."""
        if self._bits is None and not self._joins and self.parts.dependences is not None:
            self._bits = self.parts.dependences[self.at]
        return super().pairs_to_weigh()

    @property
    def _joins(self) -> bool:
        """Whether intervals are joined; a state that is left out, in contrast, adds nothing to any information."""
        return any(self.variables[x].numeric for x in self.moved)

    def _own(self, table: NDArray[Any], members: Family) -> NDArray[Any]:
        """A table of the shared variables as one of the variables of this training set."""
        if not self._whole:
            table = np.ascontiguousarray(table[..., self.classes])  # so that sums go in the order they have for counted tables
        for axis, x in enumerate(members[:-1]):
            if x in self.moved:
                table = self._regrouped(table, axis, x)
        return table

    def _regrouped(self, table: NDArray[Any], axis: int, x: int) -> NDArray[Any]:
        lut = self.moved[x]
        moved = np.zeros((*table.shape[:axis], self._cards[x], *table.shape[axis + 1 :]), table.dtype)
        there = np.flatnonzero(lut >= 0)
        at: Any = (*(slice(None),) * axis, lut[there])
        np.add.at(moved, at, np.take(table, there, axis=axis))
        return moved


def _with_class(members: Family) -> Family:
    return members if members[-1] == CLASS else (*members, CLASS)


def _lut(whole: Variable, own: Variable) -> NDArray[np.int64] | None:
    """Where each code of one variable goes in another that tells less apart, -1 where nowhere; None where all stay."""
    if whole is own or whole == own:
        return None
    if whole.cuts is not None:
        known = np.searchsorted(np.array(own.cuts), np.array([*whole.cuts, np.inf]), side="left").astype(np.int64)
    else:
        position = {state_key(s): i for i, s in enumerate(own.states)}
        known = np.array([position.get(state_key(s), -1) for s in whole.states], np.int64)
    missing = [own.known if own.missing else -1] if whole.missing else []
    other = [own.known + own.missing if own.other else -1] if whole.other else []
    return np.concatenate([known, np.array([*missing, *other], np.int64)])
