"""What a reproduction consists of: printed values beside ours with a verdict on each, claims, differences, curves and remarks."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from naivete import ParameterError

__all__ = ["Cell", "Claim", "Figure", "Options", "Pairing", "Reproduction", "Sheet", "Value", "page_text", "remark", "toml"]

Value = float | tuple[float, float] | str | None
"""A number, a mean with its deviation or half of its interval, a text, or nothing."""
Remark = tuple[str, str]
"""The kind of a remark (a misprint, something that the paper does not say, ...) and its text."""


def _ignore(_: str) -> None:
    """Report no progress."""


@dataclass(frozen=True)
class Options:
    """How an experiment is run.

    Parameters
    ----------
    seed : the seed of random divisions and of generated data.
    quick : run a small part, for a first look.
    only : the names of some data sets; none for all of them.
    data : a folder with data sets that are not in studies/data; by default that of the variable NAIVETE_DATA.
    alternatives : also run other readings of the paper.
    modifications : also run the modifications of section 5.6 of Singh and Provan (1995).
    resume : a folder for finished divisions, with which an interrupted run continues.
    progress : called with a short text after every step.
    """

    seed: int = 0
    quick: bool = False
    only: Sequence[str] = ()
    data: Path | None = None
    alternatives: bool = False
    modifications: bool = False
    resume: Path | None = None
    progress: Callable[[str], None] = _ignore

    def chosen(self, names: Sequence[str]) -> list[str]:
        """Return the names that are to be run, in the order of `names`."""
        unknown = [name for name in self.only if name not in names]
        if unknown:
            raise ParameterError(f"only={unknown[0]!r}: choose among {', '.join(names)}")
        return [name for name in names if not self.only or name in self.only]


@dataclass(frozen=True)
class Cell:
    """A printed value beside ours.

    Parameters
    ----------
    name : which value it is.
    printed, ours : the values; None where there is none.
    verdict : the conclusion in a few words.
    note : further information.
    p : the p value of the difference, where it was tested.
    """

    name: str
    printed: Value
    ours: Value
    verdict: str
    note: str = ""
    p: float | None = None

    @property
    def difference(self) -> float | None:
        """Ours minus the printed value, where both are numbers."""
        printed, ours = (value[0] if isinstance(value, tuple) else value for value in (self.printed, self.ours))
        return ours - printed if isinstance(printed, float | int) and isinstance(ours, float | int) else None


@dataclass(frozen=True)
class Sheet:
    """A table of values, the number of digits they are shown with, and whether their differences are shown, too."""

    title: str
    cells: tuple[Cell, ...]
    digits: int = 1
    differences: bool = False


@dataclass(frozen=True)
class Claim:
    """The statement that one model is better than another.

    Parameters
    ----------
    name : the claim.
    printed_difference, printed_p : the printed difference in points of accuracy, and its p value.
    difference : ours; negative where the model is worse.
    plain_p : the p value of the paired t test, which assumes independent folds.
    corrected_p : the p value of the t test corrected for overlapping training sets (Nadeau and Bengio).
    verdict : which of the two tests confirm the claim.
    """

    name: str
    printed_difference: float
    printed_p: float
    difference: float
    plain_p: float
    corrected_p: float
    verdict: str


@dataclass(frozen=True)
class Pairing:
    """The difference of two methods on the same divisions.

    Parameters
    ----------
    name : the data set and the method.
    printed_difference, printed_t, printed_mark : as printed, in points of accuracy; None, None and "" where nothing is printed.
        The mark is the sign of a significant difference.
    difference, t, p : our mean difference and its paired t test, which assumes independent divisions.
    corrected_t, corrected_p : the t test corrected for overlapping training sets (Nadeau and Bengio).
    verdict : whether sign and significance of the paired t agree with the printed ones.
    """

    name: str
    printed_difference: float | None
    printed_t: float | None
    printed_mark: str
    difference: float
    t: float
    p: float
    corrected_t: float
    corrected_p: float
    verdict: str


@dataclass(frozen=True)
class Figure:
    """Our curves in place of a printed drawing: by name the points (x, mean, half of the 95 % interval) of every curve."""

    title: str
    x: str
    y: str
    curves: Mapping[str, tuple[tuple[float, float, float], ...]]


@dataclass(frozen=True)
class Reproduction:
    """A published experiment beside ours.

    Parameters
    ----------
    name, title : the name on the command line, and the publication.
    about : how it was run, one sentence each.
    sheets, claims, figures : the results.
    pairings : tables of differences between methods, by title.
    remarks : kind and text of each.
    summary : the outcome in one line.
    claimed, claimed_level : the heading of the claims, and the level at which the publication calls a difference significant.
    """

    name: str
    title: str
    about: tuple[str, ...]
    sheets: tuple[Sheet, ...]
    remarks: tuple[Remark, ...]
    summary: str
    claims: tuple[Claim, ...] = ()
    pairings: Mapping[str, tuple[Pairing, ...]] | None = None
    figures: tuple[Figure, ...] = ()
    claimed: str = ""
    claimed_level: float = 0.05

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells of all sheets."""
        return tuple(cell for sheet in self.sheets for cell in sheet.cells)


def toml(module: str, name: str) -> dict[str, Any]:
    """Return the content of a TOML file beside a module of a paper."""
    return tomllib.loads((Path(module).parent / name).read_text(encoding="utf-8"))


def remark(kind: str, text: str, **values: object) -> Remark:
    """Return a remark with the values filled in and its lines joined.

    >>> remark("misprint", "{n} has to\\n be negative.", n=0.02)
    ('misprint', '0.02 has to be negative.')
    """
    return kind, " ".join(text.format(**values).split())


def page_text(module: str, *, quick: bool, **values: object) -> tuple[str, tuple[str, ...], list[Remark]]:
    """Return the title, the sentences about the run and the fixed remarks of remarks.toml, with the values filled in.

    Parameters
    ----------
    module : the file of the paper's module, beside which remarks.toml lies.
    quick : whether the sentence about quick runs is included, after the first one.
    values : the values of the fields in braces.
    """
    content = toml(module, "remarks.toml")
    first, *others = content["about"]
    sentences = [first, *([content["quick"]] if quick else []), *others]
    about = tuple(remark("", sentence, **values)[1] for sentence in sentences)
    return content["title"], about, [remark(entry["kind"], entry["text"], **values) for entry in content["remarks"]]
