"""Posterior probabilities of one row, by sums of logarithms that are prepared once as tuples of Python numbers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import exp, inf, log
from operator import add
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import missing_code, narrowest
from naivete.classifiers.export.sum_of_tables import sum_of_tables
from naivete.data.records import LARGEST_EXACT
from naivete.encoding.column_codes import warn_unseen
from naivete.errors import ParameterError, ResourceError
from naivete.network.densities import FAR
from naivete.variables import CLASS, Name, State

if TYPE_CHECKING:
    from naivete.classifiers.base import NetworkClassifier
    from naivete.classifiers.export.tabular_form import Gaussian, Input, SumOfTables, Table
    from naivete.inference.row_elimination import RowElimination

__all__ = ["PreparedTables", "prepared_tables"]

_OTHER: Final = object()
"""Stands for a value that needs the checks of the encoder."""

Code = Any
"""The position of a state or an interval, or a number; None if the value is missing."""
Logs = Sequence[float]
"""A logarithm for each class."""


def prepared_tables(model: NetworkClassifier) -> PreparedTables | None:
    """Return the tables of a fitted classifier; None if its predictions are not a sum over tables and normal densities."""
    try:
        form = sum_of_tables(model)
    except (ParameterError, ResourceError):
        return None
    return None if form.tree is not None or form.hierarchy is not None or form.hidden else PreparedTables(form)


class _Family(NamedTuple):
    """A table with more than two members."""

    logs: tuple[Logs, ...]
    members: tuple[int, ...]
    strides: tuple[int, ...]


class _Pair(NamedTuple):
    """A table with at most two members: the row of the logarithms is `codes[first] * stride + codes[second]`."""

    logs: tuple[Logs, ...]
    first: int
    stride: int
    second: int


class _Link(NamedTuple):
    """The table of a feature with at most one parent; the row is `state * step`, plus `state of the parent * parent_step`."""

    variable: int
    card: int
    step: int
    parent: int | None
    parent_step: int
    logs: tuple[Logs, ...]


class _Density(NamedTuple):
    """A normal density: mean, standard deviation, log-density at the mean and slopes of each class, by the cell of its parents."""

    variable: int
    members: tuple[int, ...]
    strides: tuple[int, ...]
    linked: tuple[int, ...]
    cells: list[list[tuple[float, float, float, tuple[float, ...]]]]


class PreparedTables:
    """The posterior probabilities of rows of values, by additions of logarithms in the order of the predictor.

    Rows with complete values that occurred in training give the same bits as the compiled kernels.

    Parameters
    ----------
    form : the classifier as a sum over tables, without derived columns.
    """

    def __init__(self, form: SumOfTables) -> None:
        none, classes = len(form.inputs), len(form.classes)
        self._inputs, self._classes = form.inputs, classes
        self._encoders = [_encoder(column) for column in form.inputs]
        self._states = [{(isinstance(s, bool), s): i for i, s in enumerate(column.states)} for column in form.inputs]
        self._added = [_term(table, classes, none) for table in form.added]
        self._constant = [_term(table, classes, none) for table in form.constant]
        terms = (*self._added, *self._constant)
        self._pairs = [term for term in terms if isinstance(term, _Pair)] if not form.densities else []
        self._only_pairs = len(self._pairs) == len(terms)
        self._densities = [_density(density, classes) for density in form.densities]
        self._linked = any(density.linked for density in form.densities)
        self._forest = _forest(form)
        self._cards, self._sums, self._evidence = form.cards, form.sums, form.evidence
        self._no_evidence = None if form.no_evidence is None else form.no_evidence.tolist()
        self._temperature = form.temperature
        self._types = [_code_type(column, card) for column, card in zip(form.inputs, form.cards, strict=False)]

    def posterior(self, values: Sequence[Any]) -> list[float] | None:
        """Return the posterior probabilities, None if they need the predictor: sums over many states, or values to refuse."""
        unseen: dict[Name, int] = {}
        codes = self.codes(values, unseen)
        result = None if codes is None else self._posterior(codes)
        if result is not None:
            warn_unseen(unseen, ())
        return result

    def codes(self, values: Sequence[Any], unseen: dict[Name, int]) -> list[Code] | None:
        """Return the codes of the values of a row, None for those that are missing; None if the encoder has to check a value.

        Parameters
        ----------
        values : sequence
            The values of all features.
        unseen : dict
            Gets the names of the features whose values did not occur in training.
        """
        codes = self._familiar(values)
        if codes is not None and None in codes:
            codes = [self._code(x, values[x], unseen) if code is None else code for x, code in enumerate(codes)]
        return None if codes is None or _OTHER in codes else codes

    def exact(self, codes: list[Code], elimination: RowElimination) -> list[float] | None:
        """Return the same bits as the predictor with the compiled kernels, None if only the predictor can compute them.

        Parameters
        ----------
        codes : list
            The codes of the features, None for those that are missing.
        elimination : RowElimination
            Marginalizes missing features with observed children.
        """
        if self._lacks_evidence(codes):
            return list(self._no_evidence or ())
        if None not in codes or not (self._linked or self._needs_sum(codes)):
            return self._normalized(self._joint(codes))
        if self._linked or any(density.members for density in self._densities):
            return None
        contributions = elimination.contributions(codes)
        return None if contributions is None else self._normalized(self._joint(codes, contributions))

    def arrays(self, codes: list[Code]) -> tuple[list[NDArray[Any]], NDArray[np.bool_]]:
        """Return the codes as one-row columns for the predictor, and which of them are missing."""
        columns = [
            np.array([empty if code is None else code], dtype) for code, (empty, dtype) in zip(codes, self._types, strict=True)
        ]
        return columns, np.array([code is None for code in codes], bool)

    def _familiar(self, values: Sequence[Any]) -> list[Code] | None:
        """Return the codes, None for values that are missing or not of the usual type; None if a value cannot be looked up."""
        try:
            return [encode(value) for encode, value in zip(self._encoders, values, strict=True)]
        except TypeError:  # a value without a hash
            return None

    def _posterior(self, codes: list[Code]) -> list[float] | None:
        if self._lacks_evidence(codes):
            return list(self._no_evidence or ())
        if None not in codes or not self._needs_sum(codes):
            return self._normalized(self._joint(codes))
        return None if self._forest is None else self._normalized(self._forest_joint(codes))

    def _lacks_evidence(self, codes: list[Code]) -> bool:
        """Return whether nothing is observed, and the probabilities are then stored."""
        return self._no_evidence is not None and all(codes[x] is None for x in self._evidence)

    def _joint(self, codes: list[Code], contributions: Sequence[Logs] = ()) -> Logs:
        """Return log P(class, row) up to a term that all classes share, by the tables whose members are observed.

        Parameters
        ----------
        codes : list
            The codes of the features, None for those that are missing.
        contributions : sequence of sequence of float, default=()
            What the tables with missing members add.
        """
        codes = [*codes, 0]  # the last is the code of a member that a table does not have
        if self._only_pairs and None not in codes:
            parts = [logs[codes[first] * stride + codes[second]] for logs, first, stride, second in self._pairs]
        else:  # in the order of the predictor
            parts = [logs for term in self._added if (logs := _logs(term, codes)) is not None]
            parts += [logs for density in self._densities if (logs := _log_densities(density, codes)) is not None]
            parts += contributions
            parts += [logs for term in self._constant if (logs := _logs(term, codes)) is not None]
        return [reduce(add, column) for column in zip(*parts, strict=True)] if parts else [0.0] * self._classes

    def _forest_joint(self, codes: list[Code]) -> Logs:
        """Return the same with missing parents marginalized, in a forest: each feature has at most one feature as a parent.

        Children come before their parents. A missing parent receives from each child a logarithm for each of its states and each
        class, and sums over its states.
        """
        assert self._forest is not None
        joint, links = self._forest
        received: dict[int, list[Logs]] = {}
        for link in links:
            code, messages = codes[link.variable], received.pop(link.variable, None)
            if code is None and messages is None:
                continue  # its table sums to one
            parent = 0 if link.parent is None else codes[link.parent]
            if parent is not None:
                joint = _added(joint, _link_logs(link, code, parent, messages))
                continue
            sent = [_link_logs(link, code, state, messages) for state in range(self._cards[link.parent])]  # type: ignore[index]
            earlier = received.get(link.parent)  # type: ignore[arg-type]
            received[link.parent] = sent if earlier is None else [_added(a, b) for a, b in zip(earlier, sent, strict=True)]  # type: ignore[index]
        for density in self._densities:
            joint = _added(joint, _log_densities(density, codes) or (0.0,) * len(joint))
        return joint

    def _normalized(self, joint: Logs) -> list[float] | None:
        top = max(joint)
        if top == -inf:
            return None  # impossible in every class
        if self._temperature != 1:
            joint = [self._temperature * a for a in joint]
            top = max(joint)
        parts = [exp(a - top) for a in joint]
        total = reduce(add, parts)
        return [part / total for part in parts]

    def _needs_sum(self, codes: list[Code]) -> bool:
        """Return whether a feature is observed of which a parent is missing, so that leaving out tables is not exact."""
        return any(
            (v < 0 or codes[v] is not None) and any(codes[parent] is None for parent in parents) for v, parents in self._sums
        )

    def _code(self, x: int, value: Any, unseen: dict[Name, int]) -> Code:
        """Return the code of any value: None if it is treated as missing, `_OTHER` if the encoder has to check it."""
        column = self._inputs[x]
        if column.kind == "unused":
            return 0
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or type(value).__name__ in ("NAType", "NaTType") or value == "" or value != value:
            return None if column.missing < 0 else column.missing
        if type(value) not in (str, bool, int, float) or (type(value) is float and abs(value) == inf):
            return _OTHER
        if column.kind != "states":
            code = self._encoders[x](value)
            return _OTHER if code is None else code
        code = self._states[x].get((type(value) is bool, value), column.unseen)
        if code == -1:
            unseen[column.name] = 1
            return None
        return _OTHER if code < 0 or (type(value) is int and abs(value) > LARGEST_EXACT) else code


def _encoder(column: Input) -> Callable[[Any], Code]:
    """Return a function from a familiar value to its code, which returns None for all others."""
    if column.kind == "unused":
        return lambda _: 0
    if column.kind == "intervals":
        return _interval_encoder(column.cuts)
    if column.kind == "number":
        return _number_encoder(column.origin)
    if all(type(state) is str and state for state in column.states):
        return {state: code for code, state in enumerate(column.states)}.get
    return _state_encoder({(isinstance(state, bool), state): code for code, state in enumerate(column.states)})


def _interval_encoder(cuts: tuple[float, ...]) -> Callable[[Any], Code]:
    def encode(value: Any) -> Code:
        if type(value) is float:
            return bisect_left(cuts, value) if -inf < value < inf else None
        return bisect_left(cuts, value) if type(value) is int and -LARGEST_EXACT <= value <= LARGEST_EXACT else None

    return encode


def _number_encoder(origin: float) -> Callable[[Any], Code]:
    def encode(value: Any) -> Code:
        if type(value) is float:
            return value - origin if -inf < value < inf else None
        return float(value) - origin if type(value) is int and -LARGEST_EXACT <= value <= LARGEST_EXACT else None

    return encode


def _state_encoder(codes: Mapping[tuple[bool, State], int]) -> Callable[[Any], Code]:
    numbers = {state: code for (boolean, state), code in codes.items() if not boolean and state != ""}
    booleans = {state: code for (boolean, state), code in codes.items() if boolean}

    def encode(value: Any) -> Code:
        return (booleans if type(value) is bool else numbers).get(value) if type(value) in (bool, int, float, str) else None

    return encode


def _code_type(column: Input, card: int) -> tuple[Any, np.dtype[Any]]:
    """Return the code of a missing value, and the type of the codes of a column."""
    if column.kind == "number":
        return np.nan, np.dtype(np.float64)
    dtype = np.dtype(narrowest(card))
    return missing_code(dtype), dtype


def _rows(table: Table, classes: int) -> tuple[Logs, ...]:
    """Return the logarithms of a table, one for each class also if the class is not in the table."""
    return tuple(tuple(row) if len(row) == classes else tuple(row) * classes for row in table.logs.tolist())


def _term(table: Table, classes: int, none: int) -> _Pair | _Family:
    rows, members = _rows(table, classes), table.members
    if len(members) > 2:
        return _Family(rows, members, table.strides)
    if len(members) == 2:
        return _Pair(rows, members[0], table.strides[0], members[1])
    return _Pair(rows, none, 0, members[0] if members else none)


def _forest(form: SumOfTables) -> tuple[Logs, list[_Link]] | None:
    """Return the logarithms of P(class) and the tables of the features, children first; None if some feature has two parents."""
    classes, prior, links = len(form.classes), None, []
    for table in form.families:
        if table.variable == CLASS and not table.members:
            prior = _rows(table, classes)[0]
            continue
        if table.variable == CLASS or len(table.members) > 2 or any(density.linked for density in form.densities):
            return None
        step = dict(zip(table.members, table.strides, strict=True))
        parent = next((m for m in table.members if m != table.variable), None)
        card = form.cards[table.variable]
        parent_step = 0 if parent is None else step[parent]
        links.append(_Link(table.variable, card, step[table.variable], parent, parent_step, _rows(table, classes)))
    return None if prior is None else (prior, links[::-1])


def _link_logs(link: _Link, code: Code, parent: int, messages: list[Logs] | None) -> Logs:
    """Return the logarithm for each class of the table of a feature, times its messages and summed over its states if missing."""
    first = parent * link.parent_step
    if code is not None:
        logs: Logs = link.logs[first + code * link.step]
        return logs
    assert messages is not None
    terms = [_added(link.logs[first + state * link.step], messages[state]) for state in range(link.card)]
    return [_log_sum(column) for column in zip(*terms, strict=True)]


def _log_sum(logs: Logs) -> float:
    top = max(logs)
    return top if top == -inf else top + log(sum(exp(a - top) for a in logs))


def _added(one: Logs, two: Logs) -> Logs:
    return [a + b for a, b in zip(one, two, strict=True)]


def _logs(term: _Pair | _Family, codes: list[Code]) -> Logs | None:
    """Return the logarithms of a table for a row, None if a member of the table is missing."""
    if isinstance(term, _Pair):
        one, two = codes[term.first], codes[term.second]
        return None if one is None or two is None else term.logs[one * term.stride + two]
    cell = 0
    for member, stride in zip(term.members, term.strides, strict=True):
        if codes[member] is None:
            return None
        cell += codes[member] * stride
    return term.logs[cell]


def _density(density: Gaussian, classes: int) -> _Density:
    cells = [
        [(m, d, p, tuple(slopes)) for m, d, p, slopes in zip(*rows, strict=True)]
        for rows in zip(
            density.means.tolist(), density.deviations.tolist(), density.peaks.tolist(), density.slopes.tolist(), strict=True
        )
    ]
    repeated = [row if len(row) == classes else row * classes for row in cells]
    return _Density(density.variable, density.members, density.strides, density.linked, repeated)


def _log_densities(density: _Density, codes: list[Code]) -> Logs | None:
    """Return the log-densities of the classes for a row, None if the feature or a parent is missing."""
    value, cell = codes[density.variable], 0
    if value is None or any(codes[parent] is None for parent in density.linked):
        return None
    for member, stride in zip(density.members, density.strides, strict=True):
        if codes[member] is None:
            return None
        cell += codes[member] * stride
    logs = []
    for mean, deviation, peak, slopes in density.cells[cell]:
        expected = 0.0
        for parent, slope in zip(density.linked, slopes, strict=True):
            expected += codes[parent] * slope
        distance = min(max((value - expected - mean) / deviation, -FAR), FAR)
        logs.append(peak - 0.5 * distance * distance)
    return logs
