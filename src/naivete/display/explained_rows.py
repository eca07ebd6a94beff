"""Rows that are explained, with the numbers of their explanation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from statistics import NormalDist
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Bools, Integers, Numbers
from naivete.display.explanation_text import Contribution, class_position, value_text
from naivete.errors import ParameterError, quoted
from naivete.inference.elimination import Codes
from naivete.inference.ensemble_explanation import AnyExplainer
from naivete.inference.explanation import By
from naivete.inference.log_odds import Attribution
from naivete.variables import Name

__all__ = ["BY", "UNUSUAL", "ExplainedRows"]

BY: Final[tuple[By, ...]] = ("feature", "family")
UNUSUAL = 0.01
"""Rows are unusual if a smaller share of rows is as improbable."""


class ExplainedRows:
    """Contributions, intervals and typicality of some rows; `Explanation` shows them.

    Parameters
    ----------
    explainer : gives the contributions.
    codes : the codes of the rows.
    has_missing : which columns have missing values.
    posterior : P(class | row).  # (row, class)
    target : the position of the class that is explained in each row.
    classes : the class labels.
    other : the position of the class against which it is compared; None for all others together.
    rows : the numbers of the rows in texts and frames; by default from 0 on.
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

    def __getitem__(self, rows: int | slice | Sequence[int] | NDArray[Any]) -> Self:
        """Return the explanation of some of the rows."""
        chosen = np.atleast_1d(np.arange(len(self))[rows])
        part = type(self)(
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

    def against(self, other: Any) -> Self:
        """Return the explanation of the log odds of the class of each row against one other class.

        Parameters
        ----------
        other : class label
            The label of the other class.

        Returns
        -------
        Explanation
            The explanation.
        """
        position = class_position(self.classes, other, "other")
        others = np.full(len(self), position, np.int64)
        if (others == self._target).any():
            raise ParameterError(f"other={quoted(other)} is the class that is explained; name another one, or pass target_class")
        arguments = self._explainer, self._codes, self._has_missing, self.posterior, self._target, self.classes
        return type(self)(*arguments, others, self.rows)

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
        """The log odds of the class of each row, in bits."""
        return self.by_feature.log_odds

    @property
    def standard_errors(self) -> Numbers | None:
        """The standard errors (row, feature) of estimated contributions of features, in bits; None if all are exact."""
        return self.by_feature.standard_errors

    def note(self, row: int = 0) -> str:
        """Return how exact the contributions of features in one row are, in words; nothing for classifiers of one network.

        Parameters
        ----------
        row : int, default=0
            The position of the row.

        Returns
        -------
        str
            The note, or an empty text.
        """
        errors = self.standard_errors
        return self._explainer.note(None if errors is None else errors[row])

    def base_note(self) -> str:
        """Return, with more than two classes, that base and contributions are weighted means over the other classes.

        Classifiers that do not predict with one network are explained against all other classes directly, without weights, except
        a `Spectrum` of one structure.

        Returns
        -------
        str
            The note, or an empty text.
        """
        if self._other is None and self.posterior.shape[1] > 2 and self._explainer.has_families:
            return "The base and the contributions are means over the other classes, weighted for this row."
        return ""

    def interval(self, level: float = 0.95) -> Numbers:
        """Return an interval of P(class | row) for every row, which says how well the training cases determine it.

        The tables of the network have Dirichlet posterior distributions, from the number of training cases with the values of the
        parents and the smoothing. Their variance gives that of the log odds (delta method), which are taken as normal. The
        structure of the network is taken as given. Without smoothing, values that no case of a class has give 0 to 1. There is no
        interval for classifiers that do not predict with one network, and a ParameterError says so.

        Parameters
        ----------
        level : float, default=0.95
            The probability of the interval.

        Returns
        -------
        ndarray of shape (n_rows, 2)
            The lower and the upper bound.

        Raises
        ------
        ParameterError
            If the classifier does not predict with one network.
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
        """The share of rows that are at most as probable as each row, with the same values missing.

        The rows are those passed as `background`, or 1000 rows drawn from the network. For a classifier that does not predict with
        one network, probabilities and rows are those of the network beside it (`network_`).
        """
        return self._explainer.typicality(self._codes, self._has_missing)

    @property
    def unusual(self) -> Bools:
        """Whether less than 1 % of rows are as improbable as each row, so that it is unlike the data."""
        return np.asarray(self.typicality < UNUSUAL)

    @property
    def prior(self) -> Numbers:
        """P(class), in the order of `classes`."""
        return self._explainer.prior

    @property
    def target(self) -> NDArray[Any]:
        """The class that is explained in each row."""
        return self.classes[self._target]

    @property
    def probability(self) -> Numbers:
        """P(class | row) of the class that is explained in each row."""
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
        row : int, default=0
            The position of the row.
        by : {"feature", "family"}, default="feature"
            Whether the contributions are those of features or of families.

        Returns
        -------
        list of Contribution
            Name, value, and contribution in bits, by decreasing absolute value.
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

    def _label(self, position: Any) -> Any:
        label = self.classes[position]
        return str(label) if isinstance(label, str) else label.item() if isinstance(label, np.generic) else label
