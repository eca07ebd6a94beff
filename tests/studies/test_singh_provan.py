"""Singh and Provan (1995): the printed tables against each other, small runs where the data are, and all of it as a slow test."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from scipy.stats import t as student
from studies.pairings import AGREES, NOT_THERE, mark, p_of, paired
from studies.report import as_html, as_markdown, as_record, cell_heads, figure_rows, pairing_rows
from studies.singh_provan import CLAIMED_ORDER, CURVES, steps
from studies.singh_provan_methods import STATE, ClassLast, InOrderOfEntry, model_of, models
from studies.singh_provan_reasons import REASONS, told_reasons
from studies.singh_provan_tables import ACCURACIES, C45, C45_MARKS, DIFFERENCES, INFO_AS, METHODS, SETS, tables
from studies.verdicts import INSIDE, Cell, Sheet

from naivete.errors import ParameterError
from naivete.evaluation import Splits
from studies import Reproduction, singh_provan, singh_provan_1995
from tests.evaluation import data

FILES = tuple(own.file for own in SETS.values())


def folder() -> Path:
    """Where all six data sets are."""
    return {data(name).parent for name in FILES}.pop()


@pytest.fixture(scope="module")
def voting() -> Reproduction:
    return singh_provan_1995(quick=True, only=["Voting"], data=data("vote").parent)


# What is printed


def test_all_accuracies_are_there() -> None:
    assert sum(map(len, ACCURACIES.values())) == 47
    assert "K2-AS<=" not in ACCURACIES["Splice"]
    assert ACCURACIES["Mushroom"]["CB"] == (99.64, 0.31)
    assert ACCURACIES["Chess"]["CDC-AS"] == (96.26, 0.84)
    assert C45["Splice"]["C4.5"] == (94.00, 0.94)
    assert C45["Soybean"]["CGR-AS"] == (90.60, 2.02)


def test_sizes_are_those_of_table_1() -> None:
    sizes = {name: (own.size.features, own.size.classes, own.size.rows, own.train, own.test) for name, own in SETS.items()}
    assert sizes == {
        "Soybean": (35, 15, 630, 430, 200),
        "Chess": (36, 2, 3196, 1000, 2196),
        "Mushroom": (22, 2, 8124, 500, 7624),
        "Voting": (16, 2, 435, 200, 235),
        "Voting1": (15, 2, 435, 200, 235),
        "Splice": (60, 3, 3175, 2000, 1175),
    }


def test_the_differences_follow_from_the_means_but_for_one_sign() -> None:
    wrong = []
    for metric, own in DIFFERENCES.items():
        assert len(own) == 29
        for (name, method), printed in own.items():
            if abs(ACCURACIES[name][method][0] - ACCURACIES[name][metric][0] - printed.mean) > 0.021:
                wrong.append((metric, name, method))
            assert (printed.mean > 0) == (printed.t > 0)
    assert wrong == [("CIG-AS", "Splice", "naive-AS")]


def test_the_marks_follow_from_t_but_for_one() -> None:
    critical = student.ppf(0.975, 29)
    wrong = [
        (metric, place)
        for metric, own in DIFFERENCES.items()
        for place, printed in own.items()
        if printed.mark != ("" if abs(printed.t) < critical else "+" if printed.t > 0 else "-")
    ]
    assert wrong == [("CGR-AS", ("Voting", "K2-AS"))]


def test_the_text_about_c45_has_two_metrics_the_wrong_way_round() -> None:
    counts = {metric: Counter(C45_MARKS[name][metric] for name in SETS) for metric in INFO_AS}
    assert counts["CIG-AS"] == {"+": 3, "-": 2, "": 1}
    assert counts["CGR-AS"] == counts["CDC-AS"] == {"+": 3, "-": 3}


def test_every_claim_is_significant_in_print() -> None:
    for name, pairs in CLAIMED_ORDER.items():
        for better, base in pairs:
            assert ACCURACIES[name][better][0] > ACCURACIES[name][base][0]
            for metric, other in ((better, base), (base, better)):
                printed = DIFFERENCES.get(metric, {}).get((name, other))
                assert printed is None or p_of(printed.t, 29) < 0.05
    assert sum(map(len, CLAIMED_ORDER.values())) == 4 * 6 + 3 + 3 + 5


# What is computed


def test_a_pairing_has_a_sign_and_a_significance() -> None:
    apart = [2.0, 2.1, 1.9, 2.0]
    none = [0.0] * 4
    assert paired("x", apart, none, 0.5, (1.0, 5.0, "+")).verdict == AGREES
    assert paired("x", apart, none, 0.5, (-1.0, -5.0, "-")).verdict == "opposite"
    assert paired("x", apart, none, 0.5, (1.0, 1.0, "")).verdict == "same sign, other significance"
    assert paired("x", apart, none, 0.5, (-1.0, -1.0, "")).verdict == "other sign, one is noise"
    assert paired("x", apart, none, 0.5).verdict == NOT_THERE
    assert paired("x", [1.0, -1.0], [0.0, 0.0], 0.5, (0.1, 0.2, "")).verdict == AGREES
    own = paired("x", apart, none, 0.5)
    assert own.corrected_p > own.p
    assert mark(own.difference, own.p) == "+"


def test_one_data_set_quickly(voting: Reproduction) -> None:
    assert [cell.name for cell in voting.sheets[0].cells] == list(METHODS)
    assert voting.sheets[0].title == "Voting, table 2 (435 rows, 16 features, 2 classes; 200 train, 235 test)"
    assert cell_heads(voting.sheets[0]) == ["", "printed", "ours", "difference", "p", "verdict"]
    assert all(cell.verdict == INSIDE for cell in voting.sheets[0].cells)
    assert voting.summary.startswith("8 of 8 accuracies inside the noise (Welch, p > 0.01; quick, 3 divisions)")
    assert [own.title for own in voting.pairings] == [title for title, _, _ in tables()]
    assert [len(own.pairs) for own in voting.pairings] == [2, 2, 2, 3, 3, 3]
    assert len(voting.claims) == len(CLAIMED_ORDER["Voting"])
    assert (voting.claimed_level, voting.claims[0].name) == (0.05, "Voting: CIG-AS over naive-ALL")


def test_differences_are_those_of_the_means(voting: Reproduction) -> None:
    means = {cell.name: cell.ours[0] for cell in voting.sheets[0].cells if isinstance(cell.ours, tuple)}
    for (_, metric, methods), own in zip(tables(), voting.pairings, strict=True):
        for method, pair in zip(methods, own.pairs, strict=True):
            assert pair.difference == pytest.approx(means[method] - means[metric], abs=1e-9)
            assert abs(pair.corrected) < abs(pair.t) or pair.t == 0
    for claim, (better, base) in zip(voting.claims, CLAIMED_ORDER["Voting"], strict=True):
        assert claim.difference == pytest.approx(means[better] - means[base], abs=1e-9)
        assert claim.printed_difference > 0


def test_curves_have_a_chart_and_a_table(voting: Reproduction) -> None:
    (figure,) = voting.figures
    assert figure.title == "Figure 4: learning curves, Voting, 3 trials"
    assert list(figure.curves) == [method for method in METHODS if method != "K2-AS<="]
    assert [row[0] for row in figure_rows(figure)] == ["25", "50", "100"]
    assert all(50 < mean <= 100 and half >= 0 for points in figure.curves.values() for _, mean, half in points)
    page = as_html(voting)
    assert page.count("<svg") == 1
    assert "Figure 4: learning curves, Voting" in page
    assert "| 25 | " in as_markdown(voting)


def test_every_form_tells_the_same(voting: Reproduction) -> None:
    page, text, record = as_html(voting), as_markdown(voting), as_record(voting)
    for told in ("as C4.5", "corrected t", "Table 9: K2-AS", "one method over another"):
        assert told in page
    assert "## Table 8: K2-AS, K2-AS\\<=, CB less CGR-AS" in text
    assert record["pairings"][0]["pairs"][0]["printed_t"] == -21.14
    assert record["figures"][0]["curves"]["CB"][0][0] == 25.0
    assert pairing_rows(voting.pairings[0])[0][:3] == ["Voting, naive-ALL", "-5.22", "-21.14 -"]


def test_the_seed_decides(voting: Reproduction) -> None:
    other = singh_provan_1995(quick=True, only=["Voting"], data=data("vote").parent, seed=1)
    assert [cell.ours for cell in other.cells] != [cell.ours for cell in voting.cells]


def test_a_run_that_was_killed_goes_on(tmp_path: Path, voting: Reproduction) -> None:
    told: list[str] = []
    where = data("vote").parent
    first = singh_provan_1995(quick=True, only=["Voting"], data=where, kept=tmp_path, progress=told.append)
    assert first == voting
    assert len(told) == 3 + 3 * 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["curves-voting", "tables-voting"]
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("split-*")}
    assert len(before) == 12
    assert singh_provan_1995(quick=True, only=["Voting"], data=where, kept=tmp_path) == voting
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("split-*")} == before


def test_progress_is_counted() -> None:
    curves = sum(map(len, CURVES.values()))
    assert steps() == 30 * 6 + 20 * curves
    assert steps(quick=True) == 3 * 6 + 3 * 3 * 4
    assert steps(modifications=True) == steps() + 10 * 3
    assert steps(alternatives=True) == steps() + 30 * sum(len({name for name, _ in reason.cells}) for reason in REASONS)


def test_modifications_and_alternatives_quickly() -> None:
    told: list[str] = []
    result = singh_provan_1995(
        quick=True, only=["Voting"], data=data("vote").parent, modifications=True, alternatives=True, progress=told.append
    )
    titles = [sheet.title for sheet in result.sheets]
    assert "Section 5.6, Voting: modifications of CGR-AS, which the paper found worse" in titles
    assert [title.split(":")[0] for title in titles].count("Tested reason") == 2
    assert len(told) == 3 * 4 + 9
    changed = next(sheet for sheet in result.sheets if sheet.title.startswith("Section 5.6"))
    assert [cell.printed for cell in changed.cells] == [None, *["worse"] * 4]


def test_an_unknown_data_set() -> None:
    with pytest.raises(ParameterError, match="choose among Chess, Voting"):
        singh_provan_1995(only=["Iris"])


def test_c45_stands_beside_its_printed_figure(voting: Reproduction) -> None:
    (own,) = [cell for cell in voting.cells if cell.name == "C4.5"]
    assert own.printed == C45["Voting"]["C4.5"]
    assert isinstance(own.ours, tuple)
    assert own.ours[0] > 90
    told = [cell.note for cell in voting.cells if "than C4.5" in cell.note or "as C4.5" in cell.note]
    assert len(told) == 3
    assert all(" in print, " in note and note.endswith(" here") for note in told)


# The methods, and the reasons


def test_the_models_are_the_library_as_it_comes() -> None:
    for method, model in models().items():
        usual = type(model)().get_params()
        own = model.get_params()
        changed = {name for name in own if name != "encoder" and not name.startswith("encoder__") and own[name] != usual[name]}
        assert changed <= {"equal", "metric"}, method
        assert model.encoder == STATE


def cases(name: str, rows: int = 150) -> tuple[object, object]:
    own = SETS[name]
    found = own.cases(data(own.file).parent)
    train = found.take(next(Splits(1, rows, 100).splits(found)).train)
    return train.features, train.labels


def test_in_order_of_entry_the_features_are_those_that_were_selected() -> None:
    X, y = cases("Voting")
    selecting = model_of("CGR-AS").set_params(learner="nb")
    own = InOrderOfEntry(selecting, model_of("CB")).fit(X, y)  # type: ignore[arg-type]
    selected = model_of("CGR-AS").fit(X, y).selected_
    assert own.order_ == selected
    names = [column.name for column in X.columns]  # type: ignore[attr-defined]
    assert [own.fitted_.network_.name(v) for v in range(len(selected))] == [names[x] for x in selected]
    assert own.predict_proba(X).shape == (150, 2)  # type: ignore[arg-type]


def test_class_last_selects_by_the_parents_of_the_class() -> None:
    """On Mushroom the odour alone says nearly everything, and with the class behind it nothing else is worth its parents."""
    X, y = cases("Mushroom", 500)
    own = ClassLast(encoder=STATE).fit(X, y)
    assert own.network_.name(own.selected_[0]) == "odor"
    assert len(own.selected_) <= len(model_of("K2-AS").fit(X, y).selected_)


def test_reasons_are_told_for_cells_outside_only() -> None:
    cells = (Cell("CIG-AS", (96.0, 1.0), (95.0, 1.0), "outside (p = 0.001)"), Cell("CB", (1.0, 1.0), (1.0, 1.0), INSIDE))
    (told,) = told_reasons([Sheet("Chess, table 2", cells)])
    assert "Chess, CIG-AS (-1.00): inside the noise if Info-AS goes on only while the gain is significant" in told.text
    (told,) = told_reasons([Sheet("Voting, table 2", cells)])
    assert "no reading that was tried" in told.text


@pytest.mark.slow
def test_all_of_tables_2_to_9(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(singh_provan, "CURVES", {})
    result = singh_provan_1995(data=folder(), alternatives=True)
    printed = {
        (sheet.title.partition(",")[0], cell.name): cell.verdict
        for sheet in result.sheets[:6]
        for cell in sheet.cells
        if cell.printed is not None
    }
    assert len(printed) == 47
    inside = {place for place, verdict in printed.items() if verdict == INSIDE}
    assert len(inside) >= 36
    explained = {place for reason in REASONS for place in reason.explains}
    assert len(inside | explained) >= 44
    pairs = [pair for own in result.pairings for pair in own.pairs if pair.verdict != NOT_THERE]
    assert len(pairs) == 87
    assert [pair.verdict for pair in pairs].count(AGREES) >= 60
    over_naive = [claim for claim in result.claims if claim.name.endswith("naive-ALL")]
    assert all(claim.plain_p < 0.05 and claim.difference > 0 for claim in over_naive)
    for reason in REASONS:
        tested = {
            cell.name: cell.verdict
            for sheet in result.sheets
            for cell in sheet.cells
            if sheet.title == f"Tested reason: {reason.told}"
        }
        for name, method in reason.explains:
            assert tested[f"{name}, {method}"] == INSIDE
        if reason.word == "class anywhere":
            assert all(verdict.startswith("outside") for verdict in tested.values())
