"""Tables for the commands: the options that say how to read one, and the files that are read and written."""

from __future__ import annotations

import re
import warnings
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from naivete.errors import FileError, ParameterError, close_matches, quoted

if TYPE_CHECKING:
    from naivete.data.labelled_table import LabelledTable
    from naivete.data.table import Kind, Table
    from naivete.encoding.encoder import Encoder
    from naivete.variables import Name

__all__ = [
    "Header",
    "Heard",
    "bytes_of",
    "check_columns",
    "check_ending",
    "check_output",
    "encoder_of",
    "encoding_options",
    "heard",
    "is_delimited",
    "kept_kinds",
    "kinds_of",
    "labelled_cases",
    "left_out",
    "output_options",
    "read_table",
    "reading",
    "reading_options",
    "resource_options",
    "target_of",
    "target_options",
    "usual_target",
]

ENDINGS: Final = (".arff", ".csv", ".tsv", ".tab", ".parquet", ".pq")
"""What the name of a table that is written ends in, perhaps with .gz after it."""

_UNITS: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


@dataclass(frozen=True)
class Header:
    """The names of the columns of a table that is not read yet, and where it stands."""

    names: tuple[Name, ...]
    source: str


def reading_options(parser: ArgumentParser) -> None:
    """How to read a file."""
    group = parser.add_argument_group("reading (ARFF, CSV, TSV, Parquet; text may be gzipped)")
    group.add_argument("--format", choices=("arff", "csv", "tsv", "parquet"), help="the format, if the file does not tell")
    group.add_argument("--encoding", default="utf-8", help="how a text file is written (utf-8)")
    group.add_argument("--delimiter", help="what separates the cells of delimited text")
    group.add_argument(
        "--missing-token", action="append", metavar="TEXT", help="a text that means missing in CSV, beside an empty cell"
    )
    group.add_argument(
        "--kinds",
        action="append",
        metavar="COLUMN=KIND,...",
        help="columns that are nominal or numeric whatever they look like; 'nominal' alone means all features",
    )


def target_options(parser: ArgumentParser) -> None:
    """Which column is the class, and which rows count."""
    group = parser.add_argument_group("cases")
    group.add_argument("--target", metavar="COLUMN", help="the class; by default the last column of ARFF")
    group.add_argument("--weight", metavar="COLUMN", help="the weight of every row")
    group.add_argument("--drop-unlabelled", action="store_true", help="leave out rows without a class")
    group.add_argument("--ignore", action="append", metavar="COLUMN,...", help="columns to leave out, such as identifiers")


def resource_options(parser: ArgumentParser) -> None:
    """How much the work may take."""
    group = parser.add_argument_group("resources")
    group.add_argument("--budget", type=bytes_of, metavar="BYTES", help="the most that the tables may take, such as 500MB or 2GiB")


def bytes_of(text: str) -> int:
    """A number of bytes.

    >>> bytes_of("500MB"), bytes_of("1.5 KiB"), bytes_of("64")
    (500000000, 1536, 64)
    """
    found = re.fullmatch(r"([0-9]{1,18}(?:\.[0-9]{1,9})?) ?([kmgt]?i?)b?", text.strip().lower())
    unit = found and _UNITS.get(found[2])
    if not found or not unit or float(found[1]) * unit < 1:
        raise ArgumentTypeError(f"{quoted(text)} is not a number of bytes; write for instance 500MB or 2GiB")
    return int(float(found[1]) * unit)


def encoding_options(parser: ArgumentParser) -> None:
    """How columns become states."""
    group = parser.add_argument_group("states")
    cuts = "cut numbers by mdl, frequency:BINS, width:BINS or distinct (mdl; for c45 distinct)"
    group.add_argument("--cut", metavar="HOW", help=cuts)
    numbers = "numbers: cut, with normal or kernel densities, or cut or normal as is better for each (cut)"
    group.add_argument("--numbers", choices=("cut", "normal", "kernel", "auto"), default="cut", help=numbers)
    how = ("omit", "state", "em")
    group.add_argument("--missing", choices=how, default="omit", help="missing: summed out, a state, or by EM (omit)")
    group.add_argument(
        "--unseen",
        choices=("marginalise", "smooth", "error"),
        default="marginalise",
        help="values that training did not have: as missing, smoothed, or refused (marginalise)",
    )


def output_options(parser: ArgumentParser, what: str, *, required: bool = False, default: str | None = None) -> None:
    """Where results go."""
    parser.add_argument("--out", metavar="FILE", required=required, default=default, help=what)
    parser.add_argument("--force", action="store_true", help="replace the file if there is one")


def kinds_of(words: Sequence[str] | None) -> dict[str, Kind] | Kind:
    """The kinds that --kinds gives to columns, or the one it gives to all.

    >>> kinds_of(["zip=nominal,a,b=numeric"])
    {'zip': 'nominal', 'a,b': 'numeric'}
    """
    kinds: dict[str, Kind] = {}
    for word in words or ():
        if word in ("nominal", "numeric"):
            _check_alone(word, words or ())
            return word  # type: ignore[return-value]
        held = ""
        for piece in word.split(","):
            column, equals, kind = (held + piece).rpartition("=")
            held = "" if equals else f"{held}{piece},"
            if not equals:
                continue
            if kind not in ("nominal", "numeric"):
                hint = (close_matches(kind, ["nominal", "numeric"], 1) or ["nominal or numeric"])[0]
                raise ParameterError(f"--kinds: column {quoted(column)} cannot be {quoted(kind)}; did you mean {hint}?")
            if kinds.setdefault(column, kind) != kind:  # type: ignore[arg-type]
                raise ParameterError(f"--kinds: column {quoted(column)} is declared both nominal and numeric; choose one")
        if held:
            raise ParameterError(f"--kinds: {quoted(held.rstrip(','))} names no kind; write COLUMN=nominal or COLUMN=numeric")
    return kinds


def _check_alone(kind: str, words: Sequence[str]) -> None:
    """Refuse a kind for all features beside another kind."""
    other = next((word for word in words if word != kind), None)
    if other is not None:
        raise ParameterError(f"--kinds: {kind} is for all features and contradicts {quoted(other)}; give one of them")


def kept_kinds(args: Namespace) -> dict[str, Kind] | Kind:
    """The kinds that --kinds gives, without the columns that --ignore leaves out."""
    kinds = kinds_of(args.kinds)
    return kinds if isinstance(kinds, str) else {name: kind for name, kind in kinds.items() if name not in _ignored(args)}


def read_table(
    path: str, args: Namespace, kinds: Mapping[str, Kind] | None = None, *, wanted: Collection[Name] | None = None
) -> Table:
    """The table of a file, read as the options say, without the columns that they leave out.

    Parameters
    ----------
    path : the file.
    args : the options.
    kinds : kinds of columns, which come before those of the options.
    wanted : the columns of which warnings are passed on; by default all that are kept.
    """
    with heard() as told:
        given = kinds_of(args.kinds)
        own = {**({} if isinstance(given, str) else given), **(kinds or {})}
        table = _kept(_read(path, args, own), path, args)
        if isinstance(given, str) and not kinds and is_delimited(path, args):
            told.forget()  # what was guessed is no matter
            features = [n for n in table.names if n not in (getattr(args, "target", None), getattr(args, "weight", None))]
            table = _kept(_read(path, args, {str(name): given for name in features}), path, args)
        told.wanted = table.names if wanted is None else wanted
    return table


@dataclass
class Heard:
    """Warnings that wait until it is known which columns are wanted; those of others are not passed on."""

    told: list[warnings.WarningMessage]
    wanted: Collection[Name] = field(default=())

    def forget(self) -> None:
        """Pass none of the warnings so far on."""
        self.told.clear()


@contextmanager
def heard() -> Iterator[Heard]:
    """Keep the warnings inside, and pass on those that are not of unwanted columns."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = Heard(told)
        yield found
    for warning in told:
        about = getattr(warning.message, "column", None)
        if about is None or about in found.wanted:
            warnings.warn(warning.message, stacklevel=2)


def _read(path: str, args: Namespace, kinds: Mapping[str, Kind]) -> Table:
    from naivete.data.files import read

    return read(path, **reading(args, kinds))


def reading(args: Namespace, kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """How files are read, as the options and the kinds of columns say."""
    tokens = ("", *(args.missing_token or ()))
    options: dict[str, Any] = {"format": args.format, "encoding": args.encoding, "delimiter": args.delimiter}
    return {**options, "missing": tokens, "kinds": dict(kinds) or None}


def _kept(table: Table, path: str, args: Namespace) -> Table:
    """The table without the columns that --ignore names."""
    for name in left_out(table, path, args):
        table = table.without(name)
    return table


def left_out(table: Table | Header, path: str, args: Namespace) -> list[Name]:
    """The columns that --ignore names; refused where one is not there, or is the class or the weight."""
    words = getattr(args, "ignore", None) or ()
    gone = [name for word in words for name in ([word] if word in table.names else word.split(","))]
    if not gone:
        return []
    for name in gone:
        _check_column(table, "ignore", name)
    for option, column in (("target", usual_target(path, args, table)), ("weight", args.weight)):
        if column in gone:
            raise ParameterError(
                f"--ignore: the column {quoted(column)} is the {option}; leave it in, or choose another --{option}"
            )
    return list(dict.fromkeys(gone))


def _ignored(args: Namespace) -> set[str]:
    """Everything that --ignore may mean: its words, and what stands between their commas."""
    return {name for word in getattr(args, "ignore", None) or () for name in (word, *word.split(","))}


def check_columns(table: Table | Header, **options: Name) -> None:
    """Refuse a column that an option names and the table does not have; the error says which there are."""
    for option, name in options.items():
        if name is not None:
            _check_column(table, option, name)


def _check_column(table: Table | Header, option: str, name: Name) -> None:
    if name in table.names:
        return
    close = close_matches(name, table.names)
    hint = f"did you mean {' or '.join(map(repr, close))}? The" if close else "the"
    listed = ", ".join(map(str, table.names[:30])) + (f" and {len(table.names) - 30} more" if len(table.names) > 30 else "")
    raise ParameterError(f"{table.source}: --{option}: there is no column {quoted(name)}; {hint} columns are: {listed}")


def is_delimited(path: str, args: Namespace) -> bool:
    """Whether the options and the name of a file leave it delimited text."""
    return (args.format or "csv") in ("csv", "tsv") and not _named(path, ".arff", ".parquet", ".pq")


def _named(path: str, *endings: str) -> bool:
    return path.lower().removesuffix(".gz").endswith(endings)


def labelled_cases(path: str, args: Namespace) -> LabelledTable:
    """The cases of a file, divided into features and class."""
    from naivete.data.labelled_table import label_table

    table = read_table(path, args)
    target = target_of(table, path, args)
    return label_table(table, target, weight=args.weight, drop_unlabelled=args.drop_unlabelled)


def target_of(table: Table | Header, path: str, args: Namespace) -> Name:
    """The class; refused where it is not given, or where a column that an option names is not there."""
    target = usual_target(path, args, table)
    if target is None:
        listed = ", ".join(str(name) for name in table.names[:30]) + (" ..." if len(table.names) > 30 else "")
        raise ParameterError(f"{table.source}: which column is the class? Give it with --target; the columns are: {listed}")
    check_columns(table, target=target, weight=args.weight)
    return target


def usual_target(path: str, args: Namespace, table: Table | Header) -> Name:
    """The class that the options name, else the last column of an ARFF file, else None."""
    if args.target is None and (args.format == "arff" or _named(path, ".arff")) and table.names:
        return table.names[-1]
    return args.target  # type: ignore[no-any-return]


def encoder_of(args: Namespace, target: Name = None) -> Encoder:
    """How the options say that columns become states; what they say of the class does not concern the features."""
    from naivete.classifiers.saving import cut_of
    from naivete.encoding.encoder import Encoder

    kinds: Any = kept_kinds(args)
    if not isinstance(kinds, str):
        kinds = {column: kind for column, kind in kinds.items() if column != target} or None
    unlabelled: Any = "drop" if args.drop_unlabelled else "error"
    cut = None if args.cut is None else cut_of(args.cut)
    return Encoder(kinds=kinds, cut=cut, missing=args.missing, unseen=args.unseen, unlabelled=unlabelled, numbers=args.numbers)


def check_output(path: str | None, inputs: Sequence[str], force: bool) -> None:
    """Refuse an output that is one of the inputs, or that exists unless `force`; before any work is done."""
    if path is None:
        return
    for given in inputs:
        if _same(path, given):
            raise ParameterError(f"{path}: the output would replace the input; choose another name")
    if Path(path).is_dir():
        raise FileError(f"{path}: it is a folder; give the name of a file")
    if Path(path).exists() and not force:
        raise FileError(f"{path}: exists already; choose another name, or replace it with --force")


def check_ending(path: str, *others: str) -> None:
    """Refuse the name of a table to be written that tells no format; `others` are endings that are allowed besides."""
    if not _named(path, *ENDINGS) and not path.lower().endswith(others):
        raise ParameterError(f"{path}: the name does not tell the format; end it in {', '.join((*ENDINGS, *others))}")


def _same(one: str, two: str) -> bool:
    try:
        return Path(one).samefile(two)
    except OSError:
        return Path(one).absolute() == Path(two).absolute()
