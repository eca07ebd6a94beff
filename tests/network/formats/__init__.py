"""What the tests of all formats share: awkward networks, exact comparison, cut files, and the peers."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from naivete.errors import NaiveteError, NaiveteWarning
from naivete.network.conditional_tables import Cpt, SparseCpt
from naivete.network.formats import loads, read_network, write_network
from naivete.network.formats.nodes import nodes_of, shapes_of
from naivete.network.network import Network
from naivete.variables import CLASS, Variable, family
from tests.oracles import identical
from tests.strategies import dense_table, names, networks, variables

with warnings.catch_warnings():  # its import warns, and crashes where a warning is an error
    warnings.simplefilter("ignore")
    import pyagrum

FULL = ["bif", "xmlbif", "hugin", "xdsl"]
"""The formats that hold tables."""

NAMES: Sequence[Any] = (
    *("a b", "a,b", 'say "hi"', "{x}", "a|b", "<b>&amp;", "emoji 😀", "\u202eאבג", "line\nbreak", "tab\t\x01\x7f", "x" * 10_000),
    *("", "é", "e\u0301", "table", "Table", "variable", "A", "a", "-1", "1", "%", "//", "/*", "*/", "# no", "\\", "\\n", "~7E"),
    *(
        "]]>",
        "<!--",
        "&lt;",
        "=",
        "a=b;c",
        None,
        7,
        2**70,
        -1.5,
        float("inf"),
        "None",
        "v_7",
        "  padded  ",
        "(",
        "'",
        "\x85",
        "\ufeff",
    ),
)
"""Names that some format could stumble over, all different."""

STATES: Sequence[Any] = (
    "yes",
    "YES",
    "",
    True,
    1,
    "1",
    0.5,
    -0.0,
    "0.5",
    float("inf"),
    "missing",
    "default",
    "table",
    2**65,
    "a, b",
)


def same(one: Network, two: Network) -> bool:
    """Whether two networks are the same, types of names, states and cut points included."""
    return identical(one, two) and list(map(_typed, one.variables)) == list(map(_typed, two.variables))


def _typed(variable: Variable) -> list[Any]:
    return [
        (type(value), repr(value)) for value in (variable.name, *variable.states, variable.cuts, variable.missing, variable.other)
    ]


@st.composite
def any_networks(draw: st.DrawFn) -> Network:
    """A random network with names of all kinds in which the class is as any other variable: it may have parents."""
    count = draw(st.integers(1, 5))
    schema = tuple(draw(variables(name)) for name in draw(st.lists(names, min_size=count, max_size=count, unique=True)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    order = draw(st.permutations([*range(count - 1), CLASS]))
    parents: dict[int, tuple[int, ...]] = {}
    cpts: dict[int, Cpt] = {}
    for place, v in enumerate(order):
        chosen = draw(st.lists(st.sampled_from(order[:place]), max_size=3, unique=True)) if place else []
        parents[v] = (*(p for p in chosen if p != CLASS), *([CLASS] if CLASS in chosen else []))
        cpts[v] = dense_table(schema, v, parents[v], rng)
    return Network(schema, parents, cpts)


some_networks = st.one_of(any_networks(), networks(any_names=True), networks(any_names=True, class_parent=True))
"""Random networks with names of all kinds."""


def awkward(names: Sequence[Any] = NAMES, *, single: bool = True) -> Network:
    """A network with every awkward name, states of all types, cut points, and a class with a parent; perhaps single states."""
    kinds = (
        Variable(None, tuple(STATES)),
        Variable(None, cuts=(-0.5, 1e300), missing=True),
        Variable(None, ("a",), missing=True, other=True),
        *((Variable(None, ()), Variable(None, cuts=())) if single else ()),
    )
    variables = tuple(Variable(name, *_parts(kinds[i % len(kinds)])) for i, name in enumerate(names))
    parents: dict[int, tuple[int, ...]] = {x: tuple(p for p in (x - 1, x - 3) if p >= 0) for x in range(len(variables) - 1)}
    parents[CLASS] = (4,)
    parents[6] = (*parents[6], CLASS)
    rng = np.random.default_rng(0)
    return Network(variables, parents, {v: dense_table(variables, v, p, rng) for v, p in parents.items()})


def _parts(variable: Variable) -> tuple[Any, ...]:
    return variable.states, variable.cuts, variable.missing, variable.other


def plain_network() -> Network:
    """Four variables of 2, 3, 4 and 2 states; one with three parents, whose table no exchange of axes leaves as it is."""
    variables = (
        Variable("A", ("x", "y")),
        Variable("B", ("p", "q", "r")),
        Variable("C", ("k", "l", "m", "n")),
        Variable("D", ("no", "yes")),
    )
    parents = {0: (), 1: (0,), 2: (1, 0, CLASS), CLASS: (1,)}
    rng = np.random.default_rng(1)
    cpts: dict[int, Cpt] = {}
    for v, p in parents.items():
        members = family(v, *p)
        table = rng.random([variables[m].card for m in members]) + 0.01
        cpts[v] = table / table.sum(axis=members.index(v), keepdims=True)
    return Network(variables, parents, cpts)


def sparse_network() -> Network:
    """A table of two feature parents and the class of which only two configurations are told."""
    variables = (Variable("a", ("x", "y")), Variable("b", ("p", "q", "r")), Variable("c", ("k", "l")), Variable("d", ("no", "yes")))
    rng = np.random.default_rng(2)
    rows = rng.dirichlet([1, 1], size=(2, 2)).transpose(0, 2, 1)
    sparse = SparseCpt(np.array([[0, 1], [1, 2]], np.int32), rows, np.array([[0.5, 0.25], [0.5, 0.75]]), (0, 1))
    parents: dict[int, tuple[int, ...]] = {0: (CLASS,), 1: (), 2: (1, 0, CLASS), CLASS: ()}
    cpts: dict[int, Cpt] = {v: dense_table(variables, v, parents[v], rng) for v in (0, 1, CLASS)}
    return Network(variables, parents, {**cpts, 2: sparse})


def dense(network: Network) -> Network:
    """The same network without sparse tables, one cell at a time."""
    found: dict[int, Cpt] = {}
    for v, cpt in network.cpts.items():
        if isinstance(cpt, SparseCpt):
            members = network.family(v)
            table = np.empty([network.variables[m].card for m in members])
            for codes in np.ndindex(*table.shape):
                at = dict(zip(members, codes, strict=True))
                label = at[CLASS] if CLASS in network.parents[v] else 0
                table[codes] = cpt.at(np.array([[at[p] for p in cpt.parents]]))[0, at[v], label]
            cpt = table
        found[v] = cpt
    return Network(network.variables, network.parents, found)


def check_every_cut(text: str, format: str, whole: Network) -> None:
    """Cut after any character, the text is refused or still says the same."""
    for end in range(len(text)):
        with suppress(NaiveteError):
            assert same(loads(text[:end], format), whole), f"cut after {end}: {text[:end]!r}"


def refused(text: str, format: str) -> str:
    """The error that a text is refused with."""
    with pytest.raises(NaiveteError) as error:
        loads(text, format, where="f")
    return str(error.value)


class CountedText(str):
    """A text that counts the characters that `count`, `find` and slices look at."""

    examined = 0

    def count(self, sub: str, start: Any = 0, end: Any = None) -> int:
        self.examined += (len(self) if end is None else end) - start
        return super().count(sub, start, end)

    def find(self, sub: str, start: Any = 0, end: Any = None) -> int:
        position = super().find(sub, start, end)
        self.examined += (len(self) if position < 0 else position) - start
        return position

    def __getitem__(self, key: Any) -> str:
        part = super().__getitem__(key)
        self.examined += len(part)
        return part


def work(text: str, format: str) -> int:
    """Return the number of function calls plus the number of characters examined while a text is refused."""
    calls = 0

    def profile(_: object, event: str, __: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    counted = CountedText(text)
    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        with suppress(NaiveteError):
            loads(counted, format)
    finally:
        sys.setprofile(before)
    return calls + counted.examined


def by_names(network: Network, name: str) -> tuple[tuple[str, ...], np.ndarray]:
    """The parents of a variable and its table, parents in the order of their names and the variable last."""
    v = next(i for i in (*network.features, CLASS) if network.name(i) == name)
    cpt = network.cpts[v]
    assert isinstance(cpt, np.ndarray)
    parents = sorted(network.parents[v], key=lambda p: str(network.name(p)))
    members = network.family(v)
    return tuple(str(network.name(p)) for p in parents), cpt.transpose([members.index(m) for m in (*parents, v)])


def agrum_table(bn: Any, name: str) -> tuple[tuple[str, ...], np.ndarray]:
    """The same of a network of pyAgrum."""
    own, *parents = bn.cpt(name).names
    ordered = sorted(parents)
    return tuple(ordered), bn.cpt(name).reorganize([own, *reversed(ordered)]).toarray()


def agrum_sample() -> Any:
    """A network of pyAgrum with asymmetric cards."""
    bn = pyagrum.BayesNet("sample")
    for name, labels in (("A", "xy"), ("B", "pqr"), ("C", "klmn"), ("D", "uv")):
        bn.add(pyagrum.LabelizedVariable(name, "", [f"{name}{label}" for label in labels]))
    for parent, child in (("B", "A"), ("C", "A"), ("D", "A"), ("A", "E"), ("C", "D")):
        if child == "E" and "E" not in bn.names():
            bn.add(pyagrum.LabelizedVariable("E", "", ["e1", "e2", "e3"]))
        bn.addArc(parent, child)
    pyagrum.initRandom(3)
    bn.generateCPTs()
    return bn


def check_agrum_reads(network: Network, path: Path) -> None:
    """What we write pyAgrum reads as the same tables."""
    write_network(network, path)
    bn = pyagrum.loadBN(str(path))
    assert set(bn.names()) == {str(variable.name) for variable in network.variables}
    for variable in network.variables:
        assert bn.variable(str(variable.name)).labels() == variable.labels
        assert_close(agrum_table(bn, str(variable.name)), by_names(network, str(variable.name)), 1e-7)


def check_we_read_agrum(path: Path, tolerance: float) -> None:
    """What pyAgrum writes we read as the same tables."""
    bn = agrum_sample()
    pyagrum.saveBN(bn, str(path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NaiveteWarning)
        network = read_network(path)
    assert {variable.name for variable in network.variables} == set(bn.names())
    for variable in network.variables:
        assert bn.variable(variable.name).labels() == variable.states
        assert_close(by_names(network, str(variable.name)), agrum_table(bn, str(variable.name)), tolerance)


def assert_close(one: tuple[Any, np.ndarray], two: tuple[Any, np.ndarray], tolerance: float) -> None:
    assert one[0] == two[0]
    assert one[1].shape == two[1].shape
    assert np.abs(one[1] - two[1]).max() < tolerance


def pgmpy_of(network: Network, format: str, path: Path) -> Any:
    """Our file as pgmpy reads it."""
    readwrite = pytest.importorskip("pgmpy.readwrite", reason="pgmpy is not installed here")
    write_network(network, path)
    reader = {"bif": "BIFReader", "xmlbif": "XMLBIFReader", "hugin": "NETReader", "xdsl": "XDSLReader"}[format]
    return getattr(readwrite, reader)(str(path)).get_model()


def pgmpy_table(model: Any, name: str) -> tuple[tuple[str, ...], np.ndarray]:
    """The parents and the table of a variable of pgmpy, parents in the order of their names and the variable last."""
    cpd = model.get_cpds(name)
    own, *parents = cpd.variables
    ordered = sorted(parents)
    axes = [cpd.variables.index(m) for m in (*ordered, own)]
    return tuple(ordered), np.asarray(cpd.values).transpose(axes)


def check_pgmpy(format: str, path: Path) -> None:
    """pgmpy reads what we write, and we read what it writes, as the same tables."""
    network = plain_network()
    model = pgmpy_of(network, format, path)
    for variable in network.variables:
        assert list(model.get_cpds(variable.name).state_names[variable.name]) == list(variable.states)
        assert_close(pgmpy_table(model, str(variable.name)), by_names(network, str(variable.name)), 1e-12)
    readwrite = pytest.importorskip("pgmpy.readwrite", reason="pgmpy is not installed here")
    writer = {"bif": "BIFWriter", "xmlbif": "XMLBIFWriter", "hugin": "NETWriter", "xdsl": "XDSLWriter"}[format]
    getattr(readwrite, writer)(model).write(str(path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NaiveteWarning)  # its .net has eight digits
        back = read_network(path, target="D")
    for variable in network.variables:
        assert_close(by_names(back, str(variable.name)), by_names(network, str(variable.name)), 1e-7)


def check_awkward_with_agrum(path: Path) -> None:
    """pyAgrum reads our awkward names under other names; the tables are the same."""
    network = awkward(single=False)
    write_network(network, path)
    bn = pyagrum.loadBN(str(path))
    spelled = dict(shapes_of(network))
    assert set(bn.names()) == {shape.name for shape in spelled.values()}
    for node in nodes_of(network):
        assert bn.variable(node.name).labels() == node.states
        given = sorted(node.parents)
        table = node.table.transpose([*(node.parents.index(p) for p in given), -1])
        assert_close(agrum_table(bn, node.name), (tuple(given), table), 1e-7)
