"""The weights of a spectrum: terms of rows that are left out of counts, trees and scores, and the mixture with single terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels import run_parallel
from naivete._kernels.boosting import Boosting
from naivete._kernels.codes import Bools, Numbers, missing
from naivete._kernels.contexts import LeftOut
from naivete.cases.base import Block
from naivete.cases.memory import MemoryCases
from naivete.cases.sample import Sample
from naivete.counts.counts import Counts
from naivete.inference.spectrum_terms import counted_terms, log_normalized, log_prior, structure_terms, write_scores
from naivete.learners.boosted import cross_fitted_boosting
from naivete.learners.folds import Folds, folds_of
from naivete.learners.left_out_score import LeftOutScore, report_score, score_of, scores_wanted
from naivete.learners.linear import cross_fitted_linear
from naivete.learners.spectrum_structures import Columns, columns_of, counted_structures, mdl_bins
from naivete.learners.weighting import fitted_weights, mixture_shares, temperature
from naivete.network.spectrum import DEPTHS_OF_TREES, Boosted, Linear, Mixture, Spectrum
from naivete.variables import CLASS, Variables

__all__ = ["CrossFitted", "cross_fitted_scores", "weighted_spectrum"]

MIXTURE_ROWS = 2000
"""The most cases to which the shares of the mixture are fitted."""
FOLD_STEPS = 60
"""The most steps of fitting weights without a fold."""
PSEUDO_CASES, PSEUDO_CASES_OF_PRIOR = 0.5, 0.2
"""The pseudo-counts of the shares of the mixture: for each term, and for the class frequencies."""
PENALTY, FEATURE_PENALTY = 5.0, 20.0
"""The penalties of the weights of terms, and of those of single features."""
TEMPERATURE_PENALTY = 2.0
"""The penalty of the temperature of a single term."""
FEW_CASES = 4
"""For each numeric feature, where the main structure alone is learned with cut points out of fold."""
HELD_OUT_TOGETHER = 2
"""The number of folds that are left out together where cut points are learned without a fold."""
OUT_OF_FOLD_ROWS = 2000
"""With more cases, cut points that are chosen by the classes of all of them hardly fit them better than other cases."""


class CrossFitted(NamedTuple):
    """Scores of the classes that are learned from a sample without counts.

    Parameters
    ----------
    linear, boosted : the scores learned from all cases; `boosted` is None if there are no trees.
    scores : those of the rows of the folds, each learned without its fold: the linear ones, then those of the trees, if any.
    """

    linear: Linear
    boosted: Boosted | None
    scores: list[Numbers]


def cross_fitted_scores(
    variables: Variables, features: Sequence[int], cases: Sample, sample: Sample, folds: Folds, boosting: int, seed: int
) -> CrossFitted:
    """Return the linear scores, learned from `sample`, and the boosted trees, learned from `cases`.

    Parameters
    ----------
    variables, features : the variables, the class last, and the features that are used.
    cases, sample, folds : the cases, the first of them, and the rows of these with the folds they are in.
    boosting : the most boosted trees for each class, 0 for none.
    seed : draws the features of the trees.
    """
    linear, linear_scores = cross_fitted_linear(variables, features, sample, folds)
    if not boosting:
        return CrossFitted(linear, None, [linear_scores])
    parts = folds_of(cases, folds.share.shape[1])
    boosted, scores = cross_fitted_boosting(variables, features, cases, parts, Boosting(boosting), np.random.default_rng([seed, 1]))
    return CrossFitted(linear, boosted, [linear_scores, scores[: len(folds.case)]])


def weighted_spectrum(
    result: Spectrum,
    columns: Columns,
    sample: Sample,
    folds: Folds,
    grown_on: Sequence[Sequence[Bools]],
    scores: CrossFitted,
    *,
    mixture: bool,
) -> Spectrum:
    """Return the spectrum with linear scores, boosted trees, and weights fitted to the terms of the rows of the folds.

    Each row is left out of its own counts; trees and linear scores are those that were learned without its fold.

    Parameters
    ----------
    result : the counts.
    columns : what bins of all cases are made from.
    sample, folds : the cases, and the rows of the sample with the folds they are in.
    grown_on : for each tree of each group the rows on which it was grown.
    scores : the scores that are learned from the sample.
    mixture : whether the result is mixed with its best single terms.
    """
    labels, weight = sample.labels[folds.case], folds.weight
    codes = tuple(column[folds.case] for column in sample.codes)
    result = replace(result, linear=scores.linear, boosted=scores.boosted)
    slices = result.slices
    terms = counted_terms(result, codes, LeftOut(labels, sample.left_out[folds.case]), grown_on, more=len(scores.scores))
    if _cuts_depend_on_the_sample(result, columns, sample):
        _hold_out_cuts(terms, result, sample, folds)
    write_scores(terms, scores.scores)
    number, feature_terms = terms.shape[2], range(*slices.features.indices(terms.shape[2]))
    penalties = np.full(number, PENALTY)
    penalties[slices.features] = FEATURE_PENALTY
    fits = _temperatures(terms, labels, weight, [j for j in range(number) if j not in feature_terms])
    best, factor = _best_term(fits, list(fits))
    start = np.zeros(number)
    start[best] = factor
    mixed = mixture and bool(result.members)
    held_out = mixed or scores_wanted()
    (coefficients, intercepts), *without_folds = _fitted(terms, labels, folds, penalties, start, held_out=held_out)
    result = replace(result, coefficients=coefficients, intercepts=intercepts)
    if scores_wanted():
        report_score(_held_out_score(result, terms, sample, folds, without_folds))
    if not mixed:
        return result
    trees = range(slices.trees.start, slices.trees.stop)
    group = len(DEPTHS_OF_TREES) + 1  # the terms of a group of trees; the last two are its leaves and the mean posterior
    candidates = [
        range(slices.main.stop),
        [j for j in trees if (j - trees.start) % group >= group - 2],
        [slices.linear.start],
        range(slices.boosted.start, slices.boosted.stop),
    ]
    singles = [_best_term(fits, positions) for positions in candidates if positions]
    likelihoods = _held_out_likelihoods(result, terms, sample, folds, without_folds, singles)
    pseudo_cases = [*[PSEUDO_CASES] * (1 + len(singles)), PSEUDO_CASES_OF_PRIOR]
    shares = mixture_shares(likelihoods, weight[: len(likelihoods)], pseudo_cases)
    return replace(result, mixture=Mixture(shares, tuple(t for t, _ in singles), tuple(f for _, f in singles)))


def _cuts_depend_on_the_sample(result: Spectrum, columns: Columns, sample: Sample) -> bool:
    """Whether there are so few cases that cut points fit their classes noticeably better than those of other cases.

    With one structure, which should be learned fast, this is assumed only if there are at most `FEW_CASES` cases for each numeric
    feature.
    """
    numeric = sum(columns.numeric[x] for x in result.informative)
    most = OUT_OF_FOLD_ROWS if result.members else FEW_CASES * numeric
    complete = sample.weight.sum() >= (1 - 1e-9) * result.class_weights.sum()  # sums of fractions differ by rounding errors
    return numeric > 0 and len(sample.labels) <= most and bool(complete)


def _hold_out_cuts(terms: Numbers, result: Spectrum, sample: Sample, folds: Folds) -> None:
    """Replace the terms of the main structure by those with cut points that are learned without the cases of each row's fold.

    The counts are those of all cases but the row, and the parents the same, as before.
    """
    number = folds.share.shape[1]
    parts = [range(k, min(k + HELD_OUT_TOGETHER, number)) for k in range(0, number, HELD_OUT_TOGETHER)]
    weights = [sample.weight * (1 - folds.share[:, list(part)].sum(axis=1)) for part in parts]
    bins = mdl_bins([columns_of(_sample_counts(result, sample, weight)) for weight in weights])
    plans = [(chosen, result.main.parents) for chosen in bins]
    structures, _ = counted_structures(_sample_counts(result, sample, sample.weight), plans, result.main.rule)
    for part, structure in zip(parts, structures, strict=True):
        rows = np.flatnonzero(np.isin(folds.fold, part))
        cases = folds.case[rows]
        left_out = LeftOut(sample.labels[cases], sample.left_out[cases])
        codes = tuple(column[cases] for column in sample.codes)
        depths, feature_terms = structure_terms(result, structure, codes, left_out, result.features)
        terms[rows, :, result.slices.main], terms[rows, :, result.slices.features] = depths, feature_terms


def _sample_counts(result: Spectrum, sample: Sample, weight: Numbers) -> Counts:
    """Return the counts of the cases of a sample that have a weight."""
    used = np.flatnonzero(weight)
    codes = tuple(column[used] for column in sample.codes)
    has_missing = np.array([bool(missing(column).any()) for column in codes])
    block = Block((*codes, sample.labels[used]), None if (weight[used] == 1).all() else weight[used])
    return Counts(MemoryCases(result.variables, block, has_missing))


def _fitted(
    terms: Numbers, labels: NDArray[np.uint32], folds: Folds, penalties: Numbers, start: Numbers, *, held_out: bool
) -> list[tuple[Numbers, Numbers]]:
    """Return the coefficients and intercepts fitted to all rows, and if wanted those fitted to some rows without each fold."""
    rows = min(MIXTURE_ROWS, len(folds.case))

    def fit(fold: int | None) -> tuple[Numbers, Numbers]:
        if fold is None:
            return fitted_weights(terms, labels, folds.weight, penalties, start)
        train = np.flatnonzero(folds.fold[:rows] != fold)
        if not len(train):
            return start, np.zeros(terms.shape[1])
        return fitted_weights(terms[train], labels[train], folds.weight[train], penalties, start, FOLD_STEPS)

    tasks = [None, *range(folds.share.shape[1] if held_out else 0)]
    return run_parallel(fit, tasks, 10.0 * terms.size)


def _held_out_likelihoods(
    result: Spectrum,
    terms: Numbers,
    sample: Sample,
    folds: Folds,
    without_folds: Sequence[tuple[Numbers, Numbers]],
    singles: Sequence[tuple[int, float]],
) -> Numbers:
    """Return P(label) of some rows by the weighted terms without their fold, by single terms, and by the class frequencies."""
    rows = min(MIXTURE_ROWS, len(folds.case))
    labels = sample.labels[folds.case[:rows]]
    likelihoods = np.empty((rows, len(singles) + 2))
    for fold, (coefficients, intercepts) in enumerate(without_folds):
        test = np.flatnonzero(folds.fold[:rows] == fold)
        logits = np.einsum("rct,t->rc", terms[test], coefficients) + intercepts
        likelihoods[test, 0] = np.exp(log_normalized(logits))[np.arange(len(test)), labels[test]]
    for j, (term, factor) in enumerate(singles, start=1):
        posterior = np.exp(log_normalized(factor * terms[:rows, :, term]))
        likelihoods[:, j] = posterior[np.arange(rows), labels]
    left_out = LeftOut(labels, sample.left_out[folds.case[:rows]])
    likelihoods[:, -1] = np.exp(log_prior(result, rows, left_out))[np.arange(rows), labels]
    return likelihoods


def _held_out_score(
    result: Spectrum, terms: Numbers, sample: Sample, folds: Folds, without_folds: Sequence[tuple[Numbers, Numbers]]
) -> LeftOutScore | None:
    """Return how well some rows are predicted by their terms, weighted without their fold; the mixture is fitted to these rows."""
    rows = min(MIXTURE_ROWS, len(folds.case))
    cases = folds.case[:rows]
    labels, left_out = sample.labels[cases], sample.left_out[cases]
    prior = np.exp(log_prior(result, rows, LeftOut(labels, left_out)))
    posteriors = np.empty_like(prior)
    for fold, (coefficients, intercepts) in enumerate(without_folds):
        test = np.flatnonzero(folds.fold[:rows] == fold)
        posteriors[test] = np.exp(log_normalized(np.einsum("rct,t->rc", terms[test], coefficients) + intercepts))
    return score_of(posteriors, prior, labels.astype(np.int64), folds.weight[:rows], left_out, result.variables[CLASS].states)


def _temperatures(
    terms: Numbers, labels: NDArray[np.uint32], weight: Numbers, positions: Sequence[int]
) -> dict[int, tuple[float, float]]:
    """Return the best temperature of each of some terms, and its loss."""
    work = 50.0 * terms[:, :, 0].size * len(positions)
    fits = run_parallel(lambda j: temperature(terms[:, :, j], labels, weight, TEMPERATURE_PENALTY), positions, work)
    return dict(zip(positions, fits, strict=True))


def _best_term(fits: Mapping[int, tuple[float, float]], candidates: Sequence[int]) -> tuple[int, float]:
    """Return the candidate that has the smallest loss at its best temperature, and this temperature."""
    best = min(candidates, key=lambda j: (fits[j][1], j))
    return best, fits[best][0]
