"""The classifiers that represent the others in tests of code that all of them share."""

from typing import Any

import pytest

REPRESENTATIVES = ("NaiveBayes", "KDB", "HillClimb", "SelectiveNaive", "Recursive", "HiddenNaive", "C45")
"""One classifier of each way to learn: fixed structure, parents, search, held-out accuracy, hierarchy, EM, tree."""


def slow_unless_representative(name: str) -> Any:
    """Return the marks of a test of code that all classifiers share: only those that represent others are in the ordinary run."""
    return () if name in (*REPRESENTATIVES, "Majority", "Spectrum") else pytest.mark.slow
