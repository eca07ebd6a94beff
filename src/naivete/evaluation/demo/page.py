"""The page of the demonstration: tables, a chart, networks, confusion matrices and probabilities, with explanations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from naivete import __version__
from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.specification import classifier_of
from naivete.data.table import Column, Table
from naivete.display import page
from naivete.display.markup import Markup, element
from naivete.display.network_drawing import svg
from naivete.evaluation import LabelledTable, Result
from naivete.evaluation.demo.models import FURTHER, Domain, result_groups
from naivete.inference.junction import JunctionTree
from naivete.inference.queries import most_probable, posterior
from naivete.network.graphs import markov_blanket
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["report"]

_K: Final = {"nb": 0, "kdb:k=1": 1, "kdb:k=2": 2, "kdb:k=3": 3}
_HEADS: Final = ("majority", "k = 0", "k = 1", "k = 2", "k = 3", "TAN", "k = 2, θ = .03", "k auto")
"""The column headings of the models in MODELS."""
_BASELINE_HEADS: Final = ("naive Bayes", "spectrum", "random forest", "logistic regression")
"""The column headings of naive Bayes and the models in BASELINES."""
_FURTHER_HEADS: Final = ("naive Bayes", "K2", "hill climbing", "naive-AS", "Info-AS")
"""The column headings of naive Bayes and the models in FURTHER."""
_DIVIDING_HEADS: Final = ("naive Bayes", "joined (BSEJ)", "recursive", "hidden variables", "C4.5")
"""The column headings of naive Bayes and the models in DIVIDING."""
_ARCS: Final = "Arcs carry I(X;Y|C), darker features have more I(X;C), both in bits."
_SHADES: Final = "Darker features have more I(X;C)."


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
        ("Corral: two pairs of features that naive Bayes cannot represent", _corral(by_name["corral"], results["corral"])),
        ("Corral: networks in which the class has parents", _unrestricted(by_name["corral"], results)),
        ("Corral: queries to a network", _queries(by_name["corral"])),
        ("Corral: decision trees, recursive naive Bayes, joined features", _divided(by_name["corral"], results)),
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
        "cut points and arcs learned inside each fold. In the confusion matrices, which sum all folds, a column is a correct "
        "class and a row a predicted class.",
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


def _fitted(domain: Domain, model: str, rows: Any = None) -> NetworkClassifier:
    cases = domain.cases if rows is None else domain.cases.take(rows)
    return classifier_of(model, encoder=domain.encoder).fit(cases.features, cases.column)


def _drawn(classifier: NetworkClassifier | _Drawable, title: str, caption: str = _ARCS) -> Markup:
    return page.figure(svg(classifier.network_, information=classifier.information_, title=title), caption)


def _confused(results: Sequence[Result], model: str) -> Markup:
    result = next(r for r in results if r.model == model)
    mean, deviation = result.accuracy
    caption = f"{model}: {100 * mean:.1f} ± {100 * deviation:.1f} % correct"
    return page.confusion(result.confusion, result.classes.tolist(), caption)


def _beside(*parts: Markup) -> Markup:
    """Return parts side by side where there is room."""
    return element("div", *parts, style="display:flex;flex-wrap:wrap;gap:0 4rem")


class _Drawable:
    """A network, and the information of its features and arcs in bits."""

    def __init__(self, network: Network, information: Mapping[Any, float]) -> None:
        self.network_, self.information_ = network, information


def _informative(classifier: NetworkClassifier) -> _Drawable:
    """Return the network without the features that have a single state."""
    network = classifier.network_
    kept = [x for x in network.features if network.variables[x].card > 1]
    index = {x: i for i, x in enumerate(kept)} | {CLASS: CLASS}
    parents = {index[v]: tuple(index[p] for p in network.parents[v]) for v in (*kept, CLASS)}
    cpts = {index[v]: network.cpts[v] for v in (*kept, CLASS)}
    reduced = Network(tuple(network.variables[v] for v in (*kept, CLASS)), parents, cpts)
    bits = {index[x]: float(classifier.relevance_[x]) for x in kept}
    arcs = {(index[p], index[x]): b for (p, x), b in classifier.arc_information_.items() if x in index and p in index}
    return _Drawable(reduced, bits | arcs)


def _tables(classifier: NetworkClassifier, *names: str) -> list[object]:
    network = classifier.network_
    index = {network.name(v): v for v in network.features}
    return [page.figure(page.conditional_table_html(network, index[name], max_columns=12)) for name in names]


def _without(table: Table, rows: Sequence[int], hidden: Sequence[str]) -> Table:
    """Return these rows, with missing values in the hidden columns."""
    part = table.take(np.array(rows))
    return replace(part, columns=tuple(_missing(c) if c.name in hidden else c for c in part.columns))


def _missing(column: Column) -> Column:
    if column.states is not None:
        return replace(column, values=np.full(len(column), -1))
    return replace(column, values=np.full(len(column), np.nan))


def _predictions(domain: Domain, models: Sequence[str], shown: Sequence[tuple[int, Sequence[str]]]) -> list[page.Prediction]:
    """Return the predictions for some rows with hidden columns, of models that were trained on the other rows."""
    cases = domain.cases
    training = np.setdiff1d(np.arange(len(cases)), [row for row, _ in shown])
    trained = {model: _fitted(domain, model, training) for model in models}
    predictions = []
    for row, hidden in shown:
        table = _without(cases.features, [row], hidden)
        for model, classifier in trained.items():
            p = classifier.predict_proba(table)[0].tolist()
            probabilities = dict(zip(classifier.classes_.tolist(), p, strict=True))
            predictions.append(page.Prediction(f"{model}: {_case(table)}", cases.classes[cases.labels[row]], probabilities))
    return predictions


def _case(table: Table, most: int = 8) -> str:
    """Return the values of a row as text, with a question mark for missing values."""
    cells = [f"{c.name} {_value(next(iter(c)))}" for c in table.columns[:most]]
    return ", ".join(cells) + (", ..." if len(table.columns) > most else "")


def _value(value: object) -> str:
    return "?" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _first(cases: LabelledTable, **values: str) -> int:
    """Return the first row with these values."""
    matches = np.ones(len(cases), bool)
    for name, value in values.items():
        column = cases.features[name]
        assert column.states is not None
        matches &= column.values == column.states.index(value)
    return int(np.flatnonzero(matches)[0])


def _corral(domain: Domain, results: Sequence[Result]) -> list[object]:
    models = {"nb": "k = 0: naive Bayes", "kdb:k=1": "k = 1: one dependence", "kdb:k=2,theta=0.03": "k = 2, arcs above 0.03 bits"}
    fitted = {model: _fitted(domain, model) for model in models}
    misleading = _first(domain.cases, A0="1", A1="1", B0="0", B1="0", Correlated="0")
    typical = _first(domain.cases, A0="0", A1="1", B0="1", B1="0", Correlated="1")
    cases = [(misleading, ()), (typical, ()), (misleading, ("A1",))]
    return [
        "The class is (A0 and A1) or (B0 and B1). The feature Correlated equals the class in three of four cases, so that naive "
        "Bayes gives it the largest weight. Only a model in which A1 depends on A0, and B1 on B0, can represent the rule.",
        *(_drawn(fitted[model], title) for model, title in models.items()),
        _beside(_confused(results, "nb"), _confused(results, "kdb:k=1")),
        page.posterior_table(
            _predictions(domain, ["nb", "kdb:k=1"], cases),
            caption="Held-out cases. The third is the first with A1 missing.",
        ),
        "The conditional table of A1: given the class, its distribution depends on A0.",
        *_tables(fitted["kdb:k=1"], "A1", "Correlated"),
    ]


def _unrestricted(domain: Domain, results: Mapping[str, Sequence[Result]]) -> list[object]:
    k2, climbed = (_fitted(domain, model) for model in FURTHER[:2])
    return [
        "In the networks above the class is a parent of every feature. Hill climbing adds, removes and reverses single arcs while "
        "the score of the network improves, and treats the class like any other variable: here the class depends on the two "
        "pairs, which is how these cases were generated. When all features are observed, only the Markov blanket of the class "
        "is used: its parents, its children and their other parents. K2 with the class first has no arcs into the class, and is "
        "as accurate here.",
        _drawn(climbed, "hill climbing", _SHADES),
        _drawn(k2, "K2, the class first, then the features by their information", _SHADES),
        _accuracies(
            result_groups(results)[2],
            _FURTHER_HEADS,
            "Accuracy in percent, on the data with at most twenty features. The last two select features; naive-AS adds one "
            "feature at a time and can miss the pairs of corral, since each feature alone has little information.",
        ),
    ]


def _accuracies(results: Mapping[str, Sequence[Result]], heads: Sequence[str], caption: str) -> Markup:
    rows = [[name, *((100 * r.accuracy[0], 100 * r.accuracy[1]) for r in runs)] for name, runs in results.items()]
    return page.table(["data", *heads], rows, highlight=max, digits=1, caption=caption)


def _divided(domain: Domain, results: Mapping[str, Sequence[Result]]) -> list[object]:
    tree, cells = (_fitted(domain, model) for model in ("c45", "recursive:parity=split,max_depth=1"))
    joined: Any = _fitted(domain, "bsej")
    groups = "; ".join(" with ".join(str(joined.network_.name(x)) for x in group) for group in joined.groups_)
    return [
        "Arcs are not the only way to represent dependent features. A classification tree tests one feature after the other. A "
        "recursive classifier learns another naive Bayes classifier from the cases with the same predicted class, where some of "
        "these predictions are wrong. Features can be joined: here backward elimination and joining selects the features "
        f"{groups}. A hidden variable can be added between the class and some features.",
        page.figure(
            svg(tree.network_, title="C4.5"),
            "A leaf shows its class, the probability of this class, and the number of training cases.",
        ),
        page.figure(
            svg(cells.network_, title="recursive naive Bayes"),
            "Each box is a naive Bayes classifier; a case follows the branch of its predicted class.",
        ),
        _accuracies(
            result_groups(results)[-1],
            _DIVIDING_HEADS,
            "Accuracy in percent, on the data with at most twenty features. Numeric features are discretized, except in C4.5, "
            "which chooses thresholds itself.",
        ),
    ]


def _queries(domain: Domain) -> list[object]:
    tree = JunctionTree(_fitted(domain, "hc").network_)
    queries: list[tuple[str, dict[Any, Any]]] = [
        ("A1", {}),
        ("A1", {"class": "1"}),
        ("A1", {"class": "1", "B0": "0"}),
        ("class", {"A0": "1"}),
        ("class", {"A0": "1", "A1": "1"}),
        ("Irrelevant", {"class": "1"}),
    ]
    rows = [[_query_text(of, given), *posterior(tree, of, given).tolist()] for of, given in queries]
    explanation = most_probable(tree, {"class": "1", "B0": "0"})
    together = ", ".join(f"{name} = {state}" for name, state in explanation.states.items())
    return [
        "A network can predict more than the class. A junction tree gives the exact probabilities of any variables given any "
        "others. With B0 = 0 the second pair cannot be the reason for class = 1, so the first pair is.",
        page.table(["the network of hill climbing", "0", "1"], rows, caption="Probabilities of the states 0 and 1."),
        f"The most probable explanation of class = 1 and B0 = 0, all at once: {together}. Its joint probability with "
        f"the evidence is {float(np.exp(explanation.log_probability)):.3f}.",
    ]


def _query_text(of: str, given: Mapping[str, str]) -> str:
    known = ", ".join(f"{name} = {state}" for name, state in given.items())
    return f"P({of} | {known})" if known else f"P({of})"


def _fewer(domain: Domain) -> list[object]:
    fitted = {model: _fitted(domain, model) for model in FURTHER[2:]}
    naive, info = (_selected(classifier) for classifier in fitted.values())
    network = fitted[FURTHER[3]].network_
    blanket = markov_blanket(network.parents, CLASS)
    return [
        f"Feature selection finds which of the {len(network.features)} features of {domain.name} are needed. naive-AS adds the "
        "feature that makes naive Bayes most accurate on a held-out half of the cases, until every other feature would reduce "
        "the accuracy. Info-AS adds the feature with the most information about the class given the selected ones, relative to "
        "its entropy, and learns a network of the selected features.",
        page.table(["model", "selected, in this order"], [["naive-AS", ", ".join(naive)], ["Info-AS", ", ".join(info)]]),
        _drawn(fitted[FURTHER[3]], "Info-AS", f"{_SHADES} Of {len(info)} selected features {len(blanket)} are in the blanket."),
    ]


def _selected(classifier: Any) -> list[str]:
    return [str(classifier.network_.name(x)) for x in classifier.selected_]


def _led(domain: Domain, results: Sequence[Result]) -> list[object]:
    hidden = ("upper left", "lower left")
    two, four = (int(np.flatnonzero(domain.cases.y == digit)[0]) for digit in ("2", "4"))
    return [
        "Every segment of the display is inverted independently of the others, so the assumption of naive Bayes is true, and "
        "dependences only add errors of estimation. No classifier can exceed an accuracy of about 74 % here.",
        _drawn(_fitted(domain, "nb"), "naive Bayes"),
        _confused(results, "nb"),
        page.posterior_table(
            _predictions(domain, ["nb"], [(two, ()), (two, hidden), (four, ()), (four, hidden)]),
            caption="Two held-out displays, and the same two with missing values for the segments on the left.",
        ),
    ]


def _iris(domain: Domain, results: Sequence[Result]) -> list[object]:
    classifier, petals = _fitted(domain, "kdb:k=1"), ("petal width", "petal length")
    return [
        "Numeric features are discretized by minimum description length (Fayyad and Irani), inside each fold. Missing values are "
        "marginalized: where both petal measurements are missing, the prediction uses the sepals.",
        _drawn(classifier, "k = 1"),
        *_tables(classifier, "petal length", "sepal length"),
        _confused(results, "kdb:k=1"),
        page.posterior_table(
            _predictions(domain, ["kdb:k=1"], [(60, ()), (60, petals[:1]), (60, petals), (0, petals), (106, ())]),
            caption="Held-out flowers. The first is shown with more and more missing values; the last resembles versicolor.",
        ),
    ]


def _tumours(domain: Domain, results: Sequence[Result]) -> list[object]:
    classifier = _fitted(domain, "tan")
    order = np.argsort(-classifier.relevance_, kind="stable")[:10].tolist()
    relevances: dict[object, float | tuple[float, float]] = {
        classifier.network_.name(x): float(classifier.relevance_[x]) for x in order
    }
    by_model: dict[object, float | tuple[float, float]] = {r.model: r.log_loss for r in results if r.model != "majority"}
    return [
        "The thirty measurements of the same nuclei are strongly correlated. Naive Bayes counts each as new evidence: it is about "
        "as accurate as the others, but its wrong predictions have high probabilities, which the log loss measures.",
        page.bars(by_model, caption="Log loss in bits; smaller is better."),
        _drawn(_informative(classifier), "the best tree", f"{_ARCS} Features without cut points are left out."),
        page.bars(relevances, caption="I(X;C) of the ten most informative features, in bits."),
        _beside(_confused(results, "nb"), _confused(results, "tan")),
    ]


def _digits(domain: Domain, results: Sequence[Result]) -> list[object]:
    best = max(results, key=lambda r: r.accuracy[0]).model
    return [
        "A pixel depends on its neighbors for every digit. The positions of the pixels are not used in learning, but most arcs of "
        "the tree join neighbors, because they have the most information about each other given the digit.",
        page.figure(
            _pixels(_fitted(domain, "tan")),
            "The best tree over the pixels. Darker squares have more information about the digit; wider lines have more "
            "information between two pixels given the digit.",
        ),
        _beside(_confused(results, "nb"), _confused(results, best)),
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
