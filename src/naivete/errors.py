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
    """Base class of all errors that this library raises."""


class DataError(NaiveteError, ValueError):
    """A value, row, column or label of the data is not valid."""


class DataTypeError(NaiveteError, TypeError):
    """The data hold values of a type that can be neither a state nor a number."""


class ParameterError(NaiveteError, ValueError):
    """A parameter is out of range or contradicts another one."""


class ModelFileError(NaiveteError, ValueError):
    """A model file is damaged, malicious, or of a version that this library cannot read."""


class FileError(NaiveteError, OSError):
    """A file cannot be opened, read or written."""


class ResourceError(NaiveteError, MemoryError):
    """The computation would need more memory than its budget allows; nothing was allocated."""


class NaiveteWarning(UserWarning):
    """Base class of all warnings of this library."""


class MixedColumnWarning(NaiveteWarning):
    """A column is read as text although nearly all of its values are numbers.

    Parameters
    ----------
    message : the text of the warning.
    column : the name of the column.
    """

    def __init__(self, message: str, column: str) -> None:
        super().__init__(message, column)
        self.message, self.column = message, column

    def __str__(self) -> str:
        return self.message


class UnseenValueWarning(NaiveteWarning):
    """Values that did not occur in training were treated as missing."""


class MissingColumnWarning(UnseenValueWarning):
    """Columns that were there in training are missing; their values were treated as missing."""


class UnsuitableColumnWarning(NaiveteWarning):
    """Columns that carry no information for new rows, such as identifiers, were left out."""


class ImpossibleEvidenceWarning(NaiveteWarning):
    """Rows with probability zero in every class were predicted by the documented rule."""


def quoted(value: object, limit: int = 60) -> str:
    """Return the value as error messages show it: its `repr`, shortened to `limit` characters.

    >>> quoted("rain")
    "'rain'"
    """
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def close_matches(name: object, candidates: Iterable[object], count: int = 3) -> list[str]:
    """Return up to `count` of the candidates that are most similar to a misspelled name, the most similar first.

    Only the first 1,000 candidates are compared.

    >>> close_matches("kbd", ["kdb", "tan"])
    ['kdb']
    """
    import difflib

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
