"""Experiments described in a TOML file: data, models, protocol, and where to write the results."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from naivete.errors import FileError, ParameterError, did_you_mean, quoted

__all__ = ["Description", "read_description"]

_LISTS: Final = ("data", "models")
_NUMBERS: Final = ("alpha", "rope")
_FILES: Final = ("loss", "html", "records", "resume")


@dataclass(frozen=True)
class Description:
    """The description of an experiment; None for keys that are not in the file.

    Parameters
    ----------
    data : list of str or None, default=None
        The paths of the data files.
    target : str or None, default=None
        The name of the class column.
    models : list of str or None, default=None
        The specifications of the models.
    protocol : str or None, default=None
        The specification of the protocol, as for `protocol_of`.
    baseline : str or None, default=None
        The model with which the others are compared.
    measure : str or None, default=None
        The measure by which they are compared.
    alpha : float or None, default=None
        The significance level.
    rope : float or None, default=None
        The largest difference that does not matter in practice.
    seed : int or None, default=None
        The seed of the protocol.
    loss : str or None, default=None
        The file of the losses of wrong decisions.
    html : str or None, default=None
        The path of the HTML page.
    records : str or None, default=None
        The path of the table of all records.
    resume : str or None, default=None
        The path of the folder of finished splits.
    """

    data: list[str] | None = None
    target: str | None = None
    models: list[str] | None = None
    protocol: str | None = None
    baseline: str | None = None
    measure: str | None = None
    alpha: float | None = None
    rope: float | None = None
    seed: int | None = None
    loss: str | None = None
    html: str | None = None
    records: str | None = None
    resume: str | None = None


def read_description(path: str | os.PathLike[str]) -> Description:
    """Read the description of an experiment from a TOML file; paths in it are relative to the file.

    Parameters
    ----------
    path : str or path-like
        The path of the TOML file.

    Returns
    -------
    Description
        The description.
    """
    file = Path(path)
    try:
        values = tomllib.loads(file.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise FileError(f"{file}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:  # TOMLDecodeError and UnicodeDecodeError are both ValueErrors
        raise ParameterError(f"{file}: it is not TOML: {error}") from None
    return Description(**{key: _value(file, key, value) for key, value in _known(file, values).items()})


def _known(path: Path, values: Mapping[str, Any]) -> Mapping[str, Any]:
    known = [field.name for field in fields(Description)]
    for key in values:
        if key not in known:
            raise ParameterError(f"{path}: there is no key {quoted(key)}; {did_you_mean(key, known, 'the keys are')}")
    return values


def _value(path: Path, key: str, value: Any) -> Any:
    """Return the value of a key; raise a ParameterError if it has the wrong type."""
    if key in _LISTS:
        if type(value) is not list or not value or not all(type(text) is str and text.strip() for text in value):
            raise ParameterError(f'{path}: {key} = {quoted(value)}: expected a list of texts, as in {key} = ["...", "..."]')
        return [_beside(path, key, name) for name in value] if key == "data" else value
    if key in _NUMBERS:
        if type(value) not in (int, float):
            raise ParameterError(f"{path}: {key} = {quoted(value)}: expected a number")
        return float(value)
    if key == "seed":
        if type(value) is not int:
            raise ParameterError(f"{path}: {key} = {quoted(value)}: expected a whole number")
        return value
    if type(value) is not str or not value:
        raise ParameterError(f'{path}: {key} = {quoted(value)}: expected a text, as in {key} = "..."')
    return _beside(path, key, value) if key in _FILES else value


def _beside(path: Path, key: str, name: str) -> str:
    """Return a path that is relative to the TOML file."""
    if "\0" in name:
        raise ParameterError(f"{path}: {key} = {quoted(name)}: it is not the name of a file")
    return str(path.parent / name)
