"""The columns of several files, matched by name with those of the first file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from naivete.data.files.paths import DataFile
from naivete.errors import DataError, NaiveteWarning, close_matches, quoted, warn

__all__ = ["FileHeader", "matched_columns"]


@dataclass(frozen=True)
class FileHeader:
    """The columns of a file, as known before its rows are read.

    Parameters
    ----------
    file : the file.
    types : the type of the values of each column by its name, such as "text" or "number"; None if the header does not give it,
        "any" if the column has no values.
    """

    file: DataFile
    types: Mapping[str, str | None]


def matched_columns(headers: Sequence[FileHeader]) -> tuple[str, ...]:
    """Return the columns of the first file, then those given by folder names.

    A file that lacks one of these columns, or has values of another type in it, is refused. Other columns are left out with a
    warning.
    """
    first = headers[0]
    folder_columns = [constant.name for constant in first.file.constants]
    extra: dict[str, str] = {}  # the file of each column that is left out
    for header in headers:
        for name in folder_columns:
            if name in header.types:
                problem = f"column {quoted(name)} is in the file and in the name of its folder"
                raise DataError(f"{header.file.title}: {problem}; rename one of them")
        for name in first.types:
            _check_column(header, first, name)
        extra.update({name: header.file.title for name in header.types if name not in first.types and name not in extra})
    if extra:
        _warn_of_extra(extra, first.file.title)
    return (*first.types, *folder_columns)


def _check_column(header: FileHeader, first: FileHeader, name: str) -> None:
    title, first_title = header.file.title, first.file.title
    if name not in header.types:
        close = close_matches(name, header.types)
        hint = f"; did you mean {' or '.join(map(quoted, close))}?" if close else "; add it, or leave out the file"
        raise DataError(f"{title}: there is no column {quoted(name)}, which {first_title} has{hint}")
    types = header.types[name], first.types[name]
    if types[0] != types[1] and "any" not in types:
        problem = f"the values are {types[0]}, those of {first_title} are {types[1]}"
        raise DataError(f"{title}: column {quoted(name)}: {problem}; give the column one type in all files")


def _warn_of_extra(extra: Mapping[str, str], first_title: str) -> None:
    name, title = next(iter(extra.items()))
    example = f"{quoted(name)} in {title}"
    columns = f"{len(extra)} columns, such as {example}, are" if len(extra) > 1 else f"column {example} is"
    warn(f"{columns} left out, because {first_title} has no such column; name the file with all columns first", NaiveteWarning)
