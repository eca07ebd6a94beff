"""The command line `naivete COMMAND ...`; each command is a module of this package."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Final

from naivete.cli import (
    ask,
    card,
    compare,
    convert,
    demo,
    describe,
    diagnose,
    doctor,
    evaluate,
    explain,
    explore,
    export,
    fit,
    predict,
    query,
    show,
)
from naivete.cli.options import in_options
from naivete.cli.output import complain, notes, silence
from naivete.cli.parsing import Command, Finished, parse
from naivete.cli.signals import Terminated, interruptible, reason
from naivete.cli.standard_input import with_standard_input
from naivete.errors import FileError, ModelFileError, NaiveteError, ParameterError, ResourceError

__all__ = ["main"]

COMMANDS: Final[Sequence[Command]] = (
    fit.COMMAND,
    predict.COMMAND,
    describe.COMMAND,
    show.COMMAND,
    explore.COMMAND,
    export.COMMAND,
    card.COMMAND,
    evaluate.COMMAND,
    compare.COMMAND,
    diagnose.COMMAND,
    convert.COMMAND,
    query.COMMAND,
    explain.COMMAND,
    ask.COMMAND,
    demo.COMMAND,
    doctor.COMMAND,
)

BROKEN, USAGE, DATA, MODEL, RESOURCE, INTERRUPTED, TERMINATED = 1, 2, 3, 4, 5, 130, 143


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0 success, 1 a defect of this program, 2 usage, 3 data, 4 model file, 5 resources or files, 130 and 143 on signals.

    Parameters
    ----------
    argv : the command line without the name of the program; by default that of the process.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        with notes(), interruptible():
            return _run(words)
    except (Exception, KeyboardInterrupt, Terminated) as error:  # noqa: BLE001 - no traceback without --debug
        if "--debug" in words:
            traceback.print_exc()
        return _failed(error)


def _run(words: Sequence[str]) -> int:
    try:
        command, arguments = parse(COMMANDS, words)
        with with_standard_input(arguments) if command.standard_input else nullcontext():
            code = command.run(arguments)
    except Finished as finished:
        code = finished.code
    sys.stdout.flush()
    return code


def _failed(error: BaseException) -> int:
    """Print the error in one line, and return its exit code."""
    code = _code(error)
    if isinstance(error, BrokenPipeError):
        silence()  # the reader of the output has closed it
        return 0
    if code in (INTERRUPTED, TERMINATED):
        complain(reason(code == INTERRUPTED, getattr(error, "__notes__", ())))
    elif code == BROKEN:
        complain(f"internal error, please report it: {type(error).__name__}: {error} (--debug shows the traceback)")
    elif isinstance(error, MemoryError) and not isinstance(error, NaiveteError):
        complain("there is not enough memory; use fewer rows, columns or parents")
    else:
        complain(_line(error))
    return code


def _line(error: BaseException) -> str:
    if isinstance(error, OSError) and not isinstance(error, NaiveteError):
        silence()  # standard output itself may have failed
        return f"{error.filename or 'output'}: {error.strerror or error}"
    return in_options(str(error))


def _code(error: BaseException) -> int:
    kinds: Sequence[tuple[type[BaseException], int]] = (
        (ParameterError, USAGE),
        (ModelFileError, MODEL),
        (FileError, RESOURCE),
        (ResourceError, RESOURCE),
        (NaiveteError, DATA),
        (OSError, RESOURCE),
        (MemoryError, RESOURCE),
        (KeyboardInterrupt, INTERRUPTED),
        (Terminated, TERMINATED),
    )
    return next((code for kind, code in kinds if isinstance(error, kind)), BROKEN)
