"""Mutual informations in all training sets at once, identical to those of `naivete.counts.information` for each."""

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
    """Return I(X; C) of each feature in each training set.  # (training set, feature)

    Parameters
    ----------
    tables : the counts of each feature with the class.  # (training set, state, class)
    totals : the total weight of each training set.
    """
    result = np.zeros((len(totals), len(tables)))
    for features, stacked in _by_shape(tables):
        for sets, logs in _by_total(totals):
            result[np.ix_(sets, features)] = conditional_informations(logs, stacked[sets][..., None])
    return rounded_bits(result)


def dependences(
    pairs: Sequence[tuple[Pairs, NDArray[Any]]], tables: Sequence[NDArray[Any]], classes: NDArray[Any], totals: NDArray[np.int64]
) -> Numbers:
    """Return I(X; Y | C) of each pair of features in each training set, as symmetric matrices.  # (training set, feature, feature)

    Parameters
    ----------
    pairs : the pairs with their counts.  # (training set, first, second, state, state, class)
    tables : the counts of each feature with the class.  # (training set, state, class)
    classes : the weight of each class.  # (training set, class)
    totals : the total weight of each training set.
    """
    result = np.zeros((len(totals), len(tables), len(tables)))
    for sets, logs in _by_total(totals):
        with_class, class_alone = _feature_terms(tables, sets, logs), logs.of(classes[sets]).sum(axis=1)
        for group, all_sets in pairs:
            part = all_sets[sets].reshape(-1, *all_sets.shape[2:])
            if group.complete:
                cells = logs.sums(part).reshape(len(sets), *all_sets.shape[1:3])
                cells -= with_class[:, group.first, None] + (with_class[:, None, group.second] - class_alone[:, None, None])
                values = cells / SCALE
            else:
                values = conditional_informations(logs, part).reshape(len(sets), *all_sets.shape[1:3])
            upper = group.first[0] != group.second[0] or group.second > group.first[:, None]
            result[np.ix_(sets, group.first, group.second)] = rounded_bits(values * upper)
    return result + result.swapaxes(1, 2)


def _feature_terms(tables: Sequence[NDArray[Any]], sets: NDArray[np.int64], logs: EntropyTerms) -> NDArray[np.int64]:
    """Return the sums of n log n of each feature with the class in some training sets.  # (training set, feature)"""
    terms = np.zeros((len(sets), len(tables)), np.int64)
    for features, stacked in _by_shape(tables):
        terms[:, features] = logs.of(stacked[sets]).sum(axis=(2, 3))
    return terms


def _by_shape(tables: Sequence[NDArray[Any]]) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
    """Yield the tables of each shape, stacked, with their features.  # (training set, feature, state, class)"""
    same_shape: dict[int, list[int]] = {}
    for x, table in enumerate(tables):
        same_shape.setdefault(table.shape[1], []).append(x)
    for features in same_shape.values():
        yield np.array(features), np.stack([tables[x] for x in features], axis=1)


def _by_total(totals: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], EntropyTerms]]:
    """Yield the training sets of each total weight, and the entropy terms for it."""
    for total in np.unique(totals):
        yield np.flatnonzero(totals == total), EntropyTerms(total)
