"""Model specifications such as `kdb:k=2,theta=0.03`: from text to a classifier and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from naivete.classifiers.registry import BY_WORD, PEERS, REGISTRY, entry_of
from naivete.errors import ParameterError, did_you_mean, quoted

if TYPE_CHECKING:
    from naivete.classifiers.base import NetworkClassifier
    from naivete.encoding.encoder import Encoder

__all__ = ["Spec", "classifier_of", "parse_spec", "spec_of", "split_specs"]

_SIMILAR: Final = {word: entry.word for entry in REGISTRY for word in entry.similar}
_PRESETS: Final = {word: (entry.word, preset) for entry in REGISTRY for word, preset in entry.presets.items()}
_CONSTANTS: Final[Mapping[str, bool | None]] = MappingProxyType({"true": True, "false": False, "none": None})

Value = int | float | str | bool | None


@dataclass(frozen=True)
class Spec:
    """A model and its parameters; `str` gives the text that `parse_spec` reads.

    Parameters
    ----------
    word : the name of the model, as in `naivete.classifiers.registry`.
    parameters : the values of the parameters that are set.
    """

    word: str
    parameters: Mapping[str, Value] = field(default_factory=dict)

    def __str__(self) -> str:
        listed = ",".join(f"{name}={_text(value)}" for name, value in self.parameters.items())
        return f"{self.word}:{listed}" if listed else self.word


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)


def parse_spec(text: str, *, peers: bool = False) -> Spec:
    """Return the model and the parameters that a text stands for.

    Parameters
    ----------
    text : the specification.
    peers : whether the classifiers of scikit-learn, such as sk:rf, are accepted.

    >>> parse_spec("kdb:k=2,theta=0.03")
    Spec(word='kdb', parameters={'k': 2, 'theta': 0.03})
    >>> str(parse_spec("fssj"))
    'joined:search=forward'
    """
    if text.strip().lower().startswith("sk:"):
        return _peer(text.strip().lower(), peers=peers)
    word, colon, rest = text.strip().partition(":")
    word, preset = _PRESETS.get(word.strip().lower(), (word.strip().lower(), {}))
    if word not in BY_WORD:
        hint = _hint(word, BY_WORD, _SIMILAR.get(word))
        raise ParameterError(f"model {quoted(text)}: there is no model {quoted(word)}; {hint}")
    if colon and not rest.strip():
        raise ParameterError(f"model {quoted(text)}: nothing follows the colon; write for instance kdb:k=2,theta=0.03")
    parameters: dict[str, Value] = dict(preset)
    for part in rest.split(",") if rest else []:
        name, value = _parameter(text, word, part)
        if name in parameters:
            raise ParameterError(f"model {quoted(text)}: the parameter {quoted(name)} is given twice")
        parameters[name] = value
    return Spec(word, parameters)


def _peer(word: str, *, peers: bool) -> Spec:
    """Return a classifier of scikit-learn; an error where it is none of the known ones, or where it is not accepted."""
    if word not in PEERS:
        raise ParameterError(f"model {quoted(word)}: scikit-learn's classifiers here are {', '.join(PEERS)}, without parameters")
    if not peers:
        raise ParameterError(
            f"model {quoted(word)}: {PEERS[word]} is for comparison only (naivete evaluate, naivete compare) and cannot be saved; "
            f"choose among {', '.join(BY_WORD)}"
        )
    return Spec(word)


def _parameter(text: str, word: str, part: str) -> tuple[str, Value]:
    name, equals, value = (piece.strip() for piece in part.partition("="))
    known = BY_WORD[word].parameters
    if name not in known:
        if name == "calibration":
            if word == "spectrum":
                raise ParameterError(
                    f"model {quoted(text)}: spectrum is calibrated already: its weights are fitted by leave-one-out; leave out "
                    "calibration"
                )
            raise ParameterError(f"model {quoted(text)}: {word} has no calibration, since there is no exact leave-one-out for it")
        hint = _hint(name, known, "criterion" if name == "score" and "criterion" in known else None)
        raise ParameterError(f"model {quoted(text)}: {word} has no parameter {quoted(name)}; {hint}")
    if not equals or not value:
        raise ParameterError(f"model {quoted(text)}: the parameter {name} has no value; write {name}=VALUE")
    return name, _value(value)


def _hint(word: str, known: Iterable[str], similar: str | None = None) -> str:
    return f"did you mean {similar}?" if similar else did_you_mean(word, known, "choose among", count=3)


def _value(text: str) -> Value:
    """Return a whole number, a number, true, false or none where the text is one, else the text itself."""
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    for number in (int, float):
        with suppress(ValueError):
            return number(text)
    return text


def split_specs(texts: Iterable[str]) -> list[Spec]:
    """Return the models of some arguments, each of which holds one model or several, separated by semicolons or commas.

    A piece like `theta=0.03` between commas belongs to the model before it. A model that is repeated is returned once. The
    classifiers of scikit-learn, such as sk:rf, are accepted here.

    >>> [str(spec) for spec in split_specs(["nb,kdb:k=1,theta=0.03,tan", "kdb:k=2; majority"])]
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
        raise ParameterError(f"no model is given; choose among {', '.join(BY_WORD)}")
    specs = {str(spec): spec for spec in (parse_spec(piece, peers=True) for piece in pieces)}
    return list(specs.values())


def classifier_of(model: Spec | str, *, encoder: Encoder | None = None, budget: int | None = None) -> NetworkClassifier:
    """Return the unfitted classifier of a model.

    Parameters
    ----------
    model : the model, as a `Spec` or as text.
    encoder : how columns are encoded; by default `Encoder()`.
    budget : the most bytes its tables may take; by default that of the classifier.

    >>> classifier_of("kdb:k=1"), classifier_of("nb:prior=1/3")
    (KDB(k=1), NaiveBayes(prior=(0.25, 0.75)))
    """
    spec = parse_spec(model) if isinstance(model, str) else model
    parameters: dict[str, Any] = dict(spec.parameters)
    if "prior" in parameters:
        parameters["prior"] = _prior(str(parameters["prior"]))
    if ":" in str(parameters.get("class_weight", "")):
        parameters["class_weight"] = _by_label("class_weight", str(parameters["class_weight"]))
    if budget is not None:
        parameters["budget"] = budget
    return BY_WORD[spec.word].estimator(encoder=encoder, **parameters)


def _prior(text: str) -> tuple[float, ...] | dict[Value, float] | str:
    """Return the prior probabilities of the classes, normalized to sum to one; "uniform" as it is.

    >>> _prior("1/1/2"), _prior("ill:1/well:3")
    ((0.25, 0.25, 0.5), {'ill': 0.25, 'well': 0.75})
    """
    if text.lower() == "uniform":
        return "uniform"
    if ":" in text:
        by_label = _by_label("prior", text)
        return dict(zip(by_label, _shares(text, list(by_label.values())), strict=True))
    try:
        return _shares(text, [float(share) for share in text.split("/")])
    except ValueError as error:
        raise _unknown_prior(text) from error


def _shares(text: str, numbers: list[float]) -> tuple[float, ...]:
    """Return the numbers divided by their sum."""
    total = sum(numbers)
    if not 0 < total < inf or min(numbers) < 0:
        raise _unknown_prior(text)
    return tuple(number / total for number in numbers)


def _unknown_prior(text: str) -> ParameterError:
    return ParameterError(
        f"prior={text}: write a share for every class with / between them, as in prior=1/1 or prior=ill:1/well:3, or "
        "write prior=uniform"
    )


def _by_label(name: str, text: str) -> dict[Value, float]:
    """Return numbers by class labels.

    >>> _by_label("class_weight", "ill:2/well:0.5")
    {'ill': 2.0, 'well': 0.5}
    """
    numbers: dict[Value, float] = {}
    for part in text.split("/"):
        label, _, number = part.rpartition(":")
        try:
            numbers[_value(label.strip())] = float(number)
        except ValueError:
            raise ParameterError(f"{name}={text}: write LABEL:NUMBER for every class, with / between them") from None
    return numbers


def _labelled_numbers(value: Any) -> Any:
    """Return numbers by class or by label as text, as a specification has them; other values as they are."""
    if isinstance(value, Mapping):
        return "/".join(f"{label}:{float(number)}" for label, number in value.items())
    return value if value is None or isinstance(value, str) else "/".join(str(float(number)) for number in value)


def spec_of(classifier: NetworkClassifier) -> Spec:
    """Return the model of a classifier, with the parameters that differ from their defaults and can be written as text.

    >>> str(spec_of(classifier_of("kdb:theta=0.03")))
    'kdb:k=2,theta=0.03'
    """
    entry = entry_of(classifier)
    if entry is None:
        raise ParameterError(f"{quoted(classifier)} is not a classifier of naivete: {', '.join(BY_WORD)}")
    defaults = entry.estimator().get_params(deep=False)
    values = {name: _as_word(name, value) for name, value in classifier.get_params(deep=False).items()}
    for name in ("prior", "class_weight"):
        if name in values:
            values[name] = _labelled_numbers(values[name])
    shown = {name: values[name] for name in entry.parameters if values[name] != defaults[name] or name in entry.always}
    return Spec(entry.word, shown)


def _as_word(name: str, value: Any) -> Any:
    """Return the word for a score, a test or a random state where there is one, a list for an array, else the value itself."""
    from naivete.classifiers.saving import plain_value

    if name in ("criterion", "test", "order", "random_state"):
        with suppress(ParameterError):
            return plain_value(name, value)
    return value
