"""Learners: functions from counts to networks, one file each."""

from naivete.learners.baseline import lookup, majority
from naivete.learners.cb import cb
from naivete.learners.full import full
from naivete.learners.hidden import hidden_naive
from naivete.learners.hill_climb import hill_climb
from naivete.learners.info_as import info_as
from naivete.learners.joining import bsej, fssj
from naivete.learners.k2 import k2
from naivete.learners.kdb import kdb
from naivete.learners.knaive import knaive
from naivete.learners.naive import naive
from naivete.learners.pc import pc
from naivete.learners.recursive import recursive
from naivete.learners.selection import k2_as, naive_as
from naivete.learners.tan import tan
from naivete.learners.tree import c45, id3

__all__ = [
    "bsej",
    "c45",
    "cb",
    "fssj",
    "full",
    "hidden_naive",
    "hill_climb",
    "id3",
    "info_as",
    "k2",
    "k2_as",
    "kdb",
    "knaive",
    "lookup",
    "majority",
    "naive",
    "naive_as",
    "pc",
    "recursive",
    "tan",
]
