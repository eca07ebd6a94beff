"""The conditional tables of a fitted classifier as drawings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from naivete.classifiers.estimator import check_fitted
from naivete.errors import ParameterError, did_you_mean, quoted
from naivete.inference.derived_predictor import DerivedPredictor
from naivete.inference.predictor import Predictor
from naivete.variables import CLASS, Name

if TYPE_CHECKING:  # learning and predicting do without drawings
    from naivete.classifiers.table_frames import TableFrames
    from naivete.display.heatmap import Heatmap

__all__ = ["TablesMixin"]


class TablesMixin:
    """The method `heatmap` and the attribute `tables_`."""

    @property
    def tables_(self) -> TableFrames:
        """The conditional tables as pandas frames, by the name of the variable, with their counts where these are known.

        Counts are known after fitting tables of moderate size; model files have none. A classifier that does not predict with the
        tables of one network has no such attribute.

        Examples
        --------
        >>> from naivete import NaiveBayes
        >>> nb = NaiveBayes().fit([["yes"], ["yes"], ["no"]], ["ill", "ill", "well"])
        >>> table = nb.tables_["x0"]
        >>> table.index.names, table["count"].to_dict()
        (FrozenList(['class', 'x0']), {('ill', 'no'): 0.0, ('ill', 'yes'): 2.0, ('well', 'no'): 1.0, ('well', 'yes'): 0.0})
        """
        from naivete.classifiers.table_frames import TableFrames

        model: Any = self
        check_fitted(model)
        if not isinstance(getattr(model, "predictor_", None), (Predictor, DerivedPredictor)):
            raise AttributeError(f"{type(model).__name__} has no tables_: it does not predict with the tables of one network")
        return TableFrames(model.network_, getattr(model, "_family_counts", {}))

    def heatmap(self, feature: Name) -> Heatmap:
        """Return the conditional table of a feature, P(value | parents, class), as a heat map; `svg()` draws it.

        Each class has a panel, in which the rows are the values of the parents; if the class is the only parent, each class has
        a row.

        Parameters
        ----------
        feature : str
            The name of a feature, or of the class.

        Returns
        -------
        Heatmap
            The panels of the table with their titles.

        Examples
        --------
        >>> from naivete import NaiveBayes
        >>> X = [["yes", "high"], ["yes", "low"], ["no", "high"], ["no", "low"]] * 2
        >>> heatmap = NaiveBayes().fit(X, ["ill", "ill", "well", "well"] * 2).heatmap("x0")
        >>> heatmap.title, heatmap.states, heatmap.rows
        ('P(x0 | class)', ('no', 'yes'), ('class = ill', 'class = well'))
        >>> heatmap.panels[0].cells.round(2).tolist()
        [[0.17, 0.83], [0.83, 0.17]]
        """
        from naivete.display.heatmap import heatmap_of

        model: Any = self
        check_fitted(model)
        if not isinstance(model.predictor_, (Predictor, DerivedPredictor)):
            raise ParameterError(
                f"{type(model).__name__} does not predict with the tables of one network, which a heat map could show; use "
                "NaiveBayes, TAN, KDB or HillClimb"
            )
        network = model.network_
        positions = {network.name(v): v for v in (CLASS, *network.features)}
        if feature not in positions:
            raise ParameterError(f"feature={quoted(feature)}: there is no such feature; {did_you_mean(feature, [*positions])}")
        return heatmap_of(network, positions[feature])
