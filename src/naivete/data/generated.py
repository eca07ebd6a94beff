"""Domains whose truth is known, generated: corral and the seven segments of a digit."""

from __future__ import annotations

from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from naivete.data.table import Column, Table
from naivete.errors import ParameterError, quoted

__all__ = ["corral", "led7"]

_SEGMENTS: Final = ("1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "1101111", "1010010", "1111111", "1111011")
"""Which of the seven segments are lit for each digit: top, upper left, upper right, middle, lower left, lower right, bottom."""


def corral(*, random_state: int | None = None) -> Table:
    """The 128 cases of corral; the class, last, is (A0 and A1) or (B0 and B1).

    Every setting of A0, A1, B0, B1 and Irrelevant occurs four times: three times with Correlated equal to the class, once
    unequal. A classifier that trusts Correlated is right three times in four; one that knows its pairs is always right.

    Parameters
    ----------
    random_state : the seed of the order of the rows; by default they are in the order of their bits.

    >>> len(corral()), corral().names[-2:]
    (128, ('Correlated', 'class'))

    References
    ----------
    John, Kohavi and Pfleger (1994), Irrelevant features and the subset selection problem.
    """
    bits = np.array(list(product((0, 1), repeat=5)), np.int8).repeat(4, axis=0)
    truth = (bits[:, 0] & bits[:, 1]) | (bits[:, 2] & bits[:, 3])
    last_of_four = np.arange(len(bits)) % 4 == 3
    columns = np.column_stack([bits, truth ^ last_of_four, truth])
    if random_state is not None:
        columns = np.random.default_rng(random_state).permutation(columns)
    return _table("corral", ("A0", "A1", "B0", "B1", "Irrelevant", "Correlated", "class"), columns)


def led7(rows: int = 3200, *, noise: float = 0.1, random_state: int = 0) -> Table:
    """Digits on a display of seven segments, each of which is inverted with probability `noise`; the digit is last.

    With a noise of 0.1 the best possible accuracy is about 74 %, and naive Bayes, whose assumption holds here, comes close.

    Parameters
    ----------
    rows : how many digits.
    noise : the probability that a segment shows the opposite.
    random_state : the seed.

    >>> led7(5, noise=0.0).names
    ('top', 'upper left', 'upper right', 'middle', 'lower left', 'lower right', 'bottom', 'digit')

    References
    ----------
    Breiman, Friedman, Olshen and Stone (1984), Classification and regression trees, section 2.6.1.
    """
    if rows < 0:
        raise ParameterError(f"rows={quoted(rows)}: a whole number, at least 0")
    if not 0 <= noise <= 1:
        raise ParameterError(f"noise={quoted(noise)}: a probability between 0 and 1")
    draw = np.random.default_rng(random_state)
    digits = draw.integers(0, 10, rows).astype(np.int8)
    lit = np.array([list(map(int, segments)) for segments in _SEGMENTS], np.int8)[digits]
    names = ("top", "upper left", "upper right", "middle", "lower left", "lower right", "bottom", "digit")
    return _table("led7", names, np.column_stack([lit ^ (draw.random(lit.shape) < noise), digits]))


def _table(source: str, names: tuple[str, ...], codes: NDArray[Any]) -> Table:
    """The codes as nominal columns of declared digits; the last may have ten."""
    states = [("0", "1")] * (len(names) - 1) + [tuple(map(str, range(10 if source == "led7" else 2)))]
    columns = (Column(n, codes[:, j], states[j], "nominal", declared=True) for j, n in enumerate(names))
    return Table(tuple(columns), source=source, rows=len(codes))
