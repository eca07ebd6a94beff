from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests import ROOT


def data(name: str) -> Path:
    """A published data set; the test is skipped where it is absent."""
    folder = Path(os.environ.get("NAIVETE_DATA") or ROOT.parent / "shared" / "data")
    file = folder / f"{name}.arff.gz"
    if not file.exists():
        pytest.skip(f"the published data are not here: {file} (NAIVETE_DATA names the folder)")
    return file
