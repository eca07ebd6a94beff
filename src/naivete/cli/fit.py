"""`naivete fit`: from a file of cases to a model file."""

from __future__ import annotations

import math
import time
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from naivete.cli.output import counted, escaped, json_text, named, note, say
from naivete.cli.parsing import Command
from naivete.cli.tables import (
    check_output,
    encoder_of,
    encoding_options,
    labelled_cases,
    output_options,
    reading_options,
    resource_options,
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
    resource_options(parser)


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
    model = classifier_of(spec, encoder=encoder_of(args, cases), budget=args.budget)
    model.fit(cases.features, cases.column, cases.weight)
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
        **_chosen(model),
    }


def _chosen(model: NetworkClassifier) -> dict[str, dict[str, int | float | str]]:
    """What the parameters that were "auto" became; infinity as text, which JSON can hold."""
    found = {name: getattr(model, f"{name}_", None) for name in ("k", "theta") if getattr(model, name, None) == "auto"}
    told = {name: value if math.isfinite(value) else str(value) for name, value in found.items() if value is not None}
    return {"chosen": told} if told else {}


def _told(summary: dict[str, Any]) -> list[str]:
    classes = summary["classes"]
    few = ", ".join(map(str, classes[:6])) + (", ..." if len(classes) > 6 else "")
    lines = {
        **({"chosen": _chosen_told(summary["chosen"])} if "chosen" in summary else {}),
        "rows": f"{summary['rows']:,}",
        "features": f"{summary['features']:,}, with {counted(summary['arcs'], 'arc')} between them",
        "classes": f"{len(classes):,} of {named(summary['target'])}: {few}",
        "tables": f"{counted(summary['cells'], 'cell')}",
        "training": f"{summary['seconds']:.3f} s, {counted(summary['passes'], 'pass')} over the rows",
        "saved as": summary["file"],
    }
    head = f"{summary['model']} learned from {summary['data']}"
    return [escaped(head), *(f"  {name:<9} {escaped(value)}" for name, value in lines.items())]


def _chosen_told(chosen: dict[str, int | float | str]) -> str:
    """The chosen parameters in words.

    >>> _chosen_told({"k": 1, "theta": 0.03125}), _chosen_told({"theta": "-inf"})
    ('k = 1, theta = 0.0312 bits', 'theta = -inf (no arc is too weak)')
    """
    meaning = {"-inf": "-inf (no arc is too weak)", "inf": "inf (no arc is strong enough)"}
    theta = chosen.get("theta")
    bits = f"{theta:.3g} bits" if isinstance(theta, (int, float)) else meaning.get(str(theta))
    return ", ".join(f"{name} = {bits if name == 'theta' else value}" for name, value in chosen.items())


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
