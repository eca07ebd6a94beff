"""Naive Bayes with hidden variables between the class and groups of features."""
