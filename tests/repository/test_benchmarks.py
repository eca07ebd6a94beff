"""The benchmarks run on a tiny workload: one job of naivete, one peer, and the printed tables."""

import json

import numpy as np
import pytest
from benchmarks import __main__ as command
from benchmarks import contenders, demands, job, measuring, report, runs, wide, wide_job, workloads

from naivete import _kernels

TINY = workloads.Spec(400, 100, 6, 3, 2, parents=2, signal=0.5)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setitem(workloads.SPECS, "W1", TINY)
    workloads.ensure("W1", tmp_path)
    return tmp_path


def test_a_workload_has_the_specified_shape_and_is_generated_once(folder):
    data = workloads.load("W1", folder)
    assert data.X.shape == (400, 6)
    assert data.X_test.shape == (100, 6)
    assert data.X.max() == 2
    assert set(data.y.tolist()) == {0, 1}
    before = (folder / "W1.xtr.u8").stat().st_mtime_ns
    workloads.ensure("W1", folder)
    assert (folder / "W1.xtr.u8").stat().st_mtime_ns == before


def test_the_bag_of_words_is_sparse(tmp_path):
    workloads.ensure("text", tmp_path, workloads.Spec(300, 20, 500, 2, 3, parents=None))
    data = workloads.load("text", tmp_path)
    assert 0 < data.X.mean() < 0.03
    assert len(np.unique(data.y)) == 3


def in_this_process(module, task, *, timeout, python, environment):
    with _kernels.use(environment.get("NAIVETE_KERNELS", _kernels.tier())):
        return json.loads(json.dumps(job.JOBS[task["do"]](task)))


@pytest.mark.parametrize("processes", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_one_command_prints_tables_and_writes_figures(folder, capsys, monkeypatch, processes):
    if not processes:
        monkeypatch.setattr(measuring, "in_fresh_process", in_this_process)
    out = folder / "figures.json"
    options = ["W1", "--jobs", "nb", "--peers", "naivete,scikit-learn", "--tier", "numpy", "--repeat", "1"]
    assert command.main([*options, "--data", str(folder), "--json", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "times as fast" in printed
    ours, theirs = json.loads(out.read_text())["classify"]
    assert (ours["library"], theirs["library"]) == ("naivete", "scikit-learn")
    assert ours["passes"] == 1
    assert ours["log_loss"] == pytest.approx(theirs["log_loss"], rel=1e-9)
    assert str(folder) not in printed


def test_a_peer_that_is_absent_is_listed(folder, monkeypatch):
    monkeypatch.setattr(contenders, "interpreter", lambda _: None)
    plan = runs.Plan(["W1"], ["nb"], ["Weka"], ["numpy"], folder, 1, 5, say=lambda _: None)
    (record,) = runs.classified(plan)
    assert record["failed"] == "not found"
    assert "not found" in report.classifiers("W1", [record])


def test_a_job_is_killed_after_the_timeout():
    slow = ["python3", "-c", "import time; time.sleep(60)"]
    assert measuring.json_output(slow, 0.2) == {"failed": "over 0 s"}


def test_arff_values_have_equal_width(tmp_path):
    path = tmp_path / "codes.arff"
    contenders.write_arff(path, np.array([[0, 11], [3, 4]], np.uint8), np.array([1, 0], np.uint8), 12, 2)
    assert path.read_text().splitlines()[-2:] == ["00,11,1", "03,04,0"]


def test_wide_tables_are_measured_once_and_compared(tmp_path, capsys, monkeypatch):
    made = []

    def in_this_process(command, timeout, environment):
        made.append(json.loads(command[-1]))
        return wide_job.main(made[-1])

    monkeypatch.setattr(measuring, "json_output", in_this_process)
    options = ["k2", "--sizes", "200x8", "--json", str(tmp_path / "figures.json")]
    assert wide.main(options) == 0
    assert wide.main([*options, "--before", str(tmp_path / "figures.json")]) == 0
    assert made == [{"learner": "k2", "rows": 200, "columns": 8}]
    assert capsys.readouterr().out.splitlines()[-1].endswith("| 1.0x |")


def test_verdicts():
    assert demands.Verdict("", "", "", 15.0, 15, at_least=True).outcome == "met"
    assert demands.Verdict("", "", "", 2.1, 2, at_least=False).outcome == "short"
    assert demands.Verdict("", "", "", 2.1, None, at_least=False).outcome == ""


def test_a_slow_peer_is_compared_by_the_row():
    ours = {"library": "naivete", "model": "tan", "workload": "W2", "tier": "c", "fit_s": 1.0, "fitted_rows": 100}
    peer = {"library": "pyAgrum", "model": "tan", "workload": "W2", "tier": None, "fit_s": 30.0, "fitted_rows": 10}
    common = {"predict_s": 1.0, "predicted_rows": 1}
    fit, _ = demands.speed([{**ours, **common}, {**peer, **common}])
    assert (fit.measured, fit.demanded, fit.outcome) == (pytest.approx(300.0), 200, "met")


def test_required_slopes_are_measured():
    assert {size for size, _ in demands.SLOPES} <= set(runs.SIZES)
