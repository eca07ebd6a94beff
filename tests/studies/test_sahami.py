"""Sahami (1996): generated domains always, the published data sets where they are."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from studies.sahami import PRINTED, steps
from studies.verdicts import BY_BOTH, INSIDE, compared

from naivete.classifiers.specification import classifier_of
from naivete.evaluation import cross_validate
from studies import Reproduction, sahami, sahami_1996
from tests.evaluation import data
from tests.evaluation.test_published import PRINTED as BEFORE

GENERATED = ["Corral", "LED7"]


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("empty")


@pytest.fixture(scope="module")
def generated(empty: Path) -> Reproduction:
    return sahami_1996(quick=True, only=GENERATED, data=empty)


def test_table_2_is_that_of_the_other_test() -> None:
    """Typed twice: here by variant, there with the variants in a row."""
    files = {"Corral": "corral", "LED7": "led7", "Chess": "kr-vs-kp", "DNA": "dna", "Vote": "vote-bool48"}
    for name, own in PRINTED.items():
        original, theta = own["KDB-orig"], own["KDB-theta"]
        assert original[0] == theta[0]
        assert [*original, *theta[1:]] == BEFORE[files[name]]


def test_generated_domains(generated: Reproduction) -> None:
    assert [sheet.title.split()[0] for sheet in generated.sheets] == GENERATED
    assert [len(sheet.cells) for sheet in generated.sheets] == [8, 8]
    assert all(cell.verdict == INSIDE for cell in generated.cells)
    assert generated.summary == "16 of 16 cells inside the noise (Welch, p > 0.01; quick, 3 folds)"
    assert generated.claims == ()
    assert any("Quick: 3 folds in place of 10" in sentence for sentence in generated.about)


def test_without_dependences_both_variants_are_the_same(generated: Reproduction) -> None:
    for sheet in generated.sheets:
        assert sheet.cells[0].ours == sheet.cells[4].ours
        assert sheet.cells[0].printed == sheet.cells[4].printed


def test_the_seed_decides(generated: Reproduction, empty: Path) -> None:
    assert sahami_1996(quick=True, only=GENERATED, data=empty) == generated
    other = sahami_1996(quick=True, only=GENERATED, data=empty, seed=1)
    assert [cell.ours for cell in other.cells] != [cell.ours for cell in generated.cells]


def test_progress(empty: Path) -> None:
    told: list[str] = []
    sahami_1996(quick=True, only=GENERATED, data=empty, progress=told.append)
    assert len(told) == 2 * 3 * 7
    assert steps(quick=True) == 5 * 3 * 7
    assert steps() == 5 * 10 * 7 + 7


def test_text_without_the_stand_in(empty: Path) -> None:
    result = sahami_1996(only=["Text"], data=empty)
    assert {cell.verdict for cell in result.cells} == {"not run"}
    assert {cell.ours for cell in result.cells} == {None}
    assert any(remark.kind == "stand-in" for remark in result.remarks)


def test_real_data_quickly() -> None:
    folder = data("vote").parent
    result = sahami_1996(quick=True, only=["Vote"], data=folder)
    assert [cell.verdict for cell in result.cells] == [INSIDE] * 8
    assert [claim.name for claim in result.claims] == [f"Vote, KDB-{v} k = {k}" for v in ("orig", "theta") for k in (2, 3)]


@pytest.mark.slow
def test_all_of_table_2() -> None:
    for name in ("kr-vs-kp", "dna", "vote", "reuters-text3"):
        folder = data(name).parent
    result = sahami_1996(data=folder)
    assert len(result.cells) == 48
    inside = [cell.verdict for cell in result.cells].count(INSIDE)
    assert inside >= 37
    assert result.summary == f"{inside} of 40 cells inside the noise (Welch, p > 0.01)"
    text = [cell for cell in result.cells[40:] if cell.verdict == "no deviation printed"]
    assert len(text) == 8
    assert all(isinstance(cell.ours, float) and 80 < cell.ours < 95 for cell in text)
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
def test_the_table_does_not_tell_bits_from_nats() -> None:
    """What the report says about the unit of theta: with 0.03 nats, that is 0.043 bits, all cells are inside the noise, too."""
    folder = data("dna").parent
    for name, own in sahami._SETS.items():
        models = {str(k): classifier_of(f"kdb:k={k},theta={0.03 / math.log(2)}") for k in (1, 2, 3)}
        for result in cross_validate(models, own.cases(0, folder)):
            mean, deviation = result.accuracy
            cell = compared(name, own.printed["KDB-theta"][int(result.model)], (100 * mean, 100 * deviation))
            assert cell.verdict == INSIDE, f"{name}, k = {result.model}"
