"""Learning beside `fit`: what batches, merging, forgetting and files refuse, and what they leave alone."""

from __future__ import annotations

import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

from naivete import (
    KDB,
    TAN,
    DataError,
    DataTypeError,
    EqualWidth,
    FileError,
    NaiveBayes,
    NaiveteWarning,
    ParameterError,
    ResourceError,
    Variable,
)
from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.not_fitted import NotFittedError
from naivete.classifiers.registry import REGISTRY
from naivete.classifiers.saving import model_hash
from naivete.data.files import read
from naivete.data.table import Kind
from naivete.encoding.encoder import Encoder
from naivete.storage.packed import CheckpointError
from tests import estimator_of
from tests.representatives import slow_unless_representative

ALL: dict[str, NetworkClassifier] = {entry.name: estimator_of(entry) for entry in REGISTRY}
NAMES = {name: pytest.param(name, marks=slow_unless_representative(name)) for name in ALL}
every = pytest.mark.parametrize("name", NAMES.values())
keepers = pytest.mark.parametrize("name", [NAMES[name] for name, own in ALL.items() if not own.learns_from_value_counts])


def rows(seed: int = 0, n: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 3, n), rng.choice(["u", "v"], n)
    return pd.DataFrame({"a": a, "b": b, "c": rng.normal(size=n).round(2), "y": np.where((a > 0) ^ (b == "u"), "yes", "no")})


def taught(model: NetworkClassifier, frame: pd.DataFrame, **settings: Any) -> NetworkClassifier:
    return model.partial_fit(frame[["a", "b", "c"]], frame["y"], **settings)


def fitted(name: str, frame: pd.DataFrame) -> NetworkClassifier:
    return clone(ALL[name]).fit(frame[["a", "b", "c"]], frame["y"])


# --- F19: batches -----------------------------------------------------------------------------------------------------------------


@every
def test_f19_a_label_outside_the_classes_is_refused_and_nothing_changes(name: str) -> None:
    model = taught(clone(ALL[name]), rows(), classes=["no", "yes"])
    before = model_hash(model)
    strange = rows(1).assign(y="perhaps")
    with pytest.raises(DataError, match=r"X, row 1: the label 'perhaps' is not among the classes \['no', 'yes'\]"):
        taught(model, strange)
    assert model_hash(model) == before
    with pytest.raises(DataError, match="are not those of the first call"):
        taught(model, rows(1), classes=["no", "yes", "perhaps"])
    with pytest.raises(DataTypeError, match="mixes"):
        taught(clone(ALL[name]), rows(), classes=[1, 2])


@every
def test_f19_a_new_category_widens_the_tables_as_fitting_on_all_does(name: str) -> None:
    one, two = rows(), rows(1).assign(b="new")
    model = taught(taught(clone(ALL[name]), one), two)
    assert model_hash(model) == model_hash(fitted(name, pd.concat([one, two])))
    assert model.network_.variables[1].states == ("new", "u", "v")


@every
def test_f19_columns_are_matched_by_name_and_an_empty_batch_changes_nothing(name: str) -> None:
    one, two = rows(), rows(1)
    model = taught(clone(ALL[name]), one)
    model.partial_fit(two[["c", "a", "b"]], two["y"])
    assert model_hash(model) == model_hash(fitted(name, pd.concat([one, two])))
    before = model_hash(model)
    assert taught(model, one.iloc[:0]) is model
    assert model_hash(model) == before
    with pytest.raises(DataError, match="columns seen in training are missing: 'c'"):
        model.partial_fit(two[["a", "b"]], two["y"])
    with pytest.raises(DataError, match="expecting 3 features"):
        clone(model).partial_fit(one[["a", "b", "c"]].to_numpy(), one["y"]).partial_fit([["0", "u"]], ["no"])


@every
def test_f19_the_first_call_takes_the_classes_of_its_batch(name: str) -> None:
    only = rows().query("y == 'no'")
    model = taught(clone(ALL[name]), only)
    assert model.classes_.tolist() == ["no"]
    with pytest.raises(DataError, match="pass all of them as `classes` in the first call"):
        taught(model, rows(1))
    declared = taught(clone(ALL[name]), only, classes=["yes", "no"])
    assert declared.classes_.tolist() == ["no", "yes"]
    assert declared.predict(only[["a", "b", "c"]]).tolist() == ["no"] * len(only)


def test_an_empty_first_batch_leaves_the_classifier_unfitted() -> None:
    model = taught(KDB(), rows().iloc[:0], classes=["no", "yes"])
    with pytest.raises(NotFittedError):
        model.predict([[0, "u", 0.0]])


@keepers
def test_after_fit_partial_fit_begins_anew_and_says_so(name: str) -> None:
    model = fitted(name, rows())
    with pytest.warns(NaiveteWarning, match="starts from nothing"):
        taught(model, rows(1))
    assert model_hash(model) == model_hash(fitted(name, rows(1)))


def test_naive_bayes_goes_on_after_fit() -> None:
    model = taught(fitted("NaiveBayes", rows()), rows(1))
    assert model_hash(model) == model_hash(fitted("NaiveBayes", pd.concat([rows(), rows(1)])))
    assert model._kept is not None
    assert model._kept.batches is None


@every
def test_what_was_learned_does_not_change_with_the_callers_arrays(name: str) -> None:
    X, y = np.array([[0, 1], [1, 1], [1, 0], [0, 0]], np.uint8), np.array([0, 1, 1, 0], np.uint8)
    model, expected = clone(ALL[name]).partial_fit(X, y), clone(ALL[name]).fit(np.vstack([X, X]), np.hstack([y, y]))
    more, labels = X.copy(), y.copy()
    X[:], y[:] = 1, 0
    assert model_hash(model.partial_fit(more, labels)) == model_hash(expected)


def test_the_structure_can_be_kept() -> None:
    rng = np.random.default_rng(0)
    y, noise = rng.integers(0, 2, 300), rng.integers(0, 3, (300, 3))
    one, two = noise.copy(), noise.copy()
    one[:, 1], two[:, 2] = one[:, 0], two[:, 0]
    model = KDB(k=1).partial_fit(one, y)
    arcs = model.network_.arcs
    learned, kept = (
        pickle.loads(pickle.dumps(model)),
        model.partial_fit(np.vstack([two] * 3), np.hstack([y] * 3), structure="keep"),
    )
    learned.partial_fit(np.vstack([two] * 3), np.hstack([y] * 3))
    assert (kept.network_.arcs, kept.k_) == (arcs, 1)
    assert learned.network_.arcs != arcs
    everything = KDB(k=1).fit(np.vstack([one, *[two] * 3]), np.hstack([y] * 4))
    assert model_hash(learned) == model_hash(everything)
    assert model_hash(kept.partial_fit(two[:0], y[:0])) != model_hash(everything)
    kept.partial_fit(two[:1], y[:1])
    kept.forget(two[:1], y[:1])  # finds the structure anew
    assert model_hash(kept) == model_hash(everything)
    with pytest.raises(ParameterError, match="structure='no': choose 'learn' or 'keep'"):
        model.partial_fit(two, y, structure="no")


@every
def test_pickling_goes_on_where_it_was(name: str) -> None:
    model = pickle.loads(pickle.dumps(taught(clone(ALL[name]), rows())))
    assert model_hash(taught(model, rows(1))) == model_hash(fitted(name, pd.concat([rows(), rows(1)])))


# --- F20: merging ------------------------------------------------------------------------------------------------------------------


@every
def test_f20_what_was_set_up_differently_is_not_merged(name: str) -> None:
    one = taught(clone(ALL[name]), rows())
    before = model_hash(one)
    other = KDB(k=5) if name != "KDB" else TAN()
    with pytest.raises(ParameterError, match="cannot be merged with a"):
        one.merge(taught(other, rows(1)))
    alike = clone(ALL[name]).set_params(encoder=Encoder(max_integer_states=3))
    with pytest.raises(ParameterError, match=r"different parameters.*encoder: None and Encoder\("):
        one.merge(taught(alike, rows(1)))
    renamed = rows(1).rename(columns={"c": "d"})
    strange = clone(ALL[name]).partial_fit(renamed[["a", "b", "d"]], renamed["y"])
    with pytest.raises(DataError, match="different columns"):
        one.merge(strange)
    with pytest.raises(NotFittedError):
        one.merge(clone(ALL[name]))
    assert model_hash(one) == before


@every
def test_merging_is_commutative_and_associative(name: str) -> None:
    def made(seed: int) -> NetworkClassifier:
        return taught(clone(ALL[name]), rows(seed, 30))

    whole = model_hash(fitted(name, pd.concat([rows(s, 30) for s in range(3)])))
    assert model_hash(made(0).merge(made(1)).merge(made(2))) == whole
    assert model_hash(made(2).merge(made(0).merge(made(1)))) == whole
    with (
        pytest.raises(ParameterError, match="learn by partial_fit from the start")
        if name not in ("Majority", "NaiveBayes")
        else _nothing()
    ):
        fitted(name, rows()).merge(made(1))


def _nothing() -> Any:
    from contextlib import nullcontext

    return nullcontext()


# --- forgetting --------------------------------------------------------------------------------------------------------------------


@every
def test_what_was_never_learned_cannot_be_forgotten(name: str) -> None:
    model = taught(clone(ALL[name]), rows())
    before = model_hash(model)
    strange = rows().iloc[:3].assign(b="never")
    with pytest.raises(
        DataError, match=r"was learned fewer times than it would be forgotten|subtracted more often than it was counted"
    ):
        model.forget(strange[["a", "b", "c"]], strange["y"])
    with pytest.raises(DataError, match="not among the classes"):
        model.forget(strange[["a", "b", "c"]], ["perhaps"] * 3)
    with pytest.raises(DataError, match="no case would be left"):
        model.forget(rows()[["a", "b", "c"]], rows()["y"])
    assert model.forget(rows().iloc[:0][["a", "b", "c"]], []) is model
    assert model_hash(model) == before


@keepers
def test_a_row_of_weight_two_is_forgotten_as_two_rows(name: str) -> None:
    frame, twice = rows(n=20), rows(1, 4)
    model = taught(clone(ALL[name]), frame)
    model.partial_fit(twice[["a", "b", "c"]], twice["y"], sample_weight=[2.0] * 4)
    both = pd.concat([twice, twice])
    model.forget(both[["a", "b", "c"]], both["y"])
    assert model_hash(model) == model_hash(fitted(name, frame))


def test_numbers_counted_in_cells_cannot_be_taken_out(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("naivete.encoding.value_counts", "naivete.encoding.counting"):
        monkeypatch.setattr(f"{module}.CELLS", 25, raising=False)
    model = taught(NaiveBayes(), rows(n=200))
    with pytest.raises(DataError, match="column 'c': rows cannot be subtracted"):
        model.forget(rows(n=5)[["a", "b", "c"]], rows(n=5)["y"])
    cut = NaiveBayes(encoder=Encoder(cut=EqualWidth(7)))
    with pytest.raises(DataError, match="only value counts were kept"):
        taught(cut, rows(n=200))


# --- files -------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for seed in range(3):
        rows(seed, 50).to_csv(tmp_path / f"part-{seed}.csv", index=False)
    return tmp_path


def test_a_bad_value_names_file_line_column_and_value(folder: Path) -> None:
    text = (folder / "part-2.csv").read_text().splitlines()
    text[7] = "1,u,oops,no"
    (folder / "part-2.csv").write_text("\n".join(text))
    with pytest.raises(DataError, match=r"part-2\.csv:8: column 'c': value 'oops' is not a finite number"):
        KDB().fit_cases(folder, "y", kinds={"c": "numeric"})
    with pytest.warns(NaiveteWarning, match="'oops' is not a finite number, .*; the column is taken as text"):
        model = KDB(encoder=Encoder(keep=["c"])).fit_cases(folder, "y")  # nobody said that c is numeric: it is text, in all files
    assert "oops" in model.network_.variables[2].states


def learned(model: NetworkClassifier) -> Any:
    network = model.network_
    return network.variables, network.parents, {v: cpt.tolist() for v, cpt in network.cpts.items()}


@pytest.mark.parametrize("told", [{"a": "numeric", "c": "nominal"}, {"c": "nominal"}])
def test_kinds_of_parquet_and_arff_count_as_those_of_the_encoder(tmp_path: Path, told: dict[str, Kind]) -> None:
    table = rows(n=120)
    table["c"] = (10 * table["c"]).round()
    pq.write_table(pa.table({name: table[name].to_numpy() for name in table}), tmp_path / "t.parquet", row_group_size=50)
    head = "@relation t\n@attribute a numeric\n@attribute b {u,v}\n@attribute c numeric\n@attribute y {no,yes}\n@data\n"
    (tmp_path / "t.arff").write_text(head + table.to_csv(index=False, header=False))
    for file in (tmp_path / "t.parquet", tmp_path / "t.arff"):
        expected = learned(KDB(encoder=Encoder(kinds=told)).fit_cases(file, "y"))
        assert learned(KDB().fit_cases(file, "y", kinds=told)) == expected
        cases = read(file, kinds=told)
        assert learned(KDB().fit(cases.without("y"), cases["y"])) == expected
        assert learned(KDB().fit_cases(file, "y")) != expected
        for wrong in ({"cc": "nominal"}, {"c": "ordinal"}, "nominal"):
            with pytest.raises(ParameterError, match="kinds"):
                KDB().fit_cases(file, "y", kinds=wrong)
        with pytest.raises(DataError, match=r"column 'b': '[uv]' is not a number"):
            KDB().fit_cases(file, "y", kinds={"b": "numeric"})


def test_labels_and_weights_are_looked_at_in_every_part(folder: Path) -> None:
    text = (folder / "part-1.csv").read_text().splitlines()
    text[4] = "1,u,0.5,"
    (folder / "part-1.csv").write_text("\n".join(text))
    with pytest.raises(DataError, match=r"part-1\.csv:5: column 'y': no label"):
        NaiveBayes().fit_cases(folder, "y")
    with pytest.warns(NaiveteWarning, match="1 row without a label was left out"):
        dropped = NaiveBayes(encoder=Encoder(unlabelled="drop")).fit_cases(folder, "y")
    assert dropped.classes_.tolist() == ["no", "yes"]
    assert dropped.rows_ == 149
    with pytest.raises(ParameterError, match="there is no column 'z'"):
        NaiveBayes().fit_cases(folder, "z")
    with pytest.raises(DataError, match="cannot be the weight: it holds no numbers"):
        NaiveBayes(encoder=Encoder(unlabelled="drop")).fit_cases(folder, "y", weight="b")


def test_ignored_columns_are_no_features_and_not_even_read(tmp_path: Path) -> None:
    frame = rows()
    table = pa.Table.from_pandas(frame.assign(when=pd.Timestamp("2020-01-01"), id=range(len(frame))), preserve_index=False)
    pq.write_table(table, tmp_path / "rows.parquet")
    model = KDB().fit_cases(tmp_path / "rows.parquet", "y", ignore=["id", "when"])
    assert model_hash(model) == model_hash(fitted("KDB", frame))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]


def test_a_schema_that_is_none_is_refused(folder: Path) -> None:
    with pytest.raises(ParameterError, match="schema="):
        KDB().fit_cases(folder, "y", schema=[Variable("a", (0, 1, 2))])
    other = Variable("y", ("no",))
    with pytest.raises(DataError, match=r"part-0\.csv:\d+: column 'y': 'yes' is not a known class"):
        KDB().fit_cases(folder, "y", schema=[Variable("a", (0, 1, 2)), other])


def test_memory_is_planned_and_too_little_is_refused(folder: Path) -> None:
    with pytest.raises(ResourceError, match=r"memory=1000000` bytes are not enough .*allow at least"):
        KDB().fit_cases(folder, "y", memory=1_000_000)
    with pytest.raises(ParameterError, match="memory='1G'"):
        KDB().fit_cases(folder, "y", memory="1G")
    enough = KDB(k=2).fit_cases(folder, "y", memory=4_000_000_000)
    assert model_hash(enough) == model_hash(KDB(k=2).fit_cases(folder, "y"))


def test_what_is_no_source_is_refused(folder: Path) -> None:
    with pytest.raises(ParameterError, match="cases=3: pass the name of a file"):
        KDB().fit_cases(3, "y")
    with pytest.raises(ParameterError, match="encoding: these are options for reading files"):
        KDB().fit_cases(rows(), "y", encoding="utf-8")
    with pytest.raises(ParameterError, match="only runs on files can be resumed"):
        KDB().fit_cases(rows(), "y", checkpoint=folder / "saved")
    with pytest.raises(DataError, match="no row with a class"):
        KDB().fit_cases(rows().iloc[:0], "y")


def test_a_stream_that_can_be_read_once_is_enough_for_naive_bayes() -> None:
    def reader() -> Any:
        return pa.Table.from_pandas(rows(), preserve_index=False).to_reader(7)

    assert model_hash(NaiveBayes().fit_cases(reader(), "y")) == model_hash(fitted("NaiveBayes", rows()))
    with pytest.raises((DataError, FileError), match=r"once|consumed|function"):
        KDB().fit_cases(reader(), "y")


def test_progress_is_told_and_its_end_is_the_end(folder: Path) -> None:
    seen: list[tuple[int, int, int | None]] = []
    KDB(k=1).fit_cases(folder, "y", progress=lambda *told: seen.append(told))
    assert [number for number, _, _ in seen] == sorted(number for number, _, _ in seen)
    assert {number: done for number, done, _ in seen} == {1: 150, 2: 150, 3: 150}
    assert not [t for t in threading.enumerate() if t.name == "naivete-read-ahead"]


def test_a_column_of_too_many_values_is_refused_within_the_memory(tmp_path: Path) -> None:
    ids = pd.DataFrame({"id": [f"patient-{i}" for i in range(30_000)], "a": [1, 1, 2] * 10_000, "y": [0, 1] * 15_000})
    pq.write_table(pa.Table.from_pandas(ids, preserve_index=False), tmp_path / "ids.parquet", row_group_size=5000)
    with pytest.raises(ResourceError, match=r"column 'id' has [0-9,]+ distinct values so far.*leave it out \(`ignore="):
        NaiveBayes(budget=5_000_000).fit_cases(tmp_path / "ids.parquet", "y")
    assert NaiveBayes(budget=5_000_000).fit_cases(tmp_path / "ids.parquet", "y", ignore=["id"]).rows_ == 30_000


def test_an_empty_text_is_missing_wherever_it_comes_from(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": ["", "x", "z"] * 20, "b": [1, 2, 3] * 20, "y": ["p", "q", "q"] * 20})
    frame.to_parquet(tmp_path / "rows.parquet", index=False)
    expected = model_hash(KDB(k=1).fit(frame[["a", "b"]], frame["y"]))
    assert model_hash(KDB(k=1).fit_cases(tmp_path / "rows.parquet", "y")) == expected
    assert model_hash(KDB(k=1).fit_cases(pa.Table.from_pandas(frame), "y")) == expected


def test_whole_labels_are_the_same_labels_with_and_without_a_point(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1, 2, 3] * 20, "y": [1.0, 2.0, 2.0] * 20})
    frame.to_parquet(tmp_path / "rows.parquet", index=False)
    found = TAN().fit_cases(tmp_path / "rows.parquet", "y")
    assert found.classes_.tolist() == [1, 2]
    assert (
        model_hash(found)
        == model_hash(TAN().fit(frame[["a"]], frame["y"]))
        == model_hash(TAN().partial_fit(frame[["a"]], frame["y"]))
    )


def test_weights_whose_sum_might_be_infinite_are_refused() -> None:
    with pytest.raises(DataError, match=r"cases, row 3: the weight 1e\+308 is not a number below 1e\+290"):
        NaiveBayes().fit_cases(rows().assign(w=[1.0, 1.0, 1e308] + [1.0] * 77), "y", weight="w")


def test_arguments_that_mean_something_else_are_refused(folder: Path) -> None:
    for wrong in (
        {"ignore": "a"},
        {"ignore": 3},
        {"progress": 3},
        {"then": 3},
        {"every": "x"},
        {"schema": 3},
        {"schema": NaiveBayes()},
    ):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            NaiveBayes().fit_cases(folder, "y", **wrong)


@every
def test_a_batch_of_rows_that_do_not_count_changes_nothing(name: str) -> None:
    model = taught(clone(ALL[name]), rows())
    before = model_hash(model)
    assert model_hash(model.partial_fit(rows(1)[["a", "b", "c"]], rows(1)["y"], sample_weight=np.zeros(80))) == before
    reordered = clone(ALL[name]).partial_fit(rows(1)[["c", "a", "b"]], rows(1)["y"])
    assert model_hash(model.merge(reordered)) == model_hash(fitted(name, pd.concat([rows(), rows(1)])))


# --- checkpoints -------------------------------------------------------------------------------------------------------------------


class Stop(BaseException):
    pass


def test_an_interrupted_run_goes_on_where_it_was(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("naivete.cases.sources.ROWS", 20)
    expected = model_hash(KDB(k=2).fit_cases(folder, "y"))
    saved = folder.parent / "saved"
    reports: list[tuple[int, int]] = []

    def until(count: int) -> Any:
        def progress(number: int, done: int, _: Any) -> None:
            reports.append((number, done))
            if len(reports) == count:
                raise Stop

        return progress

    for count in (4, 3, 6, 8, 5):
        reports.clear()
        with pytest.raises(Stop):
            KDB(k=2).fit_cases(folder, "y", checkpoint=saved, every=0, progress=until(count))
    reports.clear()
    model = KDB(k=2).fit_cases(folder, "y", checkpoint=saved, every=0, progress=until(-1), then=lambda m: reports.append((0, 0)))
    assert model_hash(model) == expected
    assert reports[-1] == (0, 0)
    assert len(reports) < 9  # of 27 parts in three passes
    assert not saved.exists()


def test_a_checkpoint_knows_which_columns_turned_out_to_be_text(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("naivete.cases.sources.ROWS", 20)
    (folder / "part-2.csv").write_text("a,b,c,y\n1,u,oops,no\n")
    with pytest.warns(NaiveteWarning, match="taken as text"):
        expected = model_hash(KDB(k=1, encoder=Encoder(keep=["c"])).fit_cases(folder, "y"))
    saved, told = folder.parent / "saved", []

    def progress(*now: Any) -> None:
        told.append(now)
        if len(told) == 14:
            raise Stop

    with pytest.raises(Stop), pytest.warns(NaiveteWarning, match="taken as text"):
        KDB(k=1, encoder=Encoder(keep=["c"])).fit_cases(folder, "y", checkpoint=saved, every=0, progress=progress)
    assert model_hash(KDB(k=1, encoder=Encoder(keep=["c"])).fit_cases(folder, "y", checkpoint=saved, every=0)) == expected


def test_o2_a_checkpoint_of_other_data_or_settings_is_refused(folder: Path) -> None:
    saved = folder.parent / "saved"

    def stop(*_: Any) -> None:
        raise Stop

    def run(model: NetworkClassifier, **settings: Any) -> NetworkClassifier:
        return model.fit_cases(folder, "y", checkpoint=saved, every=0, **settings)

    with pytest.raises(Stop):
        run(KDB(k=2), progress=stop)
    with pytest.raises(CheckpointError, match=r"k was 2 and is now 1.*restart"):
        run(KDB(k=1))
    with (folder / "part-0.csv").open("a") as file:
        file.write("1,u,0.25,no\n")
    with pytest.raises(CheckpointError, match="files"):
        run(KDB(k=2))
    assert model_hash(run(KDB(k=2), restart=True)) == model_hash(KDB(k=2).fit_cases(folder, "y"))


def test_o5_two_runs_on_one_checkpoint(folder: Path) -> None:
    import os

    saved = folder.parent / "saved"

    def second(*_: Any) -> None:
        with pytest.raises(FileError, match=str(os.getpid())):
            KDB().fit_cases(folder, "y", checkpoint=saved)

    KDB().fit_cases(folder, "y", checkpoint=saved, progress=second)
