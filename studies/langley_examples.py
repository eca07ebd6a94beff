"""Langley's example of cells, figures 1 and 2, and the parity concepts of his section 6."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from naivete.classifiers.augmented import NaiveBayes
from naivete.classifiers.naive_variants import Recursive
from naivete.evaluation.statistics import paired_t
from naivete.network.derived_columns import Hierarchy
from studies.langley_claims import interval
from studies.langley_domains import CELL_FEATURES, SMOOTHING, cells, levels, parity_accuracies
from studies.verdicts import NOT_PRINTED, Cell, Sheet, recomputed

__all__ = ["cell_sheets", "parity_sheet"]


def cell_sheets() -> list[Sheet]:
    """Figures 1 and 2."""
    return [
        Sheet("Figure 1: twelve cells, which are ours", tuple(_figure_1()), 0),
        Sheet("Figure 2: the hierarchy for these cells", tuple(_figure_2())),
    ]


def parity_sheet(seed: int, pairs: int) -> Sheet:
    """What becomes of parity, which section 6 has as a limit of the recursive classifier.

    Parameters
    ----------
    seed : of the random halves.
    pairs : how many of them.
    """
    title = "Section 6: parity of five bits among ten; one half of the 1024 cases learned, tested on the other"
    return Sheet(title, tuple(_parity(seed, pairs)))


def _figure_1() -> Iterator[Cell]:
    X, y = cells()
    said = NaiveBayes(smoothing=SMOOTHING).fit(X, y).predict(X).tolist()
    wrong = [f"{true} given {given}" for true, given in zip(y, said, strict=True) if true != given]
    yield recomputed("errors of naive Bayes", "2 healthy given lethargia", _counted(wrong))
    clusters = [_counted([true for true, given in zip(y, said, strict=True) if given == cluster]) for cluster in sorted(set(y))]
    yield recomputed("clusters of more than one class", "5 lethargia, 2 healthy", "; ".join(c for c in clusters if "," in c))
    plain = Recursive(smoothing=SMOOTHING, refit=False).fit(X, y).network_
    yield recomputed("levels of the hierarchy", 2.0, float(levels(plain)), digits=0)
    yield recomputed("times that it recurses", 1.0, float(plain.variables[-2].card - 1), digits=0)
    answers = Recursive(smoothing=SMOOTHING).fit(X, y).predict(X)
    yield recomputed("errors of the hierarchy", 0.0, float(np.sum(answers != y)), digits=0)


def _counted(words: list[str]) -> str:
    """
    >>> _counted(["a", "b", "b"])
    '2 b, 1 a'
    """
    often = sorted(set(words), key=lambda word: (-words.count(word), word))
    return ", ".join(f"{words.count(word)} {word}" for word in often)


def _figure_2() -> Iterator[Cell]:
    """The summaries by which cases are sent on, and those of the cluster that is divided again."""
    X, y = cells()
    model = Recursive(smoothing=SMOOTHING).fit(X, y)
    network, classes = model.network_, model.classes_.tolist()
    at = len(CELL_FEATURES)
    hierarchy = network.derived[at]
    assert isinstance(hierarchy, Hierarchy)
    mixed = classes.index("lethargia")
    for node, name in ((0, ""), (int(hierarchy.children[0, mixed]), "lethargia: ")):
        for c in np.flatnonzero(np.asarray(network.cpts[-1])[node]).tolist():
            told = [
                f"{feature} {states[-1]} {np.asarray(network.cpts[x])[_second(x, model), node, c]:.2f}"
                for x, (feature, states) in enumerate(CELL_FEATURES.items())
            ]
            rate = float(np.asarray(network.cpts[-1])[node, c])
            yield Cell(f"{name}{classes[c]}", None, f"P = {rate:.2f}; {', '.join(told)}", NOT_PRINTED)


def _second(x: int, model: Recursive) -> int:
    """The code of the second value of a feature."""
    return list(model.network_.variables[x].states).index(list(CELL_FEATURES.values())[x][-1])


def _parity(seed: int, pairs: int) -> Iterator[Cell]:
    """Halves in which no bit tells anything, then random ones."""
    found = parity_accuracies()
    for name, accuracy in found.items():
        printed = None if "split" in name else 50.0
        yield recomputed(f"{name}, balanced halves", printed, accuracy, digits=1)
    drawn = [parity_accuracies(seed + i) for i in range(pairs)]
    for name in found:
        scores = np.array([own[name] for own in drawn])
        yield Cell(f"{name}, random halves", None, interval(scores), NOT_PRINTED, "p: of one half", paired_t(scores - 50).p)
