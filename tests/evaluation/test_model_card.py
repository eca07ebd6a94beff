"""Model cards: what they state, that it is true, and that no name or value becomes markup."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import naivete
from naivete.classifiers.registry import REGISTRY
from naivete.display.markdown import markdown_text
from naivete.encoding.encoder import Encoder
from naivete.errors import DataError, ParameterError
from naivete.evaluation.measures import measures
from naivete.evaluation.model_card import held_out_measures, model_card
from tests.inference.test_distribution import patients

HOSTILE = [
    "a|b",
    "`code`",
    "line\nbreak",
    "<script>alert(1)</script>",
    "**bold**",
    "[link](http://x)",
    " space",
    "",
    "# head",
    "\\|",
]


def cells(line: str) -> list[str]:
    """The cells of a row of a table: split at the bars that are not escaped."""
    return [cell.strip() for cell in re.split(r"(?<!\\)(?:\\\\)*\|", line)[1:-1]]


def section(card: str, heading: str) -> str:
    return re.split(r"^## ", card.partition(f"## {heading}\n")[2], flags=re.MULTILINE)[0]


@pytest.mark.parametrize("entry", REGISTRY, ids=lambda entry: entry.name)
def test_every_classifier_has_a_card(entry: Any, tmp_path: Path) -> None:
    frame, labels = patients()
    model = entry.estimator().fit(frame, labels)
    card = model_card(model, test=(frame, labels))
    assert card.startswith(f"# Model card: {entry.name} for class\n")
    headings = ["Intended use", "Model", "Classes", "Columns", "Structure", "Evaluation", "Limits"]
    assert re.findall(r"^## (.*)$", card, re.MULTILINE) == headings
    naivete.save(model, tmp_path / "m.nvt")
    loaded = naivete.load(tmp_path / "m.nvt")
    assert model_card(loaded, test=(frame, labels)).replace("\n", "") == re.sub(r"\| training rows \| 80 \|", "", card).replace(
        "\n", ""
    )
    assert naivete.model_hash(model) in card
    assert model.missing_is_a_value == ("what depends on it is left out of the prediction" in section(card, "Limits"))
    assert f"{np.mean(model.predict(frame) == labels):.4f}" in section(card, "Evaluation")
    probabilities = [
        float(cells(line)[1]) for line in section(card, "Classes").splitlines() if line.startswith(("| ill", "| well"))
    ]
    assert sum(probabilities) == pytest.approx(1, abs=2e-4)
    if entry.name not in ("K2", "HillClimb", "CB", "PC"):
        assert probabilities[0] == pytest.approx(np.mean(labels == "ill"), abs=0.02)


def test_the_measures_are_those_of_the_test_cases() -> None:
    frame, labels = patients()
    model = naivete.TAN().fit(frame[:50], labels[:50])
    result = held_out_measures(model, (frame[50:], labels[50:]))
    expected = measures(np.searchsorted(model.classes_, labels[50:]), model.predict_proba(frame[50:]), model.classes_)
    assert result.measures == expected
    card = model_card(model, test=result)
    assert f"| accuracy | {expected['accuracy']:.4f} |" in card
    assert "On 30 test cases (SHA-256" in card
    assert card == model_card(model, test=(frame[50:], labels[50:]))
    assert "*Not evaluated." in model_card(model)


def test_test_cases_of_one_class() -> None:
    frame, labels = patients()
    model = naivete.TAN().fit(frame, labels)
    ill = frame[labels == "ill"]
    card = section(model_card(model, test=(ill, ["ill"] * len(ill))), "Evaluation")
    assert "| area under the ROC curve (mean over the classes) | cannot be computed: all test cases are of one class |" in card
    (row,) = (cells(line) for line in card.splitlines() if line.startswith("| ill"))
    assert (row[3], row[5]) == ("-", "-")
    assert "On 1 test case (SHA-256" in model_card(model, test=(ill[:1], ["ill"]))


def test_numbers_as_labels_and_weights() -> None:
    frame, labels = patients()
    numbers = (labels == "ill").astype(int)
    model = naivete.NaiveBayes().fit(frame, numbers)
    table = naivete.Table((*naivete.table_of(frame).columns, naivete.Column("class", numbers)), weight=np.full(80, 0.5))
    result = held_out_measures(model, naivete.evaluation.label_table(table, "class"))
    assert (result.rows, result.weight) == (80, 40.0)
    assert result.measures["accuracy"] == pytest.approx(np.mean(model.predict(frame) == numbers))
    assert "with a total weight of 40" in model_card(model, test=result)
    with pytest.raises(DataError, match="row 1 has the label 'other'"):
        held_out_measures(model, (frame, ["other"] * 80))


def test_policies_columns_and_parameters_are_stated() -> None:
    frame, labels = patients(missing=True)
    frame["id"] = [f"patient {i}" for i in range(len(frame))]
    encoder = Encoder(missing="state", unseen="smooth")
    with pytest.warns(naivete.UnsuitableColumnWarning):
        model = naivete.KDB(k=1, smoothing=0, encoder=encoder).fit(frame, labels)
    card = model_card(model, purpose="To test.\n\nNot | for `patients`.")
    rows = {cells(line)[0]: cells(line)[1:] for line in section(card, "Columns").splitlines() if line.startswith("| ")}
    assert rows["id"][:3] == ["not used", "-", "-"]
    assert rows["town"][:4] == ["nominal", "north, south", "a state of its own", "one state of its own"]
    assert rows["age"][0].startswith("numeric, ")
    assert "To test.\n\nNot \\| for \\`patients\\`.\n" in section(card, "Intended use")
    assert "k=1" in section(card, "Model")
    limits = section(card, "Limits")
    assert "Columns left out, because they carry no information for new rows: id." in limits
    assert "In town missing is a state of its own." in limits
    assert "prior" not in section(model_card(naivete.NaiveBayes().fit(frame[["town"]], labels)), "Limits")


def test_the_card_says_where_a_missing_value_is_a_value_of_its_own() -> None:
    frame, labels = patients()
    frame["age"] = frame["age"].where(np.arange(len(frame)) % 4 > 0)
    frame["town"] = "north"
    frame.loc[::2, "town"] = "south"
    card = model_card(naivete.Spectrum(members=1).fit(frame, labels))
    rows = {cells(line)[0]: cells(line)[1:] for line in section(card, "Columns").splitlines() if line.startswith("| ")}
    assert rows["age"][2] == "a state of its own"
    assert rows["town"][2] == "unknown"
    assert "A missing value is a value of its own in age: it counts" in section(card, "Limits")


def test_densities_calibration_and_priors() -> None:
    frame, labels = patients()
    card = model_card(naivete.NaiveBayes(encoder=Encoder(numbers="normal"), prior="uniform").fit(frame, labels))
    assert "| age | numeric, normal density | - |" in card
    assert "changed by the parameters prior" in card
    assert "| ill | 0.5000 |" in card
    assert "(calibration by leave-one-out)" in model_card(naivete.TAN(calibration="leave-one-out").fit(frame, labels))


def test_names_and_values_cannot_become_markup() -> None:
    frame = pd.DataFrame({name: np.random.default_rng(i).choice(HOSTILE[:6], 60) for i, name in enumerate(HOSTILE)})
    model = naivete.TAN().fit(frame, np.array(HOSTILE[:2] * 30))
    card = model_card(model, test=(frame, np.array(HOSTILE[:2] * 30)), purpose="<b>|\n# no heading")
    assert len(re.findall(r"^#", card, re.MULTILINE)) == 8
    assert "<script" not in card
    assert "<b>" not in card
    for heading, width in (("Columns", 6), ("Classes", 2), ("Model", 2)):
        lines = [line for line in section(card, heading).splitlines() if line.startswith("|")]
        assert {len(cells(line)) for line in lines} == {width}
    columns = [cells(line)[0] for line in section(card, "Columns").splitlines() if line.startswith("| ")]
    assert columns[1:] == [markdown_text(name) for name in HOSTILE]
    outside = re.sub(r"\\.", "", card)
    assert outside.count("`") % 2 == 0
    assert set(re.findall(r"`([^`]*)`", outside)) >= {"tan"}


def test_renderers_show_names_as_they_are() -> None:
    """markdown-it is the parser of Jupyter's tools; where it is not installed, the tests above remain."""
    markdown_it = pytest.importorskip("markdown_it")
    parser = markdown_it.MarkdownIt("commonmark").enable("table")
    for name in HOSTILE:
        html = parser.render(f"| a | b |\n|---|---|\n| {markdown_text(name)} | x |\n")
        shown = re.findall(r"<td>(.*?)</td>", html)
        expected = name.replace("\n", "\\n") if name.strip() == name and name else f'"{name}"'
        escaped = expected.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
        assert shown == [escaped, "x"]


def test_wrong_arguments() -> None:
    frame, labels = patients()
    with pytest.raises(naivete.NotFittedError):
        model_card(naivete.TAN())
    with pytest.raises(ParameterError, match="model=5: pass a fitted classifier"):
        model_card(5)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="purpose=3"):
        model_card(naivete.TAN().fit(frame, labels), purpose=3)  # type: ignore[arg-type]
