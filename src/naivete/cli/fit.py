"""`naivete fit`: learn a model from files of cases and save it."""

from __future__ import annotations

import math
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from naivete.cli.inputs import LARGE, OpenedCases, differences_from_text, open_cases, target_of
from naivete.cli.options import (
    check_checkpoint_options,
    check_output,
    checkpoint_options,
    data_argument,
    encoder_of,
    encoding_options,
    memory_options,
    output_options,
    reading_options,
    resource_options,
    target_options,
)
from naivete.cli.output import counted, escaped, json_text, network_text, note, note_numeric_classes, say, target_text
from naivete.cli.parsing import Command
from naivete.cli.progress import pass_progress
from naivete.cli.signals import advising
from naivete.errors import DataError, quoted
from naivete.variables import CLASS, Name, State

if TYPE_CHECKING:
    from naivete.classifiers.base import NetworkClassifier
    from naivete.learners.left_out_score import LeftOutScore

__all__ = ["COMMAND"]


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    data_argument(parser, "training cases")
    parser.add_argument("--model", default="spectrum", help="model to learn (spectrum)")
    output_options(parser, "model file, by convention with the extension .nvt", required=True)
    target_options(parser)
    encoding_options(parser)
    reading_options(parser)
    checkpoint_options(memory_options(parser, "The model is exactly the same."))
    resource_options(parser)


def run(args: Namespace) -> int:
    """Learn a model, save it, and print a summary."""
    from naivete.classifiers.specification import classifier_of, parse_spec

    spec = parse_spec(args.model)
    check_output(args.out, args.data, args.force)
    check_checkpoint_options(args)
    started = time.perf_counter()
    cases = open_cases(args)
    check_output(args.out, cases.paths, args.force)
    target = target_of(cases.header, cases.path, args)
    if cases.source.rows == 0:
        raise DataError(f"{cases.header.source}: there are no rows to learn from; give a file with cases")
    known = _known_classes(cases, target)
    note_numeric_classes(target, known)
    model = classifier_of(spec, encoder=encoder_of(args, target), budget=args.budget)
    again = "without --restart " if args.restart else ""
    advice = advising(f"run the same command again {again}to continue") if args.checkpoint is not None else nullcontext()
    source, share = _metered(cases, args)
    from naivete.learners.left_out_score import scored_by_leave_one_out

    small = cases.size <= LARGE and args.cluster is None
    scoring = scored_by_leave_one_out(another_pass=small)
    with advice, scoring as scores, pass_progress("fit", wanted=args.progress, share=share) as report:
        model.fit_cases(
            source,
            target,
            weight=args.weight,
            ignore=cases.ignored,
            memory=args.memory,
            checkpoint=args.checkpoint,
            restart=args.restart,
            every=30.0 if args.every is None else args.every,
            cluster=args.cluster,
            progress=report,
            then=partial(_save, args=args),
            **cases.reading,
        )
    summary = {
        **_summary(model, time.perf_counter() - started),
        "files": len(cases.paths),
        "read_mb": round(cases.size / 1e6, 6),
        "model": str(spec),
        "data": args.data[0] if len(args.data) == 1 else args.data,
        "file": args.out,
    }
    if not known:  # of files that are read some rows at a time
        note_numeric_classes(target, model.classes_.tolist())
    _note_differences(cases, args, model)
    if spec.word != "majority":
        _note_useless(str(spec), scores)
    say(*([json_text(summary)] if args.json else _summary_lines(summary)))
    return 0


def _known_classes(cases: OpenedCases, target: Name) -> Sequence[State]:
    """Return the values of the target that are known before learning: those of a table in memory."""
    import numpy as np

    from naivete.data.table import Table

    if not isinstance(cases.source, Table):
        return ()
    column = cases.source[target]
    values: list[State] = np.unique(column.values[column.values == column.values]).tolist()
    return values if column.states is None else column.states


def _note_differences(cases: OpenedCases, args: Namespace, model: NetworkClassifier) -> None:
    """Note which columns of a Parquet file would have other values in delimited text."""
    differences = differences_from_text(cases.path, args, [model.network_.variables[v] for v in (*model.network_.inputs, CLASS)])
    if differences:
        some = [f"{quoted(name)} ({reason})" for name, reason in list(differences.items())[:5]]
        more = f" and {len(differences) - 5} more" if len(differences) > 5 else ""
        note(
            f"{cases.header.source}: a CSV file of this table would give other values to {', '.join(some)}{more}, and a model with "
            "another hash; with --kinds NAME=nominal a CSV file gives the same values to numbers stored as text"
        )


def _note_useless(model: str, scores: Sequence[LeftOutScore]) -> None:
    """Note that a model does not predict left-out cases better than the class frequencies, where its scores are known."""
    for score in scores:
        if not score.better:
            correct = f"{score.accuracy:.1%} against {score.majority_accuracy:.1%} correct"
            losses = f"log loss {score.log_loss:.3f} against {score.prior_log_loss:.3f} bits"
            note(
                f"{model} does not predict left-out cases measurably better than always {quoted(score.majority)}, the most "
                f"frequent class: {correct}, {losses}; the columns perhaps tell nothing about the target: see `naivete describe`, "
                "or compare models with `naivete evaluate`"
            )


def _save(fitted: NetworkClassifier, args: Namespace) -> None:
    """Save the model, with the texts that stood for missing values in its files."""
    from naivete.classifiers.saving import save

    if args.missing_token:
        fitted.missing_tokens_ = tuple(dict.fromkeys(args.missing_token))
    save(fitted, args.out, overwrite=args.force)


def _metered(cases: OpenedCases, args: Namespace) -> tuple[Any, Any]:
    """Return the source of the cases, and a function for the share of its bytes that was read, if progress needs one."""
    from naivete.cli.meter import Meter
    from naivete.data.files import Files

    if not isinstance(cases.source, Files) or cases.source.rows is not None or args.cluster is not None:
        return cases.source, None
    meter = Meter(cases.source)
    return meter.watched(cases.source), meter.share


def _summary(model: NetworkClassifier, seconds: float) -> dict[str, Any]:
    from naivete.cli.show_tree import outline_size

    network = model.network_
    return {
        "target": network.variables[-1].name,
        "rows": model.rows_,
        "features": len(network.inputs),
        "left_out": sum(variable.left_out for variable in model.schema_),
        "classes": model.classes_.tolist(),
        "arcs": sum(max(arc) in network.inputs for arc in network.arcs),
        **({} if not network.derived else outline_size(network)),
        "cells": network.cells,
        **({"network": model.network_beside} if model.network_beside else {}),
        "passes": model.passes_,
        "seconds": round(seconds, 6),
        "rows_per_second": round(model.rows_ / max(seconds, 1e-9)),
        **_chosen(model),
    }


def _chosen(model: NetworkClassifier) -> dict[str, dict[str, int | float | str]]:
    """Return the values of parameters that were "auto"; infinity as text, which JSON can hold."""
    values = {name: getattr(model, f"{name}_", None) for name in ("k", "theta") if getattr(model, name, None) == "auto"}
    chosen = {name: value if math.isfinite(value) else str(value) for name, value in values.items() if value is not None}
    return {"chosen": chosen} if chosen else {}


def _size(megabytes: float) -> str:
    """Return the size of the data, in kB where it is less than a megabyte.

    >>> _size(0.0124), _size(3.25)
    ('12.4 kB', '3.2 MB')
    """
    return f"{megabytes:,.1f} MB" if megabytes >= 1 else f"{megabytes * 1000:,.1f} kB"


def _summary_lines(summary: dict[str, Any]) -> list[str]:
    from naivete.cli.show_tree import size_lines

    sizes = dict(size_lines(summary))
    data = summary["data"]
    arcs = "" if sizes else f", with {counted(summary['arcs'], 'arc')} between them"
    lines = {
        **({"chosen": _chosen_text(summary["chosen"])} if "chosen" in summary else {}),
        "rows": f"{summary['rows']:,}",
        "features": f"{summary['features']:,}{arcs}" + (f"; {summary['left_out']:,} left out" if summary["left_out"] else ""),
        **sizes,
        "target": target_text(summary["target"], summary["classes"], 6),
        "tables": counted(summary["cells"], "cell"),
        **({"network": network_text(summary["network"])} if "network" in summary else {}),
        "training": f"{summary['seconds']:.3f} s, {counted(summary['passes'], 'pass')} over the rows, "
        f"{counted(summary['rows_per_second'], 'row')} per second",
        "read": f"{_size(summary['read_mb'])} in {counted(summary['files'], 'file')}",
        "saved as": summary["file"],
    }
    files = data if isinstance(data, str) else f"{data[0]} and {len(data) - 1} more"
    return [escaped(f"{summary['model']} learned from {files}"), *(f"  {name:<9} {escaped(text)}" for name, text in lines.items())]


def _chosen_text(chosen: dict[str, int | float | str]) -> str:
    """Return the chosen parameters as text.

    >>> _chosen_text({"k": 1, "theta": 0.03125}), _chosen_text({"theta": "-inf"})
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
    standard_input=True,
)
