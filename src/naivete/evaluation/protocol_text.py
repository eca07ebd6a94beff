"""Protocols as text, such as `10x10-fold`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from naivete.errors import ParameterError, close_matches, did_you_mean, quoted
from naivete.evaluation.protocols import KFold, LearningCurve, Protocol, Splits, TrainTest

__all__ = ["protocol_of"]

_DIGITS: Final = 18
"""The maximal number of digits of a number in the text of a protocol."""
_EXAMPLES: Final = "10-fold, 10x10-fold, 30-splits:train=1000,test=2196, curve:sizes=10/20/50,count=20"
_FIRST: Final = "first:train=1000,validate=500"


def protocol_of(text: str) -> Protocol:
    """Return the protocol for a text: `10-fold`, `10x10-fold`, `30-splits:train=1000,test=2196`, `curve:sizes=10/20/50`.

    All of these accept `seed=`, a curve also `count=` and `test=`. `first:train=1000,validate=500` is `TrainTest`.

    Parameters
    ----------
    text : str
        The specification of the protocol.

    Returns
    -------
    Protocol
        The protocol.

    Examples
    --------
    >>> from naivete.evaluation import protocol_of
    >>> str(protocol_of("10x10-fold")), str(protocol_of("30-splits:train=1000,test=200,seed=7"))
    ('10 x 10-fold cross-validation, seed 0', '30 random divisions, train 1000, test 200, seed 7')
    """
    kind, _, rest = text.strip().lower().partition(":")
    try:
        return _protocol(kind, _settings(rest))
    except _Unreadable as error:
        examples = _FIRST if kind == "first" else _EXAMPLES
        raise ParameterError(f"protocol {quoted(text)}: {error}; write for instance {examples}") from None


class _Unreadable(Exception):  # noqa: N818 - caught here
    """Raised with the reason why the text of a protocol is not valid."""


def _protocol(kind: str, settings: _Settings) -> Protocol:
    if kind == "first":
        return settings.checked(TrainTest(settings.whole("train"), settings.whole("validate", 0)), "train", "validate")
    seed = settings.whole("seed", 0)
    if kind.endswith("-fold"):
        repeat, _, folds = kind.removesuffix("-fold").rpartition("x")
        return settings.checked(KFold(_whole(folds), _whole(repeat or "1"), seed), "seed")
    if kind.endswith("-splits"):
        sizes = {name: settings.number(name) for name in ("train", "test") if name in settings.values}
        return settings.checked(Splits(_whole(kind.removesuffix("-splits")), random_state=seed, **sizes), "train", "test", "seed")
    if kind == "curve":
        default = LearningCurve()
        test = settings.number("test") if "test" in settings.values else default.test
        curve = LearningCurve(settings.sizes(default.sizes), settings.whole("count", default.count), test, seed)
        return settings.checked(curve, "sizes", "count", "test", "seed")
    close = close_matches(kind, ("10-fold", "30-splits", "curve"), 1)
    raise _Unreadable(f"it is unknown{f' (did you mean {close[0]}?)' if close else ''}")


@dataclass(frozen=True)
class _Settings:
    """The settings after the colon, by name."""

    values: dict[str, str]

    def whole(self, name: str, default: int | None = None) -> int:
        """Return a setting that is a whole number, or the default if it is absent."""
        if name not in self.values:
            if default is None:
                raise _Unreadable(f"{name} is missing")
            return default
        return _whole(self.values[name], f"{name}=")

    def number(self, name: str) -> float:
        """Return a setting that is a number."""
        try:
            return float(self.values[name])
        except ValueError:
            raise _Unreadable(f"{name}={quoted(self.values[name])} is not a number") from None

    def sizes(self, default: tuple[int, ...]) -> tuple[int, ...]:
        """Return the sizes, which are whole numbers separated by slashes."""
        return tuple(_whole(size, "sizes: ") for size in self.values["sizes"].split("/")) if "sizes" in self.values else default

    def checked(self, protocol: KFold | Splits | TrainTest | LearningCurve, *known: str) -> Protocol:
        """Return the protocol; raise an error for unknown settings and invalid parameters."""
        for name in self.values:
            if name not in known:
                listed = did_you_mean(name, known, "there is" if len(known) == 1 else "there are")
                raise _Unreadable(f"there is no setting {quoted(name)} ({listed})")
        try:
            protocol.check()
        except ParameterError as error:
            raise _Unreadable(str(error)) from None
        return protocol


def _settings(text: str) -> _Settings:
    values: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if not value:
            raise _Unreadable(f"the setting {quoted(name)} has no value")
        if name in values:
            raise _Unreadable(f"the setting {quoted(name)} is there twice")
        values[name] = value
    return _Settings(values)


def _whole(text: str, prefix: str = "") -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise _Unreadable(f"{prefix}{quoted(text)} is not a whole number")
    return int(text)
