"""Comparisons of models with a baseline by all tests, on one data set or on several."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from naivete.errors import DataError, ParameterError, did_you_mean, quoted
from naivete.evaluation import statistics as tests
from naivete.evaluation.checked_scores import Floats
from naivete.evaluation.comparison_terms import SAME, Terms
from naivete.evaluation.conclusions import model_sentence, pair_sentences, rank_sentences

__all__ = ["MARKS", "Comparison", "Comparisons", "Pair", "compare", "compare_many"]

MARKS: Final = {"better": "v", "undecided": " ", "worse": "*"}
"""The mark beside a score for each verdict of the corrected test."""

_LARGEST: Final = 1e100
"""The limit of scores, whose squares must be finite."""


@dataclass(frozen=True)
class Pair:
    """A model compared with the baseline on one data set; positive differences mean that the model is better.

    Parameters
    ----------
    model : str
        The name of the model.
    mean : float
        The mean of its scores.
    deviation : float
        The standard deviation of its scores.
    difference : float
        The mean difference to the baseline.
    verdict : {"better", "worse", "undecided"}
        The conclusion by the corrected test alone.
    plain : TTest
        Student's paired t test, which does not account for overlapping training sets.
    corrected : TTest
        The corrected resampled t test.
    adjusted : float
        The p value of the corrected test, adjusted by Holm for all models compared with the baseline.
    wilcoxon : Wilcoxon
        Wilcoxon's signed-rank test, which does not account for overlapping training sets.
    bayesian : Bayesian
        The probabilities of a difference that matters, by the Bayesian correlated t test.
    """

    model: str
    mean: float
    deviation: float
    difference: float
    verdict: str
    plain: tests.TTest
    corrected: tests.TTest
    adjusted: float
    wilcoxon: tests.Wilcoxon
    bayesian: tests.Bayesian


@dataclass(frozen=True)
class Comparison:
    """Models compared with a baseline on one data set.

    Parameters
    ----------
    data : str
        The name of the data set.
    baseline : str
        The name of the baseline.
    mean : float
        The mean of its scores.
    deviation : float
        The standard deviation of its scores.
    rounds : int
        The number of scores of each model.
    pairs : tuple of Pair
        Each of the other models, compared with the baseline.
    terms : Terms
        The measure and the levels of the tests.
    """

    data: str
    baseline: str
    mean: float
    deviation: float
    rounds: int
    pairs: tuple[Pair, ...]
    terms: Terms

    @property
    def sentences(self) -> tuple[str, ...]:
        """The conclusions about each model."""
        return tuple(" ".join(pair_sentences(self, pair)) for pair in self.pairs)

    @property
    def sentence(self) -> str:
        """All sentences as one text."""
        return " ".join(self.sentences)


@dataclass(frozen=True)
class Comparisons:
    """Models compared with a baseline on several data sets.

    Parameters
    ----------
    models : tuple of str
        The names of the models, the baseline first; ranks are in the same order.
    comparisons : tuple of Comparison
        One for each data set.
    friedman : Friedman
        Friedman's test of the means on the data sets.
    nemenyi : Nemenyi
        Nemenyi's test of all pairs of models.
    across : tuple of Wilcoxon
        Wilcoxon's test of the means, of each model against the baseline.
    terms : Terms
        The measure and the levels of the tests.
    """

    models: tuple[str, ...]
    comparisons: tuple[Comparison, ...]
    friedman: tests.Friedman
    nemenyi: tests.Nemenyi
    across: tuple[tests.Wilcoxon, ...]
    terms: Terms

    def counts(self, model: int) -> tuple[int, int, int]:
        """Return the number of data sets on which a model (1 is the first after the baseline) is better, undecided and worse.

        Parameters
        ----------
        model : int
            The position of the model.

        Returns
        -------
        tuple of int
            The three numbers.
        """
        verdicts = [comparison.pairs[model - 1].verdict for comparison in self.comparisons]
        return verdicts.count("better"), verdicts.count("undecided"), verdicts.count("worse")

    @property
    def sentences(self) -> tuple[str, ...]:
        """The conclusions over all data sets; those about each data set are in `comparisons`."""
        overall = rank_sentences(self) if len(self.models) > 2 else []
        return (*overall, *(model_sentence(self, m) for m in range(1, len(self.models))))

    @property
    def sentence(self) -> str:
        """All sentences as one text."""
        return " ".join(self.sentences)


def compare(
    scores: Mapping[str, Sequence[float]],
    *,
    test_share: float,
    baseline: str | None = None,
    alpha: float = 0.05,
    rope: float = 0.01,
    higher_is_better: bool = True,
    measure: str = "accuracy",
    data: str = "",
) -> Comparison:
    """Compare each model with the baseline on one data set.

    Parameters
    ----------
    scores : dict of {str: sequence of float}
        The scores of each model, round by round (fold or split); the rounds are the same for all models.
    test_share : float
        The share of the cases in the test set: 0.1 for ten folds.
    baseline : str or None, default=None
        The model with which the others are compared, by default the first.
    alpha : float, default=0.05
        The significance level of the corrected test.
    rope : float, default=0.01
        Differences up to this size do not matter in practice, in the unit of the scores: 0.01 is one point of accuracy.
    higher_is_better : bool, default=True
        Whether higher scores are better; False for a loss.
    measure : str, default="accuracy"
        The name of the measure; accuracy is shown in per cent.
    data : str, default=""
        The name of the data set.

    Returns
    -------
    Comparison
        The tests and conclusions; `sentence` has them in words.

    Examples
    --------
    >>> from naivete.evaluation import compare
    >>> result = compare({"nb": [0.80, 0.82, 0.84], "tan": [0.91, 0.92, 0.93]}, test_share=1 / 3)
    >>> print(result.sentence)  # differences 11, 10 and 9 points: t = 10 / sqrt(5/6) = 10.95
    tan is better than nb: 92.0 against 82.0 per cent accuracy; the corrected test gives p = 0.0082. The plain paired t, which \
ignores that the training sets overlap, gives p = 0.0033. The probability that tan is better by more than 1 point is \
more than 0.99.
    """
    terms = _terms(measure, higher_is_better, alpha, rope)
    rounds = _rounds(scores, data)
    base = _baseline(baseline, rounds)
    others = [model for model in rounds if model != base]
    differences = {m: _differences(rounds[m], rounds[base], higher_is_better) for m in others}
    corrected = {m: tests.corrected_t(d, test_share) for m, d in differences.items()}
    adjusted = dict(zip(others, tests.holm([test.p for test in corrected.values()]), strict=True))
    pairs = [
        Pair(
            model,
            *_moments(rounds[model]),
            math.fsum(d) / len(d),
            _verdict(corrected[model], alpha),
            tests.paired_t(d),
            corrected[model],
            adjusted[model],
            tests.wilcoxon(d),
            tests.bayesian_correlated_t(d, test_share, rope),
        )
        for model, d in differences.items()
    ]
    return Comparison(data, base, *_moments(rounds[base]), len(rounds[base]), tuple(pairs), terms)


def compare_many(
    table: Mapping[str, Mapping[str, Sequence[float]]],
    *,
    test_share: float | Mapping[str, float],
    baseline: str | None = None,
    alpha: float = 0.05,
    rope: float = 0.01,
    higher_is_better: bool = True,
    measure: str = "accuracy",
) -> Comparisons:
    """Compare each model with the baseline on each data set, and all models by their ranks over the data sets.

    Parameters
    ----------
    table : dict of {str: dict of {str: sequence of float}}
        The scores of the same models, as for `compare`, on each of two or more data sets.
    test_share : float or dict of {str: float}
        As for `compare`, for all data sets or for each.
    baseline : str or None, default=None
        The model with which the others are compared, by default the first.
    alpha : float, default=0.05
        The significance level of the corrected test.
    rope : float, default=0.01
        The largest difference that does not matter in practice, in the unit of the scores.
    higher_is_better : bool, default=True
        Whether higher scores are better; False for a loss.
    measure : str, default="accuracy"
        The name of the measure; accuracy is shown in per cent.

    Returns
    -------
    Comparisons
        The tests and conclusions; `sentence` has them in words.
    """
    if len(table) < 2:
        raise ParameterError(f"compare_many: {len(table)} data sets; expected two or more (compare takes one)")
    models = list(next(iter(table.values())))
    for name, scores in table.items():
        if set(scores) != set(models):
            raise DataError(f"compare_many: data set {quoted(name)} has other models than the first: {quoted(list(scores))}")
    base = _baseline(baseline, models)
    models = [base, *(m for m in models if m != base)]
    shares = test_share if isinstance(test_share, Mapping) else dict.fromkeys(table, test_share)
    if missing := [name for name in table if name not in shares]:
        raise ParameterError(f"compare_many: test_share has no value for the data set {quoted(missing[0])}")
    terms = _terms(measure, higher_is_better, alpha, rope)
    options: dict[str, Any] = {"baseline": base, "higher_is_better": higher_is_better, "measure": measure}
    options |= {"alpha": alpha, "rope": rope}
    results = [
        compare({m: scores[m] for m in models}, test_share=shares[name], data=name, **options) for name, scores in table.items()
    ]
    means = np.array([[one.mean, *(pair.mean for pair in one.pairs)] for one in results])
    across = [tests.wilcoxon(_differences(column, means[:, 0], higher_is_better)) for column in means.T[1:]]
    ranked = tests.nemenyi(means, alpha=alpha, higher_is_better=higher_is_better)
    return Comparisons(tuple(models), tuple(results), tests.friedman(means), ranked, tuple(across), terms)


def _terms(measure: str, higher_is_better: bool, alpha: float, rope: float) -> Terms:
    if not 0 < alpha < 1:
        raise ParameterError(f"compare: alpha={quoted(alpha)}; expected a number between 0 and 1, exclusive")
    return Terms(measure, higher_is_better, alpha, rope)


def _rounds(scores: Mapping[str, Sequence[float]], data: str) -> dict[str, Floats]:
    """Return the scores as arrays of the same length."""
    where = f"compare: {quoted(data)}: " if data else "compare: "
    if len(scores) < 2:
        raise ParameterError(f"{where}{len(scores)} models; expected two or more")
    try:
        rounds = {str(model): np.array(values, np.float64) for model, values in scores.items()}
    except (TypeError, ValueError):
        raise DataError(f"{where}the scores must be lists of numbers") from None
    first = next(iter(rounds.values()))
    for model, values in rounds.items():
        if values.ndim != 1 or values.shape != first.shape or len(values) < 2:
            shapes = f"scores of the shape {values.shape}, the first model {first.shape}"
            raise DataError(f"{where}{quoted(model)} has {shapes}; expected the same number of rounds for all, two or more")
        if not (np.abs(values) < _LARGEST).all():
            raise DataError(f"{where}the scores of {quoted(model)} must be finite numbers below {_LARGEST:g}")
    return rounds


def _baseline(baseline: str | None, models: Sequence[str] | Mapping[str, Any]) -> str:
    if baseline is None:
        return next(iter(models))
    if baseline not in models:
        hint = did_you_mean(baseline, models, "the models are", count=3)
        raise ParameterError(f"compare: baseline={quoted(baseline)} is none of the models; {hint}")
    return baseline


def _differences(scores: Floats, base: Floats, higher_is_better: bool) -> Floats:
    """Return the differences to the baseline, positive if better; 0 for differences of the size of rounding errors."""
    differences = scores - base if higher_is_better else base - scores
    return np.where(np.abs(differences) <= SAME * np.maximum(np.abs(scores), np.abs(base)), 0.0, differences)


def _moments(scores: Floats) -> tuple[float, float]:
    return math.fsum(scores) / len(scores), float(scores.std(ddof=1))


def _verdict(test: tests.TTest, alpha: float) -> str:
    return "undecided" if test.p >= alpha else "better" if test.statistic > 0 else "worse"
