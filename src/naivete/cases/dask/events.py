"""What the client hears of a pass from the workers, so that its waiting ends when nothing moves any more."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from distributed import Client

from naivete.cases.dask.outcomes import Failure, first_failure
from naivete.cases.dask.progress import TOPIC

__all__ = ["Watch", "Watches"]


class Watch:
    """What the workers tell of one pass.

    Parameters
    ----------
    token : the pass.
    parts, rows : how many parts and rows there are.

    Attributes
    ----------
    changed : set with everything new.
    last : when something was heard last.
    read : how many rows were read.
    done, failures : the parts that are well, and those that are not.
    warned : the warnings that were given.
    """

    def __init__(self, token: str, parts: int, rows: int | None) -> None:
        self.token, self.parts, self.rows = token, parts, rows
        self.changed = threading.Event()
        self.last = time.monotonic()
        self.read = 0
        self.done: set[int] = set()
        self.failures: dict[int, Failure] = {}
        self.warned: set[tuple[type, str]] = set()
        self._read: dict[int, int] = {}
        self._upto = 0

    def hear(self, said: dict[str, Any]) -> None:
        """Take in what a worker said."""
        self.last, at = time.monotonic(), said["at"]
        if said["state"] != "merged":
            before = self._read.get(at, 0)
            self._read[at] = max(said["rows"], before)
            self.read += self._read[at] - before
        if said["state"] == "done":
            self.done.add(at)
        if said["state"] == "failed":
            self.failures[at] = Failure(at, said["word"], said["message"], tuple(said["columns"]))
        self.changed.set()

    def failure(self) -> Failure | None:
        """The first failure, once all parts before it are known to be well."""
        if not self.failures:
            return None
        while self._upto in self.done:
            self._upto += 1
        return first_failure(list(self.failures.values())) if self._upto in self.failures else None


class Watches:
    """All passes that are watched in this process; a client has one ear, which it may share among several."""

    lock = threading.Lock()
    by_client: dict[str, dict[str, Watch]] = {}  # noqa: RUF012

    @classmethod
    @contextmanager
    def listening(cls, client: Client, watch: Watch) -> Iterator[None]:
        """The watch hears what the workers say."""
        with cls.lock:
            own = cls.by_client.setdefault(client.id, {})
            own[watch.token] = watch
            if len(own) == 1:
                client.subscribe_topic(TOPIC, partial(cls.heard, own))
        try:
            yield
        finally:
            with cls.lock:
                del own[watch.token]
                if not own:
                    del cls.by_client[client.id]
                    with suppress(Exception):  # a client that lost its cluster has nothing to unsubscribe from
                        client.unsubscribe_topic(TOPIC)

    @staticmethod
    def heard(watches: dict[str, Watch], event: tuple[Any, Any]) -> None:
        """Hand on an event, in a thread of the client."""
        said = event[1]
        watch = watches.get(said.get("pass", "")) if isinstance(said, dict) else None
        if watch is not None:
            watch.hear(said)
