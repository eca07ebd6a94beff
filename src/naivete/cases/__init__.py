"""Where rows live. A back end offers `map` and `fold` over blocks of codes, and nothing else."""

from naivete.cases.base import Block, Cases
from naivete.cases.memory import MemoryCases

__all__ = ["Block", "Cases", "MemoryCases"]
