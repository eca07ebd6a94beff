"""Jensen and Nielsen (2007), chapter 8: everything from the twenty cases of table 8.1, by slow and obvious counting too."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import pytest
from studies.jensen_2007 import reproduce
from studies.jensen_2007.models import CASES as TABLE_8_1
from studies.results import Cell, Options, Reproduction
from studies.verdicts import MISPRINT, NOT_PRINTED, REPRODUCED


@pytest.fixture(scope="module")
def result() -> Reproduction:
    return reproduce(Options())


def cell(result: Reproduction, name: str) -> Cell:
    (found,) = [cell for cell in result.cells if cell.name == name]
    return found


def expected_entropy(at: int, cases: tuple[tuple[str, ...], ...] = TABLE_8_1) -> float:
    """Counted with a dict."""
    total = 0.0
    for value in {case[at] for case in cases}:
        classes = Counter(case[0] for case in cases if case[at] == value)
        n = sum(classes.values())
        total += n / len(cases) * -sum(c / n * math.log2(c / n) for c in classes.values())
    return total


def test_accuracy_and_loss(result: Reproduction) -> None:
    assert sum(case[0] == case[4] for case in TABLE_8_1) == 12
    assert cell(result, "accuracy of Pcl").ours == pytest.approx(0.6, abs=1e-15)
    assert cell(result, "expected loss of Pcl").ours == pytest.approx(-0.4, abs=1e-15)


def test_table_8_2(result: Reproduction) -> None:
    pairs = Counter((case[4], case[0]) for case in TABLE_8_1)
    table = next(sheet for sheet in result.sheets if sheet.title.startswith("Table 8.2"))
    for own in table.cells:
        _, said, _, correct = own.name.replace(",", "").split()
        assert own.ours == pytest.approx(pairs[said, correct] / 20, abs=1e-15)
        assert own.printed == pytest.approx(pairs[said, correct] / 20, abs=1e-15)
    assert len(table.cells) == 9


def test_the_entropies_and_the_two_misprints(result: Reproduction) -> None:
    for at, (name, ours) in enumerate({"MH": "0.945", "FC": "1.351", "SC": "1.381"}.items(), start=1):
        found = cell(result, f"E[Ent({name})]")
        assert found.ours == pytest.approx(expected_entropy(at), abs=1e-12)
        assert f"{found.ours:.3f}" == ours
    assert [own.name for own in result.cells if own.verdict == MISPRINT] == ["E[Ent(MH)]", "E[Ent(SC)]"]
    texts = [text for kind, text in result.remarks if kind == "misprint"]
    assert "0.735" in texts[0]
    assert "1.403" in texts[1]


def test_the_misprints_do_not_change_the_order(result: Reproduction) -> None:
    cells = [cell(result, f"E[Ent({name})]") for name in ("MH", "FC", "SC")]
    for figures in ([own.printed for own in cells], [own.ours for own in cells]):
        assert figures == sorted(figures, key=float)  # type: ignore[arg-type]
    assert cell(result, "root of the tree").ours == "MH"
    assert cell(result, "below MH = no").ours == "SC"
    no = tuple(case for case in TABLE_8_1 if case[1] == "no")
    assert expected_entropy(3, no) < expected_entropy(2, no)


def products(virtual: int, tree: bool) -> dict[str, Fraction]:
    """P(c) P(1a | c) P(FC = 1 | ...) P(SC = 1 | ...) by counting, with so many virtual cases for each parameter."""
    cards = {1: 8, 2: 4, 3: 3}
    answer = {}
    for c in ("me", "draw", "op"):
        rows = [case for case in TABLE_8_1 if case[0] == c]
        p = Fraction(len(rows) + virtual, 20 + 3 * virtual)
        for at, value in ((1, "1a"), (2, "1"), (3, "1")):
            among = [case for case in rows if not tree or at == 1 or case[1] == "1a"]
            hits = sum(case[at] == value for case in among)
            below = len(among) + virtual * cards[at]
            p *= Fraction(hits + virtual, below) if below else Fraction(1, cards[at])
        answer[c] = p
    return answer


@pytest.mark.parametrize(("name", "virtual", "tree"), [("8.2 naive Bayes, maximum likelihood", 0, False),
                                                       ("8.2 naive Bayes, Bayesian estimates", 1, False),
                                                       ("8.3 TAN, Bayesian estimates", 1, True)])  # fmt: skip
def test_exercises(result: Reproduction, name: str, virtual: int, tree: bool) -> None:
    exact = products(virtual, tree)
    found = cell(result, name)
    assert found.verdict == NOT_PRINTED
    assert found.ours == max(exact, key=exact.__getitem__) == "op"
    for c, p in exact.items():
        assert f"{c} {float(p / sum(exact.values())):.3f}" in found.note


def test_the_tree_has_no_answer_by_maximum_likelihood(result: Reproduction) -> None:
    assert not any(products(0, tree=True).values())
    found = cell(result, "8.3 TAN, maximum likelihood")
    assert found.ours == "none"
    assert "predicts op" in found.note
    assert cell(result, "8.3 tree of the TAN").ours == "MH - FC, MH - SC"


def test_what_is_printed_is_reproduced_or_a_misprint(result: Reproduction) -> None:
    printed = [own.verdict for own in result.cells if own.printed is not None]
    assert Counter(printed) == {REPRODUCED: 33, MISPRINT: 2}
    assert result.summary == "33 of 35 printed values reproduced, 2 misprints"


def by_hand(cases: list[tuple[str, ...]], asked: dict[int, str], found: dict[str, str], majority: str) -> None:
    """ID3 with dicts: a line for each leaf."""
    names, order = ("BH", "MH", "FC", "SC"), {1: MH, 2: FC, 3: SC}
    classes = Counter(case[0] for case in cases)
    if classes:
        majority = min(classes, key=lambda c: (-classes[c], ("me", "draw", "op").index(c)))
    left = [at for at in order if at not in asked]
    gains = {at: expected_entropy(0, tuple(cases)) - expected_entropy(at, tuple(cases)) for at in left} if cases else {}
    telling = [at for at in left if len({case[at] for case in cases}) > 1]
    if len(classes) < 2 or not telling:
        found[" and ".join(f"{names[at]} = {value}" for at, value in asked.items())] = majority
        return
    best = max(telling, key=lambda at: (round(-expected_entropy(at, tuple(cases)), 9), -at))
    assert gains
    for value in order[best]:
        by_hand([case for case in cases if case[best] == value], {**asked, best: value}, found, majority)


MH, FC, SC = ("no", "1a", "2v", "2a", "st", "3v", "fl", "sfl"), ("0", "1", "2", "3"), ("0", "1", "2")


def test_figure_8_7_is_the_tree_that_dicts_give(result: Reproduction) -> None:
    wanted: dict[str, str] = {}
    by_hand(list(TABLE_8_1), {}, wanted, "")
    (sheet,) = [sheet for sheet in result.sheets if sheet.title.startswith("Figure 8.7")]
    assert {own.name: own.ours for own in sheet.cells[1:]} == wanted
    assert cell(result, "8.4 tree of ID3").ours == wanted["MH = 1a and FC = 1"] == "op"


def test_the_hidden_variable_fits_better_with_more_states_and_bic_wants_few(result: Reproduction) -> None:
    found = [cell(result, f"{states} states: log likelihood").ours for states in range(2, 12)]
    assert all(isinstance(own, float) for own in found)
    assert found[0] < found[1] < found[2] < found[3]
    assert found[3:] == pytest.approx([-25.304] * 7, abs=1e-3)
    saturated = Counter((case[0], case[2], case[3]) for case in TABLE_8_1)
    classes = Counter(case[0] for case in TABLE_8_1)
    best = sum(n * math.log(n / classes[key[0]]) for key, n in saturated.items())
    assert found[-1] == pytest.approx(best, abs=1e-2)
    assert cell(result, "states by BIC").ours == "2"
