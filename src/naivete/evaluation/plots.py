"""Plots of results with matplotlib: functions that draw into axes and return them, and displays as in scikit-learn.

scikit-learn's own displays show one class at a time, no rejected rows, and read dollar signs in labels as mathematics; these
show all classes in one plot. Each line has a color of Okabe and Ito's palette, which color-blind readers can distinguish, and its
own style and marker for grayscale prints. Names are drawn literally. The parameter `ax` is always the axes to draw into, by default
those of a new figure. The critical-difference diagram is in `evaluation.diagram`, as SVG.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from naivete.errors import DataError, FileError, quoted
from naivete.evaluation.calibration_bins import Calibration
from naivete.evaluation.calibration_bins import calibration as calibration_of
from naivete.evaluation.outcomes import Cases, shares
from naivete.evaluation.outcomes import confusion as confusion_of
from naivete.evaluation.roc_curves import Roc, cost_curve
from naivete.evaluation.roc_curves import roc as roc_of

__all__ = [
    "CalibrationDisplay",
    "ConfusionDisplay",
    "CostCurvesDisplay",
    "RocDisplay",
    "accuracy_against_k",
    "calibration",
    "confusion",
    "cost_curves",
    "learning_curve",
    "mean_and_bar",
    "plain_text",
    "roc",
]

Runs = Mapping[Any, Mapping[float, Sequence[float] | float]]
"""For each name the results at each x, of one run or of several."""

_COLORS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_LINES: Final = ("-", "--", "-.", ":")
_MARKERS: Final = "osD^vPX*"
_GRAY: Final = "#777777"
_MANY: Final = 10
"""A legend with more names is drawn beside the plot."""
_CELLS: Final = 25
"""A confusion matrix of more classes is drawn without numbers."""


def plain_text(name: object, limit: int = 40) -> str:
    r"""Return a name as text for matplotlib: one line of at most `limit` characters, with dollar signs escaped.

    >>> plain_text("price in $\nper $"), plain_text("x" * 50, 8)
    ('price in \\$ per \\$', 'xxxxxxx…')
    """
    line = "".join(c if c.isprintable() else " " for c in str(name))
    if not line.strip():
        line = repr(line)  # so that something is visible
    return (line if len(line) <= limit else f"{line[: limit - 1]}…").replace("$", r"\$")


def mean_and_bar(values: Sequence[float] | float) -> tuple[float, float]:
    """Return the mean and half the width of its 95 % confidence interval, t(0.975, n-1) s / sqrt(n); 0 for a single value.

    >>> mean_and_bar(0.5), mean_and_bar([1.0, 1.0, 1.0])
    ((0.5, 0.0), (1.0, 0.0))
    """
    runs = np.atleast_1d(np.asarray(values, np.float64))
    if runs.ndim != 1 or not runs.size or not np.isfinite(runs).all():
        raise DataError(f"{quoted(values)}: at least one result is needed for each point, and all results must be finite")
    if len(runs) == 1:
        return float(runs[0]), 0.0
    from scipy.stats import t

    return float(runs.mean()), float(t.ppf(0.975, len(runs) - 1) * runs.std(ddof=1) / len(runs) ** 0.5)


def confusion(counts: ArrayLike, classes: Sequence[Any], *, share: bool = False, ax: Any = None) -> Any:
    """Draw a confusion matrix with a row for each true class and a column for each predicted class.

    Parameters
    ----------
    counts : array-like of shape (n_classes, n_classes) or (n_classes, n_classes + 1)
        The number of cases by true (rows) and predicted class (columns); an additional last column is for rejected cases.
    classes : sequence of labels
        The labels.
    share : bool, default=False
        Whether to show relative frequencies instead of counts.
    ax : matplotlib.axes.Axes or None, default=None
        The axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.
    """
    numbers = shares(counts) if share else np.asarray(counts, np.float64)
    if numbers.ndim != 2 or len(numbers) != len(classes) or numbers.shape[1] - len(classes) not in (0, 1):
        raise DataError(
            f"a confusion matrix of shape {numbers.shape} for {len(classes)} classes; pass one row and one column for each class"
        )
    names = [plain_text(label, 24) for label in classes]
    decisions = [*names, *["rejected"] * (numbers.shape[1] - len(names))]
    with _drawing(ax) as axes:
        axes.imshow(numbers, cmap="Blues", vmin=0, vmax=max(numbers.max(), 1e-300))
        small = {"usetex": False, "fontsize": "medium" if len(names) <= 2 * _MANY else "x-small"}
        rotated = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if max(map(len, names)) * len(names) > 36 else {}
        axes.set_xticks(range(len(decisions)), decisions, **rotated, **small)
        axes.set_yticks(range(len(names)), names, **small)
        axes.set(xlabel="predicted class", ylabel="true class")
        for row, column in np.ndindex(*numbers.shape) if len(names) <= _CELLS else ():
            value = numbers[row, column]
            dark = value > numbers.max() / 2
            label = f"{value:.3f}" if share else f"{value:.10g}"
            axes.text(column, row, label, ha="center", va="center", color="white" if dark else "black")
    return axes


def roc(curves: Mapping[Any, Roc], *, ax: Any = None) -> Any:
    """Draw ROC curves by class or by model, with the area under each curve in the legend.

    Parameters
    ----------
    curves : dict of {object: Roc}
        Results of `measures.roc`, by name.
    ax : matplotlib.axes.Axes or None, default=None
        The axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.
    """
    with _drawing(ax, curves) as axes:
        axes.plot([0, 1], [0, 1], color=_GRAY, lw=0.8)
        lines = [
            axes.plot(curve.false_positive, curve.true_positive, markevery=0.1, **_style(i))[0]
            for i, curve in enumerate(curves.values())
        ]
        axes.set(xlabel="false positive rate", ylabel="true positive rate", **_SQUARE)
        _legend(axes, lines, [f"{plain_text(name)} (area {curve.area:.3f})" for name, curve in curves.items()], "lower right")
    return axes


def calibration(curves: Mapping[Any, Calibration], *, ax: Any = None) -> Any:
    """Draw relative frequencies against mean posterior probabilities; a calibrated classifier is on the diagonal.

    Parameters
    ----------
    curves : dict of {object: Calibration}
        Results of `measures.calibration`, by name.
    ax : matplotlib.axes.Axes or None, default=None
        The axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.
    """
    with _drawing(ax, curves) as axes:
        axes.plot([0, 1], [0, 1], color=_GRAY, lw=0.8)
        lines = [axes.plot(curve.predicted, curve.observed, **_style(i))[0] for i, curve in enumerate(curves.values())]
        axes.set(xlabel="mean posterior", ylabel="relative frequency", **_SQUARE)
        _legend(axes, lines, [plain_text(name) for name in curves], "upper left")
    return axes


def learning_curve(runs: Runs, *, y: str = "accuracy", ax: Any = None) -> Any:
    """Draw mean results against the number of training cases, with 95 % error bars.

    Parameters
    ----------
    runs : dict of {str: dict of {int: sequence of float}}
        For each model the results of all runs, by the number of training cases.
    y : str, default="accuracy"
        The label of the y axis.
    ax : matplotlib.axes.Axes or None, default=None
        The axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    References
    ----------
    Langley (1993), Induction of recursive Bayesian classifiers, figures 2 and 3.
    """
    return _with_bars(runs, "training cases", y, ax)


def accuracy_against_k(runs: Runs, *, y: str = "accuracy", ax: Any = None) -> Any:
    """Draw mean results against k, the maximal number of feature parents, with 95 % error bars.

    Parameters
    ----------
    runs : dict of {str: dict of {int: sequence of float}}
        For each model or data set the results of all folds, by k.
    y : str, default="accuracy"
        The label of the y axis.
    ax : matplotlib.axes.Axes or None, default=None
        The axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.
    """
    axes = _with_bars(runs, "k", y, ax)
    axes.set_xticks(sorted({k for results in runs.values() for k in results}))
    return axes


def _with_bars(runs: Runs, x: str, y: str, ax: Any) -> Any:
    points = [[(x_value, *mean_and_bar(results[x_value])) for x_value in sorted(results)] for results in runs.values()]
    if not all(points):
        raise DataError("a line without results; leave it out, or pass at least one result")
    with _drawing(ax, runs) as axes:
        bars = []
        for i, line in enumerate(points):
            positions, means, halves = zip(*line, strict=True)
            bars.append(axes.errorbar(positions, means, halves, capsize=3, elinewidth=0.8, **_style(i)))
        axes.set(xlabel=x, ylabel=y)
        _legend(axes, bars, [plain_text(name) for name in runs], "best")
    return axes


def cost_curves(curves: Mapping[Any, Roc], *, ax: Any = None) -> Any:
    """Draw cost curves: the normalized expected cost of the best threshold, and in gray that of a constant prediction.

    Parameters
    ----------
    curves : dict of {object: Roc}
        Results of `measures.roc`, by name.
    ax : matplotlib.axes.Axes or None, default=None
        The axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    References
    ----------
    Drummond & Holte (2006), Cost curves: an improved method for visualizing classifier performance.
    """
    with _drawing(ax, curves) as axes:
        axes.plot([0, 0.5, 1], [0, 0.5, 0], color=_GRAY, lw=0.8)
        lines = [axes.plot(*cost_curve(curve), **_style(i))[0] for i, curve in enumerate(curves.values())]
        axes.set(xlabel="probability cost of the class", ylabel="normalized expected cost", xlim=(0, 1), ylim=(0, 0.52))
        _legend(axes, lines, [plain_text(name) for name in curves], "upper left")
    return axes


_SQUARE: Final[Mapping[str, Any]] = {"aspect": "equal", "xlim": (-0.02, 1.02), "ylim": (-0.02, 1.02)}


@contextmanager
def _drawing(ax: Any, results: Mapping[Any, Any] | None = None) -> Iterator[Any]:
    """Yield the axes, by default new ones; texts that are made meanwhile are not rendered by TeX."""
    if results is not None and not results:
        raise DataError("nothing to draw; pass at least one name with its results")
    try:
        import matplotlib
        from matplotlib import pyplot
    except ImportError as error:
        raise FileError("plots need matplotlib; install it with: pip install naivete[plot]") from error
    with matplotlib.rc_context({"text.usetex": False}):
        yield ax if ax is not None else pyplot.subplots()[1]


def _style(i: int) -> dict[str, Any]:
    """Return the style of line number `i`; the first 56 are different."""
    style = {"color": _COLORS[i % len(_COLORS)], "ls": _LINES[i % len(_LINES)], "marker": _MARKERS[i % len(_MARKERS)]}
    return {**style, "lw": 1.5, "ms": 5, "mfc": "white"}


def _legend(axes: Any, handles: Sequence[Any], names: Sequence[str], location: str) -> None:
    """Add a legend, beside the plot if there are many names; also of names with a leading underscore, which matplotlib omits."""
    position = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)} if len(names) > _MANY else {"loc": location}
    legend = axes.legend(handles, [str(i) for i in range(len(names))], fontsize="small", **position)
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(name)


class _Display:
    """The data of a plot; `plot` draws them, and sets `ax_` and `figure_`."""

    ax_: Any
    figure_: Any
    _method: ClassVar = "predict_proba"
    _draw: Callable[..., Any]
    from_predictions: Callable[..., Any]

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the plot into the axes, by default those of a new figure."""
        self.ax_ = self._draw(ax)
        self.figure_ = self.ax_.figure
        return self

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, sample_weight: Any = None, ax: Any = None) -> Any:
        """Draw the predictions of a fitted classifier for rows with true labels `y`; a `LossAware` one may reject rows."""
        options = (
            {"reject_label": estimator.reject_label} if cls._method == "predict" and hasattr(estimator, "reject_label") else {}
        )
        predictions = getattr(estimator, cls._method)(X)
        return cls.from_predictions(y, predictions, classes=estimator.classes_, sample_weight=sample_weight, ax=ax, **options)


@dataclass
class ConfusionDisplay(_Display):
    """A confusion matrix, by class.  # (true, predicted)"""

    counts: NDArray[np.float64]
    classes: Sequence[Any]
    _method: ClassVar = "predict"

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_pred: Any, *, classes: Any = None, sample_weight: Any = None, ax: Any = None, reject_label: Any = None
    ) -> Self:
        """Draw predicted against true labels; `reject_label` marks rejected rows, the rest is as for `RocDisplay`."""
        occurring = {*_plain(y_true), *_plain(y_pred)} - {reject_label}
        labels = sorted(occurring) if classes is None else _plain(classes)
        decided = _codes(y_pred, labels, [reject_label])
        return cls(confusion_of(_codes(y_true, labels), decided, len(labels), weight=sample_weight), labels).plot(ax=ax)

    def _draw(self, ax: Any) -> Any:
        return confusion(self.counts, self.classes, ax=ax)


@dataclass
class RocDisplay(_Display):
    """The ROC curve of each class that occurs against the others, by label."""

    curves: Mapping[Any, Any]
    _curve: ClassVar[Callable[..., Any]] = staticmethod(roc_of)
    _function: ClassVar[Callable[..., Any]] = staticmethod(roc)

    @classmethod
    def from_predictions(
        cls, y_true: Any, posterior: ArrayLike, *, classes: Any = None, sample_weight: Any = None, ax: Any = None
    ) -> Self:
        """Draw the curves of posterior probabilities for rows with known labels.

        Parameters
        ----------
        y_true : the true labels.
        posterior : P(class | row).  # (row, class)
        classes : the labels in the order of the posteriors; by default those that occur, increasing.
        sample_weight : the weight of each row.
        """
        labels = sorted(set(_plain(y_true))) if classes is None else _plain(classes)
        cases = Cases.of(_codes(y_true, labels), posterior, sample_weight)
        return cls({labels[c]: cls._curve(cases, c) for c in np.unique(cases.truth).tolist()}).plot(ax=ax)

    def _draw(self, ax: Any) -> Any:
        return self._function(self.curves, ax=ax)


class CalibrationDisplay(RocDisplay):
    """The calibration curve of each class that occurs, by label."""

    _curve = staticmethod(calibration_of)
    _function = staticmethod(calibration)


class CostCurvesDisplay(RocDisplay):
    """The cost curve of each class that occurs against the others, by label."""

    _function = staticmethod(cost_curves)


def _plain(labels: Any) -> list[Any]:
    return np.asarray(labels, object).tolist()  # type: ignore[no-any-return]


def _codes(labels: Any, classes: Sequence[Any], rejects: Sequence[Any] = ()) -> NDArray[np.int64]:
    """Return the position of each label among the classes; the number of classes for a rejected row."""
    positions = {**dict.fromkeys(rejects, len(classes)), **{label: i for i, label in enumerate(classes)}}
    values = _plain(labels)
    unknown = [row for row, label in enumerate(values) if label not in positions]
    if unknown:
        raise DataError(
            f"row {unknown[0] + 1}: {quoted(values[unknown[0]])} is none of the classes {quoted(list(classes))}; add it"
        )
    return np.array([positions[label] for label in values], np.int64)
