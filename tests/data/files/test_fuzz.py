"""A little of `tests/fuzz.py` for every reader; the whole of it has a command of its own."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from tests import fuzz, fuzz_run


@pytest.mark.parametrize("name", ["arff", "csv", "parquet"])
def test_mutated_files(name: str) -> None:
    if name == "parquet":
        pytest.importorskip("pyarrow")
    assert fuzz.fuzz(fuzz.READERS[name], 300, seed=1).problems == []


@pytest.mark.parametrize("name", ["arff", "csv", "parquet"])
def test_cut_at_every_byte(tmp_path: Path, name: str) -> None:
    if name == "parquet":
        pytest.importorskip("pyarrow")
    reader = fuzz.READERS[name]
    path = tmp_path / f"input{reader.ending}"
    for data in reader.corpus()[:1]:
        for length in range(min(len(data), 600)):
            path.write_bytes(data[:length])
            assert fuzz.failure(reader, path) is None


def test_inputs_that_break_a_reader_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(path: Path) -> None:
        raise IndexError(path.name)

    monkeypatch.setitem(fuzz.READERS, "broken", fuzz.Reader(lambda: (b"data",), ".bin", broken))
    monkeypatch.setattr(fuzz_run, "PART", 10)
    assert fuzz_run.main(["broken", "--total", "20"]) == 1
    assert "20 inputs, 10 problems" not in (printed := capsys.readouterr().out)
    assert "10 inputs, 10 problems" in printed
    assert "broken: IndexError: input.bin" in printed
    with pytest.raises(SystemExit):
        fuzz_run.main(["no-such"])


def test_a_run_is_continued(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz_run, "PART", 10)
    monkeypatch.setattr(fuzz_run, "SECONDS", math.inf)
    state = tmp_path / "state.json"
    assert fuzz_run.main(["csv", "bif", "--total", "40", "--state", str(state)]) == 0
    assert fuzz_run.main(["csv", "bif", "--total", "60", "--state", str(state)]) == 0
    continued = json.loads(state.read_text())["readers"]
    assert fuzz_run.main(["csv", "bif", "--total", "60", "--state", str(tmp_path / "other.json")]) == 0
    at_once = json.loads((tmp_path / "other.json").read_text())["readers"]
    for name in ("csv", "bif"):
        assert (continued[name]["inputs"], continued[name]["refused"]) == (30, at_once[name]["refused"])
    assert "60 inputs, 0 problems" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="of a run with --seed 0"):
        fuzz_run.main(["csv", "--seed", "1", "--state", str(state)])


def test_slow_and_large_inputs_are_problems(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = fuzz.Reader(lambda: (b"data",), ".bin", lambda path: None)
    with monkeypatch.context() as patch:
        patch.setattr(fuzz, "MEMORY", -(1 << 40))
        found = fuzz.Found(memory=-(2 << 40))
        patch.setattr(fuzz, "Found", lambda: found)
        fuzz.fuzz(reader, 5, seed=0)
    assert found.inputs == 1
    assert "MiB of memory" in found.problems[0][1]
    (tmp_path / "input.csv").write_bytes(fuzz.CSV[0])
    assert fuzz.failure(fuzz.READERS["csv"], tmp_path / "input.csv") is None
    assert "s of processor time" in str(fuzz.failure(fuzz.READERS["csv"], tmp_path / "input.csv", limit=-1.0))
    monkeypatch.setattr(fuzz_run, "PART", 10)
    monkeypatch.setattr(fuzz_run, "SECONDS", -1.0)
    assert fuzz_run.main(["csv", "--total", "10"]) == 1
    assert "s of processor time" in capsys.readouterr().out.splitlines()[-2]
