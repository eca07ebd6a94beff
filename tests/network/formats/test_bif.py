from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from naivete.errors import DataError, NaiveteWarning, ResourceError
from naivete.network.formats import dumps, loads, read_network, write_network
from naivete.network.network import Network
from naivete.variables import CLASS, Variable
from tests.network import formats as shared
from tests.strategies import networks

FOREIGN = """// made by hand
network "Dog Problem" { property "version 1"; property author = nobody; }
variable light-on { /* two states */ type discrete[2] { "true" "false" }; property "position = (1, 2)"; }
variable family { type discrete [ 3 ] { all, some of them, <none> }; }
variable "dog out" {
  type discrete [ 2 ] { yes, no };
}
probability ( light-on | family ) { (<none>) 0.25, 0.75; default 0.5 0.5; (all) 1 0.0; }
probability ( family ) { table .25 .25 5e-1; }
probability ( dog out | light-on, family ) {
  table 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, // yes
        0.9, 0.8, 0.7, 0.6, 0.5, 0.4; /* no */
}
"""
GOOD = """network n {
}
variable a {
  type discrete [ 2 ] { x, y };
}
variable b {
  type discrete [ 2 ] { p, q };
}
probability ( a ) {
  table 0.5, 0.5;
}
probability ( b | a ) {
  (x) 0.25, 0.75;
  (y) 0.1, 0.9;
}
"""


@given(shared.some_networks)
def test_a_written_network_is_read_back(network: Network) -> None:
    assert shared.same(loads(dumps(network, "bif"), "bif"), network)


def test_awkward_names_and_states() -> None:
    assert shared.same(loads(dumps(shared.awkward(), "bif"), "bif"), shared.awkward())


def test_sparse_tables_are_written_in_full() -> None:
    network = shared.sparse_network()
    assert shared.same(loads(dumps(network, "bif"), "bif"), shared.dense(network))


@given(networks(any_names=True, sparse=True))
def test_any_sparse_tables_are_written_in_full(network: Network) -> None:
    assert shared.same(loads(dumps(network, "bif"), "bif"), shared.dense(network))


def test_a_sparse_table_of_the_class() -> None:
    variables = tuple(Variable(name, ("n", "y", "z")[:card]) for name, card in (("a", 2), ("b", 3), ("c", 2)))
    rows = np.array([[[0.25], [0.75]]])
    sparse = shared.SparseCpt(np.array([[1, 2]], np.int32), rows, np.array([[0.5], [0.5]]), (0, 1))
    cpts = {0: np.array([0.5, 0.5]), 1: np.array([0.25, 0.25, 0.5]), CLASS: sparse}
    network = Network(variables, {0: (), 1: (), CLASS: (1, 0)}, cpts)
    assert shared.same(loads(dumps(network, "bif"), "bif"), shared.dense(network))


def test_cut_anywhere() -> None:
    shared.check_every_cut(dumps(shared.plain_network(), "bif"), "bif", shared.plain_network())


def test_a_file_of_others() -> None:
    network = loads(FOREIGN, "bif")
    assert [variable.name for variable in network.variables] == ["light-on", "family", "dog out"]
    assert network.variables[1].states == ("all", "some of them", "<none>")
    assert network.parents == {0: (1,), 1: (), CLASS: (0, 1)}
    assert np.array_equal(network.cpts[0], [[1, 0.5, 0.25], [0, 0.5, 0.75]])  # (light-on, family)
    assert np.array_equal(network.cpts[CLASS][..., 0], [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])  # (light-on, family)


def test_the_old_way_to_name_parents() -> None:
    old = GOOD.replace("( b | a )", '( "b" "a" )').replace("(x) 0.25, 0.75;\n  (y) 0.1, 0.9;", "table 0.25 0.1 0.75 0.9;")
    assert shared.same(loads(old, "bif"), loads(GOOD, "bif"))


def test_the_order_of_rows_and_blocks_has_no_effect() -> None:
    swapped = GOOD.replace("(x) 0.25, 0.75;\n  (y) 0.1, 0.9;", "(y) 0.1, 0.9;\n  (x) 0.25, 0.75;")
    start, middle, end = swapped.partition("probability ( a )")
    head, _, last = (middle + end).partition("probability ( b")
    assert shared.same(loads(f"{start}probability ( b{last}{head}", "bif"), loads(GOOD, "bif"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("(x) 0.25, 0.75", "(x) 0.25, 0.7499", "f:12: a distribution of 'b' sums to 0.9999, not to 1"),
        ("(x) 0.25, 0.75", "(x) -0.25, 1.25", "f:12: the table of 'b' contains -0.25, which is not a probability"),
        ("(x) 0.25, 0.75", "(x) nan, 0.75", "f:13: expected ';', found 'nan, 0.75"),
        ("(x) 0.25, 0.75", "(x) 1e999, 0.75", "which is not a probability"),
        ("(x) 0.25, 0.75", "(x) 0.25, 0.5, 0.25", "f:13: 3 numbers in the table of 'b' where 2 numbers are needed"),
        ("(x) 0.25, 0.75", "(x) 0.25", "f:13: 1 numbers in the table of 'b'"),
        ("(x) 0.25, 0.75", "(x) 0.2.5, 0.75", "f:13: something that is not a number"),
        ("(x) 0.25, 0.75", "(z) 0.25, 0.75", "f:13: a row of 'b' names 'z', which is not a state of that parent"),
        ("(x) 0.25, 0.75", "(x, y) 0.25, 0.75", "f:13: a row of 'b' names 2 states for 1 parents"),
        ("(x) 0.25, 0.75", "(y) 0.25, 0.75", "f:14: the row ['y'] of 'b' occurs twice"),
        ("  (x) 0.25, 0.75;\n", "", "f:12: the table of 'b' has no row for ['x']"),
        ("  (x) 0.25, 0.75;\n", "  table 0.5, 0.5;\n", "is given as a whole and by rows"),
        ("( b | a )", "( b | c )", "f:12: 'b' has an unknown parent 'c'"),
        ("( b | a )", "( b | a, a )", "has a parent twice"),
        ("( b | a )", "( b | b )", "its own parent"),
        ("( b | a )", "( a | b )", "f:12: the variable 'a' has two tables"),
        ("probability ( a ) {\n  table 0.5, 0.5;\n}", "probability ( a | b ) { default 0.5, 0.5; }", "f:10: the arcs form a cycle: 'b' <- 'a' <- 'b'"),
        ("variable b", "variable a", "f:6: the variable 'a' is declared twice"),
        ("[ 2 ] { p, q }", "[ 3 ] { p, q }", "f:7: 'b' has 2 states where '3' are announced"),
        ("[ 2 ] { p, q }", "[ 2 ] { p, p }", "f:6: the variable 'b' has a state twice"),
        ("[ 2 ] { p, q }", "[ 0 ] { }", "f:6: the variable 'b' has no states"),
        ("type discrete [ 2 ] { p, q }", "type continuous", "only discrete variables are read"),
        ("variable b {", "variable b { property naivete = nonsense ;", "f:6: the note 'naivete' of 'b'"),
        ("variable b {", "variable b { property naivete = name:s:other states:s:p,s:q ;", "(or no longer)"),
        ("variable b {", "variable b { property naivete = target ; type discrete [ 1 ] { x }; }\nvariable c {", "has no table"),
        ("network n {", "network n { /* ", "f:1: the comment /* is never closed"),
        ("network n {", 'network "n {', "f:1: the quote is never closed"),
        ("network n {", "graph n {", "f:1: expected network, variable or probability, found 'graph'"),
    ],
)  # fmt: skip
def test_errors_report_the_line(old: str, new: str, message: str) -> None:
    assert old in GOOD
    assert message in shared.refused(GOOD.replace(old, new), "bif")


def test_nothing_at_all() -> None:
    assert shared.refused("", "bif") == "f: there are no variables; is the file complete?"


def test_rounded_sums_are_renormalized_with_a_note() -> None:
    text = GOOD.replace("0.25, 0.75", "0.2500005, 0.75")
    with pytest.warns(NaiveteWarning, match=r"1 table \('b'\) missed a sum of 1 by up to 5e-07 and were renormalized"):
        network = loads(text, "bif")
    assert network.cpts[CLASS].sum(axis=1) == pytest.approx([1, 1], abs=1e-15)
    coarse = GOOD.replace("0.25, 0.75", "0.251, 0.75")
    assert "allow it with `tolerance=" in shared.refused(coarse, "bif")
    with pytest.warns(NaiveteWarning, match="renormalized"):
        loads(coarse, "bif", tolerance=0.01)


def test_a_table_that_claims_too_much() -> None:
    states = ", ".join(f"s{i}" for i in range(100))
    names = [f"v{i}" for i in range(8)]
    head = "".join(f"variable {name} {{ type discrete [ 100 ] {{ {states} }}; }}\n" for name in names)
    tables = "".join(f"probability ( {n} ) {{ default {', '.join(['0.01'] * 100)}; }}\n" for n in names[1:])
    whole = f"{head}{tables}probability ( v0 | {', '.join(names[1:])} ) {{ default {', '.join(['0.01'] * 100)}; }}\n"
    tracemalloc.start()
    try:
        with pytest.raises(ResourceError, match="cells in one table"):
            loads(whole, "bif")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1 << 23  # bytes; the table would take 8e16


def test_a_network_too_large_to_write() -> None:
    variables = tuple(Variable(f"x{i}", tuple(range(50))) for i in range(6))
    sparse = shared.SparseCpt(np.empty((0, 4), np.int32), np.empty((0, 50, 50)), np.full((50, 50), 0.02), (1, 2, 3, 4))
    parents = {0: (1, 2, 3, 4, CLASS), **dict.fromkeys(range(1, 5), ()), CLASS: ()}
    network = Network(variables, parents, {0: sparse, **dict.fromkeys((1, 2, 3, 4, CLASS), np.full(50, 0.02))})
    for format in shared.FULL:
        with pytest.raises(ResourceError, match=r"save a model file \(.nvt\)"):
            dumps(network, format)


@pytest.mark.parametrize(
    "repeated", ["{", "(", "/", '"', "\\", "\n/", "variable a {", "variable a {\n", "variable a ", "//\n", "/**/\n"]
)
def test_the_work_grows_linearly_with_the_text(repeated: str) -> None:
    small, large = (shared.work(repeated * count + "x", "bif") for count in (2_000, 4_000))
    assert large <= 2.5 * small


def test_the_work_grows_linearly_with_the_length_of_a_cycle() -> None:
    assert "form a cycle" in shared.refused(_cycle(3), "bif")
    assert shared.work(_cycle(400), "bif") <= 2.5 * shared.work(_cycle(200), "bif")


def _cycle(count: int) -> str:
    """Return a BIF text in which each variable is the parent of the one before it, and the first that of the last."""
    head = "".join(f"variable v{i} {{ type discrete [ 1 ] {{ s }}; }}\n" for i in range(count))
    return head + "".join(f"probability ( v{i} | v{(i + 1) % count} ) {{ (s) 1; }}\n" for i in range(count))


def test_files(tmp_path: Path) -> None:
    network = shared.plain_network()
    for name in ("a.bif", "b.BIF", "c.bif.gz"):
        write_network(network, tmp_path / name)
        assert shared.same(read_network(tmp_path / name), network)
    (tmp_path / "bom.bif").write_bytes(b"\xef\xbb\xbf" + dumps(network, "bif").encode())
    assert shared.same(read_network(tmp_path / "bom.bif"), network)
    (tmp_path / "wide.bif").write_text(dumps(network, "bif"), encoding="utf-16")
    with pytest.raises(DataError, match="pass `encoding='utf-16'`"):
        read_network(tmp_path / "wide.bif")
    assert shared.same(read_network(tmp_path / "wide.bif", encoding="utf-16"), network)
    (tmp_path / "zero.bif").write_bytes(b"network n {\n}\n\0")
    with pytest.raises(DataError, match=r"zero.bif:3: a zero byte"):
        read_network(tmp_path / "zero.bif")


def test_the_target(tmp_path: Path) -> None:
    network = shared.plain_network()
    moved = loads(dumps(network, "bif"), "bif", target="B")
    assert [variable.name for variable in moved.variables] == ["A", "C", "D", "B"]
    assert moved.parents == {0: (), 1: (0, 2, CLASS), 2: (CLASS,), CLASS: (0,)}
    for name in "ABCD":
        shared.assert_close(shared.by_names(moved, name), shared.by_names(network, name), 1e-300)
    again = loads(dumps(moved, "bif"), "bif")
    assert shared.same(again, moved)
    with pytest.raises(shared.NaiveteError, match="the first are"):
        loads(dumps(network, "bif"), "bif", target="d")


def test_a_marked_class_is_found_wherever_it_stands() -> None:
    text = GOOD.replace("{ x, y };", "{ x, y }; property naivete = target ;")
    assert loads(text, "bif").name(CLASS) == "a"


def test_pyagrum_reads_ours(tmp_path: Path) -> None:
    shared.check_agrum_reads(shared.plain_network(), tmp_path / "a.bif")
    shared.check_awkward_with_agrum(tmp_path / "b.bif")


def test_we_read_those_of_pyagrum(tmp_path: Path) -> None:
    shared.check_we_read_agrum(tmp_path / "a.bif", 1e-6)


def test_pgmpy(tmp_path: Path) -> None:
    shared.check_pgmpy("bif", tmp_path / "a.bif")
