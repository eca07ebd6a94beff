"""Bayesian networks: variables, parents, tables and densities, immutable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.errors import DataError, quoted
from naivete.network.checks import check_network, check_tables
from naivete.network.conditional_tables import ConditionalTable, Cpt, DenseConditional, SparseConditional, SparseCpt
from naivete.network.densities import Normal
from naivete.network.derived_columns import Derived, Hidden
from naivete.network.graphs import Structure, topological
from naivete.variables import CLASS, Family, Name, Variables, family

__all__ = ["Network", "Structure", "check_tabular", "check_uncomputed"]


@dataclass(frozen=True, eq=False)
class Network:
    """A Bayesian network; the class is the last variable.

    Parameters
    ----------
    variables : tuple of Variable
        The variables, the class last.
    parents : dict of {int: tuple of int}
        The parents of every variable, the most informative first, the class last; keys 0 .. n-1 and -1 (the class).
    cpts : dict of {int: ndarray or SparseCpt}
        P(v | parents[v]) for every variable v; the axes are the family in increasing order, the class last.
    derived : dict of {int: Derived}, default={}
        The definitions of the derived columns, which are the last features before the class and no columns of a table.
    densities : dict of {int: Normal}, default={}
        The density of each continuous feature; its table has a single state of probability one.
    check : bool, default=True
        Whether the tables are checked; `estimate` does without.

    Examples
    --------
    >>> import numpy as np
    >>> from naivete import Network, Variable
    >>> variables = Variable("wet", ("no", "yes")), Variable("rain", ("no", "yes"))
    >>> network = Network(variables, {0: (-1,), -1: ()}, {0: np.array([[0.9, 0.3], [0.1, 0.7]]), -1: np.array([0.8, 0.2])})
    >>> network.name(0), network.family(0), network.cells
    ('wet', (0, -1), 6)
    """

    variables: Variables
    parents: Structure
    cpts: Mapping[int, Cpt]
    derived: Mapping[int, Derived] = field(default_factory=dict)
    densities: Mapping[int, Normal] = field(default_factory=dict)
    check: InitVar[bool] = field(default=True, kw_only=True)

    def __post_init__(self, check: bool) -> None:
        object.__setattr__(self, "derived", MappingProxyType(dict(self.derived)))
        object.__setattr__(self, "densities", MappingProxyType(dict(sorted(self.densities.items()))))
        object.__setattr__(self, "parents", MappingProxyType({v: tuple(p) for v, p in self.parents.items()}))
        object.__setattr__(self, "cpts", MappingProxyType(dict(self.cpts)))
        check_network(self)
        if check:
            check_tables(self)
        for cpt in self.cpts.values():
            if isinstance(cpt, np.ndarray):
                cpt.setflags(write=False)

    @property
    def features(self) -> range:
        """The features."""
        return range(len(self.variables) - 1)

    @property
    def inputs(self) -> range:
        """The features that are columns of a table; the other features are derived columns."""
        return range(len(self.variables) - 1 - len(self.derived))

    @property
    def columns(self) -> Variables:
        """The variables of the features that are columns of a table."""
        return self.variables[: len(self.inputs)]

    def family(self, v: int) -> Family:
        """Return the variable and its parents, in the order of the axes of its table.

        Parameters
        ----------
        v : int
            The position of the variable; -1 is the class.

        Returns
        -------
        tuple of int
            The positions, increasing, with the class last.
        """
        return family(v, *self.parents[v])

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The variables, parents before children; where several are possible, the class first, then by position."""
        return topological(self.parents)

    @property
    def arcs(self) -> list[tuple[int, int]]:
        """The arcs between features, as (parent, child)."""
        return [(p, x) for x in self.features for p in self.parents[x] if p != CLASS]

    def table(self, v: int) -> ConditionalTable:
        """Return P(v | parents) with the methods that dense and sparse tables share.

        Parameters
        ----------
        v : int
            The position of the variable; -1 is the class.

        Returns
        -------
        ConditionalTable
            The table.
        """
        cpt, members = self.cpts[v], self.family(v)
        return SparseConditional(v, members, cpt) if isinstance(cpt, SparseCpt) else DenseConditional(v, members, cpt)

    @cached_property
    def sparse(self) -> frozenset[int]:
        """The variables with a sparse table."""
        return frozenset(v for v, cpt in self.cpts.items() if isinstance(cpt, SparseCpt))

    def full_table(self, v: int) -> Numbers:
        """Return the table of a variable as an array with an axis for each member of its family.

        Parameters
        ----------
        v : int
            The position of the variable; -1 is the class.

        Returns
        -------
        ndarray
            P(v | parents), with the axes of `family`.
        """
        return self.table(v).full([self.variables[m].card for m in self.family(v)])

    @property
    def cells(self) -> int:
        """The number of probabilities and of parameters of densities."""
        return sum(self.table(v).size for v in self.cpts) + sum(2 * density.means.size for density in self.densities.values())

    def distributions(self, v: int) -> Iterator[tuple[tuple[str, ...], Numbers]]:
        """Yield P(v | parents), one distribution after the other, each with the labels of the other members of the family.

        A sparse table yields the configurations that occur, then those of the tables of fewer parents that it falls back on; the
        label of a parent that is left out is "any other".

        Parameters
        ----------
        v : int
            The position of the variable; -1 is the class.

        Yields
        ------
        labels : tuple of str
            The states of the other members of the family.
        distribution : ndarray of shape (n_states,)
            P(v | parents).
        """
        others = [m for m in self.family(v) if m != v]
        for codes, distribution in self.table(v).distributions():
            yield tuple(self.variables[m].labels[codes[m]] if m in codes else "any other" for m in others), distribution

    def name(self, v: int) -> Name:
        """Return the name of a variable.

        Parameters
        ----------
        v : int
            The position of the variable; -1 is the class.

        Returns
        -------
        str
            The name.
        """
        return self.variables[v].name

    def __reduce__(self) -> tuple[Any, ...]:
        return Network, (self.variables, dict(self.parents), dict(self.cpts), dict(self.derived), dict(self.densities))


def check_uncomputed(network: Network, doing: str) -> None:
    """Raise an error if a network has a computed column, whose dependence on other columns its arcs do not show.

    Parameters
    ----------
    network : the network.
    doing : the action that is not possible with such a network, for the error message.
    """
    computed = [v for v, derived in network.derived.items() if not isinstance(derived, Hidden)]
    if computed:
        raise DataError(
            f"network: {doing} is not possible with the derived column {quoted(network.name(computed[0]))}: it is computed from "
            "the columns of a row, which the arcs do not show; use the classifier (predict_proba), or save it as a model (.nvt)"
        )


def check_tabular(network: Network, doing: str) -> None:
    """Raise an error if a network has a computed column or a continuous feature."""
    check_uncomputed(network, doing)
    if network.densities:
        raise DataError(
            f"network: {doing} is not possible with the continuous feature {quoted(network.name(min(network.densities)))}, which "
            "has a density and no states; use the classifier (predict_proba), or discretize the feature before learning"
        )
