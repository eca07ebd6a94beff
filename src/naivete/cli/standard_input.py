"""The table on standard input, which the word `-` names in place of a data file."""

from __future__ import annotations

import shutil
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from naivete.cli.output import shown_as
from naivete.errors import ParameterError

__all__ = ["DASH", "with_standard_input"]

DASH: Final = "-"
"""The word for standard input; a file of this name is ./-"""
_REFUSED: Final = {
    "checkpoint": "a later run could not read the same rows again",
    "cluster": "the workers could not read them",
}


@contextmanager
def with_standard_input(args: Namespace) -> Iterator[None]:
    """Let `-` among the data files be the table on standard input, for the time of the body.

    It is copied to a temporary file, since a table is read more than once; messages and results call it `-`.
    """
    given = args.data if isinstance(args.data, list) else [args.data]
    if DASH not in given:
        yield
        return
    _check(args, given)
    with tempfile.TemporaryDirectory(prefix="naivete-") as folder:
        path = Path(folder) / DASH
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        words = [str(path) if word == DASH else word for word in given]
        args.data = words if isinstance(args.data, list) else words[0]
        with shown_as(str(path), DASH):
            yield


def _check(args: Namespace, given: list[str]) -> None:
    """Raise an error where there is no table on standard input, or it cannot be used."""
    if given.count(DASH) > 1:
        raise ParameterError("-: standard input can be read only once")
    for option, reason in _REFUSED.items():
        if getattr(args, option, None) is not None:
            raise ParameterError(f"-: standard input cannot be used with --{option}, since {reason}; name a file")
    if sys.stdin is None or sys.stdin.isatty():
        raise ParameterError(
            "-: standard input is a terminal, not a table; pipe one into the command, as in 'cat FILE | naivete COMMAND -', "
            "or name a file"
        )
