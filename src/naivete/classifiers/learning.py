"""The attributes and methods of a classifier that the ways of learning other than `fit` use."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from numpy.typing import NDArray

from naivete.encoding.encoder import Encoder
from naivete.network.network import Network, Structure
from naivete.variables import State

if TYPE_CHECKING:
    from naivete.classifiers.batches import KeptCases
    from naivete.counts.counts import Counts
    from naivete.data.labelled_table import ColumnRoles, LabelledTable

__all__ = ["LearningMixin"]


class LearningMixin:
    """What a classifier offers to the ways of learning: its parameters, and the last step of all of them."""

    budget: int
    calibration: str | None
    get_params: Callable[..., dict[str, Any]]
    network_: Network
    classes_: NDArray[Any]
    _kept: KeptCases | None = None
    learns_from_value_counts: ClassVar[bool] = False
    """Whether value counts in each class are all that it learns from, where no feature has a density."""

    densities: ClassVar[tuple[str, ...]]

    def _value_counts_suffice(self, encoder: Encoder) -> bool:
        """Whether value counts are all that the classifier learns from, so that no rows have to be kept."""
        tables_only = encoder.numbers == "cut" or not self.densities
        return self.learns_from_value_counts and tables_only and self.calibration is None

    def max_table_features(self) -> int | None:
        """Return how many features the tables have from which the classifier learns; None if it needs the rows.

        Returns
        -------
        int or None
            The number, by default None.
        """
        return None

    def _features_of_tables(self, encoder: Encoder) -> int | None:
        """Return how many features the tables have that may replace the rows; None if the rows are needed."""
        tables_only = encoder.numbers == "cut" and encoder.missing != "em"
        return self.max_table_features() if tables_only and self.calibration is None else None

    @abstractmethod
    def checked_encoder(self) -> Encoder:
        """Check the parameters that all classifiers share, and return the encoder to use.

        Returns
        -------
        Encoder
            The encoder that was passed, or the default one.
        """

    @abstractmethod
    def _with_class_weights(self, roles: ColumnRoles, opened: Callable[..., Any]) -> tuple[ColumnRoles, int]:
        """Return the roles of the columns with the weights of the classes, and the number of passes that this took."""

    @abstractmethod
    def _check_weighted_labels(self, labels: Sequence[State]) -> None:
        """Refuse weights of labels that are not classes."""

    @abstractmethod
    def _check_densities(self, continuous: bool) -> None:
        """Refuse continuous features where the learner cannot use densities."""

    @abstractmethod
    def training_rows(
        self, X: Any, y: Any, sample_weight: Any, *, names: KeptCases | None = None, min_rows: int = 1
    ) -> LabelledTable:
        """Return the cases to learn from: those with a label and a weight above zero.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or Table of shape (n_rows, n_features)
            The rows.
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

    @abstractmethod
    def fit_counts(
        self,
        counts: Counts,
        classes: NDArray[Any],
        framed: bool,
        rows: int,
        kept: KeptCases | None = None,
        structure: Structure | None = None,
    ) -> Self:
        """Learn from counts; the last step of all ways to fit.

        Parameters
        ----------
        counts : Counts
            The counts of the encoded cases.
        classes : ndarray of shape (n_classes,)
            The class labels.
        framed : bool
            Whether the columns came with names.
        rows : int
            The number of cases.
        kept : KeptCases or None, default=None
            What is kept of the cases for `partial_fit`, `merge` and `forget`.
        structure : dict of {int: tuple of int} or None, default=None
            The parents of every variable, where only the tables are to be estimated; by default they are learned.

        Returns
        -------
        self : NetworkClassifier
            The fitted classifier.
        """
