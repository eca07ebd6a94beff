"""Weights of attributes as in Barrow (2011): derivatives given all other attributes, averaged as logarithms or as ratios.

The library conditions each attribute on those before it in a network and averages logarithms, because only then are the odds of
the network those of naive Bayes times the product of the ratios. The thesis conditions on all other attributes, whose product is
a pseudo-likelihood, and definition 2.2.3 averages the ratios themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete import Block, Counts, DataError, Encoder, KNaive, Network, Predictor
from naivete.learners.derivatives import Derivatives, contrasts
from naivete.learners.knaive import balanced_set, knaive_on
from naivete.learners.naive import naive
from studies.verdicts import Numbers

__all__ = ["ThesisKNaive", "derivatives_given_others", "thesis_weights"]


class ThesisKNaive(KNaive):
    """`KNaive` whose attributes are chosen by the weights of the thesis.

    Parameters
    ----------
    k : the number of naive attributes; by default the best balanced set of any size.
    ratios : whether the ratios are averaged, as in definition 2.2.3, instead of their logarithms, as in the listing.
    shrinkage, smoothing, prior, encoder : as for `KNaive`.
    """

    def __init__(
        self,
        *,
        k: int | None = None,
        ratios: bool = False,
        shrinkage: Any = 0.0,
        smoothing: Any = 1.0,
        prior: Sequence[float] | None = None,
        encoder: Encoder | None = None,
    ) -> None:
        super().__init__(k=k, shrinkage=shrinkage, smoothing=smoothing, prior=prior, encoder=encoder)
        self.ratios = ratios

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        settings = {name: getattr(self, name) for name in ("max_parents", "shared", "shrinkage", "smoothing", "prior")}
        full_network = knaive_on(counts, (), strongly_naive=False, **settings)
        naive_network = naive(counts, smoothing=self.smoothing, prior=self.prior)
        weights = thesis_weights(counts, full_network, naive_network, ratios=self.ratios)
        chosen = balanced_set(weights, self.k)
        learned = {"naive_": list(chosen.features), "weights_": weights, "weight_": chosen.weight, "exact_": chosen.exact}
        return knaive_on(counts, chosen.features, strongly_naive=False, **settings), learned


def derivatives_given_others(
    network: Network, naive_network: Network, codes: Sequence[NDArray[Any]], has_missing: NDArray[np.bool_]
) -> Derivatives:
    """Return log2 P(x | all other observed features, c) / P(x | c), 0 where x is missing or the other features impossible.

    Parameters
    ----------
    network, naive_network : networks over the same variables in which every class has a positive prior.
    codes : one column for each feature.
    has_missing : which features have missing values.
    """
    whole, alone = Predictor(network), Predictor(naive_network)
    logs = np.zeros((len(codes[0]), len(codes), whole.classes))
    nothing = [_all_missing(column) for column in codes]
    everything = np.ones(len(codes), bool)
    with np.errstate(invalid="ignore"):
        joint, prior = whole.joint(codes, has_missing), alone.joint(nothing, everything)
        for x, column in enumerate(codes):
            without, single = [*codes[:x], nothing[x], *codes[x + 1 :]], [*nothing[:x], column, *nothing[x + 1 :]]
            given_others = joint - whole.joint(without, has_missing | (np.arange(len(codes)) == x))
            given_class = alone.joint(single, everything) - prior
            excluded = np.isnan(given_others) | (np.isneginf(given_others) & np.isneginf(given_class)) | _missing(column)[:, None]
            logs[:, x] = np.where(excluded, 0.0, given_others - given_class) / np.log(2)
    return Derivatives(logs)


def thesis_weights(counts: Counts, network: Network, naive_network: Network, *, ratios: bool) -> Numbers:
    """Return the weight of each feature: the mean log2 ratio, or with `ratios` log2 of the mean ratio.  # (feature, contrast)"""
    sums = counts.fold(_Sums(network, naive_network, counts.cases.has_missing, ratios), np.add)
    if not np.isfinite(sums).all():
        raise DataError("a ratio of derivatives is zero or infinite in floating point; use shrinkage for continuous features")
    means = sums[:-1] / sums[-1]
    return np.asarray(np.log2(means) if ratios else means)


@dataclass(frozen=True, eq=False)
class _Sums:
    """The sums over a block of what is averaged, and in the last row of the weights.  # (feature, contrast)"""

    network: Network
    naive_network: Network
    has_missing: NDArray[np.bool_]
    ratios: bool

    def __call__(self, block: Block) -> Numbers:
        logs = contrasts(derivatives_given_others(self.network, self.naive_network, block.codes[:-1], self.has_missing).logs)
        weight = np.ones(len(block)) if block.weight is None else block.weight
        with np.errstate(over="ignore"):
            values = np.exp2(logs) if self.ratios else logs
        sums = np.tensordot(weight, values, axes=1)
        return np.vstack([sums, np.full(sums.shape[1], weight.sum())])


def _all_missing(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column like this one, with the code of a missing value (NaN, or the largest integer) in every row."""
    return np.full_like(column, np.nan if column.dtype.kind == "f" else np.iinfo(column.dtype).max)


def _missing(column: NDArray[Any]) -> NDArray[np.bool_]:
    return np.isnan(column) if column.dtype.kind == "f" else np.asarray(column == np.iinfo(column.dtype).max)
