"""The required ratios within one run, and whether they were reached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.contenders import OURS

Record = dict[str, Any]
Step = Literal["fit", "predict"]
SLACK = 0.15  # tolerance for the measurement error of slopes
FLOOR = 8 << 20  # bytes of threads and modules that are loaded late, for a table of any size


@dataclass(frozen=True)
class Demand:
    """The required speed of a naivete model relative to a peer's model, per row, on some workloads, for each tier."""

    model: str
    step: Step
    package: str
    peer: str
    workloads: tuple[str, ...]
    times: dict[str, float]
    estimated: dict[str, float] | None = None  # the time of a peer that is not run, as a multiple of that of CategoricalNB


LARGE = ("W2", "W3", "W7")
BNLEARN_TAN = {"W2": 0.37 / 0.34, "W3": 2.4 / 2.3}
BNLEARN_NAIVE = {"W2": 0.057 / 0.34, "W3": 0.43 / 2.3}
ORANGE_NAIVE = {"W2": 0.053 / 0.34, "W3": 0.58 / 2.3}
SKLEARN = "scikit-learn"

DEMANDS = (
    Demand("nb", "fit", SKLEARN, "nb", LARGE, {"c": 15, "numpy": 4}),
    Demand("nb", "predict", SKLEARN, "nb", LARGE, {"c": 4, "numpy": 1}),
    Demand("kdb2", "fit", SKLEARN, "nb", ("W3", "W7"), {"c": 5, "numpy": 2}),
    Demand("kdb2", "predict", SKLEARN, "nb", LARGE, {"c": 2}),
    Demand("nb", "fit", "Orange", "nb", ("W2", "W3"), {"c": 1}, ORANGE_NAIVE),
    Demand("nb", "fit", "bnlearn", "nb", ("W2", "W3"), {"c": 1}, BNLEARN_NAIVE),
    Demand("tan", "fit", "bnlearn", "tan", ("W2", "W3"), {"c": 10, "numpy": 5}, BNLEARN_TAN),
    Demand("kdb1", "fit", "bnlearn", "tan", ("W2", "W3"), {"c": 10, "numpy": 5}, BNLEARN_TAN),
    Demand("tan", "fit", "pyAgrum", "tan", ("W2", "W3"), {"c": 200}),
    Demand("tan", "fit", "Weka", "tan", ("W2", "W3"), {"c": 200}),
    Demand("nb", "predict", "pyAgrum", "nb", LARGE, {"c": 500, "numpy": 500}),
    Demand("tan", "predict", "pyAgrum", "tan", LARGE, {"c": 500, "numpy": 500}),
    Demand("nb", "fit", "pyAgrum", "nb", (), {}),
    Demand("nb", "fit", "pgmpy", "nb", (), {}),
    Demand("tan", "fit", "pgmpy", "tan", (), {}),
    Demand("nb", "predict", "pgmpy", "nb", (), {}),
    Demand("tan", "predict", "pgmpy", "tan", (), {}),
    Demand("nb", "fit", "Weka", "nb", (), {}),
    Demand("kdb2", "fit", "Weka", "kdb2", (), {}),
    Demand("nb", "predict", "Weka", "nb", (), {}),
    Demand("kdb2", "predict", "Weka", "kdb2", (), {}),
)
LIMIT_FACTOR = {"c": 2.0, "numpy": 6.0}
SLOPES = {
    ("rows", "nb fit"): 1.0,
    ("rows", "nb predict"): 1.0,
    ("rows", "kdb2 fit"): 1.0,
    ("rows", "kdb2 predict"): 1.0,
    ("rows", "all pairs"): 1.0,
    ("features", "all pairs"): 2.0,
    ("features", "kdb2 fit"): 2.0,
    ("features", "nb predict"): 1.0,
    ("features", "kdb2 predict"): 1.0,
    ("classes", "nb fit"): 1.0,
    ("classes", "nb predict"): 1.0,
    ("classes", "kdb2 fit"): 1.0,
    ("classes", "kdb2 predict"): 1.0,
    ("classes", "all pairs"): 1.0,
}
COLD = 2.0


@dataclass(frozen=True)
class Verdict:
    """A measured figure and the required one; `demanded` is None if nothing is required."""

    what: str
    workload: str
    tier: str
    measured: float
    demanded: float | None
    at_least: bool

    @property
    def outcome(self) -> str:
        """ "met" or "short"; empty if nothing is required."""
        if self.demanded is None:
            return ""
        reached = self.measured >= self.demanded if self.at_least else self.measured <= self.demanded
        return "met" if reached else "short"


def speed(records: Sequence[Record]) -> Iterator[Verdict]:
    """Yield the ratios of the times of the peers to those of naivete."""
    done = {(r["library"], r["model"], r["workload"], r["tier"]): r for r in records if "failed" not in r}
    for demand in DEMANDS:
        for (library, model, workload, tier), ours in done.items():
            peer = done.get(
                (SKLEARN if demand.estimated else demand.package, "nb" if demand.estimated else demand.peer, workload, None)
            )
            if library != OURS or model != demand.model or peer is None or (demand.estimated and workload not in demand.estimated):
                continue
            share = demand.estimated[workload] if demand.estimated else 1.0
            ratio = share * seconds_per_row(peer, demand.step) / seconds_per_row(ours, demand.step)
            name = f"{model} {demand.step} / {demand.package} {demand.peer}" + (" (estimated)" if demand.estimated else "")
            yield Verdict(
                name, workload, tier, ratio, demand.times.get(tier) if workload in demand.workloads else None, at_least=True
            )


def seconds_per_row(record: Record, step: Step) -> float:
    """Return the seconds per row, of the rows that were used; a slow peer gets only some of them."""
    rows = record["fitted_rows"] if step == "fit" else record["predicted_rows"]
    return float(record[f"{step}_s"]) / float(rows)


def limit(records: Sequence[Record]) -> Iterator[Verdict]:
    """Yield the ratios of the time of the all-pairs pass to that of the prototype."""
    for record in records:
        ways = {name: s for name, s in record["limit"].items() if name != "failed"}
        for tier in LIMIT_FACTOR:
            if tier in record and "failed" not in record[tier]:
                for way, seconds in ways.items():
                    ratio = record[tier]["kernels_s"] / seconds
                    yield Verdict(f"all pairs / limit ({way})", record["workload"], tier, ratio, LIMIT_FACTOR[tier], at_least=False)


def memory(records: Sequence[Record]) -> Iterator[Verdict]:
    """Yield the peak memory of fit beyond the table, and the limit: twice the codes, the tables and a constant."""
    for r in records:
        if r["library"] == OURS and "failed" not in r:
            allowed = 2 * r["codes_bytes"] + r["tables_bytes"] + FLOOR
            yield Verdict(
                f"{r['model']} fit, MiB beyond the table",
                r["workload"],
                r["tier"],
                r["fit_bytes"] / 2**20,
                allowed / 2**20,
                at_least=False,
            )


def growth(records: Sequence[Record]) -> Iterator[Verdict]:
    """Yield the exponents with which the costs of naivete grow."""
    for record in records:
        for what, slope in record.get("slopes", {}).items():
            demanded = SLOPES.get((record["with"], what))
            yield Verdict(
                what, record["with"], record["tier"], slope, None if demanded is None else demanded + SLACK, at_least=False
            )
