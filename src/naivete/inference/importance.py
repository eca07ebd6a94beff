"""The importance of features and arcs for the predictions of a network: mean absolute contributions to the log odds, in bits."""

from __future__ import annotations

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.inference.certainty import discrete_part
from naivete.inference.discrete_terms import TABLE_CELLS
from naivete.inference.ensemble_explanation import AnyExplainer, EnsembleExplainer
from naivete.inference.junction import Evidence, JunctionTree
from naivete.network.network import Network
from naivete.variables import CLASS, family

__all__ = ["arc_importances", "feature_importances"]


def feature_importances(explainer: AnyExplainer) -> Numbers:
    """Return the mean absolute contribution of each feature to the log odds of the predicted class.

    The mean is over the rows of the background or, without these, over 1000 rows drawn from the network; for a classifier that does
    not predict with one network, over 32 of such rows.
    """
    if isinstance(explainer, EnsembleExplainer):
        return explainer.importances
    codes = explainer.reference
    has_missing = explainer.has_missing(codes)
    posterior, _ = explainer.predictor.posterior(codes, has_missing)
    values = explainer.attribution(codes, has_missing, posterior.argmax(axis=1)).values
    return np.asarray(np.abs(values).mean(axis=0))


def arc_importances(network: Network) -> dict[tuple[int, int], float]:
    """Return what each arc between two discrete features changes in the log odds, on average: (parent, child) -> bits.

    The change is log2 P(x | parents, class) - log2 P(x | all parents but one, class) for a class minus the mean of this difference
    over the other classes; the mean absolute change is over the distribution of the network. Arcs into tables of more than
    `TABLE_CELLS` cells are left out.
    """
    tree = JunctionTree(discrete_part(network))
    prior = tree.posterior((CLASS,), Evidence())[0]
    arcs = [(p, x) for p, x in network.arcs if CLASS in network.parents[x] and not {p, x} & set(network.densities)]
    return {(p, x): _change(network, tree, prior, p, x) for p, x in arcs if _cells(network, x) <= TABLE_CELLS}


def _cells(network: Network, x: int) -> int:
    return int(np.prod([network.variables[m].card for m in network.family(x)], dtype=object))


def _change(network: Network, tree: JunctionTree, prior: Numbers, parent: int, x: int) -> float:
    """Return the mean absolute change of the log odds by one arc."""
    members = family(x, *network.parents[x])
    joint = tree.posterior(members, Evidence())[0]
    shorter = joint.sum(axis=members.index(parent), keepdims=True)
    given = shorter.sum(axis=members.index(x), keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.log2(tree.network.full_table(x)) - np.log2(shorter / given)
    change = np.where(np.isfinite(change), change, 0.0)
    rest = np.maximum(1 - prior, 1e-300)
    contrast = change - ((change @ prior)[..., None] - change * prior) / rest
    return float((joint.sum(axis=-1, keepdims=True) * prior * np.abs(contrast)).sum())
