"""Info-AS compared with K2-AS on Splice, 2000 training and 1175 test rows: `python -m benchmarks.selection`.

Prints the time of the feature selection and of the whole fit, the accuracy over several splits, and the peak memory of the
selection for increasing numbers of rows. Three variants of K2-AS are timed: that of naivete, which shares counts and scores
between candidates; the one described by Singh and Provan (1995), in which every candidate network is learned separately by K2 and
predicts every row of the other half, with the kernel of naivete; and the same with a junction tree, as in the paper. It needs the
data set `splice3175` (see NAIVETE_DATA).
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
    """Return P(class | row), computed by the loop over the families that contain the class."""
    return Predictor(network).posterior(tuple(codes), np.zeros(len(codes) - 1, bool))[0]


def by_tree(network: Network, codes: Sequence[Any]) -> np.ndarray:
    """Return P(class | row), computed in a junction tree for all rows at once."""
    return posteriors(network, CLASS, codes[:-1])


def cases_of(codes: Sequence[Any]) -> MemoryCases:
    """Return columns of bases and one column of classes as cases."""
    *features, labels = codes
    variables = [Variable(f"x{i}", tuple(BASES)) for i in range(len(features))]
    target = Variable("class", tuple(range(int(labels.max()) + 1)))
    return MemoryCases((*variables, target), Block(tuple(codes)), np.zeros(len(features), bool))


def select_separately(codes: Sequence[Any], judge: Judge = by_kernel, seed: int = 0) -> tuple[list[int], int]:
    """Return the features that K2-AS selects, computed as in the paper, and the number of networks learned.

    Networks are learned from half of the rows and evaluated on the other half. Every candidate network is counted, learned and
    evaluated separately.
    """
    learn, other = halves(Counts(cases_of(codes)), seed)
    learning, judging = (_rows(cases) for cases in (learn.cases, other))
    selected: list[int] = []
    best, networks = _right(np.bincount(learning[-1]).argmax(), judging[-1]), 0
    while candidates := [x for x in range(len(codes) - 1) if x not in selected]:
        correct = []
        for x in candidates:
            columns = [*selected, x, len(codes) - 1]
            counts = Counts(cases_of([learning[i] for i in columns]))
            network = k2(counts, order=[CLASS, *range(len(columns) - 1)])
            correct.append(_right(judge(network, [judging[i] for i in columns]).argmax(axis=1), judging[-1]))
            networks += 1
        if max(correct) <= best:
            break
        best = max(correct)
        selected.append(candidates[correct.index(best)])
    return selected, networks


def _rows(cases: Any) -> list[Any]:
    """Return the columns of the cases, with each row repeated by its weight."""
    (block,) = cases.map(lambda block: block)
    times = np.ones(len(block.codes[0]), int) if block.weight is None else block.weight.astype(int)
    return [np.repeat(column, times) for column in block.codes]


def _right(predictions: Any, labels: Any) -> int:
    return int(np.count_nonzero(predictions == labels))


def columns_of(cases: LabelledTable, rows: Any) -> list[Any]:
    """Return the given rows of the cases as codes."""
    features = [np.searchsorted(list(BASES), c.to_numpy().astype(str)).astype(np.uint8) for c in cases.features.columns]
    return [column[rows] for column in (*features, cases.labels.astype(np.uint8))]


def repeated(codes: Sequence[Any], rows: int) -> list[Any]:
    """Return the given number of rows: repetitions of the rows, with a tenth of the bases of a repetition replaced at random."""
    rng, length = np.random.default_rng(0), len(codes[-1])
    row = np.arange(rows) % length
    kept = np.arange(rows) < length
    columns = [np.where(kept | (rng.random(rows) < 0.9), c[row], rng.integers(0, 4, rows)) for c in codes[:-1]]
    return [*(column.astype(np.uint8) for column in columns), codes[-1][row]]


def select(metric: str, codes: Sequence[Any]) -> list[int]:
    """Return the features that Info-AS selects."""
    return info_selection(Counts(cases_of(codes)), metric=metric)


def select_k2(accept_ties: bool, codes: Sequence[Any]) -> list[int]:
    """Return the features that K2-AS of naivete selects."""
    return k2_selection(Counts(cases_of(codes)), accept_ties=accept_ties)


def seconds(codes: Sequence[Any], repeat: int) -> dict[str, dict[str, Any]]:
    """Return the time of every method of selection, and the features it selects."""
    ways: dict[str, Callable[[], Any]] = {metric: partial(select, metric, codes) for metric in METRICS}
    ways |= {"K2-AS": partial(select_k2, False, codes), "K2-AS<=": partial(select_k2, True, codes)}
    figures = {name: _timed(way, repeat) for name, way in ways.items()}
    for name, judge in (("K2-AS, separate networks, kernel", by_kernel), ("K2-AS, separate networks, junction tree", by_tree)):
        call = measuring.timed(partial(select_separately, codes, judge), 0)
        selected, networks = call.result
        figures[name] = {"seconds": call.best, "features": selected, "networks": networks}
    return figures


def _timed(way: Callable[[], Any], repeat: int) -> dict[str, Any]:
    call = measuring.timed(way, repeat)
    return {"seconds": call.best, "features": call.result}


def whole(cases: LabelledTable, splits: Splits) -> dict[str, dict[str, float]]:
    """Return the time of a whole fit and the accuracy in percent, means over the splits."""
    encoder = Encoder(missing="state")
    models: dict[str, Any] = {metric: InfoAS(metric=metric, encoder=encoder) for metric in METRICS}
    models |= {
        "K2-AS": K2AS(encoder=encoder),
        "K2-AS<=": K2AS(accept_ties=True, encoder=encoder),
        "naive": NaiveBayes(encoder=encoder),
    }
    results = run(models, {"splice": cases}, splits, jobs=1)
    return {
        name: {
            "seconds": float(np.mean([r.fit_seconds for r in results.records if r.model == name])),
            "accuracy": 100 * float(np.mean(results.scores("splice", name))),
        }
        for name in models
    }


def peaks(codes: Sequence[Any], sizes: Sequence[int]) -> dict[int, dict[str, int]]:
    """Return the peak memory of the selection beyond the rows, as allocated by NumPy and Python, for each number of rows."""
    return {rows: {metric: _peak(metric, repeated(codes, rows)) for metric in METRICS} for rows in sizes}


def _peak(metric: str, codes: Sequence[Any]) -> int:
    tracemalloc.start()
    try:
        select(metric, codes)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def as_text(figures: dict[str, Any]) -> str:
    """Return all figures as text."""
    lines = ["| selection | seconds | features | relative to cgr |", "|---|---|---|---|"]
    base = figures["selection"]["cgr"]["seconds"]
    for name, row in figures["selection"].items():
        networks = f" ({row['networks']} networks)" if "networks" in row else ""
        lines.append(f"| {name}{networks} | {row['seconds']:.3f} | {len(row['features'])} | {row['seconds'] / base:.1f} |")
    lines += ["", "| whole fit | seconds | accuracy |", "|---|---|---|"]
    lines += [f"| {name} | {row['seconds']:.3f} | {row['accuracy']:.2f} |" for name, row in figures["whole"].items()]
    lines += ["", "| rows | " + " | ".join(f"{m}, MB" for m in METRICS) + " | bytes per row (cgr) |", "|---|---|---|---|---|"]
    for rows, peak in figures["memory"].items():
        sizes = " | ".join(f"{peak[metric] / 1e6:.2f}" for metric in METRICS)
        lines.append(f"| {rows:,} | {sizes} | {peak['cgr'] / rows:.0f} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.selection", description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=10, help="number of splits for the accuracies (10)")
    parser.add_argument("--repeat", type=int, default=5, help="calls after a warm-up call, of which the fastest counts (5)")
    parser.add_argument("--largest", type=int, default=SIZES[-1], help=f"largest number of rows for the memory ({SIZES[-1]})")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    options = parser.parse_args(arguments)
    cases = published("Splice")
    splits = Splits(options.splits, 2000, 1175)
    codes = columns_of(cases, next(splits.splits(cases)).train)
    figures = {
        "selection": seconds(codes, options.repeat),
        "whole": whole(cases, splits),
        "memory": peaks(codes, [rows for rows in SIZES if rows <= options.largest]),
    }
    print(as_text(figures))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
