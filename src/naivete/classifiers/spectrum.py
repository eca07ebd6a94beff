"""The classifier that weighs all degrees of dependence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.class_weights import ClassWeight
from naivete.classifiers.estimator import check_fitted
from naivete.classifiers.parameters import seed_of
from naivete.counts.budget import BUDGET
from naivete.encoding.discretization import EqualFrequency
from naivete.encoding.encoder import Encoder
from naivete.errors import NaiveteWarning, ParameterError, quoted, warn
from naivete.inference.spectrum_terms import SpectrumPredictor
from naivete.network.network import Network
from naivete.network.spectrum import Spectrum as SpectrumModel
from naivete.storage.canonical_json import FieldError, expect, expect_keys
from naivete.variables import CLASS, Name, Variables

if TYPE_CHECKING:
    from naivete.counts.counts import Counts
    from naivete.inference.ensemble_explanation import Ensemble
    from naivete.learners.spectrum import SpectrumSettings

__all__ = ["Spectrum"]

QUANTILES = 254
"""The most intervals of a numeric column; structures join them to fewer."""


LIMITS = {"members": (1, 1000), "trees": (0, 100_000), "boosting": (0, 10_000), "depth": (0, 64), "sample": (1, 10**9)}
"""The least and the largest value of each parameter that is a whole number."""


class Spectrum(NetworkClassifier):
    """Weigh all degrees of dependence instead of choosing one: the most accurate classifier of the library.

    A k-dependence structure gives every feature up to `depth` parents, the strongest first. Naive Bayes uses none of them, TAN the
    first, KDB(k) the first k. This classifier uses all of these depths: at each depth the probabilities are estimated from the
    counts of that depth and the estimate of the depth before, and the log-posteriors of all depths, together with the terms of
    single features and the scores of a logistic regression, are weighted by exact leave-one-out. With several members, structures
    with random orders and intervals, random trees and boosted trees are added, and the result is mixed with its best parts, which
    helps where there are few cases.

    Structures and random trees come from the counts of all rows; boosted trees from a sample of at most `sample` cases, weights and
    the logistic regression from at most 5,000 of these, from fewer where the terms of many classes would exceed `budget`. If all
    weights are whole numbers, a row of weight w counts as w equal rows. Otherwise weights say how important rows are, and their
    mean should be near 1: divide them by it, or the probabilities are too sure, or not sure enough. Rows that were repeated on
    purpose, such as those of an oversampled class, are recognized. It learns from files and clusters in five passes over the rows,
    six if a nominal feature has more than 20 states.

    Parameters
    ----------
    members : int, default=4
        The number of random structures, half as many if more than 100 features have several values. With 1 there are the main
        structure and the linear scores alone, without trees and without the mixture, so that the log odds of two classes are a sum
        over tables.
    trees : int, default=64
        The number of classification trees.
    boosting : int, default=100
        The largest number of boosted trees for each class, one tree for both of two classes. They represent rules. No more are
        added once they do not predict left-out cases any better.
    depth : int, default=5
        The largest number of parents of a feature.
    sample : int, default=10000
        The largest number of distinct cases from which boosted trees are learned.
    random_state : int, RandomState instance or None, default=0
        The seed of the random structures and of the sample: a whole number, a RandomState, or None for another one each time.
    encoder : Encoder or None, default=None
        How columns are encoded, an `Encoder`. By default text, categories, booleans and whole numbers with at most 20 values are
        nominal, and other numbers have up to 254 intervals, which the structures join. In columns with missing values in training,
        a missing value always counts as a value of its own, since it is often informative that a value is missing: "omit" and
        "state" of `Encoder(missing=...)` give the same model, with a warning about "state", and "em" is refused. In other columns
        a missing value is unknown: it adds nothing, and trees stop at the node that asks for it. Values that did not occur in
        training, and columns that new rows lack, count as missing.

    Attributes
    ----------
    spectrum_ : naivete.network.spectrum.Spectrum
        The learned structures, trees and weights.
    term_weights_ : dict of {str: float}
        The weight of each term, by its name.
    network_ : Network
        A network with the strongest dependence of each feature, for drawings and queries; predictions use `spectrum_`.

    References
    ----------
    Sahami (1996), Learning limited dependence Bayesian classifiers, for the structure. Martinez, Webb, Chen and Zaidi (2016),
    Scalable learning of Bayesian network classifiers, for choosing by leave-one-out. Ney, Essen and Kneser (1994), On structuring
    probabilistic dependences in stochastic language modelling, for the estimate. Breiman (2001), Random forests, and Friedman
    (2001), Greedy function approximation: a gradient boosting machine, for the trees.

    Examples
    --------
    >>> import itertools
    >>> from naivete import Spectrum
    >>> rows = [list(row) for row in itertools.product("01", repeat=4)] * 4
    >>> model = Spectrum(members=1).fit(rows, [row[0] != row[2] for row in rows])
    >>> model.predict([["0", "1", "1", "0"]]).tolist()
    [True]
    """

    reports_impossible = False
    one_network = False
    missing_is_a_value = True
    memory_factor = 4  # the counts as trees, and the tables made from them
    network_beside = "summary network"
    asks_network = True
    spectrum_: SpectrumModel

    def __init__(
        self,
        *,
        members: int = 4,
        trees: int = 64,
        boosting: int = 100,
        depth: int = 5,
        sample: int = 10_000,
        random_state: Any = 0,
        class_weight: ClassWeight = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(class_weight=class_weight, encoder=encoder, budget=budget)
        self.members = members
        self.trees = trees
        self.boosting = boosting
        self.depth = depth
        self.sample = sample
        self.random_state = random_state

    def checked_encoder(self) -> Encoder:
        """Check the parameters, and return the encoder to use: with many intervals of numeric columns, unless it says otherwise.

        Returns
        -------
        Encoder
            The encoder that was passed, or the default one.
        """
        encoder = super().checked_encoder()
        if encoder.missing == "em":
            raise ParameterError(
                "missing='em': Spectrum always counts a missing value as a value of its own; leave this setting out"
            )
        return replace(encoder, cut=encoder.cut or EqualFrequency(QUANTILES), missing="omit")

    def _settings(self) -> SpectrumSettings:
        from naivete.learners.spectrum import SpectrumSettings

        for name, (least, most) in LIMITS.items():
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not least <= value <= most:
                raise ParameterError(f"{name}={quoted(value)}: a whole number from {least} to {most:,}")
        values: dict[str, Any] = {name: int(getattr(self, name)) for name in LIMITS}
        return SpectrumSettings(**values, seed=seed_of(self.random_state))

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        from naivete.learners.spectrum import spectrum
        from naivete.learners.spectrum_summary import summary_network

        if self._encoder().missing == "state":
            warn(
                "Spectrum always counts a missing value as a value of its own: it learns the same model whether missing values are "
                "marginalized ('omit', the default) or a state ('state')",
                NaiveteWarning,
            )
        model = spectrum(counts, self._settings())
        return summary_network(counts, model), {"spectrum_": model}

    def _relevance(self, counts: Counts, network: Network) -> NDArray[np.float64]:
        """Return I(X; C) of every feature, in bits; of numbers with the intervals of the main structure: those of `mdl`."""
        from naivete.counts.information import joined_relevance

        joined = {}
        for x in counts.features:
            every, cuts = counts.variables[x].cuts, network.variables[x].cuts
            if every and cuts is not None:
                joined[x] = np.searchsorted(every, cuts) + 1
        return joined_relevance(counts, joined)

    def _predictor(self) -> SpectrumPredictor:
        return SpectrumPredictor(self.spectrum_)

    def ensemble(self) -> Ensemble:
        """Return the model with its summary network, for explanations.

        Returns
        -------
        Ensemble
            The predictor, the variables and the network beside it.
        """
        from naivete.inference.ensemble_explanation import Ensemble

        return Ensemble(type(self).__name__, self.predictor_, self.schema_, self.network_, self.network_beside, self.spectrum_)

    def plain_more(self) -> dict[str, Any]:
        """Return the spectrum and its variables as values and arrays for a model file.

        Returns
        -------
        dict
            The values and arrays by name.
        """
        from naivete.classifiers.model_file import plain_variable
        from naivete.classifiers.spectrum_file import plain_spectrum

        columns = [plain_variable(v, f"more.variables[{i}]") for i, v in enumerate(self.schema_)]
        return {"spectrum": plain_spectrum(self.spectrum_), "variables": columns}

    def more_of(self, more: Mapping[str, Any], network: Network) -> dict[str, Any]:
        """Return the spectrum that `plain_more` stands for; a FieldError is raised about data that is not valid.

        Parameters
        ----------
        more : dict
            The values and arrays of a model file that `plain_more` has returned.
        network : Network
            The network of the model file.

        Returns
        -------
        dict
            The attribute `spectrum_`.
        """
        from naivete.classifiers.model_file import variable_of
        from naivete.classifiers.spectrum_file import spectrum_of

        expect_keys(more, "more", ("spectrum", "variables"))
        values = expect(more["variables"], "more.variables", list, "a list")
        columns = tuple(variable_of(value, f"more.variables[{i}]") for i, value in enumerate(values))
        if [v.name for v in columns] != [v.name for v in network.columns]:
            raise FieldError("more.variables", "these are not the columns of the network")
        return {"spectrum_": spectrum_of(more["spectrum"], (*columns, network.variables[CLASS]), "more.spectrum")}

    @property
    def schema_(self) -> Variables:
        """The variables of the features under which rows are encoded."""
        return self.spectrum_.variables[:-1]

    @property
    def missing_as_value_(self) -> tuple[Name, ...]:
        """The names of the columns in which a missing value is a value of its own: some were missing in training."""
        return tuple(v.name for v, complete in zip(self.schema_, self.spectrum_.complete, strict=True) if not complete)

    @property
    def term_weights_(self) -> dict[str, float]:
        """The weight of each term, by its name."""
        return dict(zip(self.spectrum_.term_names, self.spectrum_.coefficients.tolist(), strict=True))

    def predict_joint_log_proba(self, X: Any) -> NoReturn:  # noqa: ARG002
        """Refuse: the terms of a spectrum are not factors of a joint probability.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or Table of shape (n_rows, n_features)
            The rows.

        Raises
        ------
        ParameterError
            Always.
        """
        check_fitted(self)
        raise ParameterError("Spectrum has no joint probability of a row and a class; use predict_log_proba")
