"""A line chart as one piece of SVG, with error bars and a name at the end of every line."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from naivete.display.layout import spread
from naivete.display.markup import COLOURS, Markup, Number, element, figure, shorten, text_width

__all__ = ["Axis", "line_chart"]


def line_chart(
    series: Mapping[object, Sequence[tuple[float, Number]]], *, x: str = "", y: str = "", caption: object = None
) -> Markup:
    """Lines through points (x, y) or (x, (y, deviation)), with a whisker of one deviation up and down and the name at the end.

    Parameters
    ----------
    series : the points of every line, by its name; points that are not finite are left out.
    x, y : what the axes show.
    """
    lines = {name: [p for p in map(_point, points) if all(map(math.isfinite, p))] for name, points in series.items()}
    points = [p for own in lines.values() for p in own] or [(0.0, 0.0, 0.0)]
    names = {name: shorten(name, 150, 12) for name in lines}
    right = 24 + max((text_width(n, 12) for n in names.values()), default=0.0)
    across = Axis.over([p[0] for p in points], 66.0, 700.0 - right)
    up = Axis.over([v for _, v, d in points for v in (v - d, v + d)], 306.0, 34.0)
    body = [*_axes(across, up, x, y), *_drawn(lines, across, up), *_end_names(names, lines, across, up)]
    told = "; ".join(f"{n}: " + ", ".join(f"{b:.4g} at {a:.4g}" for a, b, _ in lines[name][:20]) for name, n in names.items())
    described = [element("title", f"{y} against {x}"), element("desc", told)]
    label = f"{y} against {x}"
    return figure(
        element(
            "svg", *described, *body, viewBox="0 0 700 354", width=700, height=354, class_="chart", role="img", aria_label=label
        ),
        caption,
    )


def _point(point: tuple[float, Number]) -> tuple[float, float, float]:
    value, deviation = point[1] if isinstance(point[1], tuple) else (point[1], 0.0)
    return float(point[0]), float(value), float(deviation)


class Axis(NamedTuple):
    """A scale from round numbers to pixels."""

    low: float
    high: float
    start: float
    end: float
    step: float

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float) -> Axis:
        """The axis over round numbers that holds the values."""
        low, high = min(values), max(values)
        if high - low <= 1e-12 * max(abs(low), abs(high), 1e-300):
            low, high = low - 0.5, high + 0.5
        rough = (high - low) / 5
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next((m * unit for m in (1, 2, 5) if m * unit >= rough), 10 * unit)
        return cls(math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step, start, end, step)

    def __call__(self, value: float) -> float:
        """The place of a value."""
        return self.start + (self.end - self.start) * (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[tuple[float, str]]:
        """Places and texts of the round numbers."""
        count = round((self.high - self.low) / self.step)
        values = [self.low + i * self.step for i in range(count + 1)]
        return [(self(v), f"{0.0 if abs(v) < self.step / 1e6 else v:.6g}") for v in values]


def _axes(across: Axis, up: Axis, x: str, y: str) -> Iterator[Markup]:
    for at, told in up.ticks():
        yield element("path", d=f"M{across.start:.1f} {at:.1f}H{across.end:.1f}", class_="axis")
        yield element("text", told, x=across.start - 8, y=at + 4, text_anchor="end", class_="tick")
    for at, told in across.ticks():
        yield element("text", told, x=at, y=up.start + 20, text_anchor="middle", class_="tick")
    yield element("text", x, x=(across.start + across.end) / 2, y=up.start + 40, text_anchor="middle")
    yield element("text", y, x=8.0, y=12.0, text_anchor="start")


def _drawn(lines: Mapping[object, Sequence[tuple[float, float, float]]], across: Axis, up: Axis) -> Iterator[Markup]:
    for i, points in enumerate(lines.values()):
        colour, dash = COLOURS[i % len(COLOURS)], "6 4" if i >= len(COLOURS) else None
        way = "L".join(f"{across(a):.1f} {up(b):.1f}" for a, b, _ in points)
        marks = [element("circle", cx=across(a), cy=up(b), r=3.4, fill=colour, stroke="none") for a, b, _ in points]
        ends = "".join(f"M{across(a):.1f} {up(b - d):.1f}V{up(b + d):.1f}" for a, b, d in points if d)
        whiskers = [element("path", d=ends, stroke_opacity=0.5)] if ends else []
        line = [element("path", d=f"M{way}", stroke_dasharray=dash)] if points else []
        yield element("g", *whiskers, *line, *marks, fill="none", stroke=colour, stroke_width=2)


def _end_names(
    names: Mapping[object, str], lines: Mapping[object, Sequence[tuple[float, float, float]]], across: Axis, up: Axis
) -> Iterator[Markup]:
    """The name of every line beside its last point, moved apart where they would touch."""
    ends = sorted((up(points[-1][1]), i, name) for i, (name, points) in enumerate(lines.items()) if points)
    places = spread([at for at, _, _ in ends], [1.0] * len(ends), [15.0] * (len(ends) - 1), 16.0, 316.0) if ends else []
    for (_, i, name), at in zip(ends, places, strict=True):
        yield element("circle", cx=across.end + 12, cy=at, r=3.4, fill=COLOURS[i % len(COLOURS)])
        yield element("text", names[name], x=across.end + 20, y=at + 4)
