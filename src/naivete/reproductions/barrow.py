"""Barrow (2011): naive, full and k-naive Bayes on generated data and on breast cancer, and what the thesis says, tested."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from naivete.experiments import Progress
from naivete.reproductions.barrow_cancer import FILE, FOLDS, PRINTED, SIZE, cancer_sheets, models, printed_sheet
from naivete.reproductions.barrow_domains import Drawing, Study, study
from naivete.reproductions.barrow_remarks import remarks, told_about
from naivete.reproductions.barrow_sheets import NEAR, SIZES, SPARSE, figures, sheets
from naivete.reproductions.data_sets import data_set, folder_of, local
from naivete.reproductions.langley_claims import NOT_REPRODUCED
from naivete.reproductions.verdicts import INSIDE, MISPRINT, NOT_RUN, REPRODUCED, Reproduction, Sheet

__all__ = ["barrow_2011", "drawings", "steps"]

_TITLE: Final = (
    "L. Barrow (2011), A method for automatically generating network structure in Bayesian classifiers: sections 3.2 to 3.5"
)
_ROWS: Final = (150, 300)
_AT_ONCE: Final = 10


class Settings(NamedTuple):
    """How much is run.

    Parameters
    ----------
    sets, near, few : data sets of all balances, of those near zero, and of each number of cases of section 3.4.
    divisions : of the breast cancer data.
    """

    sets: int
    near: int
    few: int
    divisions: int


USUAL: Final = Settings(300, 150, 30, 10)
QUICK: Final = Settings(40, 10, 4, 2)


def drawings(how: Settings, seed: int = 0) -> tuple[Drawing, Drawing, Drawing]:
    """The data sets of all balances, those near zero, and those of few cases."""
    balances = [tuple(np.linspace(-most, most, count).tolist()) for most, count in ((1.0, how.sets), (NEAR, how.near))]
    sizes = tuple((size, size) for size in SIZES for _ in range(how.few))
    return (
        Drawing(balances[0], (_ROWS,) * how.sets, range(how.sets), (seed, 1)),
        Drawing(balances[1], (_ROWS,) * how.near, range(how.near), (seed, 2)),
        Drawing((SPARSE,) * len(sizes), sizes, range(len(sizes)), (seed, 3)),
    )


def steps(*, quick: bool = False) -> int:
    """How many times `barrow_2011` tells its progress, where it has the data set."""
    how = QUICK if quick else USUAL
    generated = sum(len(list(own.parts(_AT_ONCE))) for own in drawings(how))
    return generated + how.divisions * (len(models()) * FOLDS + len(PRINTED))


def barrow_2011(
    *, seed: int = 0, quick: bool = False, data: str | Path | None = None, progress: Progress | None = None
) -> Reproduction:
    """The scatter plots of Barrow (2011) drawn anew, what the thesis sees in them tested, and its table of breast cancer.

    Parameters
    ----------
    seed : the seed of the data sets and of the folds.
    quick : few data sets and divisions.
    data : the folder of the data sets; by default that of NAIVETE_DATA. Without `wdbc-mean10` its table is not run.
    progress : is told of every ten data sets, and of every fold of the breast cancer data.

    References
    ----------
    Barrow (2011), A method for automatically generating network structure in Bayesian classifiers, sections 3.2 to 3.5 and the
    appendix.
    """
    how, folder = QUICK if quick else USUAL, folder_of(data)
    cases = data_set(FILE, SIZE, folder=folder) if local(FILE, folder) else None
    sweep, near, sparse = _studied(drawings(how, seed), progress, jobs=1 if quick else 2)
    found = (
        *sheets(sweep, near, sparse),
        printed_sheet(),
        *cancer_sheets(cases, divisions=how.divisions, seed=seed, progress=progress),
    )
    told = told_about(seed, how.sets, how.few, how.divisions, quick)
    drawn = tuple(figures(sweep, sparse))
    return Reproduction("barrow-2011", _TITLE, tuple(told), found, (), tuple(remarks()), _summary(found), figures=drawn)


def _studied(given: Sequence[Drawing], progress: Progress | None, jobs: int) -> Iterator[Study]:
    """How all classifiers do on the data sets of each drawing, by two processes where that is worth their start."""
    from joblib import Parallel, cpu_count, delayed, parallel_config  # type: ignore[import-untyped]

    tasks = [(i, part) for i, own in enumerate(given) for part in own.parts(_AT_ONCE)]
    found: list[list[Study]] = [[] for _ in given]
    with parallel_config(backend="loky", inner_max_num_threads=1):
        work = Parallel(min(jobs, cpu_count()), return_as="generator")(delayed(study)(part) for _, part in tasks)
        for (i, part), own in zip(tasks, work, strict=True):
            found[i].append(own)
            if progress is not None:
                progress(f"{('balance', 'near zero', 'few cases')[i]}, {part.places.stop} data sets")
    return (parts[0].joined(parts[1:]) for parts in found)


def _summary(found: Sequence[Sheet]) -> str:
    verdicts = [cell.verdict for sheet in found for cell in sheet.cells if cell.printed is not None]
    fine = verdicts.count(REPRODUCED) + verdicts.count(INSIDE)
    against = sum(verdict == NOT_REPRODUCED or verdict.startswith("outside") for verdict in verdicts)
    wrong = verdicts.count(MISPRINT)
    absent = ", breast cancer not run" if any(own.cells[0].verdict == NOT_RUN for own in found) else ""
    rest = len(verdicts) - fine - against - wrong
    return f"{fine} of {len(verdicts)} claims and figures reproduced, {against} not, {wrong} misprints, {rest} undecided{absent}"
