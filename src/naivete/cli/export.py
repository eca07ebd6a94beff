"""`naivete export`: write a model as a program in another language."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from naivete.classifiers.export.formats import FORMATS, OPTIONS
from naivete.cli.inputs import is_network, read_network_file
from naivete.cli.options import check_output, network_options, text_encoding_option
from naivete.cli.output import json_text, say
from naivete.cli.parsing import Command
from naivete.errors import ParameterError

__all__ = ["COMMAND"]


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="model or network file")
    parser.add_argument("--to", choices=tuple(FORMATS), required=True, help="format of the program")
    parser.add_argument("--out", metavar="FILE", help="file to write; by default the program is printed")
    parser.add_argument("--force", action="store_true", help="replace an existing file")
    parser.add_argument(
        "--contributions", action="store_true", default=None, help="onnx: one more output, the contributions by table in bits"
    )
    parser.add_argument("--table", metavar="NAME", help="sql: the table with the rows (data)")
    parser.add_argument(
        "--keys", metavar="COLUMN", nargs="+", action="extend", help="sql: columns of the table to keep in the result"
    )
    parser.add_argument("--name", metavar="PREFIX", help="c: prefix of all names in the file (model)")
    network_options(parser)
    text_encoding_option(parser)


def run(args: Namespace) -> int:
    """Write the program, or print it."""
    from naivete.classifiers.export import export

    check_output(args.out, [args.model], args.force)
    if args.out is None and (FORMATS[args.to].binary or args.json):
        raise ParameterError(f"--to {args.to} with this output needs a file: name it with --out")
    options = {name: value for name in OPTIONS if (value := getattr(args, name, None)) is not None}
    program = export(_model(args), args.to, args.out, overwrite=args.force, **options)
    if args.out is None:
        say(str(program).removesuffix("\n"))
        return 0
    size = len(program.encode() if isinstance(program, str) else program)
    result = {"file": args.model, "output": args.out, "format": args.to, "bytes": size}
    say(json_text(result) if args.json else f"{args.out}: {size / 1000:,.0f} kB of {FORMATS[args.to].title}")
    return 0


def _model(args: Namespace) -> Any:
    """Return the classifier of a model file, or the network of a network file or with another class."""
    from naivete.classifiers.saving import load

    if is_network(args.model) and not args.model.lower().endswith(".nvt"):
        return read_network_file(args.model, args)
    model = load(args.model)
    return model if args.target is None or not model.one_network else read_network_file(args.model, args)


COMMAND = Command(
    "export",
    "Write a model as a program that computes the same probabilities without naivete.",
    (
        "naivete export weather.nvt --to python --out weather.py",
        "naivete export weather.nvt --to onnx --out weather.onnx",
        "naivete export weather.nvt --to sql --table observations --keys id --out weather.sql",
        "naivete export weather.nvt --to c --name weather --out weather.c",
    ),
    arguments,
    run,
)
