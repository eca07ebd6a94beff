"""What to ask next about one row: the unobserved features, ranked by what they are expected to tell about the class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.inference.derived_predictor import DerivedPredictor
from naivete.inference.predictor import Predictor, argmax_class
from naivete.network.derived_columns import Hidden
from naivete.variables import CLASS, Name, State, number_text

if TYPE_CHECKING:
    from naivete.classifiers.base import NetworkClassifier
    from naivete.inference.questions import Answers

__all__ = ["Question", "Questions", "QuestionsMixin", "ranked_questions"]


class Question(NamedTuple):
    """A feature that is not observed, and what its value is worth.

    Parameters
    ----------
    feature : str
        The name of the feature.
    gain : float
        The expected information about the class in bits, or the expected reduction of the loss.
    cost : float
        The cost of the question.
    position : int
        The position of the feature.
    answers : tuple of str
        The possible answers as text; empty for a continuous feature, whose answer is a number.
    """

    feature: Name
    gain: float
    cost: float
    position: int
    answers: tuple[str, ...]

    @property
    def value(self) -> float:
        """The gain for each unit of cost, by which questions are ranked."""
        return self.gain / self.cost


@dataclass(frozen=True, eq=False)
class Questions:
    """The unobserved features of a row, the most valuable question first.

    Iteration yields every `Question`; `len`, indices and slices work as in a list.

    Parameters
    ----------
    target : str
        The name of the class variable.
    classes : tuple
        The class labels.
    posterior : ndarray of shape (n_classes,)
        P(class | observed values), in the order of `classes`.
    questions : tuple of Question
        The questions, by decreasing gain for each unit of cost.
    unit : {"bits", "loss"}
        The unit of the gains.
    """

    target: Name
    classes: tuple[State, ...]
    posterior: Numbers
    questions: tuple[Question, ...]
    unit: str

    def __len__(self) -> int:
        return len(self.questions)

    def __iter__(self) -> Iterator[Question]:
        return iter(self.questions)

    def __getitem__(self, key: Any) -> Any:
        return self.questions[key]

    @property
    def best(self) -> Question | None:
        """The most valuable question, None if every feature is observed."""
        return self.questions[0] if self.questions else None

    @property
    def entropy(self) -> float:
        """The uncertainty about the class in bits, the most that any answer can tell."""
        p = self.posterior[self.posterior > 0]
        return float(-(p * np.log2(p)).sum())

    def columns(self) -> dict[str, list[Any]]:
        """Return a table with one row for each question, for `pandas.DataFrame` or `polars.DataFrame`.

        Returns
        -------
        dict of {str: list}
            The columns by name.
        """
        return {
            "feature": [question.feature for question in self],
            self.unit: [question.gain for question in self],
            "cost": [question.cost for question in self],
            f"{self.unit}_per_cost": [question.value for question in self],
        }

    def __str__(self) -> str:
        best = int(argmax_class(self.posterior[None])[0])
        lines = [f"P({self.target}={self.classes[best]}) = {self.posterior[best]:.3f}, {self.entropy:.3f} bits unknown"]
        names = [str(question.feature) for question in self]
        width = max([len(name) for name in names], default=0)
        lines += [
            f"  {name:<{width}}  {question.gain:.4f} {self.unit}{_cost(question)}"
            for name, question in zip(names, self, strict=True)
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Questions({len(self)} features, best: {self.best.feature!r})" if self.best else "Questions(no unobserved feature)"

    def _repr_html_(self) -> str:
        from naivete.display.page import table

        with_costs = any(question.cost != 1 for question in self)
        headers = ["ask next", self.unit, *(["cost", f"{self.unit} per cost"] if with_costs else [])]
        rows = [
            [str(question.feature), question.gain, *([question.cost, question.value] if with_costs else [])] for question in self
        ]
        return table(headers, rows, caption=str(self).partition("\n")[0])


def _cost(question: Question) -> str:
    return "" if question.cost == 1 else f", cost {number_text(question.cost)}"


def ranked_questions(model: NetworkClassifier, values: Mapping[int, float], costs: Any = None, loss: Any = None) -> Questions:
    """Return the unobserved features, ranked.

    Parameters
    ----------
    model : the fitted classifier.
    values : the codes of the observed features.
    costs, loss : as of `QuestionsMixin.ask_next`.
    """
    from naivete.classifiers.one_row import checked_costs

    schema, classes = model.schema_, model.network_.variables[CLASS].states
    cost_of, known = checked_costs(costs, schema), _answers(model, values)
    asked = [x for x in known.tables if not schema[x].left_out]
    gains = _gains([known.tables[x] for x in asked], None if loss is None else _matrix(loss, classes))
    questions = [
        Question(schema[x].name, gain, cost_of[x], x, () if schema[x].density else schema[x].labels)
        for x, gain in zip(asked, gains.tolist(), strict=True)
    ]
    questions.sort(key=lambda question: (-question.value, question.position))
    target = model.network_.name(CLASS)
    return Questions(target, classes, known.posterior, tuple(questions), "bits" if loss is None else "loss")


def _answers(model: NetworkClassifier, values: Mapping[int, float]) -> Answers:
    known = _network_answers(model, values)
    return known.calibrated(model.temperature_) if hasattr(model, "temperature_") else known


def _network_answers(model: NetworkClassifier, values: Mapping[int, float]) -> Answers:
    from naivete.inference.questions import answers as network_answers
    from naivete.inference.questions import predicted_answers

    network = model.network_
    is_network = model.asks_network or isinstance(model.predictor_, (Predictor, DerivedPredictor))
    if is_network and all(isinstance(derived, Hidden) for derived in network.derived.values()):
        return network_answers(network, values)
    return predicted_answers(model.predictor_, network, model.schema_, values)


def _gains(tables: list[Numbers], loss: Numbers | None) -> Numbers:
    from naivete.inference.questions import expected_information, expected_loss_reduction

    if not tables:
        return np.empty(0)
    return expected_information(tables) if loss is None else expected_loss_reduction(tables, loss)


def _matrix(loss: Any, classes: tuple[State, ...]) -> Numbers:
    """Return the loss of each decision for each true class."""
    from naivete.classifiers.losses import Loss

    return (loss if isinstance(loss, Loss) else Loss.of(loss, classes)).aligned(classes).matrix


class QuestionsMixin:
    """Questions about one row: what to find out next."""

    asks_network: ClassVar[bool] = False
    """Whether questions are answered by `network_`, although predictions are not: where missing values are a state of their own."""

    def ask_next(self, row: Any = None, costs: Any = None, loss: Any = None) -> Questions:
        """Return the unobserved features of a row, ranked by what their values are expected to tell about the class.

        The gain of a feature is its mutual information with the class, given the observed values, in bits; or, with `loss`, the
        expected reduction of the expected loss of the best decision. Both are exact: P(class, x | observed) is computed for all
        unobserved features x by one inference. For continuous features the integral over their density is computed numerically.
        In classifiers that are not one network (trees, hierarchies, `AODE`), the gain is computed from the posterior probabilities
        that the classifier predicts after each possible answer. The same holds with `calibration`. For `Spectrum` a missing value
        is a state of its own, not an open question, so that all probabilities are those of its network `network_`; with all values
        known, `predict_proba` is better.

        Parameters
        ----------
        row : dict, sequence or None, default=None
            The observed values: a mapping from names to values, or the values of all features, None or NaN where missing; by
            default nothing is observed. A missing value counts as not observed also where missing is a state of its own.
        costs : dict of {str: float} or None, default=None
            The cost of asking for each feature, by name; 1 for the others. The ranking is by gain for each unit of cost.
        loss : Loss, array-like, dict or None, default=None
            A `Loss`, an array (decided, true) in the order of `classes_`, or a mapping from (decided, true) to costs.

        Returns
        -------
        Questions
            The features, the most valuable first.

        References
        ----------
        Jensen and Nielsen (2007), Bayesian networks and decision graphs, section 11.2: value of information.

        Examples
        --------
        >>> from naivete import NaiveBayes
        >>> X = [["yes", "north"], ["yes", "south"], ["no", "north"], ["no", "south"]]
        >>> model = NaiveBayes().fit(X, ["ill", "ill", "well", "well"])
        >>> [(question.feature, round(question.gain, 3)) for question in model.ask_next()]
        [('x0', 0.189), ('x1', 0.0)]
        """
        from naivete.classifiers.one_row import known_codes

        model: Any = self
        return ranked_questions(model, known_codes(model, {} if row is None else row), costs, loss)
