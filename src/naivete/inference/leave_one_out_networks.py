"""Exact leave-one-out of any network of tables: each case is predicted from the tables of all other cases."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from naivete import _kernels
from naivete._kernels.codes import Numbers
from naivete.cases.base import Block
from naivete.counts.counts import Counts
from naivete.inference.elimination import Elimination, log
from naivete.inference.leave_one_out import BLOCK_CELLS, pieces_of
from naivete.inference.leave_one_out_terms import FamilyTerms, remaining_classes, split_infinite
from naivete.inference.predictor import fallback
from naivete.network.network import Network
from naivete.network.smoothing import prior_probabilities, smoothing_of
from naivete.variables import CLASS

__all__ = ["LeaveOneOut"]


class LeaveOneOut:
    """log P(row, class) up to a term that is the same for all classes, estimated without the row; the structure is fixed.

    The tables of the network are those of its counts, which are known after it was estimated, so that no pass is needed. The
    class may have parents, and a feature need not have the class as a parent.

    Parameters
    ----------
    counts : the training cases.
    network : the network that was estimated from them, without derived columns and densities.
    smoothing, prior : those of the estimation.
    """

    def __init__(self, counts: Counts, network: Network, smoothing: object, prior: Sequence[float] | None) -> None:
        families = {v: network.family(v) for v in network.order if network.family(v)[-1] == CLASS}
        tables = counts.tables([*families.values(), (CLASS,)])
        self.classes = tables[CLASS,].full().astype(np.float64)
        self.prior = None if prior is None else prior_probabilities(prior, counts.variables[CLASS].states)
        self.class_is_root = not network.parents[CLASS]
        method, cards = smoothing_of(smoothing), counts.cards([*counts.features, CLASS])
        self.terms = [
            FamilyTerms(tables[members], v, [p for p in network.parents[v] if p != CLASS], self.classes, method, cards)
            for v, members in families.items()
            if members != (CLASS,)
        ]
        self.widest = max(cards) * len(self.classes)
        self.has_missing = counts.cases.has_missing
        self.elimination = Elimination(network) if self.has_missing.any() else None

    def __call__(self, block: Block) -> Numbers:
        """Return the logarithms of the rows of a block, each without its weight in the block.  # (row, class)"""
        row_by_row = 0 if all(terms.tabulated for terms in self.terms) else self.widest
        step = max(1, BLOCK_CELLS // (2 * len(self.classes) + row_by_row))
        work = len(block) * len(self.terms) * len(self.classes) * 8
        return np.concatenate(_kernels.run_parallel(self._joint, list(pieces_of(block, step)), work=work))

    def _joint(self, piece: Block) -> Numbers:
        remaining = remaining_classes(piece, self.classes, copies=False)
        prior = remaining.frequencies if self.prior is None else np.broadcast_to(self.prior, remaining.frequencies.shape)
        joint, zeros = split_infinite(log(prior) if self.class_is_root else np.zeros(prior.shape))
        for terms in self.terms:
            logs, impossible = split_infinite(terms(piece, remaining))
            joint, zeros = joint + logs, zeros + impossible
        joint = np.where(zeros > 0, -np.inf, joint)
        if self.elimination is not None:
            self.elimination.add(joint, piece.codes[:-1], self.has_missing)
        rows = np.flatnonzero(np.isneginf(joint.max(axis=1)))
        joint[rows] = fallback(zeros[rows], prior[rows])
        return joint
