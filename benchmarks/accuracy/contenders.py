"""The contenders by name: model specifications of naivete, such as `kdb:k=2`, and the classifiers in `peers.py`.

A name may end with a label after `@`, as in `kdb:k=2@before`: the same classifier, whose results are kept apart.
"""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import naivete
from benchmarks.accuracy.peers import PEERS, THREADS, Peer
from benchmarks.accuracy.sets import matrix
from benchmarks.measuring import ROOT
from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.specification import classifier_of, parse_spec
from naivete.data.labelled_table import LabelledTable
from naivete.errors import NaiveteError

DEFAULT: Final = (
    "sk:logistic",
    "sk:hgb",
    "sk:rf",
    "lightgbm",
    "sk:tree",
    "sk:nb",
    "nb",
    "tan",
    "kdb:k=2",
    "xgboost",
    "ebm",
    "catboost",
)
THREAD_LIMITS: Final = {
    **dict.fromkeys(("OMP_NUM_THREADS", "LOKY_MAX_CPU_COUNT", "NAIVETE_THREADS"), str(THREADS)),
    **dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
}
"""Environment variables of a job: the number of threads. Linear algebra has one, because for matrices of these sizes a second one
does not save time but doubles the CPU time. Threads of OpenMP wait as their libraries do by default: actively, which counts as CPU
time but saves time on the clock."""

Probabilities = NDArray[np.float64]
Rows = NDArray[np.int64]
Fit = Callable[[Rows], None]
Predict = Callable[[Rows], Probabilities]  # (row, class)


def spec_text(contender: str) -> str:
    """Return the name of a contender without its label.

    >>> spec_text("kdb:k=2@before")
    'kdb:k=2'
    """
    return contender.partition("@")[0]


def checked(contender: str) -> str:
    """Return the name of a contender; exit with a message if it is unknown."""
    if spec_text(contender) not in PEERS:
        try:
            parse_spec(spec_text(contender))
        except NaiveteError as error:
            raise SystemExit(f"{error}, or among the peers {', '.join(PEERS)}") from None
    return contender


def is_peer(contender: str) -> bool:
    """Return whether the contender belongs to another library."""
    return spec_text(contender) in PEERS


def absence(contender: str) -> str | None:
    """Return why a contender cannot be run; None if it can."""
    peer = PEERS.get(spec_text(contender))
    return f"{peer.package} is not installed" if peer is not None and peer.version is None else None


def specification(contender: str) -> str:
    """Return a hash of the definition of a contender: its name and parameters, for a peer also its encoding and version."""
    text, peer = spec_text(contender), PEERS.get(spec_text(contender))
    if peer is not None:
        definition: Any = [text, peer.encoding, peer.version]
    else:
        definition = [text, {name: repr(value) for name, value in classifier_of(text).get_params().items()}]
    return hashlib.sha256(json.dumps(definition, sort_keys=True).encode()).hexdigest()[:12]


def versions(contender: str) -> dict[str, str]:
    """Return the versions on which a result depends."""
    peer = PEERS.get(spec_text(contender))
    own = {peer.package: str(peer.version)} if peer is not None else {"naivete": naivete.__version__, "commit": _commit()}
    return {"python": platform.python_version(), "numpy": version("numpy"), **own}


def _commit() -> str:
    """Return the commit of the checkout, with a + if there are changes; empty outside of a repository."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def import_library(contender: str) -> None:
    """Import the classifier of a contender, so that its fit imports nothing."""
    peer = PEERS.get(spec_text(contender))
    if peer is None:
        classifier_of(spec_text(contender))
    else:
        for module in (peer.module, "sklearn.compose", "sklearn.impute", "sklearn.pipeline", "sklearn.preprocessing"):
            import_module(module)


def prepared(contender: str, cases: LabelledTable) -> tuple[Fit, Predict]:
    """Return a function that fits the contender to training rows, and one that returns the probabilities of test rows.

    The form in which the library takes the cases is made before. Encodings that are learned from the cases are part of the fit.
    """
    peer = PEERS.get(spec_text(contender))
    return _prepared_naivete(classifier_of(spec_text(contender)), cases) if peer is None else _prepared_peer(peer, cases)


def _prepared_peer(peer: Peer, cases: LabelledTable) -> tuple[Fit, Predict]:
    """Columns without an observed value in the training rows are left out: some peers raise an error for them."""
    X, nominal = matrix(cases)
    model: Any = None
    observed = np.ones(len(nominal), bool)

    def fit(rows: Rows) -> None:
        nonlocal model, observed
        observed = ~np.isnan(X[rows]).all(axis=0)
        model = peer.make(nominal[observed])
        model.fit(X[np.ix_(rows, observed)], cases.labels[rows])

    return fit, lambda rows: np.asarray(model.predict_proba(X[np.ix_(rows, observed)]))


def _prepared_naivete(model: NetworkClassifier, cases: LabelledTable) -> tuple[Fit, Predict]:
    def fit(rows: Rows) -> None:
        model.fit(cases.features.take(rows), cases.labels[rows])

    return fit, lambda rows: model.predict_proba(cases.features.take(rows))
