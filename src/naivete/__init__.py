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
    "_kernels.dispatch": ["use_kernels"],
    "errors": [
        "DataError",
        "DataTypeError",
        "FileError",
        "ImpossibleEvidenceWarning",
        "MissingColumnWarning",
        "MixedColumnWarning",
        "ModelFileError",
        "NaiveteError",
        "NaiveteWarning",
        "ParameterError",
        "ResourceError",
        "UnseenValueWarning",
        "UnsuitableColumnWarning",
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
    "inference.distribution": ["Distribution"],
    "inference.sampled_table": ["sample"],
    "display.explanation": ["Explanation"],
    "display.rules": ["tree_text"],
    "classifiers.base": ["NetworkClassifier"],
    "classifiers.selectors": ["InfoSelector", "K2Selector", "NaiveSelector"],
    "classifiers.decisions": ["LossAware"],
    "classifiers.export": ["export"],
    "classifiers.losses": ["Loss", "zero_one"],
    "classifiers.not_fitted": ["NotFittedError"],
    "classifiers.partitions": ["predict_partitions"],
    "classifiers.questionnaire": ["Questionnaire"],
    "classifiers.saving": ["load", "model_hash", "save"],
    "evaluation.diagnosis.diagnose": ["diagnose"],
    "evaluation.model_card": ["model_card"],
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
    from naivete._kernels.dispatch import use_kernels as use_kernels
    from naivete.cases import Block as Block
    from naivete.cases import MemoryCases as MemoryCases
    from naivete.classifiers.ande import *  # noqa: F403
    from naivete.classifiers.augmented import *  # noqa: F403
    from naivete.classifiers.base import NetworkClassifier as NetworkClassifier
    from naivete.classifiers.baselines import *  # noqa: F403
    from naivete.classifiers.decisions import LossAware as LossAware
    from naivete.classifiers.export import export as export
    from naivete.classifiers.losses import Loss as Loss
    from naivete.classifiers.losses import zero_one as zero_one
    from naivete.classifiers.naive_variants import *  # noqa: F403
    from naivete.classifiers.not_fitted import NotFittedError as NotFittedError
    from naivete.classifiers.partitions import predict_partitions as predict_partitions
    from naivete.classifiers.questionnaire import Questionnaire as Questionnaire
    from naivete.classifiers.saving import load as load
    from naivete.classifiers.saving import model_hash as model_hash
    from naivete.classifiers.saving import save as save
    from naivete.classifiers.selective import *  # noqa: F403
    from naivete.classifiers.selectors import InfoSelector as InfoSelector
    from naivete.classifiers.selectors import K2Selector as K2Selector
    from naivete.classifiers.selectors import NaiveSelector as NaiveSelector
    from naivete.classifiers.spectrum import *  # noqa: F403
    from naivete.classifiers.trees import *  # noqa: F403
    from naivete.classifiers.unrestricted import *  # noqa: F403
    from naivete.counts.counts import Counts as Counts
    from naivete.counts.information import (
        conditional_information as conditional_information,
    )
    from naivete.counts.information import (
        dependence as dependence,
    )
    from naivete.counts.information import (
        entropy as entropy,
    )
    from naivete.counts.information import (
        relevance as relevance,
    )
    from naivete.data.files import read as read
    from naivete.data.files import write as write
    from naivete.data.frames import table_of as table_of
    from naivete.data.table import Column as Column
    from naivete.data.table import Table as Table
    from naivete.display.explanation import Explanation as Explanation
    from naivete.display.rules import tree_text as tree_text
    from naivete.encoding.discretization import (
        EqualFrequency as EqualFrequency,
    )
    from naivete.encoding.discretization import (
        EqualWidth as EqualWidth,
    )
    from naivete.encoding.discretization import (
        distinct as distinct,
    )
    from naivete.encoding.discretization import (
        mdl as mdl,
    )
    from naivete.encoding.encoder import Encoder as Encoder
    from naivete.errors import (
        DataError as DataError,
    )
    from naivete.errors import (
        DataTypeError as DataTypeError,
    )
    from naivete.errors import (
        FileError as FileError,
    )
    from naivete.errors import (
        ImpossibleEvidenceWarning as ImpossibleEvidenceWarning,
    )
    from naivete.errors import (
        MissingColumnWarning as MissingColumnWarning,
    )
    from naivete.errors import (
        MixedColumnWarning as MixedColumnWarning,
    )
    from naivete.errors import (
        ModelFileError as ModelFileError,
    )
    from naivete.errors import (
        NaiveteError as NaiveteError,
    )
    from naivete.errors import (
        NaiveteWarning as NaiveteWarning,
    )
    from naivete.errors import (
        ParameterError as ParameterError,
    )
    from naivete.errors import (
        ResourceError as ResourceError,
    )
    from naivete.errors import (
        UnseenValueWarning as UnseenValueWarning,
    )
    from naivete.errors import (
        UnsuitableColumnWarning as UnsuitableColumnWarning,
    )
    from naivete.evaluation.diagnosis.diagnose import diagnose as diagnose
    from naivete.evaluation.model_card import model_card as model_card
    from naivete.inference.distribution import Distribution as Distribution
    from naivete.inference.em import expected_network as expected_network
    from naivete.inference.junction import JunctionTree as JunctionTree
    from naivete.inference.predictor import Predictor as Predictor
    from naivete.inference.queries import (
        log_probability as log_probability,
    )
    from naivete.inference.queries import (
        marginals as marginals,
    )
    from naivete.inference.queries import (
        most_probable as most_probable,
    )
    from naivete.inference.queries import (
        posterior as posterior,
    )
    from naivete.inference.sampled_table import sample as sample
    from naivete.network.estimation import estimate as estimate
    from naivete.network.formats import read_network as read_network
    from naivete.network.formats import write_network as write_network
    from naivete.network.network import Network as Network
    from naivete.network.smoothing import (
        Backoff as Backoff,
    )
    from naivete.network.smoothing import (
        ClarkNiblett as ClarkNiblett,
    )
    from naivete.network.smoothing import (
        Lidstone as Lidstone,
    )
    from naivete.network.smoothing import (
        MEstimate as MEstimate,
    )
    from naivete.variables import Variable as Variable
