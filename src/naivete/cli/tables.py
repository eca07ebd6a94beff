"""Tables for the commands: the options that say how to read one, and the files that are read and written."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from naivete.errors import FileError, ParameterError, nearest, shown

if TYPE_CHECKING:
    from naivete.encoding import Encoder
    from naivete.experiments import Labelled
    from naivete.table import Kind, Table
    from naivete.variables import Name

__all__ = [
    "check_output",
    "encoder_of",
    "encoding_options",
    "kinds_of",
    "labelled_cases",
    "output_options",
    "read_table",
    "reading_options",
    "target_options",
    "usual_target",
]


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


def encoding_options(parser: ArgumentParser) -> None:
    """How columns become states."""
    group = parser.add_argument_group("states")
    group.add_argument("--cut", default="mdl", metavar="HOW", help="cut numbers by mdl, frequency:BINS or width:BINS (mdl)")
    group.add_argument("--missing", choices=("omit", "state"), default="omit", help="missing: summed out, or a state (omit)")
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
            return word  # type: ignore[return-value]
        held = ""
        for piece in word.split(","):
            column, equals, kind = (held + piece).rpartition("=")
            held = "" if equals else f"{held}{piece},"
            if not equals:
                continue
            if kind not in ("nominal", "numeric"):
                hint = (nearest(kind, ["nominal", "numeric"], 1) or ["nominal or numeric"])[0]
                raise ParameterError(f"--kinds: column {shown(column)} cannot be {shown(kind)}; did you mean {hint}?")
            kinds[column] = kind  # type: ignore[assignment]
        if held:
            raise ParameterError(f"--kinds: {shown(held.rstrip(','))} names no kind; write COLUMN=nominal or COLUMN=numeric")
    return kinds


def read_table(path: str, args: Namespace, kinds: Mapping[str, Kind] | None = None) -> Table:
    """The table of a file, read as the options say; `kinds` come before those of the options."""
    from naivete.files import read

    given = kinds_of(args.kinds)
    own = {**({} if isinstance(given, str) else given), **(kinds or {})}
    tokens = ("", *(args.missing_token or ()))
    table = read(path, format=args.format, encoding=args.encoding, delimiter=args.delimiter, missing=tokens, kinds=own or None)
    if isinstance(given, str) and not kinds and _text_of_cells(path, args):
        features = [name for name in table.names if name not in (getattr(args, "target", None), getattr(args, "weight", None))]
        all_alike: dict[str, Kind] = {str(name): given for name in features}
        return read(path, format=args.format, encoding=args.encoding, delimiter=args.delimiter, missing=tokens, kinds=all_alike)
    return table


def _text_of_cells(path: str, args: Namespace) -> bool:
    return (args.format or "csv") in ("csv", "tsv") and not _named(path, ".arff", ".parquet", ".pq")


def _named(path: str, *endings: str) -> bool:
    return path.lower().removesuffix(".gz").endswith(endings)


def labelled_cases(path: str, args: Namespace) -> Labelled:
    """The cases of a file, divided into features and class."""
    from naivete.experiments.labelled import labelled

    table = read_table(path, args)
    target = usual_target(path, args, table)
    if target is None:
        listed = ", ".join(str(name) for name in table.names[:30]) + (" ..." if len(table.names) > 30 else "")
        raise ParameterError(f"{table.source}: which column is the class? Give it with --target; the columns are: {listed}")
    return labelled(table, target, weight=args.weight, drop_unlabelled=args.drop_unlabelled)


def usual_target(path: str, args: Namespace, table: Table) -> Name:
    """The class that the options name, else the last column of an ARFF file, else None."""
    if args.target is None and (args.format == "arff" or _named(path, ".arff")) and table.names:
        return table.names[-1]
    return args.target  # type: ignore[no-any-return]


def encoder_of(args: Namespace, cases: Labelled | None = None) -> Encoder:
    """How the options say that columns become states."""
    from naivete.encoding import Encoder
    from naivete.saving import cut_of

    kinds: Any = kinds_of(args.kinds)
    if not isinstance(kinds, str):
        kinds = {column: kind for column, kind in kinds.items() if cases is None or column != cases.target} or None
    return Encoder(kinds=kinds, cut=cut_of(args.cut), missing=args.missing, unseen=args.unseen)


def check_output(path: str | None, inputs: Sequence[str], force: bool) -> None:
    """Refuse an output that is one of the inputs, or that exists unless `force`; before any work is done."""
    if path is None:
        return
    for given in inputs:
        if _same(path, given):
            raise ParameterError(f"{path}: the output would replace the input; choose another name")
    if Path(path).exists() and not force:
        raise FileError(f"{path}: exists already; choose another name, or replace it with --force")


def _same(one: str, two: str) -> bool:
    try:
        return Path(one).samefile(two)
    except OSError:
        return Path(one).absolute() == Path(two).absolute()
