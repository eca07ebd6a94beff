"""Joint and posterior probabilities of the classes for rows of codes, exact for any pattern of missing values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.codes import Bools, Integers, Numbers, missing, missing_code
from naivete.errors import DataError, NaiveteWarning, ResourceError, quoted, warn
from naivete.inference import elimination
from naivete.inference.elimination import Codes, Elimination, log, missing_patterns
from naivete.network.densities import Normal
from naivete.network.network import Network
from naivete.variables import CLASS

if TYPE_CHECKING:
    from naivete.network.joint_density import Joint

__all__ = ["Predictor", "argmax_class", "fallback", "most_probable_class", "rows_without_evidence"]


class Predictor:
    """Posterior probabilities of the classes of a network without derived columns.

    Rows without missing values take one pass of the kernel over the families. Missing values are marginalized exactly, for
    all rows of one pattern together; variables without observed descendants sum to one and cost nothing.

    Parameters
    ----------
    network : Network
        The network.

    Examples
    --------
    >>> import numpy as np
    >>> from naivete import Network, Predictor, Variable
    >>> variables = Variable("wet", ("no", "yes")), Variable("rain", ("no", "yes"))
    >>> network = Network(variables, {0: (-1,), -1: ()}, {0: np.array([[0.9, 0.3], [0.1, 0.7]]), -1: np.array([0.8, 0.2])})
    >>> posterior, impossible = Predictor(network).posterior([np.array([1], np.uint8)], np.array([False]))
    >>> posterior.round(3).tolist()
    [[0.364, 0.636]]
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self.classes = network.variables[CLASS].card
        self.elimination = Elimination(network)

    @cached_property
    def _with_class(self) -> list[int]:
        """The variables whose families contain the class; if all features are observed, the others carry no information."""
        return [v for v in self.network.order if self.network.family(v)[-1] == CLASS]

    @cached_property
    def _without_class(self) -> list[int]:
        """The variables whose families do not contain the class, except columns computed from the row, which are certain."""
        return [v for v in self.network.order if self.network.family(v)[-1] != CLASS and v not in self.network.derived]

    @cached_property
    def with_zeros(self) -> list[int]:
        """The variables whose families do not contain the class and have zeros, which can make a row impossible in every class."""
        return [v for v in self._without_class if self.network.table(v).has_zeros]

    @cached_property
    def _dense(self) -> tuple[_kernels.Layout, Numbers]:
        """The logarithms of the dense tables that contain the class, the class innermost, in one flat array."""
        dense = [v for v in self._with_class if v not in self.network.sparse]
        flat = [log(np.asarray(self.network.cpts[v])).ravel() for v in dense]
        cards = tuple(v.card for v in self.network.variables)
        return _kernels.Layout(tuple(map(self.network.family, dense)), cards), np.concatenate([*flat, np.empty(0)])

    @cached_property
    def _sparse(self) -> list[int]:
        return [v for v in self._with_class if v in self.network.sparse]

    @property
    def added(self) -> list[int]:
        """The variables whose families contain the class, in the order in which `posterior` adds their logarithms."""
        return [*(v for v in self._with_class if v not in self.network.sparse), *self._sparse]

    @cached_property
    def _informative(self) -> list[int]:
        return [x for x in self.network.features if self.network.variables[x].card > 1 or x in self.network.densities]

    def joint(self, codes: Codes, has_missing: Bools) -> Numbers:
        """Return log P(row, class), -inf where it is impossible.

        Parameters
        ----------
        codes : sequence of ndarray of shape (n_rows,)
            One column of codes for each feature.
        has_missing : ndarray of shape (n_features,)
            Which features have missing values.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The natural logarithms.
        """
        self.check(codes)
        codes, has_missing = self._with_single_states(codes, has_missing)
        joint = self._joint_of_class(codes, has_missing)
        for v in self._without_class:
            self._add_family(joint, codes, v)
        return joint

    def check(self, codes: Codes) -> None:
        """Refuse rows that lack columns of the network, before compiled code reads them.

        Parameters
        ----------
        codes : sequence of ndarray of shape (n_rows,)
            One column of codes for each feature.

        Raises
        ------
        DataError
            If there are fewer columns than features.
        """
        if len(codes) < len(self.network.features):
            raise DataError(
                f"{len(codes)} columns of codes where the network has {len(self.network.features)} features; if some of them are "
                "derived columns, use naivete.inference.derived_predictor.predictor_of, which computes them"
            )

    @cached_property
    def _single(self) -> list[int]:
        """The discrete features with a single state."""
        return [x for x in self.network.features if self.network.variables[x].card == 1 and x not in self.network.densities]

    def _with_single_states(self, codes: Codes, has_missing: Bools) -> tuple[Codes, Bools]:
        """Return the rows in which features with a single state have it also where they are missing."""
        filled = [x for x in self._single if has_missing[x]]
        if not filled:
            return codes, has_missing
        columns, has_missing = [*codes], has_missing.copy()
        for x in filled:
            columns[x], has_missing[x] = np.zeros_like(codes[x]), False
        return columns, has_missing

    def _joint_of_class(self, codes: Codes, has_missing: Bools) -> Numbers:
        """Return log P(row, class) up to a term that is the same for all classes.  # (row, class)"""
        joint = _kernels.gather(codes, *self._dense, self.classes)
        for v in self._sparse:
            self._add_family(joint, codes, v)
        self.add_densities(joint, codes, has_missing)
        self.elimination.add(joint, codes, has_missing)
        return joint

    def add_densities(self, joint: Numbers, codes: Codes, has_missing: Bools) -> None:
        """Add the log-densities of the continuous features, with missing continuous parents marginalized.

        Parameters
        ----------
        joint : ndarray of shape (n_rows, n_classes)
            The log-probabilities to which the log-densities are added.
        codes : sequence of ndarray of shape (n_rows,)
            One column of codes for each feature.
        has_missing : ndarray of shape (n_features,)
            Which features have missing values.
        """
        continuous = list(self.network.densities)
        linked = any(density.slopes is not None for density in self.network.densities.values())
        if not (linked and has_missing[continuous].any()):
            for x, density in self.network.densities.items():
                self._add_density(joint, codes, x, density, slice(None))
            return
        for absent, rows in missing_patterns(codes, continuous):
            if absent:
                observed = [i for i, x in enumerate(self._normal.features) if x not in absent]
                if observed:
                    values = np.stack([codes[self._normal.features[i]][rows] for i in observed], axis=1)
                    joint[rows] += self._normal.logs(values, observed)
            else:
                for x, density in self.network.densities.items():
                    self._add_density(joint, codes, x, density, rows)

    @cached_property
    def _normal(self) -> Joint:
        """The joint normal density of the continuous features."""
        from naivete.network.joint_density import joint_of

        return joint_of(self.network)

    def _add_density(self, joint: Numbers, codes: Codes, x: int, density: Normal, rows: Any) -> None:
        """Add the log-density of a continuous feature to those of some rows in which it and all its parents are observed."""
        parents = [p for p in self.network.family(x) if p not in (x, CLASS)]
        observed = np.arange(len(joint))[rows]
        observed = observed[~np.logical_or.reduce([missing(codes[m][observed]) for m in (x, *parents)])]
        context = tuple(codes[p][observed].astype(np.int64) for p in parents if p not in self.network.densities)
        by_class = CLASS in self.network.parents[x]
        values = codes[x][observed][:, None] if by_class else codes[x][observed]
        linked = [codes[p][observed] for p in parents if p in self.network.densities]
        regressors = np.stack(linked, axis=1) if linked else None  # (row, continuous parent)
        logs = density.logs(values, context, regressors[:, None] if by_class and regressors is not None else regressors)
        joint[observed] += logs if by_class else logs[:, None]

    def posterior(self, codes: Codes, has_missing: Bools, temperature: float = 1.0) -> tuple[Numbers, Integers]:
        """Return P(class | row), and the rows that have probability zero in every class.

        An impossible row gets the prior of the classes with the fewest impossible factors. A row without an observed value
        gets the prior itself; a feature with a single state carries no information.

        Parameters
        ----------
        codes : sequence of ndarray of shape (n_rows,)
            One column of codes for each feature.
        has_missing : ndarray of shape (n_features,)
            Which features have missing values.
        temperature : float, default=1.0
            The power to which the probabilities are raised, before they are normalized.

        Returns
        -------
        posterior : ndarray of shape (n_rows, n_classes)
            The probabilities.
        impossible : ndarray of int
            The positions of the rows of probability zero.
        """
        self.check(codes)
        codes, has_missing = self._with_single_states(codes, has_missing)
        joint = self._joint_of_class(codes, has_missing)
        for v in self.with_zeros:
            self._add_family(joint, codes, v)
        any_zero = len(joint) and joint.min() == -np.inf
        impossible = np.flatnonzero(np.isneginf(joint.max(axis=1))) if any_zero else np.empty(0, np.int64)
        if len(impossible):
            joint[impossible] = self._fallback([column[impossible] for column in codes])
        if temperature != 1:
            joint *= temperature
        result = _kernels.posterior(joint)
        if not self.network.parents[CLASS]:
            prior = np.asarray(self.network.cpts[CLASS])
            prior = prior if temperature == 1 else _kernels.posterior(temperature * log(prior[None]))[0]
            result[rows_without_evidence(codes, has_missing, self._informative, len(result))] = prior
        return result, impossible

    def _add_family(self, joint: Numbers, codes: Codes, v: int) -> None:
        """Add log P(v | parents) to the rows in which no feature of the family is missing."""
        table, complete = self.network.table(v), self._complete(codes, v)
        cells = self.network.variables[v].card if v == CLASS else self.classes
        for rows in np.array_split(complete, max(1, len(complete) * cells // elimination.FACTOR_CELLS)):
            values = {m: codes[m][rows] for m in table.members if m != CLASS}
            joint[rows] += log(table.probability(values, len(rows)))

    def _complete(self, codes: Codes, v: int) -> NDArray[np.intp]:
        """Return the rows in which no feature of the family is missing."""
        members = [m for m in self.network.family(v) if m != CLASS]
        return np.flatnonzero(~np.logical_or.reduce([missing(codes[m]) for m in members]))

    def _fallback(self, codes: Codes) -> Numbers:
        """Return the logarithms from which the posteriors of impossible rows are computed."""
        layout, values = self._dense
        zeros = _kernels.gather(codes, layout, np.isneginf(values).astype(np.float64), self.classes)
        for x in self._sparse:
            logs = np.zeros_like(zeros)
            self._add_family(logs, codes, x)
            zeros += np.isneginf(logs)
        parents = self.network.parents[CLASS]
        if len(parents) == 1 and parents[0] in self.network.derived:
            return fallback(zeros, np.asarray(self.network.cpts[CLASS])[codes[parents[0]].astype(np.int64)])
        return fallback(zeros, self.prior)

    @cached_property
    def prior(self) -> Numbers:
        """P(class): its table or, if the class has parents, its marginal distribution.

        If the parents of the class cannot be marginalized within the limit of memory, the prior is uniform, with a warning.
        """
        if not self.network.parents[CLASS]:
            return np.asarray(self.network.cpts[CLASS])
        nothing = [np.full(1, missing_code(np.uint8), np.uint8) for _ in self.network.features]
        try:
            joint = self._joint_of_class((*nothing, np.zeros(1, np.uint8)), np.ones(len(nothing), bool))
        except ResourceError as error:
            warn(
                f"the prior distribution of {quoted(self.network.name(CLASS))} is too expensive to compute, so a uniform prior is "
                f"used for rows that are impossible in every class: {error}",
                NaiveteWarning,
            )
            return np.full(self.classes, 1 / self.classes)
        return np.asarray(_kernels.posterior(joint)[0])


def fallback(zeros: NDArray[Any], prior: Numbers) -> Numbers:
    """Return the logarithms of the prior of the classes with the fewest impossible factors, -inf for the other classes.

    If the prior of all these classes is zero, they get equal values.  # (row, class)

    Parameters
    ----------
    zeros : how many factors of each row are zero in each class.  # (row, class)
    prior : P(class), the same for all rows or one for each.
    """
    fewest = zeros == zeros.min(axis=1, keepdims=True)
    logs = np.where(fewest, log(prior), -np.inf)
    return np.where(np.isneginf(logs.max(axis=1, keepdims=True)), np.where(fewest, 0.0, -np.inf), logs)


def rows_without_evidence(codes: Codes, has_missing: Bools, informative: Sequence[int], rows: int) -> NDArray[np.intp]:
    """Return the rows in which all of these features are missing, so that the posterior is the prior itself."""
    if not has_missing[list(informative)].all():
        return np.empty(0, np.intp)
    return np.flatnonzero(np.broadcast_to(np.logical_and.reduce([missing(codes[x]) for x in informative], axis=0), rows))


def argmax_class(posterior: Numbers) -> NDArray[np.intp]:
    """Return the most probable class of each row, the first of exactly equal ones.

    This is the rule of predictions: scikit-learn requires `predict` to equal the argmax of `predict_proba`, bit by bit.
    """
    return np.asarray(posterior.argmax(axis=1))


def most_probable_class(posterior: Numbers) -> NDArray[np.intp]:
    """Return the most probable class of each row, the first of those that differ by no more than rounding errors.

    This is the rule by which rows are routed in a hierarchy of classifiers: a row has to take the same path in training and
    in prediction, although its posterior may be added up in another order there. `argmax_class` differs only where two
    classes are equally probable up to rounding.
    """
    return argmax_class(np.round(posterior, 12))
