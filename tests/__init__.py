"""The tests: a folder for each room of the package, and what they share."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The folder of the repository."""
