"""The tests: a folder for each room of the package, and what they share."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The folder of the repository."""

LONG = os.environ.get("NAIVETE_EXAMPLES") == "long"
"""Whether this is the long run (`python3 dev.py long`), with many random examples and large sizes."""
