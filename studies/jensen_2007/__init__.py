"""Jensen and Nielsen (2007), chapter 8: the poker classifier, its confusion and loss, entropies, tree and exercises."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from naivete import Loss, entropy
from naivete.evaluation.measures import confusion, shares
from studies.jensen_2007.models import CASES, PRINTED, cases, exercises, hidden_variable, pc_on_poker, tree
from studies.results import Cell, Options, Reproduction, Sheet, page_text
from studies.verdicts import MISPRINT, REPRODUCED, recomputed

__all__ = ["expected_entropy", "reproduce"]

CLASSES: Final = PRINTED["classes"]
FEATURES: Final = PRINTED["features"]
COLUMN: Final = {name: i for i, name in enumerate(("BH", *FEATURES, "Pcl"))}


def reproduce(options: Options) -> Reproduction:
    """Compare the values of chapter 8 with those that follow from its table 8.1, and answer exercises 8.1 to 8.4.

    References
    ----------
    Jensen and Nielsen (2007), Bayesian networks and decision graphs, sections 8.1 to 8.4 and 8.7.
    """
    options.chosen(())
    train, counts = cases(), _confusion()
    sheets = (
        Sheet("Section 8.2: accuracy and expected loss", tuple(_evaluation(counts)), digits=1),
        Sheet("Table 8.2: P#(classified, correct)", tuple(_matrix(PRINTED["table_8_2"], shares(counts).T, 2)), digits=2),
        Sheet("Table 8.4, from the stakes of table 8.3", tuple(_matrix(PRINTED["table_8_4"], _gains(), 0)), digits=0),
        Sheet("Section 8.4: entropies in bits", tuple(_entropies()), digits=3),
        Sheet("Section 8.4: choices of ID3", tuple(_choices())),
        Sheet("Exercise 8.1: PC on the poker network of figure 8.1; OH0, OH1 and OH2 are hidden", tuple(pc_on_poker())),
        Sheet("Exercises 8.2 to 8.4: the class of MH = 1a, FC = 1, SC = 1", tuple(exercises(train))),
        Sheet("Figure 8.5: a hidden variable between BH and FC, SC", tuple(hidden_variable(train)), digits=3),
        Sheet("Figure 8.7: the tree of ID3", tuple(tree(train))),
    )
    printed = [cell for sheet in sheets for cell in sheet.cells if cell.printed is not None]
    wrong = [cell for cell in printed if cell.verdict == MISPRINT]
    title, about, remarks = page_text(__file__, quick=False)
    misprints = [("misprint", f"{c.name}: the book prints {c.printed}; its own table 8.1 gives {c.ours:.3f}.") for c in wrong]
    right = [cell.verdict for cell in printed].count(REPRODUCED)
    summary = f"{right} of {len(printed)} printed values reproduced, {len(wrong)} misprints"
    return Reproduction("jensen-2007", title, about, sheets, (*misprints, *remarks), summary)


def _values(name: str) -> list[str]:
    return [case[COLUMN[name]] for case in CASES]


def _confusion() -> NDArray[np.float64]:
    truth, decided = ([CLASSES.index(value) for value in _values(name)] for name in ("BH", "Pcl"))
    return confusion(truth, decided, len(CLASSES))


def _gains() -> NDArray[np.float64]:
    """Return what following the classifier (call unless it says op) gains less what knowing the best hand would gain."""
    fold, call = (np.array(PRINTED["stakes"][action], np.float64) for action in ("fold", "call"))
    followed = np.array([fold if decision == "op" else call for decision in CLASSES])
    return np.asarray(followed - np.maximum(fold, call))


def _evaluation(counts: NDArray[np.float64]) -> Iterator[Cell]:
    accuracy = float(np.trace(counts) / counts.sum())
    yield recomputed("accuracy of Pcl", PRINTED["accuracy"], accuracy, digits=1, note="12 of 20")
    loss = Loss.of(_gains(), CLASSES, utility=True).of_classifier(counts, utility=True)
    yield recomputed("expected loss of Pcl", PRINTED["expected_loss"], loss, digits=1, note="the book's sign; as a cost 0.4")


def _matrix(printed: Sequence[Sequence[float]], ours: NDArray[np.float64], digits: int) -> Iterator[Cell]:
    for i, decision in enumerate(CLASSES):
        for j, correct in enumerate(CLASSES):
            yield recomputed(f"Pcl {decision}, BH {correct}", float(printed[i][j]), float(ours[i, j]), digits=digits)


def _counts(feature: str, **fixed: str) -> NDArray[np.int64]:
    """Count the states of a feature by class, among the cases with these values.  # (state, class)"""
    table = np.zeros((len(FEATURES[feature]), len(CLASSES)), np.int64)
    for case in CASES:
        if all(case[COLUMN[name]] == value for name, value in fixed.items()):
            table[FEATURES[feature].index(case[COLUMN[feature]]), CLASSES.index(case[0])] += 1
    return table


def expected_entropy(table: NDArray[np.int64]) -> float:
    """Return the mean entropy of the class given the feature: H(F, C) - H(F).

    >>> expected_entropy(np.array([[2, 0], [1, 1]]))
    0.5
    """
    return entropy(table) - entropy(table.sum(axis=1))


def _entropies() -> Iterator[Cell]:
    zero, printed = _counts("SC")[0], PRINTED["entropies"]
    yield recomputed("largest entropy of three classes", printed["largest"], math.log2(3))
    yield recomputed("entropy of BH where SC = 0", printed["BH_where_SC_is_0"], entropy(zero))
    yield recomputed("its share of E[Ent(SC)]", printed["its_share"], float(zero.sum()) / len(CASES) * entropy(zero))
    for feature in FEATURES:
        yield recomputed(f"E[Ent({feature})]", printed[feature], expected_entropy(_counts(feature)))


def _best(features: Sequence[str], **fixed: str) -> str:
    """Return the feature with the smallest expected entropy, which ID3 tests next."""
    return min(features, key=lambda feature: expected_entropy(_counts(feature, **fixed)))


def _choices() -> Iterator[Cell]:
    for state, printed in PRINTED["partition"].items():
        numbers = [str(number) for number, value in enumerate(_values("SC"), 1) if value == state]
        yield recomputed(f"cases with SC = {state}", printed, " ".join(numbers))
    yield recomputed("cases with MH = no", "4", str(_values("MH").count("no")))
    yield recomputed("root of the tree", "MH", _best(list(FEATURES)), note="by the printed entropies and by ours")
    yield recomputed("below MH = no", "SC", _best(["FC", "SC"], MH="no"))
