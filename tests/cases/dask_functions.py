"""What workers do with parts of the rows in `test_dask`: in a module that they import quickly."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd

from naivete.data.labelled_table import LabelledTable
from naivete.errors import DataError, NaiveteWarning, warn

STARTED = threading.Event()
"""Set when a part that is `stuck` runs."""
RELEASED = threading.Event()
"""Set when the parts that are `stuck` may end."""


def same(part: pd.DataFrame) -> pd.DataFrame:
    return part


def deadly(part: LabelledTable) -> int:
    os._exit(9)


def slowly(part: LabelledTable) -> int:
    time.sleep(0.05)
    return len(part)


def stuck(part: LabelledTable) -> int:
    """Set `STARTED`, and return the number of rows when `RELEASED` is set, in this process."""
    STARTED.set()
    RELEASED.wait(300)
    return len(part)


def noted(part: LabelledTable, log: Path) -> int:
    """Count, and leave a line for every call."""
    with log.open("a") as file:
        file.write(f"{part.features.source}\n")
    values = part.features["number"].values
    if np.isnan(values).any():
        row = int(np.argmax(np.isnan(values)))
        raise DataError(f"{part.features.place(row)}: column 'number': no value; fill it in")
    return len(part)


def raising(part: LabelledTable, error: Exception) -> int:
    raise error


def warning(part: LabelledTable) -> int:
    warn("the sea is rough", NaiveteWarning)
    return len(part)


def whole_numbers(part: LabelledTable) -> list[int]:
    return part.features["whole"].values.tolist()  # type: ignore[no-any-return]
