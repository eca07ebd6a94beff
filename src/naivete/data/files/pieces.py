"""Data files divided into pieces that are read independently, some rows at a time, so that the data need not fit into memory."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from naivete.data.files.arff import Arff
from naivete.data.files.delimited import Delimited, checked_delimiter, checked_missing, is_tabbed
from naivete.data.files.formats import Format, checked_format, format_of
from naivete.data.files.opening import Limits, PathLike, display_name, open_file
from naivete.data.files.options import checked_count, checked_kinds, checked_only, declared, kinds_given
from naivete.data.files.paths import Constant, DataFile, constants_of, found_files
from naivete.data.files.row_groups import RowGroups, footer
from naivete.data.table import Column, Kind, Table
from naivete.errors import DataError, NaiveteWarning, close_matches, quoted, warn

__all__ = ["Files", "Piece", "pieces"]

Reading = Delimited | Arff | RowGroups


@dataclass(frozen=True)
class Piece:
    """Rows that can be read on their own: some row groups of a Parquet file, or a whole file of text.

    Parameters
    ----------
    name : the name of the piece in messages.
    rows : the number of rows, None if it is not known before reading.
    size : the number of bytes in the file.
    file : the file.
    names : the columns, in the order of the first file.
    reading : the reader.
    kinds : the columns whose kind differs from the declaration of the file; delimited text is read with these kinds.
    """

    name: str
    rows: int | None
    size: int
    file: DataFile
    names: tuple[str, ...]
    reading: Reading
    kinds: Mapping[str, Kind] = field(default_factory=dict)

    def tables(self, *, rows: int, only: Collection[str] | None = None, skip: int = 0) -> Iterator[Table]:
        """The rows in tables of at most `rows` rows; none where there are no rows.

        Parameters
        ----------
        rows : the most rows of a table.
        only : the columns to take, by default all; others are not converted, and of a Parquet file not even read.
        skip : how many rows to leave out at the beginning.
        """
        checked_count("rows", rows, 1)
        checked_count("skip", skip, 0)
        return self._tables(checked_only(only, self.names, self.name), rows, skip)

    def widened(self, columns: Collection[str]) -> Piece:
        """The same rows with these columns nominal; itself where the file says what is numeric."""
        if not isinstance(self.reading, Delimited):
            return self
        return replace(self, reading=self.reading.widened(columns))

    def _tables(self, wanted: tuple[str, ...], rows: int, skip: int) -> Iterator[Table]:
        told = [constant for constant in self.file.constants if constant.name in wanted]
        own = [column for column in wanted if all(column != constant.name for constant in told)]
        with self.file.opened() as file:
            for read in self.reading.tables(file, self.file.title, own, rows, skip):
                table = declared(read, self.kinds)
                columns: tuple[Column, ...] = (*table.columns, *(constant.column(len(table)) for constant in told))
                yield replace(table, columns=columns) if told else table


@dataclass(frozen=True)
class Files:
    """Files of cases with the same columns, in pieces.

    Parameters
    ----------
    pieces : all rows, in order.
    names : the columns of the first file, then those that the names of folders tell.
    files : the files.
    """

    pieces: tuple[Piece, ...]
    names: tuple[str, ...]
    files: tuple[DataFile, ...]

    @property
    def rows(self) -> int | None:
        """How many rows there are, None where that is not known before they are read."""
        counts = [piece.rows for piece in self.pieces]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    @property
    def size(self) -> int:
        """The bytes of the files."""
        return sum(file.size for file in self.files)

    def fingerprint(self) -> list[list[str | int]]:
        """Name, size and time of the last change, in nanoseconds, of each file."""
        return [[file.title, file.size, file.mtime] for file in self.files]

    def widened(self, columns: Collection[str]) -> Files:
        """The same files with these columns nominal, which a `KindError` found to be text."""
        checked_only(columns, self.names, self.files[0].title, "columns")
        return replace(self, pieces=tuple(piece.widened(columns) for piece in self.pieces))


def pieces(
    paths: PathLike | Sequence[PathLike],
    *,
    format: Format | None = None,
    encoding: str = "utf-8",
    missing: Collection[str] = ("",),
    kinds: Mapping[str, Kind] | None = None,
    delimiter: str | None = None,
    widen: bool = False,
    limits: Limits = Limits(),  # noqa: B008
) -> Files:
    """Divide files into pieces; only the headers are read, and the first rows of delimited text.

    All files are of one format. Their columns are matched by name with those of the first file; what others have beyond
    these is left out with a warning. Whether a column of delimited text is numeric is guessed from the first rows of the
    first file that has any: see `KindError` for what happens when that was wrong.

    Parameters
    ----------
    paths : files, patterns such as `data/*.csv`, and folders, of which all data files below are meant, but for names that begin
        with a dot or an underscore. Folders named `key=value` below it give a column `key`.
    format, encoding, missing, kinds, delimiter, widen : as in `read`; with a format, all files below a folder are meant.
    limits : sizes above which a file is refused; the limit of cells does not apply.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for year in (2020, 2021):
    ...         pathlib.Path(folder, f"year={year}").mkdir()
    ...         _ = pathlib.Path(folder, f"year={year}", "people.csv").write_text("age,country\\n31,DE\\n4,FR\\n5,DE\\n")
    ...     for piece in pieces(folder).pieces:
    ...         [[list(column) for column in table.columns] for table in piece.tables(rows=2)]
    [[[31, 4], ['DE', 'FR'], [2020, 2020]], [[5], ['DE'], [2020]]]
    [[[31, 4], ['DE', 'FR'], [2021, 2021]], [[5], ['DE'], [2021]]]
    """
    chosen = checked_format(format)
    found = found_files(paths, chosen)
    told_kinds = kinds_given(kinds)
    keys = {key: kind for key, kind in told_kinds.items() if key in found[0][1]}
    constants = constants_of(found, checked_kinds(keys, tuple(keys), display_name(found[0][0])))
    formats = [chosen or format_of(path) for path, _ in found]
    shape = _one_shape([path for path, _ in found], formats)
    own = {column: kind for column, kind in told_kinds.items() if column not in keys}
    seen = []
    for (path, _), told, is_format in zip(found, constants, formats, strict=True):
        if shape == "parquet":
            seen.append(_parquet(path, told, limits))
        elif shape == "arff":
            seen.append(_arff(path, told, Arff(encoding, widen, limits)))
        else:
            mark = checked_delimiter(delimiter) or ("\t" if is_format == "tsv" or is_tabbed(path) else None)
            seen.append(_delimited(path, told, Delimited(encoding, mark, tuple(checked_missing(missing)), own, limits)))
    names = _matched(seen)
    checked_kinds(own, names, seen[0].file.title)
    if shape == "csv":
        seen = _guessed(seen)
    beyond = {} if shape == "csv" else own
    parts = [replace(piece, names=names, kinds=beyond) for one in seen for piece in one.pieces]
    return Files(tuple(parts), names, tuple(one.file for one in seen))


@dataclass(frozen=True)
class _Seen:
    """What the header of a file tells: the columns and what their values are, if it says that, and the pieces."""

    file: DataFile
    families: Mapping[str, str | None]
    pieces: tuple[Piece, ...]


def _one_shape(paths: Sequence[Path], formats: Sequence[Format]) -> Format:
    shapes: list[Format] = ["csv" if format == "tsv" else format for format in formats]
    for path, shape in zip(paths, shapes, strict=True):
        if shape != shapes[0]:
            told = f"the format is {shape}, that of {display_name(paths[0])} is {shapes[0]}"
            raise DataError(f"{display_name(path)}: {told}; give files of one format, or pass `format=`")
    return shapes[0]


def _data_file(path: Path, descriptor: int, constants: tuple[Constant, ...]) -> DataFile:
    now = os.fstat(descriptor)
    return DataFile(str(path.absolute()), display_name(path), now.st_size, now.st_mtime_ns, constants)


def _parquet(path: Path, constants: tuple[Constant, ...], limits: Limits) -> _Seen:
    with open_file(path) as stream:
        file = _data_file(path, stream.fileno(), constants)
        told = footer(stream, file.title, file.size, limits)
    several = len(told.groups) > 1
    parts = []
    for groups, size in zip(told.groups, told.sizes, strict=True):
        name = f"{file.title}, row groups {groups.start + 1} to {groups.stop}" if several else file.title
        parts.append(Piece(name, groups.rows, size, file, (), groups))
    return _Seen(file, told.families, tuple(parts))


def _arff(path: Path, constants: tuple[Constant, ...], reading: Arff) -> _Seen:
    with open_file(path) as stream:
        file = _data_file(path, stream.fileno(), constants)
        families = reading.kinds(stream, file.title)
    return _Seen(file, families, (Piece(file.title, None, file.size, file, (), reading),))


def _delimited(path: Path, constants: tuple[Constant, ...], reading: Delimited) -> _Seen:
    with open_file(path) as stream:
        file = _data_file(path, stream.fileno(), constants)
        families = dict.fromkeys(reading.names(stream, file.title))
    return _Seen(file, families, (Piece(file.title, None, file.size, file, (), reading),))


def _matched(seen: Sequence[_Seen]) -> tuple[str, ...]:
    """The columns of all files, by the first one; refuse a file that lacks one or has other values in it."""
    first = seen[0]
    told = [constant.name for constant in first.file.constants]
    extra: dict[str, str] = {}
    for one in seen:
        for name in told:
            if name in one.families:
                problem = f"column {quoted(name)} is in the file and in the name of its folder"
                raise DataError(f"{one.file.title}: {problem}; rename one of them")
        for name, family in first.families.items():
            _check_column(one, name, family, first.file.title)
        extra.update({name: one.file.title for name in one.families if name not in first.families and name not in extra})
    if extra:
        name, file = next(iter(extra.items()))
        listed = (
            f"{len(extra)} columns, such as {quoted(name)} in {file}," if len(extra) > 1 else f"column {quoted(name)} in {file}"
        )
        warn(f"{listed} left out, because {first.file.title} has no such; name the file with all columns first", NaiveteWarning)
    return (*first.families, *told)


def _check_column(one: _Seen, name: str, family: str | None, first: str) -> None:
    if name not in one.families:
        close = close_matches(name, one.families)
        hint = f"; did you mean {' or '.join(map(quoted, close))}?" if close else "; add it, or leave out the file"
        raise DataError(f"{one.file.title}: there is no column {quoted(name)}, which {first} has{hint}")
    other = one.families[name]
    if other != family and "any" not in (other, family):
        told = f"the values are {other}, those of {first} are {family}"
        raise DataError(f"{one.file.title}: column {quoted(name)}: {told}; give the column one type in all files")


def _guessed(seen: Sequence[_Seen]) -> list[_Seen]:
    """The files with the kinds that the first rows suggest."""
    guessed = next((found for one in seen if (found := _guess(one)) is not None), {})
    return [replace(one, pieces=tuple(_with(piece, guessed) for piece in one.pieces)) for one in seen]


def _guess(one: _Seen) -> Mapping[str, Kind] | None:
    reading = one.pieces[0].reading
    assert isinstance(reading, Delimited)
    with one.file.opened() as stream:
        found = reading.guess(stream, one.file.title)
    return None if found is None else found.guessed


def _with(piece: Piece, guessed: Mapping[str, Kind]) -> Piece:
    assert isinstance(piece.reading, Delimited)
    return replace(piece, reading=replace(piece.reading, guessed=guessed))
