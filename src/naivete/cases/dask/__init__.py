"""Rows on a Dask cluster: workers count each part of the rows where it is, merge in a tree, and only tables travel.

A pass is one graph: a task for each part of the rows, and above them tasks that merge the values of eight. Each task is a pure
function of its part, so that a task that runs twice, or again on another machine, changes nothing. An error in the data is
returned as a value, because Dask would treat an exception as a failure of the machine.
"""

from naivete.cases.dask.clusters import ClusterError, connected
from naivete.cases.dask.rows import DEADLINE, WORKERS_DEADLINE, DaskRows
from naivete.cases.dask.tasks import FrameSource, shared

__all__ = ["DEADLINE", "WORKERS_DEADLINE", "ClusterError", "DaskRows", "FrameSource", "connected", "shared"]
