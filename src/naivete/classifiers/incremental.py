"""Learning from rows that come in batches, from files, or from a cluster: for every classifier that is learned from counts."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError as SklearnNotFitted

from naivete.cases import BatchRows, EncodedCases
from naivete.cases.files import Progress
from naivete.cases.rows import count_row_values
from naivete.cases.sources import open_rows, plain_settings
from naivete.classifiers.batches import Kept, differing, own_copy
from naivete.counts.counts import Counts
from naivete.data.frames import is_frame
from naivete.data.labelled import ColumnRoles, LabelledTable
from naivete.data.labels import encode_classes, label_values
from naivete.encoding.encoder import Encoder, FeatureTables
from naivete.encoding.value_counts import ValueCounts
from naivete.errors import DataError, NaiveteError, NaiveteWarning, ParameterError, quoted, warn
from naivete.network.derived_columns import Hidden
from naivete.network.network import Network, Structure
from naivete.variables import CLASS, Name, State, Variable, Variables

__all__ = ["LearnsFromRows", "NotFittedError"]


class NotFittedError(NaiveteError, SklearnNotFitted):  # type: ignore[misc]
    """The classifier was asked for an answer before it was fitted."""


class LearnsFromRows:
    """The ways of learning beside `fit`; what they need of a classifier stands first."""

    budget: int
    get_params: Callable[..., dict[str, Any]]
    network_: Network
    classes_: NDArray[Any]
    _kept: Kept | None = None
    learns_from_value_counts: ClassVar[bool] = False
    """Whether value counts in each class are all that it learns from, where no feature has a density."""

    @property
    def _sums_suffice(self) -> bool:
        """Whether the classifier is a function of the tallies, so that no rows have to be kept."""
        return self.learns_from_value_counts and self.checked_encoder().numbers == "cut"

    @abstractmethod
    def checked_encoder(self) -> Encoder:
        """The encoder, once the parameters have been looked at."""

    @abstractmethod
    def _check_densities(self, asked: bool) -> None:
        """Refuse numbers that are not cut where the learner does not know what to do with them."""

    @abstractmethod
    def training_rows(self, X: Any, y: Any, sample_weight: Any, *, names: Kept | None, rows: int = 1) -> LabelledTable:
        """The cases to learn from: those with a label and a weight above zero."""

    @abstractmethod
    def fit_counts(
        self,
        counts: Counts,
        classes: NDArray[Any],
        framed: bool,
        rows: int,
        kept: Kept | None = None,
        held: Structure | None = None,
    ) -> Self:
        """Become the classifier that is learned from these counts, or estimated for the structure that is held."""

    def fit_cases(
        self,
        cases: Any,
        target: Name,
        *,
        weight: Name = None,
        ignore: Sequence[Name] = (),
        schema: Any = None,
        memory: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        restart: bool = False,
        every: float = 30.0,
        cluster: Any = None,
        progress: Progress | None = None,
        then: Callable[[Self], object] | None = None,
        **reading: Any,
    ) -> Self:
        """Learn from cases that need not fit into memory; the classifier is the one that `fit` would give, to the last bit.

        The rows are gone through once for the schema, unless it is given, and then as often as the learner asks: not at all for
        NaiveBayes, twice for TAN and KDB.

        Parameters
        ----------
        cases : a file (Parquet, CSV, ARFF), a pattern, a folder, or a list of these; a data frame; a Dask DataFrame; anything
            that offers a stream of Arrow, or a function that makes it anew for every pass.
        target : the column with the class.
        weight : the column with the weight of every row, if there is one.
        ignore : columns that are no features.
        schema : the variables with the class last, or a classifier whose variables to take; by default learned from the rows.
        memory : the most bytes this process may take; by default only the tables are bounded, by `budget`.
        checkpoint : a folder in which the state of the work is saved now and then, and from which an interrupted run with the
            same cases and settings goes on; removed when the work is done.
        restart : begin anew, whatever the folder holds.
        every : the seconds between two checkpoints.
        cluster : a Dask client, the address of a scheduler, or "local" for a cluster on this machine; by default none, except for
            a Dask DataFrame.
        progress : told the pass, the rows done in it, and how many there are, after each part.
        then : called with the fitted classifier before the checkpoint is removed, for instance to save it.
        reading : how to read files, as for `naivete.read`.
        """
        encoder = self.checked_encoder()
        _check_given(ignore, progress, then, every)
        division = ColumnRoles(target, weight, tuple(ignore), encoder.unlabelled == "drop")
        plan = {"memory": memory, "budget": self.budget, "progress": progress, "cluster": cluster}
        saving = {"folder": checkpoint, "restart": restart, "every": every}
        settings = {"classifier": type(self).__name__, **plain_settings(self.get_params(deep=False))}
        with open_rows(cases, division, settings=settings, saving=saving, reading=reading, **plan) as (rows, allowed):
            tallies = count_row_values(rows, encoder, allowed) if schema is None else None
            variables, gaps, known = _schema(tallies, schema, encoder, target)
            self._check_densities(any(v.density for v in variables))
            counts = Counts(
                EncodedCases(rows, variables, gaps, encoder.unseen), budget=allowed, known=known, passes=int(tallies is not None)
            )
            kept = Kept(tallies, None, target, True) if self._sums_suffice and tallies is not None else None
            if tallies is not None and tallies.dropped:
                warn(f"{tallies.dropped:,} rows without a label were left out", NaiveteWarning)
            count = tallies.rows if tallies is not None else getattr(rows, "count", None) or 0
            self.fit_counts(counts, _label_array(variables[-1].states), True, count, kept)
            if then is not None:
                then(self)
            rows.finished()
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        structure: Literal["learn", "keep"] = "learn",
    ) -> Self:
        """Learn from more cases: afterwards the classifier is the one that `fit` on all cases so far would give, exactly.

        New values widen the tables and may move cut points. NaiveBayes and Majority keep sums only; the other classifiers keep
        the rows, since more of them may change which dependences are the strongest. `fit` does not keep rows, so after it they
        begin anew, with a warning.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`; columns are matched by name. A batch without rows changes nothing.
        classes : all labels that will ever come; by default those of the first batch. Others are refused.
        structure : "learn" finds the dependences anew; "keep" leaves the arcs as they are and renews the tables.
        """
        if structure not in ("learn", "keep"):
            raise ParameterError(f"structure={quoted(structure)}: choose 'learn' or 'keep'")
        encoder = self.checked_encoder()
        before = self._kept
        if before is None and hasattr(self, "network_"):
            warn(
                f"this {type(self).__name__} has kept no rows, as fit and load do not, so partial_fit begins anew; "
                "call partial_fit from the start",
                NaiveteWarning,
            )
        batch = self.training_rows(X, y, sample_weight, names=before, rows=0)
        more = self._kept_of(batch, is_frame(X), encoder)
        if classes is not None:
            more = replace(more, tallies=more.tallies.over(encode_classes(label_values(classes, len(classes)))[0].tolist()))
        if before is not None:
            _check_labels(batch, before.tallies.classes if classes is None else more.tallies.classes)
            if classes is not None and set(before.tallies.classes) != set(more.tallies.classes):
                raise DataError(
                    f"classes={quoted(list(more.tallies.classes))} are not those of the first call, "
                    f"{quoted(list(before.tallies.classes))}; pass the same ones, or none"
                )
            more = before.plus(more)
        if not len(batch):
            return self
        return self._relearned(more, batch.classes.dtype, structure)

    def merge(self, other: Self) -> Self:
        """Learn from the cases of another classifier too, of the same kind and settings; afterwards as if fitted on both.

        NaiveBayes and Majority can be merged unless they were loaded from a file, the others if both learned by `partial_fit`,
        which keeps the rows.

        Parameters
        ----------
        other : the other classifier; it stays as it is.
        """
        self.checked_encoder()
        if type(self) is not type(other):
            raise ParameterError(f"a {type(self).__name__} cannot be merged with a {type(other).__name__}; learn both alike")
        told = differing(self.get_params(), other.get_params())
        if told:
            raise ParameterError(f"the classifiers were set up differently and cannot be merged: {told}")
        mine, theirs = self._kept_rows("merge"), other._kept_rows("merge")
        if set(mine.names) == set(theirs.names):
            theirs = theirs.in_order(mine.names)
        if mine.names != theirs.names or mine.target != theirs.target:
            raise DataError(
                f"the classifiers have different columns and cannot be merged: {quoted((*mine.names, mine.target))} and "
                f"{quoted((*theirs.names, theirs.target))}"
            )
        return self._relearned(mine.plus(theirs), self.classes_.dtype)

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Take cases out again: afterwards the classifier is the one that the remaining cases give, exactly.

        The classes stay, also one that no case has any more. NaiveBayes and Majority keep sums only, and can refuse no more than
        a value that was not learned so often in that class.

        Parameters
        ----------
        X, y, sample_weight : the cases as they were learned; one that was not is refused, and nothing changes.
        """
        encoder = self.checked_encoder()
        kept = self._kept_rows("forget")
        batch = self.training_rows(X, y, sample_weight, names=kept, rows=0)
        _check_labels(batch, kept.tallies.classes)
        if not len(batch):
            return self
        left = kept.less(self._kept_of(batch, is_frame(X), encoder))
        if not any(part.any() for part in left.tallies.weights.values()):
            raise DataError("no case would be left to learn from; make a new classifier instead")
        return self._relearned(left, self.classes_.dtype)

    def _kept_of(self, batch: LabelledTable, framed: bool, encoder: Encoder) -> Kept:
        tallies = encoder.tallied(batch.features, batch.labels, batch.classes.tolist(), batch.weight, exact=True)
        return Kept(tallies, None if self._sums_suffice else (own_copy(batch),), batch.target, framed)

    def _kept_rows(self, method: str) -> Kept:
        """What is kept of the rows so far."""
        if not hasattr(self, "network_"):
            raise NotFittedError(f"this {type(self).__name__} instance is not fitted yet; call 'partial_fit' first")
        if self._kept is None:
            raise ParameterError(
                f"{method} needs the cases that were learned so far, and this {type(self).__name__} has not kept them; "
                "learn by partial_fit from the start"
            )
        return self._kept

    def _relearned(self, kept: Kept, dtype: np.dtype[Any], structure: str = "learn") -> Self:
        """Become the classifier of the kept rows."""
        encoder = self.checked_encoder()
        features = encoder.schema(kept.tallies)
        variables = (*features, Variable(kept.target, kept.tallies.classes))
        cases = EncodedCases(BatchRows(kept.batches), variables, kept.tallies.gaps, encoder.unseen)
        counts = Counts(cases, budget=self.budget, known=FeatureTables(kept.tallies, features), passes=1)
        classes = np.array(kept.tallies.classes, object if dtype.kind == "O" else None)
        keep = structure == "keep" and hasattr(self, "network_")
        if keep and any(not isinstance(own, Hidden) for own in self.network_.derived.values()):
            raise ParameterError(
                f"structure='keep': the {quoted(self.network_.name(max(self.network_.derived)))} of a {type(self).__name__} "
                "follows from its cases; learn it anew with structure='learn'"
            )
        held = self.network_.parents if keep else None
        return self.fit_counts(counts, classes, kept.framed, kept.tallies.rows, kept, held)


def _schema(
    tallies: ValueCounts | None, given: Any, encoder: Encoder, target: Name
) -> tuple[Variables, NDArray[np.bool_], FeatureTables | None]:
    """The variables, which of the features may have missing values, and the tables that are known already."""
    if tallies is None:
        fitted = getattr(given, "network_", None)
        found = given if fitted is None else (*fitted.columns, fitted.variables[CLASS])
        variables = tuple(found) if isinstance(found, Iterable) else ()
        if not variables or not all(isinstance(v, Variable) for v in variables) or variables[-1].name != target:
            last = f"the last of them the class {quoted(target)}"
            raise ParameterError(f"schema={quoted(given)}: pass variables, {last}, or a fitted classifier that has them")
        return variables, np.ones(len(variables) - 1, np.bool_), None
    features = encoder.schema(tallies)
    return (*features, Variable(target, tallies.classes)), tallies.gaps, FeatureTables(tallies, features)


def _check_given(ignore: Any, progress: Any, then: Any, every: Any) -> None:
    """Refuse arguments that would fail only later, or mean something else."""
    if isinstance(ignore, str) or not isinstance(ignore, Iterable):
        raise ParameterError(f"ignore={quoted(ignore)}: pass a list of the names of columns")
    for name, given in (("progress", progress), ("then", then)):
        if given is not None and not callable(given):
            raise ParameterError(f"{name}={quoted(given)}: pass a function, or nothing")
    if not isinstance(every, (int, float)) or isinstance(every, bool) or not every >= 0:
        raise ParameterError(f"every={quoted(every)}: a number of seconds, at least 0")


def _label_array(labels: Sequence[State]) -> NDArray[Any]:
    return np.array(labels, object if isinstance(labels[0], str) else None)


def _check_labels(batch: LabelledTable, classes: Sequence[State]) -> None:
    """Refuse a label that is not among the classes known from the first batch."""
    for at, label in enumerate(batch.classes.tolist()):
        if label not in classes:
            row = int(np.argmax(batch.labels == at))
            raise DataError(
                f"{batch.features.place(row)}: the label {quoted(label)} is not among the classes {quoted(list(classes))}; "
                "pass all of them as `classes` in the first call"
            )
