"""Data files divided into pieces that are read independently, some rows at a time, so that the data need not fit into memory."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from naivete.data.files.arff import Arff
from naivete.data.files.delimited import Delimited, checked_delimiter, checked_missing, is_tabbed
from naivete.data.files.formats import Format, checked_format, format_of
from naivete.data.files.matching import FileHeader, matched_columns
from naivete.data.files.opening import Limits, PathLike, display_name, open_file
from naivete.data.files.options import checked_count, checked_kinds, checked_only, declared, kinds_given
from naivete.data.files.paths import Constant, DataFile, constants_of, found_files
from naivete.data.files.row_groups import RowGroups, footer
from naivete.data.table import Column, Kind, Table
from naivete.errors import DataError

__all__ = ["Files", "Piece", "pieces"]

Reading = Delimited | Arff | RowGroups
_ARROW_BYTES: Final = 64 << 20


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
        """Iterate over the rows in tables of at most `rows` rows; there is no table if there are no rows.

        Parameters
        ----------
        rows : the largest number of rows of a table.
        only : the columns to read, by default all; the others are not converted, and in a Parquet file not even read.
        skip : the number of rows to leave out at the beginning.
        """
        checked_count("rows", rows, 1)
        checked_count("skip", skip, 0)
        return self._tables(checked_only(only, self.names, self.name), rows, skip)

    def widened(self, columns: Collection[str]) -> Piece:
        """Return the piece with these columns nominal; unchanged if the format of the file declares its types."""
        if not isinstance(self.reading, Delimited):
            return self
        return replace(self, reading=self.reading.widened(columns))

    def _tables(self, wanted: tuple[str, ...], rows: int, skip: int) -> Iterator[Table]:
        constants = [constant for constant in self.file.constants if constant.name in wanted]
        from_folders = {constant.name for constant in constants}
        in_file = [column for column in wanted if column not in from_folders]
        with self.file.opened() as file:
            for rows_of_file in self.reading.tables(file, self.file.title, in_file, rows, skip):
                table = declared(rows_of_file, self.kinds)
                columns: tuple[Column, ...] = (*table.columns, *(constant.column(len(table)) for constant in constants))
                yield replace(table, columns=columns) if constants else table


def _texts(reading: Reading) -> int:
    """Return how many columns of a file may have a different text in every row."""
    if isinstance(reading, RowGroups):
        return reading.plain_texts
    if isinstance(reading, Delimited):
        return sum(kind == "nominal" for kind in {**reading.guessed, **reading.kinds}.values())
    return 0  # the states of an ARFF file are declared


@dataclass(frozen=True)
class Files:
    """Files of cases with the same columns, in pieces.

    Parameters
    ----------
    pieces : all rows, in order.
    names : the columns of the first file, then those given by folder names.
    files : the files.
    """

    pieces: tuple[Piece, ...]
    names: tuple[str, ...]
    files: tuple[DataFile, ...]

    @property
    def rows(self) -> int | None:
        """The number of rows, None if it is not known before they are read."""
        counts = [piece.rows for piece in self.pieces]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    @property
    def texts(self) -> int:
        """The number of columns that may have a different text in every row."""
        return max((_texts(piece.reading) for piece in self.pieces), default=0)

    @property
    def overhead(self) -> int:
        """The bytes that decoding takes however few rows are read at a time: pyarrow keeps memory for columns of distinct texts."""
        return (
            _ARROW_BYTES if any(isinstance(piece.reading, RowGroups) and piece.reading.plain_texts for piece in self.pieces) else 0
        )

    @property
    def size(self) -> int:
        """The number of bytes of all files."""
        return sum(file.size for file in self.files)

    def fingerprint(self) -> list[list[str | int]]:
        """Return the name, the size and the time of the last change, in nanoseconds, of each file."""
        return [[file.title, file.size, file.mtime] for file in self.files]

    def widened(self, columns: Collection[str]) -> Files:
        """Return the same files with these columns nominal: those that a `KindError` reported as text."""
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

    All files have one format. Their columns are matched by name with those of the first file; other columns are left out with a
    warning. Whether a column of delimited text is numeric is guessed from the first rows of the first file that has any rows; a
    `KindError` reports later rows that contradict this.

    Parameters
    ----------
    paths : files, patterns such as `data/*.csv`, and folders. A folder stands for all data files in it and its subfolders, except
        those whose names begin with a dot or an underscore. Subfolders named `key=value` give a column `key`.
    format, encoding, missing, kinds, delimiter, widen : as in `read`; with a format, a folder stands for all its files.
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
    requested = checked_format(format)
    found = found_files(paths, requested)
    declared_kinds = kinds_given(kinds)
    folder_kinds = {key: kind for key, kind in declared_kinds.items() if key in found[0][1]}
    file_kinds = {column: kind for column, kind in declared_kinds.items() if column not in folder_kinds}
    constants = constants_of(found, checked_kinds(folder_kinds, tuple(folder_kinds), display_name(found[0][0])))
    formats = [requested or format_of(path) for path, _ in found]
    reader_format = _reader_format([path for path, _ in found], formats)
    divided = []
    for (path, _), constant, file_format in zip(found, constants, formats, strict=True):
        if reader_format == "parquet":
            divided.append(_parquet(path, constant, limits))
        elif reader_format == "arff":
            divided.append(_arff(path, constant, Arff(encoding, widen, limits)))
        else:
            mark = checked_delimiter(delimiter) or ("\t" if file_format == "tsv" or is_tabbed(path) else None)
            reading = Delimited(encoding, mark, tuple(checked_missing(missing)), file_kinds, limits)
            divided.append(_delimited(path, constant, reading))
    headers = [header for header, _ in divided]
    parts = [piece for _, pieces_of_file in divided for piece in pieces_of_file]
    names = matched_columns(headers)
    checked_kinds(file_kinds, names, headers[0].file.title)
    if reader_format == "csv":
        parts = _with_guessed_kinds(parts)
    kinds_of_pieces = {} if reader_format == "csv" else file_kinds
    completed = tuple(replace(piece, names=names, kinds=kinds_of_pieces) for piece in parts)
    return Files(completed, names, tuple(header.file for header in headers))


def _reader_format(paths: Sequence[Path], formats: Sequence[Format]) -> Format:
    """Return the format of all files, "csv" for every delimited text; refuse files of several formats."""
    reader_formats: list[Format] = ["csv" if format == "tsv" else format for format in formats]
    first = reader_formats[0]
    for path, format in zip(paths, reader_formats, strict=True):
        if format != first:
            problem = f"the format is {format}, that of {display_name(paths[0])} is {first}"
            raise DataError(f"{display_name(path)}: {problem}; give files of one format, or pass `format=`")
    return first


def _data_file(path: Path, descriptor: int, constants: tuple[Constant, ...]) -> DataFile:
    now = os.fstat(descriptor)
    return DataFile(str(path.absolute()), display_name(path), now.st_size, now.st_mtime_ns, constants)


def _parquet(path: Path, constants: tuple[Constant, ...], limits: Limits) -> tuple[FileHeader, list[Piece]]:
    with open_file(path) as stream:
        file = _data_file(path, stream.fileno(), constants)
        contents = footer(stream, file.title, file.size, limits)
    several = len(contents.groups) > 1
    parts = []
    for groups, size in zip(contents.groups, contents.sizes, strict=True):
        name = f"{file.title}, row groups {groups.start + 1} to {groups.stop}" if several else file.title
        parts.append(Piece(name, groups.rows, size, file, (), groups))
    return FileHeader(file, contents.types), parts


def _arff(path: Path, constants: tuple[Constant, ...], reading: Arff) -> tuple[FileHeader, list[Piece]]:
    with open_file(path) as stream:
        file = _data_file(path, stream.fileno(), constants)
        types = reading.kinds(stream, file.title)
    return FileHeader(file, types), [Piece(file.title, None, file.size, file, (), reading)]


def _delimited(path: Path, constants: tuple[Constant, ...], reading: Delimited) -> tuple[FileHeader, list[Piece]]:
    with open_file(path) as stream:
        file = _data_file(path, stream.fileno(), constants)
        types = dict.fromkeys(reading.names(stream, file.title))
    return FileHeader(file, types), [Piece(file.title, None, file.size, file, (), reading)]


def _with_guessed_kinds(parts: Sequence[Piece]) -> list[Piece]:
    """Return the pieces with the kinds guessed from the first rows of the first file that has rows."""
    guesses = (_guessed_kinds(piece) for piece in parts)
    kinds = next((guess for guess in guesses if guess is not None), {})
    return [replace(piece, reading=replace(_reader(piece), guessed=kinds)) for piece in parts]


def _guessed_kinds(piece: Piece) -> Mapping[str, Kind] | None:
    with piece.file.opened() as stream:
        reader = _reader(piece).guess(stream, piece.file.title)
    return None if reader is None else reader.guessed


def _reader(piece: Piece) -> Delimited:
    assert isinstance(piece.reading, Delimited)
    return piece.reading
