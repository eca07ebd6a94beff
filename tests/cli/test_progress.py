from __future__ import annotations

import builtins
import io
import sys
from typing import Any

import pytest

from naivete.cli import progress as module
from naivete.cli.progress import progress


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
        monkeypatch.setattr(module, "EVERY", 0.0)
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


def test_lines_on_a_terminal_without_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, real = Terminal(), builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("rich"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(builtins, "__import__", without)
    with progress("work", 1) as step:
        step("one")
    assert terminal.getvalue() == "naivete: work: 1 of 1 (one)\n"
