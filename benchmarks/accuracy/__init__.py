"""Accuracy of the classifiers, compared with those of other libraries on public data sets: `python -m benchmarks.accuracy`."""
