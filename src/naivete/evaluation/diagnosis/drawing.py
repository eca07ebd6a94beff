"""The figure of a diagnosis: the log odds of a network against those of naive Bayes, and the weights of the features."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.display.charts import Axis
from naivete.display.markup import COLORS, Markup, bidi_isolated, element, image, shorten, text_width

__all__ = ["GROUPS", "picture"]

Points = Mapping[str, tuple[Numbers, Numbers]]

GROUPS: Final = ("repaired", "broken", "changed", "not changed")
"""The effects of the dependences on the predictions of naive Bayes."""
_COLORS: Final = {"repaired": COLORS[2], "broken": COLORS[1], "changed": COLORS[3], "not changed": COLORS[5]}
_MARKS: Final = 2000
"""The largest number of points of a group that are drawn."""
_BARS: Final = 14
_LEFT, _TOP, _SIDE, _BESIDE = 60.0, 56.0, 380.0, 470.0


def picture(points: Points, weights: Sequence[tuple[object, float]], *, of: str, target: object) -> Markup:
    """Return the cases as points in four groups, and the largest weights as bars, as SVG.

    Parameters
    ----------
    points : the log odds of naive Bayes and of the network, by group; those that are not finite are left out.
    weights : the mean log ddr of the features, the largest first.
    of : the classes that the odds compare, as text.
    target : the name of the class.
    """
    kept = {name: _finite(*points[name]) for name in GROUPS}
    across, up = (_axis([pair[i] for pair in kept.values()]) for i in (0, 1))
    axes = across._replace(start=_LEFT, end=_LEFT + _SIDE), up._replace(start=_TOP + _SIDE, end=_TOP)
    body = [*_frame(*axes), *_crosses(*axes), *_marks(kept, *axes), *_key(kept), *_bars(weights), *_labels(of)]
    sizes = "; ".join(f"{name}: {len(pair[0])} cases" for name, pair in kept.items() if len(pair[0]))
    largest = ", ".join(f"{shorten(name, 300, 12)} {bits:.3f}" for name, bits in weights[:_BARS])
    description = f"{sizes}. Mean change of the log odds by the dependence, in bits: {largest}"
    return image(
        f"Log odds of naive Bayes and of the network for {shorten(target, 300, 15)}", description, body, 900.0, _TOP + _SIDE + 60
    )


def _finite(naive: Numbers, network: Numbers) -> tuple[Numbers, Numbers]:
    known = np.isfinite(naive) & np.isfinite(network)
    return naive[known], network[known]


def _axis(values: list[Numbers]) -> Axis:
    """Return an axis that includes all values and zero."""
    whole = np.concatenate([*values, [0.0]])
    return Axis.over([float(whole.min()), float(whole.max())], 0.0, 1.0)


def _frame(across: Axis, up: Axis) -> Iterator[Markup]:
    for position, label in up.ticks():
        yield element("path", d=f"M{across.start:.1f} {position:.1f}H{across.end:.1f}", class_="nv-rule", stroke_opacity=0.12)
        yield element("text", label, x=across.start - 8, y=position + 4, class_="nv-label nv-end", style="text-anchor:end")
    for position, label in across.ticks():
        yield element("text", label, x=position, y=up.start + 18, class_="nv-label")


def _crosses(across: Axis, up: Axis) -> Iterator[Markup]:
    """Yield the lines of zero log odds, and the diagonal on which both models have equal odds."""
    low, high = max(across.low, up.low), min(across.high, up.high)
    yield element("path", d=f"M{across(0):.1f} {up.start:.1f}V{up.end:.1f}", stroke="currentColor", stroke_opacity=0.5)
    yield element("path", d=f"M{across.start:.1f} {up(0):.1f}H{across.end:.1f}", stroke="currentColor", stroke_opacity=0.5)
    diagonal = f"M{across(low):.1f} {up(low):.1f}L{across(high):.1f} {up(high):.1f}"
    yield element("path", d=diagonal, stroke="currentColor", stroke_opacity=0.5, stroke_dasharray="4 4")


def _marks(points: Points, across: Axis, up: Axis) -> Iterator[Markup]:
    """Yield the points of each group, larger where there are many cases, evenly thinned; unchanged cases are drawn first."""
    for name in reversed(GROUPS):
        pairs = zip(*(odds.tolist() for odds in points[name]), strict=True)
        counts = Counter((f"{across(a):.1f}", f"{up(b):.1f}") for a, b in pairs)
        thinned = list(counts.items())[:: max(1, -(-len(counts) // _MARKS))]
        circles = [element("circle", cx=a, cy=b, r=2.6 + 0.5 * math.log2(count)) for (a, b), count in thinned]
        yield element("g", *circles, fill=_COLORS[name], fill_opacity=0.4 if name == "not changed" else 0.85)


def _key(points: Points) -> Iterator[Markup]:
    x = _LEFT
    for name in (name for name in GROUPS if len(points[name][0])):
        label = f"{name} ({len(points[name][0]):,})"
        yield element("circle", cx=x + 5, cy=_TOP - 20, r=4.0, fill=_COLORS[name])
        yield element("text", label, x=x + 14, y=_TOP - 16, class_="nv-label nv-start")
        x += 34 + text_width(label, 11)


def _bars(weights: Sequence[tuple[object, float]]) -> Iterator[Markup]:
    """Yield the largest weights as bars, to the right where they favor the second class."""
    shown = weights[:_BARS]
    top = max((abs(bits) for _, bits in shown), default=0.0) or 1.0
    middle, reach = (_BESIDE + 280.0, 90.0) if any(bits < 0 for _, bits in shown) else (_BESIDE + 190.0, 180.0)
    for i, (name, bits) in enumerate(shown):
        y, length = _TOP + 26.0 * i, reach * abs(bits) / top
        yield element(
            "text",
            bidi_isolated(shorten(name, 170, 11)),
            x=_BESIDE + 180,
            y=y + 13,
            class_="nv-label nv-end",
            style="text-anchor:end",
        )
        x = middle - length if bits < 0 else middle
        yield element("rect", x=x, y=y + 2, width=length, height=15.0, fill=COLORS[1] if bits < 0 else COLORS[0])
        yield element("text", f"{bits:.3f}", x=_BESIDE + 425, y=y + 13, class_="nv-label nv-end", style="text-anchor:end")


def _labels(of: str) -> Iterator[Markup]:
    side = shorten(of, 330, 11)
    yield element("text", f"log odds of naive Bayes, bits: {side}", x=_LEFT + _SIDE / 2, y=_TOP + _SIDE + 42, class_="nv-label")
    yield element("text", "log odds of the network, bits", x=_LEFT - 40, y=16.0, class_="nv-label nv-start")
    yield element("text", "weight: mean log ddr, bits", x=_BESIDE + 190, y=_TOP - 16, class_="nv-label nv-start")
