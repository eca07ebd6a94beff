"""The version of this library in a process: workers with another one must not count."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

import distributed

import naivete
from naivete.cases.dask.clusters import ClusterError

__all__ = ["Library", "check_workers", "hash_of_sources", "library", "other_library", "worker_address"]

_EXPRESSION: Final = "tuple(__import__('naivete.cases.dask.library', fromlist=['library']).library())"
_PATIENCE: Final = 10.0
"""The seconds to wait for the answers of the workers."""


class Library(NamedTuple):
    """A version of this library.

    Parameters
    ----------
    version : the version number.
    sources : a hash of the source files, which also differs between two states of one version; empty if there are no files.
    """

    version: str
    sources: str

    def __str__(self) -> str:
        return f"naivete {self.version} (source files {self.sources or 'unknown'})"


@lru_cache(maxsize=1)
def library() -> Library:
    """Return the version of this library in this process, read once.

    Compiled files are left out: they give the same counts as the Python code that replaces them.
    """
    return Library(naivete.__version__, hash_of_sources(Path(naivete.__file__).parent))


def hash_of_sources(folder: Path) -> str:
    """Return a short hash of the names and contents of all Python files below a folder.

    Line ends are unified, because some systems and version control tools change them.
    """
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.py")}
    digest = hashlib.sha256()
    for name in sorted(paths):
        digest.update(name.encode() + b"\0" + paths[name].read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return digest.hexdigest()[:12] if paths else ""


def other_library(address: str, other: object, expected: Library) -> ClusterError:
    """Return the error about a worker that has another version of the library than the expected one."""
    return ClusterError(
        f"the worker {address} has {other}, and the process that learns has {expected}; install the same version of naivete on all "
        "machines, and start the workers again"
    )


def check_workers(client: distributed.Client) -> None:
    """Raise an error if a worker has another version of the library; workers that do not answer soon are left out.

    A worker that cannot read a task, because its version has no such function, would end without a word. So the question
    is an expression of Python, which every version can read.
    """
    answers: dict[str, object] = {}
    with suppress(OSError, TimeoutError, distributed.TimeoutError):
        answers = client.sync(client.run, eval, _EXPRESSION, on_error="return", callback_timeout=_PATIENCE)
    for address, answer in answers.items():
        if isinstance(answer, (ImportError, AttributeError)):
            raise other_library(address, f"no naivete, or another version ({answer})", library())
        if isinstance(answer, tuple) and answer != tuple(library()):
            raise other_library(address, Library(*answer), library())


def worker_address() -> str:
    """Return the address of the worker that runs this task, for messages."""
    try:
        return str(distributed.get_worker().address)
    except ValueError:
        return "without an address"
