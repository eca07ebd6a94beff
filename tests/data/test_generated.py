from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from naivete.data.files import read
from naivete.data.generated import corral, led7
from naivete.data.table import Table
from naivete.errors import ParameterError
from tests.evaluation import data


def rows(table: Table) -> list[tuple[object, ...]]:
    return list(zip(*table.columns, strict=True))


def test_corral_is_its_definition() -> None:
    counts = Counter(rows(corral()))
    assert sum(counts.values()) == 128
    for (a0, a1, b0, b1, _, correlated, c), times in counts.items():
        assert (c == "1") == (a0 == a1 == "1" or b0 == b1 == "1")
        assert times == (3 if correlated == c else 1)


def test_corral_is_the_published_file() -> None:
    published = read(data("corral"))
    assert published.names == corral().names
    assert Counter(rows(published)) == Counter(rows(corral()))


def test_corral_in_another_order_holds_the_same_cases() -> None:
    assert Counter(rows(corral(random_state=3))) == Counter(rows(corral()))
    assert rows(corral(random_state=3)) == rows(corral(random_state=3)) != rows(corral())


def test_segments_of_the_digits_without_noise() -> None:
    lit: dict[object, set[tuple[object, ...]]] = {}
    for *segments, digit in rows(led7(500, noise=0)):
        lit.setdefault(digit, set()).add(tuple(segments))
    assert len(lit) == 10
    assert all(len(patterns) == 1 for patterns in lit.values())
    assert {d: sum(s == "1" for s in next(iter(patterns))) for d, patterns in lit.items()} == dict(
        zip("0123456789", (6, 2, 5, 5, 4, 5, 6, 3, 7, 6), strict=True)
    )


def test_noise_inverts_one_segment_in_ten() -> None:
    clean, noisy = led7(4000, noise=0, random_state=5), led7(4000, random_state=5)
    flips = np.mean([a.values != b.values for a, b in zip(clean.columns[:7], noisy.columns[:7], strict=True)])
    assert flips == pytest.approx(0.1, abs=0.01)
    assert rows(noisy) == rows(led7(4000, random_state=5)) != rows(led7(4000, random_state=6))


@pytest.mark.parametrize("wrong", [{"rows": -1}, {"noise": 1.5}, {"noise": float("nan")}])
def test_ranges(wrong: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        led7(**wrong)  # type: ignore[arg-type]


def test_the_data_folder_is_a_folder() -> None:
    assert isinstance(data("corral"), Path)
