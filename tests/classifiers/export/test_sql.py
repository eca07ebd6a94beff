"""Export to SQL: the statement gives the probabilities of the library in DuckDB and in SQLite."""

from __future__ import annotations

import importlib.util
import sqlite3
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from naivete import KDB, Encoder, NaiveBayes, Network, ParameterError
from naivete.classifiers.export import export
from naivete.classifiers.export.sql_statement import identifier
from naivete.classifiers.export.sum_of_tables import sum_of_tables
from naivete.classifiers.export.tabular_form import SumOfTables
from naivete.variables import type_word
from tests.classifiers.export.samples import (
    HOSTILE,
    Sample,
    any_network,
    classifiers,
    fitted,
    frame,
    hostile_model,
    network_sample,
    one_state_networks,
    one_state_sample,
    sample,
)

QUICK = ("naive", "unsmoothed tan", "linked", "state", "tree")
IN_SQL = [name for name in classifiers() if name not in ("recursive", "hidden")]


def has_exp() -> bool:
    try:
        return sqlite3.connect(":memory:").execute("SELECT EXP(0.0)").fetchone() == (1.0,)
    except sqlite3.OperationalError:
        return False


databases = pytest.mark.parametrize(
    "database",
    [
        pytest.param("sqlite", marks=pytest.mark.skipif(not has_exp(), reason="this SQLite has no function EXP")),
        pytest.param(
            "duckdb",
            marks=pytest.mark.skipif(
                importlib.util.find_spec("duckdb") is None, reason="DuckDB is not installed; pip install 'naivete[test-exports]'"
            ),
        ),
    ],
)


def type_of(model: SumOfTables, x: int) -> str:
    column = model.inputs[x]
    if column.kind in ("intervals", "number") or any(type(s) in (int, float) for s in column.states):
        return "DOUBLE PRECISION"
    return "BOOLEAN" if any(isinstance(s, bool) for s in column.states) else "VARCHAR"


def cell(value: Any, kind: str) -> Any:
    """The value as the database holds it."""
    if value is None or (value != value and kind != "DOUBLE PRECISION") or (value == "" and kind != "VARCHAR"):
        return None  # but NaN stays NaN in DuckDB
    if kind == "VARCHAR":
        return str(value)
    if kind == "BOOLEAN":
        return bool(value)
    return 98765.4321 if value == "never seen" else float(value)


def run(database: str, model: Any, rows: Sequence[dict[Any, Any]], table: str = "data", **options: Any) -> dict[str, list[Any]]:
    """The columns of the result, in the order of the rows."""
    form = sum_of_tables(model)
    kinds = [type_of(form, x) for x in range(len(form.inputs))]
    if database == "duckdb":
        import duckdb

        connection: Any = duckdb.connect()
    else:
        connection = sqlite3.connect(":memory:")
    names = [identifier("row number"), *(identifier(column.name) for column in form.inputs)]
    columns = ", ".join(f"{name} {kind}" for name, kind in zip(names, ["INTEGER", *kinds], strict=True))
    connection.execute(f"CREATE TABLE {identifier(table)} ({columns})")
    values = [(i, *map(cell, row.values(), kinds)) for i, row in enumerate(rows)]
    connection.executemany(f"INSERT INTO {identifier(table)} VALUES ({', '.join('?' * len(names))})", values)
    statement = export(model, "sql", table=table, keys=["row number"], **options)
    cursor = connection.execute(statement)
    header = [entry[0] for entry in cursor.description]
    result = sorted(cursor.fetchall())
    assert [row[0] for row in result] == list(range(len(rows)))
    assert connection.execute(f"SELECT COUNT(*) FROM {identifier(table)}").fetchone() == (len(rows),)
    return {name: [row[i] for row in result] for i, name in enumerate(header)}


def check(chosen: Sample, database: str) -> np.ndarray:
    """Compare all rows that are not refused, and return which they are."""
    result = run(database, chosen.model, chosen.rows)
    _, predicted, *probabilities, status = result.values()
    exact = np.array([s in ("ok", "impossible") for s in status])
    assert exact[chosen.complete].all()
    refused = ~exact
    assert {status[i] for i in np.flatnonzero(refused)} <= {"missing parent"}
    assert all(column[i] is None for column in (predicted, *probabilities) for i in np.flatnonzero(refused))
    actual = np.array(probabilities).T[exact].astype(float)
    np.testing.assert_allclose(actual, chosen.expected[exact], rtol=0, atol=1e-12)
    classes = [*sum_of_tables(chosen.model).classes]
    labels = classes if len({type_word(c) for c in classes}) == 1 else [str(c) for c in classes]
    best = [labels[i] for i in actual.argmax(axis=1)]
    assert [p for p in predicted if p is not None] == best
    return exact


def can_be_in_sql(network: Network) -> bool:
    """Whether a network has no hidden variables or hierarchy, columns of one type, and names that differ also without case."""
    model = sum_of_tables(network)
    names = [str(column.name) for column in model.inputs]
    texts = [*names, *(s for v in network.variables for s in v.states if isinstance(s, str)), *map(str, model.classes)]
    numbers = [s for v in network.variables for s in v.states if type(s) in (int, float)]
    kinds = [{"text" if isinstance(s, str) else type(s) is bool for s in column.states} for column in model.inputs]
    return (
        not model.hidden
        and model.hierarchy is None
        and (model.tree is None or model.is_plain_tree)
        and len({name.casefold() for name in ["row number", *names]}) == len(names) + 1
        and all("\0" not in text and not any("\ud800" <= c <= "\udfff" for c in text) for text in texts)
        and all(float(number) == number and abs(number) < 1e300 for number in numbers)
        and all(names)
        and all(len(kind) <= 1 and True not in kind for kind in kinds)
        and not any("" in column.states for column in model.inputs)
    )


@databases
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(network=any_network.filter(can_be_in_sql), seed=st.integers(0, 999))
def test_random_networks(network: Network, seed: int, database: str) -> None:
    check(network_sample(network, seed), database)


@databases
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(network=one_state_networks.filter(can_be_in_sql), seed=st.integers(0, 999))
def test_columns_with_one_state(network: Network, seed: int, database: str) -> None:
    check(network_sample(network, seed), database)


@databases
def test_a_missing_column_with_one_state_needs_no_sum(database: str) -> None:
    assert check(one_state_sample(), database).all()


@databases
@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in IN_SQL])
def test_classifiers(name: str, database: str) -> None:
    exact = check(sample(name), database)
    if name in ("naive", "unsmoothed", "majority", "normal", "state", "tree", "id3"):
        assert exact.all()


@databases
def test_hostile_names_stay_texts(database: str) -> None:
    hostile = hostile_model("naive")
    assert check(hostile, database).all()
    result = run(database, hostile.model, hostile.rows[:3], table=HOSTILE[0])
    assert set(result["status"]) == {"ok"}


@databases
def test_tables_and_keys_with_names_of_the_statement(database: str) -> None:
    chosen = sample("naive")
    for table in ("naivete_codes", "t", "x0", "NAIVETE_SCORES"):
        result = run(database, chosen.model, chosen.rows, table=table)
        np.testing.assert_allclose(result["P(no)"], chosen.expected[:, 1], rtol=0, atol=1e-12)


def test_names_of_the_result() -> None:
    statement = export(fitted("naive"), "sql", table=("my schema", "my table"), keys=["predicted", "Status", "p(NO)"])
    assert 'FROM "my schema"."my table" AS t' in statement
    assert 'AS "predicted_"' in statement
    assert 'AS "P(no)_"' in statement
    assert 'AS "status_"' in statement


def test_an_empty_name_is_refused() -> None:
    with pytest.raises(ParameterError, match="empty name"):
        export(NaiveBayes().fit(pd.DataFrame({"": ["a", "b"]}), [0, 1]), "sql")


@databases
def test_values_that_are_refused(database: str) -> None:
    X, y = frame()
    model = KDB(encoder=Encoder(unseen="error")).fit(X, y)
    known = {"text": "low", "whole": 1.0, "truth": True, "number": 0.0, "other": 1000.0}
    result = run(database, model, [known, {**known, "text": "new"}, {**known, "text": None}])
    assert result["status"][:2] == ["ok", "unseen"]
    assert result["predicted"][1] is None


@pytest.mark.slow
@databases
def test_many_columns_and_classes_stay_within_the_depth_of_expressions(database: str) -> None:
    rng = np.random.default_rng(0)
    columns, classes = (1200, 12) if database == "sqlite" else (120, 3)  # DuckDB takes minutes to plan wide statements
    X, y = rng.integers(0, 2, (40, columns)).astype(str), np.arange(40) % classes
    model = NaiveBayes().fit(X, y)
    rows = [{f"x{i}": value for i, value in enumerate(row)} for row in X[:3].tolist()]
    result = run(database, model, rows)
    np.testing.assert_allclose(np.array(list(result.values())[2:-1], float).T, model.predict_proba(X[:3]), rtol=0, atol=1e-10)


def test_models_that_sql_cannot_hold() -> None:
    X, y = frame(60)
    for name, message in (("recursive", "a hierarchy of classifiers"), ("hidden", "has hidden variables")):
        with pytest.raises(ParameterError, match=message):
            export(fitted(name), "sql")
    with pytest.raises(ParameterError, match="several types"):
        export(NaiveBayes().fit([["a"], [1], [True]], ["no", "yes", "no"]), "sql")
    with pytest.raises(ParameterError, match="upper and lower case"):
        export(NaiveBayes().fit(X.rename(columns={"text": "Whole"}), y), "sql")
    with pytest.raises(ParameterError, match="text in SQL cannot hold"):
        export(fitted("naive"), "sql", table="a\0b")
