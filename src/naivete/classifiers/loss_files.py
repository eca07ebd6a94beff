"""Loss matrices in files: delimited text, and the cost files of Weka."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.classifiers.losses import LARGEST, REJECT, REJECTS, VALID_LOSSES, unknown_class
from naivete.data.files.delimited import Delimited, read_csv
from naivete.data.files.opening import Limits, PathLike, display_name, open_file, text_blocks
from naivete.errors import DataError, ParameterError, quoted
from naivete.variables import State

__all__ = ["read_costs"]

_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_LIMITS: Final = Limits(line=1 << 22, columns=10_000, cells=1 << 24, decompressed=1 << 28)

Labels = tuple[State, ...]


def read_costs(path: PathLike, labels: Labels | None, encoding: str) -> tuple[Labels, Numbers]:
    """Return the labels and the matrix of a file, as `Loss.read` describes it."""
    lines = _weka_lines(path, encoding)
    if lines is None:
        return _of_table(path, labels, encoding)
    name = display_name(path)
    if labels is None:
        raise ParameterError(f"{name}: a cost file of Weka names no classes; pass labels=, in the order of the ARFF header")
    return labels, _of_weka(lines, labels, name)


def _of_table(path: PathLike, labels: Labels | None, encoding: str) -> tuple[Labels, Numbers]:
    """Return the labels and the matrix of a delimited file."""
    name = display_name(path)
    with open_file(path) as file:
        corner, *header = Delimited(encoding=encoding, limits=_LIMITS).names(file, name)
    known = tuple(header) if labels is None else labels
    _check_header(header, known, f"{name}:1")
    kinds: dict[str, Any] = {corner: "nominal", **dict.fromkeys(header, "numeric")}
    table = read_csv(path, encoding=encoding, kinds=kinds, limits=_LIMITS)
    columns: dict[str, list[Any]] = {str(column.name): list(column) for column in table.columns}
    rows = _decision_rows(columns[corner], [*map(str, known)], [table.place(row) for row in range(len(table))], name)
    for text in header:
        for row in rows:
            value = columns[text][row]
            if value is None or not abs(value) <= LARGEST:
                problem = "the cell is empty" if value is None else f"{value} is not a loss"
                raise DataError(f"{table.place(row)}: column {quoted(text)}: {problem}; {VALID_LOSSES}")
    return known, np.array([[columns[str(c)][row] for c in known] for row in rows], np.float64)


def _check_header(header: Sequence[str], known: Labels, place: str) -> None:
    if not header:
        raise DataError(f"{place}: only one column; the header has a cell for the decisions and one for every true class")
    texts = [str(label) for label in known]
    for text in header:
        if text not in texts:
            raise DataError(f"{place}: {unknown_class(text, known)}")
    for text in texts:
        if text not in header:
            raise DataError(f"{place}: there is no column for the class {quoted(text)}; add it, with its losses")


def _decision_rows(decided: Sequence[Any], texts: Sequence[str], places: Sequence[str], name: str) -> list[int]:
    """Return the rows of the labels in their order, followed by that of rejecting where there is one."""
    rows: dict[str, int] = {}
    for row, text in enumerate(decided):
        decision = REJECT if text in REJECTS and text not in texts else text
        if decision not in texts and decision != REJECT:
            raise DataError(f"{places[row]}: {unknown_class(text, texts)}")
        if decision in rows:
            raise DataError(
                f"{places[row]}: the decision {quoted(decision)} is there twice, first at {places[rows[decision]]}; keep one"
            )
        rows[decision] = row
    missing = [text for text in texts if text not in rows]
    if missing:
        raise DataError(f"{name}: there is no row for deciding {quoted(missing[0])}; add it, with a loss for every true class")
    return [rows[text] for text in [*texts, *([REJECT] if REJECT in rows and REJECT not in texts else [])]]


def _weka_lines(path: PathLike, encoding: str) -> list[tuple[int, str]] | None:
    """Return the lines that are neither comments nor empty, with their numbers; None where the file is not a cost file of Weka."""
    name = display_name(path)
    with open_file(path) as file:
        lines = [
            (block.first + i, line.strip())
            for block in text_blocks(file, name, encoding, _LIMITS)
            for i, line in enumerate(block.lines)
        ]
    filled = [(number, line) for number, line in lines if line]
    if not name.lower().removesuffix(".gz").endswith(".cost") and not (filled and filled[0][1][0] in "%["):
        return None
    return [(number, line) for number, line in filled if not line.startswith("%")]


def _of_weka(lines: list[tuple[int, str]], labels: Labels, name: str) -> Numbers:
    """Return the matrix of a cost file of Weka, (true, decided), transposed."""
    if not lines:
        raise DataError(f"{name}: no header: the file is empty; it has to begin with the size of the matrix, as in `2 2`")
    rows = _bracketed(lines, name) if lines[0][1].startswith("[") else _sized(lines, len(labels), name)
    if len(rows) != len(labels):
        place = f"{name}:{rows[-1][0]}" if rows else name
        raise DataError(
            f"{place}: {len(rows)} rows for {len(labels)} labels; write one for every class, in the order of the labels"
        )
    matrix = [_row(words, len(labels), f"{name}:{number}") for number, words in rows]
    return np.array(matrix, np.float64).T


def _bracketed(lines: list[tuple[int, str]], name: str) -> list[tuple[int, list[str]]]:
    """Return the rows of `[0 1; 5 0]`, which may extend over several lines."""
    number = lines[-1][0]
    if not lines[-1][1].endswith("]"):
        raise DataError(
            f"{name}:{number}: {quoted(lines[-1][1])}: the bracket is never closed; close it with ] after the last number"
        )
    cells = [(number, part.split()) for number, line in lines for part in re.split(r"(;)", line.strip("[]").replace(",", " "))]
    rows: list[tuple[int, list[str]]] = [(lines[0][0], [])]
    for number, words in cells:
        if words == [";"]:
            rows.append((number, []))
        else:
            rows[-1] = (rows[-1][0] if rows[-1][1] else number, rows[-1][1] + words)
    return rows if rows[-1][1] else rows[:-1]


def _sized(lines: list[tuple[int, str]], classes: int, name: str) -> list[tuple[int, list[str]]]:
    """Return the rows after the line with the size."""
    number, line = lines[0]
    size = line.split()
    if len(size) != 2 or not all(word.isascii() and word.isdigit() for word in size):
        raise DataError(
            f"{name}:{number}: {quoted(line)} is not the size of the matrix; write the numbers of rows and columns, as in `2 2`"
        )
    if size != [str(classes)] * 2:
        raise DataError(
            f"{name}:{number}: a matrix of {quoted(line)}, but there are {classes} labels; it has to be {classes} {classes}"
        )
    return [(number, row.split()) for number, row in lines[1:]]


def _row(words: Sequence[str], classes: int, place: str) -> list[float]:
    if len(words) != classes:
        raise DataError(f"{place}: {len(words)} numbers for {classes} labels; write one for every class")
    wrong = [word for word in words if not _NUMBER.fullmatch(word) or not abs(float(word)) <= LARGEST]
    if wrong:
        raise DataError(f"{place}: {quoted(wrong[0])} is not a loss; {VALID_LOSSES}")
    return [float(word) for word in words]
