"""`naivete show`: what a saved model has learned."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from itertools import islice
from math import nan
from typing import TYPE_CHECKING, Any

from naivete.cli.options import check_output
from naivete.cli.output import counted, escaped, json_text, listed, named, number, say, text_table, write_text
from naivete.cli.parsing import Command
from naivete.cli.show_tree import outline_described, outline_section, outline_told, size_lines
from naivete.variables import CLASS

if TYPE_CHECKING:
    from naivete.classifiers.base import NetworkClassifier
    from naivete.network.network import Network

__all__ = ["COMMAND"]

_ROWS = 64
"""The most configurations of parents of which a table is printed."""


def arguments(parser: ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("model", metavar="MODEL", help="a model file")
    parser.add_argument("--tables", action="store_true", help="print the conditional tables too; of a tree its rules")
    parser.add_argument("--svg", metavar="FILE", help="draw the network, tree or hierarchy")
    parser.add_argument("--html", metavar="FILE", help="write a page with the drawing and the tables")
    parser.add_argument("--force", action="store_true", help="replace the files if there are some")


def run(args: Namespace) -> int:
    """Print the arcs, tables and sizes; draw them if asked to."""
    from naivete.classifiers.saving import load
    from naivete.classifiers.specification import spec_of

    for file in (args.svg, args.html):
        check_output(file, [args.model], args.force)
    model = load(args.model)
    described = {"file": args.model, "model": str(spec_of(model)), **_described(model, args.tables)}
    if args.svg:
        write_text(args.svg, str(_drawing(model)), args.force)
    if args.html:
        write_text(args.html, str(_page(described, model)), args.force)
    say(*([json_text(described)] if args.json else _told(described, model, args.tables)))
    return 0


def _described(model: NetworkClassifier, tables: bool) -> dict[str, Any]:
    from naivete.display.network_drawing import lone_features
    from naivete.display.tree_outline import has_outline, relevant_columns

    network = model.network_
    outlined = has_outline(network)
    blanket, hidden = relevant_columns(network), [] if outlined else [*network.derived]
    alone = {*network.inputs}.difference(blanket) if outlined else set(lone_features(network))
    shown = (*network.inputs, *hidden, CLASS)
    records = [_variable(network, v) for v in shown]
    for x, (record, bits) in enumerate(zip(records, model.relevance_.tolist(), strict=False)):
        record |= {"information": bits, "in_blanket": x in blanket, "alone": x in alone}
    if tables and not outlined:
        for record, v in zip(records, shown, strict=True):
            record |= _table(network, v)
    known = model.arc_information_
    arcs = [] if outlined else network.arcs
    return {
        "target": network.name(CLASS),
        "classes": list(network.variables[CLASS].states),
        "parents": [] if outlined else [network.name(p) for p in network.parents[CLASS]],
        "blanket": [network.name(x) for x in blanket],
        **({"selected": [network.name(x) for x in model.selected_]} if hasattr(model, "selected_") else {}),
        **({"naive": [network.name(x) for x in model.naive_]} if hasattr(model, "naive_") else {}),
        **({"groups": [[network.name(x) for x in own] for own in model.groups_]} if hasattr(model, "groups_") else {}),
        "cells": network.cells,
        "arcs": [{"from": network.name(p), "to": network.name(x), "information": known.get((p, x))} for p, x in arcs],
        "variables": records,
        **(outline_described(network, tables) if outlined else {}),
    }


def _variable(network: Network, v: int) -> dict[str, Any]:
    variable = network.variables[v]
    own: dict[str, Any] = {"cuts": list(variable.cuts)} if variable.cuts is not None else {"states": list(variable.states)}
    from naivete.network.derived_columns import Hidden

    computed = {v for v, how in network.derived.items() if not isinstance(how, Hidden)}
    return {
        "name": variable.name,
        "kind": "hidden" if v in network.derived else "numeric" if variable.numeric else "nominal",
        **own,
        "labels": list(variable.labels),
        "parents": [network.name(p) for p in network.parents[v] if p not in computed],
    }


def _table(network: Network, v: int) -> dict[str, Any]:
    """P(v | parents), parents by parents; of a number with a density its means and deviations."""
    from naivete.display.class_summaries import normal_parameters

    names = [str(network.name(m)) for m in network.family(v) if m != v]
    if v in network.densities:
        told = islice(normal_parameters(network, v), _ROWS)
        return {"normal": [{"given": dict(zip(names, g, strict=True)), "mean": m, "deviation": d} for g, m, d in told]}
    rows = islice(network.distributions(v), _ROWS)
    return {"table": [{"given": dict(zip(names, g, strict=True)), "probabilities": p.tolist()} for g, p in rows]}


def _told(described: dict[str, Any], model: NetworkClassifier, tables: bool) -> list[str]:
    features, hidden = _features(described)
    names = {record["name"] for record in features}
    arcs = sum({arc["from"], arc["to"]} <= names for arc in described["arcs"])
    outlined = _kind(described) is not None
    lines = [
        escaped(f"{described['file']}: {described['model']}"),
        escaped(f"  class     {named(described['target'])}: {', '.join(map(str, described['classes'][:20]))}"),
        f"  features  {len(features):,}" + ("" if outlined else f", with {counted(arcs, 'arc')} between them"),
        *(escaped(f"  {word:<8}  {told}") for word, told in _about(described)),
        f"  tables    {counted(described['cells'], 'cell')}",
        "",
    ]
    ranked = sorted(features, key=lambda record: (record["alone"], not record["in_blanket"], -record["information"]))
    lines += _features_told([*ranked, *hidden], described)
    if outlined:
        lines += ["", *outline_told(model.network_, tables)]
    for record in described["variables"]:
        if "table" in record or "normal" in record:
            lines += ["", *_table_told(record)]
    return lines


def _features_told(records: Sequence[dict[str, Any]], described: dict[str, Any]) -> list[str]:
    """A table of the features: how many states, what they tell, on what they depend and whether they matter at all."""
    arcs = {(arc["from"], arc["to"]): arc["information"] for arc in described["arcs"]}
    weighed = any(bits is not None for bits in arcs.values())
    headers = ["feature", "states", "I(X;C) bits", f"depends on{' (I(X;Y|C) bits)' * weighed}", ""]
    rows = [
        [
            *(named(record["name"]), _card(record), number(record.get("information", nan), 4)),
            *(_parents(record, arcs), _place(record, described)),
        ]
        for record in records
    ]
    dropped = {3} if _kind(described) else set()
    dropped |= set() if any(row[4] for row in rows) else {4}
    kept = [[cell for i, cell in enumerate(row) if i not in dropped] for row in [headers, *rows]]
    return text_table(kept[0], kept[1:], left=(0, *range(len(dropped) - 2, 0)))


def _card(record: dict[str, Any]) -> str:
    """How many states a variable has; a number with a density has none."""
    return "-" if record["kind"] == "numeric" and "cuts" not in record else number(len(record["labels"]))


def _kind(described: dict[str, Any]) -> str | None:
    """Whether what is described is a tree or a hierarchy, None where it is neither."""
    return next((kind for kind in ("tree", "hierarchy") if kind in described), None)


def _features(described: dict[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What is told of the columns of the table, and of hidden variables."""
    *records, _ = described["variables"]
    hidden = [record for record in records if record["kind"] == "hidden"]
    return records[: len(records) - len(hidden)], hidden


def _about(described: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What the class depends on, what matters when all is known, what was selected and what stands alone, in words."""
    features, hidden = _features(described)
    if described["parents"]:
        yield "parents", f"the class depends on {listed(described['parents'])}"
    if hidden:
        yield "hidden", "; ".join(_mediated(record, described) for record in hidden[:20])
    if "selected" in described:
        yield "selected", f"in the order of selection: {listed(described['selected'])}"
    if "naive" in described:
        yield "naive", f"held naive, because their dependence cancels: {listed(described['naive']) or 'none'}"
    if "groups" in described and not any(record["kind"] == "hidden" for record in described["variables"]):
        joined = "; ".join(" with ".join(map(str, own)) for own in described["groups"][:10] if len(own) > 1)
        yield "together", f"features modelled together: {joined or 'none'}"
    if _kind(described):
        yield from size_lines(described)
    count, blanket = len(features), described["blanket"]
    verb = "are asked for" if "tree" in described else "can matter when all are known"
    if "tree" not in described and len(blanket) == count:
        yield "blanket", "every feature can matter for the class"
    else:
        word = "asked" if "tree" in described else "blanket"
        yield word, f"of {counted(count, 'feature')}, {len(blanket):,} {verb}: {listed(blanket)}"
    alone = sum(record["alone"] for record in features)
    if alone and not _kind(described):
        verbs = "depends on nothing and influences" if alone == 1 else "depend on nothing and influence"
        yield "alone", f"{counted(alone, 'feature')} {verbs} nothing"


def _mediated(record: dict[str, Any], described: dict[str, Any]) -> str:
    """A hidden variable with what depends on it."""
    children = [arc["to"] for arc in described["arcs"] if arc["from"] == record["name"]]
    return f"{named(record['name'])} with {counted(len(record['labels']), 'state')}, on which depend {listed(children)}"


def _place(record: dict[str, Any], described: dict[str, Any]) -> str:
    """What sets a variable apart, in words."""
    if record["kind"] == "hidden":
        return "hidden"
    if record["in_blanket"]:
        return ""
    return "not asked for" if "tree" in described else "alone" if record["alone"] else "outside the blanket"


def _parents(record: dict[str, Any], arcs: dict[tuple[Any, Any], float | None]) -> str:
    told = []
    for parent in record["parents"]:
        bits = arcs.get((parent, record["name"]))
        told.append(named(parent) if bits is None else f"{named(parent)} ({bits:.4f})")
    return ", ".join(told) or "nothing"


def _table_told(record: dict[str, Any]) -> list[str]:
    own, told = named(record["name"]), record.get("table") or record["normal"]
    given = [named(parent) for parent in told[0]["given"]]
    title = f"P({own} | {', '.join(given)})" if given else f"P({own})"
    if "normal" in record:
        heads = ["mean", "deviation"]
        rows = [[*row["given"].values(), *(f"{row[word]:.6g}" for word in heads)] for row in told]
    else:
        heads = record["labels"]
        rows = [[*row["given"].values(), *(f"{p:.4f}" for p in row["probabilities"])] for row in told]
    more = [f"(the first {_ROWS} configurations)"] if len(rows) == _ROWS else []
    return [escaped(title), *text_table([*given, *heads], rows, left=range(len(given))), *more]


def _drawing(model: NetworkClassifier) -> Any:
    from naivete.display.network_drawing import svg

    return svg(model.network_, information=model.information_)


def _page(described: dict[str, Any], model: NetworkClassifier) -> Any:
    from naivete.display import page

    network = model.network_
    records = described["variables"]
    order = sorted(network.inputs, key=lambda x: (records[x]["alone"], -model.relevance_[x]))
    relevance: dict[object, float | tuple[float, float]] = {network.name(x): float(model.relevance_[x]) for x in order[:40]}
    pale = [network.name(x) for x in order[:40] if not records[x]["in_blanket"]]
    idle = "what the tree does not ask for" if "tree" in described else "what does not matter once all other features are known"
    bits = "I(X;C) in bits" + (f"; pale: {idle}" if pale else "")
    told = [f"{text[0].upper()}{text[1:]}." for _, text in _about(described)]
    kind = _kind(described)
    if kind:
        caption, last = outline_section(network, kind)
        size = counted(described[kind]["nodes"], "node")
    else:
        caption = f"{'Arcs carry I(X;Y|C), features' if model.arc_information_ else 'Features'} are shaded by I(X;C), in bits."
        joined = [*network.derived, *(x for x in order if not records[x]["alone"])]
        tables = [
            page.details(f"{network.name(v)}", page.figure(page.conditional_table_html(network, v))) for v in (CLASS, *joined[:200])
        ]
        last, size = ("Conditional tables", tables), f"{len(network.arcs):,} arcs between them"
    return page.page(
        page.model_title(type(model).__name__, network.name(CLASS), described["model"].partition(":")[2].replace(",", ", ")),
        [
            ((kind or "network").capitalize(), [page.figure(_drawing(model), caption), *told]),
            ("What the features tell about the class", [page.bars(relevance, caption=bits, pale=pale)]),
            last,
        ],
        facts={"file": described["file"]},
        footer=f"{len(network.inputs):,} features, {size}, {network.cells:,} cells",
    )


COMMAND = Command(
    "show",
    "Show the arcs, tables and sizes of a saved model.",
    ("naivete show weather.nvt --tables", "naivete show weather.nvt --svg weather.svg --html weather.html"),
    arguments,
    run,
)
