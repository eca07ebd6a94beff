"""Networks of which only the arcs are known: variables without states, so that there is nothing to be wrong about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from naivete.network.formats.assembly import Declaration, Definition, Draft
from naivete.network.formats.notes import Note, noted
from naivete.variables import Variable

__all__ = ["arcs_draft", "known_only"]


def arcs_draft(parents: Mapping[str, tuple[str, ...]], lines: Mapping[str, int], notes: Mapping[str, Note], where: str) -> Draft:
    """What names and parents declare: each variable has the one state of a column without values.

    Parameters
    ----------
    parents : the parents of every variable.
    lines : where each was declared.
    notes : what was noted of some; only names, target and places count.
    where : what errors call the file.
    """
    found = Draft(where)
    for name in parents:
        line = lines[name]
        found.declare(Declaration(name, Variable(None).labels, line, noted(known_only(notes.get(name, Note()), name))))
        found.define(Definition(name, parents[name], line, _ones))
    return found


def known_only(note: Note, name: str) -> Note:
    """The note without states."""
    true = name if note.variable is None else note.variable.name
    return Note(Variable(true), note.target, note.place)


def _ones(shape: tuple[int, ...], _: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    return np.ones(shape)
