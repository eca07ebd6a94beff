"""`naivete explore`: write an HTML page that runs a model in the browser."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from naivete.cli.inputs import is_network, read_network_file
from naivete.cli.options import check_output, network_options, text_encoding_option
from naivete.cli.output import counted, json_text, say, write_text
from naivete.cli.parsing import Command
from naivete.errors import ParameterError
from naivete.variables import CLASS

if TYPE_CHECKING:
    from naivete.classifiers.base import NetworkClassifier
    from naivete.network.network import Network

__all__ = ["COMMAND"]


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="model or network file")
    parser.add_argument("--html", metavar="FILE", required=True, help="the HTML page to write")
    parser.add_argument("--force", action="store_true", help="replace an existing file")
    network_options(parser)
    text_encoding_option(parser)


def run(args: Namespace) -> int:
    """Write the page, and print its size."""
    check_output(args.html, [args.model], args.force)
    model = _model(args)
    network = read_network_file(args.model, args) if model is None else model.network_
    text = str(_page(args, network, model))
    write_text(args.html, text, args.force)
    size = len(text.encode())
    features = len(network.inputs)
    result = {"file": args.model, "html": args.html, "bytes": size, "features": features, "target": network.name(CLASS)}
    lines = [f"{args.html}: {counted(features, 'feature')}, {size / 1000:,.0f} kB; open it in a browser"]
    say(*([json_text(result)] if args.json else lines))
    return 0


def _model(args: Namespace) -> NetworkClassifier | None:
    """Return the model of a model file, None for a network file or if another class is chosen."""
    from naivete.classifiers.saving import load

    if is_network(args.model) and not args.model.lower().endswith(".nvt"):
        return None
    model = load(args.model)
    _check(model)
    return model if args.target is None else None


def _check(model: NetworkClassifier) -> None:
    """Refuse a classifier that is not one network or one tree."""
    from naivete.classifiers.explaining import one_network_classifiers
    from naivete.network.derived_columns import Hierarchy

    is_hierarchy = any(isinstance(column, Hierarchy) for column in model.network_.derived.values())
    if not model.one_network or is_hierarchy:
        supported = [name for name in one_network_classifiers() if name != "Recursive"]
        reason = "is a hierarchy of classifiers" if is_hierarchy else "does not predict with one network"
        raise ParameterError(
            f"{type(model).__name__} {reason}, and a page runs one network or one tree; choose among {', '.join(supported)}"
        )


def _page(args: Namespace, network: Network, model: NetworkClassifier | None) -> Any:
    from naivete.classifiers.specification import spec_of
    from naivete.display.explore import explore_page
    from naivete.display.page import model_title

    facts = f"{PurePath(args.model).name}: {counted(len(network.inputs), 'feature')}"
    if model is None:
        return explore_page(network, model_title("Network", network.name(CLASS)), facts=facts)
    parameters = ", ".join(f"{name}={value}" for name, value in spec_of(model).parameters.items())
    cases = f", learned from {model.cases_:,.10g} cases" if hasattr(model, "cases_") else ""
    return explore_page(
        network,
        model_title(type(model).__name__, network.name(CLASS), parameters),
        training=model.training(),
        temperature=getattr(model, "temperature_", 1.0),
        information=model.information_,
        facts=f"{facts}{cases}",
    )


COMMAND = Command(
    "explore",
    "Write an HTML page that runs a model in the browser: choose values, see probabilities, reasons and next questions.",
    (
        "naivete explore weather.nvt --html weather.html",
        "naivete explore alarm.bif --target HISTORY --html alarm.html --force",
    ),
    arguments,
    run,
)
