"""K2 against the definition with fifty digits, and against the K2 of pyAgrum and of Weka."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from naivete.cases import Block, MemoryCases
from naivete.counts import family_scores
from naivete.counts.counts import Counts
from naivete.counts.scores import dirichlet
from naivete.errors import ParameterError
from naivete.learners.cb import cb
from naivete.learners.hill_climb import hill_climb
from naivete.learners.k2 import k2
from naivete.learners.pc import pc
from naivete.variables import CLASS
from tests.oracles import cases_of, counted, identical
from tests.strategies import some_cases

with warnings.catch_warnings():  # its import warns, and crashes where a warning is an error
    warnings.simplefilter("ignore")
    import pyagrum as gum

quick = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
JAR = Path(os.environ.get("WEKA_JAR", "/usr/share/java/weka.jar"))
needs_weka = pytest.mark.skipif(
    shutil.which("java") is None or not JAR.exists(), reason="no java, or no weka.jar where WEKA_JAR says or Debian puts it"
)


def exact_g(table: np.ndarray) -> mpmath.mpf:
    """The logarithm of g with fifty digits, from counts with the variable along the last axis; empty configurations add 0."""
    r = table.shape[-1]
    total = mpmath.mpf(0)
    for row in table.reshape(-1, r).tolist():
        n = [mpmath.mpf(c.numerator) / c.denominator for c in row]
        total += mpmath.loggamma(r) - mpmath.loggamma(mpmath.fsum(n) + r) + mpmath.fsum(mpmath.loggamma(c + 1) for c in n)
    return total


def gain(training: MemoryCases, v: int, parents: list[int], new: int) -> mpmath.mpf:
    """By how much the logarithm of g rises with one more parent, on the cases that know it: half of them at least."""
    members = (new, *parents, v)
    table = counted(training.block, members, [training.variables[m].card for m in members])
    if (
        new != CLASS
        and training.has_missing[new]
        and 2 * table.sum() < counted(training.block, (v,), [training.variables[v].card]).sum()
    ):
        return mpmath.mpf("-inf")
    return exact_g(table) - exact_g(table.sum(axis=0))


def slow_k2(training: MemoryCases, order: list[int], most: int) -> tuple[dict[int, list[int]], bool]:
    """The parents of every variable, word for word, and whether a choice hung on less than rounding can tell."""
    found: dict[int, list[int]] = {}
    with mpmath.workdps(50):
        for place, v in enumerate(order):
            found[v] = []
            while len(found[v]) < most:
                gains = {y: gain(training, v, found[v], y) for y in order[:place] if y not in found[v]}
                best = max(gains.values(), default=mpmath.mpf(0))
                near = [y for y, g in gains.items() if abs(g - best) < 1e-7]
                if abs(best) < 1e-7 and gains and any(g != 0 for g in gains.values() if abs(g) < 1e-7):
                    return found, True
                if best <= 1e-7:
                    break
                if any(gains[y] != best for y in near):
                    return found, True
                found[v].append(min(near))
    return found, False


@given(training=some_cases(features=(1, 5), rows=(1, 30), max_card=3), data=st.data(), most=st.integers(0, 5))
@quick
def test_the_structure_is_that_of_fifty_digits(training: MemoryCases, data: st.DataObject, most: int, cases: Any) -> None:
    order = data.draw(st.permutations([CLASS, *range(len(training.variables) - 1)]))
    expected, doubtful = slow_k2(training, order, most)
    assume(not doubtful)
    network = k2(Counts(cases(training)), order=order, max_parents=most)
    assert {v: set(p) for v, p in network.parents.items()} == {v: set(p) for v, p in expected.items()}
    for v, parents in network.parents.items():  # the strongest first, but the class last
        assert [p for p in parents if p != CLASS] == [p for p in expected[v] if p != CLASS]
        assert CLASS not in parents[:-1]


def test_of_equal_parents_the_lower_column_wins_and_the_class_before_all() -> None:
    column = [0, 1] * 20
    training = cases_of([2] * 4, [column] * 4)
    assert dict(k2(Counts(training)).parents) == {CLASS: (), 0: (CLASS,), 1: (CLASS,), 2: (CLASS,)}
    assert dict(k2(Counts(training), order=[2, 1, 0, CLASS]).parents) == {2: (), 1: (2,), 0: (1,), CLASS: (0,)}


def sampled(seed: int, rows: int, columns: int = 6) -> np.ndarray:
    """Rows of a random network with some noise: many clear dependences, and no ties.  # (row, column)"""
    rng = np.random.default_rng(seed)
    found: list[np.ndarray] = []
    for i in range(columns):
        column = rng.integers(0, 2 + i % 2, rows)
        if i and rng.random() < 0.8:
            parents = rng.choice(i, min(i, 2), replace=False)
            implied = sum(found[p] * (1 + q) for q, p in enumerate(parents)) % (2 + i % 2)
            column = np.where(rng.random(rows) < 0.6, implied, column)
        found.append(column)
    return np.stack(found, axis=1)


def gum_data(table: np.ndarray) -> tuple[gum.BayesNet, Any]:
    import pandas as pd

    template = gum.BayesNet()
    for i in range(table.shape[1]):
        template.add(gum.RangeVariable(f"v{i}", "", 0, int(table[:, i].max())))
    return template, pd.DataFrame(table, columns=[f"v{i}" for i in range(table.shape[1])]).astype(str)


@pytest.mark.parametrize("seed", range(6))
def test_pyagrum_finds_the_same_arcs(seed: int) -> None:
    table = sampled(seed, 400)
    n = table.shape[1]
    template, frame = gum_data(table)
    order = np.random.default_rng(seed).permutation(n).tolist()
    learner = gum.BNLearner(frame, template)
    learner.useK2(order)
    learner.useScoreK2()
    learner.useNoPrior()
    theirs = {(f"v{a}", f"v{b}") for a, b in learner.learnBN().arcs()}
    training = cases_of([int(c.max()) + 1 for c in table.T], table.T.tolist())
    name = {**{x: f"v{x}" for x in range(n - 1)}, CLASS: f"v{n - 1}"}
    ours = k2(Counts(training), order=[x if x < n - 1 else CLASS for x in order])
    assert {(name[p], name[v]) for v, parents in ours.parents.items() for p in parents} == theirs
    assert theirs


def weka_arcs(path: Path, most: int) -> set[tuple[str, str]]:
    """The arcs of Weka's K2 with the class first and the others as they come, from the network that it prints."""
    search = ["-D", "-Q", "weka.classifiers.bayes.net.search.local.K2", "--", "-P", str(most), "-N", "-S", "BAYES"]
    call = ["java", "-cp", str(JAR), "weka.classifiers.bayes.BayesNet", "-t", str(path), "-no-cv", *search]
    made = subprocess.run(call, capture_output=True, text=True, check=True)
    printed = made.stdout.split("Network structure", 1)[1].split("LogScore", 1)[0]
    found = re.findall(r"^(\w+)\(\d+\):(.*)$", printed, re.MULTILINE)
    assert len(found) > 1
    return {(parent, child) for child, parents in found for parent in parents.split()}


@needs_weka
@pytest.mark.parametrize("seed", range(4))
def test_weka_finds_the_same_arcs(tmp_path: Path, seed: int) -> None:
    table = sampled(seed, 300)
    cards = [int(c.max()) + 1 for c in table.T]
    head = "\n".join(f"@attribute v{i} {{{','.join(map(str, range(card)))}}}" for i, card in enumerate(cards))
    path = tmp_path / "rows.arff"
    path.write_text(f"@relation r\n{head}\n@data\n" + "\n".join(",".join(map(str, row)) for row in table.tolist()) + "\n")
    n = table.shape[1]
    name = {**{x: f"v{x}" for x in range(n - 1)}, CLASS: f"v{n - 1}"}
    counts = Counts(cases_of(cards, table.T.tolist()))
    ours = k2(counts, max_parents=3, criterion=lambda n, _: dirichlet(n, 0.5))  # it has half a virtual case in every cell
    arcs = {(name[p], name[v]) for v, parents in ours.parents.items() for p in parents}
    assert arcs == weka_arcs(path, 3)
    assert arcs


@given(training=some_cases(weights="whole"), score=st.sampled_from(["k2", "bdeu:4", "bic", "aic"]))
@quick
def test_a_weight_of_two_is_a_row_twice(training: MemoryCases, score: str) -> None:
    rows = np.repeat(np.arange(len(training.block)), training.block.weight.astype(int))
    twice = MemoryCases(training.variables, Block(training.block.take(rows).codes), training.has_missing)
    assert identical(k2(Counts(training), criterion=score), k2(Counts(twice), criterion=score))


def test_each_round_is_one_pass() -> None:
    """The margins and all pairs, one pass for each further parent that anybody takes or is refused, and the tables."""
    rows = sampled(1, 300, 4)
    training = cases_of((rows.max(axis=0) + 1).tolist(), rows.T.tolist())
    for most in (0, 1, 2):
        counts = Counts(training)
        network = k2(counts, max_parents=most)
        deepest = max(len(p) for p in network.parents.values())
        assert counts.passes <= 2 + max(1, deepest) if most else counts.passes <= 2
    counts = Counts(training)
    network = k2(counts)
    assert counts.passes <= 3 + max(len(p) for p in network.parents.values())


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"max_parents": -1}, "max_parents=-1"),
        ({"max_parents": 1.5}, "max_parents=1.5"),
        ({"max_parents": True}, "max_parents=True"),
        ({"max_parents": "all"}, "max_parents='all'"),
        ({"criterion": "k3"}, "criterion='k3'.*did you mean 'k2'"),
        ({"criterion": None}, "criterion=None"),
        ({"criterion": "bdeu:nan"}, "criterion='bdeu:nan'"),
        ({"order": [0]}, r"order=\[0\]"),
        ({"order": [0, 0]}, r"order=\[0, 0\]"),
        ({"order": [0, 1]}, r"order=\[0, 1\]"),
        ({"order": ["0", "-1"]}, r"order=\['0', '-1'\]"),
        ({"order": [0.0, -1.0]}, r"order=\[0.0, -1.0\]"),
        ({"order": 5}, "order=.5."),
    ],
    ids=str,
)
def test_parameters_out_of_range_are_refused_by_name(options: Any, named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        k2(Counts(cases_of([2, 2], [[0, 1], [0, 1]])), **options)


@pytest.mark.parametrize("learner", [k2, hill_climb, cb], ids=["k2", "hill_climb", "cb"])
@pytest.mark.parametrize("has_missing", [False, True], ids=["complete", "missing"])
def test_scores_that_are_forgotten_to_save_memory_change_nothing(
    learner: Any, has_missing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 3, 200)]
    for _ in range(6):
        columns.append(np.where(rng.random(200) < 0.7, columns[rng.integers(len(columns))], rng.integers(0, 3, 200)))
    if has_missing:
        columns[1][::7] = 255
    training = cases_of([3] * 7, [column.tolist() for column in columns])
    expected = dict(learner(Counts(training)).parents)
    monkeypatch.setattr(family_scores, "SCORE_BYTES", 1 << 40)
    monkeypatch.setattr(family_scores, "ADDITION_BYTES", 1 << 40)
    assert dict(learner(Counts(training)).parents) == expected


@pytest.mark.parametrize("learner", [k2, pc], ids=["k2", "pc"])
def test_the_objects_of_a_search_stay_within_the_budget(learner: Any) -> None:
    """The peak of the bytes that Python allocates, with a large and a small budget for the same network."""
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 2, 300)]
    for _ in range(59):
        columns.append(np.where(rng.random(300) < 0.4, columns[rng.integers(len(columns))], rng.integers(0, 2, 300)))
    training = cases_of([2] * 60, [column.tolist() for column in columns])
    peaks, structures = [], []
    for budget in (1 << 31, 1 << 31, 3 << 20):  # the first for what is imported and cached
        tracemalloc.start()
        structures.append(dict(learner(Counts(training, budget=budget)).parents))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert structures[0] == structures[2]
    assert peaks[2] < 3 << 20
    assert peaks[2] < peaks[1] + 4096
