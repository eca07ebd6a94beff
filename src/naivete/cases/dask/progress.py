"""What a task says while it runs: how far it is, to the client that waits, and the warnings, which come back with its value."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Final

import distributed

from naivete.cases.dask.outcomes import Failure
from naivete.errors import NaiveteWarning

__all__ = ["TOLD", "TOPIC", "Teller", "collected"]

TOPIC: Final = "naivete"
"""Under which the workers speak to the client."""
TOLD: Final = 100
"""How many warnings of a pass are kept."""
_EVERY: Final = 0.5
"""A worker tells how far it is at most so often, in seconds."""


class Teller:
    """Tells the client how far a task is."""

    def __init__(self, token: str, at: int) -> None:
        self.token, self.at, self.rows, self.last = token, at, 0, time.monotonic()

    def reading(self, rows: int) -> None:
        """So many rows are done; told now and then."""
        self.rows = rows
        if time.monotonic() - self.last >= _EVERY:
            self._tell("reading")

    def done(self) -> None:
        """The part is done."""
        self._tell("done")

    def merged(self) -> None:
        """Some parts are merged."""
        self._tell("merged")

    def failed(self, failure: Failure) -> None:
        """The part has failed."""
        self._tell("failed", word=failure.word, message=failure.message, columns=list(failure.columns))

    def _tell(self, state: str, **more: Any) -> None:
        self.last = time.monotonic()
        with suppress(ValueError):  # a task that runs outside of a worker has nobody to tell
            said = {"pass": self.token, "at": self.at, "state": state, "rows": self.rows, **more}
            distributed.get_worker().log_event(TOPIC, said)


class _Log:
    """The warnings of this process while some task runs; shared by all its threads, as the machinery of warnings is."""

    lock = threading.Lock()
    users = 0
    stack = ExitStack()
    seen: list[warnings.WarningMessage]

    @classmethod
    def enter(cls) -> int:
        """Begin to listen; how many warnings there were before."""
        with cls.lock:
            if not cls.users:
                cls.seen = cls.stack.enter_context(warnings.catch_warnings(record=True))
                warnings.simplefilter("always", NaiveteWarning)
            cls.users += 1
            return len(cls.seen)

    @classmethod
    def leave(cls) -> None:
        """Listen no more, and show what is not ours as it would have been shown."""
        with cls.lock:
            cls.users -= 1
            if not cls.users:
                cls.stack.close()
                for other in cls.seen:
                    if not isinstance(other.message, NaiveteWarning):
                        warnings.showwarning(other.message, other.category, other.filename, other.lineno)


@contextmanager
def collected() -> Iterator[Callable[[], list[NaiveteWarning]]]:
    """The warnings of this library inside the context, which are not shown; a function, to be called before its end."""
    start = _Log.enter()
    try:
        yield lambda: [own.message for own in _Log.seen[start:][:TOLD] if isinstance(own.message, NaiveteWarning)]
    finally:
        _Log.leave()
