"""Calibration of posterior probabilities by leave-one-out: its parameter, what it needs, and the temperature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from naivete.encoding.encoder import DENSITIES, Encoder
from naivete.errors import ParameterError, quoted
from naivete.network.network import Network

if TYPE_CHECKING:
    from naivete.counts.counts import Counts

__all__ = ["CalibrationMixin"]

_HAS_DENSITIES: Final = "densities of continuous features; discretize them (numbers='cut')"


class CalibrationMixin:
    """The parameter `calibration` and the attribute `temperature_`."""

    calibration: str | None
    temperature_: float
    smoothing: Any
    prior: Any

    def _check_calibration(self, encoder: Encoder) -> None:
        if self.calibration is None:
            return
        if str(self.calibration) != "leave-one-out":
            raise ParameterError(
                f"calibration={quoted(self.calibration)}: choose 'leave-one-out', or None for the probabilities of the network"
            )
        if encoder.missing == "em":
            raise ParameterError(
                "calibration='leave-one-out' subtracts a case from tables of counts, and missing='em' has expected counts; choose "
                "missing='omit' or 'state'"
            )
        if encoder.numbers in DENSITIES:
            self._refuse_calibration(_HAS_DENSITIES)

    def _refuse_calibration(self, reason: str) -> None:
        raise ParameterError(
            f"calibration='leave-one-out' subtracts a case from tables of counts, and this {type(self).__name__} has {reason}"
        )

    def _temperature(self, counts: Counts, network: Network, learned: Mapping[str, Any]) -> dict[str, float]:
        """Return the temperature of the posteriors as an attribute, where there is a calibration."""
        if self.calibration is None:
            return {}
        if counts.continuous:
            self._refuse_calibration(_HAS_DENSITIES)
        if network.derived:
            self._refuse_calibration("derived columns, for which there is no exact leave-one-out")
        return {"temperature_": self._learned_temperature(counts, network, learned)}

    def _learned_temperature(self, counts: Counts, network: Network, learned: Mapping[str, Any]) -> float:  # noqa: ARG002
        """Return the temperature of the posteriors, by leave-one-out; `learned` is what was learned with the network."""
        from naivete.learners.calibration import leave_one_out_temperature

        return leave_one_out_temperature(counts, network, **self._table_settings())

    def _table_settings(self) -> dict[str, Any]:
        """Return the smoothing and the prior with which the tables were estimated."""
        return {"smoothing": self.smoothing, "prior": self.prior}
