"""Answers of networks with derived columns: the columns are computed first, and what they leave open is averaged."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers, narrowest
from naivete.inference.predictor import FACTOR_CELLS, Codes, Predictor, most_probable_class, rows_without_evidence
from naivete.network.derived_columns import Hierarchy, Tree
from naivete.network.network import Network

__all__ = ["DerivedPredictor", "predictor_of"]

Gaps = NDArray[np.bool_]


def predictor_of(network: Network) -> Predictor | DerivedPredictor:
    """What answers about the class of rows of codes, which hold the columns of the table and nothing derived."""
    return DerivedPredictor(network) if network.derived else Predictor(network)


class DerivedPredictor:
    """Answers about the class of rows from a network with derived columns.

    Hidden columns are summed out. In a tree a row that lacks a value asked for is divided among leaves, and its answer is the
    average of theirs. In a hierarchy of classifiers a row goes down by the class it is given, and is answered where it ends.

    Parameters
    ----------
    network : the network.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self._inner = Predictor(network)
        self._inputs = len(network.inputs)

    @cached_property
    def _telling(self) -> list[int]:
        return [x for x in self.network.inputs if self.network.variables[x].card > 1 or x in self.network.densities]

    def posterior(self, codes: Codes, gaps: Gaps) -> tuple[Numbers, NDArray[np.int64]]:
        """P(class | row), and the rows that have probability zero in every class.

        A row without a single known value gets the prior.  # (row, class)
        """
        parts = self._parts(codes)
        if len(parts) > 1:
            found = [self.posterior([column[part] for column in codes], gaps) for part in parts]
            impossible = np.concatenate([part[own] for part, (_, own) in zip(parts, found, strict=True)])
            return _in_place(parts, [own for own, _ in found]), np.sort(impossible)
        own, gaps, rows, shares = self._whole(codes, gaps)
        result, impossible = self._inner.posterior(own, gaps)
        if shares is not None:
            answers = result
            result = np.zeros((len(codes[0]), answers.shape[1]))
            np.add.at(result, rows, answers * shares[:, None])
            impossible = np.unique(rows[impossible])
        result[rows_without_evidence(codes, gaps, self._telling, len(result))] = self._inner.prior
        return result, impossible

    def joint(self, codes: Codes, gaps: Gaps) -> Numbers:
        """log P(row, class), hidden columns summed out; of a computed column the row is sure.  # (row, class)"""
        parts = self._parts(codes)
        if len(parts) > 1:
            return _in_place(parts, [self.joint([column[part] for column in codes], gaps) for part in parts])
        own, gaps, rows, shares = self._whole(codes, gaps)
        logs = self._inner.joint(own, gaps)
        if shares is None:
            return logs
        result = np.full((len(codes[0]), logs.shape[1]), -np.inf)
        np.logaddexp.at(result, rows, logs + np.log(shares)[:, None])
        return result

    def _parts(self, codes: Codes) -> list[NDArray[np.intp]]:
        """The rows that a tree does not divide; then those it may, in parts that stay small even if all leaves have a share."""
        rows = np.arange(len(codes[0]))
        trees = [own for own in self.network.derived.values() if isinstance(own, Tree)]
        asked = [x for x in np.unique(trees[0].features).tolist() if x >= 0] if trees else []
        lacking = np.logical_or.reduce([np.zeros(len(rows), bool), *(codes[x] == np.iinfo(codes[x].dtype).max for x in asked)])
        if not lacking.any():
            return [rows]
        most = max(1, FACTOR_CELLS // (len(trees[0].leaves) * self._inner.classes))
        some = np.flatnonzero(lacking)
        parts = [np.flatnonzero(~lacking), *(some[at : at + most] for at in range(0, len(some), most))]
        return [part for part in parts if len(part)]

    def _whole(self, codes: Codes, gaps: Gaps) -> tuple[Codes, Gaps, NDArray[np.intp], Numbers | None]:
        """The rows with their derived columns; where some are divided, which row each part belongs to and its share."""
        own, gaps = list(codes[: self._inputs]), gaps[: self._inputs]
        rows = np.arange(len(own[0]))
        for v, derived in sorted(self.network.derived.items()):
            if isinstance(derived, Tree):
                column = derived.column(own)
                if (column == np.iinfo(column.dtype).max).any():
                    rows, states, shares = derived.divided(own)
                    return [*(c[rows] for c in own), states.astype(column.dtype)], np.append(gaps, False), rows, shares
            elif isinstance(derived, Hierarchy):
                column = self._cells(own, gaps, derived)
            else:
                dtype = narrowest(self.network.variables[v].card)
                column = np.full(len(rows), np.iinfo(dtype).max, dtype)
            own, gaps = [*own, column], np.append(gaps, not isinstance(derived, (Tree, Hierarchy)))
        return own, gaps, rows, None

    def _cells(self, codes: Codes, gaps: Gaps, cells: Hierarchy) -> NDArray[Any]:
        """The classifier at which each row ends."""
        node = np.zeros(len(codes[0]), narrowest(len(cells.children)))
        going = np.arange(len(node))
        while len(going):
            own = [c[going] for c in codes]
            answers, _ = self._inner.posterior([*own, node[going]], np.append(gaps, False))
            child = cells.below(node[going].astype(np.int64), own, most_probable_class(answers))
            going = going[child >= 0]
            node[going] = child[child >= 0]
        return node


def _in_place(parts: Sequence[NDArray[np.intp]], found: Sequence[Numbers]) -> Numbers:
    """What was found for some rows each, all together in the order of the rows."""
    whole = np.empty((sum(map(len, parts)), found[0].shape[1]))
    for part, own in zip(parts, found, strict=True):
        whole[part] = own
    return whole
