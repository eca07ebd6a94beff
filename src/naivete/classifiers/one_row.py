"""One row, and numbers for its features, as the codes and positions of a fitted classifier."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from naivete._kernels.codes import missing
from naivete.classifiers.estimator import check_fitted
from naivete.data.frames import is_frame
from naivete.data.records import record_of
from naivete.data.table import Table
from naivete.encoding.column_codes import warn_unseen
from naivete.errors import DataError, ParameterError, did_you_mean, quoted
from naivete.inference.junction.evidence import code_of, value_of
from naivete.variables import Name, State, Variable

if TYPE_CHECKING:
    from naivete.classifiers.base import NetworkClassifier

__all__ = ["checked_costs", "feature_position", "known_codes", "number_of", "observed_codes", "value_code", "value_of_code"]


def observed_codes(model: NetworkClassifier, row: Any) -> dict[int, float]:
    """Return the codes of the observed values of one row; the distance from the origin for continuous features.

    A missing value is not observed. Where missing is a state of its own, it has the code of that state; so has a value that did
    not occur in training where the encoder has unseen="smooth".

    Parameters
    ----------
    model : the fitted classifier.
    row : a mapping from names to values, or a row of a data frame, in which features may be left out and other names are ignored;
        the values of all features in order, None or NaN where missing; a data frame or table with one row; or None for nothing.
        A value is a state, a number, or the label of a state or interval.
    """
    row = {} if row is None else row
    if isinstance(row, Table) or (not isinstance(row, (Mapping, Sequence, np.ndarray)) and is_frame(row)):
        return _frame_codes(model, row)
    check_fitted(model)
    policy = model._encoder().unseen
    codes: dict[int, float] = {}
    unseen: dict[Name, int] = {}
    for x, (variable, value) in enumerate(zip(model.schema_, _values(model.schema_, row), strict=True)):
        code = None if variable.left_out else _code(variable, value, policy, unseen)
        if code is not None:
            codes[x] = code
    warn_unseen(unseen, ())
    return codes


def known_codes(model: NetworkClassifier, row: Any) -> dict[int, float]:
    """Return the same without missing values, also where missing is a state of its own: these features can still be asked for."""
    codes, schema = observed_codes(model, row), model.schema_
    return {x: code for x, code in codes.items() if not (schema[x].missing and code == schema[x].known)}


def _frame_codes(model: NetworkClassifier, frame: Any) -> dict[int, float]:
    (codes,) = (encoded.codes for encoded in model.encoded(frame))
    if len(codes[0]) != 1:
        raise DataError(f"row: one row is needed, got {len(codes[0])}; take one of them")
    return {x: column[0].item() for x, column in enumerate(codes) if not missing(column)[0] and not model.schema_[x].left_out}


def _values(schema: Sequence[Variable], row: Any) -> list[Any]:
    """Return the value of every feature, None where it is not in the row."""
    names = [variable.name for variable in schema]
    if not isinstance(row, Mapping):
        row = record_of(row, names) or row
    if isinstance(row, Mapping):
        unknown = [name for name in row if name not in set(names)]
        if unknown and len(unknown) == len(row):
            raise DataError(f"row: there is no feature {quoted(unknown[0])}; {did_you_mean(unknown[0], names)}")
        return [row.get(name) for name in names]
    values = row.tolist() if hasattr(row, "tolist") else list(row)
    if len(values) == 1 and isinstance(values[0], (list, tuple)):  # rows and columns, with a single row
        values = list(values[0])
    if len(values) != len(names):
        raise DataError(f"row: {len(values)} values where the classifier has {len(names)} features; a mapping may leave some out")
    return values


def _code(variable: Variable, value: Any, unseen: str, unseen_counts: dict[Name, int]) -> float | None:
    """Return the code of a value, None where it is missing or treated as missing."""
    if value is None or value != value or (isinstance(value, str) and not value):
        return variable.known if variable.missing else None
    try:
        return value_code(variable, value)
    except DataError:
        if unseen == "error" or variable.numeric:
            raise
    if unseen == "smooth" and variable.other:
        return variable.card - 1
    unseen_counts[variable.name] = 1
    return None


def feature_position(schema: Sequence[Variable], name: Any, parameter: str) -> int:
    """Return the position of a feature, given its name."""
    for x, variable in enumerate(schema):
        if variable.name == name:
            return x
    hint = did_you_mean(name, [variable.name for variable in schema])
    raise ParameterError(f"{parameter}: there is no feature {quoted(name)}; {hint}")


def checked_costs(costs: Any, schema: Sequence[Variable], parameter: str = "costs") -> list[float]:
    """Return the cost of every feature: 1 by default, or as a mapping by name or a sequence says.

    Parameters
    ----------
    costs : None, a mapping from names to costs, or the costs of all features in order.
    schema : the features.
    parameter : the name of the parameter, for error messages.
    """
    result = [1.0] * len(schema)
    if costs is None:
        return result
    if not isinstance(costs, Mapping):
        listed = list(costs)
        if len(listed) != len(schema):
            raise ParameterError(f"{parameter}: {len(listed)} numbers for {len(schema)} features; a mapping may leave some out")
        costs = {variable.name: cost for variable, cost in zip(schema, listed, strict=True)}
    for name, cost in costs.items():
        number = number_of(cost)
        if number is None or not number > 0:
            raise ParameterError(f"{parameter}: {quoted(name)}: {quoted(cost)} is not a cost; costs are finite numbers above 0")
        result[feature_position(schema, name, parameter)] = number
    return result


def number_of(value: Any) -> float | None:
    """Return a finite number as a float, None for everything else."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) and not isinstance(value, (str, bool)) else None


def value_code(variable: Variable, value: Any) -> float:
    """Return the code of a state, a label, or a number; for a continuous feature its distance from the origin."""
    if variable.origin is None:
        return code_of(variable, value)
    number = number_of(value)
    if number is None:
        raise DataError(f"evidence: variable {quoted(variable.name)} is continuous, and {quoted(value)} is not a finite number")
    return number - variable.origin


def value_of_code(variable: Variable, code: float) -> State:
    """Return the value of a code: a state, the label of an interval, or a number."""
    return code + variable.origin if variable.origin is not None else value_of(variable, int(code))
