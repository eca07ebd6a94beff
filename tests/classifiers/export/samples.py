"""Random models with rows, their probabilities in the library, and models with hostile names, for the tests of all formats."""

from __future__ import annotations

import math
import warnings
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from naivete import (
    C45,
    ID3,
    KDB,
    TAN,
    Encoder,
    HiddenNaive,
    HillClimb,
    JoinedNaive,
    KNaive,
    Majority,
    NaiveBayes,
    Network,
    Recursive,
)
from naivete._kernels.codes import missing, missing_code, narrowest
from naivete.classifiers.base import NetworkClassifier
from naivete.inference.derived_predictor import predictor_of
from naivete.variables import Variable
from tests.strategies import dense_table, deriving_networks, networks

HOSTILE = (
    "'; DROP TABLE data; --",
    '"; import os; os.abort(); "',
    "a\"\"\"'''\\",
    "*/ int x; /*",
    "??/",
    "??)??'",
    "new\nline\r\u2028#",
    "%s{0}{{}}\\n\\",
    "\U0001f600\u202eabc\ud7ff\ue000",
    "coding: utf-7",
    "-- \\N\t?",
)
"""Names and values that end literals or comments, continue lines, or look like escapes in some language."""


class Sample(NamedTuple):
    """A model, rows as dictionaries, and the probabilities of the classes in the library."""

    model: Network | NetworkClassifier
    rows: list[dict[Any, Any]]
    expected: np.ndarray
    complete: np.ndarray
    """Which rows have no missing value, so that all arithmetic is additions in a fixed order."""


def random_value(variable: Variable, rng: np.random.Generator) -> tuple[Any, int]:
    """A value of a column, and its code; -1 where it is treated as missing."""
    chance = rng.random()
    if chance < 0.2:
        value = [None, float("nan"), ""][rng.integers(3)]
        return value, variable.known if variable.missing else -1
    if variable.cuts is not None:
        near = [math.nextafter(cut, -math.inf) for cut in variable.cuts] + [math.nextafter(cut, math.inf) for cut in variable.cuts]
        values = [v for v in (*variable.cuts, *near, 0.0, -1.5) if np.isfinite(v)]
        value = float(values[rng.integers(len(values))])
        return value, int(np.searchsorted(np.array(variable.cuts), value, side="left"))
    usable = [i for i, s in enumerate(variable.states) if s != "" and not (isinstance(s, float) and np.isinf(s))]
    if chance < 0.3 or not usable:
        return "never seen", -1
    code = int(usable[rng.integers(len(usable))])
    return variable.states[code], code


def network_sample(network: Network, seed: int, count: int = 12) -> Sample:
    """Rows of a network with missing values and values that are no states."""
    rng = np.random.default_rng(seed)
    drawn = [[random_value(variable, rng) for variable in network.columns] for _ in range(count)]
    columns = []
    for x, variable in enumerate(network.columns):
        dtype = narrowest(variable.card)
        columns.append(np.array([missing_code(dtype) if row[x][1] < 0 else row[x][1] for row in drawn], dtype))
    has_missing = np.array([missing(column).any() for column in columns], bool)
    expected, _ = predictor_of(network).posterior(columns, has_missing)
    complete = ~np.logical_or.reduce([missing(column) for column in columns])
    rows = [{v.name: value for v, (value, _) in zip(network.columns, row, strict=True)} for row in drawn]
    return Sample(network, rows, expected, complete)


any_network = st.one_of(
    networks(class_parent=True, any_names=True),
    networks(sparse=True, any_names=True),
    networks(max_features=6, max_parents=3, max_card=3),
    deriving_networks(),
).filter(lambda network: len(network.inputs) > 0)
"""Networks of all kinds: with any names, sparse tables, zeros, features that do not depend on the class, and derived columns."""


def one_state_network(seed: int) -> Network:
    """A random network in which half of the features have a single state; features have up to two others as parents."""
    rng = np.random.default_rng(seed)
    cards = [*rng.choice([1, 1, 2, 3], 5).tolist(), 2]
    variables = tuple(Variable(name, tuple("xyz"[:card])) for name, card in zip("abcdef", cards, strict=True))
    parents: dict[int, tuple[int, ...]] = {-1: ()}
    for x in range(5):
        chosen = sorted(rng.choice(x, min(x, int(rng.integers(0, 3))), replace=False).tolist())
        parents[x] = (*chosen, *((-1,) if rng.random() < 0.7 else ()))
    return Network(variables, parents, {v: dense_table(variables, v, p, rng) for v, p in parents.items()})


one_state_networks = st.integers(0, 1_000_000).map(one_state_network)


def one_state_sample() -> Sample:
    """A chain a -> b -> c in which b has one state, with every pattern of missing values."""
    rng = np.random.default_rng(3)
    variables = tuple(Variable(name, tuple("xyz"[:card])) for name, card in zip("abcd", (3, 1, 2, 2), strict=True))
    parents: dict[int, tuple[int, ...]] = {0: (-1,), 1: (0, -1), 2: (1, -1), -1: ()}
    cpts = {v: dense_table(variables, v, p, rng) for v, p in parents.items()}
    network = Network(variables, parents, cpts)
    rows = [dict(zip("abc", row, strict=True)) for row in product((None, "x", "z"), (None, "x"), (None, "y"))]
    codes = [np.array([255 if row[name] is None else "xyz".index(row[name]) for row in rows], np.uint8) for name in "abc"]
    expected, _ = predictor_of(network).posterior(codes, np.ones(3, bool))
    return Sample(network, rows, expected, np.array([None not in row.values() for row in rows]))


def frame(rows: int = 240, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Dependent columns of all types, some values missing, and labels."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 3, rows)
    text = (label + rng.integers(0, 2, rows)) % 3
    whole = (text + rng.integers(0, 2, rows)) % 4
    X = pd.DataFrame(
        {
            "text": np.array(["low", "middle", "it's high"])[text],
            "whole": whole,
            "truth": rng.random(rows) < 0.3 + 0.2 * label,
            "number": rng.normal(label, 1.0),
            "other": rng.normal(whole, 0.5) + 1000.0,
        }
    )
    for name in ("text", "whole", "truth"):
        X[name] = X[name].astype(object).where(rng.random(rows) > 0.15, None)
    for name in ("number", "other"):
        X[name] = X[name].where(rng.random(rows) > 0.15)
    return X, np.array(["no", "yes", "maybe"])[label]


def classifiers() -> dict[str, NetworkClassifier]:
    """One classifier of each kind, unfitted, by name."""
    return {
        "naive": NaiveBayes(),
        "unsmoothed": NaiveBayes(smoothing=0.0),
        "majority": Majority(),
        "tan": TAN(),
        "kdb": KDB(k=2, theta=-np.inf),
        "calibrated": TAN(calibration="leave-one-out"),
        "unsmoothed tan": TAN(smoothing=0.0),
        "climbed": HillClimb(),
        "joined": JoinedNaive(),
        "k-naive": KNaive(),
        "normal": NaiveBayes(encoder=Encoder(numbers="normal")),
        "linked": TAN(encoder=Encoder(numbers="normal")),
        "state": KDB(k=1, theta=-np.inf, encoder=Encoder(missing="state", unseen="smooth")),
        "tree": C45(),
        "tree with one leaf": C45(max_depth=0),
        "id3": ID3(),
        "recursive": Recursive(),
        "hidden": HiddenNaive(),
    }


@cache
def fitted(name: str) -> NetworkClassifier:
    return classifiers()[name].fit(*frame())


@cache
def sample(name: str) -> Sample:
    """A fitted classifier with rows that have missing values and values that did not occur in training."""
    model = fitted(name)
    X, _ = frame(80, seed=1)
    X.loc[3, "text"], X.loc[4, "whole"] = "never seen", 17
    X.iloc[5:8] = None
    complete = X.notna().all(axis=1).to_numpy() & (np.arange(len(X)) != 3) & (np.arange(len(X)) != 4)
    with warnings.catch_warnings(action="ignore"):
        expected = model.predict_proba(X)
    return Sample(model, X.to_dict("records"), expected, complete)


@cache
def hostile_model(name: str = "tan") -> Sample:
    """A model whose columns, values and labels are hostile texts."""
    rng = np.random.default_rng(2)
    labels = rng.integers(0, len(HOSTILE), 300)
    columns = {HOSTILE[i]: (labels * (i + 1) + rng.integers(0, 3, 300)) % len(HOSTILE) for i in range(len(HOSTILE) - 1)}
    columns = {column: np.array(HOSTILE, object)[codes] for column, codes in columns.items()}
    X = pd.DataFrame({**columns, HOSTILE[-1]: rng.normal(labels, 1.0)})
    y = pd.Series(np.array(HOSTILE, object)[labels], name="*/ \\")
    kinds = dict.fromkeys(list(columns), "nominal")
    model = classifiers()[name].set_params(encoder=Encoder(kinds=kinds)).fit(X, y)
    return Sample(model, X.head(40).to_dict("records"), model.predict_proba(X.head(40)), np.ones(40, bool))
