"""The scatter plots of Barrow (2011), sections 3.2 to 3.4: the claims as sheets, the points as curves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from studies.barrow_claims import Line, clearly, correlated, flat, line, sloped
from studies.barrow_domains import FORMS, Study
from studies.langley_claims import apart, interval
from studies.verdicts import NOT_PRINTED, Cell, Figure, Sheet, chance

__all__ = ["NEAR", "SIZES", "SPARSE", "figures", "sheets", "strength_cells"]


NEAR: Final = 0.1
"""A balance nearer to zero is near zero."""
SPARSE: Final = -0.5
"""The balance of section 3.4."""
SIZES: Final = tuple(range(10, 111, 10))
"""The numbers of cases of section 3.4."""
LEAST: Final = 20
"""With ten cases a class lacks a case in every training set, and four cannot have a covariance matrix of four attributes."""
FEW: Final = 50
SAME: Final = "cannot differ"
_BINS: Final = 20
_TOLD: Final = {"network": "as networks", "all others": "given all others"}


def sheets(sweep: Study, near: Study, sparse: Study) -> Iterator[Sheet]:
    """The claims of sections 3.2 to 3.4.

    Parameters
    ----------
    sweep : data sets of all balances.
    near : data sets of balances near zero.
    sparse : data sets of few cases.
    """
    count = f"{len(sweep.balances)} data sets"
    yield Sheet(f"Section 3.2, first plot: naive and full Bayes against balance ({count})", tuple(_first_plot(sweep, near)), 2)
    for form in FORMS:
        title = f"Section 3.2, second plot: 1-, 2- and 3-weakly naive, {_TOLD[form]} ({count})"
        yield Sheet(title, tuple(_second_plot(sweep, form)), 2)
    yield Sheet(f"Section 3.3: sets by their weight ({count})", tuple(_weight_cells(sweep)), 2)
    title = f"Section 3.4: {SIZES[0]} to {SIZES[-1]} cases at balance {SPARSE} ({len(sparse.rows)} data sets)"
    yield Sheet(title, tuple(_sparse_cells(sparse)), 2)


def strength_cells(name: str, sweep: Study) -> Iterator[Cell]:
    """The main claims with data that are generated in another way.

    Parameters
    ----------
    name : how they are generated.
    sweep : data sets of all balances.
    """
    naive, complete = (_percent(sweep, own) for own in ("naive", "full"))
    fall = _against(sweep, naive)
    yield sloped(f"{name}: naive Bayes against |balance|", "falls", fall)
    yield flat(f"{name}: full against |balance|", _against(sweep, complete), fall)
    yield sloped(f"{name}: full less naive against |balance|", "rises", _against(sweep, complete - naive))
    less = _percent(sweep, "1") - _percent(sweep, "3")
    yield sloped(f"{name}: 1-weakly less 3-weakly naive, as networks", "rises", _against(sweep, less))
    ranked = 100 * sweep.ranked(1, "all others")
    yield clearly(f"{name}: 1 of 4, given all others: first less the others", ranked[:, 0] - ranked[:, 1:].mean(axis=1))


def _percent(own: Study, name: str, form: str = "network", measure: str = "F score") -> Numbers:
    return 100 * own.of(name, form, measure)


def _against(own: Study, y: Numbers, rows: Any = slice(None)) -> Line:
    """The line against |balance|, allowing for how easy a data set is."""
    return line(np.abs(own.balances[rows]), y[rows], own.separations[rows])


def _first_plot(sweep: Study, near: Study) -> Iterator[Cell]:
    """Naive Bayes is an upside-down V, the full classifier is not."""
    naive, complete = (_percent(sweep, name) for name in ("naive", "full"))
    fall = _against(sweep, naive)
    yield sloped("naive Bayes against |balance|", "falls", fall, _by_accuracy(sweep, "naive"))
    for side, rows in (("below", sweep.balances < 0), ("above", sweep.balances > 0)):
        yield sloped(f"naive Bayes against |balance|, balance {side} zero", "falls", _against(sweep, naive, rows))
    yield flat("full against |balance|", _against(sweep, complete), fall, _by_accuracy(sweep, "full"))
    yield sloped("full less naive against |balance|", "rises", _against(sweep, complete - naive))
    gained = _percent(near, "naive") - _percent(near, "full")
    mean, half = interval(_percent(near, "naive", measure="accuracy") - _percent(near, "full", measure="accuracy"))
    told = f"{len(gained)} data sets, naive ahead in {(gained > 0).sum()}, behind in {(gained < 0).sum()}; accuracy"
    cell = apart(f"naive less full, |balance| up to {NEAR}", "above", gained)
    yield replace(cell, note=f"{told} {mean:+.2f} ± {half:.2f}")
    told = "the thesis contradicts itself: only at one point of its first plot naive Bayes is ahead"
    yield Cell("data sets with naive ahead of full", None, f"{(naive > complete).sum()} of {len(naive)}", NOT_PRINTED, told)


def _by_accuracy(own: Study, name: str) -> str:
    """What the accuracy says in place of the F score."""
    found = _against(own, _percent(own, name, measure="accuracy"))
    return f"accuracy {found.slope:+.2f} ± {found.half:.2f}, {chance(found.p)}"


def _second_plot(sweep: Study, form: str) -> Iterator[Cell]:
    """The less naive, the flatter, and the better."""
    one, two, three = (_percent(sweep, k, form) for k in "123")
    yield sloped("3-weakly naive against |balance|", "falls", _against(sweep, three))
    yield sloped("2-weakly less 3-weakly naive against |balance|", "rises", _against(sweep, two - three))
    yield sloped("1-weakly less 2-weakly naive against |balance|", "rises", _against(sweep, one - two))
    yield apart("2-weakly less 3-weakly naive", "above", two - three)
    yield apart("1-weakly less 2-weakly naive", "above", one - two)
    if form == "network":
        differ = int((sweep.of("1") != sweep.of("full")).sum())
        told = "one attribute without parents is what every network has: 1-weakly naive is the full classifier"
        yield Cell("data sets in which 1-weakly naive differs from full", None, f"{differ}", SAME, told)


def _weight_cells(sweep: Study) -> Iterator[Cell]:
    """The set of the best weight is the best, on average; across data sets weight says little."""
    told = "in a network all four are the full classifier, whichever attribute comes first"
    yield Cell("1 of 4, as networks", "first is best", "the same", SAME, told)
    ranked = 100 * sweep.ranked(1, "all others")
    for i, (one, two) in enumerate(zip(("first", "second", "third"), ("second", "third", "fourth"), strict=True)):
        yield clearly(f"1 of 4, given all others: {one} less {two}", ranked[:, i] - ranked[:, i + 1])
    for form, k in [("all others", 1), *((form, k) for form in FORMS for k in (2, 3))]:
        own = 100 * sweep.ranked(k, form)
        name = f"{k} of 4, {_TOLD[form]}: first less the mean of the other {own.shape[1] - 1}"
        yield clearly(name, own[:, 0] - own[:, 1:].mean(axis=1))
    for form, k in (("network", 2), ("network", 3), ("all others", 1), ("all others", 2), ("all others", 3)):
        name = f"rank correlation of F and |weight|, {k} of 4, {_TOLD[form]}"
        yield correlated(name, sweep.weight(k, form), sweep.of(str(k), form))


def _sparse_cells(sparse: Study) -> Iterator[Cell]:
    """Few cases: the scores vary more, and dependence is hard to learn."""
    names, enough, few = ("naive", "3", "2", "full"), sparse.rows >= LEAST, sparse.rows <= FEW
    sizes = sparse.rows.astype(np.float64)
    for name in names:
        away = _away(_percent(sparse, name), sparse.rows)
        spread = {size: _percent(sparse, name)[sparse.rows == size].std(ddof=1) for size in (SIZES[0], LEAST, SIZES[-1])}
        told = f"from {LEAST} cases on; deviation {', '.join(f'{own:.1f} with {size}' for size, own in spread.items())} cases"
        yield sloped(
            f"{_called(name)}: distance from the mean, 100 cases more", "falls", line(sizes[enough] / 100, away[enough]), told
        )
    for name in names[1:]:
        less = _percent(sparse, "naive") - _percent(sparse, name)
        cell = apart(f"naive less {_called(name)}, {LEAST} to {FEW} cases", "above", less[enough & few])
        yield replace(cell, note="expected, but not seen in the plots of the thesis")
        name = f"naive less {_called(name)}, with twice as many cases"
        yield sloped(name, "falls", line(np.log2(sizes[enough]), less[enough]), "the same")


def _called(name: str) -> str:
    return {"naive": "naive Bayes", "full": "full and 1-weakly naive"}.get(name, f"{name}-weakly naive")


def _away(scores: Numbers, rows: NDArray[np.int64]) -> Numbers:
    """How far each score is from the mean of those with as many cases."""
    means = {size: scores[rows == size].mean() for size in np.unique(rows).tolist()}
    return np.asarray(np.abs(scores - np.array([means[size] for size in rows.tolist()])))


def figures(sweep: Study, sparse: Study) -> Iterator[Figure]:
    """The scatter plots as curves of means."""
    at = np.minimum(((sweep.balances + 1) / 2 * _BINS).astype(np.int64), _BINS - 1)
    middles = (np.arange(_BINS) + 0.5) / _BINS * 2 - 1
    width = f"means over {2 / _BINS:g} of balance"
    axes: tuple[str, str] = ("balance", "F score in per cent")
    plots: dict[str, Mapping[str, Numbers]] = {
        "3.2, first plot": {"naive": _percent(sweep, "naive"), "full": _percent(sweep, "full")},
        **{f"3.2, second plot, {_TOLD[form]}": {f"{k}-weak": _percent(sweep, k, form) for k in "123"} for form in FORMS},
        "3.3, 1-weakly naive by weight, given all others": dict(
            zip(("first", "second", "third", "fourth"), 100 * sweep.ranked(1, "all others").T, strict=True)
        ),
    }
    for title, curves in plots.items():
        yield Figure(f"Section {title}: {width}", *axes, {name: _curve(middles, at, own) for name, own in curves.items()})
    places = np.searchsorted(SIZES, sparse.rows)
    few = {
        _called(name): _curve(np.array(SIZES, np.float64), places, _percent(sparse, name)) for name in ("naive", "3", "2", "full")
    }
    yield Figure(f"Section 3.4: balance {SPARSE}", "cases", axes[1], few)


def _curve(x: Numbers, at: NDArray[np.int64], values: Numbers) -> tuple[tuple[float, float, float], ...]:
    """The mean and its interval at each place that has two values."""
    there = [i for i in range(len(x)) if (at == i).sum() > 1]
    return tuple((round(float(x[i]), 6), *interval(values[at == i])) for i in there)
