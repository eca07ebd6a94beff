"""A scanner for the words, marks and numbers of a text, in one pass, with errors that report the line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from naivete.errors import DataError, quoted

__all__ = ["BIF", "DOT", "HUGIN", "Lexicon", "Scanner", "numbers_of"]

_BLANKS: Final = re.compile(r"\s*")
_QUOTE_OR_ESCAPE: Final = re.compile(r'["\\]')
_NUMERIC: Final = re.compile(r"[0-9eE.+\-,\s]*")
_NESTED: Final = re.compile(r"[0-9eE.+\-()\s]*")
_SEPARATOR: Final = re.compile(r"[\s,]")
_LONGEST_NUMBER: Final = 400
_PORTION: Final = 1 << 20


@dataclass(frozen=True)
class Lexicon:
    """The lexical rules of a format.

    Parameters
    ----------
    marks : characters that are tokens by themselves.
    comments : the beginnings and ends of comments.
    """

    marks: str
    comments: Mapping[str, str]

    @property
    def word(self) -> re.Pattern[str]:
        """The pattern of a word, up to a character that may begin a comment."""
        starts = "".join(start[0] for start in self.comments)
        return re.compile(rf'[^\s"{re.escape(self.marks + starts)}]*')


BIF: Final = Lexicon(",;(){}[]|", {"//": "\n", "/*": "*/"})
HUGIN: Final = Lexicon(";(){}=|,", {"%": "\n"})
DOT: Final = Lexicon(",;:{}[]=<>-", {"//": "\n", "/*": "*/", "#": "\n"})


class Scanner:
    """A position in a text that only moves forward.

    Parameters
    ----------
    text : the text.
    where : the name of the text in error messages.
    lexicon : the lexical rules.

    >>> scanner = Scanner('a "b c" /* no */ ;', "text", BIF)
    >>> scanner.word(), scanner.word(), scanner.accept(";"), scanner.at_end
    ('a', 'b c', True, True)
    """

    def __init__(self, text: str, where: str, lexicon: Lexicon) -> None:
        self.text, self.where, self.lexicon = text, where, lexicon
        self.position = 0
        self._word = lexicon.word
        self._starts = frozenset(start[0] for start in lexicon.comments)
        self._ends = frozenset(lexicon.marks + '"')
        self._counted, self._line = 0, 1

    @property
    def line(self) -> int:
        """The line of the next token; lines are counted on from the last call, so the text is read once."""
        self.skip()
        self._line += self.text.count("\n", self._counted, self.position)
        self._counted = self.position
        return self._line

    @property
    def at_end(self) -> bool:
        """Whether only white space and comments remain."""
        self.skip()
        return self.position == len(self.text)

    @property
    def next(self) -> str:
        """The next character, empty at the end of the text."""
        self.skip()
        return self.text[self.position : self.position + 1]

    def error(self, problem: str, line: int | None = None) -> DataError:
        """Return an error that reports the current line, or another one."""
        return DataError(f"{self.where}:{self.line if line is None else line}: {problem}")

    def expected(self, token: str) -> DataError:
        """Return an error that reports which token was expected and which text was found."""
        found = quoted(self.text[self.position : self.position + 20]) if not self.at_end else "the end"
        return self.error(f"expected {token}, found {found}" + ("; is the file complete?" if self.at_end else ""))

    def skip(self) -> None:
        """Skip white space and comments."""
        while True:
            blanks = _BLANKS.match(self.text, self.position)
            assert blanks is not None  # it matches the empty text
            self.position = blanks.end()
            opening = self._comment_opening()
            if opening is None:
                return
            closing = self.lexicon.comments[opening]
            end = self.text.find(closing, self.position + len(opening))
            if end < 0 and closing != "\n":
                start, self.position = self.position, len(self.text)
                raise DataError(f"{self.where}:{self.text.count(chr(10), 0, start) + 1}: the comment {opening} is never closed")
            self.position = len(self.text) if end < 0 else end + len(closing)

    def _comment_opening(self) -> str | None:
        """Return the characters that begin a comment at this position, None if no comment begins here."""
        if self.text[self.position : self.position + 1] not in self._starts:
            return None
        return next((start for start in self.lexicon.comments if self.text.startswith(start, self.position)), None)

    def accept(self, mark: str) -> bool:
        """Return whether this mark, or word without quotes, comes next, and skip it if so."""
        self.skip()
        if not self.text.startswith(mark, self.position):
            return False
        self.position += len(mark)
        return True

    def expect(self, mark: str) -> None:
        """Skip this mark; raise an error if something else comes next."""
        if not self.accept(mark):
            raise self.expected(repr(mark))

    def word(self, description: str = "a name") -> str:
        """Return the next word, without quotes; raise an error if a mark or the end of the text comes next.

        The description of the word is part of the error message.
        """
        if self.next == '"':
            return self._quoted()
        word = self.unquoted_word()
        if not word:
            raise self.expected(description)
        return word

    def unquoted_word(self) -> str:
        """Return the next unquoted word, empty if there is none."""
        self.skip()
        start = self.position
        while True:
            more = self._word.match(self.text, self.position)
            assert more is not None  # it matches the empty text
            self.position = more.end()
            char = self.text[self.position : self.position + 1]
            if not char or char in self._ends or char.isspace() or self._comment_opening() is not None:
                return self.text[start : self.position]
            self.position += 1  # this character begins no comment

    def _quoted(self) -> str:
        line = self.line
        pieces, start = [], self.position + 1
        while match := _QUOTE_OR_ESCAPE.search(self.text, start):
            pieces.append(self.text[start : match.start()])
            if match.group() == '"':
                self.position = match.end()
                return "".join(pieces)
            escaped = self.text[match.end() : match.end() + 1]
            pieces.append(escaped if escaped in '"\\' else f"\\{escaped}")
            start = match.end() + 1
        raise self.error("the quote is never closed", line)

    def text_until(self, end: str) -> str:
        """Return the text up to this mark outside quotes, and skip the mark."""
        self.skip()
        start = self.position
        quote_or_end = re.compile(rf'["{re.escape(end)}]')
        while match := quote_or_end.search(self.text, self.position):
            if match.group() == end:
                self.position = match.end()
                return self.text[start : match.start()].strip()
            self.position = match.start()
            self._quoted()
        raise self.expected(repr(end))

    def items(self, end: str, separator: str = ",") -> list[str]:
        """Return the items up to this mark: the texts between separators, or single words if there are no separators."""
        groups: list[list[str]] = [[]]
        separated = False
        while not self.accept(end):
            if self.accept(separator):
                separated = True
                groups.append([])
            else:
                groups[-1].append(self.word(f"a name or {end!r}"))
        if not separated:
            return groups[0]
        if not all(groups):
            raise self.error(f"a name is missing beside a {separator!r}")
        return [" ".join(group) for group in groups]

    def numbers(self, *, nested: bool = False) -> str:
        """Return the text of the numbers up to a semicolon, optionally with brackets, and skip the semicolon."""
        pattern, pieces = _NESTED if nested else _NUMERIC, []
        while True:
            more = pattern.match(self.text, self.position)
            assert more is not None  # it matches the empty text
            pieces.append(more.group())
            self.position = more.end()
            self.skip()
            if self.position == more.end():
                break
        self.expect(";")
        return " ".join(pieces)


def numbers_of(text: str) -> NDArray[np.float64] | None:
    """Return the numbers of a text, separated by white space, or None if it contains something else.

    >>> numbers_of("0.5 1e-3 .5"), numbers_of("1_0"), numbers_of("nan")
    (array([0.5  , 0.001, 0.5  ]), None, None)
    """
    if _NUMERIC.fullmatch(text) is None:
        return None
    try:
        return np.concatenate([np.empty(0), *(np.array(list(map(_number, words))) for words in _portions(text))])
    except ValueError:
        return None


def _portions(text: str) -> Iterator[list[str]]:
    """Yield the words of a text in portions, because as objects they take ten times the memory of the numbers."""
    start = 0
    while start < len(text):
        separator = _SEPARATOR.search(text, start + _PORTION)
        end = separator.end() if separator else len(text)
        yield text[start:end].replace(",", " ").split()
        start = end


def _number(word: str) -> float:
    if len(word) > _LONGEST_NUMBER:
        raise ValueError(word[:_LONGEST_NUMBER])
    return float(word)
