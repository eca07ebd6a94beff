"""C4.5: classification trees by gain ratio, pruned by pessimistic estimates of their errors."""

from __future__ import annotations

from naivete.counts.counts import Counts
from naivete.learners.parameters import checked_confidence, checked_count, checked_flag, checked_min_rows
from naivete.learners.tree.growing import Grower
from naivete.learners.tree.network import tree_network
from naivete.learners.tree.pruning import collapsed, pruned
from naivete.learners.tree.splits import greatest_ratio
from naivete.network.network import Network
from naivete.network.smoothing import smoothing_of

__all__ = ["c45"]


def c45(
    counts: Counts,
    *,
    min_rows: float = 2,
    confidence: float = 0.25,
    subtree_raising: bool = True,
    prune: bool = True,
    max_depth: int | None = None,
    smoothing: object = 0.0,
) -> Network:
    """Return a pruned classification tree that splits by the feature with the largest gain ratio, as a network.

    Of the splits whose information gain is at least average, a node takes the one with the largest ratio of the gain to the
    entropy of its branches. Nominal features have a branch for every state, numeric features have two, on both sides of one of
    their cut points. Cases in which the feature is missing are divided among the branches. The tree is then pruned by pessimistic
    estimates of its errors.

    Parameters
    ----------
    counts : the training cases.
    min_rows : at least two branches of a split need this weight.
    confidence : the level of the upper limit of the error at a leaf, above 0 and at most 0.5; a smaller one prunes more.
    subtree_raising : whether a node may be replaced by its largest branch, which then gets all its cases.
    prune : whether the tree is pruned; otherwise only splits that save no error on the training cases are removed.
    max_depth : the largest number of splits on a path; None for no limit.
    smoothing : as for `id3`.

    >>> import numpy as np
    >>> from naivete.cases import Block, MemoryCases
    >>> from naivete.variables import Variable
    >>> a, b = np.array([0, 0, 1, 1] * 3, np.uint8), np.array([0, 1, 0, 1] * 3, np.uint8)
    >>> cases = MemoryCases(tuple(Variable(name, (0, 1)) for name in "abc"), Block((a, b, a)), np.array([False, False]))
    >>> network = c45(Counts(cases))
    >>> network.variables[2].card, network.cpts[-1].tolist()  # two leaves, P(class | leaf)
    (2, [[1.0, 0.0], [0.0, 1.0]])

    References
    ----------
    Quinlan (1993), C4.5: Programs for machine learning; (1996), Improved use of continuous attributes in C4.5, for release 8.
    """
    smoothing_of(smoothing)
    level, raises = checked_confidence(confidence), checked_flag(subtree_raising, "subtree_raising")
    least = checked_min_rows(min_rows)
    grower = Grower(counts, greatest_ratio, checked_count(max_depth, "max_depth"), 2 * least, least, binary=True)
    nodes, rows = grower.grown()
    nodes = collapsed(nodes)
    if checked_flag(prune, "prune"):
        nodes = pruned(rows, nodes, confidence=level, subtree_raising=raises)
    return tree_network(counts, nodes, smoothing)
