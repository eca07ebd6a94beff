"""The junction tree against the joint table, against analytic sums, and against pyAgrum."""

from __future__ import annotations

import math
import string
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naivete.errors import DataError, ResourceError
from naivete.inference.junction import Evidence, JunctionTree, tree
from naivete.network.conditional_tables import Cpt, SparseCpt
from naivete.network.graphs import d_separated
from naivete.network.network import Network
from naivete.variables import CLASS, Variable, family
from tests import LONG
from tests.oracles import identical, probability
from tests.strategies import dense_table, networks, sparse_table

with warnings.catch_warnings():  # its import warns, and crashes where a warning is an error
    warnings.simplefilter("ignore")
    import pyagrum as gum

quick = settings(deadline=None, max_examples=60)


@st.composite
def any_structure(draw: st.DrawFn, *, max_features: int = 5) -> Network:
    """A network in which the class stands anywhere, with variables of one state, zeros and sparse tables."""
    features = draw(st.integers(0, max_features))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    names = (*string.ascii_lowercase[:features], "class")
    variables = tuple(Variable(name, tuple(range(int(rng.integers(1, 4))))) for name in names)
    order = draw(st.permutations([*range(features), CLASS]))
    parents: dict[int, tuple[int, ...]] = {}
    cpts: dict[int, Cpt] = {}
    for place, v in enumerate(order):
        chosen = draw(st.lists(st.sampled_from(order[:place]), max_size=3, unique=True)) if place else []
        parents[v] = tuple(sorted(chosen, key=lambda p: p == CLASS))
        spread = any(p != CLASS for p in chosen) and draw(st.booleans())
        cpts[v] = (sparse_table if spread else dense_table)(variables, v, parents[v], rng)
    return Network(variables, parents, cpts)


any_network = any_structure() | networks(sparse=True)


def joint_table(network: Network) -> np.ndarray:
    """P of every complete row, the class as the last axis."""
    shape = tuple(v.card for v in network.variables)
    cells = [math.prod(probability(network, v, row) for v in network.parents) for row in np.ndindex(*shape)]
    return np.array(cells).reshape(shape)


@st.composite
def evidences(draw: st.DrawFn, network: Network, *, soft: bool = True) -> Evidence:
    """Hard and soft evidence on some variables, zeros among the likelihoods."""
    codes, likelihoods = {}, {}
    for v in network.parents:
        card, kind = network.variables[v].card, draw(st.sampled_from(["none", "none", "hard", "soft"]))
        if kind == "hard":
            codes[v] = np.array([draw(st.integers(0, card - 1))])
        elif kind == "soft" and soft:
            likelihood = draw(st.lists(st.sampled_from([0.0, 1e-5, 0.3, 1.0, 7.0]), min_size=card, max_size=card).filter(any))
            likelihoods[v] = np.array(likelihood)[:, None]
    return Evidence(1, codes, likelihoods)


def weighted(network: Network, evidence: Evidence) -> np.ndarray:
    """The joint table times the evidence."""
    table = joint_table(network)
    for v, card in ((v, network.variables[v].card) for v in network.parents):
        axes = tuple(card if m == v % table.ndim else 1 for m in range(table.ndim))
        if v in evidence.codes:
            table = table * (np.arange(card) == evidence.codes[v]).reshape(axes)
        if v in evidence.likelihoods:
            table = table * evidence.likelihoods[v].reshape(axes)
    return table


def marginal(table: np.ndarray, of: tuple[int, ...]) -> np.ndarray:
    """The sum over all other axes, the asked ones in their order."""
    places = [v % table.ndim for v in of]
    kept = table.sum(axis=tuple(a for a in range(table.ndim) if a not in places))
    return kept.transpose(*(sorted(places).index(p) for p in places))


@contextmanager
def arithmetic(logs: bool) -> Iterator[None]:
    """Let all sums run on logarithms, or on probabilities where they fit."""
    with pytest.MonkeyPatch.context() as patch:
        if logs:
            patch.setattr(tree, "FITS", 0.0)
        yield


both = pytest.mark.parametrize("logs", [False, True], ids=["probabilities", "logarithms"])


@both
@given(network=any_network, data=st.data())
@quick
def test_posteriors_equal_enumeration_of_all_rows(network: Network, data: st.DataObject, logs: bool) -> None:
    evidence = data.draw(evidences(network))
    of = tuple(data.draw(st.lists(st.sampled_from(sorted(network.parents)), min_size=1, max_size=3, unique=True)))
    exact = weighted(network, evidence)
    with arithmetic(logs):
        junction = JunctionTree(network)
        found = junction.log_probability(evidence)[0]
        if exact.sum() == 0:
            assert found == -np.inf
            for ask in (lambda: junction.posterior(of, evidence), lambda: junction.marginals(evidence)):
                with pytest.raises(DataError, match="impossible"):
                    ask()
            return
        assert found == pytest.approx(math.log(exact.sum()), rel=1e-12, abs=1e-12)
        table = junction.posterior(of, evidence)[0]
        each = junction.marginals(evidence)
    assert np.allclose(table, marginal(exact, of) / exact.sum(), rtol=0, atol=1e-12)
    for v, own in each.items():
        assert np.allclose(own[0], marginal(exact, (v,)) / exact.sum(), rtol=0, atol=1e-12)


@given(network=any_network, data=st.data())
@quick
def test_the_most_probable_explanation_is_the_largest_cell(network: Network, data: st.DataObject) -> None:
    evidence = data.draw(evidences(network))
    exact = weighted(network, evidence)
    if exact.max() == 0:
        with pytest.raises(DataError, match="impossible"):
            JunctionTree(network).most_probable(evidence)
        return
    codes, logs = JunctionTree(network).most_probable(evidence)
    row = tuple(int(codes[v][0]) for v in (*network.features, CLASS))
    assert exact[row] == pytest.approx(exact.max(), rel=1e-12)
    assert logs[0] == pytest.approx(math.log(exact.max()), rel=1e-12, abs=1e-12)
    if np.sum(exact > exact.max() * (1 - 1e-9)) == 1:
        assert row == np.unravel_index(exact.argmax(), exact.shape)


def test_of_equally_probable_explanations_the_lowest_codes_are_taken() -> None:
    variables = tuple(Variable(name, (0, 1, 2)) for name in "abcde")
    parents = {0: (), 1: (0,), 2: (0,), 3: (1, 2), CLASS: (3,)}
    network = Network(variables, parents, {v: np.full((3,) * (1 + len(p)), 1 / 3) for v, p in parents.items()})
    codes, logs = JunctionTree(network).most_probable(Evidence(1, {3: np.array([2])}))
    assert {v: int(c[0]) for v, c in codes.items()} == {0: 0, 1: 0, 2: 0, 3: 2, CLASS: 0}
    assert logs[0] == pytest.approx(-5 * math.log(3))


@both
@given(network=any_network, data=st.data())
@quick
def test_predictions_of_a_row_do_not_depend_on_the_other_rows(network: Network, data: st.DataObject, logs: bool) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    rows = 23
    observed = data.draw(st.sets(st.sampled_from(sorted(network.parents))))
    table = joint_table(network)
    cells = np.unravel_index(rng.choice(table.size, rows, p=table.ravel() / table.sum()), table.shape)
    evidence = Evidence(rows, {v: cells[v].astype(np.int64) for v in observed})
    with arithmetic(logs), pytest.MonkeyPatch.context() as patch:
        whole = JunctionTree(network).posterior((CLASS,), evidence)
        each = JunctionTree(network).marginals(evidence)
        some = JunctionTree(network).marginals(evidence[7:9])
        patch.setattr(tree, "BLOCK_CELLS", 3 * 200)
        parted = JunctionTree(network).posterior((CLASS,), evidence)
    assert identical(parted, whole)
    assert all(identical(some[v], each[v][7:9]) for v in each)
    assert np.allclose(each[CLASS], whole, rtol=0, atol=1e-12)


@given(network=any_structure(), data=st.data())
@quick
def test_what_is_d_separated_is_independent(network: Network, data: st.DataObject) -> None:
    x, y = data.draw(st.sampled_from(sorted(network.parents))), data.draw(st.sampled_from(sorted(network.parents)))
    known = data.draw(st.sets(st.sampled_from(sorted(network.parents)))) - {x, y}
    if x == y or not d_separated(network.parents, [x], [y], known):
        return
    junction, table = JunctionTree(network), joint_table(network)
    row = np.unravel_index(table.argmax(), table.shape)
    both_of = junction.posterior((x, y), Evidence(1, {v: np.array([row[v]]) for v in known}))[0]
    assert np.allclose(both_of, np.outer(both_of.sum(axis=1), both_of.sum(axis=0)), atol=1e-12)


def naive(count: int, classes: int, seed: int) -> tuple[Network, np.ndarray]:
    rng = np.random.default_rng(seed)
    tables = rng.dirichlet([1, 1], size=(count, classes)).transpose(0, 2, 1)
    variables = (*(Variable(f"x{i}", (0, 1)) for i in range(count)), Variable("class", tuple(range(classes))))
    parents: dict[int, tuple[int, ...]] = {CLASS: (), **dict.fromkeys(range(count), (CLASS,))}
    prior = np.full(classes, 1 / classes)
    return Network(variables, parents, {CLASS: prior, **{x: tables[x] for x in range(count)}}, check=False), tables


def test_much_evidence_does_not_underflow() -> None:
    count = 100_000 if LONG else 4_000
    network, tables = naive(count, 3, seed=5)
    codes = np.random.default_rng(6).integers(0, 2, count)
    junction = JunctionTree(network)
    evidence = Evidence(1, {x: codes[x : x + 1] for x in range(count)})
    logs = [math.fsum(np.log(tables[np.arange(count), codes, c]).tolist()) - math.log(3) for c in range(3)]
    top = max(logs)
    expected = top + math.log(math.fsum(math.exp(one - top) for one in logs))
    assert expected < -0.9 * count
    assert junction.log_probability(evidence)[0] == pytest.approx(expected, rel=1e-13)


def test_contradicting_evidence_does_not_underflow() -> None:
    """The first half of the findings makes a class impossible to every float, the second half makes it certain again."""
    half = 1000
    variables = (*(Variable(f"x{i}", (0, 1)) for i in range(2 * half)), Variable("class", ("p", "q")))
    against, towards = np.array([[0.999, 0.001], [0.001, 0.999]]), np.array([[0.001, 0.999], [0.999, 0.001]])
    parents: dict[int, tuple[int, ...]] = {CLASS: (), **dict.fromkeys(range(2 * half), (CLASS,))}
    cpts = {CLASS: np.array([0.25, 0.75]), **{x: against if x < half else towards for x in range(2 * half)}}
    network = Network(variables, parents, cpts)
    answer = JunctionTree(network).posterior((CLASS,), Evidence(1, {x: np.array([0]) for x in range(2 * half)}))
    assert np.allclose(answer[0], [0.25, 0.75], atol=1e-9)


def test_a_long_chain_with_evidence_everywhere_equals_the_forward_algorithm() -> None:
    """A long hidden chain with 10 findings for each variable: the scaled forward recursion gives the same logarithm."""
    length, each = 1000 if LONG else 250, 10
    rng = np.random.default_rng(3)
    move, emit = rng.dirichlet([1, 1, 1], 3), rng.dirichlet([1, 1], (each, 3))
    variables = tuple(Variable(i, (0, 1, 2)) for i in range(length))
    variables += (*tuple(Variable(length + i, (0, 1)) for i in range(length * each - 1)), Variable("class", (0, 1)))
    parents: dict[int, tuple[int, ...]] = {0: (), **{i: (i - 1,) for i in range(1, length)}}
    cpts: dict[int, Cpt] = {0: np.full(3, 1 / 3), **dict.fromkeys(range(1, length), move)}
    places = [*range(length, length + length * each - 1), CLASS]
    for at, v in enumerate(places):
        parents[v], cpts[v] = (at // each,), emit[at % each]
    codes = rng.integers(0, 2, len(places))
    found = JunctionTree(Network(variables, parents, cpts, check=False)).log_probability(
        Evidence(1, {v: codes[at : at + 1] for at, v in enumerate(places)})
    )
    state, expected = np.full(3, 1 / 3), 0.0
    for i in range(length):
        state = state if i == 0 else state @ move
        state = state * np.prod([emit[j][:, codes[i * each + j]] for j in range(each)], axis=0)
        expected += math.log(state.sum())
        state = state / state.sum()
    assert found[0] == pytest.approx(expected, rel=1e-12)


def test_evidence_is_impossible_only_where_its_probability_is_zero() -> None:
    variables = (Variable("a", ("no", "yes")), Variable("class", ("p", "q")))
    tiny = Network(variables, {CLASS: (), 0: (CLASS,)}, {CLASS: np.array([1.0, 0.0]), 0: np.array([[1.0, 0.0], [5e-324, 1.0]])})
    junction = JunctionTree(tiny)
    known = Evidence(1, {0: np.array([1])})
    assert junction.log_probability(known)[0] == pytest.approx(math.log(5e-324))
    assert junction.posterior((CLASS,), known)[0].tolist() == [1, 0]
    with pytest.raises(DataError, match="a=no, class=q has probability 0"):
        junction.posterior((0,), Evidence(1, {0: np.array([0]), CLASS: np.array([1])}))


def test_impossible_evidence_far_from_the_query_is_detected() -> None:
    variables = tuple(Variable(name, ("no", "yes")) for name in "abc")
    never = np.array([1.0, 0.0])
    network = Network(variables, {0: (), 1: (), CLASS: ()}, {0: never, 1: np.array([0.5, 0.5]), CLASS: np.array([0.1, 0.9])})
    junction = JunctionTree(network)
    assert np.allclose(junction.posterior((1,), Evidence(1, {CLASS: np.array([1])})), 0.5)
    with pytest.raises(DataError, match="a=yes"):
        junction.posterior((1,), Evidence(1, {0: np.array([1])}))


def lattice(size: int) -> Network:
    """Variables in a square, each with its neighbours above and to the left as parents; its treewidth is its side."""
    rng = np.random.default_rng(1)
    variables = tuple(Variable(f"v{i}", (0, 1)) for i in range(size * size))
    at = {(r, c): (r * size + c if r * size + c < size * size - 1 else CLASS) for r in range(size) for c in range(size)}
    parents = {v: tuple(at[p] for p in ((r - 1, c), (r, c - 1)) if p in at) for (r, c), v in at.items()}
    return Network(variables, parents, {v: dense_table(variables, v, p, rng) for v, p in parents.items()})


def test_a_treewidth_beyond_the_budget_is_refused_before_anything_is_allocated() -> None:
    with pytest.raises(ResourceError, match=r"table over \d+ variables together \('v\d+'.*cells.*bytes.*raise `budget=`"):
        JunctionTree(lattice(8), budget=4000).marginals(Evidence())
    with pytest.raises(ResourceError, match="table over 40 variables together"):
        JunctionTree(lattice(8)).posterior(tuple(range(40)), Evidence())
    kept = JunctionTree(lattice(8), budget=20_000)
    assert np.allclose(kept.posterior((3,), Evidence()), JunctionTree(lattice(8)).marginals(Evidence())[3], atol=1e-12)
    with pytest.raises(ResourceError):
        kept.marginals(Evidence())


def test_evidence_makes_a_wide_network_narrow() -> None:
    network = lattice(30)
    rows = {v: np.array([0, 1]) for v in network.features if (v // 30 + v % 30) % 2}
    codes = {v: np.zeros(2, np.int64) for v in rows}
    positive = {v: 0.9 * np.asarray(t) + 0.05 for v, t in network.cpts.items()}
    junction = JunctionTree(Network(network.variables, network.parents, positive), budget=100_000)
    assert junction.posterior((0,), Evidence(2, codes)).shape == (2, 2)
    with pytest.raises(ResourceError):
        junction.log_probability(Evidence(1, {CLASS: np.array([0])}))


def test_a_sparse_table_of_many_parents_is_expanded_after_the_evidence() -> None:
    rng = np.random.default_rng(2)
    variables = (*(Variable(f"x{i}", tuple(range(5))) for i in range(21)), Variable("class", (0, 1)))
    parents: dict[int, tuple[int, ...]] = {CLASS: (), **dict.fromkeys(range(20), ()), 20: (*range(20), CLASS)}
    cpts: dict[int, Cpt] = {v: dense_table(variables, v, (), rng) for v in (CLASS, *range(20))}
    cpts = {v: 0.9 * np.asarray(t) + 0.1 / np.size(t) for v, t in cpts.items()}
    configurations = np.unique(rng.integers(0, 5, (50, 20)), axis=0).astype(np.int32)
    tables = rng.dirichlet(np.ones(5), (50, 2)).transpose(0, 2, 1)
    cpts[20] = SparseCpt(configurations, tables, rng.dirichlet(np.ones(5), 2).T, tuple(range(20)))
    network = Network(variables, parents, cpts)
    known = {x: np.array([configurations[7, x]]) for x in range(18)} | {20: np.array([3])}
    found = JunctionTree(network).posterior((18, 19, CLASS), Evidence(1, known))[0]
    exact = np.zeros((5, 5, 2))
    for cell in np.ndindex(*exact.shape):
        row = (*configurations[7, :18].tolist(), *cell[:2], 3, cell[2])
        exact[cell] = math.prod(probability(network, v, row) for v in (18, 19, CLASS, 20))
    assert np.allclose(found, exact / exact.sum(), atol=1e-12)
    with pytest.raises(ResourceError):
        JunctionTree(network).marginals(Evidence())


def from_agrum(bn: gum.BayesNet) -> Network:
    nodes = sorted(bn.nodes())
    at = {node: i if i < len(nodes) - 1 else CLASS for i, node in enumerate(nodes)}
    variables = tuple(Variable(bn.variable(x).name(), tuple(bn.variable(x).labels())) for x in nodes)
    parents = {at[x]: tuple(sorted((at[p] for p in bn.parents(x)), key=lambda p: p == CLASS)) for x in nodes}
    cpts = {}
    for x in nodes:
        members = family(at[x], *parents[at[x]])
        axes = [list(reversed(bn.cpt(x).names)).index(variables[m].name) for m in members]
        table = bn.cpt(x).toarray().transpose(axes)
        cpts[at[x]] = table / table.sum(axis=members.index(at[x]), keepdims=True)
    return Network(variables, parents, cpts)


ASIA = (
    "smoker->lung_cancer->tuberculos_or_cancer->positive_XraY;smoker->bronchitis->dyspnoea;"
    "visit_to_Asia->tuberculosis->tuberculos_or_cancer->dyspnoea"
)


@both
@pytest.mark.parametrize(("size", "density"), [(8, 0), (37, 46 / 37), (70, 1.2), pytest.param(200, 1.08, marks=pytest.mark.slow)])
def test_pyagrum_gives_the_same_posteriors(size: int, density: float, logs: bool) -> None:
    gum.initRandom(size)
    bn = gum.fastBN(ASIA) if not density else gum.randomBN(n=size, ratio_arc=density, domain_size=3)
    network = from_agrum(bn)
    rng = np.random.default_rng(size)
    evidence = {v: np.array([rng.integers(network.variables[v].card)]) for v in rng.permutation(size - 1)[: size // 4].tolist()}
    soft = next(v for v in network.features if v not in evidence)
    likelihood = rng.random(network.variables[soft].card) + 0.1
    theirs = gum.LazyPropagation(bn)
    theirs.setEvidence({network.name(v): int(code[0]) for v, code in evidence.items()} | {network.name(soft): likelihood.tolist()})
    theirs.makeInference()
    with arithmetic(logs):
        ours = JunctionTree(network).marginals(Evidence(1, evidence, {soft: likelihood[:, None]}))
        total = JunctionTree(network).log_probability(Evidence(1, evidence, {soft: likelihood[:, None]}))[0]
    for v, table in ours.items():
        assert np.allclose(table[0], theirs.posterior(network.name(v)).toarray(), rtol=0, atol=1e-9)
    assert total == pytest.approx(math.log(theirs.evidenceProbability()), rel=1e-9)


def test_parts_that_do_not_touch_and_a_single_variable() -> None:
    one = Network((Variable("class", ("p", "q")),), {CLASS: ()}, {CLASS: np.array([0.3, 0.7])})
    assert np.allclose(JunctionTree(one).marginals(Evidence())[CLASS], [[0.3, 0.7]])
    assert JunctionTree(one).log_probability(Evidence()).tolist() == [0]
    lonely = Network((Variable("class", ("p",)),), {CLASS: ()}, {CLASS: np.array([1.0])})
    assert JunctionTree(lonely).posterior((CLASS,), Evidence(3)).tolist() == [[1]] * 3
    assert JunctionTree(lonely).most_probable(Evidence())[0][CLASS].tolist() == [0]


def test_a_variable_has_a_code_or_likelihoods() -> None:
    with pytest.raises(DataError, match="give one of them"):
        Evidence(1, {0: np.array([1])}, {0: np.ones((2, 1))})


def test_plans_are_kept_but_not_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "PLANS", 2)
    network, _ = naive(4, 2, seed=1)
    junction = JunctionTree(network)
    for x in range(4):
        first = junction.plan(Evidence(1, {x: np.array([0])}))
        assert junction.plan(Evidence(1, {x: np.array([1])})) is first
        assert len(junction._plans) <= 2


def test_many_threads_query_one_tree() -> None:
    from concurrent.futures import ThreadPoolExecutor

    rng = np.random.default_rng(5)
    variables = tuple(Variable(f"x{i}", (0, 1, 2)) for i in range(12))
    parents = {**{i: tuple(range(max(0, i - 2), i)) for i in range(11)}, -1: (9, 10)}
    network = Network(variables, parents, {v: dense_table(variables, v, p, rng) for v, p in parents.items()})
    queries = [
        tuple(sorted(rng.choice(11, 4, replace=False).tolist())) for _ in range(300)
    ]  # far more patterns than plans are kept

    def answer(tree: JunctionTree, seen: tuple[int, ...]) -> np.ndarray:
        return tree.log_probability(Evidence(codes={v: np.array([v % 3]) for v in seen}))

    serial = [answer(JunctionTree(network), seen) for seen in queries]
    shared = JunctionTree(network)
    with ThreadPoolExecutor(16) as pool:
        together = list(pool.map(lambda seen: answer(shared, seen), queries))
    assert all(np.array_equal(a, b) for a, b in zip(serial, together, strict=True))
