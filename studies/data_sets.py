"""The published data sets: files in studies/data, in the folder that NAIVETE_DATA names, derived from these, or from OpenML."""

from __future__ import annotations

import os
import warnings
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete import Column, DataError, FileError, Table, read
from naivete.evaluation import LabelledTable, label_table

__all__ = ["SHIPPED", "Size", "boolean", "data_folder", "data_set", "local_file", "part"]

SHIPPED: Final = Path(__file__).parent / "data"
VARIABLE: Final = "NAIVETE_DATA"
_PARTS: Final = {"vote1": "vote", "soybean15": "soybean", "splice3175": "splice", "dna3175": "splice"}
"""Data sets that are a part of another one."""
_OPENML: Final = {"dna": 40670}
"""The number at OpenML of the data set that is not in studies/data."""


class Size(NamedTuple):
    """The numbers of rows, features and classes of a data set."""

    rows: int
    features: int
    classes: int

    def __str__(self) -> str:
        return f"{self.rows} rows, {self.features} features, {self.classes} classes"


def data_folder(folder: str | Path | None = None) -> Path | None:
    """Return the folder with further data sets: the argument, else that of the environment variable NAIVETE_DATA, else None."""
    name = folder or os.environ.get(VARIABLE)
    if not name:
        return None
    if not Path(name).is_dir():
        origin = "--data" if folder else VARIABLE
        raise FileError(f"{name}: there is no such folder; {origin} has to name a folder with the data sets as NAME.arff.gz")
    return Path(name)


def local_file(name: str, folder: Path | None = None) -> Path | None:
    """Return the file of a data set in studies/data or in `folder`; None where neither has it."""
    files = [place / f"{name}.arff.gz" for place in (SHIPPED, folder) if place is not None]
    return next((file for file in files if file.exists()), None)


def data_set(name: str, size: Size, *, folder: Path | None = None) -> LabelledTable:
    """Return the cases of a data set; the class is the last column.

    Parameters
    ----------
    name : the name of the data set and of its file.
    size : the expected size; another one is an error.
    folder : where to look for a file that is not in studies/data; what is not there either is fetched from OpenML.
    """
    table = _table(name, folder)
    cases = label_table(table, table.names[-1])
    actual = Size(len(cases), len(cases.features.columns), len(cases.classes))
    if actual != size:
        raise DataError(f"{name}: {actual}; the published data set has {size}")
    return cases


def _table(name: str, folder: Path | None) -> Table:
    if name in _PARTS:
        return part(name, _table(_PARTS[name], folder))
    file = local_file(name, folder)
    return _from_openml(name, folder) if file is None else read(file)


def part(name: str, table: Table) -> Table:
    """Return the part of a table that is a data set of its own.

    `vote1` lacks the vote on physician-fee-freeze, `soybean15` the four rarest classes, `splice3175` the rows in which a letter
    stands for several bases. `dna3175` is `splice3175` with three bits for every base: A is 100, C is 010, G is 001, and T is 000.
    """
    *features, target = table.columns
    if name == "vote1":
        return Table((*(c for c in features if c.name != "physician-fee-freeze"), target), source=name, rows=len(table))
    if name == "soybean15":
        frequent = np.argsort(-np.bincount(target.values), kind="stable")[:15]
        return table.take(np.flatnonzero(np.isin(target.values, frequent)))
    letters = [column.to_numpy().astype(str) for column in features]
    rows = np.flatnonzero(np.logical_and.reduce([np.isin(column, list("ACGT")) for column in letters]))
    if name == "dna3175":
        bits = [column[rows] == base for column in letters for base in "ACG"]
        columns = [_nominal(f"V{i + 1}", bit.astype(np.int8), ("0", "1")) for i, bit in enumerate(bits)]
        return Table((*columns, _occurring(target, rows)), source=name, rows=len(rows))
    return Table(tuple(_occurring(column, rows) for column in table.columns), source=name, rows=len(rows))


def _nominal(name: Any, codes: NDArray[Any], states: tuple[Any, ...]) -> Column:
    return Column(name, codes, states, "nominal", declared=True)


def _occurring(column: Column, rows: NDArray[np.int64]) -> Column:
    """Return some rows of a nominal column without missing values, with only those states that occur in them, in order."""
    states, codes = np.unique(column.to_numpy()[rows].astype(str), return_inverse=True)
    return _nominal(column.name, codes, tuple(states.tolist()))


def _from_openml(name: str, folder: Path | None) -> Table:
    """Fetch a data set of two-valued features from OpenML with scikit-learn, which keeps a copy; the class is last."""
    missing = f"{name}: there is no {name}.arff.gz in studies/data" + (f" nor in {folder}" if folder else "")
    advice = f"set {VARIABLE} to a folder with {name}.arff.gz"
    if name not in _OPENML:
        raise FileError(f"{missing}, and OpenML does not have it; {advice}")
    from sklearn.datasets import fetch_openml

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            bunch = fetch_openml(data_id=_OPENML[name], as_frame=False, parser="liac-arff")
    except (OSError, ValueError, HTTPException) as error:
        reason = f"it could not be fetched from OpenML ({type(error).__name__}: {error})"
        raise FileError(f"{missing}, and {reason}; {advice}, or connect to the network") from error
    values, target = np.asarray(bunch.data, np.float64), np.asarray(bunch.target).astype(str)
    features = [_nominal(feature, values[:, j].astype(np.int8), ("0", "1")) for j, feature in enumerate(bunch.feature_names)]
    labels, codes = np.unique(target, return_inverse=True)
    return Table((*features, _nominal(bunch.target_names[0], codes, tuple(labels.tolist()))), source=name, rows=len(codes))


def boolean(cases: LabelledTable) -> LabelledTable:
    """Return the cases with a two-valued feature for every state of every feature; a missing value is a state, too.

    The sixteen votes of `vote` (no, yes, unknown) become 48 features.
    """
    columns = [bit for column in cases.features.columns for bit in _indicators(column)]
    features = Table(tuple(columns), source=cases.features.source, rows=len(cases))
    return LabelledTable(features, cases.target, cases.classes, cases.labels, cases.weight, cases.dropped)


def _indicators(column: Column) -> list[Column]:
    codes = {**{str(state): code for code, state in enumerate(column.states or ())}, "unknown": -1}
    return [
        _nominal(f"{column.name}={state}", (column.values == code).astype(np.int8), ("0", "1")) for state, code in codes.items()
    ]
