"""Messages of the library in the words of the command line: where they name a parameter, the option is meant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

__all__ = ["in_options"]

_WORDS: Final[Sequence[tuple[re.Pattern[str], str]]] = tuple(
    (re.compile(pattern), option)
    for pattern, option in (
        (r"pass encoding='([\w-]+)'", r"give --encoding \1"),
        (r"pass another encoding=$", "give another --encoding"),
        (r"^encoding=('.*' is unknown)", r"--encoding: \1"),
        (r"^delimiter=('.*' has to be one character)", r"--delimiter: \1"),
        (r"unseen='error' names them$", "--unseen error names them"),
        (r"predict with unseen='marginalise'$", "predict with --unseen marginalise"),
        (r"raise `budget`", "raise --budget"),
        (r"raise `memory`", "raise --memory"),
        (r"^memory=([\d,]+ bytes are)", r"--memory: \1"),
        (r"^cluster=('.*'): ", r"--cluster \1: "),
        (r"pass the address of a running scheduler", "give the address of a running scheduler"),
        (r"use restart=True \(--restart\) to begin again", "give --restart to begin again"),
        (r"(files of one format|\.csv or \.arff), or pass format=$", r"\1, or give --format"),
        (r", or pass format=$", ""),
        (r"leave it out, or declare it numeric if it is", "leave it out (--ignore), or declare it numeric (--kinds) if it is"),
        (r"leave it out or fill it in$", "leave it out (--ignore) or fill it in"),
    )
)


def in_options(message: str) -> str:
    """The message with options in place of parameters, where it advises one.

    >>> in_options("values were treated as missing; unseen='error' names them")
    'values were treated as missing; --unseen error names them'
    """
    for pattern, option in _WORDS:
        message = pattern.sub(option, message)
    return message
