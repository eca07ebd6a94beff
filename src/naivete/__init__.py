"""Bayesian network classifiers of every degree of naivete: naive Bayes, TAN, k-dependence and beyond.

>>> import naivete
>>> table = [["sunny", 21.5], ["rain", 12.0], ["sunny", 11.5], ["rain", 22.0]]
>>> naivete.KDB(k=1).fit(table, ["out", "in", "out", "in"]).predict([["sunny", None]]).tolist()
['out']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from naivete._version import __version__

_HOME = {
    "CB": "unrestricted",
    "K2": "unrestricted",
    "PC": "unrestricted",
    "HillClimb": "unrestricted",
    "InfoAS": "selective",
    "K2AS": "selective",
    "SelectiveNaive": "selective",
    "InfoSelector": "selectors",
    "K2Selector": "selectors",
    "NaiveSelector": "selectors",
    "C45": "trees",
    "ID3": "trees",
    "HiddenNaive": "hidden",
    "JoinedNaive": "joined",
    "KNaive": "knaive",
    "Recursive": "recursive",
    "KDB": "classifiers",
    "TAN": "classifiers",
    "Full": "classifiers",
    "Lookup": "classifiers",
    "Majority": "classifiers",
    "NaiveBayes": "classifiers",
    "NotFittedError": "classifiers",
    "NetworkClassifier": "classifiers",
    "Block": "cases",
    "MemoryCases": "cases",
    "Counts": "counts",
    "LossAware": "decisions",
    "EqualFrequency": "discretization",
    "EqualWidth": "discretization",
    "distinct": "discretization",
    "mdl": "discretization",
    "Encoder": "encoding",
    "diagnose": "diagnosis",
    "DataError": "errors",
    "DataTypeError": "errors",
    "FileError": "errors",
    "ImpossibleEvidenceWarning": "errors",
    "MixedColumnWarning": "errors",
    "ModelFileError": "errors",
    "NaiveteError": "errors",
    "NaiveteWarning": "errors",
    "ParameterError": "errors",
    "ResourceError": "errors",
    "UnseenValueWarning": "errors",
    "Backoff": "estimation",
    "ClarkNiblett": "estimation",
    "Lidstone": "estimation",
    "MEstimate": "estimation",
    "estimate": "estimation",
    "expected_network": "expectation",
    "read_network": "formats",
    "write_network": "formats",
    "read": "files",
    "write": "files",
    "table_of": "frames",
    "Predictor": "inference",
    "conditional_information": "information",
    "dependence": "information",
    "entropy": "information",
    "relevance": "information",
    "Loss": "losses",
    "zero_one": "losses",
    "Network": "network",
    "JunctionTree": "junction",
    "log_probability": "queries",
    "marginals": "queries",
    "most_probable": "queries",
    "posterior": "queries",
    "tree_text": "rules",
    "sample": "sampling",
    "predict_partitions": "partitions",
    "load": "saving",
    "model_hash": "saving",
    "save": "saving",
    "Column": "table",
    "Table": "table",
    "Variable": "variables",
}

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
    from naivete.classifiers import KDB, TAN, Full, Lookup, Majority, NaiveBayes, NetworkClassifier, NotFittedError
    from naivete.counts import Counts
    from naivete.decisions import LossAware
    from naivete.diagnosis import diagnose
    from naivete.discretization import EqualFrequency, EqualWidth, distinct, mdl
    from naivete.encoding import Encoder
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
    from naivete.estimation import Backoff, ClarkNiblett, Lidstone, MEstimate, estimate
    from naivete.expectation import expected_network
    from naivete.files import read, write
    from naivete.formats import read_network, write_network
    from naivete.frames import table_of
    from naivete.hidden import HiddenNaive
    from naivete.inference import Predictor
    from naivete.information import conditional_information, dependence, entropy, relevance
    from naivete.joined import JoinedNaive
    from naivete.junction import JunctionTree
    from naivete.knaive import KNaive
    from naivete.losses import Loss, zero_one
    from naivete.network import Network
    from naivete.partitions import predict_partitions
    from naivete.queries import log_probability, marginals, most_probable, posterior
    from naivete.recursive import Recursive
    from naivete.rules import tree_text
    from naivete.sampling import sample
    from naivete.saving import load, model_hash, save
    from naivete.selective import K2AS, InfoAS, SelectiveNaive
    from naivete.selectors import InfoSelector, K2Selector, NaiveSelector
    from naivete.table import Column, Table
    from naivete.trees import C45, ID3
    from naivete.unrestricted import CB, K2, PC, HillClimb
    from naivete.variables import Variable
