"""The bias of information estimated from counts, and the features that have too few cases for each of their states.

The mutual information of independent variables, estimated from relative frequencies, is above zero by about its degrees of freedom
divided by twice the number of cases, in nats. A feature with many states therefore seems to be informative. The corrected
estimates subtract this bias, but keep at least `LEAST` of the plain estimate, so that the order of features is still defined.
"""

from __future__ import annotations

from math import log
from typing import Final, Literal, NamedTuple

import numpy as np

from naivete._kernels import run_parallel
from naivete._kernels.codes import Bools, Numbers
from naivete.counts.counts import Counts, stacked_margins
from naivete.counts.entropy_terms import rounded_bits
from naivete.errors import ParameterError, quoted
from naivete.variables import CLASS

__all__ = ["Bias", "checked_bias", "corrected_dependence", "corrected_relevance", "joinable"]

Bias = Literal["corrected", "plain"]
"""Whether the bias of estimated information is subtracted."""
LEAST: Final = 0.01
"""The share of the plain estimate that a corrected one has at least."""
ROWS: Final = 64
"""The number of rows of a matrix that are corrected at a time."""
MANY_STATES: Final = 20
CASES: Final = 25
"""A feature with more than `MANY_STATES` states and fewer than `CASES` cases for each state and class gets no arcs."""


class Occurrence(NamedTuple):
    """The states that occur and the weight of the cases in which they do, for each feature.

    Parameters
    ----------
    states : the number of states that occur; 2 for a continuous feature, whose dependences have one parameter in each class.
    cases : the weight of the cases in which the feature is observed.
    classes : the number of classes that occur.
    total : the total weight of the cases.
    """

    states: Numbers
    cases: Numbers
    classes: int
    total: float


def checked_bias(bias: object) -> Bias:
    """Return "corrected" or "plain"; refuse any other value."""
    if bias == "corrected" or bias == "plain":
        return bias
    raise ParameterError(f"bias={quoted(bias)}: choose 'corrected' or 'plain'")


def occurrence(counts: Counts) -> Occurrence:
    """Return the states and cases of every feature."""
    states, cases = np.empty(len(counts.features)), np.empty(len(counts.features))
    for features, tables in stacked_margins(counts):
        weights = tables.sum(axis=2)  # (feature, state)
        states[features], cases[features] = np.count_nonzero(weights, axis=1), weights.sum(axis=1)
    states[[v.density for v in counts.variables[:CLASS]]] = 2
    classes = counts.margins()[CLASS,]
    return Occurrence(states, cases, int(np.count_nonzero(classes)), float(classes.sum()))


def corrected_relevance(counts: Counts, bits: Numbers) -> Numbers:
    """Return I(X; C) without its bias, (|x| - 1)(K - 1) / 2n nats.

    Parameters
    ----------
    counts : the counts.
    bits : the plain estimates in bits.
    """
    states, cases, classes, _ = occurrence(counts)
    bias = np.maximum((states - 1) * (classes - 1), 0.0) / (2 * log(2) * np.where(cases > 0, cases, np.inf))
    return rounded_bits(np.maximum(bits - bias, LEAST * bits))


def corrected_dependence(counts: Counts, bits: Numbers) -> Numbers:
    """Return I(X; Y | C) without its bias, (|x| - 1)(|y| - 1) K / 2n nats.

    The number n of cases in which both features are observed is taken as if values were missing independently.

    Parameters
    ----------
    counts : the counts.
    bits : the plain estimates in bits, a matrix.
    """
    states, cases, classes, total = occurrence(counts)
    share = cases / total if total > 0 else np.zeros_like(cases)  # a product of weights could overflow
    factors = np.divide(np.maximum(states - 1, 0.0), share, out=np.zeros_like(share), where=share > 0)
    scale = classes / (2 * log(2) * total) if total > 0 else 0.0
    result = np.empty_like(bits)

    def correct(start: int) -> None:
        part = slice(start, start + ROWS)
        bias = np.outer(factors[part] * scale, factors)
        result[part] = rounded_bits(np.maximum(bits[part] - bias, LEAST * bits[part]))

    run_parallel(correct, range(0, len(bits), ROWS), 8 * bits.size)  # by rows: no other matrices of this size
    return result


def joinable(counts: Counts, bias: Bias = "corrected") -> Bools:
    """Return which features may get arcs: with plain informations all, else those that have enough cases for each state."""
    if checked_bias(bias) == "plain" or max(counts.cards(counts.features), default=1) <= MANY_STATES:
        return np.ones(len(counts.features), bool)
    states, cases, classes, _ = occurrence(counts)
    return np.asarray((states <= MANY_STATES) | (cases >= CASES * states * classes))
