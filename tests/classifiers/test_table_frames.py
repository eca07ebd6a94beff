"""The conditional tables as pandas frames."""

import sys

import numpy as np
import pandas as pd
import pytest

from naivete import A2DE, C45, KDB, Encoder, NaiveBayes, NaiveteError, load, save


@pytest.fixture(scope="module")
def cases():
    rng = np.random.default_rng(5)
    y = pd.Series(rng.choice(["ill", "well"], 80), name="state")
    X = pd.DataFrame({"a": rng.choice(["x", "y"], 80), "age": rng.normal(size=80) + 2 * (y == "ill")})
    return X.assign(b=X["a"]), y


def test_probabilities_and_counts(cases, tmp_path):
    X, y = cases
    model = KDB(k=1, theta=-np.inf).fit(X, y)
    assert list(model.tables_) == ["a", "age", "b", "state"]
    for name, frame in model.tables_.items():
        assert frame.index.names == [*model.parents_[name], name]
        parents = list(model.parents_[name])
        sums = frame["probability"].groupby(parents).sum() if parents else frame["probability"].sum()
        np.testing.assert_allclose(sums, 1)
        assert frame["count"].sum() == len(X)
    child = "b" if "a" in model.parents_["b"] else "a"
    other = "a" if child == "b" else "b"
    frame = model.tables_[child]
    cell = frame.xs(("x", "ill", "x"), level=[other, "state", child])
    assert cell["count"].item() == ((X["a"] == "x") & (y == "ill")).sum()
    assert cell["probability"].item() == pytest.approx((cell["count"].item() + 1) / (cell["count"].item() + 2))
    np.testing.assert_allclose(model.tables_["state"]["count"], y.value_counts().sort_index())
    assert model.tables_["state"].loc["ill", "probability"].item() == pytest.approx((y == "ill").mean())
    save(model, tmp_path / "model.nvt")
    loaded = load(tmp_path / "model.nvt").tables_["b"]
    assert list(loaded.columns) == ["probability"]
    pd.testing.assert_series_equal(loaded["probability"], model.tables_["b"]["probability"])


def test_sparse_tables(cases):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"f{i}": rng.integers(40, size=300).astype(str) for i in range(5)})
    y = rng.integers(2, size=300)
    model = KDB(k=4, theta=-np.inf, bias="plain").fit(X, y)
    assert model.network_.sparse
    frame = model.tables_[model.network_.name(min(model.network_.sparse))]
    assert frame["count"].sum() == 300
    assert frame["count"].isna().any()
    assert "any other" in frame.index.get_level_values(0)


def test_densities_trees_and_ensembles(cases):
    X, y = cases
    density = NaiveBayes(encoder=Encoder(numbers="normal")).fit(X, y)
    assert list(density.tables_) == ["a", "b", "state"]
    with pytest.raises(KeyError, match="there is no table of 'age'"):
        density.tables_["age"]
    assert "count" not in C45().fit(X, y).tables_["state"]
    assert not hasattr(A2DE().fit(X, y), "tables_")
    assert not hasattr(NaiveBayes(), "tables_")
    assert repr(density.tables_) == "<tables of 'a', 'b', 'state'>"


def test_without_pandas(cases, monkeypatch):
    model = NaiveBayes().fit([["u"], ["v"]], [0, 1])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(NaiveteError, match="pandas"):
        model.tables_["x0"]
