"""Nomograms: points for each value of each feature, and the probability of a class for the total of the points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.display.charts import Axis
from naivete.display.markup import Markup, element, image, plain, shorten, text_width
from naivete.errors import ParameterError, quoted
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["Nomogram", "Scale", "nomogram_of"]

POINTS = 100.0
"""The points of the feature with the widest range."""
LEFT, WIDTH, LINE, TOP = 230.0, 640.0, 34.0, 84.0
PROBABILITIES = (0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)
LINES = 120
"""The largest number of lines of a drawing."""


class Scale(NamedTuple):
    """The points of the values of one feature.

    Parameters
    ----------
    name : str
        The name of the feature; with a parent, also its value.
    states : tuple of str
        The labels of the values.
    points : ndarray of shape (n_states,)
        The points of each value.
    """

    name: str
    states: tuple[str, ...]
    points: Numbers


class Nomogram(NamedTuple):
    """The points of all values, and the log odds of a class for a total.

    Parameters
    ----------
    title : str
        The class, and the class it is compared with.
    scales : tuple of Scale
        A scale for each feature; for a feature with a parent, one for each value of the parent.
    unit : float
        The number of bits of one point.
    start : float
        The log odds for a total of 0 points, in bits.
    largest : float
        The largest possible total.
    """

    title: str
    scales: tuple[Scale, ...]
    unit: float
    start: float
    largest: float

    def probability(self, total: float) -> float:
        """Return the probability of the class for a total of points.

        Parameters
        ----------
        total : float
            The sum of the points of the values of a row.

        Returns
        -------
        float
            The probability.
        """
        return float(1 / (1 + np.exp2(-(self.start + self.unit * total))))

    def svg(self) -> str:
        """Return the drawing as SVG.

        Returns
        -------
        str
            The drawing.
        """
        return str(_drawing(self))

    def _repr_html_(self) -> str:
        return self.svg()


def nomogram_of(network: Network, target: int, other: int, temperature: float = 1.0) -> Nomogram:
    """Return the nomogram of a network in which each feature has the class and at most one feature as parents.

    Parameters
    ----------
    network : the network.
    target, other : the classes that are compared.
    temperature : the factor of all log-probabilities.
    """
    _check(network)
    logs = {x: _scores(network, x, target, other) * temperature for x in network.features if CLASS in network.parents[x]}
    logs = {x: table for x, table in logs.items() if np.ptp(table) > 0}
    lowest = {x: float(table.min()) for x, table in logs.items()}
    unit = max((float(np.ptp(table)) for table in logs.values()), default=1.0) / POINTS
    scales = [scale for x, table in logs.items() for scale in _scales(network, x, (table - lowest[x]) / unit)]
    prior = np.log2(np.maximum(np.asarray(network.cpts[CLASS]), 2.0**-100)) * temperature
    start = float(prior[target] - prior[other]) + sum(lowest.values())
    largest = sum(float(np.ptp(table)) for table in logs.values()) / unit
    labels = network.variables[CLASS].labels
    versus = "" if len(labels) == 2 else f" against {labels[other]}"
    return Nomogram(f"P({network.name(CLASS)} = {labels[target]}){versus}", tuple(scales), unit, start, largest)


def _check(network: Network) -> None:
    """Refuse networks that a nomogram cannot show."""
    wide = [x for x in network.features if len([p for p in network.parents[x] if p != CLASS]) > 1]
    if wide or network.parents[CLASS] or network.derived:
        raise ParameterError(
            "a nomogram shows networks in which each feature has the class and at most one feature as parents: naive Bayes, TAN, "
            "FAN, and KDB with k=1"
        )
    if network.densities:
        name = quoted(network.name(min(network.densities)))
        raise ParameterError(f"a nomogram needs discrete features, and {name} is continuous; discretize it (numbers='cut')")


def _scores(network: Network, x: int, target: int, other: int) -> Numbers:
    """Return the log odds of the values of a feature, in bits, the feature last.  # (parent, value) or (value,)"""
    table = np.log2(np.maximum(network.full_table(x), 2.0**-100))
    members = network.family(x)
    return np.moveaxis(table[..., target] - table[..., other], members.index(x), -1)


def _scales(network: Network, x: int, points: Numbers) -> Iterator[Scale]:
    states, name = network.variables[x].labels, str(network.name(x))
    if points.ndim == 1:
        yield Scale(name, states, points)
        return
    (parent,) = (p for p in network.parents[x] if p != CLASS)
    for label, row in zip(network.variables[parent].labels, points, strict=True):
        yield Scale(f"{name} | {network.name(parent)} = {label}", states, row)


def _drawing(nomogram: Nomogram) -> Markup:
    scales = nomogram.scales[:LINES]
    across = Axis(0.0, POINTS, LEFT, LEFT + WIDTH, 10.0)
    bottom = TOP + LINE * len(scales)
    body = [element("text", shorten(nomogram.title, WIDTH, 15, 120), x=12.0, y=22.0, class_="nv-title nv-start")]
    body += _line("points", across.ticks(), TOP - LINE)
    for i, scale in enumerate(scales):
        ticks = [(across(p), state) for p, state in sorted(zip(scale.points.tolist(), scale.states, strict=True))]
        body += _line(scale.name, ticks, TOP + LINE * i)
    if len(nomogram.scales) > LINES:
        body.append(
            element(
                "text", f"{len(nomogram.scales) - LINES} more lines are not drawn", x=12.0, y=bottom, class_="nv-small nv-start"
            )
        )
    total = Axis.over([0.0, max(nomogram.largest, 1.0)], LEFT, LEFT + WIDTH)
    body += _line("total points", total.ticks(), bottom + 18)
    body += _line("probability", list(_probabilities(nomogram, total)), bottom + 18 + LINE)
    description = "; ".join(
        f"{scale.name}: " + ", ".join(f"{s} {p:.0f}" for s, p in zip(scale.states, scale.points, strict=True)) for scale in scales
    )
    return image(nomogram.title, plain(description), body, LEFT + WIDTH + 40, bottom + 2 * LINE + 20, class_="nv-net nv-nomogram")


def _probabilities(nomogram: Nomogram, total: Axis) -> Iterator[tuple[float, str]]:
    """Yield the position of each round probability that some total gives."""
    for p in PROBABILITIES:
        points = (float(np.log2(p / (1 - p))) - nomogram.start) / nomogram.unit
        if 0 <= points <= nomogram.largest:
            yield total(points), f"{p:g}"


def _line(name: str, ticks: Sequence[tuple[float, str]], y: float) -> Iterator[Markup]:
    """Yield one line: the name, the axis, and the ticks with labels that do not overlap."""
    yield element("text", shorten(name, LEFT - 24, 11), x=LEFT - 12, y=y + 4, class_="nv-label nv-end")
    if not ticks:
        return
    first, last = ticks[0][0], ticks[-1][0]
    marks = "".join(f"M{x:.1f} {y - 4:.1f}V{y + 4:.1f}" for x, _ in ticks)
    yield element(
        "path",
        d=f"M{first:.1f} {y:.1f}H{max(last, first + 0.5):.1f}{marks}",
        stroke="currentColor",
        fill="none",
        stroke_opacity=0.7,
    )
    for x, label, above in _placed(ticks):
        yield element("text", label, x=x, y=y - 7 if above else y + 15, class_="nv-small")


def _placed(ticks: Sequence[tuple[float, str]]) -> Iterator[tuple[float, str, bool]]:
    """Yield the labels that fit below or above the line; those that fit nowhere are left out."""
    ends = {False: -1e9, True: -1e9}
    for x, text in ticks:
        label = shorten(text, 90, 10.5)
        half = text_width(label, 10.5) / 2
        for above in (False, True):
            if x - half > ends[above] + 3:
                ends[above] = x + half
                yield x, label, above
                break
