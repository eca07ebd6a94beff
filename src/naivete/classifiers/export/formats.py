"""The export formats and their options, which the command line reads without importing the writers."""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["FORMATS", "OPTIONS", "Format"]


class Format(NamedTuple):
    """An export format.

    Parameters
    ----------
    title : what is written, for messages.
    module : the module of `naivete.classifiers.export` that writes it, with a function of the same name.
    options : the options that it has.
    binary : whether it is bytes instead of text.
    """

    title: str
    module: str
    options: tuple[str, ...] = ()
    binary: bool = False


FORMATS: Final = {
    "python": Format("Python", "python_code"),
    "onnx": Format("ONNX", "onnx_model", ("contributions",), binary=True),
    "sql": Format("SQL", "sql_statement", ("table", "keys")),
    "c": Format("C", "c_code", ("name",)),
}
"""The formats by name."""

OPTIONS: Final[tuple[str, ...]] = tuple(dict.fromkeys(name for format in FORMATS.values() for name in format.options))
"""The options of all formats."""
