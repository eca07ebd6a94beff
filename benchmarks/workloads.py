"""The tables to learn from: seven workloads, from 3,000 x 36 to 10,000,000 x 20, generated where they are not found.

Nominal tables are drawn from a random k-dependence network: every feature has the class and up to k earlier features as parents,
and its conditional table mixes a draw that is blind to the class with one of each class, so that no feature gives the class away.
The sparse table is a bag of words: topics that belong to classes lift the frequencies of some words.

A workload W in a folder: W.json (at least m, m_test, n, v, c: rows, test rows, features, states, classes), and row-major bytes in
W.xtr.u8, W.ytr.u8, W.xte.u8, W.yte.u8.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

SEED = 1996
REACH = 50  # parents are at most so many places earlier, which bounds the length of chains


@dataclass(frozen=True)
class Spec:
    """What a workload is generated from; `parents` is None for the bag of words."""

    rows: int
    test_rows: int
    features: int
    states: int
    classes: int
    parents: int | None
    signal: float = 0.0
    concentration: float = 0.5


SPECS = {
    "W1": Spec(3_000, 1_000, 36, 2, 2, parents=2, signal=0.30),
    "W2": Spec(100_000, 25_000, 40, 5, 5, parents=2, signal=0.25),
    "W3": Spec(1_000_000, 100_000, 30, 4, 3, parents=2, signal=0.22),
    "W4": Spec(5_000, 2_000, 2_000, 2, 2, parents=1, signal=0.05),
    "W5": Spec(10_000, 2_500, 5_000, 2, 3, parents=None),
    "W6": Spec(200_000, 50_000, 20, 100, 2, parents=1, signal=0.15, concentration=0.1),
    "W7": Spec(10_000_000, 100_000, 20, 4, 2, parents=2, signal=0.22),
}


@dataclass(frozen=True, eq=False)
class Workload:
    """A table of codes with its classes, and rows to predict."""

    name: str
    states: int
    classes: int
    X: Bytes
    y: Bytes
    X_test: Bytes
    y_test: Bytes


def ensure(name: str, folder: Path, spec: Spec | None = None) -> None:
    """Generate the workload unless the folder has it."""
    if (folder / f"{name}.json").exists():
        return
    spec = spec or SPECS[name]
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng([SEED, *name.encode()])
    m = spec.rows
    X, y = words(rng, spec) if spec.parents is None else drawn(rng, spec)
    for part, rows in (("tr", slice(0, m)), ("te", slice(m, None))):
        X[rows].tofile(folder / f"{name}.x{part}.u8")
        y[rows].tofile(folder / f"{name}.y{part}.u8")
    facts = {
        "name": name,
        "m": m,
        "m_test": spec.test_rows,
        "n": spec.features,
        "v": spec.states,
        "c": spec.classes,
        "seed": SEED,
    }
    (folder / f"{name}.json").write_text(json.dumps(facts))


def facts(name: str, folder: Path) -> dict[str, int]:
    """Rows m, features n, states v and classes c of a workload."""
    found: dict[str, int] = json.loads((folder / f"{name}.json").read_text())
    return found


def load(name: str, folder: Path) -> Workload:
    """The workload, in memory."""
    about = facts(name, folder)

    def read(what: str) -> Bytes:
        return np.fromfile(folder / f"{name}.{what}.u8", np.uint8)

    X, X_test = (read(part).reshape(-1, about["n"]) for part in ("xtr", "xte"))
    return Workload(name, about["v"], about["c"], X, read("ytr"), X_test, read("yte"))


def random_structure(rng: np.random.Generator, features: int, parents: int) -> dict[int, list[int]]:
    """The parents of every feature, in an order in which parents come first."""
    order = rng.permutation(features).tolist()
    return {
        x: rng.choice(order[max(0, at - REACH) : at], min(parents, at), replace=False).tolist() if at else []
        for at, x in enumerate(order)
    }


def random_table(rng: np.random.Generator, spec: Spec, parents: int) -> NDArray[np.float64]:
    """Cumulative P(x | class, parents), plus the number of the configuration: increasing in one piece.  # (configuration * x)"""
    configurations = spec.states**parents
    shape = np.full(spec.states, spec.concentration)
    blind, telling = rng.dirichlet(shape, configurations), rng.dirichlet(shape, (spec.classes, configurations))
    cumulative = np.cumsum((1 - spec.signal) * blind + spec.signal * telling, axis=2).reshape(-1, spec.states)
    cumulative[:, -1] = 1.0
    return (cumulative + np.arange(len(cumulative))[:, None]).ravel()


def drawn(rng: np.random.Generator, spec: Spec, chunk: int = 250_000) -> tuple[Bytes, Bytes]:
    """Rows of a random network, train and test together."""
    assert spec.parents is not None
    rows = spec.rows + spec.test_rows
    structure = random_structure(rng, spec.features, spec.parents)
    tables = {x: random_table(rng, spec, len(parents)) for x, parents in structure.items()}
    y = rng.choice(spec.classes, rows, p=rng.dirichlet(np.full(spec.classes, 20.0))).astype(np.uint8)
    X = np.empty((rows, spec.features), np.uint8)
    for lo in range(0, rows, chunk):
        X[lo : lo + chunk] = sampled(rng, y[lo : lo + chunk], structure, tables, spec.states).T
    return X, y


def sampled(
    rng: np.random.Generator, y: Bytes, structure: dict[int, list[int]], tables: dict[int, NDArray[np.float64]], states: int
) -> Bytes:
    """Ancestral sampling, feature by feature.  # (feature, row)"""
    columns = np.empty((len(structure), len(y)), np.uint8)
    for x, parents in structure.items():
        configuration = y.astype(np.int64)
        for parent in parents:
            configuration = configuration * states + columns[parent]
        at = np.searchsorted(tables[x], configuration + rng.random(len(y)), side="right") - configuration * states
        columns[x] = np.minimum(at, states - 1)
    return columns


def words(rng: np.random.Generator, spec: Spec, topics: int = 6, density: float = 0.01) -> tuple[Bytes, Bytes]:
    """Which words occur in which text; every class has its topics, and three in a hundred texts are of another class."""
    rows, n = spec.rows + spec.test_rows, spec.features
    topic = rng.integers(0, topics * spec.classes, rows)
    y = topic // topics
    X = np.zeros((rows, n), np.uint8)
    common = 1 / np.arange(10, n + 10)
    for t in range(topics * spec.classes):
        lifted = common * np.where(rng.random(n) < 0.03, rng.uniform(2, 8, n), 1.0)
        texts = np.flatnonzero(topic == t)
        lengths = rng.poisson(1.12 * density * n, len(texts))
        X[np.repeat(texts, lengths), rng.choice(n, lengths.sum(), p=lifted / lifted.sum())] = 1
    strays = np.flatnonzero(rng.random(rows) < 0.03)
    y[strays] = rng.integers(0, spec.classes, len(strays))
    return X, y.astype(np.uint8)


def uniform(rows: int, features: int, states: int, classes: int) -> tuple[Bytes, Bytes]:
    """Rows without any structure, for which only the sizes matter: the growth of the costs is measured on them."""
    rng = np.random.default_rng([SEED, rows, features, states, classes])
    X = rng.integers(0, states, (rows, features), dtype=np.uint8)
    X[:states] = np.arange(states, dtype=np.uint8)[:, None]  # every state occurs
    return X, (np.arange(rows) % classes).astype(np.uint8)


def smallest_first(names: Iterable[str], folder: Path) -> list[str]:
    """The workloads by the number of updates that counting all pairs would take, one row and pair at a time."""

    def updates(name: str) -> int:
        about = facts(name, folder)
        return about["m"] * about["n"] ** 2

    return sorted(names, key=updates)
