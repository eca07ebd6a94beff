"""Waterfall charts: contributions that lead from a base to a total."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from naivete.display.charts import Axis
from naivete.display.markup import Markup, element, image, plain, shorten, text_width

__all__ = ["Step", "waterfall"]

LINE = 24.0
NAME_WIDTH = 260.0
BARS = 380.0
TOP = 44.0


class Step(NamedTuple):
    """One line of a waterfall chart.

    Parameters
    ----------
    name : the label.
    bits : the contribution, or the value of the base or of the total.
    total : whether it is the base or the total.
    """

    name: str
    bits: float
    total: bool = False


def waterfall(title: str, steps: Sequence[Step], description: str) -> Markup:
    """Return a waterfall chart: the base first, then a bar for every contribution, and the total last.

    Parameters
    ----------
    title : the title of the chart.
    steps : the lines, the base first and the total last.
    description : the content in words, for screen readers.
    """
    names = [shorten(step.name, NAME_WIDTH, 11) for step in steps]
    left = 12 + min(NAME_WIDTH, max(text_width(name, 11) for name in names)) + 10
    ends = list(accumulate(_finite(step.bits) for step in steps[:-1]))
    scale = Axis.over([0.0, *ends, _finite(steps[-1].bits)], left, left + BARS)
    height, width = TOP + LINE * len(steps) + 34, left + BARS + 64
    body = [element("text", shorten(title, width - 20, 15, 120), x=12.0, y=22.0, class_="nv-title nv-start")]
    body += _scale(scale, TOP + LINE * len(steps))
    for i, (step, name) in enumerate(zip(steps, names, strict=True)):
        start, end = (0.0, _finite(step.bits)) if step.total else (ends[i - 1], ends[i])
        body += _bar(step, name, scale(start), scale(end), TOP + LINE * i, left)
    return image(title, plain(description), body, width, height, class_="nv-net nv-waterfall")


def _finite(bits: float) -> float:
    """Return the bits to draw: none where they are infinite, as with a single class."""
    return bits if math.isfinite(bits) else 0.0


def _scale(scale: Axis, bottom: float) -> Iterator[Markup]:
    for position, label in scale.ticks():
        yield element("path", d=f"M{position:.1f} {TOP - 6:.1f}V{bottom:.1f}", class_="nv-rule", fill="none")
        yield element("text", label, x=position, y=bottom + 16, class_="nv-small")
    yield element("text", "bits", x=scale.end + 34, y=bottom + 16, class_="nv-small")


def _bar(step: Step, name: str, start: float, end: float, top: float, left: float) -> Iterator[Markup]:
    """Yield the name, the bar and the number of one line."""
    weight = "600" if step.total else None
    yield element("text", name, x=left - 10, y=top + 15, class_="nv-label nv-end", font_weight=weight)
    low, width = min(start, end), max(abs(end - start), 1.0)
    if step.total:
        yield element("rect", x=low, y=top + 7, width=width, height=6.0, rx=2, fill="currentColor", fill_opacity=0.45)
    else:
        color = "nv-cell" if step.bits > 0 else "nv-rate"
        yield element("rect", x=low, y=top + 3, width=width, height=LINE - 8, rx=2, class_=color, fill_opacity=0.85)
    yield element("text", f"{step.bits:+.2f}", x=max(start, end) + 5, y=top + 15, class_="nv-label nv-start", font_weight=weight)
