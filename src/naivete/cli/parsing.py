"""The words of a command line -> a command and its arguments, with one-line errors that say what was meant."""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from naivete import __version__
from naivete.classifiers.registry import help_text
from naivete.errors import ParameterError, close_matches, quoted

__all__ = ["Command", "Finished", "UsageError", "parse"]

_ABOUT = "Bayesian network classifiers of every degree of naivete: naive Bayes, TAN, k-dependence and beyond."
_EXAMPLES = (
    "naivete demo",
    "naivete describe weather.csv --target play",
    "naivete fit weather.csv --target play --model kdb:k=1 --out weather.nvt",
    "naivete predict weather.nvt tomorrow.csv",
    "naivete evaluate weather.csv --target play --models majority nb tan kdb:k=2",
)
_CODES = "exit codes: 0 success, 2 usage, 3 data, 4 model file, 5 resources or files, 130 and 143 when interrupted"


class UsageError(ParameterError):
    """The words of the command line are not understood."""


class Finished(Exception):  # noqa: N818 - not an error
    """Everything that was asked for has been printed."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True)
class Command:
    """A command.

    Parameters
    ----------
    name : the word for it.
    help : what it does, in one line.
    examples : command lines worth trying.
    arguments : adds its arguments to a parser.
    run : does it, and returns the exit code.
    """

    name: str
    help: str
    examples: Sequence[str]
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[Namespace], int]


class _StoreOnce(argparse.Action):
    """Store the value of an option; refuse the option when it is repeated with another value."""

    stored: Any = None

    def __call__(self, parser: argparse.ArgumentParser, namespace: Namespace, values: Any, option: str | None = None) -> None:
        """Store the value, which argparse has parsed."""
        if option is not None and self.stored not in (None, values):
            parser.error(f"{option} is given twice, as {quoted(self.stored)} and as {quoted(values)}; give it once")
        self.stored = values
        setattr(namespace, self.dest, values)


class _Parser(argparse.ArgumentParser):
    """An argument parser that raises its errors, in one line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **options)
        self.register("action", None, _StoreOnce)
        self.register("action", "store", _StoreOnce)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see '{self.prog} --help'")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:  # noqa: ARG002 - argparse's signature
        raise Finished(status)


def parse(commands: Sequence[Command], words: Sequence[str]) -> tuple[Command, Namespace]:
    """The command and its arguments."""
    parser, of = _parser(commands)
    named = next((word for word in words if not word.startswith("-")), None)
    if named is None and not words:
        parser.print_help()
        raise Finished(2)
    if named is not None and named not in of:
        close = close_matches(named, of)
        hint = f"did you mean {' or '.join(close)}?" if close else f"the commands are {', '.join(of)}"
        raise UsageError(f"there is no command {quoted(named)}; {hint}")
    if named is not None:
        _check_options(words[words.index(named) + 1 :], named, of[named][1])
    arguments, strange = parser.parse_known_args(words)
    if named is None:
        raise UsageError("a command is missing; see 'naivete --help'")
    if strange:
        raise UsageError(_strange(strange[0], named, of[named][1]))
    return of[named][0], arguments


def _options(parser: argparse.ArgumentParser) -> list[str]:
    return [option for action in parser._actions for option in action.option_strings]


def _check_options(words: Sequence[str], command: str, parser: argparse.ArgumentParser) -> None:
    """Refuse an option that does not exist before argparse complains of what it therefore misses."""
    for word in words:
        if word == "--":
            return
        if word.startswith("--") and word.partition("=")[0] not in _options(parser):
            raise UsageError(_strange(word, command, parser))


def _strange(word: str, command: str, parser: argparse.ArgumentParser) -> str:
    """What is wrong with a word that no argument takes."""
    if not word.startswith("-"):
        several = any(action.nargs == "+" and not action.option_strings for action in parser._actions)
        hint = "name all files next to each other, before or after the options" if several else f"see 'naivete {command} --help'"
        return f"{command}: {quoted(word)} is one argument too many; {hint}"
    close = close_matches(word.partition("=")[0], _options(parser), 1)
    hint = f"did you mean {close[0]}?" if close else f"see 'naivete {command} --help'"
    return f"{command}: there is no option {quoted(word)}; {hint} (a file of that name: write ./{word} or put -- before it)"


def _parser(commands: Sequence[Command]) -> tuple[_Parser, dict[str, tuple[Command, _Parser]]]:
    parser = _Parser(prog="naivete", description=_ABOUT, epilog=f"{_listed(_EXAMPLES)}\n{help_text()}\n{_CODES}")
    parser.add_argument("--version", action="version", version=f"naivete {__version__}")
    parser.add_argument("--debug", action="store_true", help="show a traceback on failure")
    inner = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", parser_class=_Parser)
    of = {}
    for command in commands:
        epilog = _listed(command.examples) + (f"\n{help_text()}" if any("model" in line for line in command.examples) else "")
        command_parser = inner.add_parser(command.name, help=command.help, description=command.help, epilog=epilog)
        add_arguments(command_parser, command)
        of[command.name] = command, command_parser
    return parser, of


def add_arguments(parser: argparse.ArgumentParser, command: Command) -> None:
    """Add the arguments of a command to a parser, and the options that every command has."""
    command.arguments(parser)
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help="show a traceback on failure")


def _listed(examples: Sequence[str]) -> str:
    return "examples:\n" + "".join(f"  {line}\n" for line in examples)
