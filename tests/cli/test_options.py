"""Advice of the library reaches the command line as options; each line here is a real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from naivete.cli.options import in_options
from tests.cli.conftest import WEATHER, Run


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"a,b\n\xe9,1\n", [], "pass --encoding latin-1 or the encoding of the file"),
        (b"a,b\n1,\0\n", [], "if it is UTF-16, pass --encoding utf-16"),
        (b"a,b\n1,2\n", ["--encoding", "utf-99"], "naivete: --encoding utf-99 is unknown"),
        (b"a,b\n1,2\n", ["--delimiter", ",,"], "naivete: --delimiter ,, has to be one character"),
        (b"a,b\n1,2,3\n", [], "or pass --delimiter"),
    ],
)
def test_reading(run: Run, tmp_path: Path, content: bytes, options: list[str], message: str) -> None:
    file = tmp_path / "t.csv"
    file.write_bytes(content)
    assert message in run("describe", file, *options).err


def test_values_that_training_did_not_have(run: Run, model: Path, weather: Path) -> None:
    weather.write_text(WEATHER.replace("sunny", "fog"))
    assert run("predict", model, weather).err.splitlines()[0].endswith("; --unseen error names them")
    assert "or predict with --unseen marginalise" in run("predict", model, weather, "--unseen", "error").err


def test_an_empty_column(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("x,n,c\na,,0\nb,,1\n")
    assert "remove it (from files: --ignore) or fill it in" in run("fit", file, "--target", "c", "--out", tmp_path / "m.nvt").err


def test_columns_in_which_only_missing_values_may_matter(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "basket.csv"
    file.write_text(
        "milk,bread,n,c\n" + "".join(f"{'yes' if i % 2 else ''},{'yes' if i % 3 else ''},{i % 7},{i % 2}\n" for i in range(120))
    )
    err = run("fit", file, "--target", "c", "--model", "nb", "--out", tmp_path / "m.nvt").err
    assert "as with --missing state" in err
    assert err.count("--missing") == 1
    out = run("describe", file, "--target", "c").out
    assert "as with --missing state" in out.splitlines()[-1]
    assert "missing='state'" not in out
    assert (
        "--missing" not in run("fit", file, "--target", "c", "--missing", "state", "--out", tmp_path / "s.nvt", "--model", "nb").err
    )


def test_texts_that_are_perhaps_numbers_or_missing(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    rows = (f"{i % 60}%,{'?' if i % 10 else 'clerk'},{i % 7},{i % 2}\n" for i in range(400))
    file.write_text("share,job,n,c\n" + "".join(rows))
    for words in (["fit", "--model", "nb", "--out", tmp_path / "m.nvt"], ["evaluate", "--models", "nb"]):
        err = run(words[0], file, "--target", "c", *words[1:]).err
        assert "columns to check: 'share' (numbers as text, such as '0%'), 'job' ('?' in 90 % of the rows); convert" in err
        assert "(to use them so: --keep share); '?' counts as a value" in err
        assert "read CSV files with --missing-token '?'" in err
    out = run("describe", file, "--target", "c").out
    assert "  numbers as text, such as '0%'" in out
    assert "  '?' in 90 % of the rows" in out
    assert out.splitlines()[-1].endswith("--missing-token '?'")
    assert (
        "--keep" not in run("fit", file, "--target", "c", "--keep", "share,job", "--out", tmp_path / "k.nvt", "--model", "nb").err
    )


def test_formats_of_several_files(run: Run, weather: Path, model: Path) -> None:
    (weather.parent / "empty").mkdir()
    words = ["--target", "play", "--out", weather.with_name("m.nvt")]
    assert run("fit", weather.parent / "empty", *words).err.endswith("in .parquet, .csv or .arff, or pass --format\n")
    weather.with_name("other.arff").write_text("@relation r\n@attribute play numeric\n@data\n")
    err = run("fit", weather, weather.with_name("other.arff"), *words).err
    assert err.endswith("give files of one format, or pass --format\n")


def test_a_cluster_that_is_not_there() -> None:
    message = "`cluster='tcp://a:1'`: it cannot be reached; pass the address of a running scheduler, or 'local'"
    assert in_options(message) == "--cluster tcp://a:1: it cannot be reached; pass the address of a running scheduler, or 'local'"


def test_other_words_stay() -> None:
    assert in_options("p.csv: unseen='error' names") == "p.csv: unseen='error' names"
