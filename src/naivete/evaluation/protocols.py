"""How cases are divided into training and test cases: named, seeded, and the same for every model of an experiment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeGuard
from typing import Protocol as Protocol_

import numpy as np
from numpy.typing import NDArray

from naivete.data.labelled_table import LabelledTable
from naivete.errors import ParameterError, close_matches, did_you_mean, quoted

__all__ = ["KFold", "LearningCurve", "Protocol", "Split", "Splits", "TrainTest", "protocol_of", "stratified_folds"]

Rows = NDArray[np.int64]

MOST: Final = 10_000
"""The most repetitions: more only repeat what is known, and a number with a zero too many would never end."""
_DIGITS: Final = 18


@dataclass(frozen=True, eq=False)
class Split:
    """One division.

    Parameters
    ----------
    repeat, fold : which one it is; both count from 0.
    train, test : the rows.
    parts : the part of every row, -1 where it has none, if the training sets of several divisions are made of the same parts.
    nested : whether this training set is part `fold` and those before it, as in a learning curve, or all parts but that one.
    """

    repeat: int
    fold: int
    train: Rows
    test: Rows
    parts: Rows | None = None
    nested: bool = False


class Protocol(Protocol_):
    """A way of dividing cases."""

    def splits(self, cases: LabelledTable) -> Iterator[Split]:
        """The divisions, the same ones every time."""


@dataclass(frozen=True)
class KFold:
    """Cross-validation: every row is tested once in each repetition, by a model that has seen the other folds.

    Parameters
    ----------
    folds : how many parts, stratified by class.
    repeat : how many times to divide anew, at most 10,000.
    random_state : the seed; repetition r uses random_state + r.
    """

    folds: int = 10
    repeat: int = 1
    random_state: int = 0

    def splits(self, cases: LabelledTable) -> Iterator[Split]:
        """The divisions, fold by fold."""
        _check_folds(self.folds, len(cases))
        self.check()
        for again in range(self.repeat):
            fold = stratified_folds(cases.labels, self.folds, self.random_state + again)
            for at in range(self.folds):
                yield Split(again, at, np.flatnonzero(fold != at), np.flatnonzero(fold == at), fold)

    def check(self) -> None:
        """Refuse what can divide no cases whatsoever."""
        _check_count("folds", self.folds, least=2)
        _check_rounds("repeat", self.repeat, self.random_state)

    def __str__(self) -> str:
        return f"{self.repeat} x {self.folds}-fold cross-validation, seed {self.random_state}"


@dataclass(frozen=True)
class Splits:
    """Random divisions into training and test sets of fixed sizes (Singh and Provan 1995: 30; Langley 1993: 20).

    Parameters
    ----------
    count : how many, at most 10,000.
    train, test : how many rows each, as numbers or as shares of all rows; by default two thirds and the rest.
    random_state : the seed; division i uses random_state + i.
    """

    count: int = 30
    train: float = 2 / 3
    test: float | None = None
    random_state: int = 0

    def splits(self, cases: LabelledTable) -> Iterator[Split]:
        """The divisions."""
        self.check()
        train, test = self.sizes(len(cases))
        for at in range(self.count):
            order = np.random.default_rng(self.random_state + at).permutation(len(cases))
            yield Split(at, 0, np.sort(order[:train]), np.sort(order[train : train + test]))

    def sizes(self, rows: int) -> tuple[int, int]:
        """How many rows the training and the test sets have."""
        train = _size("train", self.train, rows)
        test = rows - train if self.test is None else _size("test", self.test, rows)
        if train < 1 or test < 1 or train + test > rows:
            raise ParameterError(
                f"train={quoted(self.train)}, test={quoted(self.test)}: {train} and {test} of {rows} rows; choose less"
            )
        return train, test

    def check(self) -> None:
        """Refuse what can divide no cases whatsoever."""
        _check_rounds("count", self.count, self.random_state)

    def __str__(self) -> str:
        test = "the rest" if self.test is None else f"{self.test:g}"
        return f"{self.count} random divisions, train {self.train:g}, test {test}, seed {self.random_state}"


@dataclass(frozen=True)
class TrainTest:
    """The first rows train, the next validate, the others test (Jensen and Nielsen 2007, section 8.1).

    Fold 0 tests on the validation rows, where there are any, by which a model is chosen; the last fold tests on the others, by
    which the chosen one is judged. Both learn from the training rows alone.

    Parameters
    ----------
    train : how many of the first rows are for training.
    validate : how many of the rows after these are for validation; by default none.
    """

    train: int
    validate: int = 0

    def splits(self, cases: LabelledTable) -> Iterator[Split]:
        """The one division, or the two."""
        self.check()
        start = self.train + self.validate
        if start >= len(cases):
            raise ParameterError(f"train={self.train}, validate={self.validate}: together less than {len(cases)} rows")
        if self.validate:
            yield Split(0, 0, np.arange(self.train), np.arange(self.train, start))
        yield Split(0, int(self.validate > 0), np.arange(self.train), np.arange(start, len(cases)))

    def check(self) -> None:
        """Refuse what can divide no cases whatsoever."""
        _check_count("train", self.train)
        _check_count("validate", self.validate, least=0)

    def __str__(self) -> str:
        validate = f"the next {self.validate:,} validate, " if self.validate else ""
        return f"the first {self.train:,} rows train, {validate}the others test"


@dataclass(frozen=True)
class LearningCurve:
    """Training sets that grow, each a part of the next, tested on the same rows (Langley 1993; Singh and Provan 1995).

    Parameters
    ----------
    sizes : how many training rows, increasing.
    count : how many random divisions, at most 10,000.
    test : how many rows test, as a number or as a share.
    random_state : the seed; division i uses random_state + i.
    """

    sizes: tuple[int, ...] = (10, 20, 50, 100, 200, 500)
    count: int = 20
    test: float = 1 / 3
    random_state: int = 0

    def splits(self, cases: LabelledTable) -> Iterator[Split]:
        """The divisions; `fold` says which size it is."""
        self.check()
        test = _size("test", self.test, len(cases))
        wrong = next((s for s in self.sizes if not 1 <= s <= len(cases) - test), None)
        if wrong is not None or not self.sizes or list(self.sizes) != sorted(set(self.sizes)):
            raise ParameterError(f"sizes={quoted(self.sizes)}: increasing numbers of rows, at most {len(cases) - test}")
        for again in range(self.count):
            order = np.random.default_rng(self.random_state + again).permutation(len(cases))
            parts = np.full(len(cases), -1)
            parts[order[test:]] = np.searchsorted(self.sizes, np.arange(len(cases) - test), side="right")
            parts[parts == len(self.sizes)] = -1
            for at, size in enumerate(self.sizes):
                yield Split(again, at, np.sort(order[test : test + size]), np.sort(order[:test]), parts, nested=True)

    def check(self) -> None:
        """Refuse what can divide no cases whatsoever."""
        _check_rounds("count", self.count, self.random_state)

    def __str__(self) -> str:
        return f"learning curve over {', '.join(map(str, self.sizes))} rows, {self.count} divisions, seed {self.random_state}"


def stratified_folds(labels: NDArray[np.int64], folds: int, random_state: int = 0) -> Rows:
    """The fold of every row, 0 .. folds-1; every class is spread evenly, and so are the rows.

    The rows are shuffled, put in the order of their classes and dealt out one by one. A class with fewer rows than folds is
    absent from some of them.

    >>> fold = stratified_folds(np.array([0, 0, 0, 0, 1, 1]), 2)
    >>> np.bincount(fold[:4]).tolist(), np.bincount(fold[4:]).tolist()
    ([2, 2], [1, 1])
    """
    rows = len(labels)
    _check_folds(folds, rows)
    shuffled = np.random.default_rng(random_state).permutation(rows)
    dealt = shuffled[np.argsort(labels[shuffled], kind="stable")]
    fold = np.empty(rows, np.int64)
    fold[dealt] = np.arange(rows) % folds
    return fold


def protocol_of(text: str) -> Protocol:
    """The protocol that a text stands for: `10-fold`, `10x10-fold`, `30-splits:train=1000,test=2196`, `curve:sizes=10/20/50`.

    All of these take `seed=`, a curve `count=` and `test=` too. `first:train=1000,validate=500` stands for `TrainTest`.

    >>> str(protocol_of("10x10-fold")), str(protocol_of("30-splits:train=1000,test=200,seed=7"))
    ('10 x 10-fold cross-validation, seed 0', '30 random divisions, train 1000, test 200, seed 7')
    """
    word, _, rest = text.strip().lower().partition(":")
    try:
        return _protocol(word, _settings(rest))
    except _Unreadable as error:
        examples = _FIRST if word == "first" else _EXAMPLES
        raise ParameterError(f"protocol {quoted(text)}: {error}; write for instance {examples}") from None


_EXAMPLES = "10-fold, 10x10-fold, 30-splits:train=1000,test=2196, curve:sizes=10/20/50,count=20"
_FIRST = "first:train=1000,validate=500"


class _Unreadable(Exception):  # noqa: N818 - caught here
    """Says what is wrong with the text of a protocol."""


def _protocol(word: str, settings: _Settings) -> Protocol:
    if word == "first":
        return settings.all_of(TrainTest(settings.whole("train"), settings.whole("validate", 0)), "train", "validate")
    seed = settings.whole("seed", 0)
    if word.endswith("-fold"):
        repeat, _, folds = word.removesuffix("-fold").rpartition("x")
        return settings.all_of(KFold(_whole(folds), _whole(repeat or "1"), seed), "seed")
    if word.endswith("-splits"):
        sizes = {name: settings.number(name) for name in ("train", "test") if name in settings.given}
        return settings.all_of(Splits(_whole(word.removesuffix("-splits")), random_state=seed, **sizes), "train", "test", "seed")
    if word == "curve":
        usual = LearningCurve()
        test = settings.number("test") if "test" in settings.given else usual.test
        made = LearningCurve(settings.sizes(usual.sizes), settings.whole("count", usual.count), test, seed)
        return settings.all_of(made, "sizes", "count", "test", "seed")
    close = close_matches(word, ("10-fold", "30-splits", "curve"), 1)
    raise _Unreadable(f"it is unknown{f' (did you mean {close[0]}?)' if close else ''}")


@dataclass(frozen=True)
class _Settings:
    """What stands behind the colon, by name."""

    given: dict[str, str]

    def whole(self, name: str, usual: int | None = None) -> int:
        """A whole number; the usual one where none is given."""
        if name not in self.given:
            if usual is None:
                raise _Unreadable(f"{name} is missing")
            return usual
        return _whole(self.given[name], f"{name}=")

    def number(self, name: str) -> float:
        """Any number."""
        try:
            return float(self.given[name])
        except ValueError:
            raise _Unreadable(f"{name}={quoted(self.given[name])} is not a number") from None

    def sizes(self, usual: tuple[int, ...]) -> tuple[int, ...]:
        """Whole numbers between slashes."""
        return tuple(_whole(size, "sizes: ") for size in self.given["sizes"].split("/")) if "sizes" in self.given else usual

    def all_of(self, made: KFold | Splits | TrainTest | LearningCurve, *known: str) -> Protocol:
        """The protocol, refused where a setting was given that it does not have, or where it could divide nothing."""
        for name in self.given:
            if name not in known:
                listed = did_you_mean(name, known, "there is" if len(known) == 1 else "there are")
                raise _Unreadable(f"there is no setting {quoted(name)} ({listed})")
        try:
            made.check()
        except ParameterError as error:
            raise _Unreadable(str(error)) from None
        return made


def _settings(text: str) -> _Settings:
    given: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if not value:
            raise _Unreadable(f"the setting {quoted(name)} has no value")
        if name in given:
            raise _Unreadable(f"the setting {quoted(name)} is there twice")
        given[name] = value
    return _Settings(given)


def _whole(text: str, called: str = "") -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise _Unreadable(f"{called}{quoted(text)} is not a whole number")
    return int(text)


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
    """A number of rows, or a share of them."""
    if not 0 < size < float("inf") or (size >= 1 and size != int(size)):
        raise ParameterError(f"{name}={quoted(size)}: a number of rows, or a share of them below 1")
    return round(size * rows) if size < 1 else int(size)
