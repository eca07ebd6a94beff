"""Data sets: from a folder, from OpenML (a stored answer, no network), or refused with advice."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
from studies.data_sets import Size, boolean, data_set, folder_of, local, part

from naivete.data.files import read, write
from naivete.data.generated import corral
from naivete.data.labelled_table import label_table
from naivete.errors import DataError, FileError
from studies import data_sets
from tests.evaluation import data

ARFF = b"""@RELATION chess
@ATTRIBUTE a {f,t}
@ATTRIBUTE b {g,l}
@ATTRIBUTE c REAL
@ATTRIBUTE class {won,nowin}
@DATA
t,l,1,won
f,g,0,nowin
?,l,1,won
"""


def test_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NAIVETE_DATA", raising=False)
    assert folder_of() is None
    monkeypatch.setenv("NAIVETE_DATA", str(tmp_path))
    assert folder_of() == tmp_path
    with pytest.raises(FileError, match="--data has to name one"):
        folder_of(tmp_path / "nowhere")
    monkeypatch.setenv("NAIVETE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileError, match="NAIVETE_DATA has to name one"):
        folder_of()


@pytest.mark.parametrize("ending", [".arff", ".arff.gz"])
def test_a_file_of_the_folder_is_read(tmp_path: Path, ending: str) -> None:
    write(corral(), tmp_path / f"kr-vs-kp{ending}")
    assert local("kr-vs-kp", tmp_path) == tmp_path / f"kr-vs-kp{ending}"
    assert len(data_set("kr-vs-kp", Size(128, 6, 2), folder=tmp_path)) == 128


def test_another_version_is_refused(tmp_path: Path) -> None:
    write(corral(), tmp_path / "kr-vs-kp.arff")
    with pytest.raises(DataError, match="128 rows, 6 features, 2 classes; the published one has 3196 rows, 36 features, 2 classes"):
        data_set("kr-vs-kp", Size(3196, 36, 2), folder=tmp_path)


@pytest.mark.parametrize("error", [URLError("no network"), TimeoutError("slow"), ValueError("no such data set")])
def test_offline_the_variable_is_named(error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise error

    monkeypatch.setattr("sklearn.datasets.fetch_openml", refuse)
    with pytest.raises(
        FileError, match=r"dna: NAIVETE_DATA is not set, .*OpenML .*; set NAIVETE_DATA to a folder with dna\.arff\.gz"
    ):
        data_set("dna", Size(3186, 180, 3))
    with pytest.raises(FileError, match="dna: not in "):
        data_set("dna", Size(3186, 180, 3), folder=tmp_path)


def test_what_openml_does_not_have() -> None:
    with pytest.raises(FileError, match="OpenML does not have it; set NAIVETE_DATA"):
        data_set("reuters-text3", Size(1511, 3440, 3))


def answered(home: Path, number: int) -> None:
    """What scikit-learn keeps of the answers of OpenML."""
    arff = gzip.compress(ARFF, mtime=0)
    features = [("a", "nominal"), ("b", "nominal"), ("c", "numeric"), ("class", "nominal")]
    description = {
        "data_set_description": {
            "id": str(number), "name": "chess", "version": "1", "format": "ARFF", "file_id": "7", "status": "active",
            "url": "https://www.openml.org/data/v1/download/7/chess.arff", "default_target_attribute": "class", "description": "",
            "md5_checksum": hashlib.md5(ARFF).hexdigest(),
        }
    }  # fmt: skip
    listed = [
        {"index": str(i), "name": name, "data_type": kind, "is_target": str(name == "class").lower(),
         "is_ignore": "false", "is_row_identifier": "false", "number_of_missing_values": str(int(name == "a"))} for i, (name, kind) in enumerate(features)
    ]  # fmt: skip
    answers = {
        f"api/v1/json/data/{number}": json.dumps(description).encode(),
        f"api/v1/json/data/features/{number}": json.dumps({"data_features": {"feature": listed}}).encode(),
        f"api/v1/json/data/qualities/{number}": json.dumps({"data_qualities": {"quality": []}}).encode(),
    }
    kept = {path: gzip.compress(text) for path, text in answers.items()} | {"data/v1/download/7/chess.arff": arff}
    for path, content in kept.items():
        file = home / "openml" / "openml.org" / f"{path}.gz"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def test_openml_through_scikit_learn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real fetch_openml on answers that it has kept: the columns are states, what is missing stays so, the class is last."""
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    answered(tmp_path, data_sets._OPENML["kr-vs-kp"])
    cases = data_set("kr-vs-kp", Size(3, 3, 2))
    assert [list(column) for column in cases.features.columns] == [["t", "f", None], ["l", "g", "l"], ["1", "0", "1"]]
    assert cases.y.tolist() == ["won", "nowin", "won"]


def test_votes_become_bits() -> None:
    """As in the file that was made beforehand, column by column."""
    votes = boolean(label_table(read(data("vote")), "class"))
    table = read(data("vote-bool48"))
    assert [column.name for column in votes.features.columns] == list(table.names[:-1])
    for column in votes.features.columns:
        np.testing.assert_array_equal(column.to_numpy().astype(str), table[column.name].to_numpy().astype(str))


@pytest.mark.parametrize(("name", "whole"), data_sets._PARTS.items())
def test_parts_of_a_data_set(name: str, whole: str) -> None:
    """As in the file that was made beforehand, value by value, and with the same states."""
    made, kept = part(name, read(data(whole))), read(data(name))
    assert made.names == kept.names
    for own, column in zip(made.columns, kept.columns, strict=True):
        assert list(own) == list(column)
        assert own.name == "class" or set(own.states or ()) == set(column.states or ())


def test_a_part_is_made_where_only_the_whole_is_there(tmp_path: Path) -> None:
    (tmp_path / "vote.arff.gz").write_bytes(data("vote").read_bytes())
    assert len(data_set("vote1", Size(435, 15, 2), folder=tmp_path).features.columns) == 15
