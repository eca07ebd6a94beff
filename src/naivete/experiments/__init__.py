"""Experiments: classifiers compared on cases they have not seen."""

from naivete.experiments.cross_validation import Progress, Result, cross_validate, stratified_folds
from naivete.labelled import Labelled, labelled

__all__ = ["Labelled", "Progress", "Result", "cross_validate", "labelled", "stratified_folds"]
