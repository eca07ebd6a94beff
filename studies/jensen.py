"""Jensen and Nielsen (2007), chapter 8: the poker classifier, its confusion and loss, entropies, tree, exercises."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from naivete.classifiers.augmented import TAN, NaiveBayes
from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.baselines import Lookup
from naivete.classifiers.losses import Loss
from naivete.classifiers.trees import ID3
from naivete.counts.information import entropy
from naivete.data.labelled_table import LabelledTable, label_table
from naivete.data.table import Column, Table
from naivete.errors import ImpossibleEvidenceWarning
from naivete.evaluation.measures import confusion, shares
from naivete.learners.pc import oracle, pc_graph
from studies.jensen_models import hidden_cells, hidden_remarks, tree_cells
from studies.verdicts import (
    MISPRINT,
    NOT_PRINTED,
    REPRODUCED,
    Cell,
    Remark,
    Reproduction,
    Sheet,
    recomputed,
)

__all__ = ["TABLE_8_1", "jensen_2007"]

_TITLE: Final = "F. V. Jensen and T. D. Nielsen (2007), Bayesian networks and decision graphs, chapter 8: poker"
_CLASSES: Final = ("me", "draw", "op")
_FEATURES: Final[Mapping[str, tuple[str, ...]]] = {
    "MH": ("no", "1a", "2v", "2a", "st", "3v", "fl", "sfl"),
    "FC": ("0", "1", "2", "3"),
    "SC": ("0", "1", "2"),
}

TABLE_8_1: Final = tuple(
    tuple(case.split())
    for case in (
        "op no 3 1 op", "op 1a 2 1 op", "draw 2v 1 1 op", "me 2a 1 1 me", "draw fl 1 1 me",
        "me st 3 2 me", "me 3v 1 1 me", "me sfl 1 0 me", "op no 0 0 op", "op 1a 3 2 me",
        "draw 2v 2 1 op", "me 2v 3 2 draw", "op 2v 1 1 draw", "op 2v 3 0 op", "me 2v 3 2 me",
        "draw no 3 2 draw", "draw 2v 1 1 draw", "op fl 1 1 me", "op no 3 2 op", "me 1a 3 2 op",
    )
)  # fmt: skip
"""The twenty cases: best hand (the class), my hand, first change, second change, and what the classifier of the book says."""

_TABLE_8_2: Final = ((0.25, 0.05, 0.1), (0.05, 0.1, 0.05), (0.05, 0.1, 0.25))
_STAKES: Final = {"fold": (0, 0, 0), "call": (3, 1, -1)}
_TABLE_8_4: Final = ((0, 0, -1), (0, 0, -1), (-3, -1, 0))
_ENTROPIES: Final = {"MH": 0.735, "FC": 1.351, "SC": 1.403}
_PARTITION: Final = {"0": (8, 9, 14), "1": (1, 2, 3, 4, 5, 7, 11, 13, 17, 18), "2": (6, 10, 12, 15, 16, 19, 20)}
_QUESTION: Final = {"MH": "1a", "FC": "1", "SC": "1"}


def jensen_2007() -> Reproduction:
    """The figures of chapter 8 beside those that follow from its own table 8.1, and the answers to exercises 8.1 to 8.4.

    References
    ----------
    Jensen and Nielsen (2007), Bayesian networks and decision graphs, sections 8.1 to 8.4 and 8.7.
    """
    cases = _cases()
    sheets = (
        Sheet("Section 8.2: accuracy and expected loss", tuple(_evaluation()), digits=1),
        Sheet("Table 8.2: P#(classified, correct)", tuple(_matrix(_TABLE_8_2, shares(_confusion()), 2)), digits=2),
        Sheet("Table 8.4, from the stakes of table 8.3", tuple(_matrix(_TABLE_8_4, _gains(), 0)), digits=0),
        Sheet("Section 8.4: entropies in bits", tuple(_entropies()), digits=3),
        Sheet("Section 8.4: choices of ID3", tuple(_choices())),
        Sheet("Exercise 8.1: PC on the poker network of figure 8.1, OH0, OH1 and OH2 hidden", tuple(_poker())),
        Sheet("Exercises 8.2 to 8.4: the class of MH = 1a, FC = 1, SC = 1", tuple(_exercises(cases))),
        Sheet("Figure 8.5: a hidden variable between BH and FC, SC", tuple(hidden_cells(cases)), digits=3),
        Sheet("Figure 8.7: the tree of ID3", tuple(tree_cells(cases))),
    )
    about = (
        "Everything printed is compared with what follows from the twenty cases of table 8.1, in the digits that are printed.",
        "Pcl is the classifier of the book, whose answers are a column of table 8.1; losses keep its sign: to lose is negative.",
    )
    return Reproduction("jensen-2007", _TITLE, about, sheets, (), tuple(_remarks(sheets)), _summary(sheets))


def _column(at: int) -> list[str]:
    return [case[at] for case in TABLE_8_1]


def _of(feature: str) -> int:
    return 1 + list(_FEATURES).index(feature)


def _cases() -> LabelledTable:
    """Table 8.1 without the answers of the book's classifier."""
    names: dict[str, tuple[str, ...]] = {"BH": _CLASSES, **_FEATURES}
    columns = [
        Column(name, np.array([states.index(value) for value in _column(at)]), states, "nominal", declared=True)
        for at, (name, states) in enumerate(names.items())
    ]
    return label_table(Table(tuple(columns), source="table 8.1", rows=len(TABLE_8_1)), "BH")


def _confusion() -> NDArray[np.float64]:
    truth, decided = ([_CLASSES.index(word) for word in _column(at)] for at in (0, 4))
    return confusion(truth, decided, len(_CLASSES))


def _gains() -> NDArray[np.float64]:
    """What following the classifier (call unless it says op) gains, less what knowing the best hand would."""
    fold, call = (np.array(_STAKES[action], np.float64) for action in ("fold", "call"))
    followed = np.array([fold if said == "op" else call for said in _CLASSES])
    return np.asarray(followed - np.maximum(fold, call))


def _evaluation() -> Iterator[Cell]:
    counts = _confusion()
    yield recomputed("accuracy of Pcl", 0.6, float(np.trace(counts) / counts.sum()), digits=1, note="12 of 20")
    loss = Loss.of(_gains(), _CLASSES, utility=True).of_classifier(counts, utility=True)
    yield recomputed("expected loss of Pcl", -0.4, loss, digits=1, note="the book's sign; as a cost 0.4")


def _matrix(printed: Sequence[Sequence[float]], ours: NDArray[np.float64], digits: int) -> Iterator[Cell]:
    for i, said in enumerate(_CLASSES):
        for j, correct in enumerate(_CLASSES):
            yield recomputed(f"Pcl {said}, BH {correct}", float(printed[i][j]), float(ours[i, j]), digits=digits)


def _counts(feature: str, **known: str) -> NDArray[np.int64]:
    """How often each state of a feature occurs with each class, among the cases with these values.  # (state, class)"""
    table = np.zeros((len(_FEATURES[feature]), len(_CLASSES)), np.int64)
    for case in TABLE_8_1:
        if all(case[_of(name)] == value for name, value in known.items()):
            table[_FEATURES[feature].index(case[_of(feature)]), _CLASSES.index(case[0])] += 1
    return table


def expected_entropy(table: NDArray[np.int64]) -> float:
    """The entropy of the class that remains on average when the feature is known: H(F, C) - H(F).

    >>> expected_entropy(np.array([[2, 0], [1, 1]]))
    0.5
    """
    return entropy(table) - entropy(table.sum(axis=1))


def _entropies() -> Iterator[Cell]:
    zero = _counts("SC")[0]
    yield recomputed("largest entropy of three classes", 1.585, math.log2(3))
    yield recomputed("entropy of BH where SC = 0", 0.918, entropy(zero))
    yield recomputed("its share of E[Ent(SC)]", 0.138, float(zero.sum()) / len(TABLE_8_1) * entropy(zero))
    for feature, printed in _ENTROPIES.items():
        yield recomputed(f"E[Ent({feature})]", printed, expected_entropy(_counts(feature)))


def _least(features: Sequence[str], **known: str) -> str:
    """The feature with the smallest expected entropy: the one that ID3 asks for."""
    return min(features, key=lambda feature: expected_entropy(_counts(feature, **known)))


def _choices() -> Iterator[Cell]:
    for state, printed in _PARTITION.items():
        found = [str(number) for number, value in enumerate(_column(_of("SC")), 1) if value == state]
        yield recomputed(f"cases with SC = {state}", " ".join(map(str, printed)), " ".join(found))
    yield recomputed("cases with MH = no", "4", str(_column(_of("MH")).count("no")))
    yield recomputed("root of the tree", "MH", _least(list(_FEATURES)), note="by the printed entropies as by ours")
    yield recomputed("below MH = no", "SC", _least(["FC", "SC"], MH="no"))


_POKER: Final[dict[str, tuple[str, ...]]] = {
    "FC": ("OH0",),
    "SC": ("OH1",),
    "MH": (),
    "BH": ("OH2", "MH"),
    "OH0": (),
    "OH1": ("OH0", "FC"),
    "OH2": ("OH1", "SC"),
}
"""Figure 8.1, the class BH among the observed variables."""


def _poker() -> Iterator[Cell]:
    """The graph that PC finds with d-separation as its oracle."""
    at = {name: i for i, name in enumerate(_POKER)}
    names = list(_POKER)
    graph = pc_graph(range(4), oracle({at[v]: tuple(at[p] for p in own) for v, own in _POKER.items()}))
    parents = ", ".join(names[v] for v in graph.parents(at["BH"]))
    yield recomputed("parents of BH", "FC, SC, MH", parents, note="figure 8.2, or one of its equivalents")
    others = [f"{names[a]} - {names[b]}" for a, b in graph.edges if graph.undirected(a, b)]
    yield Cell("edges without a direction", None, ", ".join(others), NOT_PRINTED, "either way is equivalent")


def _exercises(cases: LabelledTable) -> Iterator[Cell]:
    """What each classifier answers; the book leaves that to the reader."""
    yield _answered("table look-up (no such case)", Lookup(), cases)
    for name, kind in (("8.2 naive Bayes", NaiveBayes), ("8.3 TAN", TAN)):
        yield _answered(f"{name}, maximum likelihood", kind(smoothing=0.0), cases)
        yield _answered(f"{name}, Bayesian estimates", kind(smoothing=1.0, prior=_laplace(cases)), cases, _roots(kind, cases))
    yield Cell("8.3 tree of the TAN", None, _tree(TAN().fit(cases.features, cases.y)), NOT_PRINTED, "figure 8.4 is a drawing")
    yield _answered("8.4 tree of ID3", ID3(), cases, "; the branch MH = 1a, FC = 1 has no case")


def _laplace(cases: LabelledTable) -> tuple[float, ...]:
    """P(c) with one virtual case for each class."""
    counts = np.bincount(cases.labels) + 1
    return tuple((counts / counts.sum()).tolist())


def _asked() -> Table:
    columns = [
        Column(name, np.array([states.index(_QUESTION[name])]), states, "nominal", declared=True)
        for name, states in _FEATURES.items()
    ]
    return Table(tuple(columns), source="the question", rows=1)


def _answer(classifier: NetworkClassifier, cases: LabelledTable) -> tuple[str, dict[str, float], bool]:
    """The class, the probabilities, and whether every class is impossible."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        fitted = classifier.fit(cases.features, cases.y)
        posterior = fitted.predict_proba(_asked())[0]
    by_class = dict(zip(map(str, fitted.classes_), posterior.tolist(), strict=True))
    impossible = any(issubclass(w.category, ImpossibleEvidenceWarning) for w in told)
    return str(fitted.classes_[posterior.argmax()]), {c: by_class[c] for c in _CLASSES}, impossible


def _answered(name: str, classifier: NetworkClassifier, cases: LabelledTable, more: str = "") -> Cell:
    found, posterior, impossible = _answer(classifier, cases)
    if impossible:
        note = f"every class has probability 0; naivete then warns, and answers {found}, the likeliest of the least impossible"
        return Cell(name, None, "none", NOT_PRINTED, note)
    told = "P = " + ", ".join(f"{c} {p:.3f}" for c, p in posterior.items())
    return Cell(name, None, found, NOT_PRINTED, told + more)


def _roots(kind: Any, cases: LabelledTable) -> str:
    """With virtual cases the root of the tree matters: the answers from the other roots."""
    if kind is not TAN:
        return ""
    answers = [f"{_answer(TAN(root=root, prior=_laplace(cases)), cases)[0]} from {root}" for root in ("FC", "SC")]
    return f"; root MH, and {' and '.join(answers)}"


def _tree(classifier: NetworkClassifier) -> str:
    names = classifier.network_.name
    return ", ".join(f"{names(a)} - {names(b)}" for a, b in classifier.network_.arcs)


def _remarks(sheets: Sequence[Sheet]) -> Iterator[Remark]:
    for cell in (cell for sheet in sheets for cell in sheet.cells if cell.verdict == MISPRINT):
        yield Remark("misprint", f"{cell.name}: the book has {cell.printed}, its own table 8.1 gives {cell.ours:.3f}.")
    yield Remark(
        "misprint", "Both misprints leave the order of the three features, and so the root MH, as it is; the parts of E[Ent(SC)] "
        "that the book shows on the way (0.918 and 0.138) are right."
    )  # fmt: skip
    yield Remark(
        "exercise 8.3",
        "By maximum likelihood the tree has no answer: no case with MH = 1a has FC = 1, and none with MH = 1a is a draw, so that "
        "every class has probability 0. That is what virtual cases are for.",
    )
    yield Remark(
        "not comparable",
        "Figures 8.4, 8.6 and 8.7 are drawings, and exercise 8.5 asks about a table of another chapter; Bayesian estimates here "
        "are one virtual case for each parameter.",
    )
    yield from hidden_remarks()


def _summary(sheets: Sequence[Sheet]) -> str:
    verdicts = [cell.verdict for sheet in sheets for cell in sheet.cells if cell.printed is not None]
    misprints = verdicts.count(MISPRINT)
    return f"{verdicts.count(REPRODUCED)} of {len(verdicts)} printed figures reproduced, {misprints} misprints"
