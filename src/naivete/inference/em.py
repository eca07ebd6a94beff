"""The tables of a structure from rows with missing values: expectation-maximisation by exact inference."""

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
from naivete.inference import predictor as inference
from naivete.inference.clique_messages import propagated
from naivete.inference.em_steps import MAX_ITERATIONS, TOLERANCE, Convergence, EMStep, check_iterations, iterate_em
from naivete.inference.predictor import Component, Factor, Predictor
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
    """The network of a structure, its tables estimated from all that rows with missing values tell, and how that went.

    Expectation: a row that lacks members of a family counts in every cell that agrees with what is known of it, by the
    probability of the cell given the known values and the class. Maximisation: the smoothing makes tables of these counts. A
    missing variable without known descendants tells nothing about its own family and is left out, which has the same fixed
    point; so naive Bayes is what it is without its missing values, and needs no iteration.

    With a pseudo-count alpha the log likelihood plus alpha times the sum of the logarithms of all probabilities never decreases
    (with alpha 0 the log likelihood itself): a local maximum is found. The other smoothings draw on the counts themselves, so
    that what they add moves with the expected counts; the iteration then seeks tables that agree with the counts they expect, and
    nothing is promised on the way. It begins with the tables of the known cells, smoothed by a pseudo-count of 1 where the
    smoothing asked for might call a row impossible.

    One pass gathers the different rows with missing values, as far as they matter; the iterations do not go back to the cases.

    Parameters
    ----------
    counts : the training cases; all classes are known.
    structure, smoothing, prior : as for `estimate`.
    tolerance : it ends when the objective changes by less than this share of it.
    max_iterations : it ends with a warning after so many iterations.

    In half of the rows b is missing and only a, its child, is known:

    >>> from naivete.cases import MemoryCases
    >>> from naivete.variables import Variable
    >>> a, b = np.array([0, 1, 0, 0], np.uint8), np.array([0, 1, 255, 255], np.uint8)
    >>> two = Variable("a", (0, 1)), Variable("b", (0, 1)), Variable("c", (0,))
    >>> cases = MemoryCases(two, Block((a, b, np.zeros(4, np.uint8))), np.array([False, True]))
    >>> network, told = expected_network(Counts(cases), {CLASS: (), 1: (), 0: (1,)}, 0.0)
    >>> network.cpts[1].round(3).tolist(), told.converged
    ([0.75, 0.25], True)

    References
    ----------
    Dempster, Laird and Rubin (1977), Maximum likelihood from incomplete data via the EM algorithm; Lauritzen (1995), The EM
    algorithm for graphical association models with missing data; Jensen and Nielsen (2007), Bayesian networks and decision
    graphs, sections 6.2 and 8.1.
    """
    check_iterations(tolerance, max_iterations)
    how = smoothing_of(smoothing)
    start = estimate(counts, structure, how, prior=prior)
    parts = _parts(counts, start)
    if not parts:
        return start, Convergence(0, (), (), True, tolerance)
    if not (isinstance(how, Lidstone) and how.alpha > 0):
        start = estimate(counts, structure, 1.0, prior=prior)

    def maximised(tables: Mapping[Family, CountTable]) -> Network:
        return estimate(ExpectedCounts(counts, tables), structure, how, prior=prior)

    expectation = _Expectation(counts, start, parts, how)
    network, _, told = iterate_em(start, expectation, maximised, tolerance=tolerance, max_iterations=max_iterations)
    if not told.converged:
        warn(
            f"expectation-maximisation has not settled after {told.iterations} iterations (the log likelihood went from "
            f"{told.log_likelihoods[-2]:.8g} to {told.log_likelihoods[-1]:.8g} in the last); its tables are used as they are",
            NaiveteWarning,
        )
    return network, told


class ExpectedCounts(Counts):
    """Counts in which the tables of some families are others, such as expected ones; those take no pass.

    Parameters
    ----------
    counts : the counts of all other families.
    tables : the tables that replace theirs.
    """

    def __init__(self, counts: Counts, tables: Mapping[Family, CountTable]) -> None:
        super().__init__(counts.cases, budget=counts.budget)
        self._passes = counts._passes
        self._whole = counts
        self._kept = dict(tables)

    def tables(self, families: Iterable[Family]) -> dict[Family, CountTable]:
        """The table of each family."""
        wanted = list(families)
        others = self._whole.tables([f for f in wanted if f not in self._kept])
        return {f: self._kept[f] if f in self._kept else others[f] for f in wanted}


@dataclass(frozen=True, eq=False)
class _Part:
    """The different rows that miss the same variables, as far as those hang together, with their weights.

    Parameters
    ----------
    hidden : the missing variables.
    touched : the variables whose families they are members of.
    plan : the order in which the hidden variables are summed out, and the clique of each step.
    codes : of each known member of those families.
    weight : of each row.
    """

    hidden: tuple[int, ...]
    touched: tuple[int, ...]
    plan: list[tuple[int, frozenset[int]]]
    codes: Codes
    weight: Numbers

    def completions(self, members: Family, cards: Mapping[int, int]) -> Codes:
        """The codes of some members in every row with every configuration of those of them that are hidden."""
        free = [m for m in members if m in self.hidden]
        grid = np.indices([cards[m] for m in free]).reshape(len(free), -1)
        every, rows = grid.shape[1] if free else 1, len(self.weight)
        return {m: np.tile(grid[free.index(m)], rows) if m in free else np.repeat(self.codes[m], every) for m in members}


@dataclass(frozen=True, eq=False)
class _Incomplete:
    """The rows of a block that miss variables which matter: what differs among them, and how often it occurs."""

    predictor: Predictor
    gaps: NDArray[np.bool_]
    limit: int

    def __call__(self, block: Block) -> dict[Component, ConfigurationCounts]:
        return reduce(self.merged, (self._found(part) for part in block.parts()), {})

    def _found(self, block: Block) -> dict[Component, ConfigurationCounts]:
        found = {}
        for component, rows in self.predictor.places(block.codes, self.gaps).items():
            known = _known(self.predictor.network, component)
            own = block.take(rows) if len(rows) < len(block) else block
            columns = (np.zeros(len(own), np.uint8), *(own.codes[m] for m in known))  # the first is there if nothing else is
            cards = [1, *(self.predictor.network.variables[m].card for m in known)]
            found[component] = configuration_counts(Block(columns, own.weight), tuple(range(len(columns))), cards)
        return self._fitting(found)

    def merged(
        self, one: dict[Component, ConfigurationCounts], two: dict[Component, ConfigurationCounts]
    ) -> dict[Component, ConfigurationCounts]:
        """What occurs in two blocks."""
        both = {component: merge_configurations(one[component], two[component]) for component in one.keys() & two.keys()}
        return self._fitting({**one, **two, **both})

    def _fitting(self, found: dict[Component, ConfigurationCounts]) -> dict[Component, ConfigurationCounts]:
        sizes = {c: own.nbytes + sum(part.nbytes for part in parts.values()) for c, (own, parts) in found.items()}
        if sum(sizes.values()) > self.limit:
            worst = max(sizes, key=lambda c: sizes[c])
            raise ResourceError(
                f"the different rows with missing values take {sum(sizes.values()):,} bytes, {sizes[worst]:,} of them those "
                f"that miss {_names(self.predictor.network, worst[0])}, more than the {self.limit:,} of the budget; raise "
                "`budget`, allow fewer parents, or count known cells only (missing='omit')"
            )
        return found


def _known(network: Network, component: Component) -> Family:
    """The members of the families of a component that are not hidden."""
    hidden, touched = component
    return family(*({m for v in touched for m in network.family(v)} - set(hidden)))


def _names(network: Network, variables: Iterable[int]) -> str:
    listed = [quoted(network.name(v)) for v in sorted(variables)]
    return ", ".join(listed[:10]) + (f" and {len(listed) - 10} more" if len(listed) > 10 else "")


def _parts(counts: Counts, network: Network) -> list[_Part]:
    """The rows with missing values that matter for these tables, in one pass; none where no parent is ever missing."""
    if not any(counts.cases.gaps[p] for own in network.parents.values() for p in own if p != CLASS):
        return []
    predictor = Predictor(network)
    gather = _Incomplete(predictor, counts.cases.gaps, counts.budget)
    found = counts.fold(gather, gather.merged)
    return [_part(predictor, component, *found[component]) for component in sorted(found)]


def _part(predictor: Predictor, component: Component, configurations: NDArray[np.int32], parts: dict[int, Any]) -> _Part:
    hidden, touched = component
    known = _known(predictor.network, component)
    cards = 1, *(predictor.network.variables[m].card for m in known)
    codes, weight = SparseTable((CLASS - 1, *known), cards, configurations, sums_as_numbers(parts)).cells()
    plan = predictor.plan(set(hidden), list(touched))
    widest = max((clique for _, clique in plan), key=lambda clique: _cells(predictor.network, clique))
    if _cells(predictor.network, widest) > inference.FACTOR_CELLS:
        raise ResourceError(
            f"completing missing values of {_names(predictor.network, widest)} together needs a table of "
            f"{_cells(predictor.network, widest):,} cells for each row; fill in some of them, learn a network with fewer arcs "
            "between features, or count known cells only (missing='omit')"
        )
    return _Part(hidden, touched, plan, {m: codes[m] for m in known}, weight.astype(np.float64))


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
    """The cells of a family in those configurations of its parents that occur, or may in rows with missing values."""

    def __init__(
        self, table: SparseTable, v: int, parents: Sequence[int], members: Family, cards: Mapping[int, int], more: list[Codes]
    ) -> None:
        own, n, self.parents = table.by_parents(v, parents)
        every = np.concatenate([own, *(self._configurations(codes) for codes in more)])
        rows, row_of = grouped_rows(list(every.T), [cards[p] for p in self.parents])
        self.v, self.members, self.cards, self.configurations = v, members, cards, every[rows]
        self.shape = len(rows), *n.shape[1:]
        whole = np.zeros(self.shape)
        whole[row_of[: len(own)]] = n
        self.counts = whole.ravel()
        self._numbers = SparseCpt(self.configurations, np.arange(float(len(rows)))[:, None, None], np.zeros((1, 1)), self.parents)

    def _configurations(self, codes: Codes) -> NDArray[np.int32]:
        return np.stack([codes[p] for p in self.parents], axis=1).astype(np.int32)

    def positions(self, codes: Codes) -> NDArray[np.int64]:
        row = self._numbers.at(self._configurations(codes))[:, 0, 0].astype(np.int64)
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
    """From the tables of a network to the counts they let expect.

    Parameters
    ----------
    counts : the counts of known cells.
    network : any network of the structure.
    parts : the rows with missing values.
    how : the smoothing, of which the objective knows the prior.
    """

    def __init__(self, counts: Counts, network: Network, parts: Sequence[_Part], how: Smoothing) -> None:
        self.parts = parts
        self.alpha = how.alpha if isinstance(how, Lidstone) else 0.0
        self.cards = {v: network.variables[v].card for v in network.parents}
        families = {v: network.family(v) for v in network.parents if network.family(v) != (CLASS,)}
        counts.check_budget(self._sizes(families))
        tables, self.places = counts.tables(families.values()), dict[int, _Dense | _Sparse]()
        for v, members in families.items():
            table, more = tables[members], [p.completions(members, self.cards) for p in parts if v in p.touched]
            if isinstance(table, SparseTable):
                self.places[v] = _Sparse(table, v, network.parents[v], members, self.cards, more)
            else:
                self.places[v] = _Dense(table, v, members)
        self.touched = sorted({v for part in parts for v in part.touched})
        self.positions = [self._positions(part) for part in parts]

    def _sizes(self, families: Mapping[int, Family]) -> dict[Family, int]:
        """How many cells the rows take part in, by family."""
        sizes = dict.fromkeys(families.values(), 0)
        for part in self.parts:
            for v in part.touched:
                sizes[families[v]] += len(part.weight) * math.prod(self.cards[m] for m in families[v] if m in part.hidden)
        return sizes

    def _positions(self, part: _Part) -> dict[int, NDArray[np.int64]]:
        """For each family the cells that each row takes part in.  # (row, configuration of its hidden members)"""
        rows = len(part.weight)
        own = {v: part.completions(self.places[v].members, self.cards) for v in part.touched}
        return {v: self.places[v].positions(codes).reshape(rows, -1) for v, codes in own.items()}

    def __call__(self, network: Network) -> EMStep[dict[Family, CountTable]]:
        logs = {v: _log(place.probabilities(network)) for v, place in self.places.items()}
        expected = {v: self.places[v].counts.copy() for v in self.touched}
        likelihoods = [_weighed(self.places[v].counts, own) for v, own in logs.items()]
        for part, positions in zip(self.parts, self.positions, strict=True):
            likelihoods += self._add(part, positions, logs, expected)
        likelihood = math.fsum(likelihoods)
        penalty = self.alpha * math.fsum(float(own.sum()) for own in logs.values()) if self.alpha else 0.0
        tables = {self.places[v].members: self.places[v].table(n) for v, n in expected.items()}
        return EMStep(likelihood, likelihood + penalty, tables)

    def _add(
        self, part: _Part, positions: Mapping[int, NDArray[np.int64]], logs: Mapping[int, Numbers], expected: dict[int, Numbers]
    ) -> Iterator[float]:
        """Add what the rows of a part let expect, some at a time; their log likelihoods."""
        cells = sum(math.prod(self.cards[h] for h in clique) for _, clique in part.plan)
        count = len(part.weight)
        for rows in np.array_split(np.arange(count), max(1, count * cells // inference.FACTOR_CELLS)):
            factors = {}
            for v in part.touched:
                free = tuple(m for m in self.places[v].members if m in part.hidden)
                shape = (len(rows), *(self.cards[m] for m in free), 1)
                factors[v] = Factor(free, logs[v][positions[v][rows]].reshape(shape))
            totals, shares = propagated(factors, part.plan)
            weight = part.weight[rows]
            for v, share in shares.items():
                np.add.at(expected[v], positions[v][rows], share.reshape(len(rows), -1) * weight[:, None])
            yield float((weight * totals).sum())


def _weighed(counts: Numbers, logs: Numbers) -> float:
    """The sum of counts times logarithms; what was not counted does not matter."""
    counted = counts > 0
    return float((counts[counted] * logs[counted]).sum())


def _log(p: Numbers) -> Numbers:
    with np.errstate(divide="ignore"):
        return np.log(p)
