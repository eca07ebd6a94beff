"""Sizes that the pages of Parquet files claim."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from naivete import DataError
from naivete.data.files import parquet_pages, read_parquet
from naivete.data.files.parquet_pages import check_pages
from naivete.data.files.pieces import pieces


def written(path: Path, rows: int = 2000, **options: Any) -> Path:
    """Write a table of all types, with missing values and several pages and row groups."""
    rng = np.random.default_rng(0)
    table = {
        "i": pa.array(rng.integers(0, 1000, rows), mask=rng.random(rows) < 0.1),
        "x": rng.normal(size=rows),
        "s": [f"text {v}" * 20 for v in rng.integers(0, 500, rows)],
        "b": rng.random(rows) < 0.5,
        "d": pa.array(rng.choice(["a", "b"], rows)).dictionary_encode(),
    }
    pq.write_table(pa.table(table), path, row_group_size=700, data_page_size=512, write_batch_size=100, **options)
    return path


def pages(path: Path) -> list[tuple[int, int, int]]:
    """The positions and sizes of all pages, as the check reads them."""
    found = []
    original = parquet_pages._Header.sizes

    class Noted(parquet_pages._Header):
        def sizes(self) -> tuple[int, int]:
            position = self.file.tell()
            sizes = original(self)
            found.append((position, *sizes))
            return sizes

    with path.open("rb") as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet_pages, "_Header", Noted)
        check_pages(file, pq.read_metadata(path))
    return found


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd", "lz4", "brotli"])
@pytest.mark.parametrize(("version", "dictionaries"), [("1.0", True), ("2.0", False)])
def test_all_pages_are_visited(tmp_path: Path, compression: str, version: str, dictionaries: bool) -> None:
    """The sizes with the headers add up to those of the footer, which pyarrow computes."""
    options = {"data_page_version": version, "use_dictionary": dictionaries, "write_page_checksum": True}
    path = written(tmp_path / "a.parquet", compression=compression, **options)
    metadata, found = pq.read_metadata(path), pages(path)
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    chunks = [group.column(j) for group in groups for j in range(group.num_columns)]
    assert len(found) > 2 * len(chunks)
    headers = sum(chunk.total_compressed_size for chunk in chunks) - sum(size for _, _, size in found)
    assert 0 < headers == sum(chunk.total_uncompressed_size for chunk in chunks) - sum(size for _, size, _ in found)
    assert len(read_parquet(path)) == 2000


def varint(value: int) -> bytes:
    result = b""
    while value > 127:
        result, value = result + bytes([value & 127 | 128]), value >> 7
    return result + bytes([value])


def with_claim(path: Path, field: int, claim: int) -> Path:
    """Replace a size in the header of the first page, whose position stays."""
    data = path.read_bytes()
    position, *sizes = pages(path)[0]
    headers = [b"\x15" + varint(2 * size) for size in sizes]
    old = headers[0] + headers[1]
    headers[field - 2] = b"\x15" + varint(2 * claim)
    path.write_bytes(data[:position] + data[position:].replace(old, headers[0] + headers[1], 1))
    return path


@pytest.mark.parametrize(
    ("field", "claim", "message"),
    [
        (2, 2**31 - 1, r"the page at byte \d+ claims 2,147,483,647 bytes in [\d,]+'"),
        (3, 2**31 - 1, r"the page at byte \d+ claims 2,147,483,647 bytes'"),
        (3, -5, r"the page at byte \d+ claims -5 bytes"),
    ],
)
def test_impossible_sizes_are_refused_before_anything_is_read(
    tmp_path: Path, field: int, claim: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = with_claim(written(tmp_path / "a.parquet", compression="snappy"), field, claim if claim > 0 else 2**31 - 5)
    if claim < 0:
        monkeypatch.setattr(parquet_pages._Header, "sizes", lambda _: (10, claim))
    allocated = pa.total_allocated_bytes()
    for read in (read_parquet, pieces):
        with pytest.raises(DataError, match=f"the Parquet data is damaged: .*{message}"):
            read(path)
    assert pa.total_allocated_bytes() - allocated < 1 << 20


def test_headers_that_are_damaged() -> None:
    for data, message in (
        (b"", "the file ends in the header"),
        (b"\x15" + b"\xff" * 20, "too many bytes"),
        (b"\x1c" * 40, "nested too deeply"),
        (b"\x1b\x00", "a field of type 11"),
        (b"\x18\xff\xff\x03", "the file ends in the header"),
    ):
        with pytest.raises(ValueError, match=message):
            parquet_pages._Header(io.BytesIO(data)).sizes()


def test_all_types_of_fields_are_skipped() -> None:
    """A structure with a list of booleans and one of structures, a long list, a double, a byte, a field with a long number."""
    fields = b"\x11\x12\x13\x07\x17" + b"d" * 8 + b"\x19\x21\x01\x02\x19\x1c\x15\x02\x00\x19\xf5\x10" + b"\x02" * 16
    header = parquet_pages._Header(io.BytesIO(fields + b"\x08\xa0\x01\x03abc" + b"\x05\x04\x14\x15\x18\x00"))
    assert header.sizes() == (10, 12)
    assert header.length == len(fields) + 7 + 6
