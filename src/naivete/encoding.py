"""Table -> schema -> small integer codes: the one place where values become codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete.cases.base import combined, limbs
from naivete.discretization import Cut, EqualFrequency, EqualWidth, check_bins, mdl
from naivete.errors import DataError, NaiveteWarning, ParameterError, UnseenValueWarning, nearest, shown, warn
from naivete.table import Column, Kind, Table
from naivete.variables import Name, State, Variable

__all__ = ["Encoded", "Encoder", "encode", "narrowest"]

IDENTIFIER_STATES = 1000


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
    cut : where numeric columns are cut: `naivete.mdl` (default), `naivete.EqualFrequency(10)`, `naivete.EqualWidth(10)`.
    missing : "omit" counts each family on the rows where all its members are known and marginalises missing values when
        predicting; "state" makes missing a value of the columns in which it occurs.
    unseen : what a value that did not occur in training gets when predicting: "marginalise" treats it as missing with a warning,
        "smooth" the probability that smoothing leaves for it, "error" refuses it.
    unlabelled : what training rows without a label get: "error" refuses them, "drop" leaves them out and says how many.
    few : the most distinct values that whole numbers may have to be nominal.
    """

    kinds: Kind | Mapping[Name, Kind] | None = None
    cut: Cut = mdl
    missing: Literal["omit", "state"] = "omit"
    unseen: Literal["marginalise", "smooth", "error"] = "marginalise"
    unlabelled: Literal["error", "drop"] = "error"
    few: int = 20

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """The settings by name, so that scikit-learn's searches reach them as `encoder__few` and so on."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def set_params(self, **settings: Any) -> Encoder:
        """The same encoder with other settings."""
        for name, value in settings.items():
            if name not in self.__dataclass_fields__:
                raise ParameterError(f"the encoder has no setting {shown(name)}; it has {', '.join(self.__dataclass_fields__)}")
            object.__setattr__(self, name, value)
        return self

    def check(self) -> None:
        """Refuse settings out of their range."""
        choices = {"missing": ("omit", "state"), "unseen": ("marginalise", "smooth", "error"), "unlabelled": ("error", "drop")}
        for field, allowed in choices.items():
            value = getattr(self, field)
            if value not in allowed:
                raise ParameterError(f"{field}={shown(value)}: choose one of {', '.join(map(repr, allowed))}")
        if not callable(self.cut):
            raise ParameterError(f"cut={shown(self.cut)}: pass mdl, EqualFrequency(bins) or EqualWidth(bins)")
        if isinstance(self.cut, (EqualFrequency, EqualWidth)):
            check_bins(self.cut.bins)
        if type(self.few) is not int or self.few < 0:
            raise ParameterError(f"few={shown(self.few)}: a whole number, at least 0")

    def schema(
        self, table: Table, labels: NDArray[Any], classes: int, weight: NDArray[np.float64] | None
    ) -> tuple[Variable, ...]:
        """The variables of the table's columns, learned from its rows; `labels` are the class codes of the rows."""
        self.check()
        _check_finite(table, table.columns)
        kinds = self._kinds(table)
        seen = _seen_bytes(table.columns)
        return tuple(
            self._variable(c, kinds.get(c.name), seen.get(i), labels, classes, weight) for i, c in enumerate(table.columns)
        )

    def _kinds(self, table: Table) -> Mapping[Name, Kind]:
        kinds = self.kinds
        if kinds is None:
            return {}
        if isinstance(kinds, str):
            kinds = dict.fromkeys(table.names, kinds)
        elif not isinstance(kinds, Mapping):
            raise ParameterError(f"kinds={shown(kinds)}: pass 'nominal', 'numeric' or a mapping from column names to these")
        names = set(table.names)
        for name, kind in kinds.items():
            if name not in names:
                close = nearest(name, table.names)
                raise ParameterError(
                    f"kinds: there is no column {shown(name)}" + (f"; did you mean {close[0]!r}?" if close else "")
                )
            if kind not in ("nominal", "numeric"):
                raise ParameterError(f"kinds: column {shown(name)} is {shown(kind)}; choose 'nominal' or 'numeric'")
        return kinds

    def _variable(
        self,
        column: Column,
        kind: Kind | None,
        seen: tuple[State, ...] | None,
        labels: NDArray[Any],
        classes: int,
        weight: NDArray[np.float64] | None,
    ) -> Variable:
        kind = kind or column.kind or ("nominal" if column.values.dtype == np.bool_ and column.states is None else None)
        _warn_empty(column)
        missing = self.missing == "state" and _any_missing(column)
        other = self.unseen == "smooth"
        if column.states is not None and kind != "numeric":
            states = column.states if column.declared else _ordered(column.states[i] for i in _occurring(column))
            _warn_identifier(column, states, len(column))
            return Variable(column.name, states, missing=missing, other=other)
        numbers = _as_numbers(column)
        if seen is None and (kind == "nominal" or (kind is None and _whole(numbers))):
            seen = _distinct(numbers, None if kind == "nominal" else self.few)
        if kind == "nominal" or (kind is None and seen is not None and len(seen) <= self.few):
            assert seen is not None
            _warn_identifier(column, seen, len(column))
            return Variable(column.name, seen, missing=missing, other=other)
        return Variable(column.name, cuts=self.cut(*_class_weights(numbers, labels, classes, weight)), missing=missing)


def _check_finite(table: Table, columns: Sequence[Column]) -> None:
    """Refuse infinities, whatever the table was made of."""
    for column in columns:
        if column.values.dtype.kind == "f" and np.isinf(column.values).any():
            row = int(np.argmax(np.isinf(column.values)))
            raise DataError(
                f"{table.place(row)}: column {shown(column.name)}: {column.values[row]} is infinity, not a number to learn from; "
                "replace it by a finite value or by a missing one"
            )


def _any_missing(column: Column) -> bool:
    if column.states is not None:
        return bool((column.values < 0).any())
    return column.values.dtype.kind == "f" and bool(np.isnan(column.values).any())


def _occurring(column: Column) -> list[int]:
    assert column.states is not None
    return np.flatnonzero(np.bincount(column.values + 1, minlength=len(column.states) + 1)[1:]).tolist()


def _ordered(states: Any) -> tuple[State, ...]:
    """The states in an order that does not depend on the rows: booleans, numbers, text, each increasing."""
    return tuple(
        sorted(states, key=lambda s: (0, s, "") if isinstance(s, bool) else (2, 0, s) if isinstance(s, str) else (1, s, ""))
    )


def _warn_empty(column: Column) -> None:
    if column.states is None and column.values.dtype.kind != "f":
        return
    known = column.values >= 0 if column.states is not None else column.values == column.values
    if len(known) and not known.any():
        warn(f"column {shown(column.name)} has no value in any row and tells nothing; leave it out or fill it in", NaiveteWarning)


def _warn_identifier(column: Column, states: Sequence[State], rows: int) -> None:
    if len(states) > IDENTIFIER_STATES and len(states) * 2 > rows:
        warn(
            f"column {shown(column.name)} has {len(states)} distinct values in {rows} rows and looks like an identifier; "
            "leave it out, or declare it numeric if it is a quantity",
            NaiveteWarning,
        )


def _as_numbers(column: Column) -> NDArray[Any]:
    """The values of a column as numbers or booleans."""
    if column.states is None:
        return column.values
    wrong = next((s for s in column.states if isinstance(s, str)), None)
    if wrong is not None:
        row = int(np.argmax(column.values == column.states.index(wrong)))
        raise DataError(
            f"column {shown(column.name)}, row {row + 1}: {shown(wrong)} is not a number, but the column is declared numeric"
        )
    return np.append(np.array(column.states, np.float64), np.nan)[column.values]  # type: ignore[no-any-return]


def _whole(values: NDArray[Any]) -> bool:
    """Whether all values are whole numbers or booleans; a look at the first rows settles most columns."""
    if values.dtype.kind in "biu":
        return True
    for part in (values[:256], values):
        if not np.all((part == np.floor(part)) | np.isnan(part)):
            return False
    return not np.isnan(values).all()


def _distinct(values: NDArray[Any], few: int | None) -> tuple[State, ...] | None:
    """The distinct values, increasing; None where there are clearly more than `few`."""
    if values.dtype.kind == "f":
        values = values[~np.isnan(values)]
    if few is not None and len(np.unique(values[:10_000])) > few:
        return None
    if values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low < 1 << 16:
            wide = values if values.dtype.itemsize == 8 else values.astype(np.int64)  # room for the difference
            present = np.flatnonzero(np.bincount((wide - wide.dtype.type(low)).astype(np.int64)))
            return tuple(value + low for value in present.tolist())
    found = np.unique(values)
    if found.dtype.kind == "f":
        return tuple(int(v) if v == np.floor(v) and abs(v) < 2**53 else v for v in found.tolist())
    return tuple(found.tolist())


def _seen_bytes(columns: Sequence[Column]) -> dict[int, tuple[State, ...]]:
    """The values that occur in the columns of bytes, all found in one pass."""
    at = [i for i, c in enumerate(columns) if c.states is None and c.values.dtype == np.uint8]
    flags = _kernels.seen([columns[i].values for i in at]) if at else []
    return {i: tuple(own.nonzero()[0].tolist()) for i, own in zip(at, flags, strict=True)}


def _class_weights(
    values: NDArray[Any], labels: NDArray[Any], classes: int, weight: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The distinct values of a numeric column and the exact weight of each class at each of them."""
    numbers = values.astype(np.float64, copy=False)
    known = ~np.isnan(numbers)
    distinct, position = np.unique(numbers[known], return_inverse=True)
    layout = _kernels.Layout(((0, -1),), (max(1, len(distinct)), classes))
    codes = (position.astype(np.uint32), labels[known])
    own = None if weight is None else weight[known]
    table = combined({q: _kernels.scatter(codes, layout, limb) for q, limb in limbs(own).items()})
    return distinct, table.reshape(-1, classes)[: len(distinct)].astype(np.float64)


def narrowest(card: int) -> type[np.uint8] | type[np.uint16] | type[np.uint32]:
    """The narrowest code type that holds `card` states and the reserved code for missing, its largest value."""
    return np.uint8 if card < 256 else np.uint16 if card < 65536 else np.uint32


def encode(table: Table, variables: Sequence[Variable], *, unseen: str = "marginalise") -> Encoded:
    """The codes of the variables' columns, matched by name, in the variables' order; missing is the largest code of its type.

    >>> from naivete.frames import table_of
    >>> [c.tolist() for c in encode(table_of([["b"], [None], ["a"]]), [Variable("x0", ("a", "b"))]).codes]
    [[1, 255, 0]]
    """
    columns = matched(table, variables)
    _check_finite(table, columns)
    seen = _seen_bytes(columns)
    found: dict[Name, int] = {}
    other_types: list[str] = []
    codes, gaps = [], []
    for i, (column, variable) in enumerate(zip(columns, variables, strict=True)):
        own, strange, missing = _encoded(column, variable, seen.get(i), smooth=unseen == "smooth")
        if len(strange) and unseen == "error":
            raise DataError(_unseen_message(table, column, variable, int(strange[0])))
        if len(strange) and not (variable.other and unseen == "smooth"):
            found[variable.name] = len(strange)
            other_types += _other_types(column, variable)
        codes.append(own)
        gaps.append((missing and not variable.missing) or (len(strange) > 0 and not (variable.other and unseen == "smooth")))
    if found:
        listed = ", ".join(f"{shown(name)}: {count}" for name, count in list(found.items())[:10])
        more = f" and {len(found) - 10} more columns" if len(found) > 10 else ""
        warn(
            f"values that did not occur in training were treated as missing ({listed}{more}){''.join(other_types)}; "
            "unseen='error' names them",
            UnseenValueWarning,
        )
    return Encoded(tuple(codes), np.array(gaps, np.bool_))


def _other_types(column: Column, variable: Variable) -> list[str]:
    """What to say of a column none of whose values can be a state because they are of another type."""
    had, has = ({_type_word(s) for s in states} for states in (variable.states, _some_values(column)))
    if not had or not has or had & has:
        return []
    return [
        f"; column {shown(variable.name)} had {' and '.join(sorted(had))} in training and has {' and '.join(sorted(has))} now"
    ]


def _some_values(column: Column) -> Iterable[State]:
    return column.states if column.states is not None else column.values[:1].tolist()


def _type_word(state: State) -> str:
    return "text" if isinstance(state, str) else "truth values" if isinstance(state, bool) else "numbers"


def matched(table: Table, variables: Sequence[Variable]) -> list[Column]:
    """The columns of the variables, by name; a missing one is an error that lists all of them."""
    by_name = {column.name: column for column in table.columns}
    absent = [v.name for v in variables if v.name not in by_name]
    if absent:
        listed = ", ".join(map(shown, absent[:5])) + (" ..." if len(absent) > 5 else "")
        close = nearest(absent[0], by_name)
        hint = f"; is {close[0]!r} the renamed {absent[0]!r}?" if close else ""
        raise DataError(f"{table.source}: columns seen in training are missing: {listed}{hint}")
    return [by_name[v.name] for v in variables]


def _unseen_message(table: Table, column: Column, variable: Variable, row: int) -> str:
    value = next(iter(column.take(np.array([row]))))
    close = nearest(value, variable.labels)
    return (
        f"{table.place(row)}: column {shown(column.name)}: value {shown(value)} did not occur in training"
        + (f" (nearest: {', '.join(map(repr, close))})" if close else "")
        + "; correct it, leave it empty, or predict with unseen='marginalise'"
    )


def _encoded(
    column: Column, variable: Variable, seen: tuple[State, ...] | None, *, smooth: bool
) -> tuple[NDArray[Any], NDArray[np.int64], bool]:
    """The codes of one column, the rows whose values did not occur in training, and whether any value is missing."""
    if seen is not None and _are_codes(seen, variable):
        return column.values, np.empty(0, np.int64), False
    dtype = narrowest(variable.card)
    absent = variable.known if variable.missing else np.iinfo(dtype).max
    strange = variable.known + variable.missing if variable.other and smooth else np.iinfo(dtype).max
    if variable.cuts is not None:
        numbers = _as_numbers(column)
        gaps = np.isnan(numbers) if numbers.dtype.kind == "f" else np.zeros(len(numbers), np.bool_)
        intervals = np.searchsorted(np.array(variable.cuts), numbers.astype(np.float64, copy=False), side="left").astype(dtype)
        intervals[gaps] = absent
        return intervals, np.empty(0, np.int64), bool(gaps.any())
    codes, missing, wrong = (
        _numeric_states(column.values, variable) if column.states is None else _listed_states(column, variable)
    )
    out = codes.astype(dtype)
    if missing is not None:
        out[missing] = absent
    rows = np.flatnonzero(wrong)
    out[rows] = strange
    return out, rows, missing is not None and bool(missing.any())


def _are_codes(seen: tuple[State, ...], variable: Variable) -> bool:
    """Whether bytes are their own codes: the states are the whole numbers from 0 on, and no other byte occurs."""
    states = variable.states
    if variable.numeric or variable.card >= 256 or any(isinstance(s, (bool, str)) for s in states):
        return False
    return states == tuple(range(len(states))) and (not seen or int(seen[-1]) < len(states))


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
