"""A network that summarizes a spectrum: every feature with its strongest parent, for drawings and queries."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from naivete.counts.counts import Counts
from naivete.learners.spectrum_structures import binned_counts
from naivete.network.estimation import estimate
from naivete.network.network import Network
from naivete.network.spectrum import Spectrum
from naivete.variables import CLASS, Variable

__all__ = ["summary_network"]


def summary_network(counts: Counts, spectrum: Spectrum) -> Network:
    """Return the network of the main structure with at most one parent for each feature, on the bins of that structure."""
    bins = spectrum.main.bins
    variables = (*(_joined(counts.variables[x], bins[x]) for x in counts.features), counts.variables[CLASS])
    view = binned_counts(counts, bins, variables, missing_as_state=False)
    parents = {x: (*spectrum.main.parents[x][:1], CLASS) for x in counts.features}
    return estimate(view, {CLASS: (), **parents}, 1.0)


def _joined(variable: Variable, bins: NDArray[np.uint32]) -> Variable:
    """Return the variable with the intervals that are in one bin joined."""
    if variable.cuts is None:
        return variable
    last = np.flatnonzero(np.diff(bins[:-1])).tolist()
    return Variable(variable.name, cuts=tuple(variable.cuts[i] for i in last), missing=variable.missing)
