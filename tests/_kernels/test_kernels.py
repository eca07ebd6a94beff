"""Both tiers of the kernels, compared with slow loops and with each other."""

from __future__ import annotations

import itertools
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from math import exp, inf, isfinite, log

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from naivete import _kernels
from naivete._kernels import (
    ArrayLayout,
    FamilyArray,
    Layout,
    Planes,
    dispatch,
    gather,
    gram,
    log_sum_exp,
    margins,
    pack,
    posterior,
    run_parallel,
    scatter,
    seen,
    threads,
    tier,
    use,
)
from naivete.errors import ParameterError
from tests import LONG

COMPILED = dispatch.loaded() is not None
needs_c = pytest.mark.skipif(not COMPILED, reason="the compiled kernels are not installed (no C compiler was found)")
TIERS = [pytest.param("c", marks=needs_c), "numpy"]
LEVELS = range(3) if COMPILED else ()


@pytest.fixture(params=TIERS, autouse=True)
def kernels(request):
    with use(request.param):
        yield request.param


def hypothesis_settings(examples=60):
    return settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


# --- random tables -----------------------------------------------------------------------------------------------------------


def missing_code(column):
    return int(np.iinfo(column.dtype).max)


def column(rng, rows, card, *, missing):
    """Return random codes of a random width and a random stride."""
    dtypes = [t for t in (np.uint8, np.uint16, np.uint32) if card <= np.iinfo(t).max]
    dtype = dtypes[rng.integers(len(dtypes))]
    codes = rng.integers(0, card, rows).astype(dtype)
    if missing:
        codes[rng.random(rows) < 0.2] = np.iinfo(dtype).max
    framed = np.full((rows, 3), 77, dtype)
    framed[:, 1] = codes
    return [codes, framed[:, 1], np.asfortranarray(framed)[:, 1]][rng.integers(3)]


def matrix(rng, rows, cards, *, missing):
    """Return random codes as adjacent columns of a row-major matrix, which may have a further column on each side."""
    codes = np.stack([rng.integers(0, card, rows) for card in cards] or [np.zeros(rows)], axis=1).astype(np.uint8)
    if missing:
        codes[rng.random(codes.shape) < 0.1] = 255
    framed = np.full((rows, len(cards) + 2), 99, np.uint8)
    framed[:, 1:-1] = codes
    whole = framed[:, 1:-1] if rng.random() < 0.5 else codes
    return [whole[:, j] for j in range(len(cards))]


FEATURES = st.integers(1, 6)
ROWS = st.sampled_from([0, 1, 2, 7, 63, 64, 65, 200, 1100, 5000])


@st.composite
def tables(draw, features=FEATURES, rows=ROWS, largest=300):
    """Draw (codes with the class last, cards, which features have missing values, generator)."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, m = draw(features), draw(rows)
    classes = draw(st.sampled_from([1, 2, 3, 4, 5, 30]))
    missing = draw(st.booleans())
    if draw(st.booleans()):
        cards = [int(k) for k in rng.integers(1, min(largest, 250) if draw(st.booleans()) else 6, n, endpoint=True)]
        codes = matrix(rng, m, cards, missing=missing)
    else:
        cards = [int(rng.choice([1, 2, 3, 5, 41, largest])) for _ in range(n)]
        codes = [column(rng, m, card, missing=missing) for card in cards]
    labels = column(rng, m, classes, missing=missing and draw(st.booleans()))
    return [*codes, labels], [*cards, classes], [bool((c == missing_code(c)).any()) for c in codes], rng


def some_families(rng, n, cards, *, with_class=False):
    """Return random families of up to three members whose tables are not too large."""
    families = []
    for _ in range(rng.integers(0, 6)):
        members = sorted(rng.choice(n, min(n, rng.integers(0, 3)), replace=False).tolist())
        if with_class or rng.random() < 0.7:
            members = [*members, -1]
        if np.prod([cards[v] for v in members]) < 2e5:
            families.append(tuple(members))
    return tuple(families)


# --- slow reference implementations ------------------------------------------------------------------------------------------


def slow_scatter(codes, layout, weight):
    counts = np.zeros(layout.size, np.int64)
    for index, family in enumerate(layout.families):
        table = layout.table(counts, index)
        for r in range(len(codes[0])):
            cell = tuple(int(codes[v][r]) for v in family)
            if all(x != missing_code(codes[v]) for x, v in zip(cell, family, strict=True)):
                table[cell] += 1 if weight is None else weight[r]
    return counts


def slow_gather(codes, layout, values, classes):
    joint = np.zeros((len(codes[0]), classes))
    for r, index in itertools.product(range(len(joint)), range(len(layout.families))):
        members = layout.families[index][:-1]
        if all(codes[v][r] != missing_code(codes[v]) for v in members):
            joint[r] += layout.table(values, index)[tuple(int(codes[v][r]) for v in members)]
    return joint


def slow_planes(codes, cards, incomplete, labels, classes):
    """Return the set of rows, numbered within the class, of every class and plane."""
    by_class = [[r for r in range(len(labels)) if labels[r] == c] for c in range(classes)]
    tests = []
    for x, card, has_missing in zip(codes, cards, incomplete, strict=True):
        tests += [lambda r, x=x, s=s: x[r] == s for s in range(1, card)]
        tests += [lambda r, x=x: x[r] != missing_code(x)] * has_missing
    return [[{i for i, r in enumerate(rows) if test(r)} for test in tests] for rows in by_class]


def rows_of(planes: Planes, c, p):
    bits = np.unpackbits(planes.words[p, planes.bounds[c] : planes.bounds[c + 1]].view(np.uint8), bitorder="little")
    return set(np.flatnonzero(bits).tolist())


# --- layout ------------------------------------------------------------------------------------------------------------------


@given(tables(rows=st.just(1)))
@hypothesis_settings()
def test_layout_places_tables_one_after_the_other(table):
    _, cards, _, rng = table
    layout = Layout(some_families(rng, len(cards) - 1, cards), tuple(cards))
    flat = np.arange(layout.size)
    parts = [layout.table(flat, i) for i in range(len(layout.families))]
    assert [x for part in parts for x in part.ravel().tolist()] == flat.tolist()
    for i, (family, part) in enumerate(zip(layout.families, parts, strict=True)):
        assert part.shape == layout.shape(i)
        assert layout.strides(family) == tuple(s // part.itemsize for s in part.strides) or part.size == 0 or 1 in part.shape
        assert isinstance(layout.size, int)


# --- counting ----------------------------------------------------------------------------------------------------------------


@given(tables(), st.sampled_from([None, 3, 2**55]))
@hypothesis_settings(100)
def test_scatter_counts(table, largest):
    codes, cards, _, rng = table
    layout = Layout(some_families(rng, len(cards) - 1, cards), tuple(cards))
    weight = None if largest is None else rng.integers(0, largest, len(codes[0])) // (1 if largest == 3 else 5000)
    counts = scatter(codes, layout, weight)
    assert counts.dtype == np.int64
    if len(codes[0]) <= 200:
        np.testing.assert_array_equal(counts, slow_scatter(codes, layout, weight))
    many = ArrayLayout(FamilyArray.of(layout.families), layout.cards)
    assert (many.size, many.largest, many.offsets.tolist()) == (layout.size, layout.largest, layout.offsets.tolist())
    np.testing.assert_array_equal(counts, scatter(codes, pickle.loads(pickle.dumps(many)), weight))
    with use("numpy"):
        np.testing.assert_array_equal(counts, scatter(codes, layout, weight))
        np.testing.assert_array_equal(counts, scatter(codes, many, weight))


def test_scatter_sums_large_weights_exactly():
    codes = [np.zeros(3, np.uint8), np.zeros(3, np.uint8)]
    weight = np.array([2**60, 1, 2**60 + 1])
    assert scatter(codes, Layout(((0, -1),), (1, 1)), weight).tolist() == [2**61 + 2]


@pytest.mark.parametrize("workers", ["1", "2", "5"])
@pytest.mark.parametrize("card", [3, 90])
def test_scatter_of_many_rows_in_any_number_of_threads(workers, card, monkeypatch):
    rng = np.random.default_rng(0)
    codes = [*matrix(rng, 150_000, [card] * 9, missing=False), rng.integers(0, 2, 150_000).astype(np.uint8)]
    layout = Layout(tuple((i, j, -1) for i in range(9) for j in range(i + 1, 9, 3)), (card,) * 9 + (2,))
    monkeypatch.setenv("NAIVETE_THREADS", workers)
    counts = scatter(codes, layout)
    for index, (i, j, _) in enumerate(layout.families):
        address = (codes[i].astype(int) * card + codes[j]) * 2 + codes[-1]
        np.testing.assert_array_equal(layout.table(counts, index).ravel(), np.bincount(address, minlength=card * card * 2))


# --- prediction --------------------------------------------------------------------------------------------------------------


@given(tables())
@hypothesis_settings(100)
def test_gather_adds_in_order_and_is_bitwise_equal_in_both_tiers(table):
    codes, cards, _, rng = table
    layout = Layout(some_families(rng, len(cards) - 1, cards, with_class=True), tuple(cards))
    values = np.log(rng.random(layout.size))
    values[rng.random(layout.size) < 0.05] = -inf
    joint = gather(codes[:-1], layout, values, cards[-1])
    if len(joint) <= 200:
        np.testing.assert_array_equal(joint, slow_gather(codes[:-1], layout, values, cards[-1]))
    with use("numpy"):
        assert joint.tobytes() == gather(codes[:-1], layout, values, cards[-1]).tobytes()


@pytest.mark.parametrize("workers", ["1", "2", "5"])
def test_gather_of_many_rows_in_any_number_of_threads(workers, monkeypatch):
    rng = np.random.default_rng(0)
    codes = matrix(rng, 50_000, [4] * 20, missing=True)
    layout = Layout(((-1,), *((i, i + 1, -1) for i in range(19))), (4,) * 20 + (3,))
    values = rng.normal(size=layout.size)
    monkeypatch.setenv("NAIVETE_THREADS", workers)
    joint = gather(codes, layout, values, 3)
    some = rng.choice(50_000, 100, replace=False)
    np.testing.assert_array_equal(joint[some], slow_gather([c[some] for c in codes], layout, values, 3))


@given(st.integers(0, 2**32), st.sampled_from([1, 2, 9, 70, 10_000]), st.integers(1, 40), st.sampled_from([1.0, 50.0, 900.0]))
@hypothesis_settings()
def test_posterior_of_a_row_does_not_depend_on_the_others(seed, rows, classes, scale):
    rng = np.random.default_rng(seed)
    joint = rng.normal(size=(rows, classes)) * scale
    joint[rng.random(joint.shape) < 0.2] = -inf
    joint[np.arange(rows), rng.integers(0, classes, rows)] = rng.normal(size=rows)
    result = posterior(joint)
    for r in rng.choice(rows, min(rows, 20), replace=False).tolist():
        assert posterior(joint[r : r + 1]).tobytes() == result[r].tobytes()
        top = joint[r].max()
        terms = [exp(x - top) if isfinite(x) else 0.0 for x in joint[r].tolist()]
        np.testing.assert_allclose(result[r], np.array(terms) / sum(terms), rtol=1e-13, atol=np.finfo(float).tiny)
    with use("numpy"):
        np.testing.assert_allclose(result, posterior(joint), rtol=1e-14, atol=np.finfo(float).tiny)


@given(st.integers(0, 2**32), st.lists(st.integers(1, 12), min_size=1, max_size=4), st.sampled_from([1.0, 900.0]))
@hypothesis_settings()
def test_log_sums_are_added_in_the_order_of_the_axis(seed, shape, scale):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=shape) * scale
    values[rng.random(shape) < 0.3] = -inf
    for axis in range(len(shape)):
        result = log_sum_exp(values.swapaxes(0, axis), 0)
        expected = []
        for terms in np.moveaxis(values.swapaxes(0, axis), 0, -1).reshape(-1, shape[axis]).tolist():
            top, total = max(terms), 0.0
            for term in terms:
                total += exp(term - top) if term > -inf else 0.0
            expected.append(log(total) + top if top > -inf else -inf)
        if _kernels.tier() == "c":
            assert result.ravel().tolist() == expected
        with use("numpy"):
            np.testing.assert_allclose(log_sum_exp(values.swapaxes(0, axis), 0).ravel(), expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("workers", ["1", "5"])
def test_log_sums_in_any_number_of_threads(workers, monkeypatch):
    values = np.random.default_rng(0).normal(size=(30_000, 5, 3))
    monkeypatch.setenv("NAIVETE_THREADS", workers)
    result = log_sum_exp(values, 1)
    assert all(log_sum_exp(values[r : r + 1], 1).tobytes() == result[r].tobytes() for r in range(0, 30_000, 997))


# --- bit planes --------------------------------------------------------------------------------------------------------------


def packed(table, tier=None):
    codes, cards, incomplete, _ = table
    with use(tier or _kernels.tier()):
        return pack(codes[:-1], cards[:-1], incomplete, codes[-1], cards[-1])


@given(tables(rows=st.sampled_from([0, 1, 2, 63, 64, 65, 130, 700])))
@hypothesis_settings()
def test_planes_hold_the_rows_of_each_state(table):
    codes, cards, incomplete, _ = table
    planes = packed(table)
    truth = slow_planes(codes[:-1], cards[:-1], incomplete, codes[-1], cards[-1])
    assert planes.counts.tolist() == [int((codes[-1] == c).sum()) for c in range(cards[-1])]
    assert planes.first.tolist() == [sum(cards[i] - 1 + incomplete[i] for i in range(j)) for j in range(len(cards))]
    assert [[rows_of(planes, c, p) for p in range(len(planes.words))] for c in range(cards[-1])] == truth
    assert margins(planes).tolist() == [[len(rows) for rows in of] for of in truth]


@given(tables(features=st.integers(1, 40), rows=st.sampled_from([0, 1, 64, 1100, 5000]), largest=60))
@hypothesis_settings(40)
def test_tiers_give_the_same_planes_and_margins(table):
    planes, other = packed(table), packed(table, "numpy")
    for name in ("words", "bounds", "first", "counts"):
        np.testing.assert_array_equal(getattr(planes, name), getattr(other, name))
    with use("numpy"):
        expected = margins(other)
    np.testing.assert_array_equal(margins(planes), expected)


def full_gram(planes):
    dense = [np.unpackbits(planes.words[:, a:b].view(np.uint8), axis=1).astype(float) for a, b in itertools.pairwise(planes.bounds)]
    return np.stack([x @ x.T for x in dense]).astype(np.int64)


@given(tables(features=st.integers(1, 30), rows=st.sampled_from([0, 1, 64, 1100, 5000]), largest=12), st.data())
@hypothesis_settings(60)
def test_gram_counts_shared_rows(table, data):
    planes = packed(table)
    height = len(planes.words)
    rows, columns = (slice(*sorted(data.draw(st.tuples(st.integers(0, height), st.integers(0, height))))) for _ in "rc")
    counts = gram(planes, rows, columns)
    assert counts.shape == (len(planes.counts), rows.stop - rows.start, columns.stop - columns.start)
    above = np.arange(columns.start, columns.stop) >= np.arange(rows.start, rows.stop)[:, None]
    expected = full_gram(planes)[:, rows, columns]
    np.testing.assert_array_equal(counts * above, expected * above)


@pytest.mark.parametrize("workers", ["1", "2", "5"])
@pytest.mark.parametrize(("rows", "features"), [(200_000, 10), (900, 300)] if LONG else [(70_000, 10), (900, 150)])
def test_planes_of_large_tables_in_any_number_of_threads(workers, rows, features, monkeypatch):
    rng = np.random.default_rng(0)
    codes = matrix(rng, rows, [4] * features, missing=False)
    labels = rng.integers(0, 3, rows).astype(np.uint8)
    labels[::17] = 255
    monkeypatch.setenv("NAIVETE_THREADS", workers)
    planes = pack(codes, [4] * features, [False] * features, labels, 3)
    counts = gram(planes, slice(0, None), slice(0, None))
    expected = full_gram(planes)
    np.testing.assert_array_equal(np.triu(counts), np.triu(expected))
    np.testing.assert_array_equal(margins(planes), expected.diagonal(axis1=1, axis2=2))
    for i, j, a, b, c in [(0, 5, 1, 2, 0), (3, 9, 3, 3, 2), (7, 8, 2, 1, 1)]:
        shared = ((codes[i] == a) & (codes[j] == b) & (labels == c)).sum()
        assert counts[c, 3 * i + a - 1, 3 * j + b - 1] == shared


@needs_c
@pytest.mark.parametrize("level", LEVELS)
def test_every_instruction_set_gives_the_same_counts(level):
    compiled = dispatch.loaded()
    rng = np.random.default_rng(level)
    codes = [*matrix(rng, 9_000, [5] * 11, missing=True), rng.integers(0, 2, 9_000).astype(np.uint8)]
    layout = Layout(tuple((i, i + 1, -1) for i in range(10)), (5,) * 11 + (2,))
    try:
        compiled.naivete_level(level)
        with use("c"):
            planes = pack(codes[:-1], [5] * 11, [True] * 11, codes[-1], 2)
            np.testing.assert_array_equal(np.triu(gram(planes, slice(0, None), slice(0, None))), np.triu(full_gram(planes)))
            counts = scatter(codes, layout)
    finally:
        compiled.naivete_level(99)
    with use("numpy"):
        np.testing.assert_array_equal(counts, scatter(codes, layout))


# --- values ------------------------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32), st.integers(0, 40), st.sampled_from([0, 1, 15, 16, 1500, 70_000]), st.sampled_from([1, 3, 255, 256]))
@hypothesis_settings(40)
def test_seen_finds_the_values(seed, n, rows, top):
    rng = np.random.default_rng(seed)
    columns = matrix(rng, rows, [top] * n, missing=rng.random() < 0.5)
    if rows and n and rng.random() < 0.5:
        columns[-1][-1] = 200  # a value that appears late
    assert [np.flatnonzero(s).tolist() for s in seen(columns)] == [np.unique(c).tolist() for c in columns]


# --- tiers and threads -------------------------------------------------------------------------------------------------------


def test_use_chooses_the_tier(kernels):
    assert tier() == kernels
    with use("numpy"):
        assert tier() == "numpy"
    assert tier() == kernels


def set_environment(monkeypatch, **variables):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(dispatch, "_chosen", None)


def test_environment_chooses_the_tier(monkeypatch):
    set_environment(monkeypatch, NAIVETE_KERNELS="numpy")
    assert tier() == "numpy"
    set_environment(monkeypatch, NAIVETE_KERNELS="fortran")
    with pytest.raises(ParameterError, match="fortran"):
        tier()
    set_environment(monkeypatch, NAIVETE_KERNELS="c")
    monkeypatch.setattr(dispatch, "loaded", lambda: None)
    with pytest.raises(ParameterError, match="compiler"):
        tier()
    with pytest.raises(ParameterError, match="compiler"), use("c"):
        pass
    set_environment(monkeypatch, NAIVETE_KERNELS="")
    assert tier() == "numpy"


def test_threads_follow_the_environment(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3,2")
    monkeypatch.delenv("NAIVETE_THREADS", raising=False)
    assert threads() == 3
    monkeypatch.setenv("NAIVETE_THREADS", "7")
    assert threads() == 7
    monkeypatch.setenv("NAIVETE_THREADS", "many")
    with pytest.raises(ParameterError, match="many"):
        threads()
    monkeypatch.delenv("NAIVETE_THREADS")
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert threads() >= 1


def test_run_parallel_keeps_order_nests_and_passes_errors_on(monkeypatch):
    monkeypatch.setenv("NAIVETE_THREADS", "3")
    assert run_parallel(lambda i: sum(run_parallel(lambda j: i * j, range(5))), range(50)) == [10 * i for i in range(50)]
    with pytest.raises(ZeroDivisionError):
        run_parallel(lambda i: 1 // (i - 30), range(50))
    with ThreadPoolExecutor(4) as callers:
        assert list(callers.map(lambda k: run_parallel(lambda i: i + k, range(20)), range(8))) == [
            list(range(k, k + 20)) for k in range(8)
        ]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the operating system has no fork")
def test_threads_work_in_a_forked_process():
    code = (
        "import os, sys; from naivete._kernels import run_parallel; run_parallel(abs, range(9)); pid = os.fork();\n"
        "if pid == 0: os._exit(0 if run_parallel(abs, range(9)) == list(range(9)) else 1)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
    )
    environment = {**os.environ, "NAIVETE_THREADS": "3"}
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=environment, timeout=300, check=False).returncode == 0


def test_a_used_layout_can_be_pickled_for_another_process():
    layout = Layout(((0, -1),), (2, 2))
    scatter([np.zeros(3, np.uint8), np.zeros(3, np.uint8)], layout)
    copy = pickle.loads(pickle.dumps(layout))
    assert copy == layout
    assert vars(copy) == {"families": ((0, -1),), "cards": (2, 2)}
