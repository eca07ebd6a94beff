from __future__ import annotations

import math
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB

from naivete.classifiers.augmented import NaiveBayes
from naivete.classifiers.losses import Loss
from naivete.classifiers.specification import classifier_of
from naivete.data.generated import corral, led7
from naivete.data.table import Column, Table
from naivete.encoding.encoder import Encoder
from naivete.errors import DataError, FileError, NaiveteWarning, ParameterError
from naivete.evaluation import KFold, LabelledTable, LearningCurve, Results, Splits, TrainTest, cross_validate, label_table, run
from naivete.evaluation import run as exported
from naivete.evaluation.comparison import compare_many
from naivete.evaluation.records import Store
from naivete.storage.differences import difference
from naivete.storage.packed import CheckpointError

run_module = sys.modules[exported.__module__]
small = pytest.mark.filterwarnings("ignore:.*the training rows of some splits have no row")


def models(*names: str) -> dict[str, Any]:
    return {name: classifier_of(name) for name in names or ("nb", "tan", "kdb:k=2")}


@pytest.fixture(scope="module")
def cases() -> LabelledTable:
    return label_table(corral(), "class")


@pytest.fixture(scope="module")
def digits() -> LabelledTable:
    return label_table(led7(300, random_state=1), "digit")


@pytest.fixture(scope="module")
def both(cases: LabelledTable, digits: LabelledTable) -> Results:
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
    assert {"accuracy", "log_loss", "roc_auc", "fit_seconds"} <= set(frame)
    mean = frame[(frame.data == "led") & (frame.model == "nb")].accuracy.mean()
    assert mean == pytest.approx(np.mean(both.scores("led", "nb")))


def test_the_scores_are_those_of_cross_validation(both: Results, digits: LabelledTable) -> None:
    for result in cross_validate(models(), digits, folds=4, repeat=2):
        assert both.scores("led", result.model) == result.accuracies.tolist()
        assert both.scores("led", result.model, "log_loss") == pytest.approx(result.log_losses.tolist())
        assert both.confusion("led", result.model).tolist() == result.confusion.tolist()


class Backwards:
    """In place of joblib's processes: the tasks are copied by pickling, and done in this process from the last to the first."""

    def __init__(self, **options: Any) -> None:
        assert options["n_jobs"] == 2

    def __call__(self, tasks: Iterable[Any]) -> Iterator[Any]:
        for function, positional, named in reversed([pickle.loads(pickle.dumps(task)) for task in tasks]):
            yield function(*positional, **named)


@pytest.mark.parametrize("processes", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_several_processes_and_any_order_give_the_same(
    both: Results, cases: LabelledTable, digits: LabelledTable, processes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not processes:
        monkeypatch.setattr("joblib.Parallel", Backwards)
    reports: list[tuple[int, int, str]] = []
    again = run(models(), {"corral": cases, "led": digits}, KFold(4, 2), jobs=2, progress=lambda *a: reports.append(a))
    assert again == both
    assert [done for done, _, _ in reports] == list(range(17))
    assert reports[0][1:] == (16, "")
    assert sorted(what for _, _, what in reports)[1] == "corral, repetition 1, fold 1"


def test_one_repetition_is_divided_among_processes(digits: LabelledTable) -> None:
    assert run(models("tan"), digits, "5-fold", jobs=2) == run(models("tan"), digits, "5-fold", jobs=1)


def test_a_second_process_starts_when_much_is_left(digits: LabelledTable, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []
    elsewhere = run_module._elsewhere
    monkeypatch.setattr(run_module, "WORTH", 0.0)
    monkeypatch.setattr(run_module, "cores", lambda: 2)
    monkeypatch.setattr(run_module, "_elsewhere", lambda w, t, jobs: started.append(len(t)) or elsewhere(w, t, 1))
    assert run(models("nb"), digits, KFold(3, 3)) == run(models("nb"), digits, KFold(3, 3), jobs=1)
    assert started == [2]


@small
def test_learning_curves_have_means_and_error_bars(digits: LabelledTable) -> None:
    found = run(models("nb"), digits, LearningCurve((10, 50, 150), count=5, test=100))
    curve = found.curve("data", "nb")
    assert curve.sizes == (10, 50, 150)
    assert curve.means[0] < curve.means[2]
    values = np.array([r.measures["accuracy"] for r in found.records if r.train == 50])
    assert curve.halfwidths[1] == pytest.approx(2.7764451 * values.std(ddof=1) / math.sqrt(5))
    once = run(models("nb"), digits, LearningCurve((10,), count=1)).curve("data", "nb")
    assert math.isnan(once.halfwidths[0])


@small
@pytest.mark.parametrize("protocol", [Splits(3), TrainTest(150, 50), LearningCurve((20, 100), count=2), KFold(3)])
def test_every_protocol_can_be_run_on_models_of_others_too(digits: LabelledTable, protocol: Any) -> None:
    found = run({**models("nb"), "dummy": DummyClassifier(strategy="prior")}, digits, protocol, jobs=1)
    alone = run(models("nb"), digits, protocol, jobs=1)
    assert found.scores("data", "nb") == alone.scores("data", "nb")
    assert found.scores("data", "dummy") != found.scores("data", "nb")


def test_losses_are_measured_where_they_are_given(cases: LabelledTable) -> None:
    loss = Loss.of([[0, 5], [1, 0]], cases.classes.tolist())
    found = run(models("nb"), cases, KFold(2), loss=loss)
    assert {"expected_loss", "least_expected_loss"} <= set(found.measures)


def test_test_rows_without_weight_are_left_out() -> None:
    x = np.array([0, 1] * 10)
    table = Table((Column("x", x, ("a", "b")), Column("c", x, ("no", "yes"))), np.array([0.0] * 2 + [1.0] * 18))
    found = run(models("nb"), label_table(table, "c"), KFold(20))
    assert len(found.scores("data", "nb")) == 18
    assert found.confusion("data", "nb").sum() == 18


def test_nothing_is_fitted_again_when_all_is_done(digits: LabelledTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run(models(), digits, KFold(3), folder=tmp_path)
    monkeypatch.setattr(run_module, "held_out_predictions", lambda *_: pytest.fail("a finished split was repeated"))
    assert run(models(), digits, KFold(3), folder=tmp_path) == first


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"protocol": KFold(3, random_state=1)}, "protocol"),
        ({"models": models("nb:smoothing=2")}, "models"),
        ({"loss": [[0, 1], [1, 0]]}, "loss"),
    ],
)
def test_another_experiment_cannot_resume_from_the_folder(changed: Any, named: str, cases: LabelledTable, tmp_path: Path) -> None:
    experiment = {"models": models("nb"), "data": cases, "protocol": KFold(3), "folder": tmp_path, "jobs": 1}
    run(**experiment)
    with pytest.raises(CheckpointError, match=rf"belongs to another run: {named}.*restart=True"):
        run(**{**experiment, **changed})
    assert run(**{**experiment, **changed, "restart": True}).models == tuple(changed.get("models", experiment["models"]))


def test_other_data_cannot_resume_from_the_folder(cases: LabelledTable, digits: LabelledTable, tmp_path: Path) -> None:
    run(models("nb"), cases, KFold(3), folder=tmp_path)
    turned = LabelledTable(cases.features, cases.target, cases.classes, cases.labels[::-1].copy())
    with pytest.raises(CheckpointError, match="data"):
        run(models("nb"), turned, KFold(3), folder=tmp_path)


def test_one_run_at_a_time(cases: LabelledTable, tmp_path: Path) -> None:
    with Store(tmp_path, {}), pytest.raises(FileError, match="another run"):
        run(models("nb"), cases, KFold(3), folder=tmp_path)


def test_a_damaged_file_is_reported(cases: LabelledTable, tmp_path: Path) -> None:
    run(models("nb"), cases, KFold(3), folder=tmp_path)
    file = next(tmp_path.glob("split-*"))
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(CheckpointError, match="restart"):
        run(models("nb"), cases, KFold(3), folder=tmp_path)


SCRIPT = """
import sys
from naivete.data.generated import led7
from naivete.evaluation import KFold, label_table, run
from naivete.classifiers.specification import classifier_of

def waiting(done, total, what):
    print(done, flush=True)
    if done == 7:
        sys.stdin.read()

cases = label_table(led7(300, random_state=1), "digit")
models = {name: classifier_of(name) for name in ("nb", "tan", "kdb:k=2")}
run(models, cases, KFold(5, 4), folder=sys.argv[1], jobs=1, progress=waiting)
"""


def test_a_killed_run_resumes_without_repeating_finished_splits(digits: LabelledTable, tmp_path: Path) -> None:
    folder = tmp_path / "experiment"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(folder)], text=True, **pipes)  # type: ignore[call-overload]
    assert any(line.strip() == "7" for line in process.stdout)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    files = {path: path.stat().st_mtime_ns for path in folder.glob("split-*")}
    assert len(files) == 7
    time.sleep(0.01)
    reports: list[int] = []
    resumed = run(models(), digits, KFold(5, 4), folder=folder, jobs=1, progress=lambda done, *_: reports.append(done))
    assert reports == list(range(len(files), 21))
    assert {path: path.stat().st_mtime_ns for path in files} == files
    assert resumed == run(models(), digits, KFold(5, 4), jobs=1)


def test_results_can_be_compared(both: Results) -> None:
    assert both.test_shares() == pytest.approx({"corral": 1 / 4, "led": 1 / 4})
    comparisons = compare_many(both.table(), test_share=both.test_shares())
    assert comparisons is not None
    assert both.table("brier")["led"]["tan"] == both.scores("led", "tan", "brier")


def test_invalid_arguments_are_reported(both: Results, cases: LabelledTable) -> None:
    with pytest.raises(ParameterError, match="jobs"):
        run(models("nb"), cases, KFold(3), jobs=0)
    with pytest.raises(ParameterError, match="at least one classifier"):
        run({}, cases, KFold(3))
    with pytest.raises(ParameterError, match="did you mean accuracy"):
        both.scores("led", "nb", "acuracy")
    with pytest.raises(ParameterError, match="data='iris'"):
        both.scores("iris", "nb")
    with pytest.raises(ParameterError, match="model='knn'"):
        both.curve("led", "knn")


def test_the_fingerprint_contains_every_cost() -> None:
    from naivete.classifiers.losses import Loss
    from naivete.evaluation.run import _fingerprint

    one = 1 - np.eye(40)
    two = one.copy()
    two[20, 25] = 99
    prints = [_fingerprint({}, {}, KFold(3), Loss.of(own, list(range(40)))) for own in (one, two, one.copy())]
    assert prints[0] != prints[1]
    assert prints[0] == prints[2]


def test_rows_and_labels_will_do(cases: LabelledTable) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({c.name: list(c) for c in cases.features.columns})
    found = run(
        models(), {"labelled": cases, "pair": (frame, cases.y), "lists": (frame.values.tolist(), cases.y.tolist())}, "3-fold"
    )
    assert found.scores("pair", "tan") == found.scores("labelled", "tan") == found.scores("lists", "tan")
    assert found.classes["pair"] == found.classes["labelled"]
    alone = run(models("nb"), (frame, pandas.Series(cases.y, name="kind")), "3-fold")
    assert alone.scores("data", "nb") == found.scores("pair", "nb")
    (result,) = cross_validate(models("nb"), (frame, cases.y), folds=3)
    assert result.accuracies.tolist() == alone.scores("data", "nb")


def test_models_of_others_learn_from_rows_and_labels_too() -> None:
    X, y = load_iris(return_X_y=True)
    found = run({"theirs": GaussianNB(), **models("nb")}, (X, y), "5-fold")
    assert min(found.scores("data", "theirs") + found.scores("data", "nb")) > 0.8


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (
            np.zeros((4, 2)),
            ParameterError,
            "data: an array is not a set of cases with labels; pass (X, y), label_table(table, target)",
        ),
        (corral(), ParameterError, "data: a Table is not a set of cases with labels"),
        ({"one": corral()}, ParameterError, "data 'one': a Table is not a set of cases"),
        ({}, ParameterError, "data: at least one data set is needed"),
        (None, ParameterError, "data: a NoneType is not a set of cases"),
        (([[1], [2]], [0, 1], [1, 1]), ParameterError, "data: a tuple of 3"),
        (([[1], [2]], [0, 1, 1]), DataError, "data: X and y differ in length"),
        ({"two": ([[1], [2]], [0, None])}, DataError, "data 'two': y has no label in row 2"),
        (([[1], [2]], None), DataError, "data: "),
        ((np.zeros((0, 2)), []), DataError, "data: "),
        ((np.zeros((3, 0)), [0, 1, 1]), DataError, "data: "),
    ],
)
def test_invalid_data_are_reported(data: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        run(models("nb"), data, "2-fold")
    assert str(caught.value).startswith(message)


def test_an_invalid_model_is_reported(cases: LabelledTable) -> None:
    with pytest.raises(ParameterError, match=r"models: 'nb': 'naive' is no classifier"):
        run({"nb": "naive"}, cases, "2-fold")
    with pytest.raises(ParameterError, match="models: pass classifiers by name"):
        run([NaiveBayes()], cases, "2-fold")  # type: ignore[arg-type]


def test_a_class_without_training_rows_is_reported_once() -> None:
    x = np.array([0, 1] * 15)
    labels = np.array(["no", "yes"] * 14 + ["seldom", "once"])
    data = {"few": (x[:, None], labels), "none": (x[:28, None], labels[:28])}
    with pytest.warns(NaiveteWarning) as told:
        run(models("nb", "majority"), data, KFold(5, 2), jobs=1)
    assert [str(w.message) for w in told] == [
        "few: the training rows of some splits have no row of the class 'once' (2 of 10 splits), 'seldom' (2 of 10 splits): models cannot "
        "predict it there, and its test rows count as errors"
    ]


def test_rows_of_weight_zero_add_no_class() -> None:
    table = Table((Column("x", np.arange(8) % 2), Column("c", np.arange(8) // 4)), np.array([1.0] * 4 + [0, 0, 0, 1]))
    with pytest.warns(NaiveteWarning, match=r"the class 1 \(1 of 4 splits\)"):
        run(models("nb"), label_table(table, "c"), KFold(4), jobs=1)


def test_the_difference_is_reported(digits: LabelledTable, tmp_path: Path) -> None:
    experiment: dict[str, Any] = {"models": models("nb", "tan"), "data": digits, "protocol": Splits(2), "folder": tmp_path}
    run(**experiment)

    def told(**changed: Any) -> str:
        with pytest.raises(CheckpointError) as caught:
            run(**{**experiment, **changed})
        return str(caught.value)

    assert re.search(
        r"was \.\.\..*, random_state=0\) and is now \.\.\..*, random_state=7\);", told(protocol=Splits(2, random_state=7))
    )
    assert "models: 'kdb:k=2' is new" in told(models=models("nb", "tan", "kdb:k=2"))
    assert "models: 'tan' is gone" in told(models=models("nb"))
    assert "models: 'tan' is gone, 'kdb:k=1' is new" in told(models=models("nb", "kdb:k=1"))
    assert "models: they were in another order" in told(models=models("tan", "nb"))
    one, two = ({"nb": classifier_of("nb", encoder=Encoder(max_integer_states=few)), **models("tan")} for few in (2, 3))
    run(**{**experiment, "models": one, "restart": True})
    assert re.search(
        r"models\['nb'\]\['encoder'\] was .*'max_integer_states': '2'.* and is now .*'max_integer_states': '3'", told(models=two)
    )


def test_a_difference_deep_in_long_texts_is_shown() -> None:
    common = "a" * 200
    message = difference({"models": {"m": {"s": f"{common}one{common}"}}}, {"models": {"m": {"s": f"{common}two{common}"}}})
    assert message.startswith("models['m']['s'] was ...aaa")
    assert "one" in message
    assert "two" in message
    assert len(message) < 200
    assert difference({"loss": [1, 2, 3]}, {"loss": [1, 5, 3]}) == "loss[1] was 2 and is now 5"
    assert difference({"a": 1}, {"a": "1"}) == "a was 1 and is now '1'"
    assert difference({"a": 1}, {"b": 1}) == "a was 1 and is now absent, b was absent and is now 1"
    assert difference({"a": 1, "b": {"c": 2.0}}, {"a": 1, "b": {"c": 2.0}}) == ""
    assert len(difference({str(i): 0 for i in range(20)}, {str(i): 1 for i in range(20)})) < 300
