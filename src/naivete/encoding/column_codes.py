"""Codes of the columns of a table under a schema."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import missing_code, narrowest
from naivete.data.frames import SparseMatrix
from naivete.data.table import Column, Table
from naivete.encoding.column_checks import as_numbers, byte_limits, check_finite
from naivete.errors import DataError, MissingColumnWarning, UnseenValueWarning, close_matches, quoted, warn
from naivete.variables import Name, State, Variable, state_key, type_word

__all__ = [
    "Encoded",
    "absent_columns",
    "encode",
    "encoded_column",
    "matched_columns",
    "other_type_message",
    "unseen_message",
    "warn_unseen",
    "with_absent_columns",
]


class Encoded(NamedTuple):
    """Codes of the columns of a table, and which columns have missing values."""

    codes: tuple[NDArray[Any], ...]
    has_missing: NDArray[np.bool_]


def encode(
    table: Table, variables: Sequence[Variable], *, unseen: str = "marginalise", has_missing: NDArray[np.bool_] | None = None
) -> Encoded:
    """Return the codes of the columns of the variables, matched by name, in the order of the variables.

    A missing value has the missing code, the largest value of the integer type; a continuous feature has its distance from the
    origin of its variable, nan if missing.

    Parameters
    ----------
    table : the table.
    variables : the schema of the features.
    unseen : "marginalise", "smooth" or "error", as of `Encoder`.
    has_missing : which columns have missing values, if the same table was counted before; it is not checked again then.

    >>> from naivete.data.frames import table_of
    >>> [c.tolist() for c in encode(table_of([["b"], [None], ["a"]]), [Variable("x0", ("a", "b"))]).codes]
    [[1, 255, 0]]
    """
    columns = matched_columns(table, variables)
    sparse = isinstance(table, SparseMatrix)  # checked when it was made; its columns are made one at a time
    ends: Mapping[int, tuple[float, float]] = {}
    if not sparse:
        columns = [column.without_blank() for column in columns]
        ends = check_finite(table, columns) if has_missing is None else {}
    limits = {} if sparse else byte_limits(columns, counted=has_missing is not None)
    counts_of_states: dict[int, int] = {}
    unseen_counts: dict[Name, int] = {}
    other_types: list[str] = []
    codes: list[NDArray[Any]] = []
    missing_columns: list[bool] = []
    for i, (column, variable) in enumerate(zip(columns, variables, strict=True)):
        if variable.left_out:
            codes.append(np.zeros(len(column), np.uint8))
            missing_columns.append(False)
            continue
        if i in limits and limits[i] <= _plain_states(variable, counts_of_states):
            codes.append(column.values)  # bytes that are their own codes
            missing_columns.append(False)
            continue
        if variable.origin is not None and (i in ends or has_missing is not None):
            codes.append(_measured(column, variable.origin))
            missing_columns.append(bool(np.isnan(ends[i][0]) if has_missing is None else has_missing[i]))
            continue
        column_codes, strange, missing = encoded_column(column, variable, smooth=unseen == "smooth")
        if len(strange) and unseen == "error":
            raise DataError(unseen_message(table, column, variable, int(strange[0])))
        if len(strange) and not (variable.other and unseen == "smooth"):
            unseen_counts[variable.name] = len(strange)
            other_types += other_type_message(column, variable)
        codes.append(column_codes)
        missing_columns.append(
            (missing and not variable.missing) or (len(strange) > 0 and not (variable.other and unseen == "smooth"))
        )
    warn_unseen(unseen_counts, other_types)
    return Encoded(tuple(codes), np.array(missing_columns, np.bool_))


def _measured(column: Column, origin: float) -> NDArray[np.float64]:
    """Return the numbers of a column, measured from the origin."""
    values: NDArray[np.float64] = as_numbers(column).astype(np.float64, copy=False)
    return values if origin == 0.0 else values - origin


def warn_unseen(unseen_counts: Mapping[Name, int], other_types: Sequence[str]) -> None:
    """Warn how many values of which columns did not occur in training, if there are any."""
    if unseen_counts:
        listed = ", ".join(f"{quoted(name)}: {count}" for name, count in list(unseen_counts.items())[:10])
        more = f" and {len(unseen_counts) - 10} more columns" if len(unseen_counts) > 10 else ""
        warn(
            f"values that did not occur in training were treated as missing ({listed}{more}){''.join(other_types)}; "
            "`unseen='error'` names them",
            UnseenValueWarning,
        )


def other_type_message(column: Column, variable: Variable) -> list[str]:
    """Return a note about a column whose values are of another type than in training; an empty list if they are not."""
    before, now = ({type_word(s) for s in states} for states in (variable.states, _some_values(column)))
    if not before or not now or before & now:
        return []
    return [
        f"; column {quoted(variable.name)} had {' and '.join(sorted(before))} in training and has {' and '.join(sorted(now))} now"
    ]


def _some_values(column: Column) -> Iterable[State]:
    return column.states if column.states is not None else column.values[:1].tolist()


def matched_columns(table: Table, variables: Sequence[Variable]) -> Sequence[Column]:
    """Return the columns of the variables, matched by name; raise an error that lists those that the table does not have.

    A column that was left out in training need not be there; its values are not used.
    """
    if table.names == tuple([v.name for v in variables]):
        return table.columns
    by_name = {name: position for position, name in enumerate(table.names)}
    absent = absent_columns(table, variables)
    if absent:
        raise DataError(_absent_message(table, absent, variables))
    unused = np.zeros(len(table), np.uint8)
    return [table.columns[by_name[v.name]] if v.name in by_name else Column(v.name, unused) for v in variables]


def absent_columns(table: Table, variables: Sequence[Variable]) -> list[Name]:
    """Return the names of the variables that are no columns of the table, without those that were left out in training."""
    names = set(table.names)
    return [v.name for v in variables if v.name not in names and not v.left_out]


def _absent_message(table: Table, absent: Sequence[Name], variables: Sequence[Variable]) -> str:
    listed = ", ".join(map(quoted, absent[:5])) + (f" ... ({len(absent)} columns)" if len(absent) > 5 else "")
    known = {v.name for v in variables}
    close = close_matches(absent[0], [name for name in table.names if name not in known])
    hint = f"; is {close[0]!r} the renamed {absent[0]!r}?" if close else ""
    return f"{table.source}: columns seen in training are missing: {listed}{hint}"


def with_absent_columns(table: Table, variables: Sequence[Variable], *, informative: Collection[Name] = ()) -> Table:
    """Return the table with missing values in the columns that it lacks, with a warning; an error if it has none of them.

    Parameters
    ----------
    table : the table; a sparse matrix is returned unchanged.
    variables : the schema of the features.
    informative : the features in which a missing value is a value of its own: some were missing in training.

    >>> import warnings
    >>> from naivete.data.frames import table_of
    >>> with warnings.catch_warnings(action="ignore"):
    ...     with_absent_columns(table_of([["b"]]), [Variable("x0", ("a", "b")), Variable("x1", ("c",))]).names
    ('x0', 'x1')
    """
    absent = [] if isinstance(table, SparseMatrix) else absent_columns(table, variables)
    if not absent:
        return table
    if not any(v.name in table.names for v in variables):
        raise DataError(_absent_message(table, absent, variables))
    learned = [name for name in absent if name in informative]
    listed = ", ".join(map(quoted, learned[:5])) + (f" ... ({len(learned)} columns)" if len(learned) > 5 else "")
    influence = f", which is a value of its own, learned in training, in {listed}" if learned else ""
    warn(
        f"{_absent_message(table, absent, variables)}; their values are treated as missing{influence}; "
        "`unseen='error'` refuses such rows",
        MissingColumnWarning,
    )
    missing = np.full(len(table), np.nan)
    return replace(table, columns=(*table.columns, *(Column(name, missing) for name in absent)))


def unseen_message(table: Table, column: Column, variable: Variable, row: int) -> str:
    """Return the error message for a value that did not occur in training."""
    value = next(iter(column.take(np.array([row]))))
    close = close_matches(value, variable.labels)
    return (
        f"{table.place(row)}: column {quoted(column.name)}: value {quoted(value)} did not occur in training"
        + (f" (nearest: {', '.join(map(repr, close))})" if close else "")
        + "; correct it, leave it empty, or predict with `unseen='marginalise'`"
    )


def encoded_column(column: Column, variable: Variable, *, smooth: bool) -> tuple[NDArray[Any], NDArray[np.int64], bool]:
    """Return the codes of one column, the rows with values that did not occur in training, and whether any value is missing."""
    if variable.left_out:
        return np.zeros(len(column), np.uint8), np.empty(0, np.int64), False
    if variable.origin is not None:
        values = _measured(column, variable.origin)
        return values, np.empty(0, np.int64), bool(np.isnan(values).any())
    dtype = narrowest(variable.card)
    absent = variable.known if variable.missing else missing_code(dtype)
    strange = variable.known + variable.missing if variable.other and smooth else missing_code(dtype)
    if variable.cuts is not None:
        numbers = as_numbers(column)
        absent_rows = np.isnan(numbers) if numbers.dtype.kind == "f" else np.zeros(len(numbers), np.bool_)
        intervals = np.searchsorted(np.array(variable.cuts), numbers.astype(np.float64, copy=False), side="left").astype(dtype)
        intervals[absent_rows] = absent
        return intervals, np.empty(0, np.int64), bool(absent_rows.any())
    codes, missing, wrong = _numeric_states(column.values, variable) if column.states is None else _listed_states(column, variable)
    out = codes.astype(dtype)
    if missing is not None:
        out[missing] = absent
    rows = np.flatnonzero(wrong)
    out[rows] = strange
    return out, rows, missing is not None and bool(missing.any())


def _plain_states(variable: Variable, known: dict[int, int]) -> int:
    """Return the number of states if they are 0, 1, 2, ..., else -1; computed once for variables that share their states."""
    states = variable.states
    if variable.numeric or variable.card >= 256:
        return -1
    if id(states) not in known:
        numbers = not any(isinstance(s, (bool, str)) for s in states)
        known[id(states)] = len(states) if numbers and states == tuple(range(len(states))) else -1
    return known[id(states)]


def _numeric_states(values: NDArray[Any], variable: Variable) -> tuple[NDArray[Any], NDArray[np.bool_] | None, NDArray[np.bool_]]:
    """Return the codes of numbers or booleans, which are missing, and which are no states; 1 and 1.0 are equal, 1 and True not."""
    if values.dtype == np.uint8 and len(values) > 256:
        codes, _, wrong = _numeric_states(np.arange(256, dtype=np.uint8), variable)
        return codes[values], None, wrong[values]
    missing = np.isnan(values) if values.dtype.kind == "f" else None
    boolean = values.dtype.kind == "b"
    usable = [(s, code) for code, s in enumerate(variable.states) if not isinstance(s, str) and isinstance(s, bool) == boolean]
    if not usable:
        wrong = np.ones(len(values), bool) if missing is None else ~missing
        return np.zeros(len(values), np.int64), missing, wrong
    usable.sort(key=lambda pair: pair[0])
    if max(abs(usable[0][0]), abs(usable[-1][0])) > 2**53:
        return _exact_states(values, missing, dict(usable))
    known = np.array([s for s, _ in usable], values.dtype if values.dtype.kind == "b" else None)
    code_of = np.array([code for _, code in usable])
    position = np.minimum(np.searchsorted(known, values), len(known) - 1)
    wrong = known[position] != values
    if missing is not None:
        wrong &= ~missing
    return code_of[position], missing, wrong


def _exact_states(
    values: NDArray[Any], missing: NDArray[np.bool_] | None, code_of: Mapping[State, int]
) -> tuple[NDArray[Any], NDArray[np.bool_] | None, NDArray[np.bool_]]:
    """Return the codes of numbers among states beyond 2**53, which floats cannot represent exactly."""
    distinct, position = np.unique(values, return_inverse=True)
    codes = np.array([code_of.get(value, -1) for value in distinct.tolist()], np.int64)[position]
    return codes, missing, (codes < 0) if missing is None else (codes < 0) & ~missing


def _listed_states(column: Column, variable: Variable) -> tuple[NDArray[Any], NDArray[np.bool_] | None, NDArray[np.bool_]]:
    assert column.states is not None
    code_of = {state_key(s): code for code, s in enumerate(variable.states)}
    lut = np.array([code_of.get(state_key(s), -1) for s in column.states] + [-1])
    codes = lut[column.values]
    missing = column.values < 0
    return codes, missing, (codes < 0) & ~missing
