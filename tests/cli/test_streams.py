from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path

import pytest

from naivete.cli import streams
from naivete.cli.streams import Meter, is_many, is_streamed
from naivete.data.files import pieces


def options(*data: object, **more: object) -> Namespace:
    return Namespace(data=[str(one) for one in data], **{"memory": None, "checkpoint": None, "cluster": None, **more})


def test_what_is_streamed(weather: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_streamed(options(weather))
    assert not is_streamed(options(weather.with_name("absent.csv")))
    assert is_streamed(options(weather, weather))
    assert is_streamed(options(weather.parent))
    assert is_streamed(options(weather.with_name("*.csv")))
    for option in ("memory", "checkpoint", "cluster"):
        assert is_streamed(options(weather, **{option: "1"}))
    monkeypatch.setattr(streams, "LARGE", weather.stat().st_size)
    assert not is_streamed(options(weather))
    monkeypatch.setattr(streams, "LARGE", weather.stat().st_size - 1)
    assert is_streamed(options(weather))


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
