"""The data sets: files with their checksums, parts, and OpenML (a stored answer, no network)."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
from studies.data_sets import SHIPPED, Size, boolean, data_folder, data_set, local_file, part

from naivete import DataError, FileError, read, write
from naivete.data.generated import corral
from naivete.evaluation import label_table
from studies import data_sets

ARFF = b"""@RELATION dna
@ATTRIBUTE a {0,1}
@ATTRIBUTE b {0,1}
@ATTRIBUTE class {ei,ie,n}
@DATA
1,0,n
0,0,ei
1,1,n
"""


def test_the_files_are_those_of_the_readme() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| (\d+) \| (\d+) \|.*\| `(\w{64})` \|$", (SHIPPED / "README.md").read_text(), re.MULTILINE)
    assert sorted(name for name, *_ in rows) == sorted(file.name.removesuffix(".arff.gz") for file in SHIPPED.glob("*.gz"))
    for name, cases, columns, checksum in rows:
        file = SHIPPED / f"{name}.arff.gz"
        assert hashlib.sha256(file.read_bytes()).hexdigest() == checksum
        assert read(file).shape == (int(cases), int(columns))
    assert sum(file.stat().st_size for file in SHIPPED.iterdir()) < 1_000_000


def test_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NAIVETE_DATA", raising=False)
    assert data_folder() is None
    monkeypatch.setenv("NAIVETE_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    with pytest.raises(FileError, match="--data has to name a folder"):
        data_folder(tmp_path / "nowhere")
    monkeypatch.setenv("NAIVETE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileError, match="NAIVETE_DATA has to name a folder"):
        data_folder()


def test_the_repository_comes_before_the_folder(tmp_path: Path) -> None:
    for name in ("vote", "dna"):
        write(corral(), tmp_path / f"{name}.arff.gz")
    assert local_file("vote", tmp_path) == SHIPPED / "vote.arff.gz"
    assert local_file("dna", tmp_path) == tmp_path / "dna.arff.gz"
    assert local_file("dna") is None
    assert len(data_set("dna", Size(128, 6, 2), folder=tmp_path)) == 128
    with pytest.raises(DataError, match="128 rows, 6 features, 2 classes; the published data set has 3186 rows, 180 features"):
        data_set("dna", Size(3186, 180, 3), folder=tmp_path)


@pytest.mark.parametrize("error", [URLError("no network"), TimeoutError("slow"), ValueError("no such data set")])
def test_offline_the_variable_is_named(error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise error

    monkeypatch.setattr("sklearn.datasets.fetch_openml", refuse)
    with pytest.raises(FileError, match=r"dna: .*studies/data, and .*OpenML .*; set NAIVETE_DATA to a folder with dna\.arff\.gz"):
        data_set("dna", Size(3186, 180, 3))
    with pytest.raises(FileError, match="studies/data nor in "):
        data_set("dna", Size(3186, 180, 3), folder=tmp_path)


def test_what_openml_does_not_have() -> None:
    with pytest.raises(FileError, match="OpenML does not have it; set NAIVETE_DATA"):
        data_set("reuters-text3", Size(1511, 3440, 3))


def store_answers(home: Path, number: int) -> None:
    """Store what scikit-learn keeps of the answers of OpenML."""
    description = {
        "data_set_description": {
            "id": str(number), "name": "dna", "version": "1", "format": "ARFF", "file_id": "7", "status": "active",
            "url": "https://www.openml.org/data/v1/download/7/dna.arff", "default_target_attribute": "class", "description": "",
            "md5_checksum": hashlib.md5(ARFF).hexdigest(),
        }
    }  # fmt: skip
    listed = [
        {"index": str(i), "name": name, "data_type": "nominal", "is_target": str(name == "class").lower(),
         "is_ignore": "false", "is_row_identifier": "false", "number_of_missing_values": "0"} for i, name in enumerate(("a", "b", "class"))
    ]  # fmt: skip
    answers = {
        f"api/v1/json/data/{number}": json.dumps(description).encode(),
        f"api/v1/json/data/features/{number}": json.dumps({"data_features": {"feature": listed}}).encode(),
        f"api/v1/json/data/qualities/{number}": json.dumps({"data_qualities": {"quality": []}}).encode(),
        "data/v1/download/7/dna.arff": ARFF,
    }
    for path, content in answers.items():
        file = home / "openml" / "openml.org" / f"{path}.gz"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(gzip.compress(content, mtime=0))


def test_openml_through_scikit_learn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real fetch_openml on stored answers: two states a column, the class last."""
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    store_answers(tmp_path, data_sets._OPENML["dna"])
    cases = data_set("dna", Size(3, 2, 2))
    assert [list(column) for column in cases.features.columns] == [["1", "0", "1"], ["0", "0", "1"]]
    assert cases.y.tolist() == ["n", "ei", "n"]


def test_votes_become_bits() -> None:
    table = read(SHIPPED / "vote.arff.gz")
    votes = boolean(label_table(table, "class")).features
    assert len(votes.columns) == 48
    bits = np.stack([column.values for column in votes.columns]).reshape(16, 3, -1)
    assert (bits.sum(axis=1) == 1).all()
    for column, three in zip(table.columns[:-1], bits, strict=True):
        states = [*(str(state) for state in column.states or ()), None]
        assert list(column) == [states[i] for i in three.argmax(axis=0)]


def test_parts_of_a_data_set() -> None:
    vote, soybean, splice = (read(SHIPPED / f"{name}.arff.gz") for name in ("vote", "soybean", "splice"))
    assert part("vote1", vote).names == tuple(name for name in vote.names if name != "physician-fee-freeze")
    frequent = part("soybean15", soybean)
    assert len(frequent) == 630
    assert list(frequent.columns[0]) == [
        v for v, c in zip(soybean.columns[0], soybean["class"], strict=True) if c in set(frequent["class"])
    ]
    unambiguous = part("splice3175", splice)
    assert len(unambiguous) == 3175
    assert {column.states for column in unambiguous.columns[:-1]} == {("A", "C", "G", "T")}


def test_dna_has_three_bits_for_every_base() -> None:
    splice = read(SHIPPED / "splice.arff.gz")
    letters, bits = part("splice3175", splice), part("dna3175", splice)
    codes = {"A": "100", "C": "010", "G": "001", "T": "000"}
    for i in (0, 31, 59):
        three = bits.columns[3 * i : 3 * i + 3]
        assert ["".join(str(bit) for bit in row) for row in zip(*three, strict=True)] == [
            codes[str(base)] for base in letters.columns[i]
        ]
    assert list(bits.columns[-1]) == list(letters.columns[-1])
