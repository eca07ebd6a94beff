"""Posterior probabilities of networks with derived columns, which are computed first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Bools, Integers, Numbers, missing, missing_code, narrowest
from naivete.inference.elimination import FACTOR_CELLS, Codes
from naivete.inference.predictor import Predictor, most_probable_class, rows_without_evidence
from naivete.network.derived_columns import Hierarchy, Tree
from naivete.network.network import Network

__all__ = ["DerivedPredictor", "predictor_of"]


def predictor_of(network: Network) -> Predictor | DerivedPredictor:
    """Return the predictor of a network; its rows of codes hold the columns of the table without the derived columns."""
    return DerivedPredictor(network) if network.derived else Predictor(network)


class DerivedPredictor:
    """Posterior probabilities of the classes of a network with derived columns.

    Hidden columns are marginalized. In a tree, a row in which a tested value is missing is divided among several leaves, and its
    posterior is the weighted average of theirs. In a hierarchy of classifiers, a row is routed by its predicted class, and the
    last classifier that it reaches gives the posterior.

    Parameters
    ----------
    network : the network.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self._inner = Predictor(network)
        self._inputs = len(network.inputs)

    @cached_property
    def informative(self) -> list[int]:
        """The columns of the table that have more than one value."""
        return [x for x in self.network.inputs if self.network.variables[x].card > 1 or x in self.network.densities]

    def posterior(self, codes: Codes, has_missing: Bools) -> tuple[Numbers, Integers]:
        """Return P(class | row), and the rows that have probability zero in every class.

        A row without an observed value gets the prior.  # (row, class)

        Parameters
        ----------
        codes : one column of codes for each column of the table.
        has_missing : which columns have missing values.
        """
        parts = self._parts(codes)
        if len(parts) > 1:
            results = [self.posterior([column[part] for column in codes], has_missing) for part in parts]
            impossible = np.concatenate([part[rows] for part, (_, rows) in zip(parts, results, strict=True)])
            return _reordered(parts, [posterior for posterior, _ in results]), np.sort(impossible)
        columns, has_missing, rows, shares = self._with_derived(codes, has_missing)
        result, impossible = self._inner.posterior(columns, has_missing)
        if shares is not None:
            posteriors = result
            result = np.zeros((len(codes[0]), posteriors.shape[1]))
            np.add.at(result, rows, posteriors * shares[:, None])
            impossible = np.unique(rows[impossible])
        without_evidence = rows_without_evidence(codes, has_missing, self.informative, len(result))
        if len(without_evidence):
            result[without_evidence] = self._inner.prior
        return result, impossible

    def joint(self, codes: Codes, has_missing: Bools) -> Numbers:
        """Return log P(row, class), hidden columns marginalized; a computed column has probability one.  # (row, class)

        Parameters
        ----------
        codes, has_missing : as in `posterior`.
        """
        parts = self._parts(codes)
        if len(parts) > 1:
            return _reordered(parts, [self.joint([column[part] for column in codes], has_missing) for part in parts])
        columns, has_missing, rows, shares = self._with_derived(codes, has_missing)
        logs = self._inner.joint(columns, has_missing)
        if shares is None:
            return logs
        result = np.full((len(codes[0]), logs.shape[1]), -np.inf)
        np.logaddexp.at(result, rows, logs + np.log(shares)[:, None])
        return result

    def _parts(self, codes: Codes) -> list[NDArray[np.intp]]:
        """Return the rows that a tree does not divide, then the others in parts that stay small even if they reach all leaves."""
        rows = np.arange(len(codes[0]))
        trees = [column for column in self.network.derived.values() if isinstance(column, Tree)]
        tested = [x for x in np.unique(trees[0].features).tolist() if x >= 0] if trees else []
        incomplete = np.logical_or.reduce([np.zeros(len(rows), bool), *(missing(codes[x]) for x in tested)])
        if not incomplete.any():
            return [rows]
        most = max(1, FACTOR_CELLS // (len(trees[0].leaves) * self._inner.classes))
        divided = np.flatnonzero(incomplete)
        parts = [np.flatnonzero(~incomplete), *(divided[start : start + most] for start in range(0, len(divided), most))]
        return [part for part in parts if len(part)]

    def columns(self, codes: Codes, has_missing: Bools) -> tuple[Codes, Bools, NDArray[np.intp]]:
        """Return the columns with the derived ones, and the rows that a tree divides, whose leaf is missing."""
        columns, has_missing = list(codes[: self._inputs]), has_missing[: self._inputs]
        divided = np.empty(0, np.intp)
        for v, derived in sorted(self.network.derived.items()):
            if isinstance(derived, Tree):
                column = derived.column(columns)
                divided = np.flatnonzero(missing(column))
            elif isinstance(derived, Hierarchy):
                column = self._cells(columns, has_missing, derived)
            else:
                dtype = narrowest(self.network.variables[v].card)
                column = np.full(len(columns[0]), missing_code(dtype), dtype)
            columns, has_missing = [*columns, column], np.append(has_missing, not isinstance(derived, (Tree, Hierarchy)))
        return columns, has_missing, divided

    def _with_derived(self, codes: Codes, has_missing: Bools) -> tuple[Codes, Bools, NDArray[np.intp], Numbers | None]:
        """Return the columns with the derived ones; if a tree divides rows, also the row of each part and its share."""
        columns, has_missing, divided = self.columns(codes, has_missing)
        if not len(divided):
            return columns, has_missing, np.arange(len(columns[0])), None
        tree = next(derived for derived in self.network.derived.values() if isinstance(derived, Tree))
        rows, states, shares = tree.divided(columns[: self._inputs])
        leaf = states.astype(columns[self._inputs].dtype)
        return [*(column[rows] for column in columns[: self._inputs]), leaf], has_missing, rows, shares

    def _cells(self, codes: Codes, has_missing: Bools, hierarchy: Hierarchy) -> NDArray[Any]:
        """Return the last classifier of a hierarchy that each row reaches."""
        node = np.zeros(len(codes[0]), narrowest(len(hierarchy.children)))
        moving = np.arange(len(node))
        while len(moving):
            columns = [c[moving] for c in codes]
            posterior, _ = self._inner.posterior([*columns, node[moving]], np.append(has_missing, False))
            child = hierarchy.below(node[moving].astype(np.int64), columns, most_probable_class(posterior))
            moving = moving[child >= 0]
            node[moving] = child[child >= 0]
        return node


def _reordered(parts: Sequence[NDArray[np.intp]], results: Sequence[Numbers]) -> Numbers:
    """Return the results of parts of the rows as one array in the order of the rows."""
    whole = np.empty((sum(map(len, parts)), results[0].shape[1]))
    for part, result in zip(parts, results, strict=True):
        whole[part] = result
    return whole
