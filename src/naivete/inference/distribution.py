"""Results of queries with their labels: a table of probabilities that knows the names and states of its variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from html import escape
from itertools import islice, product
from typing import Any

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.errors import DataError, library, quoted
from naivete.inference.junction import value_of
from naivete.inference.junction.evidence import code_of
from naivete.variables import State, Variable

__all__ = ["Distribution"]

SHOWN = 20
"""How many states are printed."""


class Distribution(Mapping[Any, float]):
    """The probability of each state of a variable, or of each combination of states of several variables.

    It is a mapping from states to probabilities; with several variables the keys are tuples of states. Discretized variables have
    the labels of their intervals as states. A number in brackets stands for its interval. `numpy.asarray` and `to_numpy` give the
    array, which has an axis for each variable.

    Parameters
    ----------
    variables : sequence of Variable
        The variables, in the order of the axes.
    probabilities : ndarray
        The probabilities, with an axis for each variable.
    title : str
        What the probabilities are, as in "P(rain | wet=yes)".

    Examples
    --------
    >>> import numpy as np
    >>> from naivete import Distribution, Variable
    >>> rain = Distribution([Variable("rain", ("no", "yes"))], np.array([0.75, 0.25]), "P(rain)")
    >>> rain
    P(rain)
      no   0.750000
      yes  0.250000
    >>> rain["yes"], dict(rain), rain.to_numpy().tolist()
    (0.25, {'no': 0.75, 'yes': 0.25}, [0.75, 0.25])
    """

    def __init__(self, variables: Sequence[Variable], probabilities: Numbers, title: str) -> None:
        self.variables = tuple(variables)
        self._probabilities = np.array(probabilities, np.float64)
        self._probabilities.flags.writeable = False
        self.title = title

    @cached_property
    def states(self) -> tuple[tuple[State, ...], ...]:
        """The states of each variable, in the order of its axis."""
        return tuple(map(_states, self.variables))

    def __getitem__(self, key: Any) -> float:
        keys = key if len(self.variables) > 1 and isinstance(key, (tuple, list)) else (key,)
        if len(keys) != len(self.variables):
            names = [variable.name for variable in self.variables]
            raise KeyError(f"{quoted(key)}: a tuple with a state of each of {quoted(names)} is needed")
        try:
            codes = tuple(map(_position, self.variables, self.states, keys))
        except DataError as error:
            raise KeyError(str(error)) from None
        return float(self._probabilities[codes])

    def __iter__(self) -> Iterator[Any]:
        return iter(self.states[0]) if len(self.states) == 1 else product(*self.states)

    def __len__(self) -> int:
        return self._probabilities.size

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Numbers:
        return np.array(self._probabilities, dtype=dtype, copy=copy)

    def to_numpy(self) -> Numbers:
        """Return the probabilities as an array.

        Returns
        -------
        ndarray
            A copy, with an axis for each variable.
        """
        return self._probabilities.copy()

    def to_dict(self) -> dict[Any, float]:
        """Return the probabilities by state.

        Returns
        -------
        dict
            The keys are states, or tuples of states if there are several variables.
        """
        return dict(zip(self, self._probabilities.ravel().tolist(), strict=True))

    def to_pandas(self) -> Any:
        """Return the probabilities as a pandas Series.

        Returns
        -------
        pandas.Series
            Its index has a level for each variable.
        """
        pandas = library("pandas", "a pandas series")
        names = [variable.name for variable in self.variables]
        if len(names) == 1:
            index = pandas.Index(list(self.states[0]), name=names[0], dtype=object)
        else:
            index = pandas.MultiIndex.from_product(self.states, names=names)
        return pandas.Series(self._probabilities.ravel(), index=index, name="probability")

    def __repr__(self) -> str:
        rows = [([_text(state) for state in states], f"{p:.6f}") for states, p in self._rows()]
        widths = [max(map(len, column)) for column in zip(*(states for states, _ in rows), strict=True)]
        lines = ["  ".join(["", *(s.ljust(w) for s, w in zip(states, widths, strict=True)), p]) for states, p in rows]
        return "\n".join([_text(self.title), *lines, *self._more("  ")])

    def _repr_html_(self) -> str:
        """Return an HTML table, for notebooks."""
        head = "".join(f"<th>{escape(str(variable.name))}</th>" for variable in self.variables)
        body = "".join(
            f"<tr>{''.join(f'<th>{escape(str(state))}</th>' for state in states)}<td>{p:.6f}</td></tr>"
            for states, p in self._rows()
        )
        caption = escape(" ".join([self.title, *self._more("")]))
        return f"<table><caption>{caption}</caption><thead><tr>{head}<th>probability</th></tr></thead><tbody>{body}</tbody></table>"

    def _rows(self) -> Iterator[tuple[tuple[State, ...], float]]:
        """Yield the first combinations of states with their probabilities."""
        return islice(zip(product(*self.states), self._probabilities.ravel().tolist(), strict=True), SHOWN)

    def _more(self, indent: str) -> list[str]:
        return [f"{indent}... and {len(self) - SHOWN} more"] if len(self) > SHOWN else []


def _states(variable: Variable) -> tuple[State, ...]:
    """Return a different key for each code: its state or label, with the code beside it where two would be equal (True and 1)."""
    states = tuple(value_of(variable, code) for code in range(variable.card))
    return states if len(set(states)) == len(states) else tuple(f"{state!r} (code {code})" for code, state in enumerate(states))


def _position(variable: Variable, states: tuple[State, ...], state: Any) -> int:
    same = [code for code, other in enumerate(states) if other == state and isinstance(other, bool) == isinstance(state, bool)]
    return same[0] if same else code_of(variable, state)


def _text(value: object) -> str:
    text = str(value)
    return text if text.isprintable() else repr(text)
