"""Conversion of networks to and from networkx, pgmpy and pyAgrum, each imported only when it is used.

Names and states are converted to texts. Types, cut points and the class, which the other libraries cannot store, are added as the
note of `network.formats.notes`, so that a network is converted back unchanged; a network without notes is used as it is.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from naivete.errors import DataError, FileError, quoted
from naivete.network.formats.assembly import Declaration, Definition, Draft, flat, network_of
from naivete.network.formats.identifiers import plain
from naivete.network.formats.nodes import Node, nodes_of
from naivete.network.formats.notes import KEY, Note, note_text
from naivete.network.network import Network
from naivete.variables import Name, Variable

__all__ = ["from_networkx", "from_pgmpy", "from_pyagrum", "to_networkx", "to_pgmpy", "to_pyagrum"]

_NOTE_PREFIX: Final = f"{KEY}: "


def to_networkx(network: Network) -> Any:
    """Return the network as a `networkx.DiGraph`: each node has its `states`, its `parents` in their order and its `table`.

    The table is P(node | parents) with an axis for each parent and the node itself last.

    Parameters
    ----------
    network : Network
        The network; its sparse tables are written in full if they fit.

    Returns
    -------
    networkx.DiGraph
        The graph.

    Examples
    --------
    >>> from naivete.network.conversions import to_networkx
    >>> from naivete.network.formats import loads
    >>> list(to_networkx(loads("[rain][wet|rain]", "string")).edges)
    [('rain', 'wet')]
    """
    graph = _library("networkx").DiGraph()
    nodes = list(nodes_of(network, spelling=plain))
    for node in nodes:
        graph.add_node(
            node.name, states=list(node.states), parents=list(node.parents), table=node.table.copy(), **_note_attribute(node)
        )
    graph.add_edges_from((parent, node.name) for node in nodes for parent in node.parents)
    return graph


def from_networkx(graph: Any, *, target: Name = None, tolerance: float = 1e-6) -> Network:
    """Return the network of a `networkx.DiGraph`, as `to_networkx` makes it, or of a graph without states and tables.

    Parameters
    ----------
    graph : networkx.DiGraph
        The graph; the parents of a node are in the order of `parents`, else in that of its edges.
    target : str or None, default=None
        The name of the variable that becomes the class, as for `read_network`.
    tolerance : float, default=1e-6
        The largest allowed distance from 1 of the sum of a distribution, as for `read_network`.

    Returns
    -------
    Network
        The network.
    """
    without_tables = not any("table" in attributes for _, attributes in graph.nodes(data=True))
    draft = Draft("networkx")
    for place, (name, attributes) in enumerate(graph.nodes(data=True), start=1):
        parents = [str(p) for p in attributes.get("parents", graph.predecessors(name))]
        if set(parents) != set(map(str, graph.predecessors(name))):
            raise DataError(f"networkx: the parents of {quoted(name)} are not those of its edges")
        states = Variable(None).labels if without_tables else attributes.get("states", ())
        _add(
            draft,
            place,
            str(name),
            states,
            parents,
            None if without_tables else attributes.get("table"),
            attributes.get(KEY, _note_without_states(name) if without_tables else ""),
        )
    return network_of(draft, target, tolerance)


def to_pgmpy(network: Network) -> Any:
    """Return the network as a discrete Bayesian network of pgmpy, names and states as texts.

    Parameters
    ----------
    network : Network
        The network; its sparse tables are written in full if they fit.

    Returns
    -------
    pgmpy.models.DiscreteBayesianNetwork
        The model.
    """
    models, cpds = _library("pgmpy.models"), _library("pgmpy.factors.discrete")
    make = getattr(models, "DiscreteBayesianNetwork", None) or models.BayesianNetwork
    model = make()
    nodes = {node.name: node for node in nodes_of(network, spelling=plain)}
    for node in nodes.values():
        model.add_node(node.name)
        model.nodes[node.name].update(_note_attribute(node))
    model.add_edges_from((parent, node.name) for node in nodes.values() for parent in node.parents)
    for node in nodes.values():
        model.add_cpds(
            cpds.TabularCPD(
                node.name,
                len(node.states),
                node.table.reshape(-1, len(node.states)).T,
                evidence=list(node.parents),
                evidence_card=[len(nodes[p].states) for p in node.parents],
                state_names={name: list(nodes[name].states) for name in (node.name, *node.parents)},
            )
        )
    return model


def from_pgmpy(model: Any, *, target: Name = None, tolerance: float = 1e-6) -> Network:
    """Return the network of a discrete Bayesian network of pgmpy.

    Parameters
    ----------
    model : pgmpy.models.DiscreteBayesianNetwork
        The model; every node needs its table.
    target : str or None, default=None
        The name of the variable that becomes the class, as for `read_network`.
    tolerance : float, default=1e-6
        The largest allowed distance from 1 of the sum of a distribution, as for `read_network`.

    Returns
    -------
    Network
        The network.
    """
    draft = Draft("pgmpy")
    for place, name in enumerate(model.nodes(), start=1):
        cpd = model.get_cpds(name)
        if cpd is None:
            raise DataError(f"pgmpy: the node {quoted(name)} has no table; add one with add_cpds")
        states = (cpd.state_names or {}).get(name) or range(cpd.cardinality[0])
        table = np.moveaxis(np.asarray(cpd.values, np.float64), 0, -1)  # (parents, variable)
        _add(draft, place, str(name), states, map(str, cpd.variables[1:]), table, model.nodes[name].get(KEY, ""))
    return network_of(draft, target, tolerance)


def to_pyagrum(network: Network) -> Any:
    """Return the network as a `pyagrum.BayesNet`, names and states as texts; the notes are in the descriptions of the variables.

    Parameters
    ----------
    network : Network
        The network; its sparse tables are written in full if they fit, and each variable needs two states.

    Returns
    -------
    pyagrum.BayesNet
        The model.
    """
    library = _library("pyagrum")
    model = library.BayesNet("naivete")
    nodes = list(nodes_of(network, spelling=plain))
    for node in nodes:
        if len(node.states) < 2:
            raise DataError(f"pyagrum: the variable {quoted(node.name)} has a single state, which pyAgrum does not accept")
        model.add(library.LabelizedVariable(node.name, _NOTE_PREFIX + node.note if node.note else "", list(node.states)))
    for node in nodes:
        for parent in node.parents:
            model.addArc(parent, node.name)
    for node in nodes:
        members = [*node.parents, node.name]
        axes = [members.index(name) for name in reversed(model.cpt(node.name).names)]
        model.cpt(node.name)[:] = np.ascontiguousarray(node.table.transpose(axes))
    return model


def from_pyagrum(model: Any, *, target: Name = None, tolerance: float = 1e-6) -> Network:
    """Return the network of a `pyagrum.BayesNet`.

    Parameters
    ----------
    model : pyagrum.BayesNet
        The model.
    target : str or None, default=None
        The name of the variable that becomes the class, as for `read_network`.
    tolerance : float, default=1e-6
        The largest allowed distance from 1 of the sum of a distribution, as for `read_network`.

    Returns
    -------
    Network
        The network.
    """
    draft = Draft("pyagrum")
    for place, node in enumerate(sorted(model.nodes()), start=1):
        variable, cpt = model.variable(node), model.cpt(node)
        parents = list(cpt.names[1:])
        table = cpt.toarray().transpose([*reversed(range(len(parents))), len(parents)])  # (parents, variable)
        note = variable.description()
        _add(
            draft,
            place,
            variable.name(),
            variable.labels(),
            parents,
            table,
            note.removeprefix(_NOTE_PREFIX) if note.startswith(_NOTE_PREFIX) else "",
        )
    return network_of(draft, target, tolerance)


def _add(draft: Draft, place: int, name: str, states: Iterable[Any], parents: Iterable[str], table: Any, note: str) -> None:
    """Add a node to a draft; its line is its position."""
    values: NDArray[np.float64] | None = None if table is None else np.asarray(table, np.float64)
    draft.declare(Declaration(name, tuple(map(str, states)), place, note))

    def error(problem: str) -> DataError:
        return draft.error(place, f"{quoted(name)}: {problem}")

    def fill(shape: tuple[int, ...], parent_states: Sequence[Sequence[str]]) -> NDArray[np.float64]:
        if values is None:
            return np.ones(shape)
        if values.shape != shape:
            raise error(f"a table of shape {values.shape} where its parents and states make {shape}")
        return flat(values.ravel(), error)(shape, parent_states)

    draft.define(Definition(name, tuple(parents), place, fill))


def _note_without_states(name: Any) -> str:
    """Return the note of a node without states."""
    return note_text(Note(Variable(str(name))))


def _note_attribute(node: Node) -> dict[str, str]:
    return {KEY: node.note} if node.note else {}


def _library(name: str) -> Any:
    """Return a module of another library; warnings of the import are ignored."""
    package = name.partition(".")[0]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return import_module(name)
    except ImportError as error:
        raise FileError(f"conversions need {package}; install it with: pip install {package}") from error
