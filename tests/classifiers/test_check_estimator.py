"""scikit-learn's checks of estimators: every one passes all of them, with no exceptions listed."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any
from unittest import SkipTest

import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator

from naivete import (
    A2DE,
    AODE,
    C45,
    CB,
    ID3,
    K2,
    K2AS,
    KDB,
    PC,
    SKDB,
    TAN,
    HiddenNaive,
    HillClimb,
    InfoAS,
    InfoSelector,
    JoinedNaive,
    K2Selector,
    KNaive,
    Lookup,
    LossAware,
    NaiveBayes,
    NaiveSelector,
    Recursive,
    SelectiveNaive,
)
from naivete.classifiers.losses import zero_one
from naivete.classifiers.registry import REGISTRY
from naivete.classifiers.spectrum import Spectrum
from naivete.counts.scores import BDeu, bic
from naivete.encoding.discretization import EqualFrequency, EqualWidth, mdl
from naivete.encoding.encoder import Encoder
from tests import LONG, ROOT, estimator_of
from tests.representatives import slow_unless_representative

pytestmark = pytest.mark.filterwarnings("ignore:Estimator .* does not inherit from `sklearn.base.BaseEstimator`:UserWarning")
"""The classifiers are no subclasses of `BaseEstimator` (decision 0022); the checks say so before they begin, and all pass."""

SMALL = Spectrum() if LONG else Spectrum(members=1, trees=2)
NORMAL, EM, STATE = Encoder(numbers="normal"), Encoder(missing="em"), Encoder(missing="state")
DEFAULTS: list[Any] = [*(estimator_of(entry) for entry in REGISTRY if entry.name != "Spectrum"), SMALL, LossAware(TAN())]
SETTINGS: list[Any] = [
    *(entry.estimator(encoder=NORMAL) for entry in REGISTRY if "normal" in entry.estimator.densities),
    *(entry.estimator(encoder=Encoder(numbers="kernel")) for entry in REGISTRY if "kernel" in entry.estimator.densities),
    Lookup(encoder=Encoder(missing="state", unseen="smooth")),
    NaiveBayes(smoothing="clark-niblett", encoder=Encoder(cut=EqualFrequency(10), max_integer_states=3)),
    NaiveBayes(smoothing="m-estimate", encoder=Encoder(cut=EqualWidth(3), unseen="smooth")),
    NaiveBayes(encoder=Encoder(numbers="auto")),
    TAN(smoothing="friedman", encoder=EM),
    TAN(calibration="leave-one-out", smoothing="backoff"),
    KDB(k="auto", theta="auto", smoothing="m-estimate:1"),
    KDB(k=3, theta="chi2", smoothing="backoff:5", encoder=STATE),
    SKDB(k_max=2, criterion="zero-one", bias="plain", smoothing="m-estimate", calibration="leave-one-out"),
    Spectrum(),
    Spectrum(members=2, trees=4, boosting=3),
    Spectrum(members=1, depth=2, sample=50),
    A2DE(min_frequency=3, subsumption=5, smoothing="backoff", encoder=STATE),
    AODE(subsumption=None, smoothing="clark-niblett", encoder=Encoder(unseen="smooth")),
    K2(order="relevance", max_parents=2, criterion="bdeu:10"),
    HillClimb(criterion=BDeu(3.0), max_parents=2, tabu=0, max_steps=5, class_root=True, smoothing="backoff", encoder=EM),
    CB(alpha=0.01, stopping_rule="score", class_root=False, partial_order=True, max_order=None, max_parents=2, criterion=bic),
    PC(alpha=0.3, test="chi2", max_order=1, smoothing=0.01),
    SelectiveNaive(random_state=None, smoothing="clark-niblett"),
    K2AS(accept_ties=True, learner="hc", max_parents=2, criterion="aic", random_state=3),
    InfoAS(metric="cig", stopping_rule="chi2", alpha=0.2, learner=KDB(k=1)),
    InfoAS(metric="cdc", guided="stays", backward=True, learner="tan", random_state=None),
    JoinedNaive(search="forward", accept_ties=True, max_joined=2, smoothing="m-estimate"),
    KNaive(k=1, strongly_naive=True, max_parents=2, random_state=None, encoder=NORMAL, shrinkage="ledoit-wolf"),
    Recursive(parity="split", refit=False, min_rows=5, prune=0.05, max_depth=3, smoothing="clark-niblett"),
    HiddenNaive(starts=2, max_states=4, smoothing="backoff", random_state=None, encoder=EM),
    ID3(max_depth=3, min_rows=4, smoothing=1.0),
    C45(prune=False, min_rows=5, max_depth=4, smoothing=0.5, encoder=Encoder(cut=mdl)),
    C45(confidence=0.1, subtree_raising=False, encoder=STATE),
    InfoSelector(),
    InfoSelector(metric="cdc", stopping_rule="chi2", guided="stays", backward=True, random_state=3, encoder=STATE),
    NaiveSelector(smoothing="backoff", random_state=None, encoder=Encoder(cut=EqualFrequency(4))),
    K2Selector(accept_ties=True, criterion="bic", max_parents=2, smoothing=0.5),
    LossAware(GaussianNB(), loss=zero_one),
    LossAware(GaussianNB(), biases={}),
    LossAware(NaiveBayes(), thresholds=0.5),
    LossAware(NaiveBayes(), reject=1.0, reject_label=-7),
]
SHARED = (
    "check_array_api_input",
    "check_dtype_object",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimators_dtypes",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
"""Long checks of the input, which all classifiers read with the same code."""


NARROW = {
    "check_class_weight_classifiers": "a class of weight 25,000 has so narrow kernels that all its rows are far from new ones"
}
"""The one check that does not hold for kernel densities, which are not the default: a weight is a number of equal rows."""


def complete(estimator: Any) -> Any:
    name = type(estimator).__name__
    return pytest.param(estimator, id=name, marks=() if name == "LossAware" else slow_unless_representative(name))


@pytest.fixture(autouse=True)
def array_api(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let scikit-learn check the input of arrays of the array API, which it skips unless this is set.

    SciPy reads it when it is imported; another test checks all estimators in a process in which that is the case.
    """
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


@pytest.mark.parametrize("estimator", [complete(own) for own in DEFAULTS])
def test_every_check_passes_without_warnings(estimator: Any) -> None:
    assert failures(estimator) == []


@pytest.mark.parametrize(
    "estimator", [own for own in DEFAULTS if complete(own).marks], ids=lambda estimator: type(estimator).__name__
)
def test_checks_of_what_classifiers_do_not_share_pass_without_warnings(estimator: Any) -> None:
    """All checks but those of `SHARED`; the slow tests have these too."""
    names, skipped = set(), []
    for own, check in estimator_checks_generator(clone(estimator)):
        names.add(name := check.func.__name__)
        if name not in SHARED:
            try:
                check(own)
            except SkipTest as reason:
                skipped.append((name, reason))
    assert skipped == []
    assert names > set(SHARED)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", SETTINGS, ids=lambda estimator: type(estimator).__name__)
def test_every_check_passes_with_other_parameters(estimator: Any) -> None:
    assert failures(estimator) == []


def failures(estimator: Any) -> list[Any]:
    kernel = getattr(getattr(estimator, "encoder", None), "numbers", None) == "kernel"
    results = check_estimator(clone(estimator), on_fail=None, on_skip=None, expected_failed_checks=NARROW if kernel else None)
    assert len(results) > 50
    statuses = ("passed", "xfail") if kernel else ("passed",)
    return [(result["check_name"], result["status"], result["exception"]) for result in results if result["status"] not in statuses]


@pytest.mark.slow
@pytest.mark.parametrize("estimators", ["DEFAULTS", "SETTINGS"])
def test_the_check_of_the_array_api_passes_where_scipy_supports_it(estimators: str) -> None:
    code = f"""
import warnings
from sklearn.utils.estimator_checks import check_array_api_input
from tests.classifiers.test_check_estimator import {estimators}
warnings.simplefilter("ignore")
for estimator in {estimators}:
    check_array_api_input(type(estimator).__name__, estimator, array_namespace="numpy", expect_only_array_outputs=False)
"""
    env = {**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
