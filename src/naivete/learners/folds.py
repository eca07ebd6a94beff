"""Parts of a sample for cross-validation: equal cases are divided among the folds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from naivete._kernels.codes import Integers, Numbers
from naivete.cases.sample import Sample

__all__ = ["Folds", "folds_of"]

MOST = 1_000_000
"""The most rows that a case is taken to stand for when it is divided among folds."""


class Folds(NamedTuple):
    """Rows for cross-validation: each is a case of a sample in one of the folds, with the part of its weight that is in it.

    Parameters
    ----------
    case, fold, weight : the case, the fold and the weight of each row.
    share : the share of the weight of each case that is in each fold.  # (case, fold)
    """

    case: Integers
    fold: Integers
    weight: Numbers
    share: Numbers


def folds_of(sample: Sample, number: int) -> Folds:
    """Return the cases of a sample divided into folds, one row after another.

    A case that stands for several equal rows is divided among the folds, as these rows would be. If it were in one fold, its
    class would be known to be rare among the equal rows of the other folds.

    >>> sample = Sample((), np.zeros(2, np.uint32), np.array([3.0, 1.0]), np.ones(2))
    >>> folds_of(sample, 2).share.round(2).tolist()
    [[0.67, 0.33], [0.0, 1.0]]
    """
    rows = np.clip(np.floor(sample.weight / np.maximum(sample.left_out, 1e-300) + 1e-9), 1, MOST).astype(np.int64)
    first = (np.cumsum(rows) - rows) % number
    later = (np.arange(number) - first[:, None]) % number
    share = np.maximum(0, -((later - rows[:, None]) // number)) / rows[:, None]
    case, fold = np.nonzero(share)
    return Folds(case, fold, sample.weight[case] * share[case, fold], share)
