"""What an experiment found: one record for each model and split, a tidy table of them, and the folder that keeps them."""

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
"""Which split of which data: the place of the data, the repetition, the fold."""

_NAME: Final = "experiment.nvc"
_SPLIT: Final = re.compile(r"split-([0-9]{3,9})-([0-9]{4,9})-([0-9]{4,9})\.nvc")


@record("experiment-record")
@dataclass(frozen=True)
class Record:
    """How one model did on one split; two are equal if they agree in all but the time.

    Parameters
    ----------
    data, model : the names.
    repeat, fold : which split; both count from 0.
    train, test : how many rows the model learned from and was tested on.
    measures : the measures by name; none where the test rows have no weight.
    confusion : the cases classified as the row and correctly of the column.  # (classified, correct)
    unseen : whether test rows had values that did not occur in training.
    fit_seconds, predict_seconds : the time.
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
    """A measure against the number of training rows, with the half-widths of 95 % intervals; nan where there is one split."""

    sizes: tuple[int, ...]
    means: tuple[float, ...]
    halfwidths: tuple[float, ...]


@dataclass(frozen=True)
class Results:
    """All records of an experiment, in the order of data, splits and models.

    Parameters
    ----------
    records : the records.
    classes : the labels of each data set, in the order of the confusion matrices.
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
        """A tidy table, one row for each record, of which `pandas.DataFrame` or `polars.DataFrame` makes a frame."""
        plain = ("data", "model", "repeat", "fold", "train", "test")
        seconds = ("fit_seconds", "predict_seconds")
        return {
            **{name: [getattr(r, name) for r in self.records] for name in plain},
            **{name: [r.measures.get(name, math.nan) for r in self.records] for name in self.measures},
            **{name: [getattr(r, name) for r in self.records] for name in seconds},
        }

    def scores(self, data: str, model: str, measure: str = "accuracy") -> list[float]:
        """A measure of a model in the order of the splits; splits whose test rows have no weight are left out.

        Parameters
        ----------
        data, model, measure : the names.
        """
        _check("measure", measure, self.measures)
        return [r.measures[measure] for r in self._of(data, model) if r.measures]

    def table(self, measure: str = "accuracy") -> dict[str, dict[str, list[float]]]:
        """The scores of every model on every data set, as `compare_many` takes them.

        Parameters
        ----------
        measure : its name.
        """
        return {data: {model: self.scores(data, model, measure) for model in self.models} for data in self.data}

    def test_shares(self) -> dict[str, float]:
        """The share of the rows of a split that it tests on, for each data set, which the corrected t-test needs."""
        sizes = {data: [(r.test, r.train + r.test) for r in self.records if r.data == data] for data in self.data}
        return {data: sum(test for test, _ in own) / sum(both for _, both in own) for data, own in sizes.items()}

    def confusion(self, data: str, model: str) -> NDArray[np.float64]:
        """The cases classified as the row and correctly of the column, over all splits.  # (classified, correct)"""
        return np.asarray(np.sum([r.confusion for r in self._of(data, model)], axis=0), np.float64)

    def curve(self, data: str, model: str, measure: str = "accuracy") -> Curve:
        """The mean of a measure at each number of training rows, with the half-width of Student's 95 % interval.

        Parameters
        ----------
        data, model, measure : the names.
        """
        from scipy.special import stdtrit

        _check("measure", measure, self.measures)
        found: dict[int, list[float]] = {}
        for own in self._of(data, model):
            if own.measures:
                found.setdefault(own.train, []).append(own.measures[measure])
        sizes, means, halfwidths = sorted(found), [], []
        for size in sizes:
            values, count = np.array(found[size]), len(found[size])
            means.append(float(values.mean()))
            spread = values.std(ddof=1) / math.sqrt(count) if count > 1 else math.nan
            halfwidths.append(float(spread * stdtrit(count - 1, 0.975)) if count > 1 else math.nan)
        return Curve(tuple(sizes), tuple(means), tuple(halfwidths))

    def _of(self, data: str, model: str) -> list[Record]:
        _check("data", data, self.data)
        _check("model", model, self.models)
        return [r for r in self.records if r.data == data and r.model == model]


def _check(what: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise ParameterError(f"{what}={quoted(name)}: the experiment has no such {what}; {did_you_mean(name, known)}")


class Store(RunFolder):
    """The folder of an experiment, in which every finished split is a file: a run that was killed repeats none of them.

    The folder is locked while a run lives. The files stay when the run is complete, so that asking again costs nothing.

    Parameters
    ----------
    folder : where; it is made if need be.
    fingerprint : plain data by name that has to be the same for a run to be resumed.
    restart : whether to begin again, whatever is in the folder.
    """

    def resume(self) -> None:
        """Check that the folder is of the same experiment, or begin one."""
        path = self.folder / _NAME
        if self.restart:
            for own in (path, *self._files().values()):
                own.unlink(missing_ok=True)
        if not os.path.lexists(path):
            stray = next(iter(self._files().values()), None)
            if stray is not None:
                raise CheckpointError(f"{stray}: it is of a run that left no {_NAME}; {ADVICE}")
            write_packed(path, pieces(self.fingerprint))
            return
        found = read_packed(path)[0]
        if type(found) is not dict:
            raise CheckpointError(f"{path}: it is packed data, but not of an experiment; {ADVICE}")
        self.check_fingerprint(found, path)

    def _files(self) -> dict[Key, Path]:
        found = ((_SPLIT.fullmatch(path.name), path) for path in sorted(self.folder.iterdir()))
        return {(int(name[1]), int(name[2]), int(name[3])): path for name, path in found if name}

    def finished(self) -> dict[Key, list[Record]]:
        """The records of every finished split."""
        return {key: _records(path) for key, path in self._files().items()}


def write_split(folder: Path, key: Key, records: Iterable[Record]) -> None:
    """Keep the records of a finished split: a whole file, or none."""
    write_packed(folder / "split-{:03}-{:04}-{:04}.nvc".format(*key), pieces(list(records)))


def _records(path: Path) -> list[Record]:
    found = read_packed(path)[0]
    if type(found) is not list or not all(type(own) is Record for own in found):
        raise CheckpointError(f"{path}: it is packed data, but not the records of a split; {ADVICE}")
    return found


def data_hash(cases: LabelledTable) -> str:
    """The SHA-256 of all that an experiment sees of the cases."""
    found = hashlib.sha256()
    for array in (cases.labels, cases.weight, *_arrays(cases.features)):
        found.update(b"none" if array is None else f"{array.dtype.str}{array.shape}".encode())
        if array is not None:
            found.update(repr(array.tolist()).encode() if array.dtype.kind == "O" else np.ascontiguousarray(array).tobytes())
    told = [(c.name, c.states, c.kind, c.declared) for c in cases.features.columns] if not _sparse(cases.features) else []
    found.update(repr((cases.classes.tolist(), cases.features.names, told)).encode(errors="surrogatepass"))
    return found.hexdigest()


def _sparse(table: Table) -> bool:
    return isinstance(table, SparseMatrix)


def _arrays(table: Table) -> list[NDArray[Any]]:
    if isinstance(table, SparseMatrix):
        return [table.matrix.data, table.matrix.indices, table.matrix.indptr]
    return [column.values for column in table.columns]
