"""Saving and loading classifiers: the same predictions, the same bytes, and no other objects."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import naivete
from naivete.classifiers.ande import A2DE
from naivete.classifiers.augmented import KDB, TAN, NaiveBayes
from naivete.classifiers.baselines import Lookup, Majority
from naivete.classifiers.not_fitted import NotFittedError
from naivete.classifiers.saving import classifier_of, cut_of, model_hash, model_of
from naivete.classifiers.selective import K2AS, InfoAS, SelectiveNaive
from naivete.classifiers.unrestricted import CB, K2, PC, HillClimb
from naivete.counts.independence import g, pearson
from naivete.counts.scores import BDeu, aic, bic, k2
from naivete.data.table import Column, Table
from naivete.encoding.discretization import EqualFrequency, EqualWidth, mdl
from naivete.encoding.encoder import Encoder
from naivete.errors import FileError, ModelFileError, ParameterError
from naivete.network.smoothing import Backoff, ClarkNiblett, Lidstone, MEstimate

WEATHER = Table(
    (
        Column("outlook", np.array([0, 1, 2, 0, 1, -1, 2, 0]), ("sunny", "rain", "fog"), "nominal"),
        Column("temperature", np.array([21.5, 12.0, np.nan, 30.1, 5.5, 18.0, 9.0, 25.0])),
        Column("windy", np.array([True, False, True, False, True, False, True, False])),
    )
)
PLAY = ["out", "in", "in", "out", "in", "out", "in", "out"]

CLASSIFIERS: list[Any] = [
    Majority(),
    Lookup(),
    NaiveBayes(prior=[0.25, 0.75]),
    TAN(root="windy", smoothing=MEstimate(3)),
    KDB(),
    KDB(k=np.int64(1), theta=math.inf, smoothing=Lidstone(0.5)),
    KDB(k="auto", theta="auto", smoothing="friedman"),
    KDB(k=5, theta="chi2", smoothing=Backoff(1.5), budget=1 << 20),
    KDB(smoothing=ClarkNiblett(), encoder=Encoder(kinds={"windy": "nominal"}, cut=EqualWidth(3), missing="state")),
    NaiveBayes(encoder=Encoder(kinds=None, cut=EqualFrequency(2), unseen="smooth", max_integer_states=3)),
    K2(),
    K2(order=("windy", None, "outlook", "temperature"), max_parents=np.int64(2), criterion=bic, smoothing=MEstimate(3)),
    K2(order=np.array([2, 0, 1]), criterion="mdl", prior=(0.25, 0.75)),
    HillClimb(),
    HillClimb(criterion=BDeu(2.5), max_parents=1, tabu=0, max_steps=3, class_root=True),
    CB(),
    CB(
        alpha=0.2, test=g, criterion=aic, stopping_rule="score", class_root=False, partial_order=True, max_order=None, max_parents=3
    ),
    PC(),
    PC(alpha=0.5, test=pearson, max_order=1, smoothing=Backoff(1.5)),
    SelectiveNaive(),
    SelectiveNaive(random_state=np.int64(3), encoder=Encoder(cut=EqualWidth(3))),
    K2AS(),
    K2AS(accept_ties=True, learner="tan", criterion=k2, max_parents=2, random_state=4),
    InfoAS(),
    InfoAS(metric="cdc", stopping_rule="chi2", alpha=0.5, guided="stays", backward=True, learner=KDB(k=1)),
    InfoAS(learner=K2AS(learner=TAN(smoothing=Lidstone(0.5)), encoder=Encoder(max_integer_states=7))),
]


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=[f"{type(c).__name__}-{i}" for i, c in enumerate(CLASSIFIERS)])
def test_a_loaded_classifier_gives_the_same_answers(classifier, tmp_path):
    classifier.fit(WEATHER, PLAY)
    naivete.save(classifier, tmp_path / "weather.nvt")
    loaded = naivete.load(tmp_path / "weather.nvt")
    assert type(loaded) is type(classifier)
    assert np.array_equal(loaded.predict_proba(WEATHER), classifier.predict_proba(WEATHER))
    assert loaded.predict(WEATHER).tolist() == classifier.predict(WEATHER).tolist()
    assert loaded.feature_names_in_.tolist() == ["outlook", "temperature", "windy"]
    assert loaded.information_ == classifier.information_
    assert loaded.passes_ == 0
    assert model_hash(loaded) == model_hash(classifier)
    assert getattr(loaded, "selected_", None) == getattr(classifier, "selected_", None)
    assert model_hash(loaded.fit(WEATHER, PLAY)) == model_hash(classifier)


@pytest.mark.parametrize(
    "labels", [[0, 1] * 4, [0.0, 1.0] * 4, [True, False] * 4, np.array(["a", "b"] * 4), np.array(["a", "b"] * 4, object)]
)
def test_labels_keep_their_type(labels, tmp_path):
    rows = [[value] for value in [1, 2, 3, 4] * 2]
    classifier = NaiveBayes().fit(rows, labels)
    naivete.save(classifier, tmp_path / "m.nvt")
    loaded = naivete.load(tmp_path / "m.nvt")
    kind = classifier.classes_.dtype.kind
    assert loaded.classes_.dtype.kind == ("O" if kind == "U" else kind)  # text is text, whatever array it came in
    assert loaded.classes_.tolist() == classifier.classes_.tolist()
    assert not hasattr(loaded, "feature_names_in_")


def test_a_file_is_named_by_text_or_a_path():
    for function in (lambda path: naivete.save(NaiveBayes().fit(WEATHER, PLAY), path), naivete.load):
        with pytest.raises(ParameterError, match="path=5: the name of a file is needed, as text or a path"):
            function(5)


def test_what_cannot_be_saved_is_said(tmp_path):
    with pytest.raises(NotFittedError, match="before saving"):
        naivete.save(KDB(), tmp_path / "m.nvt")

    class Own(KDB):
        pass

    with pytest.raises(ParameterError, match="Own cannot be saved"):
        naivete.save(Own().fit(WEATHER, PLAY), tmp_path / "m.nvt")
    fitted = KDB(encoder=Encoder(cut=lambda values, table: ())).fit(WEATHER, PLAY)
    with pytest.raises(ParameterError, match="user-defined function"):
        naivete.save(fitted, tmp_path / "m.nvt")

    @dataclass
    class Halved:  # cannot be hashed
        by: float = 2.0

        def __call__(self, *given: Any) -> Any:
            return k2(*given) / self.by

    for own, said in (
        (K2(criterion=lambda n, c: k2(n, c)), "criterion=.*user-defined function"),
        (HillClimb(criterion=Halved()), "criterion=.*user-defined function"),
        (CB(test=lambda observed, expected: g(observed, expected)), "test=.*user-defined function"),
        (InfoAS(learner=K2(criterion=Halved())), "criterion=.*user-defined function"),
        (InfoAS(learner=Own()), "Own cannot be saved"),
    ):
        with pytest.raises(ParameterError, match=said):
            naivete.save(own.fit(WEATHER, PLAY), tmp_path / "m.nvt")
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_replaced_only_if_allowed(tmp_path):
    fitted = KDB().fit(WEATHER, PLAY)
    naivete.save(fitted, tmp_path / "m.nvt")
    naivete.save(fitted, tmp_path / "m.nvt")
    with pytest.raises(FileError):
        naivete.save(fitted, tmp_path / "m.nvt", overwrite=False)


def test_cuts_are_words():
    assert cut_of("mdl") is mdl
    assert cut_of("frequency") == EqualFrequency(10)
    assert cut_of("width:3") == EqualWidth(3)
    for wrong in ("mdl:3", "width:x", "width:0", "height"):
        with pytest.raises(ParameterError, match="choose mdl"):
            cut_of(wrong)


GOOD = model_of(KDB(k=1).fit(WEATHER, PLAY))
SELECTING = model_of(InfoAS(learner=KDB(k=1)).fit(WEATHER, PLAY))
HOSTILE: dict[str, dict[str, Any]] = {
    "M3-unknown-kind": {"kind": "kbd"},
    "M3-kind-of-nothing": {"kind": "zzzzzzzz"},
    "M3-unknown-parameter": {"parameters": {**GOOD.parameters, "evil": 1}},
    "M3-encoder-of-lies": {"parameters": {**GOOD.parameters, "encoder": {"kinds": None}}},
    "M3-encoder-choice": {
        "parameters": {
            **GOOD.parameters,
            "encoder": {
                "kinds": [],
                "cut": "mdl",
                "missing": "no",
                "unseen": "error",
                "unlabelled": "error",
                "max_integer_states": 1,
            },
        }
    },
    "M3-no-notes": {"notes": {}},
    "M3-relevance-too-short": {"notes": {**GOOD.notes, "relevance": [0.5]}},
    "M3-relevance-negative": {"notes": {**GOOD.notes, "relevance": [-1.0, 0.0, 0.0]}},
    "M3-relevance-infinite": {"notes": {**GOOD.notes, "relevance": [math.inf, 0.0, 0.0]}},
    "M3-arc-out-of-range": {"notes": {**GOOD.notes, "arcs": [[0, 99, 0.5]]}},
    "M3-arc-not-a-number": {"notes": {**GOOD.notes, "arcs": [[0, 1, -2.0]]}},
    "M3-labels-of-no-type": {"notes": {**GOOD.notes, "labels": "pickle"}},
    "M3-learned-no-mapping": {"notes": {**GOOD.notes, "learned": []}},
    "M3-learned-a-word": {"notes": {**GOOD.notes, "learned": "k_"}},
    "M3-learned-nothing": {"notes": {**GOOD.notes, "learned": None}},
    "M3-learned-unknown": {"notes": {**GOOD.notes, "learned": {"predict": 1}}},
    **{
        f"M3-selected-{name}": {"notes": {**GOOD.notes, "learned": {"selected_": value}}}
        for name, value in {
            "beyond": [0, 3],
            "class": [-1],
            "twice": [1, 1],
            "truth": [True],
            "fraction": [1.0],
            "word": ["outlook"],
            "text": "012",
            "number": 2,
            "none": None,
            "mapping": {"0": 1},
            "empty-mapping": {},
            "nested": [[0]],
        }.items()
    },
    **{
        f"M3-learner-{name}": {"kind": "info-as", "parameters": {**SELECTING.parameters, "learner": value}}
        for name, value in {
            "unknown": {"kind": "forest", "parameters": {}},
            "bare": {},
            "without-parameters": {"kind": "kdb"},
            "parameters-of-lies": {"kind": "kdb", "parameters": {"evil": 1}},
            "parameters-no-mapping": {"kind": "kdb", "parameters": 3},
            "kind-no-word": {"kind": ["kdb"], "parameters": {}},
            "encoder-no-mapping": {"kind": "kdb", "parameters": {"encoder": 3}},
        }.items()
    },
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_parameters_and_notes_are_refused(name):
    with pytest.raises(ModelFileError, match=r"^there\.nvt: "):
        classifier_of(replace(GOOD, **HOSTILE[name]), "there.nvt")


def test_counts_that_are_no_numbers_are_refused_without_a_warning() -> None:
    model = model_of(A2DE().fit([["a", "b", "c"], ["b", "c", "a"]] * 4, [0, 1] * 4))
    assert model.more is not None
    for values in ([np.inf, -np.inf], [np.nan, 1.0], [1e308, 1e308], [-1.0, 1.0]):
        counts = model.more["counts"].copy()
        counts[:2] = values
        with pytest.raises(ModelFileError, match="finite numbers of at least 0 were expected"):
            classifier_of(replace(model, more={**model.more, "counts": counts}), "model")
