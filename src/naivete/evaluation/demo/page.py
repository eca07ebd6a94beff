"""The page of the demonstration: tables, a chart, networks, confusion matrices and probabilities, with explanations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from naivete import __version__
from naivete.classifiers.base import NetworkClassifier
from naivete.display import page
from naivete.display.markup import Markup, element
from naivete.evaluation import Result
from naivete.evaluation.demo.corral import class_with_parents, dependent_pairs, divided, queries
from naivete.evaluation.demo.models import FURTHER, Domain, result_groups
from naivete.evaluation.demo.parts import (
    ARCS,
    SHADES,
    conditional_tables,
    confusion_matrix,
    drawn,
    fitted_to,
    informative_part,
    predictions_of,
    side_by_side,
)
from naivete.network.graphs import markov_blanket
from naivete.variables import CLASS

__all__ = ["report"]

_K: Final = {"nb": 0, "kdb:k=1": 1, "kdb:k=2": 2, "kdb:k=3": 3}
_HEADS: Final = ("majority", "k = 0", "k = 1", "k = 2", "k = 3", "TAN", "k = 2, θ = .03", "k auto")
"""The column headings of the models in MODELS."""
_BASELINE_HEADS: Final = ("naive Bayes", "spectrum", "random forest", "logistic regression")
"""The column headings of naive Bayes and the models in BASELINES."""


def report(chosen: Sequence[Domain], results: Mapping[str, Sequence[Result]], *, folds: int) -> Markup:
    """Return the page.

    Parameters
    ----------
    chosen : the data sets.
    results : the results of the models, by the name of the data set.
    folds : the number of folds of the cross-validation.
    """
    by_name = {domain.name: domain for domain in chosen}
    sections: list[tuple[object, list[object]]] = [
        ("Classifiers from simple to complex", _introduction(folds)),
        ("How many dependences are best?", _comparison(chosen, results)),
        ("All degrees of dependence at once, and scikit-learn", _baselines(results)),
        ("Corral: two pairs of features that naive Bayes cannot represent", dependent_pairs(by_name["corral"], results["corral"])),
        ("Corral: networks in which the class has parents", class_with_parents(by_name["corral"], results)),
        ("Corral: queries to a network", queries(by_name["corral"])),
        ("Corral: decision trees, recursive naive Bayes, joined features", divided(by_name["corral"], results)),
        ("LED: features that are independent given the class", _led(by_name["led7"], results["led7"])),
        ("Iris: numeric features and missing values", _iris(by_name["iris"], results["iris"])),
    ]
    sections.append(("Feature selection", _fewer(by_name.get("breast cancer", by_name["wine"]))))
    if "breast cancer" in by_name:
        sections.append(("Breast cancer: overconfident predictions", _tumours(by_name["breast cancer"], results["breast cancer"])))
    if "digits" in by_name:
        sections.append(("Digits: dependences between neighboring pixels", _digits(by_name["digits"], results["digits"])))
    data = ", ".join(domain.name for domain in chosen)
    facts = {"data sets": data, "cross-validation": f"{folds} folds"}
    return page.page(
        "Bayesian network classifiers compared on example data", sections, facts=facts, footer=f"written by naivete {__version__}"
    )


def _introduction(folds: int) -> list[object]:
    return [
        "Naive Bayes assumes that the features are independent given the class. In a k-dependence classifier (KDB) every feature "
        "depends on the class and on up to k other features: k = 0 is naive Bayes, and a larger k needs fewer assumptions but has "
        "more probabilities to estimate from the same cases. TAN is the best network in which every feature depends on one other. "
        "A threshold theta keeps only arcs with more information than this, in bits. In other networks the class can have parents "
        "(K2, hill climbing), or features are left out (naive-AS, Info-AS).",
        f"Every number below comes from {folds}-fold cross-validation, stratified by class, all models on the same folds, with "
        "cut points and arcs learned inside each fold. In the confusion matrices, which sum all folds, a row is a true class and "
        "a column a predicted class.",
    ]


def _comparison(chosen: Sequence[Domain], results: Mapping[str, Sequence[Result]]) -> list[object]:
    headers = ["data", *_HEADS]
    accuracy = [
        [name, *((100 * r.accuracy[0], 100 * r.accuracy[1]) for r in rows)] for name, rows in result_groups(results)[0].items()
    ]
    loss = [[name, *(r.log_loss for r in runs)] for name, runs in result_groups(results)[0].items()]
    lines: dict[object, Sequence[tuple[float, float]]] = {
        name: [(_K[r.model], 100 * r.accuracy[0]) for r in runs if r.model in _K] for name, runs in results.items()
    }
    data = [[d.name, d.about, len(d.cases), len(d.cases.features.columns), len(d.cases.classes)] for d in chosen]
    return [
        page.table(headers, accuracy, highlight=max, digits=1, caption="Accuracy in percent, with its standard deviation."),
        page.table(headers, loss, highlight=min, caption="Log loss in bits: large for confident wrong predictions."),
        page.line_chart(
            lines,
            x="k, the number of features that a feature may depend on",
            y="accuracy in %",
            caption="Which k is best depends on the data. With k auto, it is chosen from the training cases.",
        ),
        page.details("The data", page.table(["data", "contents", "rows", "features", "classes"], data)),
    ]


def _baselines(results: Mapping[str, Sequence[Result]]) -> list[object]:
    headers, rows = ["data", *_BASELINE_HEADS], result_groups(results)[1]
    accuracy = [[name, *((100 * r.accuracy[0], 100 * r.accuracy[1]) for r in runs)] for name, runs in rows.items()]
    loss = [[name, *(r.log_loss for r in runs)] for name, runs in rows.items()]
    return [
        "Spectrum does not choose k: it weighs all degrees of dependence by leave-one-out, together with random structures and "
        "trees. A random forest and logistic regression of scikit-learn stand beside it, with their default parameters.",
        page.table(headers, accuracy, highlight=max, digits=1, caption="Accuracy in percent, with its standard deviation."),
        page.table(headers, loss, highlight=min, caption="Log loss in bits: large for confident wrong predictions."),
    ]


def _fewer(domain: Domain) -> list[object]:
    fitted = {model: fitted_to(domain, model) for model in FURTHER[2:]}
    naive, info = (_selected(classifier) for classifier in fitted.values())
    network = fitted[FURTHER[3]].network_
    blanket = markov_blanket(network.parents, CLASS)
    return [
        f"Feature selection finds which of the {len(network.features)} features of {domain.name} are needed. naive-AS adds the "
        "feature that makes naive Bayes most accurate on a held-out half of the cases, until every other feature would reduce "
        "the accuracy. Info-AS adds the feature with the most information about the class given the selected ones, relative to "
        "its entropy, and learns a network of the selected features.",
        page.table(["model", "selected, in this order"], [["naive-AS", ", ".join(naive)], ["Info-AS", ", ".join(info)]]),
        drawn(fitted[FURTHER[3]], "Info-AS", f"{SHADES} Of {len(info)} selected features {len(blanket)} are in the blanket."),
    ]


def _selected(classifier: Any) -> list[str]:
    return [str(classifier.network_.name(x)) for x in classifier.selected_]


def _led(domain: Domain, results: Sequence[Result]) -> list[object]:
    hidden = ("upper left", "lower left")
    two, four = (int(np.flatnonzero(domain.cases.y == digit)[0]) for digit in ("2", "4"))
    return [
        "Every segment of the display is inverted independently of the others, so the assumption of naive Bayes is true, and "
        "dependences only add errors of estimation. No classifier can exceed an accuracy of about 74 % here.",
        drawn(fitted_to(domain, "nb"), "naive Bayes"),
        confusion_matrix(results, "nb"),
        page.posterior_table(
            predictions_of(domain, ["nb"], [(two, ()), (two, hidden), (four, ()), (four, hidden)]),
            caption="Two held-out displays, and the same two with missing values for the segments on the left.",
        ),
    ]


def _iris(domain: Domain, results: Sequence[Result]) -> list[object]:
    classifier, petals = fitted_to(domain, "kdb:k=1"), ("petal width", "petal length")
    return [
        "Numeric features are discretized by minimum description length (Fayyad and Irani), inside each fold. Missing values are "
        "marginalized: where both petal measurements are missing, the prediction uses the sepals.",
        drawn(classifier, "k = 1"),
        *conditional_tables(classifier, "petal length", "sepal length"),
        confusion_matrix(results, "kdb:k=1"),
        page.posterior_table(
            predictions_of(domain, ["kdb:k=1"], [(60, ()), (60, petals[:1]), (60, petals), (0, petals), (106, ())]),
            caption="Held-out flowers. The first is shown with more and more missing values; the last resembles versicolor.",
        ),
    ]


def _tumours(domain: Domain, results: Sequence[Result]) -> list[object]:
    classifier = fitted_to(domain, "tan")
    order = np.argsort(-classifier.relevance_, kind="stable")[:10].tolist()
    relevances: dict[object, float | tuple[float, float]] = {
        classifier.network_.name(x): float(classifier.relevance_[x]) for x in order
    }
    by_model: dict[object, float | tuple[float, float]] = {r.model: r.log_loss for r in results if r.model != "majority"}
    return [
        "The thirty measurements of the same nuclei are strongly correlated. Naive Bayes counts each as new evidence: it is about "
        "as accurate as the others, but its wrong predictions have high probabilities, which the log loss measures.",
        page.bars(by_model, caption="Log loss in bits; smaller is better."),
        drawn(informative_part(classifier), "the best tree", f"{ARCS} Features without cut points are left out."),
        page.bars(relevances, caption="I(X;C) of the ten most informative features, in bits."),
        side_by_side(confusion_matrix(results, "nb"), confusion_matrix(results, "tan")),
    ]


def _digits(domain: Domain, results: Sequence[Result]) -> list[object]:
    best = max(results, key=lambda r: r.accuracy[0]).model
    return [
        "A pixel depends on its neighbors for every digit. The positions of the pixels are not used in learning, but most arcs of "
        "the tree join neighbors, because they have the most information about each other given the digit.",
        page.figure(
            _pixels(fitted_to(domain, "tan")),
            "The best tree over the pixels. Darker squares have more information about the digit; wider lines have more "
            "information between two pixels given the digit.",
        ),
        side_by_side(confusion_matrix(results, "nb"), confusion_matrix(results, best)),
    ]


def _pixels(classifier: NetworkClassifier, size: float = 44.0) -> Markup:
    """Return the arcs drawn between the pixels of the image."""
    centers = [((x % 8 + 0.5) * size, (x // 8 + 0.5) * size) for x in range(64)]
    most = float(classifier.relevance_.max())
    widest = max(classifier.arc_information_.values())
    squares = [
        element(
            "rect", x=a - size / 2 + 1, y=b - size / 2 + 1, width=size - 2, height=size - 2, rx=4,
            fill="var(--nv-feature)", fill_opacity=0.04 + 0.6 * float(classifier.relevance_[x]) / most,
        )
        for x, (a, b) in enumerate(centers)
    ]  # fmt: skip
    lines = [
        element("path", d=f"M{centers[p][0]} {centers[p][1]}L{centers[x][0]} {centers[x][1]}", stroke_width=1 + 6 * bits / widest)
        for (p, x), bits in classifier.arc_information_.items()
        if bits > 0
    ]
    drawn = element("g", *lines, stroke="var(--nv-class)", stroke_opacity=0.85, stroke_linecap="round", fill="none")
    side = 8 * size
    label = "the tree over the pixels of the digits"
    return element("svg", *squares, drawn, viewBox=f"0 0 {side} {side}", width=side, height=side, role="img", aria_label=label)
