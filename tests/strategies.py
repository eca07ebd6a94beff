"""Random variables, structures and networks, small enough to enumerate."""

from __future__ import annotations

import string
from typing import Any

import numpy as np
from hypothesis import strategies as st

from naivete.cases import Block, MemoryCases
from naivete.network.compressed_rows import CompressedRows
from naivete.network.conditional_tables import Cpt, SparseCpt
from naivete.network.derived_columns import Derived, Hidden, Hierarchy, Tree
from naivete.network.network import Network
from naivete.variables import CLASS, Variable, family

names = st.one_of(
    st.none(),
    st.text(max_size=8),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False),
)
"""Names of columns, of all types they may have."""

states = st.one_of(st.text(max_size=4), st.integers(-3, 2**65), st.booleans(), st.floats(allow_nan=False))
"""Values of nominal columns."""

plain = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(10**79), 10**79), st.floats(allow_nan=False), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=6), inner, max_size=4)),
    max_leaves=10,
)
"""Parameters and notes."""


def same_state(state: Any) -> tuple[bool, Any]:
    """What makes two states the same: 1 and 1.0 are, 1 and True are not."""
    return isinstance(state, bool), state


@st.composite
def variables(draw: st.DrawFn, name: Any = None, *, max_card: int = 4, any_names: bool = False) -> Variable:
    """A nominal or numeric variable with 1 to `max_card` states, "missing" and "never seen" perhaps among them."""
    label = draw(names) if any_names else name
    missing = draw(st.booleans()) and max_card > 1
    other = draw(st.booleans()) and max_card > 1 + missing
    room = max_card - missing - other
    if draw(st.booleans()):
        cuts = draw(st.lists(st.floats(allow_nan=False), max_size=room - 1, unique=True))
        return Variable(label, cuts=tuple(sorted(cuts)), missing=missing, other=other)
    values = draw(st.lists(states, min_size=1, max_size=room, unique_by=same_state))
    return Variable(label, states=tuple(values), missing=missing, other=other)


@st.composite
def structures(
    draw: st.DrawFn, features: int, *, max_parents: int = 2, class_parent: bool | None = None
) -> dict[int, tuple[int, ...]]:
    """A random acyclic structure with the class as a root; every feature has it as a parent, or each as it falls."""
    order = draw(st.permutations(range(features)))
    parents: dict[int, tuple[int, ...]] = {CLASS: ()}
    for place, x in enumerate(order):
        chosen = draw(st.lists(st.sampled_from(order[:place]), max_size=max_parents, unique=True)) if place else []
        with_class = draw(st.booleans()) if class_parent is None else class_parent
        parents[x] = (*chosen, CLASS) if with_class else tuple(chosen)
    return parents


@st.composite
def networks(
    draw: st.DrawFn,
    *,
    max_features: int = 4,
    max_card: int = 4,
    max_parents: int = 2,
    class_parent: bool | None = None,
    sparse: bool = False,
    any_names: bool = False,
) -> Network:
    """A random network with the class as its root, zeros among its probabilities, and sparse tables where asked for."""
    features = draw(st.integers(0, max_features))
    labels = draw(st.lists(names, min_size=features + 1, max_size=features + 1, unique=True)) if any_names else None
    called = labels or [string.ascii_lowercase[i] for i in range(features)] + ["class"]
    schema = tuple(draw(variables(name, max_card=max_card)) for name in called)
    parents = draw(structures(features, max_parents=max_parents, class_parent=class_parent))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cpts: dict[int, Cpt] = {}
    for v, p in parents.items():
        spread = sparse and any(q != CLASS for q in p) and draw(st.booleans())
        cpts[v] = sparse_table(schema, v, p, rng) if spread else dense_table(schema, v, p, rng)
    return Network(schema, parents, cpts)


@st.composite
def deriving_networks(draw: st.DrawFn, *, max_card: int = 3) -> Network:
    """A random network with hidden columns, with the leaf of a tree, or with the cell of a hierarchy of classifiers."""
    features, kind = draw(st.integers(1, 4)), draw(st.sampled_from(["hidden", "tree", "cells"]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    inputs = tuple(draw(variables(string.ascii_lowercase[i], max_card=max_card)) for i in range(features))
    target = draw(variables("class", max_card=max_card))
    if kind == "hidden":
        count = draw(st.integers(1, 2))
        made: list[Derived] = [Hidden()] * count
        cards = rng.integers(1, 4, count).tolist()
        parents = {**dict.fromkeys(range(features, features + count), (CLASS,)), CLASS: ()}
        parents |= {x: (int(rng.integers(features, features + count)),) for x in range(features)}
    elif kind == "tree":
        tree = random_tree(rng, [v.card for v in inputs])
        made, cards = [tree], [len(tree.leaves)]
        parents = {**dict.fromkeys(range(features + 1), ()), CLASS: (features,)}
    else:
        count = draw(st.integers(1, 5))
        made, cards = [random_cells(rng, [v.card for v in inputs], target.card, count)], [count]
        parents = {**dict.fromkeys(range(features), (features, CLASS)), features: (), CLASS: (features,)}
    derived = tuple(Variable(f"derived {i}", tuple(range(card))) for i, card in enumerate(cards))
    schema = (*inputs, *derived, target)
    cpts: dict[int, Cpt] = {v: dense_table(schema, v, p, rng) for v, p in parents.items()}
    return Network(schema, parents, cpts, dict(zip(range(features, features + len(made)), made, strict=True)))


def random_tree(rng: np.random.Generator, cards: list[int], depth: int = 3) -> Tree:
    """A tree in which every node above the depth asks with probability 0.7."""
    features, starts, children, level = [-1], [0], [], [0]
    for _ in range(depth):
        below: list[int] = []
        for node in level:
            if rng.random() < 0.7:
                features[node], starts[node] = int(rng.integers(len(cards))), len(children)
                states = rng.integers(0, cards[features[node]], cards[features[node]])
                branch_of = {int(s): len(features) + i for i, s in enumerate(np.unique(states))}
                children += [branch_of[int(s)] for s in states]
                below += branch_of.values()
                features += [-1] * len(branch_of)
                starts += [0] * len(branch_of)
        level = below
    weights = rng.integers(0, 5, len(features)).astype(np.float64)
    return Tree(np.array(features), np.array(starts), np.array(children, np.int64), weights)


def random_cells(rng: np.random.Generator, cards: list[int], classes: int, count: int) -> Hierarchy:
    """A hierarchy of classifiers, some of which send rows on by a feature."""
    features = np.where(rng.random(count) < 0.3, rng.integers(len(cards), size=count), -1)
    width = max([classes, *(cards[x] for x in features.tolist() if x >= 0)])
    children = np.full((count, width), -1)
    for node in range(1, count):
        if rng.random() < 0.8:
            parent, branch = rng.integers(node), rng.integers(width)
            children[parent, branch] = node if children[parent, branch] < 0 else children[parent, branch]
    return Hierarchy(children, features)


def dense_table(own: tuple[Variable, ...], v: int, parents: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """P(v | parents), normalized over the axis of v."""
    members = family(v, *parents)
    return normalized(rng, tuple(own[m].card for m in members), members.index(v))


def sparse_table(own: tuple[Variable, ...], v: int, parents: tuple[int, ...], rng: np.random.Generator) -> SparseCpt:
    """P(v | parents) for some of the configurations of the feature parents, backing off to fewer parents or to one table."""
    features = tuple(sorted(p for p in parents if p != CLASS))
    cards = [own[p].card for p in features]
    some = np.flatnonzero(rng.random(int(np.prod(cards))) < 0.5)
    inner = (own[v].card, own[CLASS].card if CLASS in parents else 1)
    configurations = np.stack(np.unravel_index(some, cards), axis=1).astype(np.int32)
    deeper = len(features) > 1 and rng.random() < 0.5
    default = sparse_table(own, v, tuple(p for p in parents if p != features[0]), rng) if deeper else normalized(rng, inner, 0)
    table = SparseCpt(configurations, normalized(rng, (len(some), *inner), 1), default, features)
    return compressed(table, rng) if rng.random() < 0.3 else table


def compressed(table: SparseCpt, rng: np.random.Generator) -> SparseCpt:
    """A table of the same configurations in which the probabilities of some states are those of the default times a factor."""
    assert isinstance(table.rows, np.ndarray)
    count, card, classes = table.rows.shape
    listed = rng.random((count, card)) < 0.5
    row, states = np.nonzero(listed)
    starts = np.append(0, np.cumsum(listed.sum(axis=1)))
    absent = SparseCpt(table.configurations[:0], np.empty((0, card, classes)), table.default, table.parents)
    rest = (absent.at(table.configurations) * ~listed[:, :, None]).sum(axis=1)  # (configuration, class)
    stored = (table.rows * listed[:, :, None]).sum(axis=1)
    alone = ~listed.all(axis=1)[:, None] & (rest > 0)
    values = table.rows[row, states] / np.where(alone, 1.0, np.where(stored > 0, stored, 1.0))[row]
    values = np.where((~alone & (stored == 0))[row], 1 / listed.sum(axis=1)[row][:, None], values)
    factors = np.where(alone, (1 - stored) / np.where(rest > 0, rest, 1.0), 1.0)
    compressed_rows = CompressedRows(starts, states.astype(np.int32), values, np.maximum(factors, 0.0))
    return SparseCpt(table.configurations, compressed_rows, table.default, table.parents)


def normalized(rng: np.random.Generator, shape: tuple[int, ...], axis: int) -> np.ndarray:
    """Random numbers that sum to 1 along the axis, about a fifth of them zero."""
    table = rng.random(shape) * (rng.random(shape) > 0.2)
    total = table.sum(axis=axis, keepdims=True)
    return np.where(total > 0, table / np.where(total > 0, total, 1), 1 / shape[axis])


@st.composite
def some_cases(
    draw: st.DrawFn,
    *,
    features: tuple[int, int] = (1, 5),
    rows: tuple[int, int] = (1, 40),
    max_card: int = 4,
    max_classes: int = 3,
    has_missing: bool | None = None,
    weights: str | None = "any",
) -> MemoryCases:
    """Random cases in memory: dependent columns, perhaps with missing values and weights ("whole", "fractional" or None)."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, count = draw(st.integers(*features)), draw(st.integers(*rows))
    cards = [draw(st.integers(1, max_card)) for _ in range(n)] + [draw(st.integers(1, max_classes))]
    kind = draw(st.sampled_from([None, "whole", "fractional"])) if weights == "any" else weights
    hidden = rng.integers(0, 12, count)
    columns = [(hidden * int(rng.integers(1, 5)) + rng.integers(0, 3, count)) % card for card in cards]
    codes = [c.astype(np.uint8) for c in columns]
    if draw(st.booleans()) if has_missing is None else has_missing:
        for c in codes[:-1]:
            c[rng.random(count) < rng.choice([0.0, 0.3, 0.6])] = 255
    weight = {None: None, "whole": rng.integers(1, 4, count).astype(float), "fractional": rng.random(count) * 3 + 1e-3}[kind]
    variables = tuple(Variable(f"x{i}", tuple(range(card))) for i, card in enumerate(cards))
    return MemoryCases(variables, Block(tuple(codes), weight), np.array([(c == 255).any() for c in codes[:-1]], bool))


@st.composite
def frames(draw: st.DrawFn, *, min_rows: int = 2, max_rows: int = 25) -> tuple[dict[str, list[Any]], list[str]]:
    """Columns of mixed kinds by name, None where missing, and labels."""
    rows = draw(st.integers(min_rows, max_rows))
    kinds = {
        "word": st.sampled_from(["a", "b", "c"]),
        "flag": st.booleans(),
        "whole": st.integers(0, 4),
        "number": st.floats(-5, 5, width=32),
    }
    chosen = draw(st.lists(st.sampled_from(sorted(kinds)), min_size=1, max_size=4))
    columns = {}
    for i, kind in enumerate(chosen):
        rest = draw(st.lists(kinds[kind] | st.none(), min_size=rows - 1, max_size=rows - 1))
        columns[f"{kind}{i}"] = [draw(kinds[kind]), *rest]
    return columns, draw(st.lists(st.sampled_from(["no", "yes"]), min_size=rows, max_size=rows))
