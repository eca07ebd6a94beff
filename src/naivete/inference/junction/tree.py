"""Message passing in the junction tree: probabilities of evidence, posteriors, marginals and most probable explanations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import log
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from naivete.errors import DataError, ParameterError
from naivete.inference.junction.evidence import Evidence, described
from naivete.inference.junction.plan import BUDGET, WORK, Part, Plan, Planner, offsets_of, steps_of
from naivete.inference.junction.semirings import LINEAR, LOG, MAX, Semiring, product, ratio, shares
from naivete.network.network import Network, check_tabular
from naivete.variables import CLASS

__all__ = ["Collected", "HasNetwork", "JunctionTree", "configuration", "junction_tree_of", "network_of", "one_network_of"]

Codes = NDArray[np.int64]

FITS = 650.0
"""If the logarithm of a product of probabilities could be farther from zero than this, logarithms are added instead."""
BLOCK_CELLS = 1 << 18
"""The number of cells of the tables of a block of rows."""
PLANS = 64
"""The most plans that are kept."""
TIE = 1e-13
"""Explanations whose log probabilities differ by less than this share are ties."""


class HasNetwork(Protocol):
    """A fitted classifier, or anything else with a network."""

    @property
    def network_(self) -> Network:
        """The network."""


class Collected(NamedTuple):
    """The table of each clique times the messages of its children, its message to its parent, and the semiring."""

    tables: list[Numbers]
    messages: list[Numbers]
    semiring: Semiring


class JunctionTree:
    """Exact inference in a network for any query; it keeps its plans, so that repeated queries are faster.

    Parameters
    ----------
    network : Network
        The network, without computed columns and densities.
    budget : int, default=2147483648
        The largest number of bytes of its tables, by default 2 GiB.

    References
    ----------
    Lauritzen and Spiegelhalter (1988), Local computations with probabilities on graphical structures; Jensen, Lauritzen and
    Olesen (1990), Bayesian updating in causal probabilistic networks by local computations: the messages.

    Examples
    --------
    >>> import numpy as np
    >>> from naivete import JunctionTree, Network, Variable, posterior
    >>> variables = Variable("rain", ("no", "yes")), Variable("wet", ("no", "yes"))
    >>> network = Network(variables, {0: (), -1: (0,)}, {0: np.array([0.8, 0.2]), -1: np.array([[0.9, 0.1], [0.3, 0.7]])})
    >>> tree = JunctionTree(network)
    >>> [posterior(tree, "rain", {"wet": state}).to_numpy().round(3).tolist() for state in ("yes", "no")]
    [[0.364, 0.636], [0.923, 0.077]]
    """

    def __init__(self, network: Network, *, budget: int = BUDGET) -> None:
        check_tabular(network, "a query")
        self.network = network
        self.budget = budget
        self.cards = {v: network.variables[v].card for v in network.parents}
        self._planner = Planner(network, budget)
        self._plans: dict[Any, Plan] = {}
        self._lifted: dict[tuple[int, bool], Numbers] = {}

    def log_probability(self, evidence: Evidence) -> Numbers:
        """Return the natural logarithm of P(evidence), -inf where it is impossible.

        Parameters
        ----------
        evidence : Evidence
            The evidence: codes or likelihoods of the same variables in every row.

        Returns
        -------
        ndarray of shape (n_rows,)
            The logarithms.
        """
        plan = self.plan(evidence)
        blocks = self._blocks(plan, evidence)
        return np.concatenate([_spread(_log_total(plan, self.collected(plan, block)), block.rows) for block in blocks])

    def posterior(self, of: tuple[int, ...], evidence: Evidence) -> Numbers:
        """Return P(of | evidence), with an axis for each variable of `of` in its order.

        Parameters
        ----------
        of : tuple of int
            The positions of the variables.
        evidence : Evidence
            The evidence: codes or likelihoods of the same variables in every row.

        Returns
        -------
        ndarray of shape (n_rows, n_states, ...)
            The joint distributions.

        Raises
        ------
        DataError
            If the evidence of a row has probability zero.
        """
        plan = self.plan(evidence, of)
        return np.concatenate([self._posterior(plan, of, block) for block in self._blocks(plan, evidence)])

    def marginals(self, evidence: Evidence) -> dict[int, Numbers]:
        """Return P(v | evidence) of every variable v.

        Parameters
        ----------
        evidence : Evidence
            The evidence: codes or likelihoods of the same variables in every row.

        Returns
        -------
        dict of {int: ndarray of shape (n_rows, n_states)}
            The distributions by variable.

        Raises
        ------
        DataError
            If the evidence of a row has probability zero.
        """
        plan = self.plan(evidence, None)
        blocks = [self._marginals(plan, block) for block in self._blocks(plan, evidence, kept=True)]
        return {v: np.concatenate([block[v] for block in blocks]) for v in (*self.network.features, CLASS)}

    def most_probable(self, evidence: Evidence) -> tuple[dict[int, Codes], Numbers]:
        """Return the jointly most probable codes of all variables, given the evidence, and the logarithm of their probability.

        If several are equal up to rounding, the lowest code is taken, clique by clique from the root of the tree.

        Parameters
        ----------
        evidence : Evidence
            The evidence: codes or likelihoods of the same variables in every row.

        Returns
        -------
        codes : dict of {int: ndarray of shape (n_rows,)}
            The codes by variable.
        logarithms : ndarray of shape (n_rows,)
            The natural logarithms of their joint probabilities.

        Raises
        ------
        DataError
            If the evidence of a row has probability zero.
        """
        plan = self.plan(evidence, None)
        blocks = [self._most_probable(plan, block) for block in self._blocks(plan, evidence, kept=True)]
        codes = {v: np.concatenate([block[v] for block, _ in blocks]) for v in (*self.network.features, CLASS)}
        return codes, np.concatenate([logs for _, logs in blocks])

    def plan(self, evidence: Evidence, of: tuple[int, ...] | None = ()) -> Plan:
        """Return the plan for this evidence and a query of some variables together, or of each variable (None).

        Parameters
        ----------
        evidence : Evidence
            The evidence: codes or likelihoods of the same variables in every row.
        of : tuple of int or None, default=()
            The variables that are queried together; None for each variable by itself.

        Returns
        -------
        Plan
            The cliques and the order of the messages.
        """
        key = frozenset(evidence.codes), frozenset(evidence.likelihoods), None if of is None else frozenset(of)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self._planner.planned(*key)
            for old in list(self._plans)[:-PLANS]:  # another thread may have removed it already
                self._plans.pop(old, None)
        return plan

    def collected(self, plan: Plan, evidence: Evidence, semiring: Semiring | None = None, *, kept: bool = False) -> Collected:
        """Return the tables after all messages to the roots; unless they are kept, only the table of the queried clique.

        Parameters
        ----------
        plan : Plan
            The plan of the query.
        evidence : Evidence
            The evidence: codes or likelihoods of the same variables in every row.
        semiring : Semiring or None, default=None
            How tables are multiplied and summed; by default as probabilities where all numbers fit, else as logarithms.
        kept : bool, default=False
            Whether the tables of all cliques are kept.

        Returns
        -------
        Collected
            The tables and messages.
        """
        if kept:
            self._planner.check(plan.widest, plan.cells)
        semiring = semiring or _fitting(plan, evidence)
        collected = Collected([], [], semiring)
        for i in range(len(plan.cliques)):
            table = product(semiring, self._factors(plan, i, evidence, collected))
            collected.messages.append(semiring.total(table.reshape(*plan.splits[i], -1), axis=1))
            collected.tables.append(table if kept or i == plan.query else collected.messages[-1])
        return collected

    def check_possible(self, plan: Plan, collected: Collected, evidence: Evidence) -> Numbers:
        """Return log P(evidence) of the tables of the plan; evidence of probability zero is an error that reports it.

        Parameters
        ----------
        plan : Plan
            The plan of the query.
        collected : Collected
            The tables after all messages to the roots.
        evidence : Evidence
            The evidence: codes or likelihoods of the same variables in every row.

        Returns
        -------
        ndarray of shape (n_rows,)
            The natural logarithms.

        Raises
        ------
        DataError
            If the evidence of a row has probability zero.
        """
        logs = _spread(_log_total(plan, collected), evidence.rows)
        impossible = np.flatnonzero(np.isneginf(logs))
        if len(impossible):
            raise DataError(f"the evidence is impossible: {described(self.network, evidence, int(impossible[0]))}")
        return logs

    def _blocks(self, plan: Plan, evidence: Evidence, *, kept: bool = False) -> Iterator[Evidence]:
        """Yield the rows in blocks whose tables fit into the processor cache and the budget.

        Either all blocks have a single row or none has: sums over tables of one row are added in another order.
        """
        affordable = self.budget // 8 // (plan.work + (plan.cells if kept else 0))
        size = min(BLOCK_CELLS * WORK // plan.work, affordable)
        count = max(1, -(-evidence.rows // size) if size > 2 else evidence.rows)
        for i in range(count):
            yield evidence[i * evidence.rows // count : (i + 1) * evidence.rows // count]

    def _factors(self, plan: Plan, i: int, evidence: Evidence, collected: Collected) -> Iterator[Numbers]:
        """Yield the factors of a clique: tables of the network, likelihoods, and the messages of its children."""
        for part in plan.parts[i]:
            yield self._factor(part, evidence, collected.semiring).reshape(*part.seat, -1)
        for v in plan.soft[i]:
            axes = tuple(self.cards[v] if m == v else 1 for m in plan.cliques[i].members)
            yield collected.semiring.lifted(evidence.likelihoods[v]).reshape(*axes, -1)
        for child in plan.below[i]:
            yield collected.messages[child].reshape(*plan.seats[child], -1)

    def _factor(self, part: Part, evidence: Evidence, semiring: Semiring) -> Numbers:
        """Return the table of a family for each row: observed members fixed, hidden ones as axes.  # (configuration, row)"""
        if part.offsets is None:
            return semiring.lifted(self._sparse_factor(part, evidence))
        key = part.variable, semiring.logs
        if key not in self._lifted:
            self._lifted[key] = semiring.lifted(np.ravel(self.network.full_table(part.variable)))
        if not part.fixed:
            return self._lifted[key][part.offsets]
        cell = part.offsets[:, None] + _address(evidence, part)
        return np.asarray(self._lifted[key][cell])

    def _sparse_factor(self, part: Part, evidence: Evidence) -> Numbers:
        """Return the same for a sparse table, expanded for the configurations of its observed parents that occur."""
        cpt, x = self.network.table(part.variable), part.variable
        known = [p for p in cpt.parents if p in part.fixed]
        hidden = [p for p in cpt.parents if p in part.free]
        rows = evidence.rows if part.fixed else 1
        observed = np.stack([np.zeros(rows, np.int64), *(evidence.codes[p] for p in known)], axis=1)
        distinct, kind = np.unique(observed, axis=0, return_inverse=True)
        grid = np.array(list(np.ndindex(*(self.cards[p] for p in hidden))), np.int64)  # (configuration, hidden)
        columns = {p: np.repeat(codes, len(grid)) for p, codes in zip(known, distinct.T[1:], strict=True)}
        columns |= {p: np.tile(codes, len(distinct)) for p, codes in zip(hidden, grid.T, strict=True)}
        single = np.zeros(len(distinct) * len(grid), np.int64)
        tables = cpt.at(np.stack([columns.get(p, single) for p in cpt.parents], axis=1))
        steps = steps_of((*hidden, x, *((CLASS,) if CLASS in self.network.parents[x] else ())), self.cards)
        address = kind.ravel() * (tables.size // len(distinct))
        for m in part.fixed:
            if m in steps:
                address = address + evidence.codes[m] * steps[m]
        return np.asarray(tables.ravel()[offsets_of(part.free, steps, self.cards)[:, None] + address])

    def _posterior(self, plan: Plan, of: tuple[int, ...], evidence: Evidence) -> Numbers:
        collected = self.collected(plan, evidence)
        self.check_possible(plan, collected, evidence)
        hidden = [m for m in plan.cliques[plan.query].members if m in of] if plan.query >= 0 else []
        table = np.ones(1)
        if hidden:
            table = shares(
                collected.semiring, collected.semiring.total(collected.tables[plan.query], axis=plan.others(plan.query, hidden))
            )
        table = table.transpose(table.ndim - 1, *(hidden.index(v) for v in of if v in hidden))
        table = table.reshape(-1, *(self.cards[v] if v in hidden else 1 for v in of))
        for place, v in enumerate(of):
            if v in evidence.codes:
                axes = (-1, *(self.cards[v] if i == place else 1 for i in range(len(of))))
                table = table * self._certain(v, evidence).reshape(axes)
        return _spread(table, evidence.rows)

    def _certain(self, v: int, evidence: Evidence) -> Numbers:
        """Return 1 for the observed code and 0 for the others.  # (row, state)"""
        codes = evidence.codes.get(v, np.zeros(1, np.int64))
        return np.asarray(codes[:, None] == np.arange(self.cards[v]), np.float64)

    def _marginals(self, plan: Plan, evidence: Evidence) -> dict[int, Numbers]:
        collected = self.collected(plan, evidence, kept=True)
        self.check_possible(plan, collected, evidence)
        _distribute(plan, collected)
        marginals = {}
        for v in self.cards:
            if v in plan.homes:
                i = plan.homes[v]
                table = shares(collected.semiring, collected.semiring.total(collected.tables[i], axis=plan.others(i, (v,)))).T
            else:
                table = self._certain(v, evidence)
            marginals[v] = _spread(table, evidence.rows)
        return marginals

    def _most_probable(self, plan: Plan, evidence: Evidence) -> tuple[dict[int, Codes], Numbers]:
        collected = self.collected(plan, evidence, MAX, kept=True)
        logs = self.check_possible(plan, collected, evidence)
        codes = {v: _spread(evidence.codes.get(v, np.zeros(1, np.int64)), evidence.rows) for v in self.cards}
        for i in reversed(range(len(plan.cliques))):
            members, separator = plan.cliques[i].members, plan.cliques[i].separator
            table = collected.tables[i].reshape(*plan.splits[i], -1)
            rows = np.arange(evidence.rows) if table.shape[-1] > 1 else 0
            options = table[configuration(codes, members[:separator], self.cards, evidence.rows), :, rows]  # (row, option)
            top = options.max(axis=1, keepdims=True)
            best = np.argmax(options >= top - TIE * np.maximum(1, np.abs(top)), axis=1)
            codes |= zip(
                members[separator:], np.unravel_index(best, plan.shapes[i][separator:]) if members[separator:] else (), strict=True
            )
        return codes, logs


def network_of(model: Network | HasNetwork) -> Network:
    """Return the network of a fitted classifier, or the network itself."""
    network = getattr(model, "network_", model)
    if not isinstance(network, Network):
        raise ParameterError(
            f"a network, its junction tree or a fitted classifier is needed, got {type(model).__name__}; "
            "if it is a classifier, call `fit` first"
        )
    return network


def junction_tree_of(model: Network | JunctionTree | HasNetwork) -> JunctionTree:
    """Return the junction tree of a network or of a fitted classifier, or the junction tree itself."""
    return model if isinstance(model, JunctionTree) else JunctionTree(one_network_of(model))


def one_network_of(model: Network | HasNetwork) -> Network:
    """Return the network of a fitted classifier, or the network itself.

    A classifier that does not predict with its network (`one_network` is False) is refused: the results would not be its own.
    """
    network = network_of(model)
    if not getattr(model, "one_network", True):
        kind = type(model).__name__
        raise ParameterError(
            f"{kind} does not predict with one network, so that it cannot be queried; use predict_proba, or query its summary "
            f"(`model.network_`), whose probabilities are not those that {kind} predicts, or fit a classifier that is one "
            "network, such as KDB or HillClimb"
        )
    return network


def configuration(codes: Mapping[int, Codes], members: Sequence[int], cards: Mapping[int, int], rows: int) -> Codes:
    """Return the number of the configuration of some variables in each row; the last variable changes fastest.

    >>> configuration({0: np.array([1, 0]), 1: np.array([2, 1])}, (0, 1), {0: 2, 1: 3}, 2)
    array([5, 1])
    """
    number = np.zeros(rows, np.int64)
    for m in members:
        number = number * cards[m] + codes[m]
    return number


def _address(evidence: Evidence, part: Part) -> Codes:
    """Return the offset in the table of a family of the observed codes of each row."""
    address = evidence.codes[part.fixed[0]] * part.steps[0]
    for m, step in zip(part.fixed[1:], part.steps[1:], strict=True):
        address = address + evidence.codes[m] * step
    return address


def _fitting(plan: Plan, evidence: Evidence) -> Semiring:
    """Return the semiring of probabilities if every possible number fits into a float, else that of logarithms."""
    low, high = plan.low, plan.high
    for likelihoods in evidence.likelihoods.values():
        positive = likelihoods[likelihoods > 0]
        low += min(0.0, log(positive.min(initial=1)))
        high += max(0.0, log(positive.max(initial=1)))
    return LINEAR if -low < FITS and high < FITS else LOG


def _log_total(plan: Plan, collected: Collected) -> Numbers:
    """Return the logarithm of the product of the messages of the roots.  # (row,) or (1,)"""
    roots = [collected.messages[i][0] for i, clique in enumerate(plan.cliques) if clique.parent < 0]
    if not collected.semiring.logs:
        roots = [LOG.lifted(message) for message in roots]
    return product(LOG, roots)


def _distribute(plan: Plan, collected: Collected) -> None:
    """Send messages from the roots to the leaves; every table then is the joint table of its clique and the evidence."""
    for i in reversed(range(len(plan.cliques))):
        clique = plan.cliques[i]
        if clique.parent < 0 or not clique.separator:
            continue
        total = collected.semiring.total(
            collected.tables[clique.parent], axis=plan.others(clique.parent, clique.members[: clique.separator])
        )
        message = ratio(collected.semiring, total.reshape(plan.splits[i][0], -1), collected.messages[i])
        table = collected.semiring.times(collected.tables[i].reshape(*plan.splits[i], -1), message[:, None, :])
        collected.tables[i] = table.reshape(*plan.shapes[i], -1)


def _spread(table: NDArray[Any], rows: int) -> NDArray[Any]:
    """Return a table with one entry for each row, repeated if all rows have the same."""
    return np.broadcast_to(table, (rows, *table.shape[1:])) if len(table) != rows else table
