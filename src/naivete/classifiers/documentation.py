"""Docstrings of estimators that describe all parameters and attributes, also those that the base class describes."""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import Final

__all__ = ["complete_docstring"]

_PARAMETER_OF: Final = {"temperature_": "calibration"}
"""Attributes that only classifiers with a certain parameter have."""
_TITLE: Final = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)


def complete_docstring(cls: type, base: type) -> None:
    """Add to the docstring of a class what it leaves to its base class to describe.

    Parameters of the constructor and fitted attributes that the class does not describe are described as in the base class.
    Parameters are in the order of the constructor; attributes that the class describes itself come first.

    Parameters
    ----------
    cls : type
        The class; nothing happens where it has no docstring.
    base : type
        The class whose docstring has sections "Parameters" and "Attributes".
    """
    if not cls.__doc__ or not base.__doc__:
        return
    sections, general = _sections(cls.__doc__), _described(base)
    specific = {title: _entries(sections.get(title, "")) for title in general}
    parameters = _parameters(cls)
    attributes = [name for name in general["Attributes"] if _PARAMETER_OF.get(name, "self") in ("self", *parameters)]
    wanted = {"Parameters": parameters, "Attributes": [*dict.fromkeys([*specific["Attributes"], *attributes])]}
    for title, names in wanted.items():
        entries = {**general[title], **specific[title]}
        sections[title] = "\n".join(dict.fromkeys(entries[name] for name in names if name in entries))
    order = ["", "Parameters", "Attributes", *(title for title in sections if title not in ("", *wanted))]
    texts = [f"{title}\n{'-' * len(title)}\n{sections[title]}" if title else sections[title] for title in order]
    cls.__doc__ = "\n\n".join(texts) + "\n"


def _parameters(cls: type) -> tuple[str, ...]:
    """Return the names of the parameters of the constructor; `inspect.signature` would take most of the time of an import."""
    code = getattr(cls.__init__, "__code__", None)  # type: ignore[misc]
    return () if code is None else code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]


@cache
def _described(base: type) -> dict[str, dict[str, str]]:
    """Return the entries of each section of the docstring of a class."""
    return {title: _entries(text) for title, text in _sections(base.__doc__ or "").items() if title in ("Parameters", "Attributes")}


def _sections(docstring: str) -> dict[str, str]:
    """Return the text of each section by its title, and that before the first section under the title ''."""
    start, *parts = _TITLE.split(inspect.cleandoc(docstring))
    return {"": start.strip(), **{title: text.strip("\n") for title, text in zip(parts[::2], parts[1::2], strict=True)}}


def _entries(section: str) -> dict[str, str]:
    """Return the entries of a section by the names that each describes.

    >>> _entries("a, b : float\\n    Two numbers.\\nc : int, default=1\\n    Another.")
    {'a': 'a, b : float\\n    Two numbers.', 'b': 'a, b : float\\n    Two numbers.', 'c': 'c : int, default=1\\n    Another.'}
    """
    entries = [entry for entry in re.split(r"\n(?=\S)", section) if " : " in entry]
    return {name.strip(): entry for entry in entries for name in entry.partition(" : ")[0].split(",")}
