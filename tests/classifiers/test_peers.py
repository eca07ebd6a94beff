"""The same numbers as libraries that compute the same thing."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.naive_bayes import CategoricalNB

from naivete.cases import MemoryCases
from naivete.classifiers.augmented import KDB, NaiveBayes
from naivete.counts.counts import Counts
from naivete.inference.predictor import Predictor
from naivete.learners.baseline import lookup
from naivete.learners.cb import cb
from naivete.learners.hill_climb import hill_climb
from naivete.learners.k2 import k2
from naivete.learners.kdb import kdb
from naivete.learners.naive_as import naive_as
from naivete.learners.pc import pc
from naivete.learners.tan import tan
from naivete.network.conditional_tables import SparseCpt
from naivete.network.network import Network
from naivete.variables import CLASS
from tests.oracles import missing
from tests.strategies import some_cases

with warnings.catch_warnings():  # its import warns, and crashes where a warning is an error
    warnings.simplefilter("ignore")
    import pyagrum as gum


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, columns = draw(st.integers(2, 40)), draw(st.integers(1, 6))
    X = rng.integers(0, rng.integers(1, 6, columns), (rows, columns))
    y = rng.integers(0, 3, rows)
    weight = rng.random(rows) + 0.1 if draw(st.booleans()) else None
    return X, y, weight


@given(tables(), st.sampled_from([1.0, 0.5, 0.01, 7.0]))
@settings(deadline=None, max_examples=80)
def test_naive_bayes_is_categorical_nb(drawn: tuple[Any, Any, Any], alpha: float) -> None:
    X, y, weight = drawn
    X = np.stack([np.unique(c, return_inverse=True)[1] for c in X.T], axis=1)
    ours = NaiveBayes(smoothing=alpha).fit(X, y, weight)
    theirs = CategoricalNB(alpha=alpha).fit(X, y, weight)
    assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=0, atol=1e-12)
    assert np.allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=1e-12, atol=1e-12)
    assert np.array_equal(KDB(k=0, smoothing=alpha).fit(X, y, weight).predict_proba(X), ours.predict_proba(X))


@given(tables())
@settings(deadline=None, max_examples=40)
def test_declared_states_are_min_categories(drawn: tuple[Any, Any, Any]) -> None:
    import pandas as pd

    X, y, weight = drawn
    frame = pd.DataFrame({f"c{j}": pd.Categorical(X[:, j], categories=range(7)) for j in range(X.shape[1])})
    ours = NaiveBayes().fit(frame, y, weight)
    theirs = CategoricalNB(min_categories=7).fit(X, y, weight)
    everything = np.tile(np.arange(7), (X.shape[1], 1)).T
    every_frame = pd.DataFrame({f"c{j}": pd.Categorical(everything[:, j], categories=range(7)) for j in range(X.shape[1])})
    assert np.allclose(ours.predict_proba(every_frame), theirs.predict_proba(everything), rtol=0, atol=1e-12)


def gum_network(network: Network) -> gum.BayesNet:
    """The network as pyAgrum's, with the class called c."""
    net = gum.BayesNet()
    called = {v: f"v{v}" for v in network.features} | {CLASS: "c"}
    for v in (*network.features, CLASS):
        net.add(gum.RangeVariable(called[v], "", 0, network.variables[v].card - 1))
    for v, parents in network.parents.items():
        for p in parents:
            net.addArc(called[p], called[v])
    for v, cpt in network.cpts.items():
        assert not isinstance(cpt, SparseCpt)
        members = network.family(v)
        for cell in np.ndindex(cpt.shape):
            net.cpt(called[v])[{called[m]: int(i) for m, i in zip(members, cell, strict=True)}] = float(cpt[cell])
    return net


@given(
    own=some_cases(rows=(3, 30), features=(1, 6), max_card=3),
    learner=st.sampled_from(
        [
            tan,
            lambda c: kdb(c, k=2),
            lambda c: kdb(c, k=3, smoothing="backoff"),
            lookup,
            lambda c: k2(c, order=[*c.features, CLASS], criterion="aic"),
            hill_climb,
            lambda c: hill_climb(c, criterion="aic", max_parents=2, smoothing=0),
            lambda c: pc(c, alpha=0.5),
            lambda c: cb(c, class_root=False, stopping_rule="score", smoothing="backoff"),
            naive_as,
        ]
    ),
)
@settings(deadline=None, max_examples=60)
def test_posteriors_are_those_of_lazy_propagation(own: MemoryCases, learner: Any) -> None:
    network = learner(Counts(own))
    theirs = gum_network(network)
    codes = own.block.take(np.arange(min(8, len(own.block)))).codes[:-1]
    found, impossible = Predictor(network).posterior(codes, own.has_missing)
    for i in range(len(found)):
        if i in impossible:
            continue
        engine = gum.LazyPropagation(theirs)
        engine.setEvidence({f"v{x}": int(c[i]) for x, c in enumerate(codes) if not missing(c)[i]})
        assert np.allclose(found[i], engine.posterior("c").tolist(), rtol=0, atol=1e-12)
