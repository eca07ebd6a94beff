"""`naivete reproduce`."""

from __future__ import annotations

from pathlib import Path

import pytest

from studies import barrow, langley, sahami, singh_provan
from tests.cli.conftest import Run
from tests.evaluation import data


@pytest.fixture
def generated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the domains that are generated, so that no data are needed."""
    monkeypatch.delenv("NAIVETE_DATA", raising=False)
    monkeypatch.setattr(sahami, "_SETS", {name: sahami._SETS[name] for name in ("Corral", "LED7")})


def test_jensen(run: Run) -> None:
    code, out, err = run("reproduce", "jensen-2007")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "33 of 35 printed figures reproduced, 2 misprints"
    assert "E[Ent(MH)]                          0.735  0.945    misprint" in out
    assert out.isascii()
    assert max(map(len, out.splitlines())) <= 120


def test_sahami_quickly(run: Run, generated: None) -> None:
    code, out, err = run("reproduce", "sahami-1996", "--quick", "--progress")
    assert code == 0
    assert out.splitlines()[-1] == "16 of 16 cells inside the noise (Welch, p > 0.01; quick, 3 folds)"
    assert "Quick: 3 folds in place of 10, and no Text" in out
    assert "a stand-in, reuters-text3" in out
    assert "naivete: reproduce: 42 of 42" in err
    assert out.isascii()


def test_cells_outside_are_no_failure(run: Run, generated: None, monkeypatch: pytest.MonkeyPatch) -> None:
    own = sahami._SETS["LED7"]
    wrong = {variant: [(10.0, 1.0)] * 4 for variant in own.printed}
    monkeypatch.setattr(sahami, "_SETS", {"LED7": sahami._Set(own.title, wrong, own.cases)})
    code, out, _ = run("reproduce", "sahami-1996", "--quick")
    assert code == 0
    assert "outside (p " in out
    assert out.splitlines()[-1].startswith("0 of 8 cells inside the noise")


def test_json_markdown_and_page(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    ran = run("reproduce", "jensen-2007", "--json", "--html", page)
    assert ran.code == 0
    assert ran.json["name"] == "jensen-2007"
    assert "report.html" in ran.err
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    again = run("reproduce", "jensen-2007", "--html", page)
    assert again.code == 5
    assert "--force" in again.err
    assert run("reproduce", "jensen-2007", "--html", page, "--force").code == 0
    assert run("reproduce", "jensen-2007", "--markdown").out.startswith("# jensen-2007\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["sahami"], "did you mean sahami-1996?"),
        (["nonsense"], "choose sahami-1996 or langley-1993 or jensen-2007 or barrow-2011 or singh-provan-1995"),
        (["barrow"], "did you mean barrow-2011?"),
        (["singh-provan"], "did you mean singh-provan-1995?"),
        (["sahami-1996", "--alternatives"], "is for langley-1993 and singh-provan-1995, not for sahami-1996"),
        (["jensen-2007", "--resume", "folder"], "are for singh-provan-1995, not for jensen-2007"),
        (["jensen-2007", "--json", "--markdown"], "exclude each other"),
        (["sahami-1996", "--seed", "-1"], "--seed is at least 0"),
        ([], "NAME"),
    ],
)
def test_usage(run: Run, words: list[str], told: str) -> None:
    code, out, err = run("reproduce", *words)
    assert (code, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1


def test_no_folder_and_no_network(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from urllib.error import URLError

    def refuse(**_: object) -> None:
        raise URLError("no network")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", refuse)
    monkeypatch.setattr(sahami, "_SETS", {"Chess": sahami._SETS["Chess"]})
    monkeypatch.delenv("NAIVETE_DATA", raising=False)
    code, out, err = run("reproduce", "sahami-1996", "--quick")
    assert (code, out) == (5, "")
    assert "set NAIVETE_DATA to a folder with kr-vs-kp.arff.gz" in err
    assert run("reproduce", "sahami-1996", "--data", tmp_path / "nowhere").code == 5


def test_real_data(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sahami, "_SETS", {"Vote": sahami._SETS["Vote"]})
    ran = run("reproduce", "sahami-1996", "--quick", "--data", data("vote").parent)
    assert ran.code == 0
    assert "Claims, tested again" in ran.out
    assert "Vote, KDB-theta k = 3" in ran.out


def test_singh_and_provan_on_voting(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(singh_provan, "SETS", {"Voting": singh_provan.SETS["Voting"]})
    monkeypatch.setattr(singh_provan, "CURVES", {"Voting": (25, 50, 100)})
    page = tmp_path / "report.html"
    words = ("reproduce", "singh-provan-1995", "--quick", "--progress", "--data", data("vote").parent, "--html", page)
    code, out, err = run(*words, "--resume", tmp_path / "kept")
    assert code == 0
    assert out.isascii()
    assert max(map(len, out.splitlines())) <= 136
    assert "8 of 8 accuracies inside the noise (Welch, p > 0.01; quick, 3 divisions)" in out.splitlines()[-1]
    for told in ("Table 4: naive-ALL, naive-AS less CIG-AS", "Voting: CGR-AS over CB", "Figure ", "C4.5"):
        assert told in out
    assert "naivete: reproduce: 12 of 12" in err
    assert "<svg" in page.read_text(encoding="utf-8")
    again = run(*words, "--force", "--resume", tmp_path / "kept", "--json")
    assert again.json["summary"] == out.splitlines()[-1]
    other = run(*words, "--force", "--resume", tmp_path / "kept", "--seed", "1")
    assert other.code != 0
    assert "it is of another run" in other.err


def test_langley_on_one_concept(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(langley, "NATURAL", {})
    monkeypatch.setattr(langley, "CONCEPTS", {"one term": "5 (a)"})
    page = tmp_path / "report.html"
    code, out, err = run("reproduce", "langley-1993", "--quick", "--progress", "--alternatives", "--html", page)
    assert code == 0
    assert out.isascii()
    assert max(map(len, out.splitlines())) <= 136
    for told in (
        "Figure 5 (a): one term (64 cases",
        "2 healthy given lethargia",
        "Another reading: Laplace's rule",
        "parity split",
    ):
        assert told in out
    assert "claims reproduced" in out.splitlines()[-1]
    assert "naivete: reproduce: 4 of 4" in err
    assert page.read_text(encoding="utf-8").count("<svg") == 2


def test_barrow_without_data(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(barrow, "QUICK", barrow.Settings(10, 4, 2, 4, 2))
    page = tmp_path / "report.html"
    words = ("reproduce", "barrow-2011", "--quick", "--progress", "--data", tmp_path, "--html", page)
    code, out, err = run(*words)
    assert code == 0
    assert out.isascii()
    assert max(map(len, out.splitlines())) <= 136
    for told in (
        "Section 3.2, first plot",
        "Section 3.4: 10 to 110 cases",
        "wdbc-mean10.arff.gz is not in the folder",
        "none fits",
    ):
        assert told in out
    assert out.splitlines()[-1].endswith("breast cancer not run")
    assert "naivete: reproduce: 8 of 8" in err
    assert page.read_text(encoding="utf-8").count("<svg") == 5
    assert run(*words, "--force", "--json").json["summary"] == out.splitlines()[-1]


def test_singh_and_provan_without_data(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from urllib.error import URLError

    def refuse(**_: object) -> None:
        raise URLError("no network")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", refuse)
    code, out, err = run("reproduce", "singh-provan-1995", "--quick", "--data", tmp_path)
    assert (code, out) == (5, "")
    assert "set NAIVETE_DATA to a folder with kr-vs-kp.arff.gz" in err
