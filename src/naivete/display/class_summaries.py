"""Class probabilities of one leaf or classifier, with the distribution of every feature given the class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.counts.information import information
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["ClassSummary", "Line", "class_summary", "normal_parameters", "summary_lines"]


EQUAL = 12
"""Informations that agree to this number of decimals count as equal."""


@dataclass(frozen=True, eq=False)
class ClassSummary:
    """The probability of every class, and the distribution of the features given the class.

    Parameters
    ----------
    rates : P(class).  # (class)
    tables : P(x | class), by feature.  # (x, class)
    normals : the mean and the standard deviation in each class, by feature with a normal density.  # (2, class)
    """

    rates: Numbers
    tables: Mapping[int, Numbers]
    normals: Mapping[int, Numbers]

    @property
    def best(self) -> int:
        """The most probable class, the first of equally probable ones."""
        return int(np.argmax(self.rates))

    def classes(self, most: int) -> list[int]:
        """Return the most probable classes with a probability above zero, in the order of the classes."""
        occurring = [c for c, rate in enumerate(self.rates) if rate > 0]
        return sorted(sorted(occurring, key=lambda c: (-self.rates[c], c))[:most])

    @cached_property
    def ranked(self) -> tuple[int, ...]:
        """The features in decreasing order of their information about the class."""
        bits = {x: information(table * self.rates) for x, table in self.tables.items()}
        bits |= {x: _normal_information(self.rates, *normal) for x, normal in self.normals.items()}
        return tuple(sorted(bits, key=lambda x: (-round(bits[x], EQUAL), x)))


class Line(NamedTuple):
    """One row of the table of a summary.

    Parameters
    ----------
    feature : the feature.
    label : a state, or "mean" or "deviation".
    values : a value for every class.  # (class)
    probable : whether the values are probabilities.
    """

    feature: int
    label: str
    values: Numbers
    probable: bool


def summary_lines(
    network: Network, summary: ClassSummary, features: Iterable[int], *, max_states: int | None = None
) -> Iterator[Line]:
    """Yield the rows of the table of a summary: the states of each feature, or its mean and standard deviation.

    Parameters
    ----------
    network : the network.
    summary : the summary.
    features : the features to include, in order.
    max_states : the largest number of states of a feature; by default all.
    """
    for x in features:
        if x in summary.normals:
            yield from (
                Line(x, name, values, False) for name, values in zip(("mean", "deviation"), summary.normals[x], strict=True)
            )
        else:
            labels = network.variables[x].labels[:max_states]
            yield from (Line(x, label, values, True) for label, values in zip(labels, summary.tables[x], strict=False))


def class_summary(network: Network, state: int) -> ClassSummary:
    """Return the class probabilities and feature distributions of the cases with this state of the derived column."""
    column = max(network.derived)
    informative = [x for x in network.inputs if x in network.densities or network.variables[x].card > 1]
    index = {
        x: (..., state, slice(None)) if column in network.parents[x] else ... for x in informative if CLASS in network.parents[x]
    }
    tables = {x: np.asarray(network.cpts[x])[i] for x, i in index.items() if x not in network.densities}
    normals = {x: _normal(network, x, i) for x, i in index.items() if x in network.densities}
    return ClassSummary(np.asarray(network.cpts[CLASS])[state], tables, normals)


def normal_parameters(network: Network, x: int) -> Iterator[tuple[tuple[str, ...], float, float]]:
    """Yield the labels of the parents, the mean and the standard deviation, for every configuration of the parents of x."""
    others = [m for m in network.family(x) if m != x]
    means, deviations = _normal(network, x, ...)
    for codes in np.ndindex(*means.shape):
        labels = tuple(network.variables[m].labels[c] for m, c in zip(others, codes, strict=True))
        yield labels, float(means[codes]), float(deviations[codes])


def _normal(network: Network, x: int, index: Any) -> Numbers:
    """Return the means and standard deviations of x in some configurations of its parents.  # (2, ...)"""
    density = network.densities[x]
    return np.stack([density.means[index] + (network.variables[x].origin or 0.0), np.sqrt(density.variances[index])])


def _normal_information(rates: Numbers, means: Numbers, deviations: Numbers) -> float:
    """Return an approximation of I(X;C) in bits: the mixture over the classes is taken to be normal too."""
    within = float(rates @ deviations**2)
    centered = means - rates @ means
    return 0.5 * float(np.log2(1 + (rates @ centered**2) / within)) if within > 0 else 0.0
