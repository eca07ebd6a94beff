"""Commands that are killed at random moments: every file is whole or absent, and the next run gives the same bytes (C2, O1)."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="a process is forked and killed, as POSIX can")

RUNNER = """
import json, os, sys, time
import numpy, sklearn.preprocessing, scipy.special, scipy.stats
import naivete.cases.sources
naivete.cases.sources.ROWS = 200
from naivete.cli import main
for line in sys.stdin:
    words, seconds = json.loads(line)
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os._exit(main(words))
    end = time.monotonic() + seconds
    while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < end:
        time.sleep(0.002)
    if not ended[0]:
        os.kill(child, 9)
        ended = os.waitpid(child, 0)
    print(ended[1], flush=True)
"""


class Runner:
    """Runs commands in processes of their own that have imported everything, so that a run takes little time."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self.process, self.folder = process, folder

    def run(self, words: list[str], seconds: float = 1e6) -> bool:
        """Run a command, and kill it after some seconds; return whether it was killed."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([words, seconds]) + "\n")
        self.process.stdin.flush()
        status = int(self.process.stdout.readline())
        assert status in (0, 9)
        return status == 9


@contextmanager
def runner(folder: Path) -> Iterator[Runner]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", RUNNER], cwd=folder, **pipes) as process:  # type: ignore[call-overload]
        yield Runner(process, folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the rows of a table in two files."""
    rng = np.random.default_rng(3)
    for name, count in (("a.csv", 900), ("b.csv", 600)):
        label = rng.integers(0, 3, count)
        columns = [(label + rng.integers(0, 3, count)) % 4 for _ in range(6)]
        lines = [",".join([*(f"v{column[i]}" for column in columns), f"c{label[i]}"]) for i in range(count)]
        (tmp_path / name).write_text("\n".join(["p,q,r,s,t,u,class", *lines, ""]))
    return tmp_path


FIT = ["fit", "a.csv", "b.csv", "--target", "class", "--force"]
COMMANDS = {
    "fit": ([*FIT, "--model", "kdb:k=2", "--out", "result.csv"], []),
    "checkpoint": ([*FIT, "--model", "hc", "--checkpoint", "work", "--every", "0", "--out", "result.csv"], []),
    "predict": (["predict", "model.nvt", "a.csv", "b.csv", "--force", "--out", "result.csv"], [*FIT, "--out", "model.nvt"]),
    "compare": (
        [
            *("compare", "b.csv", "--target", "class", "--models", "nb", "kdb:k=2", "--jobs", "1", "--protocol", "5-fold"),
            *("--resume", "work", "--force", "--records", "result.csv"),
        ],
        [],
    ),
}


def content(result: Path, command: str) -> list[bytes]:
    """The lines of a file, those of a comparison without the seconds at their end."""
    lines = result.read_bytes().split(b"\n")
    return [line.rsplit(b",", 2)[0] for line in lines] if command == "compare" else lines


def check_kills(folder: Path, command: str, kills: int) -> None:
    """Kill a command at random moments of its run; after each kill and at the end, its file is absent or that of a whole run."""
    words, first = COMMANDS[command]
    result, rng, killed = folder / "result.csv", random.Random(command), 0
    with runner(folder) as commands:
        for once in (first or words, words):
            assert not commands.run(once)
        shutil.rmtree(folder / "work", ignore_errors=True)
        start = time.monotonic()
        assert not commands.run(words)
        duration = time.monotonic() - start
        expected, others = content(result, command), set(os.listdir(folder))
        while killed < kills:
            result.unlink(missing_ok=True)
            shutil.rmtree(folder / "work", ignore_errors=True)
            for _ in range(rng.randint(1, 4)):  # some of them continue the work of a run that was killed
                killed += commands.run(words, rng.uniform(0, duration))
                assert not result.exists() or content(result, command) == expected
            assert not commands.run(words)
            assert content(result, command) == expected
            assert set(os.listdir(folder)) == others, "nothing else is left behind"


@pytest.mark.parametrize("command", ["fit"])
def test_c2_some_kills(folder: Path, command: str) -> None:
    check_kills(folder, command, 3)


@pytest.mark.slow
@pytest.mark.parametrize("command", list(COMMANDS))
def test_c2_a_hundred_kills(folder: Path, command: str) -> None:
    check_kills(folder, command, 100)
