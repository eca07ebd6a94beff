from __future__ import annotations

import gzip
import os
from argparse import Namespace
from pathlib import Path

import pytest

from naivete.cli import COMMANDS, inputs, progress
from naivete.cli.inputs import is_many, open_cases
from naivete.cli.meter import Meter
from naivete.cli.parsing import parse
from naivete.data.files import Files, opening, pieces
from tests.cli.conftest import Run


def arguments(*words: object) -> Namespace:
    return parse(COMMANDS, ["predict", "m.nvt", *map(str, words)])[1]


def test_what_is_streamed(weather: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def is_streamed(*words: object) -> bool:
        return isinstance(open_cases(arguments(*words)).source, Files)

    other = weather.with_name("other.csv")
    other.write_bytes(weather.read_bytes())
    assert not is_streamed(weather)
    assert is_streamed(weather, other)
    assert is_streamed(weather.parent)
    assert is_streamed(weather.with_name("*.csv"))
    assert is_streamed(weather, "--memory", "20G")
    monkeypatch.setattr(inputs, "LARGE", weather.stat().st_size)
    assert not is_streamed(weather)
    monkeypatch.setattr(inputs, "LARGE", weather.stat().st_size - 1)
    assert is_streamed(weather)


@pytest.fixture
def bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of repeated rows that decompresses to more than 100 times its size; the size to report is reduced to 1 MB."""
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(b"x,y\n" + (b"a" * 100 + b",no\n" + b"b" * 100 + b",yes\n") * 6_000))
    monkeypatch.setattr(opening, "UNUSUAL_SIZE", 1 << 20)
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    return path


def test_a_file_that_decompresses_to_many_times_its_size_is_noted_once_and_streamed(
    run: Run, bomb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"naivete: note: {bomb}: this file of {bomb.stat().st_size:,} bytes decompresses to more than "
    described = run("describe", bomb, "--target", "y", "--progress")
    assert described.code == 0
    assert described.err.count(text) == 1
    lines = described.err.splitlines()
    assert lines[0].startswith(f"naivete: reading {bomb}: ")
    assert next(i for i, line in enumerate(lines) if line.startswith(text)) < len(lines) - 1, "noted while it is read"
    monkeypatch.setattr(inputs, "LARGE", 1 << 20)
    fitted = run("fit", bomb, "--target", "y", "--model", "nb", "--progress", "--out", bomb.with_name("m.nvt"))
    assert fitted.code == 0
    assert fitted.err.count(text) == 1
    assert "naivete: fit: pass 1: " in fitted.err
    assert isinstance(open_cases(arguments(bomb)).source, Files)
    predicted = run("predict", bomb.with_name("m.nvt"), bomb, "--out", bomb.with_name("p.csv"), "--progress")
    assert predicted.code == 0
    assert predicted.err.count(text) == 1


def test_an_ordinary_compressed_file_is_not_noted(run: Run, weather: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "UNUSUAL_SIZE", 1)
    packed = weather.with_name("weather.csv.gz")
    packed.write_bytes(gzip.compress(weather.read_bytes()))
    assert run("describe", packed, "--target", "play").err == ""


@pytest.mark.parametrize("name", ["a" * 5000 + "*", "absent.csv"])
def test_names_that_cannot_be_many(name: str) -> None:
    assert not is_many(name)


@pytest.mark.skipif(os.name == "nt", reason="names of POSIX")
def test_a_file_named_like_a_pattern(tmp_path: Path) -> None:
    (tmp_path / "*").write_text("x,c\n")
    assert not is_many(str(tmp_path / "*"))
    assert is_many(str(tmp_path / "a*"))


def test_a_meter(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("x\n" + "1\n" * 9)
    files = pieces(tmp_path)
    meter = Meter(files)
    assert meter.share() == 0
    watched = meter.watched(files)
    shares = []
    for piece in watched.pieces:
        shares.extend(meter.share() for _ in piece.tables(rows=100))
        shares.append(meter.share())
    assert shares == [0.5, 0.5, 1, 1]
    with watched.pieces[0].file.opened() as first:
        first.read(2)
        assert meter.share() == 2 / 40
        with watched.pieces[1].file.opened() as second:
            second.read(4)
            assert meter.share() == 24 / 40
        assert meter.share() == 24 / 40
    assert meter.share() == 24 / 40
    assert watched.fingerprint() == files.fingerprint()
