"""The counts of one training set, computed from the counts of the parts of all rows.

They equal the counts of the training rows: the schema of the training rows (the states that occur there, the cut points learned
there) is applied to the counts instead of the rows. All models of an experiment learn from the same counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers, narrowest
from naivete.cases import Block
from naivete.counts.counts import Counts
from naivete.counts.memory_budget import DENSE_CELLS
from naivete.counts.pairs import Pairs, SparsePair
from naivete.counts.tables import CountTable, DenseTable
from naivete.encoding.column_codes import encode
from naivete.evaluation.fold_estimates import FoldEstimates, exact_pseudo_count
from naivete.evaluation.partitioned_counts import PartitionedCounts
from naivete.variables import CLASS, Family, Variable, Variables, state_key

__all__ = ["HeldOutCounts", "SharedCounts"]

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class _TrainingRows:
    """The rows of a training set, encoded only if some learner needs more than counts.

    Parameters
    ----------
    parts : the partitioned counts.
    position : the position of the training set.
    variables : the variables of the training set, the class last.
    """

    parts: PartitionedCounts
    position: int
    variables: Variables

    @property
    def has_missing(self) -> NDArray[np.bool_]:
        """Which features have missing values that are not a state."""
        complete = np.array([v.missing or v.left_out for v in self.variables[:CLASS]])
        return np.asarray(self.parts.has_missing[:, self.position] & ~complete)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.parts.rows[self.position]

    @cached_property
    def block(self) -> Block:
        """The encoded rows."""
        parts, classes = self.parts, self.parts.class_sets[self.position]
        in_part = np.eye(parts.count, dtype=np.int64)[parts.part]  # (row, part)
        train = parts.cases.take(np.flatnonzero(parts.training(in_part)[:, self.position]))
        encoded = encode(train.features, self.variables[:CLASS], unseen=parts.encoder.unseen)
        class_codes = np.zeros(parts.classes, narrowest(len(classes)))
        class_codes[classes] = np.arange(len(classes))
        return Block((*encoded.codes, class_codes[train.labels]), train.weight)

    def map(self, function: Callable[[Block], T]) -> Iterable[T]:
        """Return the function's value for the only block."""
        return [function(self.block)]

    def fold(self, function: Callable[[Block], T], merge: Callable[[T, T], T]) -> T:  # noqa: ARG002
        """Return the function's value for the only block."""
        return function(self.block)


class SharedCounts(Counts):
    """Counts from which several models learn one after the other, with the same results as if each were the first.

    Tables are kept for all models. `dependence`, in contrast, is None for a model that has not asked for pairs itself.
    """

    _dependence: NDArray[np.float64] | None = None
    _pairs_needed = False

    def next_model(self) -> None:
        """Prepare the counts for the next model."""
        self._pairs_needed = False

    @property
    def dependence(self) -> NDArray[np.float64] | None:
        """I(X; Y | C) of all pairs, once the model has asked for them."""
        return self._dependence if self._pairs_needed else None

    @dependence.setter
    def dependence(self, values: NDArray[np.float64] | None) -> None:
        self._dependence = values if self._dependence is None else self._dependence

    def pairs_to_weigh(self) -> Iterator[Pairs | SparsePair]:
        """Yield the tables of all pairs of features with the class; none if their informations are known."""
        self._pairs_needed = True
        return super().pairs_to_weigh() if self._dependence is None else iter(())


class HeldOutCounts(SharedCounts):
    """The counts of one training set, computed from those of the parts where these are small enough to be kept.

    Parameters
    ----------
    parts : the partitioned counts.
    position : the position of the training set.
    estimates : returns the conditional tables of all training sets for a pseudo-count, which models share; None for no sharing.

    Attributes
    ----------
    classes : the classes that occur in the training set, as positions among all classes.
    recoded : for each feature with other states or cut points than in `parts.shared`, the new code of each code, -1 for none.
    """

    def __init__(self, parts: PartitionedCounts, position: int, estimates: Callable[[float], FoldEstimates] | None = None) -> None:
        self.parts, self.position, self._estimates = parts, position, estimates
        self.classes = parts.class_sets[position]
        self._all_classes = len(self.classes) == parts.classes
        features = tuple(variables[position] for variables in parts.variables)
        variables = (*features, Variable(parts.target, tuple(self.classes.tolist())))
        super().__init__(_TrainingRows(parts, position, variables), budget=parts.budget)
        self._shared_families: set[Family] = set()
        codes = {x: _new_codes(parts.shared.variables[x], features[x]) for x in parts.varying}
        self.recoded = {x: new for x, new in codes.items() if new is not None}
        self.relevance = None if self._merges_intervals or parts.relevances is None else parts.relevances[position]

    def tables(self, families: Iterable[Family]) -> dict[Family, CountTable]:
        """Return the table of each family for the training rows."""
        wanted = list(dict.fromkeys(families))
        new = self.uncounted(wanted)
        if new and not self._kept_all(new):
            margins = frozenset(self.margin_families)
            dense = [f for f in new if f in margins or math.prod(self.cards(f)) <= DENSE_CELLS]
            self.check_budget({f: math.prod(self.cards(f)) for f in dense})
            shared = self.parts.tables(_with_class(f) for f in dense)
            for f in dense:
                if _with_class(f) in shared:
                    self._keep(f, shared[_with_class(f)])
        return super().tables(wanted)

    def _kept_all(self, new: Sequence[Family]) -> bool:
        """Keep the tables of these families if the parts have all of them and the budget allows it; return whether it was done."""
        shared = self.parts.tables(f for f in new if f[-1] == CLASS)
        if len(shared) < len(new) or 8 * sum(tables[0].size for tables in shared.values()) > self.budget:
            return False
        for f, tables in shared.items():
            self._keep(f, tables)
        return True

    def _keep(self, f: Family, tables: NDArray[Any]) -> None:
        """Keep the table of this training set, given those of all."""
        table = tables[self.position]
        if f[-1] != CLASS:
            table = self._recode(table, (*f, CLASS)).sum(axis=-1)
        elif self._all_classes and self.recoded.keys().isdisjoint(f):
            self._shared_families.add(f)
        else:
            table = self._recode(table, f)
        self.keep([DenseTable(f, table)])

    def conditional_tables(self, families: Mapping[int, Family], smoothing: object) -> dict[int, Numbers]:
        """Return P(v | the other members of its family) of the variables v with estimates for all training sets."""
        alpha = None if self._estimates is None else exact_pseudo_count(smoothing)
        shared = {v: members for v, members in families.items() if members in self._shared_families}
        if alpha is None or self._estimates is None or not shared:
            return {}
        estimates = self._estimates(alpha)
        return {v: estimates.cpt(members, v)[self.position] for v, members in shared.items()}

    @cached_property
    def codes_are_shared(self) -> bool:
        """Whether the training set has all states and classes and the test rows no missing values, so that codes are the same."""
        if self.recoded or not self._all_classes:
            return False
        missing = np.flatnonzero(self.parts.missing[:, self.position]).tolist()
        return all(self.variables[x].missing or self.variables[x].left_out for x in missing)

    def pairs_to_weigh(self) -> Iterator[Pairs | SparsePair]:
        """Yield the tables of all pairs of features with the class; none if their informations are known for all training sets."""
        if self._dependence is None and not self._merges_intervals and self.parts.dependences is not None:
            self._dependence = self.parts.dependences[self.position]
        return super().pairs_to_weigh()

    @property
    def _merges_intervals(self) -> bool:
        """Whether intervals are merged, which changes informations; a state that does not occur changes none."""
        return any(self.variables[x].numeric for x in self.recoded)

    def _recode(self, table: NDArray[Any], members: Family) -> NDArray[Any]:
        """Return a table of the shared variables as one of the variables of this training set."""
        if not self._all_classes:
            table = np.ascontiguousarray(table[..., self.classes])  # contiguous: sums then run in the order of counted tables
        for axis, x in enumerate(members[:-1]):
            if x in self.recoded:
                table = self._recode_axis(table, axis, x)
        return table

    def _recode_axis(self, table: NDArray[Any], axis: int, x: int) -> NDArray[Any]:
        codes = self.recoded[x]
        recoded = np.zeros((*table.shape[:axis], self.variables[x].card, *table.shape[axis + 1 :]), table.dtype)
        kept = np.flatnonzero(codes >= 0)
        target: Any = (*(slice(None),) * axis, codes[kept])
        np.add.at(recoded, target, np.take(table, kept, axis=axis))
        return recoded


def _with_class(members: Family) -> Family:
    return members if members[-1] == CLASS else (*members, CLASS)


def _new_codes(fine: Variable, coarse: Variable) -> NDArray[np.int64] | None:
    """Return the code in a coarser variable of each code of a finer one, -1 where it has none; None if all codes are the same."""
    if fine is coarse or fine == coarse:
        return None
    if fine.cuts is not None:
        known = np.searchsorted(np.array(coarse.cuts), np.array([*fine.cuts, np.inf]), side="left").astype(np.int64)
    else:
        position = {state_key(s): i for i, s in enumerate(coarse.states)}
        known = np.array([position.get(state_key(s), -1) for s in fine.states], np.int64)
    missing = [coarse.known if coarse.missing else -1] if fine.missing else []
    other = [coarse.known + coarse.missing if coarse.other else -1] if fine.other else []
    return np.concatenate([known, np.array([*missing, *other], np.int64)])
