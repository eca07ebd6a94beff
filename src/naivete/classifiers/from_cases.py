"""Learning from files and from a cluster, for every classifier that learns from counts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from naivete.classifiers.learning import LearningMixin
from naivete.encoding.encoder import Encoder
from naivete.errors import ParameterError, quoted
from naivete.variables import CLASS, Name, State, Variable, Variables

if TYPE_CHECKING:
    from naivete.cases.files import Progress
    from naivete.encoding.feature_tables import FeatureTables
    from naivete.encoding.value_counts import ValueCounts

__all__ = ["FromCasesMixin"]


class FromCasesMixin(LearningMixin):
    """Learning from cases that need not fit into memory."""

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
            A function that is called after each part with the pass, the rows done in it, and the number of rows. If it has a method
            `learned`, that is called with the share of the work that is done, from 0 to 1, by learners that can estimate it.
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
            counts.effort.report = getattr(progress, "learned", None)
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
