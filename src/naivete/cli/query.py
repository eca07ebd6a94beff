"""`naivete query`: what a network says of some variables, given others."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from naivete.cli.inputs import read_network_file
from naivete.cli.options import bytes_of, network_options, text_encoding_option
from naivete.cli.output import escaped, json_text, named, say, text_table
from naivete.cli.parsing import Command
from naivete.errors import DataError, ParameterError, close_matches, quoted

if TYPE_CHECKING:
    from naivete.network.network import Network
    from naivete.variables import Name, State, Variable

__all__ = ["COMMAND"]

_ROWS = 1000
"""The most rows of a joint table that are printed."""


def arguments(parser: ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("model", metavar="NETWORK", help="a network or a model file")
    parser.add_argument("--given", action="extend", nargs="+", default=[], metavar="NAME=STATE", help="what is known")
    parser.add_argument(
        "--of", action="extend", nargs="+", metavar="NAME", help="the variables asked for; by default all that are not known"
    )
    parser.add_argument("--joint", action="store_true", help="the joint distribution of those variables")
    parser.add_argument("--mpe", action="store_true", help="the most probable states of all that is not known, together")
    parser.add_argument("--log-probability", action="store_true", help="the natural logarithm of the probability of what is known")
    parser.add_argument("--budget", type=bytes_of, metavar="BYTES", help="the most that tables may take, such as 500MB or 8GiB")
    network_options(parser)
    text_encoding_option(parser)


def run(args: Namespace) -> int:
    """Answer, and print the answers."""
    if args.joint and not args.of:
        raise ParameterError("--joint needs the variables; name them with --of")
    network = read_network_file(args.model, args)
    if not any(variable.known for variable in network.variables):
        raise DataError(f"{args.model}: it has arcs, but no states and no probabilities: there is nothing to ask; fit a model")
    given = _given(network, args.given, args.model)
    of = None if args.of is None else [_named(network, text, args.model) for text in args.of]
    answers = _answers(network, args, of, given)
    say(json_text({"file": args.model, **answers}) if args.json else "\n".join(_told(network, answers)))
    return 0


def _given(network: Network, words: Sequence[str], file: str) -> dict[Name, State]:
    """What is known: NAME=STATE, where a name may have = in it."""
    given: dict[Name, State] = {}
    for word in words:
        name, value = _parted(network, word, file)
        if name in given:
            raise ParameterError(f"--given: {quoted(name)} is given twice")
        given[name] = _value(next(v for v in network.variables if v.name == name), value)
    return given


def _parted(network: Network, word: str, file: str) -> tuple[Name, str]:
    pieces = word.split("=")
    if len(pieces) == 1:
        raise ParameterError(f"--given: {quoted(word)} names no state; write NAME=STATE")
    for count in range(1, len(pieces)):
        name = "=".join(pieces[:count])
        if any(str(variable.name) == name for variable in network.variables):
            return _named(network, name, file), "=".join(pieces[count:])
    return _named(network, pieces[0], file), ""


def _named(network: Network, text: str, file: str) -> Name:
    """The name that a text stands for: itself, else one that looks like it."""
    names = [variable.name for variable in network.variables]
    alike = [name for name in names if str(name) == text]
    if alike:
        return text if text in alike else alike[0]
    close = close_matches(text, names)
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"it has {quoted(names, 200)}"
    raise DataError(f"{file}: there is no variable {quoted(text)}; {hint}")


def _value(variable: Variable, text: str) -> State:
    """A number where the variable has intervals, else the text."""
    try:
        return float(text) if variable.cuts is not None else text
    except ValueError:
        return text


def _answers(network: Network, args: Namespace, of: list[Name] | None, given: dict[Name, State]) -> dict[str, Any]:
    from naivete.inference import queries
    from naivete.inference.junction import JunctionTree

    tree = JunctionTree(network) if args.budget is None else JunctionTree(network, budget=args.budget)
    found: dict[str, Any] = {"given": [{"variable": name, "value": value} for name, value in given.items()]}
    if args.log_probability:
        found["log_probability"] = queries.log_probability(tree, given)
    if args.mpe:
        states, log = queries.most_probable(tree, given)
        listed = [{"variable": name, "state": state} for name, state in states.items()]
        found["most_probable"] = {"states": listed, "log_probability": log}
    if args.joint and of is not None:
        found["joint"] = {"of": of, "probabilities": queries.posterior(tree, of, given).tolist()}
    elif of is not None:
        found["posteriors"] = [_posterior(network, name, queries.posterior(tree, name, given).tolist()) for name in of]
    elif not (args.log_probability or args.mpe):
        every = queries.marginals(tree, given)
        found["posteriors"] = [_posterior(network, name, own.tolist()) for name, own in every.items() if name not in given]
    return found


def _posterior(network: Network, name: Name, probabilities: list[float]) -> dict[str, Any]:
    return {"of": name, "states": list(_variable(network, name).labels), "probabilities": probabilities}


def _variable(network: Network, name: Name) -> Variable:
    return next(variable for variable in network.variables if variable.name == name)


def _told(network: Network, answers: dict[str, Any]) -> list[str]:
    """The answers as lines, an empty one between two of them."""
    known = ", ".join(f"{named(own['variable'])}={own['value']}" for own in answers["given"])
    blocks: list[list[str]] = []
    if "log_probability" in answers:
        blocks.append([escaped(f"log P({known}) = {answers['log_probability']:.6f}")])
    if "most_probable" in answers:
        blocks.append(_explanation(answers["most_probable"], known))
    if "joint" in answers:
        blocks.append(_joint(network, answers["joint"], known))
    for own in answers.get("posteriors", ()):
        rows = [[state, f"{p:.6f}"] for state, p in zip(own["states"], own["probabilities"], strict=True)]
        blocks.append([_title([own["of"]], known), *text_table([named(own["of"]), "probability"], rows)])
    return [line for place, block in enumerate(blocks) for line in ([""] if place else []) + block]


def _title(of: Sequence[Name], known: str) -> str:
    asked = ", ".join(map(named, of))
    return escaped(f"P({asked} | {known})" if known else f"P({asked})")


def _explanation(found: dict[str, Any], known: str) -> list[str]:
    rows = [[named(own["variable"]), own["state"]] for own in found["states"]]
    given = f" given {known}" if known else ""
    title = escaped(f"most probable states{given}: log P = {found['log_probability']:.6f}")
    return [title, *text_table(["variable", "state"], rows, left=(0, 1))]


def _joint(network: Network, found: dict[str, Any], known: str) -> list[str]:
    labels = [_variable(network, name).labels for name in found["of"]]
    rows = [[*states, f"{p:.6f}"] for states, p in islice(_cells(labels, found["probabilities"]), _ROWS)]
    headers = [*map(named, found["of"]), "probability"]
    more = [f"(the first {_ROWS} rows)"] if len(rows) == _ROWS else []
    return [_title(found["of"], known), *text_table(headers, rows, left=range(len(labels))), *more]


def _cells(labels: Sequence[Sequence[str]], nested: Any) -> Iterator[tuple[tuple[str, ...], float]]:
    if not labels:
        yield (), nested
        return
    for label, inner in zip(labels[0], nested, strict=True):
        for rest, probability in _cells(labels[1:], inner):
            yield (label, *rest), probability


COMMAND = Command(
    "query",
    "Ask a network for probabilities, given what is known.",
    (
        "naivete query weather.nvt --given outlook=sunny windy=no --of play",
        "naivete query alarm.bif --given HRBP=HIGH --of STROKEVOLUME LVFAILURE --joint",
        "naivete query alarm.bif --given HRBP=HIGH --mpe --log-probability --json",
    ),
    arguments,
    run,
)
