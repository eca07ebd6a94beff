"""JoinedNaive: naive Bayes on attributes that were joined, added or taken away by accuracy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from naivete.classifiers.base import NetworkClassifier
from naivete.counts.counts import BUDGET, Counts
from naivete.encoding.encoder import Encoder
from naivete.errors import ParameterError, close_matches, quoted
from naivete.learners.joining import bsej_groups, fssj_groups, joined_naive_on
from naivete.network.network import Network

__all__ = ["SEARCHES", "JoinedNaive"]

SEARCHES: dict[str, Callable[..., list[tuple[int, ...]]]] = {"backward": bsej_groups, "forward": fssj_groups}
"""BSEJ and FSSJ."""


class JoinedNaive(NetworkClassifier):
    """Naive Bayes whose features are groups of attributes, chosen by leave-one-out accuracy: BSEJ and FSSJ of Pazzani.

    The groups are `groups_` afterwards, as lists of positions; attributes in none of them do not count.

    >>> import itertools
    >>> rows = [list(row) for row in itertools.product("01", repeat=3)] * 4
    >>> joined = JoinedNaive().fit(rows, [row[0] != row[2] for row in rows])
    >>> joined.groups_, joined.predict([["0", "1", "1"]]).tolist()
    ([[0, 2], [1]], [True])

    Parameters
    ----------
    search : "backward" begins with all attributes and takes away or joins (BSEJ), "forward" with none and adds or joins (FSSJ).
    equal : whether a change is made too after which as much is right as before, unless that is everything. Without it "forward"
        goes nowhere where no attribute alone is better than the most frequent class.
    max_joined : at most how many attributes a group may have; by default any number.
    smoothing, prior, encoder, budget : as for `NetworkClassifier`.
    """

    def __init__(
        self,
        *,
        search: str = "backward",
        equal: bool = False,
        max_joined: int | None = None,
        smoothing: Any = 1.0,
        prior: Sequence[float] | None = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(smoothing=smoothing, prior=prior, encoder=encoder, budget=budget)
        self.search = search
        self.equal = equal
        self.max_joined = max_joined

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        if self.search not in list(SEARCHES):
            close = close_matches(self.search, SEARCHES)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise ParameterError(f"search={quoted(self.search)}: choose 'backward' (BSEJ) or 'forward' (FSSJ){hint}")
        common: dict[str, Any] = {"smoothing": self.smoothing, "prior": self.prior}
        groups = SEARCHES[self.search](counts, equal=self.equal, max_joined=self.max_joined, **common)
        return joined_naive_on(counts, groups, **common), {"groups_": [list(group) for group in groups]}
