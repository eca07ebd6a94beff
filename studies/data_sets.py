"""Published data sets, none of which is part of this library: looked up in a folder, or else fetched from OpenML and cached."""

from __future__ import annotations

import os
import warnings
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete.data.files import read
from naivete.data.labelled_table import LabelledTable, label_table
from naivete.data.table import Column, Table
from naivete.errors import DataError, FileError

__all__ = ["VARIABLE", "Size", "boolean", "data_set", "folder_of", "local", "part"]

VARIABLE: Final = "NAIVETE_DATA"
"""The environment variable that names the folder of data sets."""

_ENDINGS: Final = (".arff.gz", ".arff")
_OPENML: Final = {"kr-vs-kp": 3, "mushroom": 24, "soybean": 42, "splice": 46, "vote": 56, "dna": 40670}
"""The number of each data set at OpenML."""
_PARTS: Final = {"vote1": "vote", "soybean15": "soybean", "splice3175": "splice"}
"""Data sets that are a part of another one."""


class Size(NamedTuple):
    """How many rows, features and classes a data set has, by which a wrong version is recognised."""

    rows: int
    features: int
    classes: int

    def __str__(self) -> str:
        return f"{self.rows} rows, {self.features} features, {self.classes} classes"


def folder_of(given: str | Path | None = None) -> Path | None:
    """The folder of data sets: the one given, or that of the environment variable NAIVETE_DATA, or none."""
    named = given or os.environ.get(VARIABLE)
    if not named:
        return None
    if not Path(named).is_dir():
        told = "--data" if given else VARIABLE
        raise FileError(f"{named}: there is no such folder; {told} has to name one that holds the data sets as NAME.arff.gz")
    return Path(named)


def local(name: str, folder: Path | None) -> Path | None:
    """The file of a data set in the folder, None where it is not there."""
    files = () if folder is None else (folder / f"{name}{ending}" for ending in _ENDINGS)
    return next((file for file in files if file.exists()), None)


def data_set(name: str, size: Size, *, folder: Path | None = None) -> LabelledTable:
    """The cases of a data set, whose class is the last column.

    Parameters
    ----------
    name : its name, which is that of its file.
    size : what it has to have.
    folder : where to look first; what is not there is fetched from OpenML, once, with scikit-learn.
    """
    file = local(name, folder)
    table = _elsewhere(name, folder) if file is None else read(file)
    cases = label_table(table, table.names[-1])
    found = Size(len(cases), len(cases.features.columns), len(cases.classes))
    if found != size:
        raise DataError(f"{file or name}: {found}; the published one has {size}")
    return cases


def _elsewhere(name: str, folder: Path | None) -> Table:
    """A data set that has no file of its own: a part of another one, or from OpenML."""
    if name not in _PARTS:
        return _fetched(name, folder)
    whole = local(_PARTS[name], folder)
    return part(name, _fetched(_PARTS[name], folder) if whole is None else read(whole))


def part(name: str, table: Table) -> Table:
    """The part of a table, its class last, that is a data set of its own.

    `vote1` is without the vote on physician-fee-freeze, `soybean15` without the four classes that are rarest, `splice3175`
    without the rows in which a letter stands for several bases, and without these letters.
    """
    *features, target = table.columns
    if name == "vote1":
        return Table((*(c for c in features if c.name != "physician-fee-freeze"), target), source=name, rows=len(table))
    if name == "soybean15":
        frequent = np.argsort(-np.bincount(target.values), kind="stable")[:15]
        return table.take(np.flatnonzero(np.isin(target.values, frequent)))
    rows = np.flatnonzero(np.logical_and.reduce([np.isin(c.to_numpy().astype(str), list("ACGT")) for c in features]))
    return Table(tuple(_settled(column, rows) for column in table.columns), source=name, rows=len(rows))


def _settled(column: Column, rows: NDArray[np.int64]) -> Column:
    """Some rows of a column of codes, with those states only that occur in them."""
    values, states = column.values[rows], column.states or ()
    there = np.unique(values[values >= 0])
    codes = np.where(values < 0, -1, np.searchsorted(there, values))
    return Column(column.name, codes, tuple(states[code] for code in there.tolist()), "nominal", declared=True)


def _fetched(name: str, folder: Path | None) -> Table:
    """The table from OpenML, its class last; scikit-learn keeps a copy."""
    where = f"not in {folder}" if folder is not None else f"{VARIABLE} is not set"
    if name not in _OPENML:
        raise FileError(f"{name}: {where}, and OpenML does not have it; set {VARIABLE} to a folder with {name}.arff.gz")
    from sklearn.datasets import fetch_openml

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            bunch = fetch_openml(data_id=_OPENML[name], as_frame=False, parser="liac-arff")
    except (OSError, ValueError, HTTPException) as error:
        raise FileError(
            f"{name}: {where}, and it could not be fetched from OpenML ({type(error).__name__}: {error}); "
            f"set {VARIABLE} to a folder with {name}.arff.gz, or go online"
        ) from error
    return _of_bunch(name, bunch)


def _of_bunch(name: str, bunch: Any) -> Table:
    """The columns that OpenML gives, all as states: none of these data sets has a quantity."""
    declared = bunch.categories or {}
    columns = [_column(n, bunch.data[:, j], declared.get(n)) for j, n in enumerate(bunch.feature_names)]
    labels, codes = np.unique(np.asarray(bunch.target).astype(str), return_inverse=True)
    target = Column(bunch.target_names[0], codes, tuple(labels.tolist()), "nominal")
    return Table((*columns, target), source=name, rows=len(codes))


def _column(name: str, values: NDArray[Any], declared: list[str] | None) -> Column:
    """A column of codes into declared values, or of numbers that are names."""
    numbers = np.asarray(values, np.float64)
    known = ~np.isnan(numbers)
    states, codes = np.unique(numbers[known], return_inverse=True)
    if declared is not None:
        states, codes = np.array(declared, object), numbers[known].astype(np.int64)
    every = np.full(len(numbers), -1, np.int64)
    every[known] = codes
    texts = tuple(state if isinstance(state, str) else f"{state:g}" for state in states.tolist())
    return Column(name, every, texts, "nominal", declared=declared is not None)


def boolean(cases: LabelledTable) -> LabelledTable:
    """The cases with a feature of two states for every state of every feature, a missing value being a state too.

    The sixteen votes of `vote` (no, yes, unknown) become 48 features.
    """
    columns = [bit for column in cases.features.columns for bit in _bits(column)]
    features = Table(tuple(columns), source=cases.features.source, rows=len(cases))
    return LabelledTable(features, cases.target, cases.classes, cases.labels, cases.weight, cases.dropped)


def _bits(column: Column) -> list[Column]:
    states = column.states or ()
    at = {**{str(state): code for code, state in enumerate(states)}, "unknown": -1}
    bits = {name: (column.values == code).astype(np.int8) for name, code in at.items()}
    return [Column(f"{column.name}={name}", bit, ("0", "1"), "nominal", declared=True) for name, bit in bits.items()]
