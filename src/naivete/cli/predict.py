"""`naivete predict`: the class of every row of some files, and how probable each class is."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from naivete.cli.output import counted, escaped, json_text, note, say
from naivete.cli.parsing import Command
from naivete.cli.progress import pass_progress
from naivete.cli.streams import (
    Meter,
    Opened,
    data_argument,
    is_many,
    is_streamed,
    memory_option,
    opened_files,
    settled,
    tables_of,
)
from naivete.cli.tables import check_ending, check_output, is_delimited, output_options, read_table, reading_options
from naivete.errors import ParameterError, quoted

if TYPE_CHECKING:
    from naivete.classifiers.base import NetworkClassifier
    from naivete.classifiers.predictions import Predictions, PredictionSummary
    from naivete.data.table import Table
    from naivete.variables import Name

__all__ = ["COMMAND"]


def arguments(parser: ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("model", metavar="MODEL", help="a model file")
    data_argument(parser, "the cases to classify, columns matched by name, others ignored")
    output_options(parser, "the file to write: .csv, .tsv, .arff, .parquet or .json; by default CSV on standard output")
    parser.add_argument("--append", action="store_true", help="put the answers behind the columns of the input")
    parser.add_argument("--spreadsheet-safe", action="store_true", help="keep spreadsheets from taking texts for formulas")
    parser.add_argument(
        "--unseen", choices=("marginalise", "error"), help="values that training did not have: as missing, or refused"
    )
    reading_options(parser)
    zero = "The answers are the same, but where the model has probabilities of zero there is always a column 'impossible'."
    memory_option(parser, zero)


def run(args: Namespace) -> int:
    """Classify every row."""
    check_output(args.out, [args.model, *args.data], args.force)
    _check_form(args)
    streamed = is_streamed(args) and _is_streamable(args)

    from naivete.classifiers.saving import load

    classifier = load(args.model)
    if streamed:
        _tell(_stream(args, classifier), classifier)
    elif args.json or (args.out and _is_json(args.out)):
        _answer_json(args, classifier)
    else:
        _answer_at_once(args, classifier)
    return 0


def _check_form(args: Namespace) -> None:
    """Refuse options that contradict each other, before any work is done."""
    if args.out:
        check_ending(args.out, ".json")
    if args.json and args.out:
        raise ParameterError("--json prints to standard output; leave --out or --json out")
    if args.append and (args.json or (args.out and _is_json(args.out))):
        raise ParameterError("--append is for tables; leave it out for JSON")
    if args.spreadsheet_safe and args.out and not _is_text(args.out):
        raise ParameterError("--spreadsheet-safe is for CSV and TSV; name the output .csv or .tsv, or leave the option out")
    if not _is_streamable(args) and (len(args.data) > 1 or args.memory is not None or is_many(args.data[0])):
        raise ParameterError(
            "ARFF and JSON are written at once, for one file; write several files, or with --memory, as CSV or Parquet"
        )


def _is_streamable(args: Namespace) -> bool:
    """Whether the answers can be written some rows at a time."""
    return not args.json and (args.out is None or _is_text(args.out) or _is_parquet(args.out))


def _is_text(path: str) -> bool:
    return path.lower().removesuffix(".gz").endswith((".csv", ".tsv", ".tab"))


def _is_parquet(path: str) -> bool:
    return path.lower().removesuffix(".gz").endswith((".parquet", ".pq"))


def _is_json(path: str) -> bool:
    return path.lower().endswith(".json")


def _read(args: Namespace, classifier: NetworkClassifier) -> Table:
    """The table, its texts read so that they meet the states of the model."""
    from naivete.classifiers.predictions import convert_to_states, kinds_to_read
    from naivete.encoding.column_codes import matched_columns

    features = classifier.network_.columns
    own = {variable.name for variable in features}
    try:
        table = read_table(args.data[0], args, kinds_to_read(features), wanted=own)
    except ParameterError:  # of a column that is not there, about which there is more to say
        table = read_table(args.data[0], args, wanted=own)
        matched_columns(table, features)
    _note_unused(table.names, table.source, classifier)
    return convert_to_states(table, features)


def _note_unused(names: Sequence[Name], source: str, classifier: NetworkClassifier) -> None:
    own = {variable.name for variable in classifier.network_.variables}
    extra = [name for name in names if name not in own]
    if extra:
        listed = ", ".join(map(quoted, extra[:5])) + (" ..." if len(extra) > 5 else "")
        note(f"{source}: not used by the model: {listed} ({counted(len(extra), 'column')})")


def _tell(told: PredictionSummary, classifier: NetworkClassifier) -> None:
    """Tell which rows are impossible, and how many of those that have a class were given it."""
    if told.unseen_tables > 1:
        note(f"the same is true of {counted(told.unseen_tables - 1, 'later part')} of the rows")
    if told.impossible:
        note(
            f"{counted(told.impossible, 'row')} with probability zero in every class (the first is row {told.first_impossible}); "
            "answered by the prior of the classes with the fewest impossible factors and marked in the column 'impossible'"
        )
    target = classifier.network_.variables[-1].name
    if told.stranger is not None:
        note(f"no accuracy is told: column {quoted(target)} has {quoted(told.stranger)}, which is no class of the model")
    elif told.labelled:
        note(f"accuracy {100 * told.right / told.labelled:.1f} % of {counted(told.labelled, 'labelled row')}")


def _answer_at_once(args: Namespace, classifier: NetworkClassifier) -> None:
    """Read one file, answer it and write the answers."""
    from naivete.classifiers.predictions import PredictionSummary, predict_tables

    told = PredictionSummary()
    (table,) = predict_tables(classifier, [_read(args, classifier)], unseen=args.unseen, append=args.append, told=told)
    _tell(told, classifier)
    _written(args, lambda path, options: _write(table, path, options))


def _answer_json(args: Namespace, classifier: NetworkClassifier) -> None:
    """Read one file, answer it and write the answers as JSON."""
    from naivete.classifiers.predictions import PredictionSummary, predict_table
    from naivete.storage.atomic import atomic_write

    table, told = _read(args, classifier), PredictionSummary()
    answers = predict_table(classifier, table, args.unseen)
    told.add(table, classifier.network_.variables[-1].name, answers)
    _tell(told, classifier)
    text = json_text(_records(answers))
    if args.json:
        say(text)
    else:
        atomic_write(Path(args.out), f"{text}\n".encode(), overwrite=args.force)


def _records(answers: Predictions) -> dict[str, Any]:
    from naivete.inference.predictor import argmax_class

    impossible = set(answers.impossible.tolist())
    labels = answers.labels
    rows = [
        {"predicted": labels[best], "probabilities": dict(zip(map(str, labels), p, strict=True)), "impossible": i in impossible}
        for i, (best, p) in enumerate(zip(argmax_class(answers.posterior).tolist(), answers.posterior.tolist(), strict=True))
    ]
    return {"classes": list(labels), "rows": rows}


def _stream(args: Namespace, classifier: NetworkClassifier) -> PredictionSummary:
    """Read some rows, answer them and write the answers, until all are done."""
    from naivete.cases.sources import plan_reading
    from naivete.data.files import KindError

    opened = _opened(args, classifier)
    check_output(args.out, [file.path for file in opened.files.files], args.force)
    rows = plan_reading(args.memory, len(opened.names) + 2 * len(classifier.classes_), classifier.budget).rows
    meter = Meter(opened.files) if opened.files.rows is None else None
    files = opened.files if meter is None else meter.watched(opened.files)
    broken: Collection[Name] = ()
    total = files.rows
    with pass_progress("predict", wanted=args.progress, share=None if meter is None else meter.share) as went:
        if args.append:
            files, broken = settled(files, rows, _open_kinds(opened, args), lambda done: went(1, done, total))
        while True:
            try:
                stream = _Stream(replace(opened, files=files), rows, broken, lambda done: went(1 + args.append, done, total))
                return stream.answered(args, classifier)
            except KindError as error:  # a column that looked like numbers is text: once more from the beginning
                files = files.widened(error.columns)


def _open_kinds(opened: Opened, args: Namespace) -> list[str]:
    """The columns whose kind is not told."""
    told = opened.reading["kinds"] if is_delimited(opened.path, args) else None
    return [name for name in opened.files.names if name not in (told or {})]


def _opened(args: Namespace, classifier: NetworkClassifier) -> Opened:
    """The files, their texts to be read so that they meet the states of the model."""
    import numpy as np

    from naivete.classifiers.predictions import kinds_to_read
    from naivete.data.table import Column, Table
    from naivete.encoding.column_codes import matched_columns

    features = classifier.network_.columns
    own = {variable.name for variable in features}
    try:
        opened = opened_files(args, kinds_to_read(features), wanted=own)
    except ParameterError:  # of a column that is not there, about which there is more to say
        opened = opened_files(args, wanted=own)
    columns = tuple(Column(name, np.zeros(0)) for name in opened.header.names)
    matched_columns(Table(columns, source=opened.header.source), features)
    _note_unused(opened.files.names, opened.header.source, classifier)
    return opened


@dataclass(frozen=True)
class _Stream:
    """Rows to be answered, some at a time.

    Parameters
    ----------
    opened : the files.
    rows : how many rows to read at a time.
    broken : the columns of numbers in which some have a fraction.
    went : told how many rows were answered.
    """

    opened: Opened
    rows: int
    broken: Collection[Name]
    went: Callable[[int], None]

    def answered(self, args: Namespace, classifier: NetworkClassifier) -> PredictionSummary:
        """Write the answers to all rows."""
        from naivete.classifiers.predictions import PredictionSummary, convert_to_states, predict_tables
        from naivete.data.files import write_stream

        told = PredictionSummary()

        def tables() -> Iterator[Table]:
            for table in self._tables(args, classifier):
                yield convert_to_states(self._floating(table), classifier.network_.columns)
                self.went(told.rows)

        answers = predict_tables(classifier, tables(), unseen=args.unseen, append=args.append, told=told)
        _written(args, lambda path, options: write_stream(answers, path, **options))
        return told

    def _tables(self, args: Namespace, classifier: NetworkClassifier) -> Iterator[Table]:
        """The rows with the columns that are needed; one table without rows where there are none."""
        own = {str(variable.name) for variable in classifier.network_.variables}
        only = [name for name in self.opened.files.names if args.append or name in own]
        none = True
        for table in tables_of(self.opened.files, self.rows, only):
            none = False
            yield table
        if none:
            yield read_table(self.opened.path, args, wanted=())

    def _floating(self, table: Table) -> Table:
        """The table with whole numbers as numbers with a fraction, in the columns that have such elsewhere."""
        if not self.broken:
            return table
        fits = (c.name not in self.broken or c.states is not None for c in table.columns)
        columns = (c if fit else replace(c, values=c.values.astype(float)) for c, fit in zip(table.columns, fits, strict=True))
        return replace(table, columns=tuple(columns))


def _write(table: Table, path: Path, options: dict[str, Any]) -> None:
    from naivete.data.files import write

    write(table, path, **options)


def _written(args: Namespace, write: Callable[[Path, dict[str, Any]], object]) -> None:
    """Have the answers written to the file that was asked for, or to one that is then copied to standard output."""
    import tempfile

    options: dict[str, Any] = {"spreadsheet_safe": args.spreadsheet_safe} if args.out is None or _is_text(args.out) else {}
    if args.out is None or not _is_parquet(args.out):
        options["as_text"] = True
    if args.out:
        write(Path(args.out), {**options, "overwrite": args.force})
        return
    with tempfile.TemporaryDirectory(prefix="naivete-") as folder:
        file = Path(folder, "answers.csv")
        write(file, options)
        _copy(file)


def _copy(file: Path) -> None:
    """Copy the file to standard output; a terminal sees what it would obey as escapes."""
    import shutil

    if not sys.stdout.isatty():
        sys.stdout.flush()
        with file.open("rb") as content:
            shutil.copyfileobj(content, sys.stdout.buffer)
        return
    with file.open(encoding="utf-8", newline="") as lines:
        for line in lines:
            say(*map(escaped, line.splitlines()))


COMMAND = Command(
    "predict",
    "Classify the rows of files, which need not fit into memory, with a saved model.",
    (
        "naivete predict weather.nvt tomorrow.csv",
        "naivete predict weather.nvt tomorrow.csv --append --out answers.csv",
        "naivete predict weather.nvt tomorrow.parquet --unseen error --json",
        "naivete predict sales.nvt 'sales-*.parquet' --memory 2GB --out answers.parquet",
    ),
    arguments,
    run,
)
