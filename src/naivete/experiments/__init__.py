"""Experiments: classifiers compared on cases they have not seen."""

from naivete.experiments.cross_validation import Progress, Result, cross_validate, stratified_folds
from naivete.experiments.protocols import KFold, LearningCurve, Protocol, Splits, TrainTest, protocol_of
from naivete.experiments.records import Record, Results
from naivete.experiments.run import run
from naivete.labelled import Labelled, labelled

__all__ = [
    "KFold",
    "Labelled",
    "LearningCurve",
    "Progress",
    "Protocol",
    "Record",
    "Result",
    "Results",
    "Splits",
    "TrainTest",
    "cross_validate",
    "labelled",
    "protocol_of",
    "run",
    "stratified_folds",
]
