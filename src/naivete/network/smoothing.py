"""Smoothing: conditional probabilities from counts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from naivete.errors import ParameterError, quoted
from naivete.variables import State

__all__ = [
    "DISCOUNT",
    "Backoff",
    "ClarkNiblett",
    "Context",
    "Lidstone",
    "MEstimate",
    "Prior",
    "Smoothing",
    "backoff_table",
    "checked_prior",
    "discounted",
    "marginal_distribution",
    "normalized",
    "prior_probabilities",
    "smoothed",
    "smoothing_of",
]

Prior = Sequence[float] | Mapping[State, float] | str | None
"""P(c) for every class: in the order of the classes, by label, "uniform", or None for the relative frequencies."""

LARGEST = 1e15
"""The largest pseudo-count that is accepted."""
DISCOUNT = 0.5
"""What back-off subtracts from each count."""


@dataclass(frozen=True)
class Context:
    """What a smoothing may use beside the counts of a family.

    Parameters
    ----------
    marginal : ndarray
        P(x), the relative frequencies over all classes, along the axis of x and broadcast over the others.
    prior : ndarray
        P(c) along the last axis, or 1 for a family without the class.
    total : float or ndarray
        The total weight of the cases, a number or broadcast over the axes.
    """

    marginal: Numbers
    prior: Numbers
    total: float | Numbers


@dataclass(frozen=True)
class Lidstone:
    """A pseudo-count for each state: (n + alpha) / (N + alpha v) for v states.

    Laplace's rule has alpha 1, maximum likelihood alpha 0. A number as the parameter `smoothing` of a classifier is this alpha.

    Parameters
    ----------
    alpha : float, default=1.0
        The pseudo-count.

    Examples
    --------
    >>> from naivete import Lidstone, NaiveBayes
    >>> nb = NaiveBayes(smoothing=Lidstone(1)).fit([["a"], ["a"], ["b"]], ["no", "no", "yes"])
    >>> nb.network_.cpts[0].round(3).tolist()  # P(a), P(b) in the rows, the classes in the columns
    [[0.75, 0.333], [0.25, 0.667]]
    """

    alpha: float = 1.0

    def __call__(self, n: Numbers, axis: int, context: Context) -> Numbers:  # noqa: ARG002
        """Return P(x | parents) from the counts; uniform where the parents never occur and alpha is 0."""
        return normalized(n + self.alpha, axis, in_place=True)


@dataclass(frozen=True)
class MEstimate:
    """The m-estimate (n + m P(x)) / (N + m): m virtual cases distributed as x over all classes.

    Friedman's smoothing, "friedman", has m = 5.

    Parameters
    ----------
    m : float, default=2.0
        The number of virtual cases.

    References
    ----------
    Cestnik (1990), Estimating probabilities; Friedman, Geiger and Goldszmidt (1997), Bayesian network classifiers, section 4.

    Examples
    --------
    >>> from naivete import MEstimate, NaiveBayes
    >>> nb = NaiveBayes(smoothing=MEstimate(2)).fit([["a"], ["a"], ["b"]], ["no", "no", "yes"])
    >>> nb.network_.cpts[0].round(3).tolist()  # P(a), P(b) in the rows, the classes in the columns
    [[0.833, 0.444], [0.167, 0.556]]
    """

    m: float = 2.0

    def __call__(self, n: Numbers, axis: int, context: Context) -> Numbers:
        """Return P(x | parents) from the counts; P(x) where the parents never occur."""
        mixed = normalized(n + self.m * context.marginal, axis, in_place=True)
        return mixed if self.m > 0 else np.where(n.sum(axis=axis, keepdims=True) > 0, mixed, context.marginal)


@dataclass(frozen=True)
class ClarkNiblett:
    """Relative frequencies n / N, with P(c) / (number of cases) in place of zero; then each distribution is normalized again.

    References
    ----------
    Clark and Niblett (1989), The CN2 induction algorithm, section 2.

    Examples
    --------
    >>> from naivete import ClarkNiblett, NaiveBayes
    >>> nb = NaiveBayes(smoothing=ClarkNiblett()).fit([["a"], ["a"], ["b"]], ["no", "no", "yes"])
    >>> nb.network_.cpts[0].round(3).tolist()  # P(a), P(b) in the rows, the classes in the columns
    [[0.818, 0.1], [0.182, 0.9]]
    """

    def __call__(self, n: Numbers, axis: int, context: Context) -> Numbers:
        """Return P(x | parents) from the counts; uniform where the parents never occur."""
        shares = normalized(n, axis)
        occurs = n.sum(axis=axis, keepdims=True) > 0
        return normalized(np.where(n > 0, np.where(occurs, shares, 0.0), context.prior / np.maximum(context.total, 1.0)), axis)


@dataclass(frozen=True)
class Backoff:
    """Discounted back-off to shorter contexts: what is subtracted from the counts goes to the distribution with one parent less.

    The estimate is (max(n - 1/2, 0) + (m + t/2) P(x | all parents but the weakest)) / (N + m), where n is the count of the state
    and N that of its context, and t is the number of states of x that occur in the context. The distribution without the weakest
    parent is estimated in the same way; the class is left out last, and then Laplace's rule (n + 1) / (N + v) gives P(x). A context
    that never occurs has the distribution of the shorter one, and no state has probability zero. Of a count below 1/2, as
    fractional weights give, all is subtracted.

    Parameters
    ----------
    m : float, default=0.5
        The number of virtual cases that are distributed as in the shorter context.

    References
    ----------
    Ney, Essen and Kneser (1994), On structuring probabilistic dependences in stochastic language modelling.

    Examples
    --------
    >>> from naivete import Backoff, NaiveBayes
    >>> nb = NaiveBayes(smoothing=Backoff()).fit([["a"], ["a"], ["b"]], ["no", "no", "yes"])
    >>> nb.network_.cpts[0].round(3).tolist()  # P(a), P(b) in the rows, the classes in the columns
    [[0.84, 0.4], [0.16, 0.6]]
    """

    m: float = 0.5


Smoothing = Lidstone | MEstimate | ClarkNiblett | Backoff

_BY_NAME: dict[str, tuple[type[Lidstone | MEstimate | Backoff], float]] = {
    "lidstone": (Lidstone, 1.0),
    "m-estimate": (MEstimate, 2.0),
    "friedman": (MEstimate, 5.0),
    "backoff": (Backoff, 0.5),
}


def smoothing_of(value: object) -> Smoothing:
    """Return the smoothing for a parameter value: a number is Lidstone's pseudo-count, a name may be followed by a number.

    >>> smoothing_of(0.5), smoothing_of("m-estimate:3"), smoothing_of("friedman")
    (Lidstone(alpha=0.5), MEstimate(m=3.0), MEstimate(m=5.0))
    """
    if isinstance(value, (Lidstone, MEstimate, ClarkNiblett, Backoff)):
        _amount(getattr(value, "alpha", getattr(value, "m", 0.0)), value)
        return value
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, (bool, np.bool_)):
        return Lidstone(_amount(value, value))
    if isinstance(value, str):
        name, _, number = value.partition(":")
        if name == "clark-niblett" and not number:
            return ClarkNiblett()
        if name in _BY_NAME:
            kind, default = _BY_NAME[name]
            return kind(_amount(number or default, value))
    raise ParameterError(
        f"smoothing={quoted(value)}: a pseudo-count (at least 0), or one of 'm-estimate', 'friedman', 'clark-niblett', 'backoff'; "
        "all but 'clark-niblett' may be followed by a number, as in 'm-estimate:3'"
    )


def _amount(number: Any, value: object) -> float:
    try:
        amount = float(number)
    except (TypeError, ValueError):
        amount = math.nan
    if not 0 <= amount <= LARGEST:
        raise ParameterError(f"smoothing={quoted(value)}: the number has to be at least 0 and at most {LARGEST:.0e}")
    return amount


def prior_probabilities(prior: Prior, labels: Sequence[State]) -> Numbers:
    """Return P(c) for every class.

    Parameters
    ----------
    prior : a sequence with a probability for every class, a mapping from the labels to numbers that are divided by their sum, or
        "uniform".
    labels : the class labels.

    >>> prior_probabilities({"ill": 1, "well": 3}, ["ill", "well"]).tolist(), prior_probabilities("uniform", [0, 1]).tolist()
    ([0.25, 0.75], [0.5, 0.5])
    """
    if isinstance(prior, Mapping):
        if set(prior) != set(labels):
            raise ParameterError(f"prior={quoted(dict(prior))}: a share for each of the classes {quoted(list(labels))} is needed")
        return _normalized_shares(prior, labels)
    if isinstance(prior, str):
        if prior != "uniform":
            raise ParameterError(f"prior={quoted(prior)}: choose 'uniform', or pass the probabilities of the classes")
        return np.full(len(labels), 1 / len(labels))
    return checked_prior(prior, len(labels))


def _normalized_shares(prior: Mapping[State, float], labels: Sequence[State]) -> Numbers:
    """Return the numbers of a mapping divided by their sum; those that sum to one stay as they are."""
    try:
        shares = np.array([prior[label] for label in labels], np.float64)
        total = math.fsum(shares.tolist()) if np.all(shares >= 0) else 0.0
    except (TypeError, ValueError, OverflowError):
        total = 0.0
    if not 0 < total < math.inf:
        raise ParameterError(f"prior={quoted(dict(prior))}: the shares are finite numbers, none below 0 and not all of them 0")
    return shares if abs(total - 1) <= 1e-9 else shares / total


def checked_prior(prior: Any, classes: int) -> Numbers:
    """Return class probabilities as an array; an error unless there is one for each class and they sum to one."""
    try:
        probabilities = np.array(prior, np.float64)
    except (TypeError, ValueError):
        probabilities = np.empty(0)
    if probabilities.shape != (classes,) or not np.all(probabilities >= 0) or abs(probabilities.sum() - 1) > 1e-9:
        raise ParameterError(
            f"prior={quoted(prior)}: {classes} class probabilities that sum to 1 are needed; a dict by label is divided by its sum"
        )
    return probabilities


def marginal_distribution(n: NDArray[Any], axis: int) -> Numbers:
    """Return P(x) from counts, x along the axis, broadcast over the others."""
    return normalized(n.sum(axis=tuple(a for a in range(n.ndim) if a != axis), keepdims=True), axis)


def smoothed(
    n: NDArray[Any], axis: int, weakest: Sequence[int], smoothing: Smoothing, class_frequencies: Numbers, total: float
) -> Numbers:
    """Return P(x | parents) from the counts of a family.

    Parameters
    ----------
    n : the counts.
    axis : the axis of x.
    weakest : the axes of the parents, the first to be left out by back-off first.
    smoothing : the smoothing.
    class_frequencies : the relative frequencies of the classes, or 1 where the class is no parent.
    total : the total weight of the cases.
    """
    if isinstance(smoothing, Backoff):
        return backoff_table(n, axis, weakest, smoothing.m)
    marginal = marginal_distribution(n, axis) if isinstance(smoothing, MEstimate) else class_frequencies
    return smoothing(n, axis, Context(marginal, class_frequencies, total))


def backoff_table(n: Numbers, axis: int, weakest: Sequence[int], m: float) -> Numbers:
    """Return P(x | parents) by discounted back-off to fewer and fewer parents, and at last to Laplace's rule; see `Backoff`.

    Parameters
    ----------
    n : the counts.
    axis : the axis of x.
    weakest : the axes of the parents, the first to be left out first.
    m : the weight of the distribution with fewer parents.
    """
    if not weakest:
        return normalized(n + 1.0, axis, in_place=True)
    shorter = backoff_table(n.sum(axis=weakest[0], keepdims=True), axis, weakest[1:], m)
    return discounted(n, m, shorter, axis)


def discounted(n: Numbers, m: float, shorter: Numbers, axis: int) -> Numbers:
    """Return one step of back-off along the axis; the distribution of the shorter context where all counts are zero.

    >>> discounted(np.array([2.0, 1.0, 0.0]), 0.5, np.array([0.25, 0.25, 0.5]), 0)  # (1.5, 0.5, 0) + 1.5 (0.25, 0.25, 0.5)
    array([0.53571429, 0.25      , 0.21428571])
    """
    subtracted = np.minimum(n, DISCOUNT)
    total = n.sum(axis=axis, keepdims=True)
    mixed = (n - subtracted) + (m + subtracted.sum(axis=axis, keepdims=True)) * shorter
    return np.where(total > 0, mixed / np.where(total > 0, total + m, 1.0), shorter)


def normalized(n: NDArray[Any], axis: int, *, in_place: bool = False) -> Numbers:
    """Return the counts divided by their sum along the axis; uniform where the sum is zero.

    Parameters
    ----------
    n : the counts.
    axis : the axis.
    in_place : whether the array may be overwritten.
    """
    total = n.sum(axis=axis, keepdims=True)
    if total.min(initial=1.0) > 0:
        return np.asarray(np.divide(n, total, out=n if in_place and n.dtype == np.float64 else None))
    return np.where(total > 0, n / np.where(total > 0, total, 1.0), 1 / n.shape[axis])
