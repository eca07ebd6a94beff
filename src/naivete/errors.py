"""Every error and warning the library raises: what was wrong, where, and what to do next."""

from __future__ import annotations

__all__ = [
    "DataError",
    "DataTypeError",
    "FileError",
    "ImpossibleEvidenceWarning",
    "MixedColumnWarning",
    "ModelFileError",
    "NaiveteError",
    "NaiveteWarning",
    "ParameterError",
    "ResourceError",
    "UnseenValueWarning",
    "close_matches",
    "quoted",
    "warn",
]


class NaiveteError(Exception):
    """The base of all errors raised on purpose by this library."""


class DataError(NaiveteError, ValueError):
    """The cases are not what they have to be: a value, a row, a column or a label."""


class DataTypeError(NaiveteError, TypeError):
    """The cases hold values of a type that cannot be a state or a number."""


class ParameterError(NaiveteError, ValueError):
    """A parameter is out of its range or contradicts another one."""


class ModelFileError(NaiveteError, ValueError):
    """A model file is damaged, hostile, or of a version this library cannot read."""


class FileError(NaiveteError, OSError):
    """A file cannot be opened, read or written."""


class ResourceError(NaiveteError, MemoryError):
    """The work would need more memory than its budget allows; nothing was allocated."""


class NaiveteWarning(UserWarning):
    """The base of all warnings of this library."""


class MixedColumnWarning(NaiveteWarning):
    """A column is taken as text although nearly all of its values are numbers.

    Parameters
    ----------
    message : what is told.
    column : the name of the column.
    """

    def __init__(self, message: str, column: str) -> None:
        super().__init__(message, column)
        self.message, self.column = message, column

    def __str__(self) -> str:
        return self.message


class UnseenValueWarning(NaiveteWarning):
    """Values that did not occur in training were treated as missing."""


class ImpossibleEvidenceWarning(NaiveteWarning):
    """Rows that have probability zero in every class were answered by the documented rule."""


def quoted(value: object, limit: int = 60) -> str:
    """The value as an error message shows it: its repr, cut to `limit` characters, without control characters.

    >>> shown("rain")
    "'rain'"
    """
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def close_matches(word: object, among: object, count: int = 3) -> list[str]:
    """Up to `count` of the words `among` that look most like `word`, for "did you mean".

    >>> nearest("kbd", ["kdb", "tan"])
    ['kdb']
    """
    import difflib
    from collections.abc import Iterable
    from itertools import islice

    assert isinstance(among, Iterable)
    return difflib.get_close_matches(str(word), [str(a) for a in islice(among, 1000)], n=count, cutoff=0.5)


def warn(message: str | Warning, category: type[Warning] | None = None) -> None:
    """Warn, and point at the first line outside this library: the one that its user wrote."""
    import sys
    import types
    import warnings

    level = 1
    frame: types.FrameType | None = sys._getframe()
    while frame is not None and str(frame.f_globals.get("__name__")).split(".")[0] == "naivete":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
