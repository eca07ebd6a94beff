"""Networks of which only the names and arcs are known; their variables have no states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from naivete.network.formats.assembly import Declaration, Definition, Draft
from naivete.network.formats.notes import Note, note_text
from naivete.variables import Variable

__all__ = ["arcs_draft", "known_only"]


def arcs_draft(parents: Mapping[str, tuple[str, ...]], lines: Mapping[str, int], notes: Mapping[str, Note], where: str) -> Draft:
    """Return the draft of a network given by names and parents; each variable has the single state of a column without values.

    Parameters
    ----------
    parents : the parents of every variable.
    lines : the line in which each variable was declared.
    notes : the notes of some variables; only names, target and places are used.
    where : the name of the file in error messages.
    """
    draft = Draft(where)
    for name in parents:
        line = lines[name]
        draft.declare(Declaration(name, Variable(None).labels, line, note_text(known_only(notes.get(name, Note()), name))))
        draft.define(Definition(name, parents[name], line, _ones))
    return draft


def known_only(note: Note, name: str) -> Note:
    """Return the note without states."""
    true = name if note.variable is None else note.variable.name
    return Note(Variable(true), note.target, note.place)


def _ones(shape: tuple[int, ...], _: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    return np.ones(shape)
