"""The informations of all training sets at once, as `naivete.counts.information` has them of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from naivete.counts.entropy_terms import SCALE, EntropyTerms, conditional_informations, rounded_bits
from naivete.counts.pairs import Pairs

__all__ = ["dependences", "relevances"]


def relevances(tables: Sequence[NDArray[Any]], totals: NDArray[np.int64]) -> Numbers:
    """I(X; C) of every feature in every training set.  # (training set, feature)

    Parameters
    ----------
    tables : the tables of the features with the class.  # (training set, state, class)
    totals : the weight of each training set.
    """
    found = np.zeros((len(totals), len(tables)))
    for features, stacked in _by_shape(tables):
        for sets, logs in _equally_large(totals):
            found[np.ix_(sets, features)] = conditional_informations(logs, stacked[sets][..., None])
    return rounded_bits(found)


def dependences(
    pairs: Sequence[tuple[Pairs, NDArray[Any]]], tables: Sequence[NDArray[Any]], classes: NDArray[Any], totals: NDArray[np.int64]
) -> Numbers:
    """I(X; Y | C) of every pair of features in every training set, symmetric matrices.  # (training set, feature, feature)

    Parameters
    ----------
    pairs : the pairs, with their tables.  # (training set, first, second, state, state, class)
    tables : the tables of the features with the class.  # (training set, state, class)
    classes : the weight of each class.  # (training set, class)
    totals : the weight of each training set.
    """
    found = np.zeros((len(totals), len(tables), len(tables)))
    for sets, logs in _equally_large(totals):
        alone, together = _alone(tables, sets, logs), logs.of(classes[sets]).sum(axis=1)
        for own, every in pairs:
            part = every[sets].reshape(-1, *every.shape[2:])
            if own.complete:
                cells = logs.sums(part).reshape(len(sets), *every.shape[1:3])
                cells -= alone[:, own.first, None] + (alone[:, None, own.second] - together[:, None, None])
                values = cells / SCALE
            else:
                values = conditional_informations(logs, part).reshape(len(sets), *every.shape[1:3])
            upper = own.first[0] != own.second[0] or own.second > own.first[:, None]
            found[np.ix_(sets, own.first, own.second)] = rounded_bits(values * upper)
    return found + found.swapaxes(1, 2)


def _alone(tables: Sequence[NDArray[Any]], sets: NDArray[np.int64], logs: EntropyTerms) -> NDArray[np.int64]:
    """The terms of every feature with the class in these training sets.  # (training set, feature)"""
    found = np.zeros((len(sets), len(tables)), np.int64)
    for features, stacked in _by_shape(tables):
        found[:, features] = logs.of(stacked[sets]).sum(axis=(2, 3))
    return found


def _by_shape(tables: Sequence[NDArray[Any]]) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
    """The tables of one shape together.  # (training set, feature, state, class)"""
    alike: dict[int, list[int]] = {}
    for x, table in enumerate(tables):
        alike.setdefault(table.shape[1], []).append(x)
    for features in alike.values():
        yield np.array(features), np.stack([tables[x] for x in features], axis=1)


def _equally_large(totals: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], EntropyTerms]]:
    """The training sets of one weight, and the logarithms for them."""
    for total in np.unique(totals):
        yield np.flatnonzero(totals == total), EntropyTerms(total)
