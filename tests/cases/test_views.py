"""Cases seen differently: some features, a derived column, half of the rows, on every back end."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from naivete.cases import MemoryCases
from naivete.cases.views import Configuration, hash_half, row_hashes, select_features
from naivete.counts.counts import Counts
from naivete.variables import CLASS, Variable, family
from tests.oracles import counted, rows_of
from tests.strategies import some_cases

quick = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def rows(cases: Any) -> list[Any]:
    return sorted(
        (([-1 if c is None else c for c in row], weight) for block in cases.map(lambda b: b) for row, weight in rows_of(block)),
        key=repr,
    )


@given(training=some_cases(features=(1, 5)), data=st.data())
@quick
def test_some_features_are_those_columns(training: MemoryCases, data: st.DataObject, cases: Any) -> None:
    features = tuple(data.draw(st.lists(st.sampled_from(range(len(training.variables) - 1)), unique=True)))
    seen = select_features(cases(training), features)
    assert [v.name for v in seen.variables] == [*(f"x{x}" for x in features), training.variables[-1].name]
    assert seen.has_missing.tolist() == training.has_missing[list(features)].tolist()
    expected = [([-1 if row[x] is None else row[x] for x in (*features, CLASS)], weight) for row, weight in rows_of(training.block)]
    assert rows(seen) == sorted(expected, key=repr)
    counts = Counts(cases(training))
    counts.margins()
    passes = counts.passes
    only = counts.only(features)
    for x in range(len(features)):
        assert np.array_equal(only.margins()[x, CLASS], counts.margins()[features[x], CLASS])
    assert counts.passes == passes  # what was counted is remembered


@given(training=some_cases(features=(1, 4)), data=st.data())
@quick
def test_configurations_that_occur_have_consecutive_numbers(training: MemoryCases, data: st.DataObject, cases: Any) -> None:
    features = data.draw(st.permutations(range(len(training.variables) - 1)))
    found, occurring = Configuration((), ()), [()]
    for x in features:
        seen = {tuple(row[f] for f in (*found.features, x)) for row, _ in rows_of(training.block)}
        full = sorted(s for s in seen if None not in s)
        states = range(training.variables[x].card)
        together = np.array([[(*before, s) in full for s in states] for before in occurring], bool)
        found, occurring = found.joined(x, together), full or [(None,)]
        assert found.card == max(1, len(full))
    counts = Counts(cases(training))
    margin = counts.margins()[0, CLASS]
    wide = counts.with_column(Variable("all", tuple(range(found.card))), found, has_missing=True)
    at = len(features)
    table = wide.tables([(at, CLASS)])[at, CLASS]
    members = (*features, CLASS)
    exact = counted(training.block, members, [training.variables[m].card for m in members]).astype(float)
    assert np.allclose(table, [exact[s] if None not in s else np.zeros(exact.shape[-1]) for s in occurring])
    assert wide.tables([family(0, CLASS)])[0, CLASS].counts is margin


@given(training=some_cases(features=(1, 4)), seed=st.integers(0, 2**70))
@quick
def test_two_hash_halves_are_all_rows_once(training: MemoryCases, seed: int, cases: Any) -> None:
    columns = (*range(len(training.variables) - 1), CLASS)
    one, two = (hash_half(cases(training), columns, seed, which) for which in (0, 1))
    assert sorted([*rows(one), *rows(two)], key=repr) == rows(training)
    assert not {str(r[0]) for r in rows(one)} & {str(r[0]) for r in rows(two)}


def test_hashes_are_uniformly_distributed() -> None:
    codes = [np.array([i >> b & 1 for i in range(1 << 12)], np.uint8) for b in range(12)]
    hashes = row_hashes(codes, 7)
    assert len(set(hashes.tolist())) == 1 << 12
    for bit in range(64):
        ones = int(np.count_nonzero(hashes >> np.uint64(bit) & np.uint64(1)))
        assert abs(ones - 2048) < 200
    assert np.array_equal(row_hashes([c.astype(np.uint16) for c in codes], 7), hashes)  # the width of the codes is no matter
