"""What a diagnosis of naive Bayes finds: tables of cases, features and arcs, the worst cases, and a picture."""

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
    """How often naive Bayes and the network are right, and what the dependence between features changes.

    Parameters
    ----------
    cases : how many cases there are, by weight.
    labelled : how many of them have a class.
    naive, network : how many of these naive Bayes and the network get right.
    turned : how many answers of naive Bayes the dependence turns.
    repaired, broken : how many of those from wrong to right, and from right to wrong.
    how : how the answers came about.
    """

    cases: float
    labelled: float
    naive: float
    network: float
    turned: float
    repaired: float
    broken: float
    how: str


@dataclass(frozen=True)
class Case:
    """A case in which naive Bayes errs; where the classes are not known, one in which the dependence turns its answer.

    Parameters
    ----------
    row : its number, from 1.
    correct, naive, network : its class, None where unknown, and what naive Bayes and the network answer.
    bits : by how much naive Bayes prefers its answer to the correct class, or else to the answer of the network.
    terms : the features whose dependence says most about these two, with how many bits it takes off, the largest first.
    """

    row: int
    correct: Any
    naive: Any
    network: Any
    bits: float
    terms: tuple[tuple[Name, float], ...]


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What naive Bayes neglects in some cases, and what that does to its answers.

    All terms are in bits, for two classes of the second against the first, for more of each against the mean of all: in every
    case the log odds of the network are those of naive Bayes plus the log gdf, and that is the sum of the log ddr.

    Parameters
    ----------
    network : the network; its class has no parents.
    arcs_added : the arcs that were added to naive Bayes, one at a time.
    classes : the labels of the classes.
    terms : what is said of every case.
    rows : the number of every case, from 1, in the table that was given.
    correct : the class of every case where known; labels that are no class of the network come after those that are.
    weight : the weight of every case, None where all weigh one.
    how : how the answers came about, in words.
    """

    network: Network
    arcs_added: tuple[tuple[int, int], ...]
    classes: NDArray[Any]
    terms: Terms
    rows: NDArray[np.int64]
    correct: Column | None
    weight: Numbers | None
    how: str

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def gdf(self) -> Numbers:
        """What naive Bayes neglects: log2 of the global dependence factor.  # (row, contrast)"""
        return np.asarray(self.terms.dependence.sum(axis=1))

    @cached_property
    def naive_answers(self) -> NDArray[np.intp]:
        """The position of the class that naive Bayes answers.  # (row)"""
        return predicted_classes(self.terms.naive)

    @cached_property
    def network_answers(self) -> NDArray[np.intp]:
        """The position of the class that the network answers.  # (row)"""
        return predicted_classes(self.terms.naive + self.gdf)

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """The position of the correct class; -1 where it is not known, beyond the classes where it is none of them.  # (row)"""
        return np.full(len(self), UNKNOWN) if self.correct is None else self.correct.values.astype(np.int64)

    @property
    def labelled(self) -> bool:
        """Whether the class of any case is known."""
        return bool((self.labels != UNKNOWN).any())

    def summary(self) -> Summary:
        """How often naive Bayes and the network are right, and what turned."""
        one, two = self.naive_answers, self.network_answers
        repaired, broken = self._effects(one, two)
        return Summary(
            cases=self._total(np.ones(len(self), bool)),
            labelled=self._total(self.labels != UNKNOWN),
            naive=self._total(one == self.labels),
            network=self._total(two == self.labels),
            turned=self._total(one != two),
            repaired=repaired,
            broken=broken,
            how=self.how,
        )

    def cases(self) -> Table:
        """One row for each case: its class, both answers and their probabilities, the log odds, and log ddr of every feature."""
        one, two, states = self.naive_answers, self.network_answers, tuple(self.classes.tolist())
        columns = [
            Column("row", self.rows),
            *([] if self.correct is None else [self.correct]),
            *(Column(name, own, states, "nominal") for name, own in (("naive", one), ("network", two))),
            Column("turned", one != two),
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
        """One row for each feature, that of the largest weight first.

        `weight` is the mean of log ddr, for more than two classes the length of the means of all; `mean_size` the mean of its
        size in each case; `turned` how many answers of the network change when the dependence of this feature alone is
        ignored, `gained` and `lost` how many of these then become right and wrong.
        """
        network, means, sizes = self.network_answers, self._means, _length(self.terms.dependence)
        ignoring = [predicted_classes(self.terms.naive + self.gdf - self.terms.dependence[:, x]) for x in self.network.features]
        order = np.argsort(-np.abs(self._weights()), kind="stable")
        effects = np.array([self._effects(network, own) for own in ignoring]).reshape(-1, 2)
        columns = [
            _texts("feature", [self.network.name(x) for x in self.network.features]),
            Column("weight", self._weights()),
            *(self._contrasts("weight", means) if means.shape[1] > 1 else []),
            Column("mean_size", np.array([self._mean(sizes[:, x]) for x in self.network.features])),
            Column("turned", np.array([self._total(own != network) for own in ignoring])),
            *([Column(name, effects[:, i]) for i, name in enumerate(("gained", "lost"))] if self.labelled else []),
        ]
        return _table(columns, "features").take(order)

    def arcs(self) -> Table:
        """One row for each arc of the network, the one first that repairs naive Bayes best when it alone is added.

        `changed` is how many answers of naive Bayes change, `repaired` and `broken` how many of these from wrong to right and
        from right to wrong, `net` their difference.
        """
        naive, added = self.naive_answers, self.terms.with_arc
        effects = np.array([self._effects(naive, own) for own in added.T]).reshape(-1, 2)
        changed = np.array([self._total(own != naive) for own in added.T])
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
        """The cases in which naive Bayes errs and is most sure of it; without classes, those that the dependence turns.

        Parameters
        ----------
        count : how many at most.
        terms : how many features are named for each.
        """
        naive, other = self.naive_answers, self._better()
        here = np.flatnonzero((naive != other) & (other < len(self.classes)))
        logs = class_logs(self.terms.naive)
        bits = logs[here, naive[here]] - logs[here, other[here]]
        first = here[np.argsort(-bits, kind="stable")][:count]
        return [self._case(int(i), int(naive[i]), int(other[i]), terms) for i in first]

    def _case(self, i: int, naive: int, other: int, count: int) -> Case:
        logs, taken = class_logs(self.terms.naive[i]), class_logs(self.terms.dependence[i])
        taken = taken[:, other] - taken[:, naive]
        first = np.argsort(-np.abs(taken), kind="stable")[:count].tolist()
        told = tuple((self.network.name(x), float(taken[x])) for x in first if taken[x])
        label = None if self.correct is None else self.correct[i]
        found = self.classes.tolist()
        return Case(int(self.rows[i]), label, found[naive], found[self.network_answers[i]], float(logs[naive] - logs[other]), told)

    def svg(self) -> Markup:
        """The log odds of the network against those of naive Bayes, turned cases marked, beside the weights of the features."""
        across, up = self._odds()
        effect = np.where(self.naive_answers == self.network_answers, len(_EFFECTS), self._effect())
        group = effect if self.labelled else np.where(effect == UNKNOWN, _EFFECTS.index("neither"), effect)
        points = {name: (across[group == i], up[group == i]) for i, name in enumerate(GROUPS)}
        features = self.features()
        weights = zip(features["feature"], features["weight"].values.tolist(), strict=True)
        return picture(points, list(weights), of=self._odds_told(), target=self.network.name(CLASS))

    def _repr_html_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        own = self.summary()
        told = f", right: naive {own.naive:g}, network {own.network:g}" if self.labelled else ""
        return f"Diagnosis({len(self)} cases, {own.turned:g} turned{told}; {self.how})"

    def _better(self) -> NDArray[np.int64]:
        """The class that naive Bayes is measured against: the correct one where known, else the answer of the network."""
        return np.where(self.labels == UNKNOWN, self.network_answers, self.labels) if self.labelled else self.network_answers

    def _odds(self) -> tuple[Numbers, Numbers]:
        """The log odds of naive Bayes and of the network: of two classes as they are, of more the class that matters.  # (row)"""
        both = self.terms.naive, self.terms.naive + self.gdf
        if len(self.classes) == 2:
            return both[0][:, 0], both[1][:, 0]
        of = np.where(self._better() < len(self.classes), self._better(), self.network_answers)
        return tuple(_against_the_rest(own, of) for own in both)  # type: ignore[return-value]

    def _odds_told(self) -> str:
        if len(self.classes) == 2:
            return f"{self.classes.tolist()[1]} against {self.classes.tolist()[0]}"
        return f"the {'correct class' if self.labelled else 'answer of the network'} against the next best"

    def _effect(self) -> NDArray[np.int64]:
        """What the dependence did to each answer, as positions among repaired, broken, neither; -1 where nothing or unknown."""
        one, two = self.naive_answers, self.network_answers
        found = np.where(two == self.labels, 0, np.where(one == self.labels, 1, 2))
        return np.where((one == two) | (self.labels == UNKNOWN), UNKNOWN, found)

    def _effects(self, before: NDArray[np.intp], after: NDArray[np.intp]) -> tuple[float, float]:
        """How many answers become right and wrong."""
        was, now = before == self.labels, after == self.labels
        return self._total(now & ~was), self._total(was & ~now)

    def _total(self, chosen: Mask) -> float:
        return float(chosen.sum()) if self.weight is None else math.fsum(self.weight[chosen])

    def _mean(self, values: Numbers) -> float:
        weight = np.ones(len(values)) if self.weight is None else self.weight
        return math.fsum(values * weight) / math.fsum(weight) if weight.any() else math.nan

    @cached_property
    def _means(self) -> Numbers:
        """The mean of the dependence of every feature.  # (feature, contrast)"""
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
        """A column for two classes, one for each of more."""
        if contrast.shape[1] == 1:
            return [Column(name, contrast[:, 0])]
        return [Column(f"{name}[{c}]", own) for c, own in zip(self.classes.tolist(), contrast.T, strict=True)]


def _length(dependence: Numbers) -> Numbers:
    """How much the dependence of a feature says in a case: its size, or the length of the contrasts of all classes."""
    return np.asarray(np.sqrt((dependence**2).sum(axis=-1)))


def _against_the_rest(contrast: Numbers, of: NDArray[np.intp]) -> Numbers:
    """The logarithm of one class in each row less the largest of the others."""
    logs, rows = class_logs(contrast).copy(), np.arange(len(of))
    mine = logs[rows, of].copy()
    logs[rows, of] = -np.inf
    return np.asarray(mine - logs.max(axis=1))


def _texts(name: str, values: Sequence[object]) -> Column:
    states = tuple(dict.fromkeys(map(str, values)))
    at = {state: code for code, state in enumerate(states)}
    return Column(name, np.array([at[str(v)] for v in values], np.int64), states, "nominal")


def _table(columns: Sequence[Column], source: str) -> Table:
    """The columns as a table; a name that is taken gets an underscore."""
    taken: set[object] = set()
    own = []
    for column in columns:
        name = column.name
        while name in taken:
            name = f"{name}_"
        taken.add(name)
        own.append(Column(name, column.values, column.states, column.kind))
    return Table(tuple(own), source=source)
