"""Langley (1993): the generated domains, how claims are decided, and quick runs."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from studies.langley_1993 import CONCEPTS, NATURAL, SIZES, reproduce
from studies.langley_1993.curves import Curves, about, crossing, crossing_points, crossings, indistinguishable, together
from studies.langley_1993.domains import (
    CELL_FEATURES,
    CELLS,
    SMOOTHING,
    TERMS,
    Reading,
    Training,
    accuracies,
    cells,
    concept,
    levels,
    parity,
    parity_accuracies,
    parity_halves,
)
from studies.report import html, markdown
from studies.results import Options, Reproduction
from studies.verdicts import INSIDE, NOT_REPRODUCED, REPRODUCED, UNDECIDED, interval, one_sided

from naivete import NaiveBayes, Recursive

USUAL = Reading()
quick = settings(deadline=None, max_examples=40)

# The concepts


def test_terms_are_vertices_that_are_not_next_to_each_other() -> None:
    assert [sum(a != b for a, b in zip(one, two, strict=True)) for one, two in combinations(TERMS, 2)] == [2] * 6
    for terms in (1, 2, 3, 4):
        space = concept(terms)
        rows = set(zip(*(column.tolist() for column in space.codes[:3]), space.codes[-1].tolist(), strict=True))
        assert {row[:3] for row in rows if row[3]} == set(TERMS[:terms])
        assert len(space) == 64


def curves(terms: int, sizes: tuple[int, ...], pairs: int, reading: Reading = USUAL) -> Curves:
    return Curves(sizes, accuracies(Training(terms, sizes, range(pairs), 0, reading)))


def test_a_pair_does_not_depend_on_the_others() -> None:
    whole = accuracies(Training(3, (5, 20), range(6), 1))
    parts = [accuracies(Training(3, (5, 20), range(at, at + 2), 1)) for at in (0, 2, 4)]
    assert np.array_equal(whole, np.concatenate(parts))
    assert not np.array_equal(whole, accuracies(Training(3, (5, 20), range(6), 2)))


def test_training_sets_without_a_class_or_with_all_cases() -> None:
    one = accuracies(Training(1, (1, 64), range(5), 0))
    assert np.array_equal(one[:, 0, 0], one[:, 0, 1])
    assert set(one[:, 0, 0].tolist()) <= {12.5, 87.5}
    assert np.ptp(one[:, 1, :], axis=0).tolist() == [0.0, 0.0]  # the same 64 cases in every pair
    assert np.ptp(accuracies(Training(1, (64,), range(5), 0, Reading(replace=True)))) > 0


@pytest.mark.filterwarnings("ignore::naivete.errors.UnseenValueWarning")
@quick
@given(st.integers(1, 4), st.integers(1, 12), st.integers(0, 10**6))
def test_where_naive_bayes_errs_nowhere_both_are_the_same(terms: int, size: int, seed: int) -> None:
    space = concept(terms)
    rows = np.random.default_rng(seed).permutation(64)[:size]
    X, y = np.column_stack(space.codes[:-1]), space.codes[-1]
    simple = NaiveBayes(smoothing=SMOOTHING).fit(X[rows], y[rows])
    hierarchy = Recursive(smoothing=SMOOTHING).fit(X[rows], y[rows])
    if np.array_equal(simple.predict(X[rows]), y[rows]):
        assert np.array_equal(simple.predict(X), hierarchy.predict(X))


@pytest.mark.slow
def test_one_term_takes_the_recursive_classifier_more_cases() -> None:
    curve = curves(1, (20, 40), 200)
    assert one_sided("", "below", curve.between(20, 40)).verdict == REPRODUCED
    last = curves(1, (60,), 40)
    assert [about("", 100, last.at(60)[:, i]).verdict for i in (0, 1)] == [REPRODUCED] * 2


def test_three_terms_end_above() -> None:
    curve = curves(3, (5, 40), 20)
    assert one_sided("", "above", curve.between(40, 40)).verdict == REPRODUCED


@pytest.mark.slow
@pytest.mark.parametrize(("terms", "printed"), [(2, (10, 10)), (3, (5, 10)), (4, (5, 10))])
def test_disjunctive_concepts_cross_and_end_above(terms: int, printed: tuple[int, int]) -> None:
    """Above by far with all the cases of the paper, and crossing where sets of 20 pairs may have shown it."""
    curve = curves(terms, (3, 4, 5, 6, 8, 10, 15, 40), 120)
    assert one_sided("", "above", curve.first().between(15, 40)).verdict == REPRODUCED
    assert interval(curve.between(40, 40))[0] > 8
    found = crossings(curve)
    assert crossing("", printed, found).verdict == INSIDE
    assert found.range[1] <= 10


@pytest.mark.slow
def test_other_readings_end_above_too() -> None:
    for reading in (Reading(replace=True), Reading(1.0), Reading(0.0)):
        curve = curves(2, (40,), 40, reading)
        assert one_sided("", "above", curve.between(40, 40)).verdict == REPRODUCED


@pytest.mark.slow
def test_with_thousands_of_pairs_naive_bayes_is_ahead_early_on_two_terms_only() -> None:
    """What the report says of 4000 pairs."""
    two = curves(2, (5, 6, 7, 9), 4000)
    assert one_sided("", "below", two.between(5, 7)).verdict == one_sided("", "above", two.between(9, 9)).verdict == REPRODUCED
    assert interval(two.between(5, 7)) == pytest.approx((-0.12, 0.07), abs=0.01)
    three = curves(3, (3, 4), 4000)
    assert one_sided("", "below", three.between(3, 3)).verdict == UNDECIDED
    assert one_sided("", "above", three.between(4, 4)).verdict == REPRODUCED
    four = curves(4, (3, 4), 4000)
    assert interval(four.between(3, 3)) == pytest.approx((-0.03, 0.01), abs=0.005)
    assert one_sided("", "above", four.between(4, 4)).verdict == REPRODUCED


# How claims are decided


@quick
@given(st.lists(st.lists(st.integers(-2, 2), min_size=4, max_size=4), min_size=1, max_size=5))
def test_the_crossing_is_where_a_curve_comes_to_stay(means: list[list[int]]) -> None:
    sizes = (2, 3, 5, 8)
    expected = [next((float(size) for i, size in enumerate(sizes) if all(v > 0 for v in own[i:])), float("inf")) for own in means]
    assert crossing_points(sizes, np.array(means, np.float64)).tolist() == expected


def test_crossings_are_as_sure_as_the_pairs() -> None:
    same = np.zeros((50, 3, 2))
    same[:, 0, 0] = same[:, 1:, 1] = 1.0
    found = crossings(Curves((2, 3, 5), same))
    assert (found.point, found.range, set(found.few.tolist())) == (3.0, (3.0, 3.0), {3.0})
    assert crossing("", (3, 3), found).verdict == INSIDE
    cell = crossing("", (5, 8), found)
    assert cell.verdict == "differs (p < 0.0001)"
    assert "95 % of experiments with 20 pairs cross at 3 cases, 0 % of them at 5 to 8; with all pairs at 3" in cell.note
    noise = np.random.default_rng(0).normal(size=(25, 3, 2))
    none = crossings(Curves((2, 3, 5), np.concatenate([noise, -noise])))
    assert (none.point, none.range) == (float("inf"), (2.0, float("inf")))
    assert crossing("", (2, 5), none).note.endswith("with all pairs at 2 to inf")


def test_verdicts() -> None:
    draw = np.random.default_rng(0)
    noise, shifted = draw.normal(size=30), draw.normal(size=30) + 2
    assert [about("", printed, shifted + 88).verdict for printed in (90, 93)] == [REPRODUCED, NOT_REPRODUCED]
    assert about("", 90, np.array([85.0, 89.0, 88.0])).verdict == UNDECIDED
    scored = np.stack([np.zeros((30, 2)), np.stack([noise / 100, shifted], axis=1)], axis=2)
    assert [together("", Curves((2, 3), scored), size).verdict for size in (2, 3)] == [REPRODUCED, NOT_REPRODUCED]
    assert indistinguishable("", Curves((2, 3), scored)).verdict == NOT_REPRODUCED
    assert indistinguishable("", Curves((2, 3), scored[:, [0, 0]])).verdict == REPRODUCED


# Figures 1 and 2


def connected(points: list[tuple[int, ...]]) -> bool:
    """Whether one comes from each point to each other by changing one value at a time, without leaving them."""
    reached = {points[0]}
    while more := {p for p in points for q in reached if p not in reached and sum(a != b for a, b in zip(p, q, strict=True)) == 1}:
        reached |= more
    return len(reached) == len(points)


def test_the_cells_are_as_the_paper_describes_them() -> None:
    points = [tuple(states.index(v) for states, v in zip(CELL_FEATURES.values(), case, strict=False)) for case in CELLS]
    assert len(set(points)) == 12
    by_class = {c: [p for p, case in zip(points, CELLS, strict=True) if case[-1] == c] for c in ("healthy", "lethargia", "burpoma")}
    assert [len(own) for own in by_class.values()] == [4, 5, 3]
    healthy = by_class["healthy"]
    assert [connected(own) for own in (healthy, healthy[:2], healthy[2:])] == [False, True, True]
    assert not any(connected([p, q]) for p, q in product(healthy[:2], healthy[2:]))
    assert all(connected(by_class[c]) for c in ("lethargia", "burpoma"))


def test_the_hierarchy_recurses_once_and_is_perfect() -> None:
    X, y = cells()
    said = NaiveBayes(smoothing=SMOOTHING).fit(X, y).predict(X).tolist()
    assert said == ["lethargia"] * 2 + y[2:]
    for refit in (True, False):
        assert Recursive(smoothing=SMOOTHING, refit=refit).fit(X, y).predict(X).tolist() == y
    plain = Recursive(smoothing=SMOOTHING, refit=False).fit(X, y).network_
    assert (levels(plain), plain.variables[-2].card) == (2, 2)
    assert levels(Recursive(smoothing=SMOOTHING, refit=False, max_depth=0).fit(X, y).network_) == 1


def joint_of(rows: np.ndarray, y: np.ndarray, laplace: bool) -> np.ndarray:
    """log P(row, class) of naive Bayes for its own training rows of bits."""
    logs = []
    for c in range(3):
        own, n = rows[y == c], np.sum(y == c)
        ones = np.stack([n - own.sum(axis=0), own.sum(axis=0)])
        p = (ones + 1) / (n + 2) if laplace else np.where(ones > 0, ones / n, n / len(y) / len(y))
        p = p / p.sum(axis=0)
        logs.append(np.log(n / len(y)) + np.log(np.where(rows == 1, p[1], p[0])).sum(axis=1))
    return np.array(logs).T


@pytest.mark.slow
def test_every_set_of_cells_in_which_naive_bayes_errs_so_is_learned_by_one_recursion() -> None:
    """All of them but for the names of the features and of their values, as the first two cells are given."""
    points = list(product((0, 1), repeat=4))
    y = np.repeat([0, 1, 2], [4, 5, 3])
    said = np.array([1, 1, *y[2:]])
    first, found = [points[0], points[1]], []
    rest = [p for p in points[2:] if not any(connected([p, q]) for q in first)]
    for second in (list(own) for own in combinations(rest, 2) if connected(list(own))):
        free = [p for p in points if p not in first + second]
        for lethargia in (list(own) for own in combinations(free, 5) if connected(list(own))):
            left = [p for p in free if p not in lethargia]
            for burpoma in (list(own) for own in combinations(left, 3) if connected(list(own))):
                rows = np.array(first + second + lethargia + burpoma)
                if np.array_equal(joint_of(rows, y, laplace=False).argmax(axis=1), said):
                    found.append(rows)
    assert len(found) == 48
    for rows in found[::8]:  # all of them pass
        assert np.array_equal(Recursive(smoothing=SMOOTHING).fit(rows, y).predict(rows), y)
        plain = Recursive(smoothing=SMOOTHING, refit=False).fit(rows, y).network_
        assert plain.variables[-2].card == 2
        model = Recursive(smoothing=1.0).fit(rows, y)
        same = np.array_equal(joint_of(rows, y, laplace=True).argmax(axis=1), said)
        assert not (same and np.array_equal(model.predict(rows), y))


# Parity


def test_balanced_halves_tell_nothing_and_the_split_finds_the_concept() -> None:
    bits, odd = parity()
    for rows in parity_halves():
        assert len(rows) == 512
        for one, two in combinations(range(10), 2):
            assert np.bincount(4 * odd[rows] + 2 * bits[rows, one] + bits[rows, two], minlength=8).tolist() == [64] * 8
    found = parity_accuracies()
    assert [found[name] for name in ("naive Bayes", "recursive")] == [50.0, 50.0]
    assert [accuracy for name, accuracy in found.items() if "split" in name] == [100.0, 100.0]


@pytest.mark.slow
def test_random_halves() -> None:
    """The other half has less of what was seen more often, so that naive Bayes falls below one half."""
    found = [parity_accuracies(seed) for seed in range(20)]
    scored = {name: np.array([own[name] for own in found]) for name in found[0]}
    assert one_sided("", "below", scored["naive Bayes"] - 50).verdict == REPRODUCED
    for name in ("parity split", "parity split, refit=False"):
        assert one_sided("", "above", scored[name] - scored["naive Bayes"]).verdict == REPRODUCED


@quick
@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from("ab"), st.sampled_from("abc"), st.sampled_from("xy")),
        min_size=1,
        max_size=30,
    )
)
def test_the_depth_stays_bounded_on_duplicates_and_contradictions(rows: list[tuple[str, ...]]) -> None:
    """Cases with the same features stay together, so that each level has a pattern less."""
    for copies in (1, 3):
        X, y = [list(row[:-1]) for row in rows] * copies, [row[-1] for row in rows] * copies
        for way in ("stop", "split"):
            model = Recursive(smoothing=SMOOTHING, refit=False, parity=way, min_rows=0).fit(X, y)
            assert levels(model.network_) <= len(set(map(tuple, X)))


def test_contradictory_rows_are_not_divided() -> None:
    model = Recursive(smoothing=SMOOTHING, refit=False, parity="split").fit([["a", "b"]] * 10, ["x", "y"] * 5)
    assert levels(model.network_) == 1


# The reproduction


@pytest.fixture(scope="module")
def steps() -> list[str]:
    return []


@pytest.fixture(scope="module")
def quick_run(steps: list[str]) -> Reproduction:
    return reproduce(Options(quick=True, only=["Cells", "Glass", "two terms"], progress=steps.append))


def test_a_quick_run(quick_run: Reproduction, steps: list[str]) -> None:
    titles = [sheet.title.partition(":")[0] for sheet in quick_run.sheets]
    assert titles == ["Figure 1", "Figure 2", "Figure 4 (a)", "Figure 5 (b)"]
    assert [cell.verdict for cell in quick_run.sheets[0].cells] == [REPRODUCED] * 5
    assert [cell.name for cell in quick_run.sheets[1].cells][-2:] == ["lethargia: healthy", "lethargia: lethargia"]
    assert quick_run.sheets[2].cells[-1].name == "levels of the hierarchy"
    assert len(steps) == 3 * len(NATURAL["Glass"]["sizes"]) + 1
    assert any("Quick" in sentence for sentence in quick_run.about)
    assert sum(map(int, (word for word in quick_run.summary.replace(",", "").split() if word.isdigit()))) >= 12


@pytest.mark.slow
def test_the_sheet_of_parity() -> None:
    assert [sheet.title.partition(":")[0] for sheet in reproduce(Options(quick=True, only=["Parity"])).sheets] == ["Section 6"]


def test_figures_have_charts_and_tables(quick_run: Reproduction) -> None:
    assert [figure.title for figure in quick_run.figures] == [
        "Figure 4 (a): learning curves, Glass, 3 pairs",
        "Figure 5 (b): learning curves, two terms, 20 pairs",
        "Recursive minus naive Bayes, 20 pairs",
    ]
    assert [point[0] for point in quick_run.figures[1].curves["recursive"]] == list(SIZES)
    assert all(75 < points[-1][1] < 97 for points in quick_run.figures[0].curves.values())
    assert html(quick_run).count("<svg") == 3
    assert "P = 0.58; nuclei two 0.05" in markdown(quick_run)


@pytest.mark.slow
def test_other_readings_and_seeds(quick_run: Reproduction) -> None:
    result = reproduce(Options(quick=True, only=["two terms"], alternatives=True))
    assert result.figures == quick_run.figures[1:]
    assert result.figures != reproduce(Options(seed=1, quick=True, only=["two terms"])).figures
    readings = [sheet for sheet in result.sheets if sheet.title.startswith("Another reading")]
    assert [sheet.cells[0].name.partition(":")[0] for sheet in readings] == ["two terms"] * 3
    assert len({sheet.cells[1].note for sheet in readings}) > 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Vote", "Splice", "Heart"])
def test_a_natural_domain_quickly(name: str) -> None:
    result = reproduce(Options(quick=True, only=[name]))
    assert result.sheets[-1].title.startswith(f"Figure {NATURAL[name]['figure']}: {name} (")
    (figure,) = result.figures
    assert all(75 < points[-1][1] < 97 for points in figure.curves.values())


@pytest.mark.slow
def test_all_of_it() -> None:
    result = reproduce(Options())
    verdicts = {f"{sheet.title.partition(' (6')[0]} {cell.name}": cell.verdict for sheet in result.sheets for cell in sheet.cells}
    above = [verdict for name, verdict in verdicts.items() if "more than 10 cases" in name or "60 cases" in name]
    assert above == [REPRODUCED] * 8
    assert [verdict for name, verdict in verdicts.items() if "stays above" in name] == [INSIDE] * 3
    assert [verdict for name, verdict in verdicts.items() if "Splice" in name][:4] == [REPRODUCED] * 4
    assert len(result.figures) == len(NATURAL) + len(CONCEPTS) + 1
