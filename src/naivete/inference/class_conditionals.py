"""P(x | observed values, class) of all unobserved features at once: two passes of messages, for all classes together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.inference.elimination import log
from naivete.inference.junction import Evidence, JunctionTree
from naivete.network.network import Network, check_uncomputed
from naivete.variables import CLASS

__all__ = ["Conditionals", "class_conditionals"]

Observed = Mapping[int, int]
"""The codes of the observed discrete features."""


class Conditionals(NamedTuple):
    """log P(observed, class), and P(x | observed, class) of every unobserved discrete feature.

    Parameters
    ----------
    logs : log P(observed, class), -inf where it is impossible.  # (class,)
    tables : the distribution of each unobserved feature in each class, zeros where the class is impossible.  # (class, state)
    """

    logs: Numbers
    tables: dict[int, Numbers]


def class_conditionals(network: Network, observed: Observed) -> Conditionals:
    """Return P(x | observed, class) of every unobserved discrete feature, exact for any network; densities are left out.

    If every feature has at most one feature as parent, as in naive Bayes and TAN, messages go from the leaves to the roots and
    back, which takes time linear in the number of features. Otherwise the junction tree is used, with the class as evidence.

    Parameters
    ----------
    network : the network, without computed columns.
    observed : the codes of the observed features.
    """
    check_uncomputed(network, "a query")
    is_forest = not network.parents[CLASS] and all(_feature_parents(network, x) <= 1 for x in network.features)
    return _forest(network, observed) if is_forest else _junction(network, observed)


def _feature_parents(network: Network, x: int) -> int:
    return len(network.parents[x]) - (CLASS in network.parents[x])


def _forest(network: Network, observed: Observed) -> Conditionals:
    features = [x for x in network.order if x != CLASS and x not in network.densities]
    parent = {x: next((p for p in network.parents[x] if p != CLASS), None) for x in features}
    tables = {x: _class_first(network, x, parent[x]) for x in features}
    logs = log(np.asarray(network.cpts[CLASS]))
    likelihoods: dict[int, Numbers] = {}  # of the observed descendants of x given its state, up to a factor  # (class, state)
    messages: dict[int, Numbers] = {}  # of the observed values of x and its descendants, given the parent  # (class, parent)
    for x in reversed(features):
        message = _message(tables[x], likelihoods.get(x), observed.get(x))
        if message is None:
            continue
        p = parent[x]
        if p is None:
            logs += log(message)
            continue
        messages[x] = message
        product = message * likelihoods[p] if p in likelihoods else message
        top = product.max(axis=1)
        logs += log(top)
        likelihoods[p] = product / np.where(top > 0, top, 1.0)[:, None]
    return Conditionals(logs, _beliefs(features, parent, tables, likelihoods, messages, observed))


def _message(table: Numbers, likelihood: Numbers | None, state: int | None) -> Numbers | None:
    """Return P(observed values of x and its descendants | parent, class) up to a factor, None if none is observed."""
    if state is not None:
        values = table[..., state]
        if likelihood is None:
            return values
        return values * (likelihood[:, state] if table.ndim == 2 else likelihood[:, state, None])
    if likelihood is None:
        return None
    return np.asarray((table * (likelihood if table.ndim == 2 else likelihood[:, None, :])).sum(axis=-1))


def _beliefs(
    features: list[int],
    parent: Mapping[int, int | None],
    tables: Mapping[int, Numbers],
    likelihoods: Mapping[int, Numbers],
    messages: Mapping[int, Numbers],
    observed: Observed,
) -> dict[int, Numbers]:
    """Return P(x | observed, class) of the unobserved features, parents first.  # (class, state)"""
    beliefs: dict[int, Numbers] = {}
    for x in features:
        if x in observed:
            continue
        p = parent[x]
        if p is None:
            belief = tables[x]
        elif p in observed:
            belief = tables[x][:, observed[p]]
        else:
            outside = _without(beliefs[p], messages[x]) if x in messages else beliefs[p]
            belief = np.matmul(outside[:, None, :], tables[x])[:, 0]
        if x in likelihoods:
            belief = belief * likelihoods[x]
        total = belief.sum(axis=1, keepdims=True)
        beliefs[x] = belief / np.where(total > 0, total, 1.0)
    return beliefs


def _without(belief: Numbers, message: Numbers) -> Numbers:
    """Return the belief without one of the messages in it; where the message is 0, the result is multiplied by 0 later."""
    return np.asarray(np.where(message > 0, belief / np.where(message > 0, message, 1.0), 0.0))


def _class_first(network: Network, x: int, parent: int | None) -> Numbers:
    """Return the table of a feature with the class as its first axis and the feature as its last.  # (class, [parent,] state)"""
    members, table = network.family(x), network.full_table(x)
    table = table.transpose([members.index(m) for m in (CLASS, parent, x) if m in members])
    return table if CLASS in members else np.broadcast_to(table, (network.variables[CLASS].card, *table.shape))


def _junction(network: Network, observed: Observed) -> Conditionals:
    tree = JunctionTree(_without_densities(network))
    classes = network.variables[CLASS].card
    codes = {x: np.full(classes, code) for x, code in observed.items()} | {CLASS: np.arange(classes)}
    logs = tree.log_probability(Evidence(classes, codes))
    possible = np.flatnonzero(np.isfinite(logs))
    hidden = [x for x in network.features if x not in observed and x not in network.densities]
    tables = {x: np.zeros((classes, network.variables[x].card)) for x in hidden}
    if len(possible):
        marginals = tree.marginals(Evidence(len(possible), {v: column[possible] for v, column in codes.items()}))
        for x in hidden:
            tables[x][possible] = marginals[x]
    return Conditionals(logs, tables)


def _without_densities(network: Network) -> Network:
    """Return the network with a single state in place of the density of each continuous feature."""
    if not network.densities:
        return network
    variables = [replace(v, states=("any",), origin=None, kernel=False) if v.density else v for v in network.variables]
    return Network(tuple(variables), network.parents, network.cpts, network.derived, check=False)
