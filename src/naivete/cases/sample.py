"""A bounded sample of the cases that does not depend on the order of the rows, on blocks or on the back end."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from naivete._kernels.exact_sums import LimbSums, limbs, sums_as_numbers
from naivete.cases.base import Block
from naivete.cases.views import row_hashes
from naivete.variables import CLASS

__all__ = ["Sample", "sample_parts", "sampled"]


class Sample(NamedTuple):
    """Different cases, each with the weight of all rows that equal it.

    Parameters
    ----------
    codes : the codes of the cases, one array for each feature.
    labels : the class of each case.
    weight : its weight.
    left_out : the weight that is left out when the case is predicted. If all weights of the table are whole numbers, a row stands
        for as many cases, of which one is left out; otherwise weights say how important rows are, and the largest is left out.
        Of cases that were repeated on purpose (`repeated_on_purpose`) the whole weight is left out.
    """

    codes: tuple[NDArray[Any], ...]
    labels: NDArray[np.uint32]
    weight: Numbers
    left_out: Numbers

    def first(self, number: int) -> Sample:
        """Return the first cases, which are a sample of all of them too."""
        codes = tuple(column[:number] for column in self.codes)
        return Sample(codes, self.labels[:number], self.weight[:number], self.left_out[:number])


ROWS = 1 << 16
"""The number of rows that are hashed at a time."""
CASES = 10
"""A class with fewer different cases is never taken as repeated on purpose."""
REPEATS = 2.0
"""Half of the cases of a class have to occur so often, if they were repeated on purpose."""
CONTRADICTIONS = 0.05
"""The largest share of the cases of a class that also occur with another class, if they were repeated on purpose."""
POSSIBLE = 100.0
"""How many times as many different cases have to be possible as there are, if they were repeated on purpose."""
Part = tuple[NDArray[np.uint64], list[NDArray[Any]], LimbSums, Numbers, bool]
"""The hashes of the distinct cases of some rows with the smallest hashes, increasing; their codes, the class last; their weights;
the largest weight of a row of each; and whether all weights, also of rows that are not in the sample, are whole numbers. Plain
values, so that a checkpoint can hold them."""


def sample_parts(block: Block, columns: Sequence[int], size: int, seed: int, bound: np.uint64 | None = None) -> Part:
    """Return the part of the sample that comes from one block, of the rows whose hashes are not above a bound."""
    whole = block.weight is None or not (block.weight % 1).any()
    hashes = row_hashes([block.codes[v] for v in columns], seed)
    if bound is not None:
        below = np.flatnonzero(hashes <= bound)
        block, hashes = block.take(below), hashes[below]
    distinct, first, which = np.unique(hashes, return_index=True, return_inverse=True)
    used = distinct[:size]
    chosen = first[: len(used)]
    rows = np.flatnonzero(which < len(used))
    position = which[rows]
    weight = {}
    for q, limb in limbs(block.weight).items():
        weight[q] = np.zeros(len(used), np.int64)
        np.add.at(weight[q], position, 1 if limb is None else limb[rows])
    largest = np.ones(len(used))
    if block.weight is not None:
        largest[:] = 0.0
        np.maximum.at(largest, position, block.weight[rows])
    return used, [column[chosen] for column in block.codes], weight, largest, whole


def merged_parts(one: Part, two: Part, size: int) -> Part:
    """Return the part of the sample that comes from the rows of both parts."""
    hashes = one[0], two[0]
    distinct, first, which = np.unique(np.concatenate(hashes), return_index=True, return_inverse=True)
    used = distinct[:size]
    chosen, kept = first[: len(used)], which < len(used)
    weight: LimbSums = {}
    for q in sorted(one[2].keys() | two[2].keys()):
        both = [part[2].get(q, np.zeros(len(part[0]), np.int64)) for part in (one, two)]
        weight[q] = np.zeros(len(used), np.int64)
        np.add.at(weight[q], which[kept], np.concatenate(both)[kept])
    largest = np.zeros(len(used))
    np.maximum.at(largest, which[kept], np.concatenate([one[3], two[3]])[kept])
    codes = [np.concatenate(columns)[chosen] for columns in zip(one[1], two[1], strict=True)]
    return used, codes, weight, largest, one[4] and two[4]


def sampled(fold: Any, columns: Sequence[int], size: int, seed: int) -> Sample:
    """Return at most `size` different cases, chosen by a hash of some columns, in one pass.

    Rows that are equal in these columns are one case. All cases are returned where there are no more of them.

    Parameters
    ----------
    fold : the `fold` of cases, or of their counts.
    columns : the columns that count, the class among them.
    size : the largest number of cases.
    seed : of the hash.
    """
    part: Part = fold(partial(_of_block, columns=tuple(columns), size=size, seed=seed), partial(merged_parts, size=size))
    _, (*codes, labels), sums, largest, whole = part
    weight = sums_as_numbers(sums).astype(np.float64)
    left_out = np.minimum(np.minimum(largest, 1.0) if whole else largest, weight)
    sample = Sample(tuple(codes), labels.astype(np.uint32), weight, left_out)
    share = float(part[0][-1]) / 2**64 if len(weight) == size else 1.0
    return sample._replace(left_out=np.where(repeated_on_purpose(sample, columns, share), weight, left_out))


def repeated_on_purpose(sample: Sample, columns: Sequence[int], share: float) -> NDArray[np.bool_]:
    """Return which cases were repeated on purpose: oversampled, or with weights that say how important they are.

    Such repetitions tell nothing about new cases: what remains of a case of which only one repetition is left out predicts it
    almost perfectly. They are recognized by class, so that the answer is the same for rows that occur several times and for
    their weights: most cases of the class occur several times, hardly any of them occurs with another class too, and many more
    cases would be possible than there are, so that chance does not explain the repetitions.

    Parameters
    ----------
    sample : the cases.
    columns : the columns that count, the class among them.
    share : the share of all different cases that is in the sample.
    """
    result = np.zeros(len(sample.labels), bool)
    repeats = sample.weight / np.maximum(sample.left_out, 1e-300)
    classes = [sample.labels == label for label in np.unique(sample.labels)]
    often = [cases for cases in classes if cases.sum() >= CASES and np.median(repeats[cases]) >= REPEATS]
    features = [sample.codes[v] for v in columns if v != CLASS] if often else []
    if not features:
        return result
    possible = sum(log(len(np.unique(column))) for column in features)
    if possible < log(POSSIBLE * len(repeats) / share):
        return result
    _, which = np.unique(row_hashes(features, 0), return_inverse=True)
    contradicted = np.bincount(which)[which] > 1  # equal features with different classes
    for cases in often:
        result |= cases & (contradicted[cases].mean() <= CONTRADICTIONS * share)
    return result


def _of_block(block: Block, columns: Sequence[int], size: int, seed: int) -> Part:
    result: Part | None = None
    for part in block.parts():
        for lo in range(0, max(1, len(part)), ROWS):
            rows = slice(lo, lo + ROWS)
            some = Block(tuple(column[rows] for column in part.codes), None if part.weight is None else part.weight[rows])
            if result is None:
                result = sample_parts(some, columns, size, seed)
            else:  # rows whose hashes are above all of a complete sample are not in it
                bound = result[0][-1] if len(result[0]) == size else None
                result = merged_parts(result, sample_parts(some, columns, size, seed, bound), size)
    assert result is not None  # there is at least one part
    return result
