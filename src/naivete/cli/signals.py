"""Signals: SIGINT and SIGTERM end a command soon, even during a long call into compiled code."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from naivete.cli.output import complain

__all__ = ["Terminated", "advising", "interruptible", "reason"]

GRACE: Final = 1.5
"""The seconds that a command has to clean up after a signal before the process is ended."""
_STOP: Final = b"\0"
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_advice: Final[list[str]] = []


class Terminated(BaseException):
    """The process received SIGTERM."""


@contextmanager
def advising(advice: str) -> Iterator[None]:
    """Add an advice to the message that is printed if the body is interrupted."""
    _advice.append(advice)
    try:
        yield
    except (KeyboardInterrupt, Terminated) as error:
        error.add_note(advice)
        raise
    finally:
        _advice.remove(advice)


def reason(interrupted: bool, advice: Iterable[str]) -> str:
    """Return the message for an interrupted command: the reason and the advice.

    >>> reason(True, []), reason(False, ["run it again"])
    ('interrupted', 'terminated; run it again')
    """
    return "; ".join(["interrupted" if interrupted else "terminated", *advice])


@contextmanager
def interruptible(grace: float = GRACE) -> Iterator[None]:
    """Let SIGTERM raise `Terminated`, as SIGINT raises KeyboardInterrupt, and end the process if the body then runs on.

    Python runs signal handlers between two bytecode instructions, so a long call into compiled code delays them. A thread waits
    for the signal itself, and ends the process `grace` seconds later. Files are written under temporary names, so that none is
    left incomplete.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    previous_descriptor = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    previous_handler = signal.signal(signal.SIGTERM, _terminate)
    done = threading.Event()
    thread = threading.Thread(target=_watch, args=(reading, done, grace), name="naivete-signals", daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous_handler)
        signal.set_wakeup_fd(previous_descriptor)
        done.set()
        os.write(writing, _STOP)
        thread.join()
        os.close(reading)
        os.close(writing)


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Terminated(number, frame)


def _watch(reading: int, done: threading.Event, grace: float) -> None:
    """Wait for SIGINT or SIGTERM, and end the process if it does not end by itself within `grace` seconds."""
    while True:
        byte = os.read(reading, 1)
        if byte == _STOP:
            return
        if byte[0] in _SIGNALS and not done.wait(grace):
            complain(reason(byte[0] == signal.SIGINT, _advice))
            os._exit(128 + byte[0])
