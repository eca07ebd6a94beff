"""`naivete fit`: from files of cases to a model file."""

from __future__ import annotations

import math
import time
from argparse import ArgumentParser, Namespace
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from naivete.cli.output import counted, escaped, json_text, named, note, say
from naivete.cli.parsing import Command
from naivete.cli.progress import pass_progress
from naivete.cli.signals import advising
from naivete.cli.streams import (
    Meter,
    check_saving,
    checkpoint_options,
    data_argument,
    is_streamed,
    memory_option,
    opened_files,
)
from naivete.cli.tables import (
    check_output,
    encoder_of,
    encoding_options,
    labelled_cases,
    output_options,
    reading_options,
    resource_options,
    target_of,
    target_options,
)

if TYPE_CHECKING:
    from naivete.classifiers.base import NetworkClassifier
    from naivete.classifiers.specification import Spec

__all__ = ["COMMAND"]


def arguments(parser: ArgumentParser) -> None:
    """What the command takes."""
    data_argument(parser, "the training cases")
    parser.add_argument("--model", default="kdb:k=2", help="which model to learn (kdb:k=2)")
    output_options(parser, "the model file, by convention with the ending .nvt", required=True)
    target_options(parser)
    encoding_options(parser)
    reading_options(parser)
    checkpoint_options(memory_option(parser, "The model is the same, bit by bit."))
    resource_options(parser)


def run(args: Namespace) -> int:
    """Learn, save, and say what came out."""
    from naivete.classifiers.specification import parse_spec

    spec = parse_spec(args.model)
    check_output(args.out, args.data, args.force)
    check_saving(args)
    learned = _streamed(spec, args) if is_streamed(args) else _read_at_once(spec, args)
    data = args.data[0] if len(args.data) == 1 else args.data
    summary = learned | {"model": str(spec), "data": data, "file": args.out}
    say(*([json_text(summary)] if args.json else _told(summary)))
    return 0


def _read_at_once(spec: Spec, args: Namespace) -> dict[str, Any]:
    """Learn from one file that fits into memory, and save the model."""
    cases = labelled_cases(args.data[0], args)
    if cases.dropped:
        note(f"left out, without a class: {counted(cases.dropped, 'row')}")

    from naivete.classifiers.saving import save
    from naivete.classifiers.specification import classifier_of

    started = time.perf_counter()
    model = classifier_of(spec, encoder=encoder_of(args, cases.target), budget=args.budget)
    model.fit(cases.features, cases.column, cases.weight)
    seconds = time.perf_counter() - started
    save(model, args.out, overwrite=args.force)
    return _summary(model, seconds)


def _streamed(spec: Spec, args: Namespace) -> dict[str, Any]:
    """Learn from files that need not fit into memory; the model is saved before the checkpoint is removed."""
    opened = opened_files(args)
    files = opened.files
    check_output(args.out, [file.path for file in files.files], args.force)
    target = target_of(opened.header, opened.path, args)

    from naivete.classifiers.saving import save
    from naivete.classifiers.specification import classifier_of

    model = classifier_of(spec, encoder=encoder_of(args, target), budget=args.budget)
    meter = Meter(files) if files.rows is None and args.cluster is None else None
    again = "without --restart " if args.restart else ""
    advice = advising(f"run the same command again {again}to go on") if args.checkpoint is not None else nullcontext()
    started = time.perf_counter()
    with advice, pass_progress("fit", wanted=args.progress, share=None if meter is None else meter.share) as told:
        model.fit_cases(
            files if meter is None else meter.watched(files),
            target,
            weight=args.weight,
            ignore=opened.ignored,
            memory=args.memory,
            checkpoint=args.checkpoint,
            restart=args.restart,
            every=30.0 if args.every is None else args.every,
            cluster=args.cluster,
            progress=told,
            then=lambda fitted: save(fitted, args.out, overwrite=args.force),
            **opened.reading,
        )
    seconds = time.perf_counter() - started
    return _summary(model, seconds) | {"files": len(files.files), "read_mb": round(files.size / 1e6, 6)}


def _summary(model: NetworkClassifier, seconds: float) -> dict[str, Any]:
    network = model.network_
    return {
        "target": network.variables[-1].name,
        "rows": model.rows_,
        "features": len(network.inputs),
        "classes": model.classes_.tolist(),
        "arcs": sum(max(arc) in network.inputs for arc in network.arcs),
        "cells": network.cells,
        "passes": model.passes_,
        "seconds": round(seconds, 6),
        "rows_per_second": round(model.rows_ / max(seconds, 1e-9)),
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
        "training": f"{summary['seconds']:.3f} s, {counted(summary['passes'], 'pass')} over the rows, {_speed(summary)}",
        **({"read": f"{summary['read_mb']:,.1f} MB in {counted(summary['files'], 'file')}"} if "files" in summary else {}),
        "saved as": summary["file"],
    }
    data = summary["data"] if isinstance(summary["data"], str) else _listed(summary["data"])
    head = f"{summary['model']} learned from {data}"
    return [escaped(head), *(f"  {name:<9} {escaped(value)}" for name, value in lines.items())]


def _speed(summary: dict[str, Any]) -> str:
    return f"{counted(summary['rows_per_second'], 'row')} per second"


def _listed(names: list[str]) -> str:
    """The first name and how many more there are.

    >>> _listed(["a.csv", "b.csv", "c.csv"])
    'a.csv and 2 more'
    """
    return f"{names[0]} and {len(names) - 1} more"


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
    "Learn a model from files of cases, which need not fit into memory, and save it.",
    (
        "naivete fit weather.arff --out weather.nvt",
        "naivete fit mushrooms.csv --target class --model tan --out mushrooms.nvt",
        "naivete fit patients.csv --target outcome --kinds zip=nominal --cut frequency:5 --model kdb:k=1 --out patients.nvt",
        "naivete fit 'sales-*.parquet' --target bought --memory 2GB --out sales.nvt",
        "naivete fit clicks/ --target clicked --checkpoint clicks.work --model kdb:k=1 --out clicks.nvt",
    ),
    arguments,
    run,
)
