"""The generated domains of Langley (1993): disjunctive concepts, the cells of figure 1, and parity, each with its experiment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from naivete.cases import Block, MemoryCases
from naivete.classifiers.augmented import NaiveBayes
from naivete.classifiers.naive_variants import Recursive
from naivete.counts.counts import Counts
from naivete.inference.derived_predictor import predictor_of
from naivete.inference.predictor import argmax_class
from naivete.learners.naive import naive
from naivete.learners.recursive import recursive
from naivete.network.derived_columns import Hierarchy
from naivete.network.network import Network
from naivete.variables import Variable

__all__ = [
    "CELLS",
    "CELL_FEATURES",
    "SMOOTHING",
    "TERMS",
    "Drawing",
    "Reading",
    "cells",
    "concept",
    "halves_of_parity",
    "levels",
    "parity",
    "parity_accuracies",
    "scores",
]

Bits = NDArray[np.uint8]

SMOOTHING: Final = "clark-niblett"
"""What the paper does about zeros (section 2.1)."""
TERMS: Final = ((1, 1, 1), (1, 0, 0), (0, 0, 1), (0, 1, 0))
"""The terms of the concepts over A, B and C: the concept of k terms has the first k."""
_VARIABLES: Final = (*(Variable(name, ("0", "1")) for name in "ABCDEF"), Variable("class", ("no", "yes")))
_COMPLETE: Final = np.zeros(6, np.bool_)


class Reading(NamedTuple):
    """What the paper may have done: how zeros are treated, and whether a case may be drawn twice."""

    smoothing: object = SMOOTHING
    replace: bool = False


class Drawing(NamedTuple):
    """Some pairs of an experiment on a concept: the training sets of a pair are the first cases of one random order.

    Parameters
    ----------
    terms : how many terms the concept has.
    sizes : how many training cases.
    pairs : which pairs; each has random numbers of its own.
    seed : the seed.
    reading : how to read the paper.
    """

    terms: int
    sizes: Sequence[int]
    pairs: range
    seed: int
    reading: Reading = Reading()


def concept(terms: int) -> Block:
    """All 64 cases over A to F, the class last: whether one of the first terms holds.

    >>> [int(concept(k).codes[-1].sum()) for k in (1, 2, 3, 4)]
    [8, 16, 24, 32]
    """
    bits = _all_bits(6)
    held = [(bits[:, :3] == term).all(axis=1) for term in TERMS[:terms]]
    return Block((*np.ascontiguousarray(bits.T), np.logical_or.reduce(held).astype(np.uint8)))


def _all_bits(count: int) -> Bits:
    return np.array(list(product((0, 1), repeat=count)), np.uint8)


def scores(drawing: Drawing) -> Numbers:
    """The accuracies on all 64 cases in per cent, of naive Bayes and of the recursive classifier.  # (pair, size, 2)"""
    space, reading = concept(drawing.terms), drawing.reading
    found = np.empty((len(drawing.pairs), len(drawing.sizes), 2))
    for i, pair in enumerate(drawing.pairs):
        order = _drawn(np.random.default_rng([drawing.seed, drawing.terms, pair]), max(drawing.sizes), reading.replace)
        for j, size in enumerate(drawing.sizes):
            train = space.take(order[:size])
            found[i, j] = [_accuracy(learner, train, space, reading.smoothing) for learner in (naive, recursive)]
    return found


def _drawn(draw: np.random.Generator, count: int, replace: bool) -> NDArray[np.int64]:
    return draw.integers(0, 64, count) if replace else draw.permutation(64)[:count]


def _accuracy(learner: Callable[..., Network], train: Block, space: Block, smoothing: object) -> float:
    network = learner(Counts(MemoryCases(_VARIABLES, train, _COMPLETE)), smoothing=smoothing)
    answers = argmax_class(predictor_of(network).posterior(space.codes[:-1], _COMPLETE)[0])
    return 100 * float(np.mean(answers == space.codes[-1]))


CELL_FEATURES: Final = {"nuclei": ("one", "two"), "tails": ("one", "two"), "color": ("light", "dark"), "wall": ("thin", "thick")}
CELLS: Final = tuple(
    tuple(case.split())
    for case in (
        "one one light thin healthy", "one one light thick healthy", "two two dark thin healthy", "two two dark thick healthy",
        "one one dark thin lethargia", "one one dark thick lethargia", "one two light thin lethargia",
        "one two light thick lethargia", "one two dark thin lethargia",
        "two one light thin burpoma", "two one light thick burpoma", "two one dark thin burpoma",
    )
)  # fmt: skip
"""Twelve cells as section 2.3 describes those of figure 1, which is a drawing: these are ours. The last word is the class."""


def cells() -> tuple[list[list[str]], list[str]]:
    """The features and the classes of the twelve cells."""
    return [list(case[:-1]) for case in CELLS], [case[-1] for case in CELLS]


def levels(network: Network) -> int:
    """How many classifiers a case goes through at most, the root being the first: 1 is naive Bayes.

    Parameters
    ----------
    network : of `Recursive(refit=False)`; with `refit` the clusters are the same, but most of them have two classifiers.

    >>> levels(Recursive(smoothing=SMOOTHING, refit=False).fit(*cells()).network_)
    2
    """
    (hierarchy,) = (own for own in network.derived.values() if isinstance(own, Hierarchy))
    depth = np.ones(len(hierarchy.children), np.int64)
    for node in range(len(depth) - 1, -1, -1):  # a child comes after its parent
        below = hierarchy.children[node]
        depth[node] += max(depth[below[below >= 0]], default=0)
    return int(depth[0])


def parity(relevant: int = 5, irrelevant: int = 5) -> tuple[Bits, NDArray[np.int64]]:
    """All cases of so many bits, and whether the number of ones among the relevant ones, which come last, is odd.

    >>> bits, odd = parity(2, 1)
    >>> bits.shape, odd.tolist()
    ((8, 3), [0, 1, 1, 0, 0, 1, 1, 0])
    """
    bits = _all_bits(irrelevant + relevant)
    return bits, bits[:, irrelevant:].sum(axis=1, dtype=np.int64) % 2


def halves_of_parity(seed: int | None = None, irrelevant: int = 5) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows of `parity` to learn from, one half, and those to be tested on, the other.

    Without a seed the first have an even number of ones among the irrelevant bits: then every bit, and every small set of bits,
    is independent of the class in both halves.
    """
    bits, _ = parity(irrelevant=irrelevant)
    if seed is None:
        even = bits[:, :irrelevant].sum(axis=1) % 2 == 0
        return np.flatnonzero(even), np.flatnonzero(~even)
    order = np.random.default_rng(seed).permutation(len(bits))
    return order[: len(bits) // 2], order[len(bits) // 2 :]


def parity_accuracies(seed: int | None = None) -> dict[str, float]:
    """The accuracies in per cent on the half of the rows of parity that was not learned from, by classifier."""
    bits, odd = parity()
    train, test = halves_of_parity(seed)
    models: dict[str, Any] = {
        "naive Bayes": NaiveBayes(smoothing=SMOOTHING),
        "recursive": Recursive(smoothing=SMOOTHING),
        "parity split": Recursive(smoothing=SMOOTHING, parity="split"),
        "parity split, refit=False": Recursive(smoothing=SMOOTHING, parity="split", refit=False),
    }
    fitted = {name: model.fit(bits[train], odd[train]) for name, model in models.items()}
    return {name: 100 * float(np.mean(model.predict(bits[test]) == odd[test])) for name, model in fitted.items()}
