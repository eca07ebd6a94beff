"""Explanations of predictions: contributions in bits, as arrays, frame, text, sentence, drawing and for `shap`."""

from __future__ import annotations

from typing import Any

import numpy as np

from naivete._kernels.codes import missing
from naivete.display.explained_rows import BY, ExplainedRows
from naivete.display.explanation_text import contribution_text, free_name, more_text, probability_text
from naivete.display.markup import Markup, element
from naivete.display.waterfall import Step, waterfall
from naivete.errors import ResourceError, library, quoted
from naivete.inference.explanation import By
from naivete.variables import CLASS

__all__ = ["Explanation"]

ROWS_SHOWN = 3
"""The number of rows of which a text or a page shows the contributions."""
TERMS_SHOWN = 12
"""The number of contributions of a row that are shown one by one."""
SMALLEST = 5e-4
"""Contributions below this number of bits are not shown."""


class Explanation(ExplainedRows):
    """Why a classifier predicts what it does: contributions to the log odds of a class, in bits, for one or several rows.

    The log odds of a class are log2(P(class | row) / P(all other classes | row)). A contribution of 1 bit doubles the odds. There
    are two decompositions; each consists of a base and of contributions that add up to the log odds.

    `by_feature`: the interventional Shapley values. The base is the mean log odds in the background: the distribution of the
    network, or the rows that were passed as `background`.

    `by_family`: the terms that the predictor adds, log2 P(x | parents, class) / P(x | parents, other class). The base are the prior
    log odds.

    With more than two classes, a contribution of one network, or of a `Spectrum` of one structure, is the weighted mean of the
    contributions to the log odds against each other class. The weights are the shares of the other classes among themselves at the
    point between base and row at which the contributions add up exactly (`naivete.inference.log_odds.against_rest`). Other
    classifiers that do not predict with one network are explained against all other classes directly, without weights.

    A missing value contributes nothing. If a parent of an observed feature x is missing, the family of x has the term
    log2 P(x | observed features before x, class), with missing values marginalized, and this term is the contribution of x. The
    means of families with missing members are not part of the base. A probability of zero counts as 2**-100.

    Classifiers that do not predict with one network (`Spectrum`, `AODE`, `A2DE`) have interventional Shapley values on background
    rows, exact or estimated; `standard_errors` says how exactly. Only a `Spectrum` of one structure has contributions by family.
    Values that are missing in a row are missing in all background rows of which the base is the mean.

    Parameters
    ----------
    explainer : Explainer or EnsembleExplainer
        Computes the contributions. `NetworkClassifier.explain` makes the explanation, so that this and the other parameters need
        not be passed.
    codes : sequence of ndarray of shape (n_rows,)
        The codes of the rows, a column for each feature.
    has_missing : ndarray of shape (n_features,)
        Which columns have missing values.
    posterior : ndarray of shape (n_rows, n_classes)
        P(class | row).
    target : ndarray of shape (n_rows,)
        The position of the class that is explained in each row.
    classes : ndarray of shape (n_classes,)
        The class labels.
    other : ndarray of shape (n_rows,) or None, default=None
        The position of the class with which it is compared; None for all others together.
    rows : ndarray of shape (n_rows,) or None, default=None
        The numbers of the rows in texts and frames; by default from 0 on.

    Attributes
    ----------
    rows : ndarray of shape (n_rows,)
        The numbers of the rows in texts and frames, from 0 on.
    posterior : ndarray of shape (n_rows, n_classes)
        P(class | row).
    prior : ndarray of shape (n_classes,)
        P(class).
    classes : ndarray of shape (n_classes,)
        The class labels.
    target : ndarray of shape (n_rows,)
        The class that is explained in each row.
    probability : ndarray of shape (n_rows,)
        The probability of this class.
    log_odds : ndarray of shape (n_rows,)
        The log odds of this class in bits.
    by_feature : Attribution
        The Shapley values: `base`, of shape (n_rows,), and `values`, of shape (n_rows, n_features).
    by_family : Attribution
        The terms of the families: `base`, of shape (n_rows,), and `values`, of shape (n_rows, n_families).
    standard_errors : ndarray of shape (n_rows, n_features) or None
        The standard errors of estimated contributions of features; None if all are exact.
    typicality : ndarray of shape (n_rows,)
        The share of rows that are at most as probable.
    unusual : ndarray of shape (n_rows,)
        Whether this share is below 1 %, so that the row is unlike the data.
    feature_names : list of str
        The names of the features; the classifier that a hierarchy chooses comes last.
    family_names : list of str
        The names of the families, such as "petal | sepal, class".

    Examples
    --------
    >>> from naivete import NaiveBayes
    >>> model = NaiveBayes().fit([["sun", "warm"], ["rain", "cold"], ["sun", "cold"], ["rain", "warm"]], ["out", "in", "out", "in"])
    >>> explanation = model.explain([["sun", None]])
    >>> explanation.by_family.values.round(3).tolist(), explanation.log_odds.round(3).tolist()
    ([[1.585, 0.0]], [1.585])
    >>> print(explanation.sentence())  # doctest: +NORMALIZE_WHITESPACE
    The class is 'out' with probability 0.75 (95% interval 0.104 to 0.987); without knowing the row it would be 0.5.
    For it: x0 = sun (+1.58 bits).
    """

    def to_frame(self, by: By = "feature") -> Any:
        """Return a pandas DataFrame: class, probability, base, the contributions and the log odds of every row.

        Where a feature has one of these names, theirs ends with an underscore. Estimated contributions are followed by columns with
        their standard errors, named by the feature and "_standard_error".

        Parameters
        ----------
        by : {"feature", "family"}, default="feature"
            Whether the contributions are those of features or of families.

        Returns
        -------
        pandas.DataFrame
            A row for each row that is explained.
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
        """Return the Shapley values as `shap.Explanation` for the plots of shap; `data` has codes, `display_data` texts.

        Returns
        -------
        shap.Explanation
            The Shapley values.
        """
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
        row : int, default=0
            The position of the row.
        most : int, default=3
            The number of contributions for and against the class that are named.

        Returns
        -------
        str
            One or several sentences.
        """
        target = int(self._target[row])
        label = quoted(self._label(target))
        contributions = [c for c in self.contributions(row) if abs(c.bits) >= 0.005]
        first = f"The class is {label}" if target == self.posterior[row].argmax() else f"The class {label} is possible"
        text = f"{first} with probability {probability_text(self.posterior[row, target])}{self._interval_text(row)}"
        text += f"; without knowing the row it would be {probability_text(self.prior[target])}."
        versus = "" if self._other is None else f" (compared with {quoted(self._label(self._other[row]))})"
        estimated = self.standard_errors is not None and bool(np.nan_to_num(self.standard_errors[row]).any())
        versus += " (estimated)" if estimated else ""
        for word, sign in (("For it", 1), ("Against it", -1)):
            named = [c for c in contributions if c.bits * sign > 0]
            if named:
                text += f" {word}{versus}: {', '.join(map(contribution_text, named[:most]))}{more_text(len(named) - most)}."
        return f"{text} {self._unusual_text()}." if self[row].unusual[0] else text

    def _unusual_text(self) -> str:
        return f"This row is unusual: less than 1% {self._explainer.compared_with} are as improbable"

    def _interval_text(self, row: int) -> str:
        """Return the interval of the probability of one row in brackets, or that there is none and why."""
        if not self._explainer.has_intervals:
            return f" ({self._explainer.no_interval})" if self._explainer.no_interval else ""
        interval = self._interval(row)
        if interval is None:
            return " (no interval: its tables are too large)"
        low, high = interval
        return f" (95% interval {probability_text(low)} to {probability_text(high)})"

    def _interval(self, row: int) -> list[float] | None:
        """Return the ends of the interval of the probability of one row; None if its tables are too large."""
        try:
            ends: list[float] = self[row].interval()[0].tolist()
        except ResourceError:
            return None
        return ends

    def __repr__(self) -> str:
        return f"<Explanation of {len(self)} rows>"

    def __str__(self) -> str:
        """Return the contributions of the first rows as text with bars."""
        parts = [self.text(row) for row in range(min(len(self), ROWS_SHOWN))]
        rest = [f"({len(self) - ROWS_SHOWN} more rows)"] if len(self) > ROWS_SHOWN else []
        return "\n\n".join([*parts, *rest])

    def title(self, row: int = 0) -> str:
        """Return what is explained in one row, in one line.

        Parameters
        ----------
        row : int, default=0
            The position of the row.

        Returns
        -------
        str
            The class, its probability and, if it is compared with one class, that class.
        """
        label = self._label(self._target[row])
        versus = "" if self._other is None else f" against {self._label(self._other[row])}"
        name = self._explainer.network.name(CLASS)
        return f"P({name} = {label}) = {probability_text(self.posterior[row, self._target[row]])}{versus}"

    def text(self, row: int = 0, by: By = "feature") -> str:
        """Return the contributions in one row as text with bars.

        Parameters
        ----------
        row : int, default=0
            The position of the row.
        by : {"feature", "family"}, default="feature"
            Whether the contributions are those of features or of families.

        Returns
        -------
        str
            A line for each contribution.
        """
        steps = self._steps(row, by)
        widest = max(len(step.name) for step in steps)
        largest = max([abs(step.bits) for step in steps if not step.total] or [1.0]) or 1.0
        lines = [f"row {self.rows[row]}: {self.title(row)}{self._interval_text(row)}, log odds {steps[-1].bits:+.2f} bits"]
        lines += [f"  {self._unusual_text()}"] if self[row].unusual[0] else []
        for step in steps:
            count = 0 if step.total else round(20 * abs(step.bits) / largest)
            lines.append(f"  {step.name:{widest}}  {step.bits:+8.2f}  {('+' if step.bits > 0 else '-') * count}".rstrip())
        notes = [self.note(row) if by == "feature" else "", self.base_note()]
        return "\n".join([*lines, *(f"  {note}" for note in notes if note)])

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
        row : int, default=0
            The position of the row.

        Returns
        -------
        dict
            The values, which `json.dumps` accepts.
        """
        one = self[row]
        record: dict[str, Any] = {
            "row": int(self.rows[row]),
            "class": self._label(self._target[row]),
            "against": None if self._other is None else self._label(self._other[row]),
            "probability": float(one.probability[0]),
            "interval": self._interval(row) if self._explainer.has_intervals else None,
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
        row : int, default=0
            The position of the row.
        by : {"feature", "family"}, default="feature"
            Whether the contributions are those of features or of families.

        Returns
        -------
        str
            The drawing, which notebooks show and files ending in .svg hold.
        """
        description = f"{self.sentence(row)} {self.note(row)}".rstrip()
        return str(waterfall(self.title(row), self._steps(row, by), description))

    def _repr_html_(self) -> str:
        charts = [element("figure", Markup(self.svg(row)), style="margin:0 0 1em") for row in range(min(len(self), ROWS_SHOWN))]
        return str(element("div", *charts))
