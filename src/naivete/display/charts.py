"""Line charts as SVG, with error bars and a label at the end of every line."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from naivete.display.layout import spread
from naivete.display.markup import COLORS, Markup, Number, element, figure, shorten, text_width

__all__ = ["Axis", "line_chart"]


def line_chart(
    series: Mapping[object, Sequence[tuple[float, Number]]], *, x: str = "", y: str = "", caption: object = None
) -> Markup:
    """Return a line chart of points (x, y) or (x, (y, deviation)), with error bars of one deviation and a label at each line's end.

    Parameters
    ----------
    series : the points of every line, by the name of the line; points that are not finite are left out.
    x, y : the labels of the axes.
    caption : a text below the chart.
    """
    lines = {name: [p for p in map(_point, points) if all(map(math.isfinite, p))] for name, points in series.items()}
    points = [p for line in lines.values() for p in line] or [(0.0, 0.0, 0.0)]
    names = {name: shorten(name, 150, 12) for name in lines}
    right = 24 + max((text_width(n, 12) for n in names.values()), default=0.0)
    across = Axis.over([p[0] for p in points], 66.0, 700.0 - right)
    up = Axis.over([v for _, v, d in points for v in (v - d, v + d)], 306.0, 34.0)
    body = [*_axes(across, up, x, y), *_lines(lines, across, up), *_end_labels(names, lines, across, up)]
    values = "; ".join(f"{n}: " + ", ".join(f"{b:.4g} at {a:.4g}" for a, b, _ in lines[name][:20]) for name, n in names.items())
    label = f"{y} against {x}"
    described = [element("title", label), element("desc", values)]
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
    """A linear scale from values to pixels, whose ends are round numbers.

    Parameters
    ----------
    low, high : the values at the two ends.
    start, end : the pixels at the two ends.
    step : the distance between two ticks.
    """

    low: float
    high: float
    start: float
    end: float
    step: float

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float) -> Axis:
        """Return the axis between round numbers that includes all values."""
        low, high = min(values), max(values)
        if high - low <= 1e-12 * max(abs(low), abs(high), 1e-300):
            low, high = low - 0.5, high + 0.5
        rough = (high - low) / 5
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next((m * unit for m in (1, 2, 5) if m * unit >= rough), 10 * unit)
        return cls(math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step, start, end, step)

    def __call__(self, value: float) -> float:
        """Return the pixel position of a value."""
        return self.start + (self.end - self.start) * (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[tuple[float, str]]:
        """Return the pixel position and the text of every tick."""
        count = round((self.high - self.low) / self.step)
        values = [self.low + i * self.step for i in range(count + 1)]
        return [(self(v), f"{0.0 if abs(v) < self.step / 1e6 else v:.6g}") for v in values]


def _axes(across: Axis, up: Axis, x: str, y: str) -> Iterator[Markup]:
    for position, label in up.ticks():
        yield element("path", d=f"M{across.start:.1f} {position:.1f}H{across.end:.1f}", class_="axis")
        yield element("text", label, x=across.start - 8, y=position + 4, text_anchor="end", class_="tick")
    for position, label in across.ticks():
        yield element("text", label, x=position, y=up.start + 20, text_anchor="middle", class_="tick")
    yield element("text", x, x=(across.start + across.end) / 2, y=up.start + 40, text_anchor="middle")
    yield element("text", y, x=8.0, y=12.0, text_anchor="start")


def _lines(lines: Mapping[object, Sequence[tuple[float, float, float]]], across: Axis, up: Axis) -> Iterator[Markup]:
    for i, points in enumerate(lines.values()):
        colour, dash = COLORS[i % len(COLORS)], "6 4" if i >= len(COLORS) else None
        path = "L".join(f"{across(a):.1f} {up(b):.1f}" for a, b, _ in points)
        marks = [element("circle", cx=across(a), cy=up(b), r=3.4, fill=colour, stroke="none") for a, b, _ in points]
        ends = "".join(f"M{across(a):.1f} {up(b - d):.1f}V{up(b + d):.1f}" for a, b, d in points if d)
        error_bars = [element("path", d=ends, stroke_opacity=0.5)] if ends else []
        line = [element("path", d=f"M{path}", stroke_dasharray=dash)] if points else []
        yield element("g", *error_bars, *line, *marks, fill="none", stroke=colour, stroke_width=2)


def _end_labels(
    names: Mapping[object, str], lines: Mapping[object, Sequence[tuple[float, float, float]]], across: Axis, up: Axis
) -> Iterator[Markup]:
    """Yield the label of every line beside its last point, moved apart where two would overlap."""
    ends = sorted((up(points[-1][1]), i, name) for i, (name, points) in enumerate(lines.items()) if points)
    positions = spread([y for y, _, _ in ends], [1.0] * len(ends), [15.0] * (len(ends) - 1), 16.0, 316.0) if ends else []
    for (_, i, name), position in zip(ends, positions, strict=True):
        yield element("circle", cx=across.end + 12, cy=position, r=3.4, fill=COLORS[i % len(COLORS)])
        yield element("text", names[name], x=across.end + 20, y=position + 4)
