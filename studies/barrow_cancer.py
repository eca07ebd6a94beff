"""The breast cancer table of Barrow (2011), section 3.5: the printed matrices, correct classifiers, and the listing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import combinations
from typing import Any, Final

import numpy as np
from sklearn.base import clone

from naivete._kernels.codes import Numbers
from naivete.classifiers.augmented import Full, KNaive, NaiveBayes
from naivete.classifiers.base import NetworkClassifier
from naivete.counts.counts import Counts
from naivete.data.labelled_table import LabelledTable
from naivete.encoding.encoder import Encoder
from naivete.errors import DataError
from naivete.evaluation import Progress, Result, cross_validate
from naivete.learners.knaive import knaive_on
from naivete.network.network import Network
from studies.barrow_claims import beside, over_folds
from studies.barrow_listing import Listing, accuracy, f1, listing_f, listing_matrix
from studies.barrow_weights import ThesisKNaive
from studies.data_sets import Size
from studies.langley_claims import NOT_REPRODUCED
from studies.verdicts import MISPRINT, NOT_PRINTED, NOT_RUN, REPRODUCED, Cell, Sheet

__all__ = ["FILE", "HELD", "PRINTED", "SIZE", "cancer_sheets", "models", "printed_sheet"]


FILE: Final = "wdbc-mean10"
SIZE: Final = Size(569, 10, 2)
FOLDS: Final = 10
HELD: Final = (0, 4, 5)
"""Radius, smoothness and compactness, which the thesis holds naive."""
NORMAL: Final = Encoder(numbers="normal", kinds="numeric")
PRINTED: Final[Mapping[str, tuple[Numbers, float]]] = {
    "naive Bayes": (np.array([[342.0, 14.0], [56.0, 148.0]]), 0.878),
    "full Bayes": (np.array([[232.0, 120.0], [10.0, 198.0]]), 0.772),
    "k-weakly naive": (np.array([[333.0, 14.0], [24.0, 185.0]]), 0.919),
}
"""The matrices, true classes as rows, benign first, and the F scores."""
READINGS: Final[Mapping[str, KNaive]] = {
    "logs given those before": KNaive(encoder=NORMAL),
    "logs given those before, shrunk": KNaive(encoder=NORMAL, shrinkage="ledoit-wolf"),
    "logs given all others": ThesisKNaive(encoder=NORMAL),
    "ratios given all others": ThesisKNaive(encoder=NORMAL, ratios=True),
    "ratios given all others, shrunk": ThesisKNaive(encoder=NORMAL, ratios=True, shrinkage="ledoit-wolf"),
}
"""What a weight may be: the listing has logarithms given all others, definition 2.2.3 ratios."""


class Holding(NetworkClassifier):
    """The weakly naive classifier with given features held naive."""

    densities = ("normal",)

    def __init__(self, *, held: Collection[int] = (), smoothing: Any = 1.0, encoder: Encoder | None = None) -> None:
        super().__init__(smoothing=smoothing, encoder=encoder)
        self.held = held

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        how: dict[str, Any] = {"max_parents": None, "shared": False, "shrinkage": 0.0, "prior": None}
        return knaive_on(counts, self.held, strong=False, smoothing=self.smoothing, **how), {}


def models() -> dict[str, tuple[str, Any]]:
    """The classifiers, each with the name of the printed one that it stands for."""
    weak = "k-weakly naive"
    return {
        "naive Bayes": ("naive Bayes", NaiveBayes(encoder=NORMAL)),
        "full": ("full Bayes", Full(encoder=NORMAL)),
        "full, Ledoit and Wolf": ("full Bayes", Full(encoder=NORMAL, shrinkage="ledoit-wolf")),
        "KNaive, any size": (weak, KNaive(encoder=NORMAL)),
        "KNaive, any size, given all others": (weak, READINGS["logs given all others"]),
        "KNaive, k = 3": (weak, KNaive(k=3, encoder=NORMAL)),
        "KNaive, k = 3, ratios given all others, shrunk": (
            weak,
            ThesisKNaive(k=3, encoder=NORMAL, ratios=True, shrinkage="ledoit-wolf"),
        ),
        "radius, smoothness, compactness held": (weak, Holding(held=HELD, encoder=NORMAL)),
    }


def printed_sheet() -> Sheet:
    """What the printed matrices say about themselves."""
    return Sheet("Section 3.5: the printed matrices and F scores", tuple(_printed_cells()), 3)


def _printed_cells() -> Iterator[Cell]:
    for name, (matrix, f) in PRINTED.items():
        total = int(matrix.sum())
        told = "ten folds of 56 leave nine cases out" + ("" if total == 560 else ", and four more are missing")
        yield Cell(f"{name}: cases", f"{SIZE.rows}", f"{total}", MISPRINT, told)
        found = {
            "F of benign": f1(matrix, 0),
            "F of malignant": f1(matrix, 1),
            "the listing's of benign": listing_f(matrix, 0),
            "the listing's of malignant": listing_f(matrix, 1),
        }
        fits = [what for what, own in found.items() if f"{own:.3f}" == f"{f:.3f}"]
        told = ", ".join(f"{what} {own:.3f}" for what, own in found.items())
        yield Cell(f"{name}: F", f, fits[0] if fits else "none fits", REPRODUCED if fits else MISPRINT, told)
        yield Cell(f"{name}: accuracy", None, accuracy(matrix), NOT_PRINTED)


def cancer_sheets(
    cases: LabelledTable | None, *, divisions: int, seed: int = 0, progress: Progress | None = None
) -> Iterator[Sheet]:
    """Correct classifiers, the sets that they hold naive, and the listing, each beside what is printed.

    Parameters
    ----------
    cases : the data set; None where it is absent.
    divisions : how many times it is divided into ten folds.
    seed : the seed of those.
    progress : is told of every fold, and of every division by the listing.
    """
    title = f"Section 3.5: breast cancer ({SIZE}), {divisions} times {FOLDS} folds"
    if cases is None:
        yield Sheet(title, (Cell("all", None, None, NOT_RUN, f"{FILE}.arff.gz is not in the folder of data sets"),))
        return
    own = {name: model for name, (_, model) in models().items()}
    results = [cross_validate(own, cases, folds=FOLDS, random_state=seed + at, progress=progress) for at in range(divisions)]
    found = {name: [next(r for r in division if r.model == name) for division in results] for name in own}
    yield Sheet(title, tuple(_cells(found)), 1, differences=True)
    yield Sheet("Section 3.5: which is better, points of accuracy", tuple(_claims(found)), 2)
    yield Sheet("Section 3.5: the attributes held naive", tuple(_sets(cases)))
    yield Sheet("The listing of the appendix, run as it stands", tuple(_listing_cells(cases, divisions, seed, progress)), 1)


def _cells(found: Mapping[str, list[Result]]) -> Iterator[Cell]:
    for name, (printed, _) in models().items():
        yield from _beside(name, PRINTED[printed][0], [result.confusion.T for result in found[name]])


def _beside(name: str, printed: Numbers, ours: list[Numbers]) -> Iterator[Cell]:
    """Accuracy, and what is found of both classes, in per cent; the mean matrix and the F scores as a note."""
    mean = np.mean(ours, axis=0)
    fs = f"F {f1(mean, 0):.3f} and {f1(mean, 1):.3f}, the listing's {listing_f(mean, 0):.3f} and {listing_f(mean, 1):.3f}"
    note = f"{_told(mean)}, printed {_told(printed)}; {fs}"
    yield beside(f"{name}: accuracy", 100 * accuracy(printed), np.array([100 * accuracy(own) for own in ours]), note)
    for c, called in enumerate(("benign", "malignant")):
        recall = [100 * float(own[c, c] / own[c].sum()) for own in (printed, *ours)]
        yield beside(f"{name}: {called} found", recall[0], np.array(recall[1:]))


def _told(matrix: Numbers) -> str:
    """
    >>> _told(np.array([[342.0, 14.0], [56.0, 148.2]]))
    '[342, 14; 56, 148]'
    """
    return "[" + "; ".join(", ".join(f"{n:.0f}" for n in row) for row in matrix.tolist()) + "]"


def _claims(found: Mapping[str, list[Result]]) -> Iterator[Cell]:
    scores = {name: 100 * np.concatenate([result.accuracies for result in own]) for name, own in found.items()}
    for name, (called, _) in models().items():
        for base in ("naive Bayes", "full"):
            less = models()[base][0]
            if called != less and name != "naive Bayes" and (scores[name] != scores[base]).any():
                printed = 100 * (accuracy(PRINTED[called][0]) - accuracy(PRINTED[less][0]))
                yield over_folds(f"{name} less {base}", printed, scores[name] - scores[base], FOLDS)


def _sets(cases: LabelledTable) -> Iterator[Cell]:
    """The set of each reading, and where the printed one stands among all of three."""
    short = [str(column.name).removeprefix("mean_").replace("_", " ") for column in cases.features.columns]
    printed = ", ".join(short[x] for x in HELD)
    for told, reading in READINGS.items():
        for k in (None, len(HELD)):
            name = f"{'any size' if k is None else f'k = {k}'}: {told}"
            try:
                model = clone(reading).set_params(k=k).fit(cases.features, cases.y)
            except DataError:
                yield Cell(name, printed, None, NOT_RUN, "a ratio of derivatives is beyond the numbers of the machine")
                continue
            note = f"weight {model.weight_:.3g} bits" + (f"; {_place(model.weights_[:, 0])}" if k else _root(told))
            verdict = REPRODUCED if tuple(model.naive_) == HELD else NOT_REPRODUCED
            yield Cell(name, printed, ", ".join(short[x] for x in model.naive_), verdict, note)


def _root(told: str) -> str:
    return "" if "all" in told else "; beside the first of the network, which has no parents and weighs nothing"


def _place(weights: Numbers) -> str:
    """Where the printed set stands among all of its size."""
    away = {held: abs(weights[list(held)].sum()) for held in combinations(range(len(weights)), len(HELD))}
    return f"the printed set weighs {away[HELD]:.2f}, place {1 + sum(own < away[HELD] for own in away.values())} of {len(away)}"


def _listing_cells(cases: LabelledTable, divisions: int, seed: int, progress: Progress | None) -> Iterator[Cell]:
    """The programs of the appendix on the same cases, benign being class 0 as in the printed matrices."""
    X = np.column_stack([column.values for column in cases.features.columns]).astype(np.float64)
    labels = (cases.labels == cases.classes.tolist().index("malignant")).astype(np.int64)
    programs: dict[str, Any] = {
        "naive Bayes": Listing.naive,
        "full Bayes": Listing.full,
        "k-weakly naive": lambda own, rows: own.k_naive(rows, own.chosen(), strong=True),
    }
    for name, said in programs.items():
        ours = []
        for at in range(divisions):
            ours.append(listing_matrix(X, labels, said, seed=seed + at))
            if progress is not None:
                progress(f"the listing, {name}")
        yield from _beside(name, PRINTED[name][0], ours)
        if name == "full Bayes":
            yield from _beside("full Bayes beside the printed naive Bayes", PRINTED["naive Bayes"][0], ours)
    short = [str(column.name).removeprefix("mean_").replace("_", " ") for column in cases.features.columns]
    held = Listing.learned(X, labels).chosen()
    verdict = REPRODUCED if held == HELD else NOT_REPRODUCED
    yield Cell("attributes held naive", ", ".join(short[x] for x in HELD), ", ".join(short[x] for x in held), verdict)
