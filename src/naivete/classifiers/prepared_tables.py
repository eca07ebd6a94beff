"""Posterior probabilities of one row, by sums of logarithms that are prepared once as tuples of Python numbers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import takewhile
from math import exp, inf
from operator import add
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import missing_code, narrowest
from naivete.classifiers.export.sum_of_tables import sum_of_tables
from naivete.classifiers.export.tabular_form import strides
from naivete.data.records import LARGEST_EXACT
from naivete.encoding.column_codes import warn_unseen
from naivete.errors import ParameterError, ResourceError
from naivete.inference.elimination import kept
from naivete.inference.row_elimination import RowSum, lookup_table, row_sum
from naivete.network.densities import FAR
from naivete.variables import Name, State, state_key

if TYPE_CHECKING:
    from naivete.classifiers.base import NetworkClassifier
    from naivete.classifiers.export.tabular_form import Gaussian, Input, SumOfTables, Table
    from naivete.inference.elimination import Component, Elimination

__all__ = ["PreparedTables", "prepared_tables"]

_OTHER: Final = object()
"""Stands for a value that needs the checks of the encoder."""

MOST_PLANS: Final = 4096
"""The number of patterns of missing values for which the additions are kept."""
MOST_SUMS: Final = 1024
"""The number of sums over connected missing features that are kept."""

Code = Any
"""The position of a state or an interval, or a number; None if the value is missing."""
Logs = Sequence[float]
"""A logarithm for each class."""


_Term: TypeAlias = "_Small | _Large | _Density | RowSum"


def prepared_tables(model: NetworkClassifier) -> PreparedTables | None:
    """Return the tables of a fitted classifier; None if its predictions are not a sum over tables and normal densities."""
    try:
        form = sum_of_tables(model, title="")
    except (ParameterError, ResourceError):
        return None
    return (
        None
        if form.tree is not None or form.hierarchy is not None or form.hidden
        else PreparedTables(form, model.predictor_.elimination)
    )


class _Large(NamedTuple):
    """A table with more than three members."""

    logs: Sequence[Logs]
    members: tuple[int, ...]
    strides: tuple[int, ...]


class _Small(NamedTuple):
    """A table with at most three members, in the row `codes[first] * step + codes[second] * stride + codes[third]`."""

    logs: Sequence[Logs]
    first: int
    step: int
    second: int
    stride: int
    third: int


class _Density(NamedTuple):
    """A normal density: mean, standard deviation, log-density at the mean and slopes of each class, by the cell of its parents."""

    variable: int
    members: tuple[int, ...]
    strides: tuple[int, ...]
    linked: tuple[int, ...]
    cells: list[list[tuple[float, float, float, tuple[float, ...]]]]


class _Plan(NamedTuple):
    """The additions for all rows in which the same features are missing.

    Parameters
    ----------
    small : the tables that are added first and have at most three members.
    others : what is added after them, in this order.
    """

    small: list[_Small]
    others: list[_Term]


class PreparedTables:
    """The posterior probabilities of rows of values, by additions of logarithms in the order of the predictor.

    Rows of values that occurred in training, or are missing, give the same bits as the compiled kernels.

    Parameters
    ----------
    form : the classifier as a sum over tables, without derived columns.
    elimination : the marginalization of missing parents for many rows.
    """

    def __init__(self, form: SumOfTables, elimination: Elimination) -> None:
        none, classes = len(form.inputs), len(form.classes)
        self._inputs, self._classes, self._cards, self._elimination = form.inputs, classes, form.cards, elimination
        self._encoders = [_encoder(column) for column in form.inputs]
        self._absent = [self._code(x, None, {}) for x in range(none)]
        self._states = [{state_key(s): i for i, s in enumerate(column.states)} for column in form.inputs]
        self._added, self._constant = (
            [_term(_rows(table, classes), table.members, table.strides, none) for table in tables]
            for tables in (form.added, form.constant)
        )
        self._densities = [_density(density, classes) for density in form.densities]
        self._linked = any(density.linked for density in form.densities)
        self._no_evidence = None if form.no_evidence is None else form.no_evidence.tolist()
        self._evidence = frozenset(form.evidence)
        self._constant_posterior = None if self._evidence else self._no_evidence  # all features have a single state
        self._temperature = form.temperature
        self._types = [_code_type(column, card) for column, card in zip(form.inputs, form.cards, strict=False)]
        self._sums: dict[Component, _Small | _Large | RowSum | None] = {}
        self._plans: dict[tuple[int, ...], _Plan | None] = {}
        self._complete = self._plan(())

    def posterior(self, values: Sequence[Any]) -> list[float] | None:
        """Return the posterior probabilities, None if they need the predictor: sums over many states, or values to refuse."""
        unseen: dict[Name, int] = {}
        codes = self.codes(values, unseen)
        result = None if codes is None else self.code_posterior(codes)
        if unseen and result is not None:
            warn_unseen(unseen, ())
        return result

    def codes(self, values: Sequence[Any], unseen: dict[Name, int]) -> list[Code] | None:
        """Return the codes of the values of a row, None for those that are missing; None if the encoder has to check a value.

        Parameters
        ----------
        values : sequence
            The values of all features.
        unseen : dict
            Gets the names of the features whose values did not occur in training.
        """
        try:
            codes = [encode(value) for encode, value in zip(self._encoders, values, strict=True)]
        except TypeError:  # a value without a hash
            return None
        if None not in codes:
            return codes
        for x, code in enumerate(codes):
            if code is None:
                code = codes[x] = self._absent[x] if values[x] is None else self._code(x, values[x], unseen)
                if code is _OTHER:
                    return None
        return codes

    def code_posterior(self, codes: list[Code]) -> list[float] | None:
        """Return the posterior probabilities of a row of codes, None if they need the predictor.

        Parameters
        ----------
        codes : list
            The codes of the features, None for those that are missing.
        """
        if self._constant_posterior is not None:
            return list(self._constant_posterior)
        if None not in codes:
            plan: _Plan | None = self._complete
        else:
            absent = tuple([x for x, code in enumerate(codes) if code is None])
            if len(absent) >= len(self._evidence) and self._no_evidence is not None and self._evidence <= {*absent}:
                return list(self._no_evidence)
            plan = kept(self._plans, absent, self._plan, MOST_PLANS)
        return None if plan is None else self._normalized(self._joint(plan, codes))

    def _plan(self, absent: tuple[int, ...]) -> _Plan | None:
        """Return the additions for rows in which these features are missing, None if they need the predictor."""
        missing = {*absent}
        components = sorted(self._elimination.components(frozenset(absent))) if absent else []
        if missing and (self._linked or (components and any(density.members for density in self._densities))):
            return None
        sums = [kept(self._sums, component, self._sum, MOST_SUMS) for component in components]
        terms: list[_Term] = [term for term in (*self._added, *self._densities) if missing.isdisjoint(_members(term))]
        terms += [term for term in sums if term is not None]
        terms += [term for term in self._constant if missing.isdisjoint(_members(term))]
        small = [*takewhile(lambda term: isinstance(term, _Small), terms)]
        return None if None in sums else _Plan(small, terms[len(small) :])  # type: ignore[arg-type]

    def _sum(self, component: Component) -> _Small | _Large | RowSum | None:
        """Return what connected missing features contribute to a row, None if the sum over their states is too large."""
        table = lookup_table(self._elimination, component)
        if table is None:
            return row_sum(self._elimination, component)
        return _term(table.logs, table.members, strides([self._cards[m] for m in table.members]), len(self._inputs))

    def arrays(self, codes: list[Code]) -> tuple[list[NDArray[Any]], NDArray[np.bool_]]:
        """Return the codes as one-row columns for the predictor, and which of them are missing."""
        columns = [
            np.array([empty if code is None else code], dtype) for code, (empty, dtype) in zip(codes, self._types, strict=True)
        ]
        return columns, np.array([code is None for code in codes], bool)

    def _joint(self, plan: _Plan, codes: list[Code]) -> Logs:
        """Return log P(class, row) up to a term that all classes share."""
        codes = [*codes, 0]  # the last is the code of a member that a table does not have
        parts = [
            logs[codes[first] * step + codes[second] * stride + codes[third]]
            for logs, first, step, second, stride, third in plan.small
        ]
        if plan.others:
            parts += [_logs(term, codes) for term in plan.others]
        if self._classes == 2:
            one = two = 0.0
            for a, b in parts:
                one += a
                two += b
            return one, two
        return [reduce(add, column) for column in zip(*parts, strict=True)] if parts else [0.0] * self._classes

    def _normalized(self, joint: Logs) -> list[float] | None:
        top = max(joint)
        if top == -inf:
            return None  # impossible in every class
        if self._temperature != 1:
            joint = [self._temperature * a for a in joint]
            top = max(joint)
        parts = [exp(a - top) for a in joint]
        total = reduce(add, parts)
        return [part / total for part in parts]

    def _code(self, x: int, value: Any, unseen: dict[Name, int]) -> Code:
        """Return the code of any value: None if it is treated as missing, `_OTHER` if the encoder has to check it."""
        column = self._inputs[x]
        if column.kind == "unused" or (self._cards[x] == 1 and column.kind != "number" and _is_missing(value)):
            return 0
        if isinstance(value, np.generic):
            value = value.item()
        if _is_missing(value):
            return None if column.missing < 0 else column.missing
        if type(value) not in (str, bool, int, float) or (type(value) is float and abs(value) == inf):
            return _OTHER
        if column.kind != "states":
            code = self._encoders[x](value)
            return _OTHER if code is None else code
        code = self._states[x].get((type(value) is bool, value), column.unseen)
        if code == -1:
            unseen[column.name] = 1
            return 0 if self._cards[x] == 1 else None  # tables do not depend on a feature of a single state
        return _OTHER if code < 0 or (type(value) is int and abs(value) > LARGEST_EXACT) else code


def _encoder(column: Input) -> Callable[[Any], Code]:
    """Return a function from a familiar value to its code, which returns None for all others."""
    if column.kind == "unused":
        return lambda _: 0
    if column.kind == "intervals":
        return _interval_encoder(column.cuts)
    if column.kind == "number":
        return _number_encoder(column.origin)
    if all(type(state) is str and state for state in column.states):
        return {state: code for code, state in enumerate(column.states)}.get
    return _state_encoder({state_key(state): code for code, state in enumerate(column.states)})


def _interval_encoder(cuts: tuple[float, ...]) -> Callable[[Any], Code]:
    def encode(value: Any) -> Code:
        if type(value) is float:
            return bisect_left(cuts, value) if -inf < value < inf else None
        return bisect_left(cuts, value) if type(value) is int and -LARGEST_EXACT <= value <= LARGEST_EXACT else None

    return encode


def _number_encoder(origin: float) -> Callable[[Any], Code]:
    def encode(value: Any) -> Code:
        if type(value) is float:
            return value - origin if -inf < value < inf else None
        return float(value) - origin if type(value) is int and -LARGEST_EXACT <= value <= LARGEST_EXACT else None

    return encode


def _state_encoder(codes: Mapping[tuple[bool, State], int]) -> Callable[[Any], Code]:
    numbers = {state: code for (boolean, state), code in codes.items() if not boolean and state != ""}
    booleans = {state: code for (boolean, state), code in codes.items() if boolean}

    def encode(value: Any) -> Code:
        return (booleans if type(value) is bool else numbers).get(value) if type(value) in (bool, int, float, str) else None

    return encode


def _code_type(column: Input, card: int) -> tuple[Any, np.dtype[Any]]:
    """Return the code of a missing value, and the type of the codes of a column."""
    if column.kind == "number":
        return np.nan, np.dtype(np.float64)
    dtype = np.dtype(narrowest(card))
    return missing_code(dtype), dtype


def _rows(table: Table, classes: int) -> tuple[Logs, ...]:
    """Return the logarithms of a table, one for each class also if the class is not in the table."""
    return tuple(tuple(row) if len(row) == classes else tuple(row) * classes for row in table.logs.tolist())


def _term(logs: Sequence[Logs], members: tuple[int, ...], strides: tuple[int, ...], none: int) -> _Small | _Large:
    """Return a table; `none` is the position of a code 0, in place of members that a small table does not have."""
    if len(members) > 3:
        return _Large(logs, members, strides)
    (first, step), (second, stride), (third, _) = ((none, 0), (none, 0), (none, 1), *zip(members, strides, strict=True))[-3:]
    return _Small(logs, first, step, second, stride, third)


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value == "" or value != value)


def _members(term: _Term) -> tuple[int, ...]:
    """Return the features that have to be observed, so that a table or a density can be added."""
    if isinstance(term, _Small):
        return term.first, term.second, term.third
    return (term.variable, *term.members) if isinstance(term, _Density) else term.members if isinstance(term, _Large) else ()


def _logs(term: _Term, codes: list[Code]) -> Logs:
    """Return the logarithms that are added for a row."""
    if isinstance(term, _Small):
        return term.logs[codes[term.first] * term.step + codes[term.second] * term.stride + codes[term.third]]
    if isinstance(term, RowSum):
        return term.contribution(codes)
    return _log_densities(term, codes) if isinstance(term, _Density) else term.logs[_cell(term, codes)]


def _cell(table: _Large | _Density, codes: list[Code]) -> int:
    return sum(codes[member] * stride for member, stride in zip(table.members, table.strides, strict=True))


def _density(density: Gaussian, classes: int) -> _Density:
    cells = [
        [(m, d, p, tuple(slopes)) for m, d, p, slopes in zip(*rows, strict=True)]
        for rows in zip(
            density.means.tolist(), density.deviations.tolist(), density.peaks.tolist(), density.slopes.tolist(), strict=True
        )
    ]
    repeated = [row if len(row) == classes else row * classes for row in cells]
    return _Density(density.variable, density.members, density.strides, density.linked, repeated)


def _log_densities(density: _Density, codes: list[Code]) -> Logs:
    """Return the log-densities of the classes for a row in which the feature and its parents are observed."""
    value, logs = codes[density.variable], []
    for mean, deviation, peak, slopes in density.cells[_cell(density, codes)]:
        expected = 0.0
        for parent, slope in zip(density.linked, slopes, strict=True):
            expected += codes[parent] * slope
        distance = min(max((value - expected - mean) / deviation, -FAR), FAR)
        logs.append(peak - 0.5 * distance * distance)
    return logs
