"""Info-AS against K2-AS on Splice, 2000 training and 1175 test rows: `python -m benchmarks.selection`.

Printed are the seconds of selecting features and of the whole fit, the accuracy over several divisions, and the peak of memory of
the selection for more and more rows. K2-AS is timed three times: ours, which shares counts and scores between candidates; as
Singh and Provan (1995) describe it, every candidate network learned anew by K2 and asked about every row of the other half, with
our kernel; and so again with a junction tree, as they did. It needs the data set `splice3175` (see NAIVETE_DATA).
"""

from __future__ import annotations

import argparse
import json
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from studies.singh_provan_1995 import cases as published

from benchmarks import measuring
from naivete import K2AS, Encoder, InfoAS, NaiveBayes
from naivete.cases import Block, MemoryCases
from naivete.counts.counts import Counts
from naivete.evaluation import LabelledTable, Splits, run
from naivete.inference.predictor import Predictor
from naivete.inference.queries import posteriors
from naivete.learners.halves import halves
from naivete.learners.info_as import info_selection
from naivete.learners.k2 import k2
from naivete.learners.k2_as import k2_selection
from naivete.network.network import Network
from naivete.variables import CLASS, Variable

METRICS = ("cig", "cgr", "cdc")
SIZES = (500, 1000, 2000, 4000, 8000, 16000, 32000)
BASES = "ACGT"
Judge = Callable[[Network, Sequence[Any]], np.ndarray]


def by_kernel(network: Network, codes: Sequence[Any]) -> np.ndarray:
    """P(class | row), by the loop over the families that contain the class."""
    return Predictor(network).posterior(tuple(codes), np.zeros(len(codes) - 1, bool))[0]


def by_tree(network: Network, codes: Sequence[Any]) -> np.ndarray:
    """P(class | row), by messages in a junction tree, all rows at once."""
    return posteriors(network, CLASS, codes[:-1])


def cases_of(codes: Sequence[Any]) -> MemoryCases:
    """Columns of bases and one of classes as cases."""
    *features, labels = codes
    variables = [Variable(f"x{i}", tuple(BASES)) for i in range(len(features))]
    target = Variable("class", tuple(range(int(labels.max()) + 1)))
    return MemoryCases((*variables, target), Block(tuple(codes)), np.zeros(len(features), bool))


def anew(codes: Sequence[Any], judge: Judge = by_kernel, seed: int = 0) -> tuple[list[int], int]:
    """The features that K2-AS selects, done as the paper says it, and how many networks that took.

    Half of the rows learn, half judge. Every candidate is a network of its own: counted, learned and asked from the beginning.
    """
    learn, other = halves(Counts(cases_of(codes)), seed)
    learning, judging = (_rows(cases) for cases in (learn.cases, other))
    selected: list[int] = []
    best, networks = _right(np.bincount(learning[-1]).argmax(), judging[-1]), 0
    while left := [x for x in range(len(codes) - 1) if x not in selected]:
        found = []
        for x in left:
            columns = [*selected, x, len(codes) - 1]
            counts = Counts(cases_of([learning[i] for i in columns]))
            network = k2(counts, order=[CLASS, *range(len(columns) - 1)])
            found.append(_right(judge(network, [judging[i] for i in columns]).argmax(axis=1), judging[-1]))
            networks += 1
        if max(found) <= best:
            break
        best = max(found)
        selected.append(left[found.index(best)])
    return selected, networks


def _rows(cases: Any) -> list[Any]:
    """The columns of cases, rows of weight two twice."""
    (block,) = cases.map(lambda block: block)
    times = np.ones(len(block.codes[0]), int) if block.weight is None else block.weight.astype(int)
    return [np.repeat(column, times) for column in block.codes]


def _right(answers: Any, labels: Any) -> int:
    return int(np.count_nonzero(answers == labels))


def columns_of(cases: LabelledTable, rows: Any) -> list[Any]:
    """Some rows of the cases as codes."""
    features = [np.searchsorted(list(BASES), c.to_numpy().astype(str)).astype(np.uint8) for c in cases.features.columns]
    return [column[rows] for column in (*features, cases.labels.astype(np.uint8))]


def repeated(codes: Sequence[Any], rows: int) -> list[Any]:
    """So many rows: the given ones again and again, a tenth of the bases of a repetition drawn anew, so that few are equal."""
    rng, own = np.random.default_rng(0), len(codes[-1])
    at = np.arange(rows) % own
    made = [np.where((np.arange(rows) < own) | (rng.random(rows) < 0.9), c[at], rng.integers(0, 4, rows)) for c in codes[:-1]]
    return [*(column.astype(np.uint8) for column in made), codes[-1][at]]


def select(metric: str, codes: Sequence[Any]) -> list[int]:
    """Info-AS from codes in memory."""
    return info_selection(Counts(cases_of(codes)), metric=metric)


def select_k2(equal: bool, codes: Sequence[Any]) -> list[int]:
    """Our K2-AS from codes in memory."""
    return k2_selection(Counts(cases_of(codes)), equal=equal)


def seconds(codes: Sequence[Any], repeat: int) -> dict[str, dict[str, Any]]:
    """Seconds of every way of selecting, and what it selects."""
    ways: dict[str, Callable[[], Any]] = {metric: partial(select, metric, codes) for metric in METRICS}
    ways |= {"K2-AS": partial(select_k2, False, codes), "K2-AS<=": partial(select_k2, True, codes)}
    found = {name: _timed(way, repeat) for name, way in ways.items()}
    for name, judge in (("K2-AS anew, kernel", by_kernel), ("K2-AS anew, junction tree", by_tree)):
        own = measuring.timed(partial(anew, codes, judge), 0)
        selected, networks = own.result
        found[name] = {"seconds": own.best, "features": selected, "networks": networks}
    return found


def _timed(way: Callable[[], Any], repeat: int) -> dict[str, Any]:
    own = measuring.timed(way, repeat)
    return {"seconds": own.best, "features": own.result}


def whole(cases: LabelledTable, splits: Splits) -> dict[str, dict[str, float]]:
    """Seconds of a whole fit and accuracy in per cent, means over some divisions."""
    encoder = Encoder(missing="state")
    models: dict[str, Any] = {metric: InfoAS(metric=metric, encoder=encoder) for metric in METRICS}
    models |= {"K2-AS": K2AS(encoder=encoder), "K2-AS<=": K2AS(equal=True, encoder=encoder), "naive": NaiveBayes(encoder=encoder)}
    results = run(models, {"splice": cases}, splits, jobs=1)
    return {
        name: {
            "seconds": float(np.mean([r.fit_seconds for r in results.records if r.model == name])),
            "accuracy": 100 * float(np.mean(results.scores("splice", name))),
        }
        for name in models
    }


def peaks(codes: Sequence[Any], sizes: Sequence[int]) -> dict[int, dict[str, int]]:
    """Bytes that selecting takes beyond the rows, as numpy and Python allocate them, for each number of rows."""
    return {rows: {metric: _peak(metric, repeated(codes, rows)) for metric in METRICS} for rows in sizes}


def _peak(metric: str, codes: Sequence[Any]) -> int:
    tracemalloc.start()
    try:
        select(metric, codes)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def told(figures: dict[str, Any]) -> str:
    """All figures as text."""
    lines = ["| selecting | seconds | features | of CGR's time |", "|---|---|---|---|"]
    base = figures["selection"]["cgr"]["seconds"]
    for name, own in figures["selection"].items():
        more = f" ({own['networks']} networks)" if "networks" in own else ""
        lines.append(f"| {name}{more} | {own['seconds']:.3f} | {len(own['features'])} | {own['seconds'] / base:.1f} |")
    lines += ["", "| whole fit | seconds | accuracy |", "|---|---|---|"]
    lines += [f"| {name} | {own['seconds']:.3f} | {own['accuracy']:.2f} |" for name, own in figures["whole"].items()]
    lines += ["", "| rows | " + " | ".join(f"{m}, MB" for m in METRICS) + " | bytes a row (cgr) |", "|---|---|---|---|---|"]
    for rows, own in figures["memory"].items():
        sizes = " | ".join(f"{own[metric] / 1e6:.2f}" for metric in METRICS)
        lines.append(f"| {rows:,} | {sizes} | {own['cgr'] / rows:.0f} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    made = argparse.ArgumentParser(prog="python -m benchmarks.selection", description=__doc__.splitlines()[0])
    made.add_argument("--splits", type=int, default=10, help="divisions for the accuracies (10)")
    made.add_argument("--repeat", type=int, default=5, help="best of so many, after one to warm up (5)")
    made.add_argument("--largest", type=int, default=SIZES[-1], help=f"the most rows for the memory ({SIZES[-1]})")
    made.add_argument("--json", type=Path, help="write all figures there")
    asked = made.parse_args(arguments)
    cases = published("Splice")
    splits = Splits(asked.splits, 2000, 1175)
    codes = columns_of(cases, next(splits.splits(cases)).train)
    figures = {
        "selection": seconds(codes, asked.repeat),
        "whole": whole(cases, splits),
        "memory": peaks(codes, [rows for rows in SIZES if rows <= asked.largest]),
    }
    print(told(figures))
    if asked.json:
        asked.json.write_text(json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
