"""`naivete show`: show the structure and the tables of a model or a network."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from math import nan
from typing import TYPE_CHECKING, Any

from naivete.cli.inputs import is_network, read_network_file
from naivete.cli.options import check_output, network_options, text_encoding_option
from naivete.cli.output import (
    counted,
    escaped,
    json_text,
    listed,
    named,
    network_text,
    number,
    say,
    target_text,
    text_table,
    write_text,
)
from naivete.cli.parsing import Command
from naivete.cli.show_tree import outline_lines, outline_record, outline_section, size_lines
from naivete.variables import CLASS

if TYPE_CHECKING:
    from naivete.classifiers.base import NetworkClassifier
    from naivete.network.network import Network

__all__ = ["COMMAND"]

_ROWS = 64
"""The largest number of parent configurations of which a table is printed."""
STRONGEST = 6
"""The number of terms of a spectrum whose weights are printed."""

_EXPLAINED, _SCALES = 100, 60
"""The largest numbers of features and of scales of which a page shows importances and a nomogram."""

Information = Mapping[Any, float]
"""I(X; C) by feature and I(X; Y | C) by arc (parent, child), in bits; empty for a network without a model."""


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="model or network file")
    parser.add_argument("--tables", action="store_true", help="also print the conditional tables, or the rules of a tree")
    parser.add_argument("--svg", metavar="FILE", help="write a drawing of the network, tree or hierarchy")
    parser.add_argument("--html", metavar="FILE", help="write an HTML page with the drawing and the tables")
    parser.add_argument("--force", action="store_true", help="replace existing files")
    network_options(parser)
    text_encoding_option(parser)


def run(args: Namespace) -> int:
    """Print the arcs, tables and sizes, and write the drawing and the page."""
    for file in (args.svg, args.html):
        check_output(file, [args.model], args.force)
    model = _model(args)
    network = read_network_file(args.model, args) if model is None else model.network_
    information: Information = {} if model is None else model.information_
    described = {"file": args.model, **_learned(model), **_record(network, information, args.tables)}
    if args.svg:
        write_text(args.svg, str(_drawing(network, information)), args.force)
    if args.html:
        sections = [] if model is None else _importance_sections(model)
        write_text(args.html, str(_page(described, network, information, _page_title(network, model), sections)), args.force)
    say(*([json_text(described)] if args.json else _lines(described, network, args.tables)))
    return 0


def _model(args: Namespace) -> NetworkClassifier | None:
    """Return the model of a model file, None for a network file or if another class is chosen."""
    from naivete.classifiers.saving import load

    is_model = args.model.lower().endswith(".nvt") or not is_network(args.model)
    return load(args.model) if is_model and args.target is None else None


def _page_title(network: Network, model: NetworkClassifier | None) -> str:
    """Return the title of the page."""
    from naivete.classifiers.specification import spec_of
    from naivete.display.page import model_title

    if model is None:
        return model_title("Network", network.name(CLASS))
    parameters = ", ".join(f"{name}={value}" for name, value in spec_of(model).parameters.items())
    return model_title(type(model).__name__, network.name(CLASS), parameters)


def _learned(model: NetworkClassifier | None) -> dict[str, Any]:
    """Return the specification of a model, and the features that it selects, treats as independent, or models together."""
    from naivete.classifiers.specification import spec_of

    if model is None:
        return {"model": "network"}
    network = model.network_
    return {
        "model": str(spec_of(model)),
        **({"selected": [network.name(x) for x in model.selected_]} if hasattr(model, "selected_") else {}),
        **({"naive": [network.name(x) for x in model.naive_]} if hasattr(model, "naive_") else {}),
        **({"groups": [[network.name(x) for x in group] for group in model.groups_]} if hasattr(model, "groups_") else {}),
        **({"weights": model.term_weights_} if hasattr(model, "term_weights_") else {}),
        **({"network": model.network_beside} if model.network_beside else {}),
    }


def _record(network: Network, information: Information, tables: bool) -> dict[str, Any]:
    """Return the structure of the network as plain values."""
    from naivete.display.network_drawing import lone_features
    from naivete.display.tree_outline import has_outline, relevant_columns

    outlined = has_outline(network)
    blanket, hidden = relevant_columns(network), [] if outlined else [*network.derived]
    isolated = {*network.inputs}.difference(blanket) if outlined else set(lone_features(network))
    shown = (*network.inputs, *hidden, CLASS)
    records = {v: _variable(network, v) for v in shown}
    for x in network.inputs:
        records[x] |= {"information": information.get(network.name(x)), "in_blanket": x in blanket, "isolated": x in isolated}
    if tables and not outlined and any(variable.known for variable in network.variables):
        for v in shown:
            records[v] |= _table(network, v)
    arcs = [] if outlined else network.arcs
    return {
        "target": network.name(CLASS),
        "classes": list(network.variables[CLASS].states),
        "parents": [] if outlined else [network.name(p) for p in network.parents[CLASS]],
        "blanket": [network.name(x) for x in blanket],
        "cells": network.cells,
        "arcs": [
            {"from": network.name(p), "to": network.name(x), "information": information.get((network.name(p), network.name(x)))}
            for p, x in arcs
        ],
        "variables": list(records.values()),
        **(outline_record(network, tables) if outlined else {}),
    }


def _variable(network: Network, v: int) -> dict[str, Any]:
    from naivete.network.derived_columns import Hidden

    variable = network.variables[v]
    values: dict[str, Any] = {"cuts": list(variable.cuts)} if variable.cuts is not None else {"states": list(variable.states)}
    computed = {x for x, column in network.derived.items() if not isinstance(column, Hidden)}
    return {
        "name": variable.name,
        "kind": "hidden" if v in network.derived else "numeric" if variable.numeric else "nominal",
        **values,
        "labels": list(variable.labels),
        "parents": [network.name(p) for p in network.parents[v] if p not in computed],
    }


def _table(network: Network, v: int) -> dict[str, Any]:
    """Return P(v | parents) for each configuration of the parents; for a normal density its mean and standard deviation."""
    from naivete.display.class_summaries import normal_parameters

    names = [str(network.name(m)) for m in network.family(v) if m != v]
    if v in network.densities:
        parameters = islice(normal_parameters(network, v), _ROWS)
        return {
            "normal": [
                {"given": dict(zip(names, states, strict=True)), "mean": mean, "deviation": deviation}
                for states, mean, deviation in parameters
            ]
        }
    rows = islice(network.distributions(v), _ROWS)
    return {"table": [{"given": dict(zip(names, states, strict=True)), "probabilities": p.tolist()} for states, p in rows]}


def _lines(described: dict[str, Any], network: Network, tables: bool) -> list[str]:
    """Return the description as text."""
    features, hidden = _features(described)
    names = {record["name"] for record in features}
    arcs = sum({arc["from"], arc["to"]} <= names for arc in described["arcs"])
    outlined = _kind(described) is not None
    lines = [
        escaped(f"{described['file']}: {described['model']}"),
        escaped(f"  target    {target_text(described['target'], described['classes'])}"),
        f"  features  {len(features):,}" + ("" if outlined else f", with {counted(arcs, 'arc')} between them"),
        *(escaped(f"  {name:<8}  {text}") for name, text in _summary(described)),
        f"  tables    {counted(described['cells'], 'cell')}",
        "",
    ]
    ranked = sorted(features, key=lambda record: (record["isolated"], not record["in_blanket"], -(record["information"] or 0.0)))
    lines += _feature_lines([*ranked, *hidden], described)
    if outlined:
        lines += ["", *outline_lines(network, tables)]
    for record in described["variables"]:
        if "table" in record or "normal" in record:
            lines += ["", *_table_lines(record)]
    return lines


def _feature_lines(records: Sequence[dict[str, Any]], described: dict[str, Any]) -> list[str]:
    """Return a table of the features: the number of states, the information about the class, and the parents."""
    arcs = {(arc["from"], arc["to"]): arc["information"] for arc in described["arcs"]}
    with_bits = any(bits is not None for bits in arcs.values())
    headers = ["feature", "states", "I(X;C) bits", f"depends on{' (I(X;Y|C) bits)' * with_bits}", ""]
    rows = [
        [
            *(named(record["name"]), _card(record), _bits(record)),
            *(_parents(record, arcs), _remark(record, described)),
        ]
        for record in records
    ]
    left_out = {3} if _kind(described) else set()
    left_out |= set() if any(row[4] for row in rows) else {4}
    kept = [[cell for i, cell in enumerate(row) if i not in left_out] for row in [headers, *rows]]
    return text_table(kept[0], kept[1:], left=(0, *range(len(left_out) - 2, 0)))


def _bits(record: dict[str, Any]) -> str:
    bits = record.get("information")
    return number(nan if bits is None else bits, 4)


def _card(record: dict[str, Any]) -> str:
    """Return the number of states of a variable, a dash for a density."""
    return "-" if record["kind"] == "numeric" and "cuts" not in record else number(len(record["labels"]))


def _kind(described: dict[str, Any]) -> str | None:
    """Return "tree" or "hierarchy", None for other networks."""
    return next((kind for kind in ("tree", "hierarchy") if kind in described), None)


def _features(described: dict[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the descriptions of the features, and of the hidden variables."""
    *records, _ = described["variables"]
    hidden = [record for record in records if record["kind"] == "hidden"]
    return records[: len(records) - len(hidden)], hidden


def _summary(described: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the lines of the summary with their names: parents, hidden variables, selected features, Markov blanket."""
    features, hidden = _features(described)
    if described["parents"]:
        yield "parents", f"the class depends on {listed(described['parents'])}"
    if hidden:
        yield "hidden", "; ".join(_hidden(record, described) for record in hidden[:20])
    if "selected" in described:
        yield "selected", f"in the order of selection: {listed(described['selected'])}"
    if "naive" in described:
        yield "naive", f"conditionally independent, because their dependences cancel: {listed(described['naive']) or 'none'}"
    if "groups" in described and not any(record["kind"] == "hidden" for record in described["variables"]):
        joined = "; ".join(" with ".join(map(str, group)) for group in described["groups"][:10] if len(group) > 1)
        yield "together", f"features modelled together: {joined or 'none'}"
    if "weights" in described:
        strongest = sorted(described["weights"].items(), key=lambda item: -abs(item[1]))[:STRONGEST]
        yield "weights", "; ".join(f"{weight:.2f} {name}" for name, weight in strongest) + " (the largest; all with --json)"
    if "network" in described:
        yield "network", network_text(described["network"])
    if _kind(described):
        yield from size_lines(described)
    count, blanket = len(features), described["blanket"]
    verb = "are used" if "tree" in described else "are in the Markov blanket of the class"
    if "tree" not in described and len(blanket) == count:
        yield "blanket", "every feature is in the Markov blanket of the class"
    else:
        name = "used" if "tree" in described else "blanket"
        yield name, f"of {counted(count, 'feature')}, {len(blanket):,} {verb}: {listed(blanket)}"
    isolated = sum(record["isolated"] for record in features)
    if isolated and not _kind(described):
        yield "isolated", f"{counted(isolated, 'feature')} without parents and children"


def _hidden(record: dict[str, Any], described: dict[str, Any]) -> str:
    """Return a hidden variable with its children, as text."""
    children = [arc["to"] for arc in described["arcs"] if arc["from"] == record["name"]]
    return f"{named(record['name'])} with {counted(len(record['labels']), 'state')}, parent of {listed(children)}"


def _remark(record: dict[str, Any], described: dict[str, Any]) -> str:
    """Return a remark on a variable that is hidden or does not affect the prediction."""
    if record["kind"] == "hidden":
        return "hidden"
    if record["in_blanket"]:
        return ""
    return "not used" if "tree" in described else "isolated" if record["isolated"] else "outside the blanket"


def _parents(record: dict[str, Any], arcs: dict[tuple[Any, Any], float | None]) -> str:
    texts = []
    for parent in record["parents"]:
        bits = arcs.get((parent, record["name"]))
        texts.append(named(parent) if bits is None else f"{named(parent)} ({bits:.4f})")
    return ", ".join(texts) or "nothing"


def _table_lines(record: dict[str, Any]) -> list[str]:
    name, table = named(record["name"]), record.get("table") or record["normal"]
    given = [named(parent) for parent in table[0]["given"]]
    title = f"P({name} | {', '.join(given)})" if given else f"P({name})"
    if "normal" in record:
        headers = ["mean", "deviation"]
        rows = [[*row["given"].values(), *(f"{row[header]:.6g}" for header in headers)] for row in table]
    else:
        headers = record["labels"]
        rows = [[*row["given"].values(), *(f"{p:.4f}" for p in row["probabilities"])] for row in table]
    more = [f"(the first {_ROWS} configurations)"] if len(rows) == _ROWS else []
    return [escaped(title), *text_table([*given, *headers], rows, left=range(len(given))), *more]


def _drawing(network: Network, information: Information) -> Any:
    from naivete.display.network_drawing import svg

    return svg(network, information=information or None)


def _importance_sections(model: NetworkClassifier) -> list[tuple[str, list[Any]]]:
    """Return the importance of features and arcs, and the nomogram, of models that have these and are not too large."""
    from naivete.display import page
    from naivete.display.markup import Markup
    from naivete.errors import ParameterError, ResourceError

    if len(model.classes_) < 2 or not 0 < len(model.network_.features) <= _EXPLAINED:
        return []
    sections: list[tuple[str, list[Any]]] = []
    try:
        sections.append(("Importance for the predictions", list(model.importances().figures())))
        nomogram = model.nomogram()
        if len(nomogram.scales) <= _SCALES:
            text = "Add the points of the values of a case; the total gives the probability."
            sections.append(("Nomogram", [page.figure(Markup(nomogram.svg()), text)]))
    except ParameterError:  # a network that has no nomogram
        return sections
    except ResourceError as error:
        missing = "Nomogram" if sections else "Importance for the predictions"
        sections.append((missing, [page.text(f"Not computed: {error}")]))
    return sections


def _page(
    described: dict[str, Any], network: Network, information: Information, title: str, sections: Sequence[tuple[str, list[Any]]]
) -> Any:
    """Return an HTML page with the drawing, the information of the features about the class, further sections, and the tables."""
    from naivete.display import page

    records = described["variables"]
    order = sorted(network.inputs, key=lambda x: (records[x]["isolated"], -information.get(network.name(x), 0.0)))
    relevance: dict[object, float | tuple[float, float]] = {network.name(x): information[x] for x in order[:40] if x in information}
    pale = [network.name(x) for x in order[:40] if not records[x]["in_blanket"]]
    not_used = "features that the tree does not use" if "tree" in described else "features outside the Markov blanket of the class"
    bits = "I(X;C) in bits" + (f"; pale: {not_used}" if pale else "")
    summary = [f"{text[0].upper()}{text[1:]}." for _, text in _summary(described)]
    bars = [("Information of the features about the class", [page.bars(relevance, caption=bits, pale=pale)])] if relevance else []
    kind = _kind(described)
    if kind:
        caption, last = outline_section(network, kind)
        size = counted(described[kind]["nodes"], "node")
    else:
        caption = _caption(information)
        connected = [*network.derived, *(x for x in order if not records[x]["isolated"])]
        tables = [
            page.details(f"{network.name(v)}", page.figure(page.conditional_table_html(network, v)))
            for v in (CLASS, *connected[:200])
        ]
        last, size = ("Conditional tables", tables), f"{len(network.arcs):,} arcs between them"
    return page.page(
        title,
        [
            ((kind or "network").capitalize(), [page.figure(_drawing(network, information), caption), *summary]),
            *bars,
            *sections,
            last,
        ],
        facts={"file": described["file"]},
        footer=f"{len(network.inputs):,} features, {size}, {network.cells:,} cells",
    )


def _caption(information: Information) -> str:
    if not information:
        return "Arcs point from parents to children."
    labels = any(isinstance(key, tuple) for key in information)
    return f"{'Arcs are labeled with I(X;Y|C), features' if labels else 'Features'} are shaded by I(X;C), in bits."


COMMAND = Command(
    "show",
    "Show the arcs, tables and sizes of a model or a network.",
    (
        "naivete show weather.nvt --tables",
        "naivete show alarm.bif",
        "naivete show weather.nvt --svg weather.svg --html weather.html",
    ),
    arguments,
    run,
)
