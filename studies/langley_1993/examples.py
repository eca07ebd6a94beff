"""Langley's example of cells, figures 1 and 2, and the parity concepts of his section 6."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from naivete import NaiveBayes, Recursive
from naivete.evaluation.statistics import paired_t
from naivete.network.derived_columns import Hierarchy
from studies.langley_1993.domains import CELL_FEATURES, PRINTED, SMOOTHING, cells, levels, parity_accuracies
from studies.results import Cell, Sheet
from studies.verdicts import NOT_PRINTED, interval, recomputed

__all__ = ["cell_sheets", "parity_sheet"]


def cell_sheets() -> list[Sheet]:
    """Return figures 1 and 2."""
    return [
        Sheet("Figure 1: twelve cells, which are ours", tuple(_figure_1()), 0),
        Sheet("Figure 2: the hierarchy for these cells", tuple(_figure_2())),
    ]


def parity_sheet(seed: int, pairs: int) -> Sheet:
    """Return the accuracies on parity, which section 6 calls a limit of the recursive classifier, also for random halves."""
    title = "Section 6: parity of five bits among ten; trained on one half of the 1024 cases, tested on the other"
    return Sheet(title, tuple(_parity(seed, pairs)))


def _figure_1() -> Iterator[Cell]:
    X, y = cells()
    predicted = NaiveBayes(smoothing=SMOOTHING).fit(X, y).predict(X).tolist()
    errors = [f"{truth} as {label}" for truth, label in zip(y, predicted, strict=True) if truth != label]
    yield recomputed("errors of naive Bayes", PRINTED["cells"]["errors"], _counted(errors))
    clusters = [_counted([truth for truth, label in zip(y, predicted, strict=True) if label == c]) for c in sorted(set(y))]
    mixed = "; ".join(cluster for cluster in clusters if "," in cluster)
    yield recomputed("clusters of more than one class", PRINTED["cells"]["mixed"], mixed)
    plain = Recursive(smoothing=SMOOTHING, refit=False).fit(X, y).network_
    yield recomputed("levels of the hierarchy", 2.0, float(levels(plain)), digits=0)
    yield recomputed("number of recursions", 1.0, float(plain.variables[-2].card - 1), digits=0)
    wrong = Recursive(smoothing=SMOOTHING).fit(X, y).predict(X) != y
    yield recomputed("errors of the hierarchy", 0.0, float(np.sum(wrong)), digits=0)


def _counted(words: list[str]) -> str:
    """Return the words with their numbers, the most frequent first.

    >>> _counted(["a", "b", "b"])
    '2 b, 1 a'
    """
    return ", ".join(f"{count} {word}" for word, count in sorted(Counter(words).items(), key=lambda pair: (-pair[1], pair[0])))


def _figure_2() -> Iterator[Cell]:
    """Return the summaries by which cases are assigned to clusters, and those of the cluster that is divided again."""
    X, y = cells()
    model = Recursive(smoothing=SMOOTHING).fit(X, y)
    network, classes = model.network_, model.classes_.tolist()
    cpts = {v: np.asarray(network.cpts[v]) for v in (*range(len(CELL_FEATURES)), -1)}
    hierarchy = network.derived[len(CELL_FEATURES)]
    assert isinstance(hierarchy, Hierarchy)
    for node, name in ((0, ""), (int(hierarchy.children[0, classes.index("lethargia")]), "lethargia: ")):
        for c in np.flatnonzero(cpts[-1][node]).tolist():
            second = [list(network.variables[x].states).index(states[-1]) for x, states in enumerate(CELL_FEATURES.values())]
            rates = [
                f"{feature} {states[-1]} {cpts[x][second[x], node, c]:.2f}"
                for x, (feature, states) in enumerate(CELL_FEATURES.items())
            ]
            yield Cell(f"{name}{classes[c]}", None, f"P = {cpts[-1][node, c]:.2f}; {', '.join(rates)}", NOT_PRINTED)


def _parity(seed: int, pairs: int) -> Iterator[Cell]:
    """Return the accuracies for halves in which no bit is informative, then for random halves."""
    balanced = parity_accuracies()
    for name, accuracy in balanced.items():
        yield recomputed(f"{name}, balanced halves", None if "split" in name else 50.0, accuracy, digits=1)
    drawn = [parity_accuracies(seed + i) for i in range(pairs)]
    for name in balanced:
        scores = np.array([values[name] for values in drawn])
        note = "p: the accuracy is 50 %"
        yield Cell(f"{name}, random halves", None, interval(scores), NOT_PRINTED, note, paired_t(scores - 50).p)
