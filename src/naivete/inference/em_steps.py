"""The iteration of EM (expectation-maximization), for any expectation and maximization step."""

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
"""By default the iteration ends when the objective changes by less than this share."""
MAX_ITERATIONS = 500
"""The most iterations by default."""


@dataclass(frozen=True, repr=False)
class Convergence:
    """The result of an EM iteration.

    Parameters
    ----------
    iterations : int
        How many times the tables were estimated again.
    log_likelihoods : tuple of float
        The log likelihood of the observed values, in nats, before the first iteration and after each.
    objectives : tuple of float
        The log likelihood plus, with a pseudo-count alpha, the log prior alpha * sum of log P.
    converged : bool
        Whether the last step changed the objective by no more than the tolerance.
    tolerance : float
        The relative change that is small enough.

    Examples
    --------
    >>> from naivete.inference.em_steps import Convergence
    >>> Convergence(2, (-9.0, -8.1, -8.1), (-9.0, -8.1, -8.1), True, 1e-8)
    <converged after 2 iterations: objective -9 to -8.1, log likelihood -8.1>
    """

    iterations: int
    log_likelihoods: tuple[float, ...]
    objectives: tuple[float, ...]
    converged: bool
    tolerance: float

    def then(self, more: Convergence) -> Convergence:
        """Return this iteration and a later one that started from its result, as one.

        Parameters
        ----------
        more : Convergence
            The later iteration.

        Returns
        -------
        Convergence
            Both iterations.
        """
        likelihoods, objectives = self.log_likelihoods + more.log_likelihoods[1:], self.objectives + more.objectives[1:]
        return Convergence(self.iterations + more.iterations, likelihoods, objectives, more.converged, more.tolerance)

    def __repr__(self) -> str:
        if not self.log_likelihoods:
            return "<no missing values to complete>"
        state = "converged" if self.converged else "not converged"
        objective = f"objective {self.objectives[0]:.6g} to {self.objectives[-1]:.6g}"
        return f"<{state} after {self.iterations} iterations: {objective}, log likelihood {self.log_likelihoods[-1]:.6g}>"


class EMStep(NamedTuple, Generic[E]):
    """The result of an expectation step: log likelihood of the cases, objective, and expected counts."""

    log_likelihood: float
    objective: float
    expected: E


def iterate_em(
    tables: T, expectation: Callable[[T], EMStep[E]], maximized: Callable[[E], T], *, tolerance: float, max_iterations: int
) -> tuple[T, E, Convergence]:
    """Alternate expectation and maximization; return the last tables, their expected counts, and the convergence.

    Parameters
    ----------
    tables : the initial tables.
    expectation : tables -> expectation step.
    maximized : expected counts -> the tables that maximize the objective.
    tolerance : the iteration ends when the relative change of the objective is smaller.
    max_iterations : the iteration ends after this many steps in any case.
    """
    step = expectation(tables)
    likelihoods, objectives, converged = [step.log_likelihood], [step.objective], False
    while not converged and len(objectives) <= max_iterations:
        tables = maximized(step.expected)
        step = expectation(tables)
        converged = abs(step.objective - objectives[-1]) <= tolerance * max(1.0, abs(step.objective))
        likelihoods.append(step.log_likelihood)
        objectives.append(step.objective)
    convergence = Convergence(len(objectives) - 1, tuple(likelihoods), tuple(objectives), converged, tolerance)
    return tables, step.expected, convergence


def check_iterations(tolerance: object, max_iterations: object) -> None:
    """Raise an error unless the tolerance is in [0, 1) and the number of iterations is a positive whole number."""
    if not isinstance(tolerance, (int, float, np.integer, np.floating)) or isinstance(tolerance, bool) or not 0 <= tolerance < 1:
        raise ParameterError(
            f"tolerance={quoted(tolerance)}: a relative change of the objective, at least 0 and below 1, is needed"
        )
    if not isinstance(max_iterations, (int, np.integer)) or isinstance(max_iterations, bool) or max_iterations < 1:
        raise ParameterError(f"max_iterations={quoted(max_iterations)}: a whole number, at least 1, is needed")
