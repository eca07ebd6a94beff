"""How sure a posterior probability is: its deviation under the posterior distribution of the parameters of the network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.codes import Bools, Integers, Numbers, missing, narrowest
from naivete._kernels.layout import Layout
from naivete.errors import ResourceError, quoted
from naivete.inference.elimination import Codes, Elimination, missing_patterns
from naivete.inference.junction import Evidence, JunctionTree
from naivete.inference.sampling import sample_codes
from naivete.network.densities import Kernel
from naivete.network.derived_columns import Tree
from naivete.network.joint_density import joint_of
from naivete.network.network import Network
from naivete.network.smoothing import Backoff, Lidstone, MEstimate, Smoothing
from naivete.variables import CLASS, Family, Variable

__all__ = ["Certainty", "Training", "discrete_part", "sampled_columns", "sampled_rows", "trigamma"]

TABLE_CELLS = 1 << 24
"""The largest number of cells of the tables of one family."""
LARGE = 10
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
"""The coefficients of the asymptotic series of the trigamma function, for arguments above `LARGE`."""


@dataclass(frozen=True)
class Training:
    """What is known about the training of a network.

    Parameters
    ----------
    cases : the total weight of the cases.
    smoothing : the smoothing of the tables.
    known_prior : whether P(class) was given instead of estimated.
    """

    cases: float
    smoothing: Smoothing
    known_prior: bool = False

    def pseudo_cases(self, card: int) -> float:
        """Return the weight of the pseudo-counts of a distribution over `card` states."""
        if isinstance(self.smoothing, Lidstone):
            return self.smoothing.alpha * card
        return self.smoothing.m if isinstance(self.smoothing, (MEstimate, Backoff)) else 0.0


def discrete_part(network: Network) -> Network:
    """Return the network with derived columns as ordinary variables, and continuous features as variables with one state."""
    variables = tuple(Variable(v.name, ("any",)) if v.density else v for v in network.variables)
    return Network(variables, network.parents, network.cpts, check=False)


class Certainty:
    """The deviation of the log odds of a row under the posterior distribution of the parameters of a network.

    The probabilities of a variable in one configuration of its parents have a Dirichlet distribution, whose mean is the table and
    whose weight is the number of cases with this configuration, and the pseudo-counts. This number is the number of all cases times
    the probability of the configuration in the network; for naive Bayes, TAN and other trees without smoothing it is the count
    itself. The logarithm of a probability with weight a of a total weight of A has the variance trigamma(a) - trigamma(A).

    Parameters
    ----------
    network : the network; its computed columns count as observed.
    training : the number of cases and the smoothing.
    """

    def __init__(self, network: Network, training: Training) -> None:
        self.network = network
        self.training = training
        self.classes = network.variables[CLASS].card
        self.discrete = discrete_part(network)
        self.tree = JunctionTree(self.discrete)

    def weight(self, v: int) -> Numbers:
        """Return the weights of the cells of a table: the probabilities times the weight of the configuration of the parents."""
        members = self.network.family(v)
        card = self.network.variables[v].card
        cells = int(np.prod([self.network.variables[m].card for m in members], dtype=object))
        if cells > TABLE_CELLS:
            names = ", ".join(quoted(self.network.name(m)) for m in members)
            raise ResourceError(f"the table of {names} has {cells:,} cells, too many for an interval; learn with fewer parents")
        parents = tuple(m for m in members if m != v)
        share = self.tree.posterior(parents, Evidence())[0] if parents else np.ones(())
        total = self.training.cases * share + (self.training.pseudo_cases(card) if v != CLASS or parents else 0.0)
        return np.asarray(self.discrete.full_table(v) * np.expand_dims(total, members.index(v)))

    @cached_property
    def _families(self) -> list[int]:
        """The variables with a table that depends on the class."""
        named = [v for v in self.network.order if self.network.family(v)[-1] == CLASS and v not in self.network.densities]
        return [v for v in named if v != CLASS or self.network.parents[CLASS] or not self.training.known_prior]

    @cached_property
    def _tables(self) -> tuple[Layout, Numbers]:
        """The variances of all cells, in one flat array."""
        cards = tuple(v.card for v in self.network.variables)
        layout = Layout(tuple(map(self.network.family, self._families)), cards)
        return layout, np.concatenate([self._variances(v).ravel() for v in self._families] or [np.empty(0)])

    def _variances(self, v: int) -> Numbers:
        weight, members = self.weight(v), self.network.family(v)
        if self.network.variables[v].card == 1:
            return np.zeros(weight.shape)
        within = trigamma(weight)
        total = trigamma(weight.sum(axis=members.index(v), keepdims=True))
        # the total of a distribution over the classes is the same for all of them
        return (
            within if v == CLASS else np.asarray(np.where(np.isinf(within), np.inf, within - np.where(np.isinf(total), 0, total)))
        )

    def deviation(self, codes: Codes, has_missing: Bools, posterior: Numbers, target: Integers) -> Numbers:
        """Return the standard deviation of the natural log odds of a class against the others, by the delta method.  # (row,)

        Parameters
        ----------
        codes : one column for each feature of the network.
        has_missing : which of them have missing values.
        posterior : P(class | row).
        target : the class of each row.
        """
        slopes = _slopes(posterior, target)
        variances = _kernels.gather(codes, *self._tables, self.classes)
        self._add_densities(variances, codes)
        result = np.multiply(slopes**2, variances, out=np.zeros_like(variances), where=slopes != 0).sum(axis=1)
        for (hidden, touched), rows in Elimination(self.network).rows_by_component(codes, has_missing).items():
            near = {m for v in touched for m in self.network.family(v) if m != CLASS} - set(hidden)
            shares = self._shares({m: codes[m][rows].astype(np.int64) for m in near}, posterior[rows] > 0)
            for v in touched:
                result[rows] += self._incomplete(codes, v, hidden, rows, slopes[rows], shares)
        return np.asarray(np.sqrt(result))

    def divided_deviation(self, codes: Codes, posterior: Numbers, target: Integers) -> Numbers:
        """Return the same for rows that a tree divides among several leaves, and for rows without an observed value.

        Parameters
        ----------
        codes : one column for each column of the table.
        posterior, target : as in `deviation`.
        """
        rows = np.arange(len(target))
        chosen = posterior[rows, target]
        spread = chosen * (1 - chosen)
        trees = [column for column in self.network.derived.values() if isinstance(column, Tree)]
        if trees:
            row, leaf, share = trees[0].divided(codes)
            weight, table = self.weight(CLASS).sum(axis=1)[leaf], np.asarray(self.network.cpts[CLASS])[leaf, target[row]]
            variance = np.zeros(len(rows))
            np.add.at(variance, row, share**2 * table * (1 - table) / (weight + 1))
        else:
            variance = spread / self.training.cases
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(spread > 0, np.sqrt(variance) / spread, np.inf)

    def _shares(self, observed: dict[int, Integers], possible: Bools) -> Callable[[Family], Numbers]:
        """Return a function that gives the distribution of missing variables in each class.  # (row, ..., class)

        It is zero in classes that are impossible for a row.
        """

        def shares(hidden: Family) -> Numbers:
            cards = (self.network.variables[v].card for v in hidden)
            result = np.zeros((len(possible), *cards, self.classes))
            for c in range(self.classes):
                rows = np.flatnonzero(possible[:, c])
                given = {m: codes[rows] for m, codes in observed.items()}
                if len(rows):
                    result[rows, ..., c] = self.tree.posterior(hidden, Evidence(len(rows), {**given, CLASS: np.full(len(rows), c)}))
            return result

        return shares

    def _incomplete(
        self, codes: Codes, v: int, missed: Sequence[int], rows: Integers, slopes: Numbers, shares: Callable[[Family], Numbers]
    ) -> Numbers:
        """Return the variance that a family with missing members adds: each cell counts with its probability given the row."""
        members, weight = self.network.family(v), self.weight(v)
        hidden = tuple(m for m in members if m in missed)
        slope = shares(hidden) * slopes.reshape(len(rows), *(1,) * len(hidden), self.classes)  # of the log odds, for each cell
        if CLASS not in members:
            slope, weight, members = slope.sum(axis=-1, keepdims=True), weight[..., None], (*members, CLASS)
        total = np.broadcast_to(weight.sum(axis=members.index(v), keepdims=True), weight.shape)
        columns = [m for m in members if m != CLASS and m not in hidden]
        axes = [members.index(m) for m in (*columns, *hidden, CLASS)]
        index = tuple(codes[m][rows].astype(np.int64) for m in columns)
        cells, totals = (
            np.transpose(table, axes)[index] if columns else np.transpose(table, axes)[None] for table in (weight, total)
        )
        axis = 1 + hidden.index(v) if v in hidden else -1 if v == CLASS else None
        summed = slope if axis is None else slope.sum(axis=axis, keepdims=True)
        totals = totals if axis is None else totals.take([0], axis=axis)
        variance = _total(slope**2, trigamma(cells)) - _total(summed**2, trigamma(totals))
        return np.maximum(variance, 0.0)

    def _add_densities(self, result: Numbers, codes: Codes) -> None:
        """Add the variances of the log-densities of the observed continuous features."""
        continuous = list(self.network.densities)
        if not any(density.slopes is not None for density in self.network.densities.values()):
            for x in continuous:
                self._add_density(result, codes, x, np.arange(len(result)))
            return
        for absent, rows in missing_patterns(codes, continuous):
            if absent:
                self._add_joint(result, codes, [x for x in continuous if x not in absent], rows)
            else:
                for x in continuous:
                    self._add_density(result, codes, x, rows)

    def _add_joint(self, result: Numbers, codes: Codes, observed: Sequence[int], rows: Integers) -> None:
        """Add the variance of the joint log-density of some continuous features, the others marginalized.

        With n cases, d the Mahalanobis distance from the mean and p features it is (d^2 + (d^4 - 2 d^2 + p) / 2) / n.
        """
        joint = joint_of(self.network)
        places = [joint.features.index(x) for x in observed]
        values = np.stack([codes[x][rows] for x in observed], axis=1) if observed else np.zeros((len(rows), 0))
        for c, cases in enumerate(self._class_cases):
            distance = values - joint.means[c, places]
            square = np.einsum("ri,ri->r", distance @ np.linalg.pinv(joint.covariances[c][np.ix_(places, places)]), distance)
            result[rows, c] += (square + (square**2 - 2 * square + len(observed)) / 2) / cases

    @cached_property
    def _class_cases(self) -> Numbers:
        return np.maximum(self.training.cases * self._class_share, 1.0)

    def _add_density(self, result: Numbers, codes: Codes, x: int, some: Integers) -> None:
        """Add the variance of a log-density in those rows in which the feature and its parents are observed."""
        if CLASS not in self.network.parents[x]:
            return
        density = self.network.densities[x]
        parents = [p for p in self.network.family(x) if p not in (x, CLASS)]
        rows = some[~np.logical_or.reduce([missing(codes[m][some]) for m in (x, *parents)])]
        if not len(rows):
            return
        context = tuple(codes[p][rows].astype(np.int64) for p in parents if p not in self.network.densities)
        linked = [p for p in parents if p in self.network.densities]
        regressors = np.stack([codes[p][rows] for p in linked], axis=1)[:, None] if linked else None
        cases = self._class_cases
        logs = density.logs(codes[x][rows][:, None], context, regressors)
        if isinstance(density, Kernel):
            result[rows] += np.exp(np.minimum(-logs, 600.0)) / (2 * np.sqrt(np.pi) * cases * density.widths)
            return
        peak = -0.5 * np.log(2 * np.pi * density.variances[context])
        square = np.maximum(2 * (peak - logs), 0.0)  # the squared distance from the mean, in standard deviations
        result[rows] += (square * self._leverage(codes, linked, rows) + (square - 1) ** 2 / 2) / cases

    def _leverage(self, codes: Codes, linked: list[int], rows: Integers) -> Numbers:
        """Return the variance of the mean of a regression, in units of the variance of the mean of its cases.  # (row, class)"""
        result = np.ones((len(rows), self.classes))
        if linked:
            joint = joint_of(self.network)
            places = [joint.features.index(p) for p in linked]
            values = np.stack([codes[p][rows] for p in linked], axis=1)
            for c in range(self.classes):
                distance = values - joint.means[c, places]
                covariance = joint.covariances[c][np.ix_(places, places)]
                result[:, c] += np.einsum("ri,ri->r", distance @ np.linalg.pinv(covariance), distance)
        return result

    @cached_property
    def _class_share(self) -> Numbers:
        return np.asarray(self.tree.posterior((CLASS,), Evidence())[0])


def _slopes(posterior: Numbers, target: Integers) -> Numbers:
    """Return the derivatives of the log odds of a class with respect to log P(row, class).  # (row, class)"""
    rows = np.arange(len(target))
    slopes = posterior.copy()
    slopes[rows, target] = 0.0
    total = slopes.sum(axis=1, keepdims=True)
    slopes = -np.where(total > 0, slopes / np.where(total > 0, total, 1), 1 / max(1, slopes.shape[1] - 1))
    slopes[rows, target] = 1.0
    return np.asarray(slopes)


def _total(factors: Numbers, variances: Numbers) -> Numbers:
    """Return the sum of the products for each row; a factor of zero makes an infinite variance irrelevant."""
    variances = np.broadcast_to(variances, factors.shape)
    products = factors * np.where(factors > 0, variances, 0.0)
    return np.asarray(products.reshape(len(factors), -1).sum(axis=1))


def trigamma(weight: Numbers) -> Numbers:
    """Return the second derivative of the log-gamma function, infinite at zero.

    The recurrence `f(x) = f(x + 1) + 1 / x**2` leads to numbers above `LARGE`, for which eight terms of the asymptotic series are
    exact to the last bits. It is `scipy.special.polygamma(1, weight)` without an import that takes longer than an explanation.

    References
    ----------
    Abramowitz and Stegun (1964), Handbook of mathematical functions, 6.4.6 and 6.4.12.
    """
    x = np.maximum(np.asarray(weight, np.float64), 1e-150)
    total = np.zeros_like(x)
    while (small := x < LARGE).any():
        total += np.where(small, 1 / np.square(x), 0.0)
        x = x + small
    square = 1 / np.square(x)
    series = np.zeros_like(x)
    for coefficient in BERNOULLI[::-1]:
        series = (series + coefficient) * square
    return np.where(weight > 0, total + 1 / x + square / 2 + series / x, np.inf)


def sampled_rows(network: Network, count: int, seed: int) -> list[NDArray[np.generic]]:
    """Return random rows of a network, one column for each of its columns of a table; continuous features are drawn too."""
    columns = sampled_columns(network, count, np.random.default_rng(seed))
    return [
        columns[x] if x in network.densities else columns[x].astype(narrowest(network.variables[x].card)) for x in network.inputs
    ]


def sampled_columns(network: Network, count: int, rng: np.random.Generator) -> list[NDArray[np.generic]]:
    """Return random rows of a network, one column for each variable, the class last; continuous features are drawn too."""
    columns: list[NDArray[np.generic]] = list(sample_codes(discrete_part(network), count, rng))
    for x in network.order:
        if x in network.densities:
            columns[x] = _drawn(network, x, columns, rng)
    return columns


def _drawn(network: Network, x: int, columns: list[NDArray[np.generic]], rng: np.random.Generator) -> Numbers:
    """Return random values of a continuous feature given its parents."""
    density = network.densities[x]
    parents = [p for p in network.family(x) if p != x]
    count = len(columns[CLASS])
    if isinstance(density, Kernel):
        labels = columns[CLASS].astype(np.int64)
        cumulative = np.cumsum(density.weights, axis=0)
        point = (cumulative[:, labels] < rng.random(count)).sum(axis=0)
        values = density.points[np.minimum(point, len(density.points) - 1)]
        return np.asarray(values + density.widths[labels] * rng.standard_normal(count))
    context = tuple(columns[p].astype(np.int64) for p in parents if p not in network.densities)
    mean = density.means[context]
    linked = [p for p in parents if p in network.densities]
    if density.slopes is not None and linked:
        mean = mean + (np.stack([columns[p] for p in linked], axis=1) * density.slopes[context]).sum(axis=1)
    return np.asarray(mean + np.sqrt(density.variances[context]) * rng.standard_normal(count))
