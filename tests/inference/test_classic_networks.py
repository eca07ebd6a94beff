"""Exact inference on the classic networks, against pyAgrum; and the formats on them."""

from __future__ import annotations

import numpy as np
import pytest

from naivete.errors import ResourceError
from naivete.inference import queries
from naivete.inference.junction import JunctionTree
from naivete.inference.sampling import sample_codes
from naivete.network.conversions import to_pyagrum
from naivete.network.formats import dumps, loads
from tests.classic import SIZES, VARIABLE, classic, folders
from tests.network.formats import same

if not any(folder.is_dir() for folder in folders()):
    pytest.skip(
        f"the classic networks are not here: set {VARIABLE} to a folder with alarm.bif and the others, or install a pgmpy that ships them",
        allow_module_level=True,
    )

slow = {"diabetes", "link", "munin", "munin1", "munin2", "pathfinder"}
TOO_WIDE = {("munin1", 0.0)}
"""Without any evidence it has cliques that do not fit into the usual budget: refused before anything is allocated."""

SAMPLED = {("link", 0.0)}
"""Where pyAgrum runs out of memory, a sample has to do."""

names = [pytest.param(name, marks=pytest.mark.slow if name in slow else ()) for name in SIZES]


@pytest.mark.parametrize("name", names)
@pytest.mark.parametrize("share", [0.0, 0.2, 0.6])
def test_every_marginal_is_that_of_pyagrum(name: str, share: float) -> None:
    network = classic(name)
    gum = pytest.importorskip("pyagrum")
    rng = np.random.default_rng(len(network.variables))
    row = [int(column[0]) for column in sample_codes(network, 1, 1)]
    seen = np.flatnonzero(rng.random(len(row)) < share).tolist()
    given = {network.variables[v].name: network.variables[v].states[row[v]] for v in seen}
    if (name, share) in TOO_WIDE:
        with pytest.raises(ResourceError, match=r"the budget is 2,147,483,648 bytes"):
            queries.marginals(JunctionTree(network), given)
        return
    ours = queries.marginals(JunctionTree(network), given)
    if (name, share) in SAMPLED:
        rows = 20_000
        for variable, column in zip(network.variables, sample_codes(network, rows, 2), strict=True):
            frequencies = np.bincount(column, minlength=variable.card) / rows
            assert np.abs(ours[variable.name].to_numpy() - frequencies).max() < 5 * 0.5 / np.sqrt(rows)
        return
    theirs = gum.LazyPropagation(to_pyagrum(network))
    theirs.setEvidence({str(network.variables[v].name): row[v] for v in seen})
    theirs.makeInference()
    for variable in network.variables:
        expected = np.asarray(theirs.posterior(str(variable.name)).toarray()).ravel()
        assert np.abs(ours[variable.name].to_numpy() - expected).max() < 1e-12


@pytest.mark.parametrize("name", names)
@pytest.mark.parametrize("form", ["bif", "xmlbif", "hugin", "xdsl"])
def test_every_format_gives_the_network_back(name: str, form: str) -> None:
    network = classic(name)
    assert same(loads(dumps(network, form), form), network)
