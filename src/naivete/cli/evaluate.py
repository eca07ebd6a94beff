"""`naivete evaluate`: compare models by cross-validation."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from naivete.cli.inputs import labelled_cases, short_names
from naivete.cli.options import (
    DEFAULT_MODELS,
    check_output,
    classifiers_of,
    encoding_options,
    in_options,
    models_option,
    progress_option,
    reading_options,
    resource_options,
    target_options,
)
from naivete.cli.output import counted, escaped, json_text, note, note_numeric_classes, note_unseen, number, say, text_table
from naivete.cli.parsing import Command
from naivete.cli.progress import progress
from naivete.errors import NaiveteError, ParameterError

if TYPE_CHECKING:
    from naivete.data.labelled_table import LabelledTable
    from naivete.evaluation import Result

__all__ = ["COMMAND", "comparison", "summary"]

_COLUMNS: Final = {
    "balanced_accuracy": ("balanced", True),
    "f1": ("F1", True),
    "roc_auc": ("AUC", True),
    "log_loss": ("bits", False),
    "log_loss_nats": ("nats", False),
    "brier": ("Brier", False),
    "rmse": ("RMSE", False),
}
"""The measures of the table beside the accuracy, with their headings, and whether higher values are better."""


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("data", metavar="DATA", nargs="+", help="one or more data files; - for standard input (CSV)")
    models_option(parser)
    parser.add_argument("--folds", type=int, default=10, help="number of folds, stratified by class (10)")
    parser.add_argument("--seed", type=int, default=0, help="random seed of the folds (0)")
    parser.add_argument("--repeat", type=int, default=1, metavar="TIMES", help="number of repetitions with other folds (1)")
    parser.add_argument(
        "--confusion", action="store_true", help="print the confusion matrices: true classes in rows, predicted ones in columns"
    )
    parser.add_argument("--html", metavar="FILE", help="also write a page with all measures, ROC curves and calibration curves")
    parser.add_argument("--force", action="store_true", help="replace an existing page")
    progress_option(parser)
    target_options(parser)
    encoding_options(parser)
    reading_options(parser)
    resource_options(parser)


@dataclass
class _Evaluation:
    """The results of the models on one file.

    Parameters
    ----------
    cases : the cases.
    results : the results of the models that succeeded.
    errors : the errors of the models that failed, by model.
    """

    cases: LabelledTable
    results: list[Result]
    errors: dict[str, NaiveteError | MemoryError]


def run(args: Namespace) -> int:
    """Cross-validate every model on every file.

    A model that fails is a line in the table; the other models are evaluated without it. Its error is raised after the
    results have been printed, or at once if no model succeeds.
    """
    from naivete.classifiers.specification import split_specs

    specs = split_specs(args.models or list(DEFAULT_MODELS))
    if args.folds < 2 or args.repeat < 1 or args.seed < 0:
        raise ParameterError("--folds must be at least 2, --repeat at least 1, --seed at least 0")
    check_output(args.html, args.data, args.force)
    evaluations: dict[str, _Evaluation] = {}
    paths = list(dict.fromkeys(args.data))
    total = len(paths) * args.repeat * args.folds * len(specs)
    tables = {path: labelled_cases(path, args) for path in paths}
    for cases in tables.values():
        note_numeric_classes(cases.target, cases.classes.tolist())
    with progress("evaluate", total, wanted=args.progress) as step:
        for path, cases in tables.items():
            evaluations[path] = _evaluate(classifiers_of(specs, args, cases.target), cases, args, step)
    errors = [error for evaluation in evaluations.values() for error in evaluation.errors.values()]
    if not any(evaluation.results for evaluation in evaluations.values()):
        raise errors[0]
    for path, evaluation in evaluations.items():
        if any(result.unseen for result in evaluation.results):
            note_unseen(path, "folds")
    if args.json:
        say(json_text([_record(path, args, evaluation) for path, evaluation in evaluations.items()]))
    else:
        _print(evaluations, args)
    if args.html is not None:
        _write_page(evaluations, args)
    if errors:
        raise errors[0]
    return 0


def _evaluate(models: Mapping[str, Any], cases: LabelledTable, args: Namespace, step: Callable[[str], None]) -> _Evaluation:
    """Cross-validate the models together; if one of them fails, the others start again without it."""
    running = _Running(args.folds * args.repeat, step)
    results: list[Result] = []
    errors: dict[str, NaiveteError | MemoryError] = {}

    def evaluate(chosen: Mapping[str, Any]) -> bool:
        running.start(chosen)
        try:
            results.extend(_cross_validate(chosen, cases, args, running.finished))
        except (NaiveteError, MemoryError) as error:
            errors[running.name] = error
            return False
        return True

    remaining = dict(models)
    while remaining and not evaluate(remaining):
        name = running.name
        if name == next(iter(remaining)) and len(remaining) > 1:  # perhaps not its error, but that of counts that models share
            del errors[name]
            evaluate({name: remaining[name]})
        del remaining[name]
    order = list(models)
    results.sort(key=lambda result: order.index(result.model))
    return _Evaluation(cases, results, {name: errors[name] for name in order if name in errors})


def _cross_validate(
    models: Mapping[str, Any], cases: LabelledTable, args: Namespace, finished: Callable[[str], None]
) -> list[Result]:
    from naivete.evaluation import cross_validate

    return cross_validate(
        models,
        cases,
        folds=args.folds,
        random_state=args.seed,
        repeat=args.repeat,
        progress=finished,
        keep_posteriors=args.html is not None,
    )


class _Running:
    """Progress that shows the model that is being fitted, while `cross_validate` reports the models that are finished.

    Parameters
    ----------
    folds : the number of folds.
    step : the function that is called after each fold of each model.
    """

    def __init__(self, folds: int, step: Callable[[str], None]) -> None:
        self.folds, self.step = folds, step
        self.names: list[str] = []
        self.done = self.reported = 0

    @property
    def name(self) -> str:
        """The model that is being fitted: in each fold, the models are fitted in their order."""
        return self.names[self.done % len(self.names)]

    def start(self, names: Iterable[str]) -> None:
        """Start a cross-validation of these models; as many steps as were reported before are not reported again."""
        self.names, self.done = list(names), 0

    def finished(self, name: str) -> None:
        """Report that a fold of a model is finished."""
        self.done += 1
        if self.done > self.reported:
            self.reported = self.done
            self.step(name if self.done == self.folds * len(self.names) else self.name)


def _print(evaluations: Mapping[str, _Evaluation], args: Namespace) -> None:
    """Print a table for each file, and a summary of several files."""
    for path, evaluation in evaluations.items():
        folds = f"{args.folds} folds" + (f" x {args.repeat}" if args.repeat > 1 else "")
        say(escaped(f"{path}: {counted(len(evaluation.cases), 'row')}, {folds}, seed {args.seed}"))
        say(*(comparison(evaluation.results) if evaluation.results else []))
        say(*(escaped(f"{name}: failed: {_message(error)}") for name, error in evaluation.errors.items()), "")
        if args.confusion:
            for result in evaluation.results:
                say(*_confusion(result), "")
    if len(evaluations) > 1:
        say(*summary({name: evaluations[path].results for name, path in short_names(list(evaluations)).items()}), "")
    say("accuracy: mean +- standard deviation over the folds; balanced, F1, AUC: class means; bits, nats: log loss; *: the best")
    say("fit s: training time on the clock in seconds, all folds together; models sk:... use one thread, without their imports")


def _write_page(evaluations: Mapping[str, _Evaluation], args: Namespace) -> None:
    from naivete.evaluation.evaluation_page import evaluation_page
    from naivete.storage.atomic import atomic_write

    names = short_names(list(evaluations))
    data = {name: (evaluations[path].cases, evaluations[path].results) for name, path in names.items() if evaluations[path].results}
    facts = {"folds": args.folds, "repetitions": args.repeat, "seed": args.seed}
    atomic_write(Path(args.html), str(evaluation_page(data, facts)).encode(), overwrite=args.force)
    note(f"wrote the page to {Path(args.html).resolve()}")


def _message(error: BaseException) -> str:
    return in_options(str(error)) or "there is not enough memory"


def comparison(results: Sequence[Result]) -> list[str]:
    """Return a table with a row for each model and a column for each measure; the best values are marked."""
    chosen = {name: (max if higher else min)(getattr(r, name) for r in results) for name, (_, higher) in _COLUMNS.items()}
    best = max(result.accuracy[0] for result in results)
    rows = [
        [
            result.model,
            _accuracy(result, best),
            *(_marked(f"{getattr(result, name):.4f}", getattr(result, name) == chosen[name]) for name in _COLUMNS),
            number(result.fit_seconds),
        ]
        for result in results
    ]
    return text_table(["model", "accuracy % ", *(f"{title} " for title, _ in _COLUMNS.values()), "fit s"], rows)


def _accuracy(result: Result, best: float) -> str:
    mean, deviation = result.accuracy
    return _marked(f"{100 * mean:.1f} +- {100 * deviation:4.1f}", mean == best)


def _marked(text: str, best: bool) -> str:
    return f"{text}{'*' if best else ' '}"


def summary(results: Mapping[str, Sequence[Result]]) -> list[str]:
    """Return a table with a row for each data set, a column for each model, and the means.

    A cell is the accuracy and its standard deviation in per cent; the best are marked. A model that failed on a data set has a
    dash there, and its mean is that of the other data sets.

    Parameters
    ----------
    results : the results of the models that succeeded, by data set.
    """
    models = list(dict.fromkeys(result.model for row in results.values() for result in row))
    by_model = {name: {result.model: result for result in row} for name, row in results.items()}
    rows = []
    for name, row in by_model.items():
        best = max((result.accuracy[0] for result in row.values()), default=0.0)
        rows.append([name, *(_accuracy(row[model], best) if model in row else "- " for model in models)])
    means = [_mean([row[model].accuracy[0] for row in by_model.values() if model in row]) for model in models]
    rows.append(["mean", *(_marked(f"{100 * mean:.1f}", mean == max(means)) for mean in means)])
    return text_table(["accuracy %", *(f"{model} " for model in models)], rows)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _confusion(result: Result) -> list[str]:
    """Return the confusion matrix, with a row for each true class and a column for each predicted class."""
    labels = list(map(str, result.classes.tolist()))
    rows = [[label, *(f"{count:g}" for count in row)] for label, row in zip(labels, result.confusion, strict=True)]
    return [f"{result.model}: true class (rows), predicted class (columns)", *text_table(["", *labels], rows)]


def _record(path: str, args: Namespace, evaluation: _Evaluation) -> dict[str, Any]:
    return {
        "data": path,
        "rows": len(evaluation.cases),
        "folds": args.folds,
        "repeat": args.repeat,
        "seed": args.seed,
        "results": [
            {
                "model": result.model,
                "accuracy": result.accuracy[0],
                "accuracy_sd": result.accuracy[1],
                "balanced_accuracy": result.balanced_accuracy,
                "f1": result.f1,
                "roc_auc": result.roc_auc,
                "log_loss_bits": result.log_loss,
                "log_loss_nats": result.log_loss_nats,
                "brier": result.brier,
                "rmse": result.rmse,
                "accuracies": result.accuracies,
                "classes": result.classes,
                "confusion": result.confusion,
                "fit_seconds": result.fit_seconds,
                "predict_seconds": result.predict_seconds,
            }
            for result in evaluation.results
        ],
        **({"errors": {name: _message(error) for name, error in evaluation.errors.items()}} if evaluation.errors else {}),
    }


COMMAND = Command(
    "evaluate",
    "Compare models by stratified cross-validation on the same folds.",
    (
        "naivete evaluate weather.arff --models majority nb kdb:k=1",
        "naivete evaluate a.arff b.arff.gz --models 'nb; tan; kdb:k=2,theta=0.03' --folds 5 --repeat 2",
        "naivete evaluate mushrooms.csv --target class --models nb,tan --json",
        "naivete evaluate mushrooms.csv --target class --models nb tan --html page.html",
    ),
    arguments,
    run,
    standard_input=True,
)
