"""Deterministic ZIP archives: other programs open them, and naivete opens no others."""

from __future__ import annotations

import hashlib
import io
import struct
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naivete.storage import archive
from naivete.storage.archive import DamagedError, archive_pieces, check_start, members

CONTENTS = {"value.json": b'{"a":1}', "int8.npy": bytes(range(20)), "empty": b""}


def archived(contents: dict[str, bytes]) -> bytes:
    return b"".join(archive_pieces({name: lambda content=content: [content] for name, content in contents.items()}))


GOOD = archived(CONTENTS)


@given(st.dictionaries(st.text("aZ0.", min_size=1, max_size=9), st.binary(max_size=50), max_size=5))
@settings(max_examples=50, deadline=None)
def test_what_is_written_is_read_by_us_and_by_zipfile(contents: dict[str, bytes]) -> None:
    data = archived(contents)
    assert members(data) == contents
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        assert file.testzip() is None
        assert file.namelist() == [*contents, "sha256"]
        assert all(file.read(name) == content for name, content in contents.items())


def test_the_fields_of_the_headers_are_fixed() -> None:
    with zipfile.ZipFile(io.BytesIO(GOOD)) as file:
        for info in file.infolist():
            assert info.date_time == (1980, 1, 1, 0, 0, 0)
            assert (info.compress_type, info.flag_bits, info.extra, info.comment) == (0, 0, b"", b"")
            assert info.external_attr >> 16 == 0o100644
        sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in CONTENTS.items())
        assert file.read("sha256").decode() == sums


def test_the_bytes_are_those_of_this_version() -> None:
    """Equal content has equal bytes in every version of Python and on every system."""
    assert hashlib.sha256(GOOD).hexdigest() == "47716d16d93a3f1ac1229a883b97b17b404d858bc674888899960c775a33326e"


def test_m1_truncated_at_every_byte_and_every_byte_changed() -> None:
    for length in range(len(GOOD)):
        with pytest.raises(DamagedError):
            members(GOOD[:length])
    for i in range(len(GOOD)):
        for change in (0x01, 0x80, 0xFF):
            data = bytearray(GOOD)
            data[i] ^= change
            with pytest.raises(DamagedError):
                members(bytes(data))


def made_by_zipfile(**options: object) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", **options) as file:  # type: ignore[call-overload]
        warnings.simplefilter("ignore")
        for name, content in CONTENTS.items():
            file.writestr(name, content)
        file.writestr("sha256", "")
    return buffer.getvalue()


def with_local(offset: int, value: int, size: str = "<H") -> bytes:
    """The archive with another value in the header of its first member and, to be consistent, in its directory."""
    data = bytearray(GOOD)
    struct.pack_into(size, data, offset, value)
    struct.pack_into(size, data, data.index(b"PK\1\2") + offset + 2, value)
    return bytes(data)


def duplicated() -> bytes:
    """An archive with two members of one name, all checksums of which fit."""
    name = f"{hashlib.sha256(b'x').hexdigest()}  a\n"
    entries, data = [], b""
    for member, content in ((b"a", b"x"), (b"a", b"x"), (b"sha256", name.encode() * 2)):
        entries.append(archive._Entry(member, len(content), archive.zlib.crc32(content), len(data)))
        data += entries[-1].local + content
    return data + archive._directory(entries)


HOSTILE: dict[str, Callable[[], bytes]] = {
    "stored-by-zipfile": made_by_zipfile,
    "compressed": lambda: made_by_zipfile(compression=zipfile.ZIP_DEFLATED),
    "bomb": lambda: bomb(),
    "version": lambda: with_local(4, 45),
    "encrypted": lambda: with_local(6, 1),
    "data-descriptor": lambda: with_local(6, 8),
    "utf-8-name": lambda: with_local(6, 0x800),
    "method": lambda: with_local(8, 8),
    "time": lambda: with_local(10, 1),
    "date": lambda: with_local(12, 0x5000),
    "larger-than-the-file": lambda: with_local(18, 2**31, "<I"),
    "size-of-a-large-file": lambda: with_local(18, 2**32 - 1, "<I"),
    "prefix": lambda: b"#!/bin/sh\n" + GOOD,
    "suffix": lambda: GOOD + b"\n",
    "twice": lambda: GOOD + GOOD,
    "comment": lambda: GOOD[:-2] + b"\1\0x",
    "no-members": lambda: archive._END.pack(b"PK\5\6", 0, 0, 0, 0, 0, 0, 0),
    "too-many-members": lambda: archived({f"a{i}": b"" for i in range(64)}),
    "parent-folder": lambda: archived({"../evil": b"x"}),
    "absolute": lambda: archived({"/etc/passwd": b"x"}),
    "backslash": lambda: archived({"..\\evil": b"x"}),
    "zero-byte": lambda: archived({"a\0b": b"x"}),
    "long-name": lambda: archived({"a" * 41: b"x"}),
    "not-ascii": lambda: archived({"é": b"x"}),
    "duplicate": duplicated,
    "no-sums": lambda: without_sums(),
}


def bomb() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("value.json", bytes(2**24))
    return buffer.getvalue()


def without_sums() -> bytes:
    entry = archive._Entry(b"a", 1, archive.zlib.crc32(b"x"), 0)
    return entry.local + b"x" + archive._directory([entry])


@pytest.mark.parametrize("name", list(HOSTILE))
def test_hostile_archives_are_refused(name: str) -> None:
    with pytest.raises(DamagedError):
        members(HOSTILE[name]())


def test_large_archives_are_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if 4 GiB were 100 bytes: larger members and offsets have 64-bit fields."""
    monkeypatch.setattr(archive, "_LARGE", 100)
    contents = {"a": bytes(50), "b": bytes(150), "c": bytes(20)}
    data = archived(contents)
    assert members(data) == contents
    for length in range(len(data)):
        with pytest.raises(DamagedError):
            members(data[:length])
    entries = archive._entries(data)
    for entry in entries:
        assert (len(entry.local) > 30 + len(entry.name)) == (entry.size >= 100)


def test_a_file_of_more_than_4_gib_is_opened_by_zipfile(tmp_path: Path) -> None:
    """The headers of a member of 5 GiB, written to a file with a hole instead of its content."""
    size = 5 * 2**30
    entries = [archive._Entry(b"large", size, 0, 0), archive._Entry(b"sha256", 2, archive.zlib.crc32(b"ab"), size + 55)]
    assert entries[0].content.stop == entries[1].offset
    with (tmp_path / "large.zip").open("wb") as file:
        file.write(entries[0].local)
        file.seek(entries[1].offset)
        file.write(entries[1].local + b"ab" + archive._directory(entries))
    with zipfile.ZipFile(tmp_path / "large.zip") as opened:
        assert [(info.filename, info.file_size) for info in opened.infolist()] == [("large", size), ("sha256", 2)]
        assert opened.read("sha256") == b"ab"


def test_the_first_bytes_decide() -> None:
    check_start(GOOD, "value.json")
    for data, words in {
        archived({"other.json": b""}): "a ZIP archive that naivete did not write",
        archived({"value.json2": b""}): "a ZIP archive",
        b"\x80\x04N.": "a pickle, which naivete never opens",
        b"\x8bNVT\r\n\x1a\n": "a development version of naivete, .*: fit again",
        b"": "begins with b''",
    }.items():
        with pytest.raises(DamagedError, match=words):
            check_start(data, "value.json")
