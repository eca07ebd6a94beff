"""The scatter plots of Barrow (2011), sections 3.2 to 3.4: the claims as sheets, the points as curves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from studies.barrow_2011.claims import Line, clearly_above, correlated, flat, line, sloped
from studies.barrow_2011.domains import FORMS, Study
from studies.results import Cell, Figure, Sheet
from studies.verdicts import NOT_PRINTED, Numbers, interval, one_sided, p_text

__all__ = ["figures", "sheets", "strength_cells"]

NEAR_ZERO: Final = 0.1
"""The largest balance near zero."""
FEW_BALANCE: Final = -0.5
"""The balance of section 3.4."""
SIZES: Final = tuple(range(10, 111, 10))
"""The numbers of cases of section 3.4."""
LEAST, FEW = 20, 50
"""With ten cases a training set may have four cases of a class, and a singular covariance matrix of four attributes."""
IDENTICAL: Final = "identical by definition"
_BINS: Final = 20
_NAMES: Final = {"naive": "naive Bayes", "3": "3-weakly naive", "2": "2-weakly naive", "full": "full and 1-weakly naive"}


def sheets(all_balances: Study, near_zero: Study, few_cases: Study) -> Iterator[Sheet]:
    """Return the claims of sections 3.2 to 3.4, tested on data sets of all balances, of balances near zero, and of few cases."""
    count = f"{len(all_balances.balances)} data sets"
    title = f"Section 3.2, first plot: naive and full Bayes against balance ({count})"
    yield Sheet(title, tuple(_first_plot(all_balances, near_zero)), 2)
    for form, text in FORMS.items():
        title = f"Section 3.2, second plot: 1-, 2- and 3-weakly naive, {text} ({count})"
        yield Sheet(title, tuple(_second_plot(all_balances, form)), 2)
    yield Sheet(f"Section 3.3: sets by their weight ({count})", tuple(_weights(all_balances)), 2)
    title = f"Section 3.4: {SIZES[0]} to {SIZES[-1]} cases at balance {FEW_BALANCE} ({len(few_cases.rows)} data sets)"
    yield Sheet(title, tuple(_few_cases(few_cases)), 2)


def strength_cells(name: str, study: Study) -> Iterator[Cell]:
    """Return the main claims with data sets of all balances that are generated in another way."""
    naive, full = (_percent(study, classifier) for classifier in ("naive", "full"))
    fall = _against_balance(study, naive)
    yield sloped(f"{name}: naive Bayes against |balance|", "falls", fall)
    yield flat(f"{name}: full against |balance|", _against_balance(study, full), fall)
    yield sloped(f"{name}: full minus naive against |balance|", "rises", _against_balance(study, full - naive))
    difference = _percent(study, "1") - _percent(study, "3")
    yield sloped(f"{name}: 1-weakly minus 3-weakly naive, as networks", "rises", _against_balance(study, difference))
    ranked = 100 * study.ranked(1, "all others")
    differences = ranked[:, 0] - ranked[:, 1:].mean(axis=1)
    yield clearly_above(f"{name}: 1 of 4, given all others: first minus the others", differences)


def _percent(study: Study, name: str, form: str = "network", measure: str = "F score") -> Numbers:
    return 100 * study.of(name, form, measure)


def _against_balance(study: Study, y: Numbers, rows: Any = slice(None)) -> Line:
    """Return the regression on |balance|, adjusted for the separation of the classes."""
    return line(np.abs(study.balances[rows]), y[rows], study.separations[rows])


def _first_plot(study: Study, near_zero: Study) -> Iterator[Cell]:
    """Test the claims that naive Bayes is an upside-down V, and that the full classifier is not."""
    naive, full = (_percent(study, name) for name in ("naive", "full"))
    fall = _against_balance(study, naive)
    yield sloped("naive Bayes against |balance|", "falls", fall, _by_accuracy(study, "naive"))
    for side, rows in (("below", study.balances < 0), ("above", study.balances > 0)):
        yield sloped(f"naive Bayes against |balance|, balance {side} zero", "falls", _against_balance(study, naive, rows))
    yield flat("full against |balance|", _against_balance(study, full), fall, _by_accuracy(study, "full"))
    yield sloped("full minus naive against |balance|", "rises", _against_balance(study, full - naive))
    gain, accuracy_gain = (
        _percent(near_zero, "naive", measure=measure) - _percent(near_zero, "full", measure=measure)
        for measure in ("F score", "accuracy")
    )
    mean, half = interval(accuracy_gain)
    note = (
        f"{len(gain)} data sets, naive ahead in {(gain > 0).sum()}, behind in {(gain < 0).sum()}; accuracy {mean:+.2f} ± {half:.2f}"
    )
    yield replace(one_sided(f"naive minus full, |balance| up to {NEAR_ZERO}", "above", gain), note=note)
    note = "the thesis contradicts itself: naive Bayes is ahead at only one point of its first plot"
    yield Cell("data sets with naive ahead of full", None, f"{(naive > full).sum()} of {len(naive)}", NOT_PRINTED, note)


def _by_accuracy(study: Study, name: str) -> str:
    """Return the slope of the accuracy instead of the F score, as a note."""
    fitted = _against_balance(study, _percent(study, name, measure="accuracy"))
    return f"accuracy {fitted.slope:+.2f} ± {fitted.half:.2f}, {p_text(fitted.p)}"


def _second_plot(study: Study, form: str) -> Iterator[Cell]:
    """Test the claims that fewer naive attributes give flatter and higher curves."""
    one, two, three = (_percent(study, k, form) for k in "123")
    yield sloped("3-weakly naive against |balance|", "falls", _against_balance(study, three))
    yield sloped("2-weakly minus 3-weakly naive against |balance|", "rises", _against_balance(study, two - three))
    yield sloped("1-weakly minus 2-weakly naive against |balance|", "rises", _against_balance(study, one - two))
    yield one_sided("2-weakly minus 3-weakly naive", "above", two - three)
    yield one_sided("1-weakly minus 2-weakly naive", "above", one - two)
    if form == "network":
        differ = int((study.of("1") != study.of("full")).sum())
        note = "every network has an attribute without parents: 1-weakly naive is the full classifier"
        yield Cell("data sets in which 1-weakly naive differs from full", None, f"{differ}", IDENTICAL, note)


def _weights(study: Study) -> Iterator[Cell]:
    """Test the claims that the set of the best weight is the best on average, and that weight says little across data sets."""
    note = "in a network all four are the full classifier, whichever attribute comes first"
    yield Cell("1 of 4, as networks", "first is best", "the same", IDENTICAL, note)
    ranked = 100 * study.ranked(1, "all others")
    for i, (one, two) in enumerate((("first", "second"), ("second", "third"), ("third", "fourth"))):
        yield clearly_above(f"1 of 4, given all others: {one} minus {two}", ranked[:, i] - ranked[:, i + 1])
    for form, k in (("all others", 1), *((form, k) for form in FORMS for k in (2, 3))):
        ranked = 100 * study.ranked(k, form)
        name = f"{k} of 4, {FORMS[form]}: first minus the mean of the other {ranked.shape[1] - 1}"
        yield clearly_above(name, ranked[:, 0] - ranked[:, 1:].mean(axis=1))
    for form, k in (("network", 2), ("network", 3), ("all others", 1), ("all others", 2), ("all others", 3)):
        name = f"rank correlation of F and |weight|, {k} of 4, {FORMS[form]}"
        yield correlated(name, study.weight(k, form), study.of(str(k), form))


def _few_cases(study: Study) -> Iterator[Cell]:
    """Test the claims that with few cases the scores vary more, and dependence is hard to learn."""
    enough, few = study.rows >= LEAST, study.rows <= FEW
    sizes = study.rows.astype(np.float64)
    for name, title in _NAMES.items():
        distances = _distances(_percent(study, name), study.rows)
        deviations = {size: _percent(study, name)[study.rows == size].std(ddof=1) for size in (SIZES[0], LEAST, SIZES[-1])}
        note = f"from {LEAST} cases on; deviation {', '.join(f'{sd:.1f} with {size}' for size, sd in deviations.items())} cases"
        fitted = line(sizes[enough] / 100, distances[enough])
        yield sloped(f"{title}: distance from the mean, 100 cases more", "falls", fitted, note)
    for name in ("3", "2", "full"):
        difference = _percent(study, "naive") - _percent(study, name)
        cell = one_sided(f"naive minus {_NAMES[name]}, {LEAST} to {FEW} cases", "above", difference[enough & few])
        yield replace(cell, note="expected, but not seen in the plots of the thesis")
        fitted = line(np.log2(sizes[enough]), difference[enough])
        yield sloped(f"naive minus {_NAMES[name]}, with twice as many cases", "falls", fitted, "the same")


def _distances(scores: Numbers, rows: NDArray[np.int64]) -> Numbers:
    """Return the distance of each score from the mean of those with as many cases."""
    means = {size: scores[rows == size].mean() for size in np.unique(rows).tolist()}
    return np.asarray(np.abs(scores - np.array([means[size] for size in rows.tolist()])))


def figures(all_balances: Study, few_cases: Study) -> Iterator[Figure]:
    """Return the scatter plots as curves of means."""
    bins = np.minimum(((all_balances.balances + 1) / 2 * _BINS).astype(np.int64), _BINS - 1)
    middles = (np.arange(_BINS) + 0.5) / _BINS * 2 - 1
    ranked = 100 * all_balances.ranked(1, "all others").T
    plots: dict[str, Mapping[str, Numbers]] = {
        "3.2, first plot": {name: _percent(all_balances, name) for name in ("naive", "full")},
        **{
            f"3.2, second plot, {text}": {f"{k}-weak": _percent(all_balances, k, form) for k in "123"}
            for form, text in FORMS.items()
        },
        "3.3, 1-weakly naive by weight, given all others": dict(zip(("first", "second", "third", "fourth"), ranked, strict=True)),
    }
    for title, curves in plots.items():
        points = {name: _curve(middles, bins, values) for name, values in curves.items()}
        yield Figure(f"Section {title}: means over {2 / _BINS:g} of balance", "balance", "F score in per cent", points)
    places = np.searchsorted(SIZES, few_cases.rows)
    points = {title: _curve(np.array(SIZES, np.float64), places, _percent(few_cases, name)) for name, title in _NAMES.items()}
    yield Figure(f"Section 3.4: balance {FEW_BALANCE}", "cases", "F score in per cent", points)


def _curve(x: Numbers, bins: NDArray[np.int64], values: Numbers) -> tuple[tuple[float, float, float], ...]:
    """Return the mean and its interval in each bin that has at least two values."""
    filled = [i for i in range(len(x)) if (bins == i).sum() > 1]
    return tuple((round(float(x[i]), 6), *interval(values[bins == i])) for i in filled)
