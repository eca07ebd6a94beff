"""Texts of explanations: values, probabilities and contributions in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import missing
from naivete.errors import ParameterError, did_you_mean, quoted
from naivete.variables import Name, Variable, number_text

__all__ = [
    "Contribution",
    "class_position",
    "contribution_text",
    "free_name",
    "more_text",
    "probability_text",
    "value_text",
]


class Contribution(NamedTuple):
    """What one feature, or one family, adds to the log odds of a row.

    Parameters
    ----------
    name : str
        The name of the feature; of a family, its variable and the parents.
    value : str
        The value of the row as text: a state, an interval, a number, or "missing".
    bits : float
        The contribution, in bits.
    standard_error : float or None, default=None
        The standard error of an estimated contribution; None if it is exact.
    """

    name: str
    value: str
    bits: float
    standard_error: float | None = None


def class_position(classes: NDArray[Any], label: Any, parameter: str) -> int:
    """Return the position of a class; an error about an unknown one names the parameter."""
    labels = classes.tolist()
    if label not in labels:
        hint = did_you_mean(label, labels, "the classes are")
        raise ParameterError(f"{parameter}={quoted(label)} is not a class of the model; {hint}")
    return int(labels.index(label))


def value_text(variable: Variable, code: Any) -> str:
    """Return the value of a variable as text: a state, an interval, a number, or "missing"."""
    if missing(np.asarray([code]))[0]:
        return "missing"
    return number_text(float(code) + variable.origin) if variable.origin is not None else variable.labels[int(code)]


def free_name(name: str, taken: Sequence[Name]) -> str:
    """Return the name, with underscores added where another column has it already."""
    return free_name(f"{name}_", taken) if name in taken else name


def probability_text(probability: float) -> str:
    """Return a probability as text that is never rounded to 0 or 1.

    >>> probability_text(0.5), probability_text(0.99999), probability_text(1e-7), probability_text(1.0)
    ('0.5', 'above 0.999', 'below 0.001', '1')
    """
    if 0.999 < probability < 1:
        return "above 0.999"
    return "below 0.001" if 0 < probability < 0.001 else f"{probability:.3g}"


def contribution_text(contribution: Contribution) -> str:
    """Return a contribution with its value and its bits."""
    value = f" = {contribution.value}" if contribution.value else ""
    return f"{contribution.name}{value} ({contribution.bits:+.2f} bits)"


def more_text(count: int) -> str:
    """Return how many entries of a list are not named."""
    return f" and {count} more" if count > 0 else ""
