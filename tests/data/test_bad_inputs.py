"""Bad and unusual inputs: one test id for each case and classifier (F: fit, P: predict, N: numerics).

Refusals that happen before learning run for one classifier of each way to learn; the others share the code and get one refusal
of each argument. Inputs that reach the learner run for every classifier.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any
from unittest.mock import Mock

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone

from naivete.cases import sparse as sparse_cases
from naivete.classifiers import base, table_input
from naivete.classifiers.augmented import KDB, TAN, KNaive, NaiveBayes
from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.baselines import Lookup, Majority
from naivete.classifiers.not_fitted import NotFittedError
from naivete.classifiers.registry import REGISTRY
from naivete.classifiers.selective import K2AS, InfoAS, SelectiveNaive
from naivete.classifiers.trees import ID3
from naivete.classifiers.unrestricted import CB, K2, PC, HillClimb
from naivete.counts import counts, information
from naivete.data import labels
from naivete.data.table import Column, Table
from naivete.encoding.encoder import Encoder
from naivete.errors import (
    DataError,
    DataTypeError,
    ImpossibleEvidenceWarning,
    NaiveteError,
    NaiveteWarning,
    ParameterError,
    ResourceError,
    UnseenValueWarning,
)
from tests import estimator_of
from tests.oracles import identical, posterior
from tests.representatives import REPRESENTATIVES, slow_unless_representative

pytestmark = pytest.mark.filterwarnings("ignore:(a feature is a copy|some features are copies), up to:naivete.NaiveteWarning")
"""PC names equal columns, which many of these tables have."""

ALL: dict[str, NetworkClassifier] = {entry.name: estimator_of(entry) for entry in REGISTRY}
X = [["a", 1, 0.5], ["b", 2, 1.5], ["a", 2, 2.5], ["b", 1, 3.5], ["a", 1, 0.7], ["b", 2, 1.2]]
Y = ["no", "yes", "no", "yes", "no", "yes"]


def for_each_case(cases: dict[str, Any], classifiers: Iterable[str] = ALL, *, shared: bool = False) -> Any:
    """Run a test for every case with every one of the classifiers; where they share what is tested, most are slow tests."""
    marks = {name: slow_unless_representative(name) if shared else () for name in classifiers}
    return pytest.mark.parametrize(
        ("classifier", "case"),
        [
            pytest.param(clone(ALL[name]), case, id=f"{key}-{name}", marks=marks[name])
            for key, case in cases.items()
            for name in classifiers
        ],
    )


def for_each_classifier(case: str, classifiers: Iterable[str] = ALL, *, shared: bool = False) -> Any:
    """Run a test for every one of the classifiers; where they share what is tested, most of them are among the slow tests."""
    marks = {name: slow_unless_representative(name) if shared else () for name in classifiers}
    return pytest.mark.parametrize(
        "classifier", [pytest.param(ALL[name], id=f"{case}-{name}", marks=marks[name]) for name in classifiers]
    )


def cell(value: Any) -> np.ndarray:
    cells = np.empty((6, 3), object)
    cells[:] = X
    cells[1, 1] = value
    return cells


REFUSED_X: dict[str, tuple[Any, type[Exception], str]] = {
    "F1-no-rows": (np.empty((0, 3)), DataError, "0 sample"),
    "F1-no-rows-frame": (pd.DataFrame({"a": []}), DataError, "0 sample"),
    "F1-no-columns": (np.empty((6, 0)), DataError, "0 feature"),
    "F1-no-columns-frame": (pd.DataFrame(index=range(6)), DataError, "0 feature"),
    "F6-inf": (np.array([[1.0], [2.0], [np.inf], [1.0], [2.0], [3.0]]), DataError, "row 3: column 'x0': inf is infinity"),
    "F6-inf-among-text": (cell(float("inf")), DataError, "column 'x1', row 2: inf is infinity"),
    "F6-complex": (np.ones((6, 1), complex), DataError, "Complex data not supported"),
    "F6-complex-cell": (cell(1j), DataTypeError, "column 'x1', row 2: 1j is of type complex"),
    "F6-dict": (cell({}), DataTypeError, "column 'x1', row 2: {} is of type dict"),
    "F6-list": (pd.DataFrame({"x1": [1, [2], 3, 4, 5, 6]}), DataTypeError, "column 'x1', row 2: .* is of type list"),
    "F6-bytes": (cell(b"b"), DataTypeError, "column 'x1', row 2: b'b' is of type bytes"),
    "F6-bytes-in-a-list": ([[b"a"], ["a"], ["a"], ["a"], ["a"], ["a"]], DataTypeError, "column 'x0', row 1"),
    "F6-datetime": (cell(datetime(2020, 1, 1)), DataTypeError, "column 'x1', row 2: .*turn dates into numbers"),
    "F6-datetime-frame": (pd.DataFrame({"d": pd.to_datetime(["2020-01-01"] * 6)}), DataTypeError, "column 'd' .*turn dates"),
    "F6-decimal": (cell(Decimal(1)), DataTypeError, "column 'x1', row 2: Decimal"),
    "F6-huge-int": (cell(10**30), DataError, "column 'x1', row 2: 10+ is beyond"),
    "F9-1-D": (np.arange(6), DataError, "Expected 2D array"),
    "F9-3-D": (np.zeros((6, 1, 1)), DataError, "dim 3"),
    "F9-ragged": ([[1, 2], [1], [1], [1], [1], [1]], DataError, "rows differ in length"),
    "F9-text": ("abc.csv", DataError, "X='abc.csv': .*read the file with naivete.read"),
    "F9-None": (None, DataError, "Expected 2D array"),
    "F9-series": (pd.Series(range(6)), DataError, "2-dimensional"),
    "F9-columns": ({"a": list(range(6))}, DataError, "X: a mapping from names to columns is not a table; make a data frame"),
    "F9-lazy": (pl.LazyFrame({"a": range(6)}), DataError, "X: the rows of a lazy frame .* call its method collect"),
    "F11-duplicates": (pd.DataFrame([[1, 2]] * 6, columns=["a", "a"]), DataError, "'a' at positions 1, 2"),
    "F11-two-levels": (pd.DataFrame([[1]] * 6, columns=pd.MultiIndex.from_tuples([("a", 1)])), DataTypeError, "named"),
}


@for_each_case(REFUSED_X, REPRESENTATIVES)
def test_tables_that_are_refused(classifier: NetworkClassifier, case: tuple[Any, type[Exception], str]) -> None:
    table, error, message = case
    with pytest.raises(error, match=message) as raised:
        classifier.fit(table, Y)
    assert isinstance(raised.value, NaiveteError)
    assert not hasattr(classifier, "network_")


REFUSED_Y: dict[str, tuple[Any, type[Exception], str]] = {
    "F5-nan": ([0, 1, np.nan, 1, 0, 1], DataError, "no label in row 3"),
    "F5-None": (["a", None, "b", None, "a", "b"], DataError, "no label in 2 rows, the first are 2, 4"),
    "F5-NA": (pd.Series([0, 1, None, 1, 0, 1], dtype="Int64"), DataError, "no label in row 3"),
    "F5-NaT": (np.array([pd.NaT, "a", "b", "a", "b", "a"], object), DataError, "no label in row 1"),
    "F7-text-and-numbers": ([0, "a", 0, "a", 0, "a"], DataTypeError, "y mixes whole numbers .*row 1: 0.* text .*row 2: 'a'"),
    "F7-numbers-and-truth": ([1, True, 1, True, 0, 0], DataTypeError, "y mixes whole numbers .* booleans"),
    "F7-whole-and-not": ([1, 1.0, 2, 2.0, 1, 1], DataTypeError, "y mixes whole numbers .* numbers with a fraction"),
    "F7-objects": (np.array(["1", 1, "1", 1, "1", 1], object), DataTypeError, "y mixes text .* whole numbers"),
    "F7-bytes": ([b"a", b"b"] * 3, DataTypeError, "labels are text"),
    "F7-dates": (np.array(["2020-01-01"] * 6, "M8[D]"), DataTypeError, "labels are text"),
    "F7-decimals": ([Decimal(1)] * 6, DataTypeError, "Decimal"),
    "F7-continuous": ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], DataError, "continuous"),
    "F9-short-y": (Y[:5], DataError, "6 rows, 5 labels"),
    "F9-name-of-y": ("diagnosis", DataError, "y='diagnosis': .*pass the column, not its name"),
    "F9-2-D-y": (np.zeros((6, 2)), DataError, "1d array"),
    "F9-ragged-y": ([[1], [1, 2], [1], [1], [1], [1]], DataError, "one label for each row"),
    "F9-lists-in-y": ([[1], [1, 2], 1, 1, 1, 1], DataTypeError, "y mixes values of type list"),
    "F9-no-y": (None, DataError, "requires y to be passed"),
    "F9-frame-y": (pl.DataFrame({"y": Y}), DataError, "y is a table"),
}


@for_each_case(REFUSED_Y, REPRESENTATIVES)
def test_labels_that_are_refused(classifier: NetworkClassifier, case: tuple[Any, type[Exception], str]) -> None:
    labels, error, message = case
    with pytest.raises(error, match=message) as raised:
        classifier.fit(X, labels)
    assert isinstance(raised.value, NaiveteError)


REFUSED_WEIGHTS: dict[str, tuple[Any, type[Exception], str]] = {
    "F10-negative-weight": ([1, 1, -1, 1, 1, 1], DataError, "row 3: -1.0 is not a weight"),
    "F10-nan-weight": ([1, np.nan, 1, 1, 1, 1], DataError, "row 2: nan is not a weight"),
    "F10-infinite-weight": ([1, np.inf, 1, 1, 1, 1], DataError, "row 2: inf is not a weight"),
    "F10-all-zero-weights": ([0] * 6, DataError, "zero in every row"),
    "F10-short-weights": ([1, 1], DataError, "shape .*6 rows"),
    "F10-2-D-weights": (np.ones((6, 1)), DataError, "shape .*6 rows"),
    "F10-text-weights": (["heavy"] * 6, DataTypeError, "one number for each row"),
    "F10-weights-without-a-sum": ([1e308] * 6, DataError, "too large"),
}


@for_each_case(REFUSED_WEIGHTS, REPRESENTATIVES)
def test_weights_that_are_refused(classifier: NetworkClassifier, case: tuple[Any, type[Exception], str]) -> None:
    weights, error, message = case
    with pytest.raises(error, match=message) as raised:
        classifier.fit(X, Y, weights)
    assert isinstance(raised.value, NaiveteError)


@for_each_classifier("F-each-argument", [name for name in ALL if name not in REPRESENTATIVES])
def test_every_classifier_checks_every_argument(classifier: NetworkClassifier) -> None:
    with pytest.raises(DataError, match="row 3: column 'x0': inf is infinity"):
        clone(classifier).fit(REFUSED_X["F6-inf"][0], Y)
    with pytest.raises(DataError, match="no label in row 3"):
        clone(classifier).fit(X, REFUSED_Y["F5-nan"][0])
    with pytest.raises(DataError, match=r"row 3: -1.0 is not a weight"):
        clone(classifier).fit(X, Y, REFUSED_WEIGHTS["F10-negative-weight"][0])


PARAMETERS: dict[str, tuple[NetworkClassifier, str]] = {
    "F15-smoothing-negative": (NaiveBayes(smoothing=-1), "smoothing=-1"),
    "F15-smoothing-nan": (TAN(smoothing=float("nan")), "smoothing=nan"),
    "F15-smoothing-per-column": (NaiveBayes(smoothing=[1, 2]), "smoothing="),
    "F15-smoothing-word": (KDB(smoothing="laplace"), "smoothing='laplace'"),
    "F15-prior-sum": (NaiveBayes(prior=[0.5, 0.6]), "prior="),
    "F15-prior-length": (Lookup(prior=[1.0]), "prior="),
    "F15-prior-text": (Majority(prior="ab"), "prior='ab'"),
    "F15-encoder": (NaiveBayes(encoder="x"), "encoder='x'"),
    "F15-budget": (NaiveBayes(budget="x"), "budget='x'"),
    "F15-budget-zero": (NaiveBayes(budget=0), "budget=0"),
    "F15-k-negative": (KDB(k=-1), "k=-1"),
    "F15-k-fraction": (KDB(k=1.5), "k=1.5"),
    "F15-k-word": (KDB(k="many"), "k='many'"),
    "F15-theta-nan": (KDB(theta=float("nan")), "theta=nan"),
    "F15-theta-word": (KDB(theta="high"), "theta='high'"),
    "F15-alpha": (KDB(theta="chi2", alpha=2), "alpha=2"),
    "F15-knaive-k-beyond-n": (KNaive(k=99), "k=99"),
    "F15-k-max": (KDB(k="auto", k_max=None), "k_max=None"),
    "F15-root": (TAN(root=7), "root=7"),
    "F15-k2-order": (K2(order="best"), "order='best'"),
    "F15-k2-order-none": (K2(order=None), "order=None"),
    "F15-k2-order-short": (K2(order=["x0"]), "order="),
    "F15-k2-order-unknown": (K2(order=["zz"]), "there is no feature 'zz'; the features are x0"),
    "F15-k2-max-parents": (K2(max_parents=-1), "max_parents=-1"),
    "F15-k2-max-parents-fraction": (K2(max_parents=2.0), "max_parents=2.0"),
    "F15-k2-criterion": (K2(criterion="bice"), "criterion='bice'.*did you mean 'bic'"),
    "F15-k2-criterion-none": (K2(criterion=None), "criterion=None"),
    "F15-k2-criterion-number": (K2(criterion="bdeu:-3"), "criterion='bdeu:-3'"),
    "F15-hc-criterion": (HillClimb(criterion=7), "criterion=7"),
    "F15-hc-tabu": (HillClimb(tabu=-1), "tabu=-1"),
    "F15-hc-tabu-none": (HillClimb(tabu=None), "tabu=None"),
    "F15-hc-max-steps": (HillClimb(max_steps=0.5), "max_steps=0.5"),
    "F15-hc-class-root": (HillClimb(class_root="no"), "class_root='no'"),
    "F15-cb-alpha": (CB(alpha=1), "alpha=1"),
    "F15-cb-test": (CB(test="fisher"), "test='fisher'"),
    "F15-cb-criterion": (CB(criterion="kk"), "criterion='kk'"),
    "F15-cb-stop": (CB(stopping_rule="soon"), "stopping_rule='soon'"),
    "F15-cb-class-root": (CB(class_root=None), "class_root=None"),
    "F15-cb-partial-order": (CB(partial_order="yes"), "partial_order='yes'"),
    "F15-cb-max-order": (CB(max_order=-1), "max_order=-1"),
    "F15-cb-max-parents": (CB(max_parents=True), "max_parents=True"),
    "F15-pc-alpha": (PC(alpha=float("nan")), "alpha=nan"),
    "F15-pc-test": (PC(test=None), "test=None"),
    "F15-pc-max-order": (PC(max_order="all"), "max_order='all'"),
    "F15-naive-as-random-state": (SelectiveNaive(random_state=-1), "random_state=-1"),
    "F15-naive-as-random-state-word": (SelectiveNaive(random_state="x"), "random_state='x'"),
    "F15-k2-as-equal": (K2AS(accept_ties="yes"), "accept_ties='yes'"),
    "F15-k2-as-learner": (K2AS(learner="cbb"), "learner: model 'cbb'.*did you mean cb"),
    "F15-k2-as-criterion": (K2AS(criterion="zzz"), "criterion='zzz'"),
    "F15-k2-as-max-parents": (K2AS(max_parents=-2), "max_parents=-2"),
    "F15-info-as-metric": (InfoAS(metric="cgg"), "metric='cgg'"),
    "F15-info-as-stop": (InfoAS(stopping_rule="one"), "stopping_rule='one'"),
    "F15-info-as-alpha": (InfoAS(alpha=0), "alpha=0"),
    "F15-info-as-guided": (InfoAS(guided=True), "guided=True"),
    "F15-info-as-backward": (InfoAS(backward=1), "backward=1"),
    "F15-info-as-learner": (InfoAS(learner=KDB), "learner="),
    "F15-info-as-learners-k": (InfoAS(learner=KDB(k=-1)), "k=-1"),
    "F15-info-as-prior": (InfoAS(prior=[0.5, 0.6]), "prior="),
}


@pytest.mark.parametrize(("classifier", "message"), PARAMETERS.values(), ids=PARAMETERS)
def test_parameters_out_of_range_are_named_at_fit(classifier: NetworkClassifier, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        clone(classifier).fit(X, Y)


ACCEPTED: dict[str, Callable[[NetworkClassifier], NetworkClassifier]] = {
    "F1-one-row": lambda c: c.fit([["a", 1]], ["yes"]),
    "F1-one-column": lambda c: c.fit([["a"], ["b"]], ["yes", "no"]),
    "F2-one-class": lambda c: c.fit(X, ["yes"] * 6),
    "F7-truth-values": lambda c: c.fit(X, [True, False] * 3),
    "F7-whole-numbers": lambda c: c.fit(X, [3, 5] * 3),
    "F8-codes-with-gaps": lambda c: c.fit([[0.9, -3], [10.0**12, 0], [0.9, 10**12], [5, 5]], [0, 1, 0, 1]),
    "F9-sparse": lambda c: c.fit(sparse.csr_array(np.eye(6)), Y),
    "F11-names": lambda c: c.fit(pd.DataFrame([[1] * 6, [2] * 6], columns=[None, "", 0, "0", "__class__", "class"]), [0, 1]),
    "N4-extreme-numbers": lambda c: c.fit(np.array([[1e155, 1e-6], [-1e155, 2e-6], [1e9, 1e-300], [5e-324, 3.5]]), [0, 1, 0, 1]),
}


@for_each_case(ACCEPTED)
def test_unusual_input_that_is_accepted(
    classifier: NetworkClassifier, case: Callable[[NetworkClassifier], NetworkClassifier]
) -> None:
    fitted = case(classifier)
    network = fitted.network_
    features = [network.name(x) for x in network.inputs]
    unknown = pd.DataFrame([[None] * len(features)], columns=features) if fitted._framed else np.full((1, len(features)), np.nan)
    probabilities = fitted.predict_proba(unknown)
    assert probabilities.shape == (1, len(fitted.classes_))
    if network.derived:
        assert np.allclose(probabilities.sum(axis=1), 1, rtol=0, atol=1e-12)
    elif network.parents[-1]:
        assert np.allclose(probabilities[0], posterior(network, [None] * len(features)), rtol=0, atol=1e-12)
    else:
        assert identical(probabilities[0], network.cpts[-1])
    if len(fitted.classes_) == 1:
        assert probabilities.tolist() == [[1.0]]


@pytest.mark.parametrize(
    "parameters", [{"k": 99, "theta": float("-inf")}, {"theta": float("inf")}], ids=["k-beyond-n", "theta-inf"]
)
def test_f15_parameters_that_allow_all_parents_or_none(parameters: dict[str, float]) -> None:
    codes = np.random.default_rng(0).integers(0, 2, (30, 4))
    fitted = KDB().set_params(**parameters).fit(codes[:, :3], codes[:, 3])
    assert len(fitted.network_.arcs) == (3 if "k" in parameters else 0)


MISSING = {"F4-None": None, "F4-nan": np.nan, "F4-NA": pd.NA, "F4-NaT": pd.NaT, "F4-empty": ""}


@for_each_case(MISSING, shared=True)
def test_every_missing_marker_is_missing(classifier: NetworkClassifier, case: Any) -> None:
    rows = np.array([["a", "p"], [case, "q"], ["b", case], ["a", "q"]], object)
    plain = np.array([["a", "p"], [None, "q"], ["b", None], ["a", "q"]], object)
    fitted, expected = clone(classifier).fit(rows, [0, 1, 1, 0]), clone(classifier).fit(plain, [0, 1, 1, 0])
    assert identical(fitted.network_, expected.network_)
    assert identical(fitted.predict_proba(rows), expected.predict_proba(plain))


@for_each_classifier("F3-constant-column", shared=True)
def test_a_constant_column_has_no_effect(classifier: NetworkClassifier) -> None:
    more = [[*row, "same"] for row in X]
    one, two = clone(classifier).fit(X, Y), clone(classifier).fit(more, Y)
    assert identical(one.predict_proba(X), two.predict_proba(more))


@for_each_classifier("F3-all-missing-column")
def test_a_column_without_values_has_no_effect_and_is_reported(classifier: NetworkClassifier) -> None:
    more = [[*row, None] for row in X]
    with pytest.warns(NaiveteWarning, match="column 'x3' has no value in any row"):
        two = clone(classifier).fit(more, Y)
    assert identical(clone(classifier).fit(X, Y).predict_proba(X), two.predict_proba(more))


@for_each_classifier("F10-zero-weight", shared=True)
def test_rows_of_weight_zero_are_left_out(classifier: NetworkClassifier) -> None:
    more, labels = [["z", 9, 99.0], *X], ["maybe", *Y]
    one, two = clone(classifier).fit(X, Y), clone(classifier).fit(more, labels, [0, *[1] * 6])
    assert identical(one.network_, two.network_)
    assert two.classes_.tolist() == ["no", "yes"]


@for_each_classifier("F9-input-unchanged", shared=True)
def test_input_is_never_changed(classifier: NetworkClassifier) -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    before, weight = frame.copy(), np.ones(6)
    clone(classifier).fit(frame, Y, weight).predict(frame)
    pd.testing.assert_frame_equal(frame, before)
    assert weight.tolist() == [1.0] * 6


@pytest.mark.parametrize(
    "classifier", [pytest.param(KDB(k=2, budget=4000), id="F13-budget-KDB"), pytest.param(TAN(budget=4000), id="F13-budget-TAN")]
)
def test_tables_beyond_the_budget_are_refused_before_they_are_made(classifier: NetworkClassifier) -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ResourceError, match=r"'x\d' \(20 states\).*cells.*bytes.*budget is 4,000 bytes"):
        classifier.fit(rng.integers(0, 20, (300, 4)), rng.integers(0, 2, 300))


def test_f14_joint_index_beyond_2_to_63() -> None:
    rng = np.random.default_rng(0)
    table = rng.integers(0, 20, (60, 20))  # 20 ** 20 cells
    y = rng.integers(0, 2, 60)
    fitted = Lookup().fit(table, y)
    assert (fitted.predict(table) == y).all()
    assert (KDB(k=19).fit(table, y).predict(table) == y).mean() > 0.9


@for_each_classifier("F16-ties")
def test_ties_of_equal_columns_are_broken_by_position(classifier: NetworkClassifier) -> None:
    table = np.repeat(np.random.default_rng(0).integers(0, 2, (30, 1)), 5, axis=1)
    fitted = clone(classifier).fit(table, table[:, 0])
    again = clone(classifier).fit(table, table[:, 0])
    assert identical(fitted.network_, again.network_)
    if not fitted.network_.derived:
        assert all(p < x for x in fitted.network_.features for p in fitted.network_.parents[x] if p >= 0)


STEPS_OF_FIT = [
    (table_input, "table_of"),
    (labels, "class_labels"),
    (labels, "checked_weights"),
    (labels, "encode_classes"),
    (sparse_cases, "encoded_cases"),
    (counts, "Counts"),
    (information, "relevance"),
    (information, "arc_information"),
    (base, "predictor_of"),
]
FAULTS = [KeyboardInterrupt, MemoryError, ZeroDivisionError]


@pytest.mark.parametrize("name", [pytest.param(name, marks=slow_unless_representative(name)) for name in ALL])
def test_f17_a_fit_that_fails_leaves_the_earlier_one_unchanged(name: str, monkeypatch: Any) -> None:
    fitted, bare = clone(ALL[name]).fit(pd.DataFrame(X, columns=["a", "b", "c"]), Y), clone(ALL[name])
    before = dict(fitted.__dict__)
    for number, (module, step) in enumerate(STEPS_OF_FIT):
        if name == "Spectrum" and step == "predictor_of":
            continue  # it has a predictor of its own
        fault = FAULTS[number % len(FAULTS)]
        with monkeypatch.context() as patch:
            patch.setattr(module, step, Mock(side_effect=fault("injected")))
            for classifier in (fitted, bare):
                with pytest.raises(fault):
                    classifier.fit([["q"], ["r"]], [1, 2])
        assert fitted.__dict__.keys() == before.keys()
        assert all(fitted.__dict__[key] is before[key] for key in before)
        assert not hasattr(bare, "network_")


@for_each_classifier("P1-unseen", shared=True)
def test_unseen_values_are_missing_with_a_warning_that_counts(classifier: NetworkClassifier) -> None:
    fitted = clone(classifier).fit(X, Y)
    with pytest.warns(UnseenValueWarning, match=r"\('x0': 2, 'x1': 1\)"):
        probabilities = fitted.predict_proba([["z", 1, 0.5], ["q", 7, 1.5]])
    assert identical(probabilities, fitted.predict_proba([[None, 1, 0.5], [None, None, 1.5]]))
    strict = clone(classifier).set_params(encoder=Encoder(unseen="error")).fit(X, Y)
    with pytest.raises(DataError, match="X, row 2: column 'x0': value 'z' did not occur in training"):
        strict.predict([["a", 1, 0.5], ["z", 1, 0.5]])
    smooth = clone(classifier).set_params(encoder=Encoder(unseen="smooth")).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnseenValueWarning)
        warnings.simplefilter("ignore", ImpossibleEvidenceWarning)
        assert np.isfinite(smooth.predict_proba([["z", 9, 0.5]])).all()


@for_each_classifier("P2-all-missing", shared=True)
def test_all_missing_is_the_prior(classifier: NetworkClassifier) -> None:
    assert clone(classifier).fit(X, Y).predict_proba([[None] * 3]).tolist() == [[0.5, 0.5]]


@for_each_classifier("P5-impossible", [name for name in ALL if name not in ("KNaive", "ID3", "Spectrum")])
def test_impossible_evidence_has_defined_probabilities(classifier: NetworkClassifier) -> None:
    unfitted = clone(classifier)
    if "smoothing" in unfitted.get_params():
        unfitted.set_params(smoothing=0)
    fitted = unfitted.fit([["a", "p"], ["b", "q"]], ["no", "yes"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImpossibleEvidenceWarning)
        probabilities = fitted.predict_proba([["a", "q"], ["b", "p"]])
    if len(getattr(fitted, "selected_", [0, 1])) == 1 or fitted.parents_.get("x1") == ("x0",):
        assert np.array_equal(probabilities, [[1, 0], [0, 1]])  # the other feature is not selected, or a copy for PC
    else:
        assert np.allclose(probabilities, 0.5)


def test_p5_the_dependence_derivatives_of_impossible_cases_are_refused() -> None:
    with pytest.raises(DataError, match=r"probability zero.*use a smoothing above 0"):
        KNaive(smoothing=0).fit([["a", "p"], ["b", "q"]], ["no", "yes"])


def test_p5_a_tree_uses_the_features_of_its_splits_alone() -> None:
    fitted = ID3(smoothing=0).fit([["a", "p"], ["b", "q"]], ["no", "yes"])
    assert fitted.predict_proba([["a", "q"], ["b", "p"]]).tolist() == [[1, 0], [0, 1]]


def test_p6_many_features() -> None:
    rng = np.random.default_rng(0)
    table = rng.integers(0, 2, (20, 5_000)).astype(np.uint8)
    fitted = NaiveBayes().fit(table, np.arange(20) % 2)
    probabilities = fitted.predict_proba(rng.integers(0, 2, (3, 5_000)).astype(np.uint8))
    assert np.isfinite(probabilities).all()
    assert np.allclose(probabilities.sum(axis=1), 1, atol=1e-12)


@for_each_classifier("P7-no-rows", shared=True)
def test_predicting_no_rows_returns_no_rows(classifier: NetworkClassifier) -> None:
    fitted = clone(classifier).fit(X, Y)
    empty = np.empty((0, 3), object)
    assert (fitted.predict(empty).shape, fitted.predict(empty).dtype) == ((0,), fitted.classes_.dtype)
    assert (fitted.predict_proba(empty).shape, fitted.predict_proba(empty).dtype) == ((0, 2), np.float64)
    framed = clone(classifier).fit(pd.DataFrame(X, columns=["a", "b", "c"]), Y)
    assert framed.predict_proba(pd.DataFrame(X, columns=["a", "b", "c"]).iloc[:0]).shape == (0, 2)


@for_each_classifier("P8-batch", shared=True)
def test_predictions_do_not_depend_on_the_batch(classifier: NetworkClassifier) -> None:
    fitted = clone(classifier).fit(X, Y)
    whole = fitted.predict_proba(X)
    assert all(identical(fitted.predict_proba([row])[0], whole[i]) for i, row in enumerate(X))


@for_each_classifier("P9-not-fitted")
def test_not_fitted(classifier: NetworkClassifier) -> None:
    for method in ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba"):
        with pytest.raises(NotFittedError):
            getattr(clone(classifier), method)(X)


@for_each_classifier("P11-outside-the-range")
def test_numbers_outside_the_training_range(classifier: NetworkClassifier) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(100, 1))
    fitted = clone(classifier).fit(values, (values[:, 0] > 0).astype(int))
    far = fitted.predict_proba([[-1e300], [1e300]])
    assert identical(far, fitted.predict_proba([[values.min()], [values.max()]]))


def test_n1_n2_n3_warnings_of_numpy_never_escape() -> None:
    rng = np.random.default_rng(0)
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ImpossibleEvidenceWarning)
        for smoothing in (0, 1e-300, 1.0, "clark-niblett", "backoff:0"):
            table, y = rng.integers(0, 3, (30, 40)), rng.integers(0, 3, 30)
            for classifier in (NaiveBayes(smoothing=smoothing), KDB(smoothing=smoothing, k="auto"), TAN(smoothing=smoothing)):
                probabilities = classifier.fit(table, y).predict_proba(rng.integers(0, 3, (50, 40)))
                assert np.isfinite(probabilities).all()
                assert np.allclose(probabilities.sum(axis=1), 1, atol=1e-12)


@for_each_classifier("N1-N2-N3-extremes")
def test_warnings_of_numpy_never_escape_any_classifier(classifier: NetworkClassifier) -> None:
    rng = np.random.default_rng(0)
    weights = (None, rng.random(30), np.full(30, 1e-200), np.full(30, 1e200))
    smoothings = (1.0, 0, 1e-300, "clark-niblett", "backoff:0")
    if isinstance(classifier, KNaive):
        smoothings = smoothings[:1]  # it refuses cases of probability zero
    every_pair = isinstance(classifier, NaiveBayes | KDB | KNaive)
    with warnings.catch_warnings(), np.errstate(divide="raise", over="raise", invalid="raise"):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", NaiveteWarning)
        for number, smoothing in enumerate(smoothings):
            unfitted = clone(classifier)
            if "smoothing" in unfitted.get_params():
                unfitted.set_params(smoothing=smoothing)
            for weight in weights if every_pair else weights[number % 4 : number % 4 + 1]:
                table, y = rng.integers(0, 3, (30, 6)).astype(float), rng.integers(0, 3, 30)
                table[rng.random(table.shape) < 0.1] = np.nan
                probabilities = unfitted.fit(table, y, weight).predict_proba(rng.integers(0, 3, (20, 6)).astype(float))
                assert np.isfinite(probabilities).all()
                assert np.allclose(probabilities.sum(axis=1), 1, atol=1e-12)


def test_n6_information_is_never_below_zero() -> None:
    rng = np.random.default_rng(0)
    fitted = KDB(k=3).fit(rng.integers(0, 2, (1000, 8)), rng.integers(0, 2, 1000), rng.random(1000))
    assert min(fitted.information_.values()) >= 0


def test_f6_infinity_in_a_table_is_named_too() -> None:
    table = Table((Column("d", np.array([1.0, np.inf])),), source="inf.parquet")
    with pytest.raises(DataError, match=r"inf\.parquet, row 2: column 'd': inf is infinity"):
        NaiveBayes().fit(table, ["a", "b"])
    fitted = NaiveBayes().fit(Table((Column("d", np.array([1.0, 2.0])),)), ["a", "b"])
    with pytest.raises(DataError, match="infinity"):
        fitted.predict(table)


def test_f13_sparse_tables_count_against_the_budget() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 300, (4000, 3)), rng.integers(0, 2, 4000)
    encoder = Encoder(kinds="nominal")
    with pytest.raises(ResourceError, match=r"'x\d' \(300 states\).*the budget is 16,777,216 bytes"):
        KDB(k=2, theta=-np.inf, bias="plain", budget=16 << 20, encoder=encoder).fit(X, y)
    assert len(KDB(k=2, theta=-np.inf, bias="plain", encoder=encoder).fit(X, y).network_.arcs) == 3


def test_f13_a_machine_without_memory_is_a_resource_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_: object, **__: object) -> None:
        raise MemoryError("Unable to allocate 64 GiB")

    monkeypatch.setattr("naivete.learners.naive.naive", exhausted)
    with pytest.raises(ResourceError, match="64 GiB"):
        NaiveBayes().fit([["a"], ["b"]], [0, 1])


@pytest.mark.parametrize(
    ("trained", "predicted", "message"),
    [
        (["yes", "no"], [True, False], "had text in training and has booleans now"),
        (["01", "02"], [1, 2], "had text in training and has numbers now"),
        ([True, False], [1, 0], "had booleans in training and has numbers now"),
    ],
)
def test_p1_a_column_of_another_type_is_reported(trained: list[Any], predicted: list[Any], message: str) -> None:
    fitted = NaiveBayes().fit(pd.DataFrame({"x": trained}), ["a", "b"])
    with pytest.warns(UnseenValueWarning, match=message):
        fitted.predict(pd.DataFrame({"x": predicted}))
    with pytest.warns(UnseenValueWarning) as caught:
        fitted.predict(pd.DataFrame({"x": [trained[0], None, "zz"] if isinstance(trained[0], str) else predicted}))
    assert caught[0].filename == __file__


def test_f15_a_smoothing_that_is_too_large_is_refused() -> None:
    with pytest.raises(ParameterError, match="at most"):
        NaiveBayes(smoothing=1e308).fit([["a"], ["b"]], [0, 1])
