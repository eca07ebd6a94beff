"""What is enough for the prediction of one row, and what would change it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from naivete._kernels.codes import Numbers, missing_code, narrowest
from naivete.errors import DataError, ParameterError, did_you_mean, quoted
from naivete.inference.derived_predictor import DerivedPredictor
from naivete.inference.elimination import log
from naivete.inference.predictor import Predictor
from naivete.variables import CLASS, Name, State, Variable, number_text

if TYPE_CHECKING:
    from naivete.classifiers.base import NetworkClassifier

__all__ = ["Flip", "ReasonsMixin", "SufficientReason"]


@dataclass(frozen=True, eq=False)
class SufficientReason:
    """Observed values that decide the class, whatever the values of all other features are.

    Parameters
    ----------
    target : str
        The name of the class variable.
    prediction : class label
        The predicted class.
    values : dict
        The values of the reason by feature; no proper subset of them decides the class. All observed values if not even these
        together decide it, which is possible only where values are missing.
    observed : int
        The number of observed features.
    counterexample : dict or None
        Values of missing features with which another class is predicted, where the observed values do not decide it; None where the
        reason is sufficient.
    """

    target: Name
    prediction: State
    values: dict[Name, State]
    observed: int
    counterexample: dict[Name, State] | None

    @property
    def sufficient(self) -> bool:
        """Whether the values decide the class."""
        return self.counterexample is None

    def __str__(self) -> str:
        decision = f"{self.target}={self.prediction}"
        if self.counterexample is not None:
            return f"{decision} is not decided: another class is predicted with {_listed(self.counterexample)}"
        if not self.values:
            return f"{decision}, whatever the values are"
        count = f"{len(self.values)} of {self.observed} observed values decide"
        return f"{decision}, because {_listed(self.values)} ({count}, whatever the others are)"

    def _repr_html_(self) -> str:
        from naivete.display.page import table

        rows = [[str(name), str(value)] for name, value in (self.counterexample or self.values).items()]
        return table(["feature", "value"], rows, caption=str(self))


@dataclass(frozen=True, eq=False)
class Flip:
    """The cheapest change of a row with which another class is predicted.

    Parameters
    ----------
    target : str
        The name of the class variable.
    before : class label
        The class that is predicted for the row.
    after : class label or None
        The class that is predicted after the change; None if no allowed change gives another class.
    changes : dict
        The value before and after the change of each feature that changes.
    assumed : dict
        The values that missing features are assumed to have.
    cost : float
        The sum of the costs of the changes, inf if there is no such change.
    """

    target: Name
    before: State
    after: State | None
    changes: dict[Name, tuple[State, State]]
    assumed: dict[Name, State]
    cost: float

    @property
    def found(self) -> bool:
        """Whether there is such a change."""
        return self.after is not None

    def __str__(self) -> str:
        if self.after is None:
            return f"{self.target}={self.before}: no allowed change gives another class"
        changes = ", ".join(f"{name}={new} instead of {old}" for name, (old, new) in self.changes.items())
        parts = [f"with {changes}"] * bool(changes) + [f"assuming {_listed(self.assumed)}"] * bool(self.assumed)
        return f"{self.target}={self.after} instead of {self.before} {' and '.join(parts)} (cost {number_text(self.cost)})"

    def _repr_html_(self) -> str:
        from naivete.display.page import table

        rows = [[str(name), str(old), str(new)] for name, (old, new) in self.changes.items()]
        rows += [[str(name), "missing", str(new)] for name, new in self.assumed.items()]
        return table(["feature", "before", "after"], rows, caption=str(self))


def _listed(values: Mapping[Name, State]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())


class ReasonsMixin:
    """Sufficient reasons and flips of the prediction of one row."""

    def sufficient_reason(self, row: Any) -> SufficientReason:
        """Return observed values of a row that decide its class, whatever the values of all other features are.

        The class is decided if it is predicted for every row with these values, for all states of the other features that the
        classifier knows. Rows of probability zero in every class do not count. Classes whose log probabilities differ by less
        than 1e-9 are tied, and the first one is predicted. A missing value can be anything. Without any one of the values of the
        reason the class is not decided; for naive Bayes with two classes there is no smaller reason.

        It is exact for every classifier that is one network of tables or one tree: a sum over features for naive Bayes, dynamic
        programming over the tree of features for TAN, bucket elimination for other networks, which are refused with a
        ResourceError where that would need more than four million cells. Continuous features with densities are refused.

        Parameters
        ----------
        row : dict or sequence
            The observed values, as in `ask_next`; but where missing is a state of its own, a value that is left out has this state.

        Returns
        -------
        SufficientReason
            The values that decide the class.

        Raises
        ------
        ResourceError
            If the computation would need more than four million cells.

        References
        ----------
        Shih, Choi and Darwiche (2018), A symbolic approach to explaining Bayesian network classifiers.

        Examples
        --------
        >>> from naivete import NaiveBayes
        >>> X = [["yes", "high"], ["yes", "low"], ["no", "high"], ["no", "low"]] * 5
        >>> model = NaiveBayes().fit(X, ["ill", "ill", "well", "well"] * 5)
        >>> print(model.sufficient_reason(["yes", "high"]))
        class=ill, because x0=yes (1 of 2 observed values decide, whatever the others are)
        """
        from naivete.inference.reasons import sufficient_reason
        from naivete.inference.tree_reasons import is_plain_tree, sufficient_tree_reason

        model: Any = self
        values, schema = _whole_codes(model, row), model.schema_
        decided = _decided(model, values)
        function = sufficient_tree_reason if is_plain_tree(model.network_) else sufficient_reason
        reason = function(model.network_, values, decided)
        return SufficientReason(
            model.network_.name(CLASS),
            model.network_.variables[CLASS].states[decided],
            _named(schema, {x: values[x] for x in reason.features}),
            len(values),
            None if reason.counterexample is None else _named(schema, reason.counterexample),
        )

    def flip(self, row: Any, target_class: Any = None, fixed: Iterable[Name] = (), costs: Any = None) -> Flip:
        """Return the cheapest change of observed values with which another class is predicted.

        Missing values are assumed to be what helps most, at no cost, so that a flip of cost 0 means that the observed values do
        not decide the class. Of several flips with the same cost, that with the largest log odds is returned. Ties and refusals
        are as in `sufficient_reason`.

        It is exact, by the same dynamic programming with the costs as one more dimension; so are costs with decimals, which are
        multiples of a common unit. With a target class and more than two classes, the target has to beat all others at once, and
        a branch and bound search over the same maxima is made, which is refused with a ResourceError after 20,000 steps.

        Parameters
        ----------
        row : dict or sequence
            The observed values, as in `ask_next`; but where missing is a state of its own, a value that is left out has this state.
        target_class : class label or None, default=None
            The class that is wanted; by default any other.
        fixed : iterable of str, default=()
            The names of features that must not change.
        costs : dict or None, default=None
            The cost of changing each feature, by name: a number above 0, or a mapping from the values that it may change to, to
            their costs; 1 for the features that are not named.

        Returns
        -------
        Flip
            The values that change, the class that is then predicted, and the cost; `found` is False where no change is possible.

        Raises
        ------
        ResourceError
            If the search would take too much memory or too many steps.

        References
        ----------
        Wachter, Mittelstadt and Russell (2018), Counterfactual explanations without opening the black box.

        Examples
        --------
        >>> from naivete import NaiveBayes
        >>> X = [["yes", "high"], ["yes", "low"], ["no", "high"], ["no", "low"]] * 5
        >>> model = NaiveBayes().fit(X, ["ill", "ill", "well", "well"] * 5)
        >>> print(model.flip(["yes", "high"]))
        class=well instead of ill with x0=no instead of yes (cost 1)
        >>> model.flip(["yes", "high"], fixed=["x0"]).found
        False
        """
        from naivete.inference.flips import cheapest_flip
        from naivete.inference.tree_reasons import cheapest_tree_flip, is_plain_tree

        model: Any = self
        values, schema = _whole_codes(model, row), model.schema_
        decided, classes = _decided(model, values), model.network_.variables[CLASS].states
        wanted = None if target_class is None else _class_position(classes, target_class, decided)
        state_costs = _state_costs(schema, values, fixed, costs)
        function = cheapest_tree_flip if is_plain_tree(model.network_) else cheapest_flip
        result = function(model.network_, state_costs, decided, wanted)
        name, before = model.network_.name(CLASS), classes[decided]
        if result is None:
            return Flip(name, before, None, {}, {}, inf)
        changed = {x: state for x, state in result.states.items() if x in values and state != values[x]}
        old, new = _named(schema, {x: values[x] for x in changed}), _named(schema, changed)
        assumed = _named(schema, {x: state for x, state in result.states.items() if x not in values})
        return Flip(name, before, classes[result.predicted], {n: (old[n], new[n]) for n in new}, assumed, float(result.cost))


def _whole_codes(model: NetworkClassifier, row: Any) -> dict[int, int]:
    """Return the codes of the observed values; refuse classifiers for which there are no sufficient reasons and flips."""
    from naivete.classifiers.one_row import observed_codes
    from naivete.inference.tree_reasons import is_plain_tree

    values = observed_codes(model, row)
    network = model.network_
    is_network = isinstance(model.predictor_, (Predictor, DerivedPredictor)) and (not network.derived or is_plain_tree(network))
    if not is_network:
        raise ParameterError(
            f"{type(model).__name__}: sufficient reasons and flips need a classifier that is one network of tables without hidden "
            "variables, or one tree; use NaiveBayes, TAN, KDB, HillClimb or C45"
        )
    continuous = [variable.name for variable in model.schema_ if variable.density]
    if continuous:
        raise DataError(
            f"sufficient reasons and flips are not possible with the continuous feature {quoted(continuous[0])}, whose density has "
            "no finite list of values; discretize it (numbers='cut')"
        )
    return {x: int(code) for x, code in values.items()}


def _decided(model: NetworkClassifier, values: Mapping[int, int]) -> int:
    """Return the predicted class; ties up to rounding go to the first class."""
    from naivete.inference.class_ratios import winning

    columns = []
    for x, variable in enumerate(model.schema_):
        dtype = narrowest(variable.card)
        code = 0 if variable.left_out else values.get(x, missing_code(dtype))
        columns.append(np.array([code], dtype))
    has_missing = np.array([x not in values and not variable.left_out for x, variable in enumerate(model.schema_)], bool)
    posterior, impossible = model.predictor_.posterior(columns, has_missing)
    if len(impossible):
        raise DataError("the observed values have probability 0 in every class; smoothing above 0 avoids this")
    return winning(log(posterior[0]))


def _named(schema: Sequence[Variable], codes: Mapping[int, int]) -> dict[Name, State]:
    from naivete.classifiers.one_row import value_of_code

    return {schema[x].name: value_of_code(schema[x], code) for x, code in sorted(codes.items())}


def _class_position(classes: Sequence[State], wanted: Any, decided: int) -> int:
    position = next((i for i, label in enumerate(classes) if label == wanted), None)
    if position is None:
        raise ParameterError(f"target_class={quoted(wanted)}: there is no such class; {did_you_mean(wanted, classes)}")
    if position == decided:
        raise ParameterError(f"target_class={quoted(wanted)}: this class is predicted already; choose another, or None")
    return position


def _state_costs(schema: Sequence[Variable], values: Mapping[int, int], fixed: Iterable[Name], costs: Any) -> dict[int, Numbers]:
    """Return the cost of each state of each feature; states that stand for no value are not chosen."""
    from naivete.classifiers.one_row import feature_position

    if isinstance(fixed, str):
        raise ParameterError(f"fixed={quoted(fixed)}: a list of names is needed")
    unchanged = {feature_position(schema, name, "fixed") for name in fixed}
    chosen: dict[int, Any] = dict.fromkeys(range(len(schema)), 1.0)
    for name, cost in ({} if costs is None else dict(costs)).items():
        chosen[feature_position(schema, name, "costs")] = cost
    result = {}
    for x, variable in enumerate(schema):
        costs_of_states = _feature_costs(variable, chosen[x])
        if x in values:
            costs_of_states = np.full(variable.card, inf) if x in unchanged else costs_of_states
            costs_of_states[values[x]] = 0.0
        else:
            costs_of_states = np.where(np.arange(variable.card) < max(variable.known, 1), 0.0, inf)
        result[x] = costs_of_states
    return result


def _feature_costs(variable: Variable, cost: Any) -> Numbers:
    """Return the cost of changing to each state."""
    from naivete.classifiers.one_row import number_of, value_code

    costs = np.full(variable.card, inf)
    entries = {int(value_code(variable, value)): c for value, c in cost.items()} if isinstance(cost, Mapping) else None
    for code in range(variable.known) if entries is None else entries:
        number = number_of(cost if entries is None else entries[code])
        if number is None or not number > 0:
            wrong = cost if entries is None else entries[code]
            raise ParameterError(f"costs: {quoted(variable.name)}: {quoted(wrong)} is not a cost; costs are finite numbers above 0")
        costs[code] = number
    return costs
