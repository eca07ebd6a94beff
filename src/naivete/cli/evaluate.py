"""`naivete evaluate`: models side by side, by cross-validation."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from naivete.cli.inputs import labelled_cases, short_names
from naivete.cli.options import (
    DEFAULT_MODELS,
    classifiers_of,
    encoding_options,
    models_option,
    progress_option,
    reading_options,
    resource_options,
    target_options,
)
from naivete.cli.output import counted, escaped, json_text, note_unseen, number, say, text_table
from naivete.cli.parsing import Command
from naivete.cli.progress import progress
from naivete.errors import ParameterError

if TYPE_CHECKING:
    from naivete.evaluation import Result

__all__ = ["COMMAND", "comparison", "summary"]


def arguments(parser: ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("data", metavar="DATA", nargs="+", help="one or more files of cases")
    models_option(parser)
    parser.add_argument("--folds", type=int, default=10, help="how many folds, stratified by class (10)")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the folds (0)")
    parser.add_argument("--repeat", type=int, default=1, metavar="TIMES", help="divide anew so many times (1)")
    parser.add_argument("--confusion", action="store_true", help="print how often each class was taken for each")
    progress_option(parser)
    target_options(parser)
    encoding_options(parser)
    reading_options(parser)
    resource_options(parser)


def run(args: Namespace) -> int:
    """Cross-validate every model on every file."""
    from naivete.classifiers.specification import split_specs
    from naivete.evaluation import cross_validate

    specs = split_specs(args.models or list(DEFAULT_MODELS))
    if args.folds < 2 or args.repeat < 1 or args.seed < 0:
        raise ParameterError("--folds is at least 2, --repeat at least 1, --seed at least 0")
    results: dict[str, Sequence[Result]] = {}
    rows: dict[str, int] = {}
    paths = list(dict.fromkeys(args.data))
    total = len(paths) * args.repeat * args.folds * len(specs)
    with progress("evaluate", total, wanted=args.progress) as step:
        for path in paths:
            cases = labelled_cases(path, args)
            rows[path] = len(cases)
            results[path] = cross_validate(
                classifiers_of(specs, args, cases.target),
                cases,
                folds=args.folds,
                random_state=args.seed,
                repeat=args.repeat,
                progress=step,
            )
    for path, own in results.items():
        if any(result.unseen for result in own):
            note_unseen(path, "folds")
    if args.json:
        say(json_text([_record(path, rows[path], args, own) for path, own in results.items()]))
        return 0
    for path, own in results.items():
        how = f"{args.folds} folds" + (f" x {args.repeat}" if args.repeat > 1 else "")
        say(escaped(f"{path}: {counted(rows[path], 'row')}, {how}, seed {args.seed}"), *comparison(own), "")
        if args.confusion:
            for result in own:
                say(*_confusion(result), "")
    if len(results) > 1:
        say(*summary({name: results[path] for name, path in short_names(paths).items()}), "")
    say("accuracy: mean +- standard deviation over the folds; log loss in bits; * marks the best")
    say("fit s: the seconds that learning took, all folds together")
    return 0


def comparison(results: Sequence[Result]) -> list[str]:
    """The models as rows, their measures as columns, the best of each marked."""
    best = {
        "accuracy": max(result.accuracy[0] for result in results),
        "log_loss": min(result.log_loss for result in results),
        "rmse": min(result.rmse for result in results),
    }
    rows = [
        [
            result.model,
            _accuracy(result, best["accuracy"]),
            *(f"{getattr(result, m):.4f}{'*' if getattr(result, m) == best[m] else ' '}" for m in ("log_loss", "rmse")),
            number(result.brier, 4),
            number(result.fit_seconds),
        ]
        for result in results
    ]
    return text_table(["model", "accuracy % ", "log loss ", "RMSE ", "Brier", "fit s"], rows)


def _accuracy(result: Result, best: float) -> str:
    mean, deviation = result.accuracy
    return f"{100 * mean:.1f} +- {100 * deviation:4.1f}{'*' if mean == best else ' '}"


def summary(results: Mapping[str, Sequence[Result]]) -> list[str]:
    """Data sets as rows, models as columns: accuracy and deviation in per cent, the best marked; then the means."""
    columns = list(results.values())
    rows = [[name, *(_accuracy(r, max(r.accuracy[0] for r in own)) for r in own)] for name, own in results.items()]
    means = [sum(own[i].accuracy[0] for own in columns) / len(columns) for i in range(len(columns[0]))]
    rows.append(["mean", *(f"{100 * mean:.1f}{'*' if mean == max(means) else ' '}" for mean in means)])
    return text_table(["accuracy %", *(f"{result.model} " for result in columns[0])], rows)


def _confusion(result: Result) -> list[str]:
    """P#(classified, correct): a row for the class a case was given, a column for the class it has."""
    labels = list(map(str, result.classes.tolist()))
    rows = [[label, *(f"{n:g}" for n in row)] for label, row in zip(labels, result.confusion, strict=True)]
    return [f"{result.model}: classified as (rows), correct (columns)", *text_table(["", *labels], rows)]


def _record(path: str, rows: int, args: Namespace, results: Sequence[Result]) -> dict[str, Any]:
    return {
        "data": path,
        "rows": rows,
        "folds": args.folds,
        "repeat": args.repeat,
        "seed": args.seed,
        "results": [
            {
                "model": result.model,
                "accuracy": result.accuracy[0],
                "accuracy_sd": result.accuracy[1],
                "log_loss_bits": result.log_loss,
                "brier": result.brier,
                "rmse": result.rmse,
                "accuracies": result.accuracies,
                "classes": result.classes,
                "confusion": result.confusion,
                "fit_seconds": result.fit_seconds,
                "predict_seconds": result.predict_seconds,
            }
            for result in results
        ],
    }


COMMAND = Command(
    "evaluate",
    "Compare models by stratified cross-validation on the same folds.",
    (
        "naivete evaluate weather.arff --models majority nb kdb:k=1",
        "naivete evaluate a.arff b.arff.gz --models 'nb; tan; kdb:k=2,theta=0.03' --folds 5 --repeat 2",
        "naivete evaluate mushrooms.csv --target class --models nb,tan --json",
    ),
    arguments,
    run,
)
