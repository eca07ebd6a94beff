"""Counts + structure -> network: the ways of turning frequencies into probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from naivete.counts.counts import Counts, Table
from naivete.counts.moments import Scatter
from naivete.counts.sparse_tables import SparseTable, grouped_rows
from naivete.errors import ParameterError, quoted
from naivete.network.densities import Normal
from naivete.network.network import Cpt, Network, SparseCpt, Structure
from naivete.network.normal_densities import kernel, linear, normal
from naivete.variables import CLASS, Family, family

__all__ = ["Backoff", "ClarkNiblett", "Lidstone", "MEstimate", "Smoothing", "estimate", "smoothing_of"]

LARGEST = 1e15


@dataclass(frozen=True)
class Context:
    """What a smoothing may know beside the counts of a family.

    Parameters
    ----------
    marginal : P(x), the class-free relative frequencies, along the axis of x and broadcast over the others.
    prior : P(c) along the last axis, or 1 for a family without the class.
    total : the weight of all cases, a number or broadcast over the axes.
    """

    marginal: Numbers
    prior: Numbers
    total: float | Numbers


@dataclass(frozen=True)
class Lidstone:
    """(n + alpha) / (N + alpha v): a pseudo-count for every cell; Laplace's rule with alpha 1, maximum likelihood with 0.

    >>> Lidstone(1)(np.array([3.0, 0.0]), 0, Context(np.ones(2), np.ones(1), 3.0)).tolist()
    [0.8, 0.2]
    """

    alpha: float = 1.0

    def __call__(self, n: Numbers, axis: int, context: Context) -> Numbers:  # noqa: ARG002
        """P(x | parents); uniform where nothing is known and nothing is added."""
        return normalised(n + self.alpha, axis, fresh=True)


@dataclass(frozen=True)
class MEstimate:
    """(n + m P(x)) / (N + m): m virtual cases that follow the class-free marginal (Cestnik); with m = 5 Friedman's back-off.

    >>> MEstimate(2)(np.array([3.0, 0.0]), 0, Context(np.array([0.5, 0.5]), np.ones(1), 3.0)).tolist()
    [0.8, 0.2]

    References
    ----------
    Cestnik (1990), Estimating probabilities; Friedman, Geiger and Goldszmidt (1997), Bayesian network classifiers, section 4.
    """

    m: float = 2.0

    def __call__(self, n: Numbers, axis: int, context: Context) -> Numbers:
        """P(x | parents); P(x) where the parents never occur."""
        return blend(n, self.m, context.marginal, axis)


@dataclass(frozen=True)
class ClarkNiblett:
    """n / N, but a zero becomes P(c) / N of all cases, after which each distribution is made to sum to one again.

    References
    ----------
    Clark and Niblett (1989), The CN2 induction algorithm, section 2.
    """

    def __call__(self, n: Numbers, axis: int, context: Context) -> Numbers:
        """P(x | parents); uniform where the parents never occur."""
        shares = normalised(n, axis)
        known = n.sum(axis=axis, keepdims=True) > 0
        return normalised(np.where(n > 0, np.where(known, shares, 0.0), context.prior / np.maximum(context.total, 1.0)), axis)


@dataclass(frozen=True)
class Backoff:
    """(n + m P(x | all parents but the weakest)) / (N + m), and so on down to the class, the marginal and the uniform.

    What a context has not seen it takes from the next shorter one, so that many parents do no harm.
    """

    m: float = 2.0


Smoothing = Lidstone | MEstimate | ClarkNiblett | Backoff


def smoothing_of(value: object) -> Smoothing:
    """The smoothing that a parameter stands for: a number is Lidstone's pseudo-count, a word may carry a number.

    >>> smoothing_of(0.5), smoothing_of("m-estimate:3"), smoothing_of("friedman")
    (Lidstone(alpha=0.5), MEstimate(m=3.0), MEstimate(m=5.0))
    """
    if isinstance(value, (Lidstone, MEstimate, ClarkNiblett, Backoff)):
        _amount(getattr(value, "alpha", getattr(value, "m", 0.0)), value)
        return value
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, (bool, np.bool_)):
        return Lidstone(_amount(value, value))
    word, _, number = str(value).partition(":")
    named = {"lidstone": (Lidstone, 1.0), "m-estimate": (MEstimate, 2.0), "friedman": (MEstimate, 5.0), "backoff": (Backoff, 2.0)}
    if isinstance(value, str) and word == "clark-niblett" and not number:
        return ClarkNiblett()
    if isinstance(value, str) and word in named:
        kind, usual = named[word]
        return kind(_amount(number or usual, value))  # type: ignore[return-value]
    raise ParameterError(
        f"smoothing={quoted(value)}: a pseudo-count (at least 0), or one of 'm-estimate', 'friedman', 'clark-niblett', 'backoff', "
        "the last but one without a number, the others perhaps with one as in 'm-estimate:3'"
    )


def _amount(number: Any, value: object) -> float:
    try:
        amount = float(number)
    except (TypeError, ValueError):
        amount = math.nan
    if not 0 <= amount <= LARGEST:
        raise ParameterError(f"smoothing={quoted(value)}: the number has to be at least 0 and at most {LARGEST:.0e}")
    return amount


Changed = Callable[[Scatter], Scatter]
"""What is done to the scatter of numbers before densities are made of it."""


def estimate(
    counts: Counts,
    structure: Structure,
    smoothing: object = 1.0,
    *,
    prior: Sequence[float] | None = None,
    scatter: Changed | None = None,
) -> Network:
    """The network of a structure, its tables estimated from the counts in one pass.

    Parameters
    ----------
    counts : the training cases.
    structure : the parents of every variable, the class included, the most informative first.
    smoothing : a pseudo-count, or one of the smoothings of this module.
    prior : P(c) for every class; by default the relative frequencies.
    scatter : changes the scatter of numbers that are not cut, as sharing or shrinking their covariances does.
    """
    how = smoothing_of(smoothing)
    numbers = {v for v in structure if v != CLASS and counts.variables[v].density}
    families = {v: family(v, *parents) for v, parents in structure.items()}
    wanted = [members for v, members in families.items() if v not in numbers]
    tables = counts.tables([*wanted, *counts.margin_families])  # the margins are wanted sooner or later
    classes = tables[CLASS,]
    assert isinstance(classes, np.ndarray)
    total = float(classes.sum())
    frequencies = normalised(classes.astype(np.float64), 0)
    cpts: dict[int, Cpt] = {}
    sparse: dict[Family, int] = {}

    def allow(cells: int) -> None:
        sparse[members] = cells
        counts.check_budget(sparse)

    for v, members in families.items():
        if v in numbers:
            cpts[v] = np.ones(counts.cards(members))
        elif members == (CLASS,):
            cpts[v] = checked_prior(prior, len(classes)) if prior is not None else frequencies
        else:
            cpts[v] = _cpt(tables[members], v, structure[v], members, how, frequencies, total, counts.cards(members), allow)
    return Network(counts.variables, structure, cpts, densities=densities(counts, structure, scatter), check=False)


def densities(counts: Counts, structure: Structure, scatter: Changed | None = None) -> dict[int, Normal]:
    """The normal density of every number that is not cut, given its parents; discrete ones are never missing."""
    numbers = [x for x in structure if x != CLASS and counts.variables[x].density]
    found: dict[int, Normal] = {}
    for given in sorted({_discrete(counts, structure[x]) for x in numbers}):
        own = [x for x in numbers if _discrete(counts, structure[x]) == given]
        members = {x: (*sorted(p for p in structure[x] if p != CLASS and counts.variables[p].density), x) for x in own}
        alone = [x for x in own if len(members[x]) == 1 and scatter is None]
        found |= _linear(counts, {x: m for x, m in members.items() if x not in alone}, given, scatter)
        found |= {x: normal(moments) for x, moments in counts.moments(alone, given).items()}  # perhaps known by now
    bells = [x for x in numbers if counts.variables[x].kernel]
    return found | {x: kernel(points, counts.moments([x], (CLASS,))[x]) for x, points in counts.points(bells).items()}


def _discrete(counts: Counts, parents: Sequence[int]) -> Family:
    return family(*(p for p in parents if not counts.variables[p].density))


def _linear(counts: Counts, members: Mapping[int, tuple[int, ...]], given: Family, change: Changed | None) -> dict[int, Normal]:
    """Regressions: from one scatter of all columns where none has gaps, else each from the rows that know its own."""
    every = tuple(sorted({m for own in members.values() for m in own}))
    cards = counts.cards(given)
    if not counts.cases.gaps[list(every)].any():
        whole = counts.scatters([every] if every else [], given)
        parts = {x: whole[0].only([every.index(m) for m in own]) for x, own in members.items()}
    else:
        parts = dict(zip(members, counts.scatters(list(members.values()), given), strict=True))
    return {x: _reshaped(linear(own if change is None else change(own)), cards) for x, own in parts.items()}


def _reshaped(density: Normal, cards: tuple[int, ...]) -> Normal:
    slopes = None if density.slopes is None else density.slopes.reshape(*cards, -1)
    return Normal(density.means.reshape(cards), density.variances.reshape(cards), slopes)


def marginal_tables(counts: Counts, features: Iterable[int], smoothing: object) -> dict[int, Numbers]:
    """P(x) of features that depend on nothing, from what is known of them with the class."""
    how, margins, total = smoothing_of(smoothing), counts.margins(), counts.total
    found = {}
    for x in features:
        table = margins[x, CLASS].sum(axis=1)
        found[x] = np.asarray(_cpt(table, x, (), (x,), how, np.ones(1), total, table.shape, lambda _: None))
    return found


def checked_prior(prior: Sequence[float], classes: int) -> Numbers:
    """Given class probabilities, refused unless there is one for each class and they sum to one."""
    try:
        given = np.array(prior, np.float64)
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.shape != (classes,) or not np.all(given >= 0) or abs(given.sum() - 1) > 1e-9:
        raise ParameterError(f"prior={quoted(prior)}: {classes} class probabilities that sum to 1 are needed")
    return given


def _cpt(
    table: Table,
    v: int,
    parents: Sequence[int],
    members: Sequence[int],
    how: Smoothing,
    prior: Numbers,
    total: float,
    cards: Sequence[int],
    allow: Callable[[int], None],
) -> Cpt:
    if isinstance(table, SparseTable):
        return _sparse_cpt(table, v, parents, how, prior, total, cards[members.index(v)], allow)
    axis = members.index(v)
    own = prior if members[-1] == CLASS and v != CLASS else np.ones(1)
    if isinstance(how, Backoff):
        features = [p for p in reversed(parents) if p != CLASS]
        weakest = [*features, *(p for p in parents if p == CLASS)]  # the class is the last parent to go
        return backoff_table(table, axis, [members.index(p) for p in weakest], how.m)
    return how(table, axis, Context(_marginal(table, axis) if isinstance(how, MEstimate) else own, own, total))


def _marginal(n: NDArray[Any], axis: int) -> Numbers:
    """P(x) of a table, broadcast over its other axes."""
    return normalised(n.sum(axis=tuple(a for a in range(n.ndim) if a != axis), keepdims=True), axis)


def backoff_table(n: Numbers, axis: int, weakest: Sequence[int], m: float) -> Numbers:
    """Smooth with the table that is summed over the weakest parent, itself smoothed so, down to a uniform distribution."""
    if weakest:
        shorter = backoff_table(n.sum(axis=weakest[0], keepdims=True), axis, weakest[1:], m)
    else:
        shorter = np.full(n.shape, 1 / n.shape[axis])
    return blend(n, m, shorter, axis)


def grouped_counts(
    table: SparseTable, x: int, parents: Sequence[int], card: int, allow: Callable[[int], None] = lambda _: None
) -> tuple[NDArray[np.int32], Numbers, tuple[int, ...]]:
    """The counts of a sparse table for the configurations of some parents that occur, and those parents in increasing order.

    The counts have the axes (configuration, x, class), the last of length one where the class is no parent; without feature
    parents there is one configuration. `allow` is told how many cells that makes before they are allocated.
    """
    members = tuple(sorted(p for p in parents if p != CLASS))
    codes, weight = table.cells()
    keys = [codes[p] for p in members]
    cards = [int(k.max(initial=0)) + 1 for k in keys]
    rows, row_of = grouped_rows(keys, cards) if keys else (np.zeros(1, np.int64), np.zeros(len(weight), np.int64))
    given = table.last == CLASS != x
    classes = table.counts.shape[1] if given else 1
    allow(len(rows) * card * classes)
    n = np.zeros((len(rows), card, classes))
    np.add.at(n, (row_of, codes[x], codes[CLASS] if given else np.zeros_like(row_of)), weight)
    found = np.stack([k[rows] for k in keys], axis=1).astype(np.int32) if keys else np.empty((1, 0), np.int32)
    return np.ascontiguousarray(found), n, members


def _sparse_cpt(
    table: SparseTable,
    x: int,
    parents: Sequence[int],
    how: Smoothing,
    prior: Numbers,
    total: float,
    card: int,
    allow: Callable[[int], None],
) -> SparseCpt:
    """The conditional table of the parent configurations that occur, and its default for all others."""
    configurations, n, members = grouped_counts(table, x, parents, card, allow)
    if isinstance(how, Backoff):
        return _sparse_backoff(n, configurations, members, parents, how.m)
    context = Context(_marginal(n, 1), prior if n.shape[2] > 1 else np.ones(1), total)
    nothing = np.zeros((1, *n.shape[1:]))
    return SparseCpt(configurations, how(n, 1, context), how(nothing, 1, context)[0], members)


def _sparse_backoff(
    n: Numbers, configurations: NDArray[np.int32], members: tuple[int, ...], parents: Sequence[int], m: float
) -> SparseCpt:
    """A sparse table whose default is the table of the next shorter context, and so on; the class is the last parent to go."""
    features = [p for p in parents if p != CLASS]
    kept = [i for i, p in enumerate(members) if p != features[-1]]
    if not kept:
        base = backoff_table(n.sum(axis=0), 0, [1] if CLASS in parents else [], m)
        return SparseCpt(configurations, blend(n, m, base, 1), base, members)
    keys = [configurations[:, i] for i in kept]
    rows, row_of = grouped_rows(keys, [int(k.max(initial=0)) + 1 for k in keys])
    fewer = np.zeros((len(rows), *n.shape[1:]))
    np.add.at(fewer, row_of, n)
    inner = np.ascontiguousarray(configurations[rows][:, kept])
    shorter = _sparse_backoff(fewer, inner, tuple(members[i] for i in kept), [p for p in parents if p != features[-1]], m)
    return SparseCpt(configurations, blend(n, m, shorter.rows[row_of], 1), shorter, members)


def normalised(n: NDArray[Any], axis: int, *, fresh: bool = False) -> Numbers:
    """Made to sum to one along the axis, in place where the array is `fresh`; uniform where everything is zero."""
    total = n.sum(axis=axis, keepdims=True)
    if total.min(initial=1.0) > 0:
        return np.asarray(np.divide(n, total, out=n if fresh and n.dtype == np.float64 else None))
    return np.where(total > 0, n / np.where(total > 0, total, 1.0), 1 / n.shape[axis])


def blend(n: Numbers, m: float, base: Numbers, axis: int) -> Numbers:
    """(n + m base) / (N + m) along the axis; the base itself where nothing was counted."""
    mixed = normalised(n + m * base, axis, fresh=True)
    return mixed if m > 0 else np.where(n.sum(axis=axis, keepdims=True) > 0, mixed, base)
