"""The parameters `class_weight` and `prior`."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import CategoricalNB
from sklearn.utils.class_weight import compute_sample_weight

from naivete import KDB, SKDB, DataError, NaiveBayes, NaiveteWarning, ParameterError, Recursive, load, model_hash, save
from naivete.classifiers.registry import REGISTRY, shares_counts
from naivete.classifiers.specification import classifier_of, spec_of

WEIGHTS = ["balanced", {"ill": 3.0, "well": 0.5}, {"ill": 2}]


@pytest.fixture(scope="module")
def cases():
    rng = np.random.default_rng(1)
    y = np.where(rng.random(90) < 0.25, "ill", "well")
    values = {f"f{i}": np.where(rng.random(90) < 0.3 + 0.4 * (y == "ill"), "yes", "no") for i in range(4)}
    return pd.DataFrame(values), y


@pytest.mark.parametrize("entry", REGISTRY, ids=lambda entry: entry.word)
def test_is_the_sample_weight_of_the_classes(cases, entry):
    X, y = cases
    options = {"members": 1, "trees": 0, "boosting": 0} if entry.word == "spectrum" else {}
    for weights in WEIGHTS[:2]:
        weighted = entry.estimator(class_weight=weights, **options).fit(X, y)
        same = entry.estimator(**options).fit(X, y, compute_sample_weight(weights, y))
        np.testing.assert_allclose(weighted.predict_proba(X), same.predict_proba(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
def test_equals_scikit_learn(cases, weights):
    X, y = cases
    codes = (X == "yes").astype(int)
    ours = NaiveBayes(class_weight=weights).fit(X, y)
    theirs = CategoricalNB().fit(codes, y, compute_sample_weight(weights, y))
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(codes), rtol=1e-10)


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
def test_from_files_and_with_sample_weights(cases, weights, tmp_path):
    X, y = cases
    weight = np.random.default_rng(2).random(len(X))
    whole = KDB(class_weight=weights).fit(X, pd.Series(y, name="y"), weight)
    X.assign(y=y, weight=weight).to_parquet(tmp_path / "cases.parquet")
    streamed = KDB(class_weight=weights).fit_cases(tmp_path / "cases.parquet", "y", weight="weight")
    assert model_hash(streamed) == model_hash(whole)
    assert streamed.passes_ == whole.passes_ + (weights == "balanced")
    for label, share in zip(whole.classes_, whole.network_.cpts[-1], strict=True):
        if weights == "balanced":
            assert share == pytest.approx(1 / len(whole.classes_)), label


def test_batches(cases):
    X, y = cases
    weights = {"ill": 3.0, "well": 0.5}
    batches = NaiveBayes(class_weight=weights).partial_fit(X[:40], y[:40], ["ill", "well"]).partial_fit(X[40:], y[40:])
    assert model_hash(batches) == model_hash(NaiveBayes(class_weight=weights).fit(X, y))
    batches.forget(X[40:], y[40:])
    assert model_hash(batches) == model_hash(NaiveBayes(class_weight=weights).fit(X[:40], y[:40]))
    balanced = NaiveBayes(class_weight="balanced")
    with pytest.raises(ParameterError, match="not possible with batches"):
        balanced.partial_fit(X, y)
    with pytest.raises(ParameterError, match="not possible with merge"):
        balanced.fit(X, y).merge(balanced)


def test_class_of_weight_zero_is_left_out(cases):
    X, y = cases
    cases = X.assign(y=y)
    for fit in (lambda m: m.fit(X, y), lambda m: m.fit_cases(cases, "y"), lambda m: m.partial_fit(X, y)):
        with pytest.warns(NaiveteWarning, match="class_weight is 0 for the class 'ill': the model is learned without it") as caught:
            assert fit(NaiveBayes(class_weight={"ill": 0})).classes_.tolist() == ["well"]
        assert len(caught) == 1
    with pytest.warns(NaiveteWarning, match=r"for the classes \['ill', 'sick'\]: the model is learned without them"):
        NaiveBayes(class_weight={"sick": 0, "ill": 0}).fit(X, np.where(np.arange(len(y)) == 3, "sick", y))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NaiveBayes(class_weight={"ill": 0.5, "well": 1}).fit(X, y)
    with pytest.raises(DataError, match="class_weight is zero for the classes of all rows"):
        NaiveBayes(class_weight={"ill": 0, "well": 0}).fit(X, y)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("even", "pass a dict from class labels to weights, 'balanced', or None"),
        ({}, "pass a dict"),
        ({"ill": -1}, "the weight -1 of the class 'ill'"),
        ({"ill": True}, "the weight True"),
        ({"sick": 2.0}, "'sick' is not a class"),
    ],
)
def test_wrong_weights(cases, weights, message):
    X, y = cases
    with pytest.raises(ParameterError, match=message):
        NaiveBayes(class_weight=weights).fit(X, y)
    with pytest.raises(ParameterError, match=message):
        NaiveBayes(class_weight=weights).fit_cases(X.assign(y=y), "y")


PRIORS = [("uniform", [0.5, 0.5]), ({"well": 0.75, "ill": 0.25}, [0.25, 0.75])]


@pytest.mark.parametrize(("prior", "probabilities"), PRIORS, ids=str)
@pytest.mark.parametrize("estimator", [NaiveBayes, KDB, Recursive])
def test_prior_by_label(cases, estimator, prior, probabilities):
    X, y = cases
    named, listed = estimator(prior=prior).fit(X, y), estimator(prior=probabilities).fit(X, y)
    np.testing.assert_array_equal(named.predict_proba(X), listed.predict_proba(X))


@pytest.mark.parametrize("word", ["bsej", "naive-as", "k2-as", "aode", "skdb", "nb:calibration=leave-one-out"])
def test_prior_by_label_in_leave_one_out(cases, word):
    X, y = cases
    named = classifier_of(word).set_params(prior={"well": 0.75, "ill": 0.25}).fit(X, y)
    listed = classifier_of(word).set_params(prior=[0.25, 0.75]).fit(X, y)
    np.testing.assert_array_equal(named.predict_proba(X), listed.predict_proba(X))


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ("even", "choose 'uniform'"),
        ({"ill": 1.0}, "for each of the classes"),
        ({"ill": 0.0, "well": 0.0}, "prior"),
        ([0.5, 0.6], "sum to 1"),
    ],
)
def test_wrong_priors(cases, prior, message):
    X, y = cases
    with pytest.raises(ParameterError, match=message):
        NaiveBayes(prior=prior).fit(X, y)


@pytest.mark.parametrize("prior", ["uniform", {1: 0.5, 2: 0.5}, None])
@pytest.mark.parametrize("weights", ["balanced", {1: 2.0, np.int64(2): 1}, None])
def test_saved(prior, weights, tmp_path):
    model = NaiveBayes(prior=prior, class_weight=weights).fit([["a"], ["b"], ["b"]], [1, 2, 2])
    save(model, tmp_path / "model.nvt")
    loaded = load(tmp_path / "model.nvt")
    assert (loaded.prior, loaded.class_weight) == (prior, weights)
    assert model_hash(loaded) == model_hash(model)
    assert str(spec_of(classifier_of(str(spec_of(model))))) == str(spec_of(model))
    assert shares_counts(model) == (weights is None and not isinstance(prior, dict)), "a prior by label needs the labels"


def test_specifications(cases):
    X, y = cases
    assert classifier_of("nb:prior=uniform").prior == "uniform"
    assert classifier_of("nb:prior=ill:1/well:3").prior == {"ill": 0.25, "well": 0.75}
    assert classifier_of("kdb:k=1,class_weight=balanced").class_weight == "balanced"
    assert classifier_of("c45:class_weight=ill:2/well:1").fit(X, y).class_weight == {"ill": 2.0, "well": 1.0}
    for text in ("nb:prior=ill:x/well:1", "nb:class_weight=ill:x", "nb:prior=even"):
        with pytest.raises(ParameterError, match="write"):
            classifier_of(text)


@pytest.mark.parametrize("classifier", [KDB(k="auto", theta=-np.inf), SKDB()])
def test_whole_rows_are_left_out_while_parameters_are_chosen(classifier):
    """Whether weights of classes are whole numbers does not matter: they say how important rows are."""
    rng = np.random.default_rng(0)
    y, X = rng.integers(0, 2, 400), rng.integers(0, 4, (400, 8)).astype(str)
    X[:, 0] = np.where(rng.random(400) < 0.7, y, X[:, 0].astype(int) % 2)
    whole, fractional = (clone(classifier).set_params(class_weight=w).fit(X, y) for w in ({0: 10, 1: 30}, {0: 10.5, 1: 31.5}))
    assert whole.network_.parents == fractional.network_.parents
    assert max(map(len, whole.network_.parents.values())) <= 2
