"""The tokens of an ARFF file, split as Weka splits them, in one pass over each line."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["BLANKS", "Malformed", "arff_quoted", "single", "tokens", "unquoted"]

BLANKS: Final = "".join(map(chr, range(33)))
"""The characters that separate tokens: the blank and all control characters."""

_STEP: Final = re.compile(r"""[\x00-\x20]*([^\x00-\x20,%'"{}]*)""")
_WORD: Final = re.compile(r"""[^\x00-\x20,%'"{}]+""")
_STOPS: Final = {"'": re.compile(r"['\\]"), '"': re.compile(r'["\\]')}
_SPECIAL: Final = re.compile(r"""[\x00-\x20,%'"{}\\\x7f-\xa0]""")
_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_SEPARATOR: Final = "\x1e"


class Malformed(Exception):  # noqa: N818 - never leaves the reader
    """A line that cannot be split into tokens, with the reason."""


def tokens(line: str) -> list[str]:
    r"""Return the words, quoted words, braces and commas of a line, up to a comment.

    >>> tokens("@attribute 'a b' {x , y} % note")
    ['@attribute', "'a b'", '{', 'x', ',', 'y', '}']
    """
    split: list[str] = []
    position = 0
    while position < len(line):
        step = _STEP.match(line, position)
        assert step is not None  # it matches the empty string
        position = step.end()
        if word := step.group(1):
            split.append(word)
        if position == len(line) or line[position] == "%":
            break
        if line[position] in ",{}":
            split.append(line[position])
            position += 1
        elif line[position] in _STOPS:
            end = _closing(line, position)
            split.append(line[position:end])
            _check_apart(line, position, end, word)
            position = end
    return split


def _closing(line: str, start: int) -> int:
    """Return the position after the quote that closes the one at `start`."""
    stops = _STOPS[line[start]]
    position = start + 1
    while stop := stops.search(line, position):
        if stop.group() != "\\":
            return stop.end()
        position = stop.end() + 1
    raise Malformed(f"the quote {line[start]} is never closed; close it, or write \\{line[start]} for the character")


def _check_apart(line: str, start: int, end: int, word: str) -> None:
    """Refuse a quoted word next to another word, because it is unclear whether they are one value or two."""
    after = line[end : end + 1]
    if word or (after and (after in _STOPS or _WORD.match(after))):
        text = f"{word}{line[start:end]}{after}"
        raise Malformed(f"a quote inside a value: {text[:60]!r}; put the whole value in quotes, inner quotes after a backslash")


def single(raw: str) -> bool:
    """Return whether a text is one word, quoted or not, perhaps with blanks around it.

    >>> single(" 'a b' "), single("a b"), single("'a")
    (True, False, False)
    """
    text = raw.strip(BLANKS)
    if text[:1] not in _STOPS:
        return _WORD.fullmatch(text) is not None
    try:
        return _closing(text, 0) == len(text)
    except Malformed:
        return False


def unquoted(raw: str) -> str:
    r"""Return the value of a word: without surrounding blanks, quotes and escapes.

    An escaped character is itself, but for the control characters \a \b \f \n \r \t \v, an octal number as \101, and the
    \u001E that Weka writes for the record separator. Outside quotes a backslash is a character as any other.

    >>> unquoted(r" 'it\'s' ")
    "it's"
    """
    text = raw.strip(BLANKS)
    if text[:1] not in _STOPS:
        return text
    return _unescaped(text[1:-1]) if "\\" in text else text[1:-1]


def _unescaped(text: str) -> str:
    head, *rest = text.split("\\")
    parts = [head]
    literal = False  # whether the backslash before this part was itself escaped
    for part in rest:
        if literal:
            parts.append(part)
            literal = False
        elif part:
            parts.append(_escape(part))
        else:
            parts.append("\\")
            literal = True
    return "".join(parts)


def _escape(text: str) -> str:
    """Return the text after a backslash with the escape at its start replaced."""
    if text.startswith("u001E"):
        return _SEPARATOR + text[5:]
    if text[0] in _ESCAPES:
        return _ESCAPES[text[0]] + text[1:]
    if text[0] in "01234567":
        most = 3 if text[0] <= "3" else 2
        digits = next((i for i, char in enumerate(text[:most]) if char not in "01234567"), min(most, len(text)))
        return chr(int(text[:digits], 8)) + text[digits:]
    return text


def arff_quoted(text: str) -> str:
    r"""Return the text as one word of an ARFF file, in quotes if necessary.

    >>> arff_quoted("rain"), arff_quoted("it's"), arff_quoted("?")
    ('rain', "'it\\'s'", "'?'")
    """
    if text and text != "?" and not _SPECIAL.search(text):
        return text
    for char, escape in (("\\", "\\\\"), ("'", "\\'"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = text.replace(char, escape)
    return f"'{text}'"
