"""Learning from batches, and forgetting, for every classifier that learns from counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from naivete.classifiers.estimator import check_fitted
from naivete.classifiers.learning import LearningMixin
from naivete.data.frames import is_frame
from naivete.encoding.encoder import Encoder
from naivete.errors import DataError, NaiveteWarning, ParameterError, quoted, warn
from naivete.variables import State, Variable

if TYPE_CHECKING:
    from naivete.classifiers.batches import KeptCases
    from naivete.data.labelled_table import LabelledTable

__all__ = ["IncrementalMixin"]


class IncrementalMixin(LearningMixin):
    """Learning from batches: more cases are added, others removed, or lose their weight with age."""

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        structure: Literal["learn", "keep"] = "learn",
        window: float | None = None,
        half_life: int | None = None,
    ) -> Self:
        """Learn from more cases; the classifier is then exactly the one that `fit` on all cases so far would give.

        New values enlarge the tables and may move cut points. NaiveBayes and Majority keep value counts only. With more rows other
        dependences may be the strongest, so TAN, FAN and KDB keep the tables of all sets of two (KDB: k + 1) features by value, as
        soon as these take fewer bytes than the rows and fit `budget`; their memory then does not depend on the number of rows. The
        other classifiers keep the rows. `fit` keeps no rows, so `partial_fit` after it starts from nothing, with a warning.
        `save(..., counts=True)` stores the counts, so that `partial_fit` continues after `load`.

        If the data change over time, old cases can lose their weight. With `window` a batch is forgotten when that many cases were
        learned after it. With `half_life` the weights of all earlier cases are halved whenever that many more were learned: a
        batch before which n cases were learned belongs to period p = n // half_life, and in period P, that of the newest batch,
        its cases have the weight 2 ** (p - P), or 0 if P // 32 > p // 32 + 1. Both are exact: the classifier is the one that
        `fit` gives on the cases that are left, with these weights times their own.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or Table of shape (n_rows, n_features)
            The features, as for `fit`; columns are matched by name. A batch without rows changes nothing.
        y : array-like of shape (n_rows,)
            The class of every row.
        classes : array-like of shape (n_classes,) or None, default=None
            All labels that any batch will have; by default those of the first batch. Others are refused.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            The weight of every row, as for `fit`.
        structure : {"learn", "keep"}, default="learn"
            "learn" learns the arcs again from all cases; "keep" keeps the arcs and estimates the tables again.
        window : int, float("inf") or None, default=None
            After how many more cases a batch is forgotten; with infinity only by `forget(older_than=...)`. By default as in the
            earlier calls, or never.
        half_life : int or None, default=None
            After how many more cases the weights are halved. By default as in the earlier calls, or never.

        Returns
        -------
        self : NetworkClassifier
            The classifier of all cases so far.

        Examples
        --------
        >>> from naivete import NaiveBayes
        >>> nb = NaiveBayes().partial_fit([["a"]], ["no"], classes=["no", "yes"])
        >>> nb.partial_fit([["b"], ["b"]], ["yes", "yes"]).predict([["b"]]).tolist()
        ['yes']
        """
        from naivete.classifiers.ages import ages_of
        from naivete.data.labels import encode_classes, label_values

        if structure not in ("learn", "keep"):
            raise ParameterError(f"structure={quoted(structure)}: choose 'learn' or 'keep'")
        encoder = self.checked_encoder()
        earlier = self._kept
        if earlier is None and hasattr(self, "network_"):
            warn(
                f"this {type(self).__name__} has kept no rows, since fit and load keep none, so partial_fit starts from nothing; "
                "call partial_fit from the start, and save it with counts=True to continue after load",
                NaiveteWarning,
            )
        batch = self.training_rows(X, y, sample_weight, names=earlier, min_rows=0)
        kept = self._cases_to_keep(batch, is_frame(X), encoder)
        if classes is not None:
            labels = encode_classes(label_values(classes, len(classes)))[0].tolist()
            kept = replace(kept, value_counts=kept.value_counts.with_classes(labels))
        if earlier is not None:
            _check_labels(batch, earlier.classes if classes is None else kept.classes)
            if classes is not None and set(earlier.classes) != set(kept.classes):
                raise DataError(
                    f"classes={quoted(list(kept.classes))} are not those of the first call, "
                    f"{quoted(list(earlier.classes))}; pass the same ones, or none"
                )
            kept = replace(kept, value_counts=kept.value_counts.with_classes(earlier.classes))
        ages = ages_of(None if earlier is None else earlier.ages, window, half_life)
        if not len(batch):
            return self
        members = self._features_of_tables(encoder)
        if ages is not None:
            kept = ages.plus(earlier, kept, members, self.budget)
        elif earlier is not None:
            kept = earlier.plus(kept, self.budget)
        return self._fit_kept(kept.compact(members, self.budget), encoder, batch.classes.dtype, structure)

    def merge(self, other: Self) -> Self:
        """Learn from the cases of another classifier too; the classifier is then the one that `fit` on all cases would give.

        Both must be of the same class with the same parameters. NaiveBayes and Majority can be merged unless they were loaded
        from a file without counts, the others if both learned by `partial_fit`.

        Parameters
        ----------
        other : NetworkClassifier
            The other classifier, which is not changed.

        Returns
        -------
        self : NetworkClassifier
            The classifier of all cases.

        Raises
        ------
        ParameterError
            If the other classifier has another class or other parameters, or does not keep its cases.

        Examples
        --------
        >>> from naivete import NaiveBayes
        >>> one, two = (NaiveBayes().fit([["a"], ["b"]], labels) for labels in (["no", "yes"], ["yes", "yes"]))
        >>> one.merge(two).class_count_.tolist()
        [1.0, 3.0]
        """
        from naivete.classifiers.ages import check_ages
        from naivete.classifiers.batches import differences

        encoder = self.checked_encoder()
        if type(self) is not type(other):
            raise ParameterError(
                f"a {type(self).__name__} cannot be merged with an object of type {type(other).__name__}; "
                "fit both with the same class and parameters"
            )
        different = differences(self.get_params(), other.get_params())
        if different:
            raise ParameterError(f"the classifiers have different parameters and cannot be merged: {different}")
        mine, theirs = self._kept_rows("merge"), other._kept_rows("merge")
        check_ages(mine, "merge")
        check_ages(theirs, "merge")
        if set(mine.names) == set(theirs.names):
            theirs = theirs.in_order(mine.names)
        if mine.names != theirs.names or mine.target != theirs.target:
            raise DataError(
                f"the classifiers have different columns and cannot be merged: {quoted((*mine.names, mine.target))} and "
                f"{quoted((*theirs.names, theirs.target))}"
            )
        return self._fit_kept(mine.plus(theirs, self.budget), encoder, self.classes_.dtype)

    def forget(self, X: Any = None, y: Any = None, sample_weight: Any = None, *, older_than: float | None = None) -> Self:
        """Remove cases, or all that are too old; the classifier is then exactly the one that the remaining cases give.

        A class stays even when no case has it any more. NaiveBayes and Majority keep value counts only, so they refuse a case
        only if one of its values was learned fewer times in that class than it would be forgotten; TAN, FAN and KDB, once they keep
        tables instead of rows, only if this holds for a combination of its values.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or Table of shape (n_rows, n_features), default=None
            The cases as they were learned; if one was not learned, all are refused and nothing changes.
        y : array-like of shape (n_rows,), default=None
            The classes with which they were learned.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            The weights with which they were learned.
        older_than : int or None, default=None
            In place of X and y: all batches after which at least `older_than` cases were learned are removed; the newest batch
            stays.
            The ages must be known, as for classifiers that keep the rows, and for the others after `partial_fit` with `window`.

        Returns
        -------
        self : NetworkClassifier
            The classifier without these cases.

        Raises
        ------
        DataError
            If a case was not learned, or if the ages of the cases are not known.

        Examples
        --------
        >>> from naivete import NaiveBayes
        >>> nb = NaiveBayes().partial_fit([["a"], ["b"], ["b"]], ["no", "yes", "no"])
        >>> nb.forget([["b"]], ["no"]).class_count_.tolist()
        [1.0, 1.0]
        """
        from naivete.classifiers.ages import check_ages

        encoder = self.checked_encoder()
        kept = self._kept_rows("forget")
        if older_than is not None:
            if X is not None or y is not None or sample_weight is not None:
                raise ParameterError(f"forget: pass the cases, or older_than={quoted(older_than)}, not both")
            return self._fit_kept(self._without_older(kept, older_than, encoder), encoder, self.classes_.dtype)
        if X is None or y is None:
            raise ParameterError("forget: pass the cases with their classes (X, y), or older_than")
        check_ages(kept, "forget")
        batch = self.training_rows(X, y, sample_weight, names=kept, min_rows=0)
        _check_labels(batch, kept.classes)
        if not len(batch):
            return self
        remaining = kept.subtract(self._cases_to_keep(batch, is_frame(X), encoder))
        if not any(part.any() for part in remaining.value_counts.weights.values()):
            raise DataError("no case would be left to learn from; make a new classifier instead")
        return self._fit_kept(remaining, encoder, self.classes_.dtype)

    def _without_older(self, kept: KeptCases, age: float, encoder: Encoder) -> KeptCases:
        """Return the cases without the batches after which at least `age` cases were learned."""
        from naivete.classifiers.ages import Ages, check_older_than

        check_older_than(kept, age)
        if kept.ages is not None:
            return kept.ages.without_older(kept, age)
        parts = [self._cases_to_keep(batch, kept.framed, encoder) for batch in kept.batches or ()]
        parts = [replace(part, value_counts=part.value_counts.with_classes(kept.classes)) for part in parts]
        return replace(Ages(age, None, tuple(parts)).without_older(kept, age), ages=None)

    def _cases_to_keep(self, batch: LabelledTable, framed: bool, encoder: Encoder) -> KeptCases:
        from naivete.classifiers.batches import KeptCases, copied

        value_counts = encoder.value_counts(batch.features, batch.labels, batch.classes.tolist(), batch.weight, exact=True)
        return KeptCases(value_counts, None if self._value_counts_suffice(encoder) else (copied(batch),), batch.target, framed)

    def kept_counts(self) -> KeptCases:
        """Return the counts that are kept of the cases so far, for a model file.

        Returns
        -------
        KeptCases
            The value counts, and the tables of sets of features where the classifier needs them.

        Raises
        ------
        ParameterError
            If nothing is kept, or if only the rows can be.
        """
        kept = self._kept_rows("saving the counts")
        members = self._features_of_tables(self.checked_encoder())
        if members is not None:
            kept = kept.for_file(members, self.budget)
        if kept.batches is not None:
            raise ParameterError(
                f"counts=True: this {type(self).__name__} keeps the rows of its batches, which a model file does not hold; save it "
                "without counts=True; to continue later, learn again from all rows"
            )
        return kept

    def _kept_rows(self, method: str) -> KeptCases:
        """Return what is kept of the cases so far; raise an error if nothing is kept."""
        check_fitted(self, "call 'partial_fit' first")
        if self._kept is None:
            raise ParameterError(
                f"{method} needs the cases that were learned so far, and this {type(self).__name__} has not kept them; "
                "learn by partial_fit from the start"
            )
        return self._kept

    def _fit_kept(self, kept: KeptCases, encoder: Encoder, dtype: np.dtype[Any], structure: str = "learn") -> Self:
        """Learn from the kept cases."""
        from naivete.cases import BatchRows, EncodedCases
        from naivete.classifiers.value_tables import KnownFamilies
        from naivete.counts.counts import Counts
        from naivete.encoding.feature_tables import FeatureTables
        from naivete.encoding.unsuitable_columns import RowWeights
        from naivete.network.derived_columns import Hidden

        halved = kept.ages is not None and kept.ages.half_life is not None  # then weights are shares of the newest rows
        features = encoder.schema(kept.value_counts, row_weights=RowWeights(ones=False) if halved else None)
        variables = (*features, Variable(kept.target, kept.classes))
        cases = EncodedCases(BatchRows(kept.batches), variables, kept.value_counts.has_missing, encoder.unseen)
        tables = FeatureTables(kept.value_counts, features)
        known = tables if kept.tables is None else KnownFamilies(kept.value_counts, features, kept.tables)
        counts = Counts(cases, budget=self.budget, known=known, passes=1)
        classes = np.array(kept.classes, object if dtype.kind == "O" else None)
        keep = structure == "keep" and hasattr(self, "network_")
        if keep and any(not isinstance(column, Hidden) for column in self.network_.derived.values()):
            raise ParameterError(
                f"structure='keep': the {quoted(self.network_.name(max(self.network_.derived)))} of a {type(self).__name__} "
                "follows from its cases; learn it again with structure='learn'"
            )
        parents = self.network_.parents if keep else None
        return self.fit_counts(counts, classes, kept.framed, kept.value_counts.rows, kept, parents)


def _check_labels(batch: LabelledTable, classes: Sequence[State]) -> None:
    """Refuse a label that is not among the classes known from the first batch."""
    for code, label in enumerate(batch.classes.tolist()):
        if label not in classes:
            row = int(np.argmax(batch.labels == code))
            raise DataError(
                f"{batch.features.place(row)}: the label {quoted(label)} is not among the classes {quoted(list(classes))}; "
                "pass all of them as `classes` in the first call"
            )
