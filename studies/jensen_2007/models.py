"""Figures 8.1, 8.5 and 8.7 and exercises 8.1 to 8.4 of Jensen and Nielsen (2007): the models that the book only draws."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

import numpy as np

from naivete import ID3, TAN, Column, HiddenNaive, ImpossibleEvidenceWarning, Lookup, NaiveBayes, NetworkClassifier, Table
from naivete.display.rules import rules
from naivete.evaluation import LabelledTable, label_table
from naivete.learners.pc import oracle, pc_graph
from studies.results import Cell, toml
from studies.verdicts import NOT_PRINTED, recomputed

__all__ = ["CASES", "PRINTED", "cases", "exercises", "hidden_variable", "pc_on_poker", "tree"]

PRINTED: Final = toml(__file__, "printed.toml")
CASES: Final = tuple(tuple(line.split()) for line in PRINTED["table_8_1"].split("\n") if line)
"""Table 8.1: best hand (the class), my hand, first change, second change, and the decision of the book's classifier."""
STATES: Final = range(2, 12)
TOLERANCE: Final = 1e-3
"""Log likelihoods closer than this are equal: EM stops before the last digits."""


def _table(rows: list[tuple[str, ...]], names: dict[str, list[str]]) -> Table:
    columns = [
        Column(name, np.array([states.index(row[i]) for row in rows]), tuple(states), "nominal", declared=True)
        for i, (name, states) in enumerate(names.items())
    ]
    return Table(tuple(columns), source="table 8.1", rows=len(rows))


def cases() -> LabelledTable:
    """Return table 8.1 without the decisions of the book's classifier."""
    return label_table(_table(list(CASES), {"BH": PRINTED["classes"], **PRINTED["features"]}), "BH")


def pc_on_poker() -> Iterator[Cell]:
    """Compare the graph that PC learns on figure 8.1, with d-separation as its test."""
    names = list(PRINTED["parents"])
    parents = {names.index(v): tuple(map(names.index, own)) for v, own in PRINTED["parents"].items()}
    graph = pc_graph(range(4), oracle(parents))
    of_class = ", ".join(names[v] for v in graph.parents(names.index("BH")))
    yield recomputed("parents of BH", "FC, SC, MH", of_class, note="figure 8.2, or an equivalent graph")
    undirected = [f"{names[a]} - {names[b]}" for a, b in graph.edges if graph.undirected(a, b)]
    yield Cell("edges without a direction", None, ", ".join(undirected), NOT_PRINTED, "both directions are equivalent")


def exercises(train: LabelledTable) -> Iterator[Cell]:
    """Return the decision of every classifier on the question of exercises 8.2 to 8.4, which the book leaves to the reader."""
    counts = np.bincount(train.labels) + 1
    prior = tuple((counts / counts.sum()).tolist())  # one virtual case for each class
    yield _decision("table look-up (no such case)", Lookup(), train)
    yield _decision("8.2 naive Bayes, maximum likelihood", NaiveBayes(smoothing=0.0), train)
    yield _decision("8.2 naive Bayes, Bayesian estimates", NaiveBayes(smoothing=1.0, prior=prior), train)
    yield _decision("8.3 TAN, maximum likelihood", TAN(smoothing=0.0, bias="plain"), train)
    others = [f"{_posterior(TAN(root=root, prior=prior, bias='plain'), train)[0]} from {root}" for root in ("FC", "SC")]
    note = f"; root MH, and {' and '.join(others)}"  # with virtual cases the root of the tree matters
    yield _decision("8.3 TAN, Bayesian estimates", TAN(smoothing=1.0, prior=prior, bias="plain"), train, note)
    network = TAN(bias="plain").fit(train.features, train.y).network_
    arcs = ", ".join(f"{network.name(a)} - {network.name(b)}" for a, b in network.arcs)
    yield Cell("8.3 tree of the TAN", None, arcs, NOT_PRINTED, "figure 8.4 is a drawing")
    yield _decision("8.4 tree of ID3", ID3(), train, "; the branch MH = 1a, FC = 1 has no case")


def _posterior(classifier: NetworkClassifier, train: LabelledTable) -> tuple[str, dict[str, float], bool]:
    """Return the class, the probabilities, and whether every class is impossible."""
    question = _table([tuple(PRINTED["question"].values())], PRINTED["features"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = classifier.fit(train.features, train.y)
        posterior = fitted.predict_proba(question)[0]
    by_class = dict(zip(map(str, fitted.classes_), posterior.tolist(), strict=True))
    impossible = any(issubclass(w.category, ImpossibleEvidenceWarning) for w in caught)
    return str(fitted.classes_[posterior.argmax()]), {c: by_class[c] for c in PRINTED["classes"]}, impossible


def _decision(name: str, classifier: NetworkClassifier, train: LabelledTable, more: str = "") -> Cell:
    decision, posterior, impossible = _posterior(classifier, train)
    if impossible:
        note = (
            f"every class has probability 0; naivete then warns and predicts {decision}, the class with the fewest impossible parts"
        )
        return Cell(name, None, "none", NOT_PRINTED, note)
    return Cell(name, None, decision, NOT_PRINTED, "P = " + ", ".join(f"{c} {p:.3f}" for c, p in posterior.items()) + more)


def tree(train: LabelledTable) -> Iterator[Cell]:
    """Return figure 8.7, a row for each leaf; a leaf without cases (? in the drawing) has the majority of the node above."""
    leaves = rules(ID3().fit(train.features, train.y).network_)
    yield recomputed("feature at the root", "MH", leaves[0].split(" = ")[0])
    for leaf in leaves:
        condition, decision = leaf.split(" -> ")
        label, weight = decision.split(" ", 1)
        note = "no case: ? in the figure" if weight.startswith("(0.0") else f"cases {weight.strip('()')}"
        yield Cell(condition, None, label, NOT_PRINTED, note)


def hidden_variable(train: LabelledTable) -> Iterator[Cell]:
    """Return log likelihood and BIC of figure 8.5 by the number of states of the hidden variable between BH and FC, SC."""
    trials = [_hidden_trial(train, states) for states in STATES]
    best = max(trials, key=lambda trial: float(trial["bic"]))
    for trial in trials:
        note = f"BIC {trial['bic']:.1f}, {trial['parameters']} parameters" + (", the largest BIC" if trial is best else "")
        yield Cell(f"{trial['states']} states: log likelihood", None, float(trial["log_likelihood"]), NOT_PRINTED, note)
    likelihoods = [float(trial["log_likelihood"]) for trial in trials]
    falls = any(after < before - TOLERANCE for before, after in pairwise(likelihoods))
    yield recomputed("likelihood falls with more states", "never", "sometimes" if falls else "never")
    yield Cell("states by BIC", None, str(best["states"]), NOT_PRINTED, "the book leaves the balance of fit and size open")


def _hidden_trial(train: LabelledTable, states: int) -> dict[str, Any]:
    model = HiddenNaive(groups=[["FC", "SC"]], states=states, smoothing=0.0, starts=20)
    trial: dict[str, Any] = model.fit(train.features, train.y).convergence_[0]["trials"][0]
    return trial
