"""Export to SQL: one SELECT statement in ANSI SQL, which computes the probabilities of the classes for each row of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from naivete import _kernels
from naivete.classifiers.export.tabular_form import (
    MARGINALIZED,
    REFUSED,
    Gaussian,
    Input,
    SumOfTables,
    Table,
    exact_number,
)
from naivete.errors import ParameterError, quoted
from naivete.network.densities import FAR
from naivete.variables import CLASS, State, type_word

__all__ = ["identifier", "literal", "sql_statement"]

LARGEST: Final = np.finfo(np.float64).max
_HEADER: Final = """\
A classifier exported by naivete, in ANSI SQL. The result has the key columns, the most probable class, the probability of each
class, and a status. 'ok': the probabilities are exact. 'impossible': the row has probability zero in every class; they are the
prior of the classes with the fewest factors of zero. Otherwise the probabilities are NULL: 'unseen' for a value that did not occur
in training and is to be refused, 'missing parent' for a row in which a value is missing on which an observed value depends, so
that a sum would be needed.
NULL, the empty text, and numbers that are not finite are missing values.
"""


def sql_statement(model: SumOfTables, *, table: str | Sequence[str] = "data", keys: Sequence[str] = ()) -> str:
    """Return a SELECT statement that computes the probabilities for each row of a table.

    Parameters
    ----------
    model : the sum over tables.
    table : the name of the table; a sequence of names if it is qualified by a schema.
    keys : columns of the table that are part of the result.
    """
    _check(model)
    parts = _names("table", table)
    if not parts or not all(parts):
        raise ParameterError(f"table={quoted(table)}: the name of a table is needed")
    return "".join(_pieces(model, parts, _names("keys", keys)))


def _names(option: str, value: Any) -> list[str]:
    """Return one or several names as a list; an error is raised about anything else."""
    names = [value] if isinstance(value, str) else list(value) if isinstance(value, (list, tuple)) else [value]
    if not all(isinstance(name, str) for name in names):
        raise ParameterError(f"{option}={quoted(value)}: a name or a list of names is needed, each of them text")
    return names


def identifier(name: object) -> str:
    """Return a quoted identifier.

    >>> print(identifier('a"b'))
    "a""b"
    """
    if not str(name):
        raise ParameterError("SQL has no names without letters, and a column or the table has an empty name; rename it")
    return f'"{_checked_text(str(name)).replace(chr(34), chr(34) * 2)}"'


def literal(value: State) -> str:
    """Return a literal of a text, number or boolean.

    >>> print(literal("it's"), literal(0.1), literal(True))
    'it''s' 1.0e-01 TRUE
    """
    if isinstance(value, str):
        return f"'{_checked_text(value).replace(chr(39), chr(39) * 2)}'"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return np.format_float_scientific(exact_number(value, "SQL"), trim="0")  # an exponent, since some databases have decimals


def _checked_text(text: str) -> str:
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise ParameterError(f"{quoted(text)} contains a character that text in SQL cannot hold; rename it before learning")
    return text


def _check(model: SumOfTables) -> None:
    if model.hidden or model.hierarchy is not None or (model.tree is not None and not model.is_plain_tree):
        kind = "hidden variables" if model.hidden else "a hierarchy of classifiers"
        raise ParameterError(f"{model.title} has {kind}, which one SQL statement cannot hold; export to Python or C")
    names = [str(column.name).casefold() for column in model.inputs if column.kind != "unused"]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f"two columns have the name {quoted(name)} in SQL, where upper and lower case are equal")
    for column in model.inputs:
        if len({type_word(state) for state in column.states}) > 1:
            raise ParameterError(f"column {quoted(column.name)} has states of several types; a column in SQL has one type")


def _pieces(model: SumOfTables, table: Sequence[str], keys: Sequence[str]) -> Iterator[str]:
    prefix = "naivete"
    while any(prefix in part.casefold() for part in table):
        prefix += "_"
    yield "".join(f"-- {line}\n" for line in [*_HEADER.splitlines(), *model.header()])
    source = ".".join(map(identifier, table))
    kept = [f"k{i}" for i in range(len(keys))]
    codes = [f"t.{identifier(key)} AS k{i}" for i, key in enumerate(keys)]
    codes += [f"{_code(column)} AS x{x}" for x, column in enumerate(model.inputs)]
    yield f"WITH {prefix}_codes AS (\n  SELECT {_columns(codes)}\n  FROM {source} AS t\n)"  # noqa: S608 - all names are quoted
    classes, before = range(len(model.classes)), f"{prefix}_codes"
    for step, columns in _steps(model):
        yield f", {prefix}_{step} AS (\n  SELECT {_columns([*kept, *columns])}\n  FROM {before}\n)"  # noqa: S608
        before = f"{prefix}_{step}"
    names = _output_names(keys, model.classes)
    result = [f"{k} AS {identifier(name)}" for k, name in zip(kept, keys, strict=True)]
    given = "CASE WHEN status IN ('ok', 'impossible') THEN {} END"
    labels = model.classes if len({type_word(c) for c in model.classes}) == 1 else [str(c) for c in model.classes]
    best = _first_largest([f"p{c}" for c in classes], [literal(label) for label in labels])
    result += [f"{given.format(best)} AS {names[0]}"]
    result += [f"{given.format(f'p{c}')} AS {names[1 + c]}" for c in classes] + [f"status AS {names[-1]}"]
    yield f"\nSELECT {_columns(result)}\nFROM {before};\n"


def _columns(columns: Iterable[str]) -> str:
    return ",\n    ".join(columns)


def _output_names(keys: Sequence[str], classes: Sequence[State]) -> list[str]:
    """Return the names of the columns of the result, with underscores where a name is taken."""
    taken, names = {key.casefold() for key in keys}, []
    for name in ("predicted", *(f"P({label})" for label in classes), "status"):
        while name.casefold() in taken:
            name += "_"
        taken.add(name.casefold())
        names.append(identifier(name))
    return names


def _code(column: Input) -> str:
    """Return the expression of the code of a column, NULL if it is marginalized; of the number of a continuous one."""
    if column.kind == "unused":
        return "0"
    name = f"t.{identifier(column.name)}"
    missing, unseen = (_code_literal(code) for code in (column.missing, column.unseen))
    if column.kind == "states":
        kind = next(map(type_word, column.states), None)
        absent = {"text": f"{name} IS NULL OR {name} = ''", "numbers": _not_finite(name)}.get(str(kind), f"{name} IS NULL")
        cases = " ".join(f"WHEN {literal(state)} THEN {code}" for code, state in enumerate(column.states))
        known = f"CASE {name} {cases} ELSE {unseen} END" if cases else unseen
        return f"CASE WHEN {absent} THEN {missing} ELSE {known} END"
    number = f"CAST({name} AS DOUBLE PRECISION)"
    value = _interval(number, column.cuts) if column.kind == "intervals" else f"{number} - {literal(column.origin)}"
    return f"CASE WHEN {_not_finite(number)} THEN {missing} ELSE {value} END"


def _code_literal(code: int) -> str:
    return "NULL" if code == MARGINALIZED else str(code)


def _not_finite(number: str) -> str:
    """Return the condition that a number is NULL, infinite or NaN, which databases order above all numbers."""
    return f"{number} IS NULL OR {number} > {literal(LARGEST)} OR {number} < {literal(-LARGEST)}"


def _interval(number: str, cuts: Sequence[float]) -> str:
    finite = [(code, cut) for code, cut in enumerate(cuts) if np.isfinite(cut)]
    last = sum(cut < np.inf for cut in cuts)
    cases = " ".join(f"WHEN {number} <= {literal(cut)} THEN {code}" for code, cut in finite)
    return f"CASE {cases} ELSE {last} END" if cases else str(last)


def _sum(terms: Sequence[str]) -> str:
    """Return a sum in parentheses; nested evenly, since databases limit the depth of expressions."""
    if len(terms) < 3:
        return f"({' + '.join(terms)})" if terms else "0.0e+00"
    middle = len(terms) // 2
    return f"({_sum(terms[:middle])} + {_sum(terms[middle:])})"


def _any(conditions: Sequence[str]) -> str:
    """Return a disjunction, nested evenly."""
    if len(conditions) < 3:
        return f"({' OR '.join(conditions)})" if conditions else "(1 = 0)"
    middle = len(conditions) // 2
    return f"({_any(conditions[:middle])} OR {_any(conditions[middle:])})"


def _first_largest(values: Sequence[str], results: Sequence[str]) -> str:
    """Return the result of the first value that is not below any other."""
    cases = [
        f"WHEN {' AND '.join(f'{values[i]} >= {other}' for other in values[i + 1 :])} THEN {results[i]}"
        for i in range(len(values) - 1)
    ]
    return f"CASE {' '.join(cases)} ELSE {results[-1]} END" if cases else results[-1]


def _steps(model: SumOfTables) -> Iterator[tuple[str, list[str]]]:
    """Yield the names and columns of the steps from codes to probabilities p0, p1, ...

    A window function in a step keeps a database from repeating its expressions wherever the next step uses them.
    """
    classes = range(len(model.classes))
    if model.is_plain_tree:
        yield "scores", [*_status(model), *_tree_probabilities(model)]
        return
    scores = [f"{_sum([*_terms(model, c)])} AS s{c}" for c in classes]
    more = ["evidence"] if model.no_evidence is not None else []
    observed = [f"{_evidence(model)} AS evidence"] if more else []
    zeros = _zero_counts(model) if model.has_zeros else []
    yield "scores", [*_status(model), *scores, *zeros, *observed, "COUNT(*) OVER () AS n0"]
    if model.has_zeros:
        yield "possible", [*_with_zeros(model), *more, "COUNT(*) OVER () AS n1"]
    known = [f"COALESCE(s{c}, {literal(-LARGEST)})" for c in classes] if model.has_zeros else [f"s{c}" for c in classes]
    top = f"{_first_largest(known, known)} AS top"
    yield "largest", ["status", *(f"s{c}" for c in classes), *more, top, "COUNT(*) OVER () AS n2"]
    powers = [f"EXP({'' if model.temperature == 1 else literal(model.temperature) + ' * '}(s{c} - top))" for c in classes]
    powers = [f"COALESCE({power}, 0.0e+00)" for power in powers] if model.has_zeros else powers
    yield "powers", ["status", *(f"{power} AS e{c}" for c, power in enumerate(powers)), *more, "COUNT(*) OVER () AS n3"]
    total = _sum([f"e{c}" for c in classes])
    yield "probabilities", ["status", *(f"{_unless_no_evidence(model, c, f'e{c} / {total}')} AS p{c}" for c in classes)]


def _unless_no_evidence(model: SumOfTables, c: int, expression: str) -> str:
    if model.no_evidence is None:
        return expression
    return f"CASE WHEN evidence = 0 THEN {literal(float(model.no_evidence[c]))} ELSE {expression} END"


def _evidence(model: SumOfTables) -> str:
    return f"CASE WHEN {_any([f'x{x} IS NOT NULL' for x in model.evidence])} THEN 1 ELSE 0 END"


def _status(model: SumOfTables) -> list[str]:
    """Return the status before rows are known to be impossible, as a list of one column."""
    refused = [f"x{x} = {REFUSED}" for x, column in enumerate(model.inputs) if column.unseen == REFUSED and column.kind == "states"]
    sums = []
    for v, parents in model.sums:
        missing = _any([f"x{p} IS NULL" for p in parents])
        sums.append(missing if v == CLASS else f"(x{v} IS NOT NULL AND {missing})")
    conditions = {"unseen": refused, "missing parent": sums, "impossible": _constant_zeros(model) if model.is_plain_tree else []}
    cases = " ".join(f"WHEN {_any(listed)} THEN {literal(status)}" for status, listed in conditions.items() if listed)
    return [f"CASE {cases} ELSE 'ok' END AS status" if cases else "'ok' AS status"]


def _cell(members: Sequence[int], strides: Sequence[int]) -> str:
    return " + ".join(f"x{m}" if s == 1 else f"x{m} * {s}" for m, s in zip(members, strides, strict=True)) or "0"


def _lookup(table: Table, c: int, value: Callable[[float], str | None], default: str) -> str | None:
    """Return an expression of the value in the cell of a row, the default if a member is missing; None if all are the default."""
    logs = table.logs[:, c if table.logs.shape[1] > 1 else 0].tolist()
    cases = [(cell, text) for cell, number in enumerate(logs) if (text := value(number)) is not None]
    if not cases:
        return None
    listed = " ".join(f"WHEN {cell} THEN {text}" for cell, text in cases)
    return f"CASE {_cell(table.members, table.strides)} {listed} ELSE {default} END"


def _terms(model: SumOfTables, c: int) -> Iterator[str]:
    """Yield what each table and density adds to the score of a class; a probability of zero is counted elsewhere."""
    for table in model.added:
        term = _lookup(table, c, lambda log: literal(log) if np.isfinite(log) and log else None, "0.0e+00")
        if term is not None:
            yield term
    for density in model.densities:
        yield _density(density, c)


def _density(density: Gaussian, c: int) -> str:
    if density.members:
        raise ParameterError("a normal density that depends on a discrete column cannot be exported to SQL; export to Python or C")
    c = c if density.means.shape[1] > 1 else 0
    mean, deviation, peak = (float(values[0, c]) for values in (density.means, density.deviations, density.peaks))
    expected = [f"x{p} * {literal(float(slope))}" for p, slope in zip(density.linked, density.slopes[0, c], strict=True)]
    distance = f"((x{density.variable} - {_sum([literal(mean), *expected])}) / {literal(deviation)})"
    square = f"CASE WHEN ABS({distance}) < {literal(FAR)} THEN {distance} * {distance} ELSE {literal(FAR * FAR)} END"
    return f"CASE WHEN x{density.variable} IS NULL THEN 0.0e+00 ELSE {literal(peak)} - 0.5e+00 * {square} END"


def _zero_cells(table: Table, c: int) -> str:
    column = table.logs[:, c if table.logs.shape[1] > 1 else 0]
    return ", ".join(map(str, np.flatnonzero(np.isneginf(column)).tolist()))


def _constant_zeros(model: SumOfTables) -> list[str]:
    """Return the conditions that a table without the class is zero."""
    return [f"{_cell(t.members, t.strides)} IN ({_zero_cells(t, 0)})" for t in model.constant]


def _zero_counts(model: SumOfTables) -> list[str]:
    """Return the number of factors of zero in each class, z0, z1, ..., and whether a factor that is the same for all is zero."""
    columns = []
    for c in range(len(model.classes)):
        cells = [(_cell(table.members, table.strides), _zero_cells(table, c)) for table in model.added]
        terms = [f"CASE WHEN {cell} IN ({zeros}) THEN 1 ELSE 0 END" for cell, zeros in cells if zeros]
        columns.append(f"{_sum(terms) if terms else '0'} AS z{c}")
    return [*columns, f"CASE WHEN {_any(_constant_zeros(model))} THEN 1 ELSE 0 END AS z"]


def _with_zeros(model: SumOfTables) -> list[str]:
    """Return the scores, NULL for an impossible class; if all are impossible, the log prior of those with the fewest zeros."""
    classes = range(len(model.classes))
    impossible = f"(z > 0 OR ({' AND '.join(f'z{c} > 0' for c in classes)}))"
    fewest = [" AND ".join(f"z{c} <= z{d}" for d in classes if d != c) or "1 = 1" for c in classes]
    prior = [literal(float(value)) if np.isfinite(value) else "NULL" for value in model.fallback[0]]
    has_prior = _any([f"({fewest[c]})" for c in classes if prior[c] != "NULL"])
    return [
        f"CASE WHEN status = 'ok' AND {impossible} THEN 'impossible' ELSE status END AS status",
        *(
            f"CASE WHEN NOT {impossible} THEN CASE WHEN z{c} = 0 THEN s{c} END WHEN {fewest[c]} THEN "
            f"CASE WHEN {has_prior} THEN {prior[c]} ELSE 0.0e+00 END END AS s{c}"
            for c in classes
        ),
    ]


def _tree_probabilities(model: SumOfTables) -> Iterator[str]:
    """Yield the sum over the leaves of the share of the row in the leaf times the probability of the class there."""
    posteriors = _kernels.posterior(model.added[0].logs)
    shares = list(_shares(model))
    no_evidence: Any = model.no_evidence
    observed = _any([f"x{x} IS NOT NULL" for x in model.evidence])
    for c in range(len(model.classes)):
        terms = [f"{share} * {literal(float(posteriors[leaf, c]))}" for leaf, share in shares if posteriors[leaf, c] > 0]
        yield f"CASE WHEN {observed} THEN {_sum(terms)} ELSE {literal(float(no_evidence[c]))} END AS p{c}"


def _shares(model: SumOfTables) -> Iterator[tuple[int, str]]:
    """Yield each leaf with the expression of its share: the product along its path; 1 for the root alone."""
    tree = model.tree
    assert tree is not None
    first, count, child, share = tree.branches
    factors: dict[int, list[str]] = {0: []}
    for node, feature in enumerate(tree.features.tolist()):
        if node not in factors:
            continue
        if feature < 0:
            yield int(tree.state_of[node]), " * ".join(factors[node]) or "1.0e+00"
            continue
        parts = {int(child[b]): float(share[b]) for b in range(first[node], first[node] + count[node])}
        children = tree.children_of(node)
        for below in np.unique(children).tolist():
            states = _ranges(f"x{feature}", np.flatnonzero(children == below).tolist())
            missing = literal(parts.get(below, 0.0))
            test = f"CASE WHEN x{feature} IS NULL THEN {missing} WHEN {states} THEN 1.0e+00 ELSE 0.0e+00 END"
            factors[below] = [*factors[node], test]


def _ranges(name: str, states: Sequence[int]) -> str:
    """Return the condition that a code is one of these, as ranges.

    >>> _ranges("x", [0, 1, 2, 7])
    '(x BETWEEN 0 AND 2 OR x = 7)'
    """
    breaks = [i for i in range(1, len(states)) if states[i] != states[i - 1] + 1]
    runs = [(states[i], states[j - 1]) for i, j in zip([0, *breaks], [*breaks, len(states)], strict=True)]
    return _any([f"{name} = {low}" if low == high else f"{name} BETWEEN {low} AND {high}" for low, high in runs])
