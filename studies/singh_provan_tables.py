"""What Singh and Provan (1995) print: data sets (table 1), accuracies (tables 2, 3, 10 and 11), differences (tables 4 to 9)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from naivete.data.labelled_table import LabelledTable
from studies.data_sets import Size, data_set

__all__ = ["ACCURACIES", "C45", "DIFFERENCES", "INFO_AS", "METHODS", "SETS", "TRIALS", "Difference", "Set", "tables"]

METHODS: Final = ("naive-ALL", "naive-AS", "K2-AS", "K2-AS<=", "CB", "CIG-AS", "CGR-AS", "CDC-AS")
INFO_AS: Final = METHODS[5:]
TRIALS: Final = 30


class Set(NamedTuple):
    """A data set of the paper: its file and size, and how many cases of it are for training; the others test."""

    file: str
    size: Size
    train: int

    @property
    def test(self) -> int:
        """How many cases test."""
        return self.size.rows - self.train

    def cases(self, folder: Path | None) -> LabelledTable:
        """The cases, from a folder of data sets or from OpenML."""
        return data_set(self.file, self.size, folder=folder)


SETS: Final[Mapping[str, Set]] = {
    "Chess": Set("kr-vs-kp", Size(3196, 36, 2), 1000),
    "Voting": Set("vote", Size(435, 16, 2), 200),
    "Voting1": Set("vote1", Size(435, 15, 2), 200),
    "Soybean": Set("soybean15", Size(630, 35, 15), 430),
    "Splice": Set("splice3175", Size(3175, 60, 3), 2000),
    "Mushroom": Set("mushroom", Size(8124, 22, 2), 500),
}

_TABLES_2_3: Final = """
    86.71 1.65  89.69 1.48  87.08 1.70  88.67 2.05  95.41 0.69  92.87 0.51
    93.19 1.42  93.47 2.15  88.34 1.80  87.43 3.57  94.56 0.63  98.30 0.36
    94.09 0.34  95.32 1.12  87.45 2.62  88.15 3.16  94.94 0.60  98.51 0.23
    95.47 1.18  95.18 0.82  89.43 2.08  90.50 3.11  -     -     99.27 0.49
    94.66 1.07  94.95 0.85  90.45 1.67  89.57 2.58  96.35 0.52  99.64 0.31
    96.13 1.00  94.91 0.96  90.27 1.85  84.00 4.39  94.58 0.63  99.33 0.39
    96.08 0.89  95.53 1.14  90.41 1.52  90.85 2.02  95.03 0.54  99.16 0.53
    96.26 0.84  95.55 1.05  90.37 1.48  89.15 2.58  95.02 0.56  99.20 0.55
"""  # the methods as rows, the data sets as columns
_TABLES_10_11: Final = """
    98.37 0.62  92.21 5.04  86.87 2.64  93.10 1.79  94.00 0.94  99.51 0.36
    96.33 0.90  94.87 0.82  89.94 2.08  84.50 3.90  94.64 0.56  99.43 0.27
    96.23 0.87  95.38 1.22  90.30 1.53  90.60 2.02  95.10 0.34  99.15 0.52
    96.42 0.83  95.36 1.08  90.11 1.44  89.20 2.81  95.08 0.39  99.22 0.55
"""
_MARKS_10_11: Final = {"CIG-AS": "-++-+ ", "CGR-AS": "-++-+-", "CDC-AS": "-++-+-"}

Pairs = dict[str, dict[str, tuple[float, float]]]


def _pairs(text: str, methods: tuple[str, ...]) -> Pairs:
    """Mean and deviation by data set and method."""
    rows = [line.split() for line in text.strip().splitlines()]
    return {
        name: {
            method: (float(row[2 * i]), float(row[2 * i + 1]))
            for method, row in zip(methods, rows, strict=True)
            if row[2 * i] != "-"
        }
        for i, name in enumerate(SETS)
    }


ACCURACIES: Final[Pairs] = _pairs(_TABLES_2_3, METHODS)
"""Tables 2 and 3: mean and deviation in per cent over 30 trials, by data set and method; K2-AS<= on Splice was not printed."""

C45: Final[Pairs] = _pairs(_TABLES_10_11, ("C4.5", *INFO_AS))
"""Tables 10 and 11, over 20 trials: C4.5, and Info-AS once more."""

C45_MARKS: Final = {name: {method: marks[i].strip() for method, marks in _MARKS_10_11.items()} for i, name in enumerate(SETS)}
"""Tables 10 and 11: "+" where Info-AS is said to be significantly better than C4.5, "-" where it is worse."""


class Difference(NamedTuple):
    """The accuracy of a method less that of Info-AS, its paired t, and how it is marked: "-" where Info-AS is better."""

    mean: float
    t: float
    mark: str


_TABLES_4_6: Final = {
    "CIG-AS": """
        -9.42 -30.34 -   -2.94 -9.98 -
        -5.22 -21.14 -   -1.43 -3.65 -
        -3.19  -8.91 -   -1.93 -5.47 -
         4.67   5.03 +    3.43  3.95 +
         0.84   5.36 +    0.02  0.12 .
        -6.46 -49.05 -   -1.03 -9.50 -
    """,
    "CGR-AS": """
        -9.37 -26.53 -   -2.89 -9.73 -
        -5.84 -24.26 -   -2.06 -5.45 -
        -3.33  -9.59 -   -2.07 -7.83 -
        -2.18  -5.47 -   -3.42 -4.78 -
         0.39   2.43 +   -0.47 -3.48 -
        -6.29 -41.17 -   -0.86 -7.76 -
    """,
    "CDC-AS": """
        -9.56 -28.15 -   -3.07 -10.05 -
        -5.86 -23.74 -   -2.07  -6.18 -
        -3.29  -9.69 -   -2.03  -6.37 -
        -0.48  -0.98 .   -1.72  -2.31 -
         0.41   2.49 +   -0.46  -3.43 -
        -6.34 -41.11 -   -0.91  -7.93 -
    """,
}
_TABLES_7_9: Final = {
    "CIG-AS": """
        -2.04 -11.44 -   -0.66 -2.34 -   -1.47 -4.78 -
         0.41   1.70 .    0.27  1.41 .    0.04  0.19 .
        -2.82  -6.40 -   -0.84 -2.24 -    0.19  0.55 .
         4.15   4.14 +    6.50  9.68 +    5.57  6.00 +
         0.36   2.21 +    ?     ?    ?    1.77 12.83 +
        -0.82 -11.98 -   -0.06 -0.56 .    0.31  4.82 +
    """,
    "CGR-AS": """
        -1.99 -13.63 -   -0.61 -2.62 -   -1.41 -4.22 -
        -0.21  -1.06 -   -0.36 -1.94 .   -0.58 -3.70 -
        -2.96  -6.82 -   -0.98 -2.39 -    0.04  0.16 .
        -2.70  -4.18 -   -0.35 -0.59 .   -1.28 -2.53 -
        -0.09  -0.71 .    ?     ?    ?    1.32 10.22 +
        -0.65  -7.50 -    0.11  0.90 .    0.48  5.22 +
    """,
    "CDC-AS": """
        -2.17 -14.43 -   -0.79 -3.22 -   -1.60 -5.62 -
        -0.23  -1.21 .   -0.37 -2.48 -   -0.60 -3.70 -
        -2.92  -6.43 -   -0.94 -2.18 -    0.09  0.27 .
        -1.00  -1.91 .    1.35  2.22 +    0.42  1.01 .
        -0.08  -0.62 .    ?     ?    ?    1.33 10.28 +
        -0.69  -7.64 -    0.07  0.55 .    0.43  4.81 +
    """,
}


def _differences(text: str, methods: tuple[str, ...]) -> dict[tuple[str, str], Difference]:
    """The differences by data set and method; what is not printed is left out."""
    found = {}
    for name, line in zip(SETS, text.strip().splitlines(), strict=True):
        words = line.split()
        for i, method in enumerate(methods):
            mean, t, mark = words[3 * i : 3 * i + 3]
            if mark != "?":
                found[name, method] = Difference(float(mean), float(t), mark.replace(".", ""))
    return found


DIFFERENCES: Final[Mapping[str, Mapping[tuple[str, str], Difference]]] = {
    metric: _differences(_TABLES_4_6[metric], METHODS[:2]) | _differences(_TABLES_7_9[metric], METHODS[2:5]) for metric in INFO_AS
}
"""Tables 4 to 9: by metric, then by data set and the method that is compared with it."""


def tables() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The titles of tables 4 to 9, the metric of each, and the methods it is compared with."""
    for first, methods in ((4, METHODS[:2]), (7, METHODS[2:5])):
        for i, metric in enumerate(INFO_AS):
            yield f"Table {first + i}: {', '.join(methods)} less {metric}", metric, methods
