from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from naivete.data.files import write
from naivete.data.generated import corral, led7
from naivete.evaluation import label_table
from naivete.evaluation import run as run_all
from naivete.evaluation.report import MEASURES
from tests.cli.conftest import Run

HOSTILE = "<script>alert(1)</script>\"'&"


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    write(corral(), tmp_path / "corral.arff")
    write(led7(150), tmp_path / "led7.arff")
    return [tmp_path / "corral.arff", tmp_path / "led7.arff"]


def test_one_data_set_with_marks_legend_and_sentences(run: Run, files: list[Path]) -> None:
    ran = run("compare", files[0], "--models", "nb,tan,majority", "--protocol", "2x5-fold", "--progress")
    assert (ran.code, ran.err) == (0, "naivete: compare: 10 of 10 (corral.arff, repetition 2, fold 5)\n")
    lines = ran.out.splitlines()
    assert lines[0] == "2 x 5-fold cross-validation, seed 0"
    assert [line.split()[:3:2] for line in lines[4:7]] == [["nb", "5.3"], ["tan", "v"], ["majority", "*"]]
    assert lines[8].startswith("v: better, *: worse than nb by the corrected paired t (p < 0.05)")
    assert "tan is better than nb on corral.arff: 99.2 against 86.3 per cent accuracy" in lines[10]


def test_several_data_sets_and_another_baseline_and_measure(run: Run, files: list[Path]) -> None:
    ran = run("compare", *files, "--models", "nb,kdb:k=1;tan", "--protocol", "3-fold", "--baseline", "tan", "--measure", "brier")
    lines = ran.out.splitlines()
    assert lines[1] == "brier: mean (standard deviation) over the rounds"
    assert lines[3].split() == ["data", "set", "tan", "nb", "kdb:k=1"]
    assert lines[7].startswith("average rank")


def test_every_shape(run: Run, files: list[Path]) -> None:
    words = ["compare", files[0], "--models", "nb", "tan", "--protocol", "4-fold"]
    assert "| model | mean | sd |" in run(*words, "--as", "markdown").out
    assert r"\begin{tabular}{lrrrrrrrrrr}" in run(*words, "--as", "latex").out
    (row,) = csv.DictReader(io.StringIO(run(*words, "--as", "csv").out))
    assert (row["data_set"], row["model"], row["rounds"]) == ("corral.arff", "tan", "4")
    report = run(*words, "--as", "json").json
    assert report == run(*words, "--json").json
    assert (report["baseline"], report["rows"], report["models"]) == ("nb", {"corral.arff": 128}, ["nb", "tan"])
    assert report["measures"]["corral.arff"]["tan"]["accuracy"] == pytest.approx(report["pairs"][0]["mean"])


def test_the_table_of_records(run: Run, files: list[Path], tmp_path: Path) -> None:
    path = tmp_path / "records.csv"
    assert run("compare", *files, "--models", "nb,tan", "--protocol", "3-fold", "--records", path).code == 0
    rows = list(csv.DictReader(io.StringIO(path.read_text())))
    assert len(rows) == 2 * 2 * 3
    assert (rows[0]["data"], rows[0]["model"], rows[-1]["data"], rows[-1]["fold"]) == ("corral.arff", "nb", "led7.arff", "2")


def test_a_folder_used_twice_repeats_nothing(run: Run, files: list[Path], tmp_path: Path) -> None:
    words = ["compare", files[0], "--models", "nb,tan", "--protocol", "4-fold", "--resume", tmp_path / "kept", "--progress"]
    first = run(*words)
    kept = sorted((tmp_path / "kept").glob("split-*"))
    times = [path.stat().st_mtime_ns for path in kept]
    assert len(kept) == 4
    again = run(*words)
    assert (again.code, again.out) == (0, first.out)
    assert again.err == "naivete: compare: 4 of 4 (resumed)\n"
    assert [path.stat().st_mtime_ns for path in kept] == times
    kept[2].unlink()  # as if it had been killed before
    third = run(*words)
    assert (third.out, kept[2].exists()) == (first.out, True)
    assert [path.stat().st_mtime_ns for path in kept if path != kept[2]] == [t for i, t in enumerate(times) if i != 2]


def test_a_folder_of_another_experiment_is_refused_unless_begun_again(run: Run, files: list[Path], tmp_path: Path) -> None:
    words = ["compare", files[0], "--models", "nb,tan", "--resume", tmp_path / "kept", "--protocol"]
    assert run(*words, "4-fold").code == 0
    refused = run(*words, "3-fold")
    assert refused.code != 0
    assert "--restart" in refused.err
    assert refused.err.count("\n") == 1
    assert run(*words, "3-fold", "--restart").code == 0


def test_a_file_of_the_experiment_is_the_same_as_the_options(run: Run, files: list[Path], tmp_path: Path) -> None:
    file = tmp_path / "experiment.toml"
    file.write_text(
        'data = ["corral.arff", "led7.arff"]\nmodels = ["nb", "kdb:k=1,theta=0.03", "tan"]\nprotocol = "3-fold"\nseed = 5\n'
        'baseline = "tan"\nmeasure = "log_loss"\nalpha = 0.1\nrope = 0\nhtml = "page.html"\nrecords = "r.csv"\nresume = "kept"\n'
    )
    options = ["--models", "nb;kdb:k=1,theta=0.03;tan", "--protocol", "3-fold", "--seed", 5, "--baseline", "tan"]
    options += ["--measure", "log_loss", "--alpha", 0.1, "--rope", 0]
    ran = run("compare", "--experiment", file)
    assert (ran.code, ran.out) == (0, run("compare", *files, *options).out)
    assert all((tmp_path / name).exists() for name in ("page.html", "r.csv", "kept"))
    assert "exists already" in run("compare", "--experiment", file).err
    other = run("compare", "--experiment", file, "--measure", "accuracy", "--force")
    assert other.out.splitlines()[1].startswith("accuracy in per cent")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('modles = ["nb"]', "there is no key 'modles'; did you mean models?"),
        ("zzzzzzzz = 1", "there is no key 'zzzzzzzz'; the keys are data, target"),
        ('data = "corral.arff"', "data = 'corral.arff': expected a list of texts"),
        ("models = [1]", "models = [1]: expected a list of texts"),
        ('alpha = "small"', "alpha = 'small': expected a number"),
        ("rope = true", "rope = True: expected a number"),
        ("seed = 1.5", "seed = 1.5: expected a whole number"),
        ("target = 3", "target = 3: expected a text"),
        ('html = "a\\u0000b"', "it is not the name of a file"),
        ("data = [", "it is not TOML: "),
    ],
)
def test_what_is_wrong_with_a_file_of_an_experiment(run: Run, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "e.toml").write_text(text)
    ran = run("compare", "--experiment", tmp_path / "e.toml")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert message in ran.err


def test_a_file_of_an_experiment_that_is_not_there(run: Run, tmp_path: Path) -> None:
    ran = run("compare", "--experiment", tmp_path / "none.toml")
    assert (ran.code, ran.err) == (5, f"naivete: {tmp_path / 'none.toml'}: No such file or directory\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--models", "nb"], "nb alone cannot be compared"),
        (["--models", "nb,tna"], "there is no model 'tna'"),
        (["--baseline", "kdb:k=3"], "did you mean kdb:k=2?"),
        (["--protocol", "first:train=10"], "one division allows no statistical test"),
        (["--protocol", "1-splits"], "choose two or more"),
        (["--protocol", "tenfold"], "write for instance 10-fold"),
        (["--protocol", "3-fold:seed=1", "--seed", "2"], "already has a seed"),
        (["--seed", "-1"], "--seed -1: the seed must be at least 0"),
        (["--measure", "acuracy"], "did you mean accuracy?"),
        (["--measure", "qqq"], "choose among accuracy"),
        (["--measure", "auc"], "did you mean roc_auc?"),
        (["--measure", "loss"], "did you mean expected_loss?"),
        (["--protocol", "first:train=10"], "choose 10x10-fold or 30-splits"),
        (["--protocol", "1000000x10-fold"], "between 1 and 10,000"),
        (["--rope", "1"], "one point is 0.01"),
        (["--measure", "expected_loss"], "it needs the losses of wrong decisions; pass"),
        (["--alpha", "1"], "between 0 and 1"),
        (["--rope", "-1"], "at least 0"),
        (["--jobs", "0"], "at least 1"),
        (["--restart"], "name it with --resume"),
        (["--records", "r.txt"], "end its name in .csv"),
        (["--html", "x.csv", "--records", "x.csv"], "the same file"),
        (["--json", "--as", "csv"], "exclude each other"),
    ],
)
def test_wrong_options_are_refused_before_any_work(run: Run, files: list[Path], words: list[str], message: str) -> None:
    ran = run("compare", files[0], *words)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert message in ran.err


def test_no_data_and_an_input_as_output(run: Run, files: list[Path]) -> None:
    assert "no data file is given" in run("compare", "--models", "nb,tan").err
    assert "would replace the input" in run("compare", files[0], "--html", files[0], "--force").err


def test_costs_of_wrong_decisions(run: Run, files: list[Path], tmp_path: Path) -> None:
    costs = tmp_path / "costs.csv"
    labels = label_table(corral(), "class").classes.tolist()
    costs.write_text(f"decided,{labels[0]},{labels[1]}\n{labels[0]},0,5\n{labels[1]},1,0\n")
    words = ["--models", "nb,tan", "--protocol", "4-fold", "--measure", "expected_loss", "--loss", costs]
    report = run("compare", files[0], *words, "--json").json
    assert report["higher_is_better"] is False
    assert "least_expected_loss" in report["measures"]["corral.arff"]["nb"]
    assert run("compare", *files, *words).code in (2, 3)


def test_unseen_values_are_noted(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("x,c\n" + "".join(f"{'abcdefgh'[i]},{i % 2}\n" for i in range(8)))
    ran = run("compare", file, "--target", "c", "--models", "nb,majority", "--protocol", "2x2-fold")
    assert ran.code == 0
    assert ran.err.startswith("naivete: note: t.csv: in some rounds, values occurred")


@pytest.fixture
def hostile(run: Run, tmp_path: Path) -> Path:
    """The page about a table all names and values of which are hostile."""
    path = tmp_path / "a<img src=x onerror=alert(1)>.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([f"{HOSTILE}1", "b\nc</style><script>alert(2)</script>", HOSTILE])
        rows.writerows([f"{HOSTILE}{i % 2}", i % 3, f"</title>{HOSTILE}{i % 2}"] for i in range(40))
    other = tmp_path / "javascript:alert(3).csv"
    other.write_bytes(path.read_bytes())
    page = tmp_path / "page.html"
    words = ["--target", HOSTILE, "--models", "nb,majority,tan", "--html", page, "--protocol", "curve:sizes=10/20,count=3"]
    assert run("compare", path, other, *words).code == 0
    return page


def test_hostile_names_are_text_on_the_page(hostile: Path) -> None:
    text = hostile.read_text()
    assert "<script" not in text.lower()
    assert "<img" not in text.lower()
    assert text.count("</title>") == text.count("<title>")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "default-src &#x27;none&#x27;" in text
    links = re.findall(r'<[^>]*\s(?:href|src|srcset|data|action)="([^"]*)"', text)
    assert links
    assert all(link.startswith("#s") for link in links)
    assert "url(" not in text
    assert "@import" not in text


def test_the_page_opens_in_a_browser_without_complaint(hostile: Path) -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--virtual-time-budget=2000"]
    profile = f"--user-data-dir={hostile.parent / 'profile'}"
    ran = subprocess.run([chromium, *flags, profile, "--dump-dom", hostile.as_uri()], capture_output=True, timeout=300, check=False)
    assert ran.returncode == 0
    assert b"</footer>" in ran.stdout
    assert b"<script" not in ran.stdout
    assert b"CONSOLE" not in ran.stderr


def test_the_work_is_divided_as_asked(run: Run, files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    requested: dict[str, Any] = {}

    def spy(*args: Any, **options: Any) -> Any:
        requested.update(options)
        return run_all(*args, **{**options, "jobs": 1})

    monkeypatch.setattr("naivete.evaluation.run", spy)
    assert run("compare", files[0], "--models", "nb,tan", "--protocol", "3-fold", "--jobs", 2).code == 0
    assert requested["jobs"] == 2


def test_costs_of_weka_are_in_the_order_of_the_header(run: Run, tmp_path: Path) -> None:
    rows = "".join(f"{'ab'[i % 2]},{'yes' if i % 4 == 0 else 'no'}\n" for i in range(60))
    for first, second in (("yes", "no"), ("no", "yes")):
        head = f"@relation r\n@attribute x {{a,b}}\n@attribute c {{{first},{second}}}\n@data\n"
        (tmp_path / f"{first}.arff").write_text(head + rows)
    (tmp_path / "yes.cost").write_text("2 2\n0 10\n1 0\n")  # a true yes that is called no costs 10
    (tmp_path / "no.cost").write_text("2 2\n0 1\n10 0\n")
    measures = []
    for name in ("yes", "no"):
        words = ["compare", tmp_path / f"{name}.arff", "--models", "majority", "nb", "--protocol", "3-fold"]
        ran = run(*words, "--loss", tmp_path / f"{name}.cost", "--measure", "expected_loss", "--json")
        assert ran.code == 0
        measures.append(ran.json["measures"])
    one, two = (next(iter(means.values())) if len(means) == 1 else means for means in measures)
    assert str(one).replace("yes.arff", "") == str(two).replace("no.arff", "")
    assert "2.5" in str(one)  # a quarter of the rows, at ten each


def test_help_names_every_measure_and_the_unit_of_the_rope(run: Run) -> None:
    help_text = " ".join(run("compare", "--help").out.split())
    for name in MEASURES:
        assert re.search(rf"\b{name}\b", help_text), name
    assert "0.01 is one percentage point of accuracy" in help_text
    assert "--loss" in help_text
    assert "first:" not in help_text


def costs(folder: Path) -> Path:
    path = folder / "costs.csv"
    path.write_text("decided,no,yes\nno,0,5\nyes,1,0\n".replace("no", LABELS[0]).replace("yes", LABELS[1]))
    return path


LABELS = [str(label) for label in label_table(corral(), "class").classes.tolist()]


def test_costs_are_seen_whatever_is_compared(run: Run, files: list[Path], tmp_path: Path) -> None:
    words = ["compare", files[0], "--models", "nb,tan", "--protocol", "4-fold", "--loss", costs(tmp_path)]
    means = run(*words, "--json").json["measures"]["corral.arff"]
    ran = run(*words)
    lines = ran.out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.split() == ["model", "expected_loss", "least_expected_loss"])
    assert [line.split() for line in lines[start + 1 : start + 3]] == [
        [m, f"{means[m]['expected_loss']:.4g}", f"{means[m]['least_expected_loss']:.4g}"] for m in ("nb", "tan")
    ]
    assert "--measure least_expected_loss" in lines[start + 3]
    assert ran.err == ""
    for shape in ("markdown", "latex", "csv"):
        assert "--loss: the expected losses are not in this output" in run(*words, "--as", shape).err
    assert "least_expected_loss" not in run(*words, "--measure", "expected_loss").out


def test_a_learning_curve_shows_the_means_of_every_size(run: Run, files: list[Path]) -> None:
    words = ["compare", *files, "--models", "nb,tan", "--protocol", "curve:sizes=40/60/90,count=4,test=30"]
    ran = run(*words)
    lines = ran.out.splitlines()
    assert lines[0].endswith("4 divisions, seed 0. The models are compared at the largest training sets.")
    start = lines.index("corral.arff: accuracy in per cent by training rows: mean +- half of the 95 % interval")
    assert lines[start + 1].split() == ["rows", "nb", "tan"]
    assert [line.split()[0] for line in lines[start + 2 : start + 5]] == ["40", "60", "90"]
    curves = run(*words, "--json").json["curves"]
    curve = curves["corral.arff"]["tan"]
    assert curve["sizes"] == [40, 60, 90]
    assert lines[start + 3].split("  ")[-1].strip() == f"{100 * curve['means'][1]:.1f} +- {100 * curve['halfwidths'][1]:.1f}"
    assert any(line.startswith("led7.arff: accuracy in per cent by training rows") for line in lines)
    assert "curves" not in run("compare", files[0], "--models", "nb,tan", "--protocol", "3-fold", "--json").json


def test_a_class_that_training_lacks_is_noted_once(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("x,c\n" + "".join(f"{'ab'[i % 2]},{i % 2}\n" for i in range(20)) + "a,2\n")
    ran = run("compare", file, "--target", "c", "--models", "nb,majority", "--protocol", "2x3-fold")
    assert ran.code == 0
    assert ran.err.count("naivete: note: ") == 1
    assert "t.csv: the training rows of some splits have no row of the class 2 (2 of 6 splits)" in ran.err
