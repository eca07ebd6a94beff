"""Random rows of a network or a fitted classifier, as a table of named columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete.data.table import Column, Table
from naivete.inference.certainty import sampled_columns
from naivete.inference.junction import Given, HasNetwork, JunctionTree, junction_tree_of, one_network_of, value_of
from naivete.inference.sampling import checked_rows, generator, sample_codes
from naivete.network.network import Network, check_uncomputed
from naivete.variables import CLASS, Variable

__all__ = ["sample"]


def sample(
    network: Network | JunctionTree | HasNetwork,
    rows: int,
    random_state: int | np.random.Generator | None = None,
    *,
    given: Given | None = None,
) -> Table:
    """Return random rows of a network, drawn from its exact distribution, or from that given evidence, without rejection.

    Parameters
    ----------
    network : Network, JunctionTree or NetworkClassifier
        The network, its junction tree, or a fitted classifier. Classifiers that do not predict with one network are refused.
    rows : int
        The number of rows.
    random_state : int, numpy.random.Generator or None, default=None
        A seed, a generator, or None for another sample each time.
    given : dict or None, default=None
        The evidence, as in `posterior`. A network with continuous features can be sampled only without evidence.

    Returns
    -------
    Table
        A column for each feature and for the class, which is the last; hidden variables are left out. Discretized features have
        the labels of their intervals as values. Where missing is a state of a feature, its values can be missing.

    Examples
    --------
    >>> import numpy as np
    >>> from naivete import Network, Variable, sample
    >>> rain, wet = Variable("rain", ("no", "yes")), Variable("wet", ("no", "yes"))
    >>> network = Network((rain, wet), {0: (), -1: (0,)}, {0: np.array([0.8, 0.2]), -1: np.array([[0.9, 0.1], [0.3, 0.7]])})
    >>> table = sample(network, 4, random_state=1, given={"wet": "yes"})
    >>> table
    Table('sample', 4 rows x 2 columns: 'rain', 'wet')
    >>> list(table["rain"])
    ['yes', 'yes', 'no', 'yes']
    """
    checked_rows(rows)
    if isinstance(network, JunctionTree) or (given is not None and len(given)) or not one_network_of(network).densities:
        tree = junction_tree_of(network)
        source: Network = tree.network
        columns: list[NDArray[Any]] = list(sample_codes(tree, rows, random_state, given=given))
    else:
        source = one_network_of(network)
        check_uncomputed(source, "a sample")
        columns = list(sampled_columns(source, rows, generator(random_state)))
    shown = [v for v in (*source.features, CLASS) if v not in source.derived]
    return Table(tuple(_column(source.variables[v], columns[v]) for v in shown), source="sample", rows=rows)


def _column(variable: Variable, codes: NDArray[Any]) -> Column:
    """Return the codes of a variable as a column of its states; missing and unused values are missing values."""
    if variable.origin is not None:
        return Column(variable.name, codes.astype(np.float64) + variable.origin, kind="numeric")
    codes = codes.astype(np.int64)
    states = tuple(value_of(variable, code) for code in range(variable.card))
    if variable.left_out:
        codes, states = np.full(len(codes), -1), ()
    elif variable.missing:  # its code follows those of the values, and that of unseen values follows it
        codes = np.where(codes == variable.known, -1, np.where(codes > variable.known, codes - 1, codes))
        states = (*states[: variable.known], *states[variable.known + 1 :])
    return Column(variable.name, codes, states, kind="nominal", declared=True)
