"""From a table and its labels to counts, as classifiers and selectors of features need them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from naivete._kernels.dispatch import host_copy, in_device_memory
from naivete.classifiers.parameters import check_budget
from naivete.data.frames import as_array, is_frame, table_of, unmasked
from naivete.data.records import is_records, record_of
from naivete.data.table import Table
from naivete.encoding.column_codes import matched_columns
from naivete.encoding.encoder import Encoder
from naivete.errors import DataError, DataTypeError, ParameterError, quoted, warn
from naivete.variables import Name, Variable

if TYPE_CHECKING:
    from naivete.classifiers.batches import KeptCases
    from naivete.counts.counts import Counts
    from naivete.data.labelled_table import LabelledTable
    from naivete.encoding.value_counts import ValueCounts

__all__ = ["TableInputMixin", "TrainingCounts"]


class TrainingCounts(NamedTuple):
    """The training cases, the counts of their values in each class, and the `Counts` of the encoded cases."""

    cases: LabelledTable
    value_counts: ValueCounts
    counts: Counts


class TableInputMixin:
    """Input of estimators that are fitted to the counts of a table: checks, encoding and counting."""

    encoder: Encoder | None
    budget: int

    def checked_encoder(self) -> Encoder:
        """Check the parameters that all estimators share, and return the encoder to use.

        Returns
        -------
        Encoder
            The encoder that was passed, or the default one.
        """
        encoder = self._encoder()
        check_budget(self.budget)
        return encoder

    def _encoder(self) -> Encoder:
        encoder = Encoder() if self.encoder is None else self.encoder
        if not isinstance(encoder, Encoder):
            raise ParameterError(f"encoder={quoted(encoder)}: pass a naivete.Encoder or None")
        return encoder

    def training_counts(self, X: Any, y: Any, sample_weight: Any) -> TrainingCounts:
        """Count the training cases, under the schema that their values give.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or Table of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,)
            The class of every row.
        sample_weight : array-like of shape (n_rows,) or None
            The weight of every row.

        Returns
        -------
        TrainingCounts
            The cases, the counts of their values in each class, and the `Counts` of the encoded cases.
        """
        from naivete.cases.sparse import encoded_cases
        from naivete.counts.counts import Counts
        from naivete.encoding.feature_tables import FeatureTables

        encoder = self.checked_encoder()
        cases = self.training_rows(X, y, sample_weight)
        value_counts = encoder.value_counts(cases.features, cases.labels, cases.classes.tolist(), cases.weight)
        features = encoder.schema(value_counts)
        variables = (*features, Variable(cases.target, value_counts.classes))
        encoded = encoded_cases(cases.features, variables, cases.labels, cases.weight, encoder.unseen, value_counts.has_missing)
        known = FeatureTables(value_counts, features)
        return TrainingCounts(cases, value_counts, Counts(encoded, budget=self.budget, known=known, passes=1))

    def training_rows(
        self, X: Any, y: Any, sample_weight: Any, *, names: KeptCases | None = None, min_rows: int = 1
    ) -> LabelledTable:
        """Return the cases to learn from: those with a label and a weight above zero.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or Table of shape (n_rows, n_features)
            The rows, as for `fit`.
        y : array-like of shape (n_rows,)
            The class of every row.
        sample_weight : array-like of shape (n_rows,) or None
            The weight of every row.
        names : KeptCases or None, default=None
            The cases learned so far, to whose columns those of X are matched; None for the first cases.
        min_rows : int, default=1
            How many rows X must have at least.

        Returns
        -------
        LabelledTable
            The rows, their labels and their weights.
        """
        from naivete.data.labelled_table import LabelledTable
        from naivete.data.labels import checked_weights, class_labels, class_name, encode_classes, usable_rows

        if names is None:
            table = table_of(self._checked(X, min_rows=min_rows), finite=False)
        else:
            table = self._matched(X, names.names, names.framed)
            table = replace(table, columns=tuple(matched_columns(table, [Variable(name) for name in names.names])))
        if min_rows:
            _check_size(table)
        values, weight = class_labels(y, len(table)), None
        sample_weight = host_copy(sample_weight)
        if not min_rows and sample_weight is not None and np.size(sample_weight) and not np.any(sample_weight):
            table, values, sample_weight = table.take(slice(0)), values[:0], None  # all rows of the batch have weight zero
        if len(table):
            weight = checked_weights(table.weight if sample_weight is None else sample_weight, len(table))
            table, values, weight = usable_rows(table, values, weight, self._encoder().unlabelled)
        classes, labels = encode_classes(values)
        target = class_name(y, table.names) if names is None else names.target
        return LabelledTable(table, target, classes, labels, weight)

    def _checked(self, X: Any, *, min_rows: int) -> Any:
        """Check X by scikit-learn's rules for arrays, unless it is a frame, whose columns are checked one by one."""
        if is_frame(X) or in_device_memory(X):
            return X
        _check_container(X)
        array = as_array(X) if isinstance(X, (list, tuple)) else unmasked(X)  # keeps the types of mixed text and numbers
        if _is_plain_array(array, min_rows):
            return array
        from sklearn.utils.validation import check_array

        try:
            return check_array(
                array,
                accept_sparse=["csr", "csc"],
                dtype=None,
                ensure_all_finite=False,  # infinity is refused later, with its column and row
                ensure_min_samples=min_rows,
                estimator=self,
            )
        except ValueError as error:
            raise DataError(str(error)) from error
        except TypeError as error:
            raise DataTypeError(str(error)) from error

    def _matched(self, X: Any, names: Sequence[Name], named: bool) -> Table:
        """Return X as a table with the column names seen in fit; without names on either side columns match by position.

        Rows that are mappings match by name, and have missing values where a name is left out.
        """
        record = record_of(X, names)
        if record is not None or is_records(X):
            return table_of(X if record is None else record, only=names, finite=False)
        framed = is_frame(X)
        table = table_of(self._checked(X, min_rows=0), only=set(names) if framed and named else None, finite=False)
        if framed and named:
            return table
        if len(table.columns) != len(names):
            raise DataError(
                f"X has {len(table.columns)} features, but {type(self).__name__} is expecting {len(names)} features as input"
            )
        if framed != named:
            here, there = ("has feature names", "without") if framed else ("does not have valid feature names", "with")
            warn(
                f"X {here}, but {type(self).__name__} was fitted {there} feature names; the columns are matched by position",
                UserWarning,
            )
        return table.renamed(names)


def _is_plain_array(X: Any, min_rows: int) -> bool:
    """Return whether X is an array with rows and columns and a common type, in which there is nothing to check."""
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind in "biufOU" and len(X) >= min_rows and X.shape[1] > 0


def _check_container(X: Any) -> None:
    """Refuse what is often passed in place of a table, with the way to make a table of it."""
    if isinstance(X, (str, bytes, PathLike)):
        raise DataError(f"X={quoted(X)}: a table is needed, not the name of a file; read the file with naivete.read")
    if isinstance(X, Mapping) and not hasattr(X, "shape"):
        raise DataError(
            "X: a mapping from names to columns is not a table; make a data frame of it, or pass a list of mappings, one for a row"
        )
    if hasattr(X, "collect_schema"):
        raise DataError("X: the rows of a lazy frame are not known yet; call its method collect first")


def _check_size(table: Table) -> None:
    if not len(table):
        raise DataError(f"{table.source}: found 0 sample(s) (shape=(0, {len(table.columns)})) while a minimum of 1 is required")
    if not table.columns:
        raise DataError(f"{table.source}: found 0 feature(s) (shape=({len(table)}, 0)) while a minimum of 1 is required")
