"""A computed column is a function of the row that no arc tells: whoever asks the arcs alone is refused, whichever door it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from naivete.classifiers.augmented import NaiveBayes
from naivete.classifiers.naive_variants import Recursive
from naivete.classifiers.trees import ID3
from naivete.encoding.encoder import Encoder
from naivete.errors import DataError
from naivete.inference import queries
from naivete.inference.junction import JunctionTree
from naivete.inference.sampling import sample_codes
from naivete.network import conversions
from naivete.network.derived_columns import Hidden
from naivete.network.formats import FORMATS, dumps, loads, write_network
from naivete.network.network import Network
from naivete.variables import Variable

ROWS = [["a", "p"], ["a", "q"], ["b", "p"], ["b", "q"]]
TREE = ID3(min_rows=1).fit(ROWS, ["no", "yes", "yes", "yes"]).network_
HIERARCHY = Recursive(parity="split").fit(ROWS, ["no", "yes", "yes", "no"]).network_
NUMBERS = NaiveBayes(encoder=Encoder(numbers="normal")).fit([[0.5], [1.5], [2.5], [3.5]], ["no", "no", "yes", "yes"]).network_
HALF = np.full((2, 2), 0.5)
HIDDEN = Network(
    tuple(Variable(name, ("a", "b")) for name in ("x", "hidden", "c")),
    {0: (1,), 1: (-1,), -1: ()},
    {0: HALF, 1: HALF, -1: np.full(2, 0.5)},
    {1: Hidden()},
)
DOORS: dict[str, Callable[[Network], Any]] = {
    "junction tree": JunctionTree,
    "posterior": lambda network: queries.posterior(network, network.name(-1)),
    "posteriors": lambda network: queries.posteriors(network, network.name(-1), [np.zeros(1, np.uint8)] * len(network.features)),
    "marginals": queries.marginals,
    "log probability": lambda network: queries.log_probability(network, {}),
    "log likelihoods": lambda network: queries.log_likelihoods(network, [np.zeros(1, np.uint8)] * len(network.features)),
    "most probable": queries.most_probable,
    "sample": lambda network: sample_codes(network, 3, 0),
    "networkx": conversions.to_networkx,
    "pgmpy": conversions.to_pgmpy,
    "pyagrum": conversions.to_pyagrum,
}


@pytest.mark.parametrize("network", [TREE, HIERARCHY], ids=["tree", "hierarchy"])
@pytest.mark.parametrize("door", DOORS)
def test_every_door_refuses_and_says_what_to_do(network: Network, door: str) -> None:
    _needs(door)
    name = network.name(max(network.derived))
    with pytest.raises(DataError, match=rf"derived column '{name}'.*the arcs do not show; use the classifier \(predict_proba\)"):
        DOORS[door](network)


@pytest.mark.parametrize("network", [TREE, HIERARCHY], ids=["tree", "hierarchy"])
@pytest.mark.parametrize("format", FORMATS)
def test_every_format_refuses_and_leaves_no_file(network: Network, format: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="writing it for other programs is not possible with the derived column"):
        dumps(network, format)
    with pytest.raises(DataError, match="is not possible with the derived column"):
        write_network(network, tmp_path / "out", format=format)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("door", DOORS)
def test_numbers_that_are_not_cut_are_refused_by_those_who_need_states(door: str) -> None:
    _needs(door)
    with pytest.raises(DataError, match="with the continuous feature 'x0', which has a density and no states; use the classifier"):
        DOORS[door](NUMBERS)


def test_arcs_alone_can_be_written_of_numbers_that_are_not_cut() -> None:
    assert loads(dumps(NUMBERS, "string"), "string", target=str(NUMBERS.name(-1))).parents[0] == (-1,)
    with pytest.raises(DataError, match="density"):
        dumps(NUMBERS, "bif")


@pytest.mark.parametrize("door", DOORS)
def test_a_hidden_column_is_a_variable_like_any_other(door: str) -> None:
    _needs(door)
    DOORS[door](HIDDEN)


@pytest.mark.parametrize("format", FORMATS)
def test_a_hidden_column_is_written_like_any_other(format: str) -> None:
    assert loads(dumps(HIDDEN, format), format, target="c").parents == HIDDEN.parents


def _needs(door: str) -> None:
    if door in ("networkx", "pgmpy", "pyagrum"):
        pytest.importorskip(door)
