"""Log odds of naive Bayes, of a network, and of naive Bayes with one arc of that network, for every case, in bits.

All terms are contrasts as in `naivete.learners.derivatives`: of two classes the second against the first, of more classes each
against the mean of all, since terms that are equal for all classes do not change the prediction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers, missing_code, narrowest
from naivete.cases import Block, MemoryCases
from naivete.counts.counts import Counts
from naivete.errors import DataError, quoted
from naivete.inference.leave_one_out_terms import FamilyTerms, remaining_classes
from naivete.inference.predictor import Predictor
from naivete.learners.derivatives import contrasts, contributions, naive_part
from naivete.learners.naive import naive
from naivete.network.conditional_tables import Cpt
from naivete.network.estimation import estimate
from naivete.network.network import Network, Structure
from naivete.network.smoothing import prior_probabilities, smoothing_of
from naivete.variables import CLASS, family

__all__ = [
    "Networks",
    "Terms",
    "case_terms",
    "class_logs",
    "cross_validated_terms",
    "estimated_networks",
    "leave_one_out_terms",
    "marginal_networks",
    "predicted_classes",
]

Codes = Sequence[NDArray[Any]]
Bools = NDArray[np.bool_]
Arc = tuple[int, int]

CLOSE = 1e-9
"""Classes whose logarithms differ by less count as equal, so that rounding errors have no effect."""
PIECE = 1 << 13
"""The number of rows that are processed at a time."""
FOLDS = 10
"""The number of folds by default."""


class Terms(NamedTuple):
    """The terms of some cases.

    Parameters
    ----------
    naive : the log odds of naive Bayes, including the prior.  # (row, contrast)
    dependence : what the dependence of each feature on others adds: log2 ddr, or log2 dd of each class minus their mean.
        # (row, feature, contrast)
    with_arc : the class that naive Bayes predicts with one arc of the network added.  # (row, arc)
    """

    naive: Numbers
    dependence: Numbers
    with_arc: NDArray[np.intp]


class FeatureTerms(NamedTuple):
    """The log odds of a feature alone, and what its dependence on others adds.  # (row, contrast)"""

    naive: Numbers
    dependence: Numbers


@dataclass(frozen=True, eq=False)
class Networks:
    """A network, naive Bayes over its variables, and for each of its arcs naive Bayes with that arc.

    Parameters
    ----------
    network : the network, whose class has no parents.
    naive : naive Bayes.
    pairs : for each arc (parent, child) naive Bayes with this arc over these two features, in increasing order.
    """

    network: Network
    naive: Network
    pairs: Mapping[Arc, Network]


def class_logs(contrast: Numbers) -> Numbers:
    """Return the logarithms of the classes, up to a constant that is equal for all.  # (..., class)

    >>> class_logs(np.array([[2.0]])).tolist(), class_logs(np.array([[-2.0, 0.0, 2.0]])).tolist()
    ([[-2.0, 0.0]], [[-2.0, 0.0, 2.0]])
    """
    if contrast.shape[-1] > 1:
        return contrast
    return np.concatenate([np.minimum(-contrast, 0.0), np.minimum(contrast, 0.0)], axis=-1)  # also where it is infinite


def predicted_classes(contrast: Numbers) -> NDArray[np.intp]:
    """Return the most probable class, the first of those that are equal up to rounding.  # (...)

    >>> predicted_classes(np.array([[0.0], [1e-12], [1.0]])).tolist()
    [0, 0, 1]
    """
    logs = class_logs(contrast)
    return np.asarray((logs >= logs.max(axis=-1, keepdims=True) - CLOSE).argmax(axis=-1))


def estimated_networks(
    counts: Counts, network: Network, smoothing: object, prior: Sequence[float] | None, arcs: Sequence[Arc]
) -> Networks:
    """Return the networks to compare, with naive Bayes and its arcs estimated from the training cases in one pass.

    Parameters
    ----------
    counts : the training cases.
    network : the network learned from them.
    smoothing, prior : as for `estimate`.
    arcs : the arcs to add to naive Bayes, one at a time, such as `network.arcs`.
    """
    counts.tables([family(*arc, CLASS) for arc in arcs])
    alone = naive(counts, smoothing=smoothing, prior=prior)
    pairs: dict[Arc, Network] = {}
    for structure in _rounds(arcs, counts.features):
        estimated = estimate(counts, structure, smoothing, prior=prior)
        added = [(p, x) for x in counts.features for p in structure[x] if p != CLASS]
        pairs |= {arc: _with_arc(alone, arc, estimated.cpts[arc[1]], estimated) for arc in added}
    return Networks(network, alone, {arc: pairs[arc] for arc in arcs})


def _rounds(arcs: Sequence[Arc], features: Sequence[int]) -> Iterator[Structure]:
    """Yield structures in which every feature has at most one feature parent, and which together contain all arcs."""
    above = {x: [p for p, child in arcs if child == x] for x in features}
    for r in range(max(map(len, above.values()), default=0)):
        yield {CLASS: (), **{x: (*above[x][r : r + 1], CLASS) for x in features}}


def marginal_networks(network: Network) -> Networks:
    """Return the networks to compare without training cases: naive Bayes and its arcs have marginal tables of the network.

    Parameters
    ----------
    network : a network of tables whose class has no parents.
    """
    if network.densities:
        raise DataError(
            f"network: {quoted(network.name(min(network.densities)))} is continuous, and naive Bayes cannot be derived from "
            "the network alone; pass the training cases too: diagnose(model, X, y, train=(X_train, y_train))"
        )
    equal = np.full(network.variables[CLASS].card, 1 / network.variables[CLASS].card)  # so that no class has probability zero
    alone, predictor = naive_part(network), Predictor(replace(network, cpts={**network.cpts, CLASS: equal}, check=False))
    return Networks(network, alone, {arc: _with_arc(alone, arc, _given_parent(predictor, arc)) for arc in network.arcs})


def _given_parent(predictor: Predictor, arc: Arc) -> Numbers:
    """Return P(child | parent, class), all other features marginalized; the axes in the order of the family."""
    network = predictor.network
    members = sorted(arc)
    cards = [network.variables[v].card for v in members]
    states = np.indices(cards).reshape(2, -1)
    unknown = (narrowest(v.card) for v in network.variables[:-1])
    codes = [np.full(states.shape[1], missing_code(kind), kind) for kind in unknown]
    for v, column in zip(members, states, strict=True):
        codes[v][:] = column
    joint = np.exp(predictor.joint(codes, ~np.isin(network.features, members))).reshape(*cards, -1)
    total = joint.sum(axis=members.index(arc[1]), keepdims=True)
    return np.where(total > 0, joint / np.where(total > 0, total, 1.0), 1 / network.variables[arc[1]].card)


def _with_arc(alone: Network, arc: Arc, cpt: Cpt, estimated: Network | None = None) -> Network:
    """Return naive Bayes over the two features of an arc, with this arc and this table of the child, or its density."""
    p, x = arc
    density = {x: estimated.densities[x]} if estimated is not None and x in estimated.densities else {}
    parents, cpts = {**alone.parents, x: (p, CLASS)}, {**alone.cpts, x: cpt}
    densities = {**alone.densities, **density}
    return _only(Network(alone.variables, parents, cpts, densities=densities, check=False), sorted(arc))


def _only(network: Network, features: Sequence[int]) -> Network:
    """Return the network of some features, none of which depends on others, renumbered in order."""
    index = {CLASS: CLASS, **{v: i for i, v in enumerate(features)}}
    cpts = {index[v]: network.table(v).renumbered(index) for v in index}
    parents = {index[v]: tuple(index[p] for p in network.parents[v]) for v in index}
    variables = (*(network.variables[v] for v in features), network.variables[CLASS])
    densities = {index[x]: density for x, density in network.densities.items() if x in index}
    return Network(variables, parents, cpts, densities=densities, check=False)


def case_terms(networks: Networks, codes: Codes, has_missing: Bools) -> Terms:
    """Return the terms of some cases.

    Parameters
    ----------
    networks : the networks.
    codes : one column for each feature.
    has_missing : which features have missing values.
    """
    pieces = [
        _piece_terms(networks, [c[start : start + PIECE] for c in codes], has_missing)
        for start in range(0, max(1, len(codes[0])), PIECE)
    ]
    return _joined(pieces)


def _piece_terms(networks: Networks, codes: Codes, has_missing: Bools) -> Terms:
    parts = contributions(networks.network, networks.naive, codes, has_missing)
    arcs = [_of_pair(networks, arc, codes, has_missing).dependence for arc in networks.pairs]
    return _terms(networks, parts.prior + _informative(parts.naive).sum(axis=1), _informative(parts.dependence), arcs)


def _informative(logs: Numbers, otherwise: Numbers | float = 0.0) -> Numbers:
    """Return the logarithms of all classes; where the value has probability zero in all, `otherwise`."""
    return np.where(np.isneginf(logs).all(axis=-1, keepdims=True), otherwise, logs)


def _of_pair(networks: Networks, arc: Arc, codes: Codes, has_missing: Bools) -> FeatureTerms:
    """Return the terms of the child of an arc in naive Bayes with this arc."""
    members = sorted(arc)
    parts = contributions(networks.pairs[arc], _only(networks.naive, members), [codes[v] for v in members], has_missing[members])
    child = members.index(arc[1])
    return FeatureTerms(_informative(parts.naive[:, child]), _informative(parts.dependence[:, child]))


def _terms(networks: Networks, naive_odds: Numbers, dependence: Numbers, arcs: Sequence[Numbers]) -> Terms:
    """Return the terms of some rows; an error where one is not finite."""
    for x in networks.network.features:
        terms = [dependence[:, x], *(d for (_, child), d in zip(networks.pairs, arcs, strict=True) if child == x)]
        if not all(np.isfinite(d).all() for d in terms):
            raise DataError(
                f"column {quoted(networks.network.name(x))}: a case has probability zero in some class, with or without the other "
                "features, so that the odds are not a sum of finite terms; use a smoothing above 0, or Full in place of Lookup"
            )
    with_arc = [predicted_classes(naive_odds + d) for d in arcs]
    return Terms(naive_odds, dependence, np.stack(with_arc, axis=1) if arcs else np.empty((len(naive_odds), 0), np.intp))


def _joined(parts: Sequence[Terms]) -> Terms:
    return Terms(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def leave_one_out_terms(counts: Counts, networks: Networks, smoothing: object, prior: Sequence[float] | None) -> Terms:
    """Return the terms of each training case with tables estimated without this case; the arcs are kept.

    A row with missing values is not counted in the tables of families that contain them, so these tables are used unchanged.

    Parameters
    ----------
    counts : the training cases, in memory.
    networks : the `estimated_networks` of these cases, without densities.
    smoothing, prior : as they were estimated.
    """
    terms = _LeaveOneOut(counts, networks, smoothing, prior)
    block = _block(counts)
    return _joined([terms(block.take(np.arange(len(block))[start : start + PIECE])) for start in range(0, len(block), PIECE)])


class _LeaveOneOut:
    """The families of the networks, and their terms for rows that are removed from the counts."""

    def __init__(self, counts: Counts, networks: Networks, smoothing: object, prior: Sequence[float] | None) -> None:
        self.networks, self.has_missing = networks, counts.cases.has_missing
        self.parents = {x: tuple(p for p in networks.network.parents[x] if p != CLASS) for x in counts.features}
        wanted = {*((x, ()) for x in counts.features), *((x, (p,)) for p, x in networks.pairs)}
        wanted |= {(x, p) for x, p in self.parents.items() if CLASS in networks.network.parents[x]}
        families = {key: family(key[0], *key[1], CLASS) for key in sorted(wanted)}
        tables = counts.tables([*families.values(), (CLASS,)])
        classes = np.asarray(tables[CLASS,])
        self.classes, self.copies = classes.astype(np.float64), counts.copies(classes)
        self.prior = None if prior is None else prior_probabilities(prior, counts.variables[CLASS].states)
        smooth, cards = smoothing_of(smoothing), counts.cards([*counts.features, CLASS])
        self.terms = {
            (x, p): FamilyTerms(tables[members], x, p, self.classes, smooth, cards) for (x, p), members in families.items()
        }

    def __call__(self, block: Block) -> Terms:
        """Return the terms of the rows of a block, each without itself."""
        networks, codes = self.networks, block.codes[:-1]
        remaining = remaining_classes(block, self.classes, copies=self.copies)
        prior = remaining.frequencies if self.prior is None else np.broadcast_to(self.prior, remaining.frequencies.shape)
        logs = {key: family_terms(block, remaining) / np.log(2) for key, family_terms in self.terms.items()}
        terms = {(x, p): contrasts(_informative(_informative(values, logs[x, ()]))) for (x, p), values in logs.items()}
        parts = contributions(networks.network, networks.naive, codes, self.has_missing)
        dependence = np.empty_like(parts.dependence)
        for x, parents in self.parents.items():
            whole = FeatureTerms(_informative(parts.naive[:, x]), _informative(parts.dependence[:, x]))
            conditional = terms[x, parents] if CLASS in networks.network.parents[x] else np.zeros(1)
            dependence[:, x] = _without(whole, conditional, _observed(codes, (x, *parents))) - terms[x, ()]
        arcs = [
            _without(_of_pair(networks, (p, x), codes, self.has_missing), terms[x, (p,)], _observed(codes, (x, p))) - terms[x, ()]
            for p, x in networks.pairs
        ]
        naive_odds = contrasts(_log2(prior)) + sum(terms[x, ()] for x in self.parents)
        return _terms(networks, naive_odds, dependence, arcs)


def _observed(codes: Codes, members: Sequence[int]) -> NDArray[np.bool_]:
    return np.asarray(np.logical_and.reduce([codes[v] != missing_code(codes[v].dtype) for v in members]))


def _without(whole: FeatureTerms, without: Numbers, observed: NDArray[np.bool_]) -> Numbers:
    """Return the log odds of a feature given others: without the row where its family is observed, else from all rows."""
    return np.where(observed[:, None], without, whole.naive + whole.dependence)


def cross_validated_terms(counts: Counts, learn: Callable[[Counts], Networks], *, folds: int = FOLDS) -> Terms:
    """Return the terms of each case from networks learned on the other folds.

    Parameters
    ----------
    counts : the cases, in memory.
    learn : the function that learns the networks from training cases.
    folds : the number of folds; every class is divided evenly, in the order of the rows.
    """
    block = _block(counts)
    order = np.argsort(block.codes[-1], kind="stable")
    fold = np.empty(len(block), np.int64)
    fold[order] = np.arange(len(block)) % folds
    positions, parts = [], []
    for f in range(min(folds, len(block))):
        others = MemoryCases(counts.variables, block.take(np.flatnonzero(fold != f)), counts.cases.has_missing)
        positions.append(np.flatnonzero(fold == f))
        parts.append(
            case_terms(learn(Counts(others, budget=counts.budget)), block.take(positions[-1]).codes[:-1], counts.cases.has_missing)
        )
    order_back = np.argsort(np.concatenate(positions))
    naive_odds, dependence, with_arc = _joined(parts)
    return Terms(naive_odds[order_back], dependence[order_back], with_arc[order_back])


def _block(counts: Counts) -> Block:
    """Return all rows of cases in memory as one block."""
    parts = list(counts.map(lambda block: block))
    weight = None if parts[0].weight is None else np.concatenate([part.weight for part in parts if part.weight is not None])
    return Block(tuple(np.concatenate(column) for column in zip(*(part.codes for part in parts), strict=True)), weight)


def _log2(p: Numbers) -> Numbers:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log2(p))
