"""AODE and A2DE against sums over the rows, and the limits: rare and implied values, budgets, files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naivete import A2DE, AODE, Encoder, NaiveBayes, ParameterError, ResourceError, _kernels
from naivete.cases import Block, MemoryCases
from naivete.classifiers.model_file import model_bytes, model_from_bytes
from naivete.classifiers.saving import classifier_of, model_hash, model_of
from naivete.counts.counts import Counts
from naivete.errors import ModelFileError, UnseenValueWarning
from naivete.inference.ande import AnDEPredictor
from naivete.inference.leave_one_out_ande import LeaveOneOutAnDE
from naivete.inference.leave_one_out_networks import LeaveOneOut
from naivete.inference.predictor import Predictor
from naivete.learners.ande import ande
from naivete.learners.naive import naive
from tests.oracles import cases_of, chunked, identical, posterior, rows_of, weight_left_out, without_one
from tests.strategies import some_cases

Rows = list[tuple[list[int | None], Fraction]]
quick = settings(deadline=None, max_examples=60)


def count(rows: Rows, values: Mapping[int, int | None]) -> Fraction:
    """The weight of the rows with these values."""
    return sum((weight for row, weight in rows if all(row[x] == value for x, value in values.items())), Fraction(0))


def share(n: Fraction, total: Fraction, alpha: Fraction, states: int) -> Fraction:
    below = total + alpha * states
    return (n + alpha) / below if below else Fraction(1, states)


def without_implied(rows: Rows, row: Sequence[int | None], features: Sequence[int], least: int | None) -> list[int]:
    """The features of a row that are observed and whose values no other value of the row implies."""
    observed = [x for x in features if row[x] is not None]
    if least is None:
        return observed

    def implies(x: int, y: int) -> bool:
        return count(rows, {x: row[x]}) >= least and count(rows, {x: row[x]}) == count(rows, {x: row[x], y: row[y]})

    return [y for y in observed if not any(implies(x, y) and (x < y or not implies(y, x)) for x in observed if x != y)]


def slow_ande(
    rows: Rows, cards: Sequence[int], row: Sequence[int | None], n: int, least: int, implied: int | None, alpha: Fraction
) -> list[Fraction] | None:
    """P(row, class) by the formula of the papers, or None where naive Bayes is left."""
    classes, last = cards[-1], len(cards) - 1
    kept = without_implied(rows, row, [x for x in range(last) if cards[x] > 1], implied)
    for size in range(n, 0, -1):
        parents = [s for s in combinations(kept, size) if count(rows, {x: row[x] for x in s}) >= least]
        joint = [Fraction(0)] * classes
        for c in range(classes):
            for s in parents:
                given_values = {**{x: row[x] for x in s}, last: c}
                complete = [(r, w) for r, w in rows if all(r[x] is not None for x in s)]
                p = share(count(rows, given_values), count(complete, {}), alpha, classes * prod(cards[x] for x in s))
                for y in set(kept) - set(s):
                    observed = [(r, w) for r, w in rows if r[y] is not None]
                    p *= share(count(rows, {**given_values, y: row[y]}), count(observed, given_values), alpha, cards[y])
                joint[c] += p / len(parents)
        if any(joint):
            return joint
    return None


@given(
    cases=some_cases(rows=(1, 25), features=(1, 4), max_card=3),
    n=st.integers(1, 2),
    least=st.integers(0, 4),
    implied=st.sampled_from([None, 1, 3]),
    alpha=st.sampled_from([0.0, 0.5, 1.0]),
)
@quick
def test_predictions_are_those_of_the_formula(cases: MemoryCases, n: int, least: int, implied: int | None, alpha: float) -> None:
    model = ande(Counts(cases), n=n, min_frequency=least, subsumption=implied, smoothing=alpha)
    network = naive(Counts(cases), smoothing=alpha)
    predictor = AnDEPredictor(model, Predictor(network))
    codes = cases.block.codes[:-1]
    found, impossible = predictor.posterior(codes, cases.has_missing)
    joint = predictor.joint(codes, cases.has_missing)
    rows = list(rows_of(cases.block))
    cards = [v.card for v in cases.variables]
    for i, (row, _) in enumerate(rows):
        expected = slow_ande(rows, cards, row, n, least, implied, Fraction(alpha))
        if expected is not None:
            assert np.allclose(np.exp(joint[i]), [float(p) for p in expected], rtol=1e-9, atol=0)
            assert np.allclose(found[i], [float(p / sum(expected)) for p in expected], rtol=0, atol=1e-9)
        else:
            wanted = posterior(network, [*row[:-1]])
            assert (wanted is None) == (i in impossible)
            assert wanted is None or np.allclose(found[i], wanted, rtol=0, atol=1e-9)


@given(
    cases=some_cases(rows=(2, 20), features=(1, 4), max_card=3),
    n=st.integers(1, 2),
    least=st.integers(0, 4),
    implied=st.sampled_from([None, 1, 3]),
    smoothing=st.sampled_from([0.0, 0.5, 1.0, "m-estimate", "backoff", "clark-niblett"]),
    uniform=st.booleans(),
)
@quick
def test_leave_one_out_is_learning_again_without_the_row(
    cases: MemoryCases, n: int, least: int, implied: int | None, smoothing: Any, uniform: bool
) -> None:
    classes = cases.variables[-1].card
    prior = [1 / classes] * classes if uniform else None

    def learned(training: MemoryCases) -> tuple[Any, Any]:
        model = ande(Counts(training), n=n, min_frequency=least, subsumption=implied, smoothing=smoothing, prior=prior)
        return model, naive(Counts(training), smoothing=smoothing, prior=prior)

    whole, network = learned(cases)
    weight = weight_left_out(np.ones(len(cases.block)) if cases.block.weight is None else cases.block.weight)
    left_out = LeaveOneOutAnDE(whole, LeaveOneOut(Counts(cases), network, smoothing, prior))
    found = _kernels.posterior(left_out(Block(cases.block.codes, weight)))
    for i in range(len(cases.block)):
        rest = without_one(cases, i)
        if not len(rest.block):
            continue
        model, beside = learned(rest)
        codes = [column[i : i + 1] for column in cases.block.codes[:-1]]
        expected = AnDEPredictor(model, Predictor(beside)).posterior(codes, cases.has_missing)[0][0]
        assert np.allclose(found[i], expected, rtol=0, atol=1e-9)


@given(cases=some_cases(rows=(1, 30), features=(1, 4), max_card=3), seed=st.integers(0, 99), n=st.integers(1, 2))
@quick
def test_blocks_and_their_order_do_not_matter(cases: MemoryCases, seed: int, n: int) -> None:
    one = ande(Counts(cases), n=n)
    two = ande(Counts(chunked(cases, np.random.default_rng(seed))), n=n)
    assert list(one.tables) == list(two.tables)
    assert all(identical(one.tables[f], two.tables[f]) for f in one.tables)


@pytest.mark.parametrize("smoothing", ["m-estimate", "backoff", "clark-niblett", 0.1])
@pytest.mark.parametrize("prior", [None, [0.3, 0.7]])
def test_every_model_of_the_average_is_a_distribution(smoothing: Any, prior: Any) -> None:
    rng = np.random.default_rng(1)
    cases = cases_of([3, 2, 2, 2], rng.integers(0, 2, (4, 40)).tolist())
    model = ande(Counts(cases), n=2, smoothing=smoothing, prior=prior)
    for parents in [(0,), (0, 1), (1, 2)]:
        assert model.parent_probabilities(parents).sum() == pytest.approx(1)
        for child in {0, 1, 2} - set(parents):
            axis = sorted([*parents, child]).index(child)
            assert np.allclose(model.child_probabilities(parents, child).sum(axis=axis), 1)
    if prior is not None:
        assert np.allclose(model.parent_probabilities((0, 1)).sum(axis=(0, 1)), prior)


def parity(features: int, copies: int = 8) -> tuple[np.ndarray, np.ndarray]:
    X = np.array(np.meshgrid(*[[0, 1]] * features)).reshape(features, -1).T.repeat(copies, axis=0)
    return X, X.sum(axis=1) % 2


def test_a_parity_of_n_plus_one_features_is_learned_and_no_larger_one() -> None:
    for kind, most in ((NaiveBayes, 1), (AODE, 2), (A2DE, 3)):
        for features in (1, 2, 3, 4):
            X, y = parity(features)
            right = (kind().fit(X, y).predict(X) == y).mean()
            assert (right == 1) == (features <= most)


def test_rare_values_are_no_parents() -> None:
    """With a frequency that no value reaches, all that is left is naive Bayes."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, (80, 4))
    y = (X[:, 0] + rng.integers(0, 2, 80)) % 2
    expected = NaiveBayes().fit(X, y).predict_proba(X)
    for kind in (AODE, A2DE):
        assert identical(kind(min_frequency=81).fit(X, y).predict_proba(X), expected)
        assert not np.allclose(kind().fit(X, y).predict_proba(X), expected)


def test_a_copy_of_a_feature_is_not_counted_twice() -> None:
    """A copy, or the join of two of its values, says nothing new, so that with subsumption resolution nothing changes."""
    rng = np.random.default_rng(5)
    X = rng.integers(0, 3, (900, 3))
    y = (X[:, 0] + X[:, 1] + rng.integers(0, 2, 900)) % 3
    more = np.column_stack([X, X[:, 0]])
    for kind in (AODE, A2DE):
        alone = kind(subsumption=None).fit(X, y).predict_proba(X)
        assert np.allclose(kind(subsumption=100).fit(more, y).predict_proba(more), alone, rtol=0, atol=1e-12)
        assert not np.allclose(kind().fit(more, y).predict_proba(more), alone)
        assert not np.allclose(kind(subsumption=1000).fit(more, y).predict_proba(more), alone)


def test_indicator_columns_do_not_make_the_default_sure_of_wrong_classes() -> None:
    """With subsumption resolution a class in which a value never occurred has the uniform distribution of few values."""
    rng = np.random.default_rng(7)
    y = rng.integers(0, 2, 800)
    letters = np.where(rng.random((800, 60)) < 0.3, 2 * y[:, None], rng.integers(0, 4, (800, 60)))
    letters[:, 0] = y + rng.integers(0, 3, 800)
    X = np.concatenate([letters == letter for letter in range(3)], axis=1).astype(int)

    def loss(model: AODE) -> float:
        posterior = model.fit(X[:400], y[:400]).predict_proba(X[400:])
        return float(-np.log(posterior[np.arange(400), y[400:]]).mean())

    assert loss(AODE()) < loss(AODE(subsumption=100)) / 5


def test_unseen_values_and_rows_without_values() -> None:
    X, y = parity(3)
    fitted = A2DE().fit(X, y)
    with pytest.warns(UnseenValueWarning):
        assert identical(fitted.predict_proba([[1, 0, 7]]), fitted.predict_proba([[1, 0, None]]))
    assert fitted.predict_proba([[None, None, None]]).tolist() == [[0.5, 0.5]]
    smooth = A2DE(encoder=Encoder(unseen="smooth")).fit(X, y)
    assert np.isfinite(smooth.predict_log_proba([[1, 0, 7], [7, 7, 7]])).all()


def test_tables_beyond_the_budget_are_refused_before_they_are_made() -> None:
    X = np.arange(40)[:, None].repeat(30, axis=1).astype(str)
    y = np.arange(40) % 2
    assert AODE(budget=40_000_000).fit(X, y).predict(X[:1]).tolist() == [0]
    with pytest.raises(ResourceError, match=r"sets of 3 of 30 features need 16,663,206,432 bytes.*use AODE"):
        A2DE(budget=40_000_000).fit(X, y)
    with pytest.raises(ResourceError, match=r"sets of 2 of 30 features"):
        AODE(budget=400_000).fit(X, y)
    with pytest.raises(ResourceError, match=r"sets of 3 of 2,9\d\d features"):
        A2DE().fit(np.random.default_rng(0).integers(0, 2, (10, 3000)), y[:10])


@pytest.mark.parametrize(
    "parameters",
    [{"min_frequency": -1}, {"min_frequency": "x"}, {"min_frequency": np.inf}, {"subsumption": 0}, {"subsumption": True}],
    ids=str,
)
def test_parameters_are_checked(parameters: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        AODE(**parameters).fit([["a"], ["b"]], [0, 1])


def test_em_is_refused() -> None:
    with pytest.raises(ParameterError, match="missing='em'"):
        AODE(encoder=Encoder(missing="em")).fit([["a"], [None]], [0, 1])


def test_a_file_keeps_the_settings_of_the_fit() -> None:
    X, y = parity(3)
    fitted = A2DE(min_frequency=3, subsumption=None, smoothing="m-estimate:3", prior=[0.25, 0.75]).fit(X, y)
    expected, code = fitted.predict_proba(X), model_hash(fitted)
    loaded = classifier_of(model_from_bytes(model_bytes(model_of(fitted))), "model")
    assert identical(loaded.predict_proba(X), expected)
    assert model_hash(loaded) == code
    fitted.set_params(smoothing=9.0, min_frequency=99)
    assert identical(classifier_of(model_of(fitted), "model").predict_proba(X), expected)


CHANGES: dict[str, Any] = {
    "short": ("counts", lambda counts: counts[:3]),
    "none": ("counts", lambda _: None),
    "negative": ("counts", lambda counts: counts - 1.0),
    "infinite": ("counts", lambda counts: counts + np.inf),
    "too large to add": ("counts", lambda counts: counts + 1e308),
    "integers": ("counts", lambda counts: counts.astype(np.int64)),
    "frequency": ("min_frequency", lambda _: -1.0),
    "subsumption": ("subsumption", lambda _: "x"),
    "smoothing": ("smoothing", lambda _: []),
    "prior": ("prior", lambda _: [0.5]),
    "another field": ("other", lambda _: 1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_with_impossible_counts_is_refused(change: str) -> None:
    X, y = parity(2)
    model = model_of(AODE().fit(X, y))
    name, changed = CHANGES[change]
    more = dict(sorted({**model.more, name: changed(model.more["counts"])}.items()))
    with pytest.raises(ModelFileError, match=f"more.*{name}"):
        classifier_of(model_from_bytes(model_bytes(replace(model, more=more))), "model")
