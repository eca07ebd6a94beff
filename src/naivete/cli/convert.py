"""`naivete convert`: a table from one format to another."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from naivete.cli.output import counted, escaped, json_text, say
from naivete.cli.parsing import Command
from naivete.cli.tables import check_ending, check_output, read_table, reading_options

__all__ = ["COMMAND"]


def arguments(parser: ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("data", metavar="IN", help="the table to read")
    parser.add_argument(
        "out", metavar="OUT", help="the table to write, by its name: .arff, .csv, .tsv (or these with .gz), .parquet"
    )
    parser.add_argument("--force", action="store_true", help="replace the file if there is one")
    parser.add_argument("--spreadsheet-safe", action="store_true", help="keep spreadsheets from taking texts for formulas")
    reading_options(parser)


def run(args: Namespace) -> int:
    """Read and write."""
    from naivete.files import write

    check_output(args.out, [args.data], args.force)
    check_ending(args.out)
    table = read_table(args.data, args)
    name = args.out.lower().removesuffix(".gz")
    options: dict[str, Any] = (
        {"spreadsheet_safe": True} if args.spreadsheet_safe and name.endswith((".csv", ".tsv", ".tab")) else {}
    )
    if not name.endswith((".parquet", ".pq")):
        options["as_text"] = True
    write(table, args.out, overwrite=args.force, **options)
    done = {"data": args.data, "file": args.out, "rows": len(table), "columns": len(table.columns)}
    size = f"{counted(len(table), 'row')}, {counted(len(table.columns), 'column')}"
    say(json_text(done) if args.json else escaped(f"{args.out}: {size}"))
    return 0


COMMAND = Command(
    "convert",
    "Convert a table between ARFF, CSV, TSV and Parquet.",
    ("naivete convert weather.arff weather.csv", "naivete convert big.csv.gz big.parquet --kinds zip=nominal"),
    arguments,
    run,
)
