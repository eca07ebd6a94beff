"""Loss matrices, and the decisions with the smallest expected loss."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from naivete.errors import DataError, ParameterError, did_you_mean, quoted
from naivete.variables import State

if TYPE_CHECKING:
    from naivete.data.files.opening import PathLike

__all__ = ["LARGEST", "REJECT", "REJECTS", "VALID_LOSSES", "Loss", "finite", "unknown_class", "zero_one"]

REJECT: Final = "reject"
"""The name of the decision for no class in files and mappings."""
REJECTS: Final = (REJECT, "?")
"""The texts that are read as that decision."""
LARGEST: Final = 1e300
"""The limit of losses."""
VALID_LOSSES: Final = f"losses are finite numbers of at most {LARGEST:g}"
"""The rule that error messages repeat."""


@dataclass(frozen=True, eq=False)
class Loss:
    """The cost of every decision for every true class; a gain is a negative cost.

    The expected loss of a decision d for a row is sum over c of P(c | row) loss[d, c]. The decision with the smallest expected
    loss is made; on a tie, that for the first class. Where rejecting costs no more than the best class, the row is rejected.

    Parameters
    ----------
    labels : tuple
        The classes.
    matrix : ndarray of shape (n_decisions, n_labels)
        The costs of the decisions (rows) for the true classes (columns); one row more than there are labels is that of rejecting.

    References
    ----------
    Jensen and Nielsen (2007), Bayesian networks and decision graphs, section 8.1; Chow (1970), On optimum recognition error and
    reject tradeoff (rejecting).

    Examples
    --------
    >>> from naivete import Loss
    >>> loss = Loss.of([[0, 5], [1, 0]], ["healthy", "ill"])
    >>> loss.expected([[0.75, 0.25]]).tolist()
    [[1.25, 0.75]]
    >>> loss.decide([[0.75, 0.25], [0.875, 0.125]]).tolist()
    [1, 0]
    """

    labels: tuple[State, ...]
    matrix: NDArray[np.float64]

    def __post_init__(self) -> None:
        labels, matrix = _plain(self.labels), _numbers(self.matrix)
        _check_labels(labels)
        if matrix.ndim != 2 or matrix.shape[1] != len(labels) or matrix.shape[0] - len(labels) not in (0, 1):
            raise ParameterError(
                f"a loss matrix of shape {matrix.shape} for {len(labels)} labels: it has a column for every true class and a row "
                f"for every decision, so {len(labels)} x {len(labels)}, or one row more for rejecting"
            )
        for d, c in np.argwhere(~(np.abs(matrix) <= LARGEST)).tolist():
            pair = labels[d] if d < len(labels) else REJECT, labels[c]
            raise ParameterError(f"loss: {quoted(pair)}, decided and true: {matrix[d, c]} is not a loss; {VALID_LOSSES}")
        matrix.flags.writeable = False
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "matrix", matrix)

    @classmethod
    def of(cls, costs: ArrayLike | Mapping[tuple[Any, Any], float], labels: Iterable[Any], *, utility: bool = False) -> Self:
        """Return the loss of an array or a mapping.

        Parameters
        ----------
        costs : array-like of shape (n_decisions, n_labels) or dict
            An array (decided, true), optionally with a last row for rejecting, or a mapping from (decided, true) to costs, in which
            correct decisions that are left out cost nothing and "reject" is the decision for no class.
        labels : iterable of labels
            The classes, in the order of the array.
        utility : bool, default=False
            Whether the numbers are utilities, as in Jensen & Nielsen's tables; costs are their negatives.

        Returns
        -------
        Loss
            The loss.

        Examples
        --------
        >>> from naivete import Loss
        >>> Loss.of({("no", "yes"): 5, ("yes", "no"): 1}, ["no", "yes"]).matrix.tolist()
        [[0.0, 5.0], [1.0, 0.0]]
        """
        known = _plain(labels)
        _check_labels(known)
        matrix = _of_mapping(costs, known) if isinstance(costs, Mapping) else _numbers(costs)
        return cls(known, 0.0 - matrix if utility else matrix)

    @classmethod
    def read(cls, path: PathLike, labels: Iterable[Any] | None = None, *, utility: bool = False, encoding: str = "utf-8") -> Self:
        """Read the loss from a file: delimited text, or a cost file of Weka.

        Delimited text has a header with the true classes and a row for every decision, with its name first; a row named `reject`
        or `?` is that of rejecting. A file named .cost, or one that begins with `%` or `[`, is a cost file of Weka: its size
        (`2 2`) and rows, or `[0 1; 5 0]`. Its rows are the true classes and its columns the decisions, so it is transposed.

        Parameters
        ----------
        path : str or path-like
            The file.
        labels : iterable of labels or None, default=None
            The classes that the names in the file stand for, in the order wanted; by default the names in the header. Weka's files
            have no labels: pass those of the ARFF header, in its order.
        utility : bool, default=False
            Whether the numbers are utilities; costs are their negatives.
        encoding : str, default="utf-8"
            The character encoding of the file.

        Returns
        -------
        Loss
            The loss.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from naivete import Loss
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "costs.csv")
        ...     _ = path.write_text("decision,healthy,ill\\nhealthy,0,5\\nill,1,0\\n")
        ...     loss = Loss.read(path)
        >>> loss.labels, loss.matrix.tolist()
        (('healthy', 'ill'), [[0.0, 5.0], [1.0, 0.0]])
        """
        from naivete.classifiers.loss_files import read_costs

        known = None if labels is None else _plain(labels)
        if known is not None:
            _check_labels(known)
        names, matrix = read_costs(path, known, encoding)
        return cls(names, 0.0 - matrix if utility else matrix)

    @property
    def rejects(self) -> bool:
        """Whether rows can be rejected; the position of that decision is the number of labels."""
        return len(self.matrix) > len(self.labels)

    def with_reject(self, cost: float) -> Loss:
        """Return the same loss with this cost of rejecting, whatever class is true.

        Parameters
        ----------
        cost : float
            The cost of rejecting a row.

        Returns
        -------
        Loss
            The loss with one row more, or another last row.

        Examples
        --------
        >>> from naivete import zero_one
        >>> zero_one(["no", "yes"]).with_reject(0.25).decide([[0.5, 0.5], [0.9, 0.1]]).tolist()
        [2, 0]
        """
        number = _numbers(cost)
        if number.ndim or not abs(number) <= LARGEST:
            raise ParameterError(f"reject={quoted(cost)}: the cost of rejecting is one finite number")
        costs = np.full((1, len(self.labels)), number)
        return Loss(self.labels, np.vstack([self.matrix[: len(self.labels)], costs]))

    def aligned(self, classes: Iterable[Any]) -> Loss:
        """Return the same loss for these classes, in their order; other labels are left out.

        A label matches a class if it equals it, or else if it equals the class as text, since files contain only text.

        Parameters
        ----------
        classes : iterable of labels
            The classes.

        Returns
        -------
        Loss
            The costs of these classes.

        Raises
        ------
        ParameterError
            If the loss has no label for a class.
        """
        wanted = _plain(classes)
        position = {label: i for i, label in enumerate(self.labels)}
        missing = [c for c in wanted if c not in position and str(c) not in position]
        if missing:
            listed = ", ".join(map(quoted, self.labels[:5]))
            raise ParameterError(f"the loss matrix has no class {quoted(missing[0])}, only {listed}; add its row and its column")
        columns = [position[c] if c in position else position[str(c)] for c in wanted]
        rows = [*columns, len(self.labels)] if self.rejects else columns
        return Loss(wanted, self.matrix[np.ix_(rows, columns)])

    def expected(self, posterior: ArrayLike) -> NDArray[np.float64]:
        """Return the expected loss of every decision, sum over c of P(c | row) loss[d, c].

        Parameters
        ----------
        posterior : array-like of shape (n_rows, n_labels)
            P(class | row), in the order of `labels`.

        Returns
        -------
        ndarray of shape (n_rows, n_decisions)
            The expected losses.
        """
        return _mixed(self._checked(posterior), self.matrix)

    def decide(self, posterior: ArrayLike) -> NDArray[np.int64]:
        """Return the position of the decision with the smallest expected loss; the number of labels stands for rejecting.

        The largest loss of every true class is subtracted first, which changes no decision and makes that of `zero_one` exactly
        the most probable class.

        Parameters
        ----------
        posterior : array-like of shape (n_rows, n_labels)
            P(class | row), in the order of `labels`.

        Returns
        -------
        ndarray of shape (n_rows,)
            The positions of the decisions.
        """
        known = len(self.labels)
        expected = _mixed(self._checked(posterior), self.matrix - self.matrix[:known].max(axis=0))
        best = expected[:, :known].argmin(axis=1)
        if self.rejects:
            best[expected[:, known] <= expected[np.arange(len(best)), best]] = known
        return np.asarray(best, np.int64)

    def of_classifier(self, confusion: ArrayLike, *, utility: bool = False) -> float:
        """Return the expected loss of a classifier, the sum of P#(true, decided) loss[decided, true].

        Parameters
        ----------
        confusion : array-like of shape (n_labels, n_decisions)
            Counts or shares of the cases by true class (rows) and decision (columns), as in scikit-learn; an additional last column
            is that of rejected cases. The loss matrix has the decisions in its rows.
        utility : bool, default=False
            Whether to return the utility, the negative of the loss.

        Returns
        -------
        float
            The mean loss, or utility, of a case.

        Examples
        --------
        >>> from naivete import Loss
        >>> Loss.of([[0, 5], [1, 0]], ["healthy", "ill"]).of_classifier([[5, 2], [1, 2]])
        0.7
        """
        counts = _numbers(confusion)
        if counts.ndim != 2 or len(counts) != len(self.labels) or counts.shape[1] not in (len(self.labels), len(self.matrix)):
            raise DataError(
                f"a confusion matrix of shape {counts.shape} for a loss of shape {self.matrix.shape}; pass a row for each true "
                "class and a column for each decision"
            )
        if not (np.isfinite(counts).all() and counts.min() >= 0 and counts.any()):
            raise DataError("a confusion matrix has numbers of cases or shares: finite, at least 0, and not all 0")
        mean = float((counts.T * self.matrix[: counts.shape[1]]).sum() / counts.sum())
        return -mean if utility else mean

    def _checked(self, posterior: ArrayLike) -> NDArray[np.float64]:
        probabilities = _numbers(posterior)
        if probabilities.ndim != 2 or probabilities.shape[1] != len(self.labels):
            shape = probabilities.shape
            raise DataError(f"posteriors of shape {shape}; one row for each case and {len(self.labels)} classes are needed")
        return finite(probabilities)


def zero_one(labels: Iterable[Any]) -> Loss:
    """Return the loss in which every wrong decision costs one, so that the most probable class has the smallest expected loss.

    Parameters
    ----------
    labels : iterable of labels
        The classes.

    Returns
    -------
    Loss
        The loss.

    Examples
    --------
    >>> from naivete import zero_one
    >>> zero_one("ab").matrix.tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    known = _plain(labels)
    return Loss(known, 1.0 - np.eye(len(known)))


def finite(posterior: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the posteriors; refuse them where one is not a finite number, since then no decision is best.  # (row, class)"""
    wrong = np.flatnonzero(~np.isfinite(posterior).all(axis=1))
    if len(wrong):
        listed = quoted(posterior[wrong[0]].tolist())
        raise DataError(f"posterior, row {wrong[0] + 1}: {listed}: probabilities are finite numbers; look at the classifier")
    return posterior


def _mixed(posterior: NDArray[np.float64], matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return posterior @ matrix.T, summed class by class, so that a row gives the same bits alone and among others."""
    total = np.zeros((len(posterior), len(matrix)))
    for c in range(matrix.shape[1]):
        total += posterior[:, c, None] * matrix[:, c]
    return total


def _numbers(values: Any) -> NDArray[np.float64]:
    try:
        if np.iscomplexobj(values):
            raise TypeError  # numpy would drop half of it
        return np.array(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(
            f"{quoted(values)} is not an array of numbers; give one row for each decision, all of one length"
        ) from None


def _plain(labels: Iterable[Any]) -> tuple[State, ...]:
    if not isinstance(labels, Iterable):
        raise ParameterError(f"labels={quoted(labels)}: give the classes in a list")
    return tuple(label.item() if isinstance(label, np.generic) else label for label in labels)


def _check_labels(labels: Sequence[State]) -> None:
    for label in labels:
        if not isinstance(label, Hashable):
            raise ParameterError(f"labels={quoted(list(labels))}: {quoted(label)} is no label; give texts, numbers or truth values")
    twice = [label for i, label in enumerate(labels) if label in labels[:i]]
    if twice or not labels:
        problem = f"the label {quoted(twice[0])} is there twice" if twice else "there are no labels"
        raise ParameterError(f"labels={quoted(list(labels))}: {problem}; give every class once")


def _of_mapping(costs: Mapping[Any, float], labels: tuple[State, ...]) -> NDArray[np.float64]:
    true: dict[Any, int] = {label: i for i, label in enumerate(labels)}
    decided = {**dict.fromkeys(REJECTS, len(labels)), **true}
    matrix = np.full((len(labels) + 1, len(labels)), np.nan)
    np.fill_diagonal(matrix, 0.0)
    for pair, cost in costs.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ParameterError(f"loss: {quoted(pair)} is not a pair; give costs by (decided, true)")
        for label, known in zip(pair, (decided, true), strict=True):
            if label not in known:
                raise ParameterError(f"loss: {quoted(pair)}: {unknown_class(label, labels)}")
        value = _numbers(cost)
        if value.ndim or not np.isfinite(value):
            raise ParameterError(f"loss: {quoted(pair)}: {quoted(cost)} is not a loss; {VALID_LOSSES}")
        matrix[decided[pair[0]], true[pair[1]]] = value
    used = matrix if np.isfinite(matrix[-1]).any() else matrix[:-1]
    for d, c in np.argwhere(np.isnan(used)).tolist():
        left_out = (labels[d] if d < len(labels) else REJECT, labels[c])
        raise ParameterError(f"loss: {quoted(left_out)}, decided and true, has no cost; give one for every pair that differs")
    return used


def unknown_class(label: object, labels: Sequence[State]) -> str:
    """Return the part of an error message about a label that is none of the classes, with the classes that are similar."""
    return f"there is no class {quoted(label)}; {did_you_mean(label, labels, 'the classes are', count=3)}"
