"""What a caller asks of a stream, checked at the door."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from naivete.errors import ParameterError, nearest, shown

__all__ = ["checked_count", "checked_only"]


def checked_count(parameter: str, value: object, least: int) -> None:
    """Refuse what is not a whole number from `least` up."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ParameterError(f"{parameter}={shown(value)} has to be a whole number from {least} up")


def checked_only(only: Collection[str] | None, names: Sequence[str], name: str, parameter: str = "only") -> tuple[str, ...]:
    """Those of the columns that are asked for, in their order.

    >>> checked_only({"c", "a"}, ("a", "b", "c"), "f.csv")
    ('a', 'c')
    """
    if only is None:
        return tuple(names)
    if isinstance(only, str):
        raise ParameterError(f"{parameter}={shown(only)} has to be a collection of names, such as [{shown(only)}]")
    wanted = set(only)
    for column in only:
        if column not in names:
            close = nearest(column, names) or list(names[:20])
            raise ParameterError(f"{parameter}: {name} has no column {shown(column)}; did you mean one of {shown(close)}?")
    return tuple(column for column in names if column in wanted)
