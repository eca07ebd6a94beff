"""The structure of a fitted classifier and its informations by the names of features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from naivete.network.network import Network
from naivete.variables import Name

__all__ = ["NamesMixin"]


class NamesMixin:
    """The attributes `parents_` and `information_`."""

    network_: Network
    relevance_: NDArray[np.float64]
    arc_information_: dict[tuple[int, int], float]

    @property
    def parents_(self) -> dict[Name, tuple[Name, ...]]:
        """The names of the parents of every variable by its name, the class last in both.

        Examples
        --------
        >>> from naivete import TAN
        >>> TAN().fit([["0", "0"], ["0", "1"], ["1", "0"], ["1", "1"]], ["even", "odd", "odd", "even"]).parents_
        {'x0': ('class',), 'x1': ('x0', 'class'), 'class': ()}
        """
        network = self.network_
        order = (*network.features, -1)
        return {network.name(v): tuple(network.name(p) for p in network.parents[v]) for v in order}

    @property
    def information_(self) -> dict[Name | tuple[Name, Name], float]:
        """I(X; C) by the name of the feature and I(X; Y | C) by the names (parent, child) of an arc, in bits."""
        name = self.network_.name
        relevance: dict[Name | tuple[Name, Name], float] = {name(x): float(bits) for x, bits in enumerate(self.relevance_)}
        return {**relevance, **{(name(p), name(x)): bits for (p, x), bits in self.arc_information_.items()}}
