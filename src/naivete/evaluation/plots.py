"""Pictures of results, with matplotlib: functions that draw into axes and return them, and displays as scikit-learn has them.

Every line has a colour of Okabe and Ito's palette, which colour-blind readers tell apart, and a style and a marker of its own,
so that it can be told apart in grey too. Names are drawn as they stand: nothing in them is mathematics or markup. `ax` is always
the axes to draw into, by default those of a new figure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil, floor
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from naivete.errors import DataError, FileError, ParameterError, quoted
from naivete.evaluation.measures import Calibration, Cases, Roc, cost_curve, shares
from naivete.evaluation.measures import calibration as calibration_of
from naivete.evaluation.measures import confusion as confusion_of
from naivete.evaluation.measures import roc as roc_of

__all__ = [
    "CalibrationDisplay",
    "ConfusionDisplay",
    "CostCurvesDisplay",
    "RocDisplay",
    "accuracy_against_k",
    "calibration",
    "confusion",
    "cost_curves",
    "critical_difference",
    "learning_curve",
    "mean_and_bar",
    "plain_text",
    "roc",
]

Runs = Mapping[Any, Mapping[float, Sequence[float] | float]]
"""For each name the results at every x, of one run or of several."""

_COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_LINES: Final = ("-", "--", "-.", ":")
_MARKERS: Final = "osD^vPX*"
_GREY: Final = "#777777"
_MANY: Final = 10
_CELLS: Final = 25


def plain_text(name: object, limit: int = 40) -> str:
    r"""The name as matplotlib has to be given it: one line of at most `limit` characters, no dollar sign begins mathematics.

    >>> plain_text("price in $\nper $"), plain_text("x" * 50, 8)
    ('price in \\$ per \\$', 'xxxxxxx…')
    """
    line = "".join(c if c.isprintable() else " " for c in str(name))
    if not line.strip():
        line = repr(line)  # so that there is something to see
    return (line if len(line) <= limit else f"{line[: limit - 1]}…").replace("$", r"\$")


def mean_and_bar(values: Sequence[float] | float) -> tuple[float, float]:
    """The mean, and half the width of its 95 % confidence interval, t(0.975, n-1) s / sqrt(n); 0 for a single value.

    >>> mean_and_bar(0.5), mean_and_bar([1.0, 1.0, 1.0])
    ((0.5, 0.0), (1.0, 0.0))
    """
    runs = np.atleast_1d(np.asarray(values, np.float64))
    if runs.ndim != 1 or not runs.size or not np.isfinite(runs).all():
        raise DataError(f"{quoted(values)}: at least one result, and finite ones, are needed for a point of the picture")
    if len(runs) == 1:
        return float(runs[0]), 0.0
    from scipy.stats import t

    return float(runs.mean()), float(t.ppf(0.975, len(runs) - 1) * runs.std(ddof=1) / len(runs) ** 0.5)


def confusion(counts: ArrayLike, classes: Sequence[Any], *, share: bool = False, ax: Any = None) -> Any:
    """A confusion matrix: a row for every decision, a column for every true class.

    Parameters
    ----------
    counts : the number of cases; a last row is that of rejected ones.  # (classified, correct)
    classes : the labels.
    share : whether to draw the shares of all cases.
    """
    numbers = shares(counts) if share else np.asarray(counts, np.float64)
    if numbers.ndim != 2 or numbers.shape[1] != len(classes) or len(numbers) - len(classes) not in (0, 1):
        raise DataError(f"a confusion matrix of shape {numbers.shape} for {len(classes)} classes; give a row and a column for each")
    names = [plain_text(label, 24) for label in classes]
    decisions = [*names, *["rejected"] * (len(numbers) - len(names))]
    with _drawing(ax) as axes:
        axes.imshow(numbers, cmap="Blues", vmin=0, vmax=max(numbers.max(), 1e-300))
        small = {"usetex": False, "fontsize": "medium" if len(names) <= 2 * _MANY else "x-small"}
        turned = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if max(map(len, names)) * len(names) > 36 else {}
        axes.set_xticks(range(len(names)), names, **turned, **small)
        axes.set_yticks(range(len(decisions)), decisions, **small)
        axes.set(xlabel="correct", ylabel="classified")
        for row, column in np.ndindex(*numbers.shape) if len(names) <= _CELLS else ():
            value = numbers[row, column]
            dark = value > numbers.max() / 2
            told = f"{value:.3f}" if share else f"{value:.10g}"
            axes.text(column, row, told, ha="center", va="center", color="white" if dark else "black")
    return axes


def roc(curves: Mapping[Any, Roc], *, ax: Any = None) -> Any:
    """ROC curves with the areas under them, by class or by model.

    Parameters
    ----------
    curves : what `measures.roc` gives, by name.
    """
    with _drawing(ax, curves) as axes:
        axes.plot([0, 1], [0, 1], color=_GREY, lw=0.8)
        lines = [
            axes.plot(curve.false_positive, curve.true_positive, markevery=0.1, **_style(at))[0]
            for at, curve in enumerate(curves.values())
        ]
        axes.set(xlabel="false positive rate", ylabel="true positive rate", **_SQUARE)
        _legend(axes, lines, [f"{plain_text(name)} (area {curve.area:.3f})" for name, curve in curves.items()], "lower right")
    return axes


def calibration(curves: Mapping[Any, Calibration], *, ax: Any = None) -> Any:
    """How often it came true against the posterior; a calibrated classifier is on the diagonal.

    Parameters
    ----------
    curves : what `measures.calibration` gives, by name.
    """
    with _drawing(ax, curves) as axes:
        axes.plot([0, 1], [0, 1], color=_GREY, lw=0.8)
        lines = [axes.plot(curve.predicted, curve.observed, **_style(at))[0] for at, curve in enumerate(curves.values())]
        axes.set(xlabel="mean posterior", ylabel="share that came true", **_SQUARE)
        _legend(axes, lines, [plain_text(name) for name in curves], "upper left")
    return axes


def learning_curve(runs: Runs, *, y: str = "accuracy", ax: Any = None) -> Any:
    """Mean results against the number of training cases, with 95 % error bars.

    Parameters
    ----------
    runs : for each model the results of all runs by the number of training cases.
    y : what the results are.

    References
    ----------
    Langley (1993), Induction of recursive Bayesian classifiers, figures 2 and 3.
    """
    return _with_bars(runs, "training cases", y, ax)


def accuracy_against_k(runs: Runs, *, y: str = "accuracy", ax: Any = None) -> Any:
    """Mean results against k, the number of features a feature may depend on, with 95 % error bars.

    Parameters
    ----------
    runs : for each model or data set the results of all folds by k.
    y : what the results are.
    """
    axes = _with_bars(runs, "k", y, ax)
    axes.set_xticks(sorted({k for own in runs.values() for k in own}))
    return axes


def _with_bars(runs: Runs, x: str, y: str, ax: Any) -> Any:
    points = [[(at, *mean_and_bar(own[at])) for at in sorted(own)] for own in runs.values()]
    if not all(points):
        raise DataError("a line without results; leave its name out, or give it at least one")
    with _drawing(ax, runs) as axes:
        bars = []
        for at, own in enumerate(points):
            across, means, half = zip(*own, strict=True)
            bars.append(axes.errorbar(across, means, half, capsize=3, elinewidth=0.8, **_style(at)))
        axes.set(xlabel=x, ylabel=y)
        _legend(axes, bars, [plain_text(name) for name in runs], "best")
    return axes


def cost_curves(curves: Mapping[Any, Roc], *, ax: Any = None) -> Any:
    """Cost curves of a class: the normalised expected cost of the best threshold, beside that of always giving one answer.

    Parameters
    ----------
    curves : what `measures.roc` gives, by name.

    References
    ----------
    Drummond & Holte (2006), Cost curves: an improved method for visualizing classifier performance.
    """
    with _drawing(ax, curves) as axes:
        axes.plot([0, 0.5, 1], [0, 0.5, 0], color=_GREY, lw=0.8)
        lines = [axes.plot(*cost_curve(curve), **_style(at))[0] for at, curve in enumerate(curves.values())]
        axes.set(xlabel="probability cost of the class", ylabel="normalised expected cost", xlim=(0, 1), ylim=(0, 0.52))
        _legend(axes, lines, [plain_text(name) for name in curves], "upper left")
    return axes


def critical_difference(ranks: Mapping[Any, float], cd: float, *, ax: Any = None) -> Any:
    """Average ranks, the best on the left; a bar joins models whose ranks differ by less than the critical difference.

    Parameters
    ----------
    ranks : the average rank of every model over the data sets, 1 is best.
    cd : the critical difference, as of Nemenyi's test.

    References
    ----------
    Demšar (2006), Statistical comparisons of classifiers over multiple data sets, figure 1.
    """
    order = sorted(ranks, key=lambda name: ranks[name])
    values = [float(ranks[name]) for name in order]
    if not (len(values) >= 2 and np.isfinite(values).all() and 0 < cd < np.inf):
        raise ParameterError(f"ranks={quoted(dict(ranks))}, cd={quoted(cd)}: at least two finite ranks and a cd above 0 are needed")
    low, high = floor(values[0]), max(ceil(values[-1]), ceil(floor(values[0]) + cd))
    groups = similar(values, cd)
    deep = 0.3 * len(groups) + 0.5  # where the names begin
    with _drawing(ax, height=0.5 * (2.5 + deep + 0.5 * len(order) / 2)) as axes:
        axes.set_axis_off()
        beside = 0.6 * (high - low)
        axes.set(xlim=(low - beside, high + beside), ylim=(-deep - 0.5 * ceil(len(order) / 2), 1.6))
        _scale(axes, low, high, cd)
        for at, (first, last) in enumerate(groups):
            ends = [values[first] - 0.02, values[last] + 0.02]
            axes.plot(ends, [-0.3 - 0.3 * at] * 2, color="black", lw=3, solid_capstyle="butt")
        _ranked(axes, order, values, (low, high, -deep))
    return axes


def similar(values: Sequence[float], cd: float) -> list[tuple[int, int]]:
    """The longest stretches of increasing ranks that differ by less than `cd`, by first and last.

    >>> similar([1.0, 1.5, 2.5, 2.75], 1.375)
    [(0, 1), (1, 3)]
    """
    reach = [max(b for b in range(len(values)) if values[b] - values[a] < cd) for a in range(len(values))]
    return [(a, b) for a, b in enumerate(reach) if b > a and (a == 0 or reach[a - 1] < b)]


def _scale(axes: Any, low: int, high: int, cd: float) -> None:
    """The axis of ranks, and above it the critical difference."""
    axes.plot([low, high], [0, 0], color="black", lw=1)
    for rank in range(low, high + 1):
        axes.plot([rank, rank], [0, 0.15], color="black", lw=1)
        axes.text(rank, 0.22, str(rank), ha="center", va="bottom")
    axes.errorbar([low + cd / 2], [1.0], xerr=[cd / 2], capsize=4, color="black", lw=1)
    axes.text(low + cd / 2, 1.1, f"critical difference {cd:.3g}", ha="center", va="bottom")


def _ranked(axes: Any, order: Sequence[Any], values: Sequence[float], frame: tuple[int, int, float]) -> None:
    """The names, the better half on the left, each led to its rank."""
    low, high, top = frame
    half, gap = ceil(len(order) / 2), 0.03 * (high - low)
    for at, (name, rank) in enumerate(zip(order, values, strict=True)):
        edge, side, depth = (low, -1, at) if at < half else (high, 1, len(order) - 1 - at)
        height = top - 0.5 * depth
        axes.plot([rank, rank, edge], [0, height, height], color="black", lw=0.8)
        told = f"{plain_text(name, 22)} ({rank:.2f})"
        axes.text(edge + side * gap, height, told, ha="right" if side < 0 else "left", va="center")


_SQUARE: Final[Mapping[str, Any]] = {"aspect": "equal", "xlim": (-0.02, 1.02), "ylim": (-0.02, 1.02)}


@contextmanager
def _drawing(ax: Any, drawn: Mapping[Any, Any] | None = None, *, height: float | None = None) -> Iterator[Any]:
    """The axes, or new ones if there is something to draw; texts that are made meanwhile are not set by TeX."""
    if drawn is not None and not drawn:
        raise DataError("nothing to draw; give at least one name with its results")
    try:
        import matplotlib
        from matplotlib import pyplot
    except ImportError as error:
        raise FileError("pictures need matplotlib; install it with: pip install naivete[plot]") from error
    with matplotlib.rc_context({"text.usetex": False}):
        yield ax if ax is not None else pyplot.subplots(figsize=None if height is None else (7.5, height))[1]


def _style(at: int) -> dict[str, Any]:
    """The look of the line number `at`; the first 56 all differ."""
    look = {"color": _COLOURS[at % len(_COLOURS)], "ls": _LINES[at % len(_LINES)], "marker": _MARKERS[at % len(_MARKERS)]}
    return {**look, "lw": 1.5, "ms": 5, "mfc": "white"}


def _legend(axes: Any, handles: Sequence[Any], names: Sequence[str], place: str) -> None:
    """A legend with these names, beside the picture where they are many; matplotlib would leave out names that begin with _."""
    where = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)} if len(names) > _MANY else {"loc": place}
    legend = axes.legend(handles, [str(at) for at in range(len(names))], fontsize="small", **where)
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(name)


class _Display:
    """What a picture is drawn from; `plot` draws it, and `ax_` and `figure_` are then where."""

    ax_: Any
    figure_: Any
    _asked: ClassVar = "predict_proba"
    _draw: Callable[..., Any]
    from_predictions: Callable[..., Any]

    def plot(self, *, ax: Any = None) -> Self:
        """Draw into the axes, by default those of a new figure."""
        self.ax_ = self._draw(ax)
        self.figure_ = self.ax_.figure
        return self

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, sample_weight: Any = None, ax: Any = None) -> Any:
        """Draw what a fitted classifier answers for rows with the true labels `y`; a `LossAware` one may reject some."""
        own = {"reject_label": estimator.reject_label} if cls._asked == "predict" and hasattr(estimator, "reject_label") else {}
        answers = getattr(estimator, cls._asked)(X)
        return cls.from_predictions(y, answers, classes=estimator.classes_, sample_weight=sample_weight, ax=ax, **own)


@dataclass
class ConfusionDisplay(_Display):
    """A confusion matrix, by class.  # (classified, correct)"""

    counts: NDArray[np.float64]
    classes: Sequence[Any]
    _asked: ClassVar = "predict"

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_pred: Any, *, classes: Any = None, sample_weight: Any = None, ax: Any = None, reject_label: Any = None
    ) -> Self:
        """Draw decisions against true labels; `reject_label` is what stands for a rejected row, the rest as for `RocDisplay`."""
        seen = {*_plain(y_true), *_plain(y_pred)} - {reject_label}
        labels = sorted(seen) if classes is None else _plain(classes)
        decided = _codes(y_pred, labels, [reject_label])
        return cls(confusion_of(_codes(y_true, labels), decided, len(labels), weight=sample_weight), labels).plot(ax=ax)

    def _draw(self, ax: Any) -> Any:
        return confusion(self.counts, self.classes, ax=ax)


@dataclass
class RocDisplay(_Display):
    """The ROC curve of every class that occurs against the rest, by label."""

    curves: Mapping[Any, Any]
    _curve: ClassVar[Callable[..., Any]] = staticmethod(roc_of)
    _picture: ClassVar[Callable[..., Any]] = staticmethod(roc)

    @classmethod
    def from_predictions(
        cls, y_true: Any, posterior: ArrayLike, *, classes: Any = None, sample_weight: Any = None, ax: Any = None
    ) -> Self:
        """Draw posteriors against true labels.

        Parameters
        ----------
        y_true : the true labels.
        posterior : P(class | row).  # (row, class)
        classes : the labels in the order of the posteriors; by default those that occur, increasing.
        sample_weight : the weight of every row.
        """
        labels = sorted(set(_plain(y_true))) if classes is None else _plain(classes)
        cases = Cases.of(_codes(y_true, labels), posterior, sample_weight)
        return cls({labels[c]: cls._curve(cases, c) for c in np.unique(cases.truth).tolist()}).plot(ax=ax)

    def _draw(self, ax: Any) -> Any:
        return self._picture(self.curves, ax=ax)


class CalibrationDisplay(RocDisplay):
    """The calibration of every class that occurs, by label."""

    _curve = staticmethod(calibration_of)
    _picture = staticmethod(calibration)


class CostCurvesDisplay(RocDisplay):
    """The cost curve of every class that occurs against the rest, by label."""

    _picture = staticmethod(cost_curves)


def _plain(labels: Any) -> list[Any]:
    return np.asarray(labels, object).tolist()  # type: ignore[no-any-return]


def _codes(labels: Any, classes: Sequence[Any], rejects: Sequence[Any] = ()) -> NDArray[np.int64]:
    """The numbers of the labels among the classes, that of the classes for what stands for a rejected row."""
    place = {**dict.fromkeys(rejects, len(classes)), **{label: at for at, label in enumerate(classes)}}
    found = _plain(labels)
    unknown = [row for row, label in enumerate(found) if label not in place]
    if unknown:
        raise DataError(f"row {unknown[0] + 1}: {quoted(found[unknown[0]])} is none of the classes {quoted(list(classes))}; add it")
    return np.array([place[label] for label in found], np.int64)
