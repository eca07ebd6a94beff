from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from naivete.errors import DataError, NaiveteError, ParameterError
from naivete.network.formats import FORMATS, dumps, loads, named_network_format, read_network, write_network
from naivete.network.network import Network
from naivete.variables import CLASS, Variable
from tests.network import formats as shared


def arcs(network: Network) -> list[tuple[str, list[str]]]:
    return [(repr(network.name(v)), [repr(network.name(p)) for p in network.parents[v]]) for v in (*network.features, CLASS)]


@given(shared.some_networks)
def test_dot_keeps_names_and_arcs(network: Network) -> None:
    found = loads(dumps(network, "dot"), "dot")
    assert arcs(found) == arcs(network)
    assert all(variable == Variable(variable.name) for variable in found.variables)


@given(shared.some_networks)
def test_strings_keep_names_and_arcs_or_refuse(network: Network) -> None:
    with suppress(DataError):
        assert arcs(loads(dumps(network, "string"), "string")) == arcs(network)


@given(st.permutations(range(5)))
def test_strings_in_any_order(order: list[int]) -> None:
    nodes = ["[A]", "[B|A]", "[C|B:A]", "[D]", "[E|D:C:A]"]
    network = loads("".join(nodes[i] for i in order), "string", target="E")
    found = dict(arcs(network))
    assert found["'C'"] == ["'B'", "'A'"]
    assert found["'E'"] == ["'D'", "'C'", "'A'"]


def test_every_awkward_name_in_dot() -> None:
    assert arcs(loads(dumps(shared.awkward(), "dot"), "dot")) == arcs(shared.awkward())


def test_dot_cut_anywhere() -> None:
    text = dumps(shared.plain_network(), "dot")
    shared.check_every_cut(text, "dot", loads(text, "dot"))


def test_digraphs_of_others() -> None:
    text = """/* drawn */ strict digraph "my graph" { # top
      rankdir=LR; node [shape=box, width=-0.5]; edge [color="red"]
      rain; "wet grass" [label="Wet\\nGrass"; pos="1,2!"]
      sun -> rain -> "wet grass" [weight=2]; sun:e -> "wet grass":w // done
      -1 -> rain
      sun -> rain
    }"""
    network = loads(text, "dot", target="wet grass")
    found = dict(arcs(network))
    assert found == {"'rain'": ["'sun'", "'-1'"], "'sun'": [], "'-1'": [], "'wet grass'": ["'rain'", "'sun'"]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("graph g { a -- b }", "only directed graphs are networks"),
        ("digraph { a -- b }", "an edge without direction"),
        ("digraph { a -> {b c} }", "a subgraph"),
        ("digraph { subgraph x { a } }", "a subgraph"),
        ("digraph { a [label=<b>] }", "a label in HTML"),
        ("digraph { a -> b\n a -> b }", "f:2: the arc from 'a' to 'b' occurs twice"),
        ("digraph { a -> b -> a }", "form a cycle"),
        ("digraph { a -> a }", "its own parent"),
        ("digraph { a -> b", "expected a name, found the end; is the file complete?"),
        ("digraph { a } b", "expected the end, found 'b'"),
        ("digraph { }", "there are no variables"),
        ('digraph { a [naivete="x"] }', "is not what this library writes"),
        ('digraph { a [naivete="name:s:b states:"] }', "(or no longer)"),
    ],
)
def test_names_that_dot_cannot_express(text: str, message: str) -> None:
    assert message in shared.refused(text, "dot")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there are no variables"),
        ("[A][B|A", "expected '[' or the end, found '[B|A'; is the file complete?"),
        ("A][B|A]", "expected '[', found 'A'"),
        ("[A]x[B]", "expected '[', found 'x[B'"),
        ("[A]\n[B|C]", "f:2: 'B' has an unknown parent 'C'"),
        ("[A][A]", "declared twice"),
        ("[A|B][B|A]", "form a cycle"),
        ("[A|A]", "its own parent"),
        ("[A][B|A:A]", "a parent twice"),
        ("[]", "is not [name]"),
        ("[A|]", "is not [name]"),
        ("[A][B|A:]", "is not [name]"),
        ("[A[B]]", "is not [name]"),
        ("[A][B|A|A]", "is not [name]"),
    ],
)
def test_names_that_model_strings_cannot_express(text: str, message: str) -> None:
    assert message in shared.refused(text, "string")


@pytest.mark.parametrize("name", [None, 1, "", "a|b", "a:b", "[a]", " a", "a\nb"])
def test_names_that_a_string_cannot_hold(name: object) -> None:
    network = Network((Variable(name, ("x",)),), {CLASS: ()}, {CLASS: shared.np.ones(1)})  # type: ignore[arg-type]
    with pytest.raises(DataError, match="cannot be written in a model string"):
        dumps(network, "string")


def test_endings(tmp_path: Path) -> None:
    assert {named_network_format(f"a{ending}") for ending in (".bif", ".xml", ".net", ".xdsl", ".gv", ".bnl.gz")} == set(FORMATS)
    network = loads("[A][B|A]", "string")
    for name in ("a.gv", "a.dot", "a.bnl"):
        write_network(network, tmp_path / name)
        assert arcs(read_network(tmp_path / name)) == arcs(network)
    with pytest.raises(ParameterError, match=r"network=5: a Network is needed; .*`model\.network_`"):
        write_network(5, tmp_path / "x.bif")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"the ending of the name is of no known format; end it in \.bif"):
        write_network(network, tmp_path / "a.txt")
    write_network(network, tmp_path / "a.txt", format="dot")
    assert arcs(read_network(tmp_path / "a.txt", format="dot")) == arcs(network)
    with pytest.raises(ParameterError, match="use 'bif'"):
        read_network(tmp_path / "a.txt", format="biff")
    with pytest.raises(ParameterError, match="tolerance"):
        read_network(tmp_path / "a.gv", tolerance=2)
    with pytest.raises(NaiveteError, match="exists already"):
        write_network(network, tmp_path / "a.gv", overwrite=False)


def test_what_is_no_file(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.bif", tmp_path):
        with pytest.raises(NaiveteError):
            read_network(path, format="bif")


@pytest.mark.parametrize("format", shared.FULL)
def test_names_that_are_no_unicode(format: str) -> None:
    network = Network((Variable("\ud800", ("x",)),), {CLASS: ()}, {CLASS: shared.np.ones(1)})
    with pytest.raises(DataError, match="half of a surrogate pair"):
        dumps(network, format)
