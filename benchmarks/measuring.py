"""Time and memory of one piece of work inside a process, and the process that does it."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

ROOT = Path(__file__).resolve().parent.parent
R = TypeVar("R")

SHORT = 0.5
PATIENCE = 30.0


@dataclass(frozen=True)
class Timed(Generic[R]):
    """Seconds of the first call, of the best of the later ones (or of the first where it was too long), and the last result."""

    first: float
    best: float
    result: R


def timed(work: Callable[[], R], repeat: int, patience: float = PATIENCE) -> Timed[R]:
    """Call once to warm up, then `repeat` times, or less where that would take more than `patience` seconds.

    Only work whose first call takes longer than that is judged by its first call. Very short work is repeated more often, up to
    SHORT seconds in all, because a single interruption would outweigh it.
    """
    first, result = _seconds(work)
    times: list[float] = []
    while first + sum(times) < patience and (len(times) < repeat or (repeat > 0 and sum(times) < SHORT)):
        took, result = _seconds(work)
        times.append(took)
    return Timed(first, min(times, default=first), result)


def _seconds(work: Callable[[], R]) -> tuple[float, R]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


class Peak:
    """The most memory in use since this was made, beyond what was in use then.

    Linux can forget the highest value so far (5 to clear_refs); elsewhere it is the highest value of the process's life, which
    hides what stays below it.
    """

    def __init__(self) -> None:
        try:
            Path("/proc/self/clear_refs").write_text("5")
        except OSError:
            self.before = _highest()
        else:
            self.before = _status("VmRSS")

    def beyond(self) -> int:
        """Bytes."""
        return max(0, _highest() - self.before)


def _highest() -> int:
    try:
        return _status("VmHWM")
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(field)


Environment = Mapping[str, str]


def in_fresh_process(
    module: str, job: Mapping[str, Any], *, timeout: float, python: str = sys.executable, environment: Environment | None = None
) -> dict[str, Any]:
    """What `python -m MODULE JOB` prints on its last line, as a mapping; {"failed": why} where nothing came of it."""
    return answer_of([python, "-W", "ignore", "-m", module, json.dumps(job)], timeout, environment)


def answer_of(command: Sequence[str], timeout: float, environment: Environment | None = None) -> dict[str, Any]:
    """The JSON object on the last line that a command prints; past the time limit it is ended with all it started."""
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            said, complaints = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return {"failed": f"over {timeout:.0f} s"}
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode or not said.strip():
        lines = complaints.strip().splitlines()
        return {"failed": lines[-1][:160] if lines else f"exit status {process.returncode}"}
    found: dict[str, Any] = json.loads(said.strip().splitlines()[-1])
    return found
