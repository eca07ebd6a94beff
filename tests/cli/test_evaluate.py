from __future__ import annotations

from pathlib import Path

import pytest

from naivete.data.files import write
from naivete.data.generated import corral, led7
from tests.cli.conftest import Run


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    write(corral(), tmp_path / "corral.arff")
    write(led7(200), tmp_path / "led7.arff.gz")
    return [tmp_path / "corral.arff", tmp_path / "led7.arff.gz"]


def test_models_side_by_side(run: Run, files: list[Path]) -> None:
    ran = run("evaluate", files[0], "--models", "majority", "nb", "kdb:k=1,theta=0.03", "--folds", "5")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0] == f"{files[0]}: 128 rows, 5 folds, seed 0"
    assert [line.split()[0] for line in lines[1:5]] == ["model", "majority", "nb", "kdb:k=1,theta=0.03"]
    assert lines[1].split() == ["model", "accuracy", "%", "balanced", "F1", "AUC", "bits", "nats", "Brier", "RMSE", "fit", "s"]
    assert lines[4].count("*") == 8


def test_several_files_and_the_confusion(run: Run, files: list[Path]) -> None:
    ran = run("evaluate", *files, "--models", "nb;tan", "--folds", "3", "--repeat", "2", "--confusion", "--progress")
    assert ran.code == 0
    assert "3 folds x 2" in ran.out
    assert "nb: true class (rows), predicted class (columns)" in ran.out
    assert ran.out.splitlines()[-4].startswith("mean ")
    assert "naivete: evaluate: 24 of 24 (tan)" in ran.err


def test_the_rows_of_a_confusion_matrix_are_true_classes(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("x,c\n" + "a,no\n" * 6 + "a,yes\n" * 4)
    out = run("evaluate", file, "--target", "c", "--models", "majority", "--folds", "2", "--confusion").out.splitlines()
    at = out.index("majority: true class (rows), predicted class (columns)")
    assert [line.split() for line in out[at + 1 : at + 4]] == [["no", "yes"], ["no", "6", "0"], ["yes", "4", "0"]]


def test_files_of_one_name_are_told_apart(run: Run, files: list[Path]) -> None:
    other = files[0].parent / "other"
    other.mkdir()
    write(corral(), other / "corral.arff")
    ran = run("evaluate", files[0], other / "corral.arff", files[0], "--models", "nb", "--folds", "2")
    assert ran.out.splitlines()[-6].startswith(f"{files[0]} ")
    assert ran.out.splitlines()[-5].startswith(f"{other / 'corral.arff'} ")


def test_as_json(run: Run, files: list[Path]) -> None:
    (record,) = run("evaluate", files[0], "--models", "nb,kdb:k=1", "--folds", "4", "--seed", "3", "--json").json
    assert (record["rows"], record["folds"], record["seed"]) == (128, 4, 3)
    assert [result["model"] for result in record["results"]] == ["nb", "kdb:k=1"]
    assert record["results"][1]["accuracy"] == pytest.approx(sum(record["results"][1]["accuracies"]) / 4)
    assert sum(map(sum, record["results"][0]["confusion"])) == 128


def test_the_same_seed_gives_the_same_numbers(run: Run, files: list[Path]) -> None:
    options = ["--models", "nb", "tan", "--folds", "3", "--json"]
    once, again, other = (run("evaluate", files[1], *options, "--seed", s).json[0]["results"] for s in (1, 1, 2))
    accuracies = [[r["accuracies"] for r in results] for results in (once, again, other)]
    assert accuracies[0] == accuracies[1] != accuracies[2]


def test_unseen_values_are_noted(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("x,c\n" + "".join(f"{'abcdefgh'[i]},{i % 2}\n" for i in range(8)))
    ran = run("evaluate", file, "--target", "c", "--folds", "2", "--models", "nb")
    assert "values occurred that were not in the training rows" in ran.err


@pytest.mark.parametrize("wrong", [["--folds", "0"], ["--repeat", "0"], ["--seed", "-1"], ["--models", ";"]])
def test_ranges(run: Run, files: list[Path], wrong: list[str]) -> None:
    assert run("evaluate", files[0], *wrong).code == 2


def test_arguments_after_the_models(run: Run, files: list[Path]) -> None:
    assert run("evaluate", "--models", "nb", "tan", "--folds", "2", "--", files[0]).code == 0


def test_the_legend_explains_the_seconds(run: Run, files: list[Path]) -> None:
    assert "fit s: training time on the clock in seconds, all folds together" in run("evaluate", files[0], "--folds", "2").out


def test_a_model_that_fails_is_a_line_of_the_table(run: Run, files: list[Path]) -> None:
    words = ["evaluate", files[0], "--models", "nb", "kdb:k=5,theta=-inf", "majority", "--folds", "2", "--budget", "1KB"]
    ran = run(*words, "--progress")
    assert ran.code == 5
    lines = ran.out.splitlines()
    assert [line.split()[0] for line in lines[1:5]] == ["model", "nb", "majority", "kdb:k=5,theta=-inf:"]
    assert lines[4].startswith("kdb:k=5,theta=-inf: failed: ")
    assert "raise --budget" in lines[4]
    assert "raise --budget" in ran.err.splitlines()[-1]
    as_json = run(*words, "--json")
    assert as_json.code == 5
    assert [result["model"] for result in as_json.json[0]["results"]] == ["nb", "majority"]
    assert list(as_json.json[0]["errors"]) == ["kdb:k=5,theta=-inf"]
    several = run("evaluate", *files, *words[2:])
    assert [line.split()[:2] for line in several.out.splitlines() if line.startswith("accuracy % ")] == [["accuracy", "%"]]
    assert several.code == 5


@pytest.mark.parametrize(
    "models",
    [
        ["recursive", "kdb:k=5,theta=-inf", "nb"],
        ["kdb:k=5,theta=-inf", "recursive", "nb"],
        ["nb", "recursive", "kdb:k=5,theta=-inf"],
    ],
)
def test_the_model_that_fails_is_named_wherever_it_stands(run: Run, files: list[Path], models: list[str]) -> None:
    ran = run("evaluate", files[0], "--models", *models, "--folds", "2", "--budget", "1KB", "--json")
    (record,) = ran.json
    assert ran.code == 5
    assert list(record["errors"]) == ["kdb:k=5,theta=-inf"]
    assert [result["model"] for result in record["results"]] == [model for model in models if model != "kdb:k=5,theta=-inf"]


def test_progress_shows_the_model_that_is_being_fitted(run: Run, files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("naivete.cli.progress.INTERVAL", 0.0)
    ran = run("evaluate", files[0], "--models", "nb", "tan", "--folds", "2", "--progress")
    shown = [line.rpartition(" ")[2] for line in ran.err.splitlines() if "evaluate:" in line]
    assert shown == ["(tan)", "(nb)", "(tan)", "(tan)"]


def test_columns_left_out_and_the_budget(run: Run, files: list[Path]) -> None:
    words = ["evaluate", files[0], "--models", "kdb:k=2", "--folds", "2"]
    all_of_them = run(*words, "--json").json[0]["results"][0]
    fewer = run(*words, "--json", "--ignore", "A0,A1", "--ignore", "B0").json[0]["results"][0]
    assert fewer["accuracy"] < all_of_them["accuracy"]
    refused = run(*words, "--budget", "10")
    assert refused.code == 5
    assert "the budget is 10 bytes" in refused.err
    assert "raise --budget" in refused.err
    assert run(*words, "--budget", "1MiB").code == 0


def test_a_page_with_curves(run: Run, files: list[Path], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    ran = run("evaluate", *files, "--models", "nb", "tan:calibration=leave-one-out", "--folds", "3", "--html", page)
    assert (ran.code, ran.err) == (0, f"naivete: note: wrote the page to {page}\n")
    text = page.read_text()
    for part in ("ROC curves of", "averaged over the classes", "Below the diagonal a model is too sure", "log loss in nats", "AUC"):
        assert part in text
    assert text.count("<svg") == 4
    again = run("evaluate", files[0], "--models", "nb", "--folds", "2", "--html", page)
    assert again.code == 5
    assert "exists already" in again.err
    assert run("evaluate", files[0], "--models", "nb", "--folds", "2", "--html", page, "--force").code == 0


def test_classifiers_of_scikit_learn_are_for_comparison_only(run: Run, files: list[Path], tmp_path: Path) -> None:
    words = [files[0], "--models", "nb", "sk:tree"]
    assert [r["model"] for r in run("evaluate", *words, "--folds", "2", "--json").json[0]["results"]] == ["nb", "sk:tree"]
    compared = run("compare", *words, "--protocol", "3-fold", "--baseline", "sk:tree", "--measure", "log_loss_nats")
    assert (compared.code, compared.err) == (0, "")
    refused = run("fit", files[0], "--model", "sk:rf", "--out", tmp_path / "m.nvt")
    assert refused.code == 2
    assert "for comparison only" in refused.err
