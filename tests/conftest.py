"""What all tests share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from naivete.cases import Cases, MemoryCases
from tests.oracles import chunked


@pytest.fixture(params=["memory", "chunked"])
def cases(request: pytest.FixtureRequest) -> Callable[[MemoryCases], Cases]:
    """The rows on every back end: a function that moves them there."""
    moved: dict[str, Any] = {"memory": lambda own: own, "chunked": lambda own: chunked(own, np.random.default_rng(7))}
    return moved[request.param]
