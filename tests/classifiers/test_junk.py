"""Columns without information do no harm: a small version of `python -m benchmarks.junk`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import naivete
from naivete import NaiveBayes, UnsuitableColumnWarning, load, save
from naivete.classifiers.specification import classifier_of
from naivete.data.frames import table_of
from naivete.data.labelled_table import label_table
from naivete.evaluation import cross_validate

ROWS = 600
MODELS = ("nb", "tan", "fan", "kdb:k=2", "kdb:k=auto", "k2", "hc", "naive-as", "info-as", "recursive", "id3", "c45")


def made(seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    """A class with two features that show it together, one that shows it alone, and a number."""
    rng = np.random.default_rng(seed)
    a, b, alone = rng.integers(0, 2, (3, ROWS))
    shown = np.where(rng.random(ROWS) < 0.9, a ^ b, rng.integers(0, 2, ROWS)) + alone
    frame = pd.DataFrame({"a": a, "b": b, "alone": np.where(alone, "yes", "no"), "number": shown + rng.normal(0, 0.8, ROWS)})
    return frame, pd.Series(np.array(["low", "middle", "high"])[shown], name="level")


JUNK: dict[str, Any] = {
    "zip code": lambda rng: [f"{10000 + code}" for code in rng.integers(0, 200, ROWS)],
    "identifier": lambda rng: [f"C{number:05}" for number in rng.permutation(9000)[:ROWS]],
    "row number": lambda rng: np.arange(ROWS),
    "timestamp": lambda rng: [str(np.datetime64("2024-01-01T00:00") + int(m)) for m in rng.integers(0, 500_000, ROWS)],
    "currency": lambda rng: [f"${amount:,.2f}" for amount in rng.gamma(2.0, 1000.0, ROWS)],
    "constant": lambda rng: ["USA"] * ROWS,
}


def accuracies(X: pd.DataFrame, y: pd.Series) -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsuitableColumnWarning)
        return {r.model: r.accuracy[0] for r in cross_validate({m: classifier_of(m) for m in MODELS}, (X, y), folds=3)}


@pytest.fixture(scope="module")
def without() -> dict[str, float]:
    return accuracies(*made())


@pytest.mark.parametrize("names", [[*JUNK], *(pytest.param([name], marks=pytest.mark.slow) for name in JUNK)], ids=", ".join)
def test_no_classifier_loses_more_than_a_point(names: list[str], without: dict[str, float]) -> None:
    X, y = made()
    junk = accuracies(X.assign(**{name: JUNK[name](np.random.default_rng(1)) for name in names}), y)
    assert all(junk[model] >= without[model] - 0.01 for model in MODELS), (junk, without)


@pytest.mark.parametrize("word", ["tan", "fan", "kdb:k=2"])
def test_a_random_column_of_a_hundred_common_values_gets_no_arcs(word: str) -> None:
    """It is not left out, since each value has 20 rows; arcs to it would replace those between a and b."""
    rng, rows = np.random.default_rng(100), 4000
    a, b, y = rng.integers(0, 2, (3, rows))
    b = np.where(rng.random(rows) < 0.9, a ^ y, b)
    frame = pd.DataFrame({"a": a, "b": b, "other": rng.integers(0, 2, rows)}).astype(str)
    region = [f"region {code}" for code in rng.integers(0, 100, rows)]
    train, test = slice(0, 2000), slice(2000, rows)
    plain = classifier_of(word).fit(frame[train], y[train]).score(frame[test], y[test])
    model = classifier_of(word).fit(frame.assign(region=region)[train], y[train])
    names = [variable.name for variable in model.network_.variables]
    assert not any("region" in (names[p], names[x]) for p, x in model.network_.arcs if names[p] != names[-1])
    assert model.score(frame.assign(region=region)[test], y[test]) > plain - 0.02 > 0.9


def test_all_columns_are_named_once_and_the_model_stays_small(tmp_path: Any) -> None:
    X, y = made()
    rng = np.random.default_rng(1)
    with_junk = X.assign(**{name: values(rng) for name, values in JUNK.items()})
    with pytest.warns(UnsuitableColumnWarning) as caught:
        model = NaiveBayes().fit(with_junk, y)
    assert len(caught) == 1
    assert all(f"'{name}'" in str(caught[0].message) for name in JUNK)
    plain = NaiveBayes().fit(X, y)
    save(model, tmp_path / "junk.nvt")
    save(plain, tmp_path / "plain.nvt")
    assert (tmp_path / "junk.nvt").stat().st_size < 2 * (tmp_path / "plain.nvt").stat().st_size
    loaded = load(tmp_path / "junk.nvt")
    for rows in (with_junk, with_junk.assign(currency="$1", identifier="unknown"), X.assign(constant="USA")):
        assert np.array_equal(loaded.predict_proba(rows), plain.predict_proba(X))
    assert model.n_features_in_ == with_junk.shape[1]


def test_other_ways_to_learn_leave_out_the_same_columns() -> None:
    X, y = made()
    X = X.assign(id=JUNK["identifier"](np.random.default_rng(1)))
    for word in ("nb", "tan", "kdb:k=2"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnsuitableColumnWarning)
            fitted = classifier_of(word).fit(X, y)
            streamed = classifier_of(word).fit_cases(X.assign(level=y), "level")
            half = ROWS // 2
            learned = classifier_of(word).partial_fit(X[:half], y[:half], classes=sorted(set(y))).partial_fit(X[half:], y[half:])
        assert len({naivete.model_hash(model) for model in (fitted, streamed, learned)}) == 1


def test_evaluation_names_the_columns_once_before_it_begins() -> None:
    X, y = made()
    with pytest.warns(UnsuitableColumnWarning, match="'id'") as caught:
        cross_validate(
            {"nb": NaiveBayes(), "tan": classifier_of("tan")},
            (X.assign(id=JUNK["identifier"](np.random.default_rng(1))), y),
            folds=3,
        )
    assert len(caught) == 1


@pytest.mark.parametrize("factor", [1 / ROWS, 0.1])
def test_a_factor_of_all_weights_does_not_matter(factor: float) -> None:
    X, y = made()
    X = X.assign(id=JUNK["identifier"](np.random.default_rng(1)))
    for model in (NaiveBayes(), NaiveBayes(class_weight="balanced")):
        with pytest.warns(UnsuitableColumnWarning, match=f"'id' .an identifier: {ROWS} different values in {ROWS} rows"):
            model.fit(X, y, np.full(ROWS, factor))
    with pytest.warns(UnsuitableColumnWarning, match=f"'id' .an identifier: {ROWS} different values in {ROWS} rows"):
        cross_validate(
            {"nb": NaiveBayes()}, label_table(table_of(X.assign(level=y, weight=factor)), "level", weight="weight"), folds=3
        )
