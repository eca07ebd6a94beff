"""Export to C99: one file that allocates no memory and needs the standard library only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from math import isinf, prod
from typing import Any, Final, NamedTuple

from naivete._kernels.codes import Numbers
from naivete.classifiers.export import c_parts, c_text
from naivete.classifiers.export.tabular_form import Input, SumOfTables, Table, exact_number, strides
from naivete.errors import ParameterError, quoted
from naivete.network.densities import FAR
from naivete.variables import State

__all__ = ["c_code", "c_number", "c_string", "c_value"]

MOST_MESSAGES: Final = 1 << 13
"""The largest number of values that are kept while missing values are marginalized, on the stack: at most 128 kB."""
MOST_CONTINUOUS: Final = 64
"""The largest number of continuous features of which some may be missing although others depend on them."""
_PLAIN: Final = frozenset(b" ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.,:;=+()<>")


def c_code(model: SumOfTables, *, name: Any = "model") -> str:
    """Return the text of a C file with the function `NAME_predict_proba`.

    Parameters
    ----------
    model : the sum over tables.
    name : the prefix of all names in the file.
    """
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,40}", name, re.ASCII):
        raise ParameterError(f"name={quoted(name)}: a prefix of C names begins with a letter, with letters, digits and _ after it")
    steps = _steps(model)
    if not steps and set(model.hidden) & set(model.marginalized):
        raise ParameterError(
            f"marginalizing the hidden variables needs more than {MOST_MESSAGES:,} values at once, the limit of an export to C; "
            "export to Python"
        )
    text = "".join(_pieces(model, steps))
    return text.replace("$p", name).replace("$P", name.upper())


def c_string(text: str) -> str:
    r"""Return a C literal of the text in UTF-8; all but letters, digits and plain punctuation are octal escapes.

    >>> print(c_string('a"?é'))
    "a\042\077\303\251"
    """
    data = text.encode("utf-8", "surrogatepass")
    if b"\0" in data:
        raise ParameterError(f"{quoted(text)} contains the character U+0000, which ends a text in C; rename it before learning")
    return f'"{"".join(chr(byte) if byte in _PLAIN else f"{chr(92)}{byte:03o}" for byte in data)}"'


def c_number(number: float) -> str:
    """Return a C literal of exactly this number.

    >>> c_number(0.1), c_number(float('-inf'))
    ('0x1.999999999999ap-4', '-INFINITY')
    """
    if isinf(number):
        return "INFINITY" if number > 0 else "-INFINITY"
    return float(number).hex()


def c_value(value: State | None) -> str:
    """Return the initializer of a value of a row."""
    if value is None:
        return "{$P_MISSING, NULL, 0.0}"
    if isinstance(value, str):
        return f"{{$P_TEXT, {c_string(value)}, 0.0}}"
    kind = "BOOLEAN" if isinstance(value, bool) else "NUMBER"
    return f"{{$P_{kind}, NULL, {c_number(exact_number(value, 'C'))}}}"


class _Step(NamedTuple):
    """The elimination of one feature.

    Parameters
    ----------
    variable : the feature.
    others : the features on which the sum over its states depends.
    tables : the tables that are multiplied.
    messages : the earlier steps whose results are multiplied.
    """

    variable: int
    others: tuple[int, ...]
    tables: tuple[int, ...]
    messages: tuple[int, ...]


def _steps(model: SumOfTables) -> list[_Step]:
    """Return the steps that marginalize all features; none if this is never needed, or needs too much memory."""
    steps = list(model.eliminations()) if model.marginalized else []
    position = {step.variable: i for i, step in enumerate(steps)}
    if sum(prod(model.cards[v] for v in step.neighbours) for step in steps) > MOST_MESSAGES:
        return []

    def first(members: Iterable[int]) -> int:
        return min((position[m] for m in members), default=-1)

    return [
        _Step(
            step.variable,
            tuple(sorted(step.neighbours)),
            tuple(t for t, table in enumerate(model.used) if first(table.members) == i),
            tuple(j for j in range(i) if first(steps[j].neighbours) == i),
        )
        for i, step in enumerate(steps)
    ]


def _pieces(model: SumOfTables, steps: Sequence[_Step]) -> Iterator[str]:
    inexact = bool(model.marginalized) and not steps
    joint = model.joint is not None and len(model.joint.features) <= MOST_CONTINUOUS
    yield c_text.HEADER.format(
        description="".join(f" * {line}\n".replace("$", "\\u0024") for line in model.header()),
        missing=c_text.INEXACT if inexact or (model.joint is not None and not joint) else c_text.EXACT,
    )
    yield c_text.INTERFACE.format(columns=len(model.inputs), classes=len(model.classes), features=len(model.cards))
    yield from _names(model)
    yield from _column_arrays(model)
    yield from _table_arrays(model)
    if model.densities:
        yield from _density_arrays(model)
        yield from _joint_arrays(model) if joint else ()
        missing = c_parts.JOINT_STEP if joint else c_parts.REFUSE_JOINT if model.joint is not None else ""
        yield c_parts.DENSITIES.replace("{missing}", missing)
    if steps:
        yield from _step_arrays(model, steps)
    if model.has_zeros:
        prior = _array("double", "$p_prior", map(c_number, model.fallback.ravel().tolist()))
        row = "" if model.fallback_column is None else f" + codes[{model.fallback_column}] * $P_CLASSES"
        yield prior + c_parts.FALLBACK.replace("{row}", row)
    yield _posterior(model, steps, inexact)
    yield from _predict(model)
    yield c_text.MAIN


def _array(kind: str, name: str, values: Iterable[str]) -> str:
    """Return the definition of a constant array; one with no values gets a zero, since C has no empty arrays."""
    listed = list(values) or ["0"]
    lines = [", ".join(listed[i : i + 6]) for i in range(0, len(listed), 6)]
    return f"static const {kind} {name}[{len(listed)}] = {{\n    " + ",\n    ".join(lines) + "\n};\n"


def _integers(name: str, values: Iterable[int]) -> str:
    return _array("int", name, map(str, values))


def _numbers(name: str, arrays: Iterable[Numbers]) -> str:
    return _array("double", name, (c_number(value) for array in arrays for value in array.ravel().tolist()))


def _starts(sizes: Iterable[int]) -> list[int]:
    """Return where each of several consecutive parts begins."""
    return list(accumulate(sizes, initial=0))[:-1]


def _names(model: SumOfTables) -> Iterator[str]:
    for what, names in (("columns", [column.name for column in model.inputs]), ("classes", model.classes)):
        listed = ",\n    ".join(c_string(str(name)) for name in names)
        yield f"const char *const $p_{what}[{len(names)}] = {{\n    {listed}\n}};\n"


def _column_arrays(model: SumOfTables) -> Iterator[str]:
    columns = model.inputs
    yield "\n" + _array("$p_value", "$p_states", (c_value(state) for column in columns for state in column.states))
    yield _array("double", "$p_cuts", (c_number(cut) for column in columns for cut in column.cuts))
    states, cuts = _starts(len(column.states) for column in columns), _starts(len(column.cuts) for column in columns)
    yield _array("$p_column", "$p_encoding", map(_column, columns, states, cuts))
    yield c_text.ENCODE


def _column(column: Input, states: int, cuts: int) -> str:
    first = states if column.kind == "states" else cuts
    count = len(column.states) + len(column.cuts)
    kind = "CONTINUOUS_NUMBER" if column.kind == "number" else column.kind.upper()
    return f"{{$P_{kind}, {first}, {count}, {column.missing}, {column.unseen}, {c_number(column.origin)}}}"


def _table_arrays(model: SumOfTables) -> Iterator[str]:
    tables = model.used
    position = {table.variable: i for i, table in enumerate(tables)}
    yield "\n" + _integers("$p_members", (m for table in tables for m in table.members))
    yield _integers("$p_strides", (s for table in tables for s in table.strides))
    yield _numbers("$p_logs", (table.logs for table in tables))
    members, logs = _starts(len(table.members) for table in tables), _starts(table.logs.size for table in tables)
    yield _array("$p_table", "$p_tables", map(_table, tables, members, logs))
    yield _integers("$p_added", (position[table.variable] for table in model.added))
    if model.constant:
        yield _integers("$p_constant", (position[table.variable] for table in model.constant))
    yield c_text.TABLES


def _table(table: Table, members: int, logs: int) -> str:
    return f"{{{table.variable}, {members}, {len(table.members)}, {logs}, {table.logs.shape[1]}}}"


def _density_arrays(model: SumOfTables) -> Iterator[str]:
    densities = model.densities
    yield "\n" + _numbers("$p_means", (density.means for density in densities))
    yield _numbers("$p_deviations", (density.deviations for density in densities))
    yield _numbers("$p_peaks", (density.peaks for density in densities))
    yield _numbers("$p_slopes", (density.slopes for density in densities))
    parents = [(*density.members, *density.linked) for density in densities]
    yield _integers("$p_parents", (p for listed in parents for p in listed))
    yield _integers("$p_parent_strides", (s for d in densities for s in (*d.strides, *(0 for _ in d.linked))))
    first, values = _starts(map(len, parents)), _starts(density.means.size for density in densities)
    slopes = _starts(density.slopes.size for density in densities)
    rows = [
        f"{{{d.variable}, {f}, {len(d.members)}, {len(d.linked)}, {v}, {s}, {d.means.shape[1]}}}"
        for d, f, v, s in zip(densities, first, values, slopes, strict=True)
    ]
    yield c_parts.DENSITY_TYPES.format(far=c_number(FAR), count=len(densities)) + _array("$p_density", "$p_densities", rows)


def _joint_arrays(model: SumOfTables) -> Iterator[str]:
    assert model.joint is not None
    yield f"\nenum {{ $P_CONTINUOUS = {len(model.joint.features)} }};\n" + _integers("$p_continuous", model.joint.features)
    yield _numbers("$p_joint_means", [model.joint.means]) + _numbers("$p_covariances", [model.joint.covariances])
    yield c_parts.JOINT


def _step_arrays(model: SumOfTables, steps: Sequence[_Step]) -> Iterator[str]:
    sizes = [prod(model.cards[v] for v in step.others) for step in steps]
    offsets = _starts(sizes)
    yield "\n" + _integers("$p_cards", model.cards)
    yield _integers("$p_others", (v for step in steps for v in step.others))
    yield _integers("$p_other_strides", (s for step in steps for s in strides([model.cards[v] for v in step.others])))
    yield _integers("$p_factors", (t for step in steps for t in step.tables))
    yield _integers("$p_messages", (m for step in steps for m in step.messages))
    parts = [
        _starts(map(len, lists)) for lists in ([s.others for s in steps], [s.tables for s in steps], [s.messages for s in steps])
    ]
    rows = [
        f"{{{s.variable}, {o}, {len(s.others)}, {t}, {len(s.tables)}, {m}, {len(s.messages)}, {offset}}}"
        for s, o, t, m, offset in zip(steps, *parts, offsets, strict=True)
    ]
    yield c_parts.STEP_TYPES.format(steps=len(steps), cells=sum(sizes), tables=len(model.used))
    yield _array("$p_step", "$p_steps", rows)
    yield c_parts.ELIMINATION


def _posterior(model: SumOfTables, steps: Sequence[_Step], inexact: bool) -> str:
    marginalized = "$p_marginalize(codes, joint);" if steps else "return $p_fail(probabilities, $P_INEXACT);" if inexact else ""
    return c_text.posterior(
        added=f"$p_add_tables($p_added, {len(model.added)}, codes, joint);",
        constant=f"$p_add_tables($p_constant, {len(model.constant)}, codes, joint);" if model.constant else "",
        missing=" || ".join(f"codes[{x}] < 0" for x in model.marginalized),
        marginalized=marginalized,
        densities=bool(model.densities),
        fallback=model.has_zeros,
        temperature="" if model.temperature == 1 else c_number(model.temperature),
    )


def _predict(model: SumOfTables) -> Iterator[str]:
    call = "$p_posterior(codes, numbers, probabilities)"
    if model.tree is not None:
        yield from _tree_arrays(model)
        call = "$p_with_leaf(codes, numbers, probabilities)"
    if model.hierarchy is not None:
        hierarchy = model.hierarchy
        yield "\n" + _integers("$p_next", hierarchy.children.ravel().tolist()) + _integers("$p_tests", hierarchy.features.tolist())
        yield c_parts.HIERARCHY.replace("{width}", str(hierarchy.children.shape[1])).replace("{column}", str(len(model.inputs)))
        call = "$p_with_classifier(codes, numbers, probabilities)"
    evidence = ""
    if model.no_evidence is not None:
        yield "\n" + _numbers("$p_without_evidence", [model.no_evidence])
        evidence = " || ".join(map(_is_observed, model.evidence, (model.inputs[x] for x in model.evidence))) or "0"
    hidden = "".join(f"    codes[{x}] = -1;\n" for x in range(len(model.inputs), len(model.cards)))
    yield c_text.predict(evidence=evidence, hidden=hidden, call=call)


def _is_observed(x: int, column: Input) -> str:
    return f"!isnan(numbers[{x}])" if column.kind == "number" else f"codes[{x}] >= 0"


def _tree_arrays(model: SumOfTables) -> Iterator[str]:
    tree = model.tree
    assert tree is not None
    first, count, child, share = tree.branches
    nodes = zip(tree.features, tree.starts, first, count, tree.state_of, strict=True)
    yield "\n" + _integers("$p_children", tree.children.tolist()) + _integers("$p_branches", child.tolist())
    yield _numbers("$p_shares", [share]) + c_parts.TREE_TYPES.format(nodes=tree.nodes)
    yield _array("$p_node", "$p_nodes", ("{" + ", ".join(str(int(value)) for value in node) + "}" for node in nodes))
    yield c_parts.TREE.replace("{column}", str(len(model.inputs)))
