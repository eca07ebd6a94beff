"""Learn a spectrum: structures with all depths of dependence and trees from counts, weighted by leave-one-out.

The passes over the rows: one counts all pairs of features, one draws the sample on which weights are fitted, one counts the
contexts of all structures and the leaves of trees.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels import run_parallel
from naivete._kernels.boosting import Boosting
from naivete._kernels.codes import Bools, Integers, Numbers, missing, missing_code, narrowest
from naivete._kernels.contexts import BackOff, LeftOut, binned
from naivete._kernels.trees import Growth, grow_tree
from naivete.cases.base import Block
from naivete.cases.memory import MemoryCases
from naivete.cases.sample import Sample, sampled
from naivete.cases.views import transformed_cases
from naivete.counts.contexts import LARGEST, ContextCounts, ContextRequest, TreeRequest, context_counts, node_weights
from naivete.counts.counts import Counts
from naivete.counts.information import dependence, relevance
from naivete.encoding.discretization import mdl
from naivete.inference.spectrum_terms import log_normalized, log_prior, spectrum_terms, structure_terms
from naivete.learners.boosted import cross_fitted_boosting
from naivete.learners.folds import Folds, folds_of
from naivete.learners.linear import cross_fitted_linear
from naivete.learners.weighting import fitted_weights, mixture_shares, temperature
from naivete.network.spectrum import Bins, Linear, Member, Mixture, Spectrum, Tree
from naivete.variables import CLASS, Variable, Variables

__all__ = ["SpectrumSettings", "binned_counts", "family_request", "spectrum"]

PAIR_BINS = 8
"""The number of intervals of a numeric feature when all pairs of features are counted."""
MEMBER_BINS = (4, 24)
"""The fewest and the most intervals of a numeric feature in a member."""
TREE_GROUPS: tuple[tuple[float, float | None, bool], ...] = ((1.0, None, True), (0.3, 0.5, False))
"""For each group of trees the weight of the parent's estimate, the share of the features drawn at each node (None: their square
root), and whether nodes are split even if that does not predict left-out cases better."""
FOLDS = 5
"""The parts of the sample in cross-validation."""
FOLDS_OF_TREE = 3
"""The number of folds on which a tree is grown; the others are predicted by it when weights are fitted."""
DEEPEST = 30
WIDE = 100
"""With more features there are half as many members."""
MOST_TERMS = 256
MOST_CANDIDATES = 64
TREE_ROWS = 5000
MIXTURE_ROWS = 2000
FOLD_STEPS = 60
PSEUDO_CASES, PSEUDO_CASES_OF_PRIOR = 2.0, 0.2
PENALTY, FEATURE_PENALTY = 5.0, 20.0
TEMPERATURE_PENALTY = 5.0
OUT_OF_FOLD_ROWS = 2000
"""With more cases, cut points that are chosen by the classes of all of them hardly fit them better than other cases."""
RULE = BackOff()


@dataclass(frozen=True)
class SpectrumSettings:
    """How a spectrum is learned.

    Parameters
    ----------
    members : the number of structures; with 1 there is the main structure alone and no tree.
    trees : the number of trees.
    depth : the most parents of a feature, and the largest depth.
    sample : the most cases on which weights are fitted.
    boosting : the number of boosted trees for each class; two classes have one tree for both.
    mixture : whether the result is mixed with its best single terms, which helps where there are few cases.
    rule : how the probabilities in a context are estimated.
    seed : of the random choices.
    """

    members: int = 4
    trees: int = 64
    depth: int = 5
    sample: int = 5000
    boosting: int = 100
    mixture: bool = True
    rule: BackOff = RULE
    seed: int = 0


def spectrum(counts: Counts, settings: SpectrumSettings = SpectrumSettings()) -> Spectrum:  # noqa: B008
    """Return the spectrum of the cases.

    Parameters
    ----------
    counts : the counts of the cases. Numeric features should have many intervals, up to 254: structures join them to bins.
    settings : how it is learned.
    """
    random = np.random.default_rng(settings.seed)
    columns = _columns(counts)
    bits, pair_bits = _information(counts, columns)
    sample = sampled(counts.fold, [*columns.informative.tolist(), CLASS], settings.sample, settings.seed)
    order = _by_information(columns, bits)
    plans = [_main_plan(columns, bits, pair_bits, settings.depth)]
    ensemble = settings.members > 1 and len(order) > 0
    number = 0 if not ensemble else settings.members if len(order) <= WIDE else max(1, settings.members // 2)
    plans += [_drawn_member(columns, bits, pair_bits, settings.depth, i, random) for i in range(number)]
    folds = folds_of(sample, FOLDS)
    number = settings.trees if ensemble else 0
    trees, grown_on = _grown_trees(counts.variables, columns.informative, sample, folds, number, random)
    result = _counted(counts, plans, trees, order, settings)
    return _weighted(result, columns, sample, folds, grown_on, settings)


@dataclass(frozen=True, eq=False)
class _Columns:
    """What bins are made from.

    Parameters
    ----------
    margins : the weight of every code of each feature, and last of missing values, in each class.  # (code, class)
    quantiles : for numeric features the share of the cases below the middle of each code, None for nominal ones.
    informative : the features with more than one value, missing counted as a value.
    """

    margins: list[Numbers]
    quantiles: list[Numbers | None]
    informative: Integers

    def equal_frequency(self, number: int, offset: float) -> Bins:
        """Return bins of about equal weight, the first bound moved by a part of a bin; every state of a nominal feature."""
        codes = (_equal_frequency(q, number, offset) if q is not None else None for q in self.quantiles)
        return tuple(_all_codes(m) if table is None else table for m, table in zip(self.margins, codes, strict=True))

    def mdl(self) -> Bins:
        """Return the bins of the minimum description length principle; every state of a nominal feature."""
        pairs = zip(self.margins, self.quantiles, strict=True)
        return tuple(_all_codes(margin) if q is None else _mdl_bins(margin) for margin, q in pairs)


def _columns(counts: Counts) -> _Columns:
    tables = counts.margins()
    classes = tables[CLASS,].astype(np.float64)
    features = (tables[x, CLASS].astype(np.float64) for x in counts.features)
    margins = [np.vstack([table, np.maximum(classes - table.sum(axis=0), 0.0)]) for table in features]
    numeric = [counts.variables[x].cuts is not None for x in counts.features]
    quantiles = [_quantiles(margin) if is_numeric else None for margin, is_numeric in zip(margins, numeric, strict=True)]
    informative = [x for x, margin in enumerate(margins) if np.count_nonzero(margin.sum(axis=1)) > 1]
    return _Columns(margins, quantiles, np.array(informative, np.int64))


def _quantiles(margin: Numbers) -> Numbers:
    weight = margin[:-1].sum(axis=1)
    return np.asarray((np.cumsum(weight) - weight / 2) / max(float(weight.sum()), 1e-300))


def _equal_frequency(quantiles: Numbers, number: int, offset: float) -> NDArray[np.uint32]:
    bound = np.ceil(quantiles * number - offset)
    result = np.zeros(len(quantiles) + 1, np.uint32)
    np.cumsum(bound[1:] != bound[:-1], out=result[1:-1])
    result[-1] = result[-2] + 1
    return result


def _all_codes(margin: Numbers) -> NDArray[np.uint32]:
    return np.arange(len(margin), dtype=np.uint32)


def _mdl_bins(margin: Numbers) -> NDArray[np.uint32]:
    codes = np.arange(len(margin) - 1, dtype=np.float64)
    cuts = mdl(codes, margin[:-1])
    return np.append(np.searchsorted(np.array(cuts), codes), len(cuts) + 1).astype(np.uint32)


@dataclass(frozen=True, eq=False)
class _Binned:
    """Replaces the codes of features by their bins; missing values stay missing, or become a state of their own."""

    bins: Bins
    missing_as_state: bool

    def __call__(self, block: Block) -> Block:
        columns = []
        for column, table in zip(binned(block.codes[:-1], self.bins), self.bins, strict=True):
            top = int(table[-1])
            dtype = narrowest(top + self.missing_as_state)
            columns.append(np.where(column == top, top if self.missing_as_state else missing_code(dtype), column).astype(dtype))
        return Block((*columns, block.codes[CLASS]), block.weight)


def binned_counts(counts: Counts, bins: Bins, variables: Variables, *, missing_as_state: bool) -> Counts:
    """Return the counts of the cases with the bins of features instead of their codes."""
    has_missing = counts.cases.has_missing & (not missing_as_state)
    return counts.over(transformed_cases(counts.cases, variables, has_missing, _Binned(bins, missing_as_state)))


def _information(counts: Counts, columns: _Columns) -> tuple[Numbers, Numbers]:
    """Return I(X; C) of every feature and I(X; Y | C) of every pair in bits, with few bins and without their bias."""
    bins = columns.equal_frequency(PAIR_BINS, 0.0)
    variables = (*(Variable(x, tuple(range(int(table[-1]) + 1))) for x, table in enumerate(bins)), counts.variables[CLASS])
    view = binned_counts(counts, bins, variables, missing_as_state=True)
    return relevance(view, bias="corrected"), dependence(view, bias="corrected")


Parents = tuple[tuple[int, ...], ...]
Choice = Callable[[Numbers, int], Integers]
"""Weights of the earlier features and a number -> the positions of so many of them, the best first."""


def _strongest(weights: Numbers, number: int) -> Integers:
    return np.argsort(-weights, kind="stable")[:number]


def _structure(order: Integers, pair_bits: Numbers, depth: int, choice: Choice) -> Parents:
    """Return the parents of each feature: some of those before it in the order, the strongest first."""
    parents: list[tuple[int, ...]] = [()] * len(pair_bits)
    for i, x in enumerate(order.tolist()):
        weights = pair_bits[x, order[:i]]
        chosen = [j for j in choice(weights, depth).tolist() if weights[j] > 0]
        parents[x] = tuple(order[chosen].tolist())
    return tuple(parents)


def _by_information(columns: _Columns, bits: Numbers) -> Integers:
    return columns.informative[np.argsort(-bits[columns.informative], kind="stable")]


def _main_plan(columns: _Columns, bits: Numbers, pair_bits: Numbers, depth: int) -> tuple[Bins, Parents]:
    """Return the bins and the parents of the main structure."""
    return columns.mdl(), _structure(_by_information(columns, bits), pair_bits, depth, _strongest)


def _drawn_member(
    columns: _Columns, bits: Numbers, pair_bits: Numbers, depth: int, index: int, random: np.random.Generator
) -> tuple[Bins, Parents]:
    """Return random bins and a random structure, in which informative features tend to come first.

    The parents are the strongest earlier features in members of even index, and drawn in proportion to their information in others.
    """
    bins = columns.equal_frequency(int(random.integers(MEMBER_BINS[0], MEMBER_BINS[1] + 1)), float(random.random()))
    order = columns.informative[np.argsort(-_perturbed(bits[columns.informative], random))]

    def drawn(weights: Numbers, most: int) -> Integers:
        chosen = np.argsort(-_perturbed(weights, random))[:most]
        return chosen[np.argsort(-weights[chosen], kind="stable")]

    return bins, _structure(order, pair_bits, depth, _strongest if index % 2 == 0 else drawn)


def _perturbed(weights: Numbers, random: np.random.Generator) -> Numbers:
    """Return random keys: sorting by them draws without replacement in proportion to the weights."""
    return np.log(np.maximum(weights, 1e-12)) + random.gumbel(size=len(weights))


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
    tasks = []
    for i in range(number):
        group = i % len(TREE_GROUPS)
        used = random.permutation(FOLDS)[:FOLDS_OF_TREE]
        grown_on[group].append(np.isin(folds.fold, used) & (folds.case < rows))
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
    structures, tables = _counted_structures(counts, plans, settings.rule, [request for group in leaves for request in group])
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


def _counted_structures(
    counts: Counts, plans: Sequence[tuple[Bins, Parents]], rule: BackOff, leaves: Sequence[TreeRequest] = ()
) -> tuple[list[Member], Iterator[ContextCounts]]:
    """Return structures with their counts, made in one pass, and the counts of leaves of trees."""
    classes = counts.variables[CLASS].card
    plans = [(bins, _countable(bins, parents, classes)) for bins, parents in plans]
    families = [family_request((*parents[x], x), bins, classes) for bins, parents in plans for x in counts.features]
    tables = iter(context_counts(counts, [*families, *leaves]))
    return [_member(bins, parents, [next(tables) for _ in parents], classes, rule) for bins, parents in plans], tables


def _cards(bins: Bins) -> tuple[int, ...]:
    return tuple(int(table[-1]) + 1 for table in bins)


def _countable(bins: Bins, parents: Parents, classes: int) -> Parents:
    """Return the parents without the last ones of features whose tables would have too many cells to be numbered."""
    result = []
    for x, chosen in enumerate(parents):
        kept = list(chosen)
        while math.prod(_cards(tuple(bins[v] for v in (*kept, x)))) * classes > LARGEST and kept:
            kept.pop()
        result.append(tuple(kept))
    return tuple(result)


def family_request(members: tuple[int, ...], bins: Bins, classes: int) -> ContextRequest:
    """Return the request for the counts of a feature, the last member, in the contexts of its parents."""
    chosen = tuple(bins[v] for v in members)
    return ContextRequest(members, chosen, (*_cards(chosen), classes))


def _member(bins: Bins, parents: Parents, tables: Sequence[ContextCounts], classes: int, rule: BackOff) -> Member:
    keys, weights = tuple(table.keys for table in tables), tuple(table.weights for table in tables)
    return Member(bins, parents, keys, weights, classes, rule)


def _weighted(
    result: Spectrum,
    columns: _Columns,
    sample: Sample,
    folds: Folds,
    grown_on: Sequence[Sequence[Bools]],
    settings: SpectrumSettings,
) -> Spectrum:
    """Return the spectrum with linear scores and with weights fitted to the terms of the rows of the folds.

    Each row is left out of its own counts; trees and linear scores are those that were learned without its fold.
    """
    linear, scores = cross_fitted_linear(result.variables, result.informative, sample, folds)
    result = replace(result, linear=linear)
    boosted_scores = None
    if result.members and settings.boosting:
        random = np.random.default_rng([settings.seed, 1])
        boosting = Boosting(settings.boosting)
        boosted, boosted_scores = cross_fitted_boosting(result.variables, result.informative, sample, folds, boosting, random)
        result = replace(result, boosted=boosted)
    slices, labels, weight = result.slices, sample.labels[folds.case], folds.weight
    codes = tuple(column[folds.case] for column in sample.codes)
    terms = spectrum_terms(result, codes, LeftOut(labels, sample.left_out[folds.case]), grown_on)
    if _cuts_depend_on_the_sample(result, columns, sample):
        _hold_out_cuts(terms, result, sample, folds)
    terms[:, :, slices.linear.start] = log_normalized(scores)
    if boosted_scores is not None:
        terms[:, :, slices.boosted.start] = log_normalized(boosted_scores)
    number, own = terms.shape[2], range(*slices.features.indices(terms.shape[2]))
    penalties = np.full(number, PENALTY)
    penalties[slices.features] = FEATURE_PENALTY
    best, factor = _best_term(terms, labels, weight, [j for j in range(number) if j not in own])
    start = np.zeros(number)
    start[best] = factor
    coefficients, intercepts = fitted_weights(terms, labels, weight, penalties, start)
    result = replace(result, coefficients=coefficients, intercepts=intercepts)
    if not (settings.mixture and result.members):
        return result
    trees = range(slices.trees.start, slices.trees.stop)
    candidates = [
        range(slices.main.stop),
        [j for j in trees if (j - trees.start) % 5 >= 3],
        [slices.linear.start],
        range(slices.boosted.start, slices.boosted.stop),
    ]
    singles = [_best_term(terms, labels, weight, positions) for positions in candidates if positions]
    likelihoods = _held_out_likelihoods(result, terms, sample, folds, penalties, start, singles)
    pseudo_cases = [*[PSEUDO_CASES] * (1 + len(singles)), PSEUDO_CASES_OF_PRIOR]
    shares = mixture_shares(likelihoods, weight[: len(likelihoods)], pseudo_cases)
    return replace(result, mixture=Mixture(shares, tuple(t for t, _ in singles), tuple(f for _, f in singles)))


def _cuts_depend_on_the_sample(result: Spectrum, columns: _Columns, sample: Sample) -> bool:
    """Whether there are so few cases that cut points fit their classes noticeably better than those of other cases."""
    numeric = any(columns.quantiles[x] is not None for x in result.informative)
    return numeric and len(sample.labels) <= OUT_OF_FOLD_ROWS and bool(sample.weight.sum() >= result.class_weights.sum())


def _hold_out_cuts(terms: Numbers, result: Spectrum, sample: Sample, folds: Folds) -> None:
    """Replace the terms of the main structure by those with cut points that are learned without the cases of each row's fold.

    The counts are those of all cases but the row, and the parents the same, as before.
    """
    plans = []
    for fold in range(FOLDS):
        columns = _columns(_sample_counts(result, sample, sample.weight * (1 - folds.share[:, fold])))
        plans.append((columns.mdl(), result.main.parents))
    structures, _ = _counted_structures(_sample_counts(result, sample, sample.weight), plans, result.main.rule)
    for fold, structure in enumerate(structures):
        rows = np.flatnonzero(folds.fold == fold)
        cases = folds.case[rows]
        left_out = LeftOut(sample.labels[cases], sample.left_out[cases])
        codes = tuple(column[cases] for column in sample.codes)
        depths, own = structure_terms(result, structure, codes, left_out, result.features)
        terms[rows, :, result.slices.main], terms[rows, :, result.slices.features] = depths, own


def _sample_counts(result: Spectrum, sample: Sample, weight: Numbers) -> Counts:
    """Return the counts of the cases of a sample that have a weight."""
    used = np.flatnonzero(weight)
    codes = tuple(column[used] for column in sample.codes)
    has_missing = np.array([bool(missing(column).any()) for column in codes])
    block = Block((*codes, sample.labels[used]), None if (weight[used] == 1).all() else weight[used])
    return Counts(MemoryCases(result.variables, block, has_missing))


def _held_out_likelihoods(
    result: Spectrum,
    terms: Numbers,
    sample: Sample,
    folds: Folds,
    penalties: Numbers,
    start: Numbers,
    singles: Sequence[tuple[int, float]],
) -> Numbers:
    """Return P(label) of some rows by the weighted terms without their fold, by single terms, and by the class frequencies."""
    rows = min(MIXTURE_ROWS, len(folds.case))
    labels, fold, weight = sample.labels[folds.case[:rows]], folds.fold[:rows], folds.weight[:rows]
    likelihoods = np.empty((rows, len(singles) + 2))

    def held_out(k: int) -> None:
        train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        coefficients, intercepts = start, np.zeros(result.classes)
        if len(train):
            coefficients, intercepts = fitted_weights(terms[train], labels[train], weight[train], penalties, start, FOLD_STEPS)
        logits = np.einsum("rct,t->rc", terms[test], coefficients) + intercepts
        likelihoods[test, 0] = np.exp(log_normalized(logits))[np.arange(len(test)), labels[test]]

    run_parallel(held_out, range(FOLDS), 100.0 * rows * terms[0].size)
    for j, (term, factor) in enumerate(singles, start=1):
        posterior = np.exp(log_normalized(factor * terms[:rows, :, term]))
        likelihoods[:, j] = posterior[np.arange(rows), labels]
    left_out = LeftOut(labels, sample.left_out[folds.case[:rows]])
    likelihoods[:, -1] = np.exp(log_prior(result, rows, left_out))[np.arange(rows), labels]
    return likelihoods


def _best_term(terms: Numbers, labels: NDArray[np.uint32], weight: Numbers, candidates: Any) -> tuple[int, float]:
    """Return the term that has the smallest loss at its best temperature, and this temperature."""
    fits = {j: temperature(terms[:, :, j], labels, weight, TEMPERATURE_PENALTY) for j in candidates}
    best = min(fits, key=lambda j: (fits[j][1], j))
    return best, fits[best][0]
