"""Generated data whose dependence speaks for one class, as Barrow (2011) has it in section 3.2, and the classifiers on it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from naivete.cases import Block, MemoryCases
from naivete.counts.counts import Counts
from naivete.counts.information import relevance
from naivete.errors import ParameterError, quoted
from naivete.evaluation import stratified_folds
from naivete.inference.predictor import argmax_class
from naivete.learners.balance import balanced
from naivete.learners.full import full
from naivete.network.normal_densities import joint_of
from naivete.variables import CLASS, Variable

__all__ = [
    "ATTRIBUTES",
    "FORMS",
    "MEASURES",
    "MODERATE",
    "SETS",
    "Drawing",
    "Strength",
    "Study",
    "balance_cases",
    "f_score",
    "given_classes",
    "study",
]

Classes = NDArray[np.int64]

ATTRIBUTES: Final = 4
SETS: Final = tuple(held for k in range(ATTRIBUTES + 1) for held in combinations(range(ATTRIBUTES), k))
"""All sets of attributes that may be held naive, the smaller first."""
FORMS: Final = ("network", "all others")
"""An attribute that is not held depends on those before it, which is a network, or on all others, as in the thesis."""
MEASURES: Final = ("F score", "accuracy")
SHARES: Final = (0.6, 1.0)
FOLDS: Final = 10
_VARIABLES: Final = (
    *(Variable(f"x{i + 1}", origin=0.0) for i in range(ATTRIBUTES)),
    Variable("class", ("negative", "positive")),
)


class Strength(NamedTuple):
    """How data are generated where the thesis does not say: between which numbers loadings and separations are drawn."""

    loadings: tuple[float, float] = (0.7, 0.95)
    separations: tuple[float, float] = (1.2, 1.8)


MODERATE: Final = Strength()


def balance_cases(
    rows: int, balance: float, *, strength: Strength = MODERATE, random_state: int | Sequence[int] = 0
) -> tuple[Numbers, Classes]:
    """Cases of four normal attributes, and whether each is positive; the attributes depend on each other in one class only.

    In the class that the balance points to, the positive one above zero, attribute i is l_i f + sqrt(1 - l_i**2) e_i: f is common
    to all four, e_i its own, both standard normal. The loading l_i is the root of the balance times a random number, by default
    between 0.7 and 0.95, so that two attributes correlate by 0.49 to 0.9 times the balance. In the other class the attributes are
    independent. All have variance one in both classes; in the positive one their means are larger, by a random separation, by
    default between 1.2 and 1.8 and common to the data set, times a random share between 0.6 and one.

    Parameters
    ----------
    rows : how many cases; every second one is positive.
    balance : from -1, all dependence in the negative class, to 1, all of it in the positive one; 0 is none at all.
    strength : between which numbers loadings, at most one, and separations are drawn.
    random_state : the seed.

    >>> X, positive = balance_cases(1000, -1.0)
    >>> np.corrcoef(X[positive == 0].T).min() > 0.3, abs(np.corrcoef(X[positive == 1].T)[0, 1]) < 0.1
    (np.True_, np.True_)

    References
    ----------
    Barrow (2011), A method for automatically generating network structure in Bayesian classifiers, section 3.2, which describes
    such data; the program that made them, Data, is not in the appendix.
    """
    if rows < 0:
        raise ParameterError(f"rows={quoted(rows)}: a whole number, at least 0")
    if not -1 <= balance <= 1:
        raise ParameterError(f"balance={quoted(balance)}: a number between -1 and 1")
    if not all(0 <= own <= 1 for own in strength.loadings):
        raise ParameterError(f"strength={quoted(strength)}: loadings are numbers between 0 and 1")
    draw = np.random.default_rng(random_state)
    shift = _shift(draw, strength)
    loadings = math.sqrt(abs(balance)) * draw.uniform(*strength.loadings, ATTRIBUTES)
    common, own = draw.standard_normal((rows, 1)), draw.standard_normal((rows, ATTRIBUTES))
    positive = np.arange(rows) % 2
    dependent = positive == (balance > 0)
    values = np.where(dependent[:, None], loadings * common + np.sqrt(1 - loadings**2) * own, own)
    return values + shift * positive[:, None], positive


def _shift(draw: np.random.Generator, strength: Strength) -> Numbers:
    """By how much each mean is larger in the positive class, the first thing that is drawn."""
    return np.asarray(draw.uniform(*strength.separations) * draw.uniform(*SHARES, ATTRIBUTES))


class Drawing(NamedTuple):
    """Some data sets: their balances, and for each between how many cases its number is drawn.

    Parameters
    ----------
    balances : one for each data set.
    rows : the least and the most cases of each.
    places : which of them; each has random numbers of its own.
    seed : the seed, of one or more numbers.
    strength : how they are generated.
    """

    balances: tuple[float, ...]
    rows: tuple[tuple[int, int], ...]
    places: range
    seed: tuple[int, ...]
    strength: Strength = MODERATE

    def parts(self, count: int) -> Iterator[Drawing]:
        """The same in parts of so many data sets."""
        return (self._replace(places=self.places[at : at + count]) for at in range(0, len(self.places), count))


class Study(NamedTuple):
    """How all classifiers do on some data sets, cross-validated.

    Parameters
    ----------
    balances, rows : of each data set.
    separations : how far apart the means of its classes are, which tells how easy it is.
    scores : of each measure and form, with each of `SETS` held naive; the first is the full classifier, the last naive Bayes;
        then follow the sets of 1, 2 and 3 that each fold chooses.  # (data set, measure, form, set or k)
    weights : of each attribute in each form, in bits.  # (data set, form, attribute)
    """

    balances: Numbers
    rows: Classes
    separations: Numbers
    scores: Numbers
    weights: Numbers

    def joined(self, others: Sequence[Study]) -> Study:
        """This one and others as one."""
        return Study(*(np.concatenate(parts) for parts in zip(self, *others, strict=True)))

    def of(self, name: str, form: str = "network", measure: str = "F score") -> Numbers:
        """The scores of "naive", "full", or "1", "2" or "3", the naivete with the set chosen by weight.  # (data set)"""
        column = {"full": 0, "naive": len(SETS) - 1}.get(name)
        return self.scores[:, MEASURES.index(measure), FORMS.index(form), len(SETS) - 1 + int(name) if column is None else column]

    def ranked(self, k: int, form: str, measure: str = "F score") -> Numbers:
        """The scores with all sets of so many, that of the least weight first.  # (data set, rank)"""
        columns = [i for i, held in enumerate(SETS) if len(held) == k]
        own = self.weights[:, FORMS.index(form)]
        away = np.abs(np.stack([own[:, SETS[i]].sum(axis=1) for i in columns], axis=1))
        scores = self.scores[:, MEASURES.index(measure), FORMS.index(form)][:, columns]
        return np.take_along_axis(scores, np.argsort(away, axis=1, kind="stable"), axis=1)

    def weight(self, k: int, form: str) -> Numbers:
        """The weight of the best set of so many, regardless of its sign.  # (data set)"""
        own = self.weights[:, FORMS.index(form)]
        return np.asarray(np.min([np.abs(own[:, held].sum(axis=1)) for held in SETS if len(held) == k], axis=0))


def study(drawing: Drawing) -> Study:
    """How all classifiers do on the data sets of a drawing."""
    balances, rows, apart = [drawing.balances[i] for i in drawing.places], [], []
    scores = np.empty((len(balances), len(MEASURES), len(FORMS), len(SETS) + ATTRIBUTES - 1))
    weights = np.empty((len(balances), len(FORMS), ATTRIBUTES))
    for at, i in enumerate(drawing.places):
        seeds = (*drawing.seed, i)
        rows.append(int(np.random.default_rng(seeds).integers(*drawing.rows[i], endpoint=True)))
        X, positive = balance_cases(rows[-1], drawing.balances[i], strength=drawing.strength, random_state=(*seeds, 1))
        apart.append(float(np.linalg.norm(_shift(np.random.default_rng((*seeds, 1)), drawing.strength))))
        given = given_classes(X, positive, seeds)
        scores[at] = f_score(positive, given), (given == positive).mean(axis=-1)
        weights[at] = _Learned(X, positive).weights
    return Study(np.array(balances), np.array(rows), np.array(apart), scores, weights)


def f_score(positive: Classes, given: Classes) -> Numbers:
    """The F score of the positive class, 2 TP / (2 TP + FP + FN).

    >>> float(f_score(np.array([1, 1, 1, 0]), np.array([1, 1, 0, 1])))  # precision and recall are 2/3
    0.6666666666666666
    """
    return np.asarray(2 * (positive & given).sum(axis=-1) / (positive.sum() + given.sum(axis=-1)))


def given_classes(X: Numbers, positive: Classes, seed: Sequence[int]) -> Classes:
    """What every classifier says of every case when it has not seen it; the columns as in `Study`.  # (form, set or k, row)"""
    given = np.empty((len(FORMS), len(SETS) + ATTRIBUTES - 1, len(X)), np.int64)
    fold = stratified_folds(positive, FOLDS, int(np.random.default_rng((*seed, 2)).integers(2**31)))
    for i in range(FOLDS):
        test = np.flatnonzero(fold == i)
        learned = _Learned(X[fold != i], positive[fold != i])
        said = learned.said(X[test])
        given[:, : len(SETS), test] = said
        for form, own in enumerate(learned.weights):
            for k in range(1, ATTRIBUTES):
                given[form, len(SETS) - 1 + k, test] = said[form, SETS.index(balanced(own, k).features)]
    return given


class _Learned:
    """The full normal densities of some cases, and the weights of the attributes in each form.

    All classifiers follow from the densities of sets of attributes. With S held naive, a network has the density
    p(all) / p(S) times the product of p(x) over S: `KNaive` learns the same, which takes longer.
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
        self.weights = np.array([[_weight(logs, x, own) for x, own in enumerate(form)] for form in (before, others)])

    def logs(self, X: Numbers) -> dict[tuple[int, ...], Numbers]:
        """The logarithms of the density of every set of attributes.  # (row, class)"""
        place = self.joint.features.index
        return {held: self.joint.logs(X[:, held], [place(x) for x in held]) for held in SETS}

    def said(self, X: Numbers) -> Classes:
        """The class of each case with each set held naive.  # (form, set, row)"""
        logs, whole = self.logs(X), SETS[-1]
        given_others = [logs[whole] - logs[whole[:x] + whole[x + 1 :]] for x in whole]
        said = np.empty((len(FORMS), len(SETS), len(X)), np.int64)
        for i, held in enumerate(SETS):
            alone = sum((logs[x,] for x in held), np.zeros((len(X), len(self.prior))))
            said[0, i] = argmax_class(self.prior + logs[whole] + (alone - logs[held]))
            said[1, i] = argmax_class(self.prior + alone + sum(given_others[x] for x in whole if x not in held))
        return said


def _weight(logs: Mapping[tuple[int, ...], Numbers], x: int, given: tuple[int, ...]) -> float:
    """The mean logarithm of the ratio of dependence derivatives of an attribute given others, in bits."""
    derivatives = logs[tuple(sorted((*given, x)))] - logs[given] - logs[x,]
    return float((derivatives[:, 1] - derivatives[:, 0]).mean()) / math.log(2)
