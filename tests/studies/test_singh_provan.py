"""Singh and Provan (1995): the printed tables against each other, a quick run, and all of it as a slow test."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t as student
from sklearn.base import clone
from studies.report import html, lines, markdown, sections
from studies.results import Cell, Options, Reproduction, Sheet
from studies.running import results_of
from studies.singh_provan_1995 import INFO_AS, METHODS, PRINTED, READING_TEXTS, SETS, cases, reproduce, tables
from studies.singh_provan_1995.methods import READINGS, STATE, ClassLast, InOrderOfEntry, model_of, models
from studies.verdicts import AGREES, INSIDE, NOT_PRINTED, p_of

from naivete.evaluation import Splits
from studies import singh_provan_1995

ACCURACIES, C45, DIFFERENCES = PRINTED["accuracies"], PRINTED["c45"], PRINTED["differences"]


@pytest.fixture(scope="module")
def steps() -> list[str]:
    return []


@pytest.fixture(scope="module")
def resumed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("divisions")


@pytest.fixture(scope="module")
def voting(steps: list[str], resumed: Path) -> Reproduction:
    return reproduce(Options(quick=True, only=["Voting"], resume=resumed, progress=steps.append))


# What is printed


def test_all_accuracies_are_there() -> None:
    assert sum(map(len, ACCURACIES.values())) == 47
    assert "K2-AS<=" not in ACCURACIES["Splice"]
    assert ACCURACIES["Mushroom"]["CB"] == [99.64, 0.31]
    assert ACCURACIES["Chess"]["CDC-AS"] == [96.26, 0.84]
    assert C45["Splice"]["C4.5"] == [94.00, 0.94]
    assert C45["Soybean"]["CGR-AS"] == [90.60, 2.02, "-"]


def test_sizes_are_those_of_table_1() -> None:
    sizes = {name: (*values["size"][1:], values["size"][0], values["train"]) for name, values in SETS.items()}
    assert sizes == {
        "Soybean": (35, 15, 630, 430),
        "Chess": (36, 2, 3196, 1000),
        "Mushroom": (22, 2, 8124, 500),
        "Voting": (16, 2, 435, 200),
        "Voting1": (15, 2, 435, 200),
        "Splice": (60, 3, 3175, 2000),
    }


def differences() -> list[tuple[str, str, str, float, float, str]]:
    """Metric, data set, method, difference, t and mark of tables 4 to 9."""
    return [
        (metric, name, method, *printed)
        for metric, by_name in DIFFERENCES.items()
        for name, by_method in by_name.items()
        for method, printed in by_method.items()
    ]


def test_the_differences_follow_from_the_means_but_for_one_sign() -> None:
    assert len(differences()) == 3 * 29
    assert all((mean > 0) == (t > 0) for *_, mean, t, _ in differences())
    wrong = [
        (metric, name, method)
        for metric, name, method, mean, _, _ in differences()
        if abs(ACCURACIES[name][method][0] - ACCURACIES[name][metric][0] - mean) > 0.021
    ]
    assert wrong == [("CIG-AS", "Splice", "naive-AS")]


def test_the_marks_follow_from_t_but_for_one() -> None:
    critical = student.ppf(0.975, 29)
    wrong = [
        (metric, name, method)
        for metric, name, method, _, t, mark in differences()
        if mark != ("" if abs(t) < critical else "+" if t > 0 else "-")
    ]
    assert wrong == [("CGR-AS", "Voting", "K2-AS")]


def test_the_text_about_c45_exchanges_two_metrics() -> None:
    counts = {metric: Counter(C45[name][metric][2] for name in SETS) for metric in INFO_AS}
    assert counts["CIG-AS"] == {"+": 3, "-": 2, "": 1}
    assert counts["CGR-AS"] == counts["CDC-AS"] == {"+": 3, "-": 3}


def test_every_claim_is_significant_in_print() -> None:
    for name, values in SETS.items():
        for better, base in values["claims"]:
            assert ACCURACIES[name][better][0] > ACCURACIES[name][base][0]
            for metric, other in ((better, base), (base, better)):
                printed = DIFFERENCES.get(metric, {}).get(name, {}).get(other)
                assert printed is None or p_of(printed[1], 29) < 0.05
    assert sum(len(values["claims"]) for values in SETS.values()) == 4 * 6 + 3 + 3 + 5


# A quick run


def test_a_quick_run(voting: Reproduction, steps: list[str]) -> None:
    assert [sheet.title.partition(" (")[0] for sheet in voting.sheets] == ["Voting, table 2", "Voting, table 10"]
    assert [cell.name for cell in voting.sheets[0].cells] == list(METHODS)
    assert voting.summary.startswith("8 of 8 accuracies within sampling error (Welch, p > 0.01; quick, 3 divisions)")
    assert voting.pairings is not None
    assert list(voting.pairings) == [title for title, _, _ in tables()]
    assert [len(pairs) for pairs in voting.pairings.values()] == [2, 2, 2, 3, 3, 3]
    assert [claim.name for claim in voting.claims[:2]] == ["Voting: CIG-AS over naive-ALL", "Voting: CIG-AS over naive-AS"]
    assert len(voting.claims) == len(SETS["Voting"]["claims"])
    assert len(steps) == 3 + 3 * 3


def test_differences_are_those_of_the_means(voting: Reproduction) -> None:
    means = {cell.name: cell.ours[0] for cell in voting.sheets[0].cells if isinstance(cell.ours, tuple)}
    for (_, metric, methods), pairs in zip(tables(), (voting.pairings or {}).values(), strict=True):
        for method, pair in zip(methods, pairs, strict=True):
            assert pair.difference == pytest.approx(means[method] - means[metric], abs=1e-9)
            assert abs(pair.corrected_t) < abs(pair.t) or pair.t == 0
    for claim, (better, base) in zip(voting.claims, SETS["Voting"]["claims"], strict=True):
        assert claim.difference == pytest.approx(means[better] - means[base], abs=1e-9)
        assert claim.printed_difference > 0


def test_every_form_has_the_tables(voting: Reproduction) -> None:
    (figure,) = voting.figures
    assert figure.title == "Figure 4: learning curves, Voting, 3 trials"
    assert list(figure.curves) == [method for method in METHODS if method != "K2-AS<="]
    assert all(50 < mean <= 100 and half >= 0 for points in figure.curves.values() for _, mean, half in points)
    page, text, shown = html(voting), markdown(voting), "\n".join(lines(voting))
    assert page.count("<svg") == 1
    for title in ("corrected t", "Table 9: K2-AS", "one method over another", "C4.5"):
        assert title in page
        assert title in shown
    assert "## Table 8: K2-AS, K2-AS\\<=, CB minus CGR-AS" in text
    table_4 = next(section for section in sections(voting) if section.title.startswith("Table 4"))
    assert table_4.rows[0][:3] == ["Voting, naive-ALL", "-5.22", "-21.14 -"]


def test_c45_is_beside_its_printed_value(voting: Reproduction) -> None:
    tree, *others = voting.sheets[1].cells
    assert tree.printed == tuple(C45["Voting"]["C4.5"])
    assert isinstance(tree.ours, tuple)
    assert tree.ours[0] > 90
    assert all(" in print, " in cell.note and cell.note.endswith(" here") for cell in others)


def test_an_interrupted_run_continues(voting: Reproduction, resumed: Path) -> None:
    assert sorted(path.name for path in resumed.iterdir()) == ["curves-voting", "tables-voting"]
    before = {path: path.stat().st_mtime_ns for path in resumed.rglob("split-*")}
    assert len(before) == 12
    assert reproduce(Options(quick=True, only=["Voting"], resume=resumed)) == voting
    assert {path: path.stat().st_mtime_ns for path in resumed.rglob("split-*")} == before


@pytest.mark.slow
def test_modifications_and_alternatives_quickly(voting: Reproduction) -> None:
    steps: list[str] = []
    options = Options(seed=1, quick=True, only=["Voting"], modifications=True, alternatives=True, progress=steps.append)
    result = reproduce(options)
    titles = [sheet.title for sheet in result.sheets]
    assert "Section 5.6, Voting: modifications of CGR-AS, which the paper found worse" in titles
    assert [title.split(":")[0] for title in titles].count("Tested reading") == 2
    assert len(steps) == 3 * 4 + 9
    changed = next(sheet for sheet in result.sheets if sheet.title.startswith("Section 5.6"))
    assert [cell.printed for cell in changed.cells] == [None, *["worse"] * 4]
    assert [cell.ours for cell in result.sheets[0].cells] != [cell.ours for cell in voting.sheets[0].cells]


# The methods and the readings


def test_the_models_have_the_defaults_of_the_library_and_any_number_of_parents() -> None:
    for method, model in models().items():
        defaults, settings = type(model)().get_params(), model.get_params()
        changed = {name for name in settings if not name.startswith("encoder") and settings[name] != defaults[name]}
        assert changed <= {"accept_ties", "metric", "learner", "max_parents"}, method
        assert model.encoder == STATE


def training(name: str, rows: int = 150) -> tuple[object, object]:
    found = cases(name)
    train = found.take(next(Splits(1, rows, 100).splits(found)).train)
    return train.features, train.labels


def test_in_order_of_entry_the_features_are_those_that_were_selected() -> None:
    X, y = training("Voting")
    selecting = model_of("CGR-AS").set_params(learner="nb")
    model = InOrderOfEntry(selecting, model_of("CB")).fit(X, y)  # type: ignore[arg-type]
    selected = model_of("CGR-AS").fit(X, y).selected_
    assert model.order_ == selected
    names = [column.name for column in X.columns]  # type: ignore[attr-defined]
    assert [model.fitted_.network_.name(v) for v in range(len(selected))] == [names[x] for x in selected]
    assert model.predict_proba(X).shape == (150, 2)  # type: ignore[arg-type]


def test_class_last_selects_by_the_parents_of_the_class() -> None:
    """On Mushroom odor alone determines nearly everything, and with the class after it nothing else is worth a parent."""
    X, y = training("Mushroom", 500)
    model = ClassLast(encoder=STATE).fit(X, y)
    assert model.network_.name(model.selected_[0]) == "odor"
    assert len(model.selected_) <= len(model_of("K2-AS").fit(X, y).selected_)


def test_the_classifiers_of_all_readings_can_be_evaluated() -> None:
    models = {
        f"{reading} {method}": READINGS[reading](method)
        for reading, content in READING_TEXTS.items()
        for method in {method for _, method in content["explains"]}
    }
    voting = cases("Voting")
    results = results_of(models, "Voting", voting, Splits(1, 60, 40), lambda _: None)
    assert all(0.7 < score <= 1 for name in models for score in results.scores("Voting", name))
    X, y = training("Voting")
    frame = X.to_pandas()  # type: ignore[attr-defined]
    model = READINGS["order-of-entry"]("CGR-AS")
    np.testing.assert_array_equal(clone(model).fit(frame, y).predict_proba(frame), model.fit(X, y).predict_proba(X))


def test_readings_are_given_for_differing_cells_only() -> None:
    assert list(READING_TEXTS) == list(READINGS)
    cells = (Cell("CIG-AS", (96.0, 1.0), (95.0, 1.0), "differs (p = 0.001)"), Cell("CB", (1.0, 1.0), (1.0, 1.0), INSIDE))
    ((_, text),) = singh_provan_1995._explanations([Sheet("Chess, table 2", cells)])
    assert "Chess, CIG-AS (-1.00): within sampling error if Info-AS continues only while the gain is significant" in text
    ((_, text),) = singh_provan_1995._explanations([Sheet("Voting, table 2", cells)])
    assert "no reading that was tried" in text


@pytest.mark.slow
def test_all_of_tables_2_to_9(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(singh_provan_1995, "_by_figure", lambda names: [])
    result = reproduce(Options(alternatives=True))
    printed = {
        (sheet.title.partition(",")[0], cell.name): cell.verdict
        for sheet in result.sheets[:6]
        for cell in sheet.cells
        if cell.printed is not None
    }
    assert len(printed) == 47
    inside = {place for place, verdict in printed.items() if verdict == INSIDE}
    assert len(inside) >= 36
    explained = {tuple(place) for content in READING_TEXTS.values() for place in content["explains"]}
    assert len(inside | explained) >= 44
    pairs = [pair for pairs in (result.pairings or {}).values() for pair in pairs if pair.verdict != NOT_PRINTED]
    assert len(pairs) == 87
    assert [pair.verdict for pair in pairs].count(AGREES) >= 60
    over_naive = [claim for claim in result.claims if claim.name.endswith("naive-ALL")]
    assert all(claim.plain_p < 0.05 and claim.difference > 0 for claim in over_naive)
    for reading, content in READING_TEXTS.items():
        (sheet,) = [sheet for sheet in result.sheets if sheet.title == f"Tested reading: {' '.join(content['text'].split())}"]
        tested = {cell.name: cell.verdict for cell in sheet.cells}
        for name, method in content["explains"]:
            assert tested[f"{name}, {method}"] == INSIDE
        if reading == "class-anywhere":
            assert all(verdict.startswith("differs") for verdict in tested.values())
