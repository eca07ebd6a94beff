"""The sections of the demonstration about corral, whose class depends on two pairs of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from naivete.display import page
from naivete.display.network_drawing import svg
from naivete.evaluation import Result
from naivete.evaluation.demo.models import FURTHER, Domain, result_groups
from naivete.evaluation.demo.parts import (
    SHADES,
    accuracies,
    conditional_tables,
    confusion_matrix,
    drawn,
    first_row,
    fitted_to,
    predictions_of,
    side_by_side,
)
from naivete.inference.junction import JunctionTree
from naivete.inference.queries import most_probable, posterior

__all__ = ["class_with_parents", "dependent_pairs", "divided", "queries"]

_FURTHER_HEADS: Final = ("naive Bayes", "K2", "hill climbing", "naive-AS", "Info-AS")
"""The column headings of naive Bayes and the models in FURTHER."""
_DIVIDING_HEADS: Final = ("naive Bayes", "joined (BSEJ)", "recursive", "hidden variables", "C4.5")
"""The column headings of naive Bayes and the models in DIVIDING."""


def dependent_pairs(domain: Domain, results: Sequence[Result]) -> list[object]:
    """Return what naive Bayes and classifiers with dependences learn from corral."""
    models = {"nb": "k = 0: naive Bayes", "kdb:k=1": "k = 1: one dependence", "kdb:k=2,theta=0.03": "k = 2, arcs above 0.03 bits"}
    fitted = {model: fitted_to(domain, model) for model in models}
    misleading = first_row(domain.cases, A0="1", A1="1", B0="0", B1="0", Correlated="0")
    typical = first_row(domain.cases, A0="0", A1="1", B0="1", B1="0", Correlated="1")
    cases = [(misleading, ()), (typical, ()), (misleading, ("A1",))]
    return [
        "The class is (A0 and A1) or (B0 and B1). The feature Correlated equals the class in three of four cases, so that naive "
        "Bayes gives it the largest weight. Only a model in which A1 depends on A0, and B1 on B0, can represent the rule.",
        *(drawn(fitted[model], title) for model, title in models.items()),
        side_by_side(confusion_matrix(results, "nb"), confusion_matrix(results, "kdb:k=1")),
        page.posterior_table(
            predictions_of(domain, ["nb", "kdb:k=1"], cases),
            caption="Held-out cases. The third is the first with A1 missing.",
        ),
        "The conditional table of A1: given the class, its distribution depends on A0.",
        *conditional_tables(fitted["kdb:k=1"], "A1", "Correlated"),
    ]


def class_with_parents(domain: Domain, results: Mapping[str, Sequence[Result]]) -> list[object]:
    """Return networks in which the class has parents, and the accuracies of such classifiers."""
    k2, climbed = (fitted_to(domain, model) for model in FURTHER[:2])
    return [
        "In the networks above the class is a parent of every feature. Hill climbing adds, removes and reverses single arcs while "
        "the score of the network improves, and treats the class like any other variable: here the class depends on the two "
        "pairs, which is how these cases were generated. When all features are observed, only the Markov blanket of the class "
        "is used: its parents, its children and their other parents. K2 with the class first has no arcs into the class, and is "
        "as accurate here.",
        drawn(climbed, "hill climbing", SHADES),
        drawn(k2, "K2, the class first, then the features by their information", SHADES),
        accuracies(
            result_groups(results)[2],
            _FURTHER_HEADS,
            "Accuracy in percent, on the data with at most twenty features. The last two select features; naive-AS adds one "
            "feature at a time and can miss the pairs of corral, since each feature alone has little information.",
        ),
    ]


def queries(domain: Domain) -> list[object]:
    """Return probabilities of any variables of a network given others."""
    tree = JunctionTree(fitted_to(domain, "hc").network_)
    asked: list[tuple[str, dict[Any, Any]]] = [
        ("A1", {}),
        ("A1", {"class": "1"}),
        ("A1", {"class": "1", "B0": "0"}),
        ("class", {"A0": "1"}),
        ("class", {"A0": "1", "A1": "1"}),
        ("Irrelevant", {"class": "1"}),
    ]
    rows = [[_query_text(of, given), *posterior(tree, of, given).values()] for of, given in asked]
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


def divided(domain: Domain, results: Mapping[str, Sequence[Result]]) -> list[object]:
    """Return a decision tree, a recursive classifier and joined features, and the accuracies of such classifiers."""
    tree, cells = (fitted_to(domain, model) for model in ("c45", "recursive:parity=split,max_depth=1"))
    joined: Any = fitted_to(domain, "bsej")
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
        accuracies(
            result_groups(results)[-1],
            _DIVIDING_HEADS,
            "Accuracy in percent, on the data with at most twenty features. Numeric features are discretized, except in C4.5, "
            "which chooses thresholds itself.",
        ),
    ]
