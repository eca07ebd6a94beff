"""Learning from files, from a cluster and from batches, for every classifier that learns from counts."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from naivete.classifiers.estimator import check_fitted
from naivete.data.frames import is_frame
from naivete.encoding.encoder import Encoder
from naivete.errors import DataError, NaiveteWarning, ParameterError, quoted, warn
from naivete.network.network import Network, Structure
from naivete.variables import CLASS, Name, State, Variable, Variables

if TYPE_CHECKING:
    from naivete.cases.files import Progress
    from naivete.classifiers.batches import KeptCases
    from naivete.counts.counts import Counts
    from naivete.data.labelled_table import ColumnRoles, LabelledTable
    from naivete.encoding.feature_tables import FeatureTables
    from naivete.encoding.value_counts import ValueCounts

__all__ = ["IncrementalMixin"]


class IncrementalMixin:
    """The ways of learning other than `fit`; they use the attributes and abstract methods of the classifier."""

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

    def fit_cases(
        self,
        cases: Any,
        target: Name,
        *,
        weight: Name = None,
        ignore: Sequence[Name] = (),
        schema: Any = None,
        memory: int | None = None,
        disk: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        restart: bool = False,
        every: float = 30.0,
        cluster: Any = None,
        progress: Progress | None = None,
        then: Callable[[Self], object] | None = None,
        **reading: Any,
    ) -> Self:
        """Learn from cases that need not fit into memory; the classifier is exactly the one that `fit` would give.

        One pass over the rows finds the schema, unless it is given; the learner then makes further passes: none for NaiveBayes,
        two for TAN and KDB. class_weight="balanced" takes one more pass, before all others.

        Parameters
        ----------
        cases : str, path-like, list of these, data frame, Dask DataFrame, Arrow stream or callable
            A file (Parquet, CSV, ARFF), a pattern, a folder, or a list of these; a data frame; a Dask DataFrame; an object with an
            Arrow stream, or a function that returns a new one for every pass.
        target : str or int
            The column with the class.
        weight : str, int or None, default=None
            The column with the weight of every row, if there is one.
        ignore : sequence of str or int, default=()
            Columns that are not features.
        schema : tuple of Variable, NetworkClassifier or None, default=None
            The variables with the class last, or a fitted classifier that has them; by default learned from the rows.
        memory : int or None, default=None
            The most bytes that this process may take; by default only the tables are limited, by `budget`.
        disk : int or None, default=None
            The most bytes of temporary disk space for the encoded rows of files, from which every pass but the first two reads
            them; by default half of the space that is free in the folder that the environment variable NAIVETE_TMPDIR names, else
            in that of the checkpoint, else in the system's temporary folder. With 0, or where they do not fit, every pass decodes
            the files.
        checkpoint : str, path-like or None, default=None
            A folder in which the state of the work is saved regularly. An interrupted run with the same cases and settings
            continues from it; it is removed when the work is done.
        restart : bool, default=False
            Whether to start again, whatever the folder holds.
        every : float, default=30.0
            The seconds between two checkpoints.
        cluster : dask.distributed.Client, str or None, default=None
            A Dask client, the address of a scheduler, or "local" for a cluster on this machine; by default none, except for a Dask
            DataFrame.
        progress : callable or None, default=None
            A function that is called after each part with the pass, the rows done in it, and the number of rows.
        then : callable or None, default=None
            A function that is called with the fitted classifier before the checkpoint is removed, for instance to save it.
        **reading : object
            Options for reading files, as for `naivete.read`.

        Returns
        -------
        self : NetworkClassifier
            The fitted classifier.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from naivete import TAN
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "weather.csv")
        ...     _ = path.write_text("sky,wind,play\\nsun,calm,yes\\nrain,calm,no\\nsun,gale,yes\\nrain,gale,no\\n")
        ...     model = TAN().fit_cases(path, "play")
        >>> model.predict([{"sky": "sun", "wind": "gale"}]).tolist()
        ['yes']
        """
        from naivete.cases.rows import count_row_values
        from naivete.cases.sources import open_rows, plain_settings
        from naivete.cases.spill import encode_rows
        from naivete.classifiers.batches import KeptCases
        from naivete.counts.counts import Counts
        from naivete.data.labelled_table import ColumnRoles
        from naivete.data.labels import warn_left_out

        encoder = self.checked_encoder()
        _check_arguments(ignore, progress, then, every)
        roles = ColumnRoles(target, weight, tuple(ignore), encoder.unlabelled == "drop")
        plan = {"memory": memory, "disk": disk, "budget": self.budget, "progress": progress, "cluster": cluster}
        saving = {"folder": checkpoint, "restart": restart, "every": every}
        settings = {"classifier": type(self).__name__, **plain_settings(self.get_params(deep=False))}
        opened: Callable[..., Any] = partial(open_rows, cases, settings=settings, reading=reading, **plan)
        roles, first_pass = self._with_class_weights(roles, opened)
        with opened(roles, saving=saving) as (rows, allowed):
            value_counts = count_row_values(rows, encoder, allowed) if schema is None else None
            variables, missing, known = _schema(value_counts, schema, encoder, target)
            self._check_densities(any(v.density for v in variables))
            self._check_weighted_labels(variables[-1].states)
            encoded = encode_rows(rows, variables, missing, encoder.unseen)
            counts = Counts(encoded, budget=allowed, known=known, passes=first_pass + int(value_counts is not None))
            kept, count = None, getattr(rows, "count", None) or 0
            if value_counts is not None:
                count = value_counts.rows
                if value_counts.dropped:
                    warn_left_out(value_counts.dropped)
                if self._value_counts_suffice(encoder):
                    kept = KeptCases(value_counts, None, target, True)
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
        """Learn from more cases; the classifier is then exactly the one that `fit` on all cases so far would give.

        New values enlarge the tables and may move cut points. NaiveBayes and Majority keep value counts only. With more rows other
        dependences may be the strongest, so TAN, FAN and KDB keep the tables of all sets of two (KDB: k + 1) features by value, as
        soon as these take fewer bytes than the rows and fit `budget`; their memory then does not depend on the number of rows. The
        other classifiers keep the rows. `fit` keeps no rows, so `partial_fit` after it starts from nothing, with a warning.
        `save(..., counts=True)` stores the counts, so that `partial_fit` continues after `load`.

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
            kept = earlier.plus(kept, self.budget)
        if not len(batch):
            return self
        kept = kept.compact(self._features_of_tables(encoder), self.budget)
        return self._fit_kept(kept, encoder, batch.classes.dtype, structure)

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
        from naivete.classifiers.batches import differences

        encoder = self.checked_encoder()
        if type(self) is not type(other):
            raise ParameterError(f"a {type(self).__name__} cannot be merged with a {type(other).__name__}; learn both alike")
        different = differences(self.get_params(), other.get_params())
        if different:
            raise ParameterError(f"the classifiers have different parameters and cannot be merged: {different}")
        mine, theirs = self._kept_rows("merge"), other._kept_rows("merge")
        if set(mine.names) == set(theirs.names):
            theirs = theirs.in_order(mine.names)
        if mine.names != theirs.names or mine.target != theirs.target:
            raise DataError(
                f"the classifiers have different columns and cannot be merged: {quoted((*mine.names, mine.target))} and "
                f"{quoted((*theirs.names, theirs.target))}"
            )
        return self._fit_kept(mine.plus(theirs, self.budget), encoder, self.classes_.dtype)

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Remove cases; the classifier is then exactly the one that the remaining cases give.

        A class stays even when no case has it any more. NaiveBayes and Majority keep value counts only, so they refuse a case
        only if one of its values was not learned so often in that class; TAN, FAN and KDB, once they keep tables instead of rows,
        if a combination of its values was not.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or Table of shape (n_rows, n_features)
            The cases as they were learned; if one was not learned, all are refused and nothing changes.
        y : array-like of shape (n_rows,)
            The classes with which they were learned.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            The weights with which they were learned.

        Returns
        -------
        self : NetworkClassifier
            The classifier without these cases.

        Raises
        ------
        DataError
            If a case was not learned.

        Examples
        --------
        >>> from naivete import NaiveBayes
        >>> nb = NaiveBayes().partial_fit([["a"], ["b"], ["b"]], ["no", "yes", "no"])
        >>> nb.forget([["b"]], ["no"]).class_count_.tolist()
        [1.0, 1.0]
        """
        encoder = self.checked_encoder()
        kept = self._kept_rows("forget")
        batch = self.training_rows(X, y, sample_weight, names=kept, min_rows=0)
        _check_labels(batch, kept.classes)
        if not len(batch):
            return self
        remaining = kept.subtract(self._cases_to_keep(batch, is_frame(X), encoder))
        if not any(part.any() for part in remaining.value_counts.weights.values()):
            raise DataError("no case would be left to learn from; make a new classifier instead")
        return self._fit_kept(remaining, encoder, self.classes_.dtype)

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
        if kept.batches is not None and members is not None:
            kept.check_tables(members, self.budget)
            kept = kept.with_tables(members)
        if kept.batches is not None:
            raise ParameterError(
                f"counts=True: this {type(self).__name__} keeps the rows of its batches, which a model file does not hold; save it "
                "without, and learn again from all rows"
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
        from naivete.network.derived_columns import Hidden

        features = encoder.schema(kept.value_counts)
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


def _schema(
    value_counts: ValueCounts | None, schema: Any, encoder: Encoder, target: Name
) -> tuple[Variables, NDArray[np.bool_], FeatureTables | None]:
    """Return the variables, which features may have missing values, and the tables that are known already."""
    from naivete.encoding.feature_tables import FeatureTables

    if value_counts is None:
        network = getattr(schema, "network_", None)
        listed = schema if network is None else (*network.columns, network.variables[CLASS])
        variables = tuple(listed) if isinstance(listed, Iterable) else ()
        if not variables or not all(isinstance(v, Variable) for v in variables) or variables[-1].name != target:
            last = f"the last of them the class {quoted(target)}"
            raise ParameterError(f"schema={quoted(schema)}: pass variables, {last}, or a fitted classifier that has them")
        return variables, np.ones(len(variables) - 1, np.bool_), None
    features = encoder.schema(value_counts)
    return (*features, Variable(target, value_counts.classes)), value_counts.has_missing, FeatureTables(value_counts, features)


def _check_arguments(ignore: Any, progress: Any, then: Any, every: Any) -> None:
    """Refuse arguments that would fail only during or after the first pass."""
    if isinstance(ignore, str) or not isinstance(ignore, Iterable):
        raise ParameterError(f"ignore={quoted(ignore)}: pass a list of the names of columns")
    for name, function in (("progress", progress), ("then", then)):
        if function is not None and not callable(function):
            raise ParameterError(f"{name}={quoted(function)}: pass a function, or nothing")
    if not isinstance(every, (int, float)) or isinstance(every, bool) or not every >= 0:
        raise ParameterError(f"every={quoted(every)}: a number of seconds, at least 0")


def _label_array(labels: Sequence[State]) -> NDArray[Any]:
    return np.array(labels, object if isinstance(labels[0], str) else None)


def _check_labels(batch: LabelledTable, classes: Sequence[State]) -> None:
    """Refuse a label that is not among the classes known from the first batch."""
    for code, label in enumerate(batch.classes.tolist()):
        if label not in classes:
            row = int(np.argmax(batch.labels == code))
            raise DataError(
                f"{batch.features.place(row)}: the label {quoted(label)} is not among the classes {quoted(list(classes))}; "
                "pass all of them as `classes` in the first call"
            )
