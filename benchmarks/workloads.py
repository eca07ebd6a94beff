"""The tables to learn from: seven workloads, from 3,000 x 36 to 10,000,000 x 20, generated if they do not exist.

Nominal tables are sampled from a random k-dependence network: every feature has the class and up to k earlier features as parents,
and its conditional table is a mixture of one random table that is independent of the class and one for each class, so that no
single feature determines the class. The sparse table is a bag of words: topics that belong to classes increase the frequencies of
some words.

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
REACH = 50  # the largest distance of a parent in the order of the features


@dataclass(frozen=True)
class Spec:
    """The parameters of a generated workload; `parents` is None for the bag of words."""

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
    """Generate the workload unless it exists in the folder."""
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
    """Return the rows m, features n, states v and classes c of a workload."""
    sizes: dict[str, int] = json.loads((folder / f"{name}.json").read_text())
    return sizes


def load(name: str, folder: Path) -> Workload:
    """Read a workload into memory."""
    about = facts(name, folder)

    def read(part: str) -> Bytes:
        return np.fromfile(folder / f"{name}.{part}.u8", np.uint8)

    X, X_test = (read(part).reshape(-1, about["n"]) for part in ("xtr", "xte"))
    return Workload(name, about["v"], about["c"], X, read("ytr"), X_test, read("yte"))


def random_structure(rng: np.random.Generator, features: int, parents: int) -> dict[int, list[int]]:
    """Return the parents of every feature, in an order in which parents come first."""
    order = rng.permutation(features).tolist()
    return {
        x: rng.choice(order[max(0, i - REACH) : i], min(parents, i), replace=False).tolist() if i else []
        for i, x in enumerate(order)
    }


def random_table(rng: np.random.Generator, spec: Spec, parents: int) -> NDArray[np.float64]:
    """Return the cumulative P(x | class, parents) plus the number of the configuration, one increasing array.

    # (configuration * x)
    """
    configurations = spec.states**parents
    shape = np.full(spec.states, spec.concentration)
    independent, informative = rng.dirichlet(shape, configurations), rng.dirichlet(shape, (spec.classes, configurations))
    cumulative = np.cumsum((1 - spec.signal) * independent + spec.signal * informative, axis=2).reshape(-1, spec.states)
    cumulative[:, -1] = 1.0
    return (cumulative + np.arange(len(cumulative))[:, None]).ravel()


def drawn(rng: np.random.Generator, spec: Spec, chunk: int = 250_000) -> tuple[Bytes, Bytes]:
    """Sample training and test rows of a random network."""
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
    """Return rows by ancestral sampling, feature by feature.  # (feature, row)"""
    columns = np.empty((len(structure), len(y)), np.uint8)
    for x, parents in structure.items():
        configuration = y.astype(np.int64)
        for parent in parents:
            configuration = configuration * states + columns[parent]
        state = np.searchsorted(tables[x], configuration + rng.random(len(y)), side="right") - configuration * states
        columns[x] = np.minimum(state, states - 1)
    return columns


def words(rng: np.random.Generator, spec: Spec, topics: int = 6, density: float = 0.01) -> tuple[Bytes, Bytes]:
    """Return which words occur in which text; every class has its topics, and three percent of the labels are random."""
    rows, n = spec.rows + spec.test_rows, spec.features
    topic = rng.integers(0, topics * spec.classes, rows)
    y = topic // topics
    X = np.zeros((rows, n), np.uint8)
    common = 1 / np.arange(10, n + 10)
    for t in range(topics * spec.classes):
        frequency = common * np.where(rng.random(n) < 0.03, rng.uniform(2, 8, n), 1.0)
        texts = np.flatnonzero(topic == t)
        lengths = rng.poisson(1.12 * density * n, len(texts))
        X[np.repeat(texts, lengths), rng.choice(n, lengths.sum(), p=frequency / frequency.sum())] = 1
    mislabeled = np.flatnonzero(rng.random(rows) < 0.03)
    y[mislabeled] = rng.integers(0, spec.classes, len(mislabeled))
    return X, y.astype(np.uint8)


def uniform(rows: int, features: int, states: int, classes: int) -> tuple[Bytes, Bytes]:
    """Return rows of independent features, on which the growth of the costs is measured."""
    rng = np.random.default_rng([SEED, rows, features, states, classes])
    X = rng.integers(0, states, (rows, features), dtype=np.uint8)
    X[:states] = np.arange(states, dtype=np.uint8)[:, None]  # every state occurs
    return X, (np.arange(rows) % classes).astype(np.uint8)


def smallest_first(names: Iterable[str], folder: Path) -> list[str]:
    """Return the workloads in increasing order of rows times squared features, the cost of counting all pairs."""

    def updates(name: str) -> int:
        about = facts(name, folder)
        return about["m"] * about["n"] ** 2

    return sorted(names, key=updates)
