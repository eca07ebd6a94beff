"""Sahami (1996): quick runs, and all of table 2 as a slow test."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest
from studies.results import Options, Reproduction
from studies.sahami_1996 import PRINTED, _cases, reproduce
from studies.verdicts import BY_BOTH, INSIDE, compared

from naivete import KDB
from naivete.evaluation import cross_validate
from tests.evaluation.test_published import PRINTED as BEFORE

QUICK = ["Corral", "LED7", "Vote"]


@pytest.fixture(scope="module")
def steps() -> list[str]:
    return []


@pytest.fixture(scope="module")
def quick(steps: list[str]) -> Reproduction:
    return reproduce(Options(quick=True, only=QUICK, progress=steps.append))


def test_table_2_is_that_of_the_other_test() -> None:
    """Typed twice: here by variant, there with the variants in a row."""
    files = {"Corral": "corral", "LED7": "led7", "Chess": "kr-vs-kp", "DNA": "dna", "Vote": "vote-bool48"}
    for name, values in PRINTED["sets"].items():
        pairs = [values["naive"], *values["KDB-orig"], *values["KDB-theta"]]
        assert [tuple(pair) for pair in pairs] == BEFORE[files[name]]


def test_a_quick_run(quick: Reproduction, steps: list[str]) -> None:
    assert [sheet.title.split()[0] for sheet in quick.sheets] == QUICK
    assert [cell.verdict for cell in quick.cells] == [INSIDE] * 24
    assert quick.summary == "24 of 24 cells within sampling error (Welch, p > 0.01; quick, 3 folds)"
    assert any("Quick: 3 folds instead of 10" in sentence for sentence in quick.about)
    assert [claim.name for claim in quick.claims] == [f"Vote, KDB-{v} k = {k}" for v in ("orig", "theta") for k in (2, 3)]
    assert len(steps) == 3 * 3 * 7


def test_without_dependences_both_variants_are_the_same(quick: Reproduction) -> None:
    for sheet in quick.sheets:
        assert sheet.cells[0].ours == sheet.cells[4].ours
        assert sheet.cells[0].printed == sheet.cells[4].printed


def test_the_seed_decides(quick: Reproduction) -> None:
    again, other = (reproduce(Options(seed=seed, quick=True, only=["Corral"])) for seed in (0, 1))
    assert again.sheets == quick.sheets[:1] != other.sheets


def test_text_without_the_stand_in(tmp_path: Path) -> None:
    result = reproduce(Options(only=["Text"], data=tmp_path))
    assert {cell.verdict for cell in result.cells} == {"not run"}
    assert {cell.ours for cell in result.cells} == {None}
    assert [kind for kind, _ in result.remarks].count("stand-in") == 1


def test_dna_without_file_and_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: Any) -> None:
        raise URLError("no network")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", refuse)
    cases, title = _cases("DNA", Options(data=tmp_path))
    assert (len(cases), len(cases.features.columns)) == (3175, 180)
    assert title.endswith("; ours: 3175 cases derived from splice")


@pytest.mark.slow
def test_all_of_table_2() -> None:
    result = reproduce(Options())
    assert len(result.cells) == 48
    inside = [cell.verdict for cell in result.cells].count(INSIDE)
    assert inside >= 37
    assert result.summary == f"{inside} of 40 cells within sampling error (Welch, p > 0.01)"
    for cell in result.cells[40:]:
        assert cell.verdict == "not run" or (isinstance(cell.ours, float) and 80 < cell.ours < 95)
    claims = {claim.name: claim for claim in result.claims}
    assert len(claims) == 14
    for name, ks in {"Chess": (1, 2, 3), "DNA": (2, 3), "Vote": (2, 3)}.items():
        for k in ks:
            claim = claims[f"{name}, KDB-theta k = {k}"]
            assert claim.printed_p < 0.10
            assert claim.plain_p < 0.10
            assert claim.plain_p <= claim.corrected_p
    verdicts = [claim.verdict for claim in result.claims if "theta" in claim.name]
    assert verdicts.count(BY_BOTH) >= 5
    assert "not confirmed" not in verdicts


@pytest.mark.slow
def test_the_table_does_not_distinguish_bits_and_nats() -> None:
    """What the report says about the unit of theta: 0.03 nats are 0.043 bits, and all cells stay within sampling error."""
    for name, values in PRINTED["sets"].items():
        models = {str(k): KDB(k=k, theta=0.03 / math.log(2)) for k in (1, 2, 3)}
        for result in cross_validate(models, _cases(name, Options())[0]):
            mean, deviation = result.accuracy
            cell = compared(name, tuple(values["KDB-theta"][int(result.model) - 1]), (100 * mean, 100 * deviation))
            assert cell.verdict == INSIDE, f"{name}, k = {result.model}"
