"""Growing trees: ID3 and C4.5 against a slow version that keeps its rows, on every back end and however tables are counted."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import log2
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from studies.jensen_2007.models import CASES as TABLE_8_1

from naivete import _kernels
from naivete.cases import Block, MemoryCases
from naivete.counts.counts import Counts
from naivete.display.rules import tree_text
from naivete.errors import ParameterError, ResourceError
from naivete.learners.tree.c45 import c45
from naivete.learners.tree.id3 import id3
from naivete.network.derived_columns import Tree
from naivete.network.network import Network
from naivete.variables import CLASS, Variable
from tests.oracles import cases_of, chunked, identical
from tests.strategies import some_cases

quick = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
EPS = 1e-6

Row = tuple[tuple[int | None, ...], int, float]


@dataclass
class Node:
    """A node that keeps its rows."""

    rows: list[Row]
    classes: int
    feature: int | None = None
    last: int | None = None
    kids: list[Node] = field(default_factory=list)

    @property
    def dist(self) -> list[float]:
        return [sum(w for _, c, w in self.rows if c == k) for k in range(self.classes)]

    @property
    def total(self) -> float:
        return sum(self.dist)

    @property
    def wrong(self) -> float:
        return self.total - max(self.dist)

    def branch(self, code: int) -> int:
        return code if self.last is None else int(code > self.last)

    def divide(self, rows: list[Row]) -> list[list[Row]]:
        """The rows in each branch, those without the value in all of them."""
        assert self.feature is not None
        parts: list[list[Row]] = [[] for _ in self.kids]
        for row in rows:
            code = row[0][self.feature]
            if code is not None:
                parts[self.branch(code)].append(row)
        bags = [sum(w for _, _, w in part) for part in parts]
        shares = [b / sum(bags) for b in bags] if sum(bags) > 0 else [1 / len(bags)] * len(bags)
        for codes, c, w in rows:
            if codes[self.feature] is None:
                for part, share in zip(parts, shares, strict=True):
                    if share > 0:
                        part.append((codes, c, w * share))
        return parts


def xlogx(x: float) -> float:
    return x * log2(x) if x > 0 else 0.0


def measured(parts: list[list[float]], total: float) -> tuple[float, float]:
    """Gain and ratio of branches with these class weights among cases of this weight."""
    bags = [sum(p) for p in parts]
    known = sum(bags)
    before = xlogx(known) - sum(xlogx(sum(p[c] for p in parts)) for c in range(len(parts[0])))
    after = sum(xlogx(b) - sum(map(xlogx, p)) for b, p in zip(bags, parts, strict=True))
    gain = (before - after) / total if before - after >= EPS else 0.0
    split = xlogx(total) - sum(map(xlogx, bags)) - xlogx(max(total - known, 0.0))
    return gain, gain * total / split if split >= EPS else 0.0


def weighed(rows: list[Row], x: int, codes: set[int], classes: int) -> list[float]:
    return [sum(w for v, c, w in rows if v[x] in codes and c == k) for k in range(classes)]


def first_best(values: dict[Any, float]) -> Any:
    return next(key for key, value in values.items() if value >= max(values.values()) - EPS)


@dataclass(frozen=True)
class Slow:
    """Growing by the definitions."""

    variables: tuple[Variable, ...]
    least: float
    ratio: bool
    size: float
    most: int | None = None
    enough: float = 0.0

    def tests(self, node: Node) -> dict[tuple[int, int | None], tuple[float, float]]:
        """Gain and ratio of the tests that may be made, at most one for each feature."""
        found: dict[tuple[int, int | None], tuple[float, float]] = {}
        for x, variable in enumerate(self.variables[:-1]):
            if self.ratio and variable.numeric:
                found |= self.cut(node, x, variable)
                continue
            parts = [weighed(node.rows, x, {s}, node.classes) for s in range(variable.card)]
            if sum(sum(p) >= self.least - EPS for p in parts) > 1:
                found[x, None] = measured(parts, node.total)
        return found

    def cut(self, node: Node, x: int, variable: Variable) -> dict[tuple[int, int | None], tuple[float, float]]:
        codes = sorted({code for v, _, _ in node.rows if (code := v[x]) is not None})
        known = sum(w for v, _, w in node.rows if v[x] is not None)
        least = max(self.least, min(0.1 * known / node.classes, 25.0))
        sides = {}
        for i, code in enumerate(codes[:-1]):
            parts = [weighed(node.rows, x, set(own), node.classes) for own in (codes[: i + 1], codes[i + 1 :])]
            if min(map(sum, parts)) >= least - EPS:
                sides[i] = (code, parts)
        gains = {i: measured(parts, node.total)[0] for i, (_, parts) in sides.items()}
        if not gains or max(gains.values()) <= EPS:
            return {}
        best = first_best(gains)
        gain = gains[best] - log2(len(sides)) / node.total
        if gain <= EPS:
            return {}
        code, parts = sides[best]
        cuts, above = variable.cuts or (), codes[best + 1]
        last = code
        if above < len(cuts):
            middle = (cuts[code] + cuts[above]) / 2
            last = max(i for i in range(code, above) if cuts[i] <= middle)
        plain, ratio = measured(parts, node.total)
        return {(x, last): (gain, ratio * gain / plain)}

    def chosen(self, node: Node) -> tuple[int, int | None] | None:
        tests = self.tests(node)
        if not self.ratio:
            return first_best({t: gain for t, (gain, _) in tests.items()}) if tests else None
        few = [v.numeric or v.card < 0.3 * self.size - EPS for v in self.variables[:-1]]
        candidates = [x for x, v in enumerate(self.variables[:-1]) if v.card > 1]
        usual = [gain for (x, _), (gain, _) in tests.items() if few[x] or not any(few[y] for y in candidates)]
        if not usual:
            return None
        good = {t: ratio for t, (gain, ratio) in tests.items() if gain >= sum(usual) / len(usual) - 1e-3}
        return first_best(good) if good and max(good.values()) > EPS else None

    def grown(self, rows: list[Row], depth: int = 0) -> Node:
        node = Node(rows, self.variables[-1].card)
        enough = 2 * self.least if self.ratio else self.enough
        if node.total < enough - EPS or node.wrong < EPS or depth == self.most:
            return node
        test = self.chosen(node)
        if test is None:
            return node
        node.feature, node.last = test
        width = self.variables[node.feature].card if node.last is None else 2
        node.kids = [Node([], node.classes) for _ in range(width)]
        node.kids = [self.grown(part, depth + 1) for part in node.divide(rows)]
        return node


def rows_of(training: MemoryCases) -> list[Row]:
    weight = np.ones(len(training.block)) if training.block.weight is None else training.block.weight
    columns = [[None if c == 255 else int(c) for c in column] for column in training.block.codes]
    return [(codes[:-1], codes[-1], float(w)) for codes, w in zip(zip(*columns, strict=True), weight, strict=True)]


def tree_of(network: Network) -> Tree:
    (tree,) = network.derived.values()
    assert isinstance(tree, Tree)
    return tree


def check(network: Network, node: Node, at: int = 0, parent: Node | None = None) -> None:
    """The network's tree from a node on is this one: questions, thresholds, weights and class probabilities."""
    tree = tree_of(network)
    assert tree.weights[at] == pytest.approx(node.total, abs=1e-4)
    if node.feature is None:
        assert tree.features[at] == -1
        informed = node if node.total > EPS or parent is None else parent
        answer = np.asarray(network.cpts[CLASS])[tree.state_of[at]]
        assert answer == pytest.approx(np.array(informed.dist) / informed.total, abs=1e-4)
        return
    assert tree.features[at] == node.feature
    below = tree.children_of(at).tolist()
    if node.last is None:
        kids = below
    else:
        variable, kids = network.variables[node.feature], sorted(set(below))
        assert len(kids) == 2
        assert variable.cuts is not None
        assert variable.cuts[below.index(kids[1]) - 1] == node.last  # in `numbered` the cut points are the codes
    assert len(kids) == len(node.kids)
    for kid, child in zip(kids, node.kids, strict=True):
        check(network, child, kid, node)


def numbered(training: MemoryCases, which: int) -> MemoryCases:
    """Some of the columns as numbers, cut at every value."""
    variables = tuple(
        Variable(v.name, cuts=tuple(map(float, range(v.card - 1)))) if which >> x & 1 else v
        for x, v in enumerate(training.variables[:-1])
    )
    return MemoryCases((*variables, training.variables[-1]), training.block, training.has_missing)


drawn = some_cases(rows=(2, 60), features=(1, 4), max_card=5, weights="any")


@given(own=drawn, which=st.integers(0, 15), least=st.sampled_from([1, 2, 2.5, 5]), most=st.sampled_from([None, None, 1, 2]))
@quick
def test_c45_grows_by_the_definition(own: MemoryCases, which: int, least: float, most: int | None, cases: Any) -> None:
    own = numbered(own, which)
    rows = rows_of(own)
    slow = Slow(own.variables, least, ratio=True, size=sum(w for _, _, w in rows), most=most).grown(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("naivete.learners.tree.c45.collapsed", lambda nodes: nodes)
        check(c45(Counts(cases(own)), min_rows=least, prune=False, max_depth=most), slow)


@given(training=drawn, most=st.sampled_from([None, None, 2]), enough=st.sampled_from([0, 0, 4.5]))
@quick
def test_id3_grows_by_the_definition(training: MemoryCases, most: int | None, enough: float, cases: Any) -> None:
    rows = rows_of(training)
    slow = Slow(training.variables, 2 * EPS, ratio=False, size=sum(w for _, _, w in rows), most=most, enough=enough).grown(rows)
    check(id3(Counts(cases(training)), max_depth=most, min_rows=enough), slow)


@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(0, 300), dtypes=st.lists(st.sampled_from("BHI"), min_size=1, max_size=4))
@quick
def test_c_and_numpy_find_the_same_leaves(seed: int, rows: int, dtypes: list[str]) -> None:
    """Random trees over columns of all widths, strided or not, with missing codes; from the root, or from any node."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, 4, 2 * rows).astype(kind)[:: int(rng.integers(1, 3))][:rows] for kind in dtypes]
    for column in codes:
        column[rng.random(rows) < 0.1] = np.iinfo(column.dtype).max
    nodes = [[-1, -1, -1]]
    for at in range(200):
        if at < len(nodes) and rng.random() < 0.7:
            last = int(rng.integers(-1, 4))
            nodes[at] = [int(rng.integers(len(codes))), last, len(nodes)]
            nodes += [[-1, -1, -1]] * (4 if last < 0 else 2)
    tree, start = np.array(nodes), rng.integers(0, len(nodes), rows)

    def end(row: int, node: int) -> int:
        x, last, first = nodes[node]
        if x < 0 or codes[x][row] == np.iinfo(codes[x].dtype).max:
            return node
        return end(row, first + int(codes[x][row] if last < 0 else codes[x][row] > last))

    for tier in ("numpy", *(["c"] if _kernels.tier() == "c" else [])):
        with _kernels.use(tier):
            assert _kernels.descend(codes, tree).tolist() == [end(row, 0) for row in range(rows)]
            assert _kernels.descend(codes, tree, start).tolist() == [end(row, int(start[row])) for row in range(rows)]


LEARNERS: dict[str, Any] = {"id3": id3, "c45": c45}
each = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)


@each
@given(own=drawn, which=st.integers(0, 15), seed=st.integers(0, 99))
@quick
def test_result_does_not_depend_on_back_end_order_or_representation_of_weights(
    own: MemoryCases, which: int, seed: int, learner: Any
) -> None:
    own, rng = numbered(own, which), np.random.default_rng(seed)
    network = learner(Counts(own))
    shuffled = MemoryCases(own.variables, own.block.take(rng.permutation(len(own.block))), own.has_missing)
    assert identical(network, learner(Counts(shuffled)))
    assert identical(network, learner(Counts(chunked(own, rng))))
    if own.block.weight is not None and (own.block.weight % 1 == 0).all():
        rows = np.repeat(np.arange(len(own.block)), own.block.weight.astype(int))
        assert identical(network, learner(Counts(MemoryCases(own.variables, Block(own.block.take(rows).codes), own.has_missing))))


@each
@given(own=drawn, which=st.integers(0, 15))
@quick
def test_however_tables_are_counted(own: MemoryCases, which: int, learner: Any) -> None:
    """By what occurs, a few nodes at a time, with rows put in order, and without C."""
    own = numbered(own, which)
    network = learner(Counts(own))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("naivete.counts.table_stacks.FEW_CELLS", 1)
        patch.setattr("naivete.counts.table_stacks.DENSE_ROWS", 0)
        assert identical(network, learner(Counts(own)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("naivete.learners.tree.growing.MANY_NODES", 1)
        patch.setattr("naivete.learners.tree.growing.BUDGET_SHARE", 1 << 40)
        assert identical(network, learner(Counts(own)))
    with _kernels.use("numpy"):
        assert identical(network, learner(Counts(own)))


@given(training=some_cases(rows=(2, 60), features=(1, 4), has_missing=False))
@quick
def test_id3_classifies_consistent_training_cases_correctly(training: MemoryCases) -> None:
    """Rows that agree in all features share a leaf, and its classes are theirs; other rows of that leaf are of one class."""
    network = id3(Counts(training))
    tree = tree_of(network)
    leaf = tree.column(training.block.codes[:-1])
    weight = np.ones(len(leaf)) if training.block.weight is None else training.block.weight
    y = training.block.codes[-1]
    for code in np.unique(leaf):
        here = leaf == code
        rows = np.stack([c[here] for c in training.block.codes[:-1]], axis=1)
        assert len(np.unique(y[here])) == 1 or len(np.unique(rows, axis=0)) == 1
        share = np.bincount(y[here], weight[here], training.variables[-1].card) / weight[here].sum()
        assert np.asarray(network.cpts[CLASS])[code] == pytest.approx(share)


def test_a_concept_about_which_no_single_feature_is_informative() -> None:
    """Parity: no question gains anything at the root, and ID3 asks all the same; C4.5 does not."""
    training = cases_of([2, 2, 2], [[0, 0, 1, 1] * 3, [0, 1, 0, 1] * 3, [0, 1, 1, 0] * 3])
    assert len(tree_of(id3(Counts(training))).leaves) == 4
    assert tree_of(c45(Counts(training))).nodes == 1


def poker() -> MemoryCases:
    states = {"MH": ("no", "1a", "2v", "2a", "st", "3v", "fl", "sfl"), "FC": tuple("0123"), "SC": tuple("012")}
    variables = (*(Variable(name, own) for name, own in states.items()), Variable("BH", ("me", "draw", "op")))
    columns = list(zip(*TABLE_8_1, strict=True))
    codes = [np.array([v.states.index(s) for s in columns[at]], np.uint8) for v, at in zip(variables, (1, 2, 3, 0), strict=True)]
    return MemoryCases(variables, Block(tuple(codes)), np.zeros(3, bool))


def test_the_tree_of_the_poker_table() -> None:
    """Jensen and Nielsen, section 8.4 and figure 8.7: the root is MH; MH = no asks for SC; what no case covers is the majority's."""
    network = id3(Counts(poker()))
    lines = tree_text(network).splitlines()
    assert lines[:4] == ["MH = no", "|   SC = 0: op (1.0)", "|   SC = 1: op (1.0)", "|   SC = 2: draw (2.0 / 1.0 wrong)"]
    assert lines[4:9] == ["MH = 1a", "|   FC = 0: op (0.0)", "|   FC = 1: op (0.0)", "|   FC = 2: op (1.0)", lines[8]]
    assert [line for line in lines if line.startswith("MH")] == [
        *("MH = no", "MH = 1a", "MH = 2v", "MH = 2a: me (1.0)", "MH = st: me (1.0)", "MH = 3v: me (1.0)"),
        *("MH = fl: draw (2.0 / 1.0 wrong)", "MH = sfl: me (1.0)"),
    ]


def test_one_pass_for_each_level() -> None:
    counts = Counts(poker())
    id3(counts)
    assert counts.passes == 4  # the margins, which are those of the root; two levels; and one that finds nothing more to ask


def test_the_leaf_is_a_column_with_a_name_of_its_own() -> None:
    training = poker()
    named = MemoryCases(
        (replace(training.variables[0], name="leaf"), *training.variables[1:]), training.block, training.has_missing
    )
    network = id3(Counts(named))
    assert [v.name for v in network.variables] == ["leaf", "FC", "SC", "leaf 2", "BH"]
    assert network.variables[3].states == tuple(range(1, len(tree_of(network).leaves) + 1))
    assert dict(network.parents) == {0: (), 1: (), 2: (), 3: (), CLASS: (3,)}
    assert np.asarray(network.cpts[3]).sum() == pytest.approx(1)


def test_numbers_keep_only_the_thresholds_that_are_asked_for() -> None:
    values = np.arange(20, dtype=np.uint8)
    training = MemoryCases(
        (Variable("x", cuts=tuple(map(float, range(20)))), Variable("u", cuts=(0.5,)), Variable("c", ("a", "b"))),
        Block((values, values % 2, (values > 11).astype(np.uint8))),
        np.zeros(2, bool),
    )
    network = c45(Counts(training))
    assert network.variables[0].cuts == (11.0,)
    assert network.variables[1].cuts == ()
    assert np.asarray(network.cpts[0]).tolist() == pytest.approx([13 / 22, 9 / 22])
    assert np.asarray(network.cpts[1]).tolist() == [1.0]


def test_missing_as_a_state_is_above_all_numbers() -> None:
    """The code of "missing" is the largest; a test may part it from all numbers, which leaves no cut point."""
    x = np.array([0, 1, 2, 3] * 5 + [4] * 20, np.uint8)
    y = np.array([0] * 20 + [1] * 20, np.uint8)
    training = MemoryCases(
        (Variable("x", cuts=(0.0, 1.0, 2.0), missing=True), Variable("c", ("a", "b"))), Block((x, y)), np.zeros(1, bool)
    )
    network = c45(Counts(training))
    assert network.variables[0].cuts == ()
    assert network.variables[0].card == 2
    assert np.asarray(network.cpts[0]).tolist() == [0.5, 0.5]
    assert tree_text(network).splitlines() == ["x is known: a (20.0)", "x is missing: b (20.0)"]


def test_a_tree_beyond_the_budget_is_refused_before_it_is_made() -> None:
    """Forty thousand states for two hundred cases: a few tests on them, and there are more nodes than room."""
    rng = np.random.default_rng(0)
    codes = (*(rng.integers(0, 40_000, 200).astype(np.uint16) for _ in range(2)), rng.integers(0, 2, 200).astype(np.uint8))
    variables = (*(Variable(name, tuple(range(40_000))) for name in "ab"), Variable("c", (0, 1)))
    counts = Counts(MemoryCases(variables, Block(codes), np.zeros(2, bool)), budget=2 << 20)
    with pytest.raises(ResourceError, match=r"the tree would have 40,001 nodes.*budget is 2,097,152 bytes"):
        id3(counts)


def test_smoothing_changes_the_probabilities_of_leaves() -> None:
    training = poker()
    plain, soft = (np.asarray(id3(Counts(training), smoothing=s).cpts[CLASS]) for s in (0.0, 1.0))
    weights = tree_of(id3(Counts(training))).weights[tree_of(id3(Counts(training))).leaves]
    full = weights > 0
    assert soft[full] == pytest.approx((plain[full] * weights[full, None] + 1) / (weights[full, None] + 3))
    for how in ("backoff", "m-estimate", "clark-niblett"):
        assert np.asarray(id3(Counts(training), smoothing=how).cpts[CLASS]).sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize(
    ("learner", "options", "named"),
    [
        (id3, {"max_depth": -1}, "max_depth=-1"),
        (id3, {"max_depth": 1.5}, r"max_depth=1\.5"),
        (id3, {"min_rows": -1}, "min_rows=-1"),
        (id3, {"min_rows": None}, "min_rows=None"),
        (id3, {"smoothing": -1}, "smoothing=-1"),
        (c45, {"max_depth": True}, "max_depth=True"),
        (c45, {"min_rows": float("inf")}, "min_rows=inf"),
        (c45, {"min_rows": 0}, "min_rows=0"),
        (c45, {"confidence": 0}, "confidence=0"),
        (c45, {"confidence": 0.6}, r"confidence=0\.6"),
        (c45, {"confidence": "much"}, "confidence='much'"),
        (c45, {"subtree_raising": 1}, "subtree_raising=1"),
        (c45, {"prune": None}, "prune=None"),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_parameters_out_of_range_are_refused_by_name(learner: Any, options: Any, named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        learner(Counts(poker()), **options)
