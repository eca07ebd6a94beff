"""Singh and Provan (1995): naive, unrestricted and selective networks on six data sets, their differences, claims and curves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from naivete.evaluation import LabelledTable, LearningCurve, Protocol, Results, Splits
from naivete.evaluation.statistics import welch
from studies.data_sets import Size, data_set
from studies.results import Cell, Claim, Figure, Options, Pairing, Reproduction, Sheet, page_text, toml
from studies.running import results_of
from studies.singh_provan_1995.methods import MODIFICATIONS, READINGS, TREE, model_of, models
from studies.verdicts import (
    AGREES,
    BY_BOTH,
    INSIDE,
    LEVEL,
    NOT_CONFIRMED,
    NOT_PRINTED,
    WELCH_LEVEL,
    claim,
    compared,
    confirmed,
    mark,
    p_of,
    paired,
)

__all__ = ["PRINTED", "SETS", "cases", "explained", "reproduce"]

PRINTED: Final = toml(__file__, "printed.toml")
READING_TEXTS: Final = toml(__file__, "readings.toml")
SETS: Final = PRINTED["sets"]
METHODS: Final = tuple(PRINTED["methods"])
INFO_AS: Final = tuple(PRINTED["info_as"])
TRIALS, QUICK, CURVE_TRIALS = PRINTED["trials"], 3, 20
MODIFIED, MODIFIED_TRIALS = ("Chess", "Voting", "Soybean"), 10
"""The modifications of section 5.6 are slow, and no value of them is printed."""

Scores = Mapping[str, list[float]]
"""Accuracies in per cent by method, in the order of the divisions."""


def reproduce(options: Options) -> Reproduction:
    """Compare tables 2 to 11 of Singh and Provan (1995) with ours, test their claims again, and draw figures 1 to 4.

    With `quick` there are three divisions instead of thirty, and short curves. With `alternatives` the readings that may
    explain differences are run, with `modifications` those of section 5.6.

    References
    ----------
    Singh and Provan (1995), Efficient learning of selective Bayesian network classifiers, section 5; tables 1 to 11.
    """
    names, trials = options.chosen(list(SETS)), QUICK if options.quick else TRIALS
    scores = {name: _scores("tables", models(), name, _splits(name, trials, options), options) for name in names}
    sheets = [_sheet(name, scores[name], trials) for name in names]
    pairings = {title: tuple(_pairings(metric, methods, scores)) for title, metric, methods in tables()}
    more = [_c45_sheet(name, scores[name], trials) for name in names]
    if options.alternatives:
        more += [sheet for reading in READINGS for sheet in _reading_sheets(reading, names, trials, options)]
    if options.modifications:
        more += [_modification_sheet(name, trials, options) for name in names if name in MODIFIED]
    claims = [tested for name in names for tested in _claims(name, scores[name])]
    title, about, remarks = page_text(__file__, quick=options.quick, seed=options.seed, trials=trials)
    verdicts = [tested.verdict for tested in claims]
    plain, both = len(claims) - verdicts.count(NOT_CONFIRMED), verdicts.count(BY_BOTH)
    remarks.append(("claims", f"{plain} of {len(claims)} confirmed by the paired t, {both} by both tests."))
    if not options.quick:
        remarks += _explanations(sheets)
        if not options.alternatives:
            remarks.append(("readings", "--alternatives runs and shows the readings that are given for cells that differ."))
    return Reproduction(
        "singh-provan-1995",
        title,
        about,
        (*sheets, *more),
        tuple(remarks),
        _summary(sheets, pairings, trials),
        tuple(claims),
        pairings,
        tuple(_figure(name, options) for name in _by_figure(names)),
        "one method over another",
        LEVEL,
    )


def cases(name: str) -> LabelledTable:
    """Return the cases of a data set of the paper."""
    return data_set(SETS[name]["file"], Size(*SETS[name]["size"]))


def tables() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Return the titles of tables 4 to 9, the metric of each, and the methods that are compared with it."""
    for first, methods in ((4, METHODS[:2]), (7, METHODS[2:5])):
        for i, metric in enumerate(INFO_AS):
            yield f"Table {first + i}: {', '.join(methods)} minus {metric}", metric, methods


def _tested(name: str) -> int:
    """Return the number of test cases."""
    return int(SETS[name]["size"][0] - SETS[name]["train"])


def _test_share(name: str) -> float:
    return _tested(name) / float(SETS[name]["size"][0])


def _splits(name: str, trials: int, options: Options) -> Splits:
    return Splits(trials, SETS[name]["train"], _tested(name), options.seed)


def _results(part: str, classifiers: Mapping[str, Any], name: str, protocol: Protocol, options: Options) -> Results:
    """Evaluate classifiers on a data set; finished divisions are kept in a folder for each part and data set."""
    folder = None if options.resume is None else Path(options.resume) / f"{part}-{name}".lower()
    return results_of(classifiers, name, cases(name), protocol, options.progress, folder)


def _scores(part: str, classifiers: Mapping[str, Any], name: str, protocol: Protocol, options: Options) -> dict[str, list[float]]:
    results = _results(part, classifiers, name, protocol, options)
    return {method: [100 * score for score in results.scores(name, method)] for method in results.models}


def _mean_and_deviation(scores: Sequence[float]) -> tuple[float, float]:
    return float(np.mean(scores)), float(np.std(scores, ddof=1))


def _cell(name: str, method: str, scores: Sequence[float], title: str = "") -> Cell:
    printed, ours = PRINTED["accuracies"][name].get(method), _mean_and_deviation(scores)
    if printed is None:
        return Cell(title or method, None, ours, NOT_PRINTED)
    return compared(title or method, tuple(printed), ours, folds=(TRIALS, len(scores)))


def _sheet(name: str, scores: Scores, trials: int) -> Sheet:
    """Return table 2 or 3 for a data set."""
    values = SETS[name]
    title = f"{name}, {values['table']} ({Size(*values['size'])}; {values['train']} train, {_tested(name)} test)"
    return Sheet(title, tuple(_cell(name, method, scores[method][:trials]) for method in METHODS), 2, differences=True)


def _pairings(metric: str, methods: Sequence[str], scores: Mapping[str, Scores]) -> Iterator[Pairing]:
    """Return the accuracies of methods minus those of Info-AS: table 4, 5, 6, 7, 8 or 9."""
    for name, values in scores.items():
        for method in methods:
            printed = PRINTED["differences"][metric][name].get(method)
            yield paired(f"{name}, {method}", values[method], values[metric], _test_share(name), printed)


def _claims(name: str, scores: Scores) -> Iterator[Claim]:
    """Test what the paper calls better."""
    for better, base in SETS[name]["claims"]:
        title = f"{name}: {better} over {base}"
        yield claim(title, scores[better], scores[base], _test_share(name), _printed_difference(name, better, base), LEVEL)


def _printed_difference(name: str, better: str, base: str) -> tuple[float, float]:
    """Return the printed difference of two methods, and the p value of its printed t, or of Welch's test where none is printed."""
    for metric, other, sign in ((better, base, -1), (base, better, 1)):
        if metric in INFO_AS and other in PRINTED["differences"][metric][name]:
            mean, t, _ = PRINTED["differences"][metric][name][other]
            return sign * mean, p_of(t, TRIALS - 1)
    (mean, deviation), (base_mean, base_deviation) = (PRINTED["accuracies"][name][method] for method in (better, base))
    return mean - base_mean, welch(mean, deviation, TRIALS, base_mean, base_deviation, TRIALS).p


def _c45_sheet(name: str, scores: Scores, trials: int) -> Sheet:
    """Return table 10 or 11 for a data set: C4.5, and Info-AS beside it."""
    texts = {"+": "better than C4.5", "-": "worse than C4.5", "": "no significant difference from C4.5"}
    printed, folds = PRINTED["c45"][name], (PRINTED["c45_trials"], trials)
    cells = [compared(TREE, tuple(printed[TREE]), _mean_and_deviation(scores[TREE]), folds=folds)]
    for metric in INFO_AS:
        mean, deviation, printed_mark = printed[metric]
        pair = paired("", scores[metric], scores[TREE], _test_share(name))
        note = f"{texts[printed_mark]} in print, {texts[mark(pair.difference, pair.p)]} here"
        cells.append(compared(metric, (mean, deviation), _mean_and_deviation(scores[metric]), folds=folds, note=note))
    return Sheet(f"{name}, {SETS[name]['c45_table']} (C4.5, and Info-AS over 20 trials)", tuple(cells), 2, differences=True)


def _reading_sheets(reading: str, names: Sequence[str], trials: int, options: Options) -> Iterator[Sheet]:
    """Run the cells of a reading with it."""
    content, results = READING_TEXTS[reading], []
    for name in names:
        methods = [method for place, method in (*content["explains"], *content["also"]) if place == name]
        if methods:
            classifiers = {method: READINGS[reading](method) for method in methods}
            scores = _scores(reading, classifiers, name, _splits(name, trials, options), options)
            results += [_cell(name, method, scores[method], f"{name}, {method}") for method in methods]
    if results:
        yield Sheet(f"Tested reading: {_one_line(content['text'])}", tuple(results), 2, differences=True)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _modification_sheet(name: str, trials: int, options: Options) -> Sheet:
    """Compare the modifications of section 5.6, of which no value is printed, with CGR-AS itself."""
    base = "CGR-AS"
    protocol = _splits(name, min(trials, MODIFIED_TRIALS), options)
    scores = _scores("section-5-6", {base: model_of(base), **MODIFICATIONS}, name, protocol, options)
    results = [Cell(base, None, _mean_and_deviation(scores[base]), NOT_PRINTED)]
    for title in MODIFICATIONS:
        pair = paired(title, scores[base], scores[title], _test_share(name))
        verdict = confirmed(pair.difference, pair.p, pair.corrected_p, LEVEL)
        note = f"{-pair.difference:+.2f} points, paired t {-pair.t:.2f}, corrected t {-pair.corrected_t:.2f}"
        worse = "not worse" if verdict == NOT_CONFIRMED else f"worse {verdict}"
        results.append(Cell(title, "worse", _mean_and_deviation(scores[title]), worse, note))
    return Sheet(f"Section 5.6, {name}: modifications of {base}, which the paper found worse", tuple(results), 2)


def _by_figure(names: Sequence[str]) -> list[str]:
    return sorted((name for name in names if "curve" in SETS[name]), key=lambda name: SETS[name]["figure"])


def _figure(name: str, options: Options) -> Figure:
    """Return figure 1, 2, 3 or 4; the slowest method is left out."""
    sizes, trials = SETS[name]["curve"], CURVE_TRIALS
    if options.quick:
        sizes, trials = sizes[:QUICK], QUICK
    methods = [method for method in METHODS if method != "K2-AS<="]
    protocol = LearningCurve(tuple(sizes), trials, _tested(name), options.seed)
    results = _results("curves", models(methods), name, protocol, options)
    curves = {}
    for method in methods:
        curve = results.curve(name, method)
        points = zip(curve.sizes, curve.means, curve.halfwidths, strict=True)
        curves[method] = tuple((float(size), 100 * mean, 100 * half) for size, mean, half in points)
    title = f"Figure {SETS[name]['figure']}: learning curves, {name}, {trials} trials"
    return Figure(title, "training cases", "accuracy in per cent", curves)


def _differing(sheets: Sequence[Sheet]) -> Iterator[tuple[str, Cell, list[dict[str, Any]]]]:
    """Return the cells that differ by more than sampling error, with their data sets and the readings that explain them."""
    for sheet in sheets:
        name = sheet.title.partition(",")[0]
        for cell in sheet.cells:
            if cell.verdict.startswith("differs"):
                yield name, cell, [content for content in READING_TEXTS.values() if [name, cell.name] in content["explains"]]


def explained(sheets: Sequence[Sheet]) -> tuple[int, int]:
    """Return how many differing cells a reading explains that fits other cells too, and how many only a contradicted one."""
    readings = [found for _, _, found in _differing(sheets)]
    plain = sum(any(not content["contradicted"] for content in found) for found in readings)
    return plain, sum(map(bool, readings)) - plain


def _explanations(sheets: Sequence[Sheet]) -> Iterator[tuple[str, str]]:
    """Return for every differing cell the readings that explain it."""
    for name, cell, readings in _differing(sheets):
        texts = [f"within sampling error if {_one_line(content['text'])}" for content in readings]
        reason = " or ".join(texts) or "no reading that was tried explains it"
        yield "differs", f"{name}, {cell.name} ({cell.difference:+.2f}): {reason}."


def _summary(sheets: Sequence[Sheet], pairings: Mapping[str, Sequence[Pairing]], trials: int) -> str:
    verdicts = [cell.verdict for sheet in sheets for cell in sheet.cells if cell.printed is not None]
    agreements = [pair.verdict for pairs in pairings.values() for pair in pairs if pair.verdict != NOT_PRINTED]
    quick, more = f"; quick, {trials} divisions", ""
    if trials == TRIALS:
        fitting, contradicted = explained(sheets)
        quick, more = "", f", {fitting} more with a tested reading, {contradicted} with one that other cells contradict"
    return (
        f"{verdicts.count(INSIDE)} of {len(verdicts)} accuracies within sampling error (Welch, p > {WELCH_LEVEL:g}{quick}){more}; "
        f"{agreements.count(AGREES)} of {len(agreements)} differences agree"
    )
