"""`naivete predict` on files that are not read at once: the same answers."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from naivete.cli import inputs
from naivete.data.files import read, write
from tests.cli.conftest import WEATHER, Run

LINES = WEATHER.splitlines(keepends=True)
MORE = "".join([LINES[0], *LINES[1:] * 5])


def stream(monkeypatch: pytest.MonkeyPatch, rows: int = 7) -> None:
    """Every file is large, and read so many rows at a time."""
    monkeypatch.setattr("naivete.cases.sources.ROWS", rows)
    monkeypatch.setattr(inputs, "LARGE", 0)


@pytest.mark.parametrize("rows", [7, 100])
@pytest.mark.parametrize("append", [[], ["--append"]], ids=["alone", "append"])
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "parquet"])
def test_the_same_answers(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, append: list[str], rows: int
) -> None:
    (tmp_path / "more.csv").write_text(MORE)
    words = ["predict", model, tmp_path / "more.csv", *append]
    whole = run(*words, "--out", tmp_path / f"whole.{ending}")
    printed = run(*words)
    stream(monkeypatch, rows)
    streamed = run(*words, "--out", tmp_path / f"streamed.{ending}")
    assert streamed == whole
    assert (streamed.code, streamed.out) == (0, "")
    assert "% of 40 labelled rows" in streamed.err
    assert run(*words) == printed
    one, two = (tmp_path / f"{name}.{ending}" for name in ("whole", "streamed"))
    if ending != "parquet" or rows > 40:
        assert one.read_bytes() == two.read_bytes()
    assert [(c.name, c.kind, c.declared, list(c)) for c in read(one).columns] == [
        (c.name, c.kind, c.declared, list(c)) for c in read(two).columns
    ]


@pytest.mark.parametrize("ending", ["csv.gz", "arff", "parquet"])
def test_from_every_format(run: Run, model: Path, weather: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    file = weather.with_name(f"cases.{ending}")
    write(read(weather), file)
    whole = run("predict", model, file, "--append")
    stream(monkeypatch, 3)
    assert run("predict", model, file, "--append") == whole


@pytest.mark.parametrize("form", ["several", "pattern", "folder"])
def test_many_files_are_one(run: Run, model: Path, tmp_path: Path, form: str) -> None:
    (tmp_path / "more.csv").write_text(MORE)
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "a.csv").write_text("".join(MORE.splitlines(keepends=True)[:20]))
    (parts / "b.csv.gz").write_bytes(gzip.compress("".join([LINES[0], *MORE.splitlines(keepends=True)[20:]]).encode()))
    given = {"several": [parts / "a.csv", parts / "b.csv.gz"], "pattern": [parts / "*.csv*"], "folder": [parts]}[form]
    assert run("predict", model, *given) == run("predict", model, tmp_path / "more.csv")


def test_numbers_are_written_as_if_read_at_once(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train, new = tmp_path / "t.csv", tmp_path / "n.csv"
    train.write_text("n,c\n1,a\n2,b\n1,a\n2,b\n")
    assert run("fit", train, "--target", "c", "--model", "nb", "--out", tmp_path / "m.nvt").code == 0
    new.write_text(
        "n,whole,part,gap,text\n" + "".join(f"{1 + i % 2},{i},{i / 2 if i > 8 else i},{i or ''},{i}\n" for i in range(20))
    )
    with new.open("a") as file:
        file.write("2.0,7,7,7,x\n" * 10)
    for ending in ("csv", "parquet"):
        words = ["predict", tmp_path / "m.nvt", new, "--append", "--out"]
        assert run(*words, tmp_path / f"whole.{ending}").code == 0
        with monkeypatch.context() as patched:
            stream(patched, 4)
            assert run(*words, tmp_path / f"streamed.{ending}").code == 0
        one, two = (read(tmp_path / f"{name}.{ending}") for name in ("whole", "streamed"))
        assert [(c.name, c.values.dtype, list(c)) for c in one.columns] == [(c.name, c.values.dtype, list(c)) for c in two.columns]
    assert (tmp_path / "whole.csv").read_bytes() == (tmp_path / "streamed.csv").read_bytes()


def test_a_column_that_turns_to_text(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train = tmp_path / "t.csv"
    train.write_text("n,c\n1,a\n2,b\n1,a\n2,b\n")
    assert run("fit", train, "--target", "c", "--model", "nb", "--out", tmp_path / "m.nvt").code == 0
    (tmp_path / "a.csv").write_text("n\n" + "1\n2\n" * 10)
    (tmp_path / "b.csv").write_text("n\n1\nx\n")
    (tmp_path / "all.csv").write_text("n\n" + "1\n2\n" * 10 + "1\nx\n")
    stream(monkeypatch, 4)
    monkeypatch.setattr(inputs, "LARGE", 1 << 20)
    ran = run("predict", tmp_path / "m.nvt", tmp_path / "a.csv", tmp_path / "b.csv")
    assert ran.code == 0
    assert ran.out == run("predict", tmp_path / "m.nvt", tmp_path / "all.csv").out
    assert "did not occur in training" in ran.err


def test_an_unused_column_that_turns_to_text(run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [f"{line.rstrip()},{'more' if at == 0 else 'x' if at == 8 else at}\n" for at, line in enumerate(LINES)]
    (tmp_path / "a.csv").write_text("".join(rows[:6]))
    (tmp_path / "b.csv").write_text("".join([rows[0], *rows[6:]]))
    (tmp_path / "all.csv").write_text("".join(rows))
    monkeypatch.setattr("naivete.cases.sources.ROWS", 2)
    ran = run("predict", model, tmp_path / "a.csv", tmp_path / "b.csv", "--append")
    assert ran.code == 0, ran.err
    assert ran.out == run("predict", model, tmp_path / "all.csv", "--append").out


def test_a_model_without_smoothing_marks_the_impossible(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train, new, model = tmp_path / "t.csv", tmp_path / "n.csv", tmp_path / "m.nvt"
    train.write_text("x,y,c\na,p,no\nb,q,yes\n")
    assert run("fit", train, "--target", "c", "--model", "nb:smoothing=0", "--out", model).code == 0
    new.write_text("x,y\na,p\na,p\na,p\na,q\n")
    whole = run("predict", model, new)
    stream(monkeypatch, 2)
    assert run("predict", model, new) == whole
    assert "1 row with probability zero in every class (the first is row 4)" in whole.err
    new.write_text("x,y\na,p\na,p\na,p\n")
    assert run("predict", model, new).out.splitlines()[0] == "predicted,P(no),P(yes),impossible"
    stream(monkeypatch, 3)
    assert run("predict", model, new).out.splitlines()[0] == "predicted,P(no),P(yes)"


def test_values_that_training_did_not_have(run: Run, model: Path, weather: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weather.write_text(WEATHER.replace("rain", "fog"))
    stream(monkeypatch, 2)
    ran = run("predict", model, weather)
    assert ran.err.splitlines()[:2] == [
        "naivete: note: values that did not occur in training were treated as missing ('outlook': 2); --unseen error names them",
        "naivete: note: the same is true of 1 later part of the rows",
    ]
    refused = run("predict", model, weather, "--unseen", "error")
    assert (refused.code, f"{weather}:4: column 'outlook': value 'fog'" in refused.err) == (3, True)


def test_a_failure_leaves_no_file(run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bad.csv").write_text(MORE + "rain,warm,no,yes\n")
    stream(monkeypatch)
    for out in (["--out", tmp_path / "answers.csv"], ["--out", tmp_path / "answers.parquet"], []):
        ran = run("predict", model, tmp_path / "bad.csv", *out)
        assert (ran.code, ran.out) == (3, "")
        assert f"{tmp_path / 'bad.csv'}:42: column 'temperature': value 'warm'" in ran.err
    assert not list(tmp_path.glob("answers*"))


def test_rows_that_are_not_there(run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "none.csv").write_text("outlook,temperature,windy\n")
    stream(monkeypatch)
    assert run("predict", model, tmp_path / "none.csv").out == "predicted,P(no),P(yes)\n"
    assert run("predict", model, tmp_path / "none.csv", "--append").out == "outlook,temperature,windy,predicted,P(no),P(yes)\n"


def test_columns_that_are_not_there(run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other.csv"
    stream(monkeypatch)
    other.write_text("outlook,temperatur\nsunny,1\n")
    gone = run("predict", model, other, "--unseen", "error")
    assert gone.code == 3
    assert f"{other}: columns seen in training are missing: 'temperature', 'windy'" in gone.err
    other.write_text("outlook,temperatur\n" + "sunny,1\n" * 9)
    monkeypatch.setattr("naivete.cases.sources.ROWS", 2)
    ran = run("predict", model, other)
    assert (ran.code, ran.err.count("columns seen in training are missing"), len(ran.out.splitlines())) == (0, 1, 10)
    other.write_text("outlook,temperature,windy,x\nsunny,1,no,0\n")
    assert run("predict", model, other).err == f"naivete: note: {other}: not used by the model: 'x' (1 column)\n"
    wrong = run("predict", model, other, "--kinds", "wind=nominal")
    assert (wrong.code, "wind" in wrong.err) == (2, True)


@pytest.mark.parametrize("out", [["--json"], ["--out", "answers.json"], ["--out", "answers.arff"]])
def test_what_is_written_at_once(run: Run, model: Path, weather: Path, out: list[str]) -> None:
    for given in ([weather, weather], [weather.parent], ["*.csv"], [weather, "--memory", "20G"]):
        ran = run("predict", model, *given, *out)
        assert ran.code == 2
        assert "as CSV or Parquet" in ran.err
    assert run("predict", model, weather.with_name("absent.csv"), *out).code == 5


def test_memory(run: Run, model: Path, weather: Path) -> None:
    assert run("predict", model, weather, "--memory", "20G") == run("predict", model, weather)
    ran = run("predict", model, weather, "--memory", "1M")
    assert (ran.code, ran.err.startswith("naivete: --memory 1000000 bytes are not enough")) == (5, True)


def test_the_output_is_none_of_the_inputs(run: Run, model: Path, weather: Path) -> None:
    weather.with_name("other.csv").write_text(WEATHER)
    ran = run("predict", model, weather.with_name("*.csv"), "--out", weather, "--force")
    assert (ran.code, "would replace the input" in ran.err) == (2, True)
    assert weather.read_text() == WEATHER


def test_the_progress(run: Run, model: Path, weather: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("naivete.cli.progress.INTERVAL", 0.0)
    stream(monkeypatch, 3)
    err = run("predict", model, weather, "--append", "--progress").err
    assert "naivete: predict: pass 1: 8 rows, 100% of the bytes, 0:00 left (" in err
    assert "naivete: predict: pass 2: " in err


def test_a_model_that_does_not_fit_is_refused_before_it_is_read(
    run: Run, model: Path, weather: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("naivete.cases.sources.resident", lambda: 100_000_000)
    monkeypatch.setattr("naivete.classifiers.saving.load", None)
    ran = run("predict", model, weather, "--memory", "100001000")
    assert ran.code == 5
    assert "--memory 100001000 bytes are not enough to predict with" in ran.err
    assert "allow at least --memory 141000000" in ran.err


def test_the_memory_of_the_tables_of_a_model(run: Run, model: Path, weather: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spectrum = model.with_name("spectrum.nvt")
    assert run("fit", weather, "--target", "play", "--model", "spectrum:members=1", "--out", spectrum).code == 0
    monkeypatch.setattr("naivete.cases.sources.resident", lambda: 100_000_000)
    for file in (model, spectrum):  # a spectrum needs four times its size beside the loaded model
        ran = run("predict", file, weather, "--memory", str(100_000_000 + 3 * file.stat().st_size))
        assert ("bytes are not enough to predict with" in ran.err) == (file == spectrum), ran.err
