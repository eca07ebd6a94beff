"""The breast cancer table of Barrow (2011), section 3.5: the printed matrices, correct classifiers, and the listing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import combinations
from typing import Any, Final

import numpy as np
from sklearn.base import clone

from naivete import Counts, DataError, Encoder, Full, KNaive, NaiveBayes, Network, NetworkClassifier
from naivete.evaluation import LabelledTable, Result, cross_validate
from naivete.learners.knaive import knaive_on
from studies.barrow_2011.claims import one_more_division, over_folds
from studies.barrow_2011.listing import Listing, accuracy, f1, listing_f, listing_matrix
from studies.barrow_2011.weights import ThesisKNaive
from studies.data_sets import Size, data_set
from studies.results import Cell, Sheet, toml
from studies.verdicts import MISPRINT, NOT_PRINTED, NOT_REPRODUCED, NOT_RUN, REPRODUCED, Numbers

__all__ = ["Holding", "cancer_cases", "cancer_sheets", "models", "printed_sheet"]

PRINTED: Final = toml(__file__, "printed.toml")
MATRICES: Final = {name: np.array(values["matrix"], np.float64) for name, values in PRINTED["classifiers"].items()}
SIZE: Final = Size(*PRINTED["size"])
FOLDS: Final = PRINTED["folds"]
NAIVE: Final = (0, 4, 5)
"""Radius, smoothness and compactness, which are naive in the thesis."""
NORMAL: Final = Encoder(numbers="normal", kinds="numeric", keep=True)
READINGS: Final[Mapping[str, KNaive]] = {
    "logs given those before": KNaive(encoder=NORMAL),
    "logs given those before, shrunk": KNaive(encoder=NORMAL, shrinkage="ledoit-wolf"),
    "logs given all others": ThesisKNaive(encoder=NORMAL),
    "ratios given all others": ThesisKNaive(encoder=NORMAL, ratios=True),
    "ratios given all others, shrunk": ThesisKNaive(encoder=NORMAL, ratios=True, shrinkage="ledoit-wolf"),
}
"""What a weight may be: the listing has logarithms given all others, definition 2.2.3 ratios."""


class Holding(NetworkClassifier):
    """The weakly naive classifier with given naive features."""

    densities = ("normal",)

    def __init__(self, *, held: Collection[int] = (), smoothing: Any = 1.0, encoder: Encoder | None = None) -> None:
        super().__init__(smoothing=smoothing, encoder=encoder)
        self.held = held

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        settings: dict[str, Any] = {"max_parents": None, "shared": False, "shrinkage": 0.0, "prior": None}
        return knaive_on(counts, self.held, strongly_naive=False, smoothing=self.smoothing, **settings), {}


def models() -> dict[str, tuple[str, Any]]:
    """Return the classifiers, each with the name of the printed one that it stands for."""
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
        "radius, smoothness, compactness naive": (weak, Holding(held=NAIVE, encoder=NORMAL)),
    }


def cancer_cases() -> LabelledTable:
    """Return the breast cancer data."""
    return data_set(PRINTED["file"], SIZE)


def printed_sheet() -> Sheet:
    """Check the printed matrices and F scores against each other."""
    return Sheet("Section 3.5: the printed matrices and F scores", tuple(_printed_cells()), 3)


def _printed_cells() -> Iterator[Cell]:
    for name, matrix in MATRICES.items():
        total, printed = int(matrix.sum()), PRINTED["classifiers"][name]["F"]
        note = "ten folds of 56 leave nine cases out" + ("" if total == 560 else ", and four more are missing")
        yield Cell(f"{name}: cases", f"{SIZE.rows}", f"{total}", MISPRINT, note)
        scores = {
            "F of benign": f1(matrix, 0),
            "F of malignant": f1(matrix, 1),
            "the listing's of benign": listing_f(matrix, 0),
            "the listing's of malignant": listing_f(matrix, 1),
        }
        fitting = [formula for formula, score in scores.items() if f"{score:.3f}" == f"{printed:.3f}"]
        note = ", ".join(f"{formula} {score:.3f}" for formula, score in scores.items())
        yield Cell(f"{name}: F", printed, fitting[0] if fitting else "none fits", REPRODUCED if fitting else MISPRINT, note)
        yield Cell(f"{name}: accuracy", None, accuracy(matrix), NOT_PRINTED)


def cancer_sheets(cases: LabelledTable, divisions: int, seed: int, progress: Callable[[str], None]) -> Iterator[Sheet]:
    """Compare the printed table with correct classifiers and with the listing.

    Parameters
    ----------
    cases : the breast cancer data.
    divisions : how many times they are divided into ten folds.
    seed : the seed of the divisions.
    progress : called after every fold, and after every division by the listing.
    """
    title = f"Section 3.5: breast cancer ({SIZE}), {divisions} times {FOLDS} folds"
    classifiers = {name: model for name, (_, model) in models().items()}
    runs = [cross_validate(classifiers, cases, folds=FOLDS, random_state=seed + i, progress=progress) for i in range(divisions)]
    results = {name: [next(result for result in run if result.model == name) for run in runs] for name in classifiers}
    cells = [
        cell
        for name, (printed, _) in models().items()
        for cell in _matrix_cells(name, MATRICES[printed], [result.confusion for result in results[name]])
    ]
    yield Sheet(title, tuple(cells), 1, differences=True)
    yield Sheet("Section 3.5: which is better, points of accuracy", tuple(_claims(results)), 2)
    yield Sheet("Section 3.5: the naive attributes", tuple(_naive_sets(cases)))
    yield Sheet("The listing of the appendix, run unchanged", tuple(_listing_cells(cases, divisions, seed, progress)), 1)


def _matrix_cells(name: str, printed: Numbers, ours: list[Numbers]) -> Iterator[Cell]:
    """Compare accuracy and the recall of both classes, in per cent; the mean matrix and the F scores become a note."""
    mean = np.mean(ours, axis=0)
    scores = f"F {f1(mean, 0):.3f} and {f1(mean, 1):.3f}, the listing's {listing_f(mean, 0):.3f} and {listing_f(mean, 1):.3f}"
    note = f"{_matrix_text(mean)}, printed {_matrix_text(printed)}; {scores}"
    accuracies = [100 * accuracy(matrix) for matrix in (printed, *ours)]
    yield one_more_division(f"{name}: accuracy", accuracies[0], np.array(accuracies[1:]), note)
    for c, label in enumerate(("benign", "malignant")):
        recalls = [100 * float(matrix[c, c] / matrix[c].sum()) for matrix in (printed, *ours)]
        yield one_more_division(f"{name}: recall of {label}", recalls[0], np.array(recalls[1:]))


def _matrix_text(matrix: Numbers) -> str:
    """Return a matrix as text.

    >>> _matrix_text(np.array([[342.0, 14.0], [56.0, 148.2]]))
    '[342, 14; 56, 148]'
    """
    return "[" + "; ".join(", ".join(f"{n:.0f}" for n in row) for row in matrix.tolist()) + "]"


def _claims(results: Mapping[str, list[Result]]) -> Iterator[Cell]:
    scores = {name: 100 * np.concatenate([result.accuracies for result in runs]) for name, runs in results.items()}
    for name, (printed_name, _) in models().items():
        for base in ("naive Bayes", "full"):
            printed_base = models()[base][0]
            if printed_name != printed_base and name != "naive Bayes" and (scores[name] != scores[base]).any():
                printed = 100 * (accuracy(MATRICES[printed_name]) - accuracy(MATRICES[printed_base]))
                yield over_folds(f"{name} minus {base}", printed, scores[name] - scores[base], FOLDS)


def _short_names(cases: LabelledTable) -> list[str]:
    return [str(column.name).removeprefix("mean_").replace("_", " ") for column in cases.features.columns]


def _naive_sets(cases: LabelledTable) -> Iterator[Cell]:
    """Return the naive attributes by each reading, and the rank of the printed set among all of its size."""
    names, printed = _short_names(cases), ", ".join(PRINTED["naive_attributes"])
    for text, reading in READINGS.items():
        for k in (None, len(NAIVE)):
            name = f"{'any size' if k is None else f'k = {k}'}: {text}"
            try:
                model = clone(reading).set_params(k=k).fit(cases.features, cases.y)
            except DataError:
                yield Cell(name, printed, None, NOT_RUN, "a ratio of derivatives exceeds the range of floating point numbers")
                continue
            first = "" if "all" in text else "; and the first attribute of the network, which has no parents and weight 0"
            note = f"weight {model.weight_:.3g} bits" + (f"; {_rank(model.weights_[:, 0])}" if k else first)
            verdict = REPRODUCED if tuple(model.naive_) == NAIVE else NOT_REPRODUCED
            yield Cell(name, printed, ", ".join(names[x] for x in model.naive_), verdict, note)


def _rank(weights: Numbers) -> str:
    """Return the rank of the printed set among all of its size, as a note."""
    sums = {chosen: abs(weights[list(chosen)].sum()) for chosen in combinations(range(len(weights)), len(NAIVE))}
    rank = 1 + sum(weight < sums[NAIVE] for weight in sums.values())
    return f"the printed set has weight {sums[NAIVE]:.2f}, rank {rank} of {len(sums)}"


def _listing_cells(cases: LabelledTable, divisions: int, seed: int, progress: Callable[[str], None]) -> Iterator[Cell]:
    """Run the programs of the appendix on the same cases; benign is class 0 as in the printed matrices."""
    X = np.column_stack([column.values for column in cases.features.columns]).astype(np.float64)
    labels = (cases.labels == cases.classes.tolist().index("malignant")).astype(np.int64)
    programs: dict[str, Any] = {
        "naive Bayes": Listing.naive,
        "full Bayes": Listing.full,
        "k-weakly naive": lambda listing, rows: listing.k_naive(rows, listing.chosen(), strongly_naive=True),
    }
    for name, predict in programs.items():
        ours = []
        for i in range(divisions):
            ours.append(listing_matrix(X, labels, predict, seed=seed + i))
            progress(f"the listing, {name}")
        yield from _matrix_cells(name, MATRICES[name], ours)
        if name == "full Bayes":
            yield from _matrix_cells("full Bayes beside the printed naive Bayes", MATRICES["naive Bayes"], ours)
    names, chosen = _short_names(cases), Listing.learned(X, labels).chosen()
    verdict = REPRODUCED if chosen == NAIVE else NOT_REPRODUCED
    yield Cell("naive attributes", ", ".join(PRINTED["naive_attributes"]), ", ".join(names[x] for x in chosen), verdict)
