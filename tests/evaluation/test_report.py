from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from naivete import evaluation as experiments
from naivete.classifiers.losses import zero_one
from naivete.classifiers.specification import classifier_of
from naivete.data.generated import corral, led7
from naivete.data.table import Column, Table
from naivete.errors import FileError, ParameterError
from naivete.evaluation import KFold, LabelledTable, LearningCurve, label_table, run
from naivete.evaluation.comparison import Comparison, Comparisons
from naivete.evaluation.description import Description, read_description
from naivete.evaluation.report import LOWER, MEASURES, check_measure, check_protocol, report

MODELS = {name: classifier_of(name) for name in ("nb", "tan", "majority")}


@pytest.fixture(scope="module")
def data() -> Mapping[str, LabelledTable]:
    return {"corral": label_table(corral(), "class"), "led": label_table(led7(120), "digit")}


def test_one_data_set(data: Mapping[str, LabelledTable]) -> None:
    sets = {"corral": data["corral"]}
    found = report(run(MODELS, sets, KFold(4)), sets, KFold(4), baseline="tan")
    assert isinstance(found.comparison, Comparison)
    text = found.html()
    assert text.startswith("<!doctype html>")
    for part in (
        "Compared with tan",
        "1 x 4-fold cross-validation, seed 0",
        "calibration error",
        "predicted class",
        *found.comparison.sentences,
    ):
        assert part.replace("<", "&lt;") in text  # fmt: skip
    assert "Average ranks" not in text
    assert found.means()["corral"]["tan"]["accuracy"] == pytest.approx(found.comparison.mean)


def test_several_data_sets_have_a_diagram(data: Mapping[str, LabelledTable]) -> None:
    found = report(run(MODELS, data, KFold(3)), data, KFold(3), measure="log_loss")
    assert isinstance(found.comparison, Comparisons)
    assert not found.comparison.terms.higher_is_better
    text = found.html("<My title>")
    assert 'class="nv-cd"' in text
    assert "<h1>&lt;My title&gt;</h1>" in text
    assert text.count('class="heat"') == 6


@pytest.mark.filterwarnings("ignore:.*the training rows of some splits have no row")
def test_a_learning_curve_is_drawn_and_compared_at_its_end(data: Mapping[str, LabelledTable]) -> None:
    curve = LearningCurve((10, 20, 60), 4)
    found = report(run(MODELS, data, curve), data, curve)
    assert isinstance(found.comparison, Comparisons)
    assert {r.train for r in found.final.records} == {60}
    assert found.comparison.comparisons[0].rounds == 4
    text = found.html()
    assert text.count('class="chart"') == 2
    assert "accuracy against training rows" in text
    assert "compared at the largest training sets" in text


def test_many_classes_leave_the_confusion_out() -> None:
    columns = Column("a", np.arange(90.0) % 5), Column("c", np.arange(90) % 45)
    sets = {"many": label_table(Table(columns), "c")}
    models = {name: MODELS[name] for name in ("nb", "majority")}
    text = report(run(models, sets, KFold(2)), sets, KFold(2)).html()
    assert "there are 45 classes" in text
    assert 'class="heat"' not in text


def test_the_measures_are_those_of_an_experiment(data: Mapping[str, LabelledTable]) -> None:
    found = run(MODELS, {"corral": data["corral"]}, KFold(2), loss=zero_one(data["corral"].classes))
    assert set(found.measures) == set(MEASURES)
    for name in found.measures:
        best = min if name in LOWER else max
        tan, nothing = (sum(found.scores("corral", model, name)) for model in ("tan", "majority"))
        assert best(tan, nothing) == tan or name == "calibration_error"


def test_what_is_refused() -> None:
    with pytest.raises(ParameterError, match="did you mean brier"):
        check_measure("brierr", loss=False)
    check_measure("expected_loss", loss=True)
    check_protocol(KFold())
    with pytest.raises(ParameterError, match="two or more"):
        check_protocol(LearningCurve(count=1))


def test_a_description(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text('data = ["a.csv", "/b.csv"]\nalpha = 1\nmodels = ["nb"]\n', encoding="utf-8-sig")
    read = read_description(tmp_path / "e.toml")
    assert read == Description(data=[str(tmp_path / "a.csv"), "/b.csv"], alpha=1.0, models=["nb"])
    with pytest.raises(FileError, match="No such file"):
        read_description(tmp_path / "none.toml")


def test_everything_an_experiment_needs_is_exported(data: Mapping[str, LabelledTable], tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text('protocol = "3-fold"')
    protocol = experiments.protocol_of(experiments.read_description(tmp_path / "e.toml").protocol or "")
    sets = {"corral": data["corral"]}
    found = experiments.report(experiments.run(MODELS, sets, protocol), sets, protocol)
    assert isinstance(found, experiments.Report)
    assert set(experiments.__all__) >= {"Description", "Report", "compare", "compare_many", "read_description", "report"}
    assert all(hasattr(experiments, name) for name in experiments.__all__)


def test_a_report_takes_rows_and_labels(data: Mapping[str, LabelledTable]) -> None:
    cases = data["corral"]
    pair = cases.features, cases.y
    text = report(run(MODELS, pair, KFold(3)), pair, KFold(3)).html()
    assert "<td" in text


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("acuracy", "accuracy"),
        ("auc", "roc_auc"),
        ("sensitivity", "recall"),
        ("loss", "expected_loss"),
        ("f", "f1"),
        ("nats", "log_loss_nats"),
    ],
)
def test_an_error_about_an_unknown_measure_suggests_a_similar_one(
    data: Mapping[str, LabelledTable], wrong: str, meant: str
) -> None:
    with pytest.raises(ParameterError, match=f"did you mean {meant}\\?"):
        check_measure(wrong, loss=True)
    sets = {"corral": data["corral"]}
    with pytest.raises(ParameterError, match=f"did you mean {meant}\\?"):
        report(run({"nb": MODELS["nb"], "tan": MODELS["tan"]}, sets, KFold(2)), sets, KFold(2), measure=wrong)
