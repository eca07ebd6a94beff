"""The nodes of a network for writing: valid names, and tables with the parents in their order and the variable itself last."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from naivete.errors import ResourceError
from naivete.network.formats.identifiers import Spelling, legal, spelled
from naivete.network.formats.notes import Note, note_text
from naivete.network.network import Network, check_tabular
from naivete.variables import CLASS, Variable

__all__ = ["CELLS", "Node", "Shape", "check_cells", "nodes_of", "rows_of", "shapes_of"]

CELLS: Final = 1 << 24
"""The largest total number of cells of the tables of a network that is read or written."""


@dataclass(frozen=True)
class Shape:
    """A variable of a network without its table.

    Parameters
    ----------
    name : the written name of the variable.
    states : the written names of its states.
    parents : the written names of its parents, in their order.
    note : the note with what the format cannot express, empty if there is nothing.
    """

    name: str
    states: tuple[str, ...]
    parents: tuple[str, ...]
    note: str


@dataclass(frozen=True, eq=False)
class Node(Shape):
    """A variable of a network with its table.

    Parameters
    ----------
    table : P(variable | parents).  # (parents in their order, variable)
    """

    table: NDArray[np.float64]


def shapes_of(network: Network, *, spelling: Spelling = legal, ordered: bool = False) -> list[tuple[int, Shape]]:
    """Return the variables as they are written, each with its position: the class last, or every parent before its children.

    Parameters
    ----------
    network : the network.
    spelling : the function that turns names and states into written names.
    ordered : whether parents come before their children; the notes then contain the positions.
    """
    places = (*network.features, CLASS)
    names = dict(zip(places, spelled((str(network.name(v)) for v in places), "v", spelling), strict=True))
    shapes = []
    order = network.order if ordered else places
    for v in order:
        variable = network.variables[v]
        states = tuple(spelled(variable.labels, "s", spelling))
        note = Note(
            None if variable == Variable(names[v], states) and _texts(variable) else variable,
            target=v == CLASS,
            place=v % len(places) if order != places else None,
        )
        shapes.append((v, Shape(names[v], states, tuple(names[p] for p in network.parents[v]), note_text(note))))
    return shapes


def _texts(variable: Variable) -> bool:
    return all(type(text) is str for text in (variable.name, *variable.states))


def nodes_of(network: Network, *, spelling: Spelling = legal, ordered: bool = False) -> Iterator[Node]:
    """Yield the variables as they are written, with their tables; raise an error if the tables are too large to be read back.

    >>> coin = Network((Variable("side", ("heads", "2")),), {-1: ()}, {-1: np.array([0.5, 0.5])})
    >>> next(nodes_of(coin))
    Node(name='side', states=('heads', 's_2'), parents=(), note='target name:s:side states:s:heads,s:2', table=array([0.5, 0.5]))
    """
    check_tabular(network, "writing it for other programs")
    check_cells((math.prod(network.variables[m].card for m in network.family(v)) for v in network.parents), "network")
    for v, shape in shapes_of(network, spelling=spelling, ordered=ordered):
        members = network.family(v)
        axes = [members.index(m) for m in (*network.parents[v], v)]
        table = np.ascontiguousarray(network.full_table(v).transpose(axes))
        yield Node(shape.name, shape.states, shape.parents, shape.note, table)


def check_cells(sizes: Iterator[int], where: str) -> None:
    """Raise an error if tables have too many cells, before any of them is allocated."""
    total = 0
    for size in sizes:
        total += size
        if total > CELLS:
            problem = f"{size:,} cells in one table" if size > CELLS else f"more than {total:,} cells in its tables"
            raise ResourceError(
                f"{where}: {problem} where files of this format hold at most {CELLS:,}; "
                "use fewer parents or states, or save a model file (.nvt)"
            )


def rows_of(node: Node) -> Iterator[tuple[tuple[int, ...], list[str]]]:
    """Yield the codes of the parents and the numbers of each distribution, the last parent changing fastest.

    >>> table = np.array([[0.25, 0.75], [1.0, 0.0]])
    >>> list(rows_of(Node("x", ("a", "b"), ("y",), "", table)))
    [((0,), ['0.25', '0.75']), ((1,), ['1.0', '0.0'])]
    """
    for codes in np.ndindex(*node.table.shape[:-1]):
        yield codes, list(map(repr, node.table[codes].tolist()))
