"""Output of the commands: text tables, JSON, notes and error messages, without control characters from the data."""

from __future__ import annotations

import json
import logging
import math
import os
import sys
import unicodedata
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from naivete.cli.options import in_options

__all__ = [
    "complain",
    "counted",
    "escaped",
    "json_text",
    "listed",
    "named",
    "network_text",
    "note",
    "note_numeric_classes",
    "note_unseen",
    "notes",
    "number",
    "say",
    "shown_as",
    "silence",
    "target_text",
    "text_table",
    "write_text",
]

MANY_NUMBERS = 20
"""A target with more different numbers than this is perhaps a quantity; as many make a column numeric."""


def escaped(value: object) -> str:
    r"""Return the value as text without control characters, so that no value can control the terminal.

    >>> escaped("a\x1b[31m\nb")
    'a\\x1b[31m\\nb'
    """
    text = str(value)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def say(*lines: str) -> None:
    """Print lines of results; characters that standard output cannot encode are escaped."""
    text = _with_shown_names("".join(f"{line}\n" for line in lines))
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))


@contextmanager
def shown_as(path: str, name: str) -> Iterator[None]:
    """Print a name in place of a path in the output of the body."""
    written = path, escaped(path), json.dumps(path)[1:-1]
    _names.update(dict.fromkeys(written, name))
    try:
        yield
    except Exception as error:  # its message is printed after the body
        error.args = tuple(_with_shown_names(value) if isinstance(value, str) else value for value in error.args)
        raise
    finally:
        for text in written:
            _names.pop(text, None)


_names: Final[dict[str, str]] = {}


def _with_shown_names(text: str) -> str:
    for path, name in _names.items():
        text = text.replace(path, name)
    return text


def note(text: str) -> None:
    """Print a note on standard error."""
    _print_error(f"naivete: note: {escaped(text)}")


def complain(text: str) -> None:
    """Print an error message, in one line, on standard error."""
    _print_error(f"naivete: {escaped(text)}")


def _print_error(line: str) -> None:
    with suppress(OSError, ValueError):  # a closed standard error is no reason to fail
        print(_with_shown_names(line), file=sys.stderr, flush=True)


@contextmanager
def notes() -> Iterator[None]:
    """Print the warnings of the body, and messages of the library's logger, as notes, each once."""
    printed: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in printed:
            printed.add(str(message))
            note(in_options(str(message)))

    handler = _Notes()
    logger = logging.getLogger("naivete")
    logger.addHandler(handler)
    propagates, logger.propagate = logger.propagate, False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = show
            yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagates


class _Notes(logging.Handler):
    """Prints messages of the library's logger as notes, one for each model and file: its estimates of time are never the same."""

    def __init__(self) -> None:
        super().__init__()
        self.printed: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message, unless one with the same beginning was printed."""
        text = record.getMessage()
        beginning = text.partition(" takes ")[0]
        if beginning not in self.printed:
            self.printed.add(beginning)
            note(in_options(text))


def note_numeric_classes(name: object, classes: Sequence[object]) -> None:
    """Note that each number of a target with many numbers is a class of its own, as is seldom meant."""
    numbers = [label for label in classes if isinstance(label, (int, float)) and not isinstance(label, bool)]
    if len(classes) <= MANY_NUMBERS or len(numbers) < len(classes):
        return
    extent = f"{len(numbers):,} different numbers from {min(numbers):,.10g} to {max(numbers):,.10g}"
    note(
        f"the target {named(name)} has {extent}, and each is a class of its own, without an order; if it is a quantity, first "
        "divide it into a few classes (with pandas: pandas.cut) and name that column with --target"
    )


def note_unseen(data: str, rounds: str) -> None:
    """Note that in some folds or rounds there were values that did not occur in training."""
    note(f"{data}: in some {rounds}, values occurred that were not in the training rows; they were treated as --unseen says")


def silence() -> None:
    """Redirect standard output to the null device, so that it cannot fail again when the program ends."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def number(value: float, digits: int = 3) -> str:
    """Return a number as tables show it: integers with separators of thousands, a dash for NaN.

    >>> number(1234), number(0.12345), number(float("nan"))
    ('1,234', '0.123', '-')
    """
    if isinstance(value, int):
        return f"{value:,}"
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


def counted(count: int, noun: str) -> str:
    """Return a number with a noun, which is put into the plural where needed.

    >>> counted(1, "row"), counted(2000, "row"), counted(2, "pass")
    ('1 row', '2,000 rows', '2 passes')
    """
    plural = "leaves" if noun == "leaf" else f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def listed(names: Sequence[object], most: int = 20) -> str:
    """Return names separated by commas; after the first `most` of them, how many there are.

    >>> listed(["a", "b", "c"], 2), listed([])
    ('a, b, ... (3 in all)', 'none')
    """
    return ", ".join(map(named, names[:most])) + (f", ... ({len(names):,} in all)" if len(names) > most else "") or "none"


def named(name: object) -> str:
    """Return the name of a column as tables show it; a name without visible characters is quoted.

    >>> named("age"), named("")
    ('age', "''")
    """
    text = str(name)
    return text if text.strip() else repr(text)


def target_text(name: object, classes: Sequence[object], most: int = 20) -> str:
    """Return the name of the target column with the number and the names of its classes.

    >>> target_text("play", ["no", "yes"]), target_text("play", [])
    ('play, with 2 classes: no, yes', 'play')
    """
    return f"{named(name)}, with {counted(len(classes), 'class')}: {listed(classes, most)}" if classes else named(name)


def network_text(name: str) -> str:
    """Return a sentence about the network beside a model that does not predict with one network.

    >>> network_text("summary network")
    'arcs and tables are those of a summary network, for drawings and queries; predictions use other tables'
    """
    return f"arcs and tables are those of a {name}, for drawings and queries; predictions use other tables"


def text_table(headers: Sequence[str], rows: Sequence[Sequence[object]], *, left: Collection[int] = (0,)) -> list[str]:
    """Return the lines of a table: the headers and the rows in aligned columns.

    Parameters
    ----------
    headers : the headers of the columns.
    rows : the cells of each row.
    left : the columns that are aligned on the left, the last one being -1; the others are aligned on the right.

    >>> text_table(["model", "accuracy"], [["nb", "0.9"], ["kdb:k=2", "0.95"]])
    ['model    accuracy', 'nb            0.9', 'kdb:k=2      0.95']
    """
    cells = [[escaped(cell) for cell in row] for row in [headers, *rows]]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    at_left = [column in left or column - len(headers) in left for column in range(len(headers))]
    padded = [[_padded(*cell) for cell in zip(row, widths, at_left, strict=True)] for row in cells]
    return ["  ".join(row).rstrip() for row in padded]


def _padded(cell: str, width: int, at_left: bool) -> str:
    space = " " * (width - _width(cell))
    return cell + space if at_left else space + cell


def _width(text: str) -> int:
    """Return the width of the text on a terminal."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def write_text(path: str, text: str, force: bool) -> None:
    """Write a text file as UTF-8; it appears whole or not at all."""
    from naivete.storage.atomic import atomic_write

    atomic_write(Path(path), text.encode(), overwrite=force)


def json_text(value: Any) -> str:
    """Return the value as JSON in plain ASCII; NaN and infinity become null."""
    import json

    return json.dumps(_plain(value), indent=2, ensure_ascii=True, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
