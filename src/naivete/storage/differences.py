"""The differences between the fingerprints of two runs, for error messages."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from typing import Any, Final

from naivete.errors import quoted
from naivete.storage.packed import packed

__all__ = ["difference"]

_MOST: Final = 5
"""How many differences a message names."""
_WIDTH: Final = 60
"""How many characters of a value a message shows."""
_BEFORE: Final = 30
"""How many of them come before the first one that differs."""


class _Absent:
    """Stands for a field that is not there."""

    def __repr__(self) -> str:
        return "absent"


_ABSENT: Final = _Absent()


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return what differs between two fingerprints; an empty string if nothing does.

    Parameters
    ----------
    old, new : plain values by name.

    >>> difference({"models": {"nb": {"smoothing": 1.0}}}, {"models": {"nb": {"smoothing": 2.0}, "tan": {}}})
    "models: 'tan' is new, models['nb']['smoothing'] was 1.0 and is now 2.0"
    """
    pairs = [(quoted(name)[1:-1], old.get(name, _ABSENT), new.get(name, _ABSENT)) for name in {**old, **new}]
    differences = [text for pair in pairs for text in _differences(*pair)]
    return ", ".join(differences[:_MOST]) + (f", and {len(differences) - _MOST} more" if len(differences) > _MOST else "")


def _differences(name: str, old: Any, new: Any) -> list[str]:
    """Yield the differences of two values: of dicts and lists of the same form, the differences of their entries."""
    if old is not _ABSENT and new is not _ABSENT and packed(old) == packed(new):
        return []
    return _inner_differences(name, old, new) or [_changed(name, old, new)]


def _inner_differences(name: str, old: Any, new: Any) -> list[str]:
    if type(old) is not type(new):
        return []
    if type(old) is dict:
        changed = [f"{quoted(key)} is gone" for key in old if key not in new] + [f"{quoted(k)} is new" for k in new if k not in old]
        order = [] if changed or list(old) == list(new) else ["they were in another order"]
        inner = [text for key in old if key in new for text in _differences(f"{name}[{quoted(key)}]", old[key], new[key])]
        return [f"{name}: {', '.join(changed or order)}", *inner] if changed or order else inner
    if type(old) in (list, tuple) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        return [text for i, (one, other) in pairs for text in _differences(f"{name}[{i}]", one, other)]
    return []


def _changed(name: str, old: Any, new: Any) -> str:
    texts = [value if isinstance(value, str) and value.isprintable() else _text(value) for value in (old, new)]
    if texts[0] == texts[1]:
        texts = [_text(old), _text(new)]
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False)))
    return f"{name} was {_around(texts[0], same)} and is now {_around(texts[1], same)}"


def _text(value: object) -> str:
    try:
        return repr(value)
    except ValueError:  # Python does not print integers of thousands of digits
        return "a very long integer"


def _around(text: str, position: int) -> str:
    """The part of a long text around a position."""
    start = max(0, position - _BEFORE) if len(text) > _WIDTH else 0
    return "..." * (start > 0) + text[start : start + _WIDTH] + "..." * (len(text) > start + _WIDTH)
