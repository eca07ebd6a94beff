"""The page of the demonstration: tables, a chart, networks, confusion matrices and probabilities, with what to look for."""

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
"""The models as headings of columns, in the order of MODELS."""
_FURTHER_HEADS: Final = ("naive Bayes", "K2", "hill climbing", "naive-AS", "Info-AS")
"""Naive Bayes and the models of FURTHER as headings."""
_DIVIDING_HEADS: Final = ("naive Bayes", "joined (BSEJ)", "recursive", "hidden variables", "C4.5")
"""Naive Bayes and the models of DIVIDING as headings."""
_ARCS: Final = "Arcs carry I(X;Y|C), darker features have more I(X;C), both in bits."
_SHADES: Final = "Darker features have more I(X;C)."


def report(chosen: Sequence[Domain], results: Mapping[str, Sequence[Result]], *, folds: int) -> Markup:
    """The whole page."""
    own = {domain.name: domain for domain in chosen}
    sections: list[tuple[object, list[object]]] = [
        ("The spectrum", _introduction(folds)),
        ("Which degree of naivete is best?", _comparison(chosen, results)),
        ("Corral: two pairs that naive Bayes cannot see", _corral(own["corral"], results["corral"])),
        ("Corral without restrictions: the class has parents", _unrestricted(own["corral"], results)),
        ("Corral: questions to a network", _questions(own["corral"])),
        ("Corral divided: questions, cells, joined attributes", _divided(own["corral"], results)),
        ("LED: when naivete is the truth", _led(own["led7"], results["led7"])),
        ("Iris: quantities and missing values", _iris(own["iris"], results["iris"])),
    ]
    sections.append(("Fewer features", _fewer(own.get("breast cancer", own["wine"]))))
    if "breast cancer" in own:
        sections.append(("Breast cancer: the price of overconfidence", _tumours(own["breast cancer"], results["breast cancer"])))
    if "digits" in own:
        sections.append(("Digits: pixels that know their neighbours", _digits(own["digits"], results["digits"])))
    return page.page("naivete: how much should a classifier assume?", sections, footer=f"written by naivete {__version__}")


def _introduction(folds: int) -> list[object]:
    return [
        "Naive Bayes assumes that, once the class is known, no feature says anything about another. A k-dependence classifier "
        "lets every feature depend on up to k others: k = 0 is naive Bayes, and each step towards larger k assumes less and has "
        "more to learn from the same cases. A tree (TAN) is the best network with one other feature each. A threshold theta "
        "keeps only the arcs that carry more than so many bits. Beyond that, the class may have parents (K2, hill climbing), "
        "and features may be left out (naive-AS, Info-AS).",
        f"Every number below comes from {folds}-fold cross-validation, stratified by class, all models on the same folds, with "
        "cut points and arcs learned inside each fold. In the tables of confusion a column is a correct class, and a row what "
        "was answered; all folds together.",
    ]


def _comparison(chosen: Sequence[Domain], results: Mapping[str, Sequence[Result]]) -> list[object]:
    headers = ["data", *_HEADS]
    accuracy = [
        [name, *((100 * r.accuracy[0], 100 * r.accuracy[1]) for r in own)] for name, own in result_groups(results)[0].items()
    ]
    loss = [[name, *(r.log_loss for r in own)] for name, own in result_groups(results)[0].items()]
    lines: dict[object, Sequence[tuple[float, float]]] = {
        name: [(_K[r.model], 100 * r.accuracy[0]) for r in own if r.model in _K] for name, own in results.items()
    }
    data = [[d.name, d.about, len(d.cases), len(d.cases.features.columns), len(d.cases.classes)] for d in chosen]
    return [
        page.table(headers, accuracy, highlight=max, digits=1, caption="Accuracy in per cent, with its standard deviation."),
        page.table(headers, loss, highlight=min, caption="Log loss in bits, the cost of being confident and wrong."),
        page.line_chart(
            lines,
            x="k, the number of features that a feature may depend on",
            y="accuracy in %",
            caption="Some gain from dependences, some lose by having more to estimate. With k auto the training cases choose.",
        ),
        page.details("The data", page.table(["data", "what it is", "rows", "features", "classes"], data)),
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
    """Parts side by side where there is room."""
    return element("div", *parts, style="display:flex;flex-wrap:wrap;gap:0 4rem")


class _Drawable:
    """A network, and the bits of its features and arcs."""

    def __init__(self, network: Network, information: Mapping[Any, float]) -> None:
        self.network_, self.information_ = network, information


def _telling(classifier: NetworkClassifier) -> _Drawable:
    """The network without the features of a single state, which no table depends on."""
    network = classifier.network_
    kept = [x for x in network.features if network.variables[x].card > 1]
    at = {x: i for i, x in enumerate(kept)} | {CLASS: CLASS}
    parents = {at[v]: tuple(at[p] for p in network.parents[v]) for v in (*kept, CLASS)}
    cpts = {at[v]: network.cpts[v] for v in (*kept, CLASS)}
    reduced = Network(tuple(network.variables[v] for v in (*kept, CLASS)), parents, cpts)
    bits = {at[x]: float(classifier.relevance_[x]) for x in kept}
    arcs = {(at[p], at[x]): b for (p, x), b in classifier.arc_information_.items() if x in at and p in at}
    return _Drawable(reduced, bits | arcs)


def _tabled(classifier: NetworkClassifier, *names: str) -> list[object]:
    network = classifier.network_
    at = {network.name(v): v for v in network.features}
    return [page.figure(page.conditional_table_html(network, at[name], max_columns=12)) for name in names]


def _without(table: Table, rows: Sequence[int], hidden: Sequence[str]) -> Table:
    """These rows, the hidden columns missing."""
    cut = table.take(np.array(rows))
    return replace(cut, columns=tuple(_emptied(c) if c.name in hidden else c for c in cut.columns))


def _emptied(column: Column) -> Column:
    if column.states is not None:
        return replace(column, values=np.full(len(column), -1))
    return replace(column, values=np.full(len(column), np.nan))


def _answers(domain: Domain, models: Sequence[str], shown: Sequence[tuple[int, Sequence[str]]]) -> list[page.Answer]:
    """What models that have not seen these rows say of them, some of their columns hidden."""
    cases = domain.cases
    seen = np.setdiff1d(np.arange(len(cases)), [row for row, _ in shown])
    trained = {model: _fitted(domain, model, seen) for model in models}
    answers = []
    for row, hidden in shown:
        table = _without(cases.features, [row], hidden)
        for model, classifier in trained.items():
            p = classifier.predict_proba(table)[0].tolist()
            told = dict(zip(classifier.classes_.tolist(), p, strict=True))
            answers.append(page.Answer(f"{model}: {_case(table)}", cases.classes[cases.labels[row]], told))
    return answers


def _case(table: Table, most: int = 8) -> str:
    """The values of a row that are known, and a question mark for the others."""
    cells = [f"{c.name} {_value(next(iter(c)))}" for c in table.columns[:most]]
    return ", ".join(cells) + (", ..." if len(table.columns) > most else "")


def _value(value: object) -> str:
    return "?" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _first(cases: LabelledTable, **values: str) -> int:
    """The first row with these values."""
    fits = np.ones(len(cases), bool)
    for name, value in values.items():
        column = cases.features[name]
        assert column.states is not None
        fits &= column.values == column.states.index(value)
    return int(np.flatnonzero(fits)[0])


def _corral(domain: Domain, results: Sequence[Result]) -> list[object]:
    models = {"nb": "k = 0: naive Bayes", "kdb:k=1": "k = 1: one dependence", "kdb:k=2,theta=0.03": "k = 2, arcs above 0.03 bits"}
    fitted = {model: _fitted(domain, model) for model in models}
    tempted = _first(domain.cases, A0="1", A1="1", B0="0", B1="0", Correlated="0")
    plain = _first(domain.cases, A0="0", A1="1", B0="1", B1="0", Correlated="1")
    cases = [(tempted, ()), (plain, ()), (tempted, ("A1",))]
    return [
        "The class is (A0 and A1) or (B0 and B1). The feature Correlated equals the class three times in four, which for naive "
        "Bayes makes it the strongest of all. Only a model that lets A1 depend on A0, and B1 on B0, can see the rule.",
        *(_drawn(fitted[model], title) for model, title in models.items()),
        _beside(_confused(results, "nb"), _confused(results, "kdb:k=1")),
        page.posterior_table(
            _answers(domain, ["nb", "kdb:k=1"], cases),
            caption="Held-out cases. The third is the first with A1 hidden; without it the pair cannot be seen.",
        ),
        "The table in which the pair can be seen: given the class, A1 says something else when A0 is 1.",
        *_tabled(fitted["kdb:k=1"], "A1", "Correlated"),
    ]


def _unrestricted(domain: Domain, results: Mapping[str, Sequence[Result]]) -> list[object]:
    k2, climbed = (_fitted(domain, model) for model in FURTHER[:2])
    return [
        "So far the class was a parent of every feature. Hill climbing adds, drops and turns single arcs while a score of the "
        "whole network rises, and treats the class like any other variable: here it makes the class depend on the two pairs, "
        "which is how these cases were made. When all features are known, only the Markov blanket of the class matters, its "
        "parents, its children and their other parents. K2 with the class first keeps it a root and finds arcs that do as well.",
        _drawn(climbed, "hill climbing", _SHADES),
        _drawn(k2, "K2, the class first, then the features that tell most", _SHADES),
        _accuracies(
            result_groups(results)[1],
            _FURTHER_HEADS,
            "Accuracy in per cent, on the data with at most twenty features. The last two select features first; one "
            "feature at a time, naive-AS may miss the pairs of corral, which tell little alone.",
        ),
    ]


def _accuracies(results: Mapping[str, Sequence[Result]], heads: Sequence[str], caption: str) -> Markup:
    rows = [[name, *((100 * r.accuracy[0], 100 * r.accuracy[1]) for r in own)] for name, own in results.items()]
    return page.table(["data", *heads], rows, highlight=max, digits=1, caption=caption)


def _divided(domain: Domain, results: Mapping[str, Sequence[Result]]) -> list[object]:
    tree, cells = (_fitted(domain, model) for model in ("c45", "recursive:parity=split,max_depth=1"))
    joined: Any = _fitted(domain, "bsej")
    groups = "; ".join(" with ".join(str(joined.network_.name(x)) for x in group) for group in joined.groups_)
    return [
        "There are other answers to features that depend on each other than arcs. A classification tree asks one question after "
        "the other. A recursive classifier learns naive Bayes anew from the cases that the one above gives the same class, where "
        "these are not all right. Attributes can be joined to one: here backward elimination and joining leaves the features "
        f"{groups}. And a hidden variable can stand between the class and some features.",
        page.figure(svg(tree.network_, title="C4.5"), "A leaf has its class, the probability of it and its training cases."),
        page.figure(
            svg(cells.network_, title="naive Bayes within naive Bayes"),
            "Each box is a naive Bayes classifier; cases go down by the class it gives them.",
        ),
        _accuracies(
            result_groups(results)[-1],
            _DIVIDING_HEADS,
            "Accuracy in per cent, on the data with at most twenty features. Here numbers are cut, but the tree finds its own "
            "thresholds.",
        ),
    ]


def _questions(domain: Domain) -> list[object]:
    tree = JunctionTree(_fitted(domain, "hc").network_)
    asked: list[tuple[str, dict[Any, Any]]] = [
        ("A1", {}),
        ("A1", {"class": "1"}),
        ("A1", {"class": "1", "B0": "0"}),
        ("class", {"A0": "1"}),
        ("class", {"A0": "1", "A1": "1"}),
        ("Irrelevant", {"class": "1"}),
    ]
    rows = [[_question(of, given), *posterior(tree, of, given).tolist()] for of, given in asked]
    found = most_probable(tree, {"class": "1", "B0": "0"})
    together = ", ".join(f"{name} = {state}" for name, state in found.states.items())
    return [
        "A network answers more than what the class is. A junction tree of it gives the probability of any variables, given any "
        "others, exactly. B0 = 0 says that the second pair cannot be the reason for the class, so the first must be.",
        page.table(["the network of hill climbing", "0", "1"], rows, caption="Probabilities of the states 0 and 1."),
        f"The most probable explanation of class = 1 and B0 = 0, all at once: {together}. With what it explains it has the "
        f"probability {float(np.exp(found.log_probability)):.3f}.",
    ]


def _question(of: str, given: Mapping[str, str]) -> str:
    known = ", ".join(f"{name} = {state}" for name, state in given.items())
    return f"P({of} | {known})" if known else f"P({of})"


def _fewer(domain: Domain) -> list[object]:
    fitted = {model: _fitted(domain, model) for model in FURTHER[2:]}
    naive, info = (_selected(classifier) for classifier in fitted.values())
    network = fitted[FURTHER[3]].network_
    blanket = markov_blanket(network.parents, CLASS)
    return [
        f"Selection asks which of the {len(network.features)} features of {domain.name} are needed. naive-AS adds the one that "
        "makes naive Bayes most accurate on the half of the cases that it has not learned from, until every one would make it "
        "worse. Info-AS adds the one that tells most about the class beyond those that are in, in proportion to its own entropy, "
        "and learns a network of these.",
        page.table(["model", "selected, in this order"], [["naive-AS", ", ".join(naive)], ["Info-AS", ", ".join(info)]]),
        _drawn(fitted[FURTHER[3]], "Info-AS", f"{_SHADES} Of {len(info)} selected features {len(blanket)} are in the blanket."),
    ]


def _selected(classifier: Any) -> list[str]:
    return [str(classifier.network_.name(x)) for x in classifier.selected_]


def _led(domain: Domain, results: Sequence[Result]) -> list[object]:
    dead = ("upper left", "lower left")
    two, four = (int(np.flatnonzero(domain.cases.y == digit)[0]) for digit in ("2", "4"))
    return [
        "Every segment of the display fails on its own, so given the digit the segments are independent: naive Bayes assumes "
        "exactly what is true, and dependences can only add noise. No classifier can exceed about 74 % here.",
        _drawn(_fitted(domain, "nb"), "naive Bayes"),
        _confused(results, "nb"),
        page.posterior_table(
            _answers(domain, ["nb"], [(two, ()), (two, dead), (four, ()), (four, dead)]),
            caption="Two held-out displays, and the same two with the segments on the left dead.",
        ),
    ]


def _iris(domain: Domain, results: Sequence[Result]) -> list[object]:
    classifier, petals = _fitted(domain, "kdb:k=1"), ("petal width", "petal length")
    return [
        "Quantities are cut where that shortens the description of the classes (Fayyad and Irani), inside each fold. Missing "
        "values are summed out: with both petal measures gone, what the sepals say remains.",
        _drawn(classifier, "k = 1"),
        *_tabled(classifier, "petal length", "sepal length"),
        _confused(results, "kdb:k=1"),
        page.posterior_table(
            _answers(domain, ["kdb:k=1"], [(60, ()), (60, petals[:1]), (60, petals), (0, petals), (106, ())]),
            caption="Held-out flowers. Of the first, more and more is hidden; the last lies among the versicolors.",
        ),
    ]


def _tumours(domain: Domain, results: Sequence[Result]) -> list[object]:
    classifier = _fitted(domain, "tan")
    order = np.argsort(-classifier.relevance_, kind="stable")[:10].tolist()
    telling: dict[object, float | tuple[float, float]] = {
        classifier.network_.name(x): float(classifier.relevance_[x]) for x in order
    }
    by_model: dict[object, float | tuple[float, float]] = {r.model: r.log_loss for r in results if r.model != "majority"}
    return [
        "Thirty measurements of the same nuclei say much the same thing over and over. Naive Bayes counts each as new evidence: "
        "it is right about as often as the others, but when it is wrong it is sure of it. The log loss shows it.",
        page.bars(by_model, caption="Log loss in bits; smaller is better."),
        _drawn(_telling(classifier), "the best tree", f"{_ARCS} Features that no cut point makes tell anything are left out."),
        page.bars(telling, caption="I(X;C) of the ten most telling features, in bits."),
        _beside(_confused(results, "nb"), _confused(results, "tan")),
    ]


def _digits(domain: Domain, results: Sequence[Result]) -> list[object]:
    best = max(results, key=lambda r: r.accuracy[0]).model
    return [
        "A pixel depends on its neighbours whatever the digit is. Nothing told the tree where a pixel lies: mostly it links "
        "neighbours, because they say most about each other, given the digit.",
        page.figure(
            _pixels(_fitted(domain, "tan")),
            "The best tree over the pixels. Squares are the darker the more they tell about the digit, lines the wider the more "
            "two pixels tell about each other.",
        ),
        _beside(_confused(results, "nb"), _confused(results, best)),
    ]


def _pixels(classifier: NetworkClassifier, size: float = 44.0) -> Markup:
    """The arcs drawn on the picture they are about."""
    centre = [((x % 8 + 0.5) * size, (x // 8 + 0.5) * size) for x in range(64)]
    most = float(classifier.relevance_.max())
    widest = max(classifier.arc_information_.values())
    squares = [
        element(
            "rect", x=a - size / 2 + 1, y=b - size / 2 + 1, width=size - 2, height=size - 2, rx=4,
            fill="var(--nv-feature)", fill_opacity=0.04 + 0.6 * float(classifier.relevance_[x]) / most,
        )
        for x, (a, b) in enumerate(centre)
    ]  # fmt: skip
    lines = [
        element("path", d=f"M{centre[p][0]} {centre[p][1]}L{centre[x][0]} {centre[x][1]}", stroke_width=1 + 6 * bits / widest)
        for (p, x), bits in classifier.arc_information_.items()
        if bits > 0
    ]
    drawn = element("g", *lines, stroke="var(--nv-class)", stroke_opacity=0.85, stroke_linecap="round", fill="none")
    side = 8 * size
    label = "the tree over the pixels of the digits"
    return element("svg", *squares, drawn, viewBox=f"0 0 {side} {side}", width=side, height=side, role="img", aria_label=label)
