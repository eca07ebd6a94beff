"""Estimation: the network of a structure from counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from naivete.counts.configurations import grouped_rows
from naivete.counts.counts import Counts
from naivete.counts.memory_budget import COMPRESSED_CELLS
from naivete.counts.moments import Scatter
from naivete.counts.tables import CountTable, DenseTable, SparseTable
from naivete.network.compressed_estimation import Entries, compressed_cpt, entries_of
from naivete.network.conditional_tables import Cpt, SparseCpt
from naivete.network.densities import Normal
from naivete.network.network import Network, Structure
from naivete.network.normal_densities import kernel, linear, normal
from naivete.network.smoothing import (
    Backoff,
    Context,
    Lidstone,
    Smoothing,
    backoff_table,
    discounted,
    marginal_distribution,
    normalized,
    prior_probabilities,
    smoothed,
    smoothing_of,
)
from naivete.variables import CLASS, Family, family

__all__ = ["densities", "estimate", "marginal_tables"]

COMPRESSION = 4
"""How many times fewer numbers a table must have that stores only the states that occur."""

ScatterChange = Callable[[Scatter], Scatter]
"""Changes the scatter of continuous features before densities are estimated from it."""


def estimate(
    counts: Counts,
    structure: Structure,
    smoothing: object = 1.0,
    *,
    prior: Sequence[float] | None = None,
    scatter: ScatterChange | None = None,
) -> Network:
    """Return the network of a structure, its tables estimated from the counts in one pass.

    Parameters
    ----------
    counts : Counts
        The training cases.
    structure : dict of {int: tuple of int}
        The parents of every variable, the class included, the most informative first.
    smoothing : float, str or smoothing method, default=1.0
        A pseudo-count, a name such as "m-estimate", or one of `Lidstone`, `MEstimate`, `ClarkNiblett` and `Backoff`.
    prior : sequence of float or None, default=None
        P(c) for every class; by default the relative frequencies.
    scatter : callable or None, default=None
        Changes the scatter of continuous features, for instance to pool or shrink their covariances.

    Returns
    -------
    Network
        The network.

    Examples
    --------
    >>> import numpy as np
    >>> from naivete import Block, Counts, MemoryCases, Variable, estimate
    >>> variables = Variable("wet", ("no", "yes")), Variable("rain", ("no", "yes"))
    >>> block = Block((np.array([0, 0, 0, 1], np.uint8), np.array([0, 0, 1, 1], np.uint8)))
    >>> counts = Counts(MemoryCases(variables, block, np.array([False])))
    >>> estimate(counts, {0: (-1,), -1: ()}, smoothing=0).cpts[0].tolist()  # P(wet | rain), rain in the columns
    [[1.0, 0.5], [0.0, 0.5]]
    """
    method = smoothing_of(smoothing)
    families = {v: family(v, *parents) for v, parents in structure.items()}
    continuous = {v: np.ones(counts.cards(families[v])) for v in counts.continuous}
    discrete = {v: members for v, members in families.items() if v not in continuous}
    tables = counts.tables([*discrete.values(), *counts.margin_families])  # the margins in the same pass: they are needed anyway
    classes = tables[CLASS,].full()
    frequencies = normalized(classes.astype(np.float64), 0)
    estimator = _Estimator(counts, method, frequencies, float(classes.sum()))
    cpts = estimator.cpts({v: tables[members] for v, members in discrete.items() if members != (CLASS,)}, structure) | continuous
    if CLASS not in cpts:
        cpts[CLASS] = prior_probabilities(prior, counts.variables[CLASS].states) if prior is not None else frequencies
    ordered = {v: cpts[v] for v in structure}
    return Network(counts.variables, structure, ordered, densities=densities(counts, structure, scatter), check=False)


def marginal_tables(counts: Counts, features: Iterable[int], smoothing: object) -> dict[int, Cpt]:
    """Return P(x) of features without parents, from their counts with the class."""
    margins = counts.margins()
    estimator = _Estimator(counts, smoothing_of(smoothing), np.ones(1), counts.total)
    return {x: estimator.cpt(DenseTable((x,), margins[x, CLASS].sum(axis=1)), x, ()) for x in features}


@dataclass(frozen=True, eq=False)
class _Estimator:
    """Estimates conditional tables from tables of counts.

    Parameters
    ----------
    counts : the training cases, whose budget the sparse tables together must not exceed.
    smoothing : the smoothing.
    frequencies : the relative frequencies of the classes.
    total : the total weight of the cases.
    """

    counts: Counts
    smoothing: Smoothing
    frequencies: Numbers
    total: float
    sparse_cells: dict[Family, int] = field(default_factory=dict)

    def cpts(self, tables: Mapping[int, CountTable], structure: Structure) -> dict[int, Cpt]:
        """Return P(v | parents) of several variables from the counts of their families."""
        known = self.counts.conditional_tables({v: table.members for v, table in tables.items()}, self.smoothing)
        new = {v: table for v, table in tables.items() if v not in known}
        if not isinstance(self.smoothing, Lidstone):
            return {**known, **{v: self.cpt(table, v, structure[v]) for v, table in new.items()}}
        alike: dict[tuple[tuple[int, ...], int], dict[int, NDArray[Any]]] = {}  # by shape and axis of v
        cpts: dict[int, Cpt] = {**known}
        for v, table in new.items():
            if isinstance(table, DenseTable):
                alike.setdefault((table.counts.shape, table.members.index(v)), {})[v] = table.counts
            else:
                cpts[v] = self._sparse(table, v, structure[v])
        for (_, axis), same in alike.items():
            n = np.stack(list(same.values()), dtype=np.float64, casting="unsafe")
            n += self.smoothing.alpha
            cpts.update(zip(same, normalized(n, axis + 1, in_place=True), strict=True))
        return cpts

    def cpt(self, table: CountTable, v: int, parents: Sequence[int]) -> Cpt:
        """Return P(v | parents) from the counts of the family; sparse where these are."""
        if isinstance(table, SparseTable):
            return self._sparse(table, v, parents)
        n, axis = table.counts, table.members.index(v)
        prior = self.frequencies if table.members[-1] == CLASS != v else np.ones(1)
        weakest = [*(p for p in reversed(parents) if p != CLASS), *(p for p in parents if p == CLASS)]
        return smoothed(n, axis, [table.members.index(p) for p in weakest], self.smoothing, prior, self.total)

    def _sparse(self, table: SparseTable, x: int, parents: Sequence[int]) -> SparseCpt:
        """Return the conditional table of the parent configurations that occur, and its default for all others."""

        def allow(cells: int) -> None:
            self.sparse_cells[table.members] = cells
            self.counts.check_budget(self.sparse_cells)

        entries = _few_entries(table, x, parents)
        if entries is not None:
            allow(entries.cells)
            return compressed_cpt(entries, parents, self.smoothing, self.frequencies, self.total)
        configurations, n, features = table.by_parents(x, parents, allow)
        if isinstance(self.smoothing, Backoff):
            return _sparse_backoff(n, configurations, features, parents, self.smoothing.m)
        context = Context(marginal_distribution(n, 1), self.frequencies if n.shape[2] > 1 else np.ones(1), self.total)
        default = self.smoothing(np.zeros((1, *n.shape[1:])), 1, context)[0]
        return SparseCpt(configurations, self.smoothing(n, 1, context), default, features)


def _few_entries(table: SparseTable, x: int, parents: Sequence[int]) -> Entries | None:
    """Return the states of x that occur in each configuration, if only these should be stored; else None."""
    largest = len(table.configurations) * table.card(x) * table.counts.shape[1]
    if x == CLASS or CLASS not in parents or largest <= COMPRESSED_CELLS:
        return None
    entries = entries_of(table, x, parents)
    cells = len(entries.configurations) * entries.counts.shape[1] * entries.card
    return entries if cells > COMPRESSED_CELLS and COMPRESSION * entries.cells < cells else None


def _sparse_backoff(
    n: Numbers, configurations: NDArray[np.int32], features: tuple[int, ...], parents: Sequence[int], m: float
) -> SparseCpt:
    """Return a sparse table whose default is the table without the weakest parent, and so on; the class is left out last.

    Parameters
    ----------
    n : the counts.  # (configuration, x, class)
    configurations : the codes of the feature parents.  # (configuration, parent)
    features : the feature parents, increasing.
    parents : all parents, the strongest first, the class last.
    m : the weight of the distribution with fewer parents.
    """
    weakest = next(p for p in reversed(parents) if p != CLASS)
    kept = [i for i, p in enumerate(features) if p != weakest]
    if not kept:
        base = backoff_table(n.sum(axis=0), 0, [1] if CLASS in parents else [], m)
        return SparseCpt(configurations, discounted(n, m, base, 1), base, features)
    keys = [configurations[:, i] for i in kept]
    rows, row_of = grouped_rows(keys, [int(k.max(initial=0)) + 1 for k in keys])
    fewer = np.zeros((len(rows), *n.shape[1:]))
    np.add.at(fewer, row_of, n)
    inner = np.ascontiguousarray(configurations[rows][:, kept])
    shorter = _sparse_backoff(fewer, inner, tuple(features[i] for i in kept), [p for p in parents if p != weakest], m)
    return SparseCpt(configurations, discounted(n, m, np.asarray(shorter.rows)[row_of], 1), shorter, features)


def densities(counts: Counts, structure: Structure, scatter: ScatterChange | None = None) -> dict[int, Normal]:
    """Return the density of every continuous feature given its parents, of which the discrete ones are never missing."""
    continuous = [x for x in structure if x in counts.continuous] if counts.continuous else []
    result: dict[int, Normal] = {}
    for given in sorted({_discrete(counts, structure[x]) for x in continuous}):
        same = [x for x in continuous if _discrete(counts, structure[x]) == given]
        members = {x: (*sorted(p for p in structure[x] if p != CLASS and counts.variables[p].density), x) for x in same}
        alone = [x for x in same if len(members[x]) == 1 and scatter is None]
        result |= _regressions(counts, {x: columns for x, columns in members.items() if x not in alone}, given, scatter)
        result |= {x: normal(moments) for x, moments in counts.moments(alone, given).items()}  # perhaps known from a scatter
    kernels = [x for x in continuous if counts.variables[x].kernel]
    return result | {x: kernel(points, counts.moments([x], (CLASS,))[x]) for x, points in counts.points(kernels).items()}


def _discrete(counts: Counts, parents: Sequence[int]) -> Family:
    return family(*(p for p in parents if not counts.variables[p].density))


def _regressions(
    counts: Counts, members: Mapping[int, tuple[int, ...]], given: Family, change: ScatterChange | None
) -> dict[int, Normal]:
    """Return linear regressions, from one scatter of all columns if none has missing values, else each from its own rows."""
    columns = tuple(sorted({m for family_columns in members.values() for m in family_columns}))
    if not counts.cases.has_missing[list(columns)].any():
        whole = counts.scatters([columns] if columns else [], given)
        scatters = {x: whole[0].only([columns.index(m) for m in some]) for x, some in members.items()}
    else:
        scatters = dict(zip(members, counts.scatters(list(members.values()), given), strict=True))
    return {x: _reshaped(linear(s if change is None else change(s)), counts.cards(given)) for x, s in scatters.items()}


def _reshaped(density: Normal, cards: tuple[int, ...]) -> Normal:
    slopes = None if density.slopes is None else density.slopes.reshape(*cards, -1)
    return Normal(density.means.reshape(cards), density.variances.reshape(cards), slopes)
