"""`naivete explain`: why a model predicts what it does for some rows of a file."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from naivete.cli.inputs import check_features, read_table, use_missing_tokens
from naivete.cli.options import check_output, reading_options
from naivete.cli.output import escaped, json_text, say, write_text
from naivete.cli.parsing import Command
from naivete.errors import DataError, ParameterError, did_you_mean, quoted

if TYPE_CHECKING:
    from naivete.classifiers.base import NetworkClassifier
    from naivete.data.table import Table
    from naivete.display.explanation import Explanation

__all__ = ["COMMAND"]


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="model file")
    rows = "file with the rows, or - for standard input (CSV); columns are matched by name, others are ignored"
    parser.add_argument("data", metavar="DATA", help=rows)
    parser.add_argument("--row", action="extend", nargs="+", metavar="N", help="rows to explain, counted from 1 (the first row)")
    parser.add_argument("--class", dest="target_class", metavar="CLASS", help="class to explain; by default the predicted one")
    parser.add_argument("--against", metavar="CLASS", help="class to compare it with; by default all others together")
    parser.add_argument(
        "--by", choices=("feature", "family"), default="feature", help="contributions of features, or of tables (feature)"
    )
    parser.add_argument(
        "--background", metavar="FILE", help="rows from which absent features are drawn; by default the model's distribution"
    )
    parser.add_argument(
        "--permutations",
        type=int,
        default=4,
        metavar="N",
        help="permutations for each background row, where contributions are estimated; an even number, at least 4 (4)",
    )
    parser.add_argument("--html", metavar="FILE", help="write an HTML page with charts")
    parser.add_argument("--force", action="store_true", help="replace existing files")
    reading_options(parser)


def _row_number(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ParameterError(f"--row: {quoted(text)} is not the number of a row; rows are counted from 1")
    return int(text)


def run(args: Namespace) -> int:
    """Explain the rows, and print or write the explanation."""
    check_output(args.html, [args.model, args.data, *([args.background] if args.background else [])], args.force)

    from naivete.classifiers.saving import load

    model = load(args.model)
    use_missing_tokens(args, model)
    explanation = _explanation(args, model)
    if args.html:
        write_text(args.html, str(_page(args, model, explanation)), args.force)
    rows = range(len(explanation))
    if args.json:
        say(json_text({"file": args.data, "model": args.model, "rows": [explanation.to_dict(row) for row in rows]}))
    else:
        texts = [f"{explanation.text(row, args.by)}\n\n{explanation.sentence(row)}" for row in rows]
        say(*(escaped(line) for line in "\n\n".join(texts).split("\n")))
    return 0


def _explanation(args: Namespace, model: NetworkClassifier) -> Explanation:
    import numpy as np

    numbers = np.array([_row_number(text) for text in args.row or ["1"]])
    table = _table(args.data, args, model)
    if numbers.max() > len(table):
        raise DataError(f"{args.data}: there is no row {numbers.max()}; the file has {len(table)} rows")
    background = None if args.background is None else _table(args.background, args, model)
    target = None if args.target_class is None else _label(model, args.target_class, "--class")
    explanation = model.explain(table.take(numbers - 1), target, background=background, permutations=args.permutations)
    if args.against is not None:
        explanation = explanation.against(_label(model, args.against, "--against"))
    explanation.rows = numbers
    return explanation


def _table(path: str, args: Namespace, model: NetworkClassifier) -> Table:
    """Return the table of a file, its texts read so that they match the model."""
    from naivete.classifiers.predictions import convert_to_states, kinds_to_read

    features = model.schema_
    header = read_table(path, args, wanted=())
    check_features(header, features, all_of_them=False)
    kinds = {name: kind for name, kind in kinds_to_read(features).items() if name in header.names}
    return convert_to_states(read_table(path, args, kinds, wanted={variable.name for variable in features}), features)


def _label(model: NetworkClassifier, text: str, option: str) -> Any:
    """Return the class that is written so."""
    labels = model.classes_.tolist()
    for label in labels:
        if str(label) == text:
            return label
    raise ParameterError(f"{option}: {quoted(text)} is not a class of the model; {did_you_mean(text, labels, 'the classes are')}")


def _page(args: Namespace, model: NetworkClassifier, explanation: Explanation) -> Any:
    """Return an HTML page: for each row a sentence, a waterfall chart and all contributions; then the importance of features."""
    from naivete.display import page
    from naivete.display.markup import Markup
    from naivete.variables import CLASS

    sections: list[Any] = []
    for row in range(len(explanation)):
        contributions = explanation.contributions(row, args.by)
        estimated = any(c.standard_error is not None for c in contributions)
        entries = [[c.name, c.value, c.bits, *([c.standard_error] if estimated else [])] for c in contributions]
        headers = [args.by, "value", "bits", *(["standard error"] if estimated else [])]
        listed = page.details("All contributions", page.table(headers, entries))
        chart = page.figure(
            Markup(explanation.svg(row, args.by)), "Contributions to the log odds, in bits; one bit doubles the odds."
        )
        words = " ".join(filter(None, [explanation.sentence(row), explanation.note(row), explanation.base_note()]))
        sections.append((f"Row {explanation.rows[row]}: {explanation.title(row)}", [words, chart, listed]))
    sections.append(("The whole model", model.importances().figures()))
    title = page.model_title(type(model).__name__, model.network_.name(CLASS))
    return page.page(f"Explanation: {title}", sections, facts={"model": args.model, "file": args.data})


COMMAND = Command(
    "explain",
    "Explain the predictions for some rows of a file: contributions to the log odds, in bits.",
    (
        "naivete explain weather.nvt tomorrow.csv --row 2",
        "naivete explain weather.nvt tomorrow.csv --row 1 2 3 --class yes --json",
        "naivete explain weather.nvt tomorrow.csv --row 2 --html why.html",
    ),
    arguments,
    run,
    standard_input=True,
)
