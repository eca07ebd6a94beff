"""One question after another about a case, until its class is probable enough."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from naivete._kernels.codes import Numbers
from naivete.classifiers.one_row import checked_costs, feature_position, known_codes, number_of, value_code, value_of_code
from naivete.classifiers.questions import Question, ranked_questions
from naivete.errors import DataError, ParameterError, did_you_mean, quoted
from naivete.inference.predictor import argmax_class
from naivete.variables import Name, State

if TYPE_CHECKING:
    from naivete.classifiers.base import NetworkClassifier

__all__ = ["Answer", "Questionnaire"]

RULES: Final = ("posterior", "gain", "questions")
"""The stopping rules."""
LEAST_GAIN: Final = 1e-9
"""A question with a smaller gain is not asked."""


class Answer(NamedTuple):
    """A question that was answered.

    Parameters
    ----------
    feature : str
        The name of the feature.
    value : object
        The answer, None if it is unknown.
    gain : float
        The expected gain of the question before the answer; 0 for values that were given at the start.
    cost : float
        The cost of the question.
    posterior : ndarray of shape (n_classes,)
        P(class | all answers so far).
    """

    feature: Name
    value: State | None
    gain: float
    cost: float
    posterior: Numbers


class Questionnaire:
    """Ask for one feature after another, always the most valuable one, until the class is probable enough.

    After each answer all remaining questions are ranked again by `ask_next`. A feature whose value is unknown is not asked for
    again. The questionnaire ends when one of the stopping rules holds, or when no remaining feature carries information.

    Parameters
    ----------
    model : NetworkClassifier
        A fitted classifier.
    costs : dict of {str: float} or None, default=None
        The cost of each question, by name; 1 for the others. The next question has the largest gain for each unit of cost.
    loss : Loss, array-like, dict or None, default=None
        A loss matrix as in `ask_next`; questions are then chosen by the expected reduction of the loss.
    stop : float or dict of {str: float}, default=0.95
        When to end: at this probability of the most probable class, or a mapping with one or several of the rules
        "posterior" (that probability), "gain" (no question has at least this gain, in bits or in units of the loss) and "questions"
        (this many questions have been asked).
    row : dict, sequence or None, default=None
        The values that are known at the start, as in `ask_next`.

    Attributes
    ----------
    history : list of Answer
        Every `Answer` so far, in order.
    posterior : ndarray of shape (n_classes,)
        P(class | answers), in the order of `classes`.
    classes : tuple
        The class labels.
    prediction : class label
        The most probable class.
    questions : Questions
        The `Questions` that remain, ranked, also those that would not be asked any more.
    stopped : str or None
        Why no question is asked any more: "posterior", "gain", "questions" or "no questions"; None before.
    spent : float
        The sum of the costs of the questions that were asked.

    References
    ----------
    Jensen and Nielsen (2007), Bayesian networks and decision graphs, section 11.2: myopic value of information.

    Examples
    --------
    >>> from naivete import NaiveBayes, Questionnaire
    >>> X = [["yes", "high"], ["yes", "low"], ["no", "high"], ["no", "low"]] * 5
    >>> model = NaiveBayes().fit(X, ["ill", "ill", "well", "well"] * 5)
    >>> questionnaire = Questionnaire(model, stop=0.9)
    >>> questionnaire.next().feature
    'x0'
    >>> questionnaire.answer("yes")
    >>> questionnaire.next() is None, questionnaire.prediction, questionnaire.stopped
    (True, 'ill', 'posterior')
    """

    def __init__(
        self,
        model: NetworkClassifier,
        *,
        costs: Any = None,
        loss: Any = None,
        stop: float | Mapping[str, float] = 0.95,
        row: Any = None,
    ) -> None:
        self._model, self._costs, self._loss = model, costs, loss
        self._rules = _checked_rules(stop)
        self.history: list[Answer] = []
        self._ask(known_codes(model, {} if row is None else row), frozenset())

    def _ask(self, values: dict[int, float], unknown: frozenset[int]) -> None:
        """Rank the questions that remain with these values; nothing changes if the values are impossible."""
        ranked = ranked_questions(self._model, values, self._costs, self._loss)
        remaining = tuple(question for question in ranked if question.position not in unknown)
        self.questions = replace(ranked, questions=remaining)
        self._values, self._unknown = values, unknown

    @property
    def stopped(self) -> str | None:
        """Why no question is asked any more: "posterior", "gain", "questions" or "no questions"; None before."""
        if self.posterior.max() >= self._rules.get("posterior", math.inf):
            return "posterior"
        if len(self.history) >= self._rules.get("questions", math.inf):
            return "questions"
        most = max((question.gain for question in self.questions), default=0.0)
        return "no questions" if most < LEAST_GAIN else "gain" if most < self._rules.get("gain", 0.0) else None

    def next(self) -> Question | None:
        """Return the question to ask now, the same until it is answered; None if the questionnaire has ended.

        Returns
        -------
        Question or None
            The feature to ask for, its expected gain and its cost.
        """
        least = max(LEAST_GAIN, self._rules.get("gain", 0.0))
        return None if self.stopped else next(question for question in self.questions if question.gain >= least)

    def answer(self, value: Any, feature: Name = None) -> None:
        """Record the answer to the current question, or the value of another feature, which replaces an earlier one.

        Parameters
        ----------
        value : object
            A state, a number, or the label of a state or interval; None if it is unknown. Where missing is a state of its own, None
            stands for that state.
        feature : str or None, default=None
            The name of the feature; by default that of the current question.
        """
        position = self._position(feature)
        variable = self._model.schema_[position]
        gain = next((question.gain for question in self.questions if question.position == position), 0.0)
        others = {x: code for x, code in self._values.items() if x != position}
        if value is None and not variable.missing:
            self._ask(others, self._unknown | {position})
        else:
            code = value_code(variable, value)
            value = value_of_code(variable, code)
            self._ask({**others, position: code}, self._unknown - {position})
        cost = checked_costs(self._costs, self._model.schema_)[position]
        self.history.append(Answer(variable.name, value, gain, cost, self.posterior))

    def _position(self, feature: Name) -> int:
        if feature is not None:
            return feature_position(self._model.schema_, feature, "feature")
        question = self.next()
        if question is None:
            raise DataError(f"the questionnaire has ended ({self.stopped}); name the feature to change its value")
        return question.position

    @property
    def posterior(self) -> Numbers:
        """P(class | answers), in the order of `classes`."""
        return self.questions.posterior

    @property
    def classes(self) -> tuple[State, ...]:
        """The class labels."""
        return self.questions.classes

    @property
    def prediction(self) -> State:
        """The most probable class."""
        return self.classes[int(argmax_class(self.posterior[None])[0])]

    @property
    def spent(self) -> float:
        """The sum of the costs of the questions that were asked."""
        return sum(answer.cost for answer in self.history)

    def __repr__(self) -> str:
        question = self.next()
        state = f"next: {question.feature!r}" if question else f"ended: {self.stopped}"
        return f"Questionnaire({len(self.history)} answers, P({self.prediction!r}) = {self.posterior.max():.3f}, {state})"


def _checked_rules(stop: Any) -> dict[str, float]:
    """Return the stopping rules by name."""
    rules = dict(stop) if isinstance(stop, Mapping) else {"posterior": stop}
    for name, value in rules.items():
        if name not in RULES:
            raise ParameterError(f"stop: there is no rule {quoted(name)}; {did_you_mean(name, RULES)}")
        number = number_of(value)
        if number is None or number < 0 or (name == "posterior" and number > 1):
            limits = {"posterior": "a probability", "gain": "a number of at least 0", "questions": "a number of at least 0"}
            raise ParameterError(f"stop: {quoted(name)}: {quoted(value)} is not {limits[name]}")
        rules[name] = number
    return rules
