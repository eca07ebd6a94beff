"""`naivete diagnose`: where naive Bayes errs, by how much, and which arc repairs it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from naivete.cli.inputs import check_columns, check_features, labelled_cases, read_table
from naivete.cli.options import (
    check_ending,
    check_output,
    encoder_of,
    encoding_options,
    has_ending,
    output_options,
    reading_options,
    resource_options,
    target_options,
)
from naivete.cli.output import counted, escaped, json_text, named, number, say, text_table, write_text
from naivete.cli.parsing import Command
from naivete.errors import ParameterError

if TYPE_CHECKING:
    from naivete.classifiers.base import NetworkClassifier
    from naivete.data.table import Column, Table
    from naivete.evaluation.diagnosis.report import Case, Diagnosis

__all__ = ["COMMAND"]

_MODEL = ".nvt"
_SHOWN = 10
_TERMS = 3


def arguments(parser: ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("data", metavar="DATA", help="the cases")
    parser.add_argument("--model", default="kdb:k=1", help="the network to compare with, or a saved model (kdb:k=1)")
    parser.add_argument("--test", metavar="FILE", help="cases to answer; by default those of DATA, each without itself")
    output_options(parser, "write a table of all cases: .csv, .tsv, .arff or .parquet")
    parser.add_argument("--html", metavar="FILE", help="write a page with the picture and the tables")
    target_options(parser)
    encoding_options(parser)
    reading_options(parser)
    resource_options(parser)


def run(args: Namespace) -> int:
    """Compare a network with naive Bayes, case by case."""
    inputs = [path for path in (args.data, args.test, args.model) if path is not None]
    for file in (args.out, args.html):
        check_output(file, inputs, args.force)
    if args.out is not None:
        check_ending(args.out)
    if args.out is not None and args.out == args.html:
        raise ParameterError(f"{args.out}: --out and --html name the same file; choose another name for one of them")
    model, found = _diagnosed(args)
    told = _described(args, model, found)
    if args.out is not None:
        _write(found, args)
    if args.html is not None:
        write_text(args.html, str(_page(told, found)), args.force)
    say(*([json_text(told)] if args.json else _told(told)))
    return 0


def _diagnosed(args: Namespace) -> tuple[str, Diagnosis]:
    """The network as text, and what was found."""
    from naivete.classifiers.specification import classifier_of, parse_spec, spec_of
    from naivete.evaluation.diagnosis.diagnose import diagnose

    if args.model.lower().endswith(_MODEL):
        if args.test is not None:
            raise ParameterError("--test: a saved model has learned already; give its cases as DATA alone")
        from naivete.classifiers.saving import load

        model = load(args.model)
        table, labels = _asked(args.data, args, model)
        return str(spec_of(model)), diagnose(model, table, labels, sample_weight=table.weight)
    spec = parse_spec(args.model)
    cases = labelled_cases(args.data, args)
    model = classifier_of(spec, encoder=encoder_of(args, cases.target), budget=args.budget)
    if args.test is None:
        return str(spec), diagnose(model, cases.features, cases.column, sample_weight=cases.weight)
    train = cases.features, cases.column, cases.weight
    table, labels = _asked(args.test, args, model.fit(*train))
    return str(spec), diagnose(model, table, labels, train=train, sample_weight=table.weight)


def _asked(path: str, args: Namespace, model: NetworkClassifier) -> tuple[Table, Column | None]:
    """The cases that a fitted model answers, read so that their texts meet its states, and their classes if they have them."""
    from naivete.classifiers.predictions import convert_to_states, kinds_to_read
    from naivete.data.labelled_table import label_table

    *features, target = model.network_.variables
    names = [variable.name for variable in features]
    try:
        table = read_table(path, args, kinds_to_read(features), wanted=names)
    except ParameterError:  # of a column that does not exist, which `check_features` describes better
        table = read_table(path, args, wanted=names)
    check_features(table, features)
    check_columns(table, ("weight", args.weight))
    if args.target is not None and args.target != target.name:
        raise ParameterError(f"--target: the class of the model is {target.name!r}, not {args.target!r}; leave the option out")
    if target.name not in table.names:
        return convert_to_states(table, features), None
    cases = label_table(table, target.name, weight=args.weight, drop_unlabelled=args.drop_unlabelled)
    return convert_to_states(cases.features, features), cases.column


def _write(found: Diagnosis, args: Namespace) -> None:
    from naivete.data.files import write

    options: dict[str, Any] = {} if has_ending(args.out, ".parquet", ".pq") else {"as_text": True}
    write(found.cases(), args.out, overwrite=args.force, **options)


def _described(args: Namespace, model: str, found: Diagnosis) -> dict[str, Any]:
    own = asdict(found.summary())
    shares = {f"{name}_accuracy": own[name] / own["labelled"] if own["labelled"] else None for name in ("naive", "network")}
    return {
        "data": args.data,
        "test": args.test,
        "model": model,
        "target": found.network.name(-1),
        "classes": found.classes,
        **own,
        **shares,
        "features": _records(found.features()),
        "arcs": _records(found.arcs()),
        "worst": [_case(case) for case in found.worst(_SHOWN, _TERMS)],
    }


def _records(table: Table) -> list[dict[str, Any]]:
    names = [str(name) for name in table.names]
    return [dict(zip(names, row, strict=True)) for row in zip(*table.columns, strict=True)]


def _case(case: Case) -> dict[str, Any]:
    return {**asdict(case), "terms": [{"feature": name, "bits": bits} for name, bits in case.terms]}


def _told(told: dict[str, Any]) -> list[str]:
    data = told["data"] if told["test"] is None else f"{told['test']}, learned from {told['data']}"
    return [
        escaped(f"{data}: {told['model']} compared with naive Bayes"),
        *(escaped(f"  {word:<8}  {text}") for word, text in _about(told).items()),
        "",
        f"features whose dependence on others weighs most; turned{', gained, lost' * _labelled(told)}: when it is ignored",
        *text_table(*_feature_rows(told)),
        *_more(told["features"], "feature"),
        "",
        *_arcs_told(told),
        *_worst_told(told),
        *_units(told),
    ]


def _labelled(told: dict[str, Any]) -> bool:
    return bool(told["labelled"])


def _about(told: dict[str, Any]) -> dict[str, str]:
    """How many cases there are, who was right how often, and what turned."""
    known = f", {_whole(told['labelled'])} with their class" if told["labelled"] != told["cases"] else ""
    effects = f": {_whole(told['repaired'])} from wrong to right, {_whole(told['broken'])} from right to wrong"
    right = {word: _right(told, word) for word in ("naive", "network")} if _labelled(told) else {}
    return {
        "cases": f"{_whole(told['cases'])}{known}",
        "how": told["how"],
        **right,
        "turned": f"{_whole(told['turned'])} answers of naive Bayes{effects * _labelled(told)}",
    }


def _right(told: dict[str, Any], word: str) -> str:
    return f"{100 * told[f'{word}_accuracy']:.1f} % right, {_whole(told[word])} of {_whole(told['labelled'])}"


def _whole(weight: float) -> str:
    return f"{int(weight):,}" if weight == int(weight) else f"{weight:,.2f}"


def _feature_rows(told: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    counts = [name for name in ("turned", "gained", "lost") if any(name in own for own in told["features"])]
    rows = [
        [named(own["feature"]), number(own["weight"]), number(own["mean_size"]), *(_whole(own[name]) for name in counts)]
        for own in told["features"][:_SHOWN]
    ]
    return ["feature", "weight", "mean size", *counts], rows


def _arc_rows(told: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    counts = [name for name in ("changed", "repaired", "broken", "net") if any(name in own for own in told["arcs"])]
    rows = [[named(own["parent"]), named(own["child"]), *(_whole(own[name]) for name in counts)] for own in told["arcs"][:_SHOWN]]
    return ["parent", "child", *counts], rows


def _worst_rows(told: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    headers = ["row", *(["correct"] if _labelled(told) else []), "naive", "network", "by bits", "the dependence takes off"]
    rows = [
        [
            f"{own['row']:,}",
            *([str(own["correct"])] if _labelled(told) else []),
            *(str(own[word]) for word in ("naive", "network")),
            number(own["bits"]),
            ", ".join(f"{named(term['feature'])} {term['bits']:.3f}" for term in own["terms"]) or "nothing",
        ]
        for own in told["worst"]
    ]
    return headers, rows


def _more(records: Sequence[object], what: str) -> list[str]:
    return [f"and {counted(len(records) - _SHOWN, f'more {what}').replace('1 more', 'one more')}"] * (len(records) > _SHOWN)


def _arcs_told(told: dict[str, Any]) -> list[str]:
    if not told["arcs"]:
        return ["the network has no arcs between features, so there is nothing to add to naive Bayes", ""]
    return [
        "arcs that change naive Bayes most when each alone is added to it",
        *text_table(*_arc_rows(told), left=(0, 1)),
        *_more(told["arcs"], "arc"),
        "",
    ]


def _worst_told(told: dict[str, Any]) -> list[str]:
    headers, rows = _worst_rows(told)
    if not rows:
        return [f"no answer of naive Bayes {'is wrong' if _labelled(told) else 'turns'}", ""]
    kind = "where naive Bayes errs and is most sure of it" if _labelled(told) else "where the dependence turns the surest answers"
    return [kind, *text_table(headers, rows, left=(0, -1)), ""]


def _units(told: dict[str, Any]) -> list[str]:
    if len(told["classes"]) == 2:
        first, second = map(str, told["classes"])
        weight = f"weight: the mean of log ddr; above zero for {second}, below for {first}"
    else:
        weight = "weight: the length of the means of log dd of all classes"
    return [escaped(f"all in bits; {weight}; mean size: that in a single case")]


def _page(told: dict[str, Any], found: Diagnosis) -> Any:
    from naivete.display import page

    headers, rows = _worst_rows(told)
    caption = "Each case by its log odds; on the dashed line the dependence changes nothing, across the axes it turns the answer."
    about = [
        f"{text[0].upper()}{text[1:]}." if word == "how" else f"{word.capitalize()}: {text}." for word, text in _about(told).items()
    ]
    arcs = page.table(*_arc_rows(told)) if told["arcs"] else "The network has no arcs between features."
    return page.page(
        f"Diagnosis of naive Bayes for the class {told['target']}",
        [
            ("What naive Bayes neglects", [page.figure(found.svg(), caption), *about]),
            ("Features whose dependence weighs most", [page.table(*_feature_rows(told)), *_units(told)]),
            ("Arcs that repair naive Bayes", ["Each is added to naive Bayes alone.", arcs]),
            ("The surest errors of naive Bayes", [page.table(headers, rows) if rows else "There are none."]),
        ],
        facts={"compared with": told["model"], "file": told["test"] or told["data"], "cases": told["cases"]},
    )


COMMAND = Command(
    "diagnose",
    "Tell where naive Bayes errs, by how much, and which arc repairs it.",
    (
        "naivete diagnose weather.csv --target play",
        "naivete diagnose train.csv --target play --model kdb:k=2 --test test.csv --html play.html",
        "naivete diagnose cases.csv --model weather.nvt --out terms.csv",
    ),
    arguments,
    run,
)
