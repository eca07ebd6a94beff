"""Barrow (2011): naive, full and k-naive Bayes on generated data and on breast cancer, and tests of what the thesis says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from studies.barrow_2011.cancer import cancer_cases, cancer_sheets, printed_sheet
from studies.barrow_2011.domains import Drawing, Strength, Study, study
from studies.barrow_2011.plots import FEW_BALANCE, NEAR_ZERO, SIZES, figures, sheets, strength_cells
from studies.results import Figure, Options, Reproduction, Sheet, page_text
from studies.running import in_parallel
from studies.verdicts import NOT_REPRODUCED, REPRODUCED, UNDECIDED

__all__ = ["Amount", "drawings", "reproduce"]

STRENGTHS: Final = {
    "dependence of any strength": Strength(loadings=(0.0, 0.95)),
    "strong dependence": Strength(loadings=(0.85, 0.95)),
    "classes that overlap more": Strength(separations=(0.6, 1.0)),
    "classes further apart": Strength(separations=(1.8, 2.4)),
}
"""Other ways to generate what the thesis describes."""
ROWS: Final = (150, 300)
BATCH: Final = 20


class Amount(NamedTuple):
    """How much is run.

    Parameters
    ----------
    sets, near_zero : data sets of all balances, and of balances near zero.
    few : data sets of each number of cases of section 3.4.
    other : data sets that are generated in each other way.
    divisions : divisions of the breast cancer data.
    """

    sets: int
    near_zero: int
    few: int
    other: int
    divisions: int


FULL: Final = Amount(600, 300, 50, 150, 10)
QUICK: Final = Amount(60, 20, 6, 15, 2)


def drawings(amount: Amount, seed: int = 0) -> dict[str, Drawing]:
    """Return the series of generated data sets: of all balances, near zero, of few cases, and generated in other ways."""
    sizes = tuple((size, size) for size in SIZES for _ in range(amount.few))
    return {
        "all balances": _series(1.0, amount.sets, (seed, 1)),
        "near zero": _series(NEAR_ZERO, amount.near_zero, (seed, 2)),
        "few cases": Drawing((FEW_BALANCE,) * len(sizes), sizes, range(len(sizes)), (seed, 3)),
        **{name: _series(1.0, amount.other, (seed, 4, i), strength) for i, (name, strength) in enumerate(STRENGTHS.items())},
    }


def _series(most: float, count: int, seed: tuple[int, ...], strength: Strength | None = None) -> Drawing:
    """Return data sets with evenly spaced balances from -most to most."""
    balances = tuple(np.linspace(-most, most, count).tolist())
    return Drawing(balances, (ROWS,) * count, range(count), seed, strength or Strength())


def reproduce(options: Options) -> Reproduction:
    """Draw the scatter plots of Barrow (2011) again, test what the thesis sees in them, and compare its table of breast cancer.

    References
    ----------
    Barrow (2011), A method for automatically generating network structure in Bayesian classifiers, sections 3.2 to 3.5 and the
    appendix.
    """
    parts, amount = options.chosen(["Generated", "Cancer"]), QUICK if options.quick else FULL
    generated: list[Sheet] = []
    more: list[Sheet] = []
    cancer: list[Sheet] = []
    curves: list[Figure] = []
    if "Generated" in parts:
        studies = _studied(drawings(amount, options.seed), options, jobs=1 if options.quick else 2)
        generated = list(sheets(studies["all balances"], studies["near zero"], studies["few cases"]))
        title = f"Other ways to generate the data: slopes against |balance| ({amount.other} data sets each)"
        more = [Sheet(title, tuple(cell for name in STRENGTHS for cell in strength_cells(name, studies[name])), 2)]
        curves = list(figures(studies["all balances"], studies["few cases"]))
    if "Cancer" in parts:
        cancer = [printed_sheet(), *cancer_sheets(cancer_cases(), amount.divisions, options.seed, options.progress)]
    title, about, remarks = page_text(__file__, quick=options.quick, seed=options.seed, **amount._asdict())
    summary = "; ".join(
        f"{section}: {_counted(some)}"
        for section, some in (("sections 3.2 to 3.4", generated), ("section 3.5", cancer[2:3]))
        if some
    )
    results = (*generated, *more, *cancer)
    return Reproduction("barrow-2011", title, about, results, tuple(remarks), summary, figures=tuple(curves))


def _studied(series: Mapping[str, Drawing], options: Options, jobs: int) -> dict[str, Study]:
    """Cross-validate all classifiers on the data sets of each series."""
    tasks = {(name, part.places.stop): part for name, drawing in series.items() for part in drawing.parts(BATCH)}
    named = {f"{name}, {stop} data sets": part for (name, stop), part in tasks.items()}
    results = dict(zip(tasks, in_parallel(study, named, options.progress, jobs), strict=True))
    studies = {name: [result for key, result in results.items() if key[0] == name] for name in series}
    return {name: first.joined(others) for name, (first, *others) in studies.items()}


def _counted(some: Sequence[Sheet]) -> str:
    verdicts = [cell.verdict for sheet in some for cell in sheet.cells]
    reproduced, refuted, undecided = (verdicts.count(verdict) for verdict in (REPRODUCED, NOT_REPRODUCED, UNDECIDED))
    return f"{reproduced} of {reproduced + refuted + undecided} claims reproduced, {refuted} not, {undecided} undecided"
