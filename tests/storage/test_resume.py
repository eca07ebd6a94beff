"""Runs that are killed: they resume to the same model, whatever the moment (O1)."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from naivete import KDB
from naivete.classifiers.saving import model_hash

RUN = """
import sys
import naivete.cases.sources
naivete.cases.sources.ROWS = 500
from naivete import KDB, save
print("ready", flush=True)
KDB(k=2).fit_cases(
    sys.argv[1], "y", weight="w", checkpoint=sys.argv[2], every=0.01, then=lambda model: save(model, sys.argv[3])
)
"""


def made(folder: Path, n: int = 8000) -> Path:
    """Some files of rows with weights and missing values."""
    rng = np.random.default_rng(11)
    folder.mkdir()
    for part in range(3):
        hidden = rng.integers(0, 3, n)
        columns: dict[str, np.ndarray] = {f"x{i}": (hidden + rng.integers(0, 3, n)) % 4 for i in range(8)}
        columns["z"] = hidden + rng.normal(size=n)
        columns["z"][rng.random(n) < 0.1] = np.nan
        columns |= {"y": (hidden + (rng.random(n) < 0.2)) % 3, "w": rng.random(n)}
        pq.write_table(pa.table(columns), folder / f"part-{part}.parquet", row_group_size=1000)
    return folder


def killed_until_done(data: Path, place: Path, rng: random.Random, longest: float, most: int = 4) -> tuple[Path, int]:
    """Run, kill at a random moment, up to `most` times, and run until the end; the model, and how many runs were killed."""
    model, kills = place / "model.nvt", 0
    while True:
        words = [sys.executable, "-c", RUN, str(data), str(place / "saved"), str(model)]
        process = subprocess.Popen(words, stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        end = time.monotonic() + (rng.uniform(0, longest) if kills < most else 600)
        while process.poll() is None and time.monotonic() < end:
            time.sleep(0.002)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        if process.returncode == 0:
            return model, kills
        assert process.returncode == -signal.SIGKILL
        kills += 1


def check(tmp_path: Path, wanted: int, longest: float, seed: int) -> None:
    data, rng = made(tmp_path / "data"), random.Random(seed)
    from naivete import load

    expected, kills, runs = model_hash(KDB(k=2).fit_cases(data, "y", weight="w")), 0, 0
    while kills < wanted:
        place = tmp_path / f"run-{runs}"
        place.mkdir()
        model, own = killed_until_done(data, place, rng, longest, min(4, wanted - kills))
        assert model_hash(load(model)) == expected
        assert not list((place / "saved").glob("*"))  # a kill between two system calls can leave the empty folder
        kills, runs = kills + own, runs + 1


STOPS = RUN.replace("KDB(k=2)", """
def stop(number, done, total):
    if number == 2 and done > 1000:
        print("saved", flush=True)
        time.sleep(600)
KDB(k=2)""").replace("every=0.01", "every=0, progress=stop").replace("import sys", "import sys, time")  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a signal of POSIX")
def test_o1_a_killed_run_resumes_to_the_same_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed in the second pass; the work that was saved is not done again."""
    data, saved = made(tmp_path / "data", 1000), tmp_path / "saved"
    words = [sys.executable, "-c", STOPS, str(data), str(saved), str(tmp_path / "model.nvt")]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.read(12) == b"ready\nsaved\n"
        process.kill()
    assert saved.exists()
    monkeypatch.setattr("naivete.cases.sources.ROWS", 500)
    steps: list[tuple[int, int]] = []
    resumed = KDB(k=2).fit_cases(
        data, "y", weight="w", checkpoint=saved, progress=lambda number, done, _: steps.append((number, done))
    )
    assert min(steps) > (2, 1000)
    assert model_hash(resumed) == model_hash(KDB(k=2).fit_cases(data, "y", weight="w"))
    assert not saved.exists()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a signal of POSIX")
def test_o1_a_hundred_kills_at_random_moments(tmp_path: Path) -> None:
    check(tmp_path, 100, 1.5, seed=2)
