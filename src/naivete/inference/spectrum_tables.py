"""The probabilities of a spectrum in all contexts and all nodes of its trees, computed once for the prediction of many rows."""

from __future__ import annotations

from dataclasses import dataclass

from naivete._kernels.context_tables import FamilyRecords, context_tables
from naivete._kernels.dispatch import compiled
from naivete._kernels.threads import run_parallel
from naivete._kernels.trees import TreeTables, tree_tables
from naivete.network.spectrum import Member, Spectrum

__all__ = ["PredictionTables", "SpectrumTables"]

CELLS_PER_STEP = 4
"""How many cells of a table can be computed in the time in which a row is looked up in one context without tables."""
NODES_PER_TREE = 2
"""For how many nodes the posteriors can be computed in the time in which a row descends a tree without tables."""
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


def tables_pay(spectrum: Spectrum, rows: int) -> bool:
    """Return whether tables are not too large and so many rows are predicted faster with them, the time of making them included."""
    families = [family for structure in (spectrum.main, *spectrum.members) for family in structure.families]
    cells = sum(int(f.tree.sizes[:, 0].sum()) * f.tree.cards[-2] for f in families)
    steps = sum(len(f.tree.sizes) for f in families)
    return rows * steps * CELLS_PER_STEP >= cells and 8 * cells * spectrum.classes <= LARGEST


def tree_tables_pay(spectrum: Spectrum, rows: int) -> bool:
    """Return the same for the tables of trees."""
    trees = [tree for group in spectrum.trees for tree in group]
    nodes = sum(len(tree.nodes) for tree in trees)
    return rows * len(trees) * NODES_PER_TREE >= nodes and 16 * nodes * spectrum.classes <= LARGEST


def family_records(spectrum: Spectrum, structure: Member, *, tables: bool) -> FamilyRecords:
    """Return the families of a structure, with tables of probabilities for many rows."""
    total = float(spectrum.class_weights.sum())
    if not tables:
        return FamilyRecords(structure.families, total)
    work = sum(int(family.tree.sizes[:, 2].sum()) for family in structure.families)
    known = run_parallel(lambda family: context_tables(family, total, structure.rule), structure.families, work)
    return FamilyRecords(structure.families, total, known)


def forest_tables(spectrum: Spectrum) -> list[list[TreeTables] | None]:
    """Return for each group of trees the posteriors in all nodes."""
    states = [variable.card for variable in spectrum.variables[:-1]]
    groups = [[(tree.nodes, tree.weights) for tree in group] for group in spectrum.trees]
    return [tree_tables(states, pairs, group[0].m) if group else None for group, pairs in zip(spectrum.trees, groups, strict=True)]


class PredictionTables:
    """Prepares the prediction of rows: what does not depend on them, and tables from the first call with many rows on.

    Parameters
    ----------
    spectrum : the model.
    """

    def __init__(self, spectrum: Spectrum) -> None:
        self.spectrum = spectrum
        self._structures: tuple[FamilyRecords, list[FamilyRecords]] | None = None
        self._trees: list[list[TreeTables] | None] | None = None
        self._has_tables = False

    def for_rows(self, rows: int) -> SpectrumTables | None:
        """Return what is prepared for so many rows; None with the NumPy kernels, for which nothing is."""
        if compiled() is None:
            return None
        model = self.spectrum
        many = not self._has_tables and tables_pay(model, rows)
        if self._structures is None or many:
            members = [family_records(model, member, tables=many) for member in model.members]
            self._structures, self._has_tables = (family_records(model, model.main, tables=many), members), many
        if self._trees is None and tree_tables_pay(model, rows):
            self._trees = forest_tables(model)
        return SpectrumTables(*self._structures, self._trees or [None] * len(model.trees))
