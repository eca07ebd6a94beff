"""What naive Bayes, a network, and naive Bayes with a single arc of that network say of each case, in bits.

All of it as contrasts, the second of two classes against the first, or each of more against the mean of all, as in
`naivete.learners.derivatives`: what is the same for all classes decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers, narrowest
from naivete.cases import Block, MemoryCases
from naivete.counts.counts import Counts
from naivete.errors import DataError, quoted
from naivete.inference.leave_one_out import FamilyTerms, remaining_classes
from naivete.inference.predictor import Predictor
from naivete.learners.derivatives import contrasts, contributions, naive_part
from naivete.learners.naive import naive
from naivete.network.conditional_tables import Cpt
from naivete.network.estimation import estimate
from naivete.network.network import Network, Structure
from naivete.network.smoothing import checked_prior, smoothing_of
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
Gaps = NDArray[np.bool_]
Arc = tuple[int, int]

CLOSE = 1e-9
"""Classes whose logarithms differ by less count as equal, so that rounding does not decide."""
PIECE = 1 << 13
FOLDS = 10


class Terms(NamedTuple):
    """What is said of some cases.

    Parameters
    ----------
    naive : by naive Bayes, the prior included.  # (row, contrast)
    dependence : what its dependence on other features adds to each feature: log2 ddr, or log2 dd of each class less their mean.
        # (row, feature, contrast)
    with_arc : which class naive Bayes answers with one arc of the network added.  # (row, arc)
    """

    naive: Numbers
    dependence: Numbers
    with_arc: NDArray[np.intp]


class Said(NamedTuple):
    """What a feature says alone, and what its dependence on others adds.  # (row, contrast)"""

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
    """The logarithms of the classes, up to what all have in common.  # (..., class)

    >>> class_logs(np.array([[2.0]])).tolist(), class_logs(np.array([[-2.0, 0.0, 2.0]])).tolist()
    ([[-2.0, 0.0]], [[-2.0, 0.0, 2.0]])
    """
    if contrast.shape[-1] > 1:
        return contrast
    return np.concatenate([np.minimum(-contrast, 0.0), np.minimum(contrast, 0.0)], axis=-1)  # also where it is infinite


def predicted_classes(contrast: Numbers) -> NDArray[np.intp]:
    """The most probable class, the first of those that are equal but for rounding.  # (...)

    >>> predicted_classes(np.array([[0.0], [1e-12], [1.0]])).tolist()
    [0, 0, 1]
    """
    logs = class_logs(contrast)
    return np.asarray((logs >= logs.max(axis=-1, keepdims=True) - CLOSE).argmax(axis=-1))


def estimated_networks(
    counts: Counts, network: Network, smoothing: object, prior: Sequence[float] | None, arcs: Sequence[Arc]
) -> Networks:
    """The networks to compare, naive Bayes and its arcs estimated from the training cases: all tables in one pass.

    Parameters
    ----------
    counts : the training cases.
    network : the network that was learned from them.
    smoothing, prior : as for `estimate`.
    arcs : the arcs to add to naive Bayes, one at a time, such as `network.arcs`.
    """
    counts.tables([family(*arc, CLASS) for arc in arcs])
    alone = naive(counts, smoothing=smoothing, prior=prior)
    pairs: dict[Arc, Network] = {}
    for structure in _rounds(arcs, counts.features):
        found = estimate(counts, structure, smoothing, prior=prior)
        own = [(p, x) for x in counts.features for p in structure[x] if p != CLASS]
        pairs |= {arc: _with_arc(alone, arc, found.cpts[arc[1]], found) for arc in own}
    return Networks(network, alone, {arc: pairs[arc] for arc in arcs})


def _rounds(arcs: Sequence[Arc], features: Sequence[int]) -> Iterator[Structure]:
    """Structures in which every feature has at most one feature parent, and which together have all arcs."""
    above = {x: [p for p, child in arcs if child == x] for x in features}
    for r in range(max(map(len, above.values()), default=0)):
        yield {CLASS: (), **{x: (*above[x][r : r + 1], CLASS) for x in features}}


def marginal_networks(network: Network) -> Networks:
    """The networks to compare where there is but the network: naive Bayes and its arcs have what it says of their features.

    Parameters
    ----------
    network : a network of tables whose class has no parents.
    """
    if network.densities:
        raise DataError(
            f"network: {quoted(network.name(min(network.densities)))} has a density, and the network alone does not tell "
            "what naive Bayes would say; pass the training cases too: diagnose(model, X, y, train=(X_train, y_train))"
        )
    equal = np.full(network.variables[CLASS].card, 1 / network.variables[CLASS].card)  # so that every class has probabilities
    alone, predictor = naive_part(network), Predictor(replace(network, cpts={**network.cpts, CLASS: equal}, check=False))
    return Networks(network, alone, {arc: _with_arc(alone, arc, _given_parent(predictor, arc)) for arc in network.arcs})


def _given_parent(predictor: Predictor, arc: Arc) -> Numbers:
    """P(child | parent, class), all other features summed out; the axes in the order of the family."""
    network = predictor.network
    members = sorted(arc)
    cards = [network.variables[v].card for v in members]
    places = np.indices(cards).reshape(2, -1)
    unknown = (narrowest(v.card) for v in network.variables[:-1])
    codes = [np.full(places.shape[1], np.iinfo(kind).max, kind) for kind in unknown]
    for v, place in zip(members, places, strict=True):
        codes[v][:] = place
    joint = np.exp(predictor.joint(codes, ~np.isin(network.features, members))).reshape(*cards, -1)
    total = joint.sum(axis=members.index(arc[1]), keepdims=True)
    return np.where(total > 0, joint / np.where(total > 0, total, 1.0), 1 / network.variables[arc[1]].card)


def _with_arc(alone: Network, arc: Arc, cpt: Cpt, found: Network | None = None) -> Network:
    """Naive Bayes with an arc, of which the child has this table and perhaps a density, over the two features of the arc."""
    p, x = arc
    density = {x: found.densities[x]} if found is not None and x in found.densities else {}
    parents, cpts = {**alone.parents, x: (p, CLASS)}, {**alone.cpts, x: cpt}
    densities = {**alone.densities, **density}
    return _only(Network(alone.variables, parents, cpts, densities=densities, check=False), sorted(arc))


def _only(network: Network, features: Sequence[int]) -> Network:
    """The network of some features, on which no other one has an influence, numbered anew in their order."""
    at = {CLASS: CLASS, **{v: i for i, v in enumerate(features)}}
    cpts = {at[v]: network.table(v).renumbered(at) for v in at}
    parents = {at[v]: tuple(at[p] for p in network.parents[v]) for v in at}
    variables = (*(network.variables[v] for v in features), network.variables[CLASS])
    densities = {at[x]: density for x, density in network.densities.items() if x in at}
    return Network(variables, parents, cpts, densities=densities, check=False)


def case_terms(networks: Networks, codes: Codes, gaps: Gaps) -> Terms:
    """What the networks say of some cases.

    Parameters
    ----------
    networks : the networks.
    codes : one column for each feature.
    gaps : which features have missing values.
    """
    pieces = [_piece_terms(networks, [c[at : at + PIECE] for c in codes], gaps) for at in range(0, max(1, len(codes[0])), PIECE)]
    return _joined(pieces)


def _piece_terms(networks: Networks, codes: Codes, gaps: Gaps) -> Terms:
    found = contributions(networks.network, networks.naive, codes, gaps)
    arcs = [_of_pair(networks, arc, codes, gaps).dependence for arc in networks.pairs]
    return _terms(networks, found.prior + _telling(found.naive).sum(axis=1), _telling(found.dependence), arcs)


def _telling(logs: Numbers, otherwise: Numbers | float = 0.0) -> Numbers:
    """The logarithms of all classes, something else where no class can have the value: it does not tell them apart."""
    return np.where(np.isneginf(logs).all(axis=-1, keepdims=True), otherwise, logs)


def _of_pair(networks: Networks, arc: Arc, codes: Codes, gaps: Gaps) -> Said:
    """What naive Bayes with an arc says of the child of the arc."""
    members = sorted(arc)
    found = contributions(networks.pairs[arc], _only(networks.naive, members), [codes[v] for v in members], gaps[members])
    at = members.index(arc[1])
    return Said(_telling(found.naive[:, at]), _telling(found.dependence[:, at]))


def _terms(networks: Networks, said: Numbers, dependence: Numbers, arcs: Sequence[Numbers]) -> Terms:
    """The terms of some rows, once they are known to be numbers."""
    for x in networks.network.features:
        own = [dependence[:, x], *(d for (_, child), d in zip(networks.pairs, arcs, strict=True) if child == x)]
        if not all(np.isfinite(d).all() for d in own):
            raise DataError(
                f"column {quoted(networks.network.name(x))}: a case has probability zero in some class, with or without the other "
                "features, so that no sum of terms tells the odds; use a smoothing above 0, Full in place of Lookup"
            )
    with_arc = [predicted_classes(said + d) for d in arcs]
    return Terms(said, dependence, np.stack(with_arc, axis=1) if arcs else np.empty((len(said), 0), np.intp))


def _joined(parts: Sequence[Terms]) -> Terms:
    return Terms(*(np.concatenate(own) for own in zip(*parts, strict=True)))


def leave_one_out_terms(counts: Counts, networks: Networks, smoothing: object, prior: Sequence[float] | None) -> Terms:
    """What the networks would say of each training case had their tables been estimated without it; the arcs stay.

    A row with missing values has no part in the tables of families that it does not know, so these answer it as they are.

    Parameters
    ----------
    counts : the training cases, in memory.
    networks : what was `learned` from them, without densities.
    smoothing, prior : with which it was estimated.
    """
    left = _LeftOut(counts, networks, smoothing, prior)
    block = _block(counts)
    return _joined([left(block.take(np.arange(len(block))[at : at + PIECE])) for at in range(0, len(block), PIECE)])


class _LeftOut:
    """The families of the networks, and what they say of rows that are taken out of their counts."""

    def __init__(self, counts: Counts, networks: Networks, smoothing: object, prior: Sequence[float] | None) -> None:
        self.networks, self.gaps = networks, counts.cases.gaps
        self.parents = {x: tuple(p for p in networks.network.parents[x] if p != CLASS) for x in counts.features}
        wanted = {*((x, ()) for x in counts.features), *((x, (p,)) for p, x in networks.pairs)}
        wanted |= {(x, p) for x, p in self.parents.items() if CLASS in networks.network.parents[x]}
        families = {key: family(key[0], *key[1], CLASS) for key in sorted(wanted)}
        tables = counts.tables([*families.values(), (CLASS,)])
        self.classes = np.asarray(tables[CLASS,]).astype(np.float64)
        self.prior = None if prior is None else checked_prior(prior, len(self.classes))
        how, cards = smoothing_of(smoothing), counts.cards([*counts.features, CLASS])
        self.terms = {(x, p): FamilyTerms(tables[own], x, p, self.classes, how, cards) for (x, p), own in families.items()}

    def __call__(self, piece: Block) -> Terms:
        """What is said of the rows of a piece, each without itself."""
        networks, codes = self.networks, piece.codes[:-1]
        left = remaining_classes(piece, self.classes)
        prior = left.frequencies if self.prior is None else np.broadcast_to(self.prior, left.frequencies.shape)
        logs = {key: own(piece, left) / np.log(2) for key, own in self.terms.items()}
        terms = {(x, p): contrasts(_telling(_telling(own, logs[x, ()]))) for (x, p), own in logs.items()}
        found = contributions(networks.network, networks.naive, codes, self.gaps)
        dependence = np.empty_like(found.dependence)
        for x, parents in self.parents.items():
            whole = Said(_telling(found.naive[:, x]), _telling(found.dependence[:, x]))
            given = terms[x, parents] if CLASS in networks.network.parents[x] else np.zeros(1)
            dependence[:, x] = _without(whole, given, _known(codes, (x, *parents))) - terms[x, ()]
        arcs = [
            _without(_of_pair(networks, (p, x), codes, self.gaps), terms[x, (p,)], _known(codes, (x, p))) - terms[x, ()]
            for p, x in networks.pairs
        ]
        said = contrasts(_log2(prior)) + sum(terms[x, ()] for x in self.parents)
        return _terms(networks, said, dependence, arcs)


def _known(codes: Codes, members: Sequence[int]) -> NDArray[np.bool_]:
    return np.asarray(np.logical_and.reduce([codes[v] != np.iinfo(codes[v].dtype).max for v in members]))


def _without(whole: Said, left: Numbers, known: NDArray[np.bool_]) -> Numbers:
    """What a feature says given others: without the row where that knows its family, else what all rows together say."""
    return np.where(known[:, None], left, whole.naive + whole.dependence)


def cross_validated_terms(counts: Counts, learn: Callable[[Counts], Networks], *, folds: int = FOLDS) -> Terms:
    """What networks say of each case that are learned without it and about a tenth of the others.

    Parameters
    ----------
    counts : the cases, in memory.
    learn : the networks of some of them.
    folds : how many times; every class is divided evenly, in the order of the rows.
    """
    block = _block(counts)
    order = np.argsort(block.codes[-1], kind="stable")
    fold = np.empty(len(block), np.int64)
    fold[order] = np.arange(len(block)) % folds
    places, parts = [], []
    for f in range(min(folds, len(block))):
        others = MemoryCases(counts.variables, block.take(np.flatnonzero(fold != f)), counts.cases.gaps)
        places.append(np.flatnonzero(fold == f))
        parts.append(case_terms(learn(Counts(others, budget=counts.budget)), block.take(places[-1]).codes[:-1], counts.cases.gaps))
    back = np.argsort(np.concatenate(places))
    found = _joined(parts)
    return Terms(found.naive[back], found.dependence[back], found.with_arc[back])


def _block(counts: Counts) -> Block:
    """The rows of cases in memory, all columns at hand."""
    parts = list(counts.map(lambda block: block))
    weight = None if parts[0].weight is None else np.concatenate([part.weight for part in parts if part.weight is not None])
    return Block(tuple(np.concatenate(column) for column in zip(*(part.codes for part in parts), strict=True)), weight)


def _log2(p: Numbers) -> Numbers:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log2(p))
