"""Checks of networks: structure, tables, densities and derived columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.errors import DataError, quoted
from naivete.network.compressed_rows import CompressedRows
from naivete.network.conditional_tables import SparseCpt
from naivete.network.densities import Kernel, Normal
from naivete.network.derived_columns import Hidden, check_derived
from naivete.network.graphs import Structure, topological
from naivete.variables import CLASS, Variables, check_unique

if TYPE_CHECKING:
    from naivete.network.network import Network

__all__ = ["check_network", "check_tables"]


def check_network(network: Network) -> None:
    """Raise an error if the parents, derived columns or densities do not fit the variables."""
    check_unique([v.name for v in network.variables], "network")
    _check_structure(network.variables, network.parents)
    _check_derived(network)
    _check_densities(network)


def check_tables(network: Network) -> None:
    """Raise an error if a table is missing, does not fit its family, or has rows that are no distributions."""
    for v in network.parents:
        _check_table(network, v)


def _check_structure(variables: Variables, structure: Structure) -> None:
    expected = {*range(len(variables) - 1), CLASS}
    if set(structure) != expected:
        raise DataError(
            f"network: parents are needed for each of {len(variables)} variables, class included; got {quoted(sorted(structure))}"
        )
    for v, parents in structure.items():
        if not expected.issuperset(parents):
            unknown = [p for p in parents if p not in expected]
            raise DataError(f"network: variable {quoted(variables[v].name)} has unknown parents {quoted(unknown)}")
        if v in parents or len(set(parents)) != len(parents):
            raise DataError(
                f"network: variable {quoted(variables[v].name)} is its own parent or has a parent twice: {quoted(parents)}"
            )
    ordered = set(topological(structure))
    if ordered != expected:
        raise DataError(f"network: the arcs form a cycle: {_cycle(variables, structure, expected - ordered)}")


def _cycle(variables: Variables, structure: Structure, unordered: set[int]) -> str:
    v, path = min(unordered), []
    while v not in path:
        path.append(v)
        v = next(p for p in structure[v] if p in unordered)
    return " <- ".join(str(variables[u].name) for u in [*path[path.index(v) :], v])


def _check_derived(network: Network) -> None:
    if set(network.derived) != set(network.features) - set(network.inputs):
        raise DataError(f"network: derived columns are the last features before the class, not {quoted(sorted(network.derived))}")
    if len(network.derived) > 1 and not all(isinstance(derived, Hidden) for derived in network.derived.values()):
        raise DataError("network: a derived column that is computed has to be the only one")
    for v, derived in network.derived.items():
        check_derived(derived, v, len(network.inputs), network.variables)


def _check_densities(network: Network) -> None:
    continuous = {x for x, variable in enumerate(network.variables[:CLASS]) if variable.density}
    for v, parents in network.parents.items() if continuous else ():
        if v not in continuous and not continuous.isdisjoint(parents):
            raise DataError(f"network: {quoted(network.variables[v].name)} is discrete but has a continuous parent")
    if set(network.densities) != continuous:
        raise DataError(f"network: densities are needed for the continuous features {quoted(sorted(continuous))}, and no others")
    for v, density in network.densities.items():
        _check_density(network, v, density, f"network: density of {quoted(network.variables[v].name)}")


def _check_density(network: Network, v: int, density: Normal, where: str) -> None:
    variables = network.variables
    continuous = [p for p in network.parents[v] if variables[p].density]
    shape = tuple(variables[m].card for m in network.family(v) if m != v and m not in continuous)
    slopes = density.slopes
    if (slopes is None) != (not continuous) or (slopes is not None and slopes.shape != (*shape, len(continuous))):
        raise DataError(
            f"{where} needs a slope for each of {len(continuous)} continuous parents in each configuration of the others"
        )
    if slopes is not None and not np.all(np.isfinite(slopes)):
        raise DataError(f"{where} has a slope that is not a finite number")
    if isinstance(density, Kernel) != variables[v].kernel or (isinstance(density, Kernel) and network.parents[v] != (CLASS,)):
        raise DataError(f"{where}: a kernel density is for a variable with kernel=True whose only parent is the class")
    if isinstance(density, Kernel):
        density.check(variables[CLASS].card, where)
    if density.means.shape != shape or density.variances.shape != shape:
        raise DataError(f"{where} has shapes {density.means.shape} and {density.variances.shape} where its parents have {shape}")
    if not (np.all(np.isfinite(density.means)) and np.all(np.isfinite(density.variances))):
        raise DataError(f"{where} has a mean or a variance that is not a finite number")
    if not density.variances.min(initial=1) > 0:
        raise DataError(f"{where} has a variance that is not above zero")


def _check_table(network: Network, v: int) -> None:
    cpt, members = network.cpts.get(v), network.family(v)
    where = f"network: table of {quoted(network.variables[v].name)}"
    if cpt is None:
        raise DataError(f"{where} is missing")
    shape = tuple(network.variables[m].card for m in members)
    if isinstance(cpt, SparseCpt):
        if cpt.parents != tuple(p for p in members if p not in (v, CLASS)) or members == (CLASS,):
            raise DataError(f"{where}: a sparse table needs the feature parents of its variable, got {cpt.parents}")
        _check_sparse(network, (network.variables[v].card, shape[-1] if CLASS in network.parents[v] else 1), cpt, where)
        return
    if cpt.shape != shape:
        raise DataError(f"{where} has shape {cpt.shape} where its family has {shape}")
    _check_sums(cpt, members.index(v), where)


def _check_sums(table: Numbers, axis: int, where: str) -> None:
    if not table.min(initial=0) >= 0 or not np.all(np.abs(table.sum(axis=axis) - 1) <= 1e-9):
        raise DataError(f"{where} has negative or non-finite entries, or rows that do not sum to 1")


def _check_sparse(network: Network, inner: tuple[int, int], cpt: SparseCpt, where: str) -> None:
    count = len(cpt.configurations)
    if cpt.configurations.shape != (count, len(cpt.parents)) or not _fits(cpt.rows, count, inner):
        raise DataError(f"{where}: the shapes of the sparse table do not agree with its family")
    if isinstance(cpt.rows, np.ndarray):
        _check_sums(cpt.rows, 1, where)
    if isinstance(cpt.default, SparseCpt):
        if not set(cpt.default.parents) < set(cpt.parents) or list(cpt.default.parents) != sorted(cpt.default.parents):
            raise DataError(f"{where}: a sparse table backs off to some of its own parents, not to {cpt.default.parents}")
        _check_sparse(network, inner, cpt.default, where)
    elif cpt.default.shape != inner:
        raise DataError(f"{where}: the shapes of the sparse table do not agree with its family")
    else:
        _check_sums(cpt.default, 0, where)
    _check_configurations(network, cpt, where)
    if isinstance(cpt.rows, CompressedRows):
        _check_compressed(cpt, cpt.rows, inner[0], where)


def _fits(rows: Numbers | CompressedRows, count: int, inner: tuple[int, int]) -> bool:
    """Whether the arrays of a sparse table have the shapes of its family."""
    if isinstance(rows, np.ndarray):
        return rows.shape == (count, *inner)
    entries, classes = rows.states.shape, inner[1]
    shapes = (rows.starts.shape, len(entries), rows.values.shape, rows.factors.shape)
    return shapes == ((count + 1,), 1, (*entries, classes), (count, classes))


def _check_compressed(cpt: SparseCpt, rows: CompressedRows, card: int, where: str) -> None:
    """Check the states, and that the distributions with the factors of all other states sum to one."""
    starts, states = rows.starts, rows.states
    if starts[0] != 0 or starts[-1] != len(states) or np.any(np.diff(starts) < 0):
        raise DataError(f"{where}: the states of the configurations do not follow one another")
    first = np.zeros(len(states) + 1, bool)
    first[starts] = True
    if np.any((states < 0) | (states >= card)) or np.any((states[1:] <= states[:-1]) & ~first[1:-1]):
        raise DataError(f"{where}: the states of a configuration are not in increasing order, or out of range")
    if not min(rows.values.min(initial=0), rows.factors.min(initial=0)) >= 0:
        raise DataError(f"{where} has negative or non-finite entries")
    configurations = cpt.configurations[rows.configuration]
    default = SparseCpt(cpt.configurations[:0], _no_rows(card, rows.values.shape[1]), cpt.default, cpt.parents)
    if not np.all(np.abs(rows.sums(default.probability(configurations, states)) - 1) <= 1e-9):
        raise DataError(f"{where} has rows that do not sum to 1")


def _no_rows(card: int, classes: int) -> Numbers:
    return np.empty((0, card, classes))


def _check_configurations(network: Network, cpt: SparseCpt, where: str) -> None:
    rows, cards = cpt.configurations, np.array([network.variables[p].card for p in cpt.parents])
    if len(rows) and (rows.min() < 0 or np.any(rows.max(axis=0) >= cards)):
        raise DataError(f"{where}: a parent configuration is out of range")
    if len(rows) > 1:
        first_difference = np.argmax(rows[1:] != rows[:-1], axis=1)
        increase = np.take_along_axis(rows[1:] - rows[:-1], first_difference[:, None], axis=1)
        if not np.all(increase > 0):
            raise DataError(f"{where}: the parent configurations are not in increasing order or not unique")
