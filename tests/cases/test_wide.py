"""Wide tables, sparse matrices, columns of very many states, and the memory that all of them need."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

import naivete
from naivete import _kernels
from naivete.cases import stored as stored_cells
from naivete.cases.sparse import SparseBlock, encoded_cases, encoded_parts, sparse_codes
from naivete.classifiers.saving import model_hash
from naivete.counts.counts import Counts
from naivete.counts.information import dependence
from naivete.counts.memory_budget import check_informations, needs, predicted
from naivete.data.frames import SparseMatrix, table_of
from naivete.data.table import Table
from naivete.encoding.column_codes import encode
from naivete.encoding.encoder import Encoder
from naivete.errors import DataError, ResourceError, UnseenValueWarning
from naivete.variables import CLASS, Variable
from tests.oracles import cases_of, identical, tiers

quick = settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])

KINDS: dict[str, list[Any]] = {
    "words": [1],
    "counts": [1, 2, 3, 7],
    "signed": [-2, -1, 1, 4],
    "floats": [0.5, -1.25, 1.0, 2.75, 1e-9],
    "has_missing": [1.0, 2.0, np.nan, -3.0],
    "truth": [True],
}
DTYPES = {"words": [np.uint8, np.int64, np.float32, np.float64], "counts": [np.uint8, np.int32, np.float64], "truth": [np.bool_]}


@st.composite
def matrices(draw: st.DrawFn, rows: int | None = None, columns: int | None = None) -> np.ndarray:
    """A dense array, mostly zeros."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, n = rows or draw(st.integers(2, 30)), columns or draw(st.integers(1, 9))
    kind = draw(st.sampled_from(sorted(KINDS)))
    density = rng.choice([0.02, 0.1, 0.4, 1.0], n)
    cells = np.where(rng.random((m, n)) < density, rng.choice(np.array(KINDS[kind]), (m, n)), 0)
    return cells.astype(draw(st.sampled_from(DTYPES.get(kind, [np.float64]))))


def stored(dense: np.ndarray, way: str) -> Any:
    """The array as a sparse one: by rows, by columns, with explicit zeros, with cells in two pieces."""
    if way == "csc":
        return sparse.csc_matrix(dense)
    if way == "zeros":
        rows, columns = np.indices(dense.shape)
        return sparse.csr_array((dense.ravel(), (rows.ravel(), columns.ravel())), shape=dense.shape)
    if way == "split" and dense.dtype.kind == "i":
        rows, columns = np.nonzero(dense)
        values = dense[rows, columns]
        padded = np.concatenate([values - 5, np.full(len(values), 5)]).astype(dense.dtype)
        return sparse.coo_array((padded, (np.tile(rows, 2), np.tile(columns, 2))), shape=dense.shape).tocsr(copy=True)
    return sparse.csr_array(dense)


def weights_of(rng: np.random.Generator, kind: str | None, rows: int) -> np.ndarray | None:
    return {None: None, "whole": rng.integers(0, 3, rows).astype(float), "fractional": rng.random(rows) * 3}[kind]


def classifiers(encoder: Encoder) -> list[Any]:
    return [naivete.NaiveBayes(encoder=encoder), naivete.TAN(encoder=encoder), naivete.KDB(k=2, encoder=encoder)]


@tiers
@given(
    dense=matrices(),
    way=st.sampled_from(["csr", "csc", "zeros", "split"]),
    kind=st.sampled_from([None, "whole", "fractional"]),
    missing=st.sampled_from(["omit", "state"]),
    unseen=st.sampled_from(["marginalise", "smooth"]),
    few=st.sampled_from([0, 20]),
    seed=st.integers(0, 999),
)
@settings(quick, max_examples=5)
def test_a_sparse_matrix_gives_the_model_and_the_predictions_of_its_array(
    dense: np.ndarray, way: str, kind: str | None, missing: Any, unseen: Any, few: int, seed: int, tier: str
) -> None:
    rng = np.random.default_rng(seed)
    y = np.array(["a", "b", "c"], object)[rng.integers(0, 3, len(dense))]
    y[rng.random(len(y)) < 0.1] = None
    weight = weights_of(rng, kind, len(dense))
    y[0] = "b"
    if weight is not None:
        weight[0] = 1.0
    matrix = stored(dense, way)
    before = matrix.copy()
    later = dense[:, ::-1].copy() if dense.shape[1] % 2 else dense
    with warnings.catch_warnings(), _kernels.use(tier), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        patch.setattr(stored_cells, "PART_BYTES", int(rng.choice([1, 40, 1 << 20])))
        patch.setattr(stored_cells, "INCREMENT", float(rng.choice([0, 10, np.inf])))
        for one in classifiers(Encoder(missing=missing, unseen=unseen, unlabelled="drop", max_integer_states=few)):
            expected = model_hash(one.fit(dense, y, sample_weight=weight))
            answers, joint = one.predict_proba(later), one.predict_joint_log_proba(later)
            assert model_hash(one.fit(matrix, y, sample_weight=weight)) == expected
            assert identical(one.predict_proba(stored(later, way)), answers)
            assert identical(one.predict_joint_log_proba(stored(later, way)), joint)
    assert (matrix != before).nnz == 0 or dense.dtype.kind == "f"
    assert matrix.data.dtype == before.data.dtype


@given(dense=matrices(), way=st.sampled_from(["csr", "zeros"]), seed=st.integers(0, 99))
@quick
def test_codes_of_a_sparse_matrix_are_those_of_its_array(dense: np.ndarray, way: str, seed: int) -> None:
    labels = np.random.default_rng(seed).integers(0, 2, len(dense)).astype(np.uint8)
    encoder = Encoder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tallies = [encoder.value_counts(table_of(X), labels, [0, 1], None) for X in (dense, stored(dense, way))]
        one, two = (encoder.schema(t) for t in tallies)
    assert one == two
    assert (tallies[0].has_missing == tallies[1].has_missing).all()
    table = table_of(stored(dense, way))
    assert isinstance(table, SparseMatrix)
    cells, expected = sparse_codes(table, two, unseen="marginalise"), encode(table_of(dense), one)
    assert (cells.has_missing == expected.has_missing).all()
    whole = cells.dense(0, len(dense)).T
    missing = np.iinfo(whole.dtype).max
    for x, codes in enumerate(expected.codes):
        wide = np.where(codes == np.iinfo(codes.dtype).max, missing, codes.astype(whole.dtype))
        assert (whole[:, x] == wide).all()
        assert (cells.column(x) == wide).all()
    rows = np.random.default_rng(seed).permutation(len(dense))[: len(dense) // 2]
    assert (whole[rows] == cells.take(rows).dense(0, len(rows)).T).all()


def test_columns_of_a_sparse_matrix_are_made_on_access() -> None:
    table = table_of(sparse.csr_array(np.array([[0, 2.5], [3, 0], [0, 0]])))
    assert isinstance(table, SparseMatrix)
    assert len(table) == 3
    assert table.shape == (3, 2)
    assert [c.name for c in table.columns[0:2]] == ["x0", "x1"]
    assert table["x1"].values.tolist() == [2.5, 0, 0]
    assert table.take(slice(1, 3)).place(0) == "X, row 2"
    assert table.take(np.array([1])).columns[-1].values.tolist() == [0]
    assert table.renamed(["a", "b"]).names == ("a", "b")
    assert "3 rows x 2 columns" in repr(table)
    with pytest.raises(DataError, match="duplicate column names"):
        table.renamed(["a", "a"])


def test_columns_are_matched_by_name_and_unseen_values_are_reported() -> None:
    table = table_of(sparse.csr_array(np.array([[0, 2], [1, 0], [5, 0]]))).renamed(["a", "b"])
    assert isinstance(table, SparseMatrix)
    variables = [Variable("b", (1, 2)), Variable("a", (0, 1))]
    with pytest.warns(UnseenValueWarning, match=r"'b': 2, 'a': 1"):
        cells = sparse_codes(table, variables, unseen="marginalise")
    assert cells.dense(0, 3).T.tolist() == [[1, 0], [255, 1], [255, 255]]
    with pytest.raises(DataError, match="X, row 2: column 'b': value 0 did not occur"):
        sparse_codes(table, variables, unseen="error")
    with pytest.raises(DataError, match="columns seen in training are missing: 'c'"):
        list(encoded_parts(table, [Variable("c", (1, 2))], unseen="error"))


@given(dense=matrices(rows=24), seed=st.integers(0, 99), kind=st.sampled_from([None, "whole", "fractional"]))
@quick
def test_planes_of_ones_and_bitmaps_give_the_same_dependence(dense: np.ndarray, seed: int, kind: str | None) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, len(dense)).astype(np.uint8)
    weight = weights_of(rng, kind, len(dense))
    if weight is not None:
        weight += 0.25
    encoder = Encoder()
    table = table_of(sparse.csr_array(dense))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        variables = (*encoder.schema(encoder.value_counts(table, labels, [0, 1], weight)), Variable("class", (0, 1)))
    found = []
    for price, size in ((0, 1 << 20), (np.inf, 1 << 20), (np.inf, 1)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stored_cells, "INCREMENT", price)
            patch.setattr(stored_cells, "PART_BYTES", size)
            found.append(dependence(Counts(encoded_cases(table, variables, labels, weight, "marginalise"))))
    plain = dependence(
        Counts(encoded_cases(Table(tuple(table.columns), rows=len(table)), variables, labels, weight, "marginalise"))
    )
    assert all(identical(matrix, plain) for matrix in found)


@tiers
@pytest.mark.parametrize(
    ("card", "share"), [(2, 0.005), (4, 0.5), *(pytest.param(*pair, marks=pytest.mark.slow) for pair in ((4, 0.005), (2, 0.5)))]
)
def test_wide_rows_of_bytes_are_counted_as_their_columns_are(card: int, share: float, tier: str) -> None:
    rng = np.random.default_rng(3)
    X = ((rng.random((60, 40)) < share) * rng.integers(1, card, (60, 40))).astype(np.uint8)
    X[0], X[1] = 0, card - 1
    y, weight = rng.integers(0, 3, 60), rng.random(60)
    with _kernels.use(tier), pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored_cells, "WIDE", 40)  # these rows count as wide
        patch.setattr(stored_cells, "PART_BYTES", 40 * 14)  # and are transposed in five parts
        for kind in (naivete.TAN, naivete.KDB):
            assert model_hash(kind().fit(X, y)) == model_hash(kind().fit(np.asfortranarray(X), y))
            assert model_hash(kind().fit(X, y, weight)) == model_hash(kind().fit(np.asfortranarray(X), y, weight))


def test_the_leave_one_out_choice_is_that_of_the_array() -> None:
    rng = np.random.default_rng(1)
    dense = (rng.random((60, 6)) < 0.3).astype(np.uint8)
    y = dense[:, 0] ^ dense[:, 1]
    one, two = (naivete.KDB(k="auto", theta="auto").fit(X, y) for X in (dense, sparse.csr_array(dense)))
    assert model_hash(one) == model_hash(two)
    assert (one.k_, one.theta_) == (two.k_, two.theta_)


def test_batches_of_sparse_rows_give_what_the_whole_gives() -> None:
    rng = np.random.default_rng(2)
    dense = (rng.random((80, 7)) < 0.2) * rng.choice([1.0, 2.0, -1.0], (80, 7))
    y, own = rng.integers(0, 2, 80), sparse.csr_array(dense)
    for kind in (naivete.NaiveBayes, naivete.TAN):
        model = kind().partial_fit(own[:30], y[:30]).partial_fit(own[30:], y[30:])
        assert model_hash(model) == model_hash(kind().fit(dense, y))


def test_a_block_of_a_sparse_matrix_is_a_block() -> None:
    table = table_of(sparse.csr_array(np.array([[0, 2], [1, 0], [0, 0]])))
    cases = encoded_cases(
        table,
        (Variable("x0", (0, 1)), Variable("x1", (0, 2)), Variable("c", (0, 1))),
        np.array([0, 1, 1], np.uint8),
        None,
        "error",
    )
    block = cases.fold(lambda own: own, lambda one, _: one)
    assert isinstance(block, SparseBlock)
    assert len(block) == 3
    assert [c.tolist() for c in block.codes] == [[0, 1, 0], [1, 0, 0], [0, 1, 1]]
    assert [c.tolist() for c in block.codes[1:]] == [[1, 0, 0], [0, 1, 1]]
    assert [c.tolist() for c in block.take(np.array([2, 0])).codes] == [[0, 0], [0, 1], [1, 0]]


CHILD = """
import gc, sys
import numpy as np
from scipy import sparse
import naivete
from naivete.counts.memory_budget import predicted

def status(key):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(key)) * 1024

rows, columns, share, k, stored = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), sys.argv[5] == "csr"
rng = np.random.default_rng(0)
X = (rng.random((rows, columns), np.float32) < share).astype(np.uint8)
y = rng.integers(0, 3, rows)
own = sparse.csr_array(X) if stored else X
cells = int(own.nnz) if stored else None
model = naivete.TAN() if k == 1 else naivete.KDB(k=k)
model.fit(own[:50, :9], y[:50])
if stored:
    del X
gc.collect()
with open("/proc/self/clear_refs", "w") as peak:
    peak.write("5")
before = status("VmRSS")
model.fit(own, y)
variables = model.network_.variables
print(status("VmHWM") - before, predicted(variables, rows, k, has_missing=np.zeros(columns, bool), cells=cells))
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="the peak of a process is read from Linux")
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize(
    ("rows", "columns", "share", "way"), [(3000, 1500, 0.5, "array"), (4000, 2500, 0.01, "array"), (4000, 2500, 0.01, "csr")]
)
def test_learning_takes_no_more_memory_than_predicted(rows: int, columns: int, share: float, way: str, k: int) -> None:
    command = [sys.executable, "-c", CHILD, str(rows), str(columns), str(share), str(k), way]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    measured, expected = map(int, done.stdout.split())
    assert measured <= expected <= 2.5 * measured


def binary(columns: int) -> tuple[Variable, ...]:
    return tuple(Variable(f"x{i}", (0, 1)) for i in range(columns + 1))


def test_the_predicted_memory_grows_with_its_parts() -> None:
    few, many = binary(100), binary(1000)
    has_missing = {len(v): np.zeros(len(v) - 1, bool) for v in (few, many)}
    assert predicted(few, 1000, 0, has_missing=has_missing[101]) < predicted(few, 1000, 1, has_missing=has_missing[101])
    assert needs(many, 1000, 1, has_missing=has_missing[1001])["informations"] == 16_000_000
    assert (
        needs(few, 1000, 0, has_missing=has_missing[101])["informations"]
        == needs(few, 1000, 0, has_missing=has_missing[101])["planes"]
        == 0
    )
    streamed = predicted(many, 10**7, 1, has_missing=has_missing[1001], block_rows=10**5)
    assert streamed < predicted(many, 10**7, 1, has_missing=has_missing[1001])
    assert predicted(many, 10**5, 1, has_missing=has_missing[1001], cells=10**5) < predicted(
        many, 10**5, 1, has_missing=has_missing[1001]
    )
    wide = (*(Variable(f"w{i}", tuple(range(50_000))) for i in range(2)), *few)
    found = needs(wide, 10**5, 1, has_missing=np.zeros(102, bool))
    assert found["pairs"] > 10**7
    assert found["tables"] > 10**8


def test_too_many_features_for_all_pairs_are_refused_before_the_work() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (30, 300)).astype(np.uint8), rng.integers(0, 2, 30)
    for own in (X, sparse.csr_array(X)):
        for model in (naivete.TAN(budget=600_000), naivete.KDB(k=2, budget=600_000)):
            with pytest.raises(
                ResourceError, match=r"300 features needs 2,160,000 bytes: 1,440,000 for .*budget is 600,000 bytes.*leave out"
            ):
                model.fit(own, y)
        assert naivete.NaiveBayes(budget=600_000).fit(own, y).passes_ == 1


def test_the_check_of_informations_agrees_with_the_prediction() -> None:
    informations = needs(binary(300), 30, 1, has_missing=np.zeros(300, bool))["informations"]
    check_informations(300, [], 2, informations)
    with pytest.raises(ResourceError, match=f"300 features needs {informations:,} bytes: {informations:,} for"):
        check_informations(300, [], 2, informations - 1)


def test_columns_of_very_many_states_train_or_are_refused_by_name() -> None:
    rng = np.random.default_rng(0)
    rows = 4000
    X = np.column_stack([rng.integers(0, 3000, rows), rng.integers(0, 3000, rows), *(rng.integers(0, c, rows) for c in (2, 3, 12))])
    y = (X[:, 2] ^ (rng.random(rows) < 0.1)).astype(int)
    encoder = Encoder(kinds={"x0": "nominal", "x1": "nominal"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert naivete.NaiveBayes(encoder=encoder).fit(X, y).predict_proba(X[:5]).shape == (5, 2)
        model = naivete.TAN(encoder=encoder).fit(X, y)
        assert np.allclose(model.predict_proba(X[:50]).sum(axis=1), 1)
        settings: dict[str, Any] = {"encoder": encoder, "budget": 1 << 24, "bias": "plain"}
        for small in (naivete.TAN(**settings), naivete.KDB(k=2, theta=-np.inf, **settings)):
            with pytest.raises(ResourceError, match=r"'x0' \(\d+ states\), .*bytes\); the budget is 16,777,216 bytes: allow fewer"):
                small.fit(X, y)


def test_a_pair_whose_configurations_exceed_the_budget_is_refused_before_the_pass() -> None:
    training = cases_of([2000, 2000, 2], [list(range(2000)), list(range(2000)), [0, 1] * 1000])
    count = Counts(training, budget=40_000)
    count.tables([(0, CLASS)])
    passes = count.passes
    with pytest.raises(ResourceError, match=r"'x0' .2000 states.*the budget is 40,000 bytes"):
        dependence(count)
    assert count.passes == passes
