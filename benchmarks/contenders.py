"""The classifiers that are compared: for each library and model, how to fit codes and how to predict probabilities.

Each library is imported only by the process that measures it, so that this file can be imported by any interpreter with NumPy.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

OURS = "naivete"
MODELS = ("nb", "tan", "kdb1", "kdb2")
PEERS: dict[str, tuple[str, ...]] = {  # the models of each library, by the name of the naivete model that they are compared with
    "scikit-learn": ("nb",),
    "pyAgrum": ("nb", "tan"),
    "pgmpy": ("nb", "tan"),
    "Weka": ("nb", "tan", "kdb2"),
}
NAMES = {
    ("scikit-learn", "nb"): "CategoricalNB",
    ("Weka", "kdb2"): "K2, 2 feature parents",
}


@dataclass(frozen=True)
class Contender:
    """A classifier: learn(X, y) -> model, answer(model, X) -> P(class | row).

    A slow classifier is fitted to the first `cells` cells of the table and predicts the first `rows` test rows; `passes` returns
    the number of passes over the data, if it is known; `tables` returns the bytes of the tables of the model.
    """

    learn: Callable[[Array, Array], Any]
    answer: Callable[[Any, Array], Array]
    cells: float = inf
    rows: float = inf
    passes: Callable[[Any], int | None] = lambda _: None
    tables: Callable[[Any], int] = lambda _: 0


def contender(library: str, model: str, states: int) -> Contender:
    """Import the library and return the classifier."""
    makers = {OURS: _naivete, "scikit-learn": _categorical, "pyAgrum": _pyagrum, "pgmpy": _pgmpy}
    return makers[library](model, states)


def _naivete(model: str, states: int) -> Contender:
    del states
    from naivete import KDB, TAN, Encoder, NaiveBayes

    encoder = Encoder(kinds="nominal")
    make: dict[str, Callable[[], Any]] = {
        "nb": lambda: NaiveBayes(encoder=encoder),
        "tan": lambda: TAN(encoder=encoder),
        "kdb1": lambda: KDB(k=1, encoder=encoder),
        "kdb2": lambda: KDB(k=2, encoder=encoder),
    }
    make[model]().fit(np.eye(4, dtype=np.uint8), [0, 0, 1, 1])  # imports what a fit needs, as the other libraries did above
    return Contender(
        lambda X, y: make[model]().fit(X, y),
        lambda fitted, X: fitted.predict_proba(X),
        passes=lambda fitted: fitted.passes_,
        tables=lambda fitted: sum(getattr(cpt, "nbytes", 0) for cpt in fitted.network_.cpts.values()),
    )


def _categorical(model: str, states: int) -> Contender:
    del model
    from sklearn.naive_bayes import CategoricalNB

    return Contender(lambda X, y: CategoricalNB(min_categories=states).fit(X, y), lambda fitted, X: fitted.predict_proba(X))


def _pyagrum(model: str, states: int) -> Contender:
    from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
    from pyagrum.skbn import BNClassifier

    method = {"nb": "NaiveBayes", "tan": "TAN"}[model]

    def learn(X: Array, y: Array) -> Any:
        as_they_are = DiscreteTypeProcessor(discretizationThreshold=states + 1)
        return BNClassifier(type_processor=as_they_are, learningMethod=method, prior="Smoothing", priorWeight=1).fit(X, y)

    return Contender(learn, lambda fitted, X: fitted.predict_proba(X), cells=4e6, rows=1000)


def _pgmpy(model: str, states: int) -> Contender:
    del states
    import pandas as pd
    from pgmpy.estimators import TreeSearch
    from pgmpy.models import DiscreteBayesianNetwork

    def frame(X: Array) -> Any:
        return pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])

    def learn(X: Array, y: Array) -> Any:
        table = frame(X).assign(y=y)
        if model == "nb":
            arcs = [("y", x) for x in table.columns[:-1]]
        else:
            arcs = TreeSearch(table).estimate(estimator_type="tan", class_node="y", show_progress=False).edges()
        network = DiscreteBayesianNetwork(arcs)
        network.fit(table)
        return network

    def answer(fitted: Any, X: Array) -> Array:
        probabilities = fitted.predict_probability(frame(X))
        order = sorted(probabilities.columns, key=lambda name: int(name.removeprefix("y_")))
        return np.asarray(probabilities[order])

    return Contender(learn, answer, cells=4e6, rows=100)


SEARCH = "weka.classifiers.bayes.net.search.local"
SIMPLE = "-E weka.classifiers.bayes.net.estimate.SimpleEstimator -- -A 0.5"
WEKA = {
    "nb": ("weka.classifiers.bayes.NaiveBayes", ""),
    "tan": ("weka.classifiers.bayes.BayesNet", f"-D -Q {SEARCH}.TAN -- -S BAYES {SIMPLE}"),
    "kdb2": ("weka.classifiers.bayes.BayesNet", f"-D -Q {SEARCH}.K2 -- -P 3 -S BAYES {SIMPLE}"),
}
WEKA_CELLS = 40e6


def weka_command(model: str, train: Path, test: Path) -> list[str]:
    """Return Weka's command line: it fits one ARFF file, is tested on both files, and prints the times."""
    java, jar = shutil.which("java"), weka_jar()
    assert java is not None
    assert jar is not None
    name, options = WEKA[model]
    return [java, "-Xmx8g", "-cp", str(jar), name, "-t", str(train), "-T", str(test), *options.split()]


def weka_number(text: str, marker: str) -> float:
    """Return the number that follows a marker in the output of Weka."""
    return float(text.split(marker, 1)[1].split()[0])


def weka_jar() -> Path | None:
    """Return the path WEKA_JAR, else the path of Debian's package; None if there is no such file."""
    path = Path(os.environ.get("WEKA_JAR") or "/usr/share/java/weka.jar")
    return path if path.is_file() else None


def write_arff(path: Path, X: Array, y: Array, states: int, classes: int) -> None:
    """Write the codes as nominal values of equal width, which allows NumPy to format many rows at once."""
    widths = [len(str(states - 1))] * X.shape[1] + [len(str(classes - 1))]
    labels = {card: np.array([f"{s:0{len(str(card - 1))}d}" for s in range(card)], "S") for card in {states, classes}}
    with path.open("wb") as out:
        domains = [states] * X.shape[1] + [classes]
        heads = [f"@attribute a{i} {{{','.join(label.decode() for label in labels[v])}}}\n" for i, v in enumerate(domains)]
        out.write(("@relation codes\n" + "".join(heads) + "@data\n").encode())
        for lo in range(0, len(X), 100_000):
            out.write(_lines(X[lo : lo + 100_000], y[lo : lo + 100_000], labels[states], labels[classes], widths))


def _lines(X: Array, y: Array, of_x: Array, of_y: Array, widths: list[int]) -> bytes:
    text = np.full((len(X), sum(widths) + len(widths)), ord(","), np.uint8)
    text[:, -1] = ord("\n")
    step = widths[0] + 1
    for digit in range(widths[0]):
        text[:, digit : step * X.shape[1] : step] = of_x.view(np.uint8).reshape(len(of_x), -1)[:, digit][X]
    for digit in range(widths[-1]):
        text[:, step * X.shape[1] + digit] = of_y.view(np.uint8).reshape(len(of_y), -1)[:, digit][y]
    return text.tobytes()


def interpreter(library: str) -> str | None:
    """Return the Python interpreter that has the library, None if there is none."""
    module = {OURS: "naivete", "scikit-learn": "sklearn", "pyAgrum": "pyagrum", "pgmpy": "pgmpy"}.get(library)
    if library == "Weka":
        return sys.executable if weka_jar() and shutil.which("java") else None
    assert module is not None
    other = os.environ.get("NAIVETE_PGMPY_PYTHON") if library == "pgmpy" else None
    if other:
        return (
            other if subprocess.run([other, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0 else None
        )
    return sys.executable if importlib.util.find_spec(module) else None
