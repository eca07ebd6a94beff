"""A little of `tests/fuzz.py` for every reader of networks."""

from __future__ import annotations

import pytest

from tests import fuzz, fuzz_formats


@pytest.mark.parametrize("name", list(fuzz_formats.ENDINGS))
@pytest.mark.filterwarnings("ignore::naivete.errors.NaiveteWarning")
def test_mutated_files(name: str) -> None:
    assert fuzz.fuzz(fuzz.READERS[name], 200, seed=1).problems == []
