"""Importances of features and arcs, and nomograms."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.feature_selection import SelectFromModel
from sklearn.inspection import permutation_importance

from naivete import AODE, C45, FAN, KDB, TAN, Encoder, NaiveBayes, NotFittedError, ParameterError, Spectrum
from naivete.variables import CLASS


@pytest.fixture(scope="module")
def data() -> tuple[list[list[str]], list[str]]:
    """A table whose first column says much about the class, the second a little, the third nothing; the fourth follows the first."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    strong = np.where(rng.random(600) < 0.9, y, 1 - y)
    weak = np.where(rng.random(600) < 0.65, y, 1 - y)
    noise = rng.integers(0, 3, 600)
    copy = np.where(rng.random(600) < 0.9, strong, 1 - strong)
    return np.stack([strong, weak, noise, copy], axis=1).astype(str).tolist(), np.array(["no", "yes"])[y].tolist()


def test_importances_order_the_features_as_permutation_does(data: Any) -> None:
    X, y = data
    for model in (NaiveBayes().fit(X, y), TAN().fit(X, y)):
        importance = model.feature_importances_
        assert np.isclose(importance.sum(), 1)
        permuted = permutation_importance(model, np.array(X, object), y, scoring="neg_log_loss", n_repeats=3, random_state=0)
        assert importance.argmax() == permuted.importances_mean.argmax() == 0
        assert importance[2] < importance[1]
        assert permuted.importances_mean[2] < permuted.importances_mean[1]
        given = model.importances(X)
        assert np.allclose(
            [given.features[f"x{i}"] for i in range(4)], np.abs(model.explain(X, background=X).by_feature.values).mean(axis=0)
        )


def test_importance_of_an_arc_is_the_mean_change_of_the_log_odds(data: Any) -> None:
    X, y = data
    model = TAN().fit(X, y)
    network = model.network_
    arcs = model.importances().arcs
    assert set(arcs) == {(network.name(p), network.name(x)) for p, x in network.arcs}
    for p, x in network.arcs:
        table = np.moveaxis(network.full_table(x), [network.family(x).index(m) for m in (p, x, CLASS)], range(3))
        whole = np.zeros(table.shape)  # P(parent, x, class), by enumeration of all rows of the network
        for row in np.ndindex(*(v.card for v in network.variables)):
            whole[row[p], row[x], row[-1]] += np.prod(
                [network.full_table(v)[tuple(row[m] for m in network.family(v))] for v in network.cpts]
            )
        given_class = whole.sum(axis=0) / whole.sum(axis=(0, 1))  # (x, class)
        change = np.log2(table / given_class[None])
        expected = (whole.sum(axis=2) * np.abs(change[..., 1] - change[..., 0])).sum()
        assert np.isclose(arcs[network.name(p), network.name(x)], expected)


def test_importances_as_text_and_html(data: Any) -> None:
    X, y = data
    importance = TAN().fit(X, y).importances()
    text = str(importance)
    assert text.splitlines()[0].split() == ["feature", "bits"]
    assert " -> " in text
    assert importance._repr_html_().count("<figure") == 2
    assert "arc" not in str(NaiveBayes().fit(X, y).importances())


def test_features_are_selected_by_importance(data: Any) -> None:
    X, y = data
    chosen = SelectFromModel(NaiveBayes(), max_features=1, threshold=-np.inf).fit(np.array(X, object), y)
    assert chosen.get_support().tolist() == [True, False, False, False]


def test_importances_that_are_not_defined(data: Any) -> None:
    X, y = data
    assert not hasattr(NaiveBayes(), "feature_importances_")
    with pytest.raises(NotFittedError):
        NaiveBayes().importances()
    with pytest.raises(ParameterError, match=r"AODE does not predict with one network.*fit NaiveBayes or TAN"):
        AODE().fit(X, y).nomogram()


def test_importances_of_classifiers_that_are_not_one_network(data: Any) -> None:
    X, y = data
    for model in (AODE(), Spectrum(members=1), Spectrum(members=2, trees=2, boosting=5)):
        model.fit(X, y)
        importance = model.feature_importances_
        assert np.isclose(importance.sum(), 1)
        assert importance.argmax() == 0
        assert importance[2] < importance[1]
        given = model.importances(X)
        assert not given.arcs
        assert str(given).endswith("Estimated from 32 background rows.")
        assert "Estimated from 32 rows drawn from the" in model.importances()._repr_html_()


@pytest.mark.parametrize("learner", [NaiveBayes(), TAN(), FAN(), TAN(calibration="leave-one-out")], ids=repr)
def test_points_of_a_nomogram_give_the_probability(learner: Any, data: Any) -> None:
    X, y = data
    model = learner.fit(X, y)
    nomogram = model.nomogram()
    scales = {scale.name: dict(zip(scale.states, scale.points.tolist(), strict=True)) for scale in nomogram.scales}
    network = model.network_
    for row, expected in zip(X[:30], model.predict_proba(X[:30])[:, 1], strict=True):
        total = 0.0
        for x in network.features:
            parents = [p for p in network.parents[x] if p != CLASS]
            name = f"x{x} | x{parents[0]} = {row[parents[0]]}" if parents else f"x{x}"
            total += scales[name][row[x]] if name in scales else 0.0
        assert np.isclose(nomogram.probability(total), expected, rtol=0, atol=1e-9)
    assert max(max(points.values()) for points in scales.values()) == pytest.approx(100)
    assert min(min(points.values()) for points in scales.values()) == 0
    ElementTree.fromstring(nomogram.svg())


def test_nomogram_of_one_class_against_another() -> None:
    X, y = [["a"], ["b"], ["<i>"]] * 5, ["r", "g", "b"] * 5
    model = NaiveBayes().fit(X, y)
    with pytest.raises(ParameterError, match="compares two classes, and there are 3"):
        model.nomogram()
    nomogram = model.nomogram("r", "g")
    assert nomogram.title.endswith("= r) against g")
    assert "&lt;i&gt;" in nomogram.svg()
    with pytest.raises(ParameterError, match="is the target class"):
        model.nomogram("r", "r")


def test_which_networks_have_a_nomogram(data: Any) -> None:
    X, y = data
    for model in (KDB(k=3, theta=-np.inf, bias="plain"), C45()):
        with pytest.raises(ParameterError, match="naive Bayes, TAN, FAN, and KDB with k=1"):
            model.fit(X, y).nomogram()
    with pytest.raises(ParameterError, match="'x0' is continuous"):
        NaiveBayes(encoder=Encoder(numbers="normal")).fit(np.random.default_rng(0).normal(size=(20, 2)), [0, 1] * 10).nomogram()
