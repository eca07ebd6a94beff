"""Sentences with the conclusions of comparisons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from naivete.evaluation.comparison_terms import SAME, Terms, visible

if TYPE_CHECKING:
    from naivete.evaluation.comparison import Comparison, Comparisons, Pair

__all__ = ["model_sentence", "pair_sentences", "rank_sentences"]


def pair_sentences(comparison: Comparison, pair: Pair) -> Iterator[str]:
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
    if pair.bayesian.scale <= SAME * abs(pair.bayesian.mean):
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


def rank_sentences(comparisons: Comparisons) -> Iterator[str]:
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


def model_sentence(comparisons: Comparisons, model: int) -> str:
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
