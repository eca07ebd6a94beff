"""The version of this library in a process: workers with another one must not count."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import distributed

import naivete

__all__ = ["Library", "hash_of_sources", "library", "worker_address"]


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


def worker_address() -> str:
    """Return the address of the worker that runs this task, for messages."""
    try:
        return str(distributed.get_worker().address)
    except ValueError:
        return "without an address"
