"""Encoded rows in memory, in files or on a cluster; each back end offers `map` and `fold` over its rows."""

from naivete.cases.base import Block, Cases
from naivete.cases.memory import MemoryCases
from naivete.cases.rows import BatchRows, EncodedCases, Rows

__all__ = ["BatchRows", "Block", "Cases", "EncodedCases", "MemoryCases", "Rows"]
