"""The diagnosis of naive Bayes: Zhang's identity in the frames, and every count against code that learns anew."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.naive_bayes import CategoricalNB

from naivete import AODE, C45, CB, KDB, TAN, Encoder, Full, HiddenNaive, KNaive, Lookup, NaiveBayes, NetworkClassifier, Spectrum
from naivete.cases import Block, MemoryCases
from naivete.counts.counts import Counts
from naivete.data.generated import corral, led7
from naivete.data.table import Table
from naivete.errors import DataError, MissingColumnWarning, ParameterError
from naivete.evaluation.diagnosis.diagnose import Diagnosis, diagnose
from naivete.evaluation.diagnosis.terms import (
    Terms,
    case_terms,
    class_logs,
    estimated_networks,
    leave_one_out_terms,
    marginal_networks,
    predicted_classes,
)
from naivete.inference.predictor import Predictor
from naivete.learners.kdb import kdb
from naivete.learners.naive import naive
from naivete.network.estimation import estimate
from naivete.variables import CLASS
from tests.oracles import joint, weight_left_out
from tests.strategies import frames, some_cases, structures

quick = settings(deadline=None, max_examples=30)
normal = Encoder(numbers="normal", kinds="numeric")
some_learned_from = some_cases(features=(2, 5), rows=(2, 25), max_classes=3).filter(lambda own: own.variables[CLASS].card > 1)
smoothings = st.sampled_from([1.0, 0.5, "m-estimate", "backoff"])


def shares(contrast: np.ndarray) -> np.ndarray:
    p = np.exp2(class_logs(contrast))
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def columns(table: Table, start: str) -> np.ndarray:
    """The columns whose names begin so, side by side."""
    return np.stack([c.values for c in table.columns if str(c.name).startswith(start)], axis=1)


def said(terms: Terms) -> np.ndarray:
    return np.asarray(terms.naive + terms.dependence.sum(axis=1))


def posterior(network: Any, codes: Sequence[np.ndarray], has_missing: np.ndarray) -> np.ndarray:
    return Predictor(network).posterior(list(codes), has_missing)[0]


def with_one_arc(arc: tuple[int, int], features: Sequence[int]) -> dict[int, tuple[int, ...]]:
    return {CLASS: (), **{x: (arc[0], CLASS) if x == arc[1] else (CLASS,) for x in features}}


def agree(found: np.ndarray, expected: np.ndarray) -> bool:
    """Whether classes are the most probable ones; any of those that are equal but for rounding will do."""
    return bool(np.all(expected[np.arange(len(found)), found] > expected.max(axis=1) - 1e-7))


def check_identity(found: Diagnosis) -> None:
    table = found.cases()
    gdf, ddr = columns(table, "log_gdf"), columns(table, "log_ddr")
    ddr = ddr.reshape(len(table), -1, gdf.shape[1])
    assert np.allclose(columns(table, "network_log_odds"), columns(table, "naive_log_odds") + gdf, rtol=0, atol=1e-9)
    assert np.allclose(gdf, ddr.sum(axis=1), rtol=0, atol=1e-9)


@given(frames(min_rows=4), st.sampled_from([KDB(k=1), KDB(k=2), TAN(), Full(), NaiveBayes(), KNaive()]))
@quick
def test_the_identity_holds_in_every_row_of_mixed_columns(
    drawn: tuple[dict[str, list[Any]], list[str]], model: NetworkClassifier
) -> None:
    own, labels = pd.DataFrame(drawn[0]), drawn[1]
    assume(len(set(labels)) == 2 and not any(own[c].isna().all() for c in own))
    for found in (diagnose(model, own, labels), diagnose(model, own, labels, train=(own, labels))):
        check_identity(found)
        table = found.cases()
        with np.errstate(divide="ignore"):
            odds = np.subtract(*np.log2(columns(table, "network_p")[:, ::-1].T))
        assert np.allclose(odds, columns(table, "network_log_odds")[:, 0], atol=1e-6)
        assert list(table["changed"]) == [a != b for a, b in zip(table["naive"], table["network"], strict=True)]


@given(frames(min_rows=4), st.sampled_from([KDB(k=1), KDB(k=2), TAN()]))
@quick
def test_naive_bayes_and_network_predict_as_the_classifiers(
    drawn: tuple[dict[str, list[Any]], list[str]], model: NetworkClassifier
) -> None:
    own, labels = pd.DataFrame(drawn[0]), drawn[1]
    assume(len(set(labels)) == 2 and not any(own[c].isna().all() for c in own))
    check_classifiers(model, own, labels)


def check_classifiers(model: NetworkClassifier, X: Any, y: Any) -> None:
    """Whether naive Bayes and the network answer X as the classifiers do that learned from it."""
    found = diagnose(model, X, y, train=(X, y))
    check_identity(found)
    one, two = NaiveBayes(encoder=model.encoder).fit(X, y), clone(model).fit(X, y)
    assert np.allclose(columns(found.cases(), "naive_p"), one.predict_proba(X), atol=1e-9)
    assert np.allclose(columns(found.cases(), "network_p"), two.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("model", [KDB(k=1), KDB(k=2), TAN(), Full(), KNaive()])
@pytest.mark.parametrize("has_missing", [pytest.param(0.0, marks=pytest.mark.slow), 0.2])
def test_densities_beside_tables(model: NetworkClassifier, has_missing: float) -> None:
    rng = np.random.default_rng(1)
    numbers, y = numbers_with_classes(60)
    X = pd.DataFrame(
        {"u": numbers[:, 0], "v": numbers[:, 1], "w": numbers[:, 2], "word": np.array(["p", "q"])[rng.integers(0, 2, 60)]}
    )
    X = X.mask(rng.random(X.shape) < has_missing)
    mixed = clone(model).set_params(encoder=Encoder(numbers="normal"))
    check_classifiers(mixed, X, y)
    check_identity(diagnose(mixed, X, y))


@given(some_learned_from, st.data(), smoothings)
@quick
def test_leave_one_out_equals_learning_without_the_case(cases: MemoryCases, data: st.DataObject, smoothing: Any) -> None:
    counts = Counts(cases)
    network = estimate(counts, data.draw(structures(len(counts.features))), smoothing)
    arcs = network.arcs
    found = leave_one_out_terms(counts, estimated_networks(counts, network, smoothing, None, arcs), smoothing, None)
    for i in range(len(cases.block)):
        rest = Counts(without(cases, i))
        row = [c[i : i + 1] for c in cases.block.codes[:-1]]
        for contrast, parents in ((found.naive, naive(rest).parents), (said(found), network.parents)):
            slow, impossible = Predictor(estimate(rest, parents, smoothing)).posterior(row, cases.has_missing)
            assert len(impossible) or np.allclose(shares(contrast[i : i + 1]), slow, atol=1e-9)
        for a, arc in enumerate(arcs):
            one = Predictor(estimate(rest, with_one_arc(arc, counts.features), smoothing))
            slow, impossible = one.posterior(row, cases.has_missing)
            assert len(impossible) or agree(found.with_arc[i : i + 1, a], slow)


def without(cases: MemoryCases, i: int) -> MemoryCases:
    """The cases without one case of this row, or without the row if some weights are not whole numbers."""
    rows = np.arange(len(cases.block))
    weight = np.ones(len(rows)) if cases.block.weight is None else cases.block.weight.copy()
    weight[i] -= weight_left_out(weight)[i]
    return MemoryCases(cases.variables, Block(cases.block.codes, weight).take(rows[weight > 0]), cases.has_missing)


@given(some_learned_from, st.integers(1, 3))
@quick
def test_each_arc_is_added_to_naive_bayes_alone(cases: MemoryCases, k: int) -> None:
    counts = Counts(cases)
    network = kdb(counts, k=k)
    passes = counts.passes
    networks = estimated_networks(counts, network, 1.0, None, network.arcs)
    assert counts.passes <= passes + 1
    codes = cases.block.codes[:-1]
    found = case_terms(networks, codes, cases.has_missing)
    assert np.allclose(shares(said(found)), posterior(network, codes, cases.has_missing), atol=1e-9)
    for a, arc in enumerate(network.arcs):
        slow = posterior(estimate(counts, with_one_arc(arc, counts.features)), codes, cases.has_missing)
        assert agree(found.with_arc[:, a], slow)


@given(some_learned_from, st.integers(1, 3))
@quick
def test_a_network_without_training_cases_has_marginal_tables(cases: MemoryCases, k: int) -> None:
    network = kdb(Counts(cases), k=k)
    assume(min(network.cpts[CLASS]) > 0)
    for (p, x), pair in marginal_networks(network).pairs.items():
        first = min(p, x)
        for a in range(network.variables[p].card):
            values = [joint(network, pair_row(network, p, a, x, b)) for b in range(network.variables[x].card)]
            for b, per_class in enumerate(values):
                for c, value in enumerate(per_class):
                    expected = float(value / sum(v[c] for v in values))
                    at = (a, b) if first == p else (b, a)
                    assert pair.cpts[0 if first == x else 1][(*at, c)] == pytest.approx(expected, abs=1e-9)


def pair_row(network: Any, p: int, a: int, x: int, b: int) -> list[int | None]:
    return [a if v == p else b if v == x else None for v in network.features]


def test_counts_of_features_and_arcs_are_those_of_a_loop() -> None:
    table = led7(300, random_state=3)
    X, y = table.without("digit"), np.asarray(table["digit"])
    model, fitted = KDB(k=2), KDB(k=2).fit(X.take(slice(150)), y[:150])
    found = diagnose(model, X.take(slice(150, 300)), y[150:], train=(X.take(slice(150)), y[:150]))
    cases, names = found.cases(), [str(c) for c in found.classes]
    frame = pd.DataFrame(cases.to_dict())
    summary = found.summary()
    assert summary.network == (fitted.predict(X.take(slice(150, 300))) == y[150:]).sum()
    assert summary.changed == (frame["naive"] != frame["network"]).sum() == frame["changed"].sum()
    assert (
        summary.repaired
        == ((frame["naive"] != y[150:]) & (frame["network"] == y[150:])).sum()
        == (frame["effect"] == "repaired").sum()
    )
    assert summary.broken == ((frame["naive"] == y[150:]) & (frame["network"] != y[150:])).sum()
    features = pd.DataFrame(found.features().to_dict()).set_index("feature")
    for x in X.names:
        per_class = frame[[f"log_ddr[{x}][{c}]" for c in names]].to_numpy()
        ignoring = frame[[f"network_log_odds[{c}]" for c in names]].to_numpy() - per_class
        answer = np.array(names)[ignoring.argmax(axis=1)]
        assert features.loc[x, "changed"] == (answer != frame["network"]).sum()
        assert features.loc[x, "gained"] == ((answer == y[150:]) & (frame["network"] != y[150:])).sum()
        assert features.loc[x, "lost"] == ((answer != y[150:]) & (frame["network"] == y[150:])).sum()
        assert features.loc[x, "mean_size"] == pytest.approx(np.linalg.norm(per_class, axis=1).mean())
        assert features.loc[x, "weight"] == pytest.approx(np.linalg.norm(per_class.mean(axis=0)), abs=1e-9)
    arcs = pd.DataFrame(found.arcs().to_dict())
    assert len(arcs) == len(fitted.network_.arcs)
    assert list(arcs["net"]) == sorted(arcs["repaired"] - arcs["broken"], reverse=True)
    assert (arcs["changed"] >= arcs["repaired"] + arcs["broken"]).all()


def test_corral_needs_its_pairs() -> None:
    table = corral()
    found = diagnose(None, table.without("class"), table["class"])
    summary = found.summary()
    assert (summary.naive, summary.network, summary.broken) == (108, 128, 0)
    features, arcs = (pd.DataFrame(own.to_dict()) for own in (found.features(), found.arcs()))
    assert list(features["feature"][:2]) == ["A1", "B1"]
    assert list(features["lost"]) == [12, 12, 0, 0, 0, 0]
    best = arcs[arcs["repaired"] == arcs["repaired"].max()]
    assert {("A0", "A1"), ("B0", "B1")} < set(zip(best["parent"], best["child"], strict=True))
    assert not set(best["parent"]) & {"Irrelevant", "Correlated"}
    assert found.worst(1)[0].terms[0][0] in ("A1", "B1")


def test_naive_bayes_is_left_out_as_by_scikit_learn() -> None:
    table = corral(random_state=0)
    X, y = np.asarray(table.without("class")).astype(int), np.asarray(table["class"])
    slow = cross_val_predict(CategoricalNB(min_categories=2), X, y, cv=LeaveOneOut(), method="predict_proba")
    found = diagnose(TAN(), table.without("class"), y)
    assert np.allclose(columns(found.cases(), "naive_p"), slow, atol=1e-12)


def test_the_worst_cases_are_the_most_confident_errors() -> None:
    table = led7(200, random_state=1)
    y = np.asarray(table["digit"])
    found = diagnose(KDB(k=1), table.without("digit"), y)
    worst, own = found.worst(5, terms=2), pd.DataFrame(found.cases().to_dict())
    assert [case.bits for case in worst] == sorted((case.bits for case in worst), reverse=True)
    wrong = own[own["naive"] != y]
    sizes = [row[f"naive_log_odds[{row['naive']}]"] - row[f"naive_log_odds[{row['class']}]"] for _, row in wrong.iterrows()]
    assert worst[0].bits == pytest.approx(max(sizes))
    for case in worst:
        row = own.iloc[case.row - 1]
        assert (case.correct, case.naive, case.network) == (y[case.row - 1], row["naive"], row["network"])
        for name, bits in case.terms:
            assert bits == pytest.approx(row[f"log_ddr[{name}][{case.correct}]"] - row[f"log_ddr[{name}][{case.naive}]"])


def numbers_with_classes(rows: int = 90, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two numbers that rise together in one class and against each other in another, and one by itself."""
    rng = np.random.default_rng(seed)
    y = np.array(["a", "b", "c"])[rng.integers(0, 3, rows)]
    first = rng.normal(size=rows)
    slope = np.select([y == "a", y == "b"], [1.0, -1.0], 0.0)
    return np.column_stack([first, slope * first + rng.normal(scale=0.4, size=rows), rng.normal(size=rows) + (y == "c")]), y


@pytest.mark.parametrize("model", [KDB(k=1, encoder=normal), TAN(encoder=normal), Full(shrinkage=0.1, encoder=normal)])
def test_densities_are_diagnosed_by_cross_validation(model: NetworkClassifier) -> None:
    X, y = numbers_with_classes()
    found = diagnose(model, X, y)
    check_identity(found)
    assert "10-fold" in found.method
    fold = np.empty(len(y), int)
    fold[np.argsort(y, kind="stable")] = np.arange(len(y)) % 10
    table = found.cases()
    for f in range(10):
        here = fold == f
        for name, learner in (("network_p", clone(model)), ("naive_p", NaiveBayes(encoder=normal))):
            slow = learner.fit(X[~here], y[~here]).predict_proba(X[here])
            assert np.allclose(columns(table, name)[here], slow, atol=1e-6)
    assert found.summary().network > found.summary().naive + 10
    assert found.arcs()["net"].values[0] > 10


def test_missing_values_by_em_are_diagnosed_by_cross_validation() -> None:
    rng = np.random.default_rng(0)
    X = np.where(rng.random((60, 3)) < 0.2, None, rng.integers(0, 2, (60, 3)).astype(object))
    found = diagnose(KDB(k=1, encoder=Encoder(missing="em")), X, rng.integers(0, 2, 60))
    check_identity(found)
    assert "10-fold" in found.method


def test_a_weight_of_two_is_a_row_twice_and_of_zero_no_row() -> None:
    table = led7(60, random_state=2)
    X, y = table.without("digit"), np.asarray(table["digit"])
    weight = np.arange(60) % 3
    rows = np.repeat(np.arange(60), weight)
    one, two = diagnose(KDB(k=2), X, y, sample_weight=weight), diagnose(KDB(k=2), X.take(rows), y[rows])
    assert one.rows.tolist() == (np.flatnonzero(weight) + 1).tolist()
    assert one.summary() == two.summary()
    assert_same(one.arcs(), two.arcs())
    assert_same(one.features(), two.features())
    carried = diagnose(KDB(k=2), replace(X, weight=weight.astype(float)), y)
    assert carried.rows.tolist() == one.rows.tolist()
    assert carried.summary() == one.summary()
    asked_twice = diagnose(KDB(k=1), X.take(rows), y[rows], train=(X, y))
    assert diagnose(KDB(k=1), X, y, train=(X, y), sample_weight=weight).summary() == asked_twice.summary()


def test_the_order_of_the_rows_changes_no_count() -> None:
    table, order = led7(150, random_state=4), np.random.default_rng(0).permutation(150)
    one, two = (diagnose(TAN(), own.without("digit"), own["digit"]) for own in (table, table.take(order)))
    assert_same(one.arcs(), two.arcs())
    assert_same(one.features(), two.features())
    assert np.array_equal(one.gdf[order], two.gdf)


def assert_same(one: Table, two: Table) -> None:
    pd.testing.assert_frame_equal(pd.DataFrame(one.to_dict()), pd.DataFrame(two.to_dict()), rtol=1e-12)


def test_a_fitted_classifier_is_not_fitted_again() -> None:
    table = led7(200, random_state=5)
    X = table.without("digit")
    model = KDB(k=2).fit(X.take(slice(100)), table["digit"].take(slice(100)))
    found = diagnose(model, X.take(slice(100, 200)))
    assert np.allclose(columns(found.cases(), "network_p"), model.predict_proba(X.take(slice(100, 200))), atol=1e-9)
    assert found.correct is None
    assert "effect" not in found.cases().names
    assert "net" not in found.arcs().names
    assert "lost" not in found.features().names
    assert np.isin([case.row for case in found.worst(100)], found.rows[found.naive_predictions != found.network_predictions]).all()
    assert [case.correct for case in found.worst(1)] == [None]


def test_labels_that_are_missing_or_no_class() -> None:
    table = corral()
    X, y = table.without("class"), np.asarray(table["class"]).astype(object)
    model = KDB(k=1).fit(X, y)
    strange = y.copy()
    strange[:10], strange[10:20] = None, "2"
    found = diagnose(model, X, strange)
    summary = found.summary()
    assert (summary.cases, summary.labelled) == (128, 118)
    assert summary.network == (model.predict(X)[20:] == y[20:]).sum()
    assert found.cases()["class"][0] is None
    assert found.cases()["class"][10] == "2"
    assert all(case.row > 20 for case in found.worst(100))
    assert ET.fromstring(found.svg()).tag.endswith("svg")


def test_unlabelled_rows_are_left_out_and_the_others_keep_their_numbers() -> None:
    table = corral()
    y = np.asarray(table["class"]).astype(object)
    y[[0, 5]] = None
    with pytest.warns(UserWarning, match="2 rows without a label"):
        found = diagnose(KDB(k=1, encoder=Encoder(unlabelled="drop")), table.without("class"), y)
    assert found.rows.tolist()[:5] == [2, 3, 4, 5, 7]
    assert len(found) == 126


@pytest.mark.parametrize(
    "X", [np.eye(3)[np.arange(12) % 3], [[i % 3, i % 2] for i in range(12)], csr_matrix(np.eye(3)[np.arange(12) % 3])]
)
def test_arrays_lists_and_sparse_matrices(X: Any) -> None:
    found = diagnose(None, X, ["no", "yes"] * 6)
    check_identity(found)
    assert found.rows.tolist() == list(range(1, 13))


def test_names_that_meet_get_an_underscore() -> None:
    X = pd.DataFrame({"changed": [0, 1] * 6, "b": [0, 0, 1] * 4})
    found = diagnose(None, X, pd.Series(["no", "yes"] * 6, name="naive"))
    assert found.cases().names[:4] == ("row", "naive", "naive_", "network")


XY = corral().without("class"), corral()["class"]


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (CB(class_root=False, alpha=0.5), r"the class 'class' depends on .*; diagnose a network whose class has no parents"),
        (C45(), r"C45 predicts by 'leaf', which is derived"),
        (HiddenNaive(groups=[["A0", "A1"]], states=2), r"HiddenNaive predicts by '.*', which is derived .*KDB\(k=1\)"),
        (KDB(k=1, smoothing=0.0), r"column 'A.': a case has probability zero in some class.*smoothing above 0"),
        (Lookup(), r"column 'A.': a case has probability zero in some class.*Full in place of Lookup"),
    ],
)
def test_what_cannot_be_compared_is_refused(model: NetworkClassifier, expected: str) -> None:
    for classifier in (model, clone(model).fit(*XY)):
        with pytest.raises(DataError, match=expected):
            diagnose(classifier, *XY)


def test_other_refusals() -> None:
    X, y = XY
    with pytest.raises(ParameterError, match="pass a classifier of naivete"):
        diagnose(LogisticRegression(), X, y)  # type: ignore[arg-type]
    for several in (Spectrum(members=1), AODE()):
        with pytest.raises(ParameterError, match=r"does not predict with one network.*choose among .*KDB"):
            diagnose(several, [["a"], ["b"]], [0, 1])
    with pytest.raises(ParameterError, match="this TAN is not fitted; pass y"):
        diagnose(TAN(), X)
    with pytest.raises(ParameterError, match=r"train=\(X, y\)"):
        diagnose(TAN(), X, y, train=[X])  # type: ignore[arg-type]
    with pytest.raises(DataError, match="128 rows, 3 labels"):
        diagnose(TAN(), X, ["a", "b", "a"])
    with pytest.raises(DataError, match="'0' in every case"):
        diagnose(TAN(), X, ["0"] * 128)
    with pytest.warns(MissingColumnWarning, match="A0"):
        diagnose(TAN().fit(X, y), X.without("A0"), y)
    numbers, labels = numbers_with_classes()
    with pytest.raises(DataError, match=r"is continuous.*train=\(X_train, y_train\)"):
        diagnose(KDB(k=1, encoder=normal).fit(numbers, labels), numbers, labels)


@pytest.mark.parametrize("target", ["class", "digit"])
def test_the_figure_is_well_formed_and_escaped(target: str) -> None:
    table = corral() if target == "class" else led7(120)
    y = np.array([f"<script>{v}&" for v in table[target]], object)
    X = pd.DataFrame({f"<img src=x> {n}": np.asarray(table[n]) for n in table.names if n != target})
    found = diagnose(KDB(k=1), X, pd.Series(y, name="<b>"))
    drawing = ET.fromstring(found._repr_html_())
    assert "<script" not in found.svg()
    assert "<img" not in found.svg()
    circles = [e for e in drawing.iter() if e.tag.endswith("circle")]
    assert len(circles) > 5
    assert "not changed" in "".join(drawing.itertext())


def test_ties_go_to_the_first_class_whatever_the_rounding() -> None:
    assert predicted_classes(np.array([[-1e-12, 1e-12, 0.0], [0.0, 1.0, 1.0 + 1e-12]])).tolist() == [0, 1]
