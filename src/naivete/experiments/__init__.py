"""Experiments: classifiers compared on cases they have not seen."""

from naivete.experiments.comparison import Comparison, Comparisons, compare, compare_many
from naivete.experiments.cross_validation import Progress, Result, cross_validate, stratified_folds
from naivete.experiments.description import Description, read_description
from naivete.experiments.protocols import KFold, LearningCurve, Protocol, Splits, TrainTest, protocol_of
from naivete.experiments.records import Record, Results
from naivete.experiments.report import Report, report
from naivete.experiments.run import run
from naivete.labelled import Labelled, labelled

__all__ = [
    "Comparison",
    "Comparisons",
    "Description",
    "KFold",
    "Labelled",
    "LearningCurve",
    "Progress",
    "Protocol",
    "Record",
    "Report",
    "Result",
    "Results",
    "Splits",
    "TrainTest",
    "compare",
    "compare_many",
    "cross_validate",
    "labelled",
    "protocol_of",
    "read_description",
    "report",
    "run",
    "stratified_folds",
]
