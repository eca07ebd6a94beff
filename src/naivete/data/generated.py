"""Generated data sets whose true distribution is known: corral and led7."""

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
    """Return the 128 cases of corral; the class, in the last column, is (A0 and A1) or (B0 and B1).

    Every combination of A0, A1, B0, B1 and Irrelevant occurs four times: three times with Correlated equal to the class, once
    unequal. A classifier that uses Correlated alone has an accuracy of 75 %; the true function has 100 %.

    Parameters
    ----------
    random_state : int or None, default=None
        The seed of the order of the rows; by default the rows are in increasing order of their values.

    Returns
    -------
    Table
        The cases.

    References
    ----------
    John, Kohavi and Pfleger (1994), Irrelevant features and the subset selection problem.

    Examples
    --------
    >>> from naivete.data.generated import corral
    >>> len(corral()), corral().names[-2:]
    (128, ('Correlated', 'class'))
    """
    bits = np.array(list(product((0, 1), repeat=5)), np.int8).repeat(4, axis=0)
    truth = (bits[:, 0] & bits[:, 1]) | (bits[:, 2] & bits[:, 3])
    last_of_four = np.arange(len(bits)) % 4 == 3
    columns = np.column_stack([bits, truth ^ last_of_four, truth])
    if random_state is not None:
        columns = np.random.default_rng(random_state).permutation(columns)
    return _table("corral", ("A0", "A1", "B0", "B1", "Irrelevant", "Correlated", "class"), columns)


def led7(rows: int = 3200, *, noise: float = 0.1, random_state: int = 0) -> Table:
    """Return digits on a seven-segment display, each segment inverted with probability `noise`; the digit is the last column.

    With a noise of 0.1 the best possible accuracy is about 74 %; naive Bayes, whose assumption holds here, comes close to it.

    Parameters
    ----------
    rows : int, default=3200
        The number of digits.
    noise : float, default=0.1
        The probability that a segment is inverted.
    random_state : int, default=0
        The seed.

    Returns
    -------
    Table
        The digits and their segments.

    References
    ----------
    Breiman, Friedman, Olshen and Stone (1984), Classification and regression trees, section 2.6.1.

    Examples
    --------
    >>> from naivete.data.generated import led7
    >>> led7(5, noise=0.0).names
    ('top', 'upper left', 'upper right', 'middle', 'lower left', 'lower right', 'bottom', 'digit')
    """
    if rows < 0:
        raise ParameterError(f"rows={quoted(rows)} has to be a whole number, at least 0")
    if not 0 <= noise <= 1:
        raise ParameterError(f"noise={quoted(noise)} has to be a probability between 0 and 1")
    rng = np.random.default_rng(random_state)
    digits = rng.integers(0, 10, rows).astype(np.int8)
    lit = np.array([list(map(int, segments)) for segments in _SEGMENTS], np.int8)[digits]
    names = ("top", "upper left", "upper right", "middle", "lower left", "lower right", "bottom", "digit")
    return _table("led7", names, np.column_stack([lit ^ (rng.random(lit.shape) < noise), digits]))


def _table(source: str, names: tuple[str, ...], codes: NDArray[Any]) -> Table:
    """Return the codes as nominal columns with digits as declared states: ten for the class of led7, else two."""
    states = [("0", "1")] * (len(names) - 1) + [tuple(map(str, range(10 if source == "led7" else 2)))]
    columns = (Column(n, codes[:, j], states[j], "nominal", declared=True) for j, n in enumerate(names))
    return Table(tuple(columns), source=source, rows=len(codes))
