"""The demonstration: the spectrum of models compared on data that comes with the library."""

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

__all__ = ["DIVIDING", "FURTHER", "MODELS", "Domain", "domains", "models_of", "result_groups", "run_all", "steps"]

MODELS: Final = ("majority", "nb", "kdb:k=1", "kdb:k=2", "kdb:k=3", "tan", "kdb:k=2,theta=0.03", "kdb:k=auto")
"""From no features at all, over independent ones, to ever more dependences; the last lets the cases choose."""
FURTHER: Final = ("k2:order=relevance", "hc", "naive-as", "info-as")
"""Networks in which the class is a variable like others, and those that select their features; on the narrow tables only."""
DIVIDING: Final = ("bsej", "recursive:parity=split", "hidden", "c45")
"""The other answers to features that depend on each other: join, divide, add a hidden variable, ask; on the narrow tables too."""
_NARROW: Final = 20


@dataclass(frozen=True, eq=False)
class Domain:
    """Cases, and what to say about them.

    Parameters
    ----------
    name : what to call them.
    about : where they come from.
    cases : the cases.
    encoder : how their columns become states.
    """

    name: str
    about: str
    cases: LabelledTable
    encoder: Encoder = field(default_factory=Encoder)


def domains(*, quick: bool = False) -> list[Domain]:
    """Corral and LED7, generated here, and sets that scikit-learn brings along; only the small ones where `quick`."""
    digits = led7(1000 if quick else 2000, random_state=7)
    own = [
        Domain(
            "corral",
            "generated: (A0 and A1) or (B0 and B1), every setting four times",
            label_table(corral(random_state=1), "class"),
        ),
        Domain("led7", "generated: digits on seven segments, each inverted one time in ten", label_table(digits, "digit")),
    ]
    loaded = ["iris", "wine"] if quick else ["iris", "wine", "breast_cancer", "digits"]
    return [*own, *map(_loaded, loaded)]


_ABOUT: Final = {
    "iris": "scikit-learn: 150 flowers of three species, four lengths each",
    "wine": "scikit-learn: 178 wines of three growers, thirteen measurements each",
    "breast_cancer": "scikit-learn: 569 tumours, thirty measurements of cell nuclei each",
    "digits": "scikit-learn: 1,797 handwritten digits of 8 x 8 pixels",
}


def _loaded(name: str) -> Domain:
    """A set of scikit-learn; all its columns are quantities."""
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
    """The models that are compared on a domain: most of them only where there are at most twenty features."""
    return (*MODELS, *FURTHER, *DIVIDING) if len(domain.cases.features.columns) <= _NARROW else MODELS


def result_groups(results: Mapping[str, Sequence[Result]]) -> list[dict[str, list[Result]]]:
    """The results of the models that ran on all domains, and those of the others, group by group, beside naive Bayes."""
    found = [{name: [r for r in own if r.model in MODELS] for name, own in results.items()}]
    narrow = {name: own for name, own in results.items() if len(own) > len(MODELS)}
    groups = (FURTHER, DIVIDING) if narrow else ()
    found += [{name: [r for r in own if r.model in ("nb", *group)] for name, own in narrow.items()} for group in groups]
    return found


def steps(chosen: Sequence[Domain], folds: int) -> int:
    """How many times `run_all` tells its progress."""
    return folds * sum(len(models_of(domain)) for domain in chosen)


def run_all(chosen: Sequence[Domain], *, folds: int = 10, progress: Progress | None = None) -> dict[str, list[Result]]:
    """All models cross-validated on all domains, by the name of the domain."""
    results = {}
    for domain in chosen:
        models: Mapping[str, Any] = {model: classifier_of(parse_spec(model), encoder=domain.encoder) for model in models_of(domain)}
        results[domain.name] = cross_validate(models, domain.cases, folds=folds, random_state=1, progress=progress)
    return results
