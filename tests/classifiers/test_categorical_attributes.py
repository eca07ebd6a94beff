"""The attributes of scikit-learn's CategoricalNB."""

import pickle

import numpy as np
import pytest
from sklearn.naive_bayes import CategoricalNB

from naivete import TAN, Encoder, NaiveBayes, NotFittedError, Spectrum, load, save

ATTRIBUTES = ("class_log_prior_", "feature_log_prob_", "n_categories_", "class_count_", "category_count_")


@pytest.fixture(scope="module")
def coded():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=200)
    X = np.column_stack([(rng.integers(card, size=200) + y) % card for card in (2, 3, 5)])
    return X, y, rng.integers(1, 4, size=200) / 2


@pytest.mark.parametrize("smoothing", [1.0, 0.25])
@pytest.mark.parametrize("weighted", [False, True])
def test_attributes_equal_those_of_scikit_learn(coded, smoothing, weighted):
    X, y, weight = coded
    weight = weight if weighted else None
    ours = NaiveBayes(smoothing=smoothing).fit(X, y, weight)
    theirs = CategoricalNB(alpha=smoothing).fit(X, y, weight)
    for name in ATTRIBUTES:
        values, expected = getattr(ours, name), getattr(theirs, name)
        assert len(values) == len(expected)
        for value, other in zip(values, expected, strict=True):
            np.testing.assert_allclose(value, other, rtol=1e-12, atol=1e-12)


def test_prior_and_missing_values(coded):
    X, y, _ = coded
    given = NaiveBayes(prior=[0.5, 0.25, 0.25]).fit(X, y)
    np.testing.assert_allclose(given.class_log_prior_, np.log([0.5, 0.25, 0.25]))
    assert given.class_count_.tolist() == np.bincount(y).tolist()
    rows = X.astype(object)
    rows[:50, 1] = None
    partly = NaiveBayes().fit(rows, y)
    assert partly.category_count_[1].sum() == 150
    assert partly.class_count_.sum() == 200


def test_saved_pickled_and_incremental(coded, tmp_path):
    X, y, _ = coded
    model = NaiveBayes().fit(X, y)
    save(model, tmp_path / "model.nvt")
    loaded = load(tmp_path / "model.nvt")
    assert loaded.class_count_.tolist() == model.class_count_.tolist()
    np.testing.assert_array_equal(loaded.feature_log_prob_[2], model.feature_log_prob_[2])
    with pytest.raises(AttributeError, match=r"no category_count_.*after loading a model file"):
        _ = loaded.category_count_
    assert not hasattr(loaded, "category_count_")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).category_count_[2], model.category_count_[2])
    batches = NaiveBayes().partial_fit(X[:120], y[:120], [0, 1, 2]).partial_fit(X[120:], y[120:])
    np.testing.assert_array_equal(batches.category_count_[2], model.category_count_[2])


def test_absent_where_they_have_no_meaning(coded):
    X, y, _ = coded
    with pytest.raises(NotFittedError):
        _ = NaiveBayes().class_count_
    tree = TAN(bias="plain").fit(X, y)
    with pytest.raises(AttributeError, match="TAN has no feature_log_prob_: its features depend on more than the class"):
        _ = tree.feature_log_prob_
    density = NaiveBayes(encoder=Encoder(kinds="numeric", numbers="normal")).fit(X, y)
    with pytest.raises(AttributeError, match="'x0' has a density and no categories"):
        _ = density.class_count_
    for other in (tree, density, Spectrum(members=1).fit(X, y), NaiveBayes()):
        assert not any(hasattr(other, name) for name in ATTRIBUTES)


def test_no_counts_after_expectation_maximization(coded):
    X, y, _ = coded
    rows = X.astype(object)
    rows[:20, 0] = None
    model = NaiveBayes(encoder=Encoder(missing="em")).fit(rows, y)
    assert not hasattr(model, "category_count_")
    assert model.class_count_.tolist() == np.bincount(y).tolist()
