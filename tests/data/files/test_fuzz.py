"""A little of `tests/fuzz.py` for every reader; the whole of it has a command of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import fuzz


@pytest.mark.parametrize("name", ["arff", "csv", "parquet"])
def test_mutated_files(name: str) -> None:
    if name == "parquet":
        pytest.importorskip("pyarrow")
    assert fuzz.fuzz(fuzz.READERS[name], 300, seed=1) == []


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
    assert fuzz.main(["broken", "--count", "20"]) == 1
    assert "broken: 20 inputs, 10 finds" in capsys.readouterr().out
    assert fuzz.main(["csv", "--count", "5", "--seed", "3"]) == 0
    with pytest.raises(SystemExit):
        fuzz.main(["no-such"])
