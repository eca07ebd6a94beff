"""The data sets of the accuracy benchmark: fixed lists by name, and the cases as every contender gets them.

The sets are the files NAME.arff.gz of the folder NAIVETE_DATA with at least 50 rows, except `splice3175`, which is `splice`
without 15 rows. They are divided into two halves once and for all: choices (defaults, constants, algorithms) are made on
CHOOSING and confirmed on CONFIRMING. The halves alternate in alphabetical order, separately for nominal and mixed sets. Sets
that share cases or describe the same problem (for instance glass and glass2, splice and dna, sick and hypothyroid) are in the
same half, so that the second half is independent of the first.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import naivete
from naivete.data.labelled_table import LabelledTable, label_table
from naivete.evaluation.protocols import KFold, Split

VARIABLE: Final = "NAIVETE_DATA"

NOMINAL_CHOOSING: Final = """
    audiology car corral flare krkopt mofn-3-7-10 mushroom poker-hand-train primary-tumor soybean soybean15 titanic
"""
NOMINAL_CONFIRMING: Final = """
    breast-cancer connect-4 dna kr-vs-kp led7 monks-1 monks-2 monks-3 nursery postoperative reuters-text3 splice
    tic-tac-toe vote vote-bool48 vote1
"""
MIXED_CHOOSING: Final = """
    adult autos breast-w census-income colic colic-orig credit-a dermatology ecoli haberman hepatitis ionosphere labor
    liver-disorders magic satimage shuttle spambase vehicle waveform-21 waveform-5000 wine zoo
"""
MIXED_CONFIRMING: Final = """
    anneal anneal-orig balance-scale cmc covtype credit-g diabetes glass glass-window glass2 heart-c heart-h
    heart-statlog hypothyroid iris letter lymph pendigits segment sick sonar tae vowel wdbc wdbc-mean10 yeast
"""

NOMINAL: Final = tuple((NOMINAL_CHOOSING + NOMINAL_CONFIRMING).split())
MIXED: Final = tuple((MIXED_CHOOSING + MIXED_CONFIRMING).split())
CHOOSING: Final = tuple((NOMINAL_CHOOSING + MIXED_CHOOSING).split())
CONFIRMING: Final = tuple((NOMINAL_CONFIRMING + MIXED_CONFIRMING).split())
ALL: Final = tuple(sorted((*NOMINAL, *MIXED)))
GROUPS: Final = {"nominal": NOMINAL, "mixed": MIXED, "choosing": CHOOSING, "confirming": CONFIRMING, "all": ALL}
"""The groups of sets that `--sets` accepts in place of names."""

IGNORED: Final = {"census-income": ("instance_weight",)}
"""Columns that are no features: the documentation of the set advises not to use them for prediction."""
LEAST: Final = 3
"""Classes with fewer cases are left out, so that every class occurs in every training set."""
SEED: Final = 1


def folder(given: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder with the data sets: the argument, else that of the environment variable NAIVETE_DATA."""
    path = given or os.environ.get(VARIABLE)
    if not path:
        raise SystemExit(f"the data sets are not found: set {VARIABLE} to the folder with the files NAME.arff.gz, or use --data")
    return Path(path)


def names_of(texts: Iterable[str]) -> list[str]:
    """Return the names of the sets that some names of sets or groups stand for, without repetition.

    >>> names_of(["iris", "all"])[:3]
    ['iris', 'adult', 'anneal']
    """
    names = dict.fromkeys(name for text in texts for name in GROUPS.get(text, (text,)))
    unknown = [name for name in names if name not in ALL]
    if unknown:
        raise SystemExit(f"unknown data sets: {', '.join(unknown)}; choose among {', '.join(GROUPS)}, {', '.join(ALL)}")
    return list(names)


def read(name: str, directory: Path, rows: int) -> LabelledTable:
    """Return the cases of a set; if it has more than `rows`, a sample of this size, drawn with a fixed seed."""
    table = naivete.read(directory / f"{name}.arff.gz")
    for column in IGNORED.get(name, ()):
        table = table.without(column)
    cases = label_table(table, table.names[-1])
    if len(cases) > rows:
        cases = cases.take(np.sort(np.random.default_rng(SEED).choice(len(cases), rows, replace=False)))
    frequent = np.bincount(cases.labels, minlength=len(cases.classes)) >= LEAST
    cases = cases.take(np.flatnonzero(frequent[cases.labels])).with_present_classes()
    return replace(cases, declared=None)


def splits(cases: LabelledTable, folds: int) -> list[Split]:
    """Return the training and test rows of stratified folds, the same for all contenders."""
    return list(KFold(folds, random_state=SEED).splits(cases))


def matrix(cases: LabelledTable) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return the features as numbers, nan where missing, with the codes of nominal values, and which columns are nominal."""
    columns = cases.features.columns
    nominal = np.array([column.states is not None for column in columns])
    values = [np.where(c.values < 0, np.nan, c.values) if c.states is not None else c.values.astype(float) for c in columns]
    return np.stack(values, axis=1), nominal  # (row, column), (column,)
