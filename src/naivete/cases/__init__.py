"""Where rows live. A back end offers `map` and `fold` over its rows, and nothing else."""

from naivete.cases.base import Block, Cases
from naivete.cases.memory import MemoryCases
from naivete.cases.rows import EncodedCases, KeptRows, Rows

__all__ = ["Block", "Cases", "EncodedCases", "KeptRows", "MemoryCases", "Rows"]
