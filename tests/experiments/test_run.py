from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

from naivete.domains import corral, led7
from naivete.errors import FileError, ParameterError
from naivete.experiments import KFold, Labelled, LearningCurve, Results, Splits, TrainTest, cross_validate, labelled, run
from naivete.experiments import run as exported
from naivete.experiments.comparison import compare_many
from naivete.experiments.records import Store
from naivete.losses import Loss
from naivete.models import classifier_of
from naivete.plain import CheckpointError
from naivete.table import Column, Table

run_module = sys.modules[exported.__module__]


def models(*names: str) -> dict[str, Any]:
    return {name: classifier_of(name) for name in names or ("nb", "tan", "kdb:k=2")}


@pytest.fixture(scope="module")
def cases() -> Labelled:
    return labelled(corral(), "class")


@pytest.fixture(scope="module")
def digits() -> Labelled:
    return labelled(led7(300, random_state=1), "digit")


@pytest.fixture(scope="module")
def both(cases: Labelled, digits: Labelled) -> Results:
    return run(models(), {"corral": cases, "led": digits}, KFold(4, 2), jobs=1)


def test_there_is_a_record_for_every_model_split_and_data_set(both: Results) -> None:
    assert both.data == ("corral", "led")
    assert both.models == ("nb", "tan", "kdb:k=2")
    assert len(both.records) == 2 * 8 * 3
    assert [(r.repeat, r.fold) for r in both.records[:24:3]] == [(r, f) for r in range(2) for f in range(4)]
    assert {r.train + r.test for r in both.records if r.data == "led"} == {300}


def test_a_frame_can_be_made_of_the_columns(both: Results) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(both.columns())
    assert len(frame) == 48
    assert list(frame)[:6] == ["data", "model", "repeat", "fold", "train", "test"]
    assert {"accuracy", "log_loss", "area", "fit_seconds"} <= set(frame)
    mean = frame[(frame.data == "led") & (frame.model == "nb")].accuracy.mean()
    assert mean == pytest.approx(np.mean(both.scores("led", "nb")))


def test_the_scores_are_those_of_cross_validation(both: Results, digits: Labelled) -> None:
    for result in cross_validate(models(), digits, folds=4, repeat=2):
        assert both.scores("led", result.model) == result.accuracies.tolist()
        assert both.scores("led", result.model, "log_loss") == pytest.approx(result.log_losses.tolist())
        assert both.confusion("led", result.model).tolist() == result.confusion.tolist()


def test_several_processes_and_any_order_give_the_same(both: Results, cases: Labelled, digits: Labelled) -> None:
    told: list[tuple[int, int, str]] = []
    again = run(models(), {"corral": cases, "led": digits}, KFold(4, 2), jobs=2, progress=lambda *a: told.append(a))
    assert again == both
    assert [done for done, _, _ in told] == list(range(17))
    assert told[0][1:] == (16, "")
    assert sorted(what for _, _, what in told)[1] == "corral, repetition 1, fold 1"


def test_one_repetition_is_divided_among_processes(digits: Labelled) -> None:
    assert run(models("tan"), digits, "5-fold", jobs=2) == run(models("tan"), digits, "5-fold", jobs=1)


def test_a_second_process_starts_when_much_is_left(digits: Labelled, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []
    elsewhere = run_module._elsewhere
    monkeypatch.setattr(run_module, "WORTH", 0.0)
    monkeypatch.setattr(run_module, "_processors", lambda: 2)
    monkeypatch.setattr(run_module, "_elsewhere", lambda w, t, jobs: started.append(len(t)) or elsewhere(w, t, 1))
    assert run(models("nb"), digits, KFold(3, 3)) == run(models("nb"), digits, KFold(3, 3), jobs=1)
    assert started == [2]


def test_learning_curves_have_means_and_error_bars(digits: Labelled) -> None:
    found = run(models("nb"), digits, LearningCurve((10, 50, 150), count=5, test=100))
    curve = found.curve("data", "nb")
    assert curve.sizes == (10, 50, 150)
    assert curve.means[0] < curve.means[2]
    values = np.array([r.measures["accuracy"] for r in found.records if r.train == 50])
    assert curve.halfwidths[1] == pytest.approx(2.7764451 * values.std(ddof=1) / math.sqrt(5))
    once = run(models("nb"), digits, LearningCurve((10,), count=1)).curve("data", "nb")
    assert math.isnan(once.halfwidths[0])


@pytest.mark.parametrize("protocol", [Splits(3), TrainTest(150, 50), LearningCurve((20, 100), count=2), KFold(3)])
def test_every_protocol_can_be_run_on_models_of_others_too(digits: Labelled, protocol: Any) -> None:
    found = run({**models("nb"), "dummy": DummyClassifier(strategy="prior")}, digits, protocol, jobs=1)
    alone = run(models("nb"), digits, protocol, jobs=1)
    assert found.scores("data", "nb") == alone.scores("data", "nb")
    assert found.scores("data", "dummy") != found.scores("data", "nb")


def test_losses_are_measured_where_they_are_given(cases: Labelled) -> None:
    loss = Loss.of([[0, 5], [1, 0]], cases.classes.tolist())
    found = run(models("nb"), cases, KFold(2), loss=loss)
    assert {"expected_loss", "least_expected_loss"} <= set(found.measures)


def test_test_rows_without_weight_are_left_out() -> None:
    x = np.array([0, 1] * 10)
    table = Table((Column("x", x, ("a", "b")), Column("c", x, ("no", "yes"))), np.array([0.0] * 2 + [1.0] * 18))
    found = run(models("nb"), labelled(table, "c"), KFold(20))
    assert len(found.scores("data", "nb")) == 18
    assert found.confusion("data", "nb").sum() == 18


def test_nothing_is_fitted_again_when_all_is_done(digits: Labelled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run(models(), digits, KFold(3), folder=tmp_path)
    monkeypatch.setattr(run_module, "answers", lambda *_: pytest.fail("a finished split was repeated"))
    assert run(models(), digits, KFold(3), folder=tmp_path) == first


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"protocol": KFold(3, random_state=1)}, "protocol"),
        ({"models": models("nb:smoothing=2")}, "models"),
        ({"loss": [[0, 1], [1, 0]]}, "loss"),
    ],
)
def test_another_experiment_does_not_go_on_in_the_folder(changed: Any, named: str, cases: Labelled, tmp_path: Path) -> None:
    own = {"models": models("nb"), "data": cases, "protocol": KFold(3), "folder": tmp_path, "jobs": 1}
    run(**own)
    with pytest.raises(CheckpointError, match=rf"of another run: {named}.*restart=True"):
        run(**{**own, **changed})
    assert run(**{**own, **changed, "restart": True}).models == tuple(changed.get("models", own["models"]))


def test_other_data_do_not_go_on_in_the_folder(cases: Labelled, digits: Labelled, tmp_path: Path) -> None:
    run(models("nb"), cases, KFold(3), folder=tmp_path)
    turned = Labelled(cases.features, cases.target, cases.classes, cases.labels[::-1].copy())
    with pytest.raises(CheckpointError, match="data"):
        run(models("nb"), turned, KFold(3), folder=tmp_path)


def test_one_run_at_a_time(cases: Labelled, tmp_path: Path) -> None:
    with Store(tmp_path, {}), pytest.raises(FileError, match="another run"):
        run(models("nb"), cases, KFold(3), folder=tmp_path)


def test_a_damaged_file_is_told(cases: Labelled, tmp_path: Path) -> None:
    run(models("nb"), cases, KFold(3), folder=tmp_path)
    file = next(tmp_path.glob("split-*"))
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(CheckpointError, match="restart"):
        run(models("nb"), cases, KFold(3), folder=tmp_path)


SCRIPT = """
import sys, time
from pathlib import Path
from naivete.domains import led7
from naivete.experiments import KFold, labelled, run
from naivete.models import classifier_of

def slowly(done, total, what):
    print(done, flush=True)
    time.sleep(0.05)

cases = labelled(led7(300, random_state=1), "digit")
models = {name: classifier_of(name) for name in ("nb", "tan", "kdb:k=2")}
run(models, cases, KFold(5, 4), folder=sys.argv[1], jobs=1, progress=slowly)
"""


def test_a_killed_run_goes_on_and_repeats_no_finished_split(digits: Labelled, tmp_path: Path) -> None:
    folder = tmp_path / "experiment"
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    while process.stdout.readline().strip() != "7":
        pass
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    files = {path: path.stat().st_mtime_ns for path in folder.glob("split-*")}
    assert 7 <= len(files) < 20
    time.sleep(0.01)
    told: list[int] = []
    resumed = run(models(), digits, KFold(5, 4), folder=folder, jobs=1, progress=lambda done, *_: told.append(done))
    assert told == list(range(len(files), 21))
    assert {path: path.stat().st_mtime_ns for path in files} == files
    assert resumed == run(models(), digits, KFold(5, 4), jobs=1)


def test_results_can_be_compared(both: Results) -> None:
    assert both.test_shares() == pytest.approx({"corral": 1 / 4, "led": 1 / 4})
    comparisons = compare_many(both.table(), test_share=both.test_shares())
    assert comparisons is not None
    assert both.table("brier")["led"]["tan"] == both.scores("led", "tan", "brier")


def test_wrong_arguments_are_told(both: Results, cases: Labelled) -> None:
    with pytest.raises(ParameterError, match="jobs"):
        run(models("nb"), cases, KFold(3), jobs=0)
    with pytest.raises(ParameterError, match="at least one classifier"):
        run({}, cases, KFold(3))
    with pytest.raises(ParameterError, match="did you mean 'accuracy'"):
        both.scores("led", "nb", "acuracy")
    with pytest.raises(ParameterError, match="data='iris'"):
        both.scores("iris", "nb")
    with pytest.raises(ParameterError, match="model='knn'"):
        both.curve("led", "knn")


def test_the_fingerprint_sees_every_cost() -> None:
    from naivete.experiments.run import _fingerprint
    from naivete.losses import Loss

    one = 1 - np.eye(40)
    two = one.copy()
    two[20, 25] = 99
    prints = [_fingerprint({}, {}, KFold(3), Loss.of(own, list(range(40)))) for own in (one, two, one.copy())]
    assert prints[0] != prints[1]
    assert prints[0] == prints[2]
