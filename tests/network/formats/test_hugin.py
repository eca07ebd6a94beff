from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from naivete.network.formats import dumps, loads
from naivete.network.network import Network
from naivete.variables import CLASS
from tests.network import formats as shared

GOOD = """% a comment
net
{
    node_size = (76 36);
    data = "";
}
node light
{
    states = ("true" "not; true");
    position = (1 2);
    label = "on (or) off";
    HR_Desc = "50% \\"quoted\\"";
}
discrete node family
{
    states = (all some none);
    subtype = label;
}
potential (light | family)
{
    data = ((.5 .5)   % all
            (0.25 75e-2)
            (1 0));
    experience = (1 1 1);
}
potential (family | )
{
    data = (0.25 0.25 0.5);
}
"""


@given(shared.some_networks)
def test_a_written_network_is_read_back(network: Network) -> None:
    assert shared.same(loads(dumps(network, "hugin"), "hugin"), network)


def test_awkward_names_and_states() -> None:
    assert shared.same(loads(dumps(shared.awkward(), "hugin"), "hugin"), shared.awkward())


def test_sparse_tables_are_written_in_full() -> None:
    network = shared.sparse_network()
    assert shared.same(loads(dumps(network, "hugin"), "hugin"), shared.dense(network))


def test_cut_anywhere() -> None:
    shared.check_every_cut(dumps(shared.plain_network(), "hugin"), "hugin", shared.plain_network())
    shared.check_every_cut(GOOD, "hugin", loads(GOOD, "hugin"))


def test_a_file_of_others() -> None:
    network = loads(GOOD, "hugin")
    assert network.variables[0].states == ("true", "not; true")
    assert network.variables[CLASS].states == ("all", "some", "none")
    assert np.array_equal(network.cpts[0], [[0.5, 0.25, 1], [0.5, 0.75, 0]])


def test_flat_data_and_a_class_around_it_all() -> None:
    flat = GOOD.replace("((.5 .5)   % all\n            (0.25 75e-2)\n            (1 0))", "(.5 .5 0.25 0.75 1 0)")
    assert flat != GOOD
    _, _, rest = flat.partition("}\n")
    for text in (flat, f"class main {{ inputs = ();\n{rest}}}"):
        assert shared.same(loads(text, "hugin"), loads(GOOD, "hugin"))
    assert "expected '}', found the end" in shared.refused(f"class main {{\n{rest}", "hugin")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("(.5 .5)", "(.5 .6)", "f:19: a distribution of 'light' sums to 1.1"),
        ("(.5 .5)", "(-.5 1.5)", "which is not a probability"),
        ("(.5 .5)", "(nan .5)", "f:21: expected ';', found 'nan .5)"),
        ("(.5 .5)", "(.5 .5 .5)", "f:19: the brackets of the data of 'light' do not fit 3 x 2 cells"),
        ("((.5 .5)", "((.5 .5) (.5 .5)", "do not fit"),
        ("((.5 .5)", "(.5 (.5)", "do not fit"),
        ("(1 0));", "(1 0);", "do not fit"),
        ("(1 0));", "(1 0)));", "do not fit"),
        ("(1 0));", "(1 0))();", "do not fit"),
        ("data = (0.25 0.25 0.5);", "data = 0.25 0.25 0.5;", "do not fit"),
        ("data = (0.25 0.25 0.5);", "", "f:26: the potential of 'family' has no data"),
        ("data = (0.25 0.25 0.5);", "model_data = (Normal);", "the field 'model_data' of a potential is not read"),
        ("light | family", "light | famly", "unknown parent 'famly'; did you mean 'family'?"),
        ("light | family", "light family", "a potential of 2 variables"),
        ("discrete node", "continuous node", "f:14: a continuous node; only discrete ones are read"),
        ("discrete node family", "node light", "declared twice"),
        ("(all some none)", "(all some all)", "has a state twice"),
        ("(all some none)", "()", "has no states"),
        ("states = (all some none);", "", "has no states"),
    ],
)
def test_errors_report_the_line(old: str, new: str, message: str) -> None:
    assert old in GOOD
    assert message in shared.refused(GOOD.replace(old, new, 1), "hugin")


def test_pyagrum_reads_ours(tmp_path: Path) -> None:
    shared.check_agrum_reads(shared.plain_network(), tmp_path / "a.net")
    shared.check_awkward_with_agrum(tmp_path / "b.net")


def test_we_read_those_of_pyagrum(tmp_path: Path) -> None:
    shared.check_we_read_agrum(tmp_path / "a.net", 1e-9)


def test_pgmpy(tmp_path: Path) -> None:
    shared.check_pgmpy("hugin", tmp_path / "a.net")
