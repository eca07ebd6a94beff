from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from naivete.cli.signals import Terminated, advising, interruptible

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")


def caught_exit(monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], threading.Event]:
    """The exit codes of calls that would end the process, and an event that the first of them sets."""
    codes: list[int] = []
    ended = threading.Event()

    def exit_process(code: int) -> None:
        codes.append(code)
        ended.set()

    monkeypatch.setattr(os, "_exit", exit_process)
    return codes, ended


def test_terminated() -> None:
    def ended() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)

    with pytest.raises(Terminated), interruptible():
        ended()
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_what_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    codes, ended = caught_exit(monkeypatch)
    with interruptible(grace=0.05):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
        except Terminated:
            ended.wait(60)  # cleaning up takes longer than the grace
    assert codes == [143]
    assert capsys.readouterr().err == "naivete: terminated\n"


def test_other_signals_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    monkeypatch.setattr(os, "_exit", lambda code: pytest.fail(str(code)))
    with interruptible(grace=0.0):
        os.kill(os.getpid(), signal.SIGUSR1)
        time.sleep(0.1)
    signal.signal(signal.SIGUSR1, before)


def test_outside_the_main_thread_nothing_is_touched() -> None:
    seen: list[object] = []

    def work() -> None:
        with interruptible():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.SIG_DFL]


def test_advice_to_whoever_interrupts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt) as interrupted, advising("go on"):
        raise KeyboardInterrupt
    assert interrupted.value.__notes__ == ["go on"]
    _, ended = caught_exit(monkeypatch)
    with interruptible(grace=0.05), advising("go on"):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
        except Terminated:
            ended.wait(60)
    assert capsys.readouterr().err == "naivete: terminated; go on\n"
