"""`naivete describe`: describe the columns and the class of a data file."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Final

from naivete.cli.inputs import check_columns, differences_from_text, read_table, usual_target
from naivete.cli.options import in_options, kept_kinds, kept_names, progress_option, reading_options, target_options
from naivete.cli.output import counted, escaped, json_text, named, number, say, text_table
from naivete.cli.parsing import Command
from naivete.cli.progress import progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from naivete.data.table import Column, Table
    from naivete.evaluation import LabelledTable
    from naivete.variables import Variable

__all__ = ["COMMAND"]

LARGE: Final = 10_000_000
"""The number of values of a table above which progress is shown."""


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("data", metavar="DATA", help="data file, or - for standard input (CSV unless --format says otherwise)")
    target_options(parser)
    reading_options(parser)
    progress_option(parser)


def run(args: Namespace) -> int:
    """Describe the columns and the class, and whether the cases are consistent."""
    from naivete.data.labelled_table import label_table

    table = read_table(args.data, args)
    target = usual_target(args.data, args, table)
    check_columns(table, ("target", target), ("weight", args.weight))
    with _progress(table, 1 if target is None else 3, args) as step:
        columns, advice = _columns(table, args, (target, args.weight))
        described = {"data": args.data, "rows": len(table), "columns": columns}
        step("columns")
        if target is not None and len(table):
            cases = label_table(table, target, weight=args.weight, drop_unlabelled=args.drop_unlabelled)
            _add_class(described, cases, args)
            step("information")
            described["consistent"], described["conflicts"] = _consistency(cases)
            step("consistency")
    say(*([json_text(described)] if args.json else _lines(described, advice)))
    return 0


def _progress(table: Table, steps: int, args: Namespace) -> AbstractContextManager[Callable[[str], None]]:
    """Return the progress of the steps that follow, which is shown for large tables only."""
    large = len(table) * len(table.columns) >= LARGE
    return progress("describe", steps, wanted=args.progress) if large else nullcontext(lambda _: None)


def _columns(table: Table, args: Namespace, others: Sequence[object]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return a description of each column, and advice on some; the class and the weight, which are no features, are in `others`."""
    import numpy as np

    from naivete.encoding.encoder import Encoder
    from naivete.encoding.text_hints import advice_on_texts

    kinds: Any = kept_kinds(args) or None
    encoder = Encoder(kinds=kinds, cut=_no_cut_points, keep=kept_names(args))
    counts = encoder.value_counts(table, np.zeros(len(table), np.uint8), [0], None)
    unsuitable, hints = encoder.unsuitable(counts), encoder.text_hints(counts)
    variables = Encoder(kinds=kinds, cut=_no_cut_points, keep=True).schema(counts)
    records = [_column(column, variable) for column, variable in zip(table.columns, variables, strict=True)]
    differences = differences_from_text(args.data, args, variables)
    shown = [hint for name, hint in hints.items() if name not in others and name not in unsuitable]
    reasons = {hint.name: hint.reason for hint in shown}
    for record in records:
        name = record["name"]
        problem = None if name in others else unsuitable.get(name)
        record["unsuitable"] = None if problem is None else problem.kind
        remarks = [differences.get(name, ""), reasons.get(name, "")] if problem is None else [in_options(problem.reason)]
        record["remark"] = "; ".join(filter(None, remarks))
    return records, list(map(in_options, advice_on_texts(shown)))


def _no_cut_points(*_: object) -> tuple[float, ...]:
    return ()


def _column(column: Column, variable: Variable) -> dict[str, Any]:
    import numpy as np

    observed = column.values[~_missing(column)]
    distinct = len(np.unique(observed))
    record: dict[str, Any] = {"name": column.name, "kind": "numeric" if variable.numeric else "nominal", "distinct": distinct}
    record["missing"] = len(column) - len(observed)
    if variable.numeric:
        numbers = np.array(column.states, float)[observed] if column.states is not None else observed
        record["range"] = [float(numbers.min()), float(numbers.max())] if len(numbers) else None
    else:
        record["states"] = list(variable.states)
    return record


def _add_class(described: dict[str, Any], cases: LabelledTable, args: Namespace) -> None:
    """Add the class distribution, the information of each feature that models use, and whether the cases are consistent."""
    import numpy as np

    weight = np.ones(len(cases)) if cases.weight is None else cases.weight
    balance = np.bincount(cases.labels, weight, len(cases.classes)).tolist()
    described["class"] = {
        "name": cases.target,
        "balance": [{"label": label, "weight": total} for label, total in zip(cases.classes.tolist(), balance, strict=True)],
        "unlabelled_dropped": cases.dropped,
    }
    records = {record["name"]: record for record in described["columns"]}
    for name, bits in zip(cases.features.names, _informations(cases, args), strict=True):
        if records[name]["unsuitable"] in (None, "constant"):
            records[name]["corrected_information"] = float(bits)


def _informations(cases: LabelledTable, args: Namespace) -> NDArray[np.float64]:
    """Return I(X; C) of every feature in bits, without its bias; numeric features are discretized by minimum description length."""
    from naivete._kernels.codes import narrowest
    from naivete.cases import Block, MemoryCases
    from naivete.counts.counts import Counts
    from naivete.counts.information import relevance
    from naivete.encoding.column_codes import encode
    from naivete.encoding.encoder import Encoder
    from naivete.encoding.feature_tables import FeatureTables
    from naivete.variables import Variable

    kinds: Any = kept_kinds(args)
    if isinstance(kinds, dict):
        kinds = {name: kind for name, kind in kinds.items() if name in cases.features.names}
    encoder = Encoder(kinds=kinds or None, keep=True)
    labels = cases.labels.astype(narrowest(len(cases.classes)))
    value_counts = encoder.value_counts(cases.features, labels, cases.classes.tolist(), cases.weight)
    features = encoder.schema(value_counts)
    encoded = encode(cases.features, features)
    variables = (*features, Variable(cases.target, value_counts.classes))
    memory = MemoryCases(variables, Block((*encoded.codes, labels), cases.weight), encoded.has_missing)
    return relevance(Counts(memory, known=FeatureTables(value_counts, features)), bias="corrected")


def _consistency(cases: LabelledTable) -> tuple[bool, dict[str, Any] | None]:
    """Return whether the cases are consistent, and if not, how many cases contradict each other, with an example.

    Cases are consistent if no two of them without missing values have equal features and different classes (Jensen and
    Nielsen 2007, chapter 8). Only then can a classifier be right on every case.
    """
    import numpy as np

    rows, group = _groups(cases.features)
    labels = cases.labels[rows]
    pairs = np.unique(np.column_stack([group, labels]), axis=0)[:, 0] if len(rows) else group
    mixed = np.flatnonzero(np.bincount(pairs) > 1)
    if not len(mixed):
        return True, None
    inside = np.isin(group, mixed)
    first = np.flatnonzero(group == mixed[0])
    other = first[labels[first] != labels[first[0]]][0]
    example = sorted((int(rows[first[0]]) + 1, int(rows[other]) + 1))
    return False, {"groups": len(mixed), "rows": int(inside.sum()), "example_rows": example}


def _groups(table: Table) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the positions of the rows without missing values, and a group number of each, equal for equal features."""
    import numpy as np

    incomplete = np.zeros(len(table), bool)
    for column in table.columns:
        incomplete |= _missing(column)
    rows = np.flatnonzero(~incomplete)
    group = np.zeros(len(rows), np.int64)
    for column in table.columns:
        values, codes = np.unique(column.values[rows], return_inverse=True)
        _, group = np.unique(group * max(1, len(values)) + codes, return_inverse=True)
    return rows, group


def _missing(column: Column) -> NDArray[np.bool_]:
    """Return which values of the column are missing."""
    import numpy as np

    if column.states is not None:
        return np.asarray(column.values < 0)
    return np.isnan(column.values) if column.values.dtype.kind == "f" else np.zeros(len(column), bool)


def _lines(described: dict[str, Any], advice: Sequence[str]) -> list[str]:
    size = f"{counted(described['rows'], 'row')}, {counted(len(described['columns']), 'column')}"
    lines = [escaped(f"{described['data']}: {size}")]
    target = described.get("class")
    if target:
        total = sum(entry["weight"] for entry in target["balance"]) or 1.0
        shares = [f"{entry['label']} {entry['weight']:g} ({entry['weight'] / total:.1%})" for entry in target["balance"][:20]]
        more = ", ..." if len(target["balance"]) > 20 else ""
        lines += [escaped(f"target {named(target['name'])}: {', '.join(shares)}{more}"), _consistency_line(described)]
    headers = ["column", "kind", "values", "distinct", "missing", "corrected I(X;C) bits", ""]
    rows = [_row(record, target["name"] if target else None) for record in described["columns"]]
    return [*lines, "", *text_table(headers, rows, left=(0, 1, 2, 6)), *_advice(described, advice)]


def _advice(described: dict[str, Any], more: Sequence[str]) -> list[str]:
    from naivete.encoding.unsuitable_columns import IF_MISSING_COUNTS, OR_MISSING

    left_out = [str(record["name"]) for record in described["columns"] if record["unsuitable"] not in (None, "constant")]
    advice = []
    if left_out:
        some = "is one column" if len(left_out) == 1 else f"are {len(left_out)} columns"
        keep = f"--keep {shlex.quote(','.join(left_out))}"
        advice.append(f"there {some} without information for new cases, which models leave out; to use them anyway: {keep}")
    if any(record["remark"] == OR_MISSING for record in described["columns"]):
        advice.append(in_options(IF_MISSING_COUNTS))
    advice += more
    return [] if not advice else ["", *map(escaped, advice)]


def _consistency_line(described: dict[str, Any]) -> str:
    if described["consistent"]:
        return "the cases are consistent: no two complete cases have equal features and different classes"
    conflicts = described["conflicts"]
    first, second = conflicts["example_rows"]
    return (
        f"the cases are not consistent: {conflicts['rows']:,} complete cases in {counted(conflicts['groups'], 'group')} "
        f"of equal features have different classes, for instance rows {first:,} and {second:,}"
    )


def _row(record: dict[str, Any], target: object) -> Sequence[str]:
    if record["kind"] == "numeric":
        limits = record["range"]
        values = "-" if limits is None else f"{limits[0]:g} .. {limits[1]:g}"
    else:
        values = ", ".join(map(str, record["states"][:5]))[:40] + (" ..." if len(record["states"]) > 5 else "")
    bits = "class" if record["name"] == target else number(record.get("corrected_information", float("nan")), 4)
    counts = number(record["distinct"]), number(record["missing"])
    return [named(record["name"]), record["kind"], values, *counts, bits, record["remark"]]


COMMAND = Command(
    "describe",
    "Describe the columns of a data file, its class, and whether the cases are consistent.",
    ("naivete describe weather.arff", "naivete describe mushrooms.csv --target class --json"),
    arguments,
    run,
    standard_input=True,
)
