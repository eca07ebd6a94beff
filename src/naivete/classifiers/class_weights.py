"""Weights of the classes, with the meaning that `class_weight` has in scikit-learn."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from naivete._kernels.codes import narrowest
from naivete._kernels.exact_sums import LimbSums, add_sums, limbs, sums_as_numbers
from naivete.classifiers.table_input import TableInputMixin
from naivete.errors import DataError, NaiveteWarning, ParameterError, quoted, warn
from naivete.variables import State

if TYPE_CHECKING:
    from naivete.classifiers.batches import KeptCases
    from naivete.data.labelled_table import ColumnRoles, LabelledTable
    from naivete.encoding.encoder import Encoder

__all__ = [
    "ClassTotals",
    "ClassWeight",
    "ClassWeightMixin",
    "balanced_weights",
    "check_weighted_labels",
    "class_totals",
    "merge_totals",
]

ClassWeight = Mapping[State, float] | str | None
"""A weight for each class label, "balanced", or None where all weights are one."""
ClassTotals = dict[State, LimbSums]
"""The total weight of the cases of each class."""


class ClassWeightMixin(TableInputMixin):
    """The parameter `class_weight`: the weights of rows are multiplied by the weights of their classes."""

    class_weight: ClassWeight

    def checked_encoder(self) -> Encoder:
        """Check the class weights too, and return the encoder to use.

        Returns
        -------
        Encoder
            The encoder that was passed, or the default one.
        """
        _check_class_weight(self.class_weight)
        return super().checked_encoder()

    def training_rows(
        self, X: Any, y: Any, sample_weight: Any, *, names: KeptCases | None = None, min_rows: int = 1
    ) -> LabelledTable:
        """Return the cases to learn from, with the weights of their classes.

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
        if not min_rows:
            self._refuse_balanced("batches of cases")
        cases = super().training_rows(X, y, sample_weight, names=names, min_rows=min_rows)
        if self.class_weight is None or not len(cases):
            return cases
        weights, labels = self._weights_by_label(cases), cases.classes.tolist()
        cases = cases.with_class_weights(weights).without_zero_weights()
        if not len(cases):
            raise DataError("class_weight is zero for the classes of all rows; there is nothing to learn from")
        _warn_weightless([label for label in labels if weights.get(label) == 0])
        return replace(cases, labels=cases.labels.astype(narrowest(len(cases.classes))))

    def _weights_by_label(self, cases: LabelledTable) -> Mapping[State, float]:
        if isinstance(self.class_weight, str):
            return balanced_weights(class_totals(cases))
        assert self.class_weight is not None
        check_weighted_labels(self.class_weight, cases.classes.tolist())
        return self.class_weight

    def _with_class_weights(self, roles: ColumnRoles, opened: Callable[..., Any]) -> tuple[ColumnRoles, int]:
        """Return the roles of the columns with the weights of the classes, and the number of passes that this took.

        Parameters
        ----------
        roles : the roles of the columns.
        opened : opens the rows for given roles, for the pass that "balanced" needs.
        """
        if not isinstance(self.class_weight, str):
            return replace(roles, class_weight=tuple((self.class_weight or {}).items())), 0
        with opened(roles, saving={"folder": None, "restart": False, "every": math.inf}) as (rows, _):
            totals = rows.fold(class_totals, merge_totals)
        return replace(roles, class_weight=tuple(balanced_weights(totals or {}).items())), 1

    def _check_weighted_labels(self, labels: Sequence[State]) -> None:
        """Refuse weights of labels that are not classes, and warn about classes without weight, whose rows were left out."""
        if isinstance(self.class_weight, Mapping):
            weightless = [label for label, weight in self.class_weight.items() if weight == 0]
            check_weighted_labels(self.class_weight, [*labels, *(label for label in weightless if label not in labels)])
            _warn_weightless(weightless)

    def _kept_rows(self, method: str) -> Any:
        self._refuse_balanced(method)
        return super()._kept_rows(method)  # type: ignore[misc]

    def _refuse_balanced(self, purpose: str) -> None:
        if isinstance(self.class_weight, str):
            raise ParameterError(
                f"class_weight='balanced' is not possible with {purpose}: the weights depend on all cases; pass the weights as a "
                "dict, for instance those of sklearn.utils.class_weight.compute_class_weight"
            )


def _check_class_weight(class_weight: object) -> None:
    """Raise an error unless this is None, "balanced" or a mapping from labels to finite weights of at least 0."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return
    if not isinstance(class_weight, Mapping) or not class_weight:
        raise ParameterError(f"class_weight={quoted(class_weight)}: pass a dict from class labels to weights, 'balanced', or None")
    for label, weight in class_weight.items():
        number = isinstance(weight, (int, float, np.integer, np.floating)) and not isinstance(weight, bool)
        if not number or not 0 <= weight < math.inf:
            raise ParameterError(
                f"class_weight: the weight {quoted(weight)} of the class {quoted(label)} is not a number of at least 0"
            )


def _warn_weightless(labels: Sequence[State]) -> None:
    """Warn about classes whose weight is zero, which the model does not have."""
    if labels:
        these, them = (f"class {quoted(labels[0])}", "it") if len(labels) == 1 else (f"classes {quoted(list(labels))}", "them")
        warn(
            f"class_weight is 0 for the {these}: the model is learned without {them} and has no probability for {them}; give "
            f"{them} a weight above 0 to keep {them}",
            NaiveteWarning,
        )


def check_weighted_labels(class_weight: Mapping[State, float], labels: Sequence[State]) -> None:
    """Raise an error if some classes have no weight although weights are given for labels that are not classes.

    Classes without a weight have weight one, as in scikit-learn.
    """
    unweighted = [label for label in labels if label not in class_weight]
    unknown = [label for label in class_weight if label not in labels]
    if unweighted and unknown:
        raise ParameterError(
            f"class_weight: {quoted(unknown[0])} is not a class, and the classes {quoted(unweighted)} have no weight; the "
            f"classes are {quoted(list(labels))}"
        )


def class_totals(cases: LabelledTable) -> ClassTotals:
    """Return the total weight of the cases of each class, exactly."""
    totals: ClassTotals = {}
    for code, label in enumerate(cases.classes.tolist()):
        rows = cases.labels == code
        weight = np.ones(int(rows.sum())) if cases.weight is None else cases.weight[rows]
        totals[label] = {q: np.array([limb.sum()]) for q, limb in limbs(weight).items() if limb is not None}
    return totals


def merge_totals(one: ClassTotals, two: ClassTotals) -> ClassTotals:
    """Return the totals of the cases of both."""
    both = {label: add_sums(one[label], two[label]) for label in one.keys() & two.keys()}
    return {**one, **two, **both}


def balanced_weights(totals: ClassTotals) -> dict[State, float]:
    """Return the weights with which all classes have the same total weight: total / (classes * total of the class).

    >>> balanced_weights({"ill": {0: np.array([1])}, "well": {0: np.array([3])}})
    {'ill': 2.0, 'well': 0.6666666666666666}
    """
    numbers = {label: float(sums_as_numbers(sums)[0]) for label, sums in totals.items()}
    positive = {label: number for label, number in sorted(numbers.items()) if number > 0}
    total = math.fsum(positive.values())
    return {label: total / (len(positive) * number) for label, number in positive.items()}
