"""The kernels for a GPU count and predict as the others do; on torch's CPU device where there is no GPU."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naivete import KDB, TAN, NaiveBayes, ParameterError, model_hash, use_kernels
from naivete._kernels import Layout, dispatch, gram, margins, pack, scatter
from naivete._kernels.prediction import gather

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'naivete[gpu]'")

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture(autouse=True)
def _everything_on_the_device(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(dispatch, "SMALL", 0)
    with use_kernels("gpu", DEVICE):
        yield


@st.composite
def columns(draw: st.DrawFn) -> tuple[list[np.ndarray], tuple[int, ...]]:
    """Columns with their numbers of states, the class last; some values are missing."""
    rows = draw(st.integers(1, 300))
    cards = tuple(draw(st.lists(st.sampled_from([1, 2, 3, 5, 9, 300, 70_000]), min_size=2, max_size=5)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    codes = []
    for card in cards:
        dtype = np.uint8 if card < 256 else np.uint16 if card < 65536 else np.uint32
        column = rng.integers(0, card, rows).astype(dtype)
        column[rng.random(rows) < 0.1] = np.iinfo(dtype).max
        codes.append(column)
    return codes, cards


def on_both(function: Any) -> tuple[Any, Any]:
    with use_kernels("numpy"):
        expected = function()
    return function(), expected


@given(columns(), st.booleans(), st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_families(table: tuple[list[np.ndarray], tuple[int, ...]], weighted: bool, seed: int) -> None:
    codes, cards = table
    rng = np.random.default_rng(seed)
    last = len(cards) - 1
    families = [(x, -1) for x in range(last)] + [(-1,)]
    families += [(x, y, -1) for x in range(last) for y in range(x + 1, last) if cards[x] * cards[y] * cards[-1] < 1e6]
    layout = Layout(tuple(families), cards)
    weight = rng.choice([1, 7, 2**40], len(codes[0])) if weighted else None
    counts, expected = on_both(lambda: scatter(codes, layout, weight))
    np.testing.assert_array_equal(counts, expected)
    values = rng.normal(size=layout.size)
    joint, expected_joint = on_both(lambda: gather(codes[:-1], layout, values, cards[-1]))
    np.testing.assert_array_equal(joint, expected_joint)


@given(st.integers(1, 400), st.integers(1, 7), st.integers(0, 2**32), st.booleans())
@settings(max_examples=30, deadline=None)
def test_pairs(rows: int, classes: int, seed: int, some_rows: bool) -> None:
    from naivete._kernels.device_planes import device_planes

    rng = np.random.default_rng(seed)
    cards = rng.choice([2, 3, 4, 9], rng.integers(1, 6)).tolist()
    missing = rng.random(len(cards)) < 0.5
    codes = [rng.integers(0, card, rows).astype(np.uint8) for card in cards]
    for column, absent in zip(codes, missing, strict=True):
        column[(rng.random(rows) < 0.2) & absent] = 255
    labels = rng.integers(0, classes, rows).astype(np.uint8)
    labels[rng.random(rows) < 0.1] = 255
    chosen = np.flatnonzero(rng.random(rows) < 0.6) if some_rows else None
    taken = slice(None) if chosen is None else chosen
    with use_kernels("numpy"):
        planes = pack([column[taken] for column in codes], cards, missing.tolist(), labels[taken], classes)
        every = slice(0, len(planes.words))
        expected, expected_margins = gram(planes, every, every), margins(planes)
    on_device = device_planes(codes, cards, missing.tolist(), labels, classes, chosen)
    np.testing.assert_array_equal(np.triu(gram(on_device, every, every)), np.triu(expected))
    np.testing.assert_array_equal(margins(on_device), expected_margins)
    np.testing.assert_array_equal(on_device.counts, planes.counts)
    half = slice(0, (every.stop + 1) // 2), slice(every.stop // 2, every.stop)
    np.testing.assert_array_equal(gram(on_device, *half), gram_of(expected, *half))


def gram_of(whole: np.ndarray, rows: slice, columns: slice) -> np.ndarray:
    """Return the counts of some pairs from those of all, which are known for the second plane not before the first."""
    both = np.triu(whole) + np.triu(whole, 1).transpose(0, 2, 1)
    return both[:, rows, columns]


def table(rows: int = 600, missing: bool = False, states: int = 4, classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(rows)
    X = rng.integers(0, states, (rows, 7))
    X[:, 1] = (X[:, 0] + (rng.random(rows) < 0.3)) % states
    y = (X[:, 0] + X[:, 2] + (rng.random(rows) < 0.2)) % classes
    if not missing:
        return X.astype(np.uint8), y
    holes = X.astype(float)
    holes[rng.random(X.shape) < 0.1] = np.nan
    return holes, y


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("model", [NaiveBayes, TAN, KDB])
def test_models_are_equal_to_the_last_bit(model: Any, missing: bool, weighted: bool, classes: int) -> None:
    X, y = table(missing=missing, classes=classes)
    weight = np.random.default_rng(0).choice([0.25, 1, 3.7], len(y)) if weighted else None
    fitted, expected = on_both(lambda: model().fit(X, y, weight))
    assert model_hash(fitted) == model_hash(expected)
    np.testing.assert_array_equal(fitted.predict_proba(X), expected.predict_proba(X))


def test_blocks_of_rows_give_the_same_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that does not fit into the memory of the device is counted in blocks."""
    from naivete._kernels import device

    X, y = table(5000)
    expected = model_hash(KDB().fit(X, y))
    monkeypatch.setattr(device, "_rows_that_fit", lambda codes: 700)
    assert model_hash(KDB().fit(X, y)) == expected


def test_exhausted_memory_leads_to_smaller_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    from naivete._kernels import device

    X, y = table(5000)
    expected = model_hash(KDB().fit(X, y))
    sizes: list[int] = []
    original = device._uploaded

    def limited(codes: Any) -> Any:
        sizes.append(len(codes[0]) if codes else 0)
        if sizes[-1] > 1000:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return original(codes)

    monkeypatch.setattr(device, "_uploaded", limited)
    monkeypatch.setattr(device, "SMALLEST_BLOCK", 100)
    assert model_hash(KDB().fit(X, y)) == expected
    assert max(sizes) > 1000
    monkeypatch.setattr(device, "SMALLEST_BLOCK", 4000)
    with pytest.raises(MemoryError, match="is not enough for 4,000 rows"):
        KDB().fit(X, y)


def test_columns_are_copied_once_in_a_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    from naivete._kernels import device

    X, y = table()
    copied: list[int] = []
    original = device._upload_bytes
    monkeypatch.setattr(device, "_upload_bytes", lambda columns: (copied.append(len(columns)), original(columns))[1])
    KDB().fit(X, y)
    assert sorted(copied) == [1, 7]  # the class, and all features together
    assert not device._kept.columns


def test_streamed_blocks_are_kept_for_the_next_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    from naivete._kernels import device
    from naivete._kernels.device_planes import device_planes

    monkeypatch.setattr(device, "STREAMED", (7 * 256, 7 * 256))
    monkeypatch.setattr(device, "SMALLEST_BLOCK", 128)
    X, y = table(3000)
    codes, labels = [X[:, j] for j in range(7)], y.astype(np.uint8)
    planes = device_planes(codes, [4] * 7, [False] * 7, labels, 2)
    every = slice(0, 21)
    with use_kernels("numpy"):
        expected = gram(pack(codes, [4] * 7, [False] * 7, labels, 2), every, every)
    np.testing.assert_array_equal(np.triu(gram(planes, every, every)), np.triu(expected))
    assert len(planes._parts) == 12
    monkeypatch.setattr(device, "_fill", None)  # nothing is copied again
    np.testing.assert_array_equal(np.triu(gram(planes, every, every)), np.triu(expected))


def test_arrays_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Features, labels and weights may be arrays of other libraries on the device; the features are not copied to it again."""
    from naivete._kernels import device, dispatch

    X, y = table(640)
    weight = np.arange(1.0, 641)
    expected = model_hash(KDB().fit(X, y, weight))
    if DEVICE == "cpu":  # tensors that claim to be on a GPU
        monkeypatch.setattr(torch.Tensor, "__dlpack_device__", lambda self: (2, 0))
        monkeypatch.setattr(dispatch, "tensor_of", lambda array: array)
        monkeypatch.setattr("naivete.data.frames.tensor_of", lambda array: array)
    copied: list[int] = []
    original = device._upload_bytes
    monkeypatch.setattr(device, "_upload_bytes", lambda columns: (copied.append(len(columns)), original(columns))[1])
    features = torch.from_numpy(np.asfortranarray(X)).to(DEVICE)
    model = KDB().fit(features, torch.from_numpy(y).to(DEVICE), torch.from_numpy(weight).to(DEVICE))
    assert model_hash(model) == expected
    assert copied == [1]  # the class
    assert model.predict(features).tolist() == KDB().fit(X, y, weight).predict(X).tolist()


def test_settings_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError, match=r"cannot use the device 'nonsense'.*NAIVETE_DEVICE"), use_kernels("gpu", "nonsense"):
        pass
    with pytest.raises(ParameterError, match="tier='fast': choose"), use_kernels("fast"):  # type: ignore[arg-type]
        pass
    with pytest.raises(ParameterError, match="only the kernels 'gpu'"), use_kernels("c", "cuda"):
        pass
    if DEVICE == "cpu":
        with pytest.raises(ParameterError, match=r"finds no CUDA device.*NAIVETE_DEVICE=cpu"), use_kernels("gpu", "cuda"):
            pass


@pytest.mark.slow
def test_fused_kernels_in_triton_s_interpreter() -> None:
    """The kernels in Triton's language, run by its interpreter, give the models of the C kernels."""
    pytest.importorskip("triton", reason="Triton is not installed")
    program = """
    import numpy as np
    from naivete import KDB, NaiveBayes, TAN, model_hash, use_kernels
    from naivete._kernels import device, device_counting, device_planes, device_triton, dispatch
    from tests._kernels.test_gpu import table

    dispatch.SMALL = 0
    for module in (device, device_counting, device_planes):
        module.fused = lambda: device_triton
    for missing, weighted, states, classes in [(False, False, 3, 2), (True, False, 4, 2), (True, True, 12, 3), (False, True, 2, 6)]:
        X, y = table(140, missing, states, classes)
        weight = np.random.default_rng(0).choice([0.25, 1, 3], len(y)) if weighted else None
        for model in (NaiveBayes, TAN, KDB):
            hashes = set()
            for tier, name in (("numpy", None), ("gpu", "cpu")):
                with use_kernels(tier, name):
                    fitted = model().fit(X, y, weight)
                    hashes.add((model_hash(fitted), fitted.predict_log_proba(X).round(9).tobytes()))
            assert len(hashes) == 1, (model, missing, weighted)
    """
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    subprocess.run([sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)], check=True, env=environment)
