"""`naivete card`: write a model card, a description of a model in Markdown."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from naivete.cli.inputs import check_columns, check_features, read_table, use_missing_tokens
from naivete.cli.options import check_output, output_options, reading_options
from naivete.cli.output import json_text, say, write_text
from naivete.cli.parsing import Command
from naivete.errors import ParameterError
from naivete.variables import CLASS

if TYPE_CHECKING:
    from naivete.classifiers.base import NetworkClassifier
    from naivete.data.labelled_table import LabelledTable

__all__ = ["COMMAND"]


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="model file")
    output_options(parser, "Markdown file to write; by default the card is printed")
    parser.add_argument("--test", metavar="DATA", help="file with labelled cases that the model was not trained on")
    parser.add_argument("--weight", metavar="COLUMN", help="column of the test cases with the weight of each row")
    parser.add_argument("--drop-unlabelled", action="store_true", help="leave out test cases without a class")
    parser.add_argument("--purpose", metavar="TEXT", help="intended use of the model")
    reading_options(parser)


def run(args: Namespace) -> int:
    """Write the card, or print it."""
    if args.test is None and (args.weight is not None or args.drop_unlabelled):
        raise ParameterError("--weight and --drop-unlabelled describe test cases; name them with --test")
    check_output(args.out, [args.model, *([] if args.test is None else [args.test])], args.force)

    from naivete.classifiers.saving import load
    from naivete.evaluation.model_card import held_out_measures, model_card

    model = load(args.model)
    result = None if args.test is None else held_out_measures(model, _test_cases(args, model))
    card = model_card(model, test=result, purpose=args.purpose)
    if args.out is not None:
        write_text(args.out, card, args.force)
    if args.json:
        measured = None if result is None else {**result._asdict(), "by_class": [*map(_named, result.by_class.items())]}
        say(json_text({"file": args.model, "output": args.out, "evaluation": measured, "card": card}))
    elif args.out is None:
        say(*card.removesuffix("\n").split("\n"))
    else:
        say(f"{args.out}: model card of {args.model}")
    return 0


def _named(entry: tuple[object, dict[str, float]]) -> dict[str, object]:
    label, values = entry
    return {"class": label, **values}


def _test_cases(args: Namespace, model: NetworkClassifier) -> LabelledTable:
    """Return the test cases, read so that their values match those of the model."""
    from naivete.classifiers.predictions import convert_to_states, kinds_to_read
    from naivete.data.labelled_table import label_table

    use_missing_tokens(args, model)
    features, target = model.schema_, model.network_.name(CLASS)
    wanted = {*(variable.name for variable in features), target}
    header = read_table(args.test, args, wanted=())
    check_columns(header, ("test", target), ("weight", args.weight))
    check_features(header, features, all_of_them=False)
    kinds = {name: kind for name, kind in kinds_to_read(model.network_.columns).items() if name in header.names}
    table = convert_to_states(read_table(args.test, args, kinds, wanted=wanted), features)
    for name in table.names:
        if name not in wanted and name != args.weight:
            table = table.without(name)
    return label_table(table, target, weight=args.weight, drop_unlabelled=args.drop_unlabelled)


COMMAND = Command(
    "card",
    "Write a model card in Markdown: data, columns, structure, measures on test cases, and limits of a model.",
    (
        "naivete card weather.nvt",
        "naivete card weather.nvt --test new.csv --purpose 'Decide whether to play outside.' --out weather.md",
    ),
    arguments,
    run,
)
