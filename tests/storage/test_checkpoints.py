"""O1, O2, O5: a run that was stopped anywhere resumes to the same result, and never from what is not its own."""

from __future__ import annotations

import errno
import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naivete.errors import FileError, ParameterError
from naivete.storage import atomic, locks
from naivete.storage.checkpoints import Checkpoint, CheckpointError, Step
from naivete.storage.packed import packed, unpacked
from tests import LONG, ROOT
from tests.storage.test_atomic import Faults, FaultyFile

ADVICE = r"use `restart=True` to begin again, or another folder$"
FINGERPRINT = {"rows": 14, "files": [{"name": "a.csv", "size": 10}, {"name": "b.csv", "size": 20}], "k": 2}
Blocks = list[np.ndarray]


@pytest.fixture(autouse=True, scope="module")
def quick_disk() -> Iterator[None]:
    """Do not wait for the disk: what is tested is the order of operations, not that a disk keeps its promises."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


class StoppedError(Exception):
    """What stops a toy run."""


def fold(step: Step, blocks: Blocks, function: Callable[[np.ndarray], np.ndarray], tick: Callable[[], None]) -> np.ndarray:
    """A pass over the blocks that goes on where an earlier one stopped."""
    if step.done:
        return step.value
    start, total = step.position or 0, step.value
    for i in range(start, len(blocks)):
        tick()
        part = function(blocks[i])
        total = part if total is None else total + part
        step.save(i + 1, total)
    tick()
    step.finish(total)
    return total


def tiny(folder: Path) -> bytes:
    """A run of two passes over one number."""
    with Checkpoint(folder, FINGERPRINT, every=0) as checkpoint:
        total = fold(checkpoint.step(), [np.array([3])], lambda block: block, lambda: None)
        last = fold(checkpoint.step(), [np.array([4])], lambda block: block * total, lambda: None)
        checkpoint.finished()
    return last.tobytes()


def toy(folder: Path, blocks: Blocks, tick: Callable[[], None] = lambda: None, every: float = 0.0, **named: Any) -> bytes:
    """A run of three passes, each of which depends on the ones before."""
    with Checkpoint(folder, {**FINGERPRINT, "blocks": len(blocks)}, every=every, **named) as checkpoint:
        total = fold(checkpoint.step(), blocks, lambda block: block.astype(np.int64), tick)
        largest = int(total.max())
        spread = fold(checkpoint.step(), blocks, lambda block: np.bincount(block % (largest % 7 + 1), minlength=7), tick)
        last = fold(checkpoint.step(), blocks, lambda block: (block * spread.sum()).astype(np.float64), tick)
        tick()
        result = packed([total, spread, last])
        checkpoint.finished()
    return result


def limited(count: int) -> Callable[[], None]:
    """What stops a run after so many blocks."""
    left = [count]

    def tick() -> None:
        left[0] -= 1
        if left[0] < 0:
            raise StoppedError

    return tick


def some_blocks(count: int = 4, seed: int = 0) -> Blocks:
    return list(np.random.default_rng(seed).integers(0, 1000, (count, 5)))


def only(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


# The result does not depend on where a run stopped


@given(st.lists(st.lists(st.integers(0, 10**6), min_size=3, max_size=3), min_size=1, max_size=5), st.lists(st.integers(0, 12)))
@settings(max_examples=15, deadline=None)
def test_a_run_stopped_anywhere_any_number_of_times_gives_the_same(rows: list[list[int]], stops: list[int]) -> None:
    blocks = [np.array(row) for row in rows]
    with tempfile.TemporaryDirectory() as top:
        expected = toy(Path(top, "whole"), blocks)
        work, every_step = 0, 3 * (len(blocks) + 1) + 1

        def counting(inner: Callable[[], None]) -> Callable[[], None]:
            def tick() -> None:
                nonlocal work
                inner()
                work += 1

            return tick

        for stop in stops:
            try:
                assert toy(Path(top, "run"), blocks, counting(limited(stop))) == expected
                work = 0
            except StoppedError:
                continue
        assert toy(Path(top, "run"), blocks, counting(lambda: None)) == expected
        assert work <= every_step + 4 * len(stops)  # a tick that only ends a step, or the run, is repeated, a block never
        assert os.listdir(top) == []


@pytest.mark.parametrize("every", [0.0, 3.5, 1000.0])
def test_stopped_after_every_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: float) -> None:
    """With a clock that goes on by one second at every look."""
    now = iter(range(10**9))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(now)))
    blocks = some_blocks(2)
    expected = toy(tmp_path / "whole", blocks)
    for stop in range(11):
        for again in (stop % 3, 6):
            for ticks in (stop, again):
                try:
                    assert toy(tmp_path / "run", blocks, limited(ticks), every=every) == expected
                except StoppedError:
                    assert only(tmp_path) == ["run"]
            assert toy(tmp_path / "run", blocks, every=every) == expected
            assert only(tmp_path) == []


def test_finished_steps_are_never_repeated(tmp_path: Path) -> None:
    with pytest.raises(StoppedError):
        toy(tmp_path, some_blocks(), limited(11))  # two steps of 5 ticks each, and one block
    with Checkpoint(tmp_path, {**FINGERPRINT, "blocks": 4}) as checkpoint:
        steps = [checkpoint.step() for _ in range(3)]
    assert [(step.done, step.position, type(step.value)) for step in steps] == [
        (True, None, np.ndarray),
        (True, None, np.ndarray),
        (False, 1, np.ndarray),
    ]
    assert only(tmp_path) == ["checkpoint.nvc", "lock", "step-000.nvc", "step-001.nvc"]


def test_values_come_back_bit_for_bit(tmp_path: Path) -> None:
    value = {("a", 1): np.array([0.1, -0.0, np.nan]), "b": (2**100, "\ud800", None), 3: np.array([True, False])}
    with Checkpoint(tmp_path, {}) as checkpoint:
        checkpoint.step().finish(value)
        assert checkpoint.step().save(("file", 7), value, force=True)
    with Checkpoint(tmp_path, {}) as checkpoint:
        first, second = checkpoint.step(), checkpoint.step()
        assert (first.done, second.done, second.position) == (True, False, ("file", 7))
        assert packed(first.value) == packed(second.value) == packed(value)
        assert not second.save(("file", 8), value)
        assert second.value is None


def test_a_value_changed_after_its_step_is_saved_as_it_was(tmp_path: Path) -> None:
    with Checkpoint(tmp_path, {}) as checkpoint:
        value = np.arange(3)
        checkpoint.step().finish(value)
        value[0] = 9
        checkpoint.step().save(0, 0, force=True)
    with Checkpoint(tmp_path, {}) as checkpoint:
        assert checkpoint.step().value.tolist() == [0, 1, 2]


def test_time_decides_when_a_checkpoint_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with Checkpoint(tmp_path, {}, every=30) as checkpoint:
        step = checkpoint.step()
        written = []
        for second in (0, 29, 30, 31, 59, 60, 61):
            now[0] = 100.0 + second
            written.append(step.save(second, None))
        assert written == [False, False, True, False, False, True, False]
        step.finish("early")
        assert only(tmp_path) == ["checkpoint.nvc", "lock"]
        now[0] += 30
        checkpoint.step().finish("late")
        assert only(tmp_path) == ["checkpoint.nvc", "lock", "step-000.nvc", "step-001.nvc"]
    with Checkpoint(tmp_path, {}) as checkpoint:
        assert [checkpoint.step().value for _ in range(3)] == ["early", "late", None]


def test_finished_steps_are_written_once(tmp_path: Path) -> None:
    with Checkpoint(tmp_path, {}, every=0) as checkpoint:
        checkpoint.step().finish(np.arange(10_000))
        before = os.stat(tmp_path / "step-000.nvc")
        step = checkpoint.step()
        for i in range(5):
            step.save(i, i)
        assert os.path.samestat(before, os.stat(tmp_path / "step-000.nvc"))
        assert (tmp_path / "checkpoint.nvc").stat().st_size < 1000


# The end


def test_a_complete_run_leaves_nothing_but_what_is_not_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    toy(folder, some_blocks())
    assert only(tmp_path / "a") == []
    folder.mkdir()
    toy(folder, some_blocks())
    assert only(folder) == []
    strange = ["checkpoint.txt", "step-000.nvc.bak", "notes", ".nvt-0-0.tmp"]
    for name in strange:
        (folder / name).write_text("mine")
    with pytest.raises(StoppedError):
        toy(folder, some_blocks(), limited(7))
    toy(folder, some_blocks(), restart=True)
    assert only(folder) == sorted(strange)


def test_the_folder_is_removed_by_the_run_that_resumes_one_that_made_it(tmp_path: Path) -> None:
    with pytest.raises(StoppedError):
        toy(tmp_path / "run", some_blocks(), limited(7))
    with pytest.raises(StoppedError):
        toy(tmp_path / "run", some_blocks(), limited(2))
    (tmp_path / "run" / "mine").touch()
    toy(tmp_path / "run", some_blocks())
    assert only(tmp_path / "run") == ["mine"]


def test_what_a_killed_save_left_is_removed(tmp_path: Path) -> None:
    with Checkpoint(tmp_path / "run", {}) as checkpoint:
        for name in ("checkpoint.nvc", "step-000.nvc"):
            (tmp_path / "run" / f"{atomic._prefix(Path(name))}00.tmp").touch()
        checkpoint.step().finish(1)
        checkpoint.finished()
    assert only(tmp_path) == []


def test_leaving_without_a_word_keeps_everything(tmp_path: Path) -> None:
    with Checkpoint(tmp_path, {}, every=0) as checkpoint:
        checkpoint.step().finish(1)
    assert only(tmp_path) == ["checkpoint.nvc", "lock", "step-000.nvc"]
    with checkpoint:
        assert checkpoint.step().value == 1


# Misuse


def test_steps_are_taken_in_order(tmp_path: Path) -> None:
    with Checkpoint(tmp_path, {}) as checkpoint:
        step = checkpoint.step()
        with pytest.raises(ParameterError, match="step 0 has to be finished"):
            checkpoint.step()
        step.finish(1)
        assert (step.done, step.value) == (True, 1)
        for act in (lambda: step.finish(2), lambda: step.save(0, 0)):
            with pytest.raises(ParameterError, match="the step is finished; ask for the next"):
                act()
        with pytest.raises(ParameterError, match="in use"), checkpoint:
            pass
        later = checkpoint.step()
        checkpoint.finished()
        for act in (lambda: later.finish(2), checkpoint.step, checkpoint.finished):
            with pytest.raises(ParameterError, match="outside of its `with`, or after finished"):
                act()


def test_parameters_are_checked(tmp_path: Path) -> None:
    for every in (-1, float("nan")):
        with pytest.raises(ParameterError, match="every="):
            Checkpoint(tmp_path, {}, every=every)
    with pytest.raises(ParameterError, match="names have to be strings"):
        Checkpoint(tmp_path, {1: 2})  # type: ignore[dict-item]
    with pytest.raises(CheckpointError, match=r"value\.a: a value of type set"):
        Checkpoint(tmp_path, {"a": {1}})


def test_values_that_cannot_be_packed_keep_the_checkpoint(tmp_path: Path) -> None:
    with Checkpoint(tmp_path, {}, every=0) as checkpoint:
        step = checkpoint.step()
        step.save(1, 2)
        for act in (lambda: step.save(2, print), lambda: step.finish({1, 2})):
            with pytest.raises(CheckpointError, match="cannot be stored"):
                act()
    with Checkpoint(tmp_path, {}) as checkpoint:
        step = checkpoint.step()
        assert (step.position, step.value) == (1, 2)


# O2: of another run, or damaged


def begun(folder: Path, fingerprint: dict[str, Any] = FINGERPRINT) -> None:
    with Checkpoint(folder, fingerprint, every=0) as checkpoint:
        checkpoint.step().finish(np.arange(5))
        checkpoint.step().save(3, "abc")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rows": 15}, "rows was 14 and is now 15"),
        ({"rows": 14.0}, r"rows was 14 and is now 14\.0"),
        ({"rows": "x" * 1000}, r"rows was 14 and is now x{60}\.\.\."),
        ({"rows": 15, "k": 3}, "rows was 14 and is now 15, k was 2 and is now 3"),
        ({"theta": 0.5}, r"theta was absent and is now 0\.5"),
        ({"files": [{"name": "a.csv", "size": 10}, {"name": "b.csv", "size": 21}]}, r"files\[1\]\['size'\] was 20 and is now 21"),
        ({"files": []}, r"files was \[\{'name'.*\.\.\. and is now \[\]"),
        ({"files": [{}, {}]}, r"files\[0\]: 'name' is gone, 'size' is gone, files\[1\]: 'name' is gone, 'size' is gone"),
        ({"files": ()}, r"files was .* and is now \(\)"),
        ({"a b\n": 10**5000}, r"a b\\n was absent and is now a very long integer"),
        (dict.fromkeys("abcdefg", 1), "a was absent .*, e was absent and is now 1, and 2 more"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    begun(tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in only(tmp_path)}
    with pytest.raises(CheckpointError, match=rf"checkpoint\.nvc: it belongs to another run: {words}; {ADVICE}") as caught:
        Checkpoint(tmp_path, {**FINGERPRINT, **change}).__enter__()
    assert len(str(caught.value)) < len(str(tmp_path)) + 600
    assert before == {name: (tmp_path / name).read_bytes() for name in only(tmp_path)}
    with Checkpoint(tmp_path, FINGERPRINT) as checkpoint:  # the lock was released
        assert checkpoint.step().done


def test_a_field_that_is_gone_and_equal_keys_of_other_types(tmp_path: Path) -> None:
    begun(tmp_path / "a", {"x": 1, "y": 2})
    with pytest.raises(CheckpointError, match="y was 2 and is now absent"):
        Checkpoint(tmp_path / "a", {"x": 1}).__enter__()
    begun(tmp_path / "b", {"x": {1: 0}})
    with pytest.raises(CheckpointError, match=r"x was \{1: 0\} and is now \{True: 0\}"):
        Checkpoint(tmp_path / "b", {"x": {True: 0}}).__enter__()


def test_the_order_of_the_fields_does_not_matter(tmp_path: Path) -> None:
    begun(tmp_path)
    with Checkpoint(tmp_path, dict(reversed(FINGERPRINT.items()))) as checkpoint:
        assert checkpoint.step().done


def resumed(folder: Path, **named: Any) -> list[Any]:
    with Checkpoint(folder, FINGERPRINT, **named) as checkpoint:
        first = checkpoint.step()
        if not first.done:
            first.finish(None)
        second = checkpoint.step()
        return [first.value, second.position, second.value]


@pytest.mark.parametrize("name", ["checkpoint.nvc", "step-000.nvc"])
def test_damaged_files_are_refused(tmp_path: Path, name: str) -> None:
    begun(tmp_path)
    good = (tmp_path / name).read_bytes()
    rng = random.Random(3)
    bad = [good[:length] for length in range(0, len(good), 7)] + [b"", good + b"\0", b"\x80\x04N.", bytes(len(good))]
    for _ in range(50):
        changed = bytearray(good)
        changed[rng.randrange(len(good))] ^= rng.randint(1, 255)
        bad.append(bytes(changed))
    for data in bad:
        (tmp_path / name).write_bytes(data)
        with pytest.raises(CheckpointError, match=rf"{name}: .*; {ADVICE}"):
            resumed(tmp_path)
    (tmp_path / name).write_bytes(good)
    assert resumed(tmp_path)[1:] == [3, "abc"]
    (tmp_path / name).write_bytes(good[:-1])
    assert resumed(tmp_path, restart=True) == [None, None, None]


def test_steps_of_another_run_are_refused(tmp_path: Path) -> None:
    begun(tmp_path)
    (tmp_path / "step-000.nvc").write_bytes(packed(np.arange(6)))
    with pytest.raises(CheckpointError, match=rf"step-000\.nvc: it is not the file that checkpoint\.nvc lists; {ADVICE}"):
        resumed(tmp_path)
    (tmp_path / "step-000.nvc").unlink()
    with pytest.raises(CheckpointError, match=rf"step-000\.nvc: the file is missing; {ADVICE}"):
        resumed(tmp_path)
    (tmp_path / "step-000.nvc").mkdir()
    with pytest.raises(CheckpointError, match=r"step-000\.nvc: not a regular file"):
        resumed(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        *(7, [], {"fingerprint": {}}, {"finished": [], "fingerprint": {}, "partial": None}),
        {"fingerprint": [], "finished": [], "partial": None},
        {"fingerprint": {}, "finished": (), "partial": None},
        {"fingerprint": {1: 2}, "finished": [], "partial": None},
        {"fingerprint": {}, "finished": [7], "partial": None},
        {"fingerprint": {}, "finished": [], "partial": ()},
        {"fingerprint": {}, "finished": [], "partial": [1, 2]},
    ],
)
def test_packed_data_that_is_no_checkpoint_is_refused(tmp_path: Path, content: Any) -> None:
    (tmp_path / "checkpoint.nvc").write_bytes(packed(content))
    with pytest.raises(CheckpointError, match=rf"it holds packed values, but not a checkpoint; {ADVICE}"):
        resumed(tmp_path)


def test_restart_forgets_what_is_there_at_once(tmp_path: Path) -> None:
    begun(tmp_path, {"other": 1})
    with Checkpoint(tmp_path, FINGERPRINT, restart=True) as checkpoint:
        assert only(tmp_path) == ["lock"]
        step = checkpoint.step()
        assert (step.done, step.position, step.value) == (False, None, None)
    (tmp_path / "checkpoint.nvc").mkdir()
    with pytest.raises(FileError, match=r"checkpoint\.nvc: cannot be removed: .*; remove it yourself, or use another folder"):
        resumed(tmp_path, restart=True)


# O5: one run at a time


HOLDING = """
import sys, time
from naivete.storage.checkpoints import Checkpoint
with Checkpoint(sys.argv[1], {}) as checkpoint:
    print("held", flush=True)
    time.sleep(600)
"""


def python(code: str, *arguments: object, **named: Any) -> subprocess.Popen[bytes]:
    root = ROOT
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], cwd=root, **named)


needs_locks = pytest.mark.skipif(locks._LOCKS is None, reason="this system has no locks")


@needs_locks
def test_o5_a_second_run_is_refused_with_the_number_of_the_first(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with python(HOLDING, folder, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        words = rf"run: another run, process {holder.pid}, is using this folder for its checkpoints; wait until it ends or stop"
        for restart in (False, True):
            with pytest.raises(FileError, match=words):
                Checkpoint(folder, {}, restart=restart).__enter__()
        holder.kill()
        holder.wait()
        with Checkpoint(folder, {}) as checkpoint:
            checkpoint.finished()
    assert only(tmp_path) == []


@needs_locks
def test_o5_in_one_process_too(tmp_path: Path) -> None:
    with Checkpoint(tmp_path, {}):
        with pytest.raises(FileError, match=f"process {os.getpid()}"):
            Checkpoint(tmp_path, {}).__enter__()
        (tmp_path / "lock").write_text("")
        with pytest.raises(FileError, match="a process of unknown number"):
            Checkpoint(tmp_path, {}).__enter__()


def test_a_file_called_lock_that_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    for content in (b"my notes", b"12\nmade the folder\nand more", b"\xff", b"1" * 300):
        (tmp_path / "lock").write_bytes(content)
        with pytest.raises(FileError, match="lock: this file is not the lock of a run; use another folder, or remove"):
            Checkpoint(tmp_path, {}).__enter__()
        assert (tmp_path / "lock").read_bytes() == content
    for content in (b"", bytes(10), b"999999999\n"):
        (tmp_path / "lock").write_bytes(content)
        with Checkpoint(tmp_path, {}):
            assert (tmp_path / "lock").read_text() == f"{os.getpid():020}\n"


def test_a_lock_says_at_every_moment_that_a_run_made_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, notes = tmp_path / "run", []
    lock = locks.FolderLock(folder)
    lock.release()  # as if the process was killed
    for name in ("write", "ftruncate"):
        original = getattr(os, name)

        def watched(*arguments: int, original=original) -> object:  # type: ignore[no-untyped-def]
            before = (folder / "lock").read_text()
            result = original(*arguments)
            notes.extend([before, (folder / "lock").read_text()])
            return result

        monkeypatch.setattr(os, name, watched)
    again = locks.FolderLock(folder)
    assert notes == [f"{os.getpid():020}\nmade the folder"] * 4
    again.remove()
    assert not folder.exists()


@needs_locks
def test_a_lock_removed_before_it_was_taken_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flock, calls = locks._LOCKS.flock, []
    folder = tmp_path / "run"

    def late(descriptor: int, how: int) -> None:
        calls.append(how)
        if len(calls) == 1:  # the run before ends now
            (folder / "lock").unlink()
            folder.rmdir()
        elif len(calls) == 2:
            (folder / "lock").rename(folder / "away")
            (folder / "lock").touch()
            (folder / "away").unlink()
        flock(descriptor, how)

    monkeypatch.setattr(locks._LOCKS, "flock", late)
    with Checkpoint(folder, {}) as checkpoint:
        assert len(calls) == 3
        checkpoint.finished()
    assert only(tmp_path) == []
    monkeypatch.setattr(os.path, "samestat", lambda *_: False)
    with pytest.raises(FileError, match="it keeps being replaced by other runs"):
        Checkpoint(folder, {}).__enter__()


def test_without_locks_an_open_file_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are no locks, a file that is open cannot be removed: both are played here."""
    monkeypatch.setattr(locks, "_LOCKS", None)
    unlink = Path.unlink

    def refusing(path: Path, missing_ok: bool = False) -> None:
        if path.name == "lock" and path.exists() and held[0]:
            raise PermissionError(errno.EACCES, "in use")
        unlink(path, missing_ok=missing_ok)

    held = [False]
    monkeypatch.setattr(Path, "unlink", refusing)
    with Checkpoint(tmp_path / "run", {}, every=0) as checkpoint:
        checkpoint.step().finish(1)
        held[0] = True
        with pytest.raises(FileError, match=f"another run, process {os.getpid()}, is using"):
            Checkpoint(tmp_path / "run", {}).__enter__()
        held[0] = False
    with Checkpoint(tmp_path / "run", {}) as checkpoint:
        assert checkpoint.step().value == 1
        checkpoint.finished()
    assert only(tmp_path) == []


# Faults


def test_folders_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "locked" / "lock").mkdir(parents=True)
    cases = {"file": "it is not a folder", "file/run": "Not a directory", "a\0b": "give the name of a folder", "locked": "folder"}
    for name, words in cases.items():
        with pytest.raises(FileError, match=f"cannot hold checkpoints: .*{words}"):
            Checkpoint(f"{tmp_path}/{name}", {}).__enter__()


def test_a_pipe_called_lock_or_checkpoint_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "lock")
    with pytest.raises(FileError, match="cannot hold checkpoints"):
        Checkpoint(tmp_path, {}).__enter__()
    (tmp_path / "lock").unlink()
    os.mkfifo(tmp_path / "checkpoint.nvc")
    with pytest.raises(CheckpointError, match="not a regular file"):
        Checkpoint(tmp_path, {}).__enter__()


OPERATIONS = (
    *("open", "fdopen", "fsync", "replace", "unlink", "stat", "fstat", "listdir", "scandir", "access", "chmod"),
    *("mkdir", "rmdir", "ftruncate", "write"),
)


@contextmanager
def injected(fail: Callable[[int], bool], code: int = errno.EIO) -> Iterator[Faults]:
    faults, close = Faults(fail, code), os.close
    with pytest.MonkeyPatch.context() as patch:
        for name in OPERATIONS:
            patch.setattr(os, name, faults.wrapped(getattr(os, name)))
        patch.setattr(os, "close", lambda descriptor: (close(descriptor), faults.step()))  # a close that fails closes all the same
        opened = os.fdopen
        patch.setattr(os, "fdopen", lambda *args, **named: FaultyFile(opened(*args, **named), faults))
        patch.setattr(locks._LOCKS, "flock", faults.wrapped(locks._LOCKS.flock))
        yield faults


@needs_locks
@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC], ids=errno.errorcode.get)
@pytest.mark.parametrize("lasting", [False, True], ids=["single", "all-later"])
def test_o1_every_operation_fails_in_turn(tmp_path: Path, code: int, lasting: bool) -> None:
    expected = tiny(tmp_path / "whole")
    for n in range(1, 2000, (1 if LONG else 2) * (7 if lasting else 3 if code == errno.ENOSPC else 1)):
        with injected(lambda number, n=n: number >= n if lasting else number == n, code) as faults:
            try:
                assert tiny(tmp_path / "run") == expected
                failed = False
            except (FileError, CheckpointError):
                failed = True
        assert tiny(tmp_path / "run") == expected
        for path in tmp_path.glob("run/*"):
            path.unlink()
        if (tmp_path / "run").exists():
            (tmp_path / "run").rmdir()
        if faults.count < n:
            break
    assert not failed
    assert 40 < n < 1999


def test_a_full_disk_is_told_and_keeps_what_was_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing: set[str] = set()
    save = atomic._save

    def faulty(target: Path, *rest: Any) -> None:
        if target.name in failing:
            raise OSError(errno.ENOSPC, "No space left on device")
        save(target, *rest)

    monkeypatch.setattr(atomic, "_save", faulty)
    with Checkpoint(tmp_path, {}, every=0) as checkpoint:
        step = checkpoint.step()
        step.save(1, "one")
        failing.add("checkpoint.nvc")
        words = r"checkpoint\.nvc: cannot be written: No space left on device; free some space and try again; what was saved before"
        with pytest.raises(FileError, match=words) as caught:
            step.save(2, "two")
        assert caught.value.errno == errno.ENOSPC
        failing.add("step-000.nvc")
        with pytest.raises(FileError, match=r"step-000\.nvc: cannot be written"):
            step.finish("three")
        assert not step.done
        failing.discard("step-000.nvc")
        with pytest.raises(FileError, match=r"checkpoint\.nvc: cannot be written"):
            step.finish("three")
        assert step.done
    with Checkpoint(tmp_path, {}, every=0) as checkpoint:
        step = checkpoint.step()
        assert (step.done, step.position, step.value) == (False, 1, "one")
        failing.clear()
        step.finish("three")
        checkpoint.step().save(0, 0)
    with Checkpoint(tmp_path, {}) as checkpoint:
        assert checkpoint.step().value == "three"


def test_pending_steps_survive_a_failed_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save, calls = atomic._save, []

    def faulty(target: Path, *rest: Any) -> None:
        calls.append(target.name)
        if len(calls) == 2:
            raise OSError(errno.EIO, "Input/output error")
        save(target, *rest)

    monkeypatch.setattr(atomic, "_save", faulty)
    with Checkpoint(tmp_path, {}) as checkpoint:
        for value in range(3):
            checkpoint.step().finish(value)
        step = checkpoint.step()
        with pytest.raises(FileError, match="Input/output error"):
            step.save(0, 0, force=True)
        step.save(1, 1, force=True)
    assert calls == ["step-000.nvc", "step-001.nvc", "step-001.nvc", "step-002.nvc", "checkpoint.nvc"]
    with Checkpoint(tmp_path, {}) as checkpoint:
        assert [checkpoint.step().value for _ in range(4)] == [0, 1, 2, 1]


def test_files_that_cannot_be_read_or_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, *_: object, **named: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    begun(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("naivete.storage.archive.open", refuse, raising=False)
        with pytest.raises(FileError, match=r"checkpoint\.nvc: cannot be read: Permission denied"):
            resumed(tmp_path)
    with Checkpoint(tmp_path, FINGERPRINT) as checkpoint, monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refuse)
        with pytest.raises(FileError, match=r"cannot be removed: Permission denied; the run is complete; remove it yourself"):
            checkpoint.finished()
    assert resumed(tmp_path)[2] == "abc"


# O1: kill -9


TOY = """
import sys
from pathlib import Path
from tests.storage.test_checkpoints import some_blocks, toy
import time
print("ready", flush=True)
result = toy(Path(sys.argv[1]), some_blocks(12, 5), lambda: time.sleep(0.002))
Path(sys.argv[2]).write_bytes(result)
"""
KILLED = """
import os, signal, sys
from pathlib import Path
from tests.storage.test_checkpoints import injected, some_blocks, toy
at = [int(n) for n in sys.argv[2:]]
def fail(count):
    if count in at:
        os.kill(os.getpid(), signal.SIGKILL)
    return False
with injected(fail):
    toy(Path(sys.argv[1]), some_blocks(2))
"""


def killed_at_random(top: Path, kills: int, seed: int) -> None:
    rng = random.Random(seed)
    expected = toy(top / "whole", some_blocks(12, 5))
    done = 0
    while done < kills:
        with python(TOY, top / "run", top / "result", stdout=subprocess.PIPE) as run:
            assert run.stdout is not None
            run.stdout.readline()
            time.sleep(rng.random() * 0.15)
            run.kill()
        if run.wait() == 0:
            assert (top / "result").read_bytes() == expected
            (top / "result").unlink()
        else:
            done += 1
    assert toy(top / "run", some_blocks(12, 5)) == expected
    assert [path for path in top.rglob("*") if path.name not in ("result", "run")] == []  # see below


@needs_locks
def test_o1_killed_at_random(tmp_path: Path) -> None:
    killed_at_random(tmp_path, 2, 1)


@pytest.mark.slow
@needs_locks
def test_o1_killed_at_random_200_times(tmp_path: Path) -> None:
    killed_at_random(tmp_path, 200, 2)


def killed_at(top: Path, n: int, expected: bytes) -> bool:
    """Kill a run at its n-th operation, resume it, and return whether it got that far."""
    status = python(KILLED, top / "run", n).wait()
    assert status in (0, -signal.SIGKILL)
    assert toy(top / "run", some_blocks(2)) == expected
    assert [path.name for path in top.rglob("*")] in ([], ["run"])  # killed beside making it or removing it, empty
    return status != 0


@needs_locks
def test_o1_killed_at_some_operations(tmp_path: Path) -> None:
    expected = toy(tmp_path / "whole", some_blocks(2))
    assert [killed_at(tmp_path, n, expected) for n in (100, 100_000)] == [True, False]


@pytest.mark.slow
@needs_locks
def test_o1_killed_at_every_operation(tmp_path: Path) -> None:
    expected = toy(tmp_path / "whole", some_blocks(2))
    assert next(n for n in count(1) if not killed_at(tmp_path, n, expected)) > 100


def test_the_files_are_packed_data(tmp_path: Path) -> None:
    begun(tmp_path)
    content = unpacked((tmp_path / "checkpoint.nvc").read_bytes())
    digest = hashlib.sha256((tmp_path / "step-000.nvc").read_bytes()).hexdigest()
    assert content == {"fingerprint": FINGERPRINT, "finished": [digest], "partial": (3, "abc")}
