"""`naivete fit` on files that are not read at once: the same model, whatever comes between."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from naivete.cli import inputs
from naivete.data.files import read, read_csv, write
from tests.cli.conftest import Run

HEADER = "id,outlook,temperature,code,w,play\n"


def lines(count: int, seed: int = 0) -> list[str]:
    """Rows with missing values, some without a class."""
    draw = random.Random(seed)
    return [
        f"p{i},{draw.choice(['sunny', 'rain', ''])},{draw.choice(['', round(draw.gauss(20, 8), 1)])},{draw.randrange(4)},"
        f"{draw.choice([0, 1, 2.5])},{draw.choice(['yes', 'no', 'no']) if draw.random() < 0.95 else ''}\n"
        for i in range(count)
    ]


def data(path: Path, rows: list[str]) -> Path:
    path.write_text(HEADER + "".join(rows))
    return path


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is large, and read seven rows at a time."""
    monkeypatch.setattr("naivete.cases.sources.ROWS", 7)
    monkeypatch.setattr(inputs, "LARGE", 0)


OPTIONS = {
    "plain": [],
    "weight": ["--weight", "w"],
    "ignore": ["--ignore", "id,code"],
    "kinds": ["--ignore", "id", "--kinds", "code=nominal,play=nominal"],
    "nominal": ["--kinds", "nominal", "--weight", "w"],
    "cut": ["--cut", "width:3", "--ignore", "id", "--missing", "state", "--unseen", "smooth"],
}


ENDINGS = ["csv", "csv.gz", "tsv", "arff", "parquet"]


@pytest.mark.parametrize(
    ("ending", "name"),
    [
        pytest.param(ending, name, marks=() if ending == "csv" or name == "nominal" else pytest.mark.slow)
        for ending in ENDINGS
        for name in OPTIONS
    ],
)
def test_the_same_bytes(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, name: str) -> None:
    file = tmp_path / f"t.{ending}"
    write(read_csv(data(tmp_path / "plain.csv", lines(60))), file)
    words = ["fit", file, "--target", "play", "--drop-unlabelled", *OPTIONS[name], "--model", "kdb:k=1", "--out"]
    whole = run(*words, tmp_path / "whole.nvt", "--json")
    monkeypatch.setattr("naivete.cases.sources.ROWS", 7)
    monkeypatch.setattr(inputs, "LARGE", 0)
    streamed = run(*words, tmp_path / "streamed.nvt", "--json")
    assert (whole.code, streamed.code) == (0, 0), streamed.err
    assert (tmp_path / "whole.nvt").read_bytes() == (tmp_path / "streamed.nvt").read_bytes()


@pytest.mark.parametrize("form", ["several", "pattern", "folder"])
def test_many_files_are_one(run: Run, tmp_path: Path, small: None, form: str) -> None:
    rows = lines(60)
    whole = data(tmp_path / "all.csv", rows)
    parts = tmp_path / "parts"
    parts.mkdir()
    named = [data(parts / f"part-{at}.csv", rows[20 * at : 20 * (at + 1)]) for at in range(3)]
    given = {"several": named, "pattern": [parts / "part-*.csv"], "folder": [parts]}[form]
    options = ["--target", "play", "--drop-unlabelled", "--weight", "w", "--model", "tan", "--out"]
    assert run("fit", whole, *options, tmp_path / "a.nvt").code == 0
    ran = run("fit", *given, *options, tmp_path / "b.nvt")
    assert ran.code == 0, ran.err
    assert (tmp_path / "a.nvt").read_bytes() == (tmp_path / "b.nvt").read_bytes()
    size = sum(file.stat().st_size for file in named)
    assert f"  read      {size / 1e3:,.1f} kB in 3 files\n" in ran.out
    assert "rows per second" in ran.out
    named_in_head = f"{named[0]} and 2 more" if form == "several" else given[0]
    assert ran.out.startswith(f"tan learned from {named_in_head}\n")


def test_the_summary_as_json(run: Run, weather: Path) -> None:
    report = run("fit", weather, "--target", "play", "--memory", "20G", "--out", weather.with_name("m.nvt"), "--json").json
    assert (report["rows"], report["target"], report["data"], report["files"]) == (8, "play", str(weather), 1)
    assert report["read_mb"] == weather.stat().st_size / 1e6
    assert report["rows_per_second"] > 0


def test_a_column_that_turns_to_text(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("naivete.cases.sources.ROWS", 7)
    rows = "".join(f"{i if i < 300 else 'x'},{'ab'[i % 2]}\n" for i in range(301))
    (tmp_path / "one.csv").write_text(f"n,c\n{rows}")
    half = rows.splitlines(keepends=True)
    (tmp_path / "a.csv").write_text("n,c\n" + "".join(half[:150]))
    (tmp_path / "b.csv").write_text("n,c\n" + "".join(half[150:]))
    assert run("fit", tmp_path / "one.csv", "--target", "c", "--out", tmp_path / "a.nvt").code == 0
    assert run("fit", tmp_path / "a.csv", tmp_path / "b.csv", "--target", "c", "--out", tmp_path / "b.nvt").code == 0
    assert (tmp_path / "a.nvt").read_bytes() == (tmp_path / "b.nvt").read_bytes()


def test_the_last_column_of_arff_is_the_class(run: Run, tmp_path: Path, weather: Path) -> None:
    folder = tmp_path / "year=2020"
    folder.mkdir()
    write(read(weather), folder / "weather.arff")
    shown = run("fit", folder.parent, "--format", "arff", "--out", tmp_path / "m.nvt")
    assert shown.code == 3  # weather.csv is no ARFF file
    weather.unlink()
    report = run("fit", tmp_path, "--out", tmp_path / "m.nvt", "--json").json
    assert (report["target"], report["features"]) == ("play", 4)


def test_the_class_has_to_be_named(run: Run, weather: Path) -> None:
    ran = run("fit", weather, "--memory", "20G", "--out", "m.nvt")
    assert ran.code == 2
    assert "Name it with --target; the columns are: outlook, temperature, windy, play" in ran.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ignore", "wind"], "--ignore: there is no column 'wind'; did you mean 'windy'? The columns are: outlook,"),
        (["--ignore", "play"], "--ignore: the column 'play' is the target; leave it in"),
        (["--weight", "zzzz"], "--weight: there is no column 'zzzz'; the columns are: outlook,"),
        (["--kinds", "wind=nominal"], "no column 'wind'"),
        (["--memory", "much"], "argument --memory: 'much' is not a number of bytes; write for instance 500MB or 2GiB"),
        (["--every", "soon"], "argument --every: 'soon' is not a number of seconds; write for instance 30"),
        (["--every", "nan"], "'nan' is not a number of seconds"),
        (["--restart"], "--restart is for checkpoints; name their folder with --checkpoint"),
        (["--every", "3"], "--every is for checkpoints"),
    ],
)
def test_what_cannot_be_meant(run: Run, weather: Path, options: list[str], message: str) -> None:
    memory = [] if "--memory" in options else ["--memory", "20G"]
    ran = run("fit", weather, "--target", "play", "--out", weather.with_name("m.nvt"), *memory, *options)
    assert ran.code == 2
    assert message in ran.err
    assert ran.err.count("\n") == 1


def test_a_value_that_is_no_number_in_the_third_file(run: Run, tmp_path: Path) -> None:
    files = [tmp_path / f"{at}.csv" for at in range(3)]
    for file in files:
        file.write_text("n,c\n1.5,a\n2.5,b\n")
    files[2].write_text("n,c\n1.5,a\noops,b\n")
    ran = run("fit", *files, "--target", "c", "--kinds", "n=numeric", "--out", tmp_path / "m.nvt")
    assert ran.code == 3
    assert ran.err.startswith(f"naivete: {files[2]}:3: column 'n': value 'oops' is not a finite number")
    files[2].write_text("n,c\n1.5,a\n1,2,3\n")
    ragged = run("fit", *files, "--target", "c", "--out", tmp_path / "m.nvt")
    assert (ragged.code, f"{files[2]}:3: the row has 3 cells" in ragged.err) == (3, True)
    files[2].write_text("n,d\n1.5,a\n")
    other = run("fit", *files, "--target", "c", "--out", tmp_path / "m.nvt")
    assert (other.code, f"{files[2]}: there is no column 'c'" in other.err) == (3, True)
    assert not (tmp_path / "m.nvt").exists()


def test_files_that_are_not_there(run: Run, tmp_path: Path, weather: Path) -> None:
    (tmp_path / "empty").mkdir()
    for given in ([weather, tmp_path / "absent.csv"], [tmp_path / "absent-*.csv"], [tmp_path / "empty"]):
        ran = run("fit", *given, "--target", "play", "--out", tmp_path / "m.nvt")
        assert ran.code == 5
        assert ran.err.count("\n") == 1
    twice = run("fit", weather, weather, "--target", "play", "--out", tmp_path / "m.nvt")
    assert (twice.code, "named twice" in twice.err) == (3, True)


def test_rows_that_are_not_there(run: Run, tmp_path: Path) -> None:
    (tmp_path / "none.csv").write_text("a,play\n")
    ran = run("fit", tmp_path / "none.csv", "--target", "play", "--memory", "20G", "--out", tmp_path / "m.nvt")
    assert ran.code == 3
    assert "nothing to learn from" in ran.err


def test_the_output_is_none_of_the_inputs(run: Run, tmp_path: Path) -> None:
    for at in range(2):
        data(tmp_path / f"{at}.csv", lines(10))
    for given in (tmp_path, tmp_path / "*.csv"):
        ran = run("fit", given, "--target", "play", "--out", tmp_path / "1.csv", "--force")
        assert (ran.code, "would replace the input" in ran.err) == (2, True)


def test_too_little_memory_tells_the_least_that_works(run: Run, weather: Path) -> None:
    words = ["fit", weather, "--target", "play", "--out", weather.with_name("m.nvt"), "--memory"]
    ran = run(*words, "1M")
    assert ran.code == 5
    assert ran.err.startswith("naivete: --memory 1000000 bytes are not enough")
    least = ran.err.rpartition("--memory ")[2].rstrip()
    assert run(*words, int(least) + 20_000_000).code == 0


HOLD = """
import sys
from naivete.storage.checkpoints import Checkpoint
with Checkpoint(sys.argv[1], {}):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def held(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that uses the folder `work` for its checkpoints."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", HOLD, tmp_path / "work"], **pipes) as holder:  # type: ignore[call-overload]
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        yield holder
        holder.communicate()


@pytest.mark.skipif(os.name == "nt", reason="locks of POSIX")
def test_another_run_has_the_checkpoint(run: Run, weather: Path, held: subprocess.Popen[bytes]) -> None:
    words = ["--target", "play", "--checkpoint", weather.with_name("work"), "--out", weather.with_name("m.nvt")]
    ran = run("fit", weather, *words)
    assert ran.code == 5
    assert f"another run, process {held.pid}, is using this folder" in ran.err
    held.communicate()
    assert run("fit", weather, *words).code == 0


def interrupted(run: Run, file: Path, out: Path, monkeypatch: pytest.MonkeyPatch, *options: object) -> str:
    """Interrupt a fit after its first part, and say what it said."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("naivete.cases.files.FileRows._report", stop)
        ran = run("fit", file, "--target", "play", "--drop-unlabelled", "--out", out, "--every", "0", *options)
    assert ran.code == 130
    assert not out.exists()
    return ran.err


def test_a_run_goes_on(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: None) -> None:
    file, work, out = data(tmp_path / "t.csv", lines(60)), tmp_path / "work", tmp_path / "m.nvt"
    said = interrupted(run, file, out, monkeypatch, "--checkpoint", work)
    assert said == "naivete: interrupted; run the same command again to continue\n"
    assert (work / "checkpoint.nvc").exists()
    again = interrupted(run, file, out, monkeypatch, "--checkpoint", work, "--restart")
    assert again == "naivete: interrupted; run the same command again without --restart to continue\n"
    words = ["fit", file, "--target", "play", "--drop-unlabelled", "--checkpoint", work, "--json", "--out"]
    ran = run(*words, out)
    assert (ran.code, ran.json["rows"]) == (0, 58)  # two have no label
    assert not work.exists()
    assert run(*words, tmp_path / "n.nvt").code == 0
    assert out.read_bytes() == (tmp_path / "n.nvt").read_bytes()


@pytest.mark.parametrize("other", ["data", "options", "reading", "damaged"])
def test_a_checkpoint_of_another_run(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: None, other: str) -> None:
    file, work, out = data(tmp_path / "t.csv", lines(60)), tmp_path / "work", tmp_path / "m.nvt"
    interrupted(run, file, out, monkeypatch, "--checkpoint", work)
    if other == "data":
        data(file, lines(61))
    if other == "damaged":
        (work / "checkpoint.nvc").write_bytes((work / "checkpoint.nvc").read_bytes()[:-1])
    more = {"options": ["--cut", "width:3"], "reading": ["--missing-token", "rain"]}.get(other, [])
    words = ["fit", file, "--target", "play", "--drop-unlabelled", "--checkpoint", work, "--out", out, *more]
    ran = run(*words)
    assert ran.code == 4
    assert "use --restart to begin again, or another folder" in ran.err
    assert ran.err.count("\n") == 1
    assert not out.exists()
    assert run(*words, "--restart").code == 0
    assert not work.exists()


def test_the_model_is_saved_before_the_checkpoint_goes(run: Run, weather: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, work = weather.with_name("m.nvt"), weather.with_name("work")

    def kept(*_: object, **__: object) -> None:
        assert work.exists()
        raise KeyboardInterrupt

    monkeypatch.setattr("naivete.classifiers.saving.save", kept)
    words = ["fit", weather, "--target", "play", "--checkpoint", work, "--every", "0", "--out", out]
    ran = run(*words)
    assert (ran.code, ran.err) == (130, "naivete: interrupted; run the same command again to continue\n")
    monkeypatch.undo()
    assert run(*words).code == 0
    assert not work.exists()


STOPS = """
import sys, time
from naivete.cases import sources
from naivete.cli import main
from naivete.storage.checkpoints import Step
sources.ROWS = 400
save = Step.save
def save_and_wait(*arguments, **options):
    written = save(*arguments, **options)
    if not options.get("force"):
        print("saved", flush=True)
        time.sleep(600)
    return written
Step.save = save_and_wait
sys.exit(main())
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_terminated_process_is_resumed_to_the_same_bytes(run: Run, tmp_path: Path) -> None:
    file, work, out = tmp_path / "large.csv", tmp_path / "work", tmp_path / "m.nvt"
    draw = random.Random(1)
    some = [f"{draw.randrange(9)},{draw.choice('abc')},{draw.choice(['yes', 'no'])}\n" for _ in range(1000)]
    file.write_text("n,x,c\n" + "".join(some) * 2)
    words = ["fit", str(file), "--target", "c", "--model", "kdb:k=1", "--out"]
    saving = ["--checkpoint", str(work), "--every", "0"]
    with subprocess.Popen(
        [sys.executable, "-c", STOPS, *words, str(out), *saving], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"saved\n"
        process.send_signal(signal.SIGTERM)
        said, err = process.communicate(timeout=300)
    assert (process.returncode, said, err) == (143, b"", b"naivete: terminated; run the same command again to continue\n")
    assert (work / "checkpoint.nvc").exists()
    assert not out.exists()
    assert run(*words, out, *saving).code == 0
    assert not work.exists()
    assert run(*words, tmp_path / "n.nvt").code == 0
    assert out.read_bytes() == (tmp_path / "n.nvt").read_bytes()


@pytest.mark.usefixtures("threads_for_processes")
def test_a_cluster_on_this_machine(run: Run, weather: Path) -> None:
    words = ["fit", weather, "--target", "play", "--out"]
    assert run(*words, weather.with_name("a.nvt")).code == 0
    ran = run(*words, weather.with_name("b.nvt"), "--cluster", "local", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["rows"] == 8
    assert weather.with_name("a.nvt").read_bytes() == weather.with_name("b.nvt").read_bytes()
