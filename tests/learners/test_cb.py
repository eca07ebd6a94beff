"""CB: what its parts promise, and the arcs of ALARM."""

from __future__ import annotations

import gzip
import os
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from naivete.cases import Block, MemoryCases
from naivete.counts.counts import Counts
from naivete.counts.family_scores import FamilyScores
from naivete.counts.scores import score_of
from naivete.errors import ParameterError
from naivete.learners.accuracy import correct
from naivete.learners.cb import cb
from naivete.learners.k2 import k2
from naivete.network.network import Network
from naivete.variables import CLASS
from tests.learners.test_k2 import sampled
from tests.oracles import cases_of, chunked, identical
from tests.strategies import some_cases

quick = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


def alarm_file(folder: Path) -> Path | None:
    """ALARM as a file, from where NAIVETE_NETWORKS says, or out of an installed pgmpy."""
    places = [Path(os.environ["NAIVETE_NETWORKS"])] if "NAIVETE_NETWORKS" in os.environ else []
    spec = find_spec("pgmpy")
    if spec is not None and spec.origin is not None:
        places.append(Path(spec.origin).parent / "utils" / "example_models")
    for place in places:
        if (place / "alarm.bif").exists():
            return place / "alarm.bif"
        if (place / "alarm.bif.gz").exists():
            (folder / "alarm.bif").write_bytes(gzip.decompress((place / "alarm.bif.gz").read_bytes()))
            return folder / "alarm.bif"
    return None


@pytest.fixture(scope="module")
def alarm(tmp_path_factory: pytest.TempPathFactory) -> Network:
    from naivete.network.formats import read_network

    path = alarm_file(tmp_path_factory.mktemp("networks"))
    if path is None:
        pytest.skip("no alarm.bif in the folder that NAIVETE_NETWORKS names, and no pgmpy that brings one")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some of its distributions miss a sum of one by rounding
        return read_network(path)


def arcs_of(network: Network) -> set[frozenset[int]]:
    return {frozenset((p, v)) for v, parents in network.parents.items() for p in parents}


@pytest.mark.parametrize(("test", "seed"), [("chi2", 0), ("chi2", 1), ("g", 0), ("g", 1), ("g", 2), ("g", 3)])
def test_alarm_is_recovered_from_ten_thousand_cases(alarm: Network, test: str, seed: int) -> None:
    """Two arcs of its 46 leave hardly a trace in so many cases; the tests remove the others' rivals."""
    from naivete.inference.sampling import sample_codes

    block = Block(sample_codes(alarm, 10_000, seed))
    counts = Counts(MemoryCases(alarm.variables, block, np.zeros(len(alarm.variables) - 1, bool)))
    found, true = arcs_of(cb(counts, stopping_rule="score", class_root=False, test=test)), arcs_of(alarm)
    assert len(true) == 46
    assert len(true - found) <= 2
    assert len(found - true) <= 16


@given(
    training=some_cases(rows=(1, 80), features=(1, 5), max_card=3),
    stopping_rule=st.sampled_from(["accuracy", "score"]),
    class_root=st.booleans(),
    most=st.sampled_from([None, 0, 1, 2]),
)
@quick
def test_more_orders_are_never_worse_and_the_class_stays_a_root(
    training: MemoryCases, stopping_rule: Any, class_root: bool, most: int | None, cases: Any
) -> None:
    options: dict[str, Any] = {"stopping_rule": stopping_rule, "class_root": class_root, "max_parents": most}
    networks = [cb(Counts(cases(training)), max_order=order, **options) for order in (0, 1, None)]
    scores = FamilyScores(Counts(training), score_of("k2"))
    for network in networks:
        assert not (class_root and network.parents[CLASS])
        assert max(map(len, network.parents.values())) <= (9 if most is None else most)
    values = [
        correct(Counts(training), network) if stopping_rule == "accuracy" else scores.total(dict(network.parents))
        for network in networks
    ]
    assert values[0] <= values[1] <= values[2]


@pytest.mark.parametrize("class_root", [False, True])
def test_the_parents_are_those_of_k2_for_an_order(class_root: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["naivete.learners.cb"]
    orders: list[list[int]] = []
    best_parents = module.best_parents

    def watched(scores: Any, order: list[int], *rest: Any, **more: Any) -> Any:
        orders.append(list(order))
        return best_parents(scores, order, *rest, **more)

    monkeypatch.setattr(module, "best_parents", watched)
    for seed in range(8):
        orders.clear()
        training = cases_of([2, 3, 2, 3, 2, 3], sampled(seed, 300).T.tolist())
        network = cb(Counts(training), stopping_rule="score", class_root=class_root)
        assert any(dict(k2(Counts(training), order=order).parents) == dict(network.parents) for order in orders)
        assert all(sorted(order) == sorted(network.parents) for order in orders)
        assert not class_root or all(order[0] == CLASS for order in orders)


def test_partial_order_restricts_parents_to_remaining_neighbors() -> None:
    """a -> b -> c: given b, a and c are independent, so that a is no neighbour of c; without tests it may be."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 2000)
    b = np.where(rng.random(2000) < 0.8, a, 1 - a)
    c = np.where(rng.random(2000) < 0.8, b, 1 - b)
    training = cases_of([2, 2, 2, 2], [a.tolist(), b.tolist(), c.tolist(), rng.integers(0, 2, 2000).tolist()])
    kept = cb(Counts(training), stopping_rule="score", class_root=False, partial_order=True, alpha=0.001)
    assert arcs_of(kept) == {frozenset((0, 1)), frozenset((1, 2))}


@given(
    training=some_cases(rows=(1, 60), features=(1, 4)),
    stopping_rule=st.sampled_from(["accuracy", "score"]),
    seed=st.integers(0, 99),
)
@quick
def test_result_does_not_depend_on_back_end_order_or_representation_of_weights(
    training: MemoryCases, stopping_rule: Any, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    network = cb(Counts(training), stopping_rule=stopping_rule)
    shuffled = MemoryCases(training.variables, training.block.take(rng.permutation(len(training.block))), training.has_missing)
    assert identical(network, cb(Counts(shuffled), stopping_rule=stopping_rule))
    assert identical(network, cb(Counts(chunked(training, rng)), stopping_rule=stopping_rule))
    if training.block.weight is not None and (training.block.weight % 1 == 0).all():
        rows = np.repeat(np.arange(len(training.block)), training.block.weight.astype(int))
        twice = MemoryCases(training.variables, Block(training.block.take(rows).codes), training.has_missing)
        assert identical(network, cb(Counts(twice), stopping_rule=stopping_rule))


def test_missing_values_cost_no_pass_for_each_family() -> None:
    rng = np.random.default_rng(0)
    table = sampled(0, 400, 8)
    columns = [np.where(rng.random(400) < 0.2, -1, c).tolist() for c in table.T[:-1]]
    cards = [int(c.max()) + 1 for c in table.T]
    complete, has_missing = Counts(cases_of(cards, table.T.tolist())), Counts(cases_of(cards, [*columns, table[:, -1].tolist()]))
    for counts in (complete, has_missing):
        cb(counts, stopping_rule="score")
    assert has_missing.passes <= complete.passes + 8


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"alpha": 0}, "alpha=0"),
        ({"alpha": "x"}, "alpha='x'"),
        ({"test": "t"}, "test='t'"),
        ({"criterion": "k"}, "criterion='k'"),
        ({"stopping_rule": "never"}, "stopping_rule='never'"),
        ({"stopping_rule": None}, "stopping_rule=None"),
        ({"stopping_rule": np.array(["score", "score"])}, "stopping_rule=array"),
        ({"class_root": "yes"}, "class_root='yes'"),
        ({"class_root": None}, "class_root=None"),
        ({"partial_order": 2}, "partial_order=2"),
        ({"max_order": -1}, "max_order=-1"),
        ({"max_parents": "x"}, "max_parents='x'"),
    ],
    ids=str,
)
def test_parameters_out_of_range_are_refused_by_name(options: Any, named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        cb(Counts(cases_of([2, 2], [[0, 1], [0, 1]])), **options)
