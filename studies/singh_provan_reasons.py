"""Readings that Singh and Provan (1995) leave open, each a tested reason for cells outside the noise; and their modifications."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from naivete.classifiers.selective import InfoAS
from naivete.encoding.encoder import Encoder
from studies.singh_provan_methods import STATE, ClassLast, InOrderOfEntry, model_of
from studies.singh_provan_tables import INFO_AS, METHODS, SETS
from studies.verdicts import Cell, Remark, Sheet

__all__ = ["MODIFIED", "REASONS", "Reason", "explained", "modified", "told_reasons"]

MODIFIED: Final = ("Chess", "Voting", "Soybean")
"""The data sets on which the modifications of section 5.6 are tried."""


class Reason(NamedTuple):
    """Another reading of the paper.

    Parameters
    ----------
    word : a short name.
    told : what it is.
    explains : the cells, by data set and method, that are inside the noise with it and outside without.
    beside : other cells that are run with it, to see what else it changes.
    model : the classifier that stands for a method.
    contradicted : whether these other cells contradict it.
    """

    word: str
    told: str
    explains: tuple[tuple[str, str], ...]
    beside: tuple[tuple[str, str], ...]
    model: Callable[[str], Any]
    contradicted: bool = True

    @property
    def cells(self) -> tuple[tuple[str, str], ...]:
        """All cells that are run."""
        return (*self.explains, *self.beside)


def _entry(method: str) -> InOrderOfEntry:
    return InOrderOfEntry(model_of(method).set_params(learner="nb"), model_of("CB").set_params(smoothing=0.5))


_EXPLAINED_BY_MISSING: Final = ("K2-AS", "K2-AS<=", "CGR-AS")
REASONS: Final = (
    Reason(
        "significant gain",
        "Info-AS goes on only while the gain is significant (chi-square, level 0.05; section 6 has it as future work)",
        tuple(("Chess", metric) for metric in INFO_AS),
        tuple((name, metric) for name in SETS if name != "Chess" for metric in INFO_AS),
        lambda method: model_of(method).set_params(stop="chi2"),
        contradicted=False,
    ),
    Reason(
        "missing left out",
        "missing values are left out instead of being a state (against it: naive-ALL, naive-AS and CB are then three points too "
        "good, and CIG-AS as much too bad)",
        tuple(("Soybean", method) for method in _EXPLAINED_BY_MISSING),
        tuple(("Soybean", method) for method in METHODS if method not in _EXPLAINED_BY_MISSING),
        lambda method: model_of(method, Encoder()),
    ),
    Reason(
        "class last",
        "K2-AS has the class behind the features in the networks on the way (against it: Soybean is then far too bad)",
        (("Mushroom", "K2-AS"),),
        (("Chess", "K2-AS"), ("Voting", "K2-AS"), ("Voting1", "K2-AS"), ("Soybean", "K2-AS")),
        lambda _: ClassLast(encoder=STATE),
    ),
    Reason(
        "order of entry",
        "CB has the selected features in the order they entered, with half a case in every cell (CGR-AS comes near, not inside)",
        (("Soybean", "K2-AS<="),),
        (("Soybean", "CGR-AS"),),
        _entry,
    ),
    Reason(
        "class anywhere",
        "CB does not have the class as the root: far too bad, so that the paper must have had it there",
        (),
        (("Soybean", "CB"), ("Splice", "CB")),
        lambda method: model_of(method).set_params(class_root=False),
    ),
)


def explained(sheets: Sequence[Sheet]) -> tuple[int, int]:
    """How many cells outside the noise a reason brings inside that fits other cells too, and how many only a contradicted one."""
    found = [_reasons(name, cell) for name, cell in _outside(sheets)]
    plain = sum(any(not reason.contradicted for reason in own) for own in found)
    return plain, sum(map(bool, found)) - plain


def told_reasons(sheets: Sequence[Sheet]) -> Iterator[Remark]:
    """For every cell outside the noise the reasons that were tested, or that there is none."""
    for name, cell in _outside(sheets):
        found = _reasons(name, cell)
        told = " or ".join(f"inside the noise if {reason.told}" for reason in found) or "no reading that was tried brings it inside"
        yield Remark("outside", f"{name}, {cell.name} ({cell.difference:+.2f}): {told}.")


def _outside(sheets: Sequence[Sheet]) -> list[tuple[str, Cell]]:
    """The cells outside the noise, each with its data set."""
    cells = ((sheet.title.partition(",")[0], cell) for sheet in sheets for cell in sheet.cells)
    return [(name, cell) for name, cell in cells if cell.verdict.startswith("outside")]


def _reasons(name: str, cell: Cell) -> list[Reason]:
    return [reason for reason in REASONS if (name, cell.name) in reason.explains]


def modified(sets: Sequence[str]) -> Mapping[str, dict[str, InfoAS]]:
    """The modifications of CGR-AS that section 5.6 describes, for those of the data sets on which they are tried."""
    made = {
        "naive Bayes on the selected features": InfoAS(learner="nb", encoder=STATE),
        "search guided by the metric, accuracy has to rise": InfoAS(guided="rises", encoder=STATE),
        "search guided by the metric, accuracy must not fall": InfoAS(guided="stays", encoder=STATE),
        "backward elimination afterwards": InfoAS(backward=True, encoder=STATE),
    }
    return {name: made for name in sets if name in MODIFIED}
