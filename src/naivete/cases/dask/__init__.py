"""Rows on a cluster: Dask's workers count every part where it is, merge in a tree, and only tables travel.

A pass is one graph: a task for each part of the rows, and above them tasks that merge the values of eight. Each task is a pure
function of its part, so that one that runs twice, or again on another machine, changes nothing. What is wrong with the data comes
back as a value, because Dask would take an exception for a fault of the machine. The workers tell how far they are, so that the
waiting here ends when nothing moves any more.
"""

from naivete.cases.dask.clusters import connected
from naivete.cases.dask.graphs import FrameSource, shared
from naivete.cases.dask.outcomes import ClusterError, Failure
from naivete.cases.dask.rows import DEADLINE, DaskRows

__all__ = ["DEADLINE", "ClusterError", "DaskRows", "Failure", "FrameSource", "connected", "shared"]
