"""Table -> schema -> small integer codes: the one place where values become codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import narrowest
from naivete._kernels.exact_sums import sums_as_numbers
from naivete.data.frames import SparseMatrix
from naivete.data.table import Column, Kind, Table
from naivete.encoding.counting import as_numbers, byte_limits, check_finite, tallied
from naivete.encoding.discretization import Cut, EqualFrequency, EqualWidth, check_bins, mdl, normal_is_better
from naivete.encoding.value_counts import ColumnCounts, ValueCounts
from naivete.errors import DataError, NaiveteWarning, ParameterError, UnseenValueWarning, close_matches, quoted, warn
from naivete.variables import CLASS, Family, Name, State, Variable

__all__ = ["Encoded", "Encoder", "FeatureTables", "encode"]

IDENTIFIER_STATES = 1000
DENSITIES = ("normal", "kernel")
NEAR = 1000.0
"""How many times their range numbers may be away from zero without losing digits that matter."""


class Encoded(NamedTuple):
    """Codes of some columns, and which of them have missing values."""

    codes: tuple[NDArray[Any], ...]
    gaps: NDArray[np.bool_]


@dataclass(frozen=True)
class Encoder:
    """How the columns of a table become states.

    Parameters
    ----------
    kinds : "nominal" or "numeric" for all columns, or a mapping from column names to these; what it leaves open is decided by
        the values: text, categories, booleans and whole numbers with at most `few` distinct values are nominal, other numbers
        numeric.
    numbers : what becomes of numeric columns: "cut" makes intervals of them; "normal" gives them a normal density in each class,
        which NaiveBayes, TAN, KDB, Full, KNaive and Recursive can use; "kernel", in NaiveBayes, a sum of bells
        around the training values (Silverman's widths); "auto" does for each column what tells the class better,
        each case left out (`naivete.encoding.discretization.normal_is_better`), and cuts all of them for other classifiers.
    cut : where numeric columns are cut: `naivete.mdl`, `naivete.EqualFrequency(10)`, `naivete.EqualWidth(10)`, or at every
        `naivete.distinct` value; by default by `mdl`, but for a classifier that finds its own thresholds, C45, at every value.
    missing : "omit" counts each family on the rows where all its members are known and marginalises missing values when
        predicting; "state" makes missing a value of the columns in which it occurs; "em" is "omit" while dependences are looked
        for, after which the tables are estimated from all rows by expectation-maximisation (`naivete.inference.em`).
    unseen : what a value that did not occur in training gets when predicting: "marginalise" treats it as missing with a warning,
        "smooth" the probability that smoothing leaves for it, "error" refuses it.
    unlabelled : what training rows without a label get: "error" refuses them, "drop" leaves them out and says how many.
    few : the most distinct values that whole numbers may have to be nominal.
    """

    kinds: Kind | Mapping[Name, Kind] | None = None
    cut: Cut | None = None
    missing: Literal["omit", "state", "em"] = "omit"
    unseen: Literal["marginalise", "smooth", "error"] = "marginalise"
    unlabelled: Literal["error", "drop"] = "error"
    few: int = 20
    numbers: Literal["cut", "normal", "kernel", "auto"] = "cut"

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """The settings by name, so that scikit-learn's searches reach them as `encoder__few` and so on."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def set_params(self, **settings: Any) -> Encoder:
        """The same encoder with other settings."""
        for name, value in settings.items():
            if name not in self.__dataclass_fields__:
                raise ParameterError(f"the encoder has no setting {quoted(name)}; it has {', '.join(self.__dataclass_fields__)}")
            object.__setattr__(self, name, value)
        return self

    def check(self) -> None:
        """Refuse settings out of their range."""
        choices = {
            "missing": ("omit", "state", "em"),
            "unseen": ("marginalise", "smooth", "error"),
            "unlabelled": ("error", "drop"),
            "numbers": ("cut", "normal", "kernel", "auto"),
        }
        for field, allowed in choices.items():
            value = getattr(self, field)
            if value not in allowed:
                raise ParameterError(f"{field}={quoted(value)}: choose one of {', '.join(map(repr, allowed))}")
        if self.cut is not None and not callable(self.cut):
            raise ParameterError(f"cut={quoted(self.cut)}: pass mdl, EqualFrequency(bins), EqualWidth(bins) or distinct")
        if isinstance(self.cut, (EqualFrequency, EqualWidth)):
            check_bins(self.cut.bins)
        if type(self.few) is not int or self.few < 0:
            raise ParameterError(f"few={quoted(self.few)}: a whole number, at least 0")

    def schema(self, tallies: ValueCounts) -> tuple[Variable, ...]:
        """The variables of the columns that were tallied."""
        return tuple(self._variable(tally, tallies.rows) for tally in tallies.columns)

    def tallied(
        self,
        table: Table,
        labels: NDArray[Any],
        classes: Sequence[State],
        weight: NDArray[np.float64] | None,
        *,
        exact: bool = False,
    ) -> ValueCounts:
        """The tallies of some rows, of which `schema` makes the variables; `labels` are positions among the classes.

        Of numbers that get a density the tallies keep only the ends, unless they have to be `exact`, so that rows can be taken
        out again.
        """
        self.check()
        broad = self.numbers in DENSITIES and not exact
        return tallied(table, labels, classes, weight, self._kinds(table), broad=broad)

    def _kinds(self, table: Table) -> Mapping[Name, Kind]:
        kinds = self.kinds
        if kinds is None:
            return {}
        if isinstance(kinds, str):
            kinds = dict.fromkeys(table.names, kinds)
        elif not isinstance(kinds, Mapping):
            raise ParameterError(f"kinds={quoted(kinds)}: pass 'nominal', 'numeric' or a mapping from column names to these")
        names = set(table.names)
        for name, kind in kinds.items():
            if name not in names:
                close = close_matches(name, table.names)
                raise ParameterError(
                    f"kinds: there is no column {quoted(name)}" + (f"; did you mean {close[0]!r}?" if close else "")
                )
            if kind not in ("nominal", "numeric"):
                raise ParameterError(f"kinds: column {quoted(name)} is {quoted(kind)}; choose 'nominal' or 'numeric'")
        return kinds

    def _variable(self, tally: ColumnCounts, rows: int) -> Variable:
        if rows and tally.vacant:
            warn(
                f"column {quoted(tally.name)} has no value in any row and carries no information; "
                "leave it out (`ignore=`) or fill it in",
                NaiveteWarning,
            )
        missing, other = self.missing == "state" and tally.gaps, self.unseen == "smooth"
        states = self._states(tally)
        if states is None and self.numbers in DENSITIES:
            return Variable(tally.name, origin=_origin(tally), kernel=self.numbers == "kernel")
        if states is None:
            return self._numeric(tally, missing)
        _warn_identifier(tally.name, states, rows)
        return Variable(tally.name, states, missing=missing, other=other)

    def _numeric(self, tally: ColumnCounts, missing: bool) -> Variable:
        """A number that is cut, or has a density where that tells more and was left open."""
        curve = tally.curve()
        cuts = (self.cut or mdl)(*curve)
        if self.numbers == "auto" and len(tally.values) and normal_is_better(*curve, cuts):
            return Variable(tally.name, origin=_origin(tally))
        return Variable(tally.name, cuts=cuts, missing=missing)

    def _states(self, tally: ColumnCounts) -> tuple[State, ...] | None:
        """The states of a nominal column, None for one that is to be cut."""
        if tally.vacant and tally.kind != "numeric":
            return ()  # of which type the values are that never came, nobody can say
        if isinstance(tally.values, tuple):
            return tally.states if tally.declared is None else _united(tally.declared, tally.states)
        whole = tally.values.dtype.kind != "f" or (len(tally.values) and not (tally.values != np.floor(tally.values)).any())
        few = tally.kind is None and whole and not tally.level and len(tally.values) <= self.few
        return tally.states if tally.kind == "nominal" or few else None


def _origin(tally: ColumnCounts) -> float:
    """Where the numbers of a column are measured from: zero, or the middle where that is far from zero."""
    if not len(tally.values) or tally.tops is None:
        return 0.0
    low, high = float(np.min(tally.values)), float(np.max(tally.tops))
    middle = low / 2 + high / 2
    return 0.0 if abs(middle) <= NEAR * (high - low) else middle


def _united(declared: tuple[State, ...], occurring: tuple[State, ...]) -> tuple[State, ...]:
    """The declared states, then those that occur all the same."""
    known = {(isinstance(s, bool), s) for s in declared}
    return (*declared, *(s for s in occurring if (isinstance(s, bool), s) not in known))


@dataclass(frozen=True, eq=False)
class FeatureTables:
    """The tables of single features, with or without the class, as counting the encoded rows would give them."""

    tallies: ValueCounts
    variables: Sequence[Variable]

    @property
    def rows(self) -> int:
        """How many rows were tallied."""
        return self.tallies.rows

    def __call__(self, family: Family) -> NDArray[Any] | None:
        """The table of a family, None for one that the tallies do not tell.

        That is so of several features, and of a column with a cut point inside a cell: only its rows can tell.
        """
        if family == (CLASS,):
            return sums_as_numbers(self.tallies.weights)
        if len(family) != 1 and family[1:] != (CLASS,):
            return None
        tally, variable = self.tallies.columns[family[0]], self.variables[family[0]]
        if len(family) == 2 and variable.cuts is None and tally.states is variable.states and variable.card == variable.known:
            return sums_as_numbers(tally.weights)  # a code for every value that occurs, in its place
        at = _codes_of(tally, variable)
        if at is None:
            return None
        parts = {q: _margin(tally, q, at, variable) for q in tally.weights.keys() | tally.missing.keys()}
        return sums_as_numbers(parts if len(family) == 2 else {q: part.sum(axis=1) for q, part in parts.items()})


def _codes_of(tally: ColumnCounts, variable: Variable) -> NDArray[np.int64] | None:
    """The code of each value of a tally, None where values of one cell have different codes."""
    if variable.density:
        return np.zeros(len(tally.values), np.int64)
    if variable.cuts is not None:
        assert not isinstance(tally.values, tuple)
        assert tally.tops is not None
        cuts = np.array(variable.cuts)
        low, high = (np.searchsorted(cuts, v.astype(np.float64), side="left") for v in (tally.values, tally.tops))
        return low if np.array_equal(low, high) else None
    if tally.states is variable.states:
        return np.arange(len(tally.states))
    code_of = {(isinstance(s, bool), s): code for code, s in enumerate(variable.states)}
    return np.array([code_of[isinstance(s, bool), s] for s in tally.states], np.int64)


def _margin(tally: ColumnCounts, q: int, at: NDArray[np.int64], variable: Variable) -> NDArray[np.int64]:
    if variable.card == len(at) and q in tally.weights and np.array_equal(at, np.arange(len(at))):
        return tally.weights[q]
    table = np.zeros((variable.card, next(iter(tally.missing.values())).shape[-1]), np.int64)
    if q in tally.weights:
        np.add.at(table, at, tally.weights[q])
    if variable.missing and q in tally.missing:
        table[variable.known] += tally.missing[q]
    return table


def _warn_identifier(name: Name, states: Sequence[State], rows: int) -> None:
    if len(states) > IDENTIFIER_STATES and len(states) * 2 > rows:
        warn(
            f"column {quoted(name)} has {len(states)} distinct values in {rows} rows and looks like an identifier; "
            "leave it out (`ignore=`), or declare it numeric (`kinds=`) if it is a quantity",
            NaiveteWarning,
        )


def encode(
    table: Table, variables: Sequence[Variable], *, unseen: str = "marginalise", gaps: NDArray[np.bool_] | None = None
) -> Encoded:
    """The codes of the variables' columns, matched by name, in the variables' order; missing is the largest code of its type.

    `gaps` says which columns have missing values, where the same table was looked at before; it is not looked at again.

    >>> from naivete.data.frames import table_of
    >>> [c.tolist() for c in encode(table_of([["b"], [None], ["a"]]), [Variable("x0", ("a", "b"))]).codes]
    [[1, 255, 0]]
    """
    columns = matched_columns(table, variables)
    sparse = isinstance(table, SparseMatrix)  # looked at when it was taken, and made column by column
    ends: Mapping[int, tuple[float, float]] = {}
    if not sparse:
        columns = [column.without_blank() for column in columns]
        ends = check_finite(table, columns) if gaps is None else {}
    limits = {} if sparse else byte_limits(columns)
    plain: dict[int, int] = {}
    found: dict[Name, int] = {}
    other_types: list[str] = []
    codes, missed = [], []
    for i, (column, variable) in enumerate(zip(columns, variables, strict=True)):
        if i in limits and limits[i] <= _plain_states(variable, plain):
            codes.append(column.values)  # bytes that are their own codes
            missed.append(False)
            continue
        if variable.origin is not None and (i in ends or gaps is not None):
            codes.append(_measured(column, variable.origin))
            missed.append(bool(np.isnan(ends[i][0]) if gaps is None else gaps[i]))
            continue
        own, strange, missing = encoded_column(column, variable, smooth=unseen == "smooth")
        if len(strange) and unseen == "error":
            raise DataError(unseen_message(table, column, variable, int(strange[0])))
        if len(strange) and not (variable.other and unseen == "smooth"):
            found[variable.name] = len(strange)
            other_types += other_type_message(column, variable)
        codes.append(own)
        missed.append((missing and not variable.missing) or (len(strange) > 0 and not (variable.other and unseen == "smooth")))
    warn_unseen(found, other_types)
    return Encoded(tuple(codes), np.array(missed, np.bool_))


def _measured(column: Column, origin: float) -> NDArray[np.float64]:
    """The numbers of a column from where they are measured."""
    values: NDArray[np.float64] = as_numbers(column).astype(np.float64, copy=False)
    return values if origin == 0.0 else values - origin


def warn_unseen(found: Mapping[Name, int], other_types: Sequence[str]) -> None:
    """Say how many values of which columns did not occur in training, where there are any."""
    if found:
        listed = ", ".join(f"{quoted(name)}: {count}" for name, count in list(found.items())[:10])
        more = f" and {len(found) - 10} more columns" if len(found) > 10 else ""
        warn(
            f"values that did not occur in training were treated as missing ({listed}{more}){''.join(other_types)}; "
            "`unseen='error'` names them",
            UnseenValueWarning,
        )


def other_type_message(column: Column, variable: Variable) -> list[str]:
    """What to say of a column none of whose values can be a state because they are of another type."""
    had, has = ({_type_word(s) for s in states} for states in (variable.states, _some_values(column)))
    if not had or not has or had & has:
        return []
    return [f"; column {quoted(variable.name)} had {' and '.join(sorted(had))} in training and has {' and '.join(sorted(has))} now"]


def _some_values(column: Column) -> Iterable[State]:
    return column.states if column.states is not None else column.values[:1].tolist()


def _type_word(state: State) -> str:
    return "text" if isinstance(state, str) else "truth values" if isinstance(state, bool) else "numbers"


def matched_columns(table: Table, variables: Sequence[Variable]) -> Sequence[Column]:
    """The columns of the variables, by name; a missing one is an error that lists all of them."""
    if table.names == tuple(v.name for v in variables):
        return table.columns
    by_name = {name: at for at, name in enumerate(table.names)}
    absent = [v.name for v in variables if v.name not in by_name]
    if absent:
        listed = ", ".join(map(quoted, absent[:5])) + (" ..." if len(absent) > 5 else "")
        close = close_matches(absent[0], by_name)
        hint = f"; is {close[0]!r} the renamed {absent[0]!r}?" if close else ""
        raise DataError(f"{table.source}: columns seen in training are missing: {listed}{hint}")
    return [table.columns[by_name[v.name]] for v in variables]


def unseen_message(table: Table, column: Column, variable: Variable, row: int) -> str:
    """What to say of a value that did not occur in training."""
    value = next(iter(column.take(np.array([row]))))
    close = close_matches(value, variable.labels)
    return (
        f"{table.place(row)}: column {quoted(column.name)}: value {quoted(value)} did not occur in training"
        + (f" (nearest: {', '.join(map(repr, close))})" if close else "")
        + "; correct it, leave it empty, or predict with `unseen='marginalise'`"
    )


def encoded_column(column: Column, variable: Variable, *, smooth: bool) -> tuple[NDArray[Any], NDArray[np.int64], bool]:
    """The codes of one column, the rows whose values did not occur in training, and whether any value is missing."""
    if variable.origin is not None:
        values = _measured(column, variable.origin)
        return values, np.empty(0, np.int64), bool(np.isnan(values).any())
    dtype = narrowest(variable.card)
    absent = variable.known if variable.missing else np.iinfo(dtype).max
    strange = variable.known + variable.missing if variable.other and smooth else np.iinfo(dtype).max
    if variable.cuts is not None:
        numbers = as_numbers(column)
        gaps = np.isnan(numbers) if numbers.dtype.kind == "f" else np.zeros(len(numbers), np.bool_)
        intervals = np.searchsorted(np.array(variable.cuts), numbers.astype(np.float64, copy=False), side="left").astype(dtype)
        intervals[gaps] = absent
        return intervals, np.empty(0, np.int64), bool(gaps.any())
    codes, missing, wrong = _numeric_states(column.values, variable) if column.states is None else _listed_states(column, variable)
    out = codes.astype(dtype)
    if missing is not None:
        out[missing] = absent
    rows = np.flatnonzero(wrong)
    out[rows] = strange
    return out, rows, missing is not None and bool(missing.any())


def _plain_states(variable: Variable, known: dict[int, int]) -> int:
    """How many states there are where they are the whole numbers from 0 on, else -1; found once for shared states."""
    states = variable.states
    if variable.numeric or variable.card >= 256:
        return -1
    if id(states) not in known:
        numbers = not any(isinstance(s, (bool, str)) for s in states)
        known[id(states)] = len(states) if numbers and states == tuple(range(len(states))) else -1
    return known[id(states)]


def _numeric_states(values: NDArray[Any], variable: Variable) -> tuple[NDArray[Any], NDArray[np.bool_] | None, NDArray[np.bool_]]:
    """Positions of numbers or booleans among the states; a boolean is not a number, 1 and 1.0 are one."""
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
    at = np.minimum(np.searchsorted(known, values), len(known) - 1)
    wrong = known[at] != values
    if missing is not None:
        wrong &= ~missing
    return code_of[at], missing, wrong


def _exact_states(
    values: NDArray[Any], missing: NDArray[np.bool_] | None, code_of: Mapping[State, int]
) -> tuple[NDArray[Any], NDArray[np.bool_] | None, NDArray[np.bool_]]:
    """Positions of numbers among states that floats cannot tell apart, compared as Python compares them."""
    distinct, position = np.unique(values, return_inverse=True)
    codes = np.array([code_of.get(value, -1) for value in distinct.tolist()], np.int64)[position]
    return codes, missing, (codes < 0) if missing is None else (codes < 0) & ~missing


def _listed_states(column: Column, variable: Variable) -> tuple[NDArray[Any], NDArray[np.bool_] | None, NDArray[np.bool_]]:
    assert column.states is not None
    code_of = {(isinstance(s, bool), s): code for code, s in enumerate(variable.states)}
    lut = np.array([code_of.get((isinstance(s, bool), s), -1) for s in column.states] + [-1])
    codes = lut[column.values]
    missing = column.values < 0
    return codes, missing, (codes < 0) & ~missing
