"""Time and memory of one piece of work inside a process, and the process that does it."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

ROOT = Path(__file__).resolve().parent.parent
R = TypeVar("R")


@dataclass(frozen=True)
class Timed(Generic[R]):
    """Seconds of the first call, of the best of the later ones (or of the first where it was too long), and the last result."""

    first: float
    best: float
    calls: int
    result: R


def timed(work: Callable[[], R], repeat: int, patience: float = 10.0) -> Timed[R]:
    """Call once to warm up, then up to `repeat` times while less than `patience` seconds have gone by."""
    began = time.perf_counter()
    result = work()
    first = time.perf_counter() - began
    times: list[float] = []
    while len(times) < repeat and time.perf_counter() - began < patience:
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return Timed(first, min(times, default=first), 1 + len(times), result)


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


def in_fresh_process(
    module: str,
    job: Mapping[str, Any],
    *,
    python: str = sys.executable,
    timeout: float,
    environment: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """What `python -m MODULE JOB` prints on its last line, as a mapping; {"failed": why} where nothing came of it."""
    command = [python, "-W", "ignore", "-m", module, json.dumps(job)]
    return answer_of(command, timeout, environment)


def answer_of(command: Sequence[str], timeout: float, environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The JSON object on the last line that a command prints."""
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, **(environment or {})},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"over {timeout:.0f} s"}
    if done.returncode:
        said = done.stderr.strip().splitlines()
        return {"failed": said[-1][:160] if said else f"exit status {done.returncode}"}
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found
