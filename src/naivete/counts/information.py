"""Entropies and informations of tables, in bits, and those of all features at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import combinations, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels import run_parallel, threads
from naivete._kernels.codes import Integers, Numbers
from naivete.counts.bias import Bias, checked_bias, corrected_dependence, corrected_relevance, joinable
from naivete.counts.counts import Counts, stacked, stacked_margins
from naivete.counts.entropy_terms import SCALE, EntropyTerms, conditional_informations, rounded_bits
from naivete.counts.normal_information import normal_dependence, normal_relevance
from naivete.counts.pairs import Pairs, SparsePair
from naivete.counts.tables import TableStack
from naivete.variables import CLASS

__all__ = [
    "arc_information",
    "conditional_information",
    "dependence",
    "entropy",
    "information",
    "informations",
    "joined_relevance",
    "plain_dependence",
    "relevance",
    "selection_information",
]

TILE = 512
"""The rows and columns of a part of a matrix that fits the cache."""


def entropy(table: NDArray[Any]) -> float:
    """Return the entropy H of the variables of a table of counts, in bits.

    Parameters
    ----------
    table : ndarray
        The counts, of any shape.

    Returns
    -------
    float
        The entropy, at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> from naivete import entropy
    >>> entropy(np.array([1, 1, 2]))
    1.5
    """
    return -float(EntropyTerms(table.sum()).sum_of(table)) / SCALE


def information(table: NDArray[Any]) -> float:
    """Return the mutual information I(X; Y) in bits from counts with the axes X and Y.

    >>> information(np.array([[2, 0], [0, 2]]))
    1.0
    """
    return conditional_information(table[:, :, None])


def conditional_information(table: NDArray[Any]) -> float:
    """Return the conditional mutual information I(X; Y | Z) in bits from counts with the axes X, Y and Z.

    Parameters
    ----------
    table : ndarray of shape (n_x, n_y, n_z)
        The counts.

    Returns
    -------
    float
        The information, at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> from naivete import conditional_information
    >>> conditional_information(np.array([[[1, 1], [1, 1]], [[1, 1], [1, 1]]]))
    0.0
    >>> conditional_information(np.array([[[1, 1], [0, 0]], [[0, 0], [1, 1]]]))  # X and Y are equal
    1.0
    """
    return max(0.0, float(conditional_informations(EntropyTerms(table.sum()), table[None, None])[0, 0]))


def selection_information(tables: TableStack, total: Any, *, singles: int | None = None) -> Numbers:
    """Return I(X; C | Z), H(X | Z) and H(X, C | Z) in bits, over the cases in which X and Z are observed.  # (measure, table)

    Parameters
    ----------
    tables : counts with the axes X, C and Z.
    total : the total weight of all cases.
    singles : the last state of Z, if it stands for all cases whose configuration occurs once: they are part of the total, but
        carry no information.

    >>> from naivete.counts.tables import DenseStack
    >>> counts = np.array([[[[1, 1, 1], [0, 1, 1]], [[0, 1, 0], [1, 1, 0]]]])
    >>> selection_information(DenseStack([(0, CLASS, 1)], counts), 8)[:, 0].tolist()
    [0.25, 0.75, 1.5]
    """
    terms = EntropyTerms(total)
    *sums, cases = tables.conditional_sums(singles)
    joint, features, classes, given = (terms.of(part).reshape(len(part), -1).sum(axis=1) for part in sums)
    share = np.asarray(cases, np.float64) / terms.total
    bits = np.stack([joint - features - classes + given, given - features, given - joint]) / SCALE
    return rounded_bits(bits / np.where(share > 0, share, 1.0))


def relevance(counts: Counts, *, bias: Bias = "plain") -> Numbers:
    """Return I(X; C) of every feature with the class, in bits, over the rows in which the feature is observed.

    Continuous features are taken as normal in each class and over all cases. The values are rounded to 2**-44 bit, so that
    informations that are equal but for rounding errors are equal.

    Parameters
    ----------
    counts : Counts
        The counts.
    bias : {"plain", "corrected"}, default="plain"
        "plain" for the information of the relative frequencies; "corrected" to subtract its bias, see `counts.bias`.

    Returns
    -------
    ndarray of shape (n_features,)
        The informations.

    Examples
    --------
    >>> import numpy as np
    >>> from naivete import Block, Counts, MemoryCases, Variable, relevance
    >>> variables = [Variable(name, ("no", "yes")) for name in ("x", "y", "class")]
    >>> block = Block([np.array(codes, np.uint8) for codes in ([0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 1, 1])])
    >>> relevance(Counts(MemoryCases(variables, block, np.zeros(2, bool)))).tolist()  # the class is x
    [1.0, 0.0]
    """
    if checked_bias(bias) == "corrected":
        return corrected_relevance(counts, relevance(counts))
    if counts.relevance is None:
        terms = EntropyTerms(counts.margins()[CLASS,].sum())
        bits = np.zeros(len(counts.features))
        for features, tables in stacked_margins(counts):
            bits[features] = conditional_informations(terms, tables[:, None, :, :, None])[:, 0]
        for x, moments in counts.moments(counts.continuous, (CLASS,)).items():
            bits[x] = normal_relevance(moments)
        counts.relevance = rounded_bits(bits)
    return counts.relevance


def joined_relevance(counts: Counts, positions: Mapping[int, Integers]) -> Numbers:
    """Return I(X; C) of every feature, in bits, where states of some features are joined.

    Parameters
    ----------
    counts : the counts.
    positions : for each feature whose states are joined, the first state of each group of them but the first; missing values that
        are a state are left out.
    """
    bits = np.zeros(len(counts.features)) if len(positions) == len(counts.features) else relevance(counts).copy()
    tables = {x: counts.margins()[x, CLASS][: counts.variables[x].known] for x in positions}
    joined = {x: np.add.reduceat(table, np.append(0, positions[x]), axis=0) for x, table in tables.items() if len(table)}
    if joined:
        terms = EntropyTerms(counts.margins()[CLASS,].sum())
        plain = conditional_informations(terms, stacked([*joined.values()])[:, None, :, :, None])
        bits[[*joined]] = rounded_bits(plain[:, 0])
    return bits


def dependence(counts: Counts, *, bias: Bias = "plain") -> Numbers:
    """Return I(X; Y | C) of every pair of features given the class, in bits, a symmetric matrix with a zero diagonal.

    Continuous features are taken as normal in each class; a continuous and a discrete feature as independent. Each pair is
    judged on the rows in which both are observed. The values are rounded to 2**-44 bit, so that informations that are equal but
    for rounding errors are equal, whatever the order of rows and states.

    Parameters
    ----------
    counts : Counts
        The counts.
    bias : {"plain", "corrected"}, default="plain"
        "plain" for the information of the relative frequencies. "corrected" subtracts its bias, and is zero for features with too
        few cases for each state, of which no pairs are counted; see `counts.bias`.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        The informations.

    Examples
    --------
    >>> import numpy as np
    >>> from naivete import Block, Counts, MemoryCases, Variable, dependence
    >>> variables = [Variable(name, ("no", "yes")) for name in ("x", "y", "class")]
    >>> block = Block([np.array(codes, np.uint8) for codes in ([0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0])])
    >>> dependence(Counts(MemoryCases(variables, block, np.zeros(2, bool)))).tolist()  # the class is x xor y
    [[0.0, 1.0], [1.0, 0.0]]
    """
    if checked_bias(bias) == "corrected":
        return _corrected_dependence(counts)
    if counts.dependence is None:
        counts.dependence = informations(counts.pairs_to_weigh(), counts)
        continuous = counts.continuous
        if len(continuous) > 1:
            counts.dependence[np.ix_(continuous, continuous)] = rounded_bits(_continuous_dependence(counts, continuous))
    return counts.dependence


def plain_dependence(counts: Counts) -> Numbers:
    """Return I(X; Y | C) of every pair of features that may be joined by an arc, in bits, with its bias; zero for other pairs."""
    features = np.flatnonzero(joinable(counts)).tolist()
    if len(features) == len(counts.features):
        return dependence(counts)
    matrix = np.zeros((len(counts.features), len(counts.features)))
    if features:
        matrix[np.ix_(features, features)] = dependence(counts.subset(features))
    return matrix


def _corrected_dependence(counts: Counts) -> Numbers:
    return corrected_dependence(counts, plain_dependence(counts))


def _continuous_dependence(counts: Counts, features: Sequence[int]) -> Numbers:
    """Return I(X; Y | C) of pairs of features that are normal in each class, each on the rows in which both are observed."""
    if not counts.cases.has_missing[list(features)].any():
        return normal_dependence(counts.scatters([features], (CLASS,))[0])
    pairs = list(combinations(range(len(features)), 2))
    bits = np.zeros((len(features), len(features)))
    scatters = counts.scatters([(features[i], features[j]) for i, j in pairs], (CLASS,))
    for (i, j), scatter in zip(pairs, scatters, strict=True):
        bits[i, j] = bits[j, i] = normal_dependence(scatter)[0, 1]
    return bits


def informations(pairs: Iterable[Pairs | SparsePair], counts: Counts) -> Numbers:
    """Return I(X; Y | C) of some pairs of features, in bits, as a symmetric matrix that is zero elsewhere.

    Parameters
    ----------
    pairs : the tables of the pairs.
    counts : the counts of their features with the class.
    """
    remaining, work = iter(pairs), sum(counts.cards(counts.features)) ** 2 * counts.cards([CLASS])[0]
    batch = list(islice(remaining, 8 * threads()))  # raises where the budget is exceeded, before the matrix is allocated
    matrix = np.zeros((len(counts.features), len(counts.features)))
    margins: _MarginTerms | None = None
    while batch:
        margins = margins or _MarginTerms(counts)  # the margins are counted with the first pairs
        run_parallel(partial(_write_informations, matrix, margins), batch, work)
        batch = list(islice(remaining, 8 * threads()))
    _mirror(matrix)
    return matrix


def _mirror(matrix: Numbers) -> None:
    """Make a matrix symmetric of which one of each two opposite cells is zero; in tiles that fit the cache."""
    tiles = [slice(start, start + TILE) for start in range(0, len(matrix), TILE)]

    def mirror_row(row: int) -> None:
        for column in range(row, len(tiles)):
            upper, lower = (tiles[row], tiles[column]), (tiles[column], tiles[row])
            both = matrix[upper] + matrix[lower].T
            matrix[upper], matrix[lower] = both, both.T

    run_parallel(mirror_row, range(len(tiles)), matrix.size)


def arc_information(counts: Counts, arcs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], float]:
    """Return I(X; Y | C) of some arcs, in bits; nothing where `dependence` has not been computed, as no rows are counted."""
    if counts.dependence is None and not counts.subsets:
        return {}
    bits = plain_dependence(counts) if counts.dependence is None else counts.dependence
    return {(p, x): float(bits[p, x]) for p, x in arcs}


class _MarginTerms:
    """The entropy terms of the features with the class, and of the class, which all pairs without missing values share."""

    def __init__(self, counts: Counts) -> None:
        classes = counts.margins()[CLASS,]
        self.terms = EntropyTerms(classes.sum())
        self.features = np.zeros(len(counts.features), np.int64)
        for features, tables in stacked_margins(counts):
            self.features[features] = self.terms.of(tables).sum(axis=(1, 2))
        self.classes = int(self.terms.of(classes).sum())


def _write_informations(matrix: Numbers, margins: _MarginTerms, pairs: Pairs | SparsePair) -> None:
    """Write the informations of some pairs into the matrix, on one side of the diagonal."""
    if pairs.complete:
        sums = pairs.cell_terms(margins.terms)
        sums -= margins.features[pairs.first][:, None]
        sums -= margins.features[pairs.second] - margins.classes
        bits = sums / SCALE
    else:
        bits = pairs.informations(margins.terms)
    if pairs.first[0] == pairs.second[0]:  # a group with itself
        square = bits[:, : len(pairs.first)]
        square *= np.arange(len(pairs.first)) > np.arange(len(pairs.first))[:, None]
    matrix[_block_index(pairs.first, pairs.second)] = rounded_bits(bits)


def _block_index(first: Integers, second: Integers) -> Any:
    """Return the index of a submatrix, with slices where the features follow one another."""
    if all(features[-1] - features[0] == len(features) - 1 for features in (first, second)):
        return tuple(slice(int(features[0]), int(features[-1]) + 1) for features in (first, second))
    return np.ix_(first, second)
