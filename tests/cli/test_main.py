"""Parsing, exit codes, notes: what all commands share."""

from __future__ import annotations

import io
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import naivete
from naivete import cli
from naivete.cli.output import counted, escaped, json_text, notes, number, text_table
from naivete.cli.signals import Terminated
from naivete.errors import DataError, FileError, ModelFileError, NaiveteError, ParameterError, ResourceError
from tests.cli.conftest import Run, command

COMMANDS = [entry.name for entry in cli.COMMANDS]


def test_version(run: Run) -> None:
    assert run("--version") == (0, f"naivete {naivete.__version__}\n", "")


@pytest.mark.parametrize("words", [["--help"], *([entry, "--help"] for entry in COMMANDS)], ids=" ".join)
def test_help_has_examples(run: Run, words: list[str]) -> None:
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert "examples:\n  naivete " in out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_json(run: Run, command: str) -> None:
    assert "--json" in run(command, "--help").out


def test_no_words_show_the_help(run: Run) -> None:
    code, out, _ = run()
    assert code == 2
    assert "commands:" in out


def test_help_and_version_import_neither_numpy_nor_sklearn() -> None:
    probe = "import sys; from naivete.cli import main; main(['--help']); bad = {'numpy', 'scipy', 'sklearn', 'pandas', 'pyarrow', 'rich'}; sys.exit(bool(bad & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", probe], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ParameterError("p"), 2),
        (DataError("d"), 3),
        (NaiveteError("n"), 3),
        (ModelFileError("m"), 4),
        (FileError("f"), 5),
        (ResourceError("r"), 5),
        (OSError(28, "No space left on device", "out.csv"), 5),
        (MemoryError(), 5),
        (KeyboardInterrupt(), 130),
        (Terminated(), 143),
        (BrokenPipeError(), 0),
        (ZeroDivisionError("oh"), 1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_exit_codes(run: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(cli, "parse", fail)
    monkeypatch.setattr(cli, "silence", lambda: None)
    ran = run("doctor")
    assert ran.code == code
    assert "Traceback" not in ran.err
    assert len(ran.err.splitlines()) == (0 if isinstance(error, BrokenPipeError) else 1)
    assert "Traceback" in run("doctor", "--debug").err


def test_an_error_of_the_system_names_the_file(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device", "out.csv")

    monkeypatch.setattr(cli, "parse", fail)
    assert run("doctor").err == "naivete: out.csv: No space left on device\n"


def test_nobody_listens_to_the_complaint(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    assert cli.main(["ft"]) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ft"], "there is no command 'ft'; did you mean fit?"),
        (["zzzz"], "the commands are fit, predict, describe"),
        (["-x"], "a command is missing"),
        (["fit", "a.csv", "--taget", "x"], "there is no option '--taget'; did you mean --target?"),
        (["fit", "a.csv", "--taget=x"], "did you mean --target?"),
        (["doctor", "--zzzzzzzzzz"], "see 'naivete doctor --help'"),
        (["doctor", "-z"], "there is no option '-z'"),
        (["doctor", "extra"], "'extra' is one argument too many; see 'naivete doctor --help'"),
        (["fit", "a.csv", "--out", "m.nvt", "b.csv"], "'b.csv' is one argument too many; name all files next to each other"),
        (["fit"], "the following arguments are required: DATA, --out"),
        (["evaluate", "a.arff", "--folds", "ten"], "invalid int value: 'ten'"),
        (["fit", "a.csv", "--out", "m.nvt", "--missing", "drop"], "invalid choice: 'drop'"),
        (["fit", "a.csv", "--out", "m.nvt", "--model", "kbd"], "did you mean kdb or skdb?"),
    ],
)
def test_usage(run: Run, words: list[str], message: str) -> None:
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.startswith("naivete: ")
    assert message in err
    assert err.count("\n") == 1


def test_options_may_follow_two_dashes(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("--odd").write_text("a,c\n1,x\n")
    assert run("describe", "--", "--odd").code == 0


def test_warnings_are_notes_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    with notes():
        for _ in range(3):
            warnings.warn("look\nout", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "naivete: note: look\\nout\n"


def test_text_tables_align_wide_and_combining_characters() -> None:
    lines = text_table(["a", "b"], [["漢字", "1"], ["e\u0301", "10"]])
    assert lines == ["a      b", "漢字   1", "e\u0301     10"]


@pytest.mark.parametrize("hostile", ["\x1b[31mred", "a\nb", "\x07", "\u202egnp", "\udcff", "\x9b1m"])
def test_nothing_controls_the_terminal(hostile: str) -> None:
    assert escaped(hostile).isprintable()


def test_json_is_ascii_and_strict() -> None:
    import numpy as np

    text = json_text({"a": float("nan"), "b": (np.float64(1.5), np.array([1])), 3: "é\udcff"})
    assert text.isascii()
    assert '"a": null' in text
    assert '"3"' in text


def test_numbers() -> None:
    assert (number(float("nan")), number(3), counted(1, "arc"), counted(3, "pass")) == ("-", "3", "1 arc", "3 passes")


def test_python_m(tmp_path: Path) -> None:
    ran = command("--version", cwd=tmp_path)
    assert ran.stdout.decode().strip() == f"naivete {naivete.__version__}"
