"""Counts of families and pairs on every back end, dense and sparse, with every kernel."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from naivete import _kernels
from naivete.cases import MemoryCases
from naivete.counts import bit_planes, counts
from naivete.counts.configurations import grouped_rows
from naivete.counts.counts import Counts
from naivete.counts.tables import DenseTable, SparseTable
from naivete.errors import ResourceError
from naivete.variables import CLASS, family
from tests.oracles import cases_of, chunked, counted, identical, tiers
from tests.strategies import some_cases

quick = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


def all_families(n: int) -> list[tuple[int, ...]]:
    return [family(*some, CLASS) for size in range(4) for some in combinations(range(n), size)] + [(0,)]


@tiers
@given(training=some_cases())
@quick
def test_tables_equal_counts_by_a_dictionary(training: MemoryCases, cases, tier: str) -> None:
    with _kernels.use(tier):
        found = Counts(cases(training)).tables(all_families(len(training.variables) - 1))
    for members, counted_table in found.items():
        table = counted_table.full()
        expected = counted(training.block, members, [training.variables[m].card for m in members])
        assert table.shape == expected.shape
        assert np.allclose(table, expected.astype(float), rtol=1e-15, atol=0)
        if training.block.weight is None or (training.block.weight % 1 == 0).all():
            assert table.dtype == np.int64
            assert (table == expected).all()


@given(training=some_cases())
@quick
def test_sparse_tables_hold_the_configurations_that_occur(training: MemoryCases, cases) -> None:
    families = [f for f in all_families(len(training.variables) - 1) if len(f) > 2]
    dense = Counts(training).tables(families)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts, "DENSE_CELLS", 0)
        sparse = Counts(cases(training)).tables(families)
    for members, table in sparse.items():
        assert isinstance(table, SparseTable)
        assert table.members == members
        rows = table.configurations.tolist()
        assert rows == sorted(rows)
        assert len(set(map(tuple, rows))) == len(rows)
        assert (table.counts.sum(axis=1) > 0).all()
        assert_same_table(table, dense[members])


def assert_same_table(sparse: SparseTable, dense: DenseTable) -> None:
    """A sparse and a dense table of one family answer alike."""
    *others, last = members = dense.members
    order = (last, *others)
    states = np.arange(dense.counts.shape[0])[::-2]
    assert sparse.sum() == pytest.approx(dense.sum())
    assert (sparse.full() == dense.counts).all()
    assert (np.asarray(sparse) == np.asarray(dense)).all()
    assert (sparse.full_at((*members[1:], members[0]), states) == dense.full_at((*members[1:], members[0]), states)).all()
    assert np.allclose(sparse.marginal(*order[:2]), dense.marginal(*order[:2]), rtol=1e-12, atol=0)
    for one, two in zip(sparse.occurring(others, by=last), dense.occurring(others, by=last), strict=True):
        assert np.array_equal(one, two)
    (codes, counts), (other_codes, other_counts) = sparse.cells(), dense.cells()
    assert sorted(zip(*(codes[m].tolist() for m in members), counts, strict=True)) == sorted(
        zip(*(other_codes[m].tolist() for m in members), other_counts, strict=True)
    )


@tiers
@given(training=some_cases(max_card=12, features=(1, 6)), seed=st.integers(0, 99))
@quick
def test_pairs_are_the_tables_of_all_pairs(training: MemoryCases, seed: int, tier: str) -> None:
    source = chunked(training, np.random.default_rng(seed)) if seed % 2 else training
    with pytest.MonkeyPatch.context() as patch, _kernels.use(tier):
        patch.setattr(bit_planes, "PANEL_CELLS", 1 + seed % 5 * 60)
        count = Counts(source, budget=counts.BUDGET if seed % 3 else 1 << 14)
        seen = {}
        for group in count.pairs():
            for (i, x), (j, y) in ((a, b) for a in enumerate(group.first.tolist()) for b in enumerate(group.second.tolist())):
                if x < y or y not in group.first:
                    seen[x, y] = group.tables[i, j], group.complete
    informative = [x for x in range(len(training.variables) - 1) if training.variables[x].card > 1]
    assert {tuple(sorted(pair)) for pair in seen} == set(combinations(informative, 2))
    for (x, y), (table, complete) in seen.items():
        expected = counted(training.block, (x, y, CLASS), [training.variables[v].card for v in (x, y, CLASS)])
        assert np.allclose(table.astype(float), expected.astype(float), rtol=1e-13, atol=1e-15)
        assert complete == (not training.has_missing[x] and not training.has_missing[y])


@given(training=some_cases(weights="fractional"), seed=st.integers(0, 999))
@quick
def test_fractional_sums_do_not_depend_on_the_order_of_rows(training: MemoryCases, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shuffled = MemoryCases(training.variables, training.block.take(rng.permutation(len(training.block))), training.has_missing)
    families = all_families(len(training.variables) - 1)
    one, two, three = (Counts(c).tables(families) for c in (training, shuffled, chunked(training, rng)))
    assert all(identical(one[f].counts, two[f].counts) and identical(one[f].counts, three[f].counts) for f in families)


def test_margins_are_counted_once_and_passes_are_counted() -> None:
    count = Counts(cases_of([2, 3, 2], [[0, 1, 1], [0, 2, 1], [0, 1, 1]]))
    assert count.passes == 0
    assert list(count.features) == [0, 1]
    assert count.total == 3.0
    assert count.passes == 1
    count.margins()
    count.tables([(0, CLASS), (CLASS,)])
    assert count.passes == 1
    count.tables([(0, 1, CLASS), (0, 1, CLASS)])
    assert count.passes == 2
    list(count.pairs())
    assert count.passes == 3
    assert count.fold(len, int.__add__) == 3
    assert count.passes == 4


def test_a_table_beyond_the_budget_raises_before_it_is_allocated() -> None:
    count = Counts(cases_of([200, 200, 200, 2], [[0, 199], [0, 199], [0, 199], [0, 1]]), budget=1 << 16)
    with pytest.raises(
        ResourceError, match=r"'x0' \(200 states\), 'x1' \(200 states\).*80,000 cells.*640,000 bytes.*budget"
    ) as error:
        count.tables([(0, 1, CLASS)])
    assert isinstance(error.value, MemoryError)
    with pytest.raises(ResourceError, match="budget"):
        list(count.pairs())


def test_a_sparse_table_beyond_the_budget_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "DENSE_CELLS", 0)
    training = cases_of([200, 200, 2], [list(range(200)), list(range(200)), [0, 1] * 100])
    with pytest.raises(ResourceError, match="budget"):
        Counts(training, budget=4000).tables([(0, 1, CLASS)])


@given(st.integers(0, 2**32 - 1), st.sampled_from([3, 2**31, 2**32]))
@settings(deadline=None, max_examples=50)
def test_groups_of_rows_never_overflow(seed: int, card: int) -> None:
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 3, 30) * ((card - 1) // 2) for _ in range(5)]
    rows, group = grouped_rows(columns, [card] * 5)
    configurations = list(zip(*(c.tolist() for c in columns), strict=True))
    distinct = sorted(set(configurations))
    assert [configurations[r] for r in rows] == distinct
    assert [distinct[g] for g in group] == configurations


def test_a_joint_index_beyond_64_bits_is_counted_sparsely() -> None:
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 250, 50) for _ in range(12)]
    training = cases_of([250] * 12 + [2], [*columns, rng.integers(0, 2, 50)])
    table = Counts(training).tables([(*range(12), CLASS)])[(*range(12), CLASS)]
    assert isinstance(table, SparseTable)
    assert len(table.configurations) == 50
    assert table.counts.sum() == 50
