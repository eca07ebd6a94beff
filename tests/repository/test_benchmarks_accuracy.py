"""The accuracy benchmark on two tiny data sets: runs, resumption, and the arithmetic of its tables on made-up results."""

import gzip
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.accuracy import __main__ as command
from benchmarks.accuracy import contenders, job, peers, report, runs, sets
from benchmarks.accuracy.results import Results, Setting, read
from benchmarks.accuracy.summary import summarize

SETTING = Setting(folds=2, rows=50)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with a mixed and a nominal set; one class has too few cases, one number of the mixed set is always missing."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    for name, kind in (("iris", "numeric"), ("monks-1", "{a,b}")):
        lines = [
            "@relation r",
            f"@attribute x {kind}",
            "@attribute z {u,v,w}",
            f"@attribute never {kind}",
            "@attribute class {no,yes,rare}",
            "@data",
        ]
        for i in range(40):
            y = "rare" if i == 7 else ("no", "yes")[i % 2]
            x = ("?" if i == 3 else f"{i % 2 + rng.normal():.3f}") if kind == "numeric" else "ab"[(i + i // 9) % 2]
            lines.append(f"{x},{'uvw'[i % 3]},?,{y}")
        (folder / f"{name}.arff.gz").write_bytes(gzip.compress("\n".join([*lines, ""]).encode()))
    return folder


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory):
    """A results file of two contenders on both sets, and what was printed."""
    path = tmp_path_factory.mktemp("results") / "accuracy.jsonl"
    said = []
    plan = runs.Plan(["iris", "monks-1"], ["nb"], data, 60, said.append)
    runs.run(plan, Results(path, SETTING))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "printed_records", records_of_this_process)
        runs.run(replace(plan, contenders=["sk:tree"]), Results(path, SETTING))
    return path, said


def records_of_this_process(task):
    for name, folds in task["sets"].items():
        yield from job.fold_records(name, folds, task)
        yield {"set": name, "ended": True}


def test_each_fold_has_a_record(finished):
    path, said = finished
    records = read(path)
    assert [(r["contender"], r["set"], r["fold"]) for r in records] == [
        (c, s, f) for c in ("nb", "sk:tree") for s in ("iris", "monks-1") for f in (0, 1)
    ]
    assert len(said) == 4
    for record in records:
        assert record["train"] + record["test"] == 39  # without the rare class
        assert record["classes"] == 2
        assert record["fit_s"] > 0
        assert "python" in record["versions"]


def test_only_missing_results_are_computed(finished, data, tmp_path, monkeypatch):
    lines = finished[0].read_text().splitlines(keepends=True)
    path = tmp_path / "accuracy.jsonl"
    path.write_text("".join(lines[:-1]) + lines[-1][:20])  # interrupted while the last line was written
    jobs = []
    monkeypatch.setattr(runs, "printed_records", lambda job: jobs.append(job) or iter(()))
    plan = runs.Plan(["iris", "monks-1"], ["nb", "sk:tree"], data, say=lambda _: None)
    runs.run(plan, Results(path, SETTING))
    assert [(j["contender"], j["sets"]) for j in jobs] == [("sk:tree", {"monks-1": [1]})]
    jobs.clear()
    results = Results(path, SETTING)
    results.forget("nb")
    runs.run(plan, results)
    assert (jobs[0]["contender"], jobs[0]["sets"]) == ("nb", {"iris": [0, 1], "monks-1": [0, 1]})
    jobs.clear()
    runs.run(plan, Results(path, Setting(folds=3, rows=50)))  # results of other folds do not count
    assert [list(j["sets"].values()) for j in jobs] == [[[0, 1, 2]] * 2] * 2


def test_an_interrupted_line_does_not_spoil_the_next_one(finished, tmp_path):
    path = tmp_path / "accuracy.jsonl"
    path.write_text(finished[0].read_text() + '{"set": "ir')
    results = Results(path, SETTING)
    results.add([{**made("iris", "new", 0, 0.1)}])
    assert read(path)[-1]["contender"] == "new"


def test_a_contender_that_exceeds_its_time_limit_is_tried_again_only_with_a_larger_one(tmp_path):
    results = Results(tmp_path / "r.jsonl", SETTING)
    common = {"set": "iris", "contender": "nb", "folds": 2, "rows": 50, "specification": "s"}
    results.add([{**common, "failed": "over 5 s of CPU time", "cpu_limit": 5}])
    assert results.missing_folds("iris", "nb", "s", 5) == []
    assert results.missing_folds("iris", "nb", "s", 6) == [0, 1]
    assert results.missing_folds("iris", "nb", "other", 5) == [0, 1]
    results.add([{**common, "failed": "ValueError: no"}])
    assert results.missing_folds("iris", "nb", "s", 60) == []
    results.forget_failures()
    assert results.missing_folds("iris", "nb", "s", 60) == [0, 1]


def test_errors_and_time_limits_of_a_contender_are_results(data, capfd, monkeypatch):
    def endless(*_):
        while True:
            pass

    def broken(*_):
        raise ValueError("no such thing")

    task = {"contender": "nb", "folds": 2, "rows": 50, "sets": {"iris": [0]}, "data": str(data), "cpu_limit": 0}
    monkeypatch.setattr(contenders, "prepared", lambda *_: (endless, None))
    job.run_all(task)
    monkeypatch.setattr(contenders, "prepared", lambda *_: (broken, None))
    job.run_all(task)
    slow, *wrong = map(json.loads, capfd.readouterr().out.splitlines())
    assert slow == {"set": "iris", "ended": True, "failed": "over 0 s of CPU time"}
    assert wrong == [{"set": "iris", "failed": "ValueError: no such thing"}, {"set": "iris", "ended": True}]


def test_the_command_prints_tables_and_reuses_results(finished, data, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "QUICK", SETTING)
    monkeypatch.setattr(runs, "printed_records", lambda _: pytest.fail("everything is computed already"))
    options = ["--quick", "--results", str(finished[0]), "--data", str(data), "--sets", "iris", "monks-1"]
    assert command.main(["nb", "sk:tree", *options, "--diagram", str(tmp_path / "cd.svg")]) == 0
    printed = capsys.readouterr().out
    for title in ("Mean log loss", "Mean rank", "Calibration", "Wins-draws-losses of nb"):
        assert title in printed
    assert (tmp_path / "cd.svg").read_text().startswith("<svg")
    assert command.main([*options, "--report", "--markdown", "--of", "sk:tree"]) == 0
    assert "| nb | " in capsys.readouterr().out


def test_a_report_without_results_says_so(tmp_path):
    with pytest.raises(SystemExit, match=r"none\.jsonl has no results for these data sets and contenders"):
        command.main(["--report", "--results", str(tmp_path / "none.jsonl"), "--sets", "iris"])


def test_a_peer_that_is_not_installed_is_left_out(monkeypatch, data, tmp_path):
    monkeypatch.setitem(peers.PEERS, "sk:tree", peers.Peer("no-such-package", "no_such_module", peers.tree, ""))
    said = []
    runs.run(runs.Plan(["iris"], ["sk:tree"], data, say=said.append), Results(tmp_path / "r.jsonl", SETTING))
    assert said == ["sk:tree is left out: no-such-package is not installed"]


@pytest.mark.parametrize("name", [name for name in peers.PEERS if name.startswith("sk:")])
def test_peers_return_probabilities(name, data):
    for data_set in ("iris",) if name == "sk:hgb" else ("iris", "monks-1"):
        cases = sets.read(data_set, data, 50)
        fit, predict = contenders.prepared(name, cases)
        split = sets.splits(cases, 2)[0]
        fit(split.train)
        assert predict(split.test).sum(axis=1) == pytest.approx(1)


def test_large_sets_are_cut_to_the_same_rows(data):
    first, second = (sets.read("iris", data, 20) for _ in range(2))
    assert len(first) == 19  # without the rare class
    assert (first.labels == second.labels).all()


def test_the_lists_of_sets_are_disjoint_and_complete():
    assert len(sets.ALL) == len(set(sets.ALL)) == 77
    assert sorted((*sets.NOMINAL, *sets.MIXED)) == sorted((*sets.CHOOSING, *sets.CONFIRMING)) == sorted(sets.ALL)
    assert sets.names_of(["nominal", "car"]) == list(sets.NOMINAL)
    with pytest.raises(SystemExit, match="unknown data sets: nothing"):
        sets.names_of(["nothing"])


def test_measures_by_hand():
    found = job.measures(np.array([[0.5, 0.5], [0.8, 0.2], [1.0, 0.0]]), np.array([0, 1, 1]))
    assert found["log_loss"] == pytest.approx((math.log(2) + math.log(5) + 15 * math.log(10)) / 3)
    assert (found["error"], found["zeros"]) == (2 / 3, 1)
    assert found["brier"] == pytest.approx((0.5 + 1.28 + 2) / 3)
    with pytest.raises(ValueError, match="finite"):
        job.measures(np.array([[np.nan, 1.0]]), np.array([0]))


def test_names_of_contenders():
    assert contenders.specification("kdb:k=2") != contenders.specification("kdb:k=1")
    assert contenders.checked("tan@before") == "tan@before"
    assert contenders.is_peer("sk:rf@old")
    with pytest.raises(SystemExit, match="among the peers"):
        contenders.checked("sk:nothing")


def made(data_set, contender, fold, loss, error=0.5, cpu=1.0, test=10):
    measured = {"log_loss": loss, "error": error, "brier": 0.5, "zeros": 1, "test": test, "fit_bytes": 2**20}
    times = {"fit_s": cpu, "fit_cpu_s": cpu, "predict_s": cpu, "predict_cpu_s": cpu}
    about = {
        "set": data_set,
        "contender": contender,
        "fold": fold,
        "folds": 2,
        "rows": 50,
        "specification": "s",
        "date": "2020-01-02",
    }
    return {**about, "versions": {"python": "3"}, **measured, **times}


@pytest.fixture
def made_up(tmp_path):
    """Results of `tan` and two peers on three sets; sk:rf did not end on one of them."""
    results = Results(tmp_path / "r.jsonl", SETTING)
    losses = {
        "tan": {"car": 0.100, "iris": 0.3, "zoo": 0.5},
        "sk:hgb": {"car": 0.1005, "iris": 0.2, "zoo": 0.6},
        "sk:rf": {"car": 0.05, "iris": 0.4},
    }
    seconds = {"tan": 0.5, "sk:hgb": 2.0, "sk:rf": 1.0}
    for contender, of_set in losses.items():
        for data_set, loss in of_set.items():
            folds = [(0, loss - 0.03, 30), (1, loss + 0.09, 10)]  # the mean of the cases is `loss`
            results.add(made(data_set, contender, fold, value, 0.25, seconds[contender], test) for fold, value, test in folds)
    results.add([{**made("zoo", "sk:rf", 0, 0.0), "failed": "over 5 s of CPU time"}])
    return results


def test_scores_by_hand(made_up):
    summary = summarize(made_up, sets.ALL, ["tan", "sk:hgb", "sk:rf"])
    assert summary.sets == ("car", "iris", "zoo")
    assert summary.column("log_loss", "tan") == pytest.approx([0.1, 0.3, 0.5])
    assert summary.column("zeros", "tan").tolist() == [2, 2, 2]
    common = summary.common()  # sk:rf has only two of three sets
    assert (common.contenders, common.sets) == (("tan", "sk:hgb"), summary.sets)
    assert common.means("log_loss") == pytest.approx({"tan": 0.3, "sk:hgb": 0.9005 / 3})
    assert common.ranks("log_loss").ranks == pytest.approx((4 / 3, 5 / 3))
    assert common.ranks("error").ranks == (1.5, 1.5)


def test_wins_losses_and_ratios_by_hand(made_up):
    summary = summarize(made_up, sets.ALL, ["tan", "sk:hgb", "sk:rf"])
    records = summary.records("tan", "log_loss")
    assert {name: str(record) for name, record in records.items()} == {"sk:hgb": "1-1-1", "sk:rf": "1-0-1"}
    assert [record.p for record in records.values()] == [1.0, 1.0]
    assert str(summary.records("tan", "error")["sk:hgb"]) == "0-3-0"
    assert [(x.data_set, x.best) for x in summary.losses("tan")] == [("iris", "sk:hgb"), ("car", "sk:rf")]
    assert summary.time_ratio("tan", "fit_cpu_s") == pytest.approx(0.25)
    assert summary.time_ratio("tan", "fit_cpu_s", "absent") is None


def test_the_report_names_what_is_missing(made_up):
    text = report.report(made_up, summarize(made_up, sets.ALL, ["tan", "sk:hgb", "sk:rf"]), "tan")
    assert "sk:rf (2)" in text
    assert "- sk:rf: over 5 s of CPU time: zoo" in text
    assert "2020-01-02, 2 stratified folds, at most 50 rows" in text
    assert ".300 / .250" in text
