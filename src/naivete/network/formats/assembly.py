"""From the declarations of a file to a network: all checks of a file, with errors that report the line."""

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
from naivete.network.formats.notes import KEY, Malformed, Note, note_of
from naivete.network.graphs import topological
from naivete.network.network import Network
from naivete.variables import CLASS, Name, Variable, family

__all__ = ["Declaration", "Definition", "Draft", "Fill", "flat", "network_of"]

Fill = Callable[[tuple[int, ...], Sequence[Sequence[str]]], NDArray[np.float64]]
"""(shape of the table: parents in their order, then the variable; states of the parents) -> the table."""

_EXACT: Final = 1e-9
"""The largest distance from 1 of the sum of a distribution in a network."""
_AXES: Final = 60
_NUMBERED: Final = re.compile(r"_[0-9]+")


@dataclass(frozen=True)
class Declaration:
    """A variable as declared in a file: its name and states, its line, and the note of this library if it has one."""

    name: str
    states: tuple[str, ...]
    line: int
    note: str = ""


@dataclass(frozen=True)
class Definition:
    """The table of a variable as defined in a file: its variable, the parents, the line, and the function that fills it."""

    name: str
    parents: tuple[str, ...]
    line: int
    fill: Fill


class Draft:
    """The declarations and definitions read from a file.

    Parameters
    ----------
    where : the name of the file in error messages.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        self.declared: dict[str, Declaration] = {}
        self.defined: dict[str, Definition] = {}

    def error(self, line: int, problem: str) -> DataError:
        """Return an error that reports a line."""
        return DataError(f"{self.where}:{line}: {problem}")

    def declare(self, declaration: Declaration) -> None:
        """Add a variable; raise an error if its name or one of its states occurs twice."""
        if declaration.name in self.declared:
            raise self.error(declaration.line, f"the variable {quoted(declaration.name)} is declared twice")
        if not declaration.states:
            raise self.error(declaration.line, f"the variable {quoted(declaration.name)} has no states")
        if len(set(declaration.states)) < len(declaration.states):
            raise self.error(declaration.line, f"the variable {quoted(declaration.name)} has a state twice")
        self.declared[declaration.name] = declaration

    def define(self, definition: Definition) -> None:
        """Add a table; raise an error if the variable already has one."""
        if definition.name in self.defined:
            raise self.error(definition.line, f"the variable {quoted(definition.name)} has two tables")
        self.defined[definition.name] = definition


def flat(values: NDArray[np.float64] | None, error: Callable[[str], DataError]) -> Fill:
    """Return a function that fills a table from its numbers; the variable itself changes fastest, then its last parent.

    Parameters
    ----------
    values : the numbers, None if the text contained something else.
    error : makes an error from the description of a problem.

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
    """Return the network of a draft.

    Parameters
    ----------
    draft : the declarations and definitions of a file.
    target : the name of the class; by default the one that the file marks, else the last variable.
    tolerance : the largest allowed distance from 1 of the sum of a distribution of two states; n/2 times as much for n states,
        because rounding errors add up. A distribution that is off by more than 1e-9 is divided by its sum, with a warning.
    """
    if not draft.declared:
        raise DataError(f"{draft.where}: there are no variables; is the file complete?")
    _check_definitions(draft)
    notes = {name: _note(draft, declaration) for name, declaration in draft.declared.items()}
    order = _order(draft, notes, target)
    index = {name: place for place, name in enumerate(order[:-1])} | {order[-1]: CLASS}
    parents = {index[name]: _parents(draft.defined[name], index) for name in order}
    _check_acyclic(draft, parents, order)
    cards = (math.prod(_shape(draft, name)) for name in order)
    check_cells(cards, draft.where)
    tables = _Tables(draft, tolerance)
    cpts = {index[name]: tables.table(name, index) for name in order}
    tables.warn()
    variables = tuple(_variable(draft.declared[name], notes[name]) for name in order)
    try:
        return Network(variables, parents, cpts)
    except DataError as error:
        raise DataError(f"{draft.where}: {error}") from None


def _check_definitions(draft: Draft) -> None:
    for name, declaration in draft.declared.items():
        if name not in draft.defined:
            raise draft.error(declaration.line, f"the variable {quoted(name)} has no table; is the file complete?")
    for name, definition in draft.defined.items():
        if name not in draft.declared:
            raise draft.error(definition.line, f"a table of {quoted(name)}, which is not declared{_hint(name, draft)}")
        unknown = next((p for p in definition.parents if p not in draft.declared), None)
        if unknown is not None:
            raise draft.error(definition.line, f"{quoted(name)} has an unknown parent {quoted(unknown)}{_hint(unknown, draft)}")
        if name in definition.parents or len(set(definition.parents)) < len(definition.parents):
            raise draft.error(definition.line, f"{quoted(name)} is its own parent or has a parent twice")
        if len(definition.parents) > _AXES:
            raise draft.error(
                definition.line, f"{quoted(name)} has {len(definition.parents)} parents; at most {_AXES} are possible"
            )


def _hint(name: str, draft: Draft) -> str:
    close = close_matches(name[:200], (n for n in draft.declared if len(n) <= 200), 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _note(draft: Draft, declaration: Declaration) -> Note:
    """Return the note of a declaration; raise an error if it does not agree with the declared name and states."""
    try:
        note = note_of(declaration.note)
        if note.variable is not None and not _agrees(declaration, note.variable):
            raise Malformed
    except Malformed:
        problem = f"the note {KEY!r} of {quoted(declaration.name)} is not (or no longer) that of its name and states"
        raise draft.error(declaration.line, f"{problem}; remove it to read the file as it stands") from None
    return note


def _agrees(declaration: Declaration, variable: Variable) -> bool:
    for spelling in (legal, plain):
        name = spelling(str(variable.name), "v")
        rest = declaration.name[len(name) :]
        if declaration.name.startswith(name) and (not rest or _NUMBERED.fullmatch(rest)):
            return any(list(declaration.states) == spelled(variable.labels, "s", spelling) for spelling in (legal, plain))
    return False


def _order(draft: Draft, notes: Mapping[str, Note], target: Name) -> list[str]:
    """Return the names in the order of the variables, the class last."""
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
    """Return the variable of a name: its true name, else its name in the file, else the text of its true name."""
    true = {name: note.variable.name if note.variable else name for name, note in notes.items()}
    tests: Sequence[Callable[[str], bool]] = (
        lambda name: true[name] == target,
        lambda name: name == target,
        lambda name: str(true[name]) == target,
    )
    for test in tests:
        if (matched := next(filter(test, true), None)) is not None:
            return matched
    close = close_matches(str(target)[:200], (str(name)[:200] for name in true.values()))
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"the first are {quoted(list(true)[:5])}"
    raise ParameterError(f"{draft.where}: target: there is no variable {quoted(target)}; {hint}")


def _parents(definition: Definition, index: Mapping[str, int]) -> tuple[int, ...]:
    """Return the parents in the order of the file, but the class last."""
    parents = [index[p] for p in definition.parents]
    return (*(p for p in parents if p != CLASS), *([CLASS] if CLASS in parents else []))


def _check_acyclic(draft: Draft, parents: Mapping[int, tuple[int, ...]], order: Sequence[str]) -> None:
    cyclic = set(parents) - set(topological(parents))
    if not cyclic:
        return
    v, path = min(cyclic), dict[int, None]()
    while v not in path:
        path[v] = None
        v = next(p for p in parents[v] if p in cyclic)
    loop = [*list(path)[list(path).index(v) :], v][:10]
    names = " <- ".join(quoted(order[u]) for u in loop)
    raise draft.error(draft.defined[order[v]].line, f"the arcs form a cycle: {names}")


def _shape(draft: Draft, name: str) -> tuple[int, ...]:
    return tuple(len(draft.declared[m].states) for m in (*draft.defined[name].parents, name))


def _variable(declaration: Declaration, note: Note) -> Variable:
    return note.variable or Variable(declaration.name, declaration.states)


class _Tables:
    """The tables of a draft, and those whose sums had to be corrected."""

    def __init__(self, draft: Draft, tolerance: float) -> None:
        self.draft, self.tolerance = draft, tolerance
        self.worst, self.divided = 0.0, list[str]()

    def table(self, name: str, index: Mapping[str, int]) -> NDArray[np.float64]:
        """Return the table with its axes in the order of a network."""
        definition = self.draft.defined[name]
        states = [self.draft.declared[p].states for p in definition.parents]
        values = definition.fill(_shape(self.draft, name), states)
        members = [index[m] for m in (*definition.parents, name)]
        axes = family(*members)
        table = np.ascontiguousarray(values.transpose([members.index(m) for m in axes]))
        return self._normalized(table, axes.index(index[name]), name)

    def _normalized(self, table: NDArray[np.float64], axis: int, name: str) -> NDArray[np.float64]:
        line = self.draft.defined[name].line
        if not np.all((table >= 0) & (table <= 1 + self.tolerance)):
            odd = table[~((table >= 0) & (table <= 1 + self.tolerance))][0]
            raise self.draft.error(line, f"the table of {quoted(name)} contains {odd}, which is not a probability")
        sums = table.sum(axis=axis, keepdims=True)
        off = np.abs(sums - 1)
        if off.max() > self.tolerance * max(2, table.shape[axis]) / 2 + _EXACT:
            problem = f"sums to {sums.flat[int(off.argmax())]:.9g}, not to 1"
            hint = f"if that is rounding, allow it with `tolerance=`, now {self.tolerance:g}"
            raise self.draft.error(line, f"a distribution of {quoted(name)} {problem}; {hint}")
        if off.max() <= _EXACT:
            return table
        self.worst = max(self.worst, float(off.max()))
        self.divided.append(name)
        return np.where(off > _EXACT, table / sums, table)

    def warn(self) -> None:
        """Issue one warning about all tables that were divided by their sums."""
        if self.divided:
            listed = ", ".join(quoted(name) for name in self.divided[:3]) + (" ..." if len(self.divided) > 3 else "")
            many = f"{len(self.divided)} table{'s' if len(self.divided) > 1 else ''} ({listed})"
            problem = f"distributions of {many} missed a sum of 1 by up to {self.worst:.2g} and were renormalized"
            warn(f"{self.draft.where}: {problem}", NaiveteWarning)
