"""Singh and Provan (1995): naive, unrestricted and selective networks on six data sets, their differences, claims and curves."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from naivete.errors import NaiveteWarning, ParameterError, quoted
from naivete.evaluation import LearningCurve, Progress, Protocol, Results, Splits, run
from naivete.evaluation.statistics import welch
from studies.data_sets import folder_of
from studies.pairings import AGREES, LEVEL, NOT_THERE, Pairings, p_of, paired
from studies.singh_provan_methods import TREE, models
from studies.singh_provan_reasons import REASONS, Reason, explained, modified, told_reasons
from studies.singh_provan_remarks import about, remarks
from studies.singh_provan_tables import (
    ACCURACIES,
    C45,
    C45_MARKS,
    DIFFERENCES,
    INFO_AS,
    METHODS,
    SETS,
    TRIALS,
    tables,
)
from studies.verdicts import INSIDE, NOT_PRINTED, Cell, Claim, Figure, Reproduction, Sheet, compared, confirmed
from studies.verdicts import LEVEL as NOISE

__all__ = ["singh_provan_1995", "steps"]

_TITLE: Final = (
    "M. Singh and G. M. Provan (1995), Efficient learning of selective Bayesian network classifiers, "
    "University of Pennsylvania, MS-CIS-95-36"
)
QUICK: Final = 3
CURVES: Final[Mapping[str, tuple[int, ...]]] = {
    "Chess": (25, 50, 100, 200, 400, 700, 1000),
    "Mushroom": (25, 50, 100, 200, 350, 500),
    "Soybean": (50, 100, 200, 300, 430),
    "Voting": (25, 50, 100, 150, 200),
}
"""Figures 1 to 4: the sizes of the training sets, which are ours."""
CURVE_TRIALS: Final = 20
MODIFIED_TRIALS: Final = 10
"""The modifications of section 5.6 are slow, and no figure of them is printed."""
DRAWN: Final = tuple(method for method in METHODS if method != "K2-AS<=")


class Settings(NamedTuple):
    """How a reproduction is run: the seed, the number of divisions, where data are and finished splits go, and who is told."""

    seed: int
    trials: int
    data: Path | None
    kept: Path | None
    progress: Progress | None

    def run(self, part: str, models: Mapping[str, Any], name: str, protocol: Protocol) -> Results:
        """The results of some models on a data set."""
        done = 0

        def told(now: int, _: int, what: str) -> None:
            nonlocal done
            for _ in range(now - done):
                if self.progress is not None:
                    self.progress(f"{part}, {what}" if what else part)
            done = now

        folder = None if self.kept is None else self.kept / "".join(c if c.isalnum() else "-" for c in f"{part} {name}").lower()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NaiveteWarning)  # small training sets lack classes, which the report says
            return run(models, {name: SETS[name].cases(self.data)}, protocol, folder=folder, progress=told)

    def divided(self, name: str, most: int = TRIALS) -> Splits:
        """The divisions of a data set into parts of the printed sizes, or the first of them."""
        return Splits(min(self.trials, most), SETS[name].train, SETS[name].test, self.seed)


def steps(
    *, quick: bool = False, only: Sequence[str] | None = None, alternatives: bool = False, modifications: bool = False
) -> int:
    """How many times `singh_provan_1995` tells its progress."""
    sets, trials = [name for name in SETS if only is None or name in only], QUICK if quick else TRIALS
    curves = sum(len(_sizes(name, quick)) for name in sets if name in CURVES) * (QUICK if quick else CURVE_TRIALS)
    own = sum(len({name for name, _ in reason.cells if name in sets}) for reason in REASONS) if alternatives else 0
    return trials * (len(sets) + own) + modifications * len(modified(sets)) * min(trials, MODIFIED_TRIALS) + curves


def singh_provan_1995(
    *,
    seed: int = 0,
    quick: bool = False,
    data: str | Path | None = None,
    progress: Progress | None = None,
    only: Sequence[str] | None = None,
    alternatives: bool = False,
    modifications: bool = False,
    kept: str | Path | None = None,
) -> Reproduction:
    """Tables 2 to 11 of Singh and Provan (1995) beside ours, their claims tested again, and curves like those of figures 1 to 4.

    Parameters
    ----------
    seed : the seed of the divisions.
    quick : three divisions in place of thirty, and short curves.
    data : the folder of the data sets; by default that of NAIVETE_DATA, and what is not there comes from OpenML.
    progress : is told of every division that is done.
    only : the names of some data sets, by default all.
    alternatives : run the readings of the paper that are given as reasons for cells outside the noise, too.
    modifications : run the modifications of section 5.6, too.
    kept : a folder for every finished division, so that a run that was killed goes on.

    References
    ----------
    Singh and Provan (1995), Efficient learning of selective Bayesian network classifiers, section 5; tables 1 to 11.
    """
    sets = _chosen(only)
    how = Settings(seed, QUICK if quick else TRIALS, folder_of(data), None if kept is None else Path(kept), progress)
    scores = {name: _scores(how.run("tables", models(), name, how.divided(name)), name) for name in sets}
    sheets = [_sheet(name, scores[name], how.trials) for name in sets]
    pairings = [_pairings(*table, scores) for table in tables()]
    more = [*_tested(how, sets)] if alternatives else []
    more += [*_changed(how, sets)] if modifications else []
    claims = [claim for name in sets for claim in _claims(name, scores[name])]
    return Reproduction(
        "singh-provan-1995",
        _TITLE,
        tuple(about(seed, how.trials, quick)),
        (*sheets, *(_against_c45(name, scores[name], how.trials) for name in sets), *more),
        tuple(claims),
        (*remarks(claims, reasons=not (alternatives or quick)), *(() if quick else told_reasons(sheets))),
        _summary(sheets, pairings, how.trials),
        tuple(pairings),
        tuple(_figure(how, name, quick) for name in CURVES if name in sets),
        "one method over another",
        LEVEL,
    )


def _chosen(only: Sequence[str] | None) -> list[str]:
    wrong = [name for name in only or () if name not in SETS]
    if wrong:
        raise ParameterError(f"only={quoted(wrong[0])}: choose among {', '.join(SETS)}")
    return [name for name in SETS if only is None or name in only]


Scores = Mapping[str, list[float]]
"""Accuracies in per cent by method, division by division."""


def _scores(results: Results, name: str) -> dict[str, list[float]]:
    return {model: [100 * score for score in results.scores(name, model)] for model in results.models}


def _mean_and_deviation(scores: Sequence[float]) -> tuple[float, float]:
    mean = sum(scores) / len(scores)
    return mean, (sum((score - mean) ** 2 for score in scores) / (len(scores) - 1)) ** 0.5


def _test_share(name: str) -> float:
    return SETS[name].test / SETS[name].size.rows


def _cell(name: str, method: str, scores: Sequence[float], trials: int, called: str = "") -> Cell:
    printed, ours = ACCURACIES[name].get(method), _mean_and_deviation(scores)
    if printed is None:
        return Cell(called or method, None, ours, NOT_PRINTED)
    return compared(called or method, printed, ours, folds=(TRIALS, trials))


def _sheet(name: str, scores: Scores, trials: int) -> Sheet:
    """The cells of a data set."""
    own, table = SETS[name], "table 2" if list(SETS).index(name) < 3 else "table 3"
    cells = tuple(_cell(name, method, scores[method], trials) for method in METHODS)
    return Sheet(f"{name}, {table} ({own.size}; {own.train} train, {own.test} test)", cells, 2, differences=True)


def _pairings(title: str, metric: str, methods: Sequence[str], scores: Mapping[str, Scores]) -> Pairings:
    """Table 4, 5, 6, 7, 8 or 9: what the methods reach less what Info-AS reaches."""
    pairs = [
        paired(f"{name}, {method}", own[method], own[metric], _test_share(name), DIFFERENCES[metric].get((name, method)))
        for name, own in scores.items()
        for method in methods
    ]
    return Pairings(title, tuple(pairs))


def _claims(name: str, scores: Scores) -> Iterator[Claim]:
    """What the paper says is better, with the p of its own t where it prints one, else that of Welch's test."""
    for better, base in CLAIMED_ORDER.get(name, ()):
        own = paired("", scores[better], scores[base], _test_share(name))
        difference, p = _printed(name, better, base)
        verdict = confirmed(own.difference, own.p, own.corrected_p, LEVEL)
        yield Claim(f"{name}: {better} over {base}", difference, p, own.difference, own.p, own.corrected_p, verdict)


def _printed(name: str, better: str, base: str) -> tuple[float, float]:
    """By how much a method is better in print, and the p of that."""
    for metric, other, sign in ((better, base, -1), (base, better, 1)):
        if (name, other) in DIFFERENCES.get(metric, {}):
            own = DIFFERENCES[metric][name, other]
            return sign * own.mean, p_of(own.t, TRIALS - 1)
    one, two = ACCURACIES[name][better], ACCURACIES[name][base]
    return one[0] - two[0], welch(*one, TRIALS, *two, TRIALS).p


_OVER_NAIVE: Final = tuple((metric, base) for metric in INFO_AS for base in METHODS[:2])
CLAIMED_ORDER: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "Chess": (*_OVER_NAIVE, ("CGR-AS", "CB")),
    "Voting": (*_OVER_NAIVE, ("CGR-AS", "CB")),
    "Voting1": _OVER_NAIVE,
    "Soybean": (("CGR-AS", "CIG-AS"), ("CDC-AS", "CIG-AS"), ("CGR-AS", "CDC-AS"), ("CGR-AS", "CB")),
    "Splice": (*(("naive-ALL", metric) for metric in INFO_AS), ("CB", "CGR-AS")),
    "Mushroom": (*_OVER_NAIVE, ("CB", "CGR-AS")),
}
"""Which method the paper says is significantly better than which, by data set: sections 5.3, 5.4 and 5.6."""


def _against_c45(name: str, scores: Scores, trials: int) -> Sheet:
    """Tables 10 and 11: C4.5, and Info-AS beside it."""
    words = {"+": "better than C4.5", "-": "worse than C4.5", "": "as good as C4.5"}
    cells = [compared(TREE, C45[name][TREE], _mean_and_deviation(scores[TREE]), folds=(20, trials))]
    for metric in INFO_AS:
        ours, pair = _mean_and_deviation(scores[metric]), paired("", scores[metric], scores[TREE], _test_share(name))
        mark = "" if pair.p >= LEVEL else "+" if pair.difference > 0 else "-"
        told = f"{words[C45_MARKS[name][metric]]} in print, {words[mark]} here"
        cells.append(compared(metric, C45[name][metric], ours, folds=(20, trials), note=told))
    table = "table 10" if list(SETS).index(name) < 3 else "table 11"
    return Sheet(f"{name}, {table} (C4.5, and Info-AS over 20 trials)", tuple(cells), 2, differences=True)


def _tested(how: Settings, sets: Sequence[str]) -> Iterator[Sheet]:
    """The cells that a reason is given for, run as the reason says."""
    for reason in REASONS:
        cells = [cell for name in sets for cell in _under(how, reason, name)]
        if cells:
            yield Sheet(f"Tested reason: {reason.told}", tuple(cells), 2, differences=True)


def _under(how: Settings, reason: Reason, name: str) -> Iterator[Cell]:
    own = {method: reason.model(method) for place, method in reason.cells if place == name}
    if own:
        found = _scores(how.run(reason.word, own, name, how.divided(name)), name)
        yield from (_cell(name, method, found[method], how.trials, f"{name}, {method}") for method in own)


def _changed(how: Settings, sets: Sequence[str]) -> Iterator[Sheet]:
    """The modifications of section 5.6, of which no figure is printed, against Info-AS itself."""
    base = INFO_AS[1]
    for name, own in modified(sets).items():
        found = _scores(how.run("section 5.6", {**models([base]), **own}, name, how.divided(name, MODIFIED_TRIALS)), name)
        cells = [_modified(word, found[word], found[base], _test_share(name)) for word in own]
        first = Cell(base, None, _mean_and_deviation(found[base]), NOT_PRINTED)
        yield Sheet(f"Section 5.6, {name}: modifications of {base}, which the paper found worse", (first, *cells), 2)


def _modified(word: str, scores: Sequence[float], base: Sequence[float], test_share: float) -> Cell:
    own = paired(word, base, scores, test_share)
    verdict = confirmed(own.difference, own.p, own.corrected_p, LEVEL)
    note = f"{-own.difference:+.2f} points, paired t {-own.t:.2f}, corrected t {-own.corrected:.2f}"
    worse = "not worse" if verdict == "not confirmed" else f"worse {verdict}"
    return Cell(word, "worse", _mean_and_deviation(scores), worse, note)


def _sizes(name: str, quick: bool) -> tuple[int, ...]:
    return CURVES[name][:QUICK] if quick else CURVES[name]


def _figure(how: Settings, name: str, quick: bool) -> Figure:
    """Figure 1, 2, 3 or 4."""
    trials = QUICK if quick else CURVE_TRIALS
    protocol = LearningCurve(_sizes(name, quick), trials, SETS[name].test, how.seed)
    results = how.run("curves", models(DRAWN), name, protocol)
    curves = {}
    for method in DRAWN:
        own = results.curve(name, method)
        points = zip(own.sizes, own.means, own.halfwidths, strict=True)
        curves[method] = tuple((float(size), 100 * mean, 100 * half) for size, mean, half in points)
    number = list(CURVES).index(name) + 1
    return Figure(f"Figure {number}: learning curves, {name}, {trials} trials", "training cases", "accuracy in per cent", curves)


def _summary(sheets: Sequence[Sheet], pairings: Sequence[Pairings], trials: int) -> str:
    cells = [cell for sheet in sheets for cell in sheet.cells if cell.printed is not None]
    inside = [cell.verdict for cell in cells].count(INSIDE)
    pairs = [pair.verdict for own in pairings for pair in own.pairs if pair.verdict != NOT_THERE]
    rough = "" if trials == TRIALS else f"; quick, {trials} divisions"
    fitting, contradicted = explained(sheets)
    more = f", {fitting} more by a tested reason, {contradicted} by one that other cells contradict" if trials == TRIALS else ""
    return (
        f"{inside} of {len(cells)} accuracies inside the noise (Welch, p > {NOISE:g}{rough}){more}; "
        f"{pairs.count(AGREES)} of {len(pairs)} differences agree"
    )
