"""What a file declares -> a network: everything checked once, errors with the line, nothing made that was not there."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from naivete.errors import DataError, NaiveteWarning, ParameterError, close_matches, quoted, warn
from naivete.network.formats.identifiers import legal, plain, spelled
from naivete.network.formats.nodes import check_cells
from naivete.network.formats.notes import KEY, Malformed, Note, understood
from naivete.network.graphs import topological
from naivete.network.network import Network
from naivete.variables import CLASS, Name, Variable, family

__all__ = ["Declaration", "Definition", "Draft", "Fill", "flat", "network_of"]

Fill = Callable[[tuple[int, ...], Sequence[Sequence[str]]], NDArray[np.float64]]
"""The shape of a table (parents in their order, variable) and the states of the parents -> the table."""

_EXACT: Final = 1e-9
"""How far from 1 the sum of a distribution may be in a network."""
_AXES: Final = 60
_NUMBERED: Final = re.compile(r"_[0-9]+")


@dataclass(frozen=True)
class Declaration:
    """A variable as a file declares it: its name and states there, its line, and the note of this library if it has one."""

    name: str
    states: tuple[str, ...]
    line: int
    note: str = ""


@dataclass(frozen=True)
class Definition:
    """The table of a variable as a file has it: whose, given which parents, in which line, and how it is filled."""

    name: str
    parents: tuple[str, ...]
    line: int
    fill: Fill


class Draft:
    """What was read of a file so far.

    Parameters
    ----------
    where : what errors call the file.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        self.declared: dict[str, Declaration] = {}
        self.defined: dict[str, Definition] = {}

    def error(self, line: int, problem: str) -> DataError:
        """The error of a line."""
        return DataError(f"{self.where}:{line}: {problem}")

    def declare(self, found: Declaration) -> None:
        """Add a variable; refuse one that is there already, and states that cannot be told apart."""
        if found.name in self.declared:
            raise self.error(found.line, f"the variable {quoted(found.name)} is declared twice")
        if not found.states:
            raise self.error(found.line, f"the variable {quoted(found.name)} has no states")
        if len(set(found.states)) < len(found.states):
            raise self.error(found.line, f"the variable {quoted(found.name)} has a state twice")
        self.declared[found.name] = found

    def define(self, found: Definition) -> None:
        """Add a table; refuse a second one for the same variable."""
        if found.name in self.defined:
            raise self.error(found.line, f"the variable {quoted(found.name)} has two tables")
        self.defined[found.name] = found


def flat(values: NDArray[np.float64] | None, error: Callable[[str], DataError]) -> Fill:
    """A table from its numbers, the variable itself changing fastest, then its last parent.

    Parameters
    ----------
    values : the numbers, None where something else stood among them.
    error : makes the error of a problem.

    >>> flat(np.array([0.5, 0.5, 0.25, 0.75]), DataError)((2, 2), [["a", "b"]]).tolist()
    [[0.5, 0.5], [0.25, 0.75]]
    """

    def fill(shape: tuple[int, ...], _: Sequence[Sequence[str]]) -> NDArray[np.float64]:
        if values is None:
            raise error("something that is not a number stands in the table")
        if len(values) != math.prod(shape):
            raise error(f"{len(values)} numbers in a table of {' x '.join(map(str, shape))} = {math.prod(shape)} cells")
        return values.reshape(shape)

    return fill


def network_of(draft: Draft, target: Name = None, tolerance: float = 1e-6) -> Network:
    """The network that a file describes.

    Parameters
    ----------
    draft : what was read.
    target : the name of the class; by default the one that the file marks, else the last variable.
    tolerance : how far from 1 a distribution of two states may sum, with n states n/2 times as far, as rounded digits add up;
        one that is off by more than 1e-9 is divided by its sum, with a warning.
    """
    if not draft.declared:
        raise DataError(f"{draft.where}: there are no variables; was the file cut?")
    _check_definitions(draft)
    notes = {name: _note(draft, found) for name, found in draft.declared.items()}
    order = _order(draft, notes, target)
    index = {name: place for place, name in enumerate(order[:-1])} | {order[-1]: CLASS}
    parents = {index[name]: _parents(draft.defined[name], index) for name in order}
    _check_acyclic(draft, parents, order)
    cards = (math.prod(_shape(draft, name)) for name in order)
    check_cells(cards, draft.where)
    tables = _Tables(draft, tolerance)
    cpts = {index[name]: tables.table(name, index) for name in order}
    tables.tell()
    variables = tuple(_variable(draft.declared[name], notes[name]) for name in order)
    try:
        return Network(variables, parents, cpts)
    except DataError as error:
        raise DataError(f"{draft.where}: {error}") from None


def _check_definitions(draft: Draft) -> None:
    for name, found in draft.declared.items():
        if name not in draft.defined:
            raise draft.error(found.line, f"the variable {quoted(name)} has no table; was the file cut?")
    for name, own in draft.defined.items():
        if name not in draft.declared:
            raise draft.error(own.line, f"a table of {quoted(name)}, which is not declared{_hint(name, draft)}")
        unknown = next((p for p in own.parents if p not in draft.declared), None)
        if unknown is not None:
            raise draft.error(own.line, f"{quoted(name)} has an unknown parent {quoted(unknown)}{_hint(unknown, draft)}")
        if name in own.parents or len(set(own.parents)) < len(own.parents):
            raise draft.error(own.line, f"{quoted(name)} is its own parent or has a parent twice")
        if len(own.parents) > _AXES:
            raise draft.error(own.line, f"{quoted(name)} has {len(own.parents)} parents; at most {_AXES} are possible")


def _hint(name: str, draft: Draft) -> str:
    close = close_matches(name[:200], (n for n in draft.declared if len(n) <= 200), 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _note(draft: Draft, found: Declaration) -> Note:
    """The note of a declaration, if it agrees with what it is a note of."""
    try:
        note = understood(found.note)
        if note.variable is not None and not _agrees(found, note.variable):
            raise Malformed
    except Malformed:
        problem = f"the note {KEY!r} of {quoted(found.name)} is not (or no longer) that of its name and states"
        raise draft.error(found.line, f"{problem}; remove it to read the file as it stands") from None
    return note


def _agrees(found: Declaration, variable: Variable) -> bool:
    for spelling in (legal, plain):
        name = spelling(str(variable.name), "v")
        rest = found.name[len(name) :]
        if found.name.startswith(name) and (not rest or _NUMBERED.fullmatch(rest)):
            return any(list(found.states) == spelled(variable.labels, "s", spelling) for spelling in (legal, plain))
    return False


def _order(draft: Draft, notes: Mapping[str, Note], target: Name) -> list[str]:
    """The names in the order of the variables, the class last."""
    order = list(draft.declared)
    places = [note.place for note in notes.values()]
    if all(place is not None for place in places) and set(places) == set(range(len(order))):
        order.sort(key=lambda name: notes[name].place or 0)
    marked = [name for name in order if notes[name].target]
    if target is not None:
        last = _named(draft, notes, target)
    elif len(marked) > 1:
        raise draft.error(draft.declared[marked[1]].line, f"two classes are marked, {quoted(marked[0])} and {quoted(marked[1])}")
    else:
        last = marked[0] if marked else order[-1]
    order.remove(last)
    return [*order, last]


def _named(draft: Draft, notes: Mapping[str, Note], target: Name) -> str:
    """The variable that is meant: by its true name, else by its name in the file, else by the text of its true name."""
    true = {name: note.variable.name if note.variable else name for name, note in notes.items()}
    tests: Sequence[Callable[[str], bool]] = (
        lambda name: true[name] == target,
        lambda name: name == target,
        lambda name: str(true[name]) == target,
    )
    for test in tests:
        if (found := next(filter(test, true), None)) is not None:
            return found
    close = close_matches(str(target)[:200], (str(name)[:200] for name in true.values()))
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"the first are {quoted(list(true)[:5])}"
    raise ParameterError(f"{draft.where}: target: there is no variable {quoted(target)}; {hint}")


def _parents(found: Definition, index: Mapping[str, int]) -> tuple[int, ...]:
    """The parents in the order of the file, but the class last."""
    own = [index[p] for p in found.parents]
    return (*(p for p in own if p != CLASS), *([CLASS] if CLASS in own else []))


def _check_acyclic(draft: Draft, parents: Mapping[int, tuple[int, ...]], order: Sequence[str]) -> None:
    left = set(parents) - set(topological(parents))
    if not left:
        return
    v, path = min(left), dict[int, None]()
    while v not in path:
        path[v] = None
        v = next(p for p in parents[v] if p in left)
    loop = [*list(path)[list(path).index(v) :], v][:10]
    names = " <- ".join(quoted(order[u]) for u in loop)
    raise draft.error(draft.defined[order[v]].line, f"the arcs form a cycle: {names}")


def _shape(draft: Draft, name: str) -> tuple[int, ...]:
    return tuple(len(draft.declared[m].states) for m in (*draft.defined[name].parents, name))


def _variable(found: Declaration, note: Note) -> Variable:
    return note.variable or Variable(found.name, found.states)


class _Tables:
    """The tables of a draft, and which of them did not quite sum to 1."""

    def __init__(self, draft: Draft, tolerance: float) -> None:
        self.draft, self.tolerance = draft, tolerance
        self.worst, self.divided = 0.0, list[str]()

    def table(self, name: str, index: Mapping[str, int]) -> NDArray[np.float64]:
        """The table with its axes as in a network."""
        found = self.draft.defined[name]
        states = [self.draft.declared[p].states for p in found.parents]
        own = found.fill(_shape(self.draft, name), states)
        members = [index[m] for m in (*found.parents, name)]
        axes = family(*members)
        table = np.ascontiguousarray(own.transpose([members.index(m) for m in axes]))
        return self._summing(table, axes.index(index[name]), name)

    def _summing(self, table: NDArray[np.float64], axis: int, name: str) -> NDArray[np.float64]:
        line = self.draft.defined[name].line
        if not np.all((table >= 0) & (table <= 1 + self.tolerance)):
            odd = table[~((table >= 0) & (table <= 1 + self.tolerance))][0]
            raise self.draft.error(line, f"the table of {quoted(name)} holds {odd}, which is no probability")
        sums = table.sum(axis=axis, keepdims=True)
        off = np.abs(sums - 1)
        if off.max() > self.tolerance * max(2, table.shape[axis]) / 2 + _EXACT:
            told = f"sums to {sums.flat[int(off.argmax())]:.9g}, not to 1"
            hint = f"if that is rounding, allow it with `tolerance=`, now {self.tolerance:g}"
            raise self.draft.error(line, f"a distribution of {quoted(name)} {told}; {hint}")
        if off.max() <= _EXACT:
            return table
        self.worst = max(self.worst, float(off.max()))
        self.divided.append(name)
        return np.where(off > _EXACT, table / sums, table)

    def tell(self) -> None:
        """Warn once of all that was divided by its sum."""
        if self.divided:
            listed = ", ".join(quoted(name) for name in self.divided[:3]) + (" ..." if len(self.divided) > 3 else "")
            many = f"{len(self.divided)} table{'s' if len(self.divided) > 1 else ''} ({listed})"
            told = f"distributions of {many} missed a sum of 1 by up to {self.worst:.2g} and were renormalised"
            warn(f"{self.draft.where}: {told}", NaiveteWarning)
