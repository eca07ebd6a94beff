"""Contributions of the features to the log odds of classifiers that do not predict with one network, in bits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from naivete._kernels.codes import Bools, Integers, Numbers, absent_code, missing, missing_code, narrowest
from naivete._kernels.layout import Codes
from naivete.errors import DataError, ParameterError
from naivete.inference.certainty import sampled_rows
from naivete.inference.coalitions import Game, ShapleyValues
from naivete.inference.explanation import By, Explainer
from naivete.inference.log_odds import Attribution, log_odds_of, posterior_log_odds
from naivete.inference.questions import wider_codes
from naivete.inference.spectrum_sum import SpectrumSum, is_sum
from naivete.network.network import Network
from naivete.network.spectrum import Spectrum
from naivete.variables import CLASS, Variable, Variables

__all__ = ["PERMUTATIONS", "AnyExplainer", "Ensemble", "EnsembleExplainer", "drawn_rows", "network_codes"]

PERMUTATIONS = 4
"""The number of permutations for each background row."""
SUM_ROWS = 256
"""The number of background rows that are drawn for a sum over families."""
MOST_SUM_ROWS = 1024
"""The largest number of passed background rows that are used for a sum over families."""
ENSEMBLE_ROWS = 64
"""The largest number of background rows of a classifier whose log odds are not a sum."""
LEAST_ROWS = 8
"""The smallest number of background rows that are drawn, however many features there are."""
STEPS = 8192
"""About the number of rows that are evaluated for the explanation of one row, where there are many features."""
EXACT_FEATURES = 8
"""The largest number of observed features whose coalitions are enumerated."""
IMPORTANCE_ROWS = 32
"""The number of rows over which importances are averaged."""
IMPORTANCE_BACKGROUND = 16
"""The number of background rows of importances of a classifier whose log odds are not a sum."""


@dataclass(frozen=True)
class Ensemble:
    """A classifier that does not predict with one network, and the network beside it.

    Parameters
    ----------
    name : the name of the classifier, for messages.
    predictor : gives the posterior probabilities of rows of codes.
    variables : the variables of the codes, without the class.
    network : the network from which background rows are drawn, and which gives the typicality of rows.
    network_name : what this network is called in texts.
    spectrum : the model of a `Spectrum`, None for others.
    temperature : the power to which the posterior probabilities are raised.
    """

    name: str
    predictor: Any
    variables: Variables
    network: Network
    network_name: str
    spectrum: Spectrum | None = None
    temperature: float = 1.0

    @property
    def is_sum(self) -> bool:
        """Whether the log odds of two classes are a sum over families of few features."""
        return self.spectrum is not None and is_sum(self.spectrum)


def drawn_rows(ensemble: Ensemble, count: int, seed: int) -> Codes:
    """Return random rows of the network of an ensemble, as codes of its variables.

    A numeric feature of a `Spectrum` has finer intervals than the network: one of those within the drawn interval is chosen at
    random, all with the same probability, since they have about the same number of training cases.
    """
    rng = np.random.default_rng(seed)
    columns = zip(ensemble.variables, ensemble.network.variables, sampled_rows(ensemble.network, count, seed), strict=False)
    return [column if _same(variable, wider) else _finer(column, variable, wider, rng) for variable, wider, column in columns]


def _same(variable: Variable, wider: Variable) -> bool:
    """Whether a variable of the table and that of the network have the same codes."""
    return variable.cuts is None or variable.cuts == wider.cuts


def _finer(column: Any, variable: Variable, wider: Variable, rng: np.random.Generator) -> Any:
    """Return a random code of the variable for each code of a variable with wider intervals."""
    codes = wider_codes(variable, wider)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(wider.card + 1))
    first, last = starts[:-1][column], starts[1:][column]
    return order[first + np.floor(rng.random(len(column)) * (last - first)).astype(np.int64)].astype(narrowest(variable.card))


def network_codes(ensemble: Ensemble, codes: Codes) -> Codes:
    """Return rows of an ensemble as codes of the variables of its network."""
    columns = zip(ensemble.variables, ensemble.network.variables, codes, strict=False)
    return [column if _same(variable, wider) else _wider(column, variable, wider) for variable, wider, column in columns]


def _wider(column: Any, variable: Variable, wider: Variable) -> Any:
    dtype = narrowest(wider.card)
    table = np.append(wider_codes(variable, wider), missing_code(dtype)).astype(dtype)
    return table[np.minimum(column, variable.card)]


class EnsembleExplainer:
    """Contributions of features to the log odds of a classifier that does not predict with one network.

    They are interventional Shapley values on background rows. If the log odds are a sum over families, as in a `Spectrum` of one
    structure, they are exact, and there are contributions by family too. Otherwise they are exact by enumeration of coalitions
    where at most 8 features are observed, and estimated from permutations where there are more. In all cases they add up to the
    log odds.

    Values that are missing in a row are missing in every coalition, contribute nothing, and are missing in all rows of which the
    base is the mean.

    Parameters
    ----------
    ensemble : the classifier.
    background : rows of codes; by default rows drawn from the network beside the classifier. At most 1024 of them are used; if the
        log odds are not a sum, at most 64, and fewer if there are more than 32 features.
    permutations : the number of permutations for each background row, an even number of at least 4.
    seed : the seed of the background rows and of the permutations.
    """

    training = None
    has_intervals = False
    no_interval = "no interval for this classifier"

    def __init__(
        self, ensemble: Ensemble, background: Codes | None = None, permutations: int = PERMUTATIONS, seed: int = 0
    ) -> None:
        self.ensemble = ensemble
        self.predictor, self.temperature = ensemble.predictor, ensemble.temperature
        self.network = ensemble.network
        self.variables = ensemble.variables
        self.classes = ensemble.network.variables[CLASS].card
        self.permutations = permutations
        self.seed = seed
        self._rows = background
        if background is not None and not len(background[0]):
            raise DataError("background: there are no rows; give at least one, or none at all")

    @property
    def features(self) -> tuple[int, ...]:
        """The features to which contributions are given: all columns."""
        return tuple(range(len(self.variables)))

    @property
    def terms(self) -> tuple[int, ...]:
        """The features whose families are the terms."""
        self._check_families()
        return self.features

    @property
    def has_families(self) -> bool:
        """Whether there are contributions by family."""
        return self.ensemble.is_sum

    @property
    def family_names(self) -> list[str]:
        """The features with the features on which their terms depend, and the class."""
        self._check_families()
        assert self._sum is not None
        names = [str(variable.name) for variable in self.network.variables]
        return [f"{names[x]} | {', '.join([*(names[p] for p in parents), names[CLASS]])}" for *parents, x in self._sum.families]

    def _check_families(self) -> None:
        if not self.has_families:
            raise ParameterError(
                f"{self.ensemble.name}: the log odds are not a sum over families, so there are no contributions by family; "
                "use by_feature (by='feature')"
            )

    @cached_property
    def prior(self) -> Numbers:
        """P(class) where nothing is observed."""
        columns = [np.full_like(column[:1], absent_code(column)) for column in self.rows]
        return np.asarray(self._posterior(columns)[0])

    @property
    def has_rows(self) -> bool:
        """Whether the background is rows that were passed."""
        return self._rows is not None

    @cached_property
    def rows(self) -> Codes:
        """The background rows of the Shapley values."""
        many = min(ENSEMBLE_ROWS, max(LEAST_ROWS, STEPS // (PERMUTATIONS * max(1, len(self.variables)))))
        if self._rows is None:
            return drawn_rows(self.ensemble, SUM_ROWS if self.has_families else many, self.seed)
        return _some(self._rows, MOST_SUM_ROWS if self.has_families else many, self.seed)

    @property
    def source(self) -> str:
        """What the background rows are, in words."""
        count = len(self.rows[0])
        if self._rows is None:
            return f"{count} rows drawn from the {self.ensemble.network_name}"
        total = len(self._rows[0])
        return f"{count:,} background rows" if count == total else f"{count:,} of {total:,} background rows"

    @property
    def compared_with(self) -> str:
        """The rows with which the typicality of a row is found, in words."""
        return "of the background rows" if self.has_rows else f"of rows drawn from the {self.ensemble.network_name}"

    def note(self, standard_errors: Numbers | None) -> str:
        """Return how exact the contributions of some rows are, in words."""
        if standard_errors is None or not np.any(standard_errors > 0):
            return f"The contributions are exact Shapley values on {self.source}."
        return (
            f"The contributions are estimated from {self.permutations} permutations of the features for each of {self.source}; "
            f"their standard errors are at most {np.max(standard_errors):.2g} bits."
        )

    def attribution(
        self,
        codes: Codes,
        has_missing: Bools,  # noqa: ARG002
        target: Integers,
        other: Integers | None = None,
        by: By = "feature",
    ) -> Attribution:
        """Return contributions to the log odds of a class in each row, against the other classes together or against one of them.

        Parameters
        ----------
        codes : one column of codes for each feature.
        has_missing : which columns have missing values; found from the codes.
        target : the class of each row.
        other : the class against which it is compared in each row; by default all others together.
        by : whether the terms are the features or the families.
        """
        if self._sum is None:
            if by == "family":
                self._check_families()
            return self._attribution(codes, target, other, self.rows, self.permutations)
        return _of_sum(self._sum, codes, target, other, by)

    @cached_property
    def _sum(self) -> SpectrumSum | None:
        spectrum = self.ensemble.spectrum
        return SpectrumSum(spectrum, self.rows) if spectrum is not None and self.has_families else None

    def _attribution(
        self, codes: Codes, target: Integers, other: Integers | None, background: Codes, permutations: int
    ) -> Attribution:
        """Return the contributions from predictions of rows that have some values of a row and the others of background rows."""
        if self.classes == 1:
            return Attribution(np.full(len(target), np.inf), np.zeros((len(target), len(codes))))
        values: list[ShapleyValues] = []
        for i in range(len(target)):
            odds = partial(self._log_odds, target=target[i], other=None if other is None else other[i])
            game = Game(odds, [column[i : i + 1] for column in codes], background)
            exact = len(game.players) <= EXACT_FEATURES
            values.append(game.exact() if exact else game.estimated(permutations, self.seed))
        zeros = np.zeros(len(codes))
        errors = [zeros if v.standard_errors is None else v.standard_errors for v in values]
        all_exact = all(v.standard_errors is None for v in values)
        contributions = np.array([v.values for v in values]).reshape(-1, len(codes))
        return Attribution(np.array([v.base for v in values]), contributions, None if all_exact else np.stack(errors))

    def _log_odds(self, codes: Codes, target: int, other: int | None) -> Numbers:
        posterior = self._posterior(codes)
        targets = np.full(len(posterior), target)
        return posterior_log_odds(posterior, targets, None if other is None else np.full(len(posterior), other))

    def _posterior(self, codes: Codes) -> Numbers:
        temperature = {} if self.temperature == 1 else {"temperature": self.temperature}
        return np.asarray(self.predictor.posterior(codes, self.has_missing(codes), **temperature)[0])

    def has_missing(self, codes: Codes) -> Bools:
        """Return which columns have missing values."""
        return np.array([bool(missing(column).any()) for column in codes], bool)

    def columns(self, codes: Codes, has_missing: Bools) -> tuple[Codes, Bools, Integers]:
        """Return the columns: those of the table."""
        return codes, has_missing, np.empty(0, np.int64)

    def deviation(self, codes: Codes, has_missing: Bools, posterior: Numbers, target: Integers) -> Numbers:  # noqa: ARG002
        """Refuse: the parameters have no posterior distribution."""
        raise ParameterError(
            f"{self.ensemble.name}: there is {self.no_interval}: its parameters have no posterior distribution; fit TAN or KDB for "
            "intervals"
        )

    def typicality(self, codes: Codes, has_missing: Bools) -> Numbers:
        """Return the share of other rows that are at most as probable as each row in the network beside the classifier."""
        return self._network_explainer.typicality(network_codes(self.ensemble, codes), has_missing)

    @cached_property
    def _network_explainer(self) -> Explainer:
        return Explainer(self.network, None if self._rows is None else network_codes(self.ensemble, self._rows))

    @cached_property
    def importances(self) -> Numbers:
        """The mean absolute contribution of each feature to the log odds of the predicted class, over some background rows."""
        rows = _some(self.rows if self._rows is None else self._rows, IMPORTANCE_ROWS, self.seed)
        target = self._posterior(rows).argmax(axis=1)
        if self._sum is not None:
            attribution = _of_sum(self._sum, rows, target)
        else:
            attribution = self._attribution(rows, target, None, _some(self.rows, IMPORTANCE_BACKGROUND, self.seed + 1), 2)
        return np.asarray(np.abs(attribution.values).mean(axis=0))

    @property
    def importance_note(self) -> str:
        """Over which rows importances are averaged, in words."""
        count = min(IMPORTANCE_ROWS, len((self.rows if self._rows is None else self._rows)[0]))
        return f"Estimated from {count} {self.compared_with.removeprefix('of ').removeprefix('the ')}."


def _of_sum(terms: SpectrumSum, codes: Codes, target: Integers, other: Integers | None = None, by: By = "feature") -> Attribution:
    """Return the contributions to the log odds of a sum over families."""
    scores = terms.by_feature(codes) if by == "feature" else terms.by_family(codes)
    base, values = log_odds_of(scores, target, other)
    return Attribution(base, values.T)


def _some(rows: Codes, many: int, seed: int) -> Codes:
    """Return at most `many` of the rows, chosen at random."""
    if len(rows[0]) <= many:
        return rows
    chosen = np.sort(np.random.default_rng(seed).choice(len(rows[0]), many, replace=False))
    return [column[chosen] for column in rows]


AnyExplainer = Explainer | EnsembleExplainer
"""What gives the contributions of an explanation."""
