"""Sizes that the pages of Parquet files claim."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from naivete import DataError, NaiveBayes
from naivete.data.files import parquet_pages, read_parquet
from naivete.data.files.parquet_pages import chunks, page_sizes
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
    """The position, the size decompressed and the size in the file of all pages."""
    found = []
    with path.open("rb") as file:
        for group in chunks(file):
            for chunk in group:
                position = chunk.start
                while position < chunk.stop:
                    decompressed, compressed, start = page_sizes(file, position)
                    found.append((position, decompressed, compressed))
                    position = start + compressed
    return found


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd", "lz4", "brotli"])
@pytest.mark.parametrize(("version", "dictionaries"), [("1.0", True), ("2.0", False)])
def test_all_pages_are_visited(tmp_path: Path, compression: str, version: str, dictionaries: bool) -> None:
    """The sizes with the headers add up to those of the footer, which pyarrow computes."""
    options = {"data_page_version": version, "use_dictionary": dictionaries, "write_page_checksum": True}
    path = written(tmp_path / "a.parquet", compression=compression, **options)
    metadata, found = pq.read_metadata(path), pages(path)
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    columns = [group.column(j) for group in groups for j in range(group.num_columns)]
    with path.open("rb") as file:
        stored = [chunk for group in chunks(file) for chunk in group]
    assert [(c.values, c.decompressed, c.stop - c.start) for c in stored] == [
        (c.num_values, c.total_uncompressed_size, c.total_compressed_size) for c in columns
    ]
    assert len(found) > 2 * len(columns)
    headers = sum(c.stop - c.start for c in stored) - sum(size for _, _, size in found)
    assert 0 < headers == sum(c.decompressed for c in stored) - sum(size for _, size, _ in found)
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
    ("field", "message"),
    [
        (2, r"the page at byte \d+ claims 2,147,483,647 bytes in [\d,]+'"),
        (3, r"the page at byte \d+ claims 2,147,483,647 bytes'"),
    ],
)
def test_impossible_sizes_are_refused_before_anything_is_read(tmp_path: Path, field: int, message: str) -> None:
    path = with_claim(written(tmp_path / "a.parquet", compression="snappy"), field, 2**31 - 1)
    allocated = pa.total_allocated_bytes()
    for read in (read_parquet, pieces):
        with pytest.raises(DataError, match=f"the Parquet data is damaged: .*{message}"):
            read(path)
    assert pa.total_allocated_bytes() - allocated < 1 << 20


def test_a_footer_that_ends_pyarrow_is_refused(tmp_path: Path) -> None:
    """A list of counts that is too long, in the statistics of a column, ends a process that asks pyarrow for its metadata."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"s": ["a", None, "b"]}), path, compression="none")
    content, footer = (data := path.read_bytes())[:-8], data[-8 - int.from_bytes(data[-8:-4], "little") : -8]
    histogram = b"\x19&\x02\x04"  # of the levels 0 and 1: one missing value, two others
    assert footer.count(histogram) == 1
    damaged = footer.replace(histogram, b"\x19\x16\x02")
    path.write_bytes(content[: -len(footer)] + damaged + len(damaged).to_bytes(4, "little") + b"PAR1")
    for read in (read_parquet, lambda path: NaiveBayes().fit_cases(path, "s")):
        with pytest.raises(DataError, match="the Parquet data is damaged"):
            read(path)


def test_values_that_are_damaged() -> None:
    for data, message in (
        (b"", "ends too early"),
        (b"\x15" + b"\xff" * 20, "too many bytes"),
        (b"\x1c" * 40, "nested too deeply"),
        (b"\x1b\x00", "a field of type 11"),
        (b"\x18\xff\xff\x03", "ends too early"),
        (b"\x19\xf5\xff\xff\xff\x0f", "a list ends too early"),
    ):
        with pytest.raises(ValueError, match=message):
            parquet_pages._Reader(data).struct()


def test_all_types_of_fields() -> None:
    """Booleans, a byte, a double, lists of booleans, of structures and of many numbers, a text, and fields with long numbers."""
    fields = b"\x11\x12\x13\x07\x17" + b"d" * 8 + b"\x19\x21\x01\x02\x19\x1c\x15\x02\x00\x19\xf5\x10" + b"\x02" * 16
    reader = parquet_pages._Reader(fields + b"\x08\xa0\x01\x03abc\x05\x04\x14\x00rest")
    values = {1: True, 2: False, 3: b"\x07", 4: b"d" * 8, 5: [b"\x01", b"\x02"], 6: [{1: 1}], 7: [1] * 16, 80: b"abc", 2**0 * 2: 10}
    assert reader.struct() == values
    assert reader.data[reader.position :] == b"rest"


def test_a_header_that_is_longer_than_what_is_read_at_first() -> None:
    header = b"\x15\x00\x15\x14\x15\x18\x5c\x18" + varint(3000) + b"s" * 3000 + b"\x00\x00"
    assert page_sizes(io.BytesIO(b"....." + header + b"content"), 5) == (10, 12, 5 + len(header))
    with pytest.raises(ValueError, match="ends too early"):
        page_sizes(io.BytesIO(header[:-1]), 0)
