"""The conditional tables of a fitted classifier as pandas frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from naivete.classifiers.family_counts import FamilyCounts
from naivete.errors import did_you_mean, library
from naivete.network.network import Network
from naivete.variables import CLASS, Name

__all__ = ["TableFrames"]


class TableFrames(Mapping[Name, Any]):
    """The tables P(variable | parents) by the name of the variable, each made when it is first used.

    A table is a pandas DataFrame with a row for each state of the variable and of its parents, which are the levels of its index,
    the variable last. The column "probability" holds P(state | parents); the column "count", where counts are known, the total
    weight of the cases with these states. Parents that a sparse table leaves out have the label "any other".

    Continuous features have densities and no tables: they are not among the names.

    Parameters
    ----------
    network : Network
        The network.
    counts : dict of {tuple of int: ndarray}
        The counts of the families, empty where they are not known.
    """

    def __init__(self, network: Network, counts: FamilyCounts) -> None:
        self._network, self._counts = network, counts
        self._positions = {network.name(v): v for v in (*network.features, CLASS) if v not in network.densities}
        self._frames: dict[Name, Any] = {}

    def __getitem__(self, name: Name) -> Any:
        if name not in self._positions:
            raise KeyError(f"there is no table of {name!r}; {did_you_mean(name, self._positions)}")
        if name not in self._frames:
            self._frames[name] = self._frame(self._positions[name])
        return self._frames[name]

    def __iter__(self) -> Iterator[Name]:
        return iter(self._positions)

    def __len__(self) -> int:
        return len(self._positions)

    def __repr__(self) -> str:
        return f"<tables of {', '.join(map(repr, self._positions))}>"

    def _frame(self, v: int) -> Any:

        pandas = library("pandas", "a table of a classifier")
        network = self._network
        parents = network.parents[v]
        labels = {m: network.variables[m].labels for m in (*parents, v)}
        counts = self._cells(v)
        index, probabilities, numbers = [], [], []
        for codes, distribution in network.table(v).distributions():
            others = [labels[p][codes[p]] if p in codes else "any other" for p in parents]
            for state, probability in enumerate(distribution.tolist()):
                index.append((*others, labels[v][state]))
                probabilities.append(probability)
                known = all(p in codes for p in parents)
                numbers.append(counts.get((*(codes.get(p, -1) for p in parents), state), 0.0) if known else np.nan)
        levels = pandas.MultiIndex.from_tuples(index, names=[network.name(m) for m in (*parents, v)])
        return pandas.DataFrame({"probability": probabilities, **({"count": numbers} if v in self._counts else {})}, index=levels)

    def _cells(self, v: int) -> dict[tuple[int, ...], float]:
        """Return the counts of a family by the codes of the parents and of the variable; cells that do not occur are left out."""
        if v not in self._counts:
            return {}
        codes, numbers = self._counts[v].cells()
        order = [codes[m].tolist() for m in (*self._network.parents[v], v)]
        return dict(zip(zip(*order, strict=True), numbers.astype(np.float64).tolist(), strict=True))
