"""`naivete ask`: asks for the features of a case, one after another, until its class is probable enough."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from naivete.cli.evidence import named_texts, value_of_text
from naivete.cli.output import complain, escaped, json_text, named, say, text_table
from naivete.cli.parsing import Command
from naivete.errors import DataError, ParameterError, quoted

if TYPE_CHECKING:
    from naivete.classifiers.base import NetworkClassifier
    from naivete.classifiers.questionnaire import Questionnaire
    from naivete.classifiers.questions import Question
    from naivete.variables import Name

__all__ = ["COMMAND"]

UNKNOWN: Final = "?"
"""The answer to a question whose answer is unknown."""
_MOST_ANSWERS: Final = 20
"""The most possible answers that are listed."""
_REASONS: Final = {
    "posterior": "the class is probable enough",
    "gain": "no question is expected to give more than --least-gain",
    "questions": "the number of --questions is reached",
    "no questions": "no feature that is left carries information",
    "end of input": "the input has ended",
}


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="model file, written by 'naivete fit'")
    parser.add_argument(
        "--given", action="extend", nargs="+", default=[], metavar="NAME=VALUE", help="values that are known and not asked for"
    )
    parser.add_argument(
        "--sure",
        type=float,
        default=0.95,
        metavar="PROBABILITY",
        help="stop when the most probable class is as probable as this (0.95)",
    )
    parser.add_argument(
        "--least-gain",
        type=float,
        metavar="BITS",
        help="ask only questions with at least this expected information, or, with --loss, this expected reduction of the loss",
    )
    parser.add_argument("--questions", type=int, metavar="N", help="ask at most this many questions")
    parser.add_argument(
        "--costs", action="extend", nargs="+", default=[], metavar="NAME=COST", help="costs of questions (1); cheap ones come first"
    )
    parser.add_argument(
        "--loss", metavar="FILE", help="file with the costs of wrong decisions; questions are chosen by the expected loss"
    )


def run(args: Namespace) -> int:
    """Ask questions on standard output, read the answers from standard input, and print the result."""
    from naivete.classifiers.saving import load

    model = load(args.model)
    questionnaire = _questionnaire(args, model)
    ended = False
    while not ended and (question := questionnaire.next()):
        _show(args, _prompt(questionnaire, question))
        ended = not _answered(args, model, questionnaire, question)
    stopped = "end of input" if ended else str(questionnaire.stopped)
    say(json_text(_result(args, questionnaire, stopped)) if args.json else "\n".join(_lines(questionnaire, stopped)))
    return 0


def _questionnaire(args: Namespace, model: NetworkClassifier) -> Questionnaire:
    from naivete.classifiers.losses import Loss
    from naivete.classifiers.questionnaire import Questionnaire

    schema = {variable.name: variable for variable in model.schema_}
    given = named_texts(model.schema_, args.given, args.model, "--given", "VALUE")
    rules = {"posterior": args.sure, "gain": args.least_gain, "questions": args.questions}
    return Questionnaire(
        model,
        row={name: value_of_text(schema[name], text) for name, text in given.items()},
        costs=_costs(named_texts(model.schema_, args.costs, args.model, "--costs", "COST")),
        loss=None if args.loss is None else Loss.read(args.loss, model.classes_.tolist()),
        stop={rule: value for rule, value in rules.items() if value is not None},
    )


def _costs(texts: Mapping[Name, str]) -> dict[Name, float]:
    costs = {}
    for name, text in texts.items():
        try:
            costs[name] = float(text)
        except ValueError:
            raise ParameterError(f"--costs: {quoted(name)}: {quoted(text)} is not a number") from None
    return costs


def _show(args: Namespace, text: str) -> None:
    """Print a text without ending the line; on standard error where standard output is for JSON."""
    stream = sys.stderr if args.json else sys.stdout
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def _prompt(questionnaire: Questionnaire, question: Question) -> str:
    answers = question.answers[:_MOST_ANSWERS]
    more = ", ..." if len(question.answers) > len(answers) else ""
    possible = f"{', '.join(map(named, answers))}{more}" if answers else "a number"
    return escaped(f"{len(questionnaire.history) + 1}. {named(question.feature)} ({possible}; {UNKNOWN} if unknown): ")


def _answered(args: Namespace, model: NetworkClassifier, questionnaire: Questionnaire, question: Question) -> bool:
    """Read the answer to a question, again and again until it is valid; return whether there was one."""
    variable = model.schema_[question.position]
    for line in iter(sys.stdin.readline, ""):
        text = line.strip()
        if not sys.stdin.isatty():
            _show(args, f"{escaped(text)}\n")  # what was typed is visible on a terminal only
        try:
            questionnaire.answer(None if text == UNKNOWN else value_of_text(variable, text))
        except DataError as error:
            complain(str(error))
            _show(args, _prompt(questionnaire, question))
            continue
        return True
    _show(args, "\n")
    return False


def _result(args: Namespace, questionnaire: Questionnaire, stopped: str) -> dict[str, Any]:
    return {
        "file": args.model,
        "class": questionnaire.questions.target,
        "states": list(questionnaire.classes),
        "posterior": questionnaire.posterior,
        "prediction": questionnaire.prediction,
        "stopped": stopped,
        "spent": questionnaire.spent,
        "history": [answer._asdict() for answer in questionnaire.history],
        "remaining": questionnaire.questions.columns(),
    }


def _lines(questionnaire: Questionnaire, stopped: str) -> list[str]:
    rows = [[str(label), f"{p:.6f}"] for label, p in zip(questionnaire.classes, questionnaire.posterior, strict=True)]
    table = text_table([named(questionnaire.questions.target), "probability"], rows)
    return [f"predicted class: {escaped(questionnaire.prediction)} ({_REASONS[stopped]})", "", *table]


COMMAND = Command(
    "ask",
    "Ask for the features of a case, the most informative first, until its class is probable enough.",
    (
        "naivete ask weather.nvt",
        "naivete ask weather.nvt --given outlook=sunny --sure 0.9 --questions 5",
        "printf 'sunny\\n?\\n' | naivete ask weather.nvt --json",
    ),
    arguments,
    run,
)
