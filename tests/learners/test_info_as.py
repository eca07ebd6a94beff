"""Info-AS against the formulas of the paper, computed from dictionaries of rows."""

from __future__ import annotations

from collections import defaultdict
from math import log, log2
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from naivete.cases import Block, MemoryCases
from naivete.cases.views import select_features
from naivete.counts.counts import Counts
from naivete.errors import ParameterError
from naivete.learners.cb import cb
from naivete.learners.feature_selection import network_on_selected
from naivete.learners.info_as import info_selection
from naivete.learners.k2 import k2
from naivete.learners.naive import naive
from naivete.network.network import Network
from naivete.variables import CLASS
from tests.learners.test_feature_selection import DoubtError, Judge, telling
from tests.oracles import cases_of, chunked, identical, rows_of
from tests.strategies import some_cases

quick = settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much]
)
NEAR = 1e-9


def info_as(counts: Counts, *, learner: Any = cb, **options: Any) -> Network:
    return network_on_selected(counts, info_selection(counts, **options), learner)


def entropy(cells: dict[Any, float]) -> float:
    total = sum(cells.values())
    return -sum(n / total * log2(n / total) for n in cells.values() if n)


def strata(training: MemoryCases, delta: list[int], a: int) -> dict[Any, dict[tuple[int, int], float]]:
    """The cells (class, state of A) for each instantiation of Delta, over the rows that know them all."""
    found: dict[Any, dict[tuple[int, int], float]] = defaultdict(lambda: defaultdict(float))
    for row, weight in rows_of(training.block):
        given = tuple(row[x] for x in delta)
        if None not in given and row[a] is not None:
            found[given][row[CLASS], row[a]] += float(weight)
    return found


def summed(cells: dict[tuple[int, int], float], axis: int) -> dict[int, float]:
    found: dict[int, float] = defaultdict(float)
    for key, n in cells.items():
        found[key[axis]] += n
    return found


def slow_metric(training: MemoryCases, delta: list[int], a: int, metric: str) -> tuple[float, float, int]:
    """CIG, CGR or CDC of definitions 4.1 to 4.3, 2 N ln 2 CIG, and its degrees of freedom."""
    groups = strata(training, delta, a)
    cases = sum(n for cells in groups.values() for n in cells.values())
    gain = attribute = cell = 0.0
    freedom = 0
    for cells in groups.values():
        p = sum(cells.values()) / cases
        h_cell, h_class, h_attribute = entropy(cells), entropy(summed(cells, 0)), entropy(summed(cells, 1))
        gain += p * (h_class + h_attribute - h_cell)
        attribute += p * h_attribute
        cell += p * h_cell
        freedom += (len(summed(cells, 0)) - 1) * (len(summed(cells, 1)) - 1)
    below = {"cig": 1.0, "cgr": attribute, "cdc": cell}[metric]
    return (gain / below if below > NEAR else 0.0), 2 * cases * log(2) * gain, freedom


def slow_selection(training: MemoryCases, metric: str, alpha: float | None, guided: str, backward: bool, seed: int) -> list[int]:
    judge = Judge(training, k2, seed)
    delta: list[int] = []
    right = judge.right([])
    while True:
        found = {a: slow_metric(training, delta, a, metric) for a in telling(training) if a not in delta}
        if any(NEAR / 1000 < value[0] < NEAR for value in found.values()):
            raise DoubtError
        steps = {a: value for a, value in found.items() if value[0] > NEAR}
        if alpha is not None:
            limits = {a: float(chi2.isf(alpha, freedom)) if freedom else np.inf for a, (_, _, freedom) in steps.items()}
            if any(abs(steps[a][1] - limits[a]) < 1e-6 for a in steps):
                raise DoubtError
            steps = {a: value for a, value in steps.items() if value[1] > limits[a]}
        order = sorted(steps, key=lambda a: (-steps[a][0], a))
        if any(abs(steps[a][0] - steps[b][0]) < NEAR for a in order for b in order if a != b):
            raise DoubtError
        if guided != "no":
            reached = {a: judge.right([*delta, a]) for a in order}
            order = [a for a in order if reached[a] > right or (guided == "stays" and reached[a] == right)]
            right = reached[order[0]] if order else right
        if not order:
            break
        delta.append(order[0])
    while backward and delta:
        without = [judge.right([x for x in delta if x != gone]) for gone in delta]
        if max(without) < judge.right(delta):
            break
        del delta[without.index(max(without))]
    return delta


drawn = some_cases(rows=(2, 40), features=(1, 5), max_card=3, weights="fractional")


@given(
    training=drawn,
    metric=st.sampled_from(["cig", "cgr", "cdc"]),
    alpha=st.sampled_from([None, 0.05, 0.5]),
    guided=st.sampled_from(["no", "no", "rises", "stays"]),
    backward=st.booleans(),
    seed=st.integers(0, 3),
)
@settings(quick, max_examples=80)
def test_the_selection_is_the_definition(
    training: MemoryCases, metric: str, alpha: float | None, guided: Any, backward: bool, seed: int, cases: Any
) -> None:
    try:
        expected = slow_selection(training, metric, alpha, guided, backward, seed)
    except DoubtError:
        assume(False)
    options: dict[str, Any] = {"metric": metric, "guided": guided, "backward": backward, "random_state": seed}
    if alpha is not None:
        options |= {"stopping_rule": "chi2", "alpha": alpha}
    with pytest.MonkeyPatch.context() as patch:
        if seed % 2:  # tables of what occurs instead of full ones
            patch.setattr("naivete.counts.table_stacks.FEW_CELLS", 1)
            patch.setattr("naivete.counts.table_stacks.DENSE_ROWS", 0)
        assert info_selection(Counts(cases(training)), **options) == expected
    network = info_as(Counts(cases(training)), **options)
    assert {v for v, ps in network.parents.items() for v in (v, *ps) if ps} <= {*expected, CLASS}
    if expected:
        final = cb(Counts(select_features(training, tuple(sorted(expected)))))
        assert identical(network.cpts[CLASS], final.cpts[CLASS])


def test_the_metrics_of_a_small_table() -> None:
    """Two features that are the class but for one case each; x1 has a state more, and so a smaller gain ratio."""
    y = [0, 0, 0, 0, 1, 1, 1, 1]
    training = cases_of([2, 4, 2], [[0, 0, 0, 1, 1, 1, 1, 1], [0, 1, 0, 1, 2, 3, 2, 3], y])
    for a, cig, cgr in ((0, 0.548795, 0.575), (1, 1.0, 0.5)):
        assert slow_metric(training, [], a, "cig")[0] == pytest.approx(cig, abs=1e-6)
        assert slow_metric(training, [], a, "cgr")[0] == pytest.approx(cgr, abs=1e-3)
    assert info_selection(Counts(training), metric="cig") == [1]
    assert info_selection(Counts(training), metric="cgr") == [0, 1]


def test_without_informative_features_none_is_selected() -> None:
    training = cases_of([2, 1, 2], [[0, 0, 1, 1] * 10, [0] * 40, [0, 1] * 20])
    assert info_selection(Counts(training)) == []
    for learner in (cb, naive):
        network = info_as(Counts(training), learner=learner)
        assert dict(network.parents) == {CLASS: (), 0: (), 1: ()}
        assert network.cpts[CLASS].tolist() == [0.5, 0.5]


def test_a_feature_may_have_the_name_selected() -> None:
    from naivete.classifiers.selective import InfoAS

    rng = np.random.default_rng(0)
    import pandas as pd

    frame = pd.DataFrame(rng.integers(0, 3, (100, 3)), columns=["selected", "a", "b"])
    y = (frame["selected"] + frame["a"]) % 2
    assert InfoAS(learner="nb").fit(frame, y).selected_[:2] in ([0, 1], [1, 0])


def test_memory_is_linear_in_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many features are selected, no table has more cells than rows x states x classes."""
    rng = np.random.default_rng(0)
    rows, n, card = 3000, 12, 4
    columns = [rng.integers(0, card, rows) for _ in range(n)]
    y = sum(columns) % 3
    training = cases_of([card] * n + [3], [*(c.tolist() for c in columns), y.tolist()])
    largest = 0
    table_stacks = Counts.table_stacks

    def watched(self: Counts, orders: Any, shapes: Any) -> Any:
        nonlocal largest
        for which, tables in table_stacks(self, orders, shapes):
            largest = max(largest, *(table.counts.size for table in tables.tables()))
            yield which, tables

    monkeypatch.setattr(Counts, "table_stacks", watched)
    counts = Counts(training)
    selected = info_selection(counts, metric="cig")
    assert len(selected) >= 5  # 4 ** 5 configurations and more
    assert 0 < largest <= rows * card * 3
    assert counts.passes <= len(selected) + 2


def test_one_pass_for_each_feature() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    columns = [np.where(rng.random(300) < 0.7, y, rng.integers(0, 3, 300)).tolist() for _ in range(4)]
    counts = Counts(cases_of([3] * 4 + [2], [*columns, y.tolist()]))
    selected = info_selection(counts)
    assert len(selected) == 4
    assert counts.passes == len(selected)  # the margins, then one each; after the last feature nothing is left to ask


@given(training=some_cases(rows=(1, 40), features=(1, 4)), metric=st.sampled_from(["cig", "cgr", "cdc"]), seed=st.integers(0, 99))
@quick
def test_result_does_not_depend_on_back_end_order_or_representation_of_weights(
    training: MemoryCases, metric: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    network = info_as(Counts(training), metric=metric)
    shuffled = MemoryCases(training.variables, training.block.take(rng.permutation(len(training.block))), training.has_missing)
    assert identical(network, info_as(Counts(shuffled), metric=metric))
    assert identical(network, info_as(Counts(chunked(training, rng)), metric=metric))
    if training.block.weight is not None and (training.block.weight % 1 == 0).all():
        rows = np.repeat(np.arange(len(training.block)), training.block.weight.astype(int))
        twice = MemoryCases(training.variables, Block(training.block.take(rows).codes), training.has_missing)
        assert identical(network, info_as(Counts(twice), metric=metric))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"metric": "gain"}, "metric='gain'"),
        ({"metric": None}, "metric=None"),
        ({"metric": ["cig"]}, "metric="),
        ({"stopping_rule": "one"}, "stopping_rule='one'"),
        ({"stopping_rule": "chi2", "alpha": 2}, "alpha=2"),
        ({"guided": True}, "guided=True"),
        ({"guided": "up"}, "guided='up'"),
        ({"backward": "no"}, "backward='no'"),
        ({"backward": 0}, "backward=0"),
    ],
    ids=str,
)
def test_parameters_out_of_range_are_refused_by_name(options: Any, named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        info_as(Counts(cases_of([2, 2], [[0, 1, 1], [0, 1, 1]])), **options)
