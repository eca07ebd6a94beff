"""Experiments: classifiers compared on cases that they were not trained on."""

from naivete.data.labelled_table import LabelledTable, label_table
from naivete.evaluation.comparison import Comparison, Comparisons, compare, compare_many
from naivete.evaluation.cross_validation import Progress, Result, cross_validate, stratified_folds
from naivete.evaluation.description import Description, read_description
from naivete.evaluation.protocol_text import protocol_of
from naivete.evaluation.protocols import KFold, LearningCurve, Protocol, Splits, TrainTest
from naivete.evaluation.records import Record, Results
from naivete.evaluation.report import Report, report
from naivete.evaluation.run import run

__all__ = [
    "Comparison",
    "Comparisons",
    "Description",
    "KFold",
    "LabelledTable",
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
    "label_table",
    "protocol_of",
    "read_description",
    "report",
    "run",
    "stratified_folds",
]
