"""The probabilities of a spectrum in all contexts and all nodes of its trees, computed once for the prediction of many rows."""

from __future__ import annotations

from dataclasses import dataclass

from naivete._kernels.context_tables import ContextTables, context_tables
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
    """The tables of a spectrum.

    Parameters
    ----------
    main, members : for each family of the structures its tables, None where they are too sparse.
    trees : for each group the tables of its trees.
    """

    main: list[ContextTables | None]
    members: list[list[ContextTables | None]]
    trees: list[list[TreeTables] | None]


def are_worthwhile(spectrum: Spectrum, rows: int) -> bool:
    """Return whether tables are not too large and so many rows are predicted faster with them, the time of making them included."""
    families = [family for structure in (spectrum.main, *spectrum.members) for family in structure.families]
    cells = sum(int(f.tree.sizes[:, 0].sum()) * f.tree.cards[-2] for f in families)
    steps = sum(len(f.tree.sizes) for f in families)
    return rows * steps * CELLS_PER_STEP >= cells and 8 * cells * spectrum.classes <= LARGEST


def spectrum_tables(spectrum: Spectrum) -> SpectrumTables:
    """Compute the tables of a spectrum."""
    total, states = float(spectrum.class_weights.sum()), [variable.card for variable in spectrum.variables[:-1]]

    def of(structure: Member) -> list[ContextTables | None]:
        work = sum(int(family.tree.sizes[:, 2].sum()) for family in structure.families)
        return run_parallel(lambda family: context_tables(family, total, structure.rule), structure.families, work)

    groups = [[(tree.nodes, tree.weights) for tree in group] for group in spectrum.trees]
    trees = [tree_tables(states, pairs, group[0].m) if group else None for group, pairs in zip(spectrum.trees, groups, strict=True)]
    return SpectrumTables(of(spectrum.main), [of(member) for member in spectrum.members], trees)
