"""Interrupts that end a command in time, even while a long computation does not listen."""

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
"""Seconds a command has for putting things in order before it is ended."""
_STOP: Final = b"\0"
_ENDING: Final = (signal.SIGINT, signal.SIGTERM)
_advice: Final[list[str]] = []


class Terminated(BaseException):
    """The process was asked to end."""


@contextmanager
def advising(advice: str) -> Iterator[None]:
    """Whoever interrupts the body is told this, too."""
    _advice.append(advice)
    try:
        yield
    except (KeyboardInterrupt, Terminated) as error:
        error.add_note(advice)
        raise
    finally:
        _advice.remove(advice)


def reason(interrupted: bool, advice: Iterable[str]) -> str:
    """Why the command ends, and what to do then.

    >>> reason(True, []), reason(False, ["run it again"])
    ('interrupted', 'terminated; run it again')
    """
    return "; ".join(["interrupted" if interrupted else "terminated", *advice])


@contextmanager
def interruptible(grace: float = GRACE) -> Iterator[None]:
    """SIGTERM raises `Terminated`, as SIGINT raises KeyboardInterrupt; a body that does not end after either is cut short.

    Python runs signal handlers between two of its own steps, so one long call into compiled code would hold them up. A thread
    waits for the signal itself and ends the process where `grace` seconds were not enough. Files are written under temporary
    names, so nothing is left half done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    handler = signal.signal(signal.SIGTERM, _terminate)
    done = threading.Event()
    watch = threading.Thread(target=_watch, args=(reading, done, grace), name="naivete-signals", daemon=True)
    watch.start()
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler)
        signal.set_wakeup_fd(before)
        done.set()
        os.write(writing, _STOP)
        watch.join()
        os.close(reading)
        os.close(writing)


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Terminated(number, frame)


def _watch(reading: int, done: threading.Event, grace: float) -> None:
    """Wait for a signal that asks to end, then for the end, then end the process."""
    while True:
        byte = os.read(reading, 1)
        if byte == _STOP:
            return
        if byte[0] in _ENDING and not done.wait(grace):
            complain(reason(byte[0] == signal.SIGINT, _advice))
            os._exit(128 + byte[0])
