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
    """A classification tree whose nodes ask for the feature with the largest information gain, as a network.

    A node has a branch for every state, or interval, of its feature. It is a leaf when all its cases are of one class or agree
    in all features. The class has one parent, the leaf; a leaf without cases answers as its parent would. Cases that lack
    a value asked for are divided among the branches in proportion to the others.

    Parameters
    ----------
    counts : the training cases.
    max_depth : how many questions may be asked of a case; by default any number.
    min_rows : a node with less weight is not divided; by default every node is that can be.
    smoothing : pseudo-count added to every class of a leaf, or as for `naive`; by default the relative frequencies.

    References
    ----------
    Quinlan (1986), Induction of decision trees; Jensen and Nielsen (2007), section 8.4.
    """
    smoothing_of(smoothing)
    enough = checked_min_rows(min_rows, zero=True)
    grower = Grower(counts, greatest_gain, checked_count(max_depth, "max_depth"), enough, 2 * EPSILON, binary=False)
    return tree_network(counts, grower.grown()[0], smoothing)
