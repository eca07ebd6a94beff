"""The results of a diagnosis of naive Bayes: tables of cases, features and arcs, the worst cases, and a figure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from naivete.data.table import Column, Table
from naivete.display.markup import Markup
from naivete.evaluation.diagnosis.drawing import GROUPS, picture
from naivete.evaluation.diagnosis.terms import Terms, class_logs, predicted_classes
from naivete.learners.derivatives import Derivatives
from naivete.network.network import Network
from naivete.variables import CLASS, Name

__all__ = ["UNKNOWN", "Case", "Diagnosis", "Summary"]

Mask = NDArray[np.bool_]
UNKNOWN = -1
_EFFECTS = ("repaired", "broken", "neither")


@dataclass(frozen=True)
class Summary:
    """The numbers of correct predictions of naive Bayes and the network, by weight.

    Parameters
    ----------
    cases : float
        The total weight of the cases.
    labelled : float
        The total weight of the cases with a known class.
    naive : float
        The total weight of the cases that naive Bayes predicts correctly.
    network : float
        The total weight of the cases that the network predicts correctly.
    changed : float
        The total weight of the cases in which the two predictions differ.
    repaired : float
        The total weight of the cases in which only the network is correct.
    broken : float
        The total weight of the cases in which only naive Bayes is correct.
    method : str
        How the predictions were made.
    """

    cases: float
    labelled: float
    naive: float
    network: float
    changed: float
    repaired: float
    broken: float
    method: str


@dataclass(frozen=True)
class Case:
    """A case that naive Bayes predicts wrongly; without known classes, one that the network predicts differently.

    Parameters
    ----------
    row : int
        Its number, from 1.
    correct : class label or None
        Its class, None where unknown.
    naive : class label
        The prediction of naive Bayes.
    network : class label
        The prediction of the network.
    bits : float
        The log odds of naive Bayes for its prediction against the correct class, or else the prediction of the network.
    terms : tuple of (str, float)
        The features whose dependence changes these odds most, with the bits by which it reduces them, the largest first.
    """

    row: int
    correct: Any
    naive: Any
    network: Any
    bits: float
    terms: tuple[tuple[Name, float], ...]


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """The dependences that naive Bayes ignores in some cases, and their effects on its predictions.

    All terms are in bits: of two classes, the second against the first; of more classes, each against the mean of all. In every
    case the log odds of the network are those of naive Bayes plus the log gdf, which is the sum of the log ddr of the features.

    Parameters
    ----------
    network : Network
        The network; its class has no parents.
    arcs_added : tuple of (int, int)
        The arcs that are added to naive Bayes, one at a time.
    classes : ndarray of shape (n_classes,)
        The labels of the classes.
    terms : Terms
        The terms of every case.
    rows : ndarray of shape (n_rows,)
        The number of every case, from 1, in the table X.
    correct : Column or None
        The class of every case where known; labels that are not classes of the network come after the classes.
    weight : ndarray of shape (n_rows,) or None
        The weight of every case, None where all are 1.
    method : str
        How the predictions were made, as text.
    """

    network: Network
    arcs_added: tuple[tuple[int, int], ...]
    classes: NDArray[Any]
    terms: Terms
    rows: NDArray[np.int64]
    correct: Column | None
    weight: Numbers | None
    method: str

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def gdf(self) -> Numbers:
        """The logarithm (base 2) of the global dependence factor, which naive Bayes ignores, an array (row, contrast)."""
        return np.asarray(self.terms.dependence.sum(axis=1))

    @cached_property
    def naive_predictions(self) -> NDArray[np.intp]:
        """The position of the class that naive Bayes predicts for each row."""
        return predicted_classes(self.terms.naive)

    @cached_property
    def network_predictions(self) -> NDArray[np.intp]:
        """The position of the class that the network predicts for each row."""
        return predicted_classes(self.terms.naive + self.gdf)

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """The position of the correct class of each row; -1 where unknown, beyond the classes where it is not one of them."""
        return np.full(len(self), UNKNOWN) if self.correct is None else self.correct.values.astype(np.int64)

    @property
    def labelled(self) -> bool:
        """Whether the class of any case is known."""
        return bool((self.labels != UNKNOWN).any())

    def summary(self) -> Summary:
        """Return the numbers of correct predictions and of differences between naive Bayes and the network.

        Returns
        -------
        Summary
            The numbers.
        """
        one, two = self.naive_predictions, self.network_predictions
        repaired, broken = self._effects(one, two)
        return Summary(
            cases=self._total(np.ones(len(self), bool)),
            labelled=self._total(self.labels != UNKNOWN),
            naive=self._total(one == self.labels),
            network=self._total(two == self.labels),
            changed=self._total(one != two),
            repaired=repaired,
            broken=broken,
            method=self.method,
        )

    def cases(self) -> Table:
        """Return a table of the cases: the class, both predictions and their probabilities, log odds, log ddr of every feature.

        Returns
        -------
        Table
            A row for each case.
        """
        one, two, states = self.naive_predictions, self.network_predictions, tuple(self.classes.tolist())
        columns = [
            Column("row", self.rows),
            *([] if self.correct is None else [self.correct]),
            *(Column(name, codes, states, "nominal") for name, codes in (("naive", one), ("network", two))),
            Column("changed", one != two),
            *([Column("effect", self._effect(), _EFFECTS, "nominal")] if self.labelled else []),
            *self._posteriors("naive_p", self.terms.naive),
            *self._posteriors("network_p", self.terms.naive + self.gdf),
            *self._contrasts("naive_log_odds", self.terms.naive),
            *self._contrasts("log_gdf", self.gdf),
            *self._contrasts("network_log_odds", self.terms.naive + self.gdf),
        ]
        for x in self.network.features:
            columns += self._contrasts(f"log_ddr[{self.network.name(x)}]", self.terms.dependence[:, x])
        return _table(columns, "cases")

    def features(self) -> Table:
        """Return a table of the features, the largest weight first.

        `weight` is the mean of log ddr, for more than two classes the Euclidean norm of the means; `mean_size` is the mean of the
        absolute value or norm; `changed` the number of predictions of the network that change when the dependence of this feature
        alone is ignored; `gained` and `lost` the numbers of these that become correct and wrong.

        Returns
        -------
        Table
            A row for each feature.
        """
        network, means, sizes = self.network_predictions, self._means, _length(self.terms.dependence)
        ignoring = [predicted_classes(self.terms.naive + self.gdf - self.terms.dependence[:, x]) for x in self.network.features]
        order = np.argsort(-np.abs(self._weights()), kind="stable")
        effects = np.array([self._effects(network, codes) for codes in ignoring]).reshape(-1, 2)
        columns = [
            _texts("feature", [self.network.name(x) for x in self.network.features]),
            Column("weight", self._weights()),
            *(self._contrasts("weight", means) if means.shape[1] > 1 else []),
            Column("mean_size", np.array([self._mean(sizes[:, x]) for x in self.network.features])),
            Column("changed", np.array([self._total(codes != network) for codes in ignoring])),
            *([Column(name, effects[:, i]) for i, name in enumerate(("gained", "lost"))] if self.labelled else []),
        ]
        return _table(columns, "features").take(order)

    def arcs(self) -> Table:
        """Return a table of the arcs of the network, the one first that alone improves naive Bayes most.

        `changed` is the number of predictions of naive Bayes that change when the arc is added, `repaired` and `broken` the numbers
        of these that become correct and wrong, `net` their difference.

        Returns
        -------
        Table
            A row for each arc.
        """
        naive, added = self.naive_predictions, self.terms.with_arc
        effects = np.array([self._effects(naive, codes) for codes in added.T]).reshape(-1, 2)
        changed = np.array([self._total(codes != naive) for codes in added.T])
        net = effects[:, 0] - effects[:, 1]
        order = np.lexsort((-changed, -net)) if self.labelled else np.argsort(-changed, kind="stable")
        named = {"repaired": effects[:, 0], "broken": effects[:, 1], "net": net} if self.labelled else {}
        columns = [
            _texts("parent", [self.network.name(p) for p, _ in self.arcs_added]),
            _texts("child", [self.network.name(x) for _, x in self.arcs_added]),
            *(Column(name, values) for name, values in {"changed": changed, **named}.items()),
        ]
        return _table(columns, "arcs").take(order)

    def worst(self, count: int = 10, terms: int = 3) -> list[Case]:
        """Return the errors of naive Bayes with the largest odds; without known classes, the differences from the network.

        Parameters
        ----------
        count : int, default=10
            The largest number of cases.
        terms : int, default=3
            The largest number of features for each case.

        Returns
        -------
        list of Case
            The cases, the largest odds first.
        """
        naive, other = self.naive_predictions, self._reference()
        rows = np.flatnonzero((naive != other) & (other < len(self.classes)))
        logs = class_logs(self.terms.naive)
        bits = logs[rows, naive[rows]] - logs[rows, other[rows]]
        first = rows[np.argsort(-bits, kind="stable")][:count]
        return [self._case(int(i), int(naive[i]), int(other[i]), terms) for i in first]

    def _case(self, i: int, naive: int, other: int, count: int) -> Case:
        logs, dependence = class_logs(self.terms.naive[i]), class_logs(self.terms.dependence[i])
        change = dependence[:, other] - dependence[:, naive]
        first = np.argsort(-np.abs(change), kind="stable")[:count].tolist()
        terms = tuple((self.network.name(x), float(change[x])) for x in first if change[x])
        label = None if self.correct is None else self.correct[i]
        classes, bits = self.classes.tolist(), float(logs[naive] - logs[other])
        return Case(int(self.rows[i]), label, classes[naive], classes[self.network_predictions[i]], bits, terms)

    def svg(self) -> Markup:
        """Return a figure of the log odds of the network against those of naive Bayes, and of the weights of the features.

        Returns
        -------
        Markup
            The figure as SVG text.
        """
        across, up = self._odds()
        effect = np.where(self.naive_predictions == self.network_predictions, len(_EFFECTS), self._effect())
        group = effect if self.labelled else np.where(effect == UNKNOWN, _EFFECTS.index("neither"), effect)
        points = {name: (across[group == i], up[group == i]) for i, name in enumerate(GROUPS)}
        features = self.features()
        weights = zip(features["feature"], features["weight"].values.tolist(), strict=True)
        return picture(points, list(weights), of=self._odds_text(), target=self.network.name(CLASS))

    def _repr_html_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        summary = self.summary()
        correct = f", correct: naive {summary.naive:g}, network {summary.network:g}" if self.labelled else ""
        return f"Diagnosis({len(self)} cases, {summary.changed:g} changed{correct}; {self.method})"

    def _reference(self) -> NDArray[np.int64]:
        """Return the class that naive Bayes is compared with: the correct one where known, else the prediction of the network."""
        return (
            np.where(self.labels == UNKNOWN, self.network_predictions, self.labels) if self.labelled else self.network_predictions
        )

    def _odds(self) -> tuple[Numbers, Numbers]:
        """Return the log odds of naive Bayes and of the network; for more than two classes, of the reference class.  # (row)"""
        both = self.terms.naive, self.terms.naive + self.gdf
        if len(self.classes) == 2:
            return both[0][:, 0], both[1][:, 0]
        of = np.where(self._reference() < len(self.classes), self._reference(), self.network_predictions)
        return tuple(_against_the_rest(contrast, of) for contrast in both)  # type: ignore[return-value]

    def _odds_text(self) -> str:
        if len(self.classes) == 2:
            return f"{self.classes.tolist()[1]} against {self.classes.tolist()[0]}"
        return f"the {'correct class' if self.labelled else 'prediction of the network'} against the next best"

    def _effect(self) -> NDArray[np.int64]:
        """Return the effect of the dependences on each case: 0 repaired, 1 broken, 2 neither; -1 where unchanged or unknown."""
        one, two = self.naive_predictions, self.network_predictions
        effect = np.where(two == self.labels, 0, np.where(one == self.labels, 1, 2))
        return np.where((one == two) | (self.labels == UNKNOWN), UNKNOWN, effect)

    def _effects(self, before: NDArray[np.intp], after: NDArray[np.intp]) -> tuple[float, float]:
        """Return the weights of the predictions that become correct and wrong."""
        was, now = before == self.labels, after == self.labels
        return self._total(now & ~was), self._total(was & ~now)

    def _total(self, chosen: Mask) -> float:
        return float(chosen.sum()) if self.weight is None else math.fsum(self.weight[chosen])

    def _mean(self, values: Numbers) -> float:
        weight = np.ones(len(values)) if self.weight is None else self.weight
        return math.fsum(values * weight) / math.fsum(weight) if weight.any() else math.nan

    @cached_property
    def _means(self) -> Numbers:
        """The mean log ddr of every feature.  # (feature, contrast)"""
        return Derivatives(class_logs(self.terms.dependence)).mean_weights(self.weight)

    def _weights(self) -> Numbers:
        means = self._means
        return means[:, 0] if means.shape[1] == 1 else np.sqrt((means**2).sum(axis=1))

    def _posteriors(self, name: str, contrast: Numbers) -> Iterator[Column]:
        logs = class_logs(contrast)
        share = np.exp2(logs - logs.max(axis=1, keepdims=True))
        for c, p in zip(self.classes.tolist(), (share / share.sum(axis=1, keepdims=True)).T, strict=True):
            yield Column(f"{name}[{c}]", p)

    def _contrasts(self, name: str, contrast: Numbers) -> list[Column]:
        """Return one column for two classes, else a column for each class."""
        if contrast.shape[1] == 1:
            return [Column(name, contrast[:, 0])]
        return [Column(f"{name}[{c}]", values) for c, values in zip(self.classes.tolist(), contrast.T, strict=True)]


def _length(dependence: Numbers) -> Numbers:
    """Return the absolute value of the contrast, or the Euclidean norm of the contrasts of all classes."""
    return np.asarray(np.sqrt((dependence**2).sum(axis=-1)))


def _against_the_rest(contrast: Numbers, of: NDArray[np.intp]) -> Numbers:
    """Return the logarithm of one class in each row minus the largest of the others."""
    logs, rows = class_logs(contrast).copy(), np.arange(len(of))
    chosen = logs[rows, of].copy()
    logs[rows, of] = -np.inf
    return np.asarray(chosen - logs.max(axis=1))


def _texts(name: str, values: Sequence[object]) -> Column:
    states = tuple(dict.fromkeys(map(str, values)))
    codes = {state: code for code, state in enumerate(states)}
    return Column(name, np.array([codes[str(v)] for v in values], np.int64), states, "nominal")


def _table(columns: Sequence[Column], source: str) -> Table:
    """Return the columns as a table; an underscore is appended to repeated names."""
    taken: set[object] = set()
    unique = []
    for column in columns:
        name = column.name
        while name in taken:
            name = f"{name}_"
        taken.add(name)
        unique.append(Column(name, column.values, column.states, column.kind))
    return Table(tuple(unique), source=source)
