"""What is known of some cases: the rates of the classes, and what the features are like in each of them."""

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
"""Informations that agree to so many digits are equal."""


@dataclass(frozen=True, eq=False)
class ClassSummary:
    """Some cases in probabilities: the rate of every class, and what the features are like in it.

    Parameters
    ----------
    rates : P(class).  # (class)
    tables : P(x | class), by feature.  # (x, class)
    normals : the mean and the deviation of features with a normal density in each class.  # (2, class)
    """

    rates: Numbers
    tables: Mapping[int, Numbers]
    normals: Mapping[int, Numbers]

    @property
    def best(self) -> int:
        """The most frequent class, the first of equals."""
        return int(np.argmax(self.rates))

    def classes(self, most: int) -> list[int]:
        """The most frequent of the classes that occur, in their order."""
        occurring = [c for c, rate in enumerate(self.rates) if rate > 0]
        return sorted(sorted(occurring, key=lambda c: (-self.rates[c], c))[:most])

    @cached_property
    def ranked(self) -> tuple[int, ...]:
        """The features, those first that tell most about the class."""
        bits = {x: information(table * self.rates) for x, table in self.tables.items()}
        bits |= {x: _normal_information(self.rates, *own) for x, own in self.normals.items()}
        return tuple(sorted(bits, key=lambda x: (-round(bits[x], EQUAL), x)))


class Line(NamedTuple):
    """A line of the table of a summary.

    Parameters
    ----------
    feature : the feature.
    label : a state, or what is told of a number.
    values : for every class; probabilities of a state.  # (class)
    probable : whether they are probabilities.
    """

    feature: int
    label: str
    values: Numbers
    probable: bool


def summary_lines(
    network: Network, summary: ClassSummary, features: Iterable[int], *, max_states: int | None = None
) -> Iterator[Line]:
    """The table of a summary line by line: of a feature its states, or its mean and deviation.

    Parameters
    ----------
    network : the network.
    summary : the summary.
    features : those of its features that are told, in their order.
    max_states : of a feature with more states the first.
    """
    for x in features:
        if x in summary.normals:
            yield from (Line(x, word, own, False) for word, own in zip(("mean", "deviation"), summary.normals[x], strict=True))
        else:
            labels = network.variables[x].labels[:max_states]
            yield from (Line(x, label, own, True) for label, own in zip(labels, summary.tables[x], strict=False))


def class_summary(network: Network, state: int) -> ClassSummary:
    """What a state of the derived column says of the classes."""
    place = max(network.derived)
    telling = [x for x in network.inputs if x in network.densities or network.variables[x].card > 1]
    at = {x: (..., state, slice(None)) if place in network.parents[x] else ... for x in telling if CLASS in network.parents[x]}
    tables = {x: np.asarray(network.cpts[x])[own] for x, own in at.items() if x not in network.densities}
    normal_parameters = {x: _normal(network, x, own) for x, own in at.items() if x in network.densities}
    return ClassSummary(np.asarray(network.cpts[CLASS])[state], tables, normal_parameters)


def normal_parameters(network: Network, x: int) -> Iterator[tuple[tuple[str, ...], float, float]]:
    """The mean and the deviation of a number with a density, one configuration of its parents after the other."""
    others = [m for m in network.family(x) if m != x]
    means, deviations = _normal(network, x, ...)
    for codes in np.ndindex(*means.shape):
        labels = tuple(network.variables[m].labels[c] for m, c in zip(others, codes, strict=True))
        yield labels, float(means[codes]), float(deviations[codes])


def _normal(network: Network, x: int, at: Any) -> Numbers:
    """The means and deviations of a number in some configurations of its parents.  # (2, ...)"""
    own = network.densities[x]
    return np.stack([own.means[at] + (network.variables[x].origin or 0.0), np.sqrt(own.variances[at])])


def _normal_information(rates: Numbers, means: Numbers, deviations: Numbers) -> float:
    """About how much a number tells about the class, in bits, were it normal in all classes together as well."""
    within = float(rates @ deviations**2)
    centre = means - rates @ means
    return 0.5 * float(np.log2(1 + (rates @ centre**2) / within)) if within > 0 else 0.0
