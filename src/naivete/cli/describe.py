"""`naivete describe`: what is in a file of cases."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from naivete.cli.inputs import check_columns, read_table, usual_target
from naivete.cli.options import kept_kinds, reading_options, target_options
from naivete.cli.output import counted, escaped, json_text, named, number, say, text_table
from naivete.cli.parsing import Command

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from naivete.data.table import Column, Table
    from naivete.evaluation import LabelledTable
    from naivete.variables import Variable

__all__ = ["COMMAND"]

_IDENTIFIER_ROWS = 20


def arguments(parser: ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("data", metavar="DATA", help="the cases")
    target_options(parser)
    reading_options(parser)


def run(args: Namespace) -> int:
    """Describe the columns, the class and whether the cases are consistent."""
    from naivete.data.labelled_table import label_table

    table = read_table(args.data, args)
    target = usual_target(args.data, args, table)
    check_columns(table, ("target", target), ("weight", args.weight))
    cases = None
    if target is not None and len(table):
        cases = label_table(table, target, weight=args.weight, drop_unlabelled=args.drop_unlabelled)
    described = {"data": args.data, "rows": len(table), "columns": _columns(table, args)}
    if cases is not None:
        _add_class(described, cases, args)
    say(*([json_text(described)] if args.json else _told(described)))
    return 0


def _columns(table: Table, args: Namespace) -> list[dict[str, Any]]:
    """One record for each column."""
    import numpy as np

    from naivete.encoding.encoder import Encoder

    kinds: Any = kept_kinds(args) or None
    encoder = Encoder(kinds=kinds, cut=_uncut)
    variables = encoder.schema(encoder.value_counts(table, np.zeros(len(table), np.uint8), [0], None))
    return [_column(column, variable) for column, variable in zip(table.columns, variables, strict=True)]


def _uncut(*_: object) -> tuple[float, ...]:
    return ()


def _column(column: Column, variable: Variable) -> dict[str, Any]:
    import numpy as np

    if column.states is not None:
        known = column.values[column.values >= 0]
        distinct = len(np.unique(known))
    else:
        known = column.values[~np.isnan(column.values)] if column.values.dtype.kind == "f" else column.values
        distinct = len(np.unique(known))
    record: dict[str, Any] = {"name": column.name, "kind": "numeric" if variable.numeric else "nominal", "distinct": distinct}
    record["missing"] = len(column) - len(known)
    if variable.numeric:
        numbers = np.array(column.states, float)[known] if column.states is not None else known
        record["range"] = [float(numbers.min()), float(numbers.max())] if len(numbers) else None
    else:
        record["states"] = list(variable.states)
    many = len(known) >= _IDENTIFIER_ROWS and distinct == len(known)
    record["identifier"] = bool(many and (column.states is not None or known.dtype.kind in "iu"))
    return record


def _add_class(described: dict[str, Any], cases: LabelledTable, args: Namespace) -> None:
    """Add the balance of the classes, the information of the features and whether the cases are consistent."""
    import numpy as np

    weight = np.ones(len(cases)) if cases.weight is None else cases.weight
    balance = np.bincount(cases.labels, weight, len(cases.classes)).tolist()
    described["class"] = {
        "name": cases.target,
        "balance": [{"label": label, "weight": w} for label, w in zip(cases.classes.tolist(), balance, strict=True)],
        "unlabelled_dropped": cases.dropped,
    }
    for name, bits in zip(cases.features.names, _informations(cases, args), strict=True):
        next(record for record in described["columns"] if record["name"] == name)["information"] = float(bits)
    described["consistent"], described["conflicts"] = _consistency(cases)


def _informations(cases: LabelledTable, args: Namespace) -> NDArray[np.float64]:
    """I(X; C) of every feature, numbers cut by the minimum description length."""
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
    encoder = Encoder(kinds=kinds or None)
    labels = cases.labels.astype(narrowest(len(cases.classes)))
    tallies = encoder.value_counts(cases.features, labels, cases.classes.tolist(), cases.weight)
    features = encoder.schema(tallies)
    encoded = encode(cases.features, features)
    variables = (*features, Variable(cases.target, tallies.classes))
    memory = MemoryCases(variables, Block((*encoded.codes, labels), cases.weight), encoded.gaps)
    return relevance(Counts(memory, known=FeatureTables(tallies, features)))


def _consistency(cases: LabelledTable) -> tuple[bool, dict[str, Any] | None]:
    """Whether no two complete cases have equal features and different classes; and otherwise how many do.

    The sense of Jensen and Nielsen (2007), chapter 8: only then can some classifier be right on every case.
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
    """The complete rows, and for each of them a number that is equal for equal features."""
    import numpy as np

    gaps = [c.values < 0 if c.states is not None else np.isnan(c.values) for c in table.columns if _may_miss(c)]
    rows = np.flatnonzero(~np.logical_or.reduce(gaps)) if gaps else np.arange(len(table))
    group = np.zeros(len(rows), np.int64)
    for column in table.columns:
        values, codes = np.unique(column.values[rows], return_inverse=True)
        _, group = np.unique(group * max(1, len(values)) + codes, return_inverse=True)
    return rows, group


def _may_miss(column: Column) -> bool:
    return column.states is not None or column.values.dtype.kind == "f"


def _told(described: dict[str, Any]) -> list[str]:
    size = f"{counted(described['rows'], 'row')}, {counted(len(described['columns']), 'column')}"
    lines = [escaped(f"{described['data']}: {size}")]
    own = described.get("class")
    if own:
        total = sum(entry["weight"] for entry in own["balance"]) or 1.0
        shares = [f"{e['label']} {e['weight']:g} ({e['weight'] / total:.1%})" for e in own["balance"][:20]]
        lines.append(escaped(f"class {named(own['name'])}: {', '.join(shares)}{', ...' if len(own['balance']) > 20 else ''}"))
        lines.append(_consistency_told(described))
    headers = ["column", "kind", "values", "distinct", "missing", "I(X;C) bits", ""]
    rows = [_row(record, own["name"] if own else None) for record in described["columns"]]
    return [*lines, "", *text_table(headers, rows, left=(0, 1, 2)), *_advice(described)]


def _advice(described: dict[str, Any]) -> list[str]:
    found = [named(record["name"]) for record in described["columns"] if record["identifier"]]
    return ["", escaped(f"a model learns nothing from an identifier; leave it out: --ignore {','.join(found)}")] if found else []


def _consistency_told(described: dict[str, Any]) -> str:
    if described["consistent"]:
        return "the cases are consistent: no two complete cases have equal features and different classes"
    conflicts = described["conflicts"]
    one, two = conflicts["example_rows"]
    return (
        f"the cases are not consistent: {conflicts['rows']:,} complete cases in {counted(conflicts['groups'], 'group')} "
        f"of equal features have different classes, for instance rows {one:,} and {two:,}"
    )


def _row(record: dict[str, Any], target: object) -> Sequence[str]:
    if record["kind"] == "numeric":
        span = record["range"]
        values = "-" if span is None else f"{span[0]:g} .. {span[1]:g}"
    else:
        values = ", ".join(map(str, record["states"][:5]))[:40] + (" ..." if len(record["states"]) > 5 else "")
    bits = "class" if record["name"] == target else number(record.get("information", float("nan")), 4)
    remark = "looks like an identifier" if record["identifier"] else ""
    return [named(record["name"]), record["kind"], values, number(record["distinct"]), number(record["missing"]), bits, remark]


COMMAND = Command(
    "describe",
    "Describe the columns of a file, its class, and whether the cases are consistent.",
    ("naivete describe weather.arff", "naivete describe mushrooms.csv --target class --json"),
    arguments,
    run,
)
