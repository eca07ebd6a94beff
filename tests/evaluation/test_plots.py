"""Pictures: what is drawn is the data, names are only names, and nothing needs matplotlib until it is used."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from naivete.classifiers.augmented import NaiveBayes
from naivete.classifiers.decisions import LossAware
from naivete.errors import DataError
from naivete.evaluation import plots
from naivete.evaluation.measures import Cases, calibration, confusion, cost_curve, roc
from tests.classifiers.test_common import data

matplotlib = pytest.importorskip("matplotlib", reason="pictures need matplotlib, which is not installed")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

HOSTILE = [
    "$x^2$",
    "_hidden",
    "a\nb\tc",
    "x" * 500,
    r"\alpha $",
    "<b>&",
    "price in $ and $$",
    r"\$5",
    "",
    "50 %_{i}",
    "\x00\x1b[1m",
]
OUT = os.environ.get("NAIVETE_PICTURES")


@pytest.fixture(autouse=True)
def _figures(request: Any) -> Iterator[None]:
    """Draws every figure, warnings being errors, and closes it; keeps it in the folder that NAIVETE_PICTURES names."""
    yield
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        figure.canvas.draw()
        if OUT:
            figure.savefig(Path(OUT) / f"{request.node.name.replace('/', '_')}-{number}.png", dpi=100, bbox_inches="tight")
    pyplot.close("all")


def answers(k: int = 3, rows: int = 300) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    posterior = rng.dirichlet(np.full(k, 0.7), rows)
    truth = (rng.random(rows)[:, None] > posterior.cumsum(axis=1)).sum(axis=1).clip(0, k - 1)
    return truth, posterior


def names(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_confusion() -> None:
    counts = np.array([[50, 2, 1, 4], [3, 120.5, 0, 4], [0, 7, 9, 4]])
    axes = plots.confusion(counts, ["a", "b", "long name of a class"])
    np.testing.assert_array_equal(axes.images[0].get_array(), counts)
    cells = {(t.get_position()[1], t.get_position()[0]): float(t.get_text()) for t in axes.texts}
    assert all(cells[d, c] == counts[d, c] for d in range(3) for c in range(4))
    assert [t.get_text() for t in axes.get_xticklabels()] == ["a", "b", "long name of a class", "rejected"]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["a", "b", "long name of a class"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("predicted class", "true class")
    shares = plots.confusion(counts, "abc", share=True).images[0].get_array()
    assert shares.sum() == pytest.approx(1)
    assert not plots.confusion(np.eye(30), range(30)).texts
    for wrong in ([[1, 2]], [1, 2], [[1, 0], [0, 1], [0, 0]]):
        with pytest.raises(DataError, match="a confusion matrix of shape"):
            plots.confusion(wrong, "ab")


def test_roc() -> None:
    truth, posterior = answers()
    cases = Cases.of(truth, posterior)
    axes = plots.roc({name: roc(cases, c) for c, name in enumerate("abc")})
    for c, line in enumerate(axes.lines[1:]):
        false, true, _ = metrics.roc_curve(truth == c, posterior[:, c])
        np.testing.assert_array_equal(line.get_xdata(), false)
        np.testing.assert_array_equal(line.get_ydata(), true)
    assert names(axes) == [f"{n} (area {metrics.roc_auc_score(truth == c, posterior[:, c]):.3f})" for c, n in enumerate("abc")]


def test_calibration() -> None:
    cases = Cases.of(*answers())
    curves = {"decided": calibration(cases), "class a": calibration(cases, 0)}
    axes = plots.calibration(curves)
    for line, curve in zip(axes.lines[1:], curves.values(), strict=True):
        np.testing.assert_array_equal(line.get_xydata(), np.column_stack([curve.predicted, curve.observed]))


def runs(seed: int) -> dict[float, list[float]]:
    rng = np.random.default_rng(seed)
    return {n: (0.95 - 0.4 / n**0.5 - 0.02 * seed + rng.normal(0, 0.05, 20) / n**0.3).tolist() for n in (50, 5, 10, 100, 200)}


@pytest.mark.parametrize("draw", [plots.learning_curve, plots.accuracy_against_k])
def test_error_bars(draw: Any) -> None:
    results = {"naive Bayes": runs(0), "recursive": runs(1), "KDB": runs(2), "one run": {5: 0.6, 200: [0.8]}}
    axes = draw(results)
    assert names(axes) == list(results)
    for bars, own in zip(axes.containers, results.values(), strict=True):
        line, _, (segments,) = bars
        sizes = sorted(own)
        assert line.get_xdata().tolist() == sizes
        for size, mean, (low, high) in zip(sizes, line.get_ydata(), [s[:, 1] for s in segments.get_segments()], strict=True):
            values = np.atleast_1d(own[size])
            assert mean == pytest.approx(values.mean())
            if len(values) > 1:
                interval = stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values))
                assert (low, high) == pytest.approx(interval, abs=1e-12)
            else:
                assert low == high == mean
    if draw is plots.accuracy_against_k:
        assert axes.get_xticks().tolist() == [5, 10, 50, 100, 200]


def test_accuracy_against_k_of_sahami() -> None:
    """Sahami (1996): accuracies of KDB by k, as printed."""
    axes = plots.accuracy_against_k(
        {
            "Chess": {0: 86.2, 1: 93.9, 2: 95.1, 3: 94.9},
            "DNA": {0: 94.0, 1: 94.0, 2: 95.3, 3: 93.3},
            "Vote": {0: 90.2, 1: 92.6, 2: 92.3, 3: 93.0},
        },
        y="accuracy, %",
    )
    assert axes.get_xticks().tolist() == [0, 1, 2, 3]


def test_cost_curves() -> None:
    cases = Cases.of(*answers())
    curves = {"a": roc(cases, 0), "b": roc(cases, 1)}
    axes = plots.cost_curves(curves)
    for line, curve in zip(axes.lines[1:], curves.values(), strict=True):
        np.testing.assert_array_equal(line.get_xydata(), np.column_stack(cost_curve(curve)))


def pictures(labels: list[str]) -> dict[str, Any]:
    k = len(labels)
    cases = Cases.of(*answers(k))
    curves = {name: roc(cases, c) for c, name in enumerate(labels)}
    return {
        "confusion": lambda ax: plots.confusion(confusion(cases.truth, cases.decided, k), labels, ax=ax),
        "roc": lambda ax: plots.roc(curves, ax=ax),
        "calibration": lambda ax: plots.calibration({name: calibration(cases, c) for c, name in enumerate(labels)}, ax=ax),
        "learning_curve": lambda ax: plots.learning_curve({name: runs(c) for c, name in enumerate(labels)}, ax=ax),
        "accuracy_against_k": lambda ax: plots.accuracy_against_k({n: {0: [0.8, 0.9], 1: [0.9, 0.9]} for n in labels}, ax=ax),
        "cost_curves": lambda ax: plots.cost_curves(curves, ax=ax),
    }


@pytest.mark.parametrize("picture", list(pictures(["a", "b"])))
def test_hostile_names(picture: str) -> None:
    """Every name is drawn once, and what matplotlib draws of it is the name, not mathematics."""
    axes = pictures(HOSTILE)[picture](None)
    axes.figure.canvas.draw()
    drawn = [t for t in axes.findobj(matplotlib.text.Text) if t.get_text()]
    seen = []
    for text in drawn:
        told, mathematics = text._preprocess_math(text.get_text())
        assert mathematics is not True, text.get_text()
        assert "\n" not in told
        seen.append(told)
    for name in HOSTILE:
        plain = "".join(c if c.isprintable() else " " for c in name)
        cut = plain[:20] if plain.strip() else repr(plain)
        assert any(told.startswith(cut) for told in seen), name
    if axes.get_legend():
        assert len(axes.get_legend().get_texts()) == len(HOSTILE)


@pytest.mark.parametrize("picture", list(pictures(["a", "b"])))
def test_plots_are_drawn_on_the_given_axes(picture: str) -> None:
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 4))
    assert pictures(["a", "b"])[picture](right) is right
    assert not left.lines
    assert pyplot.get_fignums() == [figure.number]
    with matplotlib.rc_context({"text.usetex": True}):
        axes = pictures(["a_b", "$b$"])[picture](None)
    assert not any(t.get_usetex() for t in axes.findobj(matplotlib.text.Text) if "b" in t.get_text() and t in _named(axes))


def _named(axes: Any) -> list[Any]:
    legend = axes.get_legend()
    return [*(legend.get_texts() if legend else []), *axes.texts, *axes.get_xticklabels(), *axes.get_yticklabels()]


def test_lines_differ_without_colour() -> None:
    looks = [plots._style(at) for at in range(8)]
    assert len({(look["ls"], look["marker"]) for look in looks}) == 8
    assert len({tuple(look.items()) for look in map(plots._style, range(56))}) == 56


def test_displays_of_a_classifier() -> None:
    X, y = data(1, 200, gaps=False)
    classifier = NaiveBayes().fit(X, y)
    shown = plots.ConfusionDisplay.from_estimator(classifier, X, y)
    np.testing.assert_array_equal(shown.counts, metrics.confusion_matrix(y, classifier.predict(X)))
    curves = plots.RocDisplay.from_estimator(classifier, X, y)
    posterior = classifier.predict_proba(X)
    assert curves.curves["b"].area == pytest.approx(metrics.roc_auc_score(y == "b", posterior[:, 1]), abs=1e-12)
    for display in (plots.RocDisplay, plots.CalibrationDisplay, plots.CostCurvesDisplay):
        made = display.from_predictions(y, posterior)
        assert list(made.curves) == ["a", "b", "c"]
        assert made.figure_ is made.ax_.figure
        _, axes = pyplot.subplots()
        assert made.plot(ax=axes) is made
        assert made.ax_ is axes
    weight = np.where(y == "a", 0.0, 1.0)
    assert list(plots.RocDisplay.from_predictions(y, posterior, sample_weight=weight).curves) == ["b", "c"]


def test_display_of_rejected_rows() -> None:
    X, y = data(1, 200, gaps=False)
    layer = LossAware(NaiveBayes(), reject=0.2).fit(X, y)
    shown = plots.ConfusionDisplay.from_estimator(layer, X, y)
    assert shown.counts.shape == (3, 4)
    assert shown.counts[:, 3].sum() == sum(label is None for label in layer.predict(X))
    assert plots.ConfusionDisplay.from_predictions(y, layer.predict(X)).counts.tolist() == shown.counts.tolist()
    weight = np.arange(200.0)
    assert plots.ConfusionDisplay.from_predictions(y, y, sample_weight=weight).counts.sum() == weight.sum()
    with pytest.raises(DataError, match="row 1: 'z' is none of the classes"):
        plots.ConfusionDisplay.from_predictions(["z"], ["a"], classes=["a", "b"])


def test_nothing_to_draw() -> None:
    for draw in (plots.roc, plots.calibration, plots.learning_curve, plots.cost_curves):
        with pytest.raises(DataError, match="nothing to draw"):
            draw({})
    assert not pyplot.get_fignums()
    with pytest.raises(DataError, match="without results"):
        plots.learning_curve({"a": {}})
    for values in ([], [np.nan], [[1.0]]):
        with pytest.raises(DataError, match="at least one result"):
            plots.learning_curve({"a": {1: values}})


def test_the_caller_gets_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plots.confusion([[0, 0], [0, 0]], "ab").figure.canvas.draw()
