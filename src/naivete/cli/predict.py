"""`naivete predict`: the class of every row of a file, and how probable each class is."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from naivete.cli.output import counted, escaped, json_text, note, say
from naivete.cli.parsing import Command
from naivete.cli.tables import check_ending, check_output, output_options, read_table, reading_options
from naivete.errors import ParameterError, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from naivete.classifiers import NetworkClassifier
    from naivete.table import Column, Kind, Table
    from naivete.variables import Name, State, Variable

__all__ = ["COMMAND"]


class _Answers(NamedTuple):
    """The labels, the probability of each for every row, and the rows that are impossible in every class."""

    labels: tuple[State, ...]
    posterior: NDArray[np.float64]
    impossible: NDArray[np.int64]


def arguments(parser: ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("model", metavar="MODEL", help="a model file")
    parser.add_argument("data", metavar="DATA", help="the cases to classify; columns are matched by name, others ignored")
    output_options(parser, "the file to write: .csv, .tsv, .arff, .parquet or .json; by default CSV on standard output")
    parser.add_argument("--append", action="store_true", help="put the answers behind the columns of the input")
    parser.add_argument("--spreadsheet-safe", action="store_true", help="keep spreadsheets from taking texts for formulas")
    parser.add_argument(
        "--unseen", choices=("marginalise", "error"), help="values that training did not have: as missing, or refused"
    )
    reading_options(parser)


def run(args: Namespace) -> int:
    """Classify every row."""
    check_output(args.out, [args.model, args.data], args.force)
    _check_form(args)

    from naivete.saving import load

    classifier = load(args.model)
    *features, target = classifier.network_.variables
    table = _read(args, features, target.name)
    answers = _answered(table, classifier, args.unseen)
    if target.name in table.names:
        _note_accuracy(table[target.name], answers)
    if args.json:
        say(json_text(_records(answers)))
    elif args.out and _is_json(args.out):
        _write_json(answers, args)
    else:
        _write(_output(table if args.append else None, answers), args)
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


def _is_text(path: str) -> bool:
    return path.lower().removesuffix(".gz").endswith((".csv", ".tsv", ".tab"))


def _is_json(path: str) -> bool:
    return path.lower().endswith(".json")


def _read(args: Namespace, features: Sequence[Variable], target: Name) -> Table:
    """The table, its texts read so that they meet the states of the model."""
    from naivete.encoding import matched

    kinds: dict[str, Kind] = {}
    for variable in features:
        if isinstance(variable.name, str) and (variable.numeric or any(isinstance(s, str) for s in variable.states)):
            kinds[variable.name] = "numeric" if variable.numeric else "nominal"
    own = {variable.name for variable in features}
    try:
        table = read_table(args.data, args, kinds, wanted=own)
    except ParameterError:  # of a column that is not there, about which there is more to say
        table = read_table(args.data, args, wanted=own)
        matched(table, features)
    extra = [name for name in table.names if name not in own and name != target]
    if extra:
        listed = ", ".join(map(shown, extra[:5])) + (" ..." if len(extra) > 5 else "")
        note(f"{table.source}: not used by the model: {listed} ({counted(len(extra), 'column')})")
    return _meeting(table, features)


def _meeting(table: Table, features: Sequence[Variable]) -> Table:
    """The table with texts in place of which the model has numbers or truth values turned into these."""
    states = {v.name: v.states for v in features if v.states and not any(isinstance(s, str) for s in v.states)}
    return replace(table, columns=tuple(_met(c, states[c.name]) if c.name in states else c for c in table.columns))


def _met(column: Column, states: tuple[State, ...]) -> Column:
    if column.states is None:
        return column
    by_text = {str(s): s for s in states}
    by_number: dict[float, State] = {float(s): s for s in states if not isinstance(s, (bool, str))}
    return replace(column, states=tuple(_met_state(s, by_text, by_number) for s in column.states))


def _met_state(state: State, by_text: dict[str, State], by_number: dict[float, State]) -> State:
    if not isinstance(state, str) or state in by_text:
        return by_text.get(str(state), state)
    try:
        return by_number.get(float(state), state)
    except ValueError:
        return state


def _answered(table: Table, classifier: NetworkClassifier, unseen: str | None) -> _Answers:
    posterior, impossible = classifier.answers(table, unseen=unseen)  # type: ignore[arg-type]
    if len(impossible):
        note(
            f"{counted(len(impossible), 'row')} with probability zero in every class (the first is row {impossible[0] + 1}); "
            "answered by the prior of the classes with the fewest impossible factors and marked in the column 'impossible'"
        )
    return _Answers(classifier.network_.variables[-1].states, posterior, impossible)


def _note_accuracy(column: Column, answers: _Answers) -> None:
    """Tell how many of the rows that have a class were given it, if the model knows all their classes."""
    from naivete.inference import largest

    rows, labels = _labels(column, answers.labels)
    if not len(rows):
        return
    if labels.min() < 0:
        strange = next(iter(column.take(rows[labels < 0][:1])))
        note(f"no accuracy is told: column {shown(column.name)} has {shown(strange)}, which is no class of the model")
        return
    right = (largest(answers.posterior)[rows] == labels).mean()
    note(f"accuracy {100 * right:.1f} % of {counted(len(rows), 'labelled row')}")


def _labels(column: Column, classes: tuple[State, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows that have a value, and the position of each among the classes, -1 where it is none."""
    import numpy as np

    position = {_text(label): i for i, label in enumerate(classes)}
    if column.states is not None:
        values, codes, rows = list(column.states), column.values, np.flatnonzero(column.values >= 0)
    else:
        distinct, codes = np.unique(column.values, return_inverse=True)
        values, rows = distinct.tolist(), np.flatnonzero(column.values == column.values)
    return rows, np.array([position.get(_text(value), -1) for value in values], np.int64)[codes[rows]]


def _text(value: State) -> str:
    """The value as a file of text has it."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _output(table: Table | None, answers: _Answers) -> Table:
    """The answers as a table, perhaps behind the columns of another."""
    import numpy as np

    from naivete.inference import largest
    from naivete.table import Column, Table

    before = () if table is None else table.columns
    taken = {str(column.name) for column in before}
    columns = [Column(_free("predicted", taken), largest(answers.posterior), answers.labels, "nominal", declared=True)]
    columns += [Column(_free(f"P({label})", taken), answers.posterior[:, i]) for i, label in enumerate(answers.labels)]
    if len(answers.impossible):
        flags = np.zeros(len(answers.posterior), np.int64)
        flags[answers.impossible] = 1
        columns.append(Column(_free("impossible", taken), flags))
    return Table((*before, *columns), rows=len(answers.posterior))


def _free(name: str, taken: set[str]) -> str:
    """The name, or one like it that no column has."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _records(answers: _Answers) -> dict[str, Any]:
    from naivete.inference import largest

    impossible = set(answers.impossible.tolist())
    labels = answers.labels
    rows = [
        {"predicted": labels[best], "probabilities": dict(zip(map(str, labels), p, strict=True)), "impossible": i in impossible}
        for i, (best, p) in enumerate(zip(largest(answers.posterior).tolist(), answers.posterior.tolist(), strict=True))
    ]
    return {"classes": list(labels), "rows": rows}


def _write_json(answers: _Answers, args: Namespace) -> None:
    from naivete.atomic import atomic_write

    atomic_write(Path(args.out), f"{json_text(_records(answers))}\n".encode(), overwrite=args.force)


def _write(table: Table, args: Namespace) -> None:
    import tempfile

    from naivete.files import write, write_csv

    if args.out:
        options = {"spreadsheet_safe": args.spreadsheet_safe} if _is_text(args.out) else {}
        if not args.out.lower().removesuffix(".gz").endswith((".parquet", ".pq")):
            options["as_text"] = True
        write(table, args.out, overwrite=args.force, **options)
        return
    with tempfile.TemporaryDirectory(prefix="naivete-") as folder:
        file = Path(folder, "answers.csv")
        write_csv(table, file, spreadsheet_safe=args.spreadsheet_safe, as_text=True)
        content = file.read_bytes()
    if sys.stdout.isatty():
        say(*map(escaped, content.decode().splitlines()))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)


COMMAND = Command(
    "predict",
    "Classify the rows of a file with a saved model.",
    (
        "naivete predict weather.nvt tomorrow.csv",
        "naivete predict weather.nvt tomorrow.csv --append --out answers.csv",
        "naivete predict weather.nvt tomorrow.parquet --unseen error --json",
    ),
    arguments,
    run,
)
