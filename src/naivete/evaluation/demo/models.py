"""The demonstration: classifiers from the simplest to the most complex, compared on built-in data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from naivete.classifiers.specification import classifier_of, parse_spec
from naivete.data.generated import corral, led7
from naivete.data.table import Column, Table
from naivete.encoding.encoder import Encoder
from naivete.evaluation import LabelledTable, Progress, Result, cross_validate, label_table
from naivete.evaluation.peers import Peer

__all__ = ["BASELINES", "DIVIDING", "FURTHER", "MODELS", "Domain", "domains", "models_of", "result_groups", "run_all", "steps"]

MODELS: Final = ("majority", "nb", "kdb:k=1", "kdb:k=2", "kdb:k=3", "tan", "kdb:k=2,theta=0.03", "kdb:k=auto")
"""The majority class, naive Bayes, and classifiers with more and more dependences; the last chooses k from the cases."""
FURTHER: Final = ("k2:order=relevance", "hc", "naive-as", "info-as")
"""Networks in which the class can have parents, and feature selection; on tables with few features only."""
DIVIDING: Final = ("bsej", "recursive:parity=split", "hidden", "c45")
"""Joined features, recursive naive Bayes, hidden variables, and a decision tree; on tables with few features only."""
BASELINES: Final = ("spectrum", "sk:rf", "sk:logistic")
"""The most accurate classifier of the library, and a random forest and logistic regression of scikit-learn."""
_NARROW: Final = 20


@dataclass(frozen=True, eq=False)
class Domain:
    """A data set.

    Parameters
    ----------
    name : its name.
    about : its origin and contents.
    cases : the cases.
    encoder : the encoder of its columns; all are suitable, but some pixels of the digits are always white.
    """

    name: str
    about: str
    cases: LabelledTable
    encoder: Encoder = field(default_factory=lambda: Encoder(keep=True))


def domains(*, quick: bool = False) -> list[Domain]:
    """Return Corral and LED7, which are generated, and data sets of scikit-learn; only the small ones if `quick`."""
    digits = led7(1000 if quick else 2000, random_state=7)
    generated = [
        Domain(
            "corral",
            "generated: (A0 and A1) or (B0 and B1), every combination four times",
            label_table(corral(random_state=1), "class"),
        ),
        Domain("led7", "generated: digits on seven segments, each inverted one time in ten", label_table(digits, "digit")),
    ]
    loaded = ["iris", "wine"] if quick else ["iris", "wine", "breast_cancer", "digits"]
    return [*generated, *map(_loaded, loaded)]


_ABOUT: Final = {
    "iris": "scikit-learn: 150 flowers of three species, four lengths each",
    "wine": "scikit-learn: 178 wines of three growers, thirteen measurements each",
    "breast_cancer": "scikit-learn: 569 tumours, thirty measurements of cell nuclei each",
    "digits": "scikit-learn: 1,797 handwritten digits of 8 x 8 pixels",
}


def _loaded(name: str) -> Domain:
    """Return a data set of scikit-learn; all its features are numeric."""
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    names = [_short(feature) for feature in bunch.feature_names]
    columns = [Column(n, np.ascontiguousarray(bunch.data[:, j], np.float64), kind="numeric") for j, n in enumerate(names)]
    labels = tuple(str(label).replace("class_", "grower ") for label in bunch.target_names)
    target = Column("class", np.asarray(bunch.target, np.int64), labels, "nominal", declared=True)
    table = Table((*columns, target), source=name.replace("_", " "), rows=len(bunch.target))
    return Domain(table.source, _ABOUT[name], label_table(table, "class"))


def _short(name: str) -> str:
    return name.removesuffix(" (cm)").replace("/", " / ").replace("_", " ")


def models_of(domain: Domain) -> tuple[str, ...]:
    """Return the models to compare on a data set: without `FURTHER` and `DIVIDING` if it has more than twenty features."""
    narrow = len(domain.cases.features.columns) <= _NARROW
    return (*MODELS, *BASELINES, *FURTHER, *DIVIDING) if narrow else (*MODELS, *BASELINES)


def result_groups(results: Mapping[str, Sequence[Result]]) -> list[dict[str, list[Result]]]:
    """Return the results in groups: `MODELS`, then `BASELINES`, `FURTHER` and `DIVIDING`, each with naive Bayes."""
    selected = [{name: [r for r in runs if r.model in MODELS] for name, runs in results.items()}]
    selected += [{name: [r for r in runs if r.model in ("nb", *BASELINES)] for name, runs in results.items()}]
    narrow = {name: runs for name, runs in results.items() if any(r.model in FURTHER for r in runs)}
    groups = (FURTHER, DIVIDING) if narrow else ()
    selected += [{name: [r for r in runs if r.model in ("nb", *group)] for name, runs in narrow.items()} for group in groups]
    return selected


def steps(chosen: Sequence[Domain], folds: int) -> int:
    """Return how many times `run_all` reports its progress."""
    return folds * sum(len(models_of(domain)) for domain in chosen)


def run_all(chosen: Sequence[Domain], *, folds: int = 10, progress: Progress | None = None) -> dict[str, list[Result]]:
    """Return the cross-validation results of all models on all data sets, by the name of the data set."""
    results = {}
    for domain in chosen:
        models: Mapping[str, Any] = {
            model: Peer(model) if model.startswith("sk:") else classifier_of(parse_spec(model), encoder=domain.encoder)
            for model in models_of(domain)
        }
        results[domain.name] = cross_validate(models, domain.cases, folds=folds, random_state=1, progress=progress)
    return results
