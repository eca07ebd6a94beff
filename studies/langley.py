"""Langley (1993): learning curves of simple and recursive Bayesian classifiers, and what the paper says about them, tested."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from naivete.classifiers.augmented import NaiveBayes
from naivete.classifiers.naive_variants import Recursive
from naivete.data.labelled_table import LabelledTable
from naivete.encoding.encoder import Encoder
from naivete.errors import NaiveteWarning, ParameterError, quoted
from naivete.evaluation import LearningCurve, Progress, run
from studies.data_sets import Size, data_set, folder_of, local
from studies.langley_claims import (
    DRAWN,
    NOT_REPRODUCED,
    Curves,
    about,
    apart,
    crossing,
    crossings,
    indistinguishable,
    interval,
    together,
)
from studies.langley_domains import SMOOTHING, Drawing, Reading, levels, scores
from studies.langley_examples import cell_sheets, parity_sheet
from studies.langley_remarks import remarks, told_about
from studies.verdicts import INSIDE, NOT_RUN, REPRODUCED, Cell, Figure, Reproduction, Sheet

__all__ = ["CONCEPTS", "NATURAL", "langley_1993", "steps"]

_TITLE: Final = "P. Langley (1993), Induction of recursive Bayesian classifiers, ECML-93: figures 1 to 6"
METHODS: Final = ("naive Bayes", "recursive")
NORMAL: Final = Encoder(numbers="normal")


class Natural(NamedTuple):
    """A natural domain.

    Parameters
    ----------
    figure : in which figure its curves are.
    file, size : the data set.
    sizes : the numbers of training cases, which are ours.
    fetched : whether OpenML has it in a form that we read.
    """

    figure: str
    file: str
    size: Size
    sizes: tuple[int, ...]
    fetched: bool = False


NATURAL: Final[Mapping[str, Natural]] = {
    "Vote": Natural("3 (a)", "vote", Size(435, 16, 2), (2, 5, 10, 15, 20, 30, 50, 100, 200), fetched=True),
    "Splice": Natural("3 (b)", "splice", Size(3190, 60, 3), (10, 20, 50, 100, 200, 500, 1000, 2000), fetched=True),
    "Glass": Natural("4 (a)", "glass-window", Size(214, 9, 2), (5, 10, 20, 40, 80, 140)),
    "Heart": Natural("4 (b)", "heart-c", Size(303, 13, 2), (5, 10, 20, 40, 80, 200)),
}
CONCEPTS: Final = {"one term": "5 (a)", "two terms": "5 (b)", "three terms": "6 (a)", "four terms": "6 (b)"}
"""The figure of each concept."""
SIZES: Final = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 40, 60)
"""The numbers of training cases of the concepts, which are ours."""
READINGS: Final = {
    "a case may be drawn twice": Reading(replace=True),
    "Laplace's rule in place of that of Clark and Niblett": Reading(1.0),
    "relative frequencies, zeros and all": Reading(0.0),
}
"""What the paper may have done instead."""


class Settings(NamedTuple):
    """How it is run: the seed, the pairs of natural domains and of concepts, where the data are, and who is told."""

    seed: int
    divisions: int
    pairs: int
    data: Path | None
    progress: Progress | None


USUAL: Final = Settings(0, 60, 600, None, None)
QUICK: Final = Settings(0, 3, 20, None, None)
READ: Final = 200
"""The pairs of another reading."""
_AT_ONCE: Final = 20


def steps(*, quick: bool = False, only: Sequence[str] | None = None, alternatives: bool = False) -> int:
    """How many times `langley_1993` tells its progress, where it has all data sets."""
    how = QUICK if quick else USUAL
    natural = sum(len(own.sizes) for name, own in NATURAL.items() if only is None or name in only)
    concepts = sum(only is None or name in only for name in CONCEPTS)
    read = len(READINGS) * min(how.pairs, READ) // _AT_ONCE if alternatives else 0
    return how.divisions * natural + concepts * (how.pairs // _AT_ONCE + read)


def langley_1993(
    *,
    seed: int = 0,
    quick: bool = False,
    data: str | Path | None = None,
    progress: Progress | None = None,
    only: Sequence[str] | None = None,
    alternatives: bool = False,
) -> Reproduction:
    """Figures 3 to 6 of Langley (1993) drawn anew, what the paper says about them tested, and its example and parity built.

    Parameters
    ----------
    seed : the seed of the training sets.
    quick : few pairs of training and test sets.
    data : the folder of the data sets; by default that of NAIVETE_DATA. Vote and Splice may come from OpenML.
    progress : is told of every division of a data set and of every twenty pairs of a concept.
    only : the names of some domains, by default all.
    alternatives : run the concepts with other readings of the paper, too.

    References
    ----------
    Langley (1993), Induction of recursive Bayesian classifiers, sections 2.3, 3, 4 and 6.
    """
    names = _chosen(only)
    how = (QUICK if quick else USUAL)._replace(seed=seed, data=folder_of(data), progress=progress)
    natural = {name: _natural(name, how) for name in names if name in NATURAL}
    concepts = _concepts([name for name in names if name in CONCEPTS], how, Reading())
    sheets = [
        *(cell_sheets() if "Cells" in names else ()),
        *([parity_sheet(seed, min(DRAWN, how.divisions))] if "Parity" in names else ()),
        *(_natural_sheet(name, own, how) for name, own in natural.items()),
        *(_concept_sheet(name, own, how) for name, own in concepts.items()),
    ]
    read = [_read(told, reading, list(concepts), how) for told, reading in READINGS.items()] if alternatives else []
    curves = {**{name: own for name, own in natural.items() if own is not None}, **concepts}
    figures = [_figure(name, own) for name, own in curves.items()]
    return Reproduction(
        "langley-1993",
        _TITLE,
        tuple(told_about(seed, how.divisions, how.pairs, quick)),
        (*sheets, *read),
        (),
        tuple(remarks(alternatives=alternatives)),
        _summary(sheets),
        figures=(*figures, *_differences(concepts)),
    )


def _chosen(only: Sequence[str] | None) -> list[str]:
    known = ["Cells", "Parity", *NATURAL, *CONCEPTS]
    wrong = [name for name in only or () if name not in known]
    if wrong:
        raise ParameterError(f"only={quoted(wrong[0])}: choose among {', '.join(known)}")
    return [name for name in known if only is None or name in only]


def _cases(name: str, how: Settings) -> LabelledTable | None:
    own = NATURAL[name]
    return data_set(own.file, own.size, folder=how.data) if own.fetched or local(own.file, how.data) else None


def _natural(name: str, how: Settings) -> Curves | None:
    """The accuracies on a natural domain, None where it is absent."""
    cases, sizes = _cases(name, how), NATURAL[name].sizes
    if cases is None:
        return None
    common: dict[str, Any] = {"smoothing": SMOOTHING, "encoder": NORMAL}
    models = {METHODS[0]: NaiveBayes(**common), METHODS[1]: Recursive(**common)}
    done = 0

    def told(now: int, _: int, what: str) -> None:
        nonlocal done
        for _ in range(now - done):
            if how.progress is not None:
                how.progress(what)
        done = now

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NaiveteWarning)  # small training sets lack classes, which the report says
        results = run(models, {name: cases}, LearningCurve(sizes, how.divisions, random_state=how.seed), progress=told)
    found = [100 * np.array(results.scores(name, model)).reshape(how.divisions, len(sizes)) for model in METHODS]
    return Curves(sizes, np.stack(found, axis=2))


def _natural_sheet(name: str, curves: Curves | None, how: Settings) -> Sheet:
    own = NATURAL[name]
    title = f"Figure {own.figure}: {name} ({own.size})"
    if curves is None:
        return Sheet(title, (Cell("all claims", None, None, NOT_RUN, f"{own.file}.arff.gz is not in the folder of data sets"),))
    return Sheet(title, (*_natural_cells(name, curves), _depth(name, how)), 2)


def _natural_cells(name: str, curves: Curves) -> Iterator[Cell]:
    """What the paper says about a natural domain."""
    last = curves.sizes[-1]
    if name == "Vote":
        yield from (about(f"{method}, 15 cases", 90, curves.at(15)[:, i]) for i, method in enumerate(METHODS))
        yield _below(curves, "fewer than 15 cases", 0, 14)
    elif name == "Heart":
        yield indistinguishable("some number of cases tells the curves apart", curves)
        yield _below(curves, "any number of cases", 0, last)
        means = curves.differences.mean(axis=0)
        below, verdict = int((means < 0).sum()), REPRODUCED if (means < 0).all() else NOT_REPRODUCED
        yield Cell("numbers of cases with the recursive mean below", "all", f"{below} of {len(means)}", verdict)
    else:
        asymptote = 95 if name == "Splice" else 90
        yield from (about(f"{method}, {last} cases", asymptote, curves.at(last)[:, i]) for i, method in enumerate(METHODS))
        yield together(f"recursive less naive Bayes, {last} cases", curves, last)
        yield _below(curves, f"fewer than {last} cases", 0, last - 1)


def _below(curves: Curves, told: str, least: int, most: int) -> Cell:
    few = curves.first().between(least, most) if len(curves.scores) > DRAWN else None
    return apart(f"recursive less naive Bayes, {told}", "below", curves.between(least, most), few)


def _depth(name: str, how: Settings) -> Cell:
    """How deep the hierarchies are, of the largest training sets."""
    cases, size = _cases(name, how), NATURAL[name].sizes[-1]
    assert cases is not None
    count = min(DRAWN, how.divisions)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NaiveteWarning)
        for split in LearningCurve((size,), count, random_state=how.seed).splits(cases):
            train = cases.take(split.train)
            found.append(levels(Recursive(smoothing=SMOOTHING, encoder=NORMAL, refit=False).fit(train.features, train.y).network_))
    ours = f"{np.median(found):g} ({min(found)} to {max(found)})"
    note = f"median of {count} training sets of {size} cases; in many cases two levels, the paper says of all natural domains"
    return Cell("levels of the hierarchy", "2", ours, REPRODUCED if 2 * found.count(2) >= len(found) else NOT_REPRODUCED, note)


def _concepts(names: Sequence[str], how: Settings, reading: Reading) -> dict[str, Curves]:
    """The accuracies on some concepts, by two processes where that is worth their start."""
    from joblib import Parallel, cpu_count, delayed, parallel_config  # type: ignore[import-untyped]

    places, terms = range(0, how.pairs, _AT_ONCE), {name: 1 + list(CONCEPTS).index(name) for name in names}
    tasks = [Drawing(terms[n], SIZES, range(at, at + _AT_ONCE), how.seed, reading) for n in names for at in places]
    found = []
    with parallel_config(backend="loky", inner_max_num_threads=1):
        jobs = 1 if how.pairs <= QUICK.pairs else min(2, cpu_count())
        for own, task in zip(Parallel(jobs, return_as="generator")(delayed(scores)(task) for task in tasks), tasks, strict=True):
            found.append(own)
            if how.progress is not None:
                how.progress(f"{list(CONCEPTS)[task.terms - 1]}, {task.pairs.stop} pairs")
    count = len(places)
    return {name: Curves(SIZES, np.concatenate(found[i * count : (i + 1) * count])) for i, name in enumerate(names)}


def _concept_sheet(name: str, curves: Curves, how: Settings) -> Sheet:
    title = f"Figure {CONCEPTS[name]}: {name} (64 cases, 6 features, 2 classes; {how.pairs} pairs)"
    return Sheet(title, tuple(_concept_cells(name, curves, how.seed)), 2)


def _concept_cells(name: str, curves: Curves, seed: int) -> Iterator[Cell]:
    """What the paper says about a concept."""
    last, few = SIZES[-1], curves.first()
    if name == "one term":
        yield from (about(f"{method}, {last} cases", 100, curves.at(last)[:, i]) for i, method in enumerate(METHODS))
        yield _below(curves, "up to 10 cases", 0, 10)
        yield _below(curves, "12 to 40 cases", 12, 40)
        return
    printed = (10, 10) if name == "two terms" else (5, 10)
    yield _below(curves, f"fewer than {printed[0]} cases", 0, printed[0] - 1)
    yield crossing("cases at which the recursive curve comes to stay above", printed, crossings(curves, seed))
    for told, least in ((f"more than 10 cases, up to {last}", 11), (f"{last} cases", last)):
        many, drawn = (own.between(least, last) for own in (curves, few))
        yield apart(f"recursive less naive Bayes, {told}", "above", many, drawn)


def _read(told: str, reading: Reading, names: Sequence[str], how: Settings) -> Sheet:
    """The claims about the concepts with another reading of the paper."""
    how = how._replace(pairs=min(how.pairs, READ))
    found = _concepts(names, how, reading)
    cells = [replace(c, name=f"{name}: {c.name}") for name, own in found.items() for c in _concept_cells(name, own, how.seed)]
    return Sheet(f"Another reading: {told} ({how.pairs} pairs)", tuple(cells), 2)


def _figure(name: str, curves: Curves) -> Figure:
    """The curves of as many pairs as the paper has."""
    own = curves.first()
    points = {method: tuple((float(size), *interval(own.at(size)[:, i])) for size in own.sizes) for i, method in enumerate(METHODS)}
    number = CONCEPTS.get(name) or NATURAL[name].figure
    title = f"Figure {number}: learning curves, {name}, {len(own.scores)} pairs"
    return Figure(title, "training cases", "accuracy in per cent", points)


def _differences(concepts: Mapping[str, Curves]) -> Iterator[Figure]:
    """What the recursive classifier has more on every concept, from all pairs, where the curves of the paper cross."""
    early = [size for size in SIZES if size <= 15]
    if concepts:
        points = {
            name: tuple((float(size), *interval(own.differences[:, SIZES.index(size)])) for size in early)
            for name, own in concepts.items()
        }
        pairs = len(next(iter(concepts.values())).scores)
        yield Figure(f"Recursive less naive Bayes, {pairs} pairs", "training cases", "points of accuracy", points)


def _summary(sheets: Sequence[Sheet]) -> str:
    verdicts = [cell.verdict for sheet in sheets for cell in sheet.cells if cell.printed is not None]
    fine = verdicts.count(REPRODUCED) + verdicts.count(INSIDE)
    against = sum(verdict == NOT_REPRODUCED or verdict.startswith("outside") for verdict in verdicts)
    return f"{fine} of {len(verdicts)} claims reproduced, {against} not, {len(verdicts) - fine - against} undecided"
