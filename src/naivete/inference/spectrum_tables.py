"""The probabilities of a spectrum in all contexts and all nodes of its trees, computed once for the prediction of many rows."""

from __future__ import annotations

from dataclasses import dataclass

from naivete._kernels.context_tables import FamilyRecords, context_tables
from naivete._kernels.threads import run_parallel
from naivete._kernels.trees import TreeTables, tree_tables
from naivete.network.spectrum import Member, Spectrum

__all__ = ["SpectrumTables", "are_worthwhile", "spectrum_tables"]

CELLS_PER_STEP = 4
"""How many cells of a table can be computed in the time in which a row is looked up in one context without tables."""
LARGEST = 1 << 29
"""The most bytes of the tables of a spectrum; a model that needs more predicts from its counts."""


@dataclass(frozen=True, eq=False)
class SpectrumTables:
    """What is prepared for the prediction of rows, so that it is not done for each call.

    Parameters
    ----------
    main, members : the families of the structures, with their tables where these are made and not too sparse.
    trees : for each group the tables of its trees, None where they are not made.
    """

    main: FamilyRecords
    members: list[FamilyRecords]
    trees: list[list[TreeTables] | None]


def are_worthwhile(spectrum: Spectrum, rows: int) -> bool:
    """Return whether tables are not too large and so many rows are predicted faster with them, the time of making them included."""
    families = [family for structure in (spectrum.main, *spectrum.members) for family in structure.families]
    cells = sum(int(f.tree.sizes[:, 0].sum()) * f.tree.cards[-2] for f in families)
    steps = sum(len(f.tree.sizes) for f in families)
    return rows * steps * CELLS_PER_STEP >= cells and 8 * cells * spectrum.classes <= LARGEST


def spectrum_tables(spectrum: Spectrum, *, tables: bool) -> SpectrumTables:
    """Prepare the prediction of rows, with tables of probabilities for many of them."""
    total, states = float(spectrum.class_weights.sum()), [variable.card for variable in spectrum.variables[:-1]]

    def of(structure: Member) -> FamilyRecords:
        if not tables:
            return FamilyRecords(structure.families, total)
        work = sum(int(family.tree.sizes[:, 2].sum()) for family in structure.families)
        known = run_parallel(lambda family: context_tables(family, total, structure.rule), structure.families, work)
        return FamilyRecords(structure.families, total, known)

    groups = [[(tree.nodes, tree.weights) for tree in group] for group in spectrum.trees]
    trees = [
        tree_tables(states, pairs, group[0].m) if group and tables else None
        for group, pairs in zip(spectrum.trees, groups, strict=True)
    ]
    return SpectrumTables(of(spectrum.main), [of(member) for member in spectrum.members], trees)
