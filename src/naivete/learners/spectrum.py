"""Learn a spectrum: structures with all depths of dependence and trees from counts, weighted by leave-one-out.

The passes over the rows: one draws the sample on which weights are fitted, one counts all pairs of features, one counts the
contexts of all structures and the leaves of trees.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from naivete._kernels import run_parallel
from naivete._kernels.codes import Bools, Integers
from naivete._kernels.contexts import ContextEstimate
from naivete._kernels.trees import Growth, grow_tree
from naivete.cases.sample import Sample, sampled
from naivete.counts.contexts import TreeRequest, node_weights
from naivete.counts.counts import Counts
from naivete.errors import ResourceError
from naivete.learners.boosted import WIDEST_OF_TREES
from naivete.learners.folds import Folds, folds_of
from naivete.learners.spectrum_structures import (
    Parents,
    bin_information,
    by_information,
    columns_of,
    counted_structures,
    drawn_plan,
    main_plan,
)
from naivete.learners.spectrum_weights import cross_fitted_scores, weighted_spectrum
from naivete.network.spectrum import DEPTHS_OF_TREES, Bins, Linear, Spectrum, Tree
from naivete.variables import CLASS, Variables

__all__ = ["SpectrumSettings", "spectrum"]

TREE_GROUPS: tuple[tuple[float, float | None, bool], ...] = ((1.0, None, True), (0.3, 0.5, False))
"""For each group of trees the weight of the parent's estimate, the share of the features drawn at each node (None: their square
root), and whether nodes are split even if that does not predict left-out cases better."""
FOLDS = 5
"""The parts of the sample in cross-validation."""
FOLDS_OF_TREE = 3
"""The number of folds on which a tree is grown; the others are predicted by it when weights are fitted."""
DEEPEST = 30
"""The largest depth of a tree."""
WIDE = 100
"""With more features there are half as many members."""
MOST_TERMS = 256
"""The most features, those with the most information about the class, that have a weight of their own."""
MOST_CANDIDATES = 64
"""The most features that are drawn at a node of a tree."""
TREE_ROWS = 5000
"""The most cases on which trees are grown."""
WEIGHT_ROWS = 5000
"""The most cases to which weights and linear scores are fitted."""
FEWEST_WEIGHT_ROWS = 500
"""With less room for terms than for this many cases, nothing is learned."""
RULE = ContextEstimate()


@dataclass(frozen=True)
class SpectrumSettings:
    """How a spectrum is learned.

    Parameters
    ----------
    members : the number of random structures beside the main one; with 1 there is the main structure alone and no tree.
    trees : the number of trees.
    depth : the most parents of a feature, and the largest depth.
    sample : the most cases from which boosted trees are learned, and at most `WEIGHT_ROWS` of them weights and linear scores.
    boosting : the most boosted trees for each class; two classes have one tree for both.
    mixture : whether the result is mixed with its best single terms, which helps where there are few cases.
    rule : how the probabilities in a context are estimated.
    seed : of the random choices.
    """

    members: int = 4
    trees: int = 64
    depth: int = 5
    sample: int = 10_000
    boosting: int = 100
    mixture: bool = True
    rule: ContextEstimate = RULE
    seed: int = 0


def spectrum(counts: Counts, settings: SpectrumSettings = SpectrumSettings()) -> Spectrum:
    """Return the spectrum of the cases.

    Parameters
    ----------
    counts : the counts of the cases. Numeric features should have many intervals, up to 254: structures join them to bins.
    settings : how it is learned.
    """
    columns, variables, seed = columns_of(counts), counts.variables, settings.seed
    informative = columns.informative
    ensemble = settings.members > 1 and len(informative) > 0
    boosting = settings.boosting if ensemble else 0
    most_cases = settings.sample if boosting else min(settings.sample, WEIGHT_ROWS)
    cases = sampled(counts.fold, [*informative.tolist(), CLASS], most_cases, seed)
    splittable = informative[np.array([variables[x].card < WIDEST_OF_TREES for x in informative.tolist()], bool)]
    trees = settings.trees if ensemble and len(splittable) else 0
    terms = _most_terms(settings.depth, len(informative), trees, ensemble=ensemble, boosted=boosting > 0)
    sample, folds = _weight_sample(cases, variables[CLASS].card, terms, 1 + ensemble, counts.budget)
    scores = cross_fitted_scores(variables, informative.tolist(), cases, sample, folds, boosting, seed)
    bits, pair_bits = bin_information(counts, columns)
    order = by_information(columns, bits)
    random = np.random.default_rng(seed)
    members = 0 if not ensemble else settings.members if len(order) <= WIDE else max(1, settings.members // 2)
    plans = [main_plan(columns, bits, pair_bits, settings.depth)]
    plans += [drawn_plan(columns, bits, pair_bits, settings.depth, i, random) for i in range(members)]
    nodes, grown_on = _grown_trees(variables, splittable, sample, folds, trees, random)
    result = _counted(counts, plans, nodes, order, settings)
    return weighted_spectrum(result, columns, sample, folds, grown_on, scores, mixture=settings.mixture)


def _most_terms(depth: int, features: int, trees: int, *, ensemble: bool, boosted: bool) -> int:
    """Return how many terms have a weight, as `Spectrum.term_names` lists them, before anything is counted."""
    groups = min(trees, len(TREE_GROUPS))
    return (depth + 1) * (1 + ensemble) + min(features, MOST_TERMS) + (len(DEPTHS_OF_TREES) + 1) * groups + 1 + boosted


def _weight_sample(cases: Sample, classes: int, terms: int, copies: int, budget: int) -> tuple[Sample, Folds]:
    """Return the cases to which weights are fitted, and their folds: as many as the budget allows for the terms of all classes.

    Parameters
    ----------
    cases : a sample of the cases.
    classes : the number of classes.
    terms : the number of terms.
    copies : how often the terms are stored: the mixture needs those without each fold too.
    budget : the most bytes that the terms may take. An error is raised if there is no room for `FEWEST_WEIGHT_ROWS`.
    """
    bytes_of_row, rows = 8 * classes * terms * copies, WEIGHT_ROWS
    while True:
        sample = cases.first(rows)
        folds = folds_of(sample, FOLDS)
        needed = bytes_of_row * len(folds.case)
        if needed <= budget:
            return sample, folds
        rows = len(sample.labels) * budget // needed
        if rows < FEWEST_WEIGHT_ROWS:
            fewest = min(FEWEST_WEIGHT_ROWS, len(sample.labels))
            raise ResourceError(
                f"the weights of the model are fitted to {terms:,} terms of {classes:,} classes in at least {fewest:,} cases, "
                f"which take {bytes_of_row * fewest:,} bytes; the budget is {budget:,} bytes: choose a classifier without weights "
                "such as SKDB, leave out features with little information about the class (see `relevance_` of NaiveBayes), or "
                "raise `budget=`"
            )


def _grown_trees(
    variables: Variables, features: Integers, sample: Sample, folds: Folds, number: int, random: np.random.Generator
) -> tuple[list[list[Integers]], list[list[Bools]]]:
    """Return the nodes of the trees of each group, each grown on some random folds, and which rows of the folds are in these."""
    rows = min(TREE_ROWS, len(sample.labels))
    states = [variables[x].card for x in features.tolist()]
    nominal = [variables[x].cuts is None for x in features.tolist()]
    codes = np.empty((len(features), rows), np.uint16)
    for i, x in enumerate(features.tolist()):
        codes[i] = np.minimum(sample.codes[x][:rows], states[i])
    classes = variables[CLASS].card
    grown_on: list[list[Bools]] = [[] for _ in TREE_GROUPS]
    among_rows = folds.case < rows
    tasks = []
    for i in range(number):
        group = i % len(TREE_GROUPS)
        used = random.permutation(FOLDS)[:FOLDS_OF_TREE]
        chosen = np.zeros(FOLDS, bool)
        chosen[used] = True
        grown_on[group].append(chosen[folds.fold] & among_rows)
        tasks.append((group, used, int(random.integers(2**62))))

    def grow(task: tuple[int, Integers, int]) -> Integers:
        group, used, seed = task
        weight = sample.weight[:rows] * folds.share[:rows, used].sum(axis=1)
        chosen = np.flatnonzero(weight)
        m, share, always = TREE_GROUPS[group]
        many = max(1, round(math.sqrt(len(features)) if share is None else share * len(features)))
        growth = Growth(m, min(many, MOST_CANDIDATES), DEEPEST, always=always, most=4 * len(chosen) + 600)
        nodes = grow_tree(codes[:, chosen], states, nominal, sample.labels[chosen], weight[chosen], classes, growth, seed)
        inner = nodes[:, 0] >= 0
        nodes[inner, 0] = features[nodes[inner, 0]]
        return nodes

    grown = run_parallel(grow, tasks, 100.0 * rows * number)
    groups: list[list[Integers]] = [[] for _ in TREE_GROUPS]
    for (group, _, _), nodes in zip(tasks, grown, strict=True):
        groups[group].append(nodes)
    return groups, grown_on


def _counted(
    counts: Counts,
    plans: Sequence[tuple[Bins, Parents]],
    trees: Sequence[Sequence[Integers]],
    order: Integers,
    settings: SpectrumSettings,
) -> Spectrum:
    """Return the spectrum with all counts, made in one pass, and without weights; `order` are the informative features."""
    classes = counts.variables[CLASS].card
    states = counts.cards(counts.features)
    leaves = [[TreeRequest(nodes, states, classes) for nodes in group] for group in trees]
    structures, tables = counted_structures(counts, plans, settings.rule, [request for group in leaves for request in group])
    groups = [
        [Tree(request.nodes, node_weights(request, next(tables)), m) for request in group]
        for group, (m, _, _) in zip(leaves, TREE_GROUPS, strict=True)
    ]
    empty = Spectrum(
        variables=counts.variables,
        class_weights=counts.margins()[CLASS,].astype(np.float64),
        depth=settings.depth,
        main=structures[0],
        informative=tuple(np.sort(order).tolist()),
        features=tuple(np.sort(order[:MOST_TERMS]).tolist()),
        members=tuple(structures[1:]),
        trees=tuple(map(tuple, groups)),
        linear=Linear((), np.zeros(classes)),
        boosted=None,
        coefficients=np.empty(0),
        intercepts=np.zeros(classes),
    )
    return replace(empty, coefficients=np.zeros(len(empty.term_names)))
