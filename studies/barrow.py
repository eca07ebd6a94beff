"""Barrow (2011): naive, full and k-naive Bayes on generated data and on breast cancer, and what the thesis says, tested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from naivete.evaluation import Progress
from studies.barrow_cancer import FILE, FOLDS, PRINTED, SIZE, cancer_sheets, models, printed_sheet
from studies.barrow_domains import MODERATE, Drawing, Strength, Study, study
from studies.barrow_remarks import remarks, told_about
from studies.barrow_sheets import NEAR, SIZES, SPARSE, figures, sheets, strength_cells
from studies.data_sets import data_set, folder_of, local
from studies.langley_claims import NOT_REPRODUCED, UNDECIDED
from studies.verdicts import REPRODUCED, Reproduction, Sheet

__all__ = ["barrow_2011", "drawings", "steps"]

_TITLE: Final = (
    "L. Barrow (2011), A method for automatically generating network structure in Bayesian classifiers: sections 3.2 to 3.5"
)
_OTHERS: Final = "Other ways to generate the data: slopes against |balance| ({} data sets each)"
STRENGTHS: Final = {
    "dependence of any strength": Strength(loadings=(0.0, 0.95)),
    "strong dependence": Strength(loadings=(0.85, 0.95)),
    "classes that overlap more": Strength(separations=(0.6, 1.0)),
    "classes further apart": Strength(separations=(1.8, 2.4)),
}
"""Other ways to generate what the thesis describes."""
_ROWS: Final = (150, 300)
_AT_ONCE: Final = 20


class Settings(NamedTuple):
    """How much is run.

    Parameters
    ----------
    sets, near, few : data sets of all balances, of those near zero, and of each number of cases of section 3.4.
    other : data sets that are generated in each other way.
    divisions : of the breast cancer data.
    """

    sets: int
    near: int
    few: int
    other: int
    divisions: int


USUAL: Final = Settings(600, 300, 50, 150, 10)
QUICK: Final = Settings(60, 20, 6, 15, 2)


def drawings(how: Settings, seed: int = 0) -> dict[str, Drawing]:
    """The data sets of all balances, those near zero, those of few cases, and those that are generated in other ways."""
    sizes = tuple((size, size) for size in SIZES for _ in range(how.few))
    return {
        "balance": _spread(1.0, how.sets, (seed, 1)),
        "near zero": _spread(NEAR, how.near, (seed, 2)),
        "few cases": Drawing((SPARSE,) * len(sizes), sizes, range(len(sizes)), (seed, 3)),
        **{name: _spread(1.0, how.other, (seed, 4, i), own) for i, (name, own) in enumerate(STRENGTHS.items())},
    }


def _spread(most: float, count: int, seed: tuple[int, ...], strength: Strength = MODERATE) -> Drawing:
    """Data sets whose balances are spread evenly up to the largest."""
    return Drawing(tuple(np.linspace(-most, most, count).tolist()), (_ROWS,) * count, range(count), seed, strength)


def steps(*, quick: bool = False, data: str | Path | None = None) -> int:
    """How many times `barrow_2011` tells its progress, which depends on whether the data set is there."""
    how = QUICK if quick else USUAL
    generated = sum(len(list(own.parts(_AT_ONCE))) for own in drawings(how).values())
    return generated + (how.divisions * (len(models()) * FOLDS + len(PRINTED)) if local(FILE, folder_of(data)) else 0)


def barrow_2011(
    *, seed: int = 0, quick: bool = False, data: str | Path | None = None, progress: Progress | None = None
) -> Reproduction:
    """The scatter plots of Barrow (2011) drawn anew, what the thesis sees in them tested, and its table of breast cancer.

    Parameters
    ----------
    seed : the seed of the data sets and of the folds.
    quick : few data sets and divisions.
    data : the folder of the data sets; by default that of NAIVETE_DATA. Without `wdbc-mean10` its table is not run.
    progress : is told of every twenty data sets, of every fold of the breast cancer data, and of every division by the listing.

    References
    ----------
    Barrow (2011), A method for automatically generating network structure in Bayesian classifiers, sections 3.2 to 3.5 and the
    appendix.
    """
    how, folder = QUICK if quick else USUAL, folder_of(data)
    cases = data_set(FILE, SIZE, folder=folder) if local(FILE, folder) else None
    studies = _studied(drawings(how, seed), progress, jobs=1 if quick else 2)
    generated = tuple(sheets(studies["balance"], studies["near zero"], studies["few cases"]))
    others = tuple(cell for name in STRENGTHS for cell in strength_cells(name, studies[name]))
    cancer = tuple(cancer_sheets(cases, divisions=how.divisions, seed=seed, progress=progress))
    found = (*generated, Sheet(_OTHERS.format(how.other), others, 2), printed_sheet(), *cancer)
    told = told_about(seed, how.sets, how.few, how.divisions, quick)
    drawn = tuple(figures(studies["balance"], studies["few cases"]))
    summary = _summary(generated, cancer)
    return Reproduction("barrow-2011", _TITLE, tuple(told), found, (), tuple(remarks()), summary, figures=drawn)


def _studied(given: Mapping[str, Drawing], progress: Progress | None, jobs: int) -> dict[str, Study]:
    """How all classifiers do on the data sets of each drawing, by two processes where that is worth their start."""
    from joblib import Parallel, cpu_count, delayed, parallel_config  # type: ignore[import-untyped]

    tasks = [(name, part) for name, own in given.items() for part in own.parts(_AT_ONCE)]
    found: dict[str, list[Study]] = {name: [] for name in given}
    with parallel_config(backend="loky", inner_max_num_threads=1):
        work = Parallel(min(jobs, cpu_count()), return_as="generator")(delayed(study)(part) for _, part in tasks)
        for (name, part), own in zip(tasks, work, strict=True):
            found[name].append(own)
            if progress is not None:
                progress(f"{name}, {part.places.stop} data sets")
    return {name: parts[0].joined(parts[1:]) for name, parts in found.items()}


def _summary(generated: Sequence[Sheet], cancer: Sequence[Sheet]) -> str:
    told = f"sections 3.2 to 3.4: {_counted(generated)}"
    if len(cancer) == 1:
        return f"{told}; section 3.5: breast cancer not run"
    return f"{told}; section 3.5: {_counted(cancer[1:2])}"


def _counted(some: Sequence[Sheet]) -> str:
    verdicts = [cell.verdict for sheet in some for cell in sheet.cells]
    counts = [verdicts.count(verdict) for verdict in (REPRODUCED, NOT_REPRODUCED, UNDECIDED)]
    return f"{counts[0]} of {sum(counts)} claims reproduced, {counts[1]} not, {counts[2]} undecided"
