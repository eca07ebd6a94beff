"""Bayesian network classifiers of every degree of naivete: naive Bayes, TAN, k-dependence and beyond.

>>> import naivete
>>> table = [["sunny", 21.5], ["rain", 12.0], ["sunny", 11.5], ["rain", 22.0]]
>>> naivete.KDB(k=1).fit(table, ["out", "in", "out", "in"]).predict([["sunny", None]]).tolist()
['out']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from naivete.classifiers.registry import REGISTRY

__version__ = "0.1.0"

_PUBLIC = {
    "errors": [
        "DataError",
        "DataTypeError",
        "FileError",
        "ImpossibleEvidenceWarning",
        "MixedColumnWarning",
        "ModelFileError",
        "NaiveteError",
        "NaiveteWarning",
        "ParameterError",
        "ResourceError",
        "UnseenValueWarning",
    ],
    "variables": ["Variable"],
    "data.table": ["Column", "Table"],
    "data.frames": ["table_of"],
    "data.files": ["read", "write"],
    "encoding.encoder": ["Encoder"],
    "encoding.discretization": ["EqualFrequency", "EqualWidth", "distinct", "mdl"],
    "cases": ["Block", "MemoryCases"],
    "counts.counts": ["Counts"],
    "counts.information": ["conditional_information", "dependence", "entropy", "relevance"],
    "network.network": ["Network"],
    "network.estimation": ["estimate"],
    "network.smoothing": ["Backoff", "ClarkNiblett", "Lidstone", "MEstimate"],
    "network.formats": ["read_network", "write_network"],
    "inference.predictor": ["Predictor"],
    "inference.em": ["expected_network"],
    "inference.junction": ["JunctionTree"],
    "inference.queries": ["log_probability", "marginals", "most_probable", "posterior"],
    "inference.sampling": ["sample"],
    "display.rules": ["tree_text"],
    "classifiers.base": ["NetworkClassifier", "NotFittedError"],
    "classifiers.selectors": ["InfoSelector", "K2Selector", "NaiveSelector"],
    "classifiers.decisions": ["LossAware"],
    "classifiers.losses": ["Loss", "zero_one"],
    "classifiers.partitions": ["predict_partitions"],
    "classifiers.saving": ["load", "model_hash", "save"],
    "evaluation.diagnosis.diagnose": ["diagnose"],
}
"""The public names of each module, but for the classifiers, which are in their registry."""

_HOME = {name: module for module, names in _PUBLIC.items() for name in names}
_HOME |= {entry.name: f"classifiers.{entry.module}" for entry in REGISTRY}

__all__ = sorted([*_HOME, "__version__"])


def __getattr__(name: str) -> Any:
    """Public names come from their modules when first used, so that importing the package costs nothing."""
    if name not in _HOME:
        raise AttributeError(f"module 'naivete' has no attribute {name!r}")
    value = getattr(import_module(f"naivete.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


if TYPE_CHECKING:
    from naivete.cases import Block, MemoryCases
    from naivete.classifiers.augmented import *  # noqa: F403
    from naivete.classifiers.base import NetworkClassifier, NotFittedError
    from naivete.classifiers.baselines import *  # noqa: F403
    from naivete.classifiers.decisions import LossAware
    from naivete.classifiers.losses import Loss, zero_one
    from naivete.classifiers.naive_variants import *  # noqa: F403
    from naivete.classifiers.partitions import predict_partitions
    from naivete.classifiers.saving import load, model_hash, save
    from naivete.classifiers.selective import *  # noqa: F403
    from naivete.classifiers.selectors import InfoSelector, K2Selector, NaiveSelector
    from naivete.classifiers.trees import *  # noqa: F403
    from naivete.classifiers.unrestricted import *  # noqa: F403
    from naivete.counts.counts import Counts
    from naivete.counts.information import conditional_information, dependence, entropy, relevance
    from naivete.data.files import read, write
    from naivete.data.frames import table_of
    from naivete.data.table import Column, Table
    from naivete.display.rules import tree_text
    from naivete.encoding.discretization import EqualFrequency, EqualWidth, distinct, mdl
    from naivete.encoding.encoder import Encoder
    from naivete.errors import (
        DataError,
        DataTypeError,
        FileError,
        ImpossibleEvidenceWarning,
        MixedColumnWarning,
        ModelFileError,
        NaiveteError,
        NaiveteWarning,
        ParameterError,
        ResourceError,
        UnseenValueWarning,
    )
    from naivete.evaluation.diagnosis.diagnose import diagnose
    from naivete.inference.em import expected_network
    from naivete.inference.junction import JunctionTree
    from naivete.inference.predictor import Predictor
    from naivete.inference.queries import log_probability, marginals, most_probable, posterior
    from naivete.inference.sampling import sample
    from naivete.network.estimation import estimate
    from naivete.network.formats import read_network, write_network
    from naivete.network.network import Network
    from naivete.network.smoothing import Backoff, ClarkNiblett, Lidstone, MEstimate
    from naivete.variables import Variable
