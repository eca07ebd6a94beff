"""Codes of types that compiled code cannot read are refused before it reads them."""

from __future__ import annotations

import numpy as np
import pytest

from naivete._kernels.dispatch import columns_struct, compiled
from naivete.cases.base import Block
from naivete.cases.memory import MemoryCases
from naivete.counts.counts import Counts
from naivete.counts.information import relevance
from naivete.variables import Variable


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.int8, np.float64, bool])
def test_types_that_are_refused(dtype: type) -> None:
    with pytest.raises(TypeError, match="column 1 has codes of type"):
        columns_struct([np.zeros(3, np.uint8), np.zeros(3, dtype)])


@pytest.mark.skipif(compiled() is None, reason="there are no compiled kernels")
def test_labels_of_eight_bytes() -> None:
    """These were read outside of the array."""
    variables = (Variable("x", ("a", "b")), Variable("class", ("no", "yes")))
    block = Block((np.zeros(9, np.uint8), np.ones(9, np.int64)))
    with pytest.raises(TypeError, match="codes of type int64"):
        relevance(Counts(MemoryCases(variables, block, np.zeros(1, bool))))
