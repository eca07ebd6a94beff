"""`naivete fit`: from a file of cases to a model file."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from naivete.cli.output import counted, escaped, json_text, note, say
from naivete.cli.parsing import Command
from naivete.cli.tables import (
    check_output,
    encoder_of,
    encoding_options,
    labelled_cases,
    output_options,
    reading_options,
    target_options,
)

if TYPE_CHECKING:
    from naivete.classifiers import NetworkClassifier
    from naivete.experiments import Labelled

__all__ = ["COMMAND"]


def arguments(parser: ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("data", metavar="DATA", help="the training cases")
    parser.add_argument("--model", default="kdb:k=2", help="which model to learn (kdb:k=2)")
    output_options(parser, "the model file, by convention with the ending .nvt", required=True)
    target_options(parser)
    encoding_options(parser)
    reading_options(parser)


def run(args: Namespace) -> int:
    """Learn, save, and say what came out."""
    from naivete.models import parsed

    spec = parsed(args.model)
    check_output(args.out, [args.data], args.force)
    cases = labelled_cases(args.data, args)
    if cases.dropped:
        note(f"left out, without a class: {counted(cases.dropped, 'row')}")

    from naivete.models import classifier_of
    from naivete.saving import save

    started = time.perf_counter()
    model = classifier_of(spec, encoder=encoder_of(args, cases)).fit(cases.features, cases.column, cases.weight)
    seconds = time.perf_counter() - started
    save(model, args.out, overwrite=args.force)
    summary = _summary(model, cases, seconds) | {"model": str(spec), "data": args.data, "file": args.out}
    say(*([json_text(summary)] if args.json else _told(summary)))
    return 0


def _summary(model: NetworkClassifier, cases: Labelled, seconds: float) -> dict[str, Any]:
    network = model.network_
    return {
        "target": cases.target,
        "rows": len(cases),
        "features": len(network.features),
        "classes": model.classes_.tolist(),
        "arcs": len(network.arcs),
        "cells": network.cells,
        "passes": model.passes_,
        "seconds": round(seconds, 6),
    }


def _told(summary: dict[str, Any]) -> list[str]:
    classes = summary["classes"]
    few = ", ".join(map(str, classes[:6])) + (", ..." if len(classes) > 6 else "")
    lines = {
        "rows": f"{summary['rows']:,}",
        "features": f"{summary['features']:,}, with {counted(summary['arcs'], 'arc')} between them",
        "classes": f"{len(classes):,} of {summary['target']}: {few}",
        "tables": f"{summary['cells']:,} cells",
        "training": f"{summary['seconds']:.3f} s, {summary['passes']} passes over the rows",
        "saved as": summary["file"],
    }
    head = f"{summary['model']} learned from {summary['data']}"
    return [escaped(head), *(f"  {name:<9} {escaped(value)}" for name, value in lines.items())]


COMMAND = Command(
    "fit",
    "Learn a model from a file of cases and save it.",
    (
        "naivete fit weather.arff --out weather.nvt",
        "naivete fit mushrooms.csv --target class --model tan --out mushrooms.nvt",
        "naivete fit patients.csv --target outcome --kinds zip=nominal --cut frequency:5 --model kdb:k=1 --out patients.nvt",
    ),
    arguments,
    run,
)
