"""The results of an experiment: a record for each model and split, a table of all records, and the folder where they are kept."""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from naivete.data.frames import SparseMatrix
from naivete.data.labelled_table import LabelledTable
from naivete.data.table import Table
from naivete.errors import ParameterError, did_you_mean, quoted
from naivete.storage.packed import CheckpointError, pieces
from naivete.storage.run_folders import ADVICE, RunFolder, read_packed, write_packed
from naivete.storage.values import record

__all__ = ["Curve", "Key", "Record", "Results", "Store", "data_hash", "write_split"]

Key = tuple[int, int, int]
"""The key of a split: the position of the data set, the repetition, the fold."""

_NAME: Final = "experiment.nvc"
_SPLIT: Final = re.compile(r"split-([0-9]{3,9})-([0-9]{4,9})-([0-9]{4,9})\.nvc")


@record("experiment-record")
@dataclass(frozen=True)
class Record:
    """The result of one model on one split; records are compared without the times.

    Parameters
    ----------
    data : str
        The name of the data set.
    model : str
        The name of the model.
    repeat : int
        The repetition, from 0.
    fold : int
        The fold, from 0.
    train : int
        The number of training rows.
    test : int
        The number of test rows.
    measures : dict of {str: float}
        The measures by name; empty if the test rows have no weight.
    confusion : tuple of tuple of float
        The number of cases by true (rows) and predicted class (columns).
    unseen : bool, default=False
        Whether test rows had values that did not occur in training.
    fit_seconds : float, default=0.0
        The time of fitting.
    predict_seconds : float, default=0.0
        The time of prediction.
    """

    data: str
    model: str
    repeat: int
    fold: int
    train: int
    test: int
    measures: dict[str, float]
    confusion: tuple[tuple[float, ...], ...]
    unseen: bool = False
    fit_seconds: float = field(default=0.0, compare=False)
    predict_seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True)
class Curve:
    """The means of a measure by the number of training rows, with half-widths of 95 % intervals (nan for a single split).

    Parameters
    ----------
    sizes : tuple of int
        The numbers of training rows.
    means : tuple of float
        The mean for each size.
    halfwidths : tuple of float
        The half-width of the interval for each size.
    """

    sizes: tuple[int, ...]
    means: tuple[float, ...]
    halfwidths: tuple[float, ...]


@dataclass(frozen=True)
class Results:
    """All records of an experiment, in the order of data sets, splits and models.

    Parameters
    ----------
    records : tuple of Record
        The records.
    classes : dict of {str: sequence of labels}, default={}
        The labels of each data set, in the order of the confusion matrices.
    """

    records: tuple[Record, ...]
    classes: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @property
    def data(self) -> tuple[str, ...]:
        """The names of the data sets."""
        return tuple(dict.fromkeys(r.data for r in self.records))

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models."""
        return tuple(dict.fromkeys(r.model for r in self.records))

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the measures."""
        return tuple(dict.fromkeys(name for r in self.records for name in r.measures))

    def columns(self) -> dict[str, list[Any]]:
        """Return a table with one row for each record, for `pandas.DataFrame` or `polars.DataFrame`.

        Returns
        -------
        dict of {str: list}
            The columns by name.
        """
        plain = ("data", "model", "repeat", "fold", "train", "test")
        seconds = ("fit_seconds", "predict_seconds")
        return {
            **{name: [getattr(r, name) for r in self.records] for name in plain},
            **{name: [r.measures.get(name, math.nan) for r in self.records] for name in self.measures},
            **{name: [getattr(r, name) for r in self.records] for name in seconds},
        }

    def scores(self, data: str, model: str, measure: str = "accuracy") -> list[float]:
        """Return a measure of a model in the order of the splits, without splits whose test rows have no weight.

        Parameters
        ----------
        data : str
            The name of the data set.
        model : str
            The name of the model.
        measure : str, default="accuracy"
            The name of the measure.

        Returns
        -------
        list of float
            The scores.
        """
        _check("measure", measure, self.measures)
        return [r.measures[measure] for r in self.of(data, model) if r.measures]

    def table(self, measure: str = "accuracy") -> dict[str, dict[str, list[float]]]:
        """Return the scores of each model on each data set, as for `compare_many`.

        Parameters
        ----------
        measure : str, default="accuracy"
            The name of the measure.

        Returns
        -------
        dict of {str: dict of {str: list of float}}
            The scores by data set and model.
        """
        return {data: {model: self.scores(data, model, measure) for model in self.models} for data in self.data}

    def test_shares(self) -> dict[str, float]:
        """Return the share of the rows in the test sets of each data set, which the corrected t test needs.

        Returns
        -------
        dict of {str: float}
            The shares by data set.
        """
        sizes = {data: [(r.test, r.train + r.test) for r in self.records if r.data == data] for data in self.data}
        return {data: sum(test for test, _ in splits) / sum(rows for _, rows in splits) for data, splits in sizes.items()}

    def confusion(self, data: str, model: str) -> NDArray[np.float64]:
        """Return the number of cases by true and predicted class, over all splits.

        Parameters
        ----------
        data : str
            The name of the data set.
        model : str
            The name of the model.

        Returns
        -------
        ndarray of shape (n_classes, n_classes)
            The numbers, true classes in the rows, predicted classes in the columns.
        """
        return np.asarray(np.sum([r.confusion for r in self.of(data, model)], axis=0), np.float64)

    def curve(self, data: str, model: str, measure: str = "accuracy") -> Curve:
        """Return the mean of a measure for each number of training rows, with the half-width of Student's 95 % interval.

        Parameters
        ----------
        data : str
            The name of the data set.
        model : str
            The name of the model.
        measure : str, default="accuracy"
            The name of the measure.

        Returns
        -------
        Curve
            The means and half-widths by number of training rows.
        """
        from scipy.special import stdtrit

        _check("measure", measure, self.measures)
        scores: dict[int, list[float]] = {}
        for result in self.of(data, model):
            if result.measures:
                scores.setdefault(result.train, []).append(result.measures[measure])
        sizes, means, halfwidths = sorted(scores), [], []
        for size in sizes:
            values, count = np.array(scores[size]), len(scores[size])
            means.append(float(values.mean()))
            standard_error = values.std(ddof=1) / math.sqrt(count) if count > 1 else math.nan
            halfwidths.append(float(standard_error * stdtrit(count - 1, 0.975)) if count > 1 else math.nan)
        return Curve(tuple(sizes), tuple(means), tuple(halfwidths))

    def of(self, data: str, model: str) -> list[Record]:
        """Return the records of a model on a data set.

        Parameters
        ----------
        data : str
            The name of the data set.
        model : str
            The name of the model.

        Returns
        -------
        list of Record
            The records in the order of the splits.
        """
        _check("data", data, self.data)
        _check("model", model, self.models)
        return [r for r in self.records if r.data == data and r.model == model]


def _check(parameter: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise ParameterError(f"{parameter}={quoted(name)}: the experiment has no such {parameter}; {did_you_mean(name, known)}")


class Store(RunFolder):
    """The folder of an experiment with a file for each finished split, so that a run that was killed can be resumed.

    The folder is locked while a run uses it. The files are kept when the run is complete; the same run then reads them.

    Parameters
    ----------
    folder : the folder; it is made if it does not exist.
    fingerprint : plain values by name that have to be the same for a run to be resumed.
    restart : whether to begin again, whatever is in the folder.
    """

    def resume(self) -> None:
        """Check that the folder is of the same experiment, or begin one."""
        path = self.folder / _NAME
        if self.restart:
            for file in (path, *self._files().values()):
                file.unlink(missing_ok=True)
        if not os.path.lexists(path):
            stray = next(iter(self._files().values()), None)
            if stray is not None:
                raise CheckpointError(f"{stray}: it belongs to a run that left no {_NAME}; {ADVICE}")
            write_packed(path, pieces(self.fingerprint))
            return
        fingerprint = read_packed(path)[0]
        if type(fingerprint) is not dict:
            raise CheckpointError(f"{path}: it is packed data, but not of an experiment; {ADVICE}")
        self.check_fingerprint(fingerprint, path)

    def _files(self) -> dict[Key, Path]:
        matches = ((_SPLIT.fullmatch(path.name), path) for path in sorted(self.folder.iterdir()))
        return {(int(match[1]), int(match[2]), int(match[3])): path for match, path in matches if match}

    def finished(self) -> dict[Key, list[Record]]:
        """Return the records of each finished split."""
        return {key: _records(path) for key, path in self._files().items()}


def write_split(folder: Path, key: Key, records: Iterable[Record]) -> None:
    """Write the records of a finished split to a file, completely or not at all."""
    write_packed(folder / "split-{:03}-{:04}-{:04}.nvc".format(*key), pieces(list(records)))


def _records(path: Path) -> list[Record]:
    records = read_packed(path)[0]
    if type(records) is not list or not all(type(item) is Record for item in records):
        raise CheckpointError(f"{path}: it is packed data, but not the records of a split; {ADVICE}")
    return records


def data_hash(cases: LabelledTable) -> str:
    """Return the SHA-256 of the labels, weights, columns and names of the cases."""
    digest = hashlib.sha256()
    for array in (cases.labels, cases.weight, *_arrays(cases.features)):
        digest.update(b"none" if array is None else f"{array.dtype.str}{array.shape}".encode())
        if array is not None:
            digest.update(repr(array.tolist()).encode() if array.dtype.kind == "O" else np.ascontiguousarray(array).tobytes())
    columns = [(c.name, c.states, c.kind, c.declared) for c in cases.features.columns] if not _sparse(cases.features) else []
    digest.update(repr((cases.classes.tolist(), cases.features.names, columns)).encode(errors="surrogatepass"))
    return digest.hexdigest()


def _sparse(table: Table) -> bool:
    return isinstance(table, SparseMatrix)


def _arrays(table: Table) -> list[NDArray[Any]]:
    if isinstance(table, SparseMatrix):
        return [table.matrix.data, table.matrix.indices, table.matrix.indptr]
    return [column.values for column in table.columns]
