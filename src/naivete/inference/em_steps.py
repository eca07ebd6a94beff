"""Climbing by expectation and maximisation in turn, whatever is expected and maximised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from naivete.errors import ParameterError, quoted

__all__ = ["MAX_ITERATIONS", "TOLERANCE", "Convergence", "EMStep", "check_iterations", "iterate_em"]

T = TypeVar("T")
E = TypeVar("E")

TOLERANCE = 1e-8
MAX_ITERATIONS = 500


@dataclass(frozen=True, repr=False)
class Convergence:
    """How expectation-maximisation went.

    Parameters
    ----------
    iterations : how often the tables were made anew.
    log_likelihoods : the log likelihood of the known values, in nats, before the first iteration and after each.
    objectives : what is climbed: the log likelihood, and with a pseudo-count alpha the log prior alpha * sum of log P too.
    converged : whether the last step changed the objective by no more than the tolerance.
    tolerance : the relative change that is small enough.

    >>> Convergence(2, (-9.0, -8.1, -8.1), (-9.0, -8.1, -8.1), True, 1e-8)
    <converged after 2 iterations: objective -9 to -8.1, log likelihood -8.1>
    """

    iterations: int
    log_likelihoods: tuple[float, ...]
    objectives: tuple[float, ...]
    converged: bool
    tolerance: float

    def then(self, more: Convergence) -> Convergence:
        """This climb and one that went on from where it ended, as one."""
        likelihoods, objectives = self.log_likelihoods + more.log_likelihoods[1:], self.objectives + more.objectives[1:]
        return Convergence(self.iterations + more.iterations, likelihoods, objectives, more.converged, more.tolerance)

    def __repr__(self) -> str:
        if not self.log_likelihoods:
            return "<nothing to complete>"
        how = "converged" if self.converged else "not converged"
        iterate_em = f"objective {self.objectives[0]:.6g} to {self.objectives[-1]:.6g}"
        return f"<{how} after {self.iterations} iterations: {iterate_em}, log likelihood {self.log_likelihoods[-1]:.6g}>"


class EMStep(NamedTuple, Generic[E]):
    """What some tables say of the cases: how likely they are, what is climbed, and the counts to expect."""

    log_likelihood: float
    objective: float
    expected: E


def iterate_em(
    tables: T, expectation: Callable[[T], EMStep[E]], maximised: Callable[[E], T], *, tolerance: float, max_iterations: int
) -> tuple[T, E, Convergence]:
    """The tables that expectation and maximisation in turn lead to, what they expect, and how it went.

    Parameters
    ----------
    tables : where to begin.
    expectation : from tables to a step.
    maximised : from expected counts to the tables that fit them best.
    tolerance : it ends when the objective changes by less than this share of it.
    max_iterations : it ends after so many steps in any case.
    """
    step = expectation(tables)
    likelihoods, objectives, settled = [step.log_likelihood], [step.objective], False
    while not settled and len(objectives) <= max_iterations:
        tables = maximised(step.expected)
        step = expectation(tables)
        settled = abs(step.objective - objectives[-1]) <= tolerance * max(1.0, abs(step.objective))
        likelihoods.append(step.log_likelihood)
        objectives.append(step.objective)
    told = Convergence(len(objectives) - 1, tuple(likelihoods), tuple(objectives), settled, tolerance)
    return tables, step.expected, told


def check_iterations(tolerance: object, max_iterations: object) -> None:
    """Refuse a tolerance or a number of iterations that is none."""
    if not isinstance(tolerance, (int, float, np.integer, np.floating)) or isinstance(tolerance, bool) or not 0 <= tolerance < 1:
        raise ParameterError(f"tolerance={quoted(tolerance)}: a relative change of the objective, at least 0 and below 1")
    if not isinstance(max_iterations, (int, np.integer)) or isinstance(max_iterations, bool) or max_iterations < 1:
        raise ParameterError(f"max_iterations={quoted(max_iterations)}: a whole number, at least 1")
