"""The default memory budget, in a module of its own so that constructors of classifiers do not import the counting of tables."""

from __future__ import annotations

from typing import Final

__all__ = ["BUDGET"]

BUDGET: Final = 2 << 30
"""The most bytes that tables may take by default."""
