"""The encoder: settings by which value counts of columns become the variables of a schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from naivete.data.table import Kind, Table
from naivete.errors import NaiveteWarning, ParameterError, close_matches, quoted, warn
from naivete.variables import Name, State, Variable, state_key

if TYPE_CHECKING:
    from naivete.encoding.discretization import Cut
    from naivete.encoding.text_hints import TextHint
    from naivete.encoding.unsuitable_columns import RowWeights, Unsuitable
    from naivete.encoding.value_counts import ColumnCounts, ValueCounts

__all__ = ["DENSITIES", "Encoder"]

DENSITIES = ("normal", "kernel")
FARTHEST = 1000.0
"""Numbers are measured from their middle if its distance from zero is more than this many times their range."""


@dataclass
class Encoder:
    """How the columns of a table become states, intervals or densities.

    The settings are checked once, when the encoder is made or `set_params` changes it.

    Parameters
    ----------
    kinds : {"nominal", "numeric"}, dict or None, default=None
        "nominal" or "numeric" for all columns, or a mapping from column names to these; what it leaves open is decided by the
        values: text, categories, booleans and whole numbers with at most `max_integer_states` distinct values are nominal, other
        numbers numeric.
    cut : callable or None, default=None
        How numeric columns are discretized: `naivete.mdl`, `naivete.EqualFrequency(10)`, `naivete.EqualWidth(10)`, or at every
        `naivete.distinct` value. The default is `mdl`, except for C45, which chooses its own thresholds among all values.
    missing : {"omit", "state", "em"}, default="omit"
        How missing values are treated. "omit" counts each family on the rows in which all its members are observed, and
        marginalizes missing values when predicting. "state" makes missing a state of the columns in which it occurs. "em" is "omit"
        while the structure is learned; then the tables are estimated from all rows by expectation-maximization
        (`naivete.inference.em`). `Spectrum` always counts a missing value as a value of its own, and refuses "em".
    unseen : {"marginalise", "smooth", "error"}, default="marginalise"
        How a value that did not occur in training is treated when predicting: "marginalise" treats it as missing, with a warning;
        "smooth" gives it the probability that smoothing reserves for it; "error" refuses it.
    unlabelled : {"error", "drop"}, default="error"
        How training rows without a label are treated: "error" refuses them, "drop" leaves them out with a warning.
    max_integer_states : int, default=20
        Whole numbers with at most this many distinct values are nominal.
    numbers : {"cut", "normal", "kernel", "auto"}, default="cut"
        How numeric columns are modelled. "cut" discretizes them into intervals. "normal" gives them a normal density in each class;
        NaiveBayes, TAN, KDB, Full, KNaive and Recursive support it. "kernel" gives them a kernel density (normal kernels around the
        training values, with Silverman's widths); NaiveBayes supports it. "auto" chooses intervals or a normal density for each
        column, whichever predicts the class better by leave-one-out (`naivete.encoding.discretization.normal_is_better`), and
        intervals for classifiers without densities.
    keep : bool or sequence of str, default=()
        Columns to use even if they look unsuitable. Identifiers, row numbers, dates as text and free text are left out with a
        warning that names them, if at least 50 of their values are observed: they cost much and carry no information for new rows.
        Columns whose kind is given by `kinds` are used too. True keeps all columns.

    Examples
    --------
    >>> from naivete import Encoder, EqualFrequency, NaiveBayes
    >>> encoder = Encoder(cut=EqualFrequency(2), missing="state")
    >>> nb = NaiveBayes(encoder=encoder).fit([[1.5], [2.5], [3.5], [None]], ["no", "no", "yes", "yes"])
    >>> nb.network_.variables[0].labels
    ('<= 3', '> 3', 'missing')
    """

    kinds: Kind | Mapping[Name, Kind] | None = None
    cut: Cut | None = None
    missing: Literal["omit", "state", "em"] = "omit"
    unseen: Literal["marginalise", "smooth", "error"] = "marginalise"
    unlabelled: Literal["error", "drop"] = "error"
    max_integer_states: int = 20
    numbers: Literal["cut", "normal", "kernel", "auto"] = "cut"
    keep: bool | Sequence[Name] = ()

    def __post_init__(self) -> None:
        self._check()

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """Return the settings by name, so that scikit-learn's searches reach them as `encoder__max_integer_states` and so on.

        Parameters
        ----------
        deep : bool, default=True
            Not used; scikit-learn passes it.

        Returns
        -------
        dict of {str: object}
            The settings.
        """
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def set_params(self, **settings: Any) -> Encoder:
        """Change settings of this encoder, and return it.

        Parameters
        ----------
        **settings : object
            The new values of settings, by name.

        Returns
        -------
        self : Encoder
            The encoder itself.

        Raises
        ------
        ParameterError
            If a setting is unknown or its value is not valid.
        """
        for name, value in settings.items():
            if name not in self.__dataclass_fields__:
                raise ParameterError(f"the encoder has no setting {quoted(name)}; it has {', '.join(self.__dataclass_fields__)}")
            setattr(self, name, value)
        self._check()
        return self

    def _check(self) -> None:
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
        if self.cut is not None:
            _check_cut(self.cut)
        if type(self.max_integer_states) is not int or self.max_integer_states < 0:
            raise ParameterError(f"max_integer_states={quoted(self.max_integer_states)}: a whole number, at least 0")
        if isinstance(self.keep, str) or not isinstance(self.keep, (bool, Sequence)):
            raise ParameterError(f"keep={quoted(self.keep)}: pass a list of the names of columns, or True for all")

    def schema(self, counts: ValueCounts, *, row_weights: RowWeights | None = None) -> tuple[Variable, ...]:
        """Return the variables of the columns that were counted; a warning names the columns that are left out.

        Parameters
        ----------
        counts : ValueCounts
            The value counts of all columns.
        row_weights : RowWeights or None, default=None
            How many rows a weight stands for, in the rules by which columns are left out; by default as the counts show.

        Returns
        -------
        tuple of Variable
            The variables, in the order of the columns.
        """
        from naivete.encoding.unsuitable_columns import RowWeights

        rows = RowWeights.of(counts) if row_weights is None else row_weights
        unsuitable = self.unsuitable(counts, row_weights=rows)
        self.warn_about_columns(unsuitable, self.text_hints(counts, row_weights=rows))
        left_out = {name for name, column in unsuitable.items() if column.left_out}
        return tuple(
            [
                Variable(column.name, left_out=True) if column.name in left_out else self._variable(column, counts.rows)
                for column in counts.columns
            ]
        )

    def unsuitable(self, counts: ValueCounts, *, row_weights: RowWeights | None = None) -> dict[Name, Unsuitable]:
        """Return the columns that carry no information for new rows, by name, without those that are to be kept.

        Parameters
        ----------
        counts : ValueCounts
            The value counts of all columns.
        row_weights : RowWeights or None, default=None
            How many rows a weight stands for; by default as the counts show.

        Returns
        -------
        dict of {str: Unsuitable}
            Why each of these columns is unsuitable.
        """
        from naivete.encoding.unsuitable_columns import RowWeights, unsuitable

        rows = RowWeights.of(counts) if row_weights is None else row_weights
        candidates = [unsuitable(column, self.max_integer_states, rows) for column in self._to_judge(counts)]
        with_missing = {column.name for column in counts.columns if self.missing == "state" and column.has_missing}
        return {c.name: c for c in candidates if c is not None and (c.left_out or c.name not in with_missing)}

    def text_hints(self, counts: ValueCounts, *, row_weights: RowWeights | None = None) -> dict[Name, TextHint]:
        """Return hints at text columns that perhaps hold numbers or signs of missing values, by name, without those to be kept.

        Parameters
        ----------
        counts : ValueCounts
            The value counts of all columns.
        row_weights : RowWeights or None, default=None
            How many rows a weight stands for; by default as the counts show.

        Returns
        -------
        dict of {str: TextHint}
            What each of these columns perhaps stands for.
        """
        from naivete.encoding.text_hints import text_hint
        from naivete.encoding.unsuitable_columns import RowWeights

        rows = RowWeights.of(counts) if row_weights is None else row_weights
        hints = [text_hint(column, rows) for column in self._to_judge(counts)]
        return {hint.name: hint for hint in hints if hint is not None}

    @staticmethod
    def warn_about_columns(unsuitable: Mapping[Name, Unsuitable], hints: Mapping[Name, TextHint]) -> None:
        """Name columns in one warning: those that are left out or have no effect, and the hints at others.

        Parameters
        ----------
        unsuitable : dict of {str: Unsuitable}
            The columns that `unsuitable` returns.
        hints : dict of {str: TextHint}
            The hints that `text_hints` returns.
        """
        from naivete.encoding.text_hints import columns_with_hints
        from naivete.encoding.unsuitable_columns import warn_unsuitable

        others = [hint for name, hint in hints.items() if name not in unsuitable]
        warn_unsuitable(list(unsuitable.values()), columns_with_hints(others) if others else "")

    def _to_judge(self, counts: ValueCounts) -> list[ColumnCounts]:
        """Return the columns that are neither to be kept nor of a declared kind."""
        if self.keep is True or isinstance(self.kinds, str):
            return []
        kept = {*(self.keep or ()), *(self.kinds or ())}
        return [column for column in counts.columns if column.name not in kept]

    def value_counts(
        self,
        table: Table,
        labels: NDArray[Any],
        classes: Sequence[State],
        weight: NDArray[np.float64] | None,
        *,
        exact: bool = False,
    ) -> ValueCounts:
        """Count the values of some rows, from which `schema` derives the variables.

        Parameters
        ----------
        table : Table
            The features.
        labels : ndarray of shape (n_rows,)
            The class of every row, as a position among the classes.
        classes : sequence of labels
            The labels.
        weight : ndarray of shape (n_rows,) or None
            The weight of every row, above zero, or None.
        exact : bool, default=False
            Whether rows may be subtracted again later. Otherwise only the range is kept of numbers that get a density.

        Returns
        -------
        ValueCounts
            The counts of every column.
        """
        from naivete.encoding.counting import count_values

        self._check_kept(table)
        range_only = self.numbers in DENSITIES and not exact
        return count_values(table, labels, classes, weight, self._kinds(table), range_only=range_only)

    def _check_kept(self, table: Table) -> None:
        if not isinstance(self.keep, bool):
            _check_columns(table, self.keep, "keep")

    def _kinds(self, table: Table) -> Mapping[Name, Kind]:
        kinds = self.kinds
        if kinds is None:
            return {}
        if isinstance(kinds, str):
            kinds = dict.fromkeys(table.names, kinds)
        elif not isinstance(kinds, Mapping):
            raise ParameterError(f"kinds={quoted(kinds)}: pass 'nominal', 'numeric' or a mapping from column names to these")
        _check_columns(table, kinds, "kinds")
        for name, kind in kinds.items():
            if kind not in ("nominal", "numeric"):
                raise ParameterError(f"kinds: column {quoted(name)} is {quoted(kind)}; choose 'nominal' or 'numeric'")
        return kinds

    def _variable(self, column: ColumnCounts, rows: int) -> Variable:
        if rows and column.empty:
            warn(
                f"column {quoted(column.name)} has no value in any row and carries no information; "
                "remove it (from files: `ignore=`) or fill it in",
                NaiveteWarning,
            )
        missing, other = self.missing == "state" and column.has_missing, self.unseen == "smooth"
        states = self.states(column)
        if states is None and self.numbers in DENSITIES:
            return Variable(column.name, origin=_origin(column), kernel=self.numbers == "kernel")
        if states is None:
            return self._numeric(column, missing)
        return Variable(column.name, states, missing=missing, other=other)

    def _numeric(self, column: ColumnCounts, missing: bool) -> Variable:
        """Return the variable of a numeric column: with intervals, or with a density where that is better and allowed."""
        from naivete.encoding.discretization import mdl, normal_is_better

        class_weights = column.class_weights()
        cuts = (self.cut or mdl)(*class_weights)
        if self.numbers == "auto" and len(column.values) and normal_is_better(*class_weights, cuts):
            return Variable(column.name, origin=_origin(column))
        return Variable(column.name, cuts=cuts, missing=missing)

    def states(self, column: ColumnCounts) -> tuple[State, ...] | None:
        """Return the states of a nominal column, None for a numeric one.

        Parameters
        ----------
        column : ColumnCounts
            The value counts of the column.

        Returns
        -------
        tuple or None
            The states: declared ones in their order, others increasing.
        """
        if column.empty and column.kind != "numeric":
            return ()  # without values, the type of the column is unknown
        if isinstance(column.values, tuple):
            return column.states if column.declared is None else _united(column.declared, column.states)
        whole = column.values.dtype.kind != "f" or (len(column.values) and not (column.values != np.floor(column.values)).any())
        few_integers = column.kind is None and whole and not column.level and len(column.values) <= self.max_integer_states
        return column.states if column.kind == "nominal" or few_integers else None


def _check_cut(cut: Any) -> None:
    from naivete.encoding.discretization import EqualFrequency, EqualWidth, check_bins

    if not callable(cut):
        raise ParameterError(f"cut={quoted(cut)}: pass mdl, EqualFrequency(bins), EqualWidth(bins) or distinct")
    if isinstance(cut, (EqualFrequency, EqualWidth)):
        check_bins(cut.bins)


def _check_columns(table: Table, names: Iterable[Name], setting: str) -> None:
    """Refuse names of columns that the table does not have."""
    known = set(table.names)
    for name in names:
        if name in known:
            continue
        close = close_matches(name, table.names)
        hint = f"did you mean {close[0]!r}?" if close else f"the columns are {quoted(list(table.names))}"
        raise ParameterError(f"{setting}: there is no column {quoted(name)}; {hint}")


def _origin(column: ColumnCounts) -> float:
    """Return the origin from which the values of a column are measured: zero, or their middle if that is far from zero."""
    if not len(column.values) or column.tops is None:
        return 0.0
    low, high = float(np.min(column.values)), float(np.max(column.tops))
    middle = low / 2 + high / 2
    return 0.0 if abs(middle) <= FARTHEST * (high - low) else middle


def _united(declared: tuple[State, ...], occurring: tuple[State, ...]) -> tuple[State, ...]:
    """Return the declared states, followed by states that occur without being declared."""
    known = set(map(state_key, declared))
    return (*declared, *(s for s in occurring if state_key(s) not in known))
