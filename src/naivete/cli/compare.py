"""`naivete compare`: models against a baseline on one or more data sets, with tests, and in words what may be concluded."""

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
from naivete.errors import ParameterError, close_matches, quoted

if TYPE_CHECKING:
    from naivete.evaluation import LabelledTable, Protocol, Report, Results
    from naivete.evaluation.comparison import Terms

__all__ = ["COMMAND"]

_SHAPES: Final = ("text", "markdown", "latex", "csv", "json")
_COSTS: Final = ("expected_loss", "least_expected_loss")
_USUAL: Final = {
    "models": list(DEFAULT_MODELS),
    "protocol": "10-fold",
    "measure": "accuracy",
    "alpha": 0.05,
    "rope": 0.01,
}


def arguments(parser: ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("data", metavar="DATA", nargs="*", help="one or more files of cases")
    parser.add_argument("--experiment", metavar="FILE.toml", help="a file with the options; those given here come before its")
    models_option(parser)
    parser.add_argument(
        "--protocol", help="10-fold, 10x10-fold, 30-splits:train=1000,test=500, curve:sizes=10/20/50,count=20 (10-fold)"
    )
    parser.add_argument("--seed", type=int, help="the seed of the protocol (0)")
    parser.add_argument("--baseline", metavar="MODEL", help="the model that the others are compared with (the first)")
    parser.add_argument(
        "--measure",
        help="what is compared: accuracy, precision, recall, specificity, f or area, of which more is better; error, log_loss, "
        "brier, rmse or calibration_error, of which less is; with --loss also expected_loss, of the most probable class, or "
        "least_expected_loss, of deciding for what is expected to cost least (accuracy)",
    )
    parser.add_argument("--alpha", type=float, metavar="LEVEL", help="a corrected p value below is a verdict (0.05)")
    parser.add_argument(
        "--rope",
        type=float,
        metavar="DIFFERENCE",
        help="what difference does not matter in practice, in the unit of the measure: 0.01 is one point of accuracy, since that "
        "is a share of 1, not per cent (0.01)",
    )
    parser.add_argument(
        "--loss",
        metavar="FILE",
        help="the costs of wrong decisions, as a table or as Weka writes them; they are told beside the comparison, or compared "
        "with --measure",
    )
    parser.add_argument("--resume", metavar="FOLDER", help="keep every finished split here; a run that was killed goes on")
    parser.add_argument("--restart", action="store_true", help="begin again, whatever the folder holds")
    parser.add_argument("--jobs", type=int, metavar="N", help="how many processes (a second one where it pays)")
    parser.add_argument("--as", dest="shape", choices=_SHAPES, help="how the comparison is printed (text)")
    parser.add_argument("--html", metavar="FILE", help="write the report as a page, too")
    parser.add_argument("--records", metavar="FILE.csv", help="write a table with a row for every model and split, too")
    parser.add_argument("--force", action="store_true", help="replace the page and the table if there are any")
    progress_option(parser)
    target_options(parser)
    encoding_options(parser)
    reading_options(parser)
    resource_options(parser)


def run(args: Namespace) -> int:
    """Run the experiment, compare the models, and print and write what was asked for."""
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
        seen = 0

        def told(done: int, total: int, what: str) -> None:  # noqa: ARG001 - the total is known
            nonlocal seen
            for _ in range(done - seen):
                step(what or "resumed")
            seen = done

        results = run_all(
            models,
            data,
            protocol,
            folder=args.resume,
            jobs=args.jobs,
            progress=told,
            loss=_loss(args, data),
            restart=args.restart,
        )
    for name in {r.data: None for r in results.records if r.unseen}:
        note_unseen(name, "rounds")
    options = {"baseline": baseline, "measure": args.measure, "alpha": args.alpha, "rope": args.rope}
    found = report(results, data, protocol, **options)
    _write(args, found)
    _print(args, found)
    return 0


def _complete(args: Namespace) -> None:
    """Fill in what the command line leaves out: from the file of the experiment, else the usual."""
    if args.json and args.shape not in (None, "json"):
        raise ParameterError("compare: --json and --as exclude each other; choose one")
    args.shape = "json" if args.json else args.shape or "text"
    given: dict[str, Any] = {}
    if args.experiment is not None:
        from naivete.evaluation import read_description

        given = vars(read_description(args.experiment))
    for key in {**given, **_USUAL}:
        if getattr(args, key) in (None, []):
            value = given.get(key)
            setattr(args, key, _USUAL.get(key) if value is None else value)
    if not args.data:
        raise ParameterError("compare: no file of cases is given; name one or more, or an --experiment that does")


def _check(args: Namespace) -> None:
    """Refuse before any work what could only fail after it."""
    from naivete.evaluation.report import SHARES, check_measure

    if not 0 < args.alpha < 1:
        raise ParameterError(f"--alpha {args.alpha:g}: a level is a number between 0 and 1")
    if not 0 <= args.rope < math.inf:
        raise ParameterError(f"--rope {args.rope:g}: a difference is a number, at least 0")
    if args.jobs is not None and args.jobs < 1:
        raise ParameterError(f"--jobs {args.jobs}: a whole number, at least 1")
    if args.restart and args.resume is None:
        raise ParameterError("--restart: there is nothing to begin again without --resume FOLDER")
    check_measure(args.measure, loss=args.loss is not None)
    if args.measure in SHARES and args.rope >= 1:
        raise ParameterError(
            f"--rope {args.rope:g}: {args.measure} is a share of 1, so that one point is 0.01; no difference is larger"
        )
    inputs = [path for path in (*args.data, args.experiment, args.loss) if path is not None]
    for path in (args.html, args.records):
        check_output(path, inputs, args.force)
    if args.records is not None and not args.records.lower().endswith(".csv"):
        raise ParameterError(f"{args.records}: the table of the records is CSV; end its name in .csv")
    if args.html is not None and args.records is not None and Path(args.html).absolute() == Path(args.records).absolute():
        raise ParameterError(f"{args.html}: --html and --records are the same file; choose another name")


def _baseline(args: Namespace, models: Sequence[str]) -> str:
    from naivete.classifiers.specification import parse_spec

    if len(models) < 2:
        raise ParameterError(f"--models: {models[0]} alone cannot be compared; give two or more different models")
    if args.baseline is None:
        return models[0]
    baseline = str(parse_spec(args.baseline))
    if baseline not in models:
        close = close_matches(baseline, models, 1) or models
        raise ParameterError(f"--baseline {quoted(baseline)}: it is none of the models; did you mean {' or '.join(close)}?")
    return baseline


def _protocol(args: Namespace) -> Protocol:
    from naivete.evaluation import protocol_of
    from naivete.evaluation.report import check_protocol

    protocol: Any = protocol_of(args.protocol)
    check_protocol(protocol)
    if args.seed is None:
        return protocol  # type: ignore[no-any-return]
    if args.seed < 0:
        raise ParameterError("--seed is at least 0")
    if "seed=" in args.protocol.lower():
        raise ParameterError(f"--seed {args.seed}: the protocol {quoted(args.protocol)} has a seed already; give one of them")
    return replace(protocol, random_state=args.seed)  # type: ignore[no-any-return]


def _rounds(protocol: Any) -> int:
    """How many splits there are on each data set."""
    from naivete.evaluation import KFold, LearningCurve

    if isinstance(protocol, KFold):
        return protocol.folds * protocol.repeat
    return int(protocol.count) * (len(protocol.sizes) if isinstance(protocol, LearningCurve) else 1)


def _loss(args: Namespace, data: dict[str, LabelledTable]) -> Any:
    """The costs of wrong decisions, refused where a data set has other classes."""
    if args.loss is None:
        return None
    from naivete.classifiers.losses import Loss

    first = next(iter(data.values()))
    loss = Loss.read(args.loss, first.declared or first.classes.tolist())  # Weka writes costs in the order of the header
    for cases in data.values():
        loss.aligned(cases.classes)
    return loss


def _write(args: Namespace, found: Report) -> None:
    from naivete.storage.atomic import atomic_write

    if args.html is not None:
        atomic_write(Path(args.html), str(found.html()).encode(), overwrite=args.force)
        note(f"the page: {Path(args.html).resolve()}")
    if args.records is not None:
        atomic_write(Path(args.records), _tidy(found.results).encode(), overwrite=args.force)


def _tidy(results: Results) -> str:
    """The records as CSV; what a terminal would obey is escaped, and what is not known is an empty cell."""
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


def _print(args: Namespace, found: Report) -> None:
    from naivete.evaluation import diagram

    if args.shape == "json":
        rows = {name: len(cases) for name, cases in found.data.items()}
        about = {"protocol": str(found.protocol), "models": list(found.results.models), "rows": rows}
        curves = {data: {m: vars(own) for m, own in of.items()} for data, of in found.curves().items()}
        measured = {"measures": found.means(), **({"curves": curves} if curves else {})}
        say(json_text({**about, **diagram.as_json(found.comparison), **measured}))
        return
    if args.shape == "text":
        say(escaped(f"{found.protocol}{found.at_size and '.'}{found.at_size}"), *_curves(found))
    shapes = {"text": diagram.as_text, "markdown": diagram.as_markdown, "latex": diagram.as_latex, "csv": diagram.as_csv}
    say(shapes[args.shape](found.comparison).rstrip("\n"))
    if args.loss is not None and args.measure not in _COSTS:
        _tell_costs(args, found)


def _curves(found: Report) -> Iterator[str]:
    """The means at every size of a learning curve, data set by data set, with empty lines around them."""
    terms = found.comparison.terms
    for data, of in found.curves().items():
        each = list(of.values())
        rows = [
            [f"{size:,}", *(_mean(terms, own.means[at], own.halfwidths[at]) for own in each)]
            for at, size in enumerate(each[0].sizes)
        ]
        yield from ("", escaped(f"{data}: {terms.label} by training rows: mean +- half of the 95 % interval"))
        yield from (*text_table(["rows", *of], rows), "")


def _mean(terms: Terms, mean: float, halfwidth: float) -> str:
    return terms.value(mean) if math.isnan(halfwidth) else f"{terms.value(mean)} +- {terms.value(halfwidth)}"


def _tell_costs(args: Namespace, found: Report) -> None:
    """The expected losses, where something else was compared."""
    if args.shape != "text":
        note("--loss: expected_loss and least_expected_loss are not in this output; choose one as --measure, or --as text or json")
        return
    several = len(found.data) > 1
    for data, models in found.means().items():
        say("", *([escaped(f"{data}:")] if several else []))
        say(*text_table(["model", *_COSTS], [[model, *(f"{own[name]:.4g}" for name in _COSTS)] for model, own in models.items()]))
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
