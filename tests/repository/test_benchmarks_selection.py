"""The benchmark of Info-AS and K2-AS: all variants of K2-AS select the same features, and the tables are printed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks import selection


@pytest.fixture(scope="module")
def codes() -> list[np.ndarray]:
    """Ten columns of bases; the class depends on two of them and a little on a third."""
    rng = np.random.default_rng(5)
    features = [rng.integers(0, 4, 400).astype(np.uint8) for _ in range(10)]
    noise = rng.random(400) < 0.1
    labels = np.where(noise, rng.integers(0, 3, 400), (features[2] + features[7] // 2 + (features[4] == 3)) % 3)
    return [*features, labels.astype(np.uint8)]


def test_separate_and_shared_networks_select_the_same_features(codes: list[np.ndarray]) -> None:
    ours = selection.select_k2(False, codes)
    for judge in (selection.by_kernel, selection.by_tree):
        selected, networks = selection.select_separately(codes, judge)
        assert selected == ours
        assert networks == sum(10 - step for step in range(min(10, len(ours) + 1)))
    assert ours


def test_repeated_rows_begin_with_the_given_ones(codes: list[np.ndarray]) -> None:
    more = selection.repeated(codes, 1000)
    assert all(len(column) == 1000 for column in more)
    for column, original in zip(more, codes, strict=True):
        np.testing.assert_array_equal(column[:400], original)
    changed = np.mean(more[0][400:800] != codes[0])
    assert 0.03 < changed < 0.13


def test_memory_grows_no_faster_than_the_rows(codes: list[np.ndarray]) -> None:
    peaks = selection.peaks(codes, [2000, 8000])
    for metric in selection.METRICS:
        assert peaks[8000][metric] < 6 * peaks[2000][metric]


@pytest.mark.slow
def test_the_command_prints_its_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def few(cases: object, rows: np.ndarray) -> list[np.ndarray]:
        every = columns(cases, rows[:200])
        return [*every[25:35], every[-1]]

    columns = selection.columns_of
    monkeypatch.setattr(selection, "columns_of", few)
    out = tmp_path / "figures.json"
    monkeypatch.setattr(selection, "whole", lambda *_: {"cgr": {"seconds": 0.1, "accuracy": 95.0}})
    assert selection.main(["--repeat", "1", "--largest", "500", "--json", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "K2-AS, separate networks, junction tree" in printed
    assert set(json.loads(out.read_text())) == {"selection", "whole", "memory"}
