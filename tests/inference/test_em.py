"""Expectation-maximisation against enumeration of all completions, and against a library that nobody here wrote."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from naivete import _kernels
from naivete.cases import Block, MemoryCases
from naivete.classifiers.augmented import KDB, TAN, NaiveBayes
from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.baselines import Lookup
from naivete.classifiers.unrestricted import K2, HillClimb
from naivete.counts import counts
from naivete.counts.counts import Counts
from naivete.encoding.encoder import Encoder
from naivete.errors import NaiveteWarning, ParameterError, ResourceError
from naivete.inference import elimination
from naivete.inference.em import expected_network
from naivete.inference.em_steps import Convergence
from naivete.network.conditional_tables import SparseCpt
from naivete.network.estimation import estimate
from naivete.network.network import Network
from naivete.variables import CLASS
from tests.network.test_estimation import smoothings
from tests.oracles import cases_of, chunked, identical, many_threads, probability, rows_of
from tests.strategies import some_cases, structures

quick = settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
small = some_cases(features=(2, 4), rows=(1, 20), max_card=3, has_missing=True)


def completions(network: Network, row: list[int | None]) -> list[tuple[tuple[int, ...], float]]:
    """Every completion of a row with its joint probability."""
    spaces = [range(v.card) if code is None else [code] for v, code in zip(network.variables, row, strict=True)]
    return [(full, math.prod(probability(network, v, full) for v in network.parents)) for full in product(*spaces)]


def objective(network: Network, block: Block, alpha: float) -> float:
    """log likelihood + alpha * sum of log P, without the class, by enumeration."""
    rows = [(math.log(sum(p for _, p in completions(network, row))), row, float(w)) for row, w in rows_of(block)]
    total = math.fsum(w * (log - math.log(network.cpts[CLASS][row[CLASS]])) for log, row, w in rows)
    return total + (alpha * math.fsum(float(np.log(network.cpts[x]).sum()) for x in network.features) if alpha else 0.0)


def slow_step(network: Network, block: Block, alpha: float) -> dict[int, np.ndarray]:
    """The tables after one step in which every missing cell is completed, also those that tell nothing."""
    expected = {x: np.full(network.cpts[x].shape, float(alpha)) for x in network.features}
    for row, weight in rows_of(block):
        every = completions(network, row)
        total = sum(p for _, p in every)
        for full, p in every:
            for x, table in expected.items():
                table[tuple(full[m] for m in network.family(x))] += float(weight) * p / total
    return {x: n / n.sum(axis=network.family(x).index(x), keepdims=True) for x, n in expected.items()}


@given(training=small, alpha=st.sampled_from([0.0, 0.3, 1.0]), data=st.data())
@quick
def test_the_objective_is_that_of_enumeration_and_never_decreases(
    training: MemoryCases, alpha: float, data: st.DataObject, cases: Any
) -> None:
    structure = data.draw(structures(len(training.variables) - 1))
    network, told = expected_network(Counts(cases(training)), structure, alpha, tolerance=1e-6)
    assert told.iterations == max(0, len(told.objectives) - 1) == max(0, len(told.log_likelihoods) - 1)
    if told.objectives:
        assert math.isclose(told.objectives[-1], objective(network, training.block, alpha), rel_tol=1e-9, abs_tol=1e-9)
        assert math.isclose(told.log_likelihoods[-1], objective(network, training.block, 0.0), rel_tol=1e-9, abs_tol=1e-9)
        slack = 1e-12 * abs(told.objectives[0]) + 1e-12
        assert all(after >= before - slack for before, after in zip(told.objectives, told.objectives[1:], strict=False))
    else:
        assert identical(network, estimate(Counts(training), structure, alpha))


@given(training=small, data=st.data())
@quick
def test_the_tables_are_a_fixed_point_of_completing_every_cell(training: MemoryCases, data: st.DataObject) -> None:
    structure = data.draw(structures(len(training.variables) - 1))
    network, told = expected_network(Counts(training), structure, 1.0, tolerance=1e-15, max_iterations=5000)
    assert told.converged
    for x, table in slow_step(network, training.block, 1.0).items():
        assert np.allclose(network.cpts[x], table, rtol=0, atol=1e-5)


@given(training=some_cases(has_missing=True), how=smoothings, forest=st.booleans())
@quick
def test_naive_bayes_just_leaves_missing_cells_out(training: MemoryCases, how: Any, forest: bool, cases: Any) -> None:
    structure = {CLASS: (), **{x: (CLASS,) if x % 2 or not forest else () for x in range(len(training.variables) - 1)}}
    number = Counts(cases(training))
    network, told = expected_network(number, structure, how)
    assert identical(network, estimate(Counts(training), structure, how))
    assert told == Convergence(0, (), (), True, 1e-8)
    assert number.passes == 1


@given(training=some_cases(has_missing=False), how=smoothings, data=st.data())
@quick
def test_without_missing_values_em_equals_counting(training: MemoryCases, how: Any, data: st.DataObject) -> None:
    structure = data.draw(structures(len(training.variables) - 1))
    assert identical(expected_network(Counts(training), structure, how)[0], estimate(Counts(training), structure, how))


@given(training=some_cases(has_missing=True), how=smoothings, seed=st.integers(0, 999), data=st.data())
@quick
@pytest.mark.filterwarnings("ignore:EM has not converged")
def test_the_network_is_the_same_to_the_bit_however_the_rows_are_given(
    training: MemoryCases, how: Any, seed: int, data: st.DataObject
) -> None:
    structure = data.draw(structures(len(training.variables) - 1))
    rng = np.random.default_rng(seed)
    shuffled = MemoryCases(training.variables, training.block.take(rng.permutation(len(training.block))), training.has_missing)
    with pytest.MonkeyPatch.context() as patch:
        if seed % 2:
            patch.setattr(counts, "DENSE_CELLS", 8)
        found = [
            expected_network(Counts(each), structure, how, max_iterations=20)
            for each in (training, shuffled, chunked(training, rng))
        ]
        with _kernels.use("numpy"):
            found.append(expected_network(Counts(training), structure, how, max_iterations=20))
        many_threads(patch)
        found.append(expected_network(Counts(training), structure, how, max_iterations=20))
    assert all(identical(found[0][0], network) and found[0][1] == told for network, told in found)


@given(training=some_cases(has_missing=True, weights="whole"), how=smoothings, data=st.data())
@quick
@pytest.mark.filterwarnings("ignore:EM has not converged")
def test_a_weight_of_two_is_a_row_twice(training: MemoryCases, how: Any, data: st.DataObject) -> None:
    structure = data.draw(structures(len(training.variables) - 1))
    rows = np.repeat(np.arange(len(training.block)), training.block.weight.astype(int))
    twice = MemoryCases(training.variables, Block(training.block.take(rows).codes), training.has_missing)
    one, two = (expected_network(Counts(each), structure, how, max_iterations=20)[0] for each in (training, twice))
    assert identical(one, two)


@given(training=small, how=smoothings, data=st.data())
@quick
@pytest.mark.filterwarnings("ignore:EM has not converged")
def test_sparse_tables_equal_dense_ones(training: MemoryCases, how: Any, data: st.DataObject, cases: Any) -> None:
    structure = data.draw(structures(len(training.variables) - 1, max_parents=3, class_parent=True))
    dense, told = expected_network(Counts(training), structure, how, tolerance=0.0, max_iterations=8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts, "DENSE_CELLS", 0)
        sparse, also = expected_network(Counts(cases(training)), structure, how, tolerance=0.0, max_iterations=8)
    assert np.allclose(told.log_likelihoods, also.log_likelihoods, rtol=1e-9)
    for row in product(*(range(v.card) for v in training.variables)):
        for v, parents in structure.items():
            assert isinstance(sparse.cpts[v], SparseCpt) == (len(parents) > 1)
            assert np.isclose(probability(dense, v, row), probability(sparse, v, row), rtol=1e-7, atol=1e-12)


@given(training=small, data=st.data())
@quick
def test_the_rows_of_a_part_may_come_some_at_a_time(training: MemoryCases, data: st.DataObject) -> None:
    structure = data.draw(structures(len(training.variables) - 1))
    one, told = expected_network(Counts(training), structure)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elimination, "FACTOR_CELLS", 81)
        two, also = expected_network(Counts(training), structure)
    assert np.allclose(told.objectives, also.objectives, rtol=1e-12)
    assert all(np.allclose(one.cpts[v], two.cpts[v], rtol=1e-9) for v in structure)


def test_a_class_with_missing_parents() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, 2, 60), rng.integers(0, 3, 60)
    columns = [np.where(rng.random(60) < 0.3, -1, a), np.where(rng.random(60) < 0.3, -1, b), (a + (b > 1)) % 2]
    training = cases_of([2, 3, 2], columns)
    structure = {0: (), 1: (0,), CLASS: (0, 1)}
    network, told = expected_network(Counts(training), structure, 0.5)
    assert told.converged
    assert told.objectives[-1] > told.objectives[0] + 0.5
    expected = math.fsum(
        float(w) * math.log(sum(p for _, p in completions(network, row))) for row, w in rows_of(training.block)
    ) + 0.5 * sum(float(np.log(network.cpts[v]).sum()) for v in structure)
    assert math.isclose(told.objectives[-1], expected, rel_tol=1e-12)


def test_a_given_prior_is_kept() -> None:
    training = cases_of([2, 2, 2], [[0, 1, 1, 0], [0, -1, 1, -1], [0, 1, 0, 1]])
    network, told = expected_network(Counts(training), {CLASS: (), 1: (CLASS,), 0: (1, CLASS)}, prior=[1.0, 0.0])
    assert network.cpts[CLASS].tolist() == [1.0, 0.0]
    assert np.isfinite(told.objectives).all()


def test_pyagrum_finds_the_same_tables_by_em() -> None:
    """Its EM begins elsewhere and knows no classes, but where there is one maximum both have to find it."""
    gum = pytest.importorskip("pyagrum")
    rng = np.random.default_rng(3)
    c = rng.integers(0, 2, 400)
    a = (c + (rng.random(400) < 0.2)) % 2
    b = np.where(rng.random(400) < 0.8, a, rng.integers(0, 3, 400))
    columns = {"a": np.where(rng.random(400) < 0.3, -1, a), "b": np.where(rng.random(400) < 0.2, -1, b), "c": c}
    cases = cases_of([2, 3, 2], list(columns.values()))
    network, _ = expected_network(Counts(cases), {CLASS: (), 0: (CLASS,), 1: (0, CLASS)}, 0.0, tolerance=1e-13, max_iterations=5000)
    template = gum.fastBN("c{0|1}->a{0|1}->b{0|1|2}<-c")
    cells = pd.DataFrame({name: ["?" if x < 0 else str(x) for x in column] for name, column in columns.items()})
    gum.initRandom(2)  # where it begins: from some places it gives up early, with a warning
    learner = gum.BNLearner(cells, template, ["?"])
    learner.useNoPrior()
    learner.useEM(1e-8)
    theirs = learner.learnParameters(template.dag())
    for c, cases in enumerate(network.cpts[0].T):
        assert np.allclose(theirs.cpt("a")[{"c": c}], cases, atol=1e-4)
    for a, c in product(range(2), repeat=2):
        assert np.allclose(theirs.cpt("b")[{"a": a, "c": c}], network.cpts[1][a, :, c], atol=1e-4)


def frame(seed: int = 0, rows: int = 300) -> tuple[pd.DataFrame, pd.Series]:
    """Columns that depend on one another, a quarter of the cells missing, and labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    a = (y + rng.integers(0, 2, rows)) % 3
    columns = {
        "a": a,
        "b": (a + (rng.random(rows) < 0.2)) % 3,
        "c": np.where(rng.random(rows) < 0.7, a, y),
        "d": rng.integers(0, 2, rows),
    }
    X = pd.DataFrame({name: pd.Series(["uvw"[x] for x in column], dtype=object) for name, column in columns.items()})
    return X.mask(rng.random(X.shape) < 0.25, None), pd.Series(y, name="y")


@pytest.mark.parametrize("classifier", [TAN(), KDB(k=2), K2(), HillClimb(smoothing="m-estimate"), Lookup()], ids=repr)
def test_classifiers_complete_the_tables_of_the_structure_they_find(classifier: NetworkClassifier) -> None:
    X, y = frame()
    plain = clone(classifier).fit(X, y)
    full = clone(classifier).set_params(encoder=Encoder(missing="em")).fit(X, y)
    assert dict(full.network_.parents) == dict(plain.network_.parents)
    assert full.em_.converged
    assert full.em_.iterations > 0
    assert not identical(full.network_, plain.network_)
    assert not hasattr(plain, "em_")
    assert not hasattr(full.set_params(encoder=None).fit(X, y), "em_")


def test_em_has_no_effect_on_naive_bayes() -> None:
    X, y = frame()
    full = NaiveBayes(encoder=Encoder(missing="em")).fit(X, y)
    assert identical(full.network_, NaiveBayes().fit(X, y).network_)
    assert (full.em_.iterations, full.passes_) == (0, 1)
    more = NaiveBayes(encoder=Encoder(missing="em")).partial_fit(X[:99], y[:99]).partial_fit(X[99:], y[99:])
    assert identical(full.network_, more.network_)


def test_files_and_batches_give_the_same_network(tmp_path: Path) -> None:
    X, y = frame()
    full = TAN(encoder=Encoder(missing="em")).fit(X, y)
    X.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    assert identical(full.network_, TAN(encoder=Encoder(missing="em")).fit_cases(tmp_path / "t.csv", "y").network_)
    parts = TAN(encoder=Encoder(missing="em")).partial_fit(X[:120], y[:120]).partial_fit(X[120:], y[120:])
    assert identical(full.network_, parts.network_)
    kept = TAN(encoder=Encoder(missing="em")).partial_fit(X, y).partial_fit(X[:9], y[:9], structure="keep")
    assert kept.em_.converged


def test_an_error_about_memory_names_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    columns = [rng.integers(-1, 3, 200) for _ in range(4)]
    training = cases_of([3, 3, 3, 3, 2], [*columns, rng.integers(0, 2, 200)])
    structure = {CLASS: (), 0: (CLASS,), 1: (0, CLASS), 2: (0, 1, CLASS), 3: (0, 1, 2, CLASS)}
    star = {CLASS: (), 0: (CLASS,), **dict.fromkeys((1, 2, 3), (0, CLASS))}
    with pytest.raises(ResourceError, match=r"distinct rows with missing values .* without 'x"):
        expected_network(Counts(training, budget=700), star)
    with pytest.raises(ResourceError, match=r"'x0' \(3 states\), 'x1' \(3 states\)"):
        expected_network(Counts(training, budget=3000), structure)
    monkeypatch.setattr(elimination, "FACTOR_CELLS", 8)
    with pytest.raises(ResourceError, match=r"completing the missing values of 'x0', 'x1'"):
        expected_network(Counts(training), structure)


def test_a_warning_if_em_does_not_converge() -> None:
    training = cases_of([2, 2, 1], [[0, 1, 0, 0, 1], [0, 1, -1, -1, -1], [0] * 5])
    with pytest.warns(NaiveteWarning, match="not converged after 1 iterations"):
        _, told = expected_network(Counts(training), {CLASS: (), 1: (), 0: (1,)}, 0.1, max_iterations=1)
    assert repr(told).startswith("<not converged after 1 iterations: objective -")
    assert repr(Convergence(0, (), (), True, 1e-8)) == "<no missing values to complete>"


@pytest.mark.parametrize(
    "setting",
    [{"tolerance": v} for v in (-1, 1, "a", None, True, math.nan)] + [{"max_iterations": v} for v in (0, 1.5, "a", None, True)],
    ids=repr,
)
def test_settings_out_of_range_are_refused(setting: Any) -> None:
    with pytest.raises(ParameterError, match=next(iter(setting))):
        expected_network(Counts(cases_of([2, 2], [[0, 1], [0, 1]])), {CLASS: (), 0: (CLASS,)}, **setting)
