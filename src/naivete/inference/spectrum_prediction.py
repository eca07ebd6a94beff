"""Posteriors of a spectrum without its single terms: only their weighted sum and the terms of the mixture are computed."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import numpy as np

from naivete._kernels.codes import Numbers
from naivete._kernels.layout import Codes
from naivete._kernels.spectrum import (
    BoostedTerms,
    ForestTerms,
    LinearTerms,
    MixtureTerms,
    PosteriorKernel,
    StructureTerms,
    can_be_numbered,
)
from naivete.network.spectrum import DEPTHS_OF_TREES, Member, Spectrum

__all__ = ["SpectrumPosterior", "has_kernel", "posterior_kernel", "prior_of"]

PAIRS_PER_STEP = 1
"""For how many values in contexts the tables can be made in the time in which a row is looked up in one context without tables."""
NODES_PER_TREE = 4
"""For how many nodes the tables can be made in the time in which a row descends a tree without tables."""
LARGEST = 1 << 29
"""The most bytes of the tables of a spectrum; a model that needs more predicts from its counts."""


class SpectrumPosterior:
    """P(class | row) of a spectrum, by the compiled kernels.

    Tables are made as soon as enough rows were predicted, in one or in several calls, for tables to save time. They do not change
    the result. Calls for a single row are not counted, so that none of them takes long.

    Parameters
    ----------
    spectrum : the model.

    Attributes
    ----------
    has_tables : whether there are tables of contexts, and of trees.
    """

    def __init__(self, spectrum: Spectrum) -> None:
        self.kernel = posterior_kernel(spectrum)
        families = [family for structure in (spectrum.main, *spectrum.members) for family in structure.families]
        self._steps = sum(len(family.tree.sizes) for family in families)
        self._pairs = sum(int(family.tree.sizes[:, 2].sum()) for family in families)
        contexts = sum(int(family.tree.sizes[:, 0].sum()) * (family.tree.cards[-2] + 4) for family in families)
        trees = [tree for group in spectrum.trees for tree in group]
        self._trees, self._nodes = len(trees), sum(len(tree.nodes) for tree in trees)
        self._wants_context_tables = 8 * (self._pairs * spectrum.classes + contexts) <= LARGEST
        self._wants_tree_tables = 24 * self._nodes * spectrum.classes <= LARGEST
        self.has_tables = False, False
        self._rows, self._lock = 0, Lock()

    def __call__(self, codes: Codes) -> Numbers:
        """Return the posteriors of rows.  # (row, class)"""
        if len(codes[0]) > 1 and (self._wants_context_tables or self._wants_tree_tables):
            with self._lock:
                self._add_tables(len(codes[0]))
        return self.kernel.posterior(codes)

    def _add_tables(self, rows: int) -> None:
        """Make the tables that save time, now that more rows are predicted."""
        self._rows += rows
        if self._wants_context_tables and self._rows * self._steps * PAIRS_PER_STEP >= self._pairs:
            self.kernel.add_context_tables()
            self._wants_context_tables, self.has_tables = False, (True, self.has_tables[1])
        if self._wants_tree_tables and self._rows * self._trees * NODES_PER_TREE >= self._nodes:
            self.kernel.add_tree_tables()
            self._wants_tree_tables, self.has_tables = False, (self.has_tables[0], True)


def has_kernel(spectrum: Spectrum) -> bool:
    """Return whether the compiled kernels can predict rows of a spectrum: its trees are not too large for them."""
    boosted = np.empty(0, np.int64) if spectrum.boosted is None else np.diff(spectrum.boosted.trees.starts)
    nodes = [*(len(tree.nodes) for group in spectrum.trees for tree in group), int(boosted.max(initial=0))]
    return can_be_numbered(nodes, len(spectrum.variables))


def posterior_kernel(spectrum: Spectrum) -> PosteriorKernel:
    """Return the kernel with the terms of a spectrum, without tables."""
    slices, weights, classes = spectrum.slices, spectrum.coefficients, spectrum.classes
    single = () if spectrum.mixture is None else spectrum.mixture.terms
    prior = np.log(prior_of(spectrum))
    constant = np.zeros((1 + len(single), classes))
    constant[0] = spectrum.intercepts + (weights[slices.members].sum() + weights[slices.main].sum()) * prior
    for channel, term in enumerate(single, 1):
        constant[channel] = prior if term < slices.main.stop else 0.0

    def channel_of(term: int) -> int:
        return single.index(term) + 1 if term in single else 0

    structures = _structure_terms(spectrum, spectrum.main, slices.main, single)
    for member in spectrum.members:
        structures += _structure_terms(spectrum, member, slices.members, single, share=1 / len(spectrum.members))
    forests, column = [], slices.trees.start
    for group in filter(None, spectrum.trees):
        depths = slice(column, column + len(DEPTHS_OF_TREES))
        channel, chosen = _channel(single, depths)
        sets = np.vstack([weights[depths], chosen])
        trees = [(tree.nodes, tree.weights) for tree in group]
        forests.append(ForestTerms(trees, group[0].m, sets, channel, float(weights[depths.stop]), channel_of(depths.stop)))
        column = depths.stop + 1
    linear, boosted = slices.linear.start, slices.boosted.start
    return PosteriorKernel(
        [variable.card for variable in spectrum.variables[:-1]],
        spectrum.complete,
        constant,
        structures,
        forests,
        LinearTerms(
            spectrum.informative, spectrum.linear.tables, spectrum.linear.intercepts, float(weights[linear]), channel_of(linear)
        ),
        None
        if spectrum.boosted is None
        else BoostedTerms(spectrum.boosted.trees, spectrum.boosted.base, float(weights[boosted]), channel_of(boosted)),
        DEPTHS_OF_TREES,
        None
        if spectrum.mixture is None
        else MixtureTerms(np.array(spectrum.mixture.shares), np.array(spectrum.mixture.temperatures), prior_of(spectrum)),
        spectrum.informative,
        spectrum.class_weights / spectrum.class_weights.sum(),
    )


def prior_of(spectrum: Spectrum) -> Numbers:
    """Return (n_c + 1/2) / (n + K/2) of each class."""
    weights = spectrum.class_weights + 0.5
    return np.asarray(weights / weights.sum())


def _channel(single: Sequence[int], terms: slice) -> tuple[int, Numbers]:
    """Return the channel of a single term that is among some terms, and its weights; 0 and none if there is no such term."""
    for channel, term in enumerate(single, 1):
        if terms.start <= term < terms.stop:
            return channel, np.eye(terms.stop - terms.start)[term - terms.start : term - terms.start + 1]
    return 0, np.empty((0, terms.stop - terms.start))


def _structure_terms(
    spectrum: Spectrum, structure: Member, terms: slice, single: Sequence[int], share: float = 1.0
) -> list[StructureTerms]:
    """Return the terms of a structure, and its single term; those of the features are terms of the main structure at depth 0."""
    weights = np.repeat(share * spectrum.coefficients[None, terms], len(structure.parents), axis=0)  # (family, depth)
    if structure is spectrum.main:
        weights[list(spectrum.features), 0] += spectrum.coefficients[spectrum.slices.features]
    channel, chosen = _channel(single, terms)
    sets = [(weights, 0)]
    if channel:  # the weights of larger depths are zero
        depth = int(chosen[0].argmax())
        sets.append((np.repeat(share * chosen[:, : depth + 1], len(structure.parents), axis=0), channel))
    total = float(spectrum.class_weights.sum())
    return [StructureTerms(structure.families, total, structure.bins, structure.rule, *part) for part in sets]
