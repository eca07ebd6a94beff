"""The counts of every training set of a cross-validation, from one count of all rows: what is held out is subtracted.

All rows are counted once with the fold as a part of the class. The counts of all folds but one are then a difference, and exactly
those that counting the training rows gives: the schema of the fold (states that occur in training, cut points learned there) is
applied to the counts instead of the rows. Every model of the experiment learns from the same counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from naivete.cases import Block, MemoryCases
from naivete.counts import BUDGET, Counts, SparseTable, Table
from naivete.encoding import Encoded, Encoder, encode
from naivete.information import informations
from naivete.labelled import Labelled
from naivete.tallies import Tallies, Tally, narrowest
from naivete.variables import CLASS, Family, State, Variable, Variables

__all__ = ["Folds", "HeldOut"]

T = TypeVar("T")


class Folds:
    """Rows divided into folds, counted once.

    Parameters
    ----------
    cases : the cases; weights, where there are any, are whole numbers.
    fold : the fold of every row.
    count : how many folds there are.
    encoder : how columns become states, in every fold.
    """

    def __init__(self, cases: Labelled, fold: NDArray[np.int64], count: int, encoder: Encoder) -> None:
        self.cases, self.fold, self.count, self.encoder = cases, fold, count, encoder
        self.classes = len(cases.classes)
        composite = cases.labels * count + fold
        self.labels = composite.astype(narrowest(self.classes * count))
        self.tallies = encoder.tallied(cases.features, self.labels, range(self.classes * count), cases.weight)

    @staticmethod
    def can_divide(cases: Labelled) -> bool:
        """Whether differences are exact: weights are whole numbers."""
        return cases.weight is None or bool(np.all(cases.weight == np.floor(cases.weight)))

    @cached_property
    def exact(self) -> bool:
        """Whether tallies can be subtracted: no column was put into cells."""
        return not any(tally.level for tally in self.tallies.columns)

    def training(self, at: int) -> Tallies:
        """The tallies of all folds but one; its classes are those that occur there."""
        weights = {q: _less(part, self.classes, self.count, at) for q, part in self.tallies.weights.items()}
        there = np.flatnonzero(np.logical_or.reduce([part != 0 for part in weights.values()]))
        columns = tuple(self._held(tally, at, there) for tally in self.tallies.columns)
        rows = len(self.fold) - int(np.count_nonzero(self.fold == at))
        return Tallies(tuple(there.tolist()), {q: part[there] for q, part in weights.items()}, columns, rows)

    def _held(self, tally: Tally, at: int, there: NDArray[np.int64]) -> Tally:
        from dataclasses import replace

        weights = {q: _less(part, self.classes, self.count, at)[:, there] for q, part in tally.weights.items()}
        missing = {q: _less(part, self.classes, self.count, at)[there] for q, part in tally.missing.items()}
        return replace(tally, weights=weights, missing=missing).trimmed()

    def held_out(self, budget: int = BUDGET) -> list[HeldOut]:
        """The counts of every training set; each names what its own test rows are."""
        schemas = [(tallies.classes, self.encoder.schema(tallies)) for tallies in map(self.training, range(self.count))]
        whole = self._whole([features for _, features in schemas])
        encoded = encode(self.cases.features, whole[:CLASS], unseen=self.encoder.unseen)
        block = Block((*encoded.codes, self.labels), self.cases.weight)
        shared = Counts(MemoryCases(whole, block, encoded.gaps), budget=budget)
        return [HeldOut(self, shared, at, *schema) for at, schema in enumerate(schemas)]

    def _whole(self, schemas: Sequence[tuple[Variable, ...]]) -> Variables:
        """Variables of which those of every fold are made by leaving out states or joining intervals; the class has the fold."""
        features = tuple(_joined(own) for own in zip(*schemas, strict=True))
        return *features, Variable(self.cases.target, tuple(range(self.classes * self.count)))


def _less(part: NDArray[Any], classes: int, folds: int, at: int) -> NDArray[Any]:
    """Counts whose last axis is class and fold, without one of the folds.  # (..., class)"""
    split = part.reshape(*part.shape[:-1], classes, folds)
    return np.asarray(split.sum(axis=-1) - split[..., at])


def _joined(own: Sequence[Variable]) -> Variable:
    """A variable that can tell apart whatever one of these can."""
    first = own[0]
    if all(variable == first for variable in own):
        return first
    missing, other = any(v.missing for v in own), any(v.other for v in own)
    if any(v.numeric for v in own):
        cuts = sorted({cut for v in own for cut in v.cuts or ()})
        return Variable(first.name, cuts=tuple(cuts), missing=missing, other=other)
    states: dict[tuple[bool, State], State] = {(isinstance(s, bool), s): s for v in own for s in v.states}
    return Variable(first.name, tuple(states.values()), missing=missing, other=other)


class HeldOut(Counts):
    """The counts of all rows but those of one fold, by subtraction.

    Parameters
    ----------
    folds : the rows.
    shared : the counts of all rows, whose class has the fold.
    at : the fold that is held out.
    classes : the classes that occur in training, as positions among all.
    features : the schema of the training rows.
    """

    def __init__(self, folds: Folds, shared: Counts, at: int, classes: tuple[State, ...], features: tuple[Variable, ...]) -> None:
        self.folds, self.shared, self.at = folds, shared, at
        self.classes = np.array(classes, np.int64)
        self._variables: Variables = (*features, Variable(folds.cases.target, classes))
        self._cards = tuple(v.card for v in self._variables)
        self.budget, self.passes = shared.budget, 0
        self.relevance = None
        self._kept: dict[Family, Table] = {}
        self._known = None
        self._dependence: NDArray[np.float64] | None = None

    @property
    def variables(self) -> Variables:
        """The variables of the training rows."""
        return self._variables

    @cached_property
    def cases(self) -> MemoryCases:  # type: ignore[override]
        """The training rows themselves, for what counts of them do not tell."""
        rows = np.flatnonzero(self.folds.fold != self.at)
        own = self.folds.cases.take(rows)
        encoded = encode(own.features, self.variables[:CLASS], unseen=self.folds.encoder.unseen)
        position = np.full(self.folds.classes, -1)
        position[self.classes] = np.arange(len(self.classes))
        labels = position[own.labels].astype(narrowest(len(self.classes)))
        return MemoryCases(self.variables, Block((*encoded.codes, labels), own.weight), encoded.gaps)

    @cached_property
    def test(self) -> Labelled:
        """The rows that are held out."""
        return self.folds.cases.take(np.flatnonzero(self.folds.fold == self.at))

    @cached_property
    def test_codes(self) -> Encoded:
        """Their codes by the schema of the training rows."""
        return encode(self.test.features, self.variables[:CLASS], unseen=self.folds.encoder.unseen)

    @property
    def dependence(self) -> NDArray[np.float64] | None:
        """I(X; Y | C) of the training rows, where no regrouping is needed to find it."""
        if self._dependence is None and all(lut is None for lut in self._luts):
            self._dependence = informations(self._tables_of_pairs(), self)
        return self._dependence

    @dependence.setter
    def dependence(self, found: NDArray[np.float64] | None) -> None:
        self._dependence = found

    def _tables_of_pairs(self) -> Iterable[Any]:
        from dataclasses import replace

        for pairs in self.folds_pairs:
            yield replace(pairs, made=lambda own=pairs: self._subtracted(own.tables))

    @property
    def folds_pairs(self) -> list[Any]:
        """The tables of all pairs of all rows, counted once for all folds."""
        kept = self.shared.__dict__.get("kept_pairs")
        if kept is None:
            kept = self.shared.__dict__["kept_pairs"] = list(self.shared.pairs())
        return list(kept)

    @cached_property
    def _luts(self) -> list[NDArray[np.int64] | None]:
        """For every feature where each of its codes in the shared counts goes, -1 where nowhere; None where it stays."""
        pairs = zip(self.shared.variables[:CLASS], self.variables[:CLASS], strict=True)
        return [None if whole == own else _lut(whole, own) for whole, own in pairs]

    def tables(self, families: Iterable[Family]) -> dict[Family, Table]:
        """The table of each family for the training rows."""
        wanted = list(dict.fromkeys(families))
        new = [f for f in wanted if f not in self._kept]
        with_class = {f: f if f[-1] == CLASS else (*f, CLASS) for f in new}
        counted = self.shared.tables(with_class.values()) if new else {}
        honest = [f for f in new if isinstance(counted[with_class[f]], SparseTable)]
        for f in new:
            table = counted[with_class[f]]
            if isinstance(table, np.ndarray):
                own = self._subtracted(self._regrouped(table, with_class[f]))
                self._kept[f] = own if f[-1] == CLASS else own.sum(axis=-1)
        if honest:
            self._kept |= Counts(self.cases, budget=self.budget).tables(honest)
        return {f: self._kept[f] for f in wanted}

    def _subtracted(self, table: NDArray[Any]) -> NDArray[Any]:
        own = _less(table, self.folds.classes, self.folds.count, self.at)
        return own if len(self.classes) == self.folds.classes else own[..., self.classes]

    def _regrouped(self, table: NDArray[Any], members: Family) -> NDArray[Any]:
        for axis, x in enumerate(members):
            lut = self._luts[x] if x != CLASS else None
            if lut is not None:
                moved = np.zeros((*table.shape[:axis], self._cards[x], *table.shape[axis + 1 :]), table.dtype)
                there = np.flatnonzero(lut >= 0)
                at: Any = (*(slice(None),) * axis, lut[there])
                np.add.at(moved, at, np.take(table, there, axis=axis))
                table = moved
        return table

    def map(self, function: Callable[[Block], T]) -> Iterable[T]:
        """One pass over the training rows."""
        self.passes += 1
        return self.cases.map(function)

    def fold(self, function: Callable[[Block], T], merge: Callable[[T, T], T]) -> T:
        """One pass over the training rows."""
        self.passes += 1
        return self.cases.fold(function, merge)


def _lut(whole: Variable, own: Variable) -> NDArray[np.int64]:
    """Where each code of one variable goes in another that tells less apart."""
    if whole.cuts is not None:
        assert own.cuts is not None
        inner = np.searchsorted(np.array(own.cuts), np.array([*whole.cuts, np.inf]), side="left")
        known = inner.astype(np.int64)
    else:
        position = {(isinstance(s, bool), s): i for i, s in enumerate(own.states)}
        known = np.array([position.get((isinstance(s, bool), s), -1) for s in whole.states], np.int64)
    missing = [own.known if own.missing else -1] if whole.missing else []
    other = [own.known + own.missing if own.other else -1] if whole.other else []
    return np.concatenate([known, np.array([*missing, *other], np.int64)])
