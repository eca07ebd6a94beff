from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests import ROOT


def data(name: str) -> Path:
    """Return the file of a published data set, in studies/data or in the folder NAIVETE_DATA; skip the test without it."""
    folders = [ROOT / "studies" / "data", Path(os.environ.get("NAIVETE_DATA") or ROOT.parent / "shared" / "data")]
    file = next((folder / f"{name}.arff.gz" for folder in folders if (folder / f"{name}.arff.gz").exists()), None)
    if file is None:
        pytest.skip(f"{name}.arff.gz is neither in studies/data nor in the folder that NAIVETE_DATA names")
    return file
