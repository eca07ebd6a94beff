"""Bayesian network classifiers of every degree of naivete."""

__version__ = "0.1.0"
