"""Hidden variables: expectation-maximisation against enumeration, states by BIC, groups by dependence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from naivete import _kernels
from naivete.cases import Block, MemoryCases
from naivete.cases.views import missing_as_states
from naivete.counts import counts
from naivete.counts.counts import Counts
from naivete.errors import NaiveteWarning, ParameterError, ResourceError
from naivete.learners.hidden import mixture as hidden_mixture
from naivete.learners.hidden.groups import found_groups
from naivete.learners.hidden.hidden_naive import hidden_naive, hidden_network
from naivete.learners.hidden.mixture import Search, Tables, fitted, naive_bic, observed, searched
from naivete.learners.naive import naive
from naivete.network.derived_columns import Hidden
from naivete.variables import CLASS, Variable
from tests import LONG
from tests.network.test_estimation import smoothings
from tests.oracles import cases_of, chunked, identical, many_threads, rows_of
from tests.strategies import some_cases

quick = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
groupable = some_cases(features=(2, 4), rows=(2, 30), max_card=3)


def group_of(training: MemoryCases) -> tuple[int, ...]:
    return tuple(range(len(training.variables) - 1))


def sampled(
    seed: int, *, groups: int = 1, alone: int = 0, strength: float = 0.8, missing_rate: float = 0.0
) -> tuple[MemoryCases, list[int], list[tuple[int, ...]]]:
    """Cases of such a model, the number of states of its hidden variables, and their groups.

    2,000 to 5,000 cases of 2 or 3 classes; a hidden variable has 2 to 4 states and 4 to 6 features, each of 2 to 4 states, one of
    which has the probability `strength` in a hidden state; hidden states share the likely states of a feature as evenly as can be.
    """
    rng = np.random.default_rng(seed)
    classes, rows = int(rng.integers(2, 4)), int(rng.integers(2000, 5001))
    c = rng.choice(classes, rows, p=rng.dirichlet(np.full(classes, 5.0)))
    columns, cards, sizes, found = list[np.ndarray](), list[int](), list[int](), list[tuple[int, ...]]()

    def add(parent: np.ndarray, size: int) -> None:
        card = int(rng.integers(2, 5))
        table = np.full((size, card), (1 - strength) / (card - 1))
        table[np.arange(size), rng.permutation(np.arange(size) % card)] = strength
        columns.append(drawn(rng, table, parent))
        cards.append(card)

    for _ in range(groups):
        size, features = int(rng.integers(2, 5)), int(rng.integers(4, 7))
        hidden = drawn(rng, rng.dirichlet(np.full(size, 2.0), classes), c)
        found.append(tuple(range(len(columns), len(columns) + features)))
        sizes.append(size)
        for _ in range(features):
            add(hidden, size)
    for _ in range(alone):
        add(c, classes)
    for column in columns:
        column[rng.random(rows) < missing_rate] = -1
    return cases_of([*cards, classes], [*columns, c]), sizes, found


def drawn(rng: np.random.Generator, table: np.ndarray, parent: np.ndarray) -> np.ndarray:
    """A state of each row, by the row of the table that its parent says."""
    return np.minimum((rng.random(len(parent))[:, None] > table.cumsum(axis=1)[parent]).sum(axis=1), table.shape[1] - 1)


def slow_step(training: MemoryCases, group: tuple[int, ...], tables: Tables) -> tuple[float, Tables]:
    """The log likelihood of a group, and the expected counts, row by row."""
    cards = [training.variables[x].card for x in group]
    starts = np.cumsum([0, *cards])
    hidden, features, logs = np.zeros_like(tables.hidden), np.zeros_like(tables.features), []
    for row, weight in rows_of(training.block):
        known = [start + row[x] for x, start in zip(group, starts, strict=False) if row[x] is not None]
        joint = [tables.hidden[h, row[CLASS]] * math.prod(tables.features[k, h] for k in known) for h in range(len(hidden))]
        logs.append(float(weight) * math.log(sum(joint)))
        for h, p in enumerate(joint):
            hidden[h, row[CLASS]] += float(weight) * p / sum(joint)
            for k in known:
                features[k, h] += float(weight) * p / sum(joint)
    return math.fsum(logs), Tables(hidden, features)


@given(training=groupable, alpha=st.sampled_from([0.0, 0.3, 1.0]), states=st.integers(2, 4))
@quick
def test_em_equals_enumeration_and_never_reduces_the_objective(
    training: MemoryCases, alpha: float, states: int, cases: Any
) -> None:
    group = group_of(training)
    (seen,) = observed(Counts(cases(training)), [group])
    fit = fitted(seen, states, Search(starts=2, max_iterations=60), alpha)
    likelihood, expected = slow_step(training, group, fit.tables)
    convergence = fit.convergence
    assert math.isclose(convergence.log_likelihoods[-1], likelihood, rel_tol=1e-9, abs_tol=1e-9)
    penalty = alpha * sum(float(np.log(table).sum()) for table in fit.tables) if alpha else 0.0
    assert math.isclose(convergence.objectives[-1], likelihood + penalty, rel_tol=1e-9, abs_tol=1e-9)
    slack = 1e-12 * abs(convergence.objectives[0]) + 1e-12
    assert all(after >= before - slack for before, after in zip(convergence.objectives, convergence.objectives[1:], strict=False))
    for found, wanted in zip(fit.expected, expected, strict=True):
        assert np.allclose(found, wanted, rtol=1e-9, atol=1e-9)


@given(training=groupable, how=smoothings, seed=st.integers(0, 99))
@quick
@pytest.mark.filterwarnings("ignore:the hidden variable of")
def test_the_network_is_the_same_to_the_bit_however_the_rows_are_given(training: MemoryCases, how: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shuffled = MemoryCases(training.variables, training.block.take(rng.permutation(len(training.block))), training.has_missing)
    setting: dict[str, Any] = {
        "groups": [group_of(training)],
        "random_state": seed,
        "max_iterations": 20,
        "starts": 2,
        "smoothing": how,
    }
    with pytest.MonkeyPatch.context() as patch:
        if seed % 2:
            patch.setattr(counts, "DENSE_CELLS", 8)
        found = [hidden_naive(Counts(each), **setting) for each in (training, shuffled, chunked(training, rng))]
        with _kernels.use("numpy"):
            found.append(hidden_naive(Counts(training), **setting))
        many_threads(patch)
        found.append(hidden_naive(Counts(training), **setting))
    assert all(identical(found[0], network) for network in found)
    once = [hidden_naive(Counts(each), **{**setting, "groups": None}) for each in (training, shuffled, chunked(training, rng))]
    assert all(identical(once[0], network) for network in once)


@given(training=some_cases(features=(2, 4), rows=(2, 30), max_card=3, weights="whole"))
@quick
@pytest.mark.filterwarnings("ignore:the hidden variable of")
def test_a_weight_of_two_is_a_row_twice(training: MemoryCases) -> None:
    rows = np.repeat(np.arange(len(training.block)), training.block.weight.astype(int))
    twice = MemoryCases(training.variables, Block(training.block.take(rows).codes), training.has_missing)
    setting: dict[str, Any] = {"groups": [group_of(training)], "max_iterations": 20, "starts": 2}
    assert identical(hidden_naive(Counts(training), **setting), hidden_naive(Counts(twice), **setting))


@given(training=some_cases(), how=smoothings)
@quick
def test_no_group_is_naive_bayes(training: MemoryCases, how: Any, cases: Any) -> None:
    assert identical(hidden_naive(Counts(cases(training)), groups=[], smoothing=how), naive(Counts(training), smoothing=how))


@given(training=some_cases(features=(1, 4)))
@quick
def test_missing_becomes_the_last_state(training: MemoryCases, cases: Any) -> None:
    seen = missing_as_states(cases(training))
    assert [v.card for v in seen.variables] == [*(v.card + 1 for v in training.variables[:-1]), training.variables[-1].card]
    assert not seen.has_missing.any()
    expected = [
        ([v.card if c is None else c for c, v in zip(row, training.variables, strict=True)], w)
        for row, w in rows_of(training.block)
    ]
    found = [pair for block in seen.map(lambda b: b) for pair in rows_of(block)]
    assert sorted(found, key=repr) == sorted(expected, key=repr)


def test_two_hidden_states_suffice_for_two_binary_features() -> None:
    """The maximum is known: the frequencies themselves, which two hidden states can reach."""
    training = cases_of([2, 2, 1], [[0] * 30 + [1] * 20, [0] * 25 + [1] * 15 + [0] * 10, [0] * 50])
    (seen,) = observed(Counts(training), [(0, 1)])
    fit = fitted(seen, 2, Search(tolerance=1e-14, max_iterations=20000), 0.0)
    frequencies = seen.counts[seen.counts > 0]
    assert math.isclose(fit.convergence.log_likelihoods[-1], float((frequencies * np.log(frequencies / 50)).sum()), rel_tol=1e-9)


def test_the_hidden_states_are_in_order_of_weight_whatever_the_seed() -> None:
    own, (states,), (group,) = sampled(5)
    (seen,) = observed(Counts(own), [group])
    fits = [fitted(seen, states, Search(random_state=seed, tolerance=1e-12), 1.0) for seed in range(4)]
    for fit in fits:
        assert (np.diff(fit.expected.hidden.sum(axis=1)) <= 0).all()
        assert np.allclose(fit.tables.features, fits[0].tables.features, atol=1e-3)


def test_bic_counts_the_free_parameters() -> None:
    own, _, (group,) = sampled(0, missing_rate=0.1)
    (seen,) = observed(Counts(own), [group])
    _, trials = searched(seen, None, Search(), 1.0)
    classes, free = own.variables[-1].card, sum(own.variables[x].card - 1 for x in group)
    assert [t.states for t in trials] == list(range(2, 2 + len(trials)))
    for trial in trials:
        assert trial.parameters == classes * (trial.states - 1) + trial.states * free
        assert math.isclose(trial.bic, trial.log_likelihood - trial.parameters / 2 * math.log(len(own.block)))
    best = max(range(len(trials)), key=lambda i: trials[i].bic)
    assert len(trials) == best + 3  # two more in vain
    margins = Counts(own).margins()
    tables = [(margins[x, CLASS], margins[x, CLASS] + 1.0) for x in group]
    plain = sum(float((n * np.log(m / m.sum(axis=0))).sum()) for n, m in tables)
    assert math.isclose(naive_bic(seen, 1.0), plain - classes * free / 2 * math.log(len(own.block)))


def test_the_search_ends_at_the_largest_number_of_states() -> None:
    own, _, (group,) = sampled(4)  # four states
    (seen,) = observed(Counts(own), [group])
    assert [t.states for t in searched(seen, None, Search(max_states=3), 1.0)[1]] == [2, 3]
    assert [t.states for t in searched(seen, 5, Search(max_states=3), 1.0)[1]] == [5]
    two = cases_of([2, 2, 1], [[0, 1, 0, 1, 1], [0, 1, 0, 1, 0], [0] * 5])
    (few,) = observed(Counts(two), [(0, 1)])
    assert max(t.states for t in searched(few, None, Search(), 1.0)[1]) <= 3


def test_the_book_tries_two_to_eleven_states_for_twelve_configurations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jensen and Nielsen, section 8.3: changes of cards with 4 and 3 states; no number of states can fit better than the counts."""
    rng = np.random.default_rng(8)
    first, best = rng.integers(0, 4, 500), rng.integers(0, 2, 500)
    training = cases_of([4, 3, 2], [first, (first + rng.integers(0, 2, 500) + best) % 3, best])
    (seen,) = observed(Counts(training), [(0, 1)])
    monkeypatch.setattr(hidden_mixture, "PATIENCE", 99)
    _, trials = searched(seen, None, Search(max_iterations=3000), 0.0)
    assert [t.states for t in trials] == list(range(2, 12))
    n = seen.counts[seen.counts > 0]
    limit = float((n * np.log(n / np.broadcast_to(seen.counts.sum(axis=0), seen.counts.shape)[seen.counts > 0])).sum())
    likelihoods = [t.log_likelihood for t in trials]
    assert max(likelihoods) <= limit + 1e-9
    assert limit - likelihoods[-1] < 1 < limit - likelihoods[0]
    assert max(trials, key=lambda t: t.bic).states < 11


@pytest.mark.parametrize("missing_rate", [0.0, pytest.param(0.2, marks=pytest.mark.slow)])
def test_bic_finds_the_number_of_states(missing_rate: float) -> None:
    for seed in range(4 if LONG else 2):
        own, (states,), groups = sampled(seed, missing_rate=missing_rate)
        _, (told,) = hidden_network(Counts(own), Search(), groups=groups)
        assert told.states == states, seed


@pytest.mark.slow
@pytest.mark.parametrize("missing_rate", [0.0, 0.2])
def test_bic_finds_the_number_of_states_of_nearly_all(missing_rate: float) -> None:
    found = [
        hidden_network(Counts(own), Search(), groups=groups)[1][0].states == states
        for own, (states,), groups in (sampled(seed, missing_rate=missing_rate) for seed in range(20))
    ]
    assert sum(found) >= 18


def test_groups_are_found_and_become_a_network() -> None:
    own, sizes, groups = sampled(3, groups=2, alone=2)
    network, told = hidden_network(Counts(own), Search())
    assert sorted(t.group for t in told) == groups
    assert {t.group: t.states for t in told} == dict(zip(groups, sizes, strict=True))
    n = len(own.variables) - 1
    assert [v.name for v in network.variables[n:-1]] == ["hidden", "hidden 2"]
    assert [v.states for v in network.variables[n:-1]] == [tuple(range(1, t.states + 1)) for t in told]
    assert dict(network.derived) == {n: Hidden(), n + 1: Hidden()}
    for h, one in enumerate(told, start=n):
        assert network.parents[h] == (CLASS,)
        assert all(network.parents[x] == (h,) for x in one.group)
        assert max(t.bic for t in one.trials) > one.naive_bic
        assert repr(one).startswith(f"<{one.states} states for features {one.group[0]}, ")
    plain = naive(Counts(own))
    assert all(identical(network.cpts[x], plain.cpts[x]) for x in range(n - 2, n))


def test_features_without_dependence_have_no_group() -> None:
    own, _, _ = sampled(1, groups=0, alone=6)
    assert found_groups(Counts(own), 0.05) == []
    assert identical(hidden_naive(Counts(own)), naive(Counts(own)))


def test_a_group_needs_all_its_features_to_depend_on_one_another() -> None:
    rng = np.random.default_rng(0)
    a, b, c = (rng.integers(0, 2, 3000) for _ in range(3))
    noisy = [np.where(rng.random(3000) < 0.1, 1 - x, x) for x in (a, a, b)]
    both = np.where(rng.random(3000) < 0.5, a, b)  # depends on the group of a and on that of b, which are independent
    training = cases_of([2] * 6, [*noisy, both, b, c])
    assert found_groups(Counts(training), 0.05) == [(2, 3, 4), (0, 1)]


def test_names_of_columns_and_other_hidden_variables_are_left_alone() -> None:
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 2, 30).astype(np.uint8) for _ in range(5)]
    names = ("hidden", "hidden 2", "b", "c", "class")
    training = MemoryCases(tuple(Variable(name, (0, 1)) for name in names), Block(tuple(columns)), np.zeros(4, bool))
    network = hidden_naive(Counts(training), groups=[["hidden", 2], ["hidden 2", "c"]], states=[2, 3])
    assert [v.name for v in network.variables[4:6]] == ["hidden 3", "hidden 4"]
    assert [v.card for v in network.variables[4:6]] == [2, 3]
    assert network.parents[0] == network.parents[2] == (4,)


def test_constant_features_are_no_group() -> None:
    training = cases_of([1, 2, 2, 2], [[0] * 6, [0, 1] * 3, [0, 0, 1] * 2, [0, 1, 1] * 2])
    assert identical(hidden_naive(Counts(training), groups=[[0, 1]], states=[3]), naive(Counts(training)))
    assert hidden_naive(Counts(training), groups=[[0, 1, 2]], states=2).parents[0] == (3,)


def test_one_pass_beside_those_for_groups() -> None:
    own, _, groups = sampled(3, groups=2)
    number = Counts(own)
    number.margins()
    hidden_network(number, Search(), groups=groups)
    assert number.passes == 2


def test_em_without_convergence_is_reported() -> None:
    own, _, groups = sampled(0)
    with pytest.warns(NaiveteWarning, match=r"the hidden variable of 'x0', .* has not converged after 2 iterations"):
        _, (told,) = hidden_network(Counts(own), Search(max_iterations=2, tolerance=0.0), groups=groups, states=3)
    assert not told.convergence.converged
    assert told.convergence.iterations == 2


def test_too_many_configurations_are_refused_by_name() -> None:
    own, _, groups = sampled(0)
    with pytest.raises(ResourceError, match="'x0'"):
        hidden_naive(Counts(own, budget=10000), groups=groups)


BAD: list[dict[str, Any]] = [
    {"groups": "ab"},
    {"groups": 3},
    {"groups": ["ab"]},
    {"groups": [[0]]},
    {"groups": [[0, 0]]},
    {"groups": [[0, 1], [1, 2]]},
    {"groups": [[0, 7]]},
    {"groups": [["x0", "y1"]]},
    {"groups": [[0, True]]},
    {"states": 1},
    {"states": 2.5},
    {"states": "bic"},
    {"states": [2, 2]},
    {"groups": [[0, 1]], "states": [2, 3]},
    {"max_states": 1},
    {"starts": 0},
    {"random_state": -1},
    {"random_state": None},
    {"alpha": 0.0},
    {"tolerance": -1.0},
    {"max_iterations": 0},
]


@pytest.mark.parametrize("setting", BAD, ids=repr)
def test_settings_out_of_range_are_refused(setting: dict[str, Any]) -> None:
    training = cases_of([2, 2, 2, 2], [[0, 1, 0], [0, 1, 1], [1, 0, 1], [0, 1, 0]])
    with pytest.raises(ParameterError, match="|".join(setting)):
        hidden_naive(Counts(training), **setting)
