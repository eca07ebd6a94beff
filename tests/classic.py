"""The classic networks of the literature, none of which is part of this library: looked up in a folder, or in pgmpy's."""

from __future__ import annotations

import importlib.util
import os
import warnings
from functools import cache
from pathlib import Path

import pytest

from naivete.errors import NaiveteWarning
from naivete.network.formats import read_network
from naivete.network.network import Network

VARIABLE = "NAIVETE_NETWORKS"
SIZES = {  # variables and arcs
    "asia": (8, 8),
    "sachs": (11, 17),
    "child": (20, 25),
    "insurance": (27, 52),
    "water": (32, 66),
    "mildew": (35, 46),
    "alarm": (37, 46),
    "barley": (48, 84),
    "hailfinder": (56, 66),
    "hepar2": (70, 123),
    "win95pts": (76, 112),
    "pathfinder": (109, 195),
    "munin1": (186, 273),
    "andes": (223, 338),
    "diabetes": (413, 602),
    "pigs": (441, 592),
    "link": (724, 1125),
    "munin2": (1003, 1244),
    "munin": (1041, 1397),
}


def folders() -> list[Path]:
    """Where the files may be: the folder that the environment names, and that of pgmpy where it ships them."""
    named = [Path(os.environ[VARIABLE])] if os.environ.get(VARIABLE) else []
    found = importlib.util.find_spec("pgmpy")
    places = [] if found is None else found.submodule_search_locations or []
    return [*named, *(Path(place, "utils", "example_models") for place in places)]


@cache
def classic(name: str) -> Network:
    """A classic network; the test is skipped where its file is not found."""
    files = [folder / f"{name}{ending}" for folder in folders() for ending in (".bif", ".bif.gz")]
    file = next((f for f in files if f.exists()), None)
    if file is None:
        pytest.skip(f"{name}.bif is not here: set {VARIABLE} to a folder with the networks, or install a pgmpy that ships them")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NaiveteWarning)  # some are printed with too few digits to sum to one
        network = read_network(file)
    assert (len(network.variables), sum(map(len, network.parents.values()))) == SIZES[name]
    return network
