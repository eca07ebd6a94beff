"""Slow and obvious versions of what the package computes, and exact comparisons of networks."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest

from naivete._kernels.dispatch import loaded
from naivete.cases import Block, MemoryCases
from naivete.counts.counts import Counts
from naivete.inference.predictor import Predictor
from naivete.network.compressed_rows import CompressedRows
from naivete.network.conditional_tables import SparseCpt
from naivete.network.densities import Normal
from naivete.network.derived_columns import Hidden, Hierarchy, Tree
from naivete.network.estimation import estimate
from naivete.network.network import Network
from naivete.variables import CLASS, Variable, Variables

COMPILED = loaded() is not None
tiers = pytest.mark.parametrize(
    "tier",
    ["numpy", pytest.param("c", marks=pytest.mark.skipif(not COMPILED, reason="the kernels were not compiled"))],
)
"""A test in both tiers; that of C is skipped where there was no compiler."""


def missing(column: np.ndarray) -> np.ndarray:
    return column == np.iinfo(column.dtype).max


def rows_of(block: Block) -> Iterator[tuple[list[int | None], Fraction]]:
    """Every row as a list of codes, None where missing, and its exact weight."""
    has_missing = [missing(c) for c in block.codes]
    for i in range(len(block)):
        weight = Fraction(1) if block.weight is None else Fraction(float(block.weight[i]))
        yield [None if gap[i] else int(c[i]) for c, gap in zip(block.codes, has_missing, strict=True)], weight


def counted(block: Block, members: Sequence[int], cards: Sequence[int]) -> np.ndarray:
    """The counts of a family as exact fractions, by a dictionary."""
    found: dict[tuple[int, ...], Fraction] = {}
    for row, weight in rows_of(block):
        cell = tuple(row[m] for m in members)
        if None not in cell:
            found[cell] = found.get(cell, Fraction(0)) + weight
    table = np.full(tuple(cards), Fraction(0), object)
    for cell, weight in found.items():
        table[cell] = weight
    return table


def exact_entropy(table: np.ndarray) -> mpmath.mpf:
    """H in bits, with 50 digits."""
    with mpmath.workdps(50):
        cells = [Fraction(n) for n in np.asarray(table).ravel().tolist() if n]
        total = sum(cells, Fraction(0))
        shares = [mpmath.mpf(n.numerator * total.denominator) / (n.denominator * total.numerator) for n in cells]
        return -mpmath.fsum(p * mpmath.log(p, 2) for p in shares)


def exact_information(table: np.ndarray) -> float:
    """I(X; Y | Z) in bits of counts with the axes X, Y, Z: H(X,Z) + H(Y,Z) - H(X,Y,Z) - H(Z)."""
    with mpmath.workdps(50):
        sums = [table.sum(axis=1), table.sum(axis=0), table, table.sum(axis=(0, 1))]
        a, b, c, d = map(exact_entropy, sums)
        return float(a + b - c - d)


def probability(network: Network, v: int, row: Sequence[int]) -> float:
    """P(v | parents) in the cell of a complete row, the class last."""
    cpt = network.cpts[v]
    if not isinstance(cpt, SparseCpt):
        return float(cpt[tuple(row[m] for m in network.family(v))])
    return _sparse_probability(cpt, row, row[v], row[CLASS] if CLASS in network.parents[v] else 0)


def _sparse_probability(cpt: Any, row: Sequence[int], state: int, c: int) -> float:
    if not isinstance(cpt, SparseCpt):
        return float(cpt[state, c])
    wanted = [row[p] for p in cpt.parents]
    at = [i for i, known in enumerate(cpt.configurations.tolist()) if known == wanted]
    if not at:
        return _sparse_probability(cpt.default, row, state, c)
    if not isinstance(cpt.rows, CompressedRows):
        return float(cpt.rows[at[0], state, c])
    first, last = cpt.rows.starts[at[0]], cpt.rows.starts[at[0] + 1]
    entry = [e for e in range(first, last) if cpt.rows.states[e] == state]
    if entry:
        return float(cpt.rows.values[entry[0], c])
    return float(cpt.rows.factors[at[0], c] * _sparse_probability(cpt.default, row, state, c))


def joint(network: Network, row: Sequence[int | None]) -> list[Fraction]:
    """P(known values, class) for every class, exactly, by summing over every completion of the row (without its class)."""
    spaces = [range(v.card) if code is None else [code] for v, code in zip(network.variables[:-1], row, strict=True)]
    answers = []
    for c in range(network.variables[CLASS].card):
        total = Fraction(0)
        for full in product(*spaces):
            terms = (Fraction(probability(network, v, (*full, c))) for v in network.order)
            total += reduce(lambda a, b: a * b, terms, Fraction(1))
        answers.append(total)
    return answers


def posterior(network: Network, row: Sequence[int | None]) -> list[float] | None:
    """P(class | known values) by enumeration; None where they are impossible."""
    weights = joint(network, row)
    total = sum(weights)
    return [float(w / total) for w in weights] if total else None


def labelled_trees(n: int) -> Iterator[list[tuple[int, int]]]:
    """Every tree over n labelled nodes as its edges, from its Pruefer code."""
    if n < 2:
        yield []
        return
    for code in product(range(n), repeat=n - 2):
        degree = [1 + code.count(v) for v in range(n)]
        edges = []
        for v in code:
            leaf = degree.index(1)
            edges.append((leaf, v))
            degree[leaf] -= 1
            degree[v] -= 1
        last = [v for v in range(n) if degree[v] == 1]
        yield [*edges, (last[0], last[1])]


def slow_kdb(relevant: Sequence[float], dependent: np.ndarray, cards: Sequence[int], k: int, theta: float) -> dict[int, list[int]]:
    """The feature parents of every feature, word for word: by decreasing I(X; C), the k earlier ones with most I(X; Y | C)."""
    placed: list[int] = []
    parents: dict[int, list[int]] = {}
    for x in sorted(range(len(cards)), key=lambda x: (-relevant[x], x)):
        ranked = sorted((y for y in placed if cards[y] > 1), key=lambda y: (-dependent[x, y], y)) if cards[x] > 1 else []
        parents[x] = [y for y in ranked[:k] if dependent[x, y] > theta]
        placed.append(x)
    return parents


def slow_mdl(values: Sequence[float], table: Sequence[Sequence[float]]) -> list[float]:
    """Fayyad and Irani by recursion over lists: (distinct values, weights of the classes at each)."""

    def sums(part: Sequence[Sequence[float]]) -> list[float]:
        return [math.fsum(column) for column in zip(*part, strict=True)]

    def entropy(n: Sequence[float]) -> float:
        return -math.fsum(c / math.fsum(n) * math.log2(c / math.fsum(n)) for c in n if c > 0)

    whole = sums(table) if len(table) else []
    total = math.fsum(whole)
    if len(values) < 2 or total <= 1:
        return []

    def expected(i: int) -> float:
        return math.fsum(math.fsum(sums(part)) * entropy(sums(part)) for part in (table[:i], table[i:])) / total

    best = min(range(1, len(values)), key=lambda i: (round(expected(i), 12), i))
    sides = [whole, sums(table[:best]), sums(table[best:])]
    k, k1, k2 = (sum(c > 0 for c in side) for side in sides)
    h, h1, h2 = map(entropy, sides)
    cost = (math.log2(total - 1) + math.log2(3**k - 2) - k * h + k1 * h1 + k2 * h2) / total
    if h - expected(best) <= max(cost, 1e-13):
        return []
    cut = (values[best - 1] + values[best]) / 2
    return [*slow_mdl(values[:best], table[:best]), cut, *slow_mdl(values[best:], table[best:])]


def weight_left_out(weight: np.ndarray) -> np.ndarray:
    """What is left out of every row: one case where all weights are whole numbers, else its whole weight."""
    return weight.copy() if (weight % 1).any() else np.minimum(weight, 1.0)


def without_one(cases: MemoryCases, row: int) -> MemoryCases:
    """The cases without one case of this row."""
    block = cases.block
    weight = np.ones(len(block)) if block.weight is None else block.weight.copy()
    weight[row] -= weight_left_out(weight)[row]
    keep = np.flatnonzero(weight > 0)
    left = Block(tuple(c[keep] for c in block.codes), None if block.weight is None else weight[keep])
    return MemoryCases(cases.variables, left, cases.has_missing)


def honest_leave_one_out(cases: MemoryCases, structure: Any, smoothing: object, prior: Any = None) -> np.ndarray:
    """P(class | row) of every row from a network that was estimated without it.  # (row, class)"""
    answers = []
    for row in range(len(cases.block)):
        network = estimate(Counts(without_one(cases, row)), structure, smoothing, prior=prior)
        codes = tuple(c[row : row + 1] for c in cases.block.codes[:-1])
        has_missing = np.array([missing(c).any() for c in codes], bool)
        answers.append(Predictor(network).posterior(codes, has_missing)[0][0])
    return np.array(answers)


def observed_structure(cases: MemoryCases, structure: Any, row: int) -> dict[int, tuple[int, ...]]:
    """The structure in which each feature has only the parents before the first one that is missing in a row."""
    absent = {x for x, column in enumerate(cases.block.codes[:-1]) if missing(column[row : row + 1])[0]}
    first = {v: next((i for i, p in enumerate(parents) if p in absent), len(parents)) for v, parents in structure.items()}
    return {v: parents if first[v] == len(parents) else (*parents[: first[v]], CLASS) for v, parents in structure.items()}


@dataclass(frozen=True, eq=False)
class ChunkedCases:
    """A back end for tests: the rows in several blocks, folded in any order."""

    variables: Variables
    blocks: tuple[Block, ...]
    has_missing: np.ndarray
    order: tuple[int, ...]

    def map(self, function: Callable[[Block], Any]) -> Iterable[Any]:
        """The function's value for every block, in the order of the rows."""
        return (function(block) for block in self.blocks)

    def fold(self, function: Callable[[Block], Any], merge: Callable[[Any, Any], Any]) -> Any:
        """The values for all blocks, merged in a random order."""
        return reduce(merge, [function(self.blocks[i]) for i in self.order])


def chunked(cases: MemoryCases, rng: np.random.Generator, count: int = 4) -> ChunkedCases:
    """The same rows in up to `count` blocks, empty ones among them."""
    rows = len(cases.block)
    cuts = np.sort(rng.integers(0, rows + 1, count - 1))
    blocks = tuple(cases.block.take(part) for part in np.split(np.arange(rows), cuts))
    return ChunkedCases(cases.variables, blocks, cases.has_missing, tuple(rng.permutation(count).tolist()))


def cases_of(cards: Sequence[int], columns: Sequence[Sequence[int]], weight: Sequence[float] | None = None) -> MemoryCases:
    """Cases with so many states each, the class last; -1 is missing."""
    variables = tuple(Variable(f"x{i}", tuple(range(card))) for i, card in enumerate(cards))
    codes = tuple(np.array(column, np.int64).astype(np.uint8) for column in columns)
    has_missing = np.array([missing(c).any() for c in codes[:-1]], bool)
    return MemoryCases(variables, Block(codes, None if weight is None else np.array(weight, np.float64)), has_missing)


def identical(one: Any, two: Any) -> bool:
    """Whether two networks, tables or arrays are the same to the last bit."""
    if isinstance(one, Network):
        return (
            one.variables == two.variables
            and dict(one.parents) == dict(two.parents)
            and set(one.cpts) == set(two.cpts)
            and all(identical(one.cpts[v], two.cpts[v]) for v in one.cpts)
            and set(one.derived) == set(two.derived)
            and all(identical(one.derived[v], two.derived[v]) for v in one.derived)
            and set(one.densities) == set(two.densities)
            and all(identical(one.densities[v], two.densities[v]) for v in one.densities)
        )
    if isinstance(one, (Hidden, Tree, Hierarchy, Normal, CompressedRows)):
        return type(one) is type(two) and all(
            identical(getattr(one, f.name), getattr(two, f.name)) for f in dataclasses.fields(one)
        )
    if isinstance(one, SparseCpt):
        fields = ("configurations", "rows", "default")
        return (
            isinstance(two, SparseCpt)
            and one.parents == two.parents
            and all(identical(getattr(one, f), getattr(two, f)) for f in fields)
        )
    a, b = np.asarray(one), np.asarray(two)
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def many_threads(patch: pytest.MonkeyPatch, count: int = 5) -> None:
    """Make the kernels use so many threads for jobs of any size."""
    patch.setenv("NAIVETE_THREADS", str(count))
    for name, own in list(sys.modules.items()):
        if name.startswith("naivete._kernels") and hasattr(own, "SERIAL"):
            patch.setattr(own, "SERIAL", 0)
