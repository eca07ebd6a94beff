"""The tests: a folder for each room of the package, and what they share."""

import os
from pathlib import Path
from typing import Any

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # of other libraries; there is a process of tests for every core
    os.environ.setdefault(threads, "1")

ROOT = Path(__file__).resolve().parents[1]
"""The folder of the repository."""

LONG = os.environ.get("NAIVETE_EXAMPLES") == "long"
"""Whether this is the long run (`python3 dev.py long`), with many random examples and large sizes."""

QUICK: dict[str, dict[str, int]] = {"Spectrum": {"members": 2, "trees": 2, "depth": 2}, "HiddenNaive": {"starts": 1}}
"""Parameters of classifiers in the ordinary run, where they are not the defaults."""


def estimator_of(entry: Any) -> Any:
    """Return the classifier of an entry of the registry with its default parameters.

    Except in the long run, Spectrum has few and shallow trees, and HiddenNaive starts once: the same code takes less time.
    """
    return entry.estimator(**{} if LONG else QUICK.get(entry.name, {}))
