"""The tests: a folder for each room of the package, and what they share."""

import os
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
"""The folder of the repository."""

LONG = os.environ.get("NAIVETE_EXAMPLES") == "long"
"""Whether this is the long run (`python3 dev.py long`), with many random examples and large sizes."""


def estimator_of(entry: Any) -> Any:
    """Return the classifier of an entry of the registry with its default parameters.

    Except in the long run, Spectrum has few members and trees: the same code takes a tenth of the time.
    """
    few = {"members": 2, "trees": 4} if entry.name == "Spectrum" and not LONG else {}
    return entry.estimator(**few)
