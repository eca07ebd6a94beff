"""Learners: functions from counts to networks, one file each."""

from naivete.learners.baseline import lookup, majority
from naivete.learners.kdb import kdb
from naivete.learners.naive import naive
from naivete.learners.tan import tan

__all__ = ["kdb", "lookup", "majority", "naive", "tan"]
