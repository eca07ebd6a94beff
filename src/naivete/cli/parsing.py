"""Parsing of the command line into a command and its arguments, with error messages in one line."""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from naivete import __version__
from naivete.classifiers.registry import help_text
from naivete.errors import ParameterError, did_you_mean, quoted

__all__ = ["Command", "Finished", "UsageError", "parse"]

_DESCRIPTION = "Bayesian network classifiers of every degree of naivete: naive Bayes, TAN, k-dependence and beyond."
_EXAMPLES = (
    "naivete demo",
    "naivete describe weather.csv --target play",
    "naivete fit weather.csv --target play --model kdb:k=1 --out weather.nvt",
    "naivete predict weather.nvt tomorrow.csv",
    "naivete evaluate weather.csv --target play --models majority nb tan kdb:k=2",
)
_EXIT_CODES = "exit codes: 0 success, 2 usage, 3 data, 4 model file, 5 resources or files, 130 and 143 when interrupted"


class UsageError(ParameterError):
    """The command line is not valid."""


class Finished(Exception):  # noqa: N818 - not an error
    """The help or the version has been printed, and there is nothing else to do."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True)
class Command:
    """A command of the program.

    Parameters
    ----------
    name : the name of the command.
    help : a description in one line.
    examples : examples of its use.
    arguments : adds the arguments of the command to a parser.
    run : runs the command and returns the exit code.
    standard_input : whether - among the data files is standard input.
    """

    name: str
    help: str
    examples: Sequence[str]
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[Namespace], int]
    standard_input: bool = False


class _StoreOnce(argparse.Action):
    """Store the value of an option; refuse the option when it is repeated with another value."""

    stored: Any = None

    def __call__(self, parser: argparse.ArgumentParser, namespace: Namespace, values: Any, option: str | None = None) -> None:
        """Store a parsed value."""
        if option is not None and self.stored not in (None, values):
            parser.error(f"{option} is given twice, as {quoted(self.stored)} and as {quoted(values)}; give it once")
        self.stored = values
        setattr(namespace, self.dest, values)


class _Parser(argparse.ArgumentParser):
    """An argument parser that raises an error with a message in one line, instead of ending the process."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **options)
        self.register("action", None, _StoreOnce)
        self.register("action", "store", _StoreOnce)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see '{self.prog} --help'")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:  # noqa: ARG002 - argparse's signature
        raise Finished(status)


def parse(commands: Sequence[Command], words: Sequence[str]) -> tuple[Command, Namespace]:
    """Return the command and its arguments.

    Parameters
    ----------
    commands : the commands to choose from.
    words : the command line, without the name of the program.
    """
    parser, by_name = _parser(commands)
    name = next((word for word in words if not word.startswith("-")), None)
    if name is None and not words:
        parser.print_help()
        raise Finished(2)
    if name is not None and name not in by_name:
        hint = did_you_mean(name, by_name, "the commands are")
        raise UsageError(f"there is no command {quoted(name)}; {hint}")
    if name is not None:
        _check_options(words[words.index(name) + 1 :], name, by_name[name][1])
    arguments, unknown = parser.parse_known_args(words)
    if name is None:
        raise UsageError("a command is missing; see 'naivete --help'")
    if unknown:
        raise UsageError(_unknown_argument(unknown[0], name, by_name[name][1]))
    return by_name[name][0], arguments


def _options(parser: argparse.ArgumentParser) -> list[str]:
    return [option for action in parser._actions for option in action.option_strings]


def _check_options(words: Sequence[str], command: str, parser: argparse.ArgumentParser) -> None:
    """Refuse unknown options before argparse reports required arguments that are missing because of them."""
    for word in words:
        if word == "--":
            return
        if word.startswith("--") and word.partition("=")[0] not in _options(parser):
            raise UsageError(_unknown_argument(word, command, parser))


def _unknown_argument(word: str, command: str, parser: argparse.ArgumentParser) -> str:
    """Return the error message for a word that is neither an argument nor an option of the command."""
    if not word.startswith("-"):
        several = any(action.nargs == "+" and not action.option_strings for action in parser._actions)
        hint = "name all files next to each other, before or after the options" if several else f"see 'naivete {command} --help'"
        return f"{command}: {quoted(word)} is one argument too many; {hint}"
    hint = did_you_mean(word.partition("=")[0], _options(parser), f"see 'naivete {command} --help': the options are")
    return f"{command}: there is no option {quoted(word)}; {hint} (for a file of this name, write ./{word} or put -- before it)"


def _parser(commands: Sequence[Command]) -> tuple[_Parser, dict[str, tuple[Command, _Parser]]]:
    """Return the parser of the program, and each command with its own parser, by name."""
    parser = _Parser(prog="naivete", description=_DESCRIPTION, epilog=f"{_example_lines(_EXAMPLES)}\n{help_text()}\n{_EXIT_CODES}")
    parser.add_argument("--version", action="version", version=f"naivete {__version__}")
    parser.add_argument("--debug", action="store_true", help="show a traceback on failure")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", parser_class=_Parser)
    by_name = {}
    for command in commands:
        epilog = _example_lines(command.examples)
        if "model" in epilog:
            epilog += f"\n{help_text()}"
        command_parser = subparsers.add_parser(command.name, help=command.help, description=command.help, epilog=epilog)
        add_arguments(command_parser, command)
        by_name[command.name] = command, command_parser
    return parser, by_name


def add_arguments(parser: argparse.ArgumentParser, command: Command) -> None:
    """Add the arguments of a command to a parser, and the options that every command has."""
    command.arguments(parser)
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help="show a traceback on failure")


def _example_lines(examples: Sequence[str]) -> str:
    return "examples:\n" + "".join([f"  {line}\n" for line in examples])
