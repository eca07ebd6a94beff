"""Protocols: how cases are divided into training and test sets, the same ones for all models of an experiment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeGuard
from typing import Protocol as Protocol_

import numpy as np
from numpy.typing import NDArray

from naivete.data.labelled_table import LabelledTable
from naivete.errors import ParameterError, quoted

__all__ = ["KFold", "LearningCurve", "Protocol", "Split", "Splits", "TrainTest", "stratified_folds"]

Rows = NDArray[np.int64]

MOST: Final = 10_000
"""The maximal number of repetitions."""


@dataclass(frozen=True, eq=False)
class Split:
    """A division of the cases into training and test rows.

    Parameters
    ----------
    repeat : int
        The repetition, from 0.
    fold : int
        The fold, from 0.
    train : ndarray of int
        The positions of the training rows.
    test : ndarray of int
        The positions of the test rows.
    parts : ndarray of shape (n_rows,) or None, default=None
        The part of each row, -1 for none, if the training sets of several splits consist of the same parts; else None.
    nested : bool, default=False
        Whether the training set is part `fold` and all before it, as in a learning curve; otherwise all parts but that one.
    """

    repeat: int
    fold: int
    train: Rows
    test: Rows
    parts: Rows | None = None
    nested: bool = False


class Protocol(Protocol_):
    """A way to divide cases into training and test sets."""

    def splits(self, cases: LabelledTable) -> Iterator[Split]:
        """Yield the splits, the same ones in each call.

        Parameters
        ----------
        cases : LabelledTable
            The cases to divide.

        Yields
        ------
        Split
            The training and test rows.
        """


@dataclass(frozen=True)
class KFold:
    """Stratified k-fold cross-validation: in each repetition each row is tested once, by a model trained on the other folds.

    Parameters
    ----------
    folds : int, default=10
        The number of folds.
    repeat : int, default=1
        The number of repetitions, at most 10,000.
    random_state : int, default=0
        The seed; repetition r uses random_state + r.
    """

    folds: int = 10
    repeat: int = 1
    random_state: int = 0

    def splits(self, cases: LabelledTable) -> Iterator[Split]:
        """Yield the splits, fold by fold.

        Parameters
        ----------
        cases : LabelledTable
            The cases to divide.

        Yields
        ------
        Split
            The training and test rows.
        """
        _check_folds(self.folds, len(cases))
        self.check()
        for repetition in range(self.repeat):
            folds = stratified_folds(cases.labels, self.folds, self.random_state + repetition)
            for fold in range(self.folds):
                yield Split(repetition, fold, np.flatnonzero(folds != fold), np.flatnonzero(folds == fold), folds)

    def check(self) -> None:
        """Raise a ParameterError for parameters that are invalid for all data."""
        _check_count("folds", self.folds, least=2)
        _check_rounds("repeat", self.repeat, self.random_state)

    def __str__(self) -> str:
        return f"{self.repeat} x {self.folds}-fold cross-validation, seed {self.random_state}"


@dataclass(frozen=True)
class Splits:
    """Random divisions into training and test sets of fixed sizes (Singh and Provan 1995: 30; Langley 1993: 20).

    Parameters
    ----------
    count : int, default=30
        The number of divisions, at most 10,000.
    train : int or float, default=2/3
        The size of the training sets, as a number or as a share of all rows.
    test : int, float or None, default=None
        The size of the test sets, as a number or as a share of all rows; by default the rest.
    random_state : int, default=0
        The seed; division i uses random_state + i.
    """

    count: int = 30
    train: float = 2 / 3
    test: float | None = None
    random_state: int = 0

    def splits(self, cases: LabelledTable) -> Iterator[Split]:
        """Yield the splits.

        Parameters
        ----------
        cases : LabelledTable
            The cases to divide.

        Yields
        ------
        Split
            The training and test rows.
        """
        self.check()
        train, test = self.sizes(len(cases))
        for division in range(self.count):
            order = np.random.default_rng(self.random_state + division).permutation(len(cases))
            yield Split(division, 0, np.sort(order[:train]), np.sort(order[train : train + test]))

    def sizes(self, rows: int) -> tuple[int, int]:
        """Return the sizes of the training and of the test sets.

        Parameters
        ----------
        rows : int
            The number of all rows.

        Returns
        -------
        tuple of int
            The two sizes.
        """
        train = _size("train", self.train, rows)
        test = rows - train if self.test is None else _size("test", self.test, rows)
        if train < 1 or test < 1 or train + test > rows:
            raise ParameterError(
                f"train={quoted(self.train)}, test={quoted(self.test)}: {train} and {test} of {rows} rows; choose less"
            )
        return train, test

    def check(self) -> None:
        """Raise a ParameterError for parameters that are invalid for all data."""
        _check_rounds("count", self.count, self.random_state)

    def __str__(self) -> str:
        test = "the rest" if self.test is None else f"{self.test:g}"
        return f"{self.count} random divisions, train {self.train:g}, test {test}, seed {self.random_state}"


@dataclass(frozen=True)
class TrainTest:
    """One division by position: first training, then validation, then test rows (Jensen and Nielsen 2007, section 8.1).

    Fold 0 tests on the validation rows, if there are any, to choose a model; the last fold tests on the test rows, to estimate
    the accuracy of the chosen model. Models are trained on the training rows alone in both.

    Parameters
    ----------
    train : int
        The number of training rows.
    validate : int, default=0
        The number of validation rows; by default none.
    """

    train: int
    validate: int = 0

    def splits(self, cases: LabelledTable) -> Iterator[Split]:
        """Yield one split, or two with validation rows.

        Parameters
        ----------
        cases : LabelledTable
            The cases to divide.

        Yields
        ------
        Split
            The training and test rows.
        """
        self.check()
        start = self.train + self.validate
        if start >= len(cases):
            raise ParameterError(f"train={self.train}, validate={self.validate}: together less than {len(cases)} rows")
        if self.validate:
            yield Split(0, 0, np.arange(self.train), np.arange(self.train, start))
        yield Split(0, int(self.validate > 0), np.arange(self.train), np.arange(start, len(cases)))

    def check(self) -> None:
        """Raise a ParameterError for parameters that are invalid for all data."""
        _check_count("train", self.train)
        _check_count("validate", self.validate, least=0)

    def __str__(self) -> str:
        validate = f"the next {self.validate:,} validate, " if self.validate else ""
        return f"the first {self.train:,} rows train, {validate}the others test"


@dataclass(frozen=True)
class LearningCurve:
    """Growing training sets, each a subset of the next, tested on the same rows (Langley 1993; Singh and Provan 1995).

    Parameters
    ----------
    sizes : tuple of int, default=(10, 20, 50, 100, 200, 500)
        The numbers of training rows, increasing.
    count : int, default=20
        The number of random divisions, at most 10,000.
    test : int or float, default=1/3
        The number of test rows, or their share of all rows.
    random_state : int, default=0
        The seed; division i uses random_state + i.
    """

    sizes: tuple[int, ...] = (10, 20, 50, 100, 200, 500)
    count: int = 20
    test: float = 1 / 3
    random_state: int = 0

    def splits(self, cases: LabelledTable) -> Iterator[Split]:
        """Yield the splits; `fold` is the position of the size.

        Parameters
        ----------
        cases : LabelledTable
            The cases to divide.

        Yields
        ------
        Split
            The training and test rows.
        """
        self.check()
        test = _size("test", self.test, len(cases))
        wrong = next((s for s in self.sizes if not 1 <= s <= len(cases) - test), None)
        if wrong is not None or not self.sizes or list(self.sizes) != sorted(set(self.sizes)):
            raise ParameterError(f"sizes={quoted(self.sizes)}: increasing numbers of rows, at most {len(cases) - test}")
        for division in range(self.count):
            order = np.random.default_rng(self.random_state + division).permutation(len(cases))
            parts = np.full(len(cases), -1)
            parts[order[test:]] = np.searchsorted(self.sizes, np.arange(len(cases) - test), side="right")
            parts[parts == len(self.sizes)] = -1
            for fold, size in enumerate(self.sizes):
                yield Split(division, fold, np.sort(order[test : test + size]), np.sort(order[:test]), parts, nested=True)

    def check(self) -> None:
        """Raise a ParameterError for parameters that are invalid for all data."""
        _check_rounds("count", self.count, self.random_state)

    def __str__(self) -> str:
        return f"learning curve over {', '.join(map(str, self.sizes))} rows, {self.count} divisions, seed {self.random_state}"


def stratified_folds(labels: NDArray[np.int64], folds: int, random_state: int = 0) -> Rows:
    """Return the fold of each row, 0 .. folds-1, stratified by class.

    The rows are shuffled, sorted by class and assigned to the folds in turn. A class with fewer rows than folds is absent from
    some folds.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
        The position of the class of each row.
    folds : int
        The number of folds.
    random_state : int, default=0
        The seed of the order of the rows.

    Returns
    -------
    ndarray of shape (n_rows,)
        The fold of each row.

    Examples
    --------
    >>> import numpy as np
    >>> from naivete.evaluation import stratified_folds
    >>> fold = stratified_folds(np.array([0, 0, 0, 0, 1, 1]), 2)
    >>> np.bincount(fold[:4]).tolist(), np.bincount(fold[4:]).tolist()
    ([2, 2], [1, 1])
    """
    rows = len(labels)
    _check_folds(folds, rows)
    shuffled = np.random.default_rng(random_state).permutation(rows)
    sorted_rows = shuffled[np.argsort(labels[shuffled], kind="stable")]
    fold = np.empty(rows, np.int64)
    fold[sorted_rows] = np.arange(rows) % folds
    return fold


def _check_count(name: str, count: object, least: int = 1, most: int | None = None) -> None:
    if not _is_whole(count) or count < least or (most is not None and count > most):
        bounds = f"at least {least}" if most is None else f"between {least} and {most:,}"
        raise ParameterError(f"{name}={quoted(count)}: a whole number, {bounds}")


def _check_rounds(name: str, count: object, random_state: object) -> None:
    _check_count(name, count, most=MOST)
    _check_count("random_state", random_state, least=0)


def _check_folds(folds: object, rows: int) -> None:
    if not _is_whole(folds) or not 2 <= folds <= rows:
        raise ParameterError(f"folds={quoted(folds)}: a whole number between 2 and the number of rows, {rows}")


def _is_whole(count: object) -> TypeGuard[int]:
    return isinstance(count, (int, np.integer)) and not isinstance(count, bool)


def _size(name: str, size: float, rows: int) -> int:
    """Return a number of rows from a number or a share."""
    if not 0 < size < float("inf") or (size >= 1 and size != int(size)):
        raise ParameterError(f"{name}={quoted(size)}: a number of rows, or a share of them below 1")
    return round(size * rows) if size < 1 else int(size)
