"""Notes: properties of a variable that a format cannot express, as text that every format accepts as the value of a property.

A note is some words separated by blanks: `target` for the class, `place:3` for the position of the variable, and where
the names in the file are not the true ones `name:` and `states:` or `cuts:` with their values, `missing`, `other` and `left-out`.
A value has a letter for its type: `s:` text, `i:` integer, `f:` float, `b:` boolean, `n:` None. In a text, every character except
letters, digits and `_.-` is written as ~ and two hexadecimal digits for each byte of its UTF-8 encoding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, unquote

import numpy as np

from naivete.errors import DataError, quoted
from naivete.variables import Variable

__all__ = ["KEY", "Malformed", "Note", "note_of", "note_text"]

KEY: Final = "naivete"
"""The name of the property that contains the note."""


class Malformed(Exception):  # noqa: N818 - never leaves the readers
    """A text that is not a note written by this library."""


@dataclass(frozen=True)
class Note:
    """The properties of a variable that the format cannot express.

    Parameters
    ----------
    variable : the true variable, None if the names in the file are the true ones.
    target : whether it is the class.
    place : its position among the variables, None if that is its position in the file.
    """

    variable: Variable | None = None
    target: bool = False
    place: int | None = None


def note_text(note: Note) -> str:
    """Return the note as text.

    >>> note_text(Note(Variable("petal width", cuts=(2.45,), missing=True), target=True))
    'target name:s:petal~20width cuts:f:2.45 missing'
    """
    words = ["target"] * note.target + [f"place:{note.place}"] * (note.place is not None)
    if (variable := note.variable) is not None:
        if None in variable.states:
            raise DataError(
                f"network: variable {quoted(variable.name)}: None cannot be written as a state; make missing a state, or rename it"
            )
        words.append(f"name:{_coded(variable.name)}")
        if variable.states or (variable.cuts is None and not variable.left_out):
            words.append(f"states:{_listed(variable.states)}")
        if variable.cuts is not None:
            words.append(f"cuts:{_listed(float(c) for c in variable.cuts)}")
        words += ["missing"] * bool(variable.missing) + ["other"] * bool(variable.other) + ["left-out"] * variable.left_out
    return " ".join(words)


def note_of(text: str) -> Note:
    """Return the note of a text; raise `Malformed` unless `note_text` writes the same text.

    >>> note_of("place:2 name:i:7 states:b:1,s:~C3~A9").variable
    Variable(name=7, states=(True, 'é'), cuts=None, missing=False, other=False, origin=None, kernel=False, left_out=False)
    """
    fields = dict(_field(word) for word in text.split())
    try:
        note = _note(fields)
        same = note_text(note) == " ".join(text.split())
    except ValueError:  # not a number, or a value that cannot be written
        raise Malformed from None
    if not same:
        raise Malformed
    return note


def _note(fields: Mapping[str, str]) -> Note:
    place = int(fields["place"]) if "place" in fields else None
    if "name" not in fields:
        return Note(None, "target" in fields, place)
    states, cuts = (tuple(map(_decoded, fields[k].split(","))) if fields.get(k) else () for k in ("states", "cuts"))
    if not all(type(cut) is float for cut in cuts) or list(cuts) != sorted(set(cuts)):
        raise Malformed
    variable = Variable(
        _decoded(fields["name"]),
        states,
        cuts if "cuts" in fields else None,
        "missing" in fields,
        "other" in fields,
        left_out="left-out" in fields,
    )
    return Note(variable, "target" in fields, place)


def _field(word: str) -> tuple[str, str]:
    key, _, value = word.partition(":")
    return key, value


def _listed(values: Iterable[Any]) -> str:
    return ",".join(map(_coded, values))


def _coded(value: Any) -> str:
    value = value.item() if isinstance(value, np.generic) else value
    if type(value) is str:
        return f"s:{_quoted(value)}"
    if value is None or type(value) is bool:
        return "n:" if value is None else f"b:{value:d}"
    if type(value) is float and not math.isnan(value):
        return f"f:{value!r}"
    if type(value) is int and abs(value) < 10**1000:
        return f"i:{value}"
    raise DataError(f"network: {quoted(value)} cannot be written to a file of this format; rename it to a text or a number")


def _quoted(text: str) -> str:
    try:
        return quote(text, safe="").replace("~", "%7E").replace("%", "~")
    except UnicodeEncodeError:
        problem = f"the text {quoted(text)} is not Unicode: it holds half of a surrogate pair"
        raise DataError(f"network: {problem}; rename it before writing") from None


_DECODERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "s": lambda text: unquote(text.replace("~", "%"), errors="strict"),
    "i": lambda text: int(text[:1001]),
    "f": float,
    "b": {"0": False, "1": True}.get,
    "n": lambda _: None,
}


def _decoded(word: str) -> Any:
    letter, _, text = word.partition(":")
    if letter not in _DECODERS:
        raise Malformed
    return _DECODERS[letter](text)
