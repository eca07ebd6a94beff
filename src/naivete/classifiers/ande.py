"""Averaged n-dependence estimators: AODE and A2DE."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from naivete._kernels.layout import Layout
from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.class_weights import ClassWeight
from naivete.classifiers.documentation import complete_docstring
from naivete.classifiers.saving import plain_value
from naivete.counts.budget import BUDGET
from naivete.encoding.encoder import Encoder
from naivete.errors import ParameterError
from naivete.inference.ande import AnDEPredictor
from naivete.network.ande import AnDE, ande_cells, ande_families
from naivete.network.network import Network, Structure
from naivete.network.smoothing import Prior, checked_prior, smoothing_of
from naivete.storage.canonical_json import FieldError, expect, expect_keys
from naivete.variables import CLASS

if TYPE_CHECKING:
    from naivete.counts.counts import Counts
    from naivete.inference.ensemble_explanation import Ensemble

__all__ = ["A2DE", "AODE"]


class AveragedDependence(NetworkClassifier, ABC):
    """The average of all models in which every feature depends on the class and on the same few features.

    Parameters
    ----------
    min_frequency : float, default=1
        Values are parents where they occur together in at least this many training cases; a row without such values is predicted
        with one parent less, finally by naive Bayes.
    subsumption : float or None, default=None
        Subsumption resolution: a value is left out of a row where another value of the row implies it, as "pregnant" implies
        "female". A value implies another one if both occur together in all training cases that have the first, and there are at
        least `subsumption` of these, such as 100. By default all values are kept. It helps where columns are copies of others;
        it makes probabilities wrong where columns are indicators of the values of one, since each 1 then implies many 0s.

    Attributes
    ----------
    ande_ : AnDE
        The joint counts, a `naivete.network.ande.AnDE`.
    network_ : Network
        The naive Bayes network, for drawings, queries and rows whose values are too rare; predictions use `ande_`.
    predictor_ : AnDEPredictor
        The `naivete.inference.ande.AnDEPredictor`.
    """

    one_network = False
    network_beside = "naive Bayes network"
    n: ClassVar[int]
    """The number of feature parents."""
    ande_: AnDE

    def __init_subclass__(cls, **options: Any) -> None:
        complete_docstring(cls, AveragedDependence)
        super().__init_subclass__(**options)

    def __init__(
        self,
        *,
        min_frequency: float = 1,
        subsumption: float | None = None,
        smoothing: Any = 1.0,
        prior: Prior = None,
        calibration: str | None = None,
        class_weight: ClassWeight = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(
            smoothing=smoothing, prior=prior, calibration=calibration, class_weight=class_weight, encoder=encoder, budget=budget
        )
        self.min_frequency = min_frequency
        self.subsumption = subsumption

    def checked_encoder(self) -> Encoder:
        """Check the parameters, and return the encoder to use.

        Returns
        -------
        Encoder
            The encoder that was passed, or the default one.
        """
        encoder = super().checked_encoder()
        if encoder.missing == "em":
            raise ParameterError(
                f"missing='em' estimates the tables of one network, and {type(self).__name__} averages many models; "
                "choose 'omit' or 'state'"
            )
        return encoder

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        from naivete.learners.ande import ande
        from naivete.learners.naive import naive

        model = ande(counts, n=self.n, **self._arguments())
        return naive(counts, smoothing=self.smoothing, prior=self.prior), {"ande_": model}

    def _learned_temperature(self, counts: Counts, network: Network, learned: Mapping[str, Any]) -> float:
        from naivete.learners.calibration import leave_one_out_temperature_of_average

        return leave_one_out_temperature_of_average(counts, learned["ande_"], network, smoothing=self.smoothing)

    def _reestimated(self, counts: Counts, structure: Structure) -> tuple[Network, dict[str, Any]]:  # noqa: ARG002
        """Learn again: all models have the same structure whatever the cases."""
        return self._learn(counts)

    def _predictor(self) -> AnDEPredictor:
        return AnDEPredictor(self.ande_, super()._predictor())

    def ensemble(self) -> Ensemble:
        """Return the model with its naive Bayes network, for explanations.

        Returns
        -------
        Ensemble
            The predictor, the variables and the network beside it.
        """
        from naivete.inference.ensemble_explanation import Ensemble

        name, temperature = type(self).__name__, getattr(self, "temperature_", 1.0)
        return Ensemble(name, self.predictor_, self.schema_, self.network_, self.network_beside, temperature=temperature)

    def plain_more(self) -> dict[str, Any]:
        """Return the counts, in the order of `ande_families`, and the settings as values and arrays for a model file.

        Returns
        -------
        dict
            The values and arrays by name.
        """
        model = self.ande_
        return {
            "counts": np.concatenate([table.ravel() for table in model.tables.values()]),
            "min_frequency": model.min_frequency,
            "prior": None if model.prior is None else model.prior.tolist(),
            "smoothing": plain_value("smoothing", model.smoothing),
            "subsumption": model.subsumption,
        }

    def more_of(self, more: Mapping[str, Any], network: Network) -> dict[str, Any]:
        """Return the counts that `plain_more` stands for; a FieldError is raised about data that is not valid.

        Parameters
        ----------
        more : dict
            The values and arrays of a model file that `plain_more` has returned.
        network : Network
            The network of the model file.

        Returns
        -------
        dict
            The attribute `ande_`.
        """
        expect_keys(more, "more", ("counts", "min_frequency", "prior", "smoothing", "subsumption"))
        variables = network.variables
        features = tuple(x for x in network.features if variables[x].card > 1)
        flat = expect(more["counts"], "more.counts", np.ndarray, "an array")
        size = sum(ande_cells([variables[x].card for x in features], variables[CLASS].card, self.n))
        if flat.dtype != np.float64 or flat.shape != (size,):
            raise FieldError("more.counts", f"an array of {size} float64 was expected")
        with np.errstate(over="ignore", invalid="ignore"):
            if not (np.isfinite(flat.sum()) and (flat >= 0).all()):
                raise FieldError("more.counts", "finite numbers of at least 0 were expected")
        layout = Layout(tuple(ande_families(features, self.n)), tuple(v.card for v in variables))
        tables = {f: layout.table(flat, i) for i, f in enumerate(layout.families)}
        return {"ande_": AnDE(self.n, variables, features, tables, **_settings(more, variables[CLASS].card))}


def _settings(more: Mapping[str, Any], classes: int) -> dict[str, Any]:
    """Return the settings of an AnDE in a model file, checked."""
    from naivete.learners.ande import checked_frequency

    checks: dict[str, Callable[[Any], Any]] = {
        "smoothing": smoothing_of,
        "prior": lambda value: None if value is None else checked_prior(value, classes),
        "min_frequency": lambda value: checked_frequency(value, "min_frequency", zero=True),
        "subsumption": lambda value: None if value is None else checked_frequency(value, "subsumption"),
    }
    settings = {}
    for name, check in checks.items():
        try:
            settings[name] = check(more[name])
        except ParameterError as error:
            raise FieldError(f"more.{name}", str(error)) from None
    return settings


class AODE(AveragedDependence):
    """Averaged one-dependence estimators: the average of all models in which one feature is a parent of all others.

    P(row, class) is the mean over the features i of P(class, x_i) times the product of P(x_j | class, x_i) over all other features
    j. No structure is selected, so that the variance is small. The number of tables, and the time of a prediction, grow with the
    square of the number of features.

    References
    ----------
    Webb, Boughton and Wang (2005), Not so naive Bayes: aggregating one-dependence estimators; Zheng and Webb (2006), Efficient lazy
    elimination for averaged one-dependence estimators.

    Examples
    --------
    >>> from naivete import AODE
    >>> rows = [["0", "0"], ["0", "1"], ["1", "0"], ["1", "1"]]
    >>> aode = AODE().fit(rows, ["even", "odd", "odd", "even"])  # neither feature alone carries information about the class
    >>> aode.predict([["1", "0"]]).tolist()
    ['odd']
    """

    n = 1


class A2DE(AveragedDependence):
    """Averaged two-dependence estimators: the average of all models in which two features are parents of all others.

    As `AODE`, with pairs of features as parents: less bias and more variance, so that it needs more cases. The number of tables,
    and the time of a prediction, grow with the cube of the number of features.

    References
    ----------
    Webb, Boughton, Zheng, Ting and Salem (2012), Learning by extrapolation from marginal to full-multivariate probability
    distributions: decreasingly naive Bayesian classification; Zheng and Webb (2006), Efficient lazy elimination for averaged
    one-dependence estimators.

    Examples
    --------
    The class is the parity of three features, which no two of them carry information about:

    >>> import itertools
    >>> from naivete import A2DE
    >>> rows = [list(row) for row in itertools.product("01", repeat=3)]
    >>> model = A2DE().fit(rows, [row.count("1") % 2 for row in rows])
    >>> model.predict([["1", "1", "0"], ["1", "1", "1"]]).tolist()
    [0, 1]
    """

    n = 2
