"""Encoded rows in a temporary file: the same model as from the source, and a file that never stays behind."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from naivete import KDB, NaiveBayes
from naivete.cases import spill as spill_module
from naivete.cases.base import Block
from naivete.cases.files import Chunk
from naivete.cases.spill import Spill
from naivete.classifiers.saving import model_hash
from naivete.classifiers.unrestricted import HillClimb
from naivete.data.files import Piece
from naivete.encoding.encoder import Encoder
from naivete.errors import NaiveteWarning, ParameterError


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A CSV file of 90 rows with text, numbers, missing values, weights of zero; read 25 rows at a time."""
    monkeypatch.setattr("naivete.cases.sources.ROWS", 25)
    monkeypatch.setenv("NAIVETE_TMPDIR", str(tmp_path / "spilled"))
    (tmp_path / "spilled").mkdir()
    rng = np.random.default_rng(7)
    hidden = rng.integers(0, 3, 90)
    frame = pd.DataFrame(
        {
            "text": np.array(["a", "b", "c", None], object)[(hidden + rng.integers(0, 2, 90)) % 4],
            "whole": (hidden * 2 + rng.integers(0, 3, 90)) % 5,
            "number": np.round(hidden + rng.normal(size=90), 2),
            "many": [f"v{i % 12}" for i in range(90)],
            "y": np.array(["no", "yes"])[(hidden + (rng.random(90) < 0.2)) % 2],
            "w": rng.integers(0, 3, 90) / 2,
        }
    )
    frame.to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "rows.csv"


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The pieces of files that were decoded, one entry for each time."""
    names: list[str] = []
    tables = Piece.tables

    def noted(self: Piece, **how: Any) -> Any:
        names.append(self.name)
        return tables(self, **how)

    monkeypatch.setattr(Piece, "tables", noted)
    return names


def open_files(folder: Path) -> list[str]:
    """The files below the folder that this process has open, also those that were unlinked."""
    links = (os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if os.path.lexists(f"/proc/self/fd/{fd}"))
    return [link for link in links if link.startswith(str(folder))]


@pytest.mark.parametrize(
    "make",
    [
        HillClimb,
        lambda: KDB(k="auto"),
        lambda: NaiveBayes(encoder=Encoder(numbers="kernel")),
        lambda: KDB(encoder=Encoder(max_integer_states=2)),
    ],
)
def test_the_source_is_decoded_twice_and_the_model_is_the_same(rows: Path, decoded: list[str], make: Callable[[], Any]) -> None:
    streamed = make().fit_cases(rows, "y", weight="w", disk=0)
    assert len(decoded) == streamed.passes_
    decoded.clear()
    spilled = make().fit_cases(rows, "y", weight="w")
    assert len(decoded) == min(2, spilled.passes_)
    assert spilled.passes_ == streamed.passes_
    assert model_hash(spilled) == model_hash(streamed)


def test_rows_that_do_not_fit_are_decoded_again_with_one_warning(rows: Path, decoded: list[str]) -> None:
    with pytest.warns(NaiveteWarning) as seen:
        model = HillClimb().fit_cases(rows, "y", weight="w", disk=5000)
    assert [str(w.message) for w in seen if "temporary file" in str(w.message)] == [
        f"{rows.parent / 'spilled'}: the encoded rows are not kept in a temporary file, so that every pass decodes the source again: "
        "they need more than the 5,000 bytes of disk space that they may take; allow more (`disk=`), or name another folder in the "
        "environment variable NAIVETE_TMPDIR"
    ]
    assert len(decoded) == model.passes_
    assert model_hash(model) == model_hash(HillClimb().fit_cases(rows, "y", weight="w"))


def test_half_of_the_free_space_is_the_default_limit(rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill_module.shutil, "disk_usage", lambda _: spill_module.shutil._ntuple_diskusage(10_000, 0, 10_000))
    for disk in (None, 10**9):
        with pytest.warns(NaiveteWarning, match="more than the 5,000 bytes"):
            KDB(k=2).fit_cases(rows, "y", weight="w", disk=disk)


def test_a_folder_that_cannot_be_written_is_reported(rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAIVETE_TMPDIR", str(rows.parent / "absent"))
    with pytest.warns(NaiveteWarning, match=r"absent: .* the file cannot be written: No such file or directory"):
        KDB(k=2).fit_cases(rows, "y", weight="w")


@pytest.mark.parametrize("disk", [-1, 1.5, True, "1G"])
def test_a_limit_that_is_no_number_of_bytes_is_refused(rows: Path, disk: Any) -> None:
    with pytest.raises(ParameterError, match=r"disk=.*: a number of bytes, at least 0"):
        KDB().fit_cases(rows, "y", disk=disk)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files are read from Linux")
@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_the_file_is_always_removed(rows: Path, error: type[BaseException]) -> None:
    folder = rows.parent / "spilled"
    sizes: list[int] = []

    def stop(number: int, *_: Any) -> None:
        if number > 1:
            assert not list(folder.iterdir())
            sizes.append(len(open_files(folder)))
        if number == 4:
            raise error

    with pytest.raises(error):
        HillClimb().fit_cases(rows, "y", weight="w", progress=stop)
    assert max(sizes) >= 1
    assert open_files(folder) == []
    HillClimb().fit_cases(rows, "y", weight="w")
    assert open_files(folder) == []
    assert not list(folder.iterdir())


def test_an_interrupted_run_spills_anew(rows: Path, decoded: list[str]) -> None:
    expected = model_hash(HillClimb().fit_cases(rows, "y", weight="w"))
    for stop_in, decoded_by_then in ((2, 2), (4, 1)):  # in the middle of the pass that spills, and of one that reads the spill
        seen = 0

        def stop(number: int, *_: Any, stop_in: int = stop_in) -> None:
            nonlocal seen
            seen += number == stop_in
            if seen == 2:
                raise KeyboardInterrupt

        decoded.clear()
        with pytest.raises(KeyboardInterrupt):
            HillClimb().fit_cases(rows, "y", weight="w", progress=stop, checkpoint=rows.parent / "saved", every=0)
        assert len(decoded) == decoded_by_then + (stop_in == 4)
    decoded.clear()
    model = HillClimb().fit_cases(rows, "y", weight="w", checkpoint=rows.parent / "saved", every=0)
    assert model_hash(model) == expected
    assert len(decoded) == 2  # the rest of the pass that was interrupted, and the next one, which spills


def chunks() -> Iterator[Chunk]:
    """Blocks of every type of code, with and without weights; one has no rows."""
    for number, length in enumerate((5, 0, 3)):
        codes = [np.arange(length, dtype=dtype) for dtype in (np.uint8, np.uint16, np.uint32)]
        numbers = np.array([np.nan, -0.0, 1e300, 5e-324, np.pi][:length])
        weight = None if number == 2 else np.linspace(0.5, 1, length)
        yield Chunk(Block((*codes, numbers, np.ones(length, np.uint8)), weight), (0, number), length + 1)


def test_blocks_are_read_as_they_were_written(tmp_path: Path) -> None:
    with Spill(folder=tmp_path) as spill:
        assert len(list(spill.write(chunks()))) == 3
        assert spill.complete
        for _ in range(2):
            for one, two in zip(spill.read(), chunks(), strict=True):
                assert one[1:] == two[1:]
                assert [c.dtype for c in one.part.codes] == [c.dtype for c in two.part.codes]
                assert [c.tobytes() for c in one.part.codes] == [c.tobytes() for c in two.part.codes]
                assert (one.part.weight is None) == (two.part.weight is None)
                assert one.part.weight is None or one.part.weight.tobytes() == two.part.weight.tobytes()


def test_only_whole_passes_are_stored(tmp_path: Path) -> None:
    with Spill(folder=tmp_path) as spill:
        first = spill.write(chunks())
        next(first)
        assert len(list(spill.write(chunks()))) == 3  # a second pass at the same time does not store its chunks
        assert not spill.complete
        first.close()
        assert spill.size == 0
        list(spill.write(chunks()))
        assert spill.complete
    assert spill.size == 0


def test_tables_in_memory_are_not_written(rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Spill, "__init__", lambda *_: pytest.fail("a table in memory needs no file"))
    KDB(k=2).fit_cases(pd.read_csv(rows), "y", weight="w")
