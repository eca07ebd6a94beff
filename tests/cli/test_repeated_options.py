"""An option that takes several values adds them up when it is repeated; one that takes a single value is given once."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import pytest

from naivete import cli
from naivete.cli.parsing import Command, add_arguments, parse
from tests.cli.conftest import Run

PAIRS = (("1", "2"), ("0.1", "0.2"))


def options(command: Command) -> list[argparse.Action]:
    parser = argparse.ArgumentParser()
    add_arguments(parser, command)
    return [action for action in parser._actions if action.nargs != 0]


def is_several(action: argparse.Action) -> bool:
    return action.nargs in ("+", "*") or type(action).__name__ in ("_AppendAction", "_ExtendAction")


def required(command: Command, other: argparse.Action) -> Iterator[str]:
    """The words without which the command is refused."""
    for action in options(command):
        if action.required and action.dest != other.dest:
            yield from (*action.option_strings[:1], str(next(iter(action.choices))) if action.choices else "x")


def two_values(action: argparse.Action) -> tuple[str, str]:
    """Two different values that the option accepts."""
    if action.choices:
        first, second, *_ = action.choices
        return str(first), str(second)
    if not callable(action.type):
        return "a", "b"
    for pair in PAIRS:
        try:
            [action.type(text) for text in pair]
        except (ValueError, argparse.ArgumentTypeError):
            continue
        return pair
    raise AssertionError(action.dest)


REPEATED = [
    pytest.param(command, action, id=f"{command.name} {action.option_strings[0]}")
    for command in cli.COMMANDS
    for action in options(command)
    if action.option_strings
]


@pytest.mark.parametrize(("command", "action"), REPEATED)
def test_a_repeated_option(command: Command, action: argparse.Action, run: Run) -> None:
    first, second = two_values(action)
    option = action.option_strings[0]
    words = [command.name, *required(command, action), option, first, option]
    if is_several(action):
        _, arguments = parse([command], [*words, second])
        assert getattr(arguments, action.dest) == [first, second]
        return
    code, out, err = run(*words, second)
    assert (code, out) == (2, "")
    assert f"{option} is given twice, as " in err
    parse([command], [*words, first])


def test_what_is_known_adds_up(run: Run, model: Path) -> None:
    words = ["query", model, "--json", "--of", "play"]
    apart = run(*words, "--given", "outlook=rain", "--given", "windy=yes")
    assert apart == run(*words, "--given", "outlook=rain", "windy=yes")
    assert [known["variable"] for known in apart.json["given"]] == ["outlook", "windy"]


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        (["windy=numeric", "nominal"], "--kinds: nominal is for all features and contradicts 'windy=numeric'"),
        (["nominal", "numeric"], "--kinds: nominal is for all features and contradicts 'numeric'"),
        (["windy=nominal", "windy=numeric"], "--kinds: column 'windy' is declared both nominal and numeric"),
    ],
)
def test_kinds_that_contradict_each_other(run: Run, weather: Path, kinds: list[str], message: str) -> None:
    code, _, err = run("describe", weather, *(word for kind in kinds for word in ("--kinds", kind)))
    assert code == 2
    assert message in err
