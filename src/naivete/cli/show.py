"""`naivete show`: what a saved model has learned."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from naivete.cli.output import counted, escaped, json_text, named, number, say, text_table
from naivete.cli.parsing import Command
from naivete.cli.tables import check_output
from naivete.variables import CLASS

if TYPE_CHECKING:
    from naivete.classifiers import NetworkClassifier
    from naivete.network import Network

__all__ = ["COMMAND"]

_ROWS = 64
"""The most configurations of parents of which a table is printed."""


def arguments(parser: ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("model", metavar="MODEL", help="a model file")
    parser.add_argument("--tables", action="store_true", help="print the conditional tables too")
    parser.add_argument("--svg", metavar="FILE", help="draw the network")
    parser.add_argument("--html", metavar="FILE", help="write a page with the drawing and the tables")
    parser.add_argument("--force", action="store_true", help="replace the files if there are some")


def run(args: Namespace) -> int:
    """Print the arcs, tables and sizes; draw them if asked to."""
    from naivete.models import spec_of
    from naivete.saving import load

    for file in (args.svg, args.html):
        check_output(file, [args.model], args.force)
    model = load(args.model)
    described = {"file": args.model, "model": str(spec_of(model)), **_described(model, args.tables)}
    if args.svg:
        _save(args.svg, str(_drawing(model)), args.force)
    if args.html:
        _save(args.html, str(_page(described["model"], model)), args.force)
    say(*([json_text(described)] if args.json else _told(described)))
    return 0


def _save(path: str, text: str, force: bool) -> None:
    from naivete.atomic import atomic_write

    atomic_write(Path(path), text.encode(), overwrite=force)


def _described(model: NetworkClassifier, tables: bool) -> dict[str, Any]:
    network = model.network_
    records = [_variable(network, v) for v in (*network.features, CLASS)]
    for record, bits in zip(records, model.relevance_.tolist(), strict=False):
        record["information"] = bits
    if tables:
        for record, v in zip(records, (*network.features, CLASS), strict=True):
            record["table"] = [{"given": g, "probabilities": p} for g, p in islice(_rows(network, v), _ROWS)]
    known = model.arc_information_
    arcs = [{"from": network.name(p), "to": network.name(x), "information": known.get((p, x))} for p, x in network.arcs]
    return {
        "target": network.name(CLASS),
        "classes": list(network.variables[CLASS].states),
        "cells": network.cells,
        "arcs": arcs,
        "variables": records,
    }


def _variable(network: Network, v: int) -> dict[str, Any]:
    variable = network.variables[v]
    own: dict[str, Any] = {"cuts": list(variable.cuts)} if variable.cuts is not None else {"states": list(variable.states)}
    return {
        "name": variable.name,
        "kind": "numeric" if variable.numeric else "nominal",
        **own,
        "labels": list(variable.labels),
        "parents": [network.name(p) for p in network.parents[v]],
    }


def _rows(network: Network, v: int) -> Iterator[tuple[dict[str, str], list[float]]]:
    """P(v | parents), parents by parents."""
    names = [str(network.name(m)) for m in network.family(v) if m != v]
    for labels, probabilities in network.distributions(v):
        yield dict(zip(names, labels, strict=True)), probabilities.tolist()


def _told(described: dict[str, Any]) -> list[str]:
    arcs = {(arc["from"], arc["to"]): arc["information"] for arc in described["arcs"]}
    *features, _ = described["variables"]
    lines = [
        escaped(f"{described['file']}: {described['model']}"),
        escaped(f"  class     {named(described['target'])}: {', '.join(map(str, described['classes'][:20]))}"),
        f"  features  {len(features):,}, with {counted(len(arcs), 'arc')} between them",
        f"  tables    {counted(described['cells'], 'cell')}",
        "",
    ]
    rows = [
        [named(record["name"]), number(len(record["labels"])), number(record["information"], 4), _parents(record, arcs)]
        for record in sorted(features, key=lambda record: -record["information"])
    ]
    lines += _left_last(["feature", "states", "I(X;C) bits", "depends on (I(X;Y|C) bits)"], rows)
    for record in described["variables"]:
        if "table" in record:
            lines += ["", *_table_told(record)]
    return lines


def _left_last(headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    """A text table whose last column is text."""
    width = max(len(escaped(row[-1])) for row in [headers, *rows])
    padded = [[*row[:-1], escaped(row[-1]).ljust(width)] for row in [headers, *rows]]
    return text_table([str(cell) for cell in padded[0]], padded[1:])


def _parents(record: dict[str, Any], arcs: dict[tuple[Any, Any], float | None]) -> str:
    told = []
    for parent in record["parents"]:
        bits = arcs.get((parent, record["name"]))
        told.append(named(parent) if bits is None else f"{named(parent)} ({bits:.4f})")
    return ", ".join(told) or "nothing"


def _table_told(record: dict[str, Any]) -> list[str]:
    given = [named(parent) for parent in record["table"][0]["given"]]
    own = named(record["name"])
    title = f"P({own} | {', '.join(given)})" if given else f"P({own})"
    rows = [[*row["given"].values(), *(f"{p:.4f}" for p in row["probabilities"])] for row in record["table"]]
    more = [f"(the first {_ROWS} configurations)"] if len(rows) == _ROWS else []
    return [escaped(title), *text_table([*given, *record["labels"]], rows, left=len(given)), *more]


def _drawing(model: NetworkClassifier) -> Any:
    from naivete.drawing import svg

    return svg(model.network_, information=model.information_)


def _page(title: str, model: NetworkClassifier) -> Any:
    from naivete import page

    network = model.network_
    order = sorted(network.features, key=lambda x: -model.relevance_[x])
    relevance: dict[object, float | tuple[float, float]] = {network.name(x): float(model.relevance_[x]) for x in order[:40]}
    tables = [page.details(f"{network.name(v)}", page.figure(page.tables_html(network, v))) for v in (CLASS, *order[:200])]
    caption = "Arcs carry I(X;Y|C), features are shaded by I(X;C), both in bits."
    return page.page(
        f"{title} of {network.name(CLASS)}",
        [
            ("Network", [page.figure(_drawing(model), caption)]),
            ("What the features tell about the class", [page.bars(relevance, caption="I(X;C) in bits")]),
            ("Conditional tables", tables),
        ],
        footer=f"{len(network.features):,} features, {len(network.arcs):,} arcs between them, {network.cells:,} cells",
    )


COMMAND = Command(
    "show",
    "Show the arcs, tables and sizes of a saved model.",
    ("naivete show weather.nvt --tables", "naivete show weather.nvt --svg weather.svg --html weather.html"),
    arguments,
    run,
)
