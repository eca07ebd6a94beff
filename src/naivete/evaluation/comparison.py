"""Comparisons of models with a baseline: all tests, and sentences with the conclusions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from naivete.errors import DataError, ParameterError, close_matches, quoted
from naivete.evaluation import statistics as tests
from naivete.evaluation.checked_scores import Floats

__all__ = ["MARKS", "Comparison", "Comparisons", "Pair", "Terms", "compare", "compare_many", "visible"]

MARKS: Final = {"better": "v", "undecided": " ", "worse": "*"}
"""The mark beside a score for each verdict of the corrected test."""

_LARGEST: Final = 1e100
"""The limit of scores, whose squares must be finite."""
_SAME: Final = 1e-12
"""Scores whose relative difference is smaller are equal up to rounding errors."""


@dataclass(frozen=True)
class Terms:
    """The terms of a comparison: the measure, whether higher is better, the significance level, and the practical equivalence.

    Parameters
    ----------
    measure : str
        The measure that is compared.
    higher_is_better : bool
        Whether higher values are better.
    alpha : float
        The significance level.
    rope : float
        The largest difference that does not matter in practice.
    """

    measure: str
    higher_is_better: bool
    alpha: float
    rope: float

    def value(self, score: float) -> str:
        """Return a score as text: accuracy in per cent, other measures unchanged.

        Parameters
        ----------
        score : float
            The score.

        Returns
        -------
        str
            The text.
        """
        return f"{100 * score:.1f}" if self.measure == "accuracy" else f"{score:.4g}"

    @property
    def label(self) -> str:
        """The measure as a heading."""
        return "accuracy in per cent" if self.measure == "accuracy" else visible(self.measure)

    @property
    def unit(self) -> str:
        """The unit of a score in sentences."""
        return " per cent accuracy" if self.measure == "accuracy" else f" {visible(self.measure)}"

    @property
    def region(self) -> str:
        """The region of practical equivalence (ROPE), with its unit."""
        percent = self.measure == "accuracy"
        return f"{100 * self.rope:g} point{'s' * (self.rope != 0.01)}" if percent else f"{self.rope:g}"


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
        return tuple(" ".join(_conclusion(self, pair)) for pair in self.pairs)

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
        overall = _of_ranks(self) if len(self.models) > 2 else []
        return (*overall, *(_of_counts(self, m) for m in range(1, len(self.models))))

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


def visible(value: str) -> str:
    r"""Return the text on one line, with control characters escaped, which a terminal would interpret; an empty text in quotes.

    >>> visible("a\x1b[31m\nb"), visible("")
    ('a\\x1b[31m\\nb', "''")
    """
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in value)
    return text if text.strip() else f"'{text}'"


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
        near = ", ".join(map(quoted, close_matches(baseline, models) or list(models)[:5]))
        raise ParameterError(f"compare: baseline={quoted(baseline)} is none of the models; did you mean {near}?")
    return baseline


def _differences(scores: Floats, base: Floats, higher_is_better: bool) -> Floats:
    """Return the differences to the baseline, positive if better; 0 for differences of the size of rounding errors."""
    differences = scores - base if higher_is_better else base - scores
    return np.where(np.abs(differences) <= _SAME * np.maximum(np.abs(scores), np.abs(base)), 0.0, differences)


def _moments(scores: Floats) -> tuple[float, float]:
    return math.fsum(scores) / len(scores), float(scores.std(ddof=1))


def _verdict(test: tests.TTest, alpha: float) -> str:
    return "undecided" if test.p >= alpha else "better" if test.statistic > 0 else "worse"


def _conclusion(comparison: Comparison, pair: Pair) -> Iterator[str]:
    """Yield the sentences about one model on one data set."""
    model, base, terms = visible(pair.model), visible(comparison.baseline), comparison.terms
    where = f" on {visible(comparison.data)}" if comparison.data else ""
    values = f"{terms.value(pair.mean)} against {terms.value(comparison.mean)}{terms.unit}"
    if pair.wilcoxon.pairs == 0:
        yield f"{model} and {base} scored the same in every round{where}: {terms.value(comparison.mean)}{terms.unit}."
        return
    decided, plain = pair.verdict != "undecided", _p(pair.plain.p, terms.alpha)
    first = f"{model} is {pair.verdict} than {base}" if decided else f"{model} and {base} do not differ significantly"
    yield f"{first}{where}: {values}; the corrected test gives {_p(pair.corrected.p, terms.alpha)}."
    if decided:
        yield f"The plain paired t, which ignores that the training sets overlap, gives {plain}."
        if pair.adjusted >= terms.alpha:
            adjusted = _p(pair.adjusted, terms.alpha)
            yield f"Allowing for {len(comparison.pairs)} comparisons with {base} (Holm) it is {adjusted}: this may be chance."
    elif pair.plain.p < terms.alpha:
        yield f"The plain paired t would find a difference ({plain}), but it ignores that the training sets overlap."
    if pair.bayesian.scale <= _SAME * abs(pair.bayesian.mean):
        yield f"The difference is the same in all {comparison.rounds} rounds, so that its variance is zero."
    yield _practical(model, pair, terms)


def _practical(model: str, pair: Pair, terms: Terms) -> str:
    """Return a sentence about the probability of a difference that matters in practice."""
    better = pair.bayesian.right >= pair.bayesian.left
    side = _chance(max(pair.bayesian.left, pair.bayesian.right))
    if terms.rope == 0:
        return f"The probability that {model} is {'better' if better else 'worse'} is {side}."
    if pair.verdict != "undecided" and pair.bayesian.rope < 0.5:
        return f"The probability that {model} is {'better' if better else 'worse'} by more than {terms.region} is {side}."
    equal = f"the probability that they are practically equal is {_chance(pair.bayesian.rope)}"
    return f"With a region of practical equivalence of {terms.region} {equal}."


def _of_ranks(comparisons: Comparisons) -> Iterator[str]:
    """Yield the sentences about the ranks of three or more models."""
    test, ranked, alpha = comparisons.friedman, comparisons.nemenyi, comparisons.terms.alpha
    p_values = f"Friedman's chi-square {_p(test.p, alpha)}, Iman and Davenport's F {_p(test.f_p, alpha)}"
    if test.f_p >= alpha:
        yield f"Over {ranked.data_sets} data sets the average ranks do not differ significantly ({p_values}): no model is the best."
        return
    yield f"Over {ranked.data_sets} data sets the average ranks differ ({p_values})."
    order = sorted(range(len(comparisons.models)), key=lambda m: ranked.ranks[m])
    names = [f"{visible(model)} ({rank:.2f})" for model, rank in zip(comparisons.models, ranked.ranks, strict=True)]
    better = [
        (names[m], [names[o] for o in order if ranked.ranks[o] - ranked.ranks[m] > ranked.critical_difference]) for m in order
    ]
    pairs = "; ".join(f"{model} is better than {', '.join(others)}" for model, others in better if others)
    yield f"By Nemenyi's test (critical difference {ranked.critical_difference:.2f}) {pairs or 'no two differ significantly'}."


def _of_counts(comparisons: Comparisons, model: int) -> str:
    """Return a sentence about a model: the verdicts on the data sets, and the test of the means."""
    better, undecided, worse = comparisons.counts(model)
    test, alpha = comparisons.across[model - 1], comparisons.terms.alpha
    each = f"better on {better}, worse on {worse} and not significantly different on {undecided}, by the corrected test on each"
    name, base = visible(comparisons.models[model]), visible(comparisons.models[0])
    means = f"Wilcoxon's test of the means gives {_p(test.p, alpha)}{_limit(test.pairs, len(comparisons.comparisons), alpha)}"
    return f"Of {len(comparisons.comparisons)} data sets, {name} is {each}, compared with {base}; {means}."


def _limit(differing: int, data_sets: int, alpha: float) -> str:
    """Return the reason why no p value below alpha is possible: too few data sets, or too few with different means."""
    least = 2.0 ** (1 - differing)
    if not differing:
        return ", as the means are the same on all of them"
    if least < alpha:
        return ""
    few = "so few data sets" if differing == data_sets else f"the {differing} data set{'s' * (differing > 1)} whose means differ"
    return f", and {few} cannot give less than {least:.2g}"


def _p(p: float, alpha: float) -> str:
    """Return the p value as text, not rounded across the level."""
    if p < 0.0001 <= alpha:
        return "p < 0.0001"
    rounded = next((t for d in (2, 4, 8) if (float(t := f"{p:.{d}g}") < alpha) == (p < alpha)), repr(p))
    return f"p = {rounded}"


def _chance(p: float) -> str:
    return "more than 0.99" if p > 0.99 else "less than 0.01" if p < 0.01 else f"{p:.2f}"
