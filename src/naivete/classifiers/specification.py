"""Models as text, the same everywhere: `nb`, `tan`, `kdb:k=2,theta=0.03`, `majority`, `lookup`; to a classifier and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from naivete.errors import ParameterError, close_matches, quoted

if TYPE_CHECKING:
    from naivete.classifiers.dependence import NetworkClassifier
    from naivete.encoding.encoder import Encoder

__all__ = ["PARAMETERS", "Spec", "classifier_of", "parse_spec", "spec_of", "split_specs"]

PARAMETERS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "majority": ("smoothing", "prior"),
        "lookup": (),
        "nb": ("smoothing", "prior"),
        "tan": ("root", "smoothing", "prior"),
        "kdb": ("k", "theta", "alpha", "k_max", "smoothing", "prior"),
        "full": ("shared", "shrinkage", "smoothing", "prior"),
        "k2": ("order", "max_parents", "criterion", "smoothing", "prior"),
        "hc": ("criterion", "max_parents", "tabu", "max_steps", "class_root", "smoothing", "prior"),
        "cb": (
            *("alpha", "test", "criterion", "stop", "class_root", "partial_order", "max_order", "max_parents"),
            *("smoothing", "prior"),
        ),
        "pc": ("alpha", "test", "max_order", "smoothing", "prior"),
        "naive-as": ("random_state", "smoothing", "prior"),
        "k2-as": ("equal", "learner", "criterion", "max_parents", "random_state", "smoothing", "prior"),
        "info-as": (
            *("metric", "learner", "stop", "alpha", "guided", "backward", "random_state"),
            *("smoothing", "prior"),
        ),
        "joined": ("search", "equal", "max_joined", "smoothing", "prior"),
        "knaive": (
            *("k", "strong", "conditional", "average", "max_parents", "shared", "shrinkage", "starts", "random_state"),
            *("smoothing", "prior"),
        ),
        "recursive": ("min_rows", "prune", "max_depth", "parity", "refit", "smoothing", "prior"),
        "hidden": (
            *("states", "max_states", "alpha", "starts", "random_state", "tolerance", "max_iterations"),
            *("smoothing", "prior"),
        ),
        "id3": ("max_depth", "min_rows", "smoothing"),
        "c45": ("min_rows", "confidence", "raising", "prune", "max_depth", "smoothing"),
    }
)
"""The words for the classifiers, and the parameters that a model written as text may set."""

_ALIASES: Final = {
    "hillclimb": "hc",
    "hill-climb": "hc",
    "selective": "naive-as",
    "k2as": "k2-as",
    "infoas": "info-as",
    "cig": "info-as",
    "cgr": "info-as",
    "cdc": "info-as",
    "naive": "nb",
    "naivebayes": "nb",
    "naive-bayes": "nb",
    "bayes": "nb",
    "zeror": "majority",
    "j48": "c45",
    "c4.5": "c45",
    "tree": "c45",
    "hiddennaive": "hidden",
    "k-naive": "knaive",
    "joinednaive": "joined",
}
_NAMED: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = MappingProxyType(
    {"fssj": ("joined", {"search": "forward"}), "bsej": ("joined", {"search": "backward"}), "rbc": ("recursive", {})}
)
"""Other words for a model with some of its parameters."""
_ALWAYS: Final = {"kdb": ("k",)}
"""Parameters that are written even where they have their usual value."""

Value = int | float | str | bool | None
_WORDS: Final[Mapping[str, bool | None]] = MappingProxyType({"true": True, "false": False, "none": None})


@dataclass(frozen=True)
class Spec:
    """A model and its parameters; as text, what `parse_spec` reads."""

    word: str
    parameters: Mapping[str, Value] = field(default_factory=dict)

    def __str__(self) -> str:
        listed = ",".join(f"{name}={_text(value)}" for name, value in self.parameters.items())
        return f"{self.word}:{listed}" if listed else self.word


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)


def parse_spec(text: str) -> Spec:
    """The model that a text stands for.

    >>> parsed("kdb:k=2,theta=0.03")
    Spec(word='kdb', parameters={'k': 2, 'theta': 0.03})
    >>> str(parsed("fssj"))
    'joined:search=forward'
    """
    word, colon, rest = text.strip().partition(":")
    word, given = _NAMED.get(word.strip().lower(), (word.strip().lower(), {}))
    if word not in PARAMETERS:
        meant = _meant(word, PARAMETERS, _ALIASES.get(word))
        raise ParameterError(f"model {quoted(text)}: there is no model {quoted(word)}; {meant}")
    if colon and not rest.strip():
        raise ParameterError(f"model {quoted(text)}: nothing follows the colon; write for instance kdb:k=2,theta=0.03")
    parameters: dict[str, Value] = dict(given)
    for part in rest.split(",") if rest else []:
        name, value = _parameter(text, word, part)
        if name in parameters:
            raise ParameterError(f"model {quoted(text)}: the parameter {quoted(name)} is given twice")
        parameters[name] = value
    return Spec(word, parameters)


def _parameter(text: str, word: str, part: str) -> tuple[str, Value]:
    name, equals, value = (piece.strip() for piece in part.partition("="))
    if name not in PARAMETERS[word]:
        if not PARAMETERS[word]:
            raise ParameterError(f"model {quoted(text)}: {word} has no parameters; write {word}")
        alias = "criterion" if name == "score" and "criterion" in PARAMETERS[word] else None
        meant = _meant(name, PARAMETERS[word], alias)
        raise ParameterError(f"model {quoted(text)}: {word} has no parameter {quoted(name)}; {meant}")
    if not equals or not value:
        raise ParameterError(f"model {quoted(text)}: the parameter {name} has no value; write {name}=VALUE")
    return name, _value(value)


def _meant(word: str, known: Iterable[str], alias: str | None = None) -> str:
    close = [alias] if alias else close_matches(word, known)
    return f"did you mean {' or '.join(close)}?" if close else f"choose among {', '.join(known)}"


def _value(text: str) -> Value:
    """A whole number, a number, true, false, none, or another word."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for number in (int, float):
        with suppress(ValueError):
            return number(text)
    return text


def split_specs(texts: Iterable[str]) -> list[Spec]:
    """The models of some arguments, each with one model or with several between semicolons or commas.

    A piece like `theta=0.03` between commas belongs to the model before it.

    >>> [str(spec) for spec in split(["nb,kdb:k=1,theta=0.03,tan", "kdb:k=2; majority"])]
    ['nb', 'kdb:k=1,theta=0.03', 'tan', 'kdb:k=2', 'majority']
    """
    pieces: list[str] = []
    for text in texts:
        for group in filter(str.strip, text.split(";")):
            for i, piece in enumerate(group.split(",")):
                if i and "=" in piece.partition(":")[0]:
                    pieces[-1] += f",{piece}"
                elif piece.strip():
                    pieces.append(piece)
    if not pieces:
        raise ParameterError(f"no model is given; choose among {', '.join(PARAMETERS)}")
    specs = {str(spec): spec for spec in map(parse_spec, pieces)}
    return list(specs.values())


def classifier_of(model: Spec | str, *, encoder: Encoder | None = None, budget: int | None = None) -> NetworkClassifier:
    """The classifier, not fitted yet, of a model.

    Parameters
    ----------
    model : the model, perhaps as text.
    encoder : how columns become states; None for the usual way.
    budget : the most bytes its tables may take; None for the usual number.

    >>> classifier_of("kdb:k=1"), classifier_of("nb:prior=1/3")
    (KDB(k=1), NaiveBayes(prior=(0.25, 0.75)))
    """
    from naivete.classifiers.saving import KINDS

    spec = parse_spec(model) if isinstance(model, str) else model
    parameters: dict[str, Any] = dict(spec.parameters)
    if "prior" in parameters:
        parameters["prior"] = _prior(str(parameters["prior"]))
    if budget is not None:
        parameters["budget"] = budget
    return KINDS[spec.word](encoder=encoder, **parameters)


def _prior(text: str) -> tuple[float, ...]:
    """The shares of the classes, made to sum to one.

    >>> _prior("1/1/2")
    (0.25, 0.25, 0.5)
    """
    try:
        shares = [float(share) for share in text.split("/")]
    except ValueError:
        shares = []
    total = sum(shares)
    if not 0 < total < inf or min(shares) < 0:
        raise ParameterError(f"prior={text}: write a share for every class with / between them, as in prior=1/1 or prior=0.2/0.8")
    return tuple(share / total for share in shares)


def spec_of(classifier: NetworkClassifier) -> Spec:
    """The model of a classifier, with the parameters that differ from the usual ones and can be written as text.

    >>> str(spec_of(classifier_of("kdb:theta=0.03")))
    'kdb:k=2,theta=0.03'
    """
    from naivete.classifiers.saving import KINDS

    word = next((word for word, kind in KINDS.items() if type(classifier) is kind), None)
    if word is None:
        raise ParameterError(f"{quoted(classifier)} is not a classifier of naivete: {', '.join(KINDS)}")
    usual = KINDS[word]().get_params(deep=False)
    own = {name: _as_word(name, value) for name, value in classifier.get_params(deep=False).items()}
    if own.get("prior") is not None:
        own["prior"] = "/".join(str(float(share)) for share in own["prior"])
    told = {name: own[name] for name in PARAMETERS[word] if own[name] != usual[name] or name in _ALWAYS.get(word, ())}
    return Spec(word, told)


def _as_word(name: str, value: Any) -> Any:
    """The word for a score, a test or a generator where there is one, a list for an array, else the value itself."""
    from naivete.classifiers.saving import plain_value

    if name in ("criterion", "test", "order", "random_state"):
        with suppress(ParameterError):
            return plain_value(name, value)
    return value
