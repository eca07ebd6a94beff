"""Variables: the names and states of the columns, the schema under which rows are encoded and counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from naivete.errors import DataError, quoted

__all__ = [
    "CLASS",
    "Family",
    "Name",
    "State",
    "Variable",
    "Variables",
    "check_unique",
    "family",
    "number_text",
    "ordered",
    "state_key",
    "type_word",
    "unused_name",
]

CLASS: Final = -1
"""The class is the last variable, the last column of the codes and the last axis of every table that contains it."""

Name = str | int | float | None
State = str | int | float | bool
Family = tuple[int, ...]
Variables = tuple["Variable", ...]


def state_key(state: State) -> tuple[bool, State]:
    """Return a key that is equal for equal states: 1 and 1.0 are equal, 1 and True are not."""
    return isinstance(state, bool), state


def type_word(state: State) -> str:
    """Return "text", "booleans" or "numbers"."""
    return "text" if isinstance(state, str) else "booleans" if isinstance(state, bool) else "numbers"


def ordered(states: Iterable[State]) -> tuple[State, ...]:
    """Return the states in an order that does not depend on the rows: booleans, numbers, text, each increasing.

    >>> ordered(["b", 2, True, "a", 1.5])
    (True, 1.5, 2, 'a', 'b')
    """
    listed = list(states)
    return tuple(sorted(listed) if all(type(s) is str for s in listed) else sorted(listed, key=_type_and_value))


def _type_and_value(state: State) -> tuple[str, State]:
    return type_word(state), state  # the words are in alphabetical order of the types: booleans, numbers, text


@dataclass(frozen=True, slots=True)
class Variable:
    """One column: its name and either its states (nominal) or the cut points of its intervals (numeric).

    Parameters
    ----------
    name : str
        The name of the column, any scalar.
    states : tuple, default=()
        The values of a nominal column, in the order of their codes; empty for a numeric one.
    cuts : tuple of float or None, default=None
        The increasing cut points of a numeric column, None for a nominal one; a value equal to a cut point lies below it.
    missing : bool, default=False
        Whether missing is a state of its own, after the values, instead of being left out of the counts.
    other : bool, default=False
        Whether "never seen" is a state of its own, after all others, so that smoothing gives it some probability.
    origin : float or None, default=None
        For a continuous feature modelled by a density, the value from which it is measured, None for all others. Its codes are the
        differences from it, nan if missing, so that numbers far from zero lose no digits.
    kernel : bool, default=False
        Whether that density is a kernel density instead of a normal density.
    left_out : bool, default=False
        Whether the column is not used: all its values, missing ones too, have the same code, so that it has no effect.

    Examples
    --------
    >>> from naivete import Variable
    >>> Variable("petal", cuts=(2.45, 4.9)).labels
    ('<= 2.45', '2.45 .. 4.9', '> 4.9')
    """

    name: Name
    states: tuple[State, ...] = ()
    cuts: tuple[float, ...] | None = None
    missing: bool = False
    other: bool = False
    origin: float | None = None
    kernel: bool = False
    left_out: bool = False

    @property
    def density(self) -> bool:
        """Whether it is a continuous feature, modelled by a density instead of intervals."""
        return self.origin is not None

    @property
    def numeric(self) -> bool:
        """Whether the column holds numbers, discretized or continuous."""
        return self.cuts is not None or self.density

    @property
    def card(self) -> int:
        """The number of codes, at least one: a column without any value has one that never occurs, a continuous feature has one."""
        known = len(self.states) if self.cuts is None else len(self.cuts) + 1
        return known + self.missing + self.other or 1

    @property
    def known(self) -> int:
        """The number of codes that stand for values: states or intervals."""
        return len(self.states) if self.cuts is None else len(self.cuts) + 1

    @property
    def labels(self) -> tuple[str, ...]:
        """The states as text, one for each code."""
        values = tuple(map(str, self.states)) if self.cuts is None else _interval_labels(self.cuts)
        extra = ("missing",) * self.missing + ("never seen",) * self.other
        return (*values, *extra) or (("any",) if self.density or self.left_out else ("never seen",))


def _interval_labels(cuts: tuple[float, ...]) -> tuple[str, ...]:
    if not cuts:
        return ("any",)
    shortest = [number_text(c) for c in cuts]
    text = shortest if len(set(shortest)) == len(cuts) else [repr(c) for c in cuts]
    inner = (f"{a} .. {b}" for a, b in pairwise(text))
    return (f"<= {text[0]}", *inner, f"> {text[-1]}")


def number_text(number: float, digits: int = 6) -> str:
    """Return a number with the given significant digits, or with all its digits if it is a million or more.

    >>> number_text(5.4499999999999), number_text(1700000000263.0), number_text(1000000000.000012)
    ('5.45', '1700000000263', '1000000000.000012')
    """
    return f"{number:.{digits}g}" if abs(number) < 1e6 else repr(number).removesuffix(".0")


def family(*members: int) -> Family:
    """Return the members in increasing order with the class last, the order of the axes of their table.

    >>> family(CLASS, 3, 1)
    (1, 3, -1)
    """
    increasing = sorted(members)
    classes = increasing.count(CLASS)  # which come first
    return (*increasing[classes:], CLASS) if classes else tuple(increasing)


def unused_name(name: str, variables: Sequence[Variable]) -> str:
    """Return the name, followed by the lowest number that makes it unique if a variable has it already.

    >>> unused_name("leaf", [Variable("leaf"), Variable("leaf 2")])
    'leaf 3'
    """
    taken = {v.name for v in variables}
    candidates = (name, *(f"{name} {i}" for i in range(2, len(variables) + 3)))
    return next(candidate for candidate in candidates if candidate not in taken)


def check_unique(names: Sequence[Name], where: str) -> None:
    """Refuse duplicate column names; 0 and "0" are different names, 0 and 0.0 are equal."""
    if len(set(names)) == len(names):
        return
    positions: dict[Name, list[int]] = {}
    for position, name in enumerate(names, start=1):
        positions.setdefault(name, []).append(position)
    duplicates = [(name, places) for name, places in positions.items() if len(places) > 1]
    listed = "; ".join(f"{quoted(name)} at positions {', '.join(map(str, places))}" for name, places in duplicates[:5])
    raise DataError(f"{where}: duplicate column names: {listed}; rename or remove the copies")
