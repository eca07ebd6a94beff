"""Linear scores: equal to penalized logistic regression, the same from both kernels, and learned without the cases they are used for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax

from naivete._kernels import linear as linear_kernels
from naivete._kernels import weights as weight_kernels
from naivete._kernels.dispatch import loaded, use
from naivete._kernels.linear import LinearRows, fit_linear, gram
from naivete._kernels.weights import SECOND
from naivete.cases.sample import Sample
from naivete.learners import linear as module
from naivete.learners.folds import folds_of
from naivete.learners.linear import cross_fitted_linear
from naivete.learners.weighting import temperature
from naivete.variables import Variable, Variables

needs_compiler = pytest.mark.skipif(loaded() is None, reason="the compiled kernels are not installed")


def table(rows: int = 120, classes: int = 3, seed: int = 0) -> tuple[Variables, Sample]:
    """A nominal and a numeric feature, both with missing values, and a class that depends on both."""
    rng = np.random.default_rng(seed)
    nominal, numeric = rng.integers(0, 3, rows).astype(np.uint8), rng.integers(0, 20, rows).astype(np.uint8)
    labels = sum(part.astype(np.uint32) for part in (nominal > 0, numeric > 12, rng.random(rows) < 0.2)) % classes
    nominal[rng.random(rows) < 0.1] = 255
    numeric[rng.random(rows) < 0.1] = 255
    variables = (
        Variable("a", ("x", "y", "z")),
        Variable("b", cuts=tuple(map(float, range(19)))),
        Variable("class", tuple(range(classes))),
    )
    weight = rng.integers(1, 4, rows).astype(np.float64)
    return variables, Sample((nominal, numeric), labels, weight, np.ones(rows))


def design(sample: Sample) -> np.ndarray:
    """The matrix of the features: one column for each state, one for the normal scores, one where a number is missing."""
    nominal, numeric = (np.minimum(codes, states) for codes, states in zip(sample.codes, (3, 20), strict=True))
    scores = module._standardized(np.bincount(numeric, sample.weight, 21)[:20])
    return np.column_stack([np.eye(4)[nominal], np.append(scores, 0.0)[numeric], numeric == 20])


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("tier", [pytest.param("c", marks=needs_compiler), "numpy"])
def test_the_scores_are_those_of_penalized_logistic_regression(tier: str, classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEPS", 500)
    monkeypatch.setattr(linear_kernels, "TOLERANCE", 1e-10)
    monkeypatch.setattr(weight_kernels, "TOLERANCE", 1e-10)
    variables, sample = table(classes=classes)
    with use(tier):
        linear, _ = cross_fitted_linear(variables, (0, 1), sample, folds_of(sample, 3))
    matrix = np.column_stack([design(sample), np.ones(len(sample.labels))])
    frequency = np.bincount(sample.labels, sample.weight) + 0.5
    origin = np.zeros((matrix.shape[1], classes))
    origin[-1] = np.log(frequency / frequency.sum())

    def loss(flat: np.ndarray) -> float:
        values = flat.reshape(origin.shape)
        logs = log_softmax(matrix @ values, axis=1)[np.arange(len(matrix)), sample.labels]
        return float(-(sample.weight * logs).sum() + 0.5 * ((values - origin) ** 2).sum())

    best = minimize(loss, origin.ravel(), method="BFGS").x.reshape(origin.shape)
    expected = log_softmax(matrix @ best, axis=1)
    assert log_softmax(linear.scores(sample.codes, len(matrix)), axis=1) == pytest.approx(expected, abs=1e-3)


@needs_compiler
@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("classes", [1, 3])
def test_both_kernels_find_the_same_weights(dense: bool, classes: int) -> None:
    rng = np.random.default_rng(3)
    start = np.arange(0, 62, 2)
    rows = LinearRows(start, rng.integers(0, 5, 60).astype(np.uint32), rng.normal(size=60), rng.normal(size=5))
    labels = rng.choice([0, SECOND] if classes == 1 else 3, 30).astype(np.uint32)
    weight, shape = rng.integers(0, 3, 30).astype(np.float64), (6, classes)
    with use("c"):
        products = gram(rows, weight)
    with use("numpy"):
        assert gram(rows, weight) == pytest.approx(products, rel=1e-12)
    curvatures = np.tile(0.2 * products + 0.7 * np.eye(6), (classes, 1, 1)) if dense else np.full(shape, 3.0)
    arguments = rows, labels, weight, np.full(shape, 0.7), rng.normal(size=shape), np.zeros(shape), 300, curvatures
    with use("c"):
        one = fit_linear(*arguments)
    with use("numpy"):
        two = fit_linear(*arguments)
    assert one == pytest.approx(two, abs=1e-4)
    assert np.abs(one).max() > 0.1


def test_scores_of_a_fold_do_not_depend_on_its_classes() -> None:
    variables, sample = table(90)
    sample = sample._replace(weight=np.ones(90))
    folds = folds_of(sample, 3)
    changed = np.where(folds.share[:, 1] > 0, (sample.labels + 1) % 3, sample.labels).astype(np.uint32)
    one, two = (cross_fitted_linear(variables, (0, 1), sample._replace(labels=y), folds)[1] for y in (sample.labels, changed))
    assert (one[folds.fold == 1] == two[folds.fold == 1]).all()
    assert (one[folds.fold == 0] != two[folds.fold == 0]).any()


def test_equal_rows_are_divided_among_the_folds() -> None:
    sample = Sample((), np.zeros(3, np.uint32), np.array([7.0, 0.25, 2.0]), np.array([1.0, 0.25, 1.0]))
    folds = folds_of(sample, 3)
    assert (folds.share * sample.weight[:, None]).tolist() == [[3.0, 2.0, 2.0], [0.0, 0.25, 0.0], [1.0, 0.0, 1.0]]
    assert folds.weight.sum() == sample.weight.sum()


def test_without_features_the_scores_are_the_class_frequencies() -> None:
    variables, sample = table()
    linear, scores = cross_fitted_linear(variables, (), sample, folds_of(sample, 3))
    assert linear.tables == ()
    frequency = np.bincount(sample.labels, sample.weight) / sample.weight.sum()
    assert np.exp(linear.intercepts) == pytest.approx(frequency, abs=0.01)
    assert scores.shape == (len(folds_of(sample, 3).case), 3)


@pytest.mark.parametrize("strength", [0.0, 5.0])
@needs_compiler
def test_both_kernels_find_the_same_temperature(strength: float) -> None:
    rng = np.random.default_rng(1)
    terms = np.log(rng.dirichlet([1, 1, 1], (50, 2))).transpose(0, 2, 1)  # (row, class, term), not contiguous
    labels, weight = rng.integers(0, 3, 50).astype(np.uint32), rng.random(50)
    with use("c"):
        one = temperature(terms[:, :, 1], labels, weight, strength)
    with use("numpy"):
        two = temperature(terms[:, :, 1], labels, weight, strength)
    assert one == pytest.approx(two, rel=1e-6)


def test_a_penalty_keeps_the_temperature_near_one() -> None:
    sure = np.log(np.array([[0.9, 0.1], [0.1, 0.9]]))
    labels, weight = np.array([0, 1], np.uint32), np.ones(2)
    assert temperature(sure, labels, weight)[0] == pytest.approx(8.0, rel=1e-6)
    assert 1 < temperature(sure, labels, weight, 5.0)[0] < 1.2
