from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from naivete.network.formats import dumps, loads, write_network
from naivete.network.network import Network
from naivete.variables import CLASS
from tests.network import formats as shared

GOOD = """<?xml version="1.0" encoding="UTF-8"?>
<!-- made in GeNIe -->
<smile version="1.0" id="Network1" numsamples="10000" discsamples="10000">
  <nodes>
    <cpt id="family" diagtype="target">
      <state id="all" />
      <state id="some" />
      <state id="none" fault="true" />
      <probabilities>0.25 0.25 0.5</probabilities>
    </cpt>
    <cpt id="bark">
      <state id="no" /><state id="yes" />
      <probabilities>0.5 0.5</probabilities>
      <property id="comment">loud = yes</property>
    </cpt>
    <cpt id="light">
      <state id="on" /><state id="off" />
      <parents>family bark</parents>
      <probabilities>0.1 0.9 0.2 0.8 0.3 0.7 0.4 0.6 0.5 0.5 0.6 0.4</probabilities>
    </cpt>
    <deterministic id="both">
      <state id="no" /><state id="yes" />
      <parents>light bark</parents>
      <resultingstates>no yes no no</resultingstates>
    </deterministic>
  </nodes>
  <extensions>
    <genie version="1.0" app="GeNIe 4.0"><node id="light"><name>Light</name></node></genie>
  </extensions>
</smile>
"""


@given(shared.some_networks)
def test_a_written_network_is_read_back(network: Network) -> None:
    assert shared.same(loads(dumps(network, "xdsl"), "xdsl"), network)


def test_awkward_names_and_states() -> None:
    assert shared.same(loads(dumps(shared.awkward(), "xdsl"), "xdsl"), shared.awkward())


def test_sparse_tables_are_written_in_full() -> None:
    network = shared.sparse_network()
    assert shared.same(loads(dumps(network, "xdsl"), "xdsl"), shared.dense(network))


def test_cut_anywhere() -> None:
    shared.check_every_cut(dumps(shared.plain_network(), "xdsl"), "xdsl", shared.plain_network())


def test_parents_are_written_before_their_children() -> None:
    text = dumps(shared.awkward(), "xdsl")
    seen: set[str] = set()
    for line in text.splitlines():
        if "<cpt id=" in line:
            seen.add(line.split('"')[1])
        if "<parents>" in line:
            assert set(line.strip().removeprefix("<parents>").removesuffix("</parents>").split()) <= seen


def test_a_file_of_genie() -> None:
    network = loads(GOOD, "xdsl")
    assert [variable.name for variable in network.variables] == ["family", "bark", "light", "both"]
    assert network.parents == {0: (), 1: (), 2: (0, 1), CLASS: (2, 1)}
    assert np.array_equal(network.cpts[2][..., 0], [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])  # (family, bark)
    assert np.array_equal(network.cpts[CLASS][..., 1], [[0, 0], [1, 0]])  # (bark, light)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0.25 0.25 0.5", "0.25 0.25 0.4", "f:5: a distribution of 'family' sums to 0.9"),
        ("0.25 0.25 0.5", "-0.25 0.75 0.5", "which is not a probability"),
        ("0.25 0.25 0.5", "0.5 0.5", "f:5: 'family': 2 numbers in a table of 3 = 3 cells"),
        ("0.25 0.25 0.5", "", "0 numbers in a table"),
        ("<probabilities>0.25 0.25 0.5</probabilities>", "", "0 elements 'probabilities' where one is expected"),
        ("family bark", "family dog", "unknown parent 'dog'"),
        ("family bark", "family light", "is its own parent"),
        ("family bark", "family both", "cycle"),
        ('id="bark"', 'id="family"', "declared twice"),
        ('<state id="some" />', '<state id="all" />', "has a state twice"),
        ("no yes no no", "no yes no maybe", "the resulting state 'maybe' is not one of its states"),
        ("no yes no no", "no yes no", "3 resulting states where its parents have 4 configurations"),
        ("deterministic", "noisymax", "a node of type 'noisymax'"),
        ("</nodes>", "</nodes><dynamic numslices='3' />", "a dynamic network"),
        ("<smile ", "<genie ", "not well-formed"),
        ("<!-- made", "<!DOCTYPE smile [<!ENTITY a 'b'>]><!-- made", "the entity 'a' is refused"),
    ],
)
def test_errors_report_the_line(old: str, new: str, message: str) -> None:
    assert old in GOOD
    count = 2 if old == "deterministic" else 1
    assert message in shared.refused(GOOD.replace(old, new, count), "xdsl")


def test_pyagrum_reads_ours_but_takes_the_first_parent_for_the_fastest(tmp_path: Path) -> None:
    network = shared.plain_network()
    write_network(network, tmp_path / "a.xdsl")
    bn = shared.pyagrum.loadBN(str(tmp_path / "a.xdsl"))
    for name in "ABD":
        shared.assert_close(shared.agrum_table(bn, name), shared.by_names(network, name), 1e-7)
    parents = list(bn.cpt("C").names[1:])
    assert parents == ["B", "A", "D"]
    cards = [bn.variable(p).domainSize() for p in parents]
    meant = bn.cpt("C").toarray().reshape(*cards, 4)  # the numbers as they stand, read as GeNIe reads them
    shared.assert_close(((), meant.transpose(1, 0, 2, 3)), ((), shared.by_names(network, "C")[1]), 1e-7)


def test_we_read_those_of_pyagrum(tmp_path: Path) -> None:
    shared.check_we_read_agrum(tmp_path / "a.xdsl", 1e-6)


def test_pgmpy(tmp_path: Path) -> None:
    shared.check_pgmpy("xdsl", tmp_path / "a.xdsl")


def test_a_node_of_many_states_does_not_take_quadratic_time() -> None:
    states = "".join(f'<state id="s{i}" />' for i in range(50_000))
    text = f'<smile><nodes><deterministic id="a">{states}<resultingstates>s7</resultingstates></deterministic></nodes></smile>'
    table = loads(text, "xdsl").cpts[CLASS]
    assert table[7] == 1
    assert table.sum() == 1
