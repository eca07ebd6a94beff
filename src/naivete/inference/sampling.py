"""Random rows from a network: forward sampling along the arcs, and exact sampling given evidence, without rejection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers, narrowest
from naivete.errors import ParameterError, quoted
from naivete.inference.junction import (
    Collected,
    Evidence,
    Given,
    HasNetwork,
    JunctionTree,
    Plan,
    configuration,
    evidence_of,
    junction_tree_of,
)
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["checked_rows", "generator", "sample_codes"]

Codes = NDArray[np.int64]

BLOCK_ROWS = 1 << 16
"""The number of rows that are drawn at a time."""


def sample_codes(
    network: Network | JunctionTree | HasNetwork,
    rows: int,
    random_state: int | np.random.Generator | None = None,
    *,
    given: Given | None = None,
) -> tuple[NDArray[Any], ...]:
    """Return the codes of random rows, one array for each variable in the order of the network, the class last.

    Variables that depend on the evidence are drawn clique by clique from the root of the junction tree, each given its separator;
    the others variable by variable, each given its parents.

    Parameters
    ----------
    network : Network, JunctionTree or NetworkClassifier
        The network, its junction tree, or a fitted classifier.
    rows : int
        The number of rows.
    random_state : int, numpy.random.Generator or None, default=None
        A seed, a generator, or None for another sample each time.
    given : dict or None, default=None
        The evidence, as for `posterior`; the rows are drawn from the distribution given it. By default there is none.

    Returns
    -------
    tuple of ndarray of shape (n_rows,)
        The codes of each variable.

    Examples
    --------
    >>> import numpy as np
    >>> from naivete import Network, Variable
    >>> from naivete.inference.sampling import sample_codes
    >>> variables = Variable("rain", ("no", "yes")), Variable("wet", ("no", "yes"))
    >>> network = Network(variables, {0: (), -1: (0,)}, {0: np.array([0.8, 0.2]), -1: np.array([[0.9, 0.1], [0.3, 0.7]])})
    >>> [codes.tolist() for codes in sample_codes(network, 4, random_state=1, given={"wet": "yes"})]
    [[1, 1, 0, 1], [1, 1, 1, 1]]
    """
    checked_rows(rows)
    tree = junction_tree_of(network)
    rng = generator(random_state)
    evidence = evidence_of(tree.network, given)
    plan = tree.plan(evidence)
    collected = tree.collected(plan, evidence, kept=True)
    tree.check_possible(plan, collected, evidence)
    order = (*tree.network.features, CLASS)
    drawn = [np.empty(rows, narrowest(tree.cards[v])) for v in order]
    for start in range(0, rows, BLOCK_ROWS):
        part = slice(start, min(rows, start + BLOCK_ROWS))
        codes = _rows(tree, plan, collected, evidence, part.stop - part.start, rng)
        for v, column in zip(order, drawn, strict=True):
            column[part] = codes[v]
    return tuple(drawn)


def checked_rows(rows: int) -> int:
    """Return a number of rows; anything but a whole number from 0 on is refused."""
    if type(rows) is not int or rows < 0:
        raise ParameterError(f"rows={quoted(rows)}: a whole number, at least 0")
    return rows


def generator(random_state: int | np.random.Generator | None) -> np.random.Generator:
    """Return the generator of a seed, or the generator itself."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ParameterError(f"random_state={quoted(random_state)}: a whole number from 0 on, a numpy Generator, or None") from None


def _rows(
    tree: JunctionTree, plan: Plan, collected: Collected, evidence: Evidence, rows: int, rng: np.random.Generator
) -> dict[int, Codes]:
    codes = {v: np.full(rows, code[0]) for v, code in evidence.codes.items()}
    codes |= {v: np.zeros(rows, np.int64) for v, card in tree.cards.items() if card == 1}
    for i in reversed(range(len(plan.cliques))):
        members, split = plan.cliques[i].members, plan.cliques[i].separator
        if members:
            context = configuration(codes, members[:split], tree.cards, rows)
            options = _cumulative(_options(plan, collected, i))
            codes |= zip(members[split:], np.unravel_index(_drawn(options, context, rng), plan.shapes[i][split:]), strict=True)
    for v in tree.network.order:
        if v not in codes:
            codes[v] = _forward(tree.network, v, codes, rows, rng)
    return codes


def _options(plan: Plan, collected: Collected, i: int) -> Numbers:
    """Return unnormalized probabilities of the other members of a clique, for each configuration of its separator."""
    table = collected.tables[i].reshape(plan.splits[i])
    if not collected.semiring.logs:
        return table
    top = table.max(axis=1, keepdims=True)
    with np.errstate(under="ignore"):
        return np.asarray(np.exp(table - np.where(np.isneginf(top), 0, top)))


def _forward(network: Network, v: int, codes: Mapping[int, Codes], rows: int, rng: np.random.Generator) -> Codes:
    """Draw states of a variable, given the states of its parents."""
    distributions, context = network.table(v).contexts(codes, rows)
    return _drawn(_cumulative(distributions), context, rng)


def _cumulative(weights: Numbers) -> Numbers:
    """Return cumulative probabilities, exactly 1 from the last possible option on.  # (context, option)"""
    sums = np.cumsum(weights, axis=1)
    return np.asarray(sums / np.where(sums[:, -1:] > 0, sums[:, -1:], 1))


def _drawn(cumulative: Numbers, context: Codes, rng: np.random.Generator) -> Codes:
    """Draw an option for each context: the first whose cumulative probability exceeds a uniform number, by bisection.

    >>> _drawn(np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([0, 1, 0]), np.random.default_rng(0))
    array([1, 0, 1])
    """
    uniform = rng.random(len(context))
    flat, first = cumulative.ravel(), context * cumulative.shape[1]
    low, high = np.zeros_like(context), np.full_like(context, cumulative.shape[1] - 1)
    for _ in range((cumulative.shape[1] - 1).bit_length()):
        middle = (low + high) >> 1
        beyond = flat[first + middle] <= uniform
        low = np.where(beyond, np.minimum(middle + 1, high), low)
        high = np.where(beyond, high, middle)
    return low
