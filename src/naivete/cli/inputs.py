"""Tables, files and networks that the commands read as the options say."""

from __future__ import annotations

import glob
import os
import warnings
from argparse import Namespace
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final

from naivete.cli.options import has_ending, kinds_of
from naivete.cli.output import note
from naivete.cli.progress import reading_progress
from naivete.errors import DataError, ParameterError, close_matches, quoted

if TYPE_CHECKING:
    from naivete.classifiers.base import NetworkClassifier
    from naivete.data.files import Files
    from naivete.data.labelled_table import LabelledTable
    from naivete.data.table import Kind, Table
    from naivete.network.network import Network
    from naivete.variables import Name, Variable

__all__ = [
    "LARGE",
    "Header",
    "OpenedCases",
    "check_columns",
    "check_features",
    "differences_from_text",
    "is_delimited",
    "is_many",
    "is_network",
    "labelled_cases",
    "open_cases",
    "read_network_file",
    "read_table",
    "short_names",
    "target_of",
    "use_missing_tokens",
    "usual_target",
]

LARGE: Final = 64 << 20
"""A single file of more bytes than this is read some rows at a time."""
_MODEL: Final = ".nvt"


@dataclass(frozen=True)
class Header:
    """The names of the columns of a table, and the file that messages name."""

    names: tuple[Name, ...]
    source: str


@dataclass(frozen=True)
class OpenedCases:
    """Cases whose columns are known: a table in memory, or files that are read some rows at a time.

    Parameters
    ----------
    source : the table or the files.
    header : the names of the columns, and the first file.
    path : the path of the first file.
    ignored : the columns that the options leave out; a table does not have them any more.
    reading : how the files are read, as for `naivete.read`.
    paths : the paths of all files.
    size : the bytes of all files.
    """

    source: Table | Files
    header: Header
    path: str
    paths: Sequence[str]
    size: int
    ignored: Sequence[Name] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> tuple[Name, ...]:
        """The columns that are kept."""
        return tuple(name for name in self.header.names if name not in self.ignored)


def open_cases(
    args: Namespace,
    kinds: Mapping[str, Kind] | None = None,
    *,
    wanted: Collection[Name] | None = None,
    at_once: bool = False,
) -> OpenedCases:
    """Return the cases that the arguments name; one small file is read at once, everything else some rows at a time.

    Parameters
    ----------
    args : the arguments.
    kinds : kinds of columns, which take precedence over those of the options.
    wanted : the columns whose warnings are shown; by default all that are kept.
    at_once : read also a large file at once.
    """
    if at_once or not _is_streamed(args):
        (path,) = args.data
        table = read_table(path, args, kinds, wanted=wanted)
        return OpenedCases(table, Header(table.names, table.source), path, [path], Path(path).stat().st_size)
    with _held_warnings() as held:
        declared = kinds_of(args.kinds)
        opened = _open_files(args, {**({} if isinstance(declared, str) else declared), **(kinds or {})})
        if isinstance(declared, str) and not kinds and is_delimited(opened.path, args):
            held.warnings.clear()  # of kinds that were guessed
            opened = _open_files(args, {str(name): declared for name in _features(opened.names, args)})
        held.wanted = opened.names if wanted is None else wanted
    return opened


def _open_files(args: Namespace, kinds: Mapping[str, Kind]) -> OpenedCases:
    from naivete.data.files import pieces

    reading = _reading(args, kinds)
    files = pieces(args.data, **reading)
    first = files.files[0]
    constants = [constant.name for constant in first.constants]
    columns = [name for name in files.names if name not in constants]
    header = Header((*constants, *columns), first.title)  # a column from the name of a folder is not the last one
    paths, ignored = [file.path for file in files.files], _left_out(header, first.path, args)
    return OpenedCases(files, header, first.path, paths, files.size, ignored, reading)


def _is_streamed(args: Namespace) -> bool:
    """Whether the cases are read some rows at a time: where they may be many, or where an option needs it."""
    options = ("memory", "checkpoint", "cluster")
    return len(args.data) > 1 or any(getattr(args, option, None) is not None for option in options) or _is_large(args.data[0])


def is_many(path: str) -> bool:
    """Whether this is a folder, or a pattern and not the name of a file."""
    try:
        return Path(path).is_dir() or (glob.has_magic(path) and not Path(path).exists())
    except (OSError, ValueError):
        return False


def _is_large(path: str) -> bool:
    try:
        return is_many(path) or _size(path) > LARGE
    except (OSError, ValueError):  # no such file, which the reader refuses
        return False


def _size(path: str) -> int:
    """Return the size of a file in bytes, of a gzipped one after decompression as the file itself states it."""
    size = Path(path).stat().st_size
    if size > LARGE or not Path(path).is_file():
        return size
    with Path(path).open("rb") as file:
        if size < 18 or file.read(2) != b"\x1f\x8b":
            return size
        file.seek(-4, os.SEEK_END)
        return max(size, int.from_bytes(file.read(4), "little"))


def read_table(
    path: str, args: Namespace, kinds: Mapping[str, Kind] | None = None, *, wanted: Collection[Name] | None = None
) -> Table:
    """Return the table of a file, read as the options say, without the columns that they leave out.

    Parameters
    ----------
    path : the file.
    args : the options.
    kinds : kinds of columns, which take precedence over those of the options.
    wanted : the columns whose warnings are shown; by default all that are kept.
    """
    with _held_warnings() as held:
        declared = kinds_of(args.kinds)
        table = _read(path, args, {**({} if isinstance(declared, str) else declared), **(kinds or {})})
        if isinstance(declared, str) and not kinds and is_delimited(path, args):
            held.warnings.clear()  # of kinds that were guessed
            table = _read(path, args, {str(name): declared for name in _features(table.names, args)})
        held.wanted = table.names if wanted is None else wanted
    return table


def _read(path: str, args: Namespace, kinds: Mapping[str, Kind]) -> Table:
    """Return the table of a file, without the columns that --ignore names."""
    from naivete.data.files import read, reported_reading

    with reading_progress(path, wanted=getattr(args, "progress", False)) as report, reported_reading(report):
        table = read(path, **_reading(args, kinds))
    for name in _left_out(table, path, args):
        table = table.without(name)
    return table


def _reading(args: Namespace, kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """Return the parameters of `naivete.read` that the options and the kinds of columns describe."""
    tokens = ("", *(args.missing_token or ()))
    options: dict[str, Any] = {"format": args.format, "encoding": args.encoding, "delimiter": args.delimiter}
    return {**options, "missing": tokens, "kinds": dict(kinds) or None}


def _features(names: Sequence[Name], args: Namespace) -> list[Name]:
    return [name for name in names if name not in (getattr(args, "target", None), getattr(args, "weight", None))]


@dataclass
class _HeldWarnings:
    """Warnings about columns, which are shown once it is known which columns are wanted."""

    warnings: list[Any]
    wanted: Collection[Name] = ()


@contextmanager
def _held_warnings() -> Iterator[_HeldWarnings]:
    """Hold the warnings of the body about columns, and then show those about wanted columns; show all others at once."""
    held, show = _HeldWarnings([]), warnings.showwarning

    def show_or_hold(message: Any, *where: Any, **more: Any) -> None:
        if getattr(message, "column", None) is None:
            show(message, *where, **more)
        else:
            held.warnings.append(message)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show_or_hold
        yield held
    for message in held.warnings:
        if message.column in held.wanted:
            warnings.warn(message, stacklevel=2)


def _left_out(table: Table | Header, path: str, args: Namespace) -> list[Name]:
    """Return the columns that --ignore names; refuse one that does not exist, or is the class or the weight."""
    values = getattr(args, "ignore", None) or ()
    names = [name for value in values for name in ([value] if value in table.names else value.split(","))]
    if not names:
        return []
    check_columns(table, *(("ignore", name) for name in names))
    for option, column in (("target", usual_target(path, args, table)), ("weight", args.weight)):
        if column in names:
            raise ParameterError(
                f"--ignore: the column {quoted(column)} is the {option}; leave it in, or choose another --{option}"
            )
    return list(dict.fromkeys(names))


def check_columns(table: Table | Header, *options: tuple[str, Name]) -> None:
    """Refuse a column that an option names and the table does not have; the error lists the columns."""
    for option, name in options:
        if name is not None and name not in table.names:
            close = close_matches(name, table.names)
            hint = f"did you mean {' or '.join(map(repr, close))}? The" if close else "the"
            listed = _listed_columns(table)
            raise ParameterError(f"{table.source}: --{option}: there is no column {quoted(name)}; {hint} columns are: {listed}")


def _listed_columns(table: Table | Header) -> str:
    more = f" and {len(table.names) - 30} more" if len(table.names) > 30 else ""
    return ", ".join(map(str, table.names[:30])) + more


def use_missing_tokens(args: Namespace, classifier: NetworkClassifier) -> None:
    """Add to the options the texts that stood for missing values in the files from which a model was learned."""
    args.missing_token = [*getattr(classifier, "missing_tokens_", ()), *(args.missing_token or ())] or None


def check_features(table: Table | Header, features: Sequence[Variable], *, all_of_them: bool = True) -> None:
    """Refuse a table that lacks features of a model.

    Parameters
    ----------
    table : the table, or its header.
    features : the features of the model.
    all_of_them : whether one that is missing is refused; otherwise only a table that has none of them.
    """
    import numpy as np

    from naivete.data.table import Column, Table
    from naivete.encoding.column_codes import matched_columns

    names = [variable.name for variable in features]
    if names and not any(name in table.names for name in names):
        raise DataError(
            f"{table.source}: this model was trained on other columns: it needs {', '.join(map(quoted, names[:5]))}"
            f"{' ...' if len(names) > 5 else ''} ({len(names):,} in all), and the file has none of them; choose another model"
        )
    if all_of_them:
        matched_columns(Table(tuple(Column(name, np.zeros(0)) for name in table.names), source=table.source), features)


def is_delimited(path: str, args: Namespace) -> bool:
    """Whether the file is delimited text, by the options and its name."""
    return (args.format or "csv") in ("csv", "tsv") and not has_ending(path, ".arff", ".parquet", ".pq")


def differences_from_text(path: str, args: Namespace, variables: Sequence[Variable]) -> dict[Name, str]:
    """Return the columns of a Parquet file to which delimited text would give other values, and why; none for other files.

    A model that is learned from a CSV file of the same table has other states for these columns, hence another hash.
    """
    from naivete.data.files import difference_from_text, format_of

    if (args.format or format_of(path)) != "parquet":
        return {}
    declared = kinds_of(args.kinds)
    differences = {v.name: difference_from_text(v.states) for v in variables if isinstance(declared, str) or v.name not in declared}
    return {name: reason for name, reason in differences.items() if reason is not None}


def labelled_cases(path: str, args: Namespace) -> LabelledTable:
    """Return the cases of a file, divided into features and class."""
    from naivete.data.labelled_table import label_table

    table = read_table(path, args)
    target = target_of(table, path, args)
    return label_table(table, target, weight=args.weight, drop_unlabelled=args.drop_unlabelled)


def target_of(table: Table | Header, path: str, args: Namespace) -> Name:
    """Return the class column; refuse a table whose class is not named, and columns that do not exist."""
    target = usual_target(path, args, table)
    if target is None:
        listed = _listed_columns(table)
        raise ParameterError(f"{table.source}: which column is the class? Name it with --target; the columns are: {listed}")
    check_columns(table, ("target", target), ("weight", args.weight))
    return target


def usual_target(path: str, args: Namespace, table: Table | Header) -> Name:
    """Return the class column that the options name, else the last column of an ARFF file, else None."""
    if args.target is None and (args.format == "arff" or has_ending(path, ".arff")) and table.names:
        return table.names[-1]
    return args.target  # type: ignore[no-any-return]


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """Return the distinct paths by their file names, or by themselves where two files have the same name."""
    distinct = list(dict.fromkeys(paths))
    names = [PurePath(path).name for path in distinct]
    return dict(zip(names if len(set(names)) == len(names) else distinct, distinct, strict=True))


def is_network(path: str) -> bool:
    """Whether the name of a file is that of a network or a model."""
    from naivete.network.formats import named_network_format

    return path.lower().endswith(_MODEL) or named_network_format(path) is not None


def read_network_file(path: str, args: Namespace) -> Network:
    """Return the network of a model file (.nvt), or of a file in another format."""
    from naivete.network.formats import dumps, loads, read_network

    if not path.lower().endswith(_MODEL):
        return read_network(path, target=args.target, encoding=args.encoding, tolerance=args.tolerance)

    from naivete.classifiers.saving import load

    model = load(path)
    network = model.network_
    ensemble = model.ensemble()
    if ensemble is not None:
        kind = type(model).__name__
        note(
            f"{path}: {kind} does not predict with one network; this is the {ensemble.network_name} beside it, whose "
            f"probabilities of the class are not those that {kind} predicts"
        )
    return network if args.target is None else loads(dumps(network, "bif"), "bif", target=args.target, where=path)
