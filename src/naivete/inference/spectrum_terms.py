"""The terms of a spectrum for rows of codes, with or without each row left out of the counts, and the posteriors they give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from naivete._kernels.codes import Bools, Integers, Numbers, missing
from naivete._kernels.contexts import FamilyRecords, LeftOut, context_logs
from naivete._kernels.dispatch import compiled
from naivete._kernels.layout import Codes
from naivete._kernels.trees import tree_posteriors
from naivete.inference.spectrum_prediction import SpectrumPosterior, has_kernel, prior_of
from naivete.network.spectrum import DEPTHS_OF_TREES, Member, Spectrum

__all__ = ["SpectrumPredictor", "counted_terms", "log_normalized", "log_prior", "spectrum_terms", "structure_terms", "write_scores"]

NUMBERS = 1 << 22
"""How many numbers the terms of a block of rows have at most: 32 MiB."""
LARGE = 1 << 24
"""Contexts of a structure that take more bytes are not kept after learning, but built again for the first prediction."""


def log_normalized(logs: Numbers) -> Numbers:
    """Return logarithms of probabilities that sum to 1 over the last axis."""
    top = logs.max(axis=-1, keepdims=True)
    return np.asarray(logs - top - np.log(np.exp(logs - top).sum(axis=-1, keepdims=True)))


def log_prior(spectrum: Spectrum, rows: int, left_out: LeftOut | None) -> Numbers:
    """Return log((n_c + 1/2) / (n + K/2)) for each row, without what is left out.  # (row, class)"""
    weights = np.repeat(spectrum.class_weights[None], rows, axis=0)
    if left_out is not None:
        weights[np.arange(rows), left_out.labels] -= left_out.weight
    weights = np.maximum(weights, 0.0) + 0.5
    return np.asarray(np.log(weights / weights.sum(axis=1, keepdims=True)))


def spectrum_terms(spectrum: Spectrum, codes: Codes, left_out: LeftOut | None = None) -> Numbers:
    """Return the terms of each row, in the order of `Spectrum`.  # (row, class, term)

    Parameters
    ----------
    spectrum : the model; its coefficients are not used.
    codes : one column for each feature.
    left_out : the class and weight of each row that is left out of all counts; by default nothing is.
    """
    rows = len(codes[0]) if left_out is None else len(left_out.labels)
    states = [variable.card for variable in spectrum.variables[:-1]]
    scores = [spectrum.linear.scores([codes[x] for x in spectrum.informative], rows)]
    if spectrum.boosted is not None:
        scores.append(spectrum.boosted.scores(codes, states, spectrum.complete, rows))
    result = counted_terms(spectrum, codes, left_out, more=len(scores))
    write_scores(result, scores)
    return result


def write_scores(terms: Numbers, scores: Sequence[Numbers]) -> None:
    """Write the last terms, which are log-posteriors, from scores of the classes."""
    for column, values in enumerate(scores, start=terms.shape[2] - len(scores)):
        terms[:, :, column] = log_normalized(values)


def counted_terms(
    spectrum: Spectrum,
    codes: Codes,
    left_out: LeftOut | None = None,
    grown_on: Sequence[Sequence[Bools]] = (),
    *,
    more: int,
) -> Numbers:
    """Return the terms of each row that come from counts, with room for those that do not.  # (row, class, term)

    Parameters
    ----------
    spectrum, codes, left_out : as for `spectrum_terms`.
    grown_on : for each tree of each group the rows on which it was grown; its posteriors of these rows are not used.
    more : the number of terms for which there is room at the end: those of the linear scores and of the boosted trees.
    """
    rows = len(codes[0]) if left_out is None else len(left_out.labels)
    slices = spectrum.slices
    result = np.empty((rows, spectrum.classes, slices.linear.start + more))
    if spectrum.members:
        mean = np.zeros((rows, spectrum.classes, spectrum.depth + 1))
        for member in spectrum.members:
            mean += structure_terms(spectrum, member, codes, left_out)[0]
            if left_out is not None:
                member.release(LARGE)  # while weights are learned, large contexts of one structure at a time are in memory
        result[:, :, slices.members] = mean / len(spectrum.members)
    logs, first = structure_terms(spectrum, spectrum.main, codes, left_out, spectrum.features)
    result[:, :, slices.main], result[:, :, slices.features] = logs, first
    states, column = [variable.card for variable in spectrum.variables[:-1]], slices.trees.start
    for i, group in enumerate(spectrum.trees):
        if group:
            used = ~np.stack(grown_on[i]) if grown_on else None
            trees = [(tree.nodes, tree.weights) for tree in group]
            logs, posterior = tree_posteriors(codes, states, spectrum.complete, trees, group[0].m, DEPTHS_OF_TREES, left_out, used)
            result[:, :, column : column + len(DEPTHS_OF_TREES)] = np.moveaxis(logs, 1, 2)
            result[:, :, column + len(DEPTHS_OF_TREES)] = np.log(posterior)
            column += len(DEPTHS_OF_TREES) + 1
    return result


def structure_terms(
    spectrum: Spectrum,
    structure: Member,
    codes: Codes,
    left_out: LeftOut | None = None,
    features: Sequence[int] = (),
) -> tuple[Numbers, Numbers]:
    """Return the log-posterior of each row at each depth of a structure, and log P(x | class) of some features.

    Parameters
    ----------
    spectrum : the model; only its prior, its depth and its number of classes are used.
    structure : the structure.
    codes, left_out : as for `spectrum_terms`.
    features : the features whose own terms are returned.

    Returns
    -------
    depths : (row, class, depth).
    feature_terms : (row, class, feature).
    """
    rows = len(codes[0]) if left_out is None else len(left_out.labels)
    prior = log_prior(spectrum, rows, left_out)
    families = FamilyRecords(structure.families, float(spectrum.class_weights.sum()))
    depths = np.empty((rows, spectrum.classes, spectrum.depth + 1))
    feature_terms = np.empty((rows, spectrum.classes, len(features)))
    for part in row_blocks(rows, spectrum.classes * (spectrum.depth + 1 + len(codes) * bool(features))):
        without = None if left_out is None else LeftOut(left_out.labels[part], left_out.weight[part])
        setting = structure.bins, families, spectrum.depth, spectrum.classes, structure.rule, prior[part], without
        logs, terms = context_logs([column[part] for column in codes], *setting, terms=bool(features))
        depths[part] = np.moveaxis(logs, 1, 2)
        if features:
            feature_terms[part] = np.moveaxis(terms[:, list(features)], 1, 2)
    return depths, feature_terms


def row_blocks(rows: int, numbers: int) -> Iterator[slice]:
    """Yield parts of the rows, so small that `numbers` numbers for each of their rows need little memory."""
    size = max(256, NUMBERS // max(numbers, 1))
    for start in range(0, rows, size):
        yield slice(start, min(start + size, rows))


class SpectrumPredictor:
    """Posterior probabilities of the classes of a spectrum.

    Parameters
    ----------
    spectrum : the model.
    """

    def __init__(self, spectrum: Spectrum) -> None:
        self.spectrum, self._has_kernel = spectrum, has_kernel(spectrum)
        self._compiled: SpectrumPosterior | None = None

    def posterior(self, codes: Codes, has_missing: Bools) -> tuple[Numbers, Integers]:  # noqa: ARG002
        """Return P(class | row), and the rows that have probability zero in every class: none.  # (row, class)

        A row in which every informative value is missing or never occurred in training gets the class frequencies.
        """
        if compiled() is None or not self._has_kernel:
            return self.posterior_by_terms(codes), np.empty(0, np.int64)
        if self._compiled is None:
            self._compiled = SpectrumPosterior(self.spectrum)
        return self._compiled(codes), np.empty(0, np.int64)

    def posterior_by_terms(self, codes: Codes) -> Numbers:
        """Return the same posteriors, but for rounding errors, from the single terms."""
        model, result = self.spectrum, np.empty((len(codes[0]), self.spectrum.classes))
        for part in row_blocks(len(result), model.classes * len(model.term_names)):
            result[part] = posterior_of_terms(model, spectrum_terms(model, [column[part] for column in codes]))
        observed = [~missing(codes[x]) for x in model.informative]
        unknown = ~np.logical_or.reduce(observed) if observed else np.ones(len(codes[0]), bool)
        result[unknown] = model.class_weights / model.class_weights.sum()
        return result


def posterior_of_terms(spectrum: Spectrum, terms: Numbers) -> Numbers:
    """Return the posteriors of rows from their terms."""
    logits = np.einsum("rct,t->rc", terms, spectrum.coefficients) + spectrum.intercepts
    result = np.exp(log_normalized(logits))
    if spectrum.mixture is not None:
        shares, single, temperatures = spectrum.mixture.shares, spectrum.mixture.terms, spectrum.mixture.temperatures
        result *= shares[0]
        for share, term, temperature in zip(shares[1:-1], single, temperatures, strict=True):
            result += share * np.exp(log_normalized(temperature * terms[:, :, term]))
        result += shares[-1] * prior_of(spectrum)
        result /= result.sum(axis=1, keepdims=True)
    return result
