"""`naivete predict`: the most probable class of every row of some files, with the probability of each class."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from naivete.cli.inputs import OpenedCases, check_features, is_delimited, is_many, open_cases, read_table, use_missing_tokens
from naivete.cli.options import (
    check_ending,
    check_output,
    data_argument,
    has_ending,
    memory_options,
    output_options,
    reading_options,
)
from naivete.cli.output import counted, escaped, json_text, note, say, write_text
from naivete.cli.parsing import Command
from naivete.cli.progress import Passes, pass_progress
from naivete.errors import ParameterError, ResourceError, quoted

if TYPE_CHECKING:
    from naivete.classifiers.base import NetworkClassifier
    from naivete.classifiers.predictions import PredictionSummary
    from naivete.data.files import Files
    from naivete.data.table import Table
    from naivete.variables import Name

__all__ = ["COMMAND"]


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="model file")
    data_argument(parser, "cases to classify; columns are matched by name, others are ignored")
    output_options(parser, "output file: .csv, .tsv, .arff, .parquet or .json; by default CSV on standard output")
    parser.add_argument("--append", action="store_true", help="write the predictions after the columns of the input")
    parser.add_argument("--spreadsheet-safe", action="store_true", help="prevent spreadsheets from reading texts as formulas")
    parser.add_argument(
        "--unseen",
        choices=("marginalise", "error"),
        help="values that did not occur in training, and columns that are missing: treated as missing, or refused",
    )
    reading_options(parser)
    memory_options(
        parser,
        "The predictions are the same, but where the model has probabilities of zero there is always a column 'impossible'.",
    )


def run(args: Namespace) -> int:
    """Predict the class of every row."""
    check_output(args.out, [args.model, *args.data], args.force)
    _check_form(args)

    from naivete.classifiers.saving import load
    from naivete.data.table import Table

    _check_memory(args, 2)  # the file, and the arrays in it
    classifier = load(args.model)
    if classifier.memory_factor:
        _check_memory(args, classifier.memory_factor)
    cases = _open(args, classifier)
    check_output(args.out, cases.paths, args.force)
    if _is_json(args):
        summary = _write_json(args, classifier, cases.source)
    elif isinstance(cases.source, Table):
        summary = _write_predictions(args, classifier, [cases.source])
    else:
        summary = _predict_files(args, classifier, cases)
    _note_summary(summary, classifier)
    return 0


def _check_memory(args: Namespace, times: int) -> None:
    """Refuse a model that needs more memory than the limit, if it takes so many times the size of its file."""
    from pathlib import Path

    from naivete.cases.sources import resident

    size = Path(args.model).stat().st_size if args.memory is not None and Path(args.model).is_file() else 0
    needed = resident() + times * size
    if size and needed > args.memory:
        raise ResourceError(
            f"`memory={args.memory}` bytes are not enough to predict with {args.model}, a model of {size:,} bytes; allow at least "
            f"`memory={-(-(needed + 40_000_000) // 10**6) * 10**6}`"
        )


def _check_form(args: Namespace) -> None:
    """Refuse options that contradict each other, before any work is done."""
    if args.out:
        check_ending(args.out, ".json")
    if args.json and args.out:
        raise ParameterError("--json prints to standard output; leave out --out or --json")
    if args.append and _is_json(args):
        raise ParameterError("--append is for tables; leave it out for JSON")
    if args.spreadsheet_safe and args.out and not _is_text(args.out):
        raise ParameterError("--spreadsheet-safe is for CSV and TSV; name the output .csv or .tsv, or leave the option out")
    if _is_whole(args) and (len(args.data) > 1 or args.memory is not None or is_many(args.data[0])):
        raise ParameterError(
            "ARFF and JSON are written at once, for one file; write several files, or with --memory, as CSV or Parquet"
        )


def _is_whole(args: Namespace) -> bool:
    """Whether the output is written at once: the header of an ARFF file declares the values of all rows."""
    return _is_json(args) or (args.out is not None and has_ending(args.out, ".arff"))


def _is_json(args: Namespace) -> bool:
    return args.json or (args.out is not None and args.out.lower().endswith(".json"))


def _is_text(path: str) -> bool:
    return has_ending(path, ".csv", ".tsv", ".tab")


def _open(args: Namespace, classifier: NetworkClassifier) -> OpenedCases:
    """Return the cases, their texts read so that they match the model; with --unseen error, refuse missing columns."""
    from naivete.classifiers.predictions import kinds_to_read

    use_missing_tokens(args, classifier)
    features = classifier.schema_
    names = {variable.name for variable in features}
    kinds, at_once = kinds_to_read(features), _is_whole(args)
    try:
        cases = open_cases(args, kinds, wanted=names, at_once=at_once)
    except ParameterError:  # of a column that does not exist
        header = open_cases(args, wanted=(), at_once=at_once).header
        check_features(header, features, all_of_them=args.unseen == "error")
        cases = open_cases(args, {n: kind for n, kind in kinds.items() if n in header.names}, wanted=names, at_once=at_once)
    check_features(cases.header, features, all_of_them=args.unseen == "error")
    known = {variable.name for variable in classifier.network_.variables}
    extra = [name for name in cases.header.names if name not in known]
    if extra:
        names_listed = ", ".join(map(quoted, extra[:5])) + (" ..." if len(extra) > 5 else "")
        note(f"{cases.header.source}: not used by the model: {names_listed} ({counted(len(extra), 'column')})")
    return cases


def _note_summary(summary: PredictionSummary, classifier: NetworkClassifier) -> None:
    """Report rows that are impossible, and the accuracy on the rows that have a class."""
    if summary.unseen_tables > 1:
        note(f"the same is true of {counted(summary.unseen_tables - 1, 'later part')} of the rows")
    if summary.impossible:
        note(
            f"{counted(summary.impossible, 'row')} with probability zero in every class (the first is row "
            f"{summary.first_impossible}); predicted by the prior of the classes with the fewest impossible factors, and marked in "
            "the column 'impossible'"
        )
    target = classifier.network_.variables[-1].name
    if summary.unknown_label is not None:
        note(
            f"no accuracy: column {quoted(target)} has the value {quoted(summary.unknown_label)}, which is not a class of the model"
        )
    elif summary.labelled:
        note(f"accuracy {100 * summary.right / summary.labelled:.1f} % of {counted(summary.labelled, 'labelled row')}")


def _write_predictions(args: Namespace, classifier: NetworkClassifier, tables: Iterable[Table]) -> PredictionSummary:
    """Predict the rows of the tables, and write each table of predictions as it comes."""
    from naivete.classifiers.predictions import PredictionSummary, convert_to_states, predict_tables

    summary = PredictionSummary()
    features = classifier.schema_
    converted = (convert_to_states(table, features) for table in tables)
    _write(args, predict_tables(classifier, converted, unseen=args.unseen, append=args.append, summary=summary))
    return summary


def _write(args: Namespace, predictions: Iterable[Table]) -> None:
    """Write tables of predictions to the output file, or as CSV to standard output."""
    from naivete.data.files import write, write_stream
    from naivete.data.files.writing import csv_rows

    if args.out is None:
        for rows in csv_rows(predictions, "standard output", spreadsheet_safe=args.spreadsheet_safe, as_text=True):
            _print_rows(rows)
        return
    options: dict[str, Any] = {"overwrite": args.force}
    if _is_text(args.out):
        options["spreadsheet_safe"] = args.spreadsheet_safe
    if not has_ending(args.out, ".parquet", ".pq"):
        options["as_text"] = True
    if _is_whole(args):
        (table,) = predictions
        write(table, args.out, **options)
    else:
        write_stream(predictions, args.out, **options)


def _print_rows(rows: str) -> None:
    """Print rows as UTF-8; on a terminal, control characters are escaped."""
    if sys.stdout.isatty():
        say(*map(escaped, rows.splitlines()))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(rows.encode())


def _write_json(args: Namespace, classifier: NetworkClassifier, table: Any) -> PredictionSummary:
    """Predict the rows of a table, and write the predictions as JSON."""
    from naivete.classifiers.predictions import PredictionSummary, convert_to_states, predict_table
    from naivete.inference.predictor import argmax_class

    summary = PredictionSummary()
    table = convert_to_states(table, classifier.schema_)
    predictions = predict_table(classifier, table, args.unseen)
    summary.add(table, classifier.network_.variables[-1].name, predictions)
    impossible, labels, posterior = set(predictions.impossible.tolist()), predictions.labels, predictions.posterior
    rows = [
        {"predicted": labels[best], "probabilities": dict(zip(map(str, labels), p, strict=True)), "impossible": i in impossible}
        for i, (best, p) in enumerate(zip(argmax_class(posterior).tolist(), posterior.tolist(), strict=True))
    ]
    text = json_text({"classes": list(labels), "rows": rows})
    if args.json:
        say(text)
    else:
        write_text(args.out, f"{text}\n", args.force)
    return summary


def _predict_files(args: Namespace, classifier: NetworkClassifier, cases: OpenedCases) -> PredictionSummary:
    """Read some rows, predict them and write the predictions, until all rows are done."""
    from naivete.cases.sources import plan_reading
    from naivete.cli.meter import Meter

    files: Any = cases.source
    rows = plan_reading(args.memory, len(cases.names) + 2 * len(classifier.classes_), classifier.budget).rows
    meter = Meter(files) if files.rows is None else None
    if meter is not None:
        files = meter.watched(files)
    known = {str(variable.name) for variable in classifier.network_.variables}
    only = [name for name in files.names if args.append or name in known]
    fractional: Collection[Name] = ()
    with pass_progress("predict", wanted=args.progress, share=None if meter is None else meter.share) as report:
        if args.append:
            files, fractional = _with_settled_kinds(files, rows, _undeclared(cases, only, args), report)
        tables = _tables(files, rows, only, fractional, partial(report, 1 + args.append))
        return _write_predictions(args, classifier, _at_least_one(tables, cases, args))


def _undeclared(cases: OpenedCases, names: Collection[str], args: Namespace) -> list[str]:
    """Return the columns whose kind is not declared."""
    declared = cases.reading["kinds"] if is_delimited(cases.path, args) else None
    return [name for name in names if name not in (declared or {})]


def _with_settled_kinds(files: Files, rows: int, only: Collection[str], report: Passes) -> tuple[Files, frozenset[Name]]:
    """Return the files with the kinds of columns that all rows have, and the numeric columns with fractions or missing values.

    The kind and the type of a column depend on all rows, as if they were read at once; that takes a pass over the files.

    Parameters
    ----------
    files : the files.
    rows : the number of rows to read at a time.
    only : the columns to examine.
    report : called after each table, as for `fit_cases`.
    """
    from naivete.data.files import KindError

    while only:
        types: dict[Name, set[str]] = {}
        done = 0
        try:
            for table in (table for piece in files.pieces for table in piece.tables(rows=rows, only=only)):
                for column in table.columns:
                    types.setdefault(column.name, set()).add(column.values.dtype.kind if column.states is None else "")
                done += len(table)
                report(1, done, files.rows)
        except KindError as error:
            files = files.widened(error.columns)
        else:
            return files, frozenset(name for name, kinds in types.items() if "f" in kinds and len(kinds) > 1)
    return files, frozenset()


def _tables(
    files: Files, rows: int, only: Collection[str], fractional: Collection[Name], report: Callable[[int, int | None], None]
) -> Iterator[Table]:
    """Read some rows at a time.

    Whole numbers become floats in the columns that have fractions in other rows. A column that looked numeric and holds text is
    read as text from there on; its earlier numbers match the same states.
    """
    from naivete.data.files import KindError

    number = position = done = 0
    while number < len(files.pieces):
        try:
            for table in files.pieces[number].tables(rows=rows, only=only, skip=position):
                yield _as_floats(table, fractional)
                position, done = position + len(table), done + len(table)
                report(done, files.rows)
        except KindError as error:
            files = files.widened(error.columns)
        else:
            number, position = number + 1, 0


def _as_floats(table: Table, names: Collection[Name]) -> Table:
    """Return the table with floats in the numeric columns of these names."""
    if not names:
        return table
    numeric = [column.name in names and column.states is None for column in table.columns]
    columns = (replace(c, values=c.values.astype(float)) if n else c for c, n in zip(table.columns, numeric, strict=True))
    return replace(table, columns=tuple(columns))


def _at_least_one(tables: Iterator[Table], cases: OpenedCases, args: Namespace) -> Iterator[Table]:
    """Return the tables; where the files have no rows, an empty table with their columns."""
    first = next(tables, None)
    if first is None:
        first = read_table(cases.path, args, wanted=())
    yield first
    yield from tables


COMMAND = Command(
    "predict",
    "Classify the rows of files, which need not fit into memory, with a saved model.",
    (
        "naivete predict weather.nvt tomorrow.csv",
        "naivete predict weather.nvt tomorrow.csv --append --out predictions.csv",
        "naivete predict weather.nvt tomorrow.parquet --unseen error --json",
        "naivete predict sales.nvt 'sales-*.parquet' --memory 2GB --out predictions.parquet",
    ),
    arguments,
    run,
    standard_input=True,
)
