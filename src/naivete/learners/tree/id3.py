"""ID3: classification trees by information gain, without pruning."""

from __future__ import annotations

from naivete.counts.counts import Counts
from naivete.learners.parameters import checked_count, checked_min_rows
from naivete.learners.tree.growing import Grower
from naivete.learners.tree.network import tree_network
from naivete.learners.tree.nodes import EPSILON
from naivete.learners.tree.splits import greatest_gain
from naivete.network.network import Network
from naivete.network.smoothing import smoothing_of

__all__ = ["id3"]


def id3(counts: Counts, *, max_depth: int | None = None, min_rows: float = 0, smoothing: object = 0.0) -> Network:
    """Return a classification tree that splits by the feature with the largest information gain I(X; C), as a network.

    A node has a branch for every state, or interval, of its feature. It is a leaf when all its cases belong to one class or agree
    in all features. In the network the class has one parent, the leaf; a leaf without cases has the class frequencies of the node
    above. Cases in which the feature of a node is missing are divided among the branches in proportion to the other cases.

    Parameters
    ----------
    counts : the training cases.
    max_depth : the largest number of splits on a path; None for no limit.
    min_rows : a node of smaller weight is not split; by default all nodes that can be split are.
    smoothing : pseudo-count added to every class of a leaf, or as for `naive`; by default the relative frequencies.

    >>> import numpy as np
    >>> from naivete.cases import Block, MemoryCases
    >>> from naivete.variables import Variable
    >>> a, b = np.array([0, 0, 1, 1] * 3, np.uint8), np.array([0, 1, 0, 1] * 3, np.uint8)
    >>> cases = MemoryCases(tuple(Variable(name, (0, 1)) for name in "abc"), Block((a, b, a)), np.array([False, False]))
    >>> network = id3(Counts(cases))
    >>> network.variables[2].card, network.cpts[-1].tolist()  # two leaves, P(class | leaf)
    (2, [[1.0, 0.0], [0.0, 1.0]])

    References
    ----------
    Quinlan (1986), Induction of decision trees; Jensen and Nielsen (2007), section 8.4.
    """
    smoothing_of(smoothing)
    enough = checked_min_rows(min_rows, zero=True)
    grower = Grower(counts, greatest_gain, checked_count(max_depth, "max_depth"), enough, 2 * EPSILON, binary=False)
    return tree_network(counts, grower.grown()[0], smoothing)
