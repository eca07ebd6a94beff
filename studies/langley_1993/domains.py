"""The generated domains of Langley (1993): disjunctive concepts, the cells of figure 1, and parity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete import Block, Counts, MemoryCases, NaiveBayes, Network, Recursive, Variable
from naivete.inference.derived_predictor import predictor_of
from naivete.inference.predictor import argmax_class
from naivete.learners.naive import naive
from naivete.learners.recursive import recursive
from naivete.network.derived_columns import Hierarchy
from studies.results import toml
from studies.verdicts import Numbers

__all__ = ["Reading", "Training", "accuracies", "cells", "concept", "levels", "parity", "parity_accuracies", "parity_halves"]

Bits = NDArray[np.uint8]

PRINTED: Final = toml(__file__, "printed.toml")
SMOOTHING: Final = "clark-niblett"
"""How the paper replaces zero counts (section 2.1)."""
TERMS: Final = tuple(tuple(int(not letter.startswith("not-")) for letter in term.split()) for term in PRINTED["concepts"]["terms"])
"""The values of A, B and C in each term."""
CELL_FEATURES: Final = PRINTED["cells"]["features"]
CELLS: Final = tuple(tuple(line.split()) for line in PRINTED["cells"]["cases"].split("\n") if line)
"""Twelve cells as section 2.3 describes those of figure 1; the last value is the class."""
_VARIABLES: Final = (*(Variable(name, ("0", "1")) for name in "ABCDEF"), Variable("class", ("no", "yes")))
_COMPLETE: Final = np.zeros(6, np.bool_)


class Reading(NamedTuple):
    """What the paper may have done: how zero counts are replaced, and whether a case may be drawn twice."""

    smoothing: object = SMOOTHING
    replace: bool = False


class Training(NamedTuple):
    """Some pairs of an experiment on a concept; the training sets of a pair are the first cases of one random order.

    Parameters
    ----------
    terms : the number of terms of the concept.
    sizes : the numbers of training cases.
    pairs : which pairs; each has random numbers of its own.
    seed : the seed.
    reading : how the paper is read.
    """

    terms: int
    sizes: Sequence[int]
    pairs: range
    seed: int
    reading: Reading = Reading()


def concept(terms: int) -> Block:
    """Return all 64 cases over A to F; the class, last, is whether one of the first terms holds.

    >>> [int(concept(k).codes[-1].sum()) for k in (1, 2, 3, 4)]
    [8, 16, 24, 32]
    """
    bits = _all_bits(6)
    holds = [(bits[:, :3] == term).all(axis=1) for term in TERMS[:terms]]
    return Block((*np.ascontiguousarray(bits.T), np.logical_or.reduce(holds).astype(np.uint8)))


def _all_bits(count: int) -> Bits:
    return np.array(list(product((0, 1), repeat=count)), np.uint8)


def accuracies(training: Training) -> Numbers:
    """Return the accuracies of naive Bayes and of the recursive classifier on all 64 cases in per cent.  # (pair, size, 2)"""
    space, reading = concept(training.terms), training.reading
    scores = np.empty((len(training.pairs), len(training.sizes), 2))
    for i, pair in enumerate(training.pairs):
        random, most = np.random.default_rng([training.seed, training.terms, pair]), max(training.sizes)
        order = random.integers(0, 64, most) if reading.replace else random.permutation(64)[:most]
        for j, size in enumerate(training.sizes):
            train = space.take(order[:size])
            scores[i, j] = [_accuracy(learner, train, space, reading.smoothing) for learner in (naive, recursive)]
    return scores


def _accuracy(learner: Callable[..., Network], train: Block, space: Block, smoothing: object) -> float:
    network = learner(Counts(MemoryCases(_VARIABLES, train, _COMPLETE)), smoothing=smoothing)
    predicted = argmax_class(predictor_of(network).posterior(space.codes[:-1], _COMPLETE)[0])
    return 100 * float(np.mean(predicted == space.codes[-1]))


def cells() -> tuple[list[list[str]], list[str]]:
    """Return the features and the classes of the twelve cells."""
    return [list(case[:-1]) for case in CELLS], [case[-1] for case in CELLS]


def levels(network: Network) -> int:
    """Return the largest number of classifiers that a case passes; 1 is naive Bayes.

    Parameters
    ----------
    network : of `Recursive(refit=False)`; with `refit` the clusters are the same, but most of them have two classifiers.

    >>> levels(Recursive(smoothing=SMOOTHING, refit=False).fit(*cells()).network_)
    2
    """
    (hierarchy,) = (column for column in network.derived.values() if isinstance(column, Hierarchy))
    depth = np.ones(len(hierarchy.children), np.int64)
    for node in range(len(depth) - 1, -1, -1):  # a child comes after its parent
        below = hierarchy.children[node]
        depth[node] += max(depth[below[below >= 0]], default=0)
    return int(depth[0])


def parity(relevant: int = 5, irrelevant: int = 5) -> tuple[Bits, NDArray[np.int64]]:
    """Return all cases of so many bits, and whether the number of ones among the relevant bits, which come last, is odd.

    >>> bits, odd = parity(2, 1)
    >>> bits.shape, odd.tolist()
    ((8, 3), [0, 1, 1, 0, 0, 1, 1, 0])
    """
    bits = _all_bits(irrelevant + relevant)
    return bits, bits[:, irrelevant:].sum(axis=1, dtype=np.int64) % 2


def parity_halves(seed: int | None = None, irrelevant: int = 5) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of `parity` to train on, one half, and those to test on, the other.

    Without a seed the first have an even number of ones among the irrelevant bits: then every small set of bits is independent
    of the class in both halves.
    """
    bits, _ = parity(irrelevant=irrelevant)
    if seed is None:
        even = bits[:, :irrelevant].sum(axis=1) % 2 == 0
        return np.flatnonzero(even), np.flatnonzero(~even)
    order = np.random.default_rng(seed).permutation(len(bits))
    return order[: len(bits) // 2], order[len(bits) // 2 :]


def parity_accuracies(seed: int | None = None) -> dict[str, float]:
    """Return the accuracy in per cent of every classifier on the other half of the cases of parity."""
    bits, odd = parity()
    train, test = parity_halves(seed)
    models: dict[str, NaiveBayes | Recursive] = {
        "naive Bayes": NaiveBayes(smoothing=SMOOTHING),
        "recursive": Recursive(smoothing=SMOOTHING),
        "parity split": Recursive(smoothing=SMOOTHING, parity="split"),
        "parity split, refit=False": Recursive(smoothing=SMOOTHING, parity="split", refit=False),
    }
    fitted = {name: model.fit(bits[train], odd[train]) for name, model in models.items()}
    return {name: 100 * float(np.mean(model.predict(bits[test]) == odd[test])) for name, model in fitted.items()}
