"""Normal densities of numbers that are not cut: moments, naive Bayes with mixed columns, the recursive classifier."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, norm
from sklearn.base import clone
from sklearn.covariance import EmpiricalCovariance, ledoit_wolf_shrinkage
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB

from naivete import K2, KDB, TAN, Encoder, Full, NaiveBayes
from naivete.cases import Block, Cases, MemoryCases
from naivete.classifiers.naive_variants import Recursive
from naivete.classifiers.saving import load, save
from naivete.counts.counts import Counts
from naivete.counts.moments import Moments, MomentsIn
from naivete.errors import DataError, ParameterError
from naivete.learners.naive import naive
from naivete.network.densities import Kernel, Normal
from naivete.network.joint_density import joint_of
from naivete.network.network import Network
from naivete.variables import CLASS, Variable

quick = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
NORMAL = Encoder(numbers="normal", kinds="numeric")
MIXED = Encoder(numbers="normal")
BELLS = Encoder(numbers="kernel", kinds="numeric")


@st.composite
def number_cases(draw: st.DrawFn) -> MemoryCases:
    """Cases with numbers and codes, some missing, and perhaps weights; each class has at least two cases."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    classes = draw(st.integers(1, 3))
    labels = np.concatenate([np.repeat(np.arange(classes), 2), rng.integers(0, classes, draw(st.integers(0, 30)))]).astype(np.uint8)
    numbers = [rng.normal(0, 1.0, len(labels)) + labels * rng.normal() for _ in range(draw(st.integers(1, 3)))]
    if draw(st.booleans()):
        for column in numbers:
            column[2 * classes :][rng.random(len(labels) - 2 * classes) < 0.3] = np.nan
    codes = (labels + rng.integers(0, 2, len(labels))).astype(np.uint8) % 3
    variables = (*(Variable(f"n{i}", origin=0.0) for i in range(len(numbers))), Variable("x", (0, 1, 2)))
    weight = draw(st.sampled_from([None, rng.integers(1, 4, len(labels)).astype(float)]))
    has_missing = np.array([*(bool(np.isnan(c).any()) for c in numbers), False])
    return MemoryCases(
        (*variables, Variable("class", tuple(range(classes)))), Block((*numbers, codes, labels), weight), has_missing
    )


@given(number_cases(), st.integers(0, 2**32 - 1))
@quick
def test_moments_are_those_of_numpy_however_the_rows_are_divided(cases: MemoryCases, seed: int) -> None:
    block, classes = cases.block, cases.variables[CLASS].card
    moments = Counts(cases).moments([0], (CLASS,))[0]
    parts = np.array_split(np.random.default_rng(seed).permutation(len(block)), 3)
    count = MomentsIn((0,), (CLASS,), (classes,))
    divided = [count(block.take(part))[0] for part in parts]
    merged = divided[0].merged(divided[1]).merged(divided[2])
    weight = np.ones(len(block)) if block.weight is None else block.weight
    for c in range(classes):
        rows = (block.codes[-1] == c) & ~np.isnan(block.codes[0])
        values, w = block.codes[0][rows], weight[rows]
        mean = np.average(values, weights=w)
        variance = np.average((values - mean) ** 2, weights=w)
        for found in (moments, merged):
            assert found.weights[c] == w.sum()
            assert np.isclose(found.means[c], mean, rtol=1e-12)
            assert np.isclose(found.deviations[c] / w.sum(), variance, rtol=1e-12)


@given(st.data())
@quick
def test_one_result_on_every_back_end(cases: Callable[[MemoryCases], Cases], data: st.DataObject) -> None:
    drawn = data.draw(number_cases())
    here, there = (naive(Counts(where)) for where in (drawn, cases(drawn)))
    for x, density in here.densities.items():
        assert np.allclose(density.means, there.densities[x].means, rtol=1e-12, atol=1e-12)
        assert np.allclose(density.variances, there.densities[x].variances, rtol=1e-12)


def by_hand(cases: MemoryCases, row: int) -> np.ndarray:
    """P(class | row) from scipy's densities and counts with one virtual case a cell."""
    block = cases.block
    weight = np.ones(len(block)) if block.weight is None else block.weight
    found = []
    for c in range(cases.variables[CLASS].card):
        rows = block.codes[-1] == c
        log = np.log(weight[rows].sum() / weight.sum())
        for x, variable in enumerate(cases.variables[:-1]):
            column = block.codes[x]
            if variable.density:
                known = rows & ~np.isnan(column)
                mean = np.average(column[known], weights=weight[known])
                every = ~np.isnan(column)
                spread = np.average((column[every] - np.average(column[every], weights=weight[every])) ** 2, weights=weight[every])
                variance = np.average((column[known] - mean) ** 2, weights=weight[known])
                deviation = np.sqrt(max(variance, spread / 1000))
                log += 0.0 if np.isnan(column[row]) else norm.logpdf(column[row], mean, deviation)
            else:
                same = weight[rows & (column == column[row])].sum()
                log += np.log((same + 1) / (weight[rows].sum() + variable.card))
        found.append(log)
    shares = np.exp(np.array(found) - max(found))
    return shares / shares.sum()


@given(number_cases())
@quick
def test_naive_bayes_with_mixed_columns_is_bayes_rule(cases: MemoryCases) -> None:
    from naivete.inference.derived_predictor import predictor_of

    answers = predictor_of(naive(Counts(cases))).posterior(cases.block.codes, cases.has_missing)[0]
    for row in range(len(cases.block)):
        assert np.allclose(answers[row], by_hand(cases, row), atol=1e-12)


@pytest.mark.parametrize("loader", [load_iris, load_breast_cancer])
def test_it_is_gaussian_nb(loader: Any) -> None:
    X, y = loader(return_X_y=True)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    for w in (None, weight):
        ours = NaiveBayes(encoder=NORMAL).fit(X, y, w)
        theirs = GaussianNB(var_smoothing=0).fit(X, y, w)
        assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
        assert np.allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=1e-9)


def frame() -> tuple[pd.DataFrame, np.ndarray]:
    X, y = load_iris(return_X_y=True)
    table = pd.DataFrame(X, columns=["sl", "sw", "pl", "pw"])
    table["colour"] = np.where(X[:, 0] > 5.8, "blue", "red")
    table.iloc[::7, 0] = np.nan
    table.iloc[::11, 4] = None
    return table, np.array(["a", "b", "c"])[y]


@pytest.mark.parametrize("classifier", [NaiveBayes(encoder=MIXED), Recursive(encoder=MIXED), Recursive(encoder=MIXED, refit=False)])
def test_a_mixed_frame_with_gaps_is_learned_saved_and_learned_in_parts(classifier: Any, tmp_path: Path) -> None:
    X, y = frame()
    model = clone(classifier).fit(X, y)
    assert set(model.network_.densities) == {0, 1, 2, 3}
    assert model.score(X, y) > 0.9
    save(model, tmp_path / "m.nvt")
    again = load(tmp_path / "m.nvt")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.get_params()["encoder"] == model.get_params()["encoder"]
    parts = clone(classifier).partial_fit(X[:70], y[:70], classes=["a", "b", "c"]).partial_fit(X[70:], y[70:])
    assert np.allclose(parts.predict_proba(X), model.predict_proba(X), atol=1e-9)


def discriminant(X: np.ndarray, y: np.ndarray, known: np.ndarray) -> np.ndarray:
    """log P(known columns, class) of scipy's multivariate normal densities, with the covariances of maximum likelihood."""
    found = []
    for c in np.unique(y):
        rows = X[y == c]
        covariance = np.cov(rows.T, bias=True)
        logs = np.full(len(X), np.log((y == c).mean()))
        for row in range(len(X)):
            at = np.flatnonzero(known[row])
            if len(at):
                logs[row] += multivariate_normal.logpdf(X[row, at], rows.mean(axis=0)[at], covariance[np.ix_(at, at)])
        found.append(logs)
    return np.array(found).T


def test_k_dependence_with_all_parents_is_the_quadratic_discriminant() -> None:
    X, y = load_iris(return_X_y=True)
    model = KDB(k=3, encoder=NORMAL).fit(X, y)
    theirs = QuadraticDiscriminantAnalysis(solver="eigen", covariance_estimator=EmpiricalCovariance()).fit(X, y)
    assert np.allclose(model.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    every = np.ones(X.shape, bool)
    assert np.allclose(model.predict_joint_log_proba(X), discriminant(X, y, every), rtol=1e-9)
    known = np.random.default_rng(0).random(X.shape) < 0.6
    with_missing = np.where(known, X, np.nan)
    assert np.allclose(model.predict_joint_log_proba(with_missing), discriminant(X, y, known), rtol=1e-9)


def test_full_is_k_dependence_with_all_parents_and_the_discriminants_of_scikit_learn() -> None:
    X, y = load_iris(return_X_y=True)
    quadratic = QuadraticDiscriminantAnalysis(solver="eigen", covariance_estimator=EmpiricalCovariance()).fit(X, y)
    fitted = Full(encoder=NORMAL).fit(X, y)
    assert np.allclose(fitted.predict_proba(X), quadratic.predict_proba(X), atol=1e-9)
    assert np.allclose(fitted.predict_joint_log_proba(X), KDB(k=3, encoder=NORMAL).fit(X, y).predict_joint_log_proba(X), rtol=1e-9)
    pooled = LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=EmpiricalCovariance()).fit(X, y)
    assert np.allclose(Full(shared=True, encoder=NORMAL).fit(X, y).predict_proba(X), pooled.predict_proba(X), atol=1e-9)
    states = np.digitize(X, [2, 4])
    one, two = (model.fit(states, y).predict_proba(states) for model in (Full(), KDB(k=3, theta=-inf, bias="plain")))
    assert np.array_equal(one, two)


def test_shrinkage_goes_from_full_to_naive_and_ledoit_wolf_is_that_of_scikit_learn() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :8]
    naive_answers = NaiveBayes(encoder=NORMAL).fit(X, y).predict_proba(X)
    assert np.allclose(Full(shrinkage=1.0, encoder=NORMAL).fit(X, y).predict_proba(X), naive_answers, atol=1e-9)
    model = Full(shrinkage="ledoit-wolf", encoder=NORMAL).fit(X, y)
    joint = joint_of(model.network_)
    for c in (0, 1):
        part = X[y == c]
        standard = (part - part.mean(axis=0)) / part.std(axis=0)
        share = ledoit_wolf_shrinkage(standard, assume_centered=True)
        covariance = np.cov(part.T, bias=True)
        wanted = np.where(np.eye(8, dtype=bool), covariance, (1 - share) * covariance)
        order = np.argsort(joint.features)
        assert np.allclose(joint.covariances[c][np.ix_(order, order)], wanted, rtol=1e-7)
    for wrong in (-0.1, 1.1, "oas", True):
        with pytest.raises(ParameterError, match="shrinkage="):
            Full(shrinkage=wrong, encoder=NORMAL).fit(X, y)


def test_trees_and_k_dependence_lie_between_naive_and_full(tmp_path: Path) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :10]
    joints = [
        model.fit(X, y).predict_joint_log_proba(X)[np.arange(len(y)), y].sum()
        for model in (NaiveBayes(encoder=NORMAL), TAN(encoder=NORMAL), KDB(k=2, encoder=NORMAL), KDB(k=9, encoder=NORMAL))
    ]
    assert joints == sorted(joints)
    tree = TAN(encoder=NORMAL).fit(X, y)
    assert all(len(tree.network_.parents[x]) <= 2 for x in range(10))
    rho = [np.corrcoef(X[y == c].T) for c in (0, 1)]
    bits = -0.5 * sum((y == c).mean() * np.log2(1 - rho[c] ** 2 + np.eye(10)) for c in (0, 1))
    for arc, own in tree.arc_information_.items():
        assert np.isclose(own, bits[arc], rtol=1e-9)
    save(tree, tmp_path / "m.nvt")
    assert np.array_equal(load(tmp_path / "m.nvt").predict_proba(X), tree.predict_proba(X))


def test_mixed_columns_have_arcs_within_their_kind() -> None:
    X, y = frame()
    X["shape"] = np.where(X["sw"] > 3, "long", "short")
    for model in (TAN(encoder=MIXED), KDB(k=2, encoder=MIXED)):
        network = model.fit(X, y).network_
        for p, x in network.arcs:
            assert network.variables[p].density == network.variables[x].density
        assert network.arcs
        assert model.score(X, y) > 0.9


def test_rows_alone_in_batches_and_far_out() -> None:
    X, y = frame()
    model = NaiveBayes(encoder=MIXED).fit(X, y)
    together = model.predict_proba(X)
    assert np.array_equal(together, np.concatenate([model.predict_proba(X[i : i + 1]) for i in range(len(X))]))
    far = X[:4].copy()
    far.iloc[:, 0] = [1e300, -1e300, 1e308, 5.0]
    assert np.all(np.isfinite(model.predict_proba(far)))
    assert np.all(np.isfinite(model.predict_joint_log_proba(far[3:])))
    nothing = X[:1].copy()
    nothing.iloc[0] = None
    assert np.array_equal(model.predict_proba(nothing.astype(X.dtypes))[0], model.network_.cpts[CLASS])


def test_a_constant_column_and_a_class_of_one_case_do_no_harm() -> None:
    X = np.array([[1.0, 0.5, 7.0], [2.0, 0.7, 7.0], [3.0, 0.1, 7.0], [9.0, 0.3, 7.0]])
    y = np.array(["a", "a", "a", "b"])
    with_constant = NaiveBayes(encoder=NORMAL).fit(X, y)
    without = NaiveBayes(encoder=NORMAL).fit(X[:, :2], y)
    assert np.allclose(with_constant.predict_proba(X), without.predict_proba(X[:, :2]), atol=1e-12)
    assert np.all(np.isfinite(with_constant.predict_proba(X)))


@pytest.mark.parametrize("centre", [0.0, 1e9, -3e12])
def test_numbers_far_from_zero_lose_no_digits(centre: float) -> None:
    """Whole multiples of 2**-8, so that the shift itself is exact."""
    X, y = load_iris(return_X_y=True)
    near = np.round(X * 256) / 256
    one, two = (NaiveBayes(encoder=NORMAL).fit(near + shift, y) for shift in (0.0, centre))
    assert np.allclose(one.predict_proba(near), two.predict_proba(near + centre), atol=1e-12)
    for x, density in one.network_.densities.items():
        assert np.allclose(density.variances, two.network_.densities[x].variances, rtol=1e-12)


@pytest.mark.parametrize("where", ["parquet", "csv", "near", pytest.param("far", marks=pytest.mark.slow)])
def test_moments_are_the_same_wherever_the_rows_are(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """To a relative 1e-12, also of numbers around a thousand million with a deviation of one."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 3000)
    table = pd.DataFrame({"far": 1e9 + rng.normal(y), "near": rng.normal(size=3000) * 1e-6, "wide": rng.normal(size=3000) ** 9})
    table.loc[::13, "near"] = np.nan
    table["y"] = np.array(["a", "b", "c"])[y]
    here = Full(encoder=NORMAL).fit(table[["far", "near", "wide"]], table["y"])
    plain = NaiveBayes(encoder=NORMAL).fit(table[["far", "near", "wide"]], table["y"])
    monkeypatch.setattr("naivete.cases.sources.ROWS", 250)
    source: Any = tmp_path / f"t.{where}"
    if where == "parquet":
        table.to_parquet(source, row_group_size=400)
    elif where == "csv":
        table.to_csv(source, index=False)
    else:
        source = pytest.importorskip("dask.dataframe").from_pandas(table, npartitions=5)
    cluster = {"cluster": request.getfixturevalue(where)} if where in ("near", "far") else {}
    for kind, own in ((Full, here), (NaiveBayes, plain)):
        there = kind(encoder=NORMAL).fit_cases(source if cluster else str(source), "y", **cluster)
        assert [v.origin for v in there.network_.columns] == [v.origin for v in own.network_.columns]
        for x, density in own.network_.densities.items():
            assert np.allclose(there.network_.densities[x].variances, density.variances, rtol=1e-12)
            assert np.allclose(there.network_.densities[x].means, density.means, rtol=1e-11, atol=1e-15)


def test_kernel_densities_are_those_of_scipy(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    model = NaiveBayes(encoder=BELLS).fit(X, y)
    joint = np.log(np.bincount(y) / len(y)) + np.zeros((len(y), 3))
    for x in range(4):
        density = model.network_.densities[x]
        assert isinstance(density, Kernel)
        for c in range(3):
            values = X[y == c, x]
            low, high = np.quantile(values, [0.25, 0.75], method="inverted_cdf")
            width = 0.9 * min(values.std(), (high - low) / 1.34 or np.inf) * len(values) ** -0.2
            assert np.isclose(density.widths[c], width, rtol=1e-9)
            joint[:, c] += np.logaddexp.reduce(norm.logpdf(X[:, x][:, None], values, width), axis=1) - np.log(len(values))
    assert np.allclose(model.predict_joint_log_proba(X), joint, rtol=1e-9)
    assert model.score(X, y) > 0.94
    save(model, tmp_path / "m.nvt")
    assert np.array_equal(load(tmp_path / "m.nvt").predict_proba(X), model.predict_proba(X))
    gapped = X.copy()
    gapped[::3, 1] = np.nan
    parts = NaiveBayes(encoder=BELLS).partial_fit(gapped[:80], y[:80], classes=[0, 1, 2]).partial_fit(gapped[80:], y[80:])
    assert np.allclose(parts.predict_proba(X), NaiveBayes(encoder=BELLS).fit(gapped, y).predict_proba(X), atol=1e-12)
    assert np.all(np.isfinite(model.predict_joint_log_proba([[1e300, 0, 0, 0]])))


def test_many_points_are_put_together_and_other_classifiers_have_none() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 9000)
    X = (rng.normal(size=9000) * 0.5 + np.where(y, rng.choice([-3, 3], 9000), rng.choice([-6, 0, 6], 9000)))[:, None]
    model = NaiveBayes(encoder=BELLS).fit(X, y)
    assert len(model.network_.densities[0].points) == 2048
    assert model.score(X, y) > NaiveBayes(encoder=NORMAL).fit(X, y).score(X, y) + 0.15
    with pytest.raises(ParameterError, match="TAN has no kernel densities; choose NaiveBayes"):
        TAN(encoder=BELLS).fit(X, y)
    with pytest.raises(ParameterError, match="K2 learns from tables only"):
        K2(encoder=BELLS).fit(X, y)


def left_out(X: np.ndarray, y: np.ndarray, encoder: Encoder) -> float:
    """The sum of log P(class | number), each case left out, by fitting again and again; the cuts stay."""
    cuts = NaiveBayes(encoder=encoder).fit(X, y).network_.variables[0].cuts
    held = encoder if cuts is None else Encoder(kinds="numeric", cut=lambda *_: cuts)
    total = 0.0
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        model = NaiveBayes(encoder=held).fit(X[rest], y[rest])
        total += float(np.log(model.predict_proba(X[i : i + 1])[0, model.classes_.tolist().index(y[i])]))
    return total


@pytest.mark.parametrize("seed", range(6))
def test_what_is_left_open_is_decided_by_leaving_one_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 40)
    X = (rng.normal(y * 1.5) if seed % 2 else (rng.integers(0, 4, 40) * 2.0 + y + rng.normal(0, 0.05, 40)))[:, None]
    auto = NaiveBayes(encoder=Encoder(kinds="numeric", numbers="auto")).fit(X, y)
    cut, normal = (left_out(X, y, Encoder(kinds="numeric", numbers=how)) for how in ("cut", "normal"))
    assert bool(auto.network_.densities) == (normal > cut)


def test_auto_in_mixed_tables_and_where_densities_are_unknown() -> None:
    X, y = frame()
    auto = Encoder(numbers="auto")
    model = NaiveBayes(encoder=auto).fit(X, y)
    assert 0 < len(model.network_.densities) <= 4
    assert model.score(X, y) > 0.92
    assert not K2(encoder=auto).fit(X, y).network_.densities
    parts = NaiveBayes(encoder=auto).partial_fit(X[:70], y[:70], classes=["a", "b", "c"]).partial_fit(X[70:], y[70:])
    assert np.allclose(parts.predict_proba(X), model.predict_proba(X), atol=1e-9)


def test_learners_of_tables_refuse_densities() -> None:
    X, y = frame()
    with pytest.raises(ParameterError, match="K2 learns from tables only; choose NaiveBayes, TAN, KDB, Full, KNaive or Recursive"):
        K2(encoder=MIXED).fit(X, y)
    with pytest.raises(ParameterError, match="with numbers='normal' set k and theta to numbers"):
        KDB(k="auto", encoder=MIXED).fit(X, y)
    with pytest.raises(ParameterError, match="numbers='exact'"):
        NaiveBayes(encoder=Encoder(numbers="exact")).fit(X, y)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "density",
    [
        Normal(np.zeros(3), np.ones(3)),
        Normal(np.zeros(2), np.zeros(2)),
        Normal(np.array([0.0, np.nan]), np.ones(2)),
        Normal(np.zeros(2), np.array([1.0, np.inf])),
    ],
)
def test_densities_that_are_none_are_refused(density: Normal) -> None:
    variables = (Variable("x", origin=0.0), Variable("class", ("no", "yes")))
    with pytest.raises(DataError, match="density of 'x'"):
        Network(variables, {0: (CLASS,), CLASS: ()}, {0: np.ones((1, 2)), CLASS: np.array([0.5, 0.5])}, {}, {0: density})


def test_a_density_is_needed_where_a_number_is_not_cut_and_nowhere_else() -> None:
    variables = (Variable("x", origin=0.0), Variable("class", ("no", "yes")))
    tables = {0: np.ones((1, 2)), CLASS: np.array([0.5, 0.5])}
    with pytest.raises(DataError, match="densities are needed for the continuous features"):
        Network(variables, {0: (CLASS,), CLASS: ()}, tables)
    with pytest.raises(DataError, match="and no other"):
        Network((Variable("x", ("a",)), variables[1]), {0: (CLASS,), CLASS: ()}, tables, {}, {0: Normal(np.zeros(2), np.ones(2))})


def test_moments_of_groups_add_up() -> None:
    values = np.array([1.0, 2.0, 4.0, 10.0])
    block = Block((values, np.array([0, 0, 1, 1], np.uint8)))
    found = MomentsIn((0,), (CLASS,), (2,))(block)[0]
    assert isinstance(found, Moments)
    assert [part.tolist() for part in found.summed()] == [[4.0], [4.25], [((values - 4.25) ** 2).sum()]]
