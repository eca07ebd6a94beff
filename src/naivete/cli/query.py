"""`naivete query`: posterior probabilities of the variables of a network, given evidence."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from naivete.cli.evidence import name_of, named_texts, value_of_text
from naivete.cli.inputs import read_network_file
from naivete.cli.options import bytes_of, network_options, text_encoding_option
from naivete.cli.output import escaped, json_text, named, say, text_table
from naivete.cli.parsing import Command
from naivete.errors import DataError, ParameterError

if TYPE_CHECKING:
    from naivete.network.network import Network
    from naivete.variables import Name, State, Variable

__all__ = ["COMMAND"]

_ROWS = 1000
"""The largest number of rows of a joint table that is printed."""


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("model", metavar="NETWORK", help="network or model file")
    parser.add_argument(
        "--given", action="extend", nargs="+", default=[], metavar="NAME=STATE", help="evidence: the observed states"
    )
    parser.add_argument(
        "--of", action="extend", nargs="+", metavar="NAME", help="query variables; by default all that are not observed"
    )
    parser.add_argument("--joint", action="store_true", help="print the joint distribution of the query variables")
    parser.add_argument(
        "--mpe", action="store_true", help="print the most probable joint state of all variables that are not observed"
    )
    parser.add_argument(
        "--log-probability", action="store_true", help="print the natural logarithm of the probability of the evidence"
    )
    parser.add_argument("--budget", type=bytes_of, metavar="BYTES", help="memory limit for the tables, such as 500MB or 8GiB")
    network_options(parser)
    text_encoding_option(parser)


def run(args: Namespace) -> int:
    """Compute the probabilities and print them."""
    if args.joint and not args.of:
        raise ParameterError("--joint needs the variables; name them with --of")
    network = read_network_file(args.model, args)
    if not any(variable.known for variable in network.variables):
        raise DataError(
            f"{args.model}: the network has arcs, but no states and no probabilities; query another file, or a fitted model"
        )
    evidence = _evidence(network, args.given, args.model)
    of = None if args.of is None else [name_of(network.variables, text, args.model) for text in args.of]
    results = _results(network, args, of, evidence)
    say(json_text({"file": args.model, **results}) if args.json else "\n".join(_lines(network, results)))
    return 0


def _evidence(network: Network, texts: Sequence[str], file: str) -> dict[Name, State]:
    """Return the observed states, which are given as NAME=STATE."""
    named_values = named_texts(network.variables, texts, file, "--given")
    return {name: value_of_text(_variable(network, name), text) for name, text in named_values.items()}


def _results(network: Network, args: Namespace, of: list[Name] | None, evidence: dict[Name, State]) -> dict[str, Any]:
    from naivete.inference import queries
    from naivete.inference.junction import JunctionTree

    tree = JunctionTree(network) if args.budget is None else JunctionTree(network, budget=args.budget)
    results: dict[str, Any] = {"given": [{"variable": name, "value": value} for name, value in evidence.items()]}
    if args.log_probability:
        results["log_probability"] = queries.log_probability(tree, evidence)
    if args.mpe:
        states, log = queries.most_probable(tree, evidence)
        listed = [{"variable": name, "state": state} for name, state in states.items()]
        results["most_probable"] = {"states": listed, "log_probability": log}
    if args.joint and of is not None:
        results["joint"] = {"of": of, "probabilities": queries.posterior(tree, of, evidence).to_numpy().tolist()}
    elif of is not None:
        results["posteriors"] = [_posterior(network, name, [*queries.posterior(tree, name, evidence).values()]) for name in of]
    elif not (args.log_probability or args.mpe):
        marginals = queries.marginals(tree, evidence)
        results["posteriors"] = [
            _posterior(network, name, [*table.values()]) for name, table in marginals.items() if name not in evidence
        ]
    return results


def _posterior(network: Network, name: Name, probabilities: list[float]) -> dict[str, Any]:
    return {"of": name, "states": list(_variable(network, name).labels), "probabilities": probabilities}


def _variable(network: Network, name: Name) -> Variable:
    return next(variable for variable in network.variables if variable.name == name)


def _lines(network: Network, results: dict[str, Any]) -> list[str]:
    """Return the results as text, with an empty line between two of them."""
    evidence = ", ".join(f"{named(observed['variable'])}={observed['value']}" for observed in results["given"])
    blocks: list[list[str]] = []
    if "log_probability" in results:
        blocks.append([escaped(f"log P({evidence}) = {results['log_probability']:.6f}")])
    if "most_probable" in results:
        blocks.append(_most_probable(results["most_probable"], evidence))
    if "joint" in results:
        blocks.append(_joint(network, results["joint"], evidence))
    for posterior in results.get("posteriors", ()):
        rows = [[state, f"{p:.6f}"] for state, p in zip(posterior["states"], posterior["probabilities"], strict=True)]
        blocks.append([_title([posterior["of"]], evidence), *text_table([named(posterior["of"]), "probability"], rows)])
    return [line for i, block in enumerate(blocks) for line in ([""] if i else []) + block]


def _title(of: Sequence[Name], evidence: str) -> str:
    names = ", ".join(map(named, of))
    return escaped(f"P({names} | {evidence})" if evidence else f"P({names})")


def _most_probable(result: dict[str, Any], evidence: str) -> list[str]:
    rows = [[named(entry["variable"]), entry["state"]] for entry in result["states"]]
    given = f" given {evidence}" if evidence else ""
    title = escaped(f"most probable states{given}: log P = {result['log_probability']:.6f}")
    return [title, *text_table(["variable", "state"], rows, left=(0, 1))]


def _joint(network: Network, result: dict[str, Any], evidence: str) -> list[str]:
    labels = [_variable(network, name).labels for name in result["of"]]
    rows = [[*states, f"{p:.6f}"] for states, p in islice(_cells(labels, result["probabilities"]), _ROWS)]
    headers = [*map(named, result["of"]), "probability"]
    more = [f"(the first {_ROWS} rows)"] if len(rows) == _ROWS else []
    return [_title(result["of"], evidence), *text_table(headers, rows, left=range(len(labels))), *more]


def _cells(labels: Sequence[Sequence[str]], nested: Any) -> Iterator[tuple[tuple[str, ...], float]]:
    """Yield the states and the probability of each cell of a nested list."""
    if not labels:
        yield (), nested
        return
    for label, inner in zip(labels[0], nested, strict=True):
        for rest, probability in _cells(labels[1:], inner):
            yield (label, *rest), probability


COMMAND = Command(
    "query",
    "Compute posterior probabilities of the variables of a network, given evidence.",
    (
        "naivete query weather.nvt --given outlook=sunny windy=no --of play",
        "naivete query alarm.bif --given HRBP=HIGH --of STROKEVOLUME LVFAILURE --joint",
        "naivete query alarm.bif --given HRBP=HIGH --mpe --log-probability --json",
    ),
    arguments,
    run,
)
