"""Time and memory of a function call, and jobs in new processes."""

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
    """Seconds of the first call and of the fastest later call (the first if there is no other), and the last result."""

    first: float
    best: float
    result: R


def timed(work: Callable[[], R], repeat: int, patience: float = PATIENCE) -> Timed[R]:
    """Call once to warm up, then `repeat` times; stop after `patience` seconds.

    The first call counts only if it takes longer than `patience`. Short calls are repeated more often, up to SHORT seconds in
    total, to reduce the effect of interruptions.
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
    """The peak memory since the creation of this object, beyond the memory in use at that time.

    Linux can reset the peak of a process (by writing 5 to clear_refs). Elsewhere the peak is that of the whole life of the
    process, so that a smaller later peak is not measured.
    """

    def __init__(self) -> None:
        try:
            Path("/proc/self/clear_refs").write_text("5")
        except OSError:
            self.before = _highest()
        else:
            self.before = _status("VmRSS")

    def beyond(self) -> int:
        """Return the bytes."""
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
    """Return the JSON object that `python -m MODULE JOB` prints on its last line; {"failed": reason} if it fails."""
    return json_output([python, "-W", "ignore", "-m", module, json.dumps(job)], timeout, environment)


def json_output(command: Sequence[str], timeout: float, environment: Environment | None = None) -> dict[str, Any]:
    """Return the JSON object on the last line of a command's output; after the timeout its process group is killed."""
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
            output, messages = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return {"failed": f"over {timeout:.0f} s"}
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode or not output.strip():
        lines = messages.strip().splitlines()
        return {"failed": lines[-1][:160] if lines else f"exit status {process.returncode}"}
    result: dict[str, Any] = json.loads(output.strip().splitlines()[-1])
    return result
