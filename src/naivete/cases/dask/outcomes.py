"""What becomes of parts of the rows, as values that travel: Dask would take an exception for a fault of the machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from naivete.data.files import KindError
from naivete.errors import (
    DataError,
    DataTypeError,
    FileError,
    ModelFileError,
    NaiveteError,
    NaiveteWarning,
    ParameterError,
    ResourceError,
)

__all__ = ["ClusterError", "Failure", "Outcome", "first_failure"]

_ERRORS: Final[dict[str, type[NaiveteError]]] = {
    kind.__name__: kind
    for kind in (DataError, DataTypeError, FileError, ModelFileError, NaiveteError, ParameterError, ResourceError)
}


class ClusterError(FileError):
    """A cluster cannot be reached, was lost, or does not get on with the work."""


@dataclass(frozen=True)
class Failure:
    """What was wrong with a part of the rows, as a value.

    Parameters
    ----------
    at : the part.
    word : the kind of error.
    message : what it says.
    columns : of a `KindError`, the columns that are text.
    """

    at: int
    word: str
    message: str
    columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, at: int, error: NaiveteError | MemoryError) -> Failure:
        """The failure that an error is."""
        if not isinstance(error, NaiveteError):
            return cls(
                at, "ResourceError", f"a worker has no memory left for part {at}: {error}; let it read fewer rows (`memory=`)"
            )
        columns = tuple(sorted(error.columns)) if isinstance(error, KindError) else ()
        word = next(kind.__name__ for kind in type(error).__mro__ if kind.__name__ in _ERRORS)
        seen = "; the workers have to see the files as they are here" if word == "FileError" else ""
        return cls(at, word, f"{error}{seen}", columns)

    @property
    def error(self) -> NaiveteError:
        """The error again."""
        return KindError(self.message, frozenset(self.columns)) if self.columns else _ERRORS[self.word](self.message)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What became of some parts: their merged value, None where they have no rows; or the first failure; and all warnings."""

    value: Any = None
    failure: Failure | None = None
    warned: tuple[NaiveteWarning, ...] = ()


def first_failure(failures: Sequence[Failure]) -> Failure | None:
    """The failure of the lowest part; where columns turned out to be text, all of them."""
    if not failures:
        return None
    first = min(failures, key=lambda failure: failure.at)
    if not first.columns:
        return first
    return replace(first, columns=tuple(sorted({column for failure in failures for column in failure.columns})))
