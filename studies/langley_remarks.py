"""What there is to say beside the figures of Langley (1993): how it was run, and what the paper leaves open."""

from __future__ import annotations

from collections.abc import Iterator

from studies.langley_claims import DRAWN, NEAR, SAME
from studies.verdicts import Remark

__all__ = ["remarks", "told_about"]


def told_about(seed: int, divisions: int, pairs: int, quick: bool) -> Iterator[str]:
    """How it was run, a sentence each."""
    yield (
        "The paper has curves without numbers; what is printed here is what its text says about them. Ours: means in per cent "
        "or in points of accuracy ± half of a 95 % interval."
    )
    if quick:
        yield "Quick: few pairs of training and test sets; for a real comparison leave --quick out."
    yield (
        f"Figures 3 to 6 show the first {DRAWN} pairs of training and test sets, as many as the paper has; the claims are "
        f"tested with {divisions} divisions of the natural domains and {pairs} pairs of the concepts, seed {seed}. p is that "
        "of the paired t; the training sets of a pair grow, each a part of the next."
    )
    yield (
        f"An accuracy that the text has in words is reproduced where ours differs by at most {NEAR:g} points, a level of both "
        f"where their difference surely is below {SAME:g} point. Above and below are decided at 5 %, else undecided."
    )
    yield (
        "Where curves cross: from that number of training cases on, the recursive mean stays above. Sets of 20 pairs are "
        "drawn from ours again and again; the printed crossing is inside the noise where at least 5 % of them have it."
    )
    yield (
        "Both classifiers treat zeros as Clark and Niblett do. The recursive one is that of the paper: cases are sent down by "
        "the summaries of the clusters. Test sets of natural domains are a third of the cases; a class that a training set "
        "lacks is never given. A missing vote is not counted."
    )


def remarks(*, alternatives: bool) -> Iterator[Remark]:
    """What the paper does not say, and what does not come out as it says."""
    yield Remark(
        "not the same",
        "Glass and Heart: numeric columns have normal densities in every node, as in the paper; a class of fewer than two cases "
        "has the variance of the column, and no variance is less than a thousandth of that.",
    )
    yield Remark(
        "not said",
        "How training sets are drawn from the 64 cases of a concept. Ours have no case twice: with replacement 60 cases bring "
        "both classifiers to 96 % on one term, where the paper has them approach 100.",
    )
    yield Remark(
        "not said",
        "The numbers of training cases at which the curves have points. A crossing is told to within the distance of ours.",
    )
    yield Remark(
        "early",
        "On two terms naive Bayes is ahead early, but by so little that it takes thousands of pairs to see: with 4000 (seed 0), "
        "the difference is -0.12 ± 0.07 points at 5 to 7 cases and +0.31 ± 0.11 at 9. On three terms it is not (0.00 ± 0.04 at "
        "3 cases, +0.08 ± 0.07 at 4), on four by 0.03 points at 3 cases alone. The curves of 4000 pairs cross at 7 to 9, 3 to "
        "4, and 4 cases; those of 20 pairs, as in the paper, cross anywhere in the ranges above.",
    )
    yield Remark(
        "misprint",
        "The concept of four terms begins with (not A) B C in the text that we have. That vertex is next to (not A) B (not C), "
        "where the paper has nonadjacent ones and a term added to the concept before: it has to be A B C, as ours is.",
    )
    yield Remark(
        "asymptote",
        "Vote: beyond the cases that the paper mentions the recursive classifier draws ahead (see figure 3 (a) at 200 cases).",
    )
    yield Remark(
        "figure 1",
        "It is a drawing. Our cells are as the text has them: 4 healthy ones in two regions of neighbours, apart from each "
        "other, 5 of lethargia and 3 of burpoma in a region each. Of all such sets in which naive Bayes errs as the paper "
        "says, every one is learned without error by one recursion. With Laplace's rule none of them shows that.",
    )
    yield Remark(
        "parity",
        "Section 6 proposes an arbitrary split where no feature tells anything; here it is by the feature that tells most. The "
        "balanced halves have an even and an odd number of ones among the irrelevant bits: no bit tells anything in either, "
        "and the split finds the concept. In random halves chance dependences mislead: naive Bayes falls below one half, since "
        "what it has seen more of the other half has less; the split does better than that, but not clearly better than one "
        "half.",
    )
    yield Remark(
        "depth",
        "The hierarchies of the paper are in many cases two levels deep, ours four or five. It does not say from how many "
        "cases; a cluster is divided again here as long as it has two classes and its classifier tells some of them apart.",
    )
    if not alternatives:
        yield Remark(
            "readings", "--alternatives runs the concepts with replacement, by Laplace's rule and by relative frequencies."
        )
