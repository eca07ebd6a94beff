"""One hash: the same rows give the same model, wherever they are and however they are divided."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
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

from naivete import A2DE, KDB, SKDB, TAN, EqualFrequency, EqualWidth, NaiveBayes, Spectrum, write
from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.naive_variants import HiddenNaive, JoinedNaive, Recursive
from naivete.classifiers.registry import REGISTRY
from naivete.classifiers.saving import model_hash
from naivete.classifiers.selective import K2AS, InfoAS, SelectiveNaive
from naivete.classifiers.trees import C45
from naivete.classifiers.unrestricted import CB, K2, PC, HillClimb
from naivete.data.frames import table_of
from naivete.encoding.encoder import Encoder
from tests import estimator_of

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


ENCODERS = [
    Encoder(),
    Encoder(missing="state"),
    Encoder(cut=EqualFrequency(4)),
    Encoder(cut=EqualWidth(3)),
    Encoder(max_integer_states=2),
]
OTHERS: list[Make] = [
    *(lambda e=e: NaiveBayes(encoder=e) for e in ENCODERS[1:]),
    *(lambda e=e: TAN(encoder=e) for e in [*ENCODERS[1:], Encoder(missing="em")]),
    *(lambda e=e: KDB(k=2, encoder=e) for e in ENCODERS[1:]),
    lambda: KDB(k="auto", theta="auto"),
    lambda: KDB(k=1, smoothing="backoff"),
    lambda: A2DE(subsumption=5, min_frequency=2.5, encoder=Encoder(missing="state", cut=EqualWidth(3))),
    lambda: SKDB(k_max=2, criterion="log", bias="plain"),
    lambda: K2(order="relevance", max_parents=2, criterion="bdeu:4"),
    lambda: HillClimb(criterion="bic", class_root=True, tabu=3),
    lambda: CB(stopping_rule="score", class_root=False, test="g", encoder=Encoder(missing="state")),
    lambda: SelectiveNaive(random_state=5, encoder=Encoder(cut=EqualFrequency(4))),
    lambda: K2AS(accept_ties=True, learner="k2"),
    lambda: InfoAS(metric="cig", guided="stays", backward=True, learner=KDB(k=1)),
    lambda: InfoAS(metric="cdc", stopping_rule="chi2", learner="nb"),
    lambda: JoinedNaive(search="forward", accept_ties=True, max_joined=2),
    lambda: Recursive(parity="split", refit=False, smoothing="clark-niblett"),
    lambda: HiddenNaive(groups=[["text", "byte"]], states=2, starts=2),
    lambda: C45(prune=False, min_rows=1),
]
makers = st.sampled_from([*(partial(estimator_of, entry) for entry in REGISTRY), *OTHERS])


def in_memory(make: Make, frame: pd.DataFrame) -> str:
    return model_hash(make().fit(frame.drop(columns=["y", "w"]), frame["y"], frame["w"]))


@pytest.fixture
def rows_at_a_time(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    return lambda rows: monkeypatch.setattr("naivete.cases.sources.ROWS", rows)


quick = settings(deadline=None, max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])


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


@pytest.mark.parametrize("make", [NaiveBayes, TAN, partial(Spectrum, members=1)])
def test_a_categorical_of_polars_is_text_in_any_order_of_the_rows(tmp_path: Path, rows_at_a_time: Any, make: Make) -> None:
    rng = np.random.default_rng(0)
    size, other = rng.choice(["lo", "mid", "hi"], 200), rng.integers(0, 3, 200)
    y = np.where(rng.random(200) < 0.8, size, "mid")
    rows_at_a_time(50)

    def frame(rows: Any, kind: Any) -> pl.DataFrame:
        return pl.DataFrame({"size": pl.Series(size[rows], dtype=kind), "other": other[rows], "y": y[rows]})

    expected = in_memory(make, frame(np.arange(200), pl.String).to_pandas().assign(w=1.0))
    for rows in (np.arange(200), rng.permutation(200), np.argsort(size, kind="stable")[::-1]):
        data = frame(rows, pl.Categorical)
        data.write_parquet(tmp_path / "rows.parquet", row_group_size=70)
        pq.write_table(data.to_arrow(), tmp_path / "arrow.parquet")
        assert model_hash(make().fit(data.drop("y"), data["y"])) == expected
        for cases in (tmp_path / "rows.parquet", tmp_path / "arrow.parquet", data):
            assert model_hash(make().fit_cases(cases, "y")) == model_hash(make().fit_cases(frame(rows, pl.String), "y"))
        assert table_of(data)["size"].declared is False


@given(tables(), makers, st.data())
@quick
def test_batches_in_any_order(frame: pd.DataFrame, make: Make, data: st.DataObject) -> None:
    ends = sorted({0, len(frame), *data.draw(st.lists(st.integers(1, len(frame)), max_size=4))})
    parts = [frame.iloc[a:b] for a, b in pairwise(ends)]
    weighed = frame[frame["w"] > 0]
    model = make()
    for part in data.draw(st.permutations(parts)):
        weighted = part[part["w"] > 0]
        model.partial_fit(weighted.drop(columns=["y", "w"]), weighted["y"], sorted(set(weighed["y"])), weighted["w"])
    assert model_hash(model) == in_memory(make, frame)


def batch(frame: pd.DataFrame) -> tuple[Any, Any, None, Any]:
    return frame.drop(columns=["y", "w"]), frame["y"], None, frame["w"]


def test_forgetting_leaves_the_weights_of_the_other_rows() -> None:
    """The leave-one-out passes of Spectrum use the weight of each row, which must not be divided when others are forgotten."""
    rest = pd.DataFrame({"x": list("ccb"), "z": [0.3, 0.8, -0.2], "y": list("abb"), "w": [1.0, 2.670823, 0.681473]})
    forgotten = pd.DataFrame({"x": list("bbbc"), "z": [-0.7, -0.5, 0.4, 0.8], "y": list("aaab"), "w": [1.869561, 0.25, 2.5, 1.5]})

    def learned(rows: pd.DataFrame) -> Any:
        return Spectrum().partial_fit(rows[["x", "z"]], rows["y"], ["a", "b"], rows["w"])

    model = learned(pd.concat([rest, forgotten])).forget(forgotten[["x", "z"]], forgotten["y"], forgotten["w"])
    assert model_hash(model) == model_hash(learned(rest))


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
@settings(quick, max_examples=8)
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
        if name.startswith("naivete.encoding.") and hasattr(module, "CELLS"):
            yield name


EACH: dict[str, Make] = {
    "K2": lambda: K2(order="relevance"),
    "HillClimb": HillClimb,
    "CB": lambda: CB(stopping_rule="score", test="g"),
    "CB-accuracy": CB,
    "PC": lambda: PC(alpha=0.2),
    "SelectiveNaive": SelectiveNaive,
    "K2AS": lambda: K2AS(accept_ties=True),
    "InfoAS": lambda: InfoAS(guided="stays", backward=True, learner="hc"),
    "InfoAS-chi2": lambda: InfoAS(metric="cdc", stopping_rule="chi2", learner=KDB(k=1)),
}
FEW_PASSES = {"K2", "PC", "SelectiveNaive", "InfoAS-chi2"}
"""Those that need few passes, and are therefore quick on a cluster and when they are resumed."""


def some_rows(weights: str, n: int = 90) -> pd.DataFrame:
    """Dependent columns with missing values; weights of one, whole ones with zeros, or any."""
    rng = np.random.default_rng(5)
    hidden = rng.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "text": pd.Series(np.array(["a", "b", "c", "d"])[(hidden + rng.integers(0, 2, n)) % 4], dtype=object),
            "whole": (hidden * 2 + rng.integers(0, 3, n)) % 5,
            "number": np.round(hidden + rng.normal(size=n), 2),
            "truth": hidden > rng.integers(0, 3, n),
            "same": "only",
        }
    )
    for name in ("text", "number"):
        frame[name] = frame[name].where(rng.random(n) > 0.15, None)
    frame["y"] = np.array(["no", "yes"])[(hidden + (rng.random(n) < 0.2)) % 2]
    frame["w"] = {"one": np.ones(n), "whole": rng.integers(0, 4, n).astype(float), "any": rng.random(n) * 3}[weights]
    return frame


slow = pytest.mark.slow
few = pytest.mark.parametrize(
    "make", [pytest.param(make, id=name, marks=() if name in FEW_PASSES else slow) for name, make in EACH.items()]
)


@pytest.mark.parametrize("weights", ["whole", pytest.param("one", marks=slow), pytest.param("any", marks=slow)])
@pytest.mark.parametrize("make", EACH.values(), ids=EACH)
def test_every_way_leads_to_the_same_unrestricted_network(tmp_path: Path, rows_at_a_time: Any, make: Make, weights: str) -> None:
    frame = some_rows(weights, 45)
    expected = in_memory(make, frame)
    shuffled = frame.sample(frac=1, random_state=3)
    assert in_memory(make, shuffled) == expected
    if weights != "any":
        copies = frame.loc[np.repeat(frame.index, frame["w"].astype(int))].assign(w=1.0)
        assert in_memory(make, copies) == expected
    for rows, group in ((5, 45), (7, 4), (46, 45)):
        rows_at_a_time(rows)
        arrow = pa.Table.from_pandas(frame if rows != 7 else shuffled, preserve_index=False)
        pq.write_table(arrow, tmp_path / "rows.parquet", row_group_size=group)
        assert model_hash(make().fit_cases(tmp_path / "rows.parquet", "y", weight="w")) == expected
    model = make()
    for part in np.array_split(np.random.default_rng(1).permutation(len(frame)), 4):
        batch = frame.iloc[part]
        model.partial_fit(batch.drop(columns=["y", "w"]), batch["y"], ["no", "yes"], batch["w"])
    assert model_hash(model) == expected


@few
def test_work_on_an_unrestricted_network_is_taken_up_again(tmp_path: Path, rows_at_a_time: Any, make: Make) -> None:
    class Stop(BaseException):
        pass

    rows_at_a_time(12)
    frame = some_rows("any", 45)
    frame.to_parquet(tmp_path / "rows.parquet", index=False)
    reports = 0

    def progress(*_: Any) -> None:
        nonlocal reports
        reports += 1
        if reports % 7 == 0:
            raise Stop

    for _ in range(100):
        try:
            model = make().fit_cases(
                tmp_path / "rows.parquet", "y", weight="w", checkpoint=tmp_path / "saved", every=0, progress=progress
            )
            break
        except Stop:
            continue
    assert reports > 7
    assert model_hash(model) == in_memory(make, frame)


def itself(part: pd.DataFrame) -> pd.DataFrame:
    return part


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@few
def test_a_cluster_learns_the_same_unrestricted_network(dask_client: Any, make: Make) -> None:
    frames = pytest.importorskip("dask.dataframe")
    frame = some_rows("any", 60)
    parts = [frame.iloc[:0], frame.iloc[40:], frame.iloc[:1], frame.iloc[1:40]]
    divided = frames.from_map(itself, parts, meta=frame.iloc[:0])
    assert model_hash(make().fit_cases(divided, "y", weight="w", cluster=dask_client)) == in_memory(make, frame)


def test_a_given_schema_saves_the_first_pass(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.integers(0, 3, 200), "b": rng.choice(["u", "v"], 200), "y": rng.choice(["n", "p"], 200)})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    learned = KDB(k=1, theta=-np.inf).fit_cases(tmp_path / "rows.csv", "y")
    again = KDB(k=1, theta=-np.inf).fit_cases(tmp_path / "rows.csv", "y", schema=learned)
    assert model_hash(again) == model_hash(learned)
    assert (learned.passes_, again.passes_) == (3, 2)
    assert NaiveBayes().fit_cases(tmp_path / "rows.csv", "y").passes_ == 1
    assert Spectrum(members=1).fit_cases(tmp_path / "rows.csv", "y").passes_ == 5
    same = KDB(k=1, theta=-np.inf).fit_cases(tmp_path / "rows.csv", "y", schema=learned.network_.variables)
    assert model_hash(same) == model_hash(learned)
