"""Errors and warnings of the library, and the few functions that build their messages.

A message says what is wrong, where (file, line, column, row), which value it is, and what to do next.

Where a message names a parameter that the reader can set, the parameter stands in backticks with an equals sign and perhaps
a value: ``raise `memory=` ``, ``pass `encoding='latin-1'` ``, ``declare it with `kinds={'zip': 'nominal'}` ``. The value is
written as by `quoted` or `repr`. A Python user reads this as it is; the command line shows the same message with its own
options in place of the parameters, which `with_options` does. So no message spells the options of the command line.
"""

from __future__ import annotations

import re
import sys
import types
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from itertools import islice
from typing import Any, Final

__all__ = [
    "DataError",
    "DataTypeError",
    "FileError",
    "ImpossibleEvidenceWarning",
    "MissingColumnWarning",
    "MixedColumnWarning",
    "ModelFileError",
    "NaiveteError",
    "NaiveteWarning",
    "ParameterError",
    "ResourceError",
    "UnseenValueWarning",
    "UnsuitableColumnWarning",
    "close_matches",
    "collected_warnings",
    "did_you_mean",
    "library",
    "quoted",
    "warn",
    "with_options",
]

_PARAMETER: Final = re.compile(r"`(\w+)=([^`]*)`")


class NaiveteError(Exception):
    """Base class of all errors that this library raises.

    Catch it to handle whatever can be wrong with data, parameters, files and resources. The more specific errors are also errors of
    Python: `DataError`, `ParameterError` and `ModelFileError` are a ValueError, `DataTypeError` is a TypeError, `FileError` an
    OSError and `ResourceError` a MemoryError.

    Examples
    --------
    >>> from naivete import NaiveBayes, NaiveteError
    >>> try:
    ...     NaiveBayes(smoothing=-1).fit([["a"], ["b"]], ["no", "yes"])
    ... except NaiveteError as error:
    ...     print(error)
    smoothing=-1: the number has to be at least 0 and at most 1e+15
    """


class DataError(NaiveteError, ValueError):
    """A value, row, column or label of the data is not valid.

    The message names the place (file and line, column, row) and the value. It is raised by `fit`, `predict`, `read` and all other
    functions that take data.

    Examples
    --------
    >>> from naivete import DataError, NaiveBayes
    >>> try:
    ...     NaiveBayes().fit([["a"], ["b"]], ["no"])
    ... except DataError as error:
    ...     print(error)
    X and y differ in length: inconsistent numbers of samples: 2 rows, 1 labels
    """


class DataTypeError(NaiveteError, TypeError):
    """The data hold values of a type that can be neither a state nor a number.

    Values are numbers, text and booleans; lists, sets and other objects have to be converted first.

    Examples
    --------
    >>> from naivete import DataTypeError, NaiveBayes
    >>> try:
    ...     NaiveBayes().fit([[{"a"}], [{"b"}]], ["no", "yes"])
    ... except DataTypeError as error:
    ...     print(type(error).__name__)
    DataTypeError
    """


class ParameterError(NaiveteError, ValueError):
    """A parameter is out of range or contradicts another one.

    Examples
    --------
    >>> from naivete import KDB, ParameterError
    >>> try:
    ...     KDB(k=-1).fit([["a"], ["b"]], ["no", "yes"])
    ... except ParameterError as error:
    ...     print(error)
    k=-1: a whole number, at least 0, or 'auto'
    """


class ModelFileError(NaiveteError, ValueError):
    """A model file is damaged, malicious, or of a version that this library cannot read.

    It is raised by `load`, before anything in the file is used.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from naivete import ModelFileError, load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "model.nvt").write_text("not a model")
    ...     try:
    ...         load(Path(folder, "model.nvt"))
    ...     except ModelFileError as error:
    ...         print(type(error).__name__)
    ModelFileError
    """


class FileError(NaiveteError, OSError):
    """A file cannot be opened, read or written.

    It is also raised where a file exists and may not be replaced (`overwrite=False`).

    Examples
    --------
    >>> from naivete import FileError, read
    >>> try:
    ...     read("no such file.csv")
    ... except FileError as error:
    ...     print(error)
    no such file.csv: cannot be read: No such file or directory; check the name, and that the folder exists
    """


class ResourceError(NaiveteError, MemoryError):
    """The computation would need more memory than its budget allows; nothing was allocated.

    The message names the largest table, its size and what to do: allow fewer parents, merge rare states, or raise `budget`.

    Examples
    --------
    >>> from naivete import NaiveBayes, ResourceError
    >>> try:
    ...     NaiveBayes(budget=8).fit([["a"], ["b"]], ["no", "yes"])
    ... except ResourceError as error:
    ...     print(type(error).__name__)
    ResourceError
    """


class NaiveteWarning(UserWarning):
    """Base class of all warnings of this library.

    Use it as a category in the filters of the module `warnings`, for instance to turn all of them into errors.

    Examples
    --------
    >>> import warnings
    >>> from naivete import NaiveBayes, NaiveteWarning
    >>> nb = NaiveBayes().fit([["a"], ["b"]], ["no", "yes"])
    >>> with warnings.catch_warnings(action="error", category=NaiveteWarning):
    ...     try:
    ...         nb.predict([["c"]])
    ...     except NaiveteWarning as warning:
    ...         print(type(warning).__name__)
    UnseenValueWarning
    """


class MixedColumnWarning(NaiveteWarning):
    """A column is read as text although most of its values are numbers.

    It is issued when a file is read, if nearly all values are numbers, or at least half of them and the others are usual signs of a
    missing value, such as `?` and `NA`. The other texts are often codes for missing values: name them with the parameter `missing`
    of `read`, or declare the column with `kinds`.

    Parameters
    ----------
    message : str
        The text of the warning.
    column : str
        The name of the column.

    Examples
    --------
    >>> from naivete import MixedColumnWarning
    >>> MixedColumnWarning("column 'age' has 99 numbers and the text 'none'", "age").column
    'age'
    """

    def __init__(self, message: str, column: str) -> None:
        super().__init__(message, column)
        self.message, self.column = message, column

    def __str__(self) -> str:
        return self.message


class UnseenValueWarning(NaiveteWarning):
    """Values that did not occur in training were treated as missing.

    It is issued when rows are predicted, unless the encoder has another rule, such as `Encoder(unseen="error")`.

    Examples
    --------
    >>> import warnings
    >>> from naivete import NaiveBayes
    >>> nb = NaiveBayes().fit([["a"], ["b"]], ["no", "yes"])
    >>> with warnings.catch_warnings(record=True) as issued:
    ...     warnings.simplefilter("always")
    ...     _ = nb.predict([["c"]])
    >>> print(issued[0].message)
    values that did not occur in training were treated as missing ('x0': 1); `unseen='error'` names them
    """


class MissingColumnWarning(UnseenValueWarning):
    """Columns that were there in training are missing; their values were treated as missing.

    It is issued when rows of a data frame are predicted; columns are matched by name.

    Examples
    --------
    >>> import warnings
    >>> import pandas as pd
    >>> from naivete import MissingColumnWarning, NaiveBayes
    >>> rows = pd.DataFrame({"sky": ["sun", "rain"], "wind": ["calm", "gale"]})
    >>> nb = NaiveBayes().fit(rows, ["out", "in"])
    >>> with warnings.catch_warnings(record=True) as issued:
    ...     warnings.simplefilter("always")
    ...     _ = nb.predict(rows[["sky"]])
    >>> issued[0].category is MissingColumnWarning
    True
    """


class UnsuitableColumnWarning(NaiveteWarning):
    """Columns that carry no information for new rows, such as identifiers, were left out.

    It is issued by `fit`. `Encoder(keep=[...])` uses such a column anyway. The warning also names text columns to check, which are
    used: those of numbers with units or other signs, such as "49%", and those with usual signs of missing values, such as "?".

    Examples
    --------
    >>> import warnings
    >>> from naivete import NaiveBayes, UnsuitableColumnWarning
    >>> rows = [[f"patient {i}", "ab"[i % 2]] for i in range(60)]
    >>> with warnings.catch_warnings(record=True) as issued:
    ...     warnings.simplefilter("always")
    ...     _ = NaiveBayes().fit(rows, [i % 2 for i in range(60)])
    >>> issued[0].category is UnsuitableColumnWarning
    True
    """


class ImpossibleEvidenceWarning(NaiveteWarning):
    """Rows with probability zero in every class were predicted by the documented rule.

    Such a row gets the prior of the classes with the fewest impossible factors. Smoothing above 0 avoids it.

    Examples
    --------
    >>> import warnings
    >>> from naivete import ImpossibleEvidenceWarning, NaiveBayes
    >>> nb = NaiveBayes(smoothing=0).fit([["a", "c"], ["b", "d"]], ["no", "yes"])
    >>> with warnings.catch_warnings(record=True) as issued:
    ...     warnings.simplefilter("always")
    ...     _ = nb.predict([["a", "d"]])
    >>> issued[0].category is ImpossibleEvidenceWarning
    True
    """


def quoted(value: object, limit: int = 60) -> str:
    """Return the value as error messages show it: its `repr`, shortened to `limit` characters.

    >>> quoted("rain")
    "'rain'"
    """
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def close_matches(name: object, candidates: Iterable[object], count: int = 3) -> list[str]:
    """Return up to `count` of the candidates that are most similar to a misspelled name, the most similar first.

    Only the first 1,000 candidates are compared, and None is similar to none.

    >>> close_matches("kbd", ["kdb", "tan"])
    ['kdb']
    """
    import difflib

    if name is None:
        return []
    return difflib.get_close_matches(str(name), [str(c) for c in islice(candidates, 1000)], n=count, cutoff=0.5)


def did_you_mean(name: object, candidates: Iterable[object], otherwise: str = "there are", count: int = 1) -> str:
    """Return a hint for an unknown name: the candidates that are most similar to it, or else the first 30 candidates.

    Parameters
    ----------
    name : the unknown name.
    candidates : the known names.
    otherwise : the words before the list of candidates where none is similar.
    count : the most similar candidates to suggest.

    >>> did_you_mean("acuracy", ["accuracy", "brier"]), did_you_mean("x", ["accuracy", "brier"])
    ('did you mean accuracy?', 'there are accuracy, brier')
    """
    names = [str(candidate) for candidate in candidates]
    close = close_matches(name, names, count)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"{otherwise} {', '.join(names[:30]) or 'none'}{', ...' if len(names) > 30 else ''}"


def with_options(message: str, options: Mapping[str, str]) -> str:
    """Return a message with the options of the command line in place of the parameters that it names in backticks.

    A text is written as a shell needs it and a mapping as `key=value`. An option is repeated for each text of a tuple, without
    empty ones. True and dots are left out.

    Parameters
    ----------
    message : the text of an error or a warning.
    options : the option of each parameter, or of a parameter with one value (`"unlabelled='drop'"`), whose option takes none.
        Parameters that are not among them stay as they are.

    >>> with_options("pass `encoding='latin-1'`, or raise `memory=`", {"encoding": "--encoding", "memory": "--memory"})
    'pass --encoding latin-1, or raise --memory'
    >>> with_options("`kinds={'zip': 'nominal'}`; `as_text=True`", {"kinds": "--kinds"})
    '--kinds zip=nominal; `as_text=True`'
    """

    def option(match: re.Match[str]) -> str:
        name, value = match.groups()
        if f"{name}={value}" in options:
            return options[f"{name}={value}"]
        return _option(options[name], value) if name in options else match[0]

    return _PARAMETER.sub(option, message)


def _option(option: str, text: str) -> str:
    """Return an option with the value of a parameter, which is given as Python text."""
    import ast
    import shlex

    try:
        value = ast.literal_eval(text) if text else True
    except (ValueError, SyntaxError):  # a repr that was shortened
        return f"{option} {text}"
    if value is ... or value is True:
        return option
    if isinstance(value, tuple):
        return " ".join(f"{option} {shlex.quote(item)}" for item in value if item)
    if isinstance(value, dict):
        value = ",".join(f"{key}={item}" for key, item in value.items())
    return f"{option} {shlex.quote(str(value))}"


_COLLECTED: Final[ContextVar[list[Warning] | None]] = ContextVar("collected", default=None)


@contextmanager
def collected_warnings() -> Iterator[list[Warning]]:
    """Collect the warnings of this library in a list instead of issuing them; other threads are not affected.

    >>> with collected_warnings() as collected:
    ...     warn("a column is constant", NaiveteWarning)
    >>> collected
    [NaiveteWarning('a column is constant')]
    """
    collected: list[Warning] = []
    token = _COLLECTED.set(collected)
    try:
        yield collected
    finally:
        _COLLECTED.reset(token)


def warn(message: str | Warning, category: type[Warning] | None = None) -> None:
    """Issue a warning that points at the first line outside this library, which the user wrote."""
    collected = _COLLECTED.get()
    if collected is not None:
        collected.append(message if isinstance(message, Warning) else (category or UserWarning)(message))
        return
    level = 1
    frame: types.FrameType | None = sys._getframe()
    while frame is not None and str(frame.f_globals.get("__name__")).split(".")[0] == "naivete":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def library(name: str, purpose: str) -> Any:
    """Return a module of another library; an error says for what it is needed and how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ParameterError(f"{purpose} needs {name}; install it with: pip install {name}") from error
