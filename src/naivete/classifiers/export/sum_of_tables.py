"""A fitted classifier or a network as a sum over tables and log-densities."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from naivete import _kernels
from naivete._kernels.codes import Numbers
from naivete.classifiers.estimator import check_fitted
from naivete.classifiers.explaining import one_network_classifiers
from naivete.classifiers.export.tabular_form import MARGINALIZED, REFUSED, Gaussian, Input, SumOfTables, Table, strides
from naivete.errors import ParameterError, ResourceError, quoted
from naivete.inference.elimination import log
from naivete.inference.predictor import Predictor
from naivete.network.densities import Kernel, Normal
from naivete.network.derived_columns import Hidden, Hierarchy, Tree
from naivete.network.joint_density import joint_of
from naivete.network.network import Network
from naivete.variables import CLASS, Variable

if TYPE_CHECKING:
    from naivete.classifiers.base import NetworkClassifier

__all__ = ["MOST_CELLS", "sum_of_tables"]

MOST_CELLS: Final = 1 << 20
"""The largest number of values of all tables in an exported file, about 20 MB."""


def sum_of_tables(model: NetworkClassifier | Network, *, title: str | None = None) -> SumOfTables:
    """Return a fitted classifier or a network as a sum over tables; raise an error if its predictions are not such a sum.

    Parameters
    ----------
    model : the classifier, whose predictions come from one network without kernel densities; or such a network, with which
        values that are no states are marginalized.
    title : the title; by default the model with its parameters.
    """
    if isinstance(model, Network):
        return _sum_of_tables(model, _title(model) if title is None else title, "marginalise", 1.0)
    _check_model(model)
    title = _title(model) if title is None else title
    return _sum_of_tables(model.network_, title, model._encoder().unseen, float(getattr(model, "temperature_", 1.0)))


def _title(model: NetworkClassifier | Network) -> str:
    from naivete.classifiers.specification import spec_of
    from naivete.display.page import model_title

    if isinstance(model, Network):
        return model_title("Network", model.name(CLASS))
    parameters = ", ".join(f"{name}={value}" for name, value in spec_of(model).parameters.items())
    return model_title(type(model).__name__, model.network_.name(CLASS), parameters)


def _sum_of_tables(network: Network, title: str, unseen: str, temperature: float) -> SumOfTables:
    _check_network(network)
    predictor, target = Predictor(network), network.variables[CLASS]
    tables = {v: _table(network, v) for v in network.order if v not in network.densities}
    derived = network.derived.values()
    linked = any(density.slopes is not None for density in network.densities.values())
    fallback, column = _fallback(network, predictor)
    return SumOfTables(
        title=title,
        target=target.name,
        classes=target.states if len(target.states) == target.card else target.labels,
        inputs=tuple(_input(variable, unseen) for variable in network.columns),
        cards=tuple(network.variables[x].card for x in network.features),
        added=tuple(tables[v] for v in predictor.added if v in tables),
        constant=tuple(tables[v] for v in predictor.with_zeros if v in tables),
        densities=tuple(_gaussian(network, x, density) for x, density in network.densities.items()),
        families=tuple(tables.values()),
        fallback=fallback,
        fallback_column=column,
        no_evidence=_no_evidence(network, predictor, temperature),
        evidence=tuple(x for x in network.inputs if network.variables[x].card > 1 or x in network.densities),
        temperature=temperature,
        hidden=tuple(v for v, column in network.derived.items() if isinstance(column, Hidden)),
        tree=next((column for column in derived if isinstance(column, Tree)), None),
        hierarchy=next((column for column in derived if isinstance(column, Hierarchy)), None),
        joint=joint_of(network) if linked else None,
    )


def _check_model(model: NetworkClassifier) -> None:
    if not hasattr(model, "one_network"):
        raise ParameterError(f"a fitted classifier or a network is needed, got {type(model).__name__}")
    check_fitted(model, "call 'fit' before exporting it")
    if not model.one_network:
        raise ParameterError(
            f"{type(model).__name__} does not predict with one network, and an export is one sum over tables; choose among "
            f"{', '.join(one_network_classifiers())}"
        )


def _check_network(network: Network) -> None:
    kernels = [x for x, density in network.densities.items() if isinstance(density, Kernel)]
    if kernels:
        raise ParameterError(
            f"column {quoted(network.name(kernels[0]))} has a kernel density, which cannot be exported; learn with "
            "numbers='normal' or numbers='cut'"
        )
    cells = sum(prod([network.variables[m].card for m in {*network.family(v), CLASS}]) for v in network.order)
    if cells > MOST_CELLS:
        raise ResourceError(
            f"the tables have {cells:,} cells, and an exported file is limited to {MOST_CELLS:,}; learn a model with fewer parents "
            "or features"
        )


def _input(variable: Variable, unseen: str) -> Input:
    kind: Literal["states", "intervals", "number", "unused"] = (
        "unused" if variable.left_out else "number" if variable.density else "states" if variable.cuts is None else "intervals"
    )
    missing = variable.known if variable.missing else MARGINALIZED
    other = variable.known + variable.missing if variable.other and unseen == "smooth" else MARGINALIZED
    states, cuts = variable.states, tuple(map(float, variable.cuts or ()))
    return Input(variable.name, kind, states, cuts, variable.origin or 0.0, missing, REFUSED if unseen == "error" else other)


def _table(network: Network, v: int) -> Table:
    """Return the table of a variable; parents with a single state do not change the cell, so that they may be missing."""
    family = network.family(v)
    members = tuple(m for m in family if m == v != CLASS or (m != CLASS and network.variables[m].card > 1))
    logs = log(network.full_table(v)).reshape(-1, network.variables[CLASS].card if family[-1] == CLASS else 1)
    return Table(v, members, strides([network.variables[m].card for m in members]), logs)


def _gaussian(network: Network, x: int, density: Normal) -> Gaussian:
    parents = [p for p in network.family(x) if p not in (x, CLASS)]
    members = tuple(p for p in parents if p not in network.densities)
    linked = tuple(p for p in parents if p in network.densities)
    shape = (-1, network.variables[CLASS].card if CLASS in network.parents[x] else 1)
    slopes = np.zeros((*density.means.shape, 0)) if density.slopes is None else density.slopes
    return Gaussian(
        x,
        members,
        strides([network.variables[m].card for m in members]),
        linked,
        density.means.reshape(shape),
        density.deviations.reshape(shape),
        density.log_peaks.reshape(shape),
        slopes.reshape(*density.means.reshape(shape).shape, len(linked)),
    )


def _fallback(network: Network, predictor: Predictor) -> tuple[Numbers, int | None]:
    parents = network.parents[CLASS]
    if len(parents) == 1 and parents[0] in network.derived:
        return log(np.asarray(network.cpts[CLASS])), parents[0]
    return log(predictor.prior)[None], None


def _no_evidence(network: Network, predictor: Predictor, temperature: float) -> Numbers | None:
    """Return the probabilities of a row without an observed value, as the predictor gives them."""
    if network.parents[CLASS] and not network.derived:
        return None
    prior = predictor.prior
    return prior if temperature == 1 else _kernels.posterior(temperature * log(prior[None]))[0]
