from __future__ import annotations

import pytest

from naivete import _kernels
from naivete.cli import doctor
from tests.cli.conftest import Run


def test_all_checks_pass(run: Run) -> None:
    ran = run("doctor")
    assert ran.code == 0
    assert ran.out.endswith("all checks passed\n")
    assert "numpy" in ran.out


@pytest.mark.parametrize("tier", ["numpy", "c"])
def test_kernels_and_the_reason(run: Run, monkeypatch: pytest.MonkeyPatch, tier: str) -> None:
    if tier == "c" and _kernels.tier() != "c":
        pytest.skip("the compiled library is not here")
    monkeypatch.setenv("NAIVETE_KERNELS", tier)
    report = run("doctor", "--json").json
    assert report["kernels"] == {"tier": tier, "why": f"NAIVETE_KERNELS={tier} selects it"}
    assert report["well"] is True


def test_the_reason_without_a_choice(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NAIVETE_KERNELS", raising=False)
    monkeypatch.setattr(_kernels, "tier", lambda: "c")
    assert "is installed" in doctor._kernels()[0]["why"]
    monkeypatch.setattr(_kernels, "tier", lambda: "numpy")
    assert "compiler" in doctor._kernels()[0]["why"]


def test_kernels_that_do_not_exist(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAIVETE_KERNELS", "fortran")
    ran = run("doctor")
    assert ran.code == 1
    assert "fortran" in ran.out
    assert "something is missing or a check failed" in ran.out


def test_missing_packages_and_failed_checks(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_round_trip", lambda: False)
    monkeypatch.setattr(doctor, "_version", lambda name: None if name in ("scipy", "rich") else "1")
    ran = run("doctor")
    assert ran.code == 1
    assert "missing: install it" in ran.out
    assert "not installed (optional: progress bars)" in ran.out
    assert "a saved and loaded model predicts the same  failed" in ran.out


def test_versions() -> None:
    assert doctor._version("numpy")
    assert doctor._version("no-such-package-at-all") is None
