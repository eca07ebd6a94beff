"""One hash: the same rows give the same model, wherever they are and however they are divided."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from naivete import KDB, TAN, EqualFrequency, EqualWidth, Lookup, Majority, NaiveBayes, write
from naivete.encoding import Encoder
from naivete.frames import table_of
from naivete.network_classifier import NetworkClassifier
from naivete.saving import model_hash

pytestmark = pytest.mark.filterwarnings("ignore::naivete.errors.NaiveteWarning")

Make = Callable[[], NetworkClassifier]


@st.composite
def tables(draw: st.DrawFn, rows: tuple[int, int] = (2, 60)) -> pd.DataFrame:
    """Columns of every kind with dependences and perhaps missing values, a class `y`, and weights `w`."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(*rows))
    hidden = rng.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "text": np.array(["a", "b", "c", "d"])[(hidden + rng.integers(0, 2, n)) % 4],
            "whole": (hidden * 2 + rng.integers(0, 3, n)) % 5,
            "number": np.round(hidden + rng.normal(size=n), 3),
            "many": rng.integers(0, 1000, n) + 1000 * (hidden > 1),
            "truth": hidden > rng.integers(0, 3, n),
            "byte": (hidden + rng.integers(0, 2, n)).astype(np.uint8),
        }
    )
    if draw(st.booleans()):
        for name in ("text", "number", "whole"):
            frame[name] = frame[name].where(rng.random(n) > 0.3, None)
    frame["y"] = np.array(["no", "yes", "perhaps"])[(hidden + (rng.random(n) < 0.2)) % 3]
    weights = [np.ones(n), rng.integers(0, 4, n).astype(float), rng.random(n) * 3]
    frame["w"] = weights[draw(st.integers(0, 2))]
    frame.loc[0, "w"] = 1.0
    return frame


ENCODERS = [Encoder(), Encoder(missing="state"), Encoder(cut=EqualFrequency(4)), Encoder(cut=EqualWidth(3)), Encoder(few=2)]
makers = st.sampled_from(
    [
        *(lambda e=e: NaiveBayes(encoder=e) for e in ENCODERS),
        *(lambda e=e: TAN(encoder=e) for e in ENCODERS),
        *(lambda e=e: KDB(k=2, encoder=e) for e in ENCODERS),
        lambda: KDB(k="auto", theta="auto"),
        lambda: KDB(k=1, smoothing="backoff"),
        Majority,
        Lookup,
    ]
)


def in_memory(make: Make, frame: pd.DataFrame) -> str:
    return model_hash(make().fit(frame.drop(columns=["y", "w"]), frame["y"], frame["w"]))


@pytest.fixture
def rows_at_a_time(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    return lambda rows: monkeypatch.setattr("naivete.cases.sources.ROWS", rows)


quick = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(tables(), makers, st.sampled_from([1, 7, 30, 60, 61]), st.integers(1, 61))
@quick
def test_parquet_in_any_chunks_and_row_groups(
    tmp_path: Path, rows_at_a_time: Any, frame: pd.DataFrame, make: Make, rows: int, group: int
) -> None:
    rows_at_a_time(rows)
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), tmp_path / "rows.parquet", row_group_size=group)
    assert model_hash(make().fit_cases(tmp_path / "rows.parquet", "y", weight="w")) == in_memory(make, frame)


@given(tables(), makers, st.data())
@quick
def test_several_files_of_text(tmp_path_factory: Any, frame: pd.DataFrame, make: Make, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("text")
    ends = sorted({0, len(frame), *data.draw(st.lists(st.integers(1, len(frame)), max_size=3))})
    for number, (start, stop) in enumerate(pairwise(ends)):
        frame.iloc[start:stop].to_csv(folder / f"part-{number}.csv", index=False)
    whole = folder / "whole.csv"
    frame.to_csv(whole, index=False)
    from naivete import read

    table = read(whole)
    expected = model_hash(make().fit(table.without("y").without("w"), table["y"], table["w"]))
    assert model_hash(make().fit_cases(str(folder / "part-*.csv"), "y", weight="w")) == expected


@given(tables(rows=(2, 40)), makers)
@quick
def test_arff(tmp_path_factory: Any, frame: pd.DataFrame, make: Make) -> None:
    path = tmp_path_factory.mktemp("arff") / "rows.arff"
    table = table_of(frame.drop(columns="truth"))
    write(table, path)
    from naivete import read

    table = read(path)
    expected = model_hash(make().fit(table.without("y").without("w"), table["y"], table["w"]))
    assert model_hash(make().fit_cases(path, "y", weight="w")) == expected


@given(tables(), makers)
@quick
def test_frames_and_streams_of_arrow(rows_at_a_time: Any, frame: pd.DataFrame, make: Make) -> None:
    rows_at_a_time(9)
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    expected = in_memory(make, frame)
    for cases in (frame, arrow, pl.from_arrow(arrow), lambda: arrow.to_reader(5)):
        assert model_hash(make().fit_cases(cases, "y", weight="w")) == expected


@given(tables(), makers, st.data())
@quick
def test_batches_in_any_order(frame: pd.DataFrame, make: Make, data: st.DataObject) -> None:
    ends = sorted({0, len(frame), *data.draw(st.lists(st.integers(1, len(frame)), max_size=4))})
    parts = [frame.iloc[a:b] for a, b in pairwise(ends)]
    weighed = frame[frame["w"] > 0]
    model = make()
    for part in data.draw(st.permutations(parts)):
        own = part[part["w"] > 0]
        model.partial_fit(own.drop(columns=["y", "w"]), own["y"], sorted(set(weighed["y"])), own["w"])
    assert model_hash(model) == in_memory(make, frame)


def batch(frame: pd.DataFrame) -> tuple[Any, Any, None, Any]:
    return frame.drop(columns=["y", "w"]), frame["y"], None, frame["w"]


@given(tables(rows=(8, 40)), makers, st.data())
@quick
def test_merging_and_forgetting(frame: pd.DataFrame, make: Make, data: st.DataObject) -> None:
    frame["w"] = frame["w"].replace(0, 2)
    at = data.draw(st.integers(1, len(frame) - 1))
    classes = sorted(set(frame["y"]))
    one, two = frame.iloc[:at], frame.iloc[at:]
    first = make().partial_fit(one.drop(columns=["y", "w"]), one["y"], classes, one["w"])
    second = make().partial_fit(two.drop(columns=["y", "w"]), two["y"], classes, two["w"])
    alone = model_hash(first)
    assert model_hash(first.merge(second)) == in_memory(make, frame)
    shuffled = two.sample(frac=1, random_state=1)
    first.forget(shuffled.drop(columns=["y", "w"]), shuffled["y"], shuffled["w"])
    assert model_hash(first) == alone


@given(tables(rows=(60, 120)), st.sampled_from([NaiveBayes, lambda: KDB(k=1)]), st.integers(20, 40), st.integers(1, 130))
@quick
def test_cells_of_many_numbers_depend_on_the_numbers_alone(
    monkeypatch: pytest.MonkeyPatch, rows_at_a_time: Any, frame: pd.DataFrame, make: Make, cells: int, rows: int
) -> None:
    for module in _modules_with_cells():
        monkeypatch.setattr(f"{module}.CELLS", cells)
    rows_at_a_time(rows)
    expected = in_memory(make, frame)
    assert model_hash(make().fit_cases(frame, "y", weight="w")) == expected
    shuffled = frame.sample(frac=1, random_state=rows)
    assert in_memory(make, shuffled) == expected


def _modules_with_cells() -> Iterator[str]:
    import sys

    for name, module in list(sys.modules.items()):
        if name.startswith("naivete.tall") and hasattr(module, "CELLS"):
            yield name


def test_a_given_schema_saves_the_first_pass(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.integers(0, 3, 200), "b": rng.choice(["u", "v"], 200), "y": rng.choice(["n", "p"], 200)})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    learned = KDB(k=1).fit_cases(tmp_path / "rows.csv", "y")
    again = KDB(k=1).fit_cases(tmp_path / "rows.csv", "y", schema=learned)
    assert model_hash(again) == model_hash(learned)
    assert (learned.passes_, again.passes_) == (3, 2)
    assert NaiveBayes().fit_cases(tmp_path / "rows.csv", "y").passes_ == 1
    same = KDB(k=1).fit_cases(tmp_path / "rows.csv", "y", schema=learned.network_.variables)
    assert model_hash(same) == model_hash(learned)
