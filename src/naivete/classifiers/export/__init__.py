"""Export of fitted classifiers to programs in other languages, which compute the same probabilities without naivete."""

from __future__ import annotations

from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from naivete.classifiers.export.formats import FORMATS, OPTIONS
from naivete.errors import ParameterError, did_you_mean, quoted

if TYPE_CHECKING:
    from naivete.classifiers.base import NetworkClassifier
    from naivete.network.network import Network

__all__ = ["export"]


def export(
    model: NetworkClassifier | Network,
    to: str,
    path: str | PathLike[str] | None = None,
    *,
    overwrite: bool = True,
    **options: Any,
) -> Any:
    """Return a model as a program that computes its posterior probabilities: text, or bytes for ONNX.

    The same model gives the same bytes. The predictions have to be those of one network: all classifiers but Spectrum, AODE and
    A2DE. `docs/guide/export.md` states for each format which models it can hold, and how it treats missing values.

    Parameters
    ----------
    model : NetworkClassifier or Network
        The fitted classifier, or a network.
    to : {"python", "sql", "c", "onnx"}
        The format of the program.
    path : str, path-like or None, default=None
        A file to write the program to, too.
    overwrite : bool, default=True
        Whether an existing file may be replaced.
    **options : object
        The options of the format. SQL: `table`, the table with the rows ("data"; a tuple if it has a schema), and `keys`, its
        columns that the result keeps. C: `name`, the prefix of all names in the file ("model"). ONNX: `contributions`, whether
        there is an output with the contributions of the tables (False).

    Returns
    -------
    str or bytes
        The program; bytes for ONNX.

    Raises
    ------
    ParameterError
        If the format is unknown or cannot hold the model.
    FileError
        If the file cannot be written.

    Examples
    --------
    >>> from naivete import NaiveBayes, export
    >>> program = export(NaiveBayes().fit([["a"], ["b"], ["b"]], ["no", "yes", "yes"]), "python")
    >>> names = {}
    >>> exec(program, names)
    >>> names["predict"]({"x0": "b"})
    'yes'
    """
    from naivete.classifiers.export.sum_of_tables import sum_of_tables
    from naivete.storage.atomic import atomic_write, file_name

    if to not in list(FORMATS):  # compares, since other objects may have no hash
        raise ParameterError(f"to={quoted(to)}: {did_you_mean(to, FORMATS, 'the formats are')}")
    _check_options(to, options)
    module = FORMATS[to].module
    write = getattr(import_module(f"naivete.classifiers.export.{module}"), module)
    program = write(sum_of_tables(model), **options)
    if path is not None:
        atomic_write(Path(file_name(path)), program.encode() if isinstance(program, str) else program, overwrite=overwrite)
    return program


def _check_options(to: str, options: dict[str, Any]) -> None:
    for name in options:
        if name not in OPTIONS:
            raise ParameterError(f"there is no option {quoted(name)}; {did_you_mean(name, OPTIONS, 'the options are')}")
        if name not in FORMATS[to].options:
            formats = [other for other, format in FORMATS.items() if name in format.options]
            raise ParameterError(f"{name} is an option of {' and '.join(formats)}, not of {to}")
