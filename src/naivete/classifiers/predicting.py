"""Prediction: posterior probabilities and classes of rows of a table."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from naivete.classifiers.estimator import check_fitted
from naivete.classifiers.row_predictor import Posteriors, one_row
from naivete.classifiers.table_input import TableInputMixin
from naivete.data.frames import SparseMatrix
from naivete.encoding.column_codes import Encoded, encode, with_absent_columns
from naivete.errors import ImpossibleEvidenceWarning, warn
from naivete.inference.predictor import argmax_class
from naivete.variables import Name, Variables

if TYPE_CHECKING:
    from naivete.classifiers.row_predictor import LazyTables, RowPredictor

__all__ = ["Posteriors", "PredictingMixin"]


class PredictingMixin(TableInputMixin):
    """The methods of fitted classifiers that predict rows."""

    classes_: NDArray[Any]
    predictor_: Any
    temperature_: float
    _framed: bool
    _tables: LazyTables
    reports_impossible: ClassVar[bool]
    missing_is_a_value: ClassVar[bool] = False
    memory_factor: ClassVar[int] = 0
    """The memory that predictions need beside the loaded model, as a multiple of the size of its file; 0 if it is small."""

    @property
    @abstractmethod
    def schema_(self) -> Variables:
        """The variables of the features under which rows are encoded."""

    @property
    def missing_as_value_(self) -> tuple[Name, ...]:
        """The names of the columns in which a missing value is a value of its own: some were missing in training."""
        return tuple(variable.name for variable in self.schema_ if variable.missing)

    def posteriors(self, X: Any, *, unseen: Literal["marginalise", "smooth", "error"] | None = None) -> Posteriors:
        """Return P(class | row), and which rows have probability zero in every class.

        The posterior of such a row is the prior of the classes with the fewest factors of zero.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or Table of shape (n_rows, n_features)
            The rows.
        unseen : {"marginalise", "smooth", "error"} or None, default=None
            What is done with values that did not occur in training and with columns that are missing; by default what the encoder
            says.

        Returns
        -------
        Posteriors
            `posterior`, an array of shape (n_rows, n_classes), and `impossible`, the positions of the rows of probability zero.
        """
        parts = [self.code_posteriors(*part) for part in self.encoded(X, unseen)]
        if len(parts) == 1:
            return parts[0]
        starts = np.cumsum([0, *(len(posterior) for posterior, _ in parts)])
        impossible = np.concatenate([rows + start for (_, rows), start in zip(parts, starts[:-1], strict=True)])
        return Posteriors(_joined([posterior for posterior, _ in parts]), impossible)

    def code_posteriors(self, codes: Sequence[NDArray[Any]], has_missing: NDArray[np.bool_]) -> Posteriors:
        """Return the same for rows of codes.

        Parameters
        ----------
        codes : sequence of ndarray
            One column of codes for each feature.
        has_missing : ndarray of bool
            Which features have missing values.

        Returns
        -------
        Posteriors
            As for `posteriors`.
        """
        calibration = {"temperature": self.temperature_} if hasattr(self, "temperature_") else {}
        posterior, impossible = self.predictor_.posterior(codes, has_missing, **calibration)
        return Posteriors(posterior, impossible if self.reports_impossible else impossible[:0])

    def row_predictor(self) -> RowPredictor:
        """Return a function that predicts one row at a time, in microseconds instead of milliseconds.

        It takes a mapping from names to values, a pandas Series or a sequence of values, and returns P(class | row) as a dict from
        labels to probabilities: those of `predict_proba`, also with missing values, which may be left out of a mapping, and with
        values that did not occur in training. Complete rows of classifiers that are one network of tables and normal densities
        (NaiveBayes, TAN, KDB, HillClimb, ...) are sums of prepared logarithms; other rows and classifiers use `predict_proba`.

        Returns
        -------
        RowPredictor
            The function.

        Examples
        --------
        >>> from naivete import NaiveBayes
        >>> X = [["yes", "high"], ["yes", "low"], ["no", "high"], ["no", "low"]] * 2
        >>> predict = NaiveBayes().fit(X, ["ill", "ill", "well", "well"] * 2).row_predictor()
        >>> {label: round(p, 3) for label, p in predict({"x0": "yes", "x1": None}).items()}
        {'ill': 0.833, 'well': 0.167}
        >>> predict.predict(["no", "high"])
        'well'
        """
        from naivete.classifiers.row_predictor import RowPredictor

        check_fitted(self)
        return RowPredictor(self)  # type: ignore[arg-type]

    def _posterior(self, X: Any) -> NDArray[np.float64]:
        check_fitted(self)
        values = one_row(X, [variable.name for variable in self.schema_], self._framed)
        result = None if values is None else self._tables.posterior(self, values)  # type: ignore[arg-type]
        posterior, impossible = self.posteriors(X) if result is None else result
        if len(impossible):
            warn(
                f"{len(impossible)} rows have probability zero in every class (the first is row {impossible[0] + 1}); they are "
                "predicted by the prior of the classes with the fewest impossible factors; smoothing above 0 avoids this",
                ImpossibleEvidenceWarning,
            )
        return posterior

    def encoded(self, X: Any, unseen: str | None = None) -> Iterator[Encoded]:
        """Return the codes of the rows; a sparse matrix is encoded in several parts.

        A column that is missing in a data frame has missing values, with a warning, unless unseen="error".

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or Table of shape (n_rows, n_features)
            The rows.
        unseen : {"marginalise", "smooth", "error"} or None, default=None
            How values that did not occur in training are treated; by default as the encoder says.

        Returns
        -------
        iterator of Encoded
            The codes of the rows, part by part, and which columns have missing values.
        """
        check_fitted(self)
        features = self.schema_
        unseen = unseen or self._encoder().unseen
        table = self._matched(X, [v.name for v in features], self._framed)
        if isinstance(table, SparseMatrix):
            from naivete.cases.sparse import encoded_parts

            return encoded_parts(table, features, unseen=unseen)
        if unseen != "error":
            table = with_absent_columns(table, features, informative=self.missing_as_value_)
        return iter([encode(table, features, unseen=unseen)])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of every row; of classes with equal probability, the first.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or Table of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            The predicted labels.
        """
        posterior = self._posterior(X)
        return self.classes_[argmax_class(posterior)]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return P(class | row), exact also where values are missing.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or Table of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The posterior probabilities, in the order of `classes_`.
        """
        return self._posterior(X)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return log P(class | row).

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or Table of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The natural logarithms of the posterior probabilities, in the order of `classes_`.
        """
        with np.errstate(divide="ignore"):
            return np.log(self._posterior(X))

    def predict_joint_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return log P(row, class) in the network, with missing values marginalized; not calibrated.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or Table of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The natural logarithms of the joint probabilities, in the order of `classes_`.
        """
        return _joined([self.predictor_.joint(*part) for part in self.encoded(X)])


def _joined(parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
