"""The page of a cross-validation: all measures, ROC curves, calibration curves and confusion matrices of the models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from naivete import __version__
from naivete.data.labelled_table import LabelledTable
from naivete.display import page
from naivete.display.charts import line_chart
from naivete.display.markup import Markup
from naivete.evaluation.calibration_bins import calibration
from naivete.evaluation.comparison_terms import visible
from naivete.evaluation.cross_validation import Result
from naivete.evaluation.outcomes import Cases
from naivete.evaluation.roc_curves import roc

__all__ = ["evaluation_page"]

_HIGHER: Final = {"balanced accuracy": "balanced_accuracy", "F1": "f1", "AUC": "roc_auc"}
_LOWER: Final = {"log loss in bits": "log_loss", "log loss in nats": "log_loss_nats", "Brier": "brier", "RMSE": "rmse"}
_RATES: Final = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""The false positive rates at which ROC curves are drawn."""
_CLASSES: Final = 40
"""The most classes of a confusion matrix on the page."""

Line = Sequence[tuple[float, float]]


def evaluation_page(data: Mapping[str, tuple[LabelledTable, Sequence[Result]]], facts: Mapping[str, object]) -> Markup:
    """Return the page of a cross-validation.

    Parameters
    ----------
    data : for each data set the cases and the results of the models, with the posterior probabilities.
    facts : how the cases were divided.
    """
    models = list(dict.fromkeys(visible(result.model) for _, results in data.values() for result in results))
    sections = [(visible(name), list(_section(cases, results))) for name, (cases, results) in data.items()]
    return page.page(f"Cross-validation of {', '.join(models)}", sections, facts=facts, footer=f"Written by naivete {__version__}.")


def _section(cases: LabelledTable, results: Sequence[Result]) -> Iterator[object]:
    names = [visible(result.model) for result in results]
    accuracy = ["accuracy in per cent", *((100 * mean, 100 * deviation) for mean, deviation in (r.accuracy for r in results))]
    higher = [[title, *(getattr(r, name) for r in results)] for title, name in _HIGHER.items()]
    lower = [[title, *(getattr(r, name) for r in results)] for title, name in _LOWER.items()]
    yield page.table(
        ["measure", *names], [accuracy], highlight=max, digits=1, caption="Mean and standard deviation over the folds."
    )
    caption = "Means over the folds and the classes; higher is better, the best in bold."
    yield page.table(["measure", *names], higher, highlight=max, digits=4, caption=caption)
    yield page.table(
        ["measure", *names], lower, highlight=min, digits=4, caption="Means over the folds; lower is better, the best in bold."
    )
    predictions = {visible(r.model): Cases.of(cases.labels, r.posterior, cases.weight) for r in results if r.posterior is not None}
    if predictions:
        yield _roc_chart(cases, predictions)
        yield _calibration_chart(predictions)
    for result in results if len(cases.classes) <= _CLASSES else ():
        yield page.confusion(result.confusion, cases.classes.tolist(), f"{visible(result.model)}: the cases of all folds")


def _roc_chart(cases: LabelledTable, predictions: Mapping[str, Cases]) -> Markup:
    label = cases.classes[-1]
    two = len(cases.classes) == 2
    lines: dict[object, Line] = {name: _roc_line(posteriors, two) for name, posteriors in predictions.items()}
    shown = (
        f"ROC curves of {visible(str(label))}" if two else "ROC curves of each class against the others, averaged over the classes"
    )
    caption = f"{shown}, from the test rows of all folds; higher is better."
    return line_chart(
        {**lines, "chance": [(0.0, 0.0), (1.0, 1.0)]}, x="false positive rate", y="true positive rate", caption=caption
    )


def _roc_line(posteriors: Cases, two: bool) -> Line:
    """Return the points of the ROC curve of the second of two classes, or of the mean curve of several classes."""
    classes = [1] if two else np.unique(posteriors.truth).tolist()
    curves = [roc(posteriors, c) for c in classes]
    rates = np.mean([np.interp(_RATES, curve.false_positive, curve.true_positive) for curve in curves], axis=0)
    return list(zip(_RATES, rates.tolist(), strict=True))


def _calibration_chart(predictions: Mapping[str, Cases]) -> Markup:
    lines: dict[object, Line] = {}
    for name, posteriors in predictions.items():
        curve = calibration(posteriors)
        lines[name] = list(zip(curve.predicted.tolist(), curve.observed.tolist(), strict=True))
    caption = (
        "How often the predicted class is right, by its probability, in bins with about the same number of rows. Below the "
        "diagonal a model is too sure, above it not sure enough."
    )
    drawn = {**lines, "calibrated": [(0.0, 0.0), (1.0, 1.0)]}
    return line_chart(drawn, x="mean probability of the predicted class", y="share of correct predictions", caption=caption)
