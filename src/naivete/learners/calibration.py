"""Calibration of posterior probabilities by one temperature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from naivete.cases.base import Block
from naivete.cases.sample import sampled
from naivete.counts.counts import Counts
from naivete.inference.leave_one_out_ande import LeaveOneOutAnDE
from naivete.inference.leave_one_out_networks import LeaveOneOut
from naivete.learners.weighting import temperature
from naivete.network.ande import AnDE
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["leave_one_out_temperature", "leave_one_out_temperature_of_average"]

SAMPLE: Final = 10_000
"""The largest number of distinct cases from which the temperature is computed."""
DIGITS: Final = 4
"""The decimal digits of a temperature; rounding errors of the sums are far below."""
PENALTY: Final = 5.0
"""The weight of the squared distance of the temperature from 1, in nats; chosen among 0, 2, 5 and 10 on 76 data sets."""
LEAST_LOG: Final = -700.0
"""Smaller logarithms of probabilities, relative to the most probable class, are replaced by this one."""


def leave_one_out_temperature(
    counts: Counts, network: Network, *, smoothing: object = 1.0, prior: Sequence[float] | None = None
) -> float:
    """Return the temperature t for which P(class | row) ** t, normalized, has the lowest log loss in exact leave-one-out.

    Each case is predicted by the tables of all other cases; the structure is not learned again. Below 1 the network is too sure
    of its predictions, above 1 not sure enough. PENALTY (t - 1)**2 / 2 is added to the sum of the losses: few cases, none of which
    is predicted wrongly, do not make the predictions much surer. One pass over the rows draws a sample that does not depend on
    their order. A case whose class has no other case is not used. The temperature is between 0.02 and 8.

    Parameters
    ----------
    counts : the training cases.
    network : the network that was estimated from them, without derived columns and densities.
    smoothing, prior : those of the estimation.

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017), On calibration of modern neural networks, section 4.2, with leave-one-out in place of
    held-out cases.
    """
    return _temperature(counts, LeaveOneOut(counts, network, smoothing, prior))


def leave_one_out_temperature_of_average(counts: Counts, model: AnDE, network: Network, *, smoothing: object = 1.0) -> float:
    """Return the temperature of an averaged n-dependence estimator, as `leave_one_out_temperature` does that of a network.

    Minimum frequency and subsumption are decided without the case too.

    Parameters
    ----------
    counts : the training cases.
    model : the model that was learned from them.
    network : the naive Bayes network that was estimated from them.
    smoothing : that of the estimation.
    """
    prior = None if model.prior is None else model.prior.tolist()
    return _temperature(counts, LeaveOneOutAnDE(model, LeaveOneOut(counts, network, smoothing, prior)))


def _temperature(counts: Counts, left_out: LeaveOneOut | LeaveOneOutAnDE) -> float:
    """Return the best temperature of the predictions of a sample of the cases, each without its case."""
    sample = sampled(counts.fold, [*counts.features, CLASS], SAMPLE, 0)
    logs = left_out(Block((*sample.codes, sample.labels), sample.left_out))
    predictable = left_out.classes[sample.labels] > sample.left_out
    logs = np.maximum(logs - logs.max(axis=1, keepdims=True), LEAST_LOG)[predictable]
    if not logs.any():
        return 1.0  # all classes are equally probable in all cases, whatever the temperature
    return round(temperature(logs, sample.labels[predictable], sample.weight[predictable], PENALTY)[0], DIGITS)
