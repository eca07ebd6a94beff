"""Messages of the library with the options of the command line in place of the parameters that they name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from naivete.errors import with_options

__all__ = ["in_options"]

_SAME_NAME: Final = (
    "budget",
    "cluster",
    "delimiter",
    "encoding",
    "format",
    "ignore",
    "kinds",
    "loss",
    "memory",
    "restart",
    "seed",
    "tolerance",
    "unseen",
)
_OPTIONS: Final[Mapping[str, str]] = {
    **{name: f"--{name}" for name in _SAME_NAME},
    "overwrite": "--force",
    "missing": "--missing-token",
    "unlabelled='drop'": "--drop-unlabelled",
}


def in_options(message: str) -> str:
    """Return the message with options in place of parameters.

    >>> in_options("values were treated as missing; `unseen='error'` names them")
    'values were treated as missing; --unseen error names them'
    """
    return with_options(message, _OPTIONS)
