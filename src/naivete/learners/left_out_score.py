"""How well a model predicts cases that are left out, compared with the class frequencies alone.

The scores are computed where they are asked for, by `scored_by_leave_one_out`, from a sample of the cases and from counts that the
learner has made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

import numpy as np

from naivete._kernels.codes import Integers, Numbers
from naivete.cases.base import Block
from naivete.cases.sample import sampled
from naivete.counts.counts import Counts
from naivete.inference.leave_one_out_networks import LeaveOneOut
from naivete.inference.spectrum_terms import log_normalized
from naivete.network.network import Network
from naivete.variables import CLASS, State

__all__ = ["LeftOutScore", "network_score", "report_score", "score_of", "scored_by_leave_one_out", "scores_wanted"]

SAMPLE: Final = 2000
"""The largest number of distinct cases that are predicted."""
ENOUGH: Final = 50
"""With less weight of the cases, the scores say little."""
CLEAR: Final = 1.645
"""A gain is clear if it is more than this many times its standard error: one-sided, at 5 %."""
LEAST: Final = 1e-15
"""Smaller probabilities are replaced by this one."""


@dataclass(frozen=True)
class LeftOutScore:
    """The accuracy and the log loss of cases that are left out, and those of the class frequencies.

    Parameters
    ----------
    majority : the most frequent class.
    accuracy, majority_accuracy : the share of correct predictions, of the model and of the most frequent class.
    log_loss, prior_log_loss : the mean log loss in bits, of the model and of the class frequencies.
    better : whether the model is clearly better in one of them.
    """

    majority: State
    accuracy: float
    majority_accuracy: float
    log_loss: float
    prior_log_loss: float
    better: bool


_SCORES: ContextVar[tuple[list[LeftOutScore], bool] | None] = ContextVar("_SCORES", default=None)


@contextmanager
def scored_by_leave_one_out(*, another_pass: bool = True) -> Iterator[list[LeftOutScore]]:
    """Collect the scores of the models that are learned in the body, of those for which there is a score.

    Parameters
    ----------
    another_pass : whether another pass over the rows may be made for a score.
    """
    scores: list[LeftOutScore] = []
    token = _SCORES.set((scores, another_pass))
    try:
        yield scores
    finally:
        _SCORES.reset(token)


def scores_wanted(*, another_pass: bool = False) -> bool:
    """Whether the scores of models are collected, also of those that take another pass over the rows."""
    wanted = _SCORES.get()
    return wanted is not None and (wanted[1] or not another_pass)


def report_score(score: LeftOutScore | None) -> None:
    """Add a score to those that are collected."""
    wanted = _SCORES.get()
    if wanted is not None and score is not None:
        wanted[0].append(score)


def score_of(
    posteriors: Numbers, prior: Numbers, labels: Integers, weight: Numbers, left_out: Numbers, classes: Sequence[State]
) -> LeftOutScore | None:
    """Return the score of the posteriors of cases, None if there are too few cases or classes.

    Parameters
    ----------
    posteriors, prior : P(class | case) of the model and of the class frequencies, each without the case.  # (case, class)
    labels, weight, left_out : as of `naivete.cases.sample.Sample`.
    classes : the labels of the classes.

    >>> even = np.full((100, 2), 0.5)
    >>> score_of(even, even, np.arange(100) % 2, np.ones(100), np.ones(100), ("no", "yes"))
    LeftOutScore(majority='no', accuracy=0.5, majority_accuracy=0.5, log_loss=1.0, prior_log_loss=1.0, better=False)
    """
    total = float(weight.sum())
    totals = np.bincount(labels, weight, len(classes))
    rows = np.arange(len(labels))
    if total < ENOUGH * float(left_out.mean() if len(left_out) else 1.0) or np.count_nonzero(totals) < 2:
        return None
    majority = int(totals.argmax())
    hits, usual = posteriors.argmax(axis=1) == labels, labels == majority
    losses, prior_losses = (-np.log2(np.maximum(p[rows, labels], LEAST)) for p in (posteriors, prior))
    accuracy, majority_accuracy, loss, prior_loss = (float(weight @ v) / total for v in (hits, usual, losses, prior_losses))
    better = any(_clear(gain, weight, left_out) for gain in (hits.astype(float) - usual, prior_losses - losses))
    return LeftOutScore(classes[majority], accuracy, majority_accuracy, loss, prior_loss, better)


def _clear(gain: Numbers, weight: Numbers, left_out: Numbers) -> bool:
    """Whether the mean gain is more than `CLEAR` standard errors above zero; a case of weight w stands for w / left_out rows."""
    mean = float(weight @ gain) / float(weight.sum())
    error = float(np.sqrt((weight * left_out) @ (gain - mean) ** 2)) / float(weight.sum())
    return mean > CLEAR * error


def network_score(
    counts: Counts, network: Network, *, smoothing: object, prior: Sequence[float] | None, temperature: float = 1.0
) -> LeftOutScore | None:
    """Return the score of a network of tables, whose cases are left out exactly, as for `leave_one_out_temperature`.

    Parameters
    ----------
    counts : the training cases.
    network : the network that was estimated from them, without derived columns and densities.
    smoothing, prior : those of the estimation.
    temperature : of the posteriors.
    """
    model = LeaveOneOut(counts, network, smoothing, prior)
    sample = sampled(counts.fold, [*counts.features, CLASS], SAMPLE, 0)
    posteriors = np.exp(log_normalized(temperature * model(Block((*sample.codes, sample.labels), sample.left_out))))
    cases = np.flatnonzero(model.classes[sample.labels] > sample.left_out)  # the others have a class that no other case has
    labels, left_out = sample.labels[cases].astype(np.int64), sample.left_out[cases]
    remaining = np.repeat(model.classes[None], len(cases), axis=0) + left_out[:, None] / 2
    remaining[np.arange(len(cases)), labels] -= left_out
    frequencies = remaining / remaining.sum(axis=1, keepdims=True)
    return score_of(posteriors[cases], frequencies, labels, sample.weight[cases], left_out, network.variables[CLASS].states)
