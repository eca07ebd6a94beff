from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given, settings

from naivete.errors import DataError, FileError
from naivete.network.conversions import from_networkx, from_pgmpy, from_pyagrum, to_networkx, to_pgmpy, to_pyagrum
from naivete.network.formats import loads
from naivete.network.network import Network
from naivete.variables import CLASS, Variable
from tests.network import formats as shared


@given(shared.some_networks)
def test_networkx_and_back(network: Network) -> None:
    assert shared.same(from_networkx(to_networkx(network)), network)


def test_networkx_with_awkward_names_and_sparse_tables() -> None:
    assert shared.same(from_networkx(to_networkx(shared.awkward())), shared.awkward())
    assert shared.same(from_networkx(to_networkx(shared.sparse_network())), shared.dense(shared.sparse_network()))


def test_what_networkx_gets() -> None:
    graph = to_networkx(shared.plain_network())
    assert list(graph.edges) == [("A", "B"), ("A", "C"), ("B", "C"), ("B", "D"), ("D", "C")]
    assert graph.nodes["C"]["parents"] == ["B", "A", "D"]
    assert graph.nodes["C"]["states"] == ["k", "l", "m", "n"]
    assert graph.nodes["C"]["table"].shape == (3, 2, 2, 4)
    assert nx.is_directed_acyclic_graph(graph)


def test_a_graph_with_arcs_only() -> None:
    graph = nx.DiGraph([("b", "c"), ("a", "c"), ("c", 1)])
    network = from_networkx(graph, target="c")
    assert [variable.name for variable in network.variables] == ["b", "a", "1", "c"]
    assert network.parents == {0: (), 1: (), 2: (CLASS,), CLASS: (0, 1)}
    assert network.variables[0] == Variable("b")
    assert shared.same(network, loads("[b][a][1|c][c|b:a]", "string"))


def test_what_is_wrong_with_a_graph() -> None:
    graph = to_networkx(shared.plain_network())
    graph.nodes["C"]["parents"] = ["B", "A"]
    with pytest.raises(DataError, match="the parents of 'C' are not those of its edges"):
        from_networkx(graph)
    graph = to_networkx(shared.plain_network())
    graph.nodes["B"]["table"] = graph.nodes["B"]["table"].T
    with pytest.raises(DataError, match=r"networkx:2: 'B': a table of shape \(3, 2\)"):
        from_networkx(graph)
    with pytest.raises(DataError, match="cycle"):
        from_networkx(nx.DiGraph([("a", "b"), ("b", "a")]))


def two_states(network: Network) -> bool:
    return all(variable.card > 1 for variable in network.variables)


@given(shared.some_networks.filter(two_states))
@settings(deadline=None)
@example(Network((Variable("a\0b", ("\0", "x")),), {CLASS: ()}, {CLASS: np.array([0.5, 0.5])}))
def test_pyagrum_and_back(network: Network) -> None:
    assert shared.same(from_pyagrum(to_pyagrum(network)), network)


def test_pyagrum_with_awkward_names() -> None:
    network = shared.awkward(single=False)
    assert shared.same(from_pyagrum(to_pyagrum(network)), network)
    with pytest.raises(DataError, match="a single state"):
        to_pyagrum(shared.awkward())


def test_what_pyagrum_gets() -> None:
    network = shared.plain_network()
    model = to_pyagrum(network)
    for name in "ABCD":
        shared.assert_close(shared.agrum_table(model, name), shared.by_names(network, name), 1e-300)


def test_a_network_of_pyagrum() -> None:
    model = shared.agrum_sample()
    network = from_pyagrum(model, target="A")
    assert network.name(CLASS) == "A"
    for name in "ABCDE":
        shared.assert_close(shared.by_names(network, name), shared.agrum_table(model, name), 1e-300)


def test_pyagrum_gives_the_same_marginals() -> None:
    from naivete.inference.queries import posterior

    network = shared.plain_network()
    inference = shared.pyagrum.LazyPropagation(to_pyagrum(network))
    inference.setEvidence({"C": "m", "A": "y"})
    assert np.allclose(inference.posterior("D").toarray(), posterior(network, "D", {"C": "m", "A": "y"}), atol=1e-12)


def test_pgmpy_and_back() -> None:
    pytest.importorskip("pgmpy", reason="pgmpy is not installed here")
    for network in (shared.plain_network(), shared.awkward(), shared.dense(shared.sparse_network())):
        assert shared.same(from_pgmpy(to_pgmpy(network)), network)
    model = to_pgmpy(shared.plain_network())
    assert model.check_model()
    for name in "ABCD":
        shared.assert_close(shared.pgmpy_table(model, name), shared.by_names(shared.plain_network(), name), 1e-300)


def test_pgmpy_without_a_table() -> None:
    pytest.importorskip("pgmpy", reason="pgmpy is not installed here")
    model = to_pgmpy(shared.plain_network())
    model.remove_cpds("C")
    with pytest.raises(DataError, match="the node 'C' has no table"):
        from_pgmpy(model)


@pytest.mark.parametrize(("convert", "package"), [(to_networkx, "networkx"), (to_pgmpy, "pgmpy"), (to_pyagrum, "pyagrum")])
def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, convert: Any, package: str) -> None:
    from naivete.network import conversions

    def absent(name: str) -> Any:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(conversions, "import_module", absent)
    with pytest.raises(FileError, match=f"pip install {package}"):
        convert(shared.plain_network())
