"""The spectrum: leave-one-out equals refitting, the log odds are a sum over tables, and the model does not depend on the back end."""

from __future__ import annotations

import copy
import pickle
import warnings
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

import naivete
from naivete._kernels.contexts import LeftOut
from naivete._kernels.dispatch import compiled
from naivete.cases import sample as sample_module
from naivete.cases.base import Block
from naivete.cases.memory import MemoryCases
from naivete.cases.sample import sampled
from naivete.classifiers.model_file import model_bytes, model_from_bytes
from naivete.classifiers.saving import classifier_of, model_hash, model_of
from naivete.classifiers.spectrum import Spectrum
from naivete.counts.contexts import TreeRequest, context_counts, node_weights
from naivete.counts.counts import Counts
from naivete.encoding.encoder import Encoder
from naivete.errors import ModelFileError, NaiveteWarning, ParameterError, ResourceError
from naivete.inference import spectrum_prediction
from naivete.inference.spectrum_terms import SpectrumPredictor, spectrum_terms
from naivete.learners import spectrum_structures, spectrum_weights
from naivete.learners.spectrum import SpectrumSettings, _most_terms, spectrum
from naivete.learners.spectrum_structures import bin_information, columns_of, family_request, main_plan
from naivete.learners.spectrum_weights import weighted_spectrum
from naivete.learners.weighting import mixture_shares, temperature
from naivete.network.spectrum import DEPTHS_OF_TREES
from naivete.storage.packed import packed
from naivete.variables import Variable
from tests.oracles import cases_of, chunked

SMALL = SpectrumSettings(members=3, trees=4, depth=2, sample=400, boosting=3)


def cases(seed: int, rows: int = 40, classes: int = 3, weighted: bool = False) -> MemoryCases:
    """Random rows: a nominal column, two numeric ones, one with missing values, and a class that depends on them."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, 3, rows), rng.integers(0, 12, rows), rng.integers(0, 9, rows), rng.integers(0, 2, rows)]
    labels = (codes[0] + (codes[1] > 5) * codes[3] + (rng.random(rows) < 0.3)) % classes
    columns = [c.astype(np.uint8) for c in codes]
    columns[2][rng.random(rows) < 0.2] = 255
    cuts = [None, 12, 9, None]
    variables = tuple(
        Variable(f"x{i}", tuple(range(3 - (i == 3)))) if c is None else Variable(f"x{i}", cuts=tuple(map(float, range(c - 1))))
        for i, c in enumerate(cuts)
    )
    weight = rng.integers(1, 4, rows).astype(np.float64) if weighted else None
    block = Block((*columns, labels.astype(np.uint8)), weight)
    return MemoryCases((*variables, Variable("class", tuple(range(classes)))), block, np.array([False, False, True, False]))


def without(data: MemoryCases, row: int) -> MemoryCases:
    """The cases without one row, or with one copy less of it."""
    block = data.block
    if block.weight is not None and block.weight[row] > 1:
        weight = block.weight.copy()
        weight[row] -= 1
        return MemoryCases(data.variables, Block(block.codes, weight), data.has_missing)
    kept = np.delete(np.arange(len(block)), row)
    return MemoryCases(data.variables, block.take(kept), data.has_missing)


def recounted(model: Any, data: MemoryCases) -> Any:
    """The spectrum with the same structures and trees, counted from other cases."""
    counts = Counts(data)
    members = []
    for member in (model.main, *model.members):
        requests = [family_request((*parents, x), member.bins, member.classes) for x, parents in enumerate(member.parents)]
        tables = context_counts(counts, requests)
        members.append(replace(member, keys=tuple(t.keys for t in tables), weights=tuple(t.weights for t in tables)))
    trees = []
    for group in model.trees:
        requests = [TreeRequest(tree.nodes, counts.cards(counts.features), model.classes) for tree in group]
        tables = context_counts(counts, requests)
        trees.append(tuple(replace(t, weights=node_weights(r, c)) for t, r, c in zip(group, requests, tables, strict=True)))
    weights = counts.margins()[-1,].astype(np.float64)
    return replace(model, class_weights=weights, main=members[0], members=tuple(members[1:]), trees=tuple(trees))


@given(seed=st.integers(0, 10_000), weighted=st.booleans())
@settings(max_examples=8, deadline=None)
def test_terms_of_a_left_out_row_are_those_of_the_other_rows(seed: int, weighted: bool) -> None:
    data = cases(seed, rows=30, weighted=weighted)
    model = spectrum(Counts(data), SMALL)
    *codes, labels = data.block.codes
    left_out = LeftOut(labels.astype(np.uint32), np.ones(30))
    terms = spectrum_terms(model, codes, left_out)
    for row in (0, 7, 29):
        again = recounted(model, without(data, row))
        expected = spectrum_terms(again, [c[[row]] for c in codes])[0]
        same = [f.states for m in (again.main, *again.members) for f in m.families] == [
            f.states for m in (model.main, *model.members) for f in m.families
        ]
        if same:  # else the row was the only one with a missing value, and the number of states differs
            np.testing.assert_allclose(terms[row], expected, rtol=1e-10, atol=1e-10)


def test_the_log_odds_of_one_structure_are_a_sum_over_tables() -> None:
    data = cases(1, rows=200)
    model = spectrum(Counts(data), replace(SMALL, members=1))
    codes = data.block.codes[:-1]
    posterior, _ = SpectrumPredictor(model).posterior(codes, data.has_missing)
    sums = np.einsum("rct,t->rc", spectrum_terms(model, codes), model.coefficients) + model.intercepts
    odds = np.log(posterior[:, 1] / posterior[:, 0])
    np.testing.assert_allclose(odds, sums[:, 1] - sums[:, 0], atol=1e-9)
    assert model.mixture is None
    assert model.members == ()


@settings(max_examples=5)
@given(seed=st.integers(0, 2**32 - 1), weighted=st.booleans())
def test_many_rows_have_the_same_bits_as_few_rows(seed: int, weighted: bool) -> None:
    data = cases(seed, weighted=weighted)
    predictor = SpectrumPredictor(spectrum(Counts(data), SMALL))
    codes = [np.concatenate([column, np.array([255, 254], np.uint8)]) for column in data.block.codes[:-1]]
    no_missing = np.zeros(len(codes), bool)
    few = predictor.posterior(codes, no_missing)[0]
    many = predictor.posterior([np.tile(column, 40) for column in codes], no_missing)[0]
    prepared = predictor._compiled
    assert compiled() is None or (prepared is not None and prepared.has_tables == (True, True)), (
        "many rows are predicted from tables"
    )
    assert np.array_equal(many, np.tile(few, (40, 1)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spectrum_prediction, "LARGEST", 8)
        other = SpectrumPredictor(predictor.spectrum)
        assert np.array_equal(other.posterior([np.tile(column, 40) for column in codes], no_missing)[0], many)
        assert other._compiled is None or other._compiled.has_tables == (False, False), "tables that are too large are not made"
    assert np.array_equal(predictor.posterior(codes, no_missing)[0], few)
    assert np.array_equal(SpectrumPredictor(predictor.spectrum).posterior([c[:1] for c in codes], no_missing)[0], few[:1])
    np.testing.assert_allclose(few, predictor.posterior_by_terms(codes), rtol=1e-10, atol=1e-14)


@pytest.mark.skipif(compiled() is None, reason="the C kernels are not installed")
def test_probabilities_below_the_smallest_one_are_the_same_with_many_rows() -> None:
    """A value that never occurs with one class, in contexts with a million cases of that class."""
    codes = [np.array([0, 0, 1, 1, 1], np.uint8) for _ in range(8)]
    labels, weight = np.array([0, 1, 0, 1, 1], np.uint8), np.array([1e7, 1.0, 1.0, 1e7, 1e7])
    variables = (*(Variable(f"x{i}", (0, 1)) for i in range(8)), Variable("class", (0, 1)))
    data = MemoryCases(variables, Block((*codes, labels), weight), np.zeros(8, bool))
    model = spectrum(Counts(data), SpectrumSettings(members=2, trees=2, boosting=1))
    predictor = SpectrumPredictor(model)
    kernel = spectrum_prediction.posterior_kernel(model)
    assert any(part["whole"] for parts in kernel.parts for part in parts)
    rows = [np.array([0, 1, i % 2], np.uint8) for i in range(8)]
    few = predictor.posterior(rows, np.zeros(8, bool))[0]
    np.testing.assert_allclose(few, predictor.posterior_by_terms(rows), rtol=1e-8)
    many = predictor.posterior([np.tile(row, 1000) for row in rows], np.zeros(8, bool))[0]
    assert np.array_equal(many, np.tile(few, (1000, 1)))


def test_no_probability_is_zero() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (300, 6)).astype(str)
    y = X[:, 0]
    posterior = Spectrum(members=4, trees=8).fit(X, y).predict_proba(X)
    assert posterior.min() > 0
    assert posterior[np.arange(300), y.astype(int)].min() > 0.99


@pytest.mark.parametrize("members", [1, 4])
def test_parity_of_two_features_is_learned(members: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (400, 5)).astype(str)
    y = (X[:, 1] != X[:, 3]).tolist()
    assert (Spectrum(members=members, trees=8).fit(X[:200], y[:200]).predict(X[200:]) == y[200:]).mean() > 0.95


def test_a_saved_spectrum_predicts_the_same() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)), rng.integers(0, 3, 120)
    X[rng.random(X.shape) < 0.1] = np.nan
    fitted = Spectrum(members=3, trees=4).fit(X, y)
    loaded = classifier_of(model_from_bytes(model_bytes(model_of(fitted))), "file")
    assert np.array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    for copied in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        assert "families" not in vars(copied.spectrum_.main)
        assert np.array_equal(copied.predict_proba(X), fitted.predict_proba(X))
    assert model_hash(loaded) == model_hash(fitted)


def exclusive_or(rows: int) -> tuple[list[dict[str, Any]], list[bool]]:
    """Rows whose class depends on a text and a number together, with two columns that carry no information."""
    rng = np.random.default_rng(0)
    a, b, c, d = rng.choice(list("xyz"), rows).tolist(), rng.normal(size=rows), rng.random(rows), rng.integers(0, 5, rows)
    X = [{"a": a[i], "b": b[i], "c": c[i], "d": str(d[i])} for i in range(rows)]
    return X, [(row["b"] > 0) != (row["a"] == "x") for row in X]


@pytest.mark.parametrize("how", ["column", "value", "unseen"])
@pytest.mark.parametrize("absent", ["a", "b"])
@pytest.mark.filterwarnings("ignore::naivete.MissingColumnWarning", "ignore::naivete.UnseenValueWarning")
def test_a_value_that_was_never_missing_in_training_is_not_known_if_it_is_missing(how: str, absent: str) -> None:
    """Trees do not take it for any of the values that they know: without it the classes are about as likely as they are frequent."""
    X, y = exclusive_or(2000)
    model = Spectrum().fit(X[:1000], y[:1000])
    rest = X[1000:]
    if how == "column":
        rest = [{name: row[name] for name in row if name != absent} for row in rest]
    else:
        rest = [{**row, absent: "unknown" if how == "unseen" and absent == "a" else None} for row in rest]

    def loss(rows: list[dict[str, Any]]) -> float:
        return float(-np.log(model.predict_proba(rows)[np.arange(1000), np.array(y[1000:], int)]).mean())

    assert loss(X[1000:]) < 0.02
    assert loss(rest) <= 1.1 * np.log(2)
    assert np.array_equal(model.predict_proba(rest[:1]), model.predict_proba(rest)[:1])
    assert list(model.row_predictor()(rest[0]).values()) == model.predict_proba(rest)[0].tolist()
    loaded = classifier_of(model_from_bytes(model_bytes(model_of(model))), "file")
    assert np.array_equal(loaded.predict_proba(rest), model.predict_proba(rest))


def test_a_feature_without_missing_values_in_training_is_complete() -> None:
    model = spectrum(Counts(cases(0)), SMALL)
    assert model.complete == (True, True, False, True)
    assert "complete" not in vars(pickle.loads(pickle.dumps(model)))


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=10, deadline=None)
def test_a_missing_value_matters_only_to_trees_that_split_by_its_feature(seed: int) -> None:
    """Missing values that were in training take the branch that was learned for them."""
    data = cases(seed)
    model = spectrum(Counts(data), SMALL)
    *codes, _ = data.block.codes
    terms = spectrum_terms(model, codes)
    first = model.slices.trees.start
    for x in range(4):
        absent = [np.full(len(c), 255, np.uint8) if v == x else c for v, c in enumerate(codes)]
        changed = spectrum_terms(model, absent)
        learned = spectrum_terms(replace_complete(model, (False,) * 4), absent)
        assert model.complete[x] or np.array_equal(changed, learned)
        for group in model.trees:
            depths = slice(first, first := first + len(DEPTHS_OF_TREES) + 1)
            if not any((tree.nodes[:, 0] == x).any() for tree in group):
                assert np.array_equal(changed[:, :, depths], terms[:, :, depths])
        first = model.slices.trees.start


def replace_complete(model: Any, complete: tuple[bool, ...]) -> Any:
    """The same model, for other complete features."""
    result = replace(model)
    vars(result)["complete"] = complete
    return result


def broken(fields: dict[str, Any], change: str) -> None:
    """Change one thing in the plain data of a spectrum that no spectrum has."""
    main, tree = fields["main"], next(t for group in fields["trees"] for t in group if len(t["nodes"]) > 1)
    nodes = tree["nodes"] = tree["nodes"].copy()
    if change == "keys outside":
        main["keys"] = main["keys"] + 10**9
    elif change == "keys decrease":
        main["keys"] = main["keys"][::-1].copy()
    elif change == "bins outside":
        main["bins"] = main["bins"] + 7
    elif change == "own parent":
        main["parents"][0] = [0]
    elif change == "negative weight":
        main["weights"] = -main["weights"]
    elif change == "lengths":
        main["lengths"] = main["lengths"] + 1
    elif change == "coefficients":
        fields["coefficients"] = fields["coefficients"][1:]
    elif change == "infinite":
        fields["intercepts"] = np.full(3, np.inf)
    elif change == "column":
        nodes[0, 0] = 99
    elif change == "child":
        nodes[0, 2] = len(nodes)
    elif change == "cycle":
        nodes[0, 2] = 0
    elif change == "test":
        nodes[0, 1] = -99
    elif change == "node weights":
        tree["weights"] = tree["weights"][1:]
    elif change == "shares":
        fields["mixture"]["shares"][0] += 0.5
    else:
        fields["mixture"]["terms"][0] = 10**6


@pytest.mark.parametrize(
    "change",
    [
        *("keys outside", "keys decrease", "bins outside", "own parent", "negative weight", "lengths", "coefficients", "infinite"),
        *("column", "child", "cycle", "test", "node weights", "shares", "terms"),
    ],
)
def test_a_file_with_an_impossible_spectrum_is_refused(change: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (60, 3)).astype(str)
    model = model_of(Spectrum(members=2, trees=4, random_state=1).fit(X, X[:, 0]))
    broken(model.more["spectrum"], change)
    with pytest.raises(ModelFileError):
        classifier_of(model, "model.nvt")


@given(seed=st.integers(0, 1000), size=st.integers(1, 50), cuts=st.lists(st.integers(0, 60), max_size=4), rows=st.integers(1, 70))
@settings(deadline=None)
def test_the_sample_does_not_depend_on_order_or_blocks(seed: int, size: int, cuts: list[int], rows: int) -> None:
    data = cases(seed, rows=60, weighted=True)
    order = np.random.default_rng(seed).permutation(60)
    ends = sorted({0, 60, *cuts})
    blocks = [data.block.take(order[lo:hi]) for lo, hi in pairwise(ends)]

    def folded(function: Any, merge: Any) -> Any:
        result = function(blocks[0])
        for block in blocks[1:]:
            result = merge(function(block), result)
        return result

    one = sampled(data.fold, [0, 1, 2, 3, -1], size, 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample_module, "ROWS", rows)
        two = sampled(folded, [0, 1, 2, 3, -1], size, 0)
    assert packed(list(map(np.asarray, [*one.codes, *one[1:]]))) == packed(list(map(np.asarray, [*two.codes, *two[1:]])))
    assert len(one.labels) <= size


def test_rows_of_fractional_weights_are_left_out_as_a_whole() -> None:
    codes = [np.array([0, 1, 1, 0], np.uint8), np.array([0, 1, 1, 1], np.uint8)]

    def left_out(weight: list[float]) -> list[float]:
        cases = cases_of([2, 2], [column.tolist() for column in codes], weight)
        sample = sampled(cases.fold, [0, -1], 10, 0)
        order = np.lexsort((sample.codes[0], sample.labels))
        return sample.left_out[order].tolist()

    assert left_out([1, 2, 3, 4]) == [1, 1, 1]  # the second and third row are one case
    assert left_out([1, 2.5, 3, 4]) == [1, 4, 3]
    assert left_out([0.5, 0.25, 0.25, 0]) == [0.5, 0, 0.25]


@pytest.mark.parametrize("size", [100, 30])
@pytest.mark.parametrize("as_weights", [True, False])
def test_cases_that_were_repeated_on_purpose_are_left_out_as_a_whole(size: int, as_weights: bool) -> None:
    rng = np.random.default_rng(0)
    features = [rng.integers(0, 4, 60).tolist() for _ in range(10)]
    labels = [0] * 30 + [1] * 30
    times = [1] * 30 + [3] * 30  # the second class is oversampled

    def left_out(features: list[list[int]], times: list[int]) -> dict[int, set[float]]:
        """The weights that are left out of the cases of each class."""
        columns = [np.array(column) for column in (*features, labels)]
        columns = columns if as_weights else [column.repeat(times) for column in columns]
        weight = [float(w) for w in times] if as_weights else None
        cards = [int(column.max()) + 1 for column in columns]
        sample = sampled(cases_of(cards, [c.tolist() for c in columns], weight).fold, [*range(len(features)), -1], size, 0)
        return {c: set(sample.left_out[sample.labels == c].tolist()) for c in (0, 1)}

    assert left_out(features, times) == {0: {1.0}, 1: {3.0}}
    assert left_out(features, [2] * 60) == {0: {2.0}, 1: {2.0}}
    assert left_out(features, [1] * 60) == {0: {1.0}, 1: {1.0}}
    few = [[i % 30 // 6 for i in range(60)], [i % 6 for i in range(60)]]  # only 30 cases are possible: chance repeats them
    assert left_out(few, times) == {0: {1.0}, 1: {1.0}}
    both = [column[:30] * 2 for column in features]  # every case occurs with both classes: repetitions say how often
    assert left_out(both, times) == {0: {1.0}, 1: {1.0}}


@pytest.mark.parametrize("members", [1, 4])
def test_weights_of_classes_do_no_harm_where_they_are_whole_numbers(members: int) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    X = rng.normal(size=(600, 6)) + 0.7 * y[:, None]
    train, test = slice(0, 300), slice(300, 600)

    def loss(weight: dict[int, float] | None) -> float:
        model = Spectrum(members=members, trees=8, boosting=16, class_weight=weight).fit(X[train], y[train])
        return float(-np.log(model.predict_proba(X[test])[np.arange(300), y[test]]).mean())

    assert loss({0: 2, 1: 2}) < loss(None) + 0.05
    assert loss({0: 1, 1: 3}) < loss({0: 1, 1: 3.001}) + 0.02


@pytest.mark.parametrize("members", [1, 4])
def test_weights_that_are_nearly_equal_change_little(members: int) -> None:
    X, y = load_iris(return_X_y=True)
    settings = {"members": members, "trees": 8, "boosting": 8}
    plain = Spectrum(**settings).fit(X, y).predict_proba(X)
    for weight in (np.full(150, 1.0001), np.full(150, 0.9999), np.random.default_rng(0).uniform(0.999, 1.001, 150)):
        weighted = Spectrum(**settings).fit(X, y, sample_weight=weight).predict_proba(X)
        assert abs(weighted - plain).mean() < 0.01


def test_the_best_temperature_is_a_minimum() -> None:
    rng = np.random.default_rng(0)
    logs = np.log(rng.dirichlet(np.ones(3), 50))
    labels, weight = rng.integers(0, 3, 50).astype(np.uint32), rng.random(50)
    factor, loss = temperature(logs, labels, weight)

    def loss_at(t: float) -> float:
        p = np.exp(t * logs)
        return float(-(weight * np.log((p / p.sum(axis=1, keepdims=True))[np.arange(50), labels])).sum())

    assert loss == pytest.approx(loss_at(factor))
    assert all(loss <= loss_at(t) + 1e-9 for t in np.linspace(0.02, 8.0, 400))


def test_the_better_model_has_the_larger_share() -> None:
    shares = mixture_shares(np.array([[0.9, 0.1]] * 50), np.ones(50), [2.0, 2.0])
    assert shares[0] > 0.9
    assert sum(shares) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "parameters",
    [{"members": 0}, {"depth": -1}, {"depth": 65}, {"sample": 2.5}, {"trees": True}, {"boosting": -1}, {"random_state": -1}]
    + [{name: 10**30} for name in ("members", "trees", "boosting", "sample")],
)
def test_parameters_are_checked(parameters: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        Spectrum(**parameters).fit([["a"], ["b"]], [0, 1])


def test_frequent_equal_rows_get_their_own_class_frequencies() -> None:
    """Which trees were grown without a case must not depend on its class: equal rows of both classes have the same terms."""
    rng = np.random.default_rng(5)
    codes = [rng.integers(0, states, 1500).astype(np.uint8) for states in (2, 2, 3)]
    chance = np.array([[0.1, 0.5], [0.8, 0.3]])[codes[0], codes[1]]
    labels = (rng.random(1500) < chance).astype(np.uint8)
    variables = (*(Variable(f"x{i}", tuple(range(s))) for i, s in enumerate((2, 2, 3))), Variable("class", (0, 1)))
    data = MemoryCases(variables, Block((*codes, labels)), np.zeros(3, bool))
    model = spectrum(Counts(data), SpectrumSettings(members=2, trees=16))
    posterior, _ = SpectrumPredictor(model).posterior(codes, np.zeros(3, bool))
    for a, b in ((0, 0), (0, 1), (1, 0), (1, 1)):
        rows = (codes[0] == a) & (codes[1] == b)
        assert posterior[rows, 1].mean() == pytest.approx(labels[rows].mean(), abs=0.05)


def test_cut_points_of_few_cases_are_learned_out_of_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers that carry no information, of which some cut points fit the classes by chance, get small weights."""
    rows, columns = 60, 40
    variables = (*(Variable(f"x{i}", cuts=tuple(map(float, range(29)))) for i in range(columns)), Variable("class", (0, 1)))
    settings = SpectrumSettings(members=2, trees=0, boosting=0, mixture=False)
    losses: dict[int, list[float]] = {spectrum_weights.OUT_OF_FOLD_ROWS: [], 0: []}
    for seed in range(6):
        rng = np.random.default_rng(seed)
        codes = tuple(rng.integers(0, 30, rows).astype(np.uint8) for _ in range(columns))
        counts = Counts(MemoryCases(variables, Block((*codes, rng.integers(0, 2, rows).astype(np.uint8))), np.zeros(columns, bool)))
        fresh = [rng.integers(0, 30, 500).astype(np.uint8) for _ in range(columns)]
        for limit, found in losses.items():
            monkeypatch.setattr(spectrum_weights, "OUT_OF_FOLD_ROWS", limit)
            posterior, _ = SpectrumPredictor(spectrum(counts, settings)).posterior(fresh, np.zeros(columns, bool))
            found.append(float(-np.log(posterior).mean()))  # of rows whose classes are drawn at random
    held_out, used = losses.values()
    assert np.mean(held_out) < np.mean(used)


@pytest.mark.parametrize("weighted", [False, True])
def test_empty_states_of_features_that_are_counted_together_change_no_information(
    monkeypatch: pytest.MonkeyPatch, weighted: bool
) -> None:
    counts = [Counts(cases(5, 60, weighted=weighted)) for _ in range(2)]
    calls = []
    monkeypatch.setattr(spectrum_structures, "_joined_cards", lambda cards, rows: calls.append(cards) or list(cards))
    apart = bin_information(counts[0], columns_of(counts[0]))
    monkeypatch.undo()
    together = bin_information(counts[1], columns_of(counts[1]))
    assert len(set(spectrum_structures._joined_cards(calls[0], 60))) == 1 < len(set(calls[0]))
    assert all(np.array_equal(a, b) for a, b in zip(apart, together, strict=True))


@pytest.mark.parametrize("noise", [0, 40])
def test_among_many_columns_of_noise_parents_are_significant(noise: int) -> None:
    rng = np.random.default_rng(3)
    codes = [rng.integers(0, 4, 200).astype(np.uint8) for _ in range(6 + noise)]
    codes[1] = np.where(rng.random(200) < 0.8, codes[0], codes[1]).astype(np.uint8)
    labels = (np.isin(codes[0] + codes[2], (1, 3, 6)) ^ (rng.random(200) < 0.1)).astype(np.uint8)
    variables = (*(Variable(f"x{i}", tuple(range(4))) for i in range(6 + noise)), Variable("class", (0, 1)))
    counts = Counts(MemoryCases(variables, Block((*codes, labels)), np.zeros(6 + noise, bool)))
    columns = columns_of(counts)
    _, parents = main_plan(columns, *bin_information(counts, columns), 5)
    arcs = {frozenset((x, y)) for x, chosen in enumerate(parents) for y in chosen}
    assert frozenset((0, 1)) in arcs
    assert (len(arcs) <= 4) == bool(noise), "few columns have all arcs"


def test_features_with_too_many_states_for_trees_are_left_to_the_structures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("naivete.learners.spectrum.WIDEST_OF_TREES", 12)
    monkeypatch.setattr("naivete.learners.boosted.WIDEST_OF_TREES", 12)
    model = spectrum(Counts(cases(0)), SMALL)
    assert model.boosted is not None
    used = {int(x) for group in model.trees for tree in group for x in tree.nodes[:, 0]} | set(
        model.boosted.trees.nodes[:, 0].tolist()
    )
    assert 1 not in used
    assert used - {-1}


def test_the_terms_of_many_classes_stay_within_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights are fitted to fewer cases; where there is room for few only, this is refused before anything is counted."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 30)), rng.integers(0, 50, 600)
    fitted_to: list[int] = []

    def weighted(*arguments: Any, **options: Any) -> Any:
        fitted_to.append(len(arguments[2].labels))
        return weighted_spectrum(*arguments, **options)

    monkeypatch.setattr("naivete.learners.spectrum.weighted_spectrum", weighted)
    model = Spectrum(members=1, budget=8_000_000).fit(X, y)
    assert 500 <= fitted_to[0] < 600
    assert 8 * fitted_to[0] * 50 * len(model.term_weights_) <= 8_000_000

    def never(*_: Any) -> Any:
        raise AssertionError("counted before it was refused")

    monkeypatch.setattr("naivete.learners.spectrum.bin_information", never)
    monkeypatch.setattr("naivete.learners.spectrum.cross_fitted_scores", never)
    with pytest.raises(
        ResourceError, match=r"of 50 classes in at least 500 cases, which take [\d,]+ bytes; the budget is 4,000,000"
    ):
        Spectrum(members=1, budget=4_000_000).fit(X, y)


@pytest.mark.parametrize("settings_", [SMALL, SpectrumSettings(members=1), SpectrumSettings(trees=1, boosting=0)], ids=str)
def test_the_number_of_terms_is_known_before_they_are_counted(settings_: SpectrumSettings) -> None:
    model = spectrum(Counts(cases(0)), settings_)
    trees, ensemble = sum(map(len, model.trees)), bool(model.members)
    expected = _most_terms(settings_.depth, len(model.informative), trees, ensemble=ensemble, boosted=model.boosted is not None)
    assert expected == len(model.term_names)


def test_large_weights_are_fitted_by_all_kernels() -> None:
    """Rounding errors make the matrix of second derivatives seem singular."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (200, 5)), rng.integers(0, 2, 200)
    for tier in ("numpy", "c") if compiled() else ("numpy",):
        with naivete.use_kernels(tier):
            posterior = Spectrum(members=1).fit(X, y, sample_weight=np.full(200, 1e14)).predict_proba(X)
        assert np.isfinite(posterior).all()


def test_contexts_of_streamed_rows_stay_within_the_budget() -> None:
    streamed = chunked(cases(0, 400), np.random.default_rng(0))
    spectrum(Counts(streamed), SMALL)
    with pytest.raises(ResourceError, match=r"the combinations of values that occur take .* learn with a smaller depth"):
        spectrum(Counts(streamed, budget=20_000), replace(SMALL, sample=10))


def test_the_setting_for_missing_values_is_not_ignored_silently() -> None:
    """Missing values always count as values; the default says nothing, as it is not a choice."""
    rng = np.random.default_rng(0)
    X = [[value if value < "c" else None] for value in rng.choice(list("abc"), 90)]
    y = [int(row[0] is None) for row in X]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = Spectrum(members=1).fit(X, y)
    with pytest.warns(NaiveteWarning, match="always counts a missing value as a value of its own"):
        state = Spectrum(members=1, encoder=Encoder(missing="state")).fit(X, y)
    assert np.array_equal(plain.predict_proba(X), state.predict_proba(X))
    with pytest.raises(ParameterError, match="always counts a missing value as a value of its own"):
        Spectrum(encoder=Encoder(missing="em")).fit(X, y)
