"""Sahami (1996), table 1: accuracies of 10-fold cross-validation, ours within the noise of his."""

from __future__ import annotations

import pytest

from naivete.classifiers.specification import classifier_of
from naivete.data.files import read
from naivete.evaluation import Result, cross_validate, label_table
from tests.evaluation import data

K = [f"kdb:k={k},theta=-inf,bias=plain" for k in range(4)]
THETA = [f"kdb:k={k},theta=0.03,bias=plain" for k in range(1, 4)]

# accuracy and deviation over the folds, as printed: k = 0..3, then k = 1..3 with theta = 0.03
PRINTED = {
    "corral": [(88.4, 10.5), (100, 0), (96.7, 5.8), (88.4, 17.2), (100, 0), (96.7, 5.8), (100, 0)],
    "led7": [(72.9, 2.1), (73.1, 3.9), (73.5, 2.3), (73.2, 2.3), (73.0, 2.9), (72.9, 2.4), (73.4, 1.3)],
    "kr-vs-kp": [(86.2, 1.9), (93.9, 1.3), (95.1, 1.2), (94.9, 1.1), (93.8, 1.4), (95.5, 1.6), (95.3, 1.2)],
    "vote-bool48": [(90.2, 3.8), (92.6, 3.6), (92.3, 3.5), (93.0, 2.2), (92.1, 5.3), (93.5, 4.1), (94.0, 3.2)],
    "dna": [(94.0, 0.9), (94.0, 1.6), (95.3, 1.2), (93.3, 0.9), (94.1, 1.1), (95.6, 1.1), (95.5, 1.8)],
}

# a plain KDB on the same files, stratified 10-fold (published.md, section 11), in the same order; None where not given
CHECKED = {
    "corral": [86.0, 100, 96.2, 93.8, 100, 97.7, 100],
    "led7": [73.4, 73.6, 73.0, 72.9, None, None, None],
    "kr-vs-kp": [87.9, 94.6, 95.9, 95.4, 94.2, 95.7, 95.6],
    "vote-bool48": [89.9, 92.0, 94.0, 95.2, 91.7, 93.8, 94.7],
    "dna": [93.9, 94.0, 95.4, 94.6, 94.1, 95.5, 95.3],
}


def results(name: str) -> list[Result]:
    cases = label_table(read(data(name)), "class")
    return cross_validate({model: classifier_of(model) for model in K + THETA}, cases)


@pytest.mark.parametrize("name", list(PRINTED))
def test_sahami_1996(name: str) -> None:
    for result, (printed, deviation), checked in zip(results(name), PRINTED[name], CHECKED[name], strict=True):
        accuracy, own = (100 * part for part in result.accuracy)
        noise = max(1.5, (deviation**2 + own**2) ** 0.5)  # he does not say how the folds were made
        assert abs(accuracy - printed) <= noise, f"{result.model}: {accuracy:.1f}, printed {printed}"
        if checked is not None:
            assert abs(accuracy - checked) <= max(1.5, 0.6 * own), f"{result.model}: {accuracy:.1f}, checked {checked}"
