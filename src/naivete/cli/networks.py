"""Networks for the commands: which files hold one, the options that say how to read it, and how it is read."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING, Final

from naivete.errors import quoted

if TYPE_CHECKING:
    from naivete.network.network import Network

__all__ = ["LISTED", "encoding_option", "is_network", "network_options", "read_network_of"]

LISTED: Final = ".bif, .xml (XMLBIF), .net (HUGIN), .xdsl (GeNIe), .dot, .bnl (model string)"
"""The endings of networks, for people."""
_MODEL: Final = ".nvt"


def network_options(parser: ArgumentParser) -> None:
    """How to read a network."""
    group = parser.add_argument_group(f"networks ({LISTED}; these may be gzipped; or a model, {_MODEL})")
    group.add_argument("--target", metavar="VARIABLE", help="the class; by default the one that the file marks, else the last one")
    group.add_argument(
        "--tolerance",
        type=_tolerance,
        default=1e-6,
        metavar="DIFFERENCE",
        help="how far from 1 the probabilities of two states may sum (1e-6)",
    )


def encoding_option(parser: ArgumentParser) -> None:
    """How the characters of a network are written."""
    parser.add_argument("--encoding", default="utf-8", help="how a text file is written (utf-8)")


def _tolerance(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:
        raise ArgumentTypeError(f"{quoted(text)} is not a number from 0 to less than 1")
    return value


def is_network(path: str) -> bool:
    """Whether the name of a file is that of a network or a model."""
    from naivete.network.formats import named_network_format

    return path.lower().endswith(_MODEL) or named_network_format(path) is not None


def read_network_of(path: str, args: Namespace) -> Network:
    """The network of a model or of a file in another format; what is neither has to be told apart by its name."""
    from naivete.network.formats import dumps, loads, read_network

    if not path.lower().endswith(_MODEL):
        return read_network(path, target=args.target, encoding=args.encoding, tolerance=args.tolerance)

    from naivete.classifiers.saving import load

    network = load(path).network_
    return network if args.target is None else loads(dumps(network, "bif"), "bif", target=args.target, where=path)
