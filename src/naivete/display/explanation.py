"""Explanations of predictions: contributions in bits, as arrays, frame, text, sentence, drawing and for `shap`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from statistics import NormalDist
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Bools, Integers, Numbers, missing
from naivete.display.explanation_text import (
    Contribution,
    class_position,
    contribution_text,
    free_name,
    library,
    more_text,
    probability_text,
    value_text,
)
from naivete.display.markup import Markup, element
from naivete.display.waterfall import Step, waterfall
from naivete.errors import ParameterError, ResourceError, quoted
from naivete.inference.elimination import Codes
from naivete.inference.ensemble_explanation import AnyExplainer
from naivete.inference.explanation import By
from naivete.inference.log_odds import Attribution
from naivete.variables import CLASS, Name

__all__ = ["Explanation"]

ROWS_SHOWN = 3
"""The number of rows of which a text or a page shows the contributions."""
TERMS_SHOWN = 12
"""The number of contributions of a row that are shown one by one."""
BY: Final[tuple[By, ...]] = ("feature", "family")
UNUSUAL = 0.01
"""Rows are unusual if a smaller share of rows is as improbable."""
SMALLEST = 5e-4
"""Contributions below this number of bits are not shown."""


class Explanation:
    """Why a classifier predicts what it does: contributions to the log odds of a class, in bits, for one or several rows.

    The log odds of a class are log2(P(class | row) / P(all other classes | row)). A contribution of 1 bit doubles the odds. There
    are two decompositions; each consists of a base and of contributions that add up to the log odds.

    `by_feature`: the interventional Shapley values. The base is the mean log odds in the background: the distribution of the
    network, or the rows that were passed as `background`.

    `by_family`: the terms that the predictor adds, log2 P(x | parents, class) / P(x | parents, other class). The base are the prior
    log odds.

    With more than two classes, a contribution is the weighted mean of the contributions to the log odds against each other class.
    The weights are the shares of the other classes among themselves at the point between base and row at which the contributions
    add up exactly (`naivete.inference.log_odds.against_rest`).

    A missing value contributes nothing. If a parent of an observed feature x is missing, the family of x has the term
    log2 P(x | observed features before x, class), with missing values marginalized, and this term is the contribution of x. The
    means of families with missing members are not part of the base. A probability of zero counts as 2**-100.

    Classifiers that do not predict with one network (`Spectrum`, `AODE`, `A2DE`) have interventional Shapley values on background
    rows, exact or estimated; `standard_errors` says how exactly. Only a `Spectrum` of one structure has contributions by family.
    Values that are missing in a row are missing in all background rows of which the base is the mean.

    Attributes
    ----------
    rows : the numbers of the rows in texts and frames, from 0 on.
    posterior : P(class | row).  # (row, class)
    prior : P(class).  # (class,)
    classes : the class labels.
    target : the class that is explained in each row.
    probability : the probability of this class.  # (row,)
    log_odds : the log odds of this class in bits.  # (row,)
    by_feature : an `Attribution`: `base` (row,) and `values` (row, feature).
    by_family : an `Attribution`: `base` (row,) and `values` (row, family).
    standard_errors : the standard errors of estimated contributions of features; None if all are exact.  # (row, feature)
    typicality : the share of rows that are at most as probable.  # (row,)
    unusual : whether this share is below 1 %, so that the row is unlike the data.  # (row,)
    feature_names : the names of the features; the classifier that a hierarchy chooses comes last.
    family_names : the names of the families, such as "petal | sepal, class".

    Examples
    --------
    >>> from naivete.classifiers.augmented import NaiveBayes
    >>> model = NaiveBayes().fit([["sun", "warm"], ["rain", "cold"], ["sun", "cold"], ["rain", "warm"]], ["out", "in", "out", "in"])
    >>> explanation = model.explain([["sun", None]])
    >>> explanation.by_family.values.round(3).tolist(), explanation.log_odds.round(3).tolist()
    ([[1.585, 0.0]], [1.585])
    >>> print(explanation.sentence())  # doctest: +NORMALIZE_WHITESPACE
    The class is 'out' with probability 0.75 (95% interval 0.104 to 0.987); without knowing the row it would be 0.5.
    For it: x0 = sun (+1.58 bits).
    """

    def __init__(
        self,
        explainer: AnyExplainer,
        codes: Codes,
        has_missing: Bools,
        posterior: Numbers,
        target: Integers,
        classes: NDArray[Any],
        other: Integers | None = None,
        rows: Integers | None = None,
    ) -> None:
        self._explainer = explainer
        self._codes = codes
        self._has_missing = has_missing
        self.posterior = posterior
        self._target = target
        self._other = other
        self.classes = classes
        self.rows = np.arange(len(target)) if rows is None else rows

    def __len__(self) -> int:
        return len(self._target)

    def __getitem__(self, rows: int | slice | Sequence[int] | NDArray[Any]) -> Explanation:
        """Return the explanation of some of the rows."""
        chosen = np.atleast_1d(np.arange(len(self))[rows])
        part = Explanation(
            self._explainer,
            [column[chosen] for column in self._codes],
            self._has_missing,
            self.posterior[chosen],
            self._target[chosen],
            self.classes,
            None if self._other is None else self._other[chosen],
            self.rows[chosen],
        )
        for name in ("by_feature", "by_family"):
            if name in self.__dict__:  # what has been computed already
                part.__dict__[name] = self.__dict__[name].of_rows(chosen)
        return part

    def against(self, other: Any) -> Explanation:
        """Return the explanation of the log odds of the class of each row against one other class.

        Parameters
        ----------
        other : the label of the other class.
        """
        position = class_position(self.classes, other, "other")
        others = np.full(len(self), position, np.int64)
        if (others == self._target).any():
            raise ParameterError(f"other={quoted(other)} is the class that is explained; name another one, or pass target_class")
        arguments = self._explainer, self._codes, self._has_missing, self.posterior, self._target, self.classes
        return Explanation(*arguments, others, self.rows)

    @cached_property
    def by_feature(self) -> Attribution:
        """The Shapley values of the features."""
        return self._attribution("feature")

    @cached_property
    def by_family(self) -> Attribution:
        """The terms of the families."""
        return self._attribution("family")

    def _attribution(self, by: By) -> Attribution:
        return self._explainer.attribution(self._codes, self._has_missing, self._target, self._other, by)

    @property
    def log_odds(self) -> Numbers:
        """The log odds of the class in bits.  # (row,)"""
        return self.by_feature.log_odds

    @property
    def standard_errors(self) -> Numbers | None:
        """The standard errors of estimated contributions of features, in bits; None if all are exact.  # (row, feature)"""
        return self.by_feature.standard_errors

    def note(self, row: int = 0) -> str:
        """Return how exact the contributions of features in one row are, in words; nothing for classifiers of one network.

        Parameters
        ----------
        row : the position of the row.
        """
        errors = self.standard_errors
        return self._explainer.note(None if errors is None else errors[row])

    def interval(self, level: float = 0.95) -> Numbers:
        """Return an interval of P(class | row) for every row, which says how well the training cases determine it.  # (row, 2)

        The tables of the network have Dirichlet posterior distributions, from the number of training cases with the values of the
        parents and the smoothing. Their variance gives that of the log odds (delta method), which are taken as normal. The
        structure of the network is taken as given. Without smoothing, values that no case of a class has give 0 to 1. There is no
        interval for classifiers that do not predict with one network, and a ParameterError says so.

        Parameters
        ----------
        level : the probability of the interval.
        """
        if not 0 < level < 1:
            raise ParameterError(f"level={quoted(level)}: a number between 0 and 1 is needed")
        deviation = self._explainer.deviation(self._codes, self._has_missing, self.posterior, self._target)
        width = NormalDist().inv_cdf(0.5 + level / 2) * deviation
        with np.errstate(over="ignore", invalid="ignore"):
            low, high = (1 / (1 + np.exp2(-(self._against_rest + sign * width))) for sign in (-1, 1))
        unknown = np.isinf(width)
        return np.stack([np.where(unknown, 0.0, low), np.where(unknown, 1.0, high)], axis=1)

    @property
    def _against_rest(self) -> Numbers:
        """The log odds against all other classes, in bits."""
        if self._other is None:
            return self.by_family.log_odds
        return self._explainer.attribution(self._codes, self._has_missing, self._target, None, "family").log_odds

    @cached_property
    def typicality(self) -> Numbers:
        """The share of rows that are at most as probable as each row, with the same values missing.  # (row,)

        The rows are those passed as `background`, or 1000 rows drawn from the network. For a classifier that does not predict with
        one network, probabilities and rows are those of the network beside it (`network_`).
        """
        return self._explainer.typicality(self._codes, self._has_missing)

    @property
    def unusual(self) -> Bools:
        """Whether less than 1 % of rows are as improbable as a row, so that it is unlike the data.  # (row,)"""
        return np.asarray(self.typicality < UNUSUAL)

    @property
    def prior(self) -> Numbers:
        """P(class).  # (class,)"""
        return self._explainer.prior

    @property
    def target(self) -> NDArray[Any]:
        """The class that is explained in each row.  # (row,)"""
        return self.classes[self._target]

    @property
    def probability(self) -> Numbers:
        """P(class | row) of the class that is explained.  # (row,)"""
        return np.asarray(self.posterior[np.arange(len(self)), self._target])

    @property
    def feature_names(self) -> list[Name]:
        """The names of the features."""
        return [self._explainer.variables[x].name for x in self._explainer.features]

    @property
    def family_names(self) -> list[str]:
        """The names of the families: the variable and its parents."""
        return self._explainer.family_names

    def contributions(self, row: int = 0, by: By = "feature") -> list[Contribution]:
        """Return the contributions in one row, the largest first.

        Parameters
        ----------
        row : the position of the row.
        by : "feature" or "family".
        """
        attribution = self._of(by)
        errors = attribution.standard_errors
        known: list[float] | list[None] = [None] * attribution.values.shape[1] if errors is None else errors[row].tolist()
        variables = self._explainer.features if by == "feature" else self._explainer.terms
        names = self.feature_names if by == "feature" else self.family_names
        values = self._values(row)
        bits = attribution.values[row].tolist()
        entries = [
            Contribution(str(name), values.get(v, ""), b, error)
            for v, name, b, error in zip(variables, names, bits, known, strict=True)
        ]
        return sorted(entries, key=lambda entry: -abs(entry.bits))

    def _of(self, by: str) -> Attribution:
        if by not in BY:
            raise ParameterError(f"by={quoted(by)}: choose 'feature' or 'family'")
        return self.by_feature if by == "feature" else self.by_family

    def _values(self, row: int) -> dict[int, str]:
        """Return the values of a row as text."""
        columns, _, _ = self._explainer.columns([column[row : row + 1 or None] for column in self._codes], self._has_missing)
        return {x: value_text(self._explainer.variables[x], columns[x][0]) for x in self._explainer.features}

    def to_frame(self, by: By = "feature") -> Any:
        """Return a pandas DataFrame: class, probability, base, the contributions and the log odds of every row.

        Where a feature has one of these names, theirs ends with an underscore. Estimated contributions are followed by columns with
        their standard errors, named by the feature and "_standard_error".

        Parameters
        ----------
        by : "feature" or "family".
        """
        attribution, names = self._of(by), self.feature_names if by == "feature" else self.family_names
        first = {"class": self.target, "probability": self.probability, "base": attribution.base}
        columns: dict[Any, Any] = {free_name(name, names): values for name, values in first.items()}
        columns |= {name: attribution.values[:, i] for i, name in enumerate(names)}
        columns |= {free_name("log_odds", names): attribution.log_odds}
        if attribution.standard_errors is not None:
            errors = attribution.standard_errors
            columns |= {free_name(f"{name}_standard_error", names): errors[:, i] for i, name in enumerate(names)}
        return library("pandas", "a data frame").DataFrame(columns, index=self.rows)

    def to_shap(self) -> Any:
        """Return the Shapley values as `shap.Explanation` for the plots of shap; `data` has codes, `display_data` texts."""
        shown = np.array([list(self._values(i).values()) for i in range(len(self))], object)
        columns, _, _ = self._explainer.columns(self._codes, self._has_missing)
        data = np.stack([np.where(missing(columns[x]), np.nan, columns[x]) for x in self._explainer.features], axis=1)
        return library("shap", "a shap.Explanation").Explanation(
            values=self.by_feature.values,
            base_values=self.by_feature.base,
            data=data,
            display_data=shown,
            feature_names=list(map(str, self.feature_names)),
            error_std=self.standard_errors,
        )

    def sentence(self, row: int = 0, *, most: int = 3) -> str:
        """Return the explanation of one row in plain words.

        Parameters
        ----------
        row : the position of the row.
        most : the number of contributions for and against the class that are named.
        """
        target = int(self._target[row])
        label = quoted(self._label(target))
        contributions = [c for c in self.contributions(row) if abs(c.bits) >= 0.005]
        first = f"The class is {label}" if target == self.posterior[row].argmax() else f"The class {label} is possible"
        text = f"{first} with probability {probability_text(self.posterior[row, target])}{self._interval_text(row)}"
        text += f"; without knowing the row it would be {probability_text(self.prior[target])}."
        versus = "" if self._other is None else f" (compared with {quoted(self._label(self._other[row]))})"
        versus += "" if self.standard_errors is None else " (estimated)"
        for word, sign in (("For it", 1), ("Against it", -1)):
            named = [c for c in contributions if c.bits * sign > 0]
            if named:
                text += f" {word}{versus}: {', '.join(map(contribution_text, named[:most]))}{more_text(len(named) - most)}."
        return f"{text} {self._unusual_text()}." if self[row].unusual[0] else text

    def _unusual_text(self) -> str:
        return f"This row is unusual: less than 1% {self._explainer.compared_with} are as improbable"

    def _interval_text(self, row: int) -> str:
        """Return the interval of the probability of one row in brackets, or that there is none for this classifier."""
        if not self._explainer.has_intervals:
            return f" ({self._explainer.no_interval})" if self._explainer.no_interval else ""
        try:
            low, high = self[row].interval()[0].tolist()
        except ResourceError:
            return ""
        return f" (95% interval {probability_text(low)} to {probability_text(high)})"

    def _label(self, position: Any) -> Any:
        label = self.classes[position]
        return str(label) if isinstance(label, str) else label.item() if isinstance(label, np.generic) else label

    def __repr__(self) -> str:
        return f"<Explanation of {len(self)} rows>"

    def __str__(self) -> str:
        """Return the contributions of the first rows as text with bars."""
        parts = [self.text(row) for row in range(min(len(self), ROWS_SHOWN))]
        rest = [f"({len(self) - ROWS_SHOWN} more rows)"] if len(self) > ROWS_SHOWN else []
        return "\n\n".join([*parts, *rest])

    def title(self, row: int = 0) -> str:
        """Return what is explained in one row, in one line."""
        label = self._label(self._target[row])
        versus = "" if self._other is None else f" against {self._label(self._other[row])}"
        name = self._explainer.network.name(CLASS)
        return f"P({name} = {label}) = {probability_text(self.posterior[row, self._target[row]])}{versus}"

    def text(self, row: int = 0, by: By = "feature") -> str:
        """Return the contributions in one row as text with bars.

        Parameters
        ----------
        row : the position of the row.
        by : "feature" or "family".
        """
        steps = self._steps(row, by)
        widest = max(len(step.name) for step in steps)
        largest = max([abs(step.bits) for step in steps if not step.total] or [1.0]) or 1.0
        lines = [f"row {self.rows[row]}: {self.title(row)}{self._interval_text(row)}, log odds {steps[-1].bits:+.2f} bits"]
        lines += [f"  {self._unusual_text()}"] if self[row].unusual[0] else []
        for step in steps:
            count = 0 if step.total else round(20 * abs(step.bits) / largest)
            lines.append(f"  {step.name:{widest}}  {step.bits:+8.2f}  {('+' if step.bits > 0 else '-') * count}".rstrip())
        note = self.note(row) if by == "feature" else ""
        return "\n".join([*lines, *([f"  {note}"] if note else [])])

    def _steps(self, row: int, by: By = "feature") -> list[Step]:
        """Return the base, the largest contributions, the sum of the others, and the log odds."""
        attribution = self._of(by)
        contributions = [c for c in self.contributions(row, by) if abs(c.bits) >= SMALLEST]
        rest = contributions[TERMS_SHOWN:]
        shown = [
            Step(f"{c.name} = {c.value}" if c.value and by == "feature" else c.name, c.bits) for c in contributions[:TERMS_SHOWN]
        ]
        if rest:
            shown.append(Step(f"{len(rest)} others", sum(c.bits for c in rest)))
        total = Step("log odds", float(attribution.log_odds[row]), True)
        return [Step("base", float(attribution.base[row]), True), *shown, total]

    def to_dict(self, row: int = 0) -> dict[str, Any]:
        """Return the explanation of one row as plain values: numbers, texts, lists and dictionaries.

        Parameters
        ----------
        row : the position of the row.
        """
        one = self[row]
        record: dict[str, Any] = {
            "row": int(self.rows[row]),
            "class": self._label(self._target[row]),
            "against": None if self._other is None else self._label(self._other[row]),
            "probability": float(one.probability[0]),
            "interval": one.interval()[0].tolist() if self._explainer.has_intervals and self._interval_text(row) else None,
            "typicality": float(one.typicality[0]),
            "unusual": bool(one.unusual[0]),
            "posterior": {str(self._label(c)): float(p) for c, p in enumerate(self.posterior[row])},
            "log_odds": float(one.log_odds[0]),
            "note": self.note(row),
        }
        for by in BY:
            if by == "family" and not self._explainer.has_families:
                record["by_family"] = None
                continue
            contributions = [c._asdict() for c in self.contributions(row, by)]
            record[f"by_{by}"] = {"base": float(self._of(by).base[row]), "contributions": contributions}
        return {**record, "sentence": self.sentence(row)}

    def svg(self, row: int = 0, by: By = "feature") -> str:
        """Return a waterfall chart of one row as SVG.

        Parameters
        ----------
        row : the position of the row.
        by : "feature" or "family".
        """
        description = f"{self.sentence(row)} {self.note(row)}".rstrip()
        return str(waterfall(self.title(row), self._steps(row, by), description))

    def _repr_html_(self) -> str:
        charts = [element("figure", Markup(self.svg(row)), style="margin:0 0 1em") for row in range(min(len(self), ROWS_SHOWN))]
        return str(element("div", *charts))
