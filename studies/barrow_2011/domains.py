"""Generated data with dependence in one class, as described by Barrow (2011) in section 3.2, and the classifiers on them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete import Block, Counts, MemoryCases, ParameterError, Variable, relevance
from naivete.evaluation import stratified_folds
from naivete.inference.predictor import argmax_class
from naivete.learners.balance import balanced
from naivete.learners.full import full
from naivete.network.joint_density import joint_of
from naivete.variables import CLASS
from studies.verdicts import Numbers

__all__ = ["Drawing", "Strength", "Study", "balance_cases", "cross_validated", "f_score", "study"]

Classes = NDArray[np.int64]

ATTRIBUTES: Final = 4
SETS: Final = tuple(naive for k in range(ATTRIBUTES + 1) for naive in combinations(range(ATTRIBUTES), k))
"""All sets of naive attributes, the smaller first."""
FORMS: Final = {"network": "as networks", "all others": "given all others"}
"""An attribute that is not naive depends on those before it, as in a network, or on all others, as in the thesis."""
MEASURES: Final = ("F score", "accuracy")
SHARES: Final = (0.6, 1.0)
FOLDS: Final = 10
_VARIABLES: Final = (
    *(Variable(f"x{i + 1}", origin=0.0) for i in range(ATTRIBUTES)),
    Variable("class", ("negative", "positive")),
)


class Strength(NamedTuple):
    """The ranges of random loadings and separations, which the thesis does not state."""

    loadings: tuple[float, float] = (0.7, 0.95)
    separations: tuple[float, float] = (1.2, 1.8)


def balance_cases(
    rows: int, balance: float, *, strength: Strength | None = None, random_state: int | Sequence[int] = 0
) -> tuple[Numbers, Classes]:
    """Generate cases of four normal attributes that depend on each other in one class only; return them and their classes.

    In the class that the balance indicates (the positive one for a positive balance), attribute i is
    l_i f + sqrt(1 - l_i**2) e_i, with a common factor f and e_i of its own, both standard normal. The loading l_i is the square
    root of |balance| times a random number, by default between 0.7 and 0.95, so that the correlation of two attributes is 0.49
    to 0.9 times |balance|. In the other class the attributes are independent. All variances are one. The means of the positive
    class are larger by a random separation of the data set, by default between 1.2 and 1.8, times a random share between 0.6
    and 1 of each attribute.

    Parameters
    ----------
    rows : the number of cases; every second one is positive.
    balance : from -1, all dependence in the negative class, to 1, all dependence in the positive class.
    strength : the ranges of loadings (at most one) and separations.
    random_state : the seed.

    >>> X, positive = balance_cases(1000, -1.0)
    >>> np.corrcoef(X[positive == 0].T).min() > 0.3, abs(np.corrcoef(X[positive == 1].T)[0, 1]) < 0.1
    (np.True_, np.True_)

    References
    ----------
    Barrow (2011), A method for automatically generating network structure in Bayesian classifiers, section 3.2, which describes
    such data; the program that generated them, Data, is not in the appendix.
    """
    strength = strength or Strength()
    if rows < 0:
        raise ParameterError(f"rows={rows}: pass a whole number, at least 0")
    if not -1 <= balance <= 1:
        raise ParameterError(f"balance={balance}: pass a number between -1 and 1")
    if not all(0 <= loading <= 1 for loading in strength.loadings):
        raise ParameterError(f"strength={strength}: loadings have to be between 0 and 1")
    random = np.random.default_rng(random_state)
    shift = _shift(random, strength)
    loadings = math.sqrt(abs(balance)) * random.uniform(*strength.loadings, ATTRIBUTES)
    factor, noise = random.standard_normal((rows, 1)), random.standard_normal((rows, ATTRIBUTES))
    positive = np.arange(rows) % 2
    dependent = positive == (balance > 0)
    values = np.where(dependent[:, None], loadings * factor + np.sqrt(1 - loadings**2) * noise, noise)
    return values + shift * positive[:, None], positive


def _shift(random: np.random.Generator, strength: Strength) -> Numbers:
    """Return how much larger each mean is in the positive class; these are the first random numbers of a data set."""
    return np.asarray(random.uniform(*strength.separations) * random.uniform(*SHARES, ATTRIBUTES))


class Drawing(NamedTuple):
    """A series of generated data sets.

    Parameters
    ----------
    balances : the balance of each data set.
    rows : the range of the random number of cases of each.
    places : which of them are generated; each has random numbers of its own.
    seed : the seed, one or more numbers.
    strength : how they are generated.
    """

    balances: tuple[float, ...]
    rows: tuple[tuple[int, int], ...]
    places: range
    seed: tuple[int, ...]
    strength: Strength = Strength()

    def parts(self, count: int) -> Iterator[Drawing]:
        """Divide the series into parts of so many data sets."""
        return (self._replace(places=self.places[start : start + count]) for start in range(0, len(self.places), count))


class Study(NamedTuple):
    """The cross-validated scores of all classifiers on some data sets.

    Parameters
    ----------
    balances, rows : of each data set.
    separations : the distance of the class means, which determines how easy a data set is.
    scores : with each of `SETS` naive (the first is the full classifier, the last naive Bayes), then with the sets of 1, 2 and 3
        attributes that each fold chooses.  # (data set, measure, form, set or k)
    weights : the weight of each attribute, in bits.  # (data set, form, attribute)
    """

    balances: Numbers
    rows: Classes
    separations: Numbers
    scores: Numbers
    weights: Numbers

    def joined(self, others: Sequence[Study]) -> Study:
        """Concatenate several studies."""
        return Study(*(np.concatenate(parts) for parts in zip(self, *others, strict=True)))

    def of(self, name: str, form: str = "network", measure: str = "F score") -> Numbers:
        """Return the scores of "naive", "full", or "1", "2" or "3" naive attributes chosen by weight.  # (data set)"""
        column = {"full": 0, "naive": len(SETS) - 1}.get(name)
        column = len(SETS) - 1 + int(name) if column is None else column
        return self.scores[:, MEASURES.index(measure), list(FORMS).index(form), column]

    def ranked(self, k: int, form: str, measure: str = "F score") -> Numbers:
        """Return the scores of all sets of k naive attributes, the least |weight| first.  # (data set, rank)"""
        columns = [i for i, naive in enumerate(SETS) if len(naive) == k]
        scores = self.scores[:, MEASURES.index(measure), list(FORMS).index(form)][:, columns]
        return np.take_along_axis(scores, np.argsort(self._set_weights(k, form), axis=1, kind="stable"), axis=1)

    def _set_weights(self, k: int, form: str) -> Numbers:
        """Return the |weight| of all sets of k attributes.  # (data set, set)"""
        weights = self.weights[:, list(FORMS).index(form)]
        return np.asarray(np.abs(np.stack([weights[:, naive].sum(axis=1) for naive in SETS if len(naive) == k], axis=1)))

    def weight(self, k: int, form: str) -> Numbers:
        """Return the least |weight| of the sets of k attributes.  # (data set)"""
        return np.asarray(self._set_weights(k, form).min(axis=1))


def study(drawing: Drawing) -> Study:
    """Generate the data sets of a series and cross-validate all classifiers on each."""
    balances, rows, separations = [drawing.balances[i] for i in drawing.places], [], []
    scores = np.empty((len(balances), len(MEASURES), len(FORMS), len(SETS) + ATTRIBUTES - 1))
    weights = np.empty((len(balances), len(FORMS), ATTRIBUTES))
    for place, i in enumerate(drawing.places):
        seeds = (*drawing.seed, i)
        rows.append(int(np.random.default_rng(seeds).integers(*drawing.rows[i], endpoint=True)))
        X, positive = balance_cases(rows[-1], drawing.balances[i], strength=drawing.strength, random_state=(*seeds, 1))
        separations.append(float(np.linalg.norm(_shift(np.random.default_rng((*seeds, 1)), drawing.strength))))
        predicted = cross_validated(X, positive, seeds)
        scores[place] = f_score(positive, predicted), (predicted == positive).mean(axis=-1)
        weights[place] = _Learned(X, positive).weights
    return Study(np.array(balances), np.array(rows), np.array(separations), scores, weights)


def f_score(positive: Classes, predicted: Classes) -> Numbers:
    """Return the F score of the positive class, 2 TP / (2 TP + FP + FN).

    >>> float(f_score(np.array([1, 1, 1, 0]), np.array([1, 1, 0, 1])))  # precision and recall are 2/3
    0.6666666666666666
    """
    return np.asarray(2 * (positive & predicted).sum(axis=-1) / (positive.sum() + predicted.sum(axis=-1)))


def cross_validated(X: Numbers, positive: Classes, seed: Sequence[int]) -> Classes:
    """Return the prediction of every classifier for every case, columns as in `Study.scores`.  # (form, set or k, row)"""
    predicted = np.empty((len(FORMS), len(SETS) + ATTRIBUTES - 1, len(X)), np.int64)
    fold = stratified_folds(positive, FOLDS, int(np.random.default_rng((*seed, 2)).integers(2**31)))
    for i in range(FOLDS):
        test = np.flatnonzero(fold == i)
        learned = _Learned(X[fold != i], positive[fold != i])
        predicted[:, : len(SETS), test] = learned.predict(X[test])
        for form, weights in enumerate(learned.weights):
            for k in range(1, ATTRIBUTES):
                predicted[form, len(SETS) - 1 + k, test] = predicted[form, SETS.index(balanced(weights, k).features), test]
    return predicted


class _Learned:
    """The joint normal densities of some cases, and the weights of the attributes in each form.

    All classifiers follow from the densities of sets of attributes. With the set S naive, a network has the density
    p(all) / p(S) times the product of p(x) over S. `KNaive` learns the same classifier, but takes longer.
    """

    def __init__(self, X: Numbers, positive: Classes) -> None:
        block = Block((*np.ascontiguousarray(X.T), positive.astype(np.uint8)))
        counts = Counts(MemoryCases(_VARIABLES, block, np.zeros(ATTRIBUTES, np.bool_)))
        network = full(counts)
        self.prior, self.joint = np.log(np.asarray(network.cpts[CLASS])), joint_of(network)
        logs = self.logs(X)
        order = np.argsort(-relevance(counts), kind="stable").tolist()
        before = [tuple(sorted(order[: order.index(x)])) for x in range(ATTRIBUTES)]
        others = [SETS[-1][:x] + SETS[-1][x + 1 :] for x in range(ATTRIBUTES)]
        self.weights = np.array([[_weight(logs, x, given) for x, given in enumerate(form)] for form in (before, others)])

    def logs(self, X: Numbers) -> dict[tuple[int, ...], Numbers]:
        """Return the log density of every set of attributes.  # (row, class)"""
        place = self.joint.features.index
        return {chosen: self.joint.logs(X[:, chosen], [place(x) for x in chosen]) for chosen in SETS}

    def predict(self, X: Numbers) -> Classes:
        """Return the class of each case with each set naive.  # (form, set, row)"""
        logs, whole = self.logs(X), SETS[-1]
        given_others = [logs[whole] - logs[whole[:x] + whole[x + 1 :]] for x in whole]
        predicted = np.empty((len(FORMS), len(SETS), len(X)), np.int64)
        for i, naive in enumerate(SETS):
            alone = sum((logs[x,] for x in naive), np.zeros((len(X), len(self.prior))))
            predicted[0, i] = argmax_class(self.prior + logs[whole] + (alone - logs[naive]))
            predicted[1, i] = argmax_class(self.prior + alone + sum(given_others[x] for x in whole if x not in naive))
        return predicted


def _weight(logs: Mapping[tuple[int, ...], Numbers], x: int, given: tuple[int, ...]) -> float:
    """Return the mean logarithm of the ratio of dependence derivatives of an attribute given others, in bits."""
    derivatives = logs[tuple(sorted((*given, x)))] - logs[given] - logs[x,]
    return float((derivatives[:, 1] - derivatives[:, 0]).mean()) / math.log(2)
