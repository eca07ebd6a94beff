"""Jensen and Nielsen (2007), chapter 8: the whole tree of ID3, and the hidden variable with two to eleven states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from naivete.classifiers.naive_variants import HiddenNaive
from naivete.classifiers.trees import ID3
from naivete.data.labelled_table import LabelledTable
from naivete.display.rules import rules
from studies.verdicts import NOT_PRINTED, Cell, Remark, recomputed

__all__ = ["hidden_cells", "hidden_remarks", "tree_cells"]

_STATES: Final = range(2, 12)
_STARTS: Final = 20
_SAME: Final = 1e-3
"""Log likelihoods closer than this are the same: EM stops before the last digits."""


def tree_cells(cases: LabelledTable) -> Iterator[Cell]:
    """Figure 8.7, a line for each leaf; what the drawing calls ? has no case, and the majority of the node above answers."""
    found = rules(ID3().fit(cases.features, cases.y).network_)
    yield recomputed("asked for first", "MH", found[0].split(" = ")[0])
    for rule in found:
        condition, answer = rule.split(" -> ")
        label, weight = answer.split(" ", 1)
        empty = weight.startswith("(0.0")
        yield Cell(condition, None, label, NOT_PRINTED, "no case: ? in the figure" if empty else f"cases {weight.strip('()')}")


def hidden_cells(cases: LabelledTable) -> Iterator[Cell]:
    """Figure 8.5 for every number of states: the log likelihood of BH, FC and SC by maximum likelihood, and BIC."""
    trials = [_trial(cases, states) for states in _STATES]
    best = max(trials, key=lambda trial: float(trial["bic"]))
    for trial in trials:
        told = f"BIC {trial['bic']:.1f}, {trial['parameters']} parameters" + (", the largest BIC" if trial is best else "")
        yield Cell(f"{trial['states']} states: log likelihood", None, float(trial["log_likelihood"]), NOT_PRINTED, told)
    yield recomputed("likelihood falls with more states", "never", "never" if not _falls(trials) else "at times")
    yield Cell("states by BIC", None, str(best["states"]), NOT_PRINTED, "the book leaves the balance of fit and size open")


def _trial(cases: LabelledTable, states: int) -> dict[str, Any]:
    model = HiddenNaive(groups=[["FC", "SC"]], states=states, smoothing=0.0, starts=_STARTS)
    found: dict[str, Any] = model.fit(cases.features, cases.y).convergence_[0]["trials"][0]
    return found


def _falls(trials: Sequence[dict[str, Any]]) -> bool:
    likelihoods = [float(trial["log_likelihood"]) for trial in trials]
    return any(after < before - _SAME for before, after in pairwise(likelihoods))


def hidden_remarks() -> Iterator[Remark]:
    """What the numbers of figure 8.5 say."""
    yield Remark(
        "figure 8.5",
        "The twenty cases have so few configurations of FC and SC that five hidden states already fit them perfectly; six to "
        "eleven add nothing, so that eleven have the largest likelihood but share it.",
    )
    yield Remark(
        "exercise 8.4", "It asks about the tree of figure 8.6, a drawing; the answer here is that of the tree of figure 8.7."
    )
