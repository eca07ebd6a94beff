"""Experiments described in a TOML file: which data, models and protocol, and where the results go."""

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
    """An experiment; what is None was left out.

    Parameters
    ----------
    data : the files of cases.
    target : the column of the class.
    models : the models as text.
    protocol : how the cases are divided, as text.
    baseline, measure, alpha, rope : how the models are compared.
    seed : the seed of the protocol.
    loss : the file of the costs of wrong decisions.
    html, records, resume : where the page, the table of all records and every finished split are kept.
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
    """The experiment of a TOML file; the paths in it are relative to the file.

    Parameters
    ----------
    path : the file.
    """
    own = Path(path)
    try:
        found = tomllib.loads(own.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise FileError(f"{own}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:  # TOMLDecodeError and UnicodeDecodeError are both values
        raise ParameterError(f"{own}: it is not TOML: {error}") from None
    return Description(**{key: _value(own, key, value) for key, value in _known(own, found).items()})


def _known(path: Path, found: Mapping[str, Any]) -> Mapping[str, Any]:
    known = [field.name for field in fields(Description)]
    for key in found:
        if key not in known:
            raise ParameterError(f"{path}: there is no key {quoted(key)}; {did_you_mean(key, known, 'the keys are')}")
    return found


def _value(path: Path, key: str, value: Any) -> Any:
    """The value of a key, refused where it is not of its type."""
    if key in _LISTS:
        if type(value) is not list or not value or not all(type(own) is str and own.strip() for own in value):
            raise ParameterError(f'{path}: {key} = {quoted(value)}: expected a list of texts, as in {key} = ["...", "..."]')
        return [_beside(path, key, own) for own in value] if key == "data" else value
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
    """The path of a name in the file."""
    if "\0" in name:
        raise ParameterError(f"{path}: {key} = {quoted(name)}: it is not the name of a file")
    return str(path.parent / name)
