"""`naivete convert`: convert a table or a network to another format."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from naivete.cli.inputs import is_network, read_network_file, read_table
from naivete.cli.options import NETWORK_FORMATS, check_ending, check_output, has_ending, network_options, reading_options
from naivete.cli.output import counted, escaped, json_text, note, say
from naivete.cli.parsing import Command
from naivete.errors import ParameterError

__all__ = ["COMMAND"]


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("data", metavar="IN", help="table, network or model file to read")
    parser.add_argument(
        "out",
        metavar="OUT",
        help=f"output file: a table as .arff, .csv, .tsv (or these with .gz) or .parquet; a network as {NETWORK_FORMATS}",
    )
    parser.add_argument("--force", action="store_true", help="replace an existing file")
    parser.add_argument("--spreadsheet-safe", action="store_true", help="mark texts that a spreadsheet would take for formulas")
    reading_options(parser)
    network_options(parser)


def run(args: Namespace) -> int:
    """Read the input and write it in the format of the output."""
    check_output(args.out, [args.data], args.force)
    sizes = _convert_network(args) if args.format is None and is_network(args.data) else _convert_table(args)
    listed = ", ".join(counted(count, noun.removesuffix("s")) for noun, count in sizes.items())
    say(json_text({"data": args.data, "file": args.out, **sizes}) if args.json else escaped(f"{args.out}: {listed}"))
    return 0


def _convert_table(args: Namespace) -> dict[str, int]:
    from naivete.data.files import write

    check_ending(args.out)
    table = read_table(args.data, args)
    options: dict[str, Any] = {} if has_ending(args.out, ".parquet", ".pq") else {"as_text": True}
    if args.spreadsheet_safe and has_ending(args.out, ".csv", ".tsv", ".tab"):
        options["spreadsheet_safe"] = True
    write(table, args.out, overwrite=args.force, **options)
    return {"rows": len(table), "columns": len(table.columns)}


def _convert_network(args: Namespace) -> dict[str, int]:
    from naivete.network.formats import named_network_format, write_network

    format = named_network_format(args.out)
    if format is None:
        raise ParameterError(f"{args.out}: the name does not show the format of the network; end it in {NETWORK_FORMATS}")
    network = read_network_file(args.data, args)
    if all(variable.known == 0 for variable in network.variables):
        note(f"{args.data}: the network has names and arcs only; the variables are written without states")
    elif format in ("dot", "string"):
        note(f"{args.out}: this format has names and arcs only; states and tables are left out")
    write_network(network, args.out, overwrite=args.force)
    arcs = sum(map(len, network.parents.values()))
    return {"variables": len(network.variables), "arcs": arcs, "cells": network.cells}


COMMAND = Command(
    "convert",
    "Convert a table between ARFF, CSV, TSV and Parquet, or a network between BIF, XMLBIF, HUGIN, GeNIe and others.",
    (
        "naivete convert weather.arff weather.csv",
        "naivete convert big.csv.gz big.parquet --kinds zip=nominal",
        "naivete convert weather.nvt weather.bif",
        "naivete convert alarm.bif alarm.xdsl",
    ),
    arguments,
    run,
)
