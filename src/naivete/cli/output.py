"""What a person or a program reads: text tables, JSON, notes and complaints; values never control the terminal."""

from __future__ import annotations

import math
import os
import sys
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from naivete.cli.wording import in_options

__all__ = [
    "complain",
    "counted",
    "escaped",
    "json_text",
    "named",
    "note",
    "notes",
    "number",
    "say",
    "silence",
    "text_table",
]


def escaped(value: object) -> str:
    r"""The value as text that a terminal shows and does not obey.

    >>> escaped("a\x1b[31m\nb")
    'a\\x1b[31m\\nb'
    """
    text = str(value)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def say(*lines: str) -> None:
    """Print lines of results; what the terminal cannot show is written as an escape."""
    text = "".join(f"{line}\n" for line in lines)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))


def note(text: str) -> None:
    """Tell something beside the results, on standard error."""
    _tell(f"naivete: note: {escaped(text)}")


def complain(text: str) -> None:
    """Say in one line, on standard error, what went wrong."""
    _tell(f"naivete: {escaped(text)}")


def _tell(line: str) -> None:
    with suppress(OSError, ValueError):  # nobody listens: no reason to fail
        print(line, file=sys.stderr, flush=True)


@contextmanager
def notes() -> Iterator[None]:
    """Inside, warnings are notes, each told once."""
    told: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in told:
            told.add(str(message))
            note(in_options(str(message)))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield


def silence() -> None:
    """Write the rest of the output nowhere, so that it cannot fail once more when the program ends."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def number(value: float, digits: int = 3) -> str:
    """A number for a table; whole numbers with their thousands apart, a dash for what is not known.

    >>> number(1234), number(0.12345), number(float("nan"))
    ('1,234', '0.123', '-')
    """
    if isinstance(value, int):
        return f"{value:,}"
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


def counted(count: int, what: str) -> str:
    """How many of what.

    >>> counted(1, "row"), counted(2000, "row"), counted(2, "pass")
    ('1 row', '2,000 rows', '2 passes')
    """
    many = "es" if what.endswith("s") else "s"
    return f"{count:,} {what}{'' if count == 1 else many}"


def named(name: object) -> str:
    """The name of a column as a table shows it; one that could not be seen in quotes.

    >>> named("age"), named("")
    ('age', "''")
    """
    text = str(name)
    return text if text.strip() else repr(text)


def text_table(headers: Sequence[str], rows: Sequence[Sequence[object]], *, left: int = 1) -> list[str]:
    """The rows below their headers, in columns; the first `left` columns are set to the left, the others to the right.

    >>> text_table(["model", "accuracy"], [["nb", "0.9"], ["kdb:k=2", "0.95"]])
    ['model    accuracy', 'nb            0.9', 'kdb:k=2      0.95']
    """
    cells = [[escaped(cell) for cell in row] for row in [headers, *rows]]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    padded = [[_padded(c, w, i < left) for i, (c, w) in enumerate(zip(row, widths, strict=True))] for row in cells]
    return ["  ".join(row).rstrip() for row in padded]


def _padded(cell: str, width: int, left: bool) -> str:
    room = " " * (width - _width(cell))
    return cell + room if left else room + cell


def _width(text: str) -> int:
    """How many columns of a terminal the text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def json_text(value: Any) -> str:
    """The value as JSON in plain ASCII; numbers that JSON does not have become null."""
    import json

    return json.dumps(_plain(value), indent=2, ensure_ascii=True, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(own) for key, own in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(own) for own in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
