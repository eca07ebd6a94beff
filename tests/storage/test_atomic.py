"""M6: after any fault a file is whole, the old one or the new one, and the next save leaves nothing else behind."""

from __future__ import annotations

import errno
import os
import random
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from naivete.errors import DataError, FileError
from naivete.storage import atomic
from naivete.storage.atomic import atomic_write
from tests import ROOT

OPERATIONS = ("open", "fdopen", "fsync", "replace", "unlink", "stat", "fstat", "link", "listdir", "access", "chmod", "close")
OLD, NEW, NEXT = b"old" * 1000, b"new" * 2000, b"next" * 10
pytestmark = pytest.mark.skipif(os.name == "nt", reason="the faults are those of POSIX systems")


class Faults:
    """Counts the file operations and makes some of them fail."""

    def __init__(self, fail: Callable[[int], bool], code: int) -> None:
        self.fail, self.code, self.count = fail, code, 0

    def step(self) -> None:
        self.count += 1
        if self.fail(self.count):
            raise OSError(self.code, os.strerror(self.code))

    def wrapped(self, operation: Callable[..., Any]) -> Callable[..., Any]:
        def faulty(*args: Any, **named: Any) -> Any:
            self.step()
            return operation(*args, **named)

        return faulty


class FaultyFile:
    """A file whose writes are short, and fail when told to."""

    def __init__(self, file: Any, faults: Faults) -> None:
        self.file, self.faults = file, faults

    def write(self, data: memoryview) -> int:
        self.faults.step()
        return self.file.write(data[:2500])

    def fileno(self) -> int:
        return self.file.fileno()

    def close(self) -> None:
        self.file.close()
        self.faults.step()


@contextmanager
def injected(fail: Callable[[int], bool], code: int = errno.EIO) -> Iterator[Faults]:
    faults = Faults(fail, code)
    with pytest.MonkeyPatch.context() as patch:
        for name in OPERATIONS:
            patch.setattr(os, name, faults.wrapped(getattr(os, name)))
        opened = os.fdopen
        patch.setattr(os, "fdopen", lambda *args, **named: FaultyFile(opened(*args, **named), faults))
        patch.setattr(atomic._LOCKS, "flock", faults.wrapped(atomic._LOCKS.flock))
        yield faults


def only(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EACCES, errno.ENOENT], ids=errno.errorcode.get)
@pytest.mark.parametrize("lasting", [False, True], ids=["single", "all-later"])
@pytest.mark.parametrize("overwrite", [True, False], ids=["replace", "create"])
def test_m6_every_operation_fails_in_turn(tmp_path: Path, code: int, lasting: bool, overwrite: bool) -> None:
    target = tmp_path / "a.nvt"
    for n in range(1, 100):
        target.unlink(missing_ok=True)
        if overwrite:
            target.write_bytes(OLD)
        before = target.read_bytes() if overwrite else None
        raised = False
        with injected(lambda count, n=n: count >= n if lasting else count == n, code) as faults:
            try:
                atomic_write(target, NEW, overwrite=overwrite)
            except FileError:
                raised = True
        after = target.read_bytes() if target.exists() else None
        assert after == (before if raised else NEW), n
        atomic_write(target, NEXT)
        assert only(tmp_path) == ["a.nvt"]
        assert target.read_bytes() == NEXT
        if faults.count < n:
            break
    assert 10 < n < 99


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.storage.test_atomic import NEW, injected
from naivete.storage.atomic import atomic_write
n = int(sys.argv[2])
def fail(count):
    if count == n:
        os.kill(os.getpid(), signal.SIGKILL)
    return False
with injected(fail) as faults:
    atomic_write(Path(sys.argv[1]), NEW)
"""


def python(code: str, *arguments: object, **named: Any) -> subprocess.Popen[bytes]:
    root = ROOT
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], cwd=root, **named)


def killed_at(target: Path, n: int) -> bool:
    """Kill a save at its n-th operation, save again, and return whether it got that far."""
    target.write_bytes(OLD)
    status = python(KILLED, target, n).wait()
    assert status in (0, -signal.SIGKILL)
    assert target.read_bytes() in (OLD, NEW)
    atomic_write(target, NEXT)
    assert only(target.parent) == ["a.nvt"]
    return status != 0


def test_m6_killed_at_some_operations(tmp_path: Path) -> None:
    assert [killed_at(tmp_path / "a.nvt", n) for n in (6, 10, 1000)] == [True, True, False]


@pytest.mark.slow
def test_m6_killed_at_every_operation(tmp_path: Path) -> None:
    assert next(n for n in count(1) if not killed_at(tmp_path / "a.nvt", n)) > 10


SAVING = """
import sys
from pathlib import Path
from naivete.storage.atomic import atomic_write
print("ready", flush=True)
while True:
    for letter in b"ab":
        atomic_write(Path(sys.argv[1]), bytes([letter]) * 300_000)
"""


def killed_at_random(target: Path, kills: int) -> None:
    rng = random.Random(0)
    target.write_bytes(b"a" * 300_000)
    for _ in range(kills):
        with python(SAVING, target, stdout=subprocess.PIPE) as saver:
            saver.stdout.readline()
            time.sleep(rng.random() * 0.03)
            saver.kill()
        found = target.read_bytes()
        assert len(found) == 300_000
        assert len(set(found)) == 1
    atomic_write(target, NEXT)
    assert only(target.parent) == [target.name]


def test_m6_killed_at_random(tmp_path: Path) -> None:
    killed_at_random(tmp_path / "a.nvt", 8)


@pytest.mark.slow
def test_m6_killed_at_random_200_times(tmp_path: Path) -> None:
    killed_at_random(tmp_path / "a.nvt", 200)


def test_m9_concurrent_savers_and_readers(tmp_path: Path) -> None:
    target, ready = tmp_path / "a.nvt", threading.Event()
    contents = [bytes([letter]) * 200_000 for letter in b"abcd"]
    target.write_bytes(contents[0])
    faults: list[object] = []

    def save(content: bytes) -> None:
        for _ in range(40):
            try:
                atomic_write(target, content)
            except FileError as error:
                faults.append(error)

    def read() -> None:
        while not ready.is_set():
            if target.read_bytes() not in contents:
                faults.append("torn")

    reader = threading.Thread(target=read)
    savers = [threading.Thread(target=save, args=(content,)) for content in contents]
    for thread in (reader, *savers):
        thread.start()
    for thread in savers:
        thread.join()
    ready.set()
    reader.join()
    assert not faults
    assert only(tmp_path) == ["a.nvt"]


def test_pieces_interrupted_or_failing_leave_nothing(tmp_path: Path) -> None:
    def pieces(error: BaseException) -> Iterator[bytes]:
        yield b"half"
        raise error

    for error in (KeyboardInterrupt(), DataError("row 3"), FileError("train.csv: gone")):
        with pytest.raises(type(error)) as caught:
            atomic_write(tmp_path / "a.nvt", pieces(error))
        assert caught.value is error
        assert only(tmp_path) == []


def test_a_live_temporary_is_kept_and_an_abandoned_one_removed(tmp_path: Path) -> None:
    target = tmp_path / "a.nvt"
    with atomic._temporary(target) as (_, live):
        dead = live.with_name(live.name.replace(".tmp", "0.tmp"))
        other = tmp_path / ".nvt-of-another.tmp"
        dead.touch()
        other.touch()
        atomic_write(target, NEW)
        assert live.exists()
        assert not dead.exists()
    assert only(tmp_path) == [other.name, "a.nvt"]


def test_a_temporary_removed_before_it_was_locked_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock, calls = atomic._LOCKS.flock, []

    def late(descriptor: int, how: int) -> None:
        calls.append(how)
        if len(calls) == 1:
            for path in tmp_path.glob(".nvt-*"):
                path.unlink()
        lock(descriptor, how)

    monkeypatch.setattr(atomic._LOCKS, "flock", late)
    atomic_write(tmp_path / "a.nvt", NEW)
    assert len(calls) == 2
    assert only(tmp_path) == ["a.nvt"]


def test_without_locks_age_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic, "_LOCKS", None)
    target = tmp_path / "a.nvt"
    young, old = (tmp_path / f"{atomic._prefix(target)}{name}.tmp" for name in ("young", "old"))
    young.touch()
    old.touch()
    os.utime(old, (0, 0))
    atomic_write(target, NEW)
    assert target.read_bytes() == NEW
    assert only(tmp_path) == sorted([young.name, "a.nvt"])


def test_a_file_that_exists_is_kept_unless_told_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a.nvt"
    atomic_write(target, OLD, overwrite=False)
    with pytest.raises(FileError, match=r"a\.nvt: exists already.*overwrite=True") as caught:
        atomic_write(target, NEW, overwrite=False)
    assert caught.value.errno == errno.EEXIST
    monkeypatch.setattr(atomic, "_mode", lambda *_: None)  # it appears after the first look
    with pytest.raises(FileError, match="exists already"):
        atomic_write(target, NEW, overwrite=False)
    assert target.read_bytes() == OLD
    assert only(tmp_path) == ["a.nvt"]


def test_without_hard_links_a_new_file_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", unsupported)
    atomic_write(tmp_path / "a.nvt", NEW, overwrite=False)
    assert (tmp_path / "a.nvt").read_bytes() == NEW
    assert only(tmp_path) == ["a.nvt"]


def test_permissions_are_kept(tmp_path: Path) -> None:
    target = tmp_path / "a.nvt"
    atomic_write(target, OLD)
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~umask
    target.chmod(0o640)
    atomic_write(target, NEW)
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real.nvt").write_bytes(OLD)
    (tmp_path / "link.nvt").symlink_to("real.nvt")
    atomic_write(tmp_path / "link.nvt", NEW)
    assert (tmp_path / "link.nvt").is_symlink()
    assert (tmp_path / "real.nvt").read_bytes() == NEW


def refused_targets(folder: Path) -> dict[str, Path]:
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "fifo")
    (folder / "file").touch()
    return {
        "a folder": folder,
        "regular file": folder / "fifo",
        "folder exists": folder / "no" / "a.nvt",
        "not a folder|Not a directory": folder / "file" / "a.nvt",
        "shorter name": folder / ("n" * 300),
        "regular file|loop": folder / "loop",
        "null": folder / "a\0b",
        "surrogates": folder / "a\udfff\ud800",
    }


def test_what_cannot_be_a_file_is_refused_with_advice(tmp_path: Path) -> None:
    for words, path in refused_targets(tmp_path).items():
        with pytest.raises(FileError, match=words):
            atomic_write(path, NEW)
    assert only(tmp_path) == ["fifo", "file", "loop"]


def test_a_read_only_file_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.nvt").write_bytes(OLD)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(FileError, match="read-only; choose a file"):
        atomic_write(tmp_path / "a.nvt", NEW)
    assert (tmp_path / "a.nvt").read_bytes() == OLD


def test_an_unreadable_folder_does_not_stop_a_save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "not listed")

    monkeypatch.setattr(os, "listdir", refuse)
    monkeypatch.setattr(os, "scandir", refuse)
    atomic_write(tmp_path / "a.nvt", NEW)
    assert (tmp_path / "a.nvt").read_bytes() == NEW
