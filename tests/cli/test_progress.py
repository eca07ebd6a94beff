from __future__ import annotations

import builtins
import io
import sys
from typing import Any

import pytest

from naivete.cli import progress as module
from naivete.cli.progress import pass_progress, progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_silent_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("work", 2) as step:
        step("one")
        step("two")
    assert capsys.readouterr().err == ""


def test_lines_where_wanted(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with progress("work", 3, wanted=True) as step:
        step("one")
        monkeypatch.setattr(module, "INTERVAL", 0.0)
        step("two")
        step("th\x1bree")
    assert capsys.readouterr().err.splitlines() == ["naivete: work: 2 of 3 (two)", "naivete: work: 3 of 3 (th\\x1bree)"]


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress("work [bold]", 1) as step:
        step("one")
    assert "work [bold]" in terminal.getvalue()


def without_rich(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal on a machine without rich."""
    terminal, real = Terminal(), builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("rich"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(builtins, "__import__", without)
    return terminal


def test_lines_on_a_terminal_without_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = without_rich(monkeypatch)
    with progress("work", 1) as step:
        step("one")
    assert terminal.getvalue() == "naivete: work: 1 of 1 (one)\n"


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    fake = Clock()
    monkeypatch.setattr(module, "time", fake)
    return fake


def test_passes_are_silent_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with pass_progress("fit") as report:
        report(1, 10, 20)
    assert capsys.readouterr().err == ""


def test_lines_of_passes(capsys: pytest.CaptureFixture[str], clock: Clock) -> None:
    with pass_progress("fit", wanted=True) as report:
        for now, number, done in [(4, 1, 10_000_000), (10, 1, 25_000_000), (12, 1, 100_000_000), (17, 2, 50_000_000)]:
            clock.now = now
            report(number, done, 100_000_000)
    assert capsys.readouterr().err.splitlines() == [
        "naivete: fit: pass 1: 25.0 of 100 M rows, 0:30 left (2,500,000 rows per second)",
        "naivete: fit: pass 2: 50.0 of 100 M rows, 0:05 left (10,000,000 rows per second)",
    ]


def test_lines_and_a_bar_of_the_work_of_a_learner(
    capsys: pytest.CaptureFixture[str], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pass_progress("fit", wanted=True) as report:
        for now, share in [(4, 0.1), (6, 0.25), (7, 0.5)]:
            clock.now = now
            report.learned(share)  # type: ignore[attr-defined]
        clock.now = 12
        report(7, 50, 100)
    assert capsys.readouterr().err.splitlines() == [
        "naivete: fit: about 25% of the work",
        "naivete: fit: about 50% of the work, pass 7: 50 of 100 rows (4 rows per second)",
    ]
    pytest.importorskip("rich")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    with pass_progress("fit") as report:
        report.learned(0.25)  # type: ignore[attr-defined]
        report(7, 50, 100)
    assert "about 25% of the work, pass 7: 50 of 100 rows" in terminal.getvalue()


def test_lines_where_the_number_of_rows_is_not_known(capsys: pytest.CaptureFixture[str], clock: Clock) -> None:
    shares = iter([0.0, 0.25, 1.0])
    with pass_progress("fit", wanted=True, share=lambda: next(shares)) as report:
        for now, done in [(5, 1000), (10, 2000), (15, 8000)]:
            clock.now = now
            report(1, done, None)
    assert capsys.readouterr().err.splitlines() == [
        "naivete: fit: pass 1: 1,000 rows, 0% of the bytes, ? left (200 rows per second)",
        "naivete: fit: pass 1: 2,000 rows, 25% of the bytes, 0:30 left (200 rows per second)",
        "naivete: fit: pass 1: 8,000 rows, 100% of the bytes, 0:00 left (533 rows per second)",
    ]
    with pass_progress("fit", wanted=True) as report:
        clock.now = 20
        report(1, 1000, None)
        report(1, 500, None)  # from the beginning
    assert capsys.readouterr().err == "naivete: fit: pass 1: 1,000 rows (200 rows per second)\n"


def test_a_bar_of_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    with pass_progress("fit [bold]") as report:
        report(1, 10, None)
        report(2, 2_500_000, 100_000_000)
    assert "fit [bold]" in terminal.getvalue()
    assert "pass 2: 2.5 of 100 M rows" in terminal.getvalue()


def test_lines_of_passes_on_a_terminal_without_rich(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    terminal = without_rich(monkeypatch)
    with pass_progress("fit") as report:
        clock.now = 5
        report(1, 5, 10)
    assert terminal.getvalue() == "naivete: fit: pass 1: 5 of 10 rows, 0:05 left (1 rows per second)\n"
