"""The rows C1-C6 of the catalogue of bad inputs, and the rows D2 and D14 as they reach the command line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from benchmarks.wide_job import sampled

from naivete.data.files import write
from naivete.data.generated import led7
from tests.cli.conftest import WEATHER, Run, command


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["fit", "{csv}", "--target", "play", "--colour", "red"], 2),
        (["fit", "{csv}", "--target", "ply", "--out", "{new}"], 2),
        (["fit", "{csv}", "--out", "{new}"], 2),
        (["fit", "{csv}", "--target", "play", "--model", "kdb:k=-1", "--out", "{new}"], 2),
        (["fit", "{csv}", "--target", "play", "--cut", "nonsense", "--out", "{new}"], 2),
        (["fit", "{csv}", "--target", "play", "--kinds", "wind=nominal", "--out", "{new}"], 2),
        (["fit", "{csv}", "--target", "play", "--kinds", "windy=nominl", "--out", "{new}"], 2),
        (["fit", "{csv}", "--target", "play", "--kinds", "windy", "--out", "{new}"], 2),
        (["fit", "{absent}", "--target", "play", "--out", "{new}"], 5),
        (["fit", "{csv}", "--target", "play", "--out", "{absent}/m.nvt"], 5),
        (["fit", "{ragged}", "--target", "play", "--out", "{new}"], 3),
        (["fit", "{csv}", "--target", "temperature", "--out", "{new}"], 3),
        (["fit", "{csv}", "--target", "play", "--weight", "outlook", "--out", "{new}"], 3),
        (["predict", "{csv}", "{csv}"], 4),
        (["predict", "{absent}", "{csv}"], 5),
        (["show", "{broken}"], 4),
        (["describe", "{empty}"], 3),
        (["describe", "{folder}"], 5),
        (["evaluate", "{csv}", "--target", "play", "--folds", "99"], 2),
        (["evaluate", "{csv}", "--target", "play", "--folds", "1"], 2),
        (["convert", "{csv}", "{folder}/table.unknown"], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_c1_one_line_and_an_exit_code(run: Run, weather: Path, model: Path, words: list[str], code: int) -> None:
    folder = weather.parent
    (folder / "ragged.csv").write_text("a,play\n1,no\n1,2,3\n")
    (folder / "empty.csv").write_text("")
    (folder / "broken.nvt").write_bytes(model.read_bytes()[:-1])
    names = {
        "csv": weather, "new": folder / "new.nvt", "absent": folder / "absent", "ragged": folder / "ragged.csv",
        "empty": folder / "empty.csv", "broken": folder / "broken.nvt", "folder": folder,
    }  # fmt: skip
    ran = run(*(word.format(**names) for word in words))
    assert ran.code == code, ran.err
    assert ran.out == ""
    assert ran.err.startswith("naivete: ")
    assert ran.err.count("\n") == 1
    assert "Traceback" not in ran.err
    assert not (folder / "new.nvt").exists()
    assert "Traceback" in run(*(word.format(**names) for word in words), "--debug").err


REPORTING = """
import sys
from naivete.cli import main, progress
progress.INTERVAL = 0.0
sys.exit(main())
"""


SIGNALS = [(signal.SIGTERM, 143), (signal.SIGINT, 130)]


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_c2_signals_end_the_command(
    run: Run, weather: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, code: int
) -> None:
    def signalled(*_: object, **__: object) -> None:
        os.kill(os.getpid(), number)
        time.sleep(300)  # the signal ends it

    monkeypatch.setattr("naivete.cases.files.FileRows._report", signalled)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        ran = run("fit", weather, "--target", "play", "--out", weather.with_name("m.nvt"))
    finally:
        signal.signal(signal.SIGINT, before)
    assert (ran.code, ran.out) == (code, "")
    assert "Traceback" not in ran.err
    assert [path.name for path in weather.parent.iterdir()] == ["weather.csv"]


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_c2_signals_end_it_and_leave_nothing(tmp_path: Path, number: signal.Signals, code: int) -> None:
    data = tmp_path / "led.csv"
    write(led7(300), data, as_text=True)
    words = ["evaluate", str(data), "--target", "digit", "--repeat", "1000", "--models", "kdb:k=3", "--progress"]
    process = subprocess.Popen(
        [sys.executable, "-c", REPORTING, *words], cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stderr is not None
    assert any(b"evaluate" in line for line in iter(process.stderr.readline, b""))  # it is at work
    process.send_signal(number)
    out, err = process.communicate(timeout=300)
    assert process.returncode == code
    assert out == b""
    assert b"Traceback" not in err
    assert [p.name for p in tmp_path.iterdir()] == ["led.csv"]


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.slow
@pytest.mark.parametrize("model", ["hc", "joined"])
def test_c2_an_interrupted_search_on_a_wide_table_leaves_nothing(tmp_path: Path, model: str) -> None:
    X, y = sampled(1000, 300)
    lines = [",".join([*(f"s{code}" for code in row), f"c{label}"]) for row, label in zip(X.tolist(), y.tolist(), strict=True)]
    data = tmp_path / "wide.csv"
    data.write_text("\n".join([",".join([*(f"x{i}" for i in range(300)), "class"]), *lines, ""]))
    words = ["fit", str(data), "--target", "class", "--model", model, "--out", str(tmp_path / "m.nvt"), "--progress"]
    process = subprocess.Popen(
        [sys.executable, "-c", REPORTING, *words], cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stderr is not None
    lines_read = iter(process.stderr.readline, b"")
    assert any(b"of the work" in line for line in lines_read)  # it is at work
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert out == b""
    assert b"naivete: interrupted" in err
    assert b"Traceback" not in err
    assert [p.name for p in tmp_path.iterdir()] == ["wide.csv"]


def test_c2_an_interrupted_save_leaves_no_file(run: Run, weather: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("naivete.storage.atomic._rename", interrupted)
    ran = run("fit", weather, "--target", "play", "--out", weather.with_name("m.nvt"))
    assert ran == (130, "", "naivete: interrupted\n")
    assert [p.name for p in weather.parent.iterdir()] == ["weather.csv"]


@pytest.mark.parametrize(
    "words",
    [
        ["fit", "{csv}", "--target", "play", "--out", "{csv}"],
        ["predict", "{nvt}", "{csv}", "--out", "{csv}"],
        ["predict", "{nvt}", "{csv}", "--out", "{nvt}"],
        ["predict", "{nvt}", "{csv}", "--out", "{link}"],
        ["convert", "{csv}", "{csv}"],
        ["show", "{nvt}", "--svg", "{nvt}"],
        ["show", "{nvt}", "--html", "{nvt}"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("force", [[], ["--force"]], ids=["plain", "force"])
def test_c4_output_is_never_the_input(run: Run, weather: Path, model: Path, words: list[str], force: list[str]) -> None:
    link = weather.with_name("link.csv")
    link.symlink_to(weather)
    before = weather.read_bytes(), model.read_bytes()
    ran = run(*(word.format(csv=weather, nvt=model, link=link) for word in words), *force)
    assert ran.code == 2
    assert "would replace the input" in ran.err
    assert (weather.read_bytes(), model.read_bytes()) == before


@pytest.mark.parametrize(
    "words",
    [
        ["fit", "{csv}", "--target", "play", "--out", "{old}"],
        ["predict", "{nvt}", "{csv}", "--out", "{old}"],
        ["convert", "{csv}", "{old}"],
        ["show", "{nvt}", "--svg", "{old}"],
        ["show", "{nvt}", "--html", "{old}"],
        ["demo", "--quick", "--out", "{old}"],
    ],
    ids=" ".join,
)
def test_c4_replacing_needs_force(run: Run, weather: Path, model: Path, small_demo: None, words: list[str]) -> None:
    old = weather.with_name("old.csv")
    old.write_text("old")
    words = [word.format(csv=weather, nvt=model, old=old) for word in words]
    ran = run(*words)
    assert ran.code == 5
    assert "--force" in ran.err
    assert old.read_text() == "old"
    assert run(*words, "--force").code == 0
    assert old.read_bytes() != b"old"


def test_an_estimate_of_a_long_work_is_printed_before_it(run: Run, weather: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("naivete.classifiers.costs.NOTICE_SECONDS", 0.0)
    ran = run("fit", weather, "--target", "play", "--model", "hc", "--out", weather.with_name("m.nvt"))
    assert ran.code == 0
    assert ran.err.startswith("naivete: note: HillClimb on ")
    assert (
        " takes about 0 s and less than 1 MB (an estimate, within a factor of three for most tables); cheaper: max_steps="
        in ran.err
    )


HOSTILE = 'name,"evil\x1b[31m",play\n"=cmd|calc","\x1b]0;x\x07",+no\n@sum,"two\nlines",-yes\n'


@pytest.mark.parametrize(
    "words",
    [
        ["describe", "{csv}", "--target", "play"],
        ["show", "{nvt}", "--tables"],
        ["evaluate", "{csv}", "--target", "play", "--folds", "2"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_c5_values_do_not_control_the_terminal(run: Run, tmp_path: Path, words: list[str], form: list[str]) -> None:
    csv, nvt = tmp_path / "hostile\x1b[1m.csv", tmp_path / "m.nvt"
    csv.write_text(HOSTILE)
    fitted = run("fit", csv, "--target", "play", "--out", nvt, "--model", "nb")
    ran = run(*(word.format(csv=csv, nvt=nvt) for word in words), *form)
    for out in (fitted.out, fitted.err, ran.out, ran.err):
        assert "\x1b" not in out
        assert "\x07" not in out
    assert ran.code == 0


def test_c5_answers_are_quoted_and_safe_for_spreadsheets(run: Run, tmp_path: Path) -> None:
    csv, nvt, out = tmp_path / "h.csv", tmp_path / "m.nvt", tmp_path / "out.csv"
    csv.write_text(HOSTILE)
    assert run("fit", csv, "--target", "play", "--out", nvt).code == 0
    assert run("predict", nvt, csv, "--append", "--out", out).code == 0
    assert out.read_text().count('"two\nlines"') == 1
    assert "\n=cmd|calc" in out.read_text()
    safe = run("predict", nvt, csv, "--append", "--spreadsheet-safe").out
    assert "'=cmd|calc" in safe
    assert "'@sum" in safe
    assert "'+no" in safe
    refused = run("predict", nvt, csv, "--spreadsheet-safe", "--out", tmp_path / "o.arff")
    assert refused.code == 2


def test_c5_a_terminal_sees_answers_escaped(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    csv, nvt = tmp_path / "h.csv", tmp_path / "m.nvt"
    csv.write_text(HOSTILE)
    run("fit", csv, "--target", "play", "--out", nvt)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert "\x1b" not in run("predict", nvt, csv, "--append").out


ODD_NAMES = [b"-rf", b"*", b"caf\xe9 \xff.csv", "naïve 漢.csv".encode(), b"a\nb.csv"]
DESCRIBE_AND_FIT = """
import sys
from naivete.cli import main
for name in sys.argv[1:]:
    assert main(["describe", "--", name]) == 0
    assert main(["fit", f"--out={name}.nvt", "--target=play", "--model=nb", "--", name]) == 0
"""


@pytest.mark.parametrize("language", ["C", pytest.param("C.UTF-8", marks=pytest.mark.slow)])
def test_c6_odd_names_in_any_locale(tmp_path: Path, language: str) -> None:
    files = [os.path.join(os.fsencode(tmp_path), name) for name in ODD_NAMES]
    for file in files:
        with open(file, "w") as out:
            out.write(WEATHER)
    environment = {**os.environ, "LANG": language, "LC_ALL": language}
    words = [os.fsencode(sys.executable), b"-c", DESCRIBE_AND_FIT.encode(), *ODD_NAMES]
    ran = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count(b": 8 rows, 4 columns") == len(files)
    assert all(os.path.exists(file + b".nvt") for file in files)


def test_c6_an_output_that_holds_ascii_only(weather: Path) -> None:
    weather.write_text(WEATHER.replace("sunny", "Sonne☀"), encoding="utf-8")
    ran = command("describe", weather, "--target", "play", env={"PYTHONIOENCODING": "ascii"})
    assert ran.returncode == 0, ran.stderr
    assert b"Sonne\\u2600" in ran.stdout


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
def test_a_closed_pipe_ends_quietly(weather: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ran = subprocess.run(
        [sys.executable, "-m", "naivete", "describe", str(weather)], stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_under_the_output(weather: Path) -> None:
    with open("/dev/full", "wb") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "naivete", "describe", str(weather)], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert ran.returncode == 5
    assert ran.stderr == b"naivete: output: No space left on device\n"


@pytest.mark.parametrize("command", ["fit", "evaluate"])
def test_d2_a_header_without_rows(run: Run, tmp_path: Path, command: str) -> None:
    file = tmp_path / "none.csv"
    file.write_text("a,play\n")
    words = ["--out", tmp_path / "m.nvt"] if command == "fit" else []
    ran = run(command, file, "--target", "play", *words)
    assert ran.code == 3
    assert "none.csv" in ran.err
    described = run("describe", file, "--target", "play")
    assert described.code == 0
    assert "0 rows, 2 columns" in described.out


def test_d2_predicting_no_rows_gives_a_header(run: Run, model: Path, tmp_path: Path) -> None:
    file = tmp_path / "none.csv"
    file.write_text("outlook,temperature,windy\n")
    assert run("predict", model, file).out == "predicted,P(no),P(yes)\n"


def test_d14_columns_are_matched_by_name(run: Run, model: Path, weather: Path, tmp_path: Path) -> None:
    usual = run("predict", model, weather)
    lines = [line.split(",") for line in WEATHER.splitlines()]
    other = tmp_path / "other.csv"
    other.write_text("\n".join(",".join([row[2], "x", row[1], row[0]]) for row in lines) + "\n")
    ran = run("predict", model, other)
    assert ran.out == usual.out
    assert ran.err == f"naivete: note: {other}: not used by the model: 'x' (1 column)\n"
    other.write_text("outlook,temperatur\nsunny,1\n")
    gone = run("predict", model, other, "--unseen", "error")
    assert gone.code == 3
    assert "columns seen in training are missing: 'temperature', 'windy'; is 'temperatur' the renamed 'temperature'?" in gone.err
    ran = run("predict", model, other)
    assert ran.code == 0
    assert "their values are treated as missing; --unseen error refuses such rows" in ran.err
    other.write_text("outlook,temperature,windy\nsunny,,\n")
    assert run("predict", model, other).out == ran.out
