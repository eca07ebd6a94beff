"""Published experiments run again: every printed value beside ours, with a verdict; `python -m studies NAME` prints the report."""

from studies.command import PAPERS, reproduce
from studies.results import Cell, Claim, Figure, Options, Pairing, Reproduction, Sheet

__all__ = ["PAPERS", "Cell", "Claim", "Figure", "Options", "Pairing", "Reproduction", "Sheet", "reproduce"]
