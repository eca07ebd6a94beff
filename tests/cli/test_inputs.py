from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path

import pytest

from naivete.cli import COMMANDS, inputs
from naivete.cli.inputs import is_many, open_cases
from naivete.cli.meter import Meter
from naivete.cli.parsing import parse
from naivete.data.files import Files, pieces


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
