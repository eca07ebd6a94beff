"""The options that several commands share: how they are declared, parsed and checked before any file is read."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from naivete.errors import FileError, ParameterError, did_you_mean, quoted, with_options

if TYPE_CHECKING:
    from naivete.data.table import Kind
    from naivete.encoding.encoder import Encoder
    from naivete.variables import Name

__all__ = [
    "DEFAULT_MODELS",
    "NETWORK_FORMATS",
    "bytes_of",
    "check_checkpoint_options",
    "check_ending",
    "check_output",
    "checkpoint_options",
    "classifiers_of",
    "data_argument",
    "encoder_of",
    "encoding_options",
    "has_ending",
    "ignored_names",
    "in_options",
    "kept_kinds",
    "kept_names",
    "kinds_of",
    "memory_options",
    "models_option",
    "network_options",
    "output_options",
    "progress_option",
    "reading_options",
    "resource_options",
    "target_options",
    "text_encoding_option",
]

DEFAULT_MODELS: Final = ("majority", "nb", "tan", "kdb:k=2", "spectrum")
"""The models that are compared by default."""
NETWORK_FORMATS: Final = ".bif, .xml (XMLBIF), .net (HUGIN), .xdsl (GeNIe), .dot, .bnl (model string)"
"""The extensions of network files, as the help shows them."""
TABLE_ENDINGS: Final = (".arff", ".csv", ".tsv", ".tab", ".parquet", ".pq")
"""The extensions of table files, which may be followed by .gz."""

_UNITS: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_SAME_NAME: Final = (
    "budget",
    "cluster",
    "delimiter",
    "encoding",
    "format",
    "ignore",
    "keep",
    "kinds",
    "loss",
    "memory",
    "restart",
    "seed",
    "tolerance",
    "unseen",
)
_OPTION_OF: Final[Mapping[str, str]] = {
    **{name: f"--{name}" for name in _SAME_NAME},
    "overwrite": "--force",
    "missing": "--missing-token",
    "missing='state'": "--missing state",
    "unlabelled='drop'": "--drop-unlabelled",
}
_KINDS: Final = ("nominal", "numeric")


def in_options(message: str) -> str:
    """Return a message of the library with options in place of the parameters that it names.

    >>> in_options("values were treated as missing; `unseen='error'` names them")
    'values were treated as missing; --unseen error names them'
    """
    return with_options(message, _OPTION_OF)


INPUTS: Final = "files, patterns in quotes ('part-*.csv'), folders, or - for standard input (CSV unless --format says otherwise)"
"""What the argument of `fit` and `predict` may be."""


def data_argument(parser: ArgumentParser, description: str) -> None:
    """Add the argument for one or several files, patterns or folders."""
    parser.add_argument("data", metavar="DATA", nargs="+", help=f"{description}: {INPUTS}")


def reading_options(parser: ArgumentParser) -> None:
    """Add the options for reading a table."""
    group = parser.add_argument_group("reading (ARFF, CSV, TSV, Parquet; text files may be gzipped)")
    group.add_argument("--format", choices=("arff", "csv", "tsv", "parquet"), help="file format, if the name does not show it")
    text_encoding_option(group)
    group.add_argument("--delimiter", help="character between the cells of a delimited text file")
    group.add_argument(
        "--missing-token",
        action="append",
        metavar="TEXT",
        help="text that stands for a missing value in CSV, besides an empty cell; a model remembers those of its training",
    )
    group.add_argument(
        "--kinds",
        action="append",
        metavar="COLUMN=KIND,...",
        help="read columns as nominal or numeric, whatever their values look like; 'nominal' alone applies to all features",
    )


def text_encoding_option(parser: Any) -> None:
    """Add the option for the character encoding of text files."""
    parser.add_argument("--encoding", default="utf-8", help="character encoding of text files (utf-8)")


def target_options(parser: ArgumentParser) -> None:
    """Add the options for the roles of the columns, and for the rows that are used."""
    group = parser.add_argument_group("cases")
    group.add_argument("--target", metavar="COLUMN", help="class column; by default the last column of an ARFF file")
    group.add_argument("--weight", metavar="COLUMN", help="column with the weight of each row")
    group.add_argument("--drop-unlabelled", action="store_true", help="leave out rows without a class")
    group.add_argument("--ignore", action="append", metavar="COLUMN,...", help="columns to leave out")
    group.add_argument(
        "--keep",
        action="append",
        metavar="COLUMN,...",
        help="columns to use although they look like identifiers, dates or free text, which are left out with a note",
    )


def resource_options(parser: ArgumentParser) -> None:
    """Add the option for the memory of the tables."""
    group = parser.add_argument_group("resources")
    group.add_argument("--budget", type=bytes_of, metavar="BYTES", help="memory limit for the tables, such as 500MB or 2GiB")


def progress_option(parser: Any) -> None:
    """Add the option that shows progress where there is no terminal."""
    parser.add_argument("--progress", action="store_true", help="show progress even if standard error is not a terminal")


def memory_options(parser: ArgumentParser, remark: str) -> Any:
    """Add the options for data larger than memory, and return their group.

    Parameters
    ----------
    parser : the parser.
    remark : how the results compare with those of a small file.
    """
    large = "Several files, a folder, and a file of more than 64 MiB, decompressed, are read some rows at a time."
    group = parser.add_argument_group("data larger than memory", f"{large} {remark}")
    group.add_argument("--memory", type=bytes_of, metavar="BYTES", help="memory limit for this process, such as 500MB or 2GiB")
    progress_option(group)
    return group


def checkpoint_options(group: Any) -> None:
    """Add the options for checkpoints and clusters."""
    group.add_argument(
        "--checkpoint", metavar="FOLDER", help="save the state of the work there; the same command continues from it"
    )
    group.add_argument("--every", type=_seconds, metavar="SECONDS", help="time between two checkpoints (30)")
    group.add_argument("--restart", action="store_true", help="start again, whatever the checkpoint holds")
    group.add_argument("--cluster", metavar="ADDRESS", help="count with Dask: 'local', or the address of a scheduler")


def check_checkpoint_options(args: Namespace) -> None:
    """Refuse options about checkpoints where there are none."""
    if args.checkpoint is None and (args.restart or args.every is not None):
        option = "--restart" if args.restart else "--every"
        raise ParameterError(f"{option} is for checkpoints; name their folder with --checkpoint, or leave {option} out")


def encoding_options(parser: ArgumentParser) -> None:
    """Add the options for the states of the variables."""
    group = parser.add_argument_group("states")
    cuts = "discretize numeric columns by mdl, frequency:BINS, width:BINS or distinct (mdl; for c45 distinct)"
    group.add_argument("--cut", metavar="METHOD", help=cuts)
    numbers = "numeric columns: discretized, normal or kernel densities, or the better of cut and normal for each column (cut)"
    group.add_argument("--numbers", choices=("cut", "normal", "kernel", "auto"), default="cut", help=numbers)
    missing = "missing values: marginalized, a state of their own, or estimated by EM (omit); spectrum always has a state for them"
    group.add_argument("--missing", choices=("omit", "state", "em"), default="omit", help=missing)
    group.add_argument(
        "--unseen",
        choices=("marginalise", "smooth", "error"),
        default="marginalise",
        help="values that did not occur in training: treated as missing, smoothed, or refused (marginalise)",
    )


def network_options(parser: ArgumentParser) -> None:
    """Add the options for reading a network."""
    group = parser.add_argument_group(f"networks ({NETWORK_FORMATS}; these may be gzipped; or a model, .nvt)")
    group.add_argument("--target", metavar="VARIABLE", help="class; by default the variable that the file marks, else the last one")
    group.add_argument(
        "--tolerance",
        type=_tolerance,
        default=1e-6,
        metavar="DIFFERENCE",
        help="largest deviation from 1 of the sum of the probabilities of two states (1e-6)",
    )


def models_option(parser: ArgumentParser) -> None:
    """Add the option for the models to compare."""
    parser.add_argument(
        "--models",
        action="extend",
        metavar="MODEL",
        nargs="+",
        help=f"models to compare, also sk:rf and others of scikit-learn ({' '.join(DEFAULT_MODELS)})",
    )


def output_options(parser: ArgumentParser, description: str, *, required: bool = False) -> None:
    """Add the options for the output file."""
    parser.add_argument("--out", metavar="FILE", required=required, help=description)
    parser.add_argument("--force", action="store_true", help="replace existing files")


def bytes_of(text: str) -> int:
    """Return a number of bytes.

    >>> bytes_of("500MB"), bytes_of("1.5 KiB"), bytes_of("64")
    (500000000, 1536, 64)
    """
    match = re.fullmatch(r"([0-9]{1,18}(?:\.[0-9]{1,9})?) ?([kmgt]?i?)b?", text.strip().lower())
    unit = match and _UNITS.get(match[2])
    if not match or not unit or float(match[1]) * unit < 1:
        raise ArgumentTypeError(f"{quoted(text)} is not a number of bytes; write for instance 500MB or 2GiB")
    return int(float(match[1]) * unit)


def _seconds(text: str) -> float:
    """Return a number of seconds.

    >>> _seconds("0.5")
    0.5
    """
    with suppress(ValueError):
        if 0 <= float(text) < float("inf"):
            return float(text)
    raise ArgumentTypeError(f"{quoted(text)} is not a number of seconds; write for instance 30")


def _tolerance(text: str) -> float:
    with suppress(ValueError):
        if 0 <= float(text) < 1:
            return float(text)
    raise ArgumentTypeError(f"{quoted(text)} is not a number from 0 to less than 1")


def kinds_of(values: Sequence[str] | None) -> dict[str, Kind] | Kind:
    """Return the kinds of columns that --kinds declares, or the one kind that it declares for all features.

    >>> kinds_of(["zip=nominal,a,b=numeric"])
    {'zip': 'nominal', 'a,b': 'numeric'}
    """
    kinds: dict[str, Kind] = {}
    for value in values or ():
        if value in _KINDS:
            _check_alone(value, values or ())
            return value  # type: ignore[return-value]
        for column, kind in _column_kinds(value):
            if kinds.setdefault(column, kind) != kind:
                raise ParameterError(f"--kinds: column {quoted(column)} is declared both nominal and numeric; choose one")
    return kinds


def _column_kinds(value: str) -> list[tuple[str, Kind]]:
    """Return the columns and kinds of COLUMN=KIND,...; the name of a column may contain commas."""
    pairs: list[tuple[str, Any]] = []
    start = ""
    for piece in value.split(","):
        column, equals, kind = (start + piece).rpartition("=")
        start = "" if equals else f"{start}{piece},"
        if equals and kind not in _KINDS:
            hint = did_you_mean(kind, _KINDS, "the kinds are")
            raise ParameterError(f"--kinds: column {quoted(column)} cannot be {quoted(kind)}; {hint}")
        if equals:
            pairs.append((column, kind))
    if start:
        raise ParameterError(f"--kinds: {quoted(start.rstrip(','))} has no kind; write COLUMN=nominal or COLUMN=numeric")
    return pairs


def _check_alone(kind: str, values: Sequence[str]) -> None:
    """Refuse a kind for all features beside another kind."""
    other = next((value for value in values if value != kind), None)
    if other is not None:
        raise ParameterError(f"--kinds: {kind} is for all features and contradicts {quoted(other)}; give one of them")


def kept_kinds(args: Namespace) -> dict[str, Kind] | Kind:
    """Return the kinds that --kinds declares, without those of the columns that --ignore leaves out."""
    kinds = kinds_of(args.kinds)
    return kinds if isinstance(kinds, str) else {name: kind for name, kind in kinds.items() if name not in ignored_names(args)}


def ignored_names(args: Namespace) -> set[str]:
    """Return all names that --ignore may mean: its values as they are, and split at the commas."""
    return {name for value in getattr(args, "ignore", None) or () for name in (value, *value.split(","))}


def kept_names(args: Namespace) -> tuple[str, ...]:
    """Return the columns that --keep names, separated by commas."""
    return tuple(name for value in args.keep or () for name in value.split(","))


def encoder_of(args: Namespace, target: Name = None) -> Encoder:
    """Return the encoder that the options describe; kinds of the class column do not concern the features."""
    from naivete.classifiers.saving import cut_of
    from naivete.encoding.encoder import Encoder

    kinds: Any = kept_kinds(args)
    if not isinstance(kinds, str):
        kinds = {column: kind for column, kind in kinds.items() if column != target} or None
    unlabelled: Any = "drop" if args.drop_unlabelled else "error"
    cut = None if args.cut is None else cut_of(args.cut)
    settings = {"missing": args.missing, "unseen": args.unseen, "numbers": args.numbers, "keep": kept_names(args)}
    return Encoder(kinds=kinds, cut=cut, unlabelled=unlabelled, **settings)


def classifiers_of(specs: Sequence[Any], args: Namespace, target: Name) -> dict[str, Any]:
    """Return the classifiers of the specifications, by name, with the encoder and the budget that the options describe."""
    from naivete.classifiers.registry import PEERS
    from naivete.classifiers.specification import classifier_of

    encoder, classifiers = encoder_of(args, target), dict[str, Any]()
    for spec in specs:
        if spec.word in PEERS:
            from naivete.evaluation.peers import Peer

            classifiers[str(spec)] = Peer(spec.word)
        else:
            classifiers[str(spec)] = classifier_of(spec, encoder=encoder, budget=args.budget)
    return classifiers


def has_ending(path: str, *endings: str) -> bool:
    """Whether the name of a file ends in one of these extensions, perhaps followed by .gz."""
    return path.lower().removesuffix(".gz").endswith(endings)


def check_output(path: str | None, inputs: Sequence[str], force: bool) -> None:
    """Refuse an output file that is one of the inputs, or that exists unless `force`."""
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
    """Refuse an output file whose extension shows no table format; `others` are allowed besides."""
    if not has_ending(path, *TABLE_ENDINGS) and not path.lower().endswith(others):
        raise ParameterError(f"{path}: the name does not show the format; end it in {', '.join((*TABLE_ENDINGS, *others))}")


def _same(one: str, two: str) -> bool:
    try:
        return Path(one).samefile(two)
    except OSError:
        return Path(one).absolute() == Path(two).absolute()
