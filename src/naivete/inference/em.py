"""Estimation of the tables of a structure from rows with missing values, by EM (expectation-maximization) with exact inference."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from naivete._kernels.exact_sums import sums_as_numbers
from naivete.cases.base import Block
from naivete.counts.configurations import ConfigurationCounts, configuration_counts, grouped_rows, merge_configurations
from naivete.counts.counts import Counts
from naivete.counts.tables import CountTable, DenseTable, SparseTable
from naivete.errors import NaiveteWarning, ResourceError, quoted, warn
from naivete.inference import elimination
from naivete.inference.clique_messages import propagated
from naivete.inference.elimination import Component, Elimination, Factor, log
from naivete.inference.em_steps import MAX_ITERATIONS, TOLERANCE, Convergence, EMStep, check_iterations, iterate_em
from naivete.network.conditional_tables import SparseCpt
from naivete.network.estimation import estimate
from naivete.network.network import Network, Structure
from naivete.network.smoothing import Lidstone, Smoothing, smoothing_of
from naivete.variables import CLASS, Family, family

__all__ = ["ExpectedCounts", "expected_network"]

Codes = Mapping[int, NDArray[Any]]


def expected_network(
    counts: Counts,
    structure: Structure,
    smoothing: object = 1.0,
    *,
    prior: Sequence[float] | None = None,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
) -> tuple[Network, Convergence]:
    """Return the network of a structure, with tables estimated by EM from rows with missing values, and the convergence.

    Expectation: a row in which members of a family are missing counts in every cell that agrees with its observed values, with
    the probability of the cell given these values and the class as its weight. Maximization: the smoothing turns these expected
    counts into tables. A missing variable without observed descendants carries no information about its own family and is left
    out, which has the same fixed point; naive Bayes therefore needs no iteration.

    With a pseudo-count alpha the log likelihood plus alpha times the sum of the logarithms of all probabilities never decreases
    (with alpha 0 the log likelihood itself), so a local maximum is found. The other smoothings depend on the counts themselves;
    the iteration then searches for tables that agree with their own expected counts, and the objective may decrease on the way.
    The first tables are those of the observed cells, smoothed by a pseudo-count of 1 unless the smoothing has a positive
    pseudo-count of its own, so that no row is impossible.

    One pass over the cases collects the distinct rows with relevant missing values; the iterations use only these.

    Parameters
    ----------
    counts : Counts
        The training cases; the class is always observed.
    structure : dict of {int: tuple of int}
        The parents of every variable, as for `estimate`.
    smoothing : float, str or smoothing method, default=1.0
        How probabilities are estimated from the expected counts, as for `estimate`.
    prior : sequence of float or None, default=None
        P(c) for every class; by default the relative frequencies.
    tolerance : float, default=1e-08
        The iteration ends when the relative change of the objective is smaller.
    max_iterations : int, default=500
        The iteration ends with a warning after this many iterations.

    Returns
    -------
    network : Network
        The network with the estimated tables.
    convergence : Convergence
        The number of iterations, the log likelihoods and whether the tolerance was reached.

    Warns
    -----
    NaiveteWarning
        If the last iteration is reached before the tolerance.

    References
    ----------
    Dempster, Laird and Rubin (1977), Maximum likelihood from incomplete data via the EM algorithm; Lauritzen (1995), The EM
    algorithm for graphical association models with missing data; Jensen and Nielsen (2007), Bayesian networks and decision
    graphs, sections 6.2 and 8.1.

    Examples
    --------
    In half of the rows b is missing and only its child a is observed:

    >>> import numpy as np
    >>> from naivete import Block, Counts, MemoryCases, Variable, expected_network
    >>> a, b = np.array([0, 1, 0, 0], np.uint8), np.array([0, 1, 255, 255], np.uint8)
    >>> two = Variable("a", (0, 1)), Variable("b", (0, 1)), Variable("c", (0,))
    >>> cases = MemoryCases(two, Block((a, b, np.zeros(4, np.uint8))), np.array([False, True]))
    >>> network, convergence = expected_network(Counts(cases), {-1: (), 1: (), 0: (1,)}, 0.0)
    >>> network.cpts[1].round(3).tolist(), convergence.converged
    ([0.75, 0.25], True)
    """
    check_iterations(tolerance, max_iterations)
    smoother = smoothing_of(smoothing)
    start = estimate(counts, structure, smoother, prior=prior)
    parts = _parts(counts, start)
    if not parts:
        return start, Convergence(0, (), (), True, tolerance)
    if not (isinstance(smoother, Lidstone) and smoother.alpha > 0):
        start = estimate(counts, structure, 1.0, prior=prior)

    def maximized(tables: Mapping[Family, CountTable]) -> Network:
        return estimate(ExpectedCounts(counts, tables), structure, smoother, prior=prior)

    expectation = _Expectation(counts, start, parts, smoother)
    network, _, convergence = iterate_em(start, expectation, maximized, tolerance=tolerance, max_iterations=max_iterations)
    if not convergence.converged:
        before, after = convergence.log_likelihoods[-2:]
        warn(
            f"EM has not converged after {convergence.iterations} iterations (the last one changed the log likelihood from "
            f"{before:.8g} to {after:.8g}); the tables of the last iteration are used",
            NaiveteWarning,
        )
    return network, convergence


class ExpectedCounts(Counts):
    """Counts in which the tables of some families are replaced, for example by expected counts, without a pass over the cases.

    Parameters
    ----------
    counts : the counts of all other families.
    tables : the replaced tables.
    """

    def __init__(self, counts: Counts, tables: Mapping[Family, CountTable]) -> None:
        super().__init__(counts.cases, budget=counts.budget)
        self._passes = counts._passes
        self._whole = counts
        self._kept = dict(tables)

    def tables(self, families: Iterable[Family]) -> dict[Family, CountTable]:
        """Return the table of each family."""
        wanted = list(families)
        others = self._whole.tables([f for f in wanted if f not in self._kept])
        return {f: self._kept[f] if f in self._kept else others[f] for f in wanted}


@dataclass(frozen=True, eq=False)
class _Part:
    """The distinct rows in which the same connected variables are missing, with their weights.

    Parameters
    ----------
    hidden : the missing variables.
    touched : the variables whose families contain them.
    plan : the order in which the hidden variables are marginalized, and the clique of each step.
    codes : the codes of each observed member of those families.
    weight : the weight of each row.
    """

    hidden: tuple[int, ...]
    touched: tuple[int, ...]
    plan: list[tuple[int, frozenset[int]]]
    codes: Codes
    weight: Numbers

    def completions(self, members: Family, cards: Mapping[int, int]) -> Codes:
        """Return the codes of some variables for each row and each configuration of the hidden ones among them."""
        free = [m for m in members if m in self.hidden]
        grid = np.indices([cards[m] for m in free]).reshape(len(free), -1)
        configurations, rows = grid.shape[1] if free else 1, len(self.weight)
        return {m: np.tile(grid[free.index(m)], rows) if m in free else np.repeat(self.codes[m], configurations) for m in members}


@dataclass(frozen=True, eq=False)
class _Incomplete:
    """Counts the distinct rows of a block with relevant missing values, by component."""

    elimination: Elimination
    has_missing: NDArray[np.bool_]
    limit: int

    def __call__(self, block: Block) -> dict[Component, ConfigurationCounts]:
        return reduce(self.merged, (self._rows(part) for part in block.parts()), {})

    def _rows(self, block: Block) -> dict[Component, ConfigurationCounts]:
        network, counts_of = self.elimination.network, {}
        for component, rows in self.elimination.rows_by_component(block.codes, self.has_missing).items():
            observed = _observed(network, component)
            part = block.take(rows) if len(rows) < len(block) else block
            columns = (np.zeros(len(part), np.uint8), *(part.codes[m] for m in observed))  # never without a column
            cards = [1, *(network.variables[m].card for m in observed)]
            counts_of[component] = configuration_counts(Block(columns, part.weight), tuple(range(len(columns))), cards)
        return self._within_limit(counts_of)

    def merged(
        self, one: dict[Component, ConfigurationCounts], two: dict[Component, ConfigurationCounts]
    ) -> dict[Component, ConfigurationCounts]:
        """Return the counts of two blocks together."""
        both = {component: merge_configurations(one[component], two[component]) for component in one.keys() & two.keys()}
        return self._within_limit({**one, **two, **both})

    def _within_limit(self, counts_of: dict[Component, ConfigurationCounts]) -> dict[Component, ConfigurationCounts]:
        sizes = {c: keys.nbytes + sum(part.nbytes for part in parts.values()) for c, (keys, parts) in counts_of.items()}
        if sum(sizes.values()) > self.limit:
            worst = max(sizes, key=lambda c: sizes[c])
            raise ResourceError(
                f"the distinct rows with missing values take {sum(sizes.values()):,} bytes, {sizes[worst]:,} of them the rows "
                f"without {_names(self.elimination.network, worst[0])}, more than the {self.limit:,} of the budget; raise "
                "`budget`, allow fewer parents, or count observed cells only (missing='omit')"
            )
        return counts_of


def _observed(network: Network, component: Component) -> Family:
    """Return the members of the families of a component that are not hidden."""
    hidden, touched = component
    return family(*({m for v in touched for m in network.family(v)} - set(hidden)))


def _names(network: Network, variables: Iterable[int]) -> str:
    listed = [quoted(network.name(v)) for v in sorted(variables)]
    return ", ".join(listed[:10]) + (f" and {len(listed) - 10} more" if len(listed) > 10 else "")


def _parts(counts: Counts, network: Network) -> list[_Part]:
    """Return the distinct rows with relevant missing values, from one pass; none where no parent is ever missing."""
    if not any(counts.cases.has_missing[p] for parents in network.parents.values() for p in parents if p != CLASS):
        return []
    gather = _Incomplete(Elimination(network), counts.cases.has_missing, counts.budget)
    counts_of = counts.fold(gather, gather.merged)
    return [_part(gather.elimination, component, *counts_of[component]) for component in sorted(counts_of)]


def _part(eliminated: Elimination, component: Component, configurations: NDArray[np.int32], parts: dict[int, Any]) -> _Part:
    network, (hidden, touched) = eliminated.network, component
    observed = _observed(network, component)
    cards = 1, *(network.variables[m].card for m in observed)
    codes, weight = SparseTable((CLASS - 1, *observed), cards, configurations, sums_as_numbers(parts)).cells()
    plan = eliminated.plan(set(hidden), touched)
    widest = max((clique for _, clique in plan), key=lambda clique: _cells(network, clique))
    if _cells(network, widest) > elimination.FACTOR_CELLS:
        raise ResourceError(
            f"completing the missing values of {_names(network, widest)} together needs a table of "
            f"{_cells(network, widest):,} cells for each row; fill in some of them, learn a network with fewer arcs "
            "between features, or count observed cells only (missing='omit')"
        )
    return _Part(hidden, touched, plan, {m: codes[m] for m in observed}, weight.astype(np.float64))


def _cells(network: Network, variables: Iterable[int]) -> int:
    return math.prod(network.variables[v].card for v in variables)


class _Dense:
    """The cells of a family with a full table."""

    def __init__(self, table: DenseTable, v: int, members: Family) -> None:
        self.v, self.members, self.shape = v, members, table.counts.shape
        self.counts = table.counts.astype(np.float64).ravel()

    def positions(self, codes: Codes) -> NDArray[np.int64]:
        return np.ravel_multi_index([codes[m].astype(np.int64) for m in self.members], self.shape)

    def probabilities(self, network: Network) -> Numbers:
        return np.ascontiguousarray(network.cpts[self.v]).ravel()

    def table(self, n: Numbers) -> CountTable:
        return DenseTable(self.members, n.reshape(self.shape))


class _Sparse:
    """The cells of a family for the configurations of its parents that occur, or may occur in rows with missing values."""

    def __init__(
        self, table: SparseTable, v: int, parents: Sequence[int], members: Family, cards: Mapping[int, int], more: list[Codes]
    ) -> None:
        counted, n, self.parents = table.by_parents(v, parents)
        configurations = np.concatenate([counted, *(self._configurations(codes) for codes in more)])
        rows, row_of = grouped_rows(list(configurations.T), [cards[p] for p in self.parents])
        self.v, self.members, self.cards, self.configurations = v, members, cards, configurations[rows]
        self.shape = len(rows), *n.shape[1:]
        counts = np.zeros(self.shape)
        counts[row_of[: len(counted)]] = n
        self.counts = counts.ravel()
        self._row_numbers = SparseCpt(
            self.configurations, np.arange(float(len(rows)))[:, None, None], np.zeros((1, 1)), self.parents
        )

    def _configurations(self, codes: Codes) -> NDArray[np.int32]:
        return np.stack([codes[p] for p in self.parents], axis=1).astype(np.int32)

    def positions(self, codes: Codes) -> NDArray[np.int64]:
        row = self._row_numbers.at(self._configurations(codes))[:, 0, 0].astype(np.int64)
        last = codes[CLASS] if self.shape[2] > 1 else np.zeros_like(row)
        return np.ravel_multi_index([row, codes[self.v].astype(np.int64), last.astype(np.int64)], self.shape)

    def probabilities(self, network: Network) -> Numbers:
        return network.table(self.v).at(self.configurations.astype(np.int64)).ravel()

    def table(self, n: Numbers) -> CountTable:
        row, state, last = np.nonzero(n.reshape(self.shape))
        codes = {p: column[row] for p, column in zip(self.parents, self.configurations.T, strict=True)}
        codes |= {CLASS: last, self.v: state}
        first = self.members[:-1]
        rows, row_of = grouped_rows([codes[m] for m in first], [self.cards[m] for m in first])
        counts = np.zeros((len(rows), self.cards[self.members[-1]]))
        np.add.at(counts, (row_of, codes[self.members[-1]]), n[np.flatnonzero(n)])
        configurations = np.stack([codes[m][rows] for m in first], axis=1).astype(np.int32)
        return SparseTable(self.members, tuple(self.cards[m] for m in self.members), np.ascontiguousarray(configurations), counts)


class _Expectation:
    """The expectation step: from the tables of a network to the expected counts.

    Parameters
    ----------
    counts : the counts of observed cells.
    network : any network of the structure.
    parts : the rows with missing values.
    smoothing : the smoothing; its pseudo-count, if it has one, is part of the objective.
    """

    def __init__(self, counts: Counts, network: Network, parts: Sequence[_Part], smoothing: Smoothing) -> None:
        self.parts = parts
        self.alpha = smoothing.alpha if isinstance(smoothing, Lidstone) else 0.0
        self.cards = {v: network.variables[v].card for v in network.parents}
        families = {v: network.family(v) for v in network.parents if network.family(v) != (CLASS,)}
        counts.check_budget(self._sizes(families))
        tables, self.cells = counts.tables(families.values()), dict[int, _Dense | _Sparse]()
        for v, members in families.items():
            table, more = tables[members], [p.completions(members, self.cards) for p in parts if v in p.touched]
            if isinstance(table, SparseTable):
                self.cells[v] = _Sparse(table, v, network.parents[v], members, self.cards, more)
            else:
                self.cells[v] = _Dense(table, v, members)
        self.touched = sorted({v for part in parts for v in part.touched})
        self.positions = [self._positions(part) for part in parts]

    def _sizes(self, families: Mapping[int, Family]) -> dict[Family, int]:
        """Return the number of cells that the rows contribute to, by family."""
        sizes = dict.fromkeys(families.values(), 0)
        for part in self.parts:
            for v in part.touched:
                sizes[families[v]] += len(part.weight) * math.prod(self.cards[m] for m in families[v] if m in part.hidden)
        return sizes

    def _positions(self, part: _Part) -> dict[int, NDArray[np.int64]]:
        """Return the cells of each family that each row contributes to.  # (row, configuration of its hidden members)"""
        rows = len(part.weight)
        completions = {v: part.completions(self.cells[v].members, self.cards) for v in part.touched}
        return {v: self.cells[v].positions(codes).reshape(rows, -1) for v, codes in completions.items()}

    def __call__(self, network: Network) -> EMStep[dict[Family, CountTable]]:
        logs = {v: log(cells.probabilities(network)) for v, cells in self.cells.items()}
        expected = {v: self.cells[v].counts.copy() for v in self.touched}
        likelihoods = [_log_likelihood(self.cells[v].counts, logs_of_v) for v, logs_of_v in logs.items()]
        for part, positions in zip(self.parts, self.positions, strict=True):
            likelihoods += self._add(part, positions, logs, expected)
        likelihood = math.fsum(likelihoods)
        penalty = self.alpha * math.fsum(float(logs_of_v.sum()) for logs_of_v in logs.values()) if self.alpha else 0.0
        tables = {self.cells[v].members: self.cells[v].table(n) for v, n in expected.items()}
        return EMStep(likelihood, likelihood + penalty, tables)

    def _add(
        self, part: _Part, positions: Mapping[int, NDArray[np.int64]], logs: Mapping[int, Numbers], expected: dict[int, Numbers]
    ) -> Iterator[float]:
        """Add the expected counts of the rows of a part, some rows at a time, and yield their log likelihoods."""
        cells = sum(math.prod(self.cards[h] for h in clique) for _, clique in part.plan)
        count = len(part.weight)
        for rows in np.array_split(np.arange(count), max(1, count * cells // elimination.FACTOR_CELLS)):
            factors = {}
            for v in part.touched:
                free = tuple(m for m in self.cells[v].members if m in part.hidden)
                shape = (len(rows), *(self.cards[m] for m in free), 1)
                factors[v] = Factor(free, logs[v][positions[v][rows]].reshape(shape))
            totals, shares = propagated(factors, part.plan)
            weight = part.weight[rows]
            for v, share in shares.items():
                np.add.at(expected[v], positions[v][rows], share.reshape(len(rows), -1) * weight[:, None])
            yield float((weight * totals).sum())


def _log_likelihood(counts: Numbers, logs: Numbers) -> float:
    """Return the sum of counts times logarithms, without the cells of count zero."""
    counted = counts > 0
    return float((counts[counted] * logs[counted]).sum())
