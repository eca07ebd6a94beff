"""`naivete compare`: compare models with a baseline on one or more data sets, with statistical tests."""

from __future__ import annotations

import csv
import io
import math
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from naivete.cli.inputs import labelled_cases, short_names
from naivete.cli.options import (
    DEFAULT_MODELS,
    check_output,
    classifiers_of,
    encoding_options,
    models_option,
    progress_option,
    reading_options,
    resource_options,
    target_options,
)
from naivete.cli.output import escaped, json_text, note, note_unseen, say, text_table
from naivete.cli.parsing import Command
from naivete.cli.progress import progress
from naivete.errors import ParameterError, did_you_mean, quoted

if TYPE_CHECKING:
    from naivete.evaluation import LabelledTable, Protocol, Report, Results
    from naivete.evaluation.comparison_terms import Terms

__all__ = ["COMMAND"]

_FORMATS: Final = ("text", "markdown", "latex", "csv", "json")
_LOSSES: Final = ("expected_loss", "least_expected_loss")
_DEFAULTS: Final = {
    "models": list(DEFAULT_MODELS),
    "protocol": "10-fold",
    "measure": "accuracy",
    "alpha": 0.05,
    "rope": 0.01,
}


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("data", metavar="DATA", nargs="*", help="one or more data files")
    parser.add_argument(
        "--experiment", metavar="FILE.toml", help="file with the options; the options of the command line take precedence"
    )
    models_option(parser)
    parser.add_argument(
        "--protocol", help="10-fold, 10x10-fold, 30-splits:train=1000,test=500, curve:sizes=10/20/50,count=20 (10-fold)"
    )
    parser.add_argument("--seed", type=int, help="random seed of the protocol (0)")
    parser.add_argument("--baseline", metavar="MODEL", help="model with which the others are compared (the first one)")
    parser.add_argument(
        "--measure",
        help="measure to compare: accuracy, balanced_accuracy, precision, recall, specificity, f1 or roc_auc (higher is better); "
        "error, log_loss (in bits), log_loss_nats, brier, rmse or calibration_error (lower is better); with --loss also "
        "expected_loss (of predicting the most probable class) or least_expected_loss (of predicting the class with the lowest "
        "expected loss) (accuracy)",
    )
    parser.add_argument("--alpha", type=float, metavar="LEVEL", help="significance level of the corrected p values (0.05)")
    parser.add_argument(
        "--rope",
        type=float,
        metavar="DIFFERENCE",
        help="region of practical equivalence: the largest difference that does not matter in practice, in the unit of the "
        "measure; 0.01 is one percentage point of accuracy (0.01)",
    )
    parser.add_argument(
        "--loss",
        metavar="FILE",
        help="file with the costs of wrong decisions, as a table or in Weka's format; the expected losses are printed below the "
        "comparison, or compared with --measure",
    )
    parser.add_argument("--resume", metavar="FOLDER", help="save every finished split there; the same command continues from it")
    parser.add_argument("--restart", action="store_true", help="start again, whatever the folder holds")
    parser.add_argument("--jobs", type=int, metavar="N", help="number of processes (1, or 2 where that is faster)")
    parser.add_argument("--as", dest="output_format", choices=_FORMATS, help="output format of the comparison (text)")
    parser.add_argument("--html", metavar="FILE", help="also write the report as an HTML page")
    parser.add_argument("--records", metavar="FILE.csv", help="also write a table with one row for each model and split")
    parser.add_argument("--force", action="store_true", help="replace existing files")
    progress_option(parser)
    target_options(parser)
    encoding_options(parser)
    reading_options(parser)
    resource_options(parser)


def run(args: Namespace) -> int:
    """Run the experiment, compare the models, and print and write the results."""
    _complete(args)
    from naivete.classifiers.specification import split_specs
    from naivete.evaluation import report
    from naivete.evaluation import run as run_all

    specs = split_specs(args.models)
    baseline = _baseline(args, [str(spec) for spec in specs])
    protocol = _protocol(args)
    _check(args)
    data = {name: labelled_cases(path, args) for name, path in short_names(args.data).items()}
    models = classifiers_of(specs, args, next(iter(data.values())).target)
    with progress("compare", len(data) * _rounds(protocol), wanted=args.progress) as step:
        reported = 0

        def report_progress(done: int, total: int, split: str) -> None:  # noqa: ARG001 - the total is known
            nonlocal reported
            for _ in range(done - reported):
                step(split or "resumed")
            reported = done

        results = run_all(
            models,
            data,
            protocol,
            folder=args.resume,
            jobs=args.jobs,
            progress=report_progress,
            loss=_loss(args, data),
            restart=args.restart,
        )
    for name in {r.data: None for r in results.records if r.unseen}:
        note_unseen(name, "rounds")
    options = {"baseline": baseline, "measure": args.measure, "alpha": args.alpha, "rope": args.rope}
    comparison = report(results, data, protocol, **options)
    _write(args, comparison)
    _print(args, comparison)
    return 0


def _complete(args: Namespace) -> None:
    """Set the options that the command line leaves out: from the file of the experiment, else to their defaults."""
    if args.json and args.output_format not in (None, "json"):
        raise ParameterError("compare: --json and --as exclude each other; choose one")
    args.output_format = "json" if args.json else args.output_format or "text"
    from_file: dict[str, Any] = {}
    if args.experiment is not None:
        from naivete.evaluation import read_description

        from_file = vars(read_description(args.experiment))
    for key in {**from_file, **_DEFAULTS}:
        if getattr(args, key) in (None, []):
            value = from_file.get(key)
            setattr(args, key, _DEFAULTS.get(key) if value is None else value)
    if not args.data:
        raise ParameterError("compare: no data file is given; name one or more, or an --experiment that does")


def _check(args: Namespace) -> None:
    """Refuse options that are out of range or contradict each other, and output files that cannot be written."""
    from naivete.evaluation.report import SHARES, check_measure

    if not 0 < args.alpha < 1:
        raise ParameterError(f"--alpha {args.alpha:g}: the significance level must be between 0 and 1")
    if not 0 <= args.rope < math.inf:
        raise ParameterError(f"--rope {args.rope:g}: the difference must be at least 0")
    if args.jobs is not None and args.jobs < 1:
        raise ParameterError(f"--jobs {args.jobs}: the number of processes must be at least 1")
    if args.restart and args.resume is None:
        raise ParameterError("--restart is for a folder of finished splits; name it with --resume FOLDER, or leave --restart out")
    check_measure(args.measure, loss=args.loss is not None)
    if args.measure in SHARES and args.rope >= 1:
        raise ParameterError(
            f"--rope {args.rope:g}: {args.measure} is at most 1, so the difference must be less than 1; one point is 0.01"
        )
    inputs = [path for path in (*args.data, args.experiment, args.loss) if path is not None]
    for path in (args.html, args.records):
        check_output(path, inputs, args.force)
    if args.records is not None and not args.records.lower().endswith(".csv"):
        raise ParameterError(f"{args.records}: the table of the splits is written as CSV; end its name in .csv")
    if args.html is not None and args.records is not None and Path(args.html).absolute() == Path(args.records).absolute():
        raise ParameterError(f"{args.html}: --html and --records are the same file; choose another name")


def _baseline(args: Namespace, models: Sequence[str]) -> str:
    from naivete.classifiers.specification import parse_spec

    if len(models) < 2:
        raise ParameterError(f"--models: {models[0]} alone cannot be compared; give two or more different models")
    if args.baseline is None:
        return models[0]
    baseline = str(parse_spec(args.baseline, peers=True))
    if baseline not in models:
        hint = did_you_mean(baseline, models, "the models are")
        raise ParameterError(f"--baseline {quoted(baseline)} is not one of the models; {hint}")
    return baseline


def _protocol(args: Namespace) -> Protocol:
    from naivete.evaluation import protocol_of
    from naivete.evaluation.report import check_protocol

    protocol: Any = protocol_of(args.protocol)
    check_protocol(protocol)
    if args.seed is None:
        return protocol  # type: ignore[no-any-return]
    if args.seed < 0:
        raise ParameterError(f"--seed {args.seed}: the seed must be at least 0")
    if "seed=" in args.protocol.lower():
        raise ParameterError(f"--seed {args.seed}: the protocol {quoted(args.protocol)} already has a seed; give one of them")
    return replace(protocol, random_state=args.seed)  # type: ignore[no-any-return]


def _rounds(protocol: Any) -> int:
    """Return the number of splits of each data set."""
    from naivete.evaluation import KFold, LearningCurve

    if isinstance(protocol, KFold):
        return protocol.folds * protocol.repeat
    return int(protocol.count) * (len(protocol.sizes) if isinstance(protocol, LearningCurve) else 1)


def _loss(args: Namespace, data: dict[str, LabelledTable]) -> Any:
    """Return the costs of wrong decisions; refuse them if a data set has other classes."""
    if args.loss is None:
        return None
    from naivete.classifiers.losses import Loss

    first = next(iter(data.values()))
    classes = first.declared or first.classes.tolist()  # in Weka's format the costs are in the order of the header
    loss = Loss.read(args.loss, classes)
    for cases in data.values():
        loss.aligned(cases.classes)
    return loss


def _write(args: Namespace, report: Report) -> None:
    from naivete.storage.atomic import atomic_write

    if args.html is not None:
        atomic_write(Path(args.html), str(report.html()).encode(), overwrite=args.force)
        note(f"wrote the report to {Path(args.html).resolve()}")
    if args.records is not None:
        atomic_write(Path(args.records), _records_csv(report.results).encode(), overwrite=args.force)


def _records_csv(results: Results) -> str:
    """Return the results of all splits as CSV; control characters are escaped, unknown values are empty cells."""
    columns = results.columns()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in zip(*columns.values(), strict=True))
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return escaped(value)
    return "" if isinstance(value, float) and math.isnan(value) else value


def _print(args: Namespace, report: Report) -> None:
    from naivete.evaluation import diagram

    if args.output_format == "json":
        rows = {name: len(cases) for name, cases in report.data.items()}
        about = {"protocol": str(report.protocol), "models": list(report.results.models), "rows": rows}
        curves = {data: {model: vars(curve) for model, curve in by_model.items()} for data, by_model in report.curves().items()}
        measured = {"measures": report.means(), **({"curves": curves} if curves else {})}
        say(json_text({**about, **diagram.as_json(report.comparison), **measured}))
        return
    if args.output_format == "text":
        say(escaped(f"{report.protocol}{report.at_size and '.'}{report.at_size}"), *_curves(report))
    formats = {"text": diagram.as_text, "markdown": diagram.as_markdown, "latex": diagram.as_latex, "csv": diagram.as_csv}
    say(formats[args.output_format](report.comparison).rstrip("\n"))
    if args.loss is not None and args.measure not in _LOSSES:
        _print_losses(args, report)


def _curves(report: Report) -> Iterator[str]:
    """Return a table for each data set: the mean of the measure at each size of the learning curve."""
    terms = report.comparison.terms
    for data, by_model in report.curves().items():
        curves = list(by_model.values())
        rows = [
            [f"{size:,}", *(_mean(terms, curve.means[i], curve.halfwidths[i]) for curve in curves)]
            for i, size in enumerate(curves[0].sizes)
        ]
        yield from ("", escaped(f"{data}: {terms.label} by training rows: mean +- half of the 95 % interval"))
        yield from (*text_table(["rows", *by_model], rows), "")


def _mean(terms: Terms, mean: float, halfwidth: float) -> str:
    return terms.value(mean) if math.isnan(halfwidth) else f"{terms.value(mean)} +- {terms.value(halfwidth)}"


def _print_losses(args: Namespace, report: Report) -> None:
    """Print the expected losses below the comparison of another measure."""
    if args.output_format != "text":
        note("--loss: the expected losses are not in this output; choose one of them with --measure, or choose --as text or json")
        return
    for data, models in report.means().items():
        rows = [[model, *(f"{means[name]:.4g}" for name in _LOSSES)] for model, means in models.items()]
        say("", *([escaped(f"{data}:")] if len(report.data) > 1 else []), *text_table(["model", *_LOSSES], rows))
    say("means over the rounds; to compare the models by one of them, add --measure least_expected_loss")


COMMAND = Command(
    "compare",
    "Compare models with a baseline by tests that allow for overlapping training sets.",
    (
        "naivete compare weather.arff --models nb tan kdb:k=2 --protocol 10x10-fold",
        "naivete compare a.arff b.arff c.arff --models 'nb; tan' --measure log_loss --html report.html",
        "naivete compare big.csv --target class --protocol 30-splits:train=1000,test=500 --resume folder --jobs 2",
        "naivete compare --experiment experiment.toml --as latex",
    ),
    arguments,
    run,
)
