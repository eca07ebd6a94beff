"""Langley (1993): learning curves of naive and recursive Bayesian classifiers, and tests of what the paper says about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from naivete import Encoder, NaiveBayes, Recursive
from naivete.evaluation import LabelledTable, LearningCurve
from studies.data_sets import Size, data_set
from studies.langley_1993.curves import PAPER_PAIRS, Curves, about, crossing, crossings, indistinguishable, together
from studies.langley_1993.domains import PRINTED, SMOOTHING, Reading, Training, accuracies, levels
from studies.langley_1993.examples import cell_sheets, parity_sheet
from studies.results import Cell, Figure, Options, Reproduction, Sheet, page_text
from studies.running import in_parallel, quiet, results_of
from studies.verdicts import INSIDE, NOT_REPRODUCED, REPRODUCED, UNDECIDED, interval, one_sided

__all__ = ["CONCEPTS", "NATURAL", "SIZES", "reproduce"]

METHODS: Final = ("naive Bayes", "recursive")
NORMAL: Final = Encoder(numbers="normal", keep=True)
NATURAL: Final = PRINTED["natural"]
CONCEPTS: Final = PRINTED["concepts"]["figures"]
SIZES: Final = tuple(PRINTED["concepts"]["sizes"])
READINGS: Final = {
    "a case may be drawn twice": Reading(replace=True),
    "Laplace's rule instead of that of Clark and Niblett": Reading(1.0),
    "relative frequencies, with zeros": Reading(0.0),
}
"""What the paper may have done instead."""
READING_PAIRS, BATCH = 200, 20


class Amount(NamedTuple):
    """The number of divisions of natural domains and of pairs of the concepts."""

    divisions: int
    pairs: int


FULL, QUICK = Amount(60, 600), Amount(3, 20)


def reproduce(options: Options) -> Reproduction:
    """Draw figures 3 to 6 of Langley (1993) again, test what the paper says about them, and build its example and parity.

    With `alternatives` the concepts are also run with other readings of the paper.

    References
    ----------
    Langley (1993), Induction of recursive Bayesian classifiers, sections 2.3, 3, 4 and 6.
    """
    names, amount = options.chosen(["Cells", "Parity", *NATURAL, *CONCEPTS]), QUICK if options.quick else FULL
    natural = {name: _natural_curves(name, amount, options) for name in names if name in NATURAL}
    concepts = _concept_curves([name for name in names if name in CONCEPTS], amount.pairs, Reading(), options)
    sheets = [
        *(cell_sheets() if "Cells" in names else ()),
        *([parity_sheet(options.seed, min(PAPER_PAIRS, amount.divisions))] if "Parity" in names else ()),
        *(_natural_sheet(name, curves, amount, options.seed) for name, curves in natural.items()),
        *(_concept_sheet(name, curves, options.seed) for name, curves in concepts.items()),
    ]
    summary = _summary(sheets)
    if options.alternatives:
        sheets += [_reading_sheet(name, reading, list(concepts), amount, options) for name, reading in READINGS.items()]
    title, sentences, remarks = page_text(__file__, quick=options.quick, seed=options.seed, **amount._asdict())
    if not options.alternatives:
        text = "--alternatives runs the concepts with replacement, by Laplace's rule and by relative frequencies."
        remarks.append(("readings", text))
    figures = [_figure(name, curves) for name, curves in {**natural, **concepts}.items()]
    figures += _difference_figure(concepts)
    return Reproduction("langley-1993", title, sentences, tuple(sheets), tuple(remarks), summary, figures=tuple(figures))


def _cases(name: str) -> LabelledTable:
    return data_set(NATURAL[name]["file"], Size(*NATURAL[name]["size"]))


def _natural_curves(name: str, amount: Amount, options: Options) -> Curves:
    """Return the accuracies on a natural domain."""
    sizes = tuple(NATURAL[name]["sizes"])
    classifiers = NaiveBayes(smoothing=SMOOTHING, encoder=NORMAL), Recursive(smoothing=SMOOTHING, encoder=NORMAL)
    models = dict(zip(METHODS, classifiers, strict=True))
    protocol = LearningCurve(sizes, amount.divisions, random_state=options.seed)
    results = results_of(models, name, _cases(name), protocol, options.progress)
    scores = [100 * np.array(results.scores(name, model)).reshape(amount.divisions, len(sizes)) for model in METHODS]
    return Curves(sizes, np.stack(scores, axis=2))


def _natural_sheet(name: str, curves: Curves, amount: Amount, seed: int) -> Sheet:
    printed = NATURAL[name]
    cells = (*_natural_cells(name, curves), _depth(name, amount, seed))
    return Sheet(f"Figure {printed['figure']}: {name} ({Size(*printed['size'])})", cells, 2)


def _natural_cells(name: str, curves: Curves) -> Iterator[Cell]:
    """Return what the paper says about a natural domain."""
    last = curves.sizes[-1]
    if name == "Heart":
        yield indistinguishable("the curves differ at some number of cases", curves)
        yield _below(curves, "any number of cases", 0, last)
        means = curves.differences.mean(axis=0)
        below, verdict = int((means < 0).sum()), REPRODUCED if (means < 0).all() else NOT_REPRODUCED
        yield Cell("numbers of cases with the recursive mean below", "all", f"{below} of {len(means)}", verdict)
        return
    size = NATURAL[name].get("at", last)
    yield from (about(f"{m}, {size} cases", NATURAL[name]["accuracy"], curves.at(size)[:, i]) for i, m in enumerate(METHODS))
    if size == last:
        yield together(f"recursive minus naive Bayes, {last} cases", curves, last)
    yield _below(curves, f"fewer than {size} cases", 0, size - 1)


def _below(curves: Curves, range_text: str, least: int, most: int) -> Cell:
    few = curves.first().between(least, most) if len(curves.scores) > PAPER_PAIRS else None
    return one_sided(f"recursive minus naive Bayes, {range_text}", "below", curves.between(least, most), few)


def _depth(name: str, amount: Amount, seed: int) -> Cell:
    """Return the depth of the hierarchies of the largest training sets."""
    cases, size, count = _cases(name), NATURAL[name]["sizes"][-1], min(PAPER_PAIRS, amount.divisions)
    model = Recursive(smoothing=SMOOTHING, encoder=NORMAL, refit=False)
    depths = []
    with quiet():
        for split in LearningCurve((size,), count, random_state=seed).splits(cases):
            train = cases.take(split.train)
            depths.append(levels(model.fit(train.features, train.y).network_))
    ours = f"{np.median(depths):g} ({min(depths)} to {max(depths)})"
    note = f"median of {count} training sets of {size} cases; the paper says of all natural domains: in many cases two levels"
    return Cell("levels of the hierarchy", "2", ours, REPRODUCED if 2 * depths.count(2) >= len(depths) else NOT_REPRODUCED, note)


def _concept_curves(names: Sequence[str], pairs: int, reading: Reading, options: Options) -> dict[str, Curves]:
    """Return the accuracies on some concepts."""
    starts, terms = range(0, pairs, BATCH), {name: 1 + list(CONCEPTS).index(name) for name in names}
    tasks = {
        f"{name}, {start + BATCH} pairs": Training(terms[name], SIZES, range(start, start + BATCH), options.seed, reading)
        for name in names
        for start in starts
    }
    parts = in_parallel(accuracies, tasks, options.progress, jobs=1 if pairs <= QUICK.pairs else 2)
    count = len(starts)
    return {name: Curves(SIZES, np.concatenate(parts[i * count : (i + 1) * count])) for i, name in enumerate(names)}


def _concept_sheet(name: str, curves: Curves, seed: int) -> Sheet:
    title = f"Figure {CONCEPTS[name]}: {name} (64 cases, 6 features, 2 classes; {len(curves.scores)} pairs)"
    return Sheet(title, tuple(_concept_cells(name, curves, seed)), 2)


def _concept_cells(name: str, curves: Curves, seed: int) -> Iterator[Cell]:
    """Return what the paper says about a concept."""
    last, few = SIZES[-1], curves.first()
    if name == "one term":
        yield from (about(f"{method}, {last} cases", 100, curves.at(last)[:, i]) for i, method in enumerate(METHODS))
        yield _below(curves, "up to 10 cases", 0, 10)
        yield _below(curves, "12 to 40 cases", 12, 40)
        return
    first, latest = PRINTED["concepts"]["crossing"][name]
    yield _below(curves, f"fewer than {first} cases", 0, first - 1)
    yield crossing("cases from which on the recursive curve stays above", (first, latest), crossings(curves, seed))
    for range_text, least in ((f"more than 10 cases, up to {last}", 11), (f"{last} cases", last)):
        differences = [some.between(least, last) for some in (curves, few)]
        yield one_sided(f"recursive minus naive Bayes, {range_text}", "above", *differences)


def _reading_sheet(reading_name: str, reading: Reading, names: Sequence[str], amount: Amount, options: Options) -> Sheet:
    """Test the claims about the concepts with another reading of the paper."""
    pairs = min(amount.pairs, READING_PAIRS)
    curves = _concept_curves(names, pairs, reading, options)
    cells = [replace(c, name=f"{name}: {c.name}") for name in names for c in _concept_cells(name, curves[name], options.seed)]
    return Sheet(f"Another reading: {reading_name} ({pairs} pairs)", tuple(cells), 2)


def _figure(name: str, curves: Curves) -> Figure:
    """Return the curves of as many pairs as the paper has."""
    few = curves.first()
    points = {method: tuple((float(s), *interval(few.at(s)[:, i])) for s in few.sizes) for i, method in enumerate(METHODS)}
    number = CONCEPTS[name] if name in CONCEPTS else NATURAL[name]["figure"]
    title = f"Figure {number}: learning curves, {name}, {len(few.scores)} pairs"
    return Figure(title, "training cases", "accuracy in per cent", points)


def _difference_figure(concepts: Mapping[str, Curves]) -> Iterator[Figure]:
    """Return recursive classifier minus naive Bayes on every concept, from all pairs, where the curves of the paper cross."""
    early = [(j, float(size)) for j, size in enumerate(SIZES) if size <= 15]
    if concepts:
        points = {n: tuple((size, *interval(curves.differences[:, j])) for j, size in early) for n, curves in concepts.items()}
        pairs = len(next(iter(concepts.values())).scores)
        yield Figure(f"Recursive minus naive Bayes, {pairs} pairs", "training cases", "points of accuracy", points)


def _summary(sheets: Sequence[Sheet]) -> str:
    verdicts = [cell.verdict for sheet in sheets for cell in sheet.cells if cell.printed is not None]
    fine = verdicts.count(REPRODUCED) + verdicts.count(INSIDE)
    open_ones = verdicts.count(UNDECIDED)
    return f"{fine} of {len(verdicts)} claims reproduced, {len(verdicts) - fine - open_ones} not, {open_ones} undecided"
