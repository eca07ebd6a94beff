"""The page of `naivete explore`: its JavaScript gives the results of the library, and no name can do harm."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import dataclass
from functools import cache
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import polygamma

from naivete import C45, FAN, ID3, KDB, PC, TAN, Encoder, Full, HiddenNaive, HillClimb, JoinedNaive, NaiveBayes, SelectiveNaive
from naivete._kernels.codes import missing
from naivete.classifiers.explaining import one_network_classifiers
from naivete.classifiers.registry import REGISTRY, Entry
from naivete.display.explore import explore_page
from naivete.display.explore.data import MOST_CELLS, model_values
from naivete.errors import DataError, ParameterError, ResourceError
from naivete.inference.certainty import Training
from naivete.network.network import Network
from naivete.network.smoothing import smoothing_of
from naivete.variables import CLASS, Variable
from tests import LONG
from tests.display.javascript import Engine

ROWS, EXPLAINED = (200, 20) if LONG else (60, 10)
NORMAL = {"encoder": Encoder(numbers="normal")}


def frame(
    rows: int = 250, classes: int = 2, continuous: int = 0, missing: int = 0, more: str = "cdefg"
) -> tuple[pd.DataFrame, list[str]]:
    """A table whose class depends on two features, and others on the class and on each other."""
    rng = np.random.default_rng(7)
    x0, x1 = rng.integers(0, 2, rows), rng.integers(0, 3, rows)
    y = np.where(rng.random(rows) < 0.75, (x0 + x1) % classes, rng.integers(0, classes, rows))
    columns = {"a": x0, "b": x1}
    for j, name in enumerate(more):
        source = y if j % 2 == 0 else list(columns.values())[-1]
        columns[name] = np.where(rng.random(rows) < 0.6, source, rng.integers(0, 2 + j % 3, rows))
    table: dict[str, Any] = {name: [f"s{v}" for v in values] for name, values in columns.items()}
    if missing:
        table["b"][::5] = [None] * len(table["b"][::5])
    for j in range(continuous):
        before = table[f"n{j - 1}"] if j else 0.0
        table[f"n{j}"] = rng.normal(size=rows) + 0.5 * (j + 1) * y + 0.6 * before
    return pd.DataFrame(table), [f"k{v}" for v in y]


@dataclass
class Case:
    """A fitted model, rows of which some have missing values, and their codes."""

    model: Any
    rows: pd.DataFrame
    codes: list[dict[int, float]]
    engine: Engine


MODELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "naive Bayes": (NaiveBayes(), {}),
    "naive Bayes of three classes": (NaiveBayes(), {"classes": 3}),
    "naive Bayes without smoothing": (NaiveBayes(smoothing=0.0), {"rows": 25, "classes": 3}),
    "naive Bayes with a given prior": (NaiveBayes(prior=[0.3, 0.7]), {}),
    "TAN": (TAN(), {}),
    "calibrated TAN of three classes": (TAN(calibration="leave-one-out"), {"classes": 3}),
    "FAN": (FAN(), {}),
    "KDB(2)": (KDB(k=2, theta=-np.inf), {"classes": 3}),
    "hill climbing": (HillClimb(), {}),
    "hill climbing of three classes": (HillClimb(), {"classes": 3}),
    "PC": (PC(), {"classes": 3}),
    "selective": (SelectiveNaive(), {}),
    "joined": (JoinedNaive(), {}),
    "hidden": (HiddenNaive(), {"more": "cdef"}),
    "C4.5": (C45(), {"classes": 3, "continuous": 1}),
    "ID3": (ID3(), {"more": "cde"}),
    "normal densities": (NaiveBayes(**NORMAL), {"continuous": 2, "classes": 3}),
    "linked normal densities": (TAN(**NORMAL), {"continuous": 3}),
    "full normal density": (Full(**NORMAL), {"continuous": 2, "more": "cd"}),
    "kernel densities": (NaiveBayes(encoder=Encoder(numbers="kernel")), {"continuous": 2, "rows": 80}),
    "intervals": (KDB(k=1), {"continuous": 3}),
    "missing as a state": (TAN(encoder=Encoder(missing="state", unseen="smooth")), {"missing": 1}),
}
names = pytest.mark.parametrize("name", MODELS)


@cache
def case(name: str) -> Case:
    estimator, arguments = MODELS[name]
    X, y = frame(**arguments)
    model = estimator.fit(X, y)
    rng = np.random.default_rng(1)
    rows = X.sample(ROWS, replace=True, random_state=1).reset_index(drop=True)
    hidden = rng.random(rows.shape) < np.linspace(0, 1, ROWS)[:, None]  # from complete rows to empty ones
    rows = pd.DataFrame({name: rows[name].where(~hidden[:, j], None) for j, name in enumerate(rows)})
    return Case(model, rows, codes_of(model, rows), Engine(model.network_, training_of(model), getattr(model, "temperature_", 1.0)))


def codes_of(model: Any, rows: pd.DataFrame) -> list[dict[int, float]]:
    """Return the codes of the observed values of each row."""
    (encoded,) = model.encoded(rows)
    columns = [(x, column, missing(column)) for x, column in enumerate(encoded.codes)]
    return [{x: column[i].item() for x, column, absent in columns if not absent[i]} for i in range(len(rows))]


def training_of(model: Any) -> Training:
    return Training(model.cases_, smoothing_of(getattr(model, "smoothing", 0.0)), getattr(model, "prior", None) is not None)


def some_rows() -> list[int]:
    return list(range(0, ROWS, ROWS // EXPLAINED))


@names
def test_posteriors_are_those_of_the_library(name: str) -> None:
    this = case(name)
    expected = this.model.predict_proba(this.rows)
    found = np.array([this.engine.call("probabilities", codes)["posterior"] for codes in this.codes])
    assert np.abs(found - expected).max() < 1e-9


@names
def test_contributions_and_intervals_are_those_of_explain(name: str) -> None:
    this = case(name)
    for target in range(len(this.model.classes_)):
        chosen = some_rows()[target :: len(this.model.classes_)]
        explanation = this.model.explain(this.rows.iloc[chosen], this.model.classes_[target])
        values, base = explanation.by_feature.values, explanation.by_feature.base
        interval = explanation.interval()
        for i, row in enumerate(chosen):
            found = this.engine.call("explained", this.codes[row], target)
            assert np.abs(np.array(found["contributions"]) - values[i]).max() < 1e-9
            assert found["base"] == pytest.approx(base[i], abs=1e-9)
            assert found["interval"] == pytest.approx(interval[i], abs=1e-9)


@names
def test_questions_are_those_of_ask_next(name: str) -> None:
    this = case(name)
    for row in some_rows():
        questions = {question.position: question.gain for question in this.model.ask_next(known(this, row))}
        schema = this.model.schema_
        codes = {x: code for x, code in this.codes[row].items() if not (schema[x].missing and code == schema[x].known)}
        found = this.engine.call("asked", codes)
        assert dict(found) == pytest.approx(questions, abs=1e-9)
        assert [bits for _, bits in found] == sorted((bits for _, bits in found), reverse=True)


@names
def test_sufficient_reasons_are_those_of_the_library(name: str) -> None:
    this = case(name)
    schema = this.model.schema_
    for row in some_rows():
        found = this.engine.call("reasoned", this.codes[row])
        try:
            reason = this.model.sufficient_reason(known(this, row))
        except (DataError, ParameterError):
            assert isinstance(found, str)
            continue
        assert this.model.classes_[found["decided"]] == reason.prediction
        assert [schema[x].name for x in found["features"]] == list(reason.values)
        if reason.counterexample is None:
            assert found["counterexample"] is None
        else:
            labels = {schema[x].name: schema[x].labels[code] for x, code in found["counterexample"]}
            assert this.model.sufficient_reason({**known(this, row), **labels}).prediction != reason.prediction
            if "without smoothing" not in name:  # there are ties between impossible values
                assert labels == {feature: str(value) for feature, value in reason.counterexample.items()}


@names
def test_flips_are_those_of_the_library(name: str) -> None:
    this = case(name)
    schema, classes = this.model.schema_, this.model.classes_
    for row in some_rows():
        found = this.engine.call("flipped", this.codes[row])
        try:
            flip = this.model.flip(known(this, row))
        except (DataError, ParameterError):
            assert isinstance(found, str)
            continue
        assert (found is not None) == flip.found
        if found is None:
            continue
        assert classes[found["before"]] == flip.before
        assert len(found["changes"]) == flip.cost
        labels = {schema[x].name: schema[x].labels[code] for x, code in [*found["changes"], *found["assumed"]]}
        changed = this.model.sufficient_reason({**known(this, row), **labels})
        assert changed.prediction == classes[found["after"]] != flip.before


@names
def test_unusual_cases_are_those_of_explain(name: str) -> None:
    this = case(name)
    rows = [0, 1, *some_rows()[1:]]
    expected = this.model.explain(this.rows.iloc[rows]).unusual.tolist()
    inputs = [x for x in this.model.network_.inputs if this.model.schema_[x].card > 1 or x in this.model.network_.densities]
    found = [this.engine.call("unusual", this.codes[row]) for row in rows]
    for row, unusual, is_unusual in zip(rows, found, expected, strict=True):
        assert unusual == (is_unusual if all(x in this.codes[row] for x in inputs) else None)
    assert found[0] is not None


def test_improbable_combinations_are_unusual() -> None:
    this = case("KDB(2)")
    rng = np.random.default_rng(0)
    X, _ = frame(classes=3)
    shuffled = pd.DataFrame({name: rng.permutation(X[name]) for name in X})
    found = [this.engine.call("unusual", codes) for codes in codes_of(this.model, shuffled)]
    assert found == this.model.explain(shuffled).unusual.tolist()
    assert True in found


def known(this: Case, row: int) -> dict[str, Any]:
    return {str(name): value for name, value in this.rows.iloc[row].items() if not pd.isna(value)}


EXPLORED = [entry for entry in REGISTRY if entry.name in one_network_classifiers() and entry.name != "Recursive"]


@pytest.mark.parametrize("entry", EXPLORED, ids=lambda entry: entry.name)
def test_every_classifier_of_one_network(entry: Entry) -> None:
    X, y = frame(rows=60, classes=3, more="cd")
    model = entry.estimator().fit(X, y)
    engine = Engine(model.network_, training_of(model))
    rows = X[:20].mask(np.random.default_rng(0).random((20, 4)) < 0.3, None)
    expected = model.predict_proba(rows)
    for codes, posterior in zip(codes_of(model, rows), expected, strict=True):
        assert engine.call("probabilities", codes)["posterior"] == pytest.approx(posterior, abs=1e-9)


def test_the_class_of_some_networks_has_parents() -> None:
    assert case("PC").model.network_.parents[CLASS]


def test_impossible_values_are_reported() -> None:
    this = case("naive Bayes without smoothing")
    _, impossible = this.model.posteriors(this.rows)
    found = [i for i, codes in enumerate(this.codes) if this.engine.call("probabilities", codes)["impossible"]]
    assert found == impossible.tolist()


def test_trigamma() -> None:
    this = case("naive Bayes").engine
    for x in [1e-8, 0.3, 1.0, 5.5, 19.99, 20.0, 1234.5, 1e9]:
        assert this.call("trigamma", x) == pytest.approx(float(polygamma(1, x)), rel=1e-13)
    assert this.context.eval("trigamma(0)") == np.inf


def test_work_is_limited() -> None:
    engine = case("KDB(2)").engine
    engine.context.eval("limitWork(100); null")
    assert engine.call("asked", {0: 1}) == "the computation takes too long in a page"
    engine.context.eval("limitWork(Infinity); null")
    assert isinstance(engine.call("asked", {0: 1}), list)


def test_joint_distributions_of_ancestors_are_those_of_all_variables() -> None:
    engine = case("PC").engine
    for members in ([0], [1, 2], [2, 3, 5]):
        expected = engine.context.eval(f"JSON.stringify([...ancestralDistribution(model, {members})])")
        if len(members) < 3:
            found = engine.context.eval(f"JSON.stringify([...newJointDistribution(model, {members})])")
            assert json.loads(found) == pytest.approx(json.loads(expected), abs=1e-12)
        assert sum(json.loads(expected)) == pytest.approx(1.0)


def test_tables_that_are_too_large_are_refused() -> None:
    cards = 600
    variables = (*(Variable(f"x{i}", tuple(range(cards))) for i in range(2)), Variable("y", (0, 1)))
    table = np.full((cards, cards, 2), 1 / cards)
    network = Network(variables, {0: (-1,), 1: (0, -1), -1: ()}, {0: np.full((cards, 2), 1 / cards), 1: table, -1: np.full(2, 0.5)})
    model_values(network)
    wide = (*(Variable(f"x{i}", tuple(range(1000))) for i in range(2)), Variable("y", (0, 1)))
    cpts = {0: np.full((1000, 2), 1e-3), 1: np.full((1000, 1000, 2), 1e-3), -1: np.full(2, 0.5)}
    with pytest.raises(ResourceError, match=f"2,000,000 cells, and a page is limited to {MOST_CELLS:,}"):
        model_values(Network(wide, {0: (-1,), 1: (0, -1), -1: ()}, cpts))


# names

HOSTILE = [
    "</script><script>alert(1)</script>",
    "\"quoted\" 'twice' `and` ${more}",
    "<img src=x onerror=alert(1)>",
    "שלום עולם",
    "😀 \U0001f9d1\u200d\U0001f680",
    "a\u2028b\u2029c",
    "{{model}} {{script}} &amp; <!-- -->",
    "__proto__",
]


@cache
def hostile_model() -> NaiveBayes:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 60)
    columns = {name: [[f"{name} 1", f"{name} 2"][v] for v in (y + rng.integers(0, 2, 60)) % 2] for name in HOSTILE}
    return NaiveBayes().fit(pd.DataFrame(columns), [HOSTILE[v] for v in y])


class Scripts(HTMLParser):
    """The contents of the script elements of a page, and the tags of all elements."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script":
            self.scripts[-1] += data


def hostile_page() -> tuple[str, Scripts]:
    model = hostile_model()
    text = str(explore_page(model.network_, HOSTILE[0], training=training_of(model)))
    parsed = Scripts()
    parsed.feed(text)
    return text, parsed


def test_names_do_no_harm_in_the_page() -> None:
    text, parsed = hostile_page()
    data, _ = parsed.scripts
    values = json.loads(data)
    assert [variable["name"] for variable in values["variables"]] == HOSTILE
    assert set(values["classes"]) == set(HOSTILE[:2])
    assert not re.search(r"[<>&\u2028\u2029]", data)
    assert "img" not in parsed.tags
    assert not parsed.attributes & {"style", "onerror", "onclick"}
    assert text.count("<script") == text.count("</script>") == 2


def test_the_policy_allows_the_script_of_the_page_alone() -> None:
    text, parsed = hostile_page()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    directives = dict(part.strip().split(" ", 1) for part in policy[1].replace("&#x27;", "'").split(";"))
    digest = base64.b64encode(hashlib.sha256(parsed.scripts[1].encode()).digest()).decode()
    assert directives["default-src"] == "'none'"
    assert directives["script-src"] == f"'sha256-{digest}'"
    assert "unsafe" not in policy[1]
    assert "://" not in re.sub(r'xmlns="[^"]*"', "", text)


def test_the_page_is_small_and_always_the_same() -> None:
    text, _ = hostile_page()
    assert len(text.encode()) < 250_000
    assert text == hostile_page()[0]


def test_names_survive_the_address_of_a_case() -> None:
    model = hostile_model()
    engine = Engine(model.network_)
    codes = {x: x % 2 for x in range(len(HOSTILE))}
    entries = json.dumps([[x, {"code": code, "typed": None}] for x, code in codes.items()])
    fragment = engine.context.eval(f"fragmentOf(model, new Map({entries}))")
    assert re.fullmatch(r"[A-Za-z0-9%._~!*'()=&-]+", fragment)
    found = engine.call("read", fragment)
    assert (found["codes"], found["ignored"]) == ([list(item) for item in codes.items()], 0)


@pytest.mark.parametrize(
    ("fragment", "ignored"),
    [
        ("", 0),
        ("&&&", 0),
        ("=", 1),
        ("a", 1),
        ("a=%", 1),
        ("%E0%A4%A=s1", 1),
        ("a=__proto__&__proto__=1&constructor=2&toString=s1", 4),
        ("nothing=s1&a=s9", 2),
        ("n0=NaN&n1=Infinity&n2=1e999", 3),
        ("n0=<script>alert(1)</script>", 1),
    ],
)
def test_hostile_fragments_are_ignored(fragment: str, ignored: int) -> None:
    assert case("intervals").engine.call("read", fragment) == {"codes": [], "ignored": ignored, "fragment": ""}


def test_values_of_a_fragment() -> None:
    this = case("intervals")
    (x,) = [x for x, variable in enumerate(this.model.schema_) if variable.name == "n2"]
    cuts = this.model.schema_[x].cuts
    at_cut = this.engine.call("read", f"a=s1&n2={cuts[0]!r}&a=s0")
    assert dict(at_cut["codes"]) == {0: 0, x: 0}
    assert at_cut["fragment"] == f"a=s0&n2={cuts[0]!r}"
    label = this.engine.call("read", f"n2=%3E%20{this.model.schema_[x].labels[-1].removeprefix('> ')}")
    assert label["codes"] == [[x, len(cuts)]]
    assert this.engine.call("read", "a=s1&" * 50_000)["codes"] == [[0, 1]]
    density = case("normal densities")
    position = [variable.name for variable in density.model.schema_].index("n1")
    assert density.engine.call("read", "n1=-2.5e-1")["codes"] == [[position, -0.25 - density.model.schema_[position].origin]]
