"""`naivete diagnose`: find the errors of naive Bayes, and the arcs between features that correct them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from naivete.cli.inputs import check_columns, check_features, labelled_cases, read_table, use_missing_tokens
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
from naivete.errors import ParameterError, quoted

if TYPE_CHECKING:
    from naivete.classifiers.base import NetworkClassifier
    from naivete.data.table import Column, Table
    from naivete.evaluation.diagnosis.report import Case, Diagnosis

__all__ = ["COMMAND"]

_MODEL = ".nvt"
_SHOWN = 10
"""The number of features, arcs and cases that are printed."""
_TERMS = 3
"""The number of features that are printed for a case."""


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("data", metavar="DATA", help="data file")
    parser.add_argument("--model", default="kdb:k=1", help="model to compare with naive Bayes, or a model file (kdb:k=1)")
    parser.add_argument(
        "--test", metavar="FILE", help="test cases; by default each case of DATA is predicted by a model that is fitted without it"
    )
    output_options(parser, "write a table of all cases, as .csv, .tsv, .arff or .parquet")
    parser.add_argument("--html", metavar="FILE", help="write an HTML page with the figure and the tables")
    target_options(parser)
    encoding_options(parser)
    reading_options(parser)
    resource_options(parser)


def run(args: Namespace) -> int:
    """Compare the predictions of a network with those of naive Bayes."""
    inputs = [path for path in (args.data, args.test, args.model) if path is not None]
    for file in (args.out, args.html):
        check_output(file, inputs, args.force)
    if args.out is not None:
        check_ending(args.out)
    if args.out is not None and args.out == args.html:
        raise ParameterError(f"{args.out}: --out and --html name the same file; choose another name for one of them")
    model, diagnosis = _diagnosed(args)
    report = _report(args, model, diagnosis)
    if args.out is not None:
        _write(diagnosis, args)
    if args.html is not None:
        write_text(args.html, str(_page(report, diagnosis)), args.force)
    say(*([json_text(report)] if args.json else _lines(report)))
    return 0


def _diagnosed(args: Namespace) -> tuple[str, Diagnosis]:
    """Return the specification of the network, and its diagnosis."""
    from naivete.classifiers.specification import classifier_of, parse_spec, spec_of
    from naivete.evaluation.diagnosis.diagnose import diagnose

    if args.model.lower().endswith(_MODEL):
        if args.test is not None:
            raise ParameterError("--test: a saved model is already fitted; give the test cases as DATA, and leave --test out")
        from naivete.classifiers.saving import load

        model = load(args.model)
        use_missing_tokens(args, model)
        table, labels = _test_cases(args.data, args, model)
        return str(spec_of(model)), diagnose(model, table, labels, sample_weight=table.weight)
    spec = parse_spec(args.model)
    cases = labelled_cases(args.data, args)
    model = classifier_of(spec, encoder=encoder_of(args, cases.target), budget=args.budget)
    if args.test is None:
        return str(spec), diagnose(model, cases.features, cases.column, sample_weight=cases.weight)
    train = cases.features, cases.column, cases.weight
    table, labels = _test_cases(args.test, args, model.fit(*train))
    return str(spec), diagnose(model, table, labels, train=train, sample_weight=table.weight)


def _test_cases(path: str, args: Namespace, model: NetworkClassifier) -> tuple[Table, Column | None]:
    """Return the features of test cases, with the states of a fitted model, and their classes if the file has them."""
    from naivete.classifiers.predictions import convert_to_states, kinds_to_read
    from naivete.data.labelled_table import label_table

    *features, target = model.network_.variables
    names = [variable.name for variable in features]
    try:
        table = read_table(path, args, kinds_to_read(features), wanted=names)
    except ParameterError:  # a column is missing, which `check_features` reports better
        table = read_table(path, args, wanted=names)
    check_features(table, features)
    check_columns(table, ("weight", args.weight))
    if args.target is not None and args.target != target.name:
        raise ParameterError(
            f"--target: the class of the model is {quoted(target.name)}, not {quoted(args.target)}; leave the option out"
        )
    if target.name not in table.names:
        return convert_to_states(table, features), None
    cases = label_table(table, target.name, weight=args.weight, drop_unlabelled=args.drop_unlabelled)
    return convert_to_states(cases.features, features), cases.column


def _write(diagnosis: Diagnosis, args: Namespace) -> None:
    from naivete.data.files import write

    options: dict[str, Any] = {} if has_ending(args.out, ".parquet", ".pq") else {"as_text": True}
    write(diagnosis.cases(), args.out, overwrite=args.force, **options)


def _report(args: Namespace, model: str, diagnosis: Diagnosis) -> dict[str, Any]:
    """Return the results as plain values."""
    summary = asdict(diagnosis.summary())
    labelled = summary["labelled"]
    accuracies = {f"{name}_accuracy": summary[name] / labelled if labelled else None for name in ("naive", "network")}
    return {
        "data": args.data,
        "test": args.test,
        "model": model,
        "target": diagnosis.network.name(-1),
        "classes": diagnosis.classes,
        **summary,
        **accuracies,
        "features": _records(diagnosis.features()),
        "arcs": _records(diagnosis.arcs()),
        "worst": [_case(case) for case in diagnosis.worst(_SHOWN, _TERMS)],
    }


def _records(table: Table) -> list[dict[str, Any]]:
    names = [str(name) for name in table.names]
    return [dict(zip(names, row, strict=True)) for row in zip(*table.columns, strict=True)]


def _case(case: Case) -> dict[str, Any]:
    return {**asdict(case), "terms": [{"feature": name, "bits": bits} for name, bits in case.terms]}


def _lines(report: dict[str, Any]) -> list[str]:
    """Return the results as text."""
    data = report["data"] if report["test"] is None else f"{report['test']}, fitted on {report['data']}"
    effects = " (changed), become right (gained) or wrong (lost)" if _labelled(report) else " (changed)"
    return [
        escaped(f"{data}: {report['model']} compared with naive Bayes"),
        *(escaped(f"  {name:<8}  {text}") for name, text in _summary(report).items()),
        "",
        "features with the strongest dependence on other features, and",
        f"how many predictions change{effects} when this dependence is ignored",
        *text_table(*_feature_rows(report)),
        *_more(report["features"], "feature"),
        "",
        *_arc_lines(report),
        *_worst_lines(report),
        _units(report),
    ]


def _labelled(report: dict[str, Any]) -> bool:
    return bool(report["labelled"])


def _summary(report: dict[str, Any]) -> dict[str, str]:
    """Return the number of cases, the accuracies, and how many predictions the network changes."""
    labelled = f", {_weight(report['labelled'])} with their class" if report["labelled"] != report["cases"] else ""
    effects = f": {_weight(report['repaired'])} from wrong to right, {_weight(report['broken'])} from right to wrong"
    accuracies = {name: _accuracy(report, name) for name in ("naive", "network")} if _labelled(report) else {}
    return {
        "cases": f"{_weight(report['cases'])}{labelled}",
        "method": report["method"],
        **accuracies,
        "changed": f"{_weight(report['changed'])} predictions of naive Bayes{effects * _labelled(report)}",
    }


def _accuracy(report: dict[str, Any], name: str) -> str:
    return f"{100 * report[f'{name}_accuracy']:.1f} % right, {_weight(report[name])} of {_weight(report['labelled'])}"


def _weight(weight: float) -> str:
    """Return a total weight; a whole number is written without decimals."""
    return f"{int(weight):,}" if weight == int(weight) else f"{weight:,.2f}"


def _feature_rows(report: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    counts = [name for name in ("changed", "gained", "lost") if any(name in record for record in report["features"])]
    rows = [
        [
            *(named(record["feature"]), number(record["weight"]), number(record["mean_size"])),
            *(_weight(record[name]) for name in counts),
        ]
        for record in report["features"][:_SHOWN]
    ]
    return ["feature", "weight", "mean size", *counts], rows


def _arc_rows(report: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    counts = [name for name in ("changed", "repaired", "broken", "net") if any(name in record for record in report["arcs"])]
    rows = [
        [named(record["parent"]), named(record["child"]), *(_weight(record[name]) for name in counts)]
        for record in report["arcs"][:_SHOWN]
    ]
    return ["parent", "child", *counts], rows


def _worst_rows(report: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    headers = ["row", *(["correct"] if _labelled(report) else []), "naive", "network", "by bits", "bits by dependence"]
    rows = [
        [
            f"{case['row']:,}",
            *([str(case["correct"])] if _labelled(report) else []),
            *(str(case[name]) for name in ("naive", "network")),
            number(case["bits"]),
            ", ".join(f"{named(term['feature'])} {term['bits']:.3f}" for term in case["terms"]) or "none",
        ]
        for case in report["worst"]
    ]
    return headers, rows


def _more(records: Sequence[object], noun: str) -> list[str]:
    return [f"and {counted(len(records) - _SHOWN, f'more {noun}')}"] * (len(records) > _SHOWN)


def _arc_lines(report: dict[str, Any]) -> list[str]:
    if not report["arcs"]:
        return ["the network has no arcs between features, so it has nothing to add to naive Bayes", ""]
    return [
        "arcs with the largest effect when each alone is added to naive Bayes",
        *text_table(*_arc_rows(report), left=(0, 1)),
        *_more(report["arcs"], "arc"),
        "",
    ]


def _worst_lines(report: dict[str, Any]) -> list[str]:
    headers, rows = _worst_rows(report)
    if not rows:
        return [f"no prediction of naive Bayes {'is wrong' if _labelled(report) else 'is changed by the network'}", ""]
    wrong, changed = "wrong predictions of naive Bayes", "predictions of naive Bayes that the network changes"
    return [f"{wrong if _labelled(report) else changed}, the most confident first", *text_table(headers, rows, left=(0, -1)), ""]


def _units(report: dict[str, Any]) -> str:
    if len(report["classes"]) == 2:
        first, second = map(str, report["classes"])
        weight = f"weight: the mean change of the log odds by the dependence (log ddr); above 0 it favors {second}, below 0 {first}"
    else:
        weight = "weight: the norm of the mean changes of the log probabilities by the dependence (log dd), over all classes"
    return escaped(f"all in bits; {weight}; mean size: the mean over the cases of the absolute change")


def _page(report: dict[str, Any], diagnosis: Diagnosis) -> Any:
    from naivete.display import page

    headers, rows = _worst_rows(report)
    caption = (
        "The log odds of each case by naive Bayes and by the network. On the dashed line both are equal; "
        "where their signs differ, the prediction changes."
    )
    summary = [
        f"{text[0].upper()}{text[1:]}." if name == "method" else f"{name.capitalize()}: {text}."
        for name, text in _summary(report).items()
    ]
    arcs = page.table(*_arc_rows(report)) if report["arcs"] else "The network has no arcs between features."
    return page.page(
        f"Diagnosis of naive Bayes for `{report['target']}`",
        [
            ("Effect of the dependence between features", [page.figure(diagnosis.svg(), caption), *summary]),
            ("Features with the strongest dependence", [page.table(*_feature_rows(report)), _units(report)]),
            ("Arcs that correct naive Bayes", ["Each arc alone is added to naive Bayes.", arcs]),
            ("The most confident errors of naive Bayes", [page.table(headers, rows) if rows else "There are none."]),
        ],
        facts={"compared with": report["model"], "file": report["test"] or report["data"], "cases": report["cases"]},
    )


COMMAND = Command(
    "diagnose",
    "Find the errors of naive Bayes, and the arcs between features that correct them.",
    (
        "naivete diagnose weather.csv --target play",
        "naivete diagnose train.csv --target play --model kdb:k=2 --test test.csv --html play.html",
        "naivete diagnose cases.csv --model weather.nvt --out terms.csv",
    ),
    arguments,
    run,
)
