"""The function `naivete.export`: formats, options, files, and models that are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import naivete
from naivete import AODE, Encoder, NaiveBayes, NotFittedError, ParameterError, ResourceError, Spectrum
from naivete.classifiers.export import sum_of_tables
from naivete.classifiers.export.tabular_form import comment_text
from tests.classifiers.export.samples import fitted, frame


def test_a_file_is_written(tmp_path: Path) -> None:
    program = naivete.export(fitted("naive"), to="python", path=tmp_path / "model.py")
    assert (tmp_path / "model.py").read_text() == program
    with pytest.raises(naivete.FileError, match="exists"):
        naivete.export(fitted("naive"), to="python", path=tmp_path / "model.py", overwrite=False)


def test_unknown_formats_and_options() -> None:
    with pytest.raises(ParameterError, match="to='pyton': did you mean python"):
        naivete.export(fitted("naive"), "pyton")
    for other in (None, ["sql"]):
        with pytest.raises(ParameterError, match=r"the formats are python, onnx, sql, c|did you mean sql"):
            naivete.export(fitted("naive"), to=other)
    with pytest.raises(ParameterError, match="path=5: the name of a file is needed"):
        naivete.export(fitted("naive"), "python", 5)
    with pytest.raises(ParameterError, match="there is no option 'tabel'"):
        naivete.export(fitted("naive"), "python", tabel="data")


@pytest.mark.parametrize(
    ("to", "name", "value"),
    [
        *[("sql", "table", value) for value in (5, None, b"data", ["data", 5], {"data": 1})],
        *[("sql", "keys", value) for value in (5, None, [5], {"id"})],
        *[("c", "name", value) for value in (5, None, "1x")],
        ("onnx", "contributions", 7),
    ],
)
def test_options_of_another_type(to: str, name: str, value: object) -> None:
    with pytest.raises(ParameterError, match=f"{name}="):
        naivete.export(fitted("naive"), to, **{name: value})


@pytest.mark.parametrize("table", ["", [], ("schema", "")])
def test_a_table_needs_a_name(table: object) -> None:
    with pytest.raises(ParameterError, match="the name of a table is needed"):
        naivete.export(fitted("naive"), "sql", table=table)


def test_models_that_are_no_sum_of_tables() -> None:
    X, y = frame(60)
    with pytest.raises(NotFittedError, match="before exporting"):
        naivete.export(NaiveBayes(), "python")
    with pytest.raises(ParameterError, match="a fitted classifier or a network is needed, got str"):
        naivete.export("model.nvt", "python")
    for model in (AODE(), Spectrum(members=1)):
        with pytest.raises(ParameterError, match="does not predict with one network"):
            naivete.export(model.fit(X, y), "python")
    with pytest.raises(ParameterError, match="column 'number' has a kernel density"):
        naivete.export(NaiveBayes(encoder=Encoder(numbers="kernel")).fit(X, y), "python")


def test_the_number_of_cells_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sum_of_tables, "MOST_CELLS", 10)
    with pytest.raises(ResourceError, match="limited to 10; learn a model with fewer parents"):
        naivete.export(fitted("naive"), "python")


def test_comments_hold_printable_ascii_only() -> None:
    for character in map(chr, (*range(0x300), 0x2028, 0xD800, 0x1F600)):
        text = comment_text(character)
        assert text.isprintable()
        assert text.isascii()
        assert not set("*?") & set(text)
    assert comment_text(np.inf) == "Infinity"
