"""Published experiments run again: every printed figure beside ours, with a verdict, and misprints called so."""

from studies.barrow import barrow_2011
from studies.jensen import jensen_2007
from studies.langley import langley_1993
from studies.sahami import sahami_1996
from studies.singh_provan import singh_provan_1995
from studies.verdicts import Cell, Claim, Figure, Remark, Reproduction, Sheet

__all__ = [
    "Cell",
    "Claim",
    "Figure",
    "Remark",
    "Reproduction",
    "Sheet",
    "barrow_2011",
    "jensen_2007",
    "langley_1993",
    "sahami_1996",
    "singh_provan_1995",
]
