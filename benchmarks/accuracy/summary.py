"""The arithmetic of the comparison: scores by data set, means, ranks, wins and losses, tests, and ratios of times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.contenders import is_peer
from benchmarks.accuracy.results import Results
from naivete.evaluation.statistics import Nemenyi, holm, nemenyi, wilcoxon

Floats = NDArray[np.float64]

DRAW: Final = 0.01
"""Log losses that differ by at most this share of the larger one are a draw; errors only if they are equal."""
BEHIND: Final = 0.02
"""A contender is behind the best peer on a set if its log loss is larger by more than this share."""
NEARLY_ALL: Final = 0.95
"""A contender takes part in means and ranks if it has results for at least this share of the sets."""
REFERENCE: Final = "sk:hgb"
"""The contender to which times are compared."""
_ROUNDING: Final = 1e-12


class Record(NamedTuple):
    """On how many sets a contender is better than, as good as and worse than another, with Wilcoxon's p value."""

    wins: int
    draws: int
    losses: int
    p: float

    def __str__(self) -> str:
        return f"{self.wins}-{self.draws}-{self.losses}"


class Loss(NamedTuple):
    """A set on which a contender is behind the best peer."""

    data_set: str
    loss: float
    best: str
    best_loss: float


@dataclass(frozen=True)
class Summary:
    """The scores of contenders on data sets.

    Parameters
    ----------
    sets, contenders : their names.
    scores : the mean over the folds, weighted by their test cases, of each measure (log_loss, error, brier), the sum for zeros,
        and the median for times and memory; nan if the results of a contender on a set are not complete.  # (set, contender)
    """

    sets: tuple[str, ...]
    contenders: tuple[str, ...]
    scores: dict[str, Floats]

    def select(self, sets: Sequence[str], contenders: Sequence[str] | None = None) -> Summary:
        """Return the scores of some sets and contenders; names without scores are ignored."""
        rows = [i for i, name in enumerate(self.sets) if name in sets]
        chosen = self.contenders if contenders is None else contenders
        columns = [j for j, name in enumerate(self.contenders) if name in chosen]
        scores = {key: table[np.ix_(rows, columns)] for key, table in self.scores.items()}
        return Summary(tuple(self.sets[i] for i in rows), tuple(self.contenders[j] for j in columns), scores)

    def column(self, measure: str, contender: str) -> Floats:
        """Return the scores of a contender on all sets."""
        return self.scores[measure][:, self.contenders.index(contender)]

    @property
    def counts(self) -> dict[str, int]:
        """The number of sets with complete results, by contender."""
        known = ~np.isnan(self.scores["log_loss"])
        return dict(zip(self.contenders, known.sum(axis=0).tolist(), strict=True))

    def common(self) -> Summary:
        """Return the contenders with nearly all sets, on the sets for which all of these have results."""
        least = NEARLY_ALL * len(self.sets)
        kept = self.select(self.sets, [name for name, count in self.counts.items() if count and count >= least])
        known = ~np.isnan(kept.scores["log_loss"]).any(axis=1)
        return kept.select([name for name, complete in zip(kept.sets, known, strict=True) if complete])

    def means(self, measure: str) -> dict[str, float]:
        """Return the mean of a measure over the sets, by contender; nan without sets."""
        table = self.scores[measure]
        return dict(zip(self.contenders, table.mean(axis=0).tolist() if len(table) else [np.nan] * table.shape[1], strict=True))

    def ranks(self, measure: str) -> Nemenyi | None:
        """Return the mean ranks (1 is best) with Nemenyi's critical difference; None for fewer than two sets or contenders."""
        return nemenyi(self.scores[measure], higher_is_better=False) if min(len(self.sets), len(self.contenders)) >= 2 else None

    def records(self, contender: str, measure: str) -> dict[str, Record]:
        """Return wins, draws and losses of a contender against each other one, on the sets for which both have results.

        The p values of Wilcoxon's signed-rank test are adjusted for the number of opponents by Holm's method.
        """
        ours = self.column(measure, contender)
        opponents = [name for name in self.contenders if name != contender]
        outcomes = [_outcomes(ours, self.column(measure, name), DRAW if measure == "log_loss" else 0.0) for name in opponents]
        adjusted = holm([outcome.p for outcome in outcomes])
        return {name: outcome._replace(p=p) for name, outcome, p in zip(opponents, outcomes, adjusted, strict=True)}

    def losses(self, contender: str) -> list[Loss]:
        """Return the sets on which a contender is behind the best other contender that is a peer, the largest difference first."""
        peers = [name for name in self.contenders if is_peer(name) and name != contender]
        found = []
        for i, data_set in enumerate(self.sets):
            ours = self.column("log_loss", contender)[i]
            theirs = {name: loss for name in peers if not np.isnan(loss := self.column("log_loss", name)[i])}
            if np.isnan(ours) or not theirs:
                continue
            best = min(theirs, key=theirs.__getitem__)
            if ours > (1 + BEHIND) * theirs[best] + _ROUNDING:
                found.append(Loss(data_set, float(ours), best, float(theirs[best])))
        return sorted(found, key=lambda loss: loss.best_loss - loss.loss)

    def time_ratio(self, contender: str, measure: str, reference: str = REFERENCE) -> float | None:
        """Return the geometric mean over the sets of the time of a contender divided by that of the reference."""
        if reference not in self.contenders:
            return None
        times, others = self.column(measure, contender), self.column(measure, reference)
        known = (times > 0) & (others > 0)
        return float(np.exp(np.log(times[known] / others[known]).mean())) if known.any() else None


def summarize(results: Results, sets: Sequence[str], contenders: Sequence[str]) -> Summary:
    """Return the scores of contenders on those of the sets for which at least one of them has results."""
    records = {(s, c): results.complete(s, c) for s in sets for c in contenders}
    present = [s for s in sets if any(records[s, c] for c in contenders)]
    scores = {
        measure: np.array([[_aggregated(records[s, c], measure) for c in contenders] for s in present]).reshape(
            len(present), len(contenders)
        )
        for measure in ("log_loss", "error", "brier", "zeros", "fit_s", "fit_cpu_s", "predict_s", "predict_cpu_s", "fit_bytes")
    }
    return Summary(tuple(present), tuple(contenders), scores)


def _aggregated(folds: Sequence[dict[str, Any]], measure: str) -> float:
    """Return the score of a contender on a set from those of the folds; nan without folds."""
    if not folds:
        return float("nan")
    values = [fold[measure] for fold in folds]
    if measure in ("log_loss", "error", "brier"):
        return float(np.average(values, weights=[fold["test"] for fold in folds]))
    return float(sum(values) if measure == "zeros" else np.median(values))


def _outcomes(ours: Floats, theirs: Floats, margin: float) -> Record:
    known = ~np.isnan(ours) & ~np.isnan(theirs)
    ours, theirs = ours[known], theirs[known]
    draw = np.abs(ours - theirs) <= margin * np.maximum(ours, theirs) + _ROUNDING
    wins, draws = int((~draw & (ours < theirs)).sum()), int(draw.sum())
    p = wilcoxon(ours - theirs).p if len(ours) >= 2 else 1.0
    return Record(wins, draws, len(ours) - wins - draws, p)
