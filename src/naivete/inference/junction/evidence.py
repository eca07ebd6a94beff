"""Evidence: codes and likelihoods of variables, from names, states, labels and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from naivete.errors import DataError, close_matches, quoted
from naivete.network.network import Network
from naivete.variables import CLASS, Name, State, Variable

__all__ = ["Evidence", "Given", "Value", "described", "evidence_of", "position", "value_of"]

Codes = NDArray[np.int64]

Value = State | Mapping[Any, float] | Sequence[float] | NDArray[Any] | None
"""A state, label or number; or a likelihood for each state, by state or in the order of the codes."""

Given = Mapping[Name, Value]
"""The evidence on variables, by name or position."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """Evidence on several rows, in all of them on the same variables.

    Parameters
    ----------
    rows : int, default=1
        The number of rows.
    codes : dict of {int: ndarray of shape (n_rows,)}, default={}
        The codes of the observed variables.
    likelihoods : dict of {int: ndarray of shape (n_states, n_rows) or (n_states, 1)}, default={}
        P(finding | state) of variables with uncertain (soft) evidence. # (state, row) or (state, 1).
    numbers : ndarray of shape (n_rows,) or None, default=None
        The row numbers that errors report, if any.
    """

    rows: int = 1
    codes: Mapping[int, Codes] = field(default_factory=dict)
    likelihoods: Mapping[int, Numbers] = field(default_factory=dict)
    numbers: Codes | None = None

    def __post_init__(self) -> None:
        if not self.likelihoods.keys().isdisjoint(self.codes):
            raise DataError("evidence: a variable has a code and likelihoods; give one of them")

    def __getitem__(self, part: slice) -> Evidence:
        """Return the evidence on some of the rows."""
        return Evidence(
            len(range(self.rows)[part]),
            {v: c[part] for v, c in self.codes.items()},
            {v: table if table.shape[1] == 1 else table[:, part] for v, table in self.likelihoods.items()},
            None if self.numbers is None else self.numbers[part],
        )


def evidence_of(network: Network, given: Given | None) -> Evidence:
    """Return the codes and likelihoods of one case; an unknown variable or state is an error that lists the known ones.

    Parameters
    ----------
    network : the network.
    given : the values by variable, a mapping or a pandas Series; None if nothing is observed.

    >>> network = Network((Variable("class", ("no", "yes")),), {-1: ()}, {-1: np.array([.5, .5])})
    >>> evidence_of(network, {"class": "yes"}).codes
    {-1: array([1])}
    """
    codes: dict[int, Codes] = {}
    likelihoods: dict[int, Numbers] = {}
    positions = _positions(network)
    if given is not None and not hasattr(given, "items"):
        raise DataError(f"given={quoted(given)}: a mapping from variables to values is needed")
    for name, value in () if given is None else given.items():
        v = _position(positions, name)
        if v in codes or v in likelihoods:
            raise DataError(f"evidence: variable {quoted(network.name(v))} is given twice, by name and by position")
        if isinstance(value, (Mapping, list, tuple, np.ndarray)):
            likelihoods[v] = _likelihood(network.variables[v], value)[:, None]
        else:
            codes[v] = np.array([code_of(network.variables[v], value)])
    return Evidence(1, codes, likelihoods)


def position(network: Network, name: Name) -> int:
    """Return the position of a variable given its name, or given its position if no variable has that name; the class is -1.

    >>> network = Network((Variable("class", ("no", "yes")),), {-1: ()}, {-1: np.array([.5, .5])})
    >>> position(network, "class"), position(network, 0)
    (-1, -1)
    """
    return _position(_positions(network), name)


def _positions(network: Network) -> dict[Name, int]:
    return {variable.name: position for position, variable in enumerate(network.variables)}


def _position(positions: Mapping[Name, int], name: Any) -> int:
    v = None if isinstance(name, bool) or not name.__hash__ else positions.get(name)
    if v is None and isinstance(name, (int, np.integer)) and not isinstance(name, bool) and -1 <= name < len(positions):
        v = int(name)
    if v is None:
        close = close_matches(name, positions)
        hint = f"; did you mean {close[0]!r}?" if close else f"; it has {quoted(list(positions), 200)}"
        raise DataError(f"the network has no variable {quoted(name)}{hint}")
    return v if v < len(positions) - 1 else CLASS


def code_of(variable: Variable, value: Any) -> int:
    """Return the code of a state, of a label, or of the interval that contains a number.

    >>> code_of(Variable("petal", cuts=(2.45, 4.9)), 2.45), code_of(Variable("petal", cuts=(2.45, 4.9)), "> 4.9")
    (0, 2)
    """
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or (isinstance(value, float) and isnan(value)):
        if variable.missing:
            return variable.known
        raise DataError(f"evidence: variable {quoted(variable.name)} has no value; leave it out where it is not observed")
    if variable.cuts is not None and isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value):
        return int(np.searchsorted(np.array(variable.cuts), float(value), side="left"))
    for code, state in enumerate(variable.states):
        if isinstance(state, bool) == isinstance(value, bool) and state == value:
            return code
    if isinstance(value, str) and variable.labels.count(value) == 1:
        return variable.labels.index(value)
    close = close_matches(value, variable.labels)
    hint = f"; did you mean {close[0]!r}?" if close else f"; it has {quoted(variable.labels, 200)}"
    raise DataError(f"evidence: variable {quoted(variable.name)} has no state {quoted(value)}{hint}")


def value_of(variable: Variable, code: int) -> State:
    """Return the state of a code, or the label of its interval.

    >>> value_of(Variable("a", (3, 5)), 1), value_of(Variable("petal", cuts=(2.45,)), 1)
    (5, '> 2.45')
    """
    return variable.states[code] if code < len(variable.states) else variable.labels[code]


def described(network: Network, evidence: Evidence, row: int) -> str:
    """Return the text of an error about impossible evidence in one row."""
    where = "" if evidence.numbers is None else f"row {evidence.numbers[row]}: "
    hard = [f"{network.name(v)}={network.variables[v].labels[int(codes[row])]}" for v, codes in list(evidence.codes.items())[:10]]
    soft = [
        f"{network.name(v)} with likelihoods {table[:, 0 if table.shape[1] == 1 else row].tolist()}"
        for v, table in list(evidence.likelihoods.items())[:10]
    ]
    more = " ..." if len(evidence.codes) > 10 or len(evidence.likelihoods) > 10 else ""
    return f"{where}{', '.join(hard + soft)}{more} has probability 0 in this network"


def _likelihood(variable: Variable, value: Mapping[Any, float] | Sequence[float] | NDArray[Any]) -> Numbers:
    """Return the likelihood of each code; states that are not in a mapping have likelihood 0."""
    where = f"evidence: likelihoods of {quoted(variable.name)}"
    try:
        if isinstance(value, Mapping):
            likelihoods = np.zeros(variable.card)
            for state, likelihood in value.items():
                likelihoods[code_of(variable, state)] += float(likelihood)
        else:
            likelihoods = np.array(value, np.float64)
    except (TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{where} are not numbers: {quoted(value)}") from None
    if likelihoods.shape != (variable.card,):
        raise DataError(f"{where}: one number for each of its {variable.card} states is needed, got {quoted(value)}")
    if not np.isfinite(likelihoods).all() or likelihoods.min() < 0 or likelihoods.max() <= 0:
        raise DataError(f"{where} have to be finite, not negative, and not all 0; got {quoted(value)}")
    return likelihoods
