"""The structures of a spectrum: bins of the features, information with few bins, parents, and counts in nested contexts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Integers, Numbers, missing_code, narrowest
from naivete._kernels.contexts import ContextEstimate
from naivete.cases.base import Block
from naivete.cases.views import transformed_cases
from naivete.counts.bit_planes import PLANE_STATES
from naivete.counts.contexts import LARGEST, ContextCounts, ContextRequest, TreeRequest, context_counts
from naivete.counts.counts import Counts
from naivete.counts.information import dependence, relevance
from naivete.counts.significance import significant_dependence, significant_features
from naivete.encoding.discretization import mdl_of_columns
from naivete.network.spectrum import Bins, Member
from naivete.variables import CLASS, Variable, Variables

__all__ = [
    "Columns",
    "Parents",
    "bin_information",
    "binned_counts",
    "by_information",
    "columns_of",
    "counted_structures",
    "drawn_plan",
    "family_request",
    "main_plan",
    "mdl_bins",
]

PAIR_BINS = 8
"""The number of intervals of a numeric feature when all pairs of features are counted."""
CASES_PER_PAIR = 4
FEW = 0.4
"""With fewer cases for each pair of features and a smaller share of significant features, only significant dependences are used."""
SIGNIFICANT = 0.05
"""The share of features without information among the significant ones, and the probability that any pair is so by chance."""
WORDS_PER_GROUP = 100_000
"""Counting the pairs of two groups of features takes about as long as counting this many words of 64 rows."""
MEMBER_BINS = (4, 24)
"""The fewest and the most intervals of a numeric feature in a member."""


@dataclass(frozen=True, eq=False)
class Columns:
    """What bins are made from.

    Parameters
    ----------
    margins : the weight of every code of each feature, and last of missing values, in each class.  # (code, class)
    numeric : which features are numeric.
    """

    margins: list[Numbers]
    numeric: list[bool]

    @cached_property
    def informative(self) -> Integers:
        """The features with more than one value, missing counted as a value."""
        return np.flatnonzero([np.count_nonzero(margin.sum(axis=1)) > 1 for margin in self.margins])

    @cached_property
    def _quantiles(self) -> list[Numbers | None]:
        """For numeric features the share of the cases below the middle of each code, None for nominal ones."""
        return [_quantiles(margin) if numeric else None for margin, numeric in zip(self.margins, self.numeric, strict=True)]

    def equal_frequency(self, number: int, offset: float) -> Bins:
        """Return bins of about equal weight, the first bound moved by a part of a bin; every state of a nominal feature."""
        codes = (_equal_frequency(q, number, offset) if q is not None else None for q in self._quantiles)
        return tuple(_all_codes(m) if table is None else table for m, table in zip(self.margins, codes, strict=True))

    def mdl(self) -> Bins:
        """Return the bins of the minimum description length principle; every state of a nominal feature."""
        return mdl_bins([self])[0]


def columns_of(counts: Counts) -> Columns:
    """Return what bins of the features of some cases are made from."""
    tables = counts.margins()
    classes = tables[CLASS,].astype(np.float64)
    features = (tables[x, CLASS].astype(np.float64) for x in counts.features)
    margins = [np.vstack([table, np.maximum(classes - table.sum(axis=0), 0.0)]) for table in features]
    return Columns(margins, [counts.variables[x].cuts is not None for x in counts.features])


def _quantiles(margin: Numbers) -> Numbers:
    weight = margin[:-1].sum(axis=1)
    return np.asarray((np.cumsum(weight) - weight / 2) / max(float(weight.sum()), 1e-300))


def _equal_frequency(quantiles: Numbers, number: int, offset: float) -> NDArray[np.uint32]:
    bound = np.ceil(quantiles * number - offset)
    result = np.zeros(len(quantiles) + 1, np.uint32)
    np.cumsum(bound[1:] != bound[:-1], out=result[1:-1])
    result[-1] = result[-2] + 1
    return result


def _all_codes(margin: Numbers) -> NDArray[np.uint32]:
    return np.arange(len(margin), dtype=np.uint32)


def mdl_bins(several: Sequence[Columns]) -> list[Bins]:
    """Return the bins of the minimum description length principle for the same features of several sets of cases."""
    margins = [margin for columns in several for margin in compress(columns.margins, columns.numeric)]
    codes = [np.arange(len(margin) - 1, dtype=np.float64) for margin in margins]
    cuts = mdl_of_columns([(values, margin[:-1]) for values, margin in zip(codes, margins, strict=True)])
    tables = (
        np.append(np.searchsorted(np.array(points), values), len(points) + 1).astype(np.uint32)
        for values, points in zip(codes, cuts, strict=True)
    )
    return [
        tuple(next(tables) if cut else _all_codes(margin) for margin, cut in zip(columns.margins, columns.numeric, strict=True))
        for columns in several
    ]


@dataclass(frozen=True, eq=False)
class _Binned:
    """Replaces the codes of features by their bins; missing values stay missing, or become a state of their own."""

    bins: Bins
    has_missing: tuple[bool, ...]
    missing_as_state: bool

    def __call__(self, block: Block) -> Block:
        columns = zip(block.codes[:-1], self.bins, self.has_missing, strict=True)
        return Block((*(self._column(*column) for column in columns), block.codes[CLASS]), block.weight)

    def _column(self, codes: NDArray[Any], table: NDArray[np.uint32], has_missing: bool) -> NDArray[Any]:
        """Return the codes of a feature, replaced; the same array where no code changes."""
        top, last = int(table[-1]), len(table) - 1
        if top == last and not (has_missing and self.missing_as_state):
            return codes  # every code has a bin of its own
        dtype = narrowest(top + self.missing_as_state)
        replaced = table.astype(dtype)
        replaced[last] = top if self.missing_as_state else missing_code(dtype)
        return np.asarray(replaced[np.minimum(codes, last)])


def binned_counts(counts: Counts, bins: Bins, variables: Variables, *, missing_as_state: bool) -> Counts:
    """Return the counts of the cases with the bins of features instead of their codes."""
    change = _Binned(bins, tuple(map(bool, counts.cases.has_missing)), missing_as_state)
    return counts.over(transformed_cases(counts.cases, variables, counts.cases.has_missing & (not missing_as_state), change))


def bin_information(counts: Counts, columns: Columns) -> tuple[Numbers, Numbers]:
    """Return I(X; C) of every feature and I(X; Y | C) of every pair in bits, with few bins and without their bias.

    Among many pairs some seem to depend on each other by chance, and weights that are fitted to the same cases cannot reveal it. So
    where there are few cases for each pair and most features carry no information, as noise does, I(X; Y | C) is zero unless it is
    significant.
    """
    bins = columns.equal_frequency(PAIR_BINS, 0.0)
    states = [int(table[-1]) + bool(missing) for table, missing in zip(bins, counts.cases.has_missing, strict=True)]
    states = _joined_cards(states, counts.rows)
    variables = (*(Variable(x, tuple(range(card))) for x, card in enumerate(states)), counts.variables[CLASS])
    view = binned_counts(counts, bins, variables, missing_as_state=True)
    pair_bits = dependence(view, bias="corrected")  # counts the features with the class in the same pass
    bits = relevance(view, bias="corrected")
    number = len(columns.informative)
    pairs = number * (number - 1) // 2
    if CASES_PER_PAIR * pairs > view.total and len(significant_features(view, columns.informative, SIGNIFICANT)) < FEW * number:
        pair_bits = significant_dependence(view, pair_bits, SIGNIFICANT / pairs)
    return bits, pair_bits


def _joined_cards(cards: Sequence[int], rows: int | None) -> list[int]:
    """Return the same number of states for all features with few states, where that saves time; informations stay the same.

    Features with the same number of states are counted together, and each pair of such groups costs time even if there are few
    rows. Empty states carry no information, but take bits in each row.

    >>> _joined_cards([1, 2, 4, 3, 200], 100)
    [1, 4, 4, 4, 200]
    """
    narrow = [card for card in cards if 1 < card <= PLANE_STATES]
    groups = len(set(narrow))
    if groups < 2 or rows is None or ((max(narrow) - 1) * len(narrow)) ** 2 * rows / 64 > WORDS_PER_GROUP * groups**2:
        return list(cards)
    return [max(narrow) if 1 < card <= PLANE_STATES else card for card in cards]


Parents = tuple[tuple[int, ...], ...]
Choice = Callable[[Numbers, int], Integers]
"""Weights of the earlier features and a number -> the positions of this number of them, the best first."""


def _strongest(weights: Numbers, number: int) -> Integers:
    return np.argsort(-weights, kind="stable")[:number]


def _structure(order: Integers, pair_bits: Numbers, depth: int, choice: Choice) -> Parents:
    """Return the parents of each feature: some of those before it in the order, the strongest first."""
    parents: list[tuple[int, ...]] = [()] * len(pair_bits)
    for i, x in enumerate(order.tolist()):
        weights = pair_bits[x, order[:i]]
        chosen = [j for j in choice(weights, depth).tolist() if weights[j] > 0]
        parents[x] = tuple(order[chosen].tolist())
    return tuple(parents)


def by_information(columns: Columns, bits: Numbers) -> Integers:
    """Return the informative features, that with the largest I(X; C) first."""
    return columns.informative[np.argsort(-bits[columns.informative], kind="stable")]


def main_plan(columns: Columns, bits: Numbers, pair_bits: Numbers, depth: int) -> tuple[Bins, Parents]:
    """Return the bins and the parents of the main structure."""
    return columns.mdl(), _structure(by_information(columns, bits), pair_bits, depth, _strongest)


def drawn_plan(
    columns: Columns, bits: Numbers, pair_bits: Numbers, depth: int, index: int, random: np.random.Generator
) -> tuple[Bins, Parents]:
    """Return random bins and a random structure, in which informative features tend to come first.

    The parents are the strongest earlier features in members of even index, and drawn in proportion to their information in others.
    """
    bins = columns.equal_frequency(int(random.integers(MEMBER_BINS[0], MEMBER_BINS[1] + 1)), float(random.random()))
    order = columns.informative[np.argsort(-_perturbed(bits[columns.informative], random))]

    def drawn(weights: Numbers, most: int) -> Integers:
        chosen = np.argsort(-_perturbed(weights, random))[:most]
        return chosen[np.argsort(-weights[chosen], kind="stable")]

    return bins, _structure(order, pair_bits, depth, _strongest if index % 2 == 0 else drawn)


def _perturbed(weights: Numbers, random: np.random.Generator) -> Numbers:
    """Return random keys: sorting by them draws without replacement in proportion to the weights."""
    return np.log(np.maximum(weights, 1e-12)) + random.gumbel(size=len(weights))


def counted_structures(
    counts: Counts, plans: Sequence[tuple[Bins, Parents]], rule: ContextEstimate, leaves: Sequence[TreeRequest] = ()
) -> tuple[list[Member], Iterator[ContextCounts]]:
    """Return structures with their counts, made in one pass, and the counts of leaves of trees."""
    classes = counts.variables[CLASS].card
    plans = [(bins, _countable(bins, parents, classes)) for bins, parents in plans]
    families = [family_request((*parents[x], x), bins, classes) for bins, parents in plans for x in counts.features]
    tables = iter(context_counts(counts, [*families, *leaves]))
    return [_member(bins, parents, [next(tables) for _ in parents], classes, rule) for bins, parents in plans], tables


def _cards(bins: Bins) -> tuple[int, ...]:
    return tuple(int(table[-1]) + 1 for table in bins)


def _countable(bins: Bins, parents: Parents, classes: int) -> Parents:
    """Return the parents without the last ones of features whose tables would have too many cells to be numbered."""
    result = []
    for x, chosen in enumerate(parents):
        kept = list(chosen)
        while math.prod(_cards(tuple(bins[v] for v in (*kept, x)))) * classes > LARGEST and kept:
            kept.pop()
        result.append(tuple(kept))
    return tuple(result)


def family_request(members: tuple[int, ...], bins: Bins, classes: int) -> ContextRequest:
    """Return the request for the counts of a feature, the last member, in the contexts of its parents."""
    return ContextRequest(members, bins, (*_cards(tuple(bins[v] for v in members)), classes))


def _member(bins: Bins, parents: Parents, tables: Sequence[ContextCounts], classes: int, rule: ContextEstimate) -> Member:
    keys, weights = tuple(table.keys for table in tables), tuple(table.weights for table in tables)
    return Member(bins, parents, keys, weights, classes, rule)
