"""Save and load fitted classifiers; a loaded classifier makes exactly the predictions of the saved one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.estimator import check_fitted
from naivete.classifiers.model_file import Model, model_bytes, read_model
from naivete.classifiers.registry import BY_WORD, entry_of
from naivete.encoding.encoder import Encoder
from naivete.errors import ModelFileError, NaiveteError, ParameterError, close_matches, quoted
from naivete.storage.canonical_json import FieldError
from naivete.variables import CLASS

if TYPE_CHECKING:
    from naivete.encoding.discretization import Cut

__all__ = ["classifier_of", "cut_of", "load", "model_hash", "model_of", "plain_value", "save"]

LABELS = {"O": "object", "U": "object", "i": "integer", "u": "integer", "f": "float", "b": "truth"}
DTYPES = {"object": object, "text": np.str_, "integer": np.int64, "float": np.float64, "truth": np.bool_}


_NEWER = ("calibration", "class_weight")


def save(classifier: NetworkClassifier, path: str | PathLike[str], *, overwrite: bool = True, counts: bool = False) -> None:
    """Write a fitted classifier to a model file; equal classifiers give equal bytes.

    The file is complete or, after a failure, as it was before.

    Parameters
    ----------
    classifier : NetworkClassifier
        The fitted classifier.
    path : str or path-like
        The file, by convention with the ending `.nvt`.
    overwrite : bool, default=True
        Whether an existing file may be replaced.
    counts : bool, default=False
        Whether to store the counts that the classifier keeps of its cases, so that `partial_fit`, `merge` and `forget` continue
        after `load`. Such a file holds every distinct value of the training cases and how often they occur together.

    Raises
    ------
    FileError
        If the file cannot be written, or exists and `overwrite` is False.
    ParameterError
        If `counts` is True and the classifier keeps rows instead of counts, or nothing.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from naivete import NaiveBayes, load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(NaiveBayes().fit([["a"], ["b"]], ["no", "yes"]), Path(folder, "model.nvt"))
    ...     print(load(Path(folder, "model.nvt")))
    NaiveBayes()
    """
    from pathlib import Path

    from naivete.storage.atomic import atomic_write, file_name

    file = Path(file_name(path))
    model = model_of(classifier)
    if counts:
        from naivete.classifiers.kept_file import kept_bytes

        model = replace(model, optional={"counts": kept_bytes(classifier.kept_counts())})
    atomic_write(file, model_bytes(model), overwrite=overwrite)


def load(path: str | PathLike[str]) -> NetworkClassifier:
    """Return the classifier in a model file; nothing in the file is executed.

    The checksums of the file and the ranges of all values are checked.

    Parameters
    ----------
    path : str or path-like
        The model file.

    Returns
    -------
    NetworkClassifier
        The fitted classifier, which makes exactly the predictions of the saved one.

    Raises
    ------
    FileError
        If the file cannot be read.
    ModelFileError
        If the file is damaged, or of a version that this library cannot read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from naivete import NaiveBayes, load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(NaiveBayes().fit([["a"], ["b"]], ["no", "yes"]), Path(folder, "model.nvt"))
    ...     model = load(Path(folder, "model.nvt"))
    >>> model.predict([["b"]]).tolist()
    ['yes']
    """
    from naivete.storage.atomic import file_name

    file = file_name(path)
    return classifier_of(read_model(file), file)


def model_hash(classifier: NetworkClassifier) -> str:
    """Return the SHA-256 of the classifier's model file: equal for equal models.

    Parameters
    ----------
    classifier : NetworkClassifier
        The fitted classifier.

    Returns
    -------
    str
        The hash, 64 hexadecimal digits.

    Examples
    --------
    >>> from naivete import NaiveBayes, model_hash
    >>> one, two = (NaiveBayes().fit([["a"], ["b"]], ["no", "yes"]) for _ in range(2))
    >>> model_hash(one) == model_hash(two)
    True
    """
    import hashlib

    return hashlib.sha256(model_bytes(model_of(classifier))).hexdigest()


def model_of(classifier: NetworkClassifier) -> Model:
    """Return the classifier as plain data."""
    kind = _kind(classifier)
    check_fitted(classifier, "call 'fit' before saving it")
    parameters = _plain_parameters(classifier)
    notes: dict[str, Any] = {
        "framed": classifier._framed,
        "labels": LABELS[classifier.classes_.dtype.kind],
        "relevance": classifier.relevance_.tolist(),
        "learned": {name: plain_value(name, getattr(classifier, name)) for name in _saved(classifier) if hasattr(classifier, name)},
        "arcs": [[p, x, bits] for (p, x), bits in sorted(classifier.arc_information_.items())],
    }
    if hasattr(classifier, "cases_"):
        notes["cases"] = float(classifier.cases_)
    if getattr(classifier, "missing_tokens_", ()):
        notes["missing_tokens"] = list(classifier.missing_tokens_)
    return Model(kind, parameters, classifier.network_, notes, classifier.plain_more())


def _kind(classifier: NetworkClassifier) -> str:
    entry = entry_of(classifier)
    if entry is None:
        raise ParameterError(f"{type(classifier).__name__} cannot be saved; the classifiers of naivete can: {', '.join(BY_WORD)}")
    return entry.word


def classifier_of(model: Model, where: str) -> NetworkClassifier:
    """Return the classifier that a model describes; errors about invalid parameters or notes name the file `where`."""
    if model.kind not in BY_WORD:
        close = close_matches(model.kind, BY_WORD)
        hint = f" (like {close[0]!r})" if close else ""
        raise ModelFileError(f"{where}: kind: {quoted(model.kind)} is not a classifier of this version{hint}")
    try:
        return _classifier(model)
    except FieldError as error:
        other = "all checksums are correct, so naivete did not write this file; do not use it"
        raise ModelFileError(f"{where}: {error.field}: {error.reason}; {other}") from None
    except (NaiveteError, KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(f"{where}: parameters or notes do not make a classifier: {quoted(error)}") from None


def _classifier(model: Model) -> NetworkClassifier:
    classifier = _unfitted(model.kind, model.parameters)
    features = model.network.inputs
    relevance = np.array(model.notes["relevance"], np.float64)
    arcs = {(int(p), int(x)): float(bits) for p, x, bits in model.notes["arcs"]}
    known = set(model.network.arcs)
    if relevance.shape != (len(features),) or not np.all(relevance >= 0) or not np.all(np.isfinite(relevance)):
        raise ModelFileError("notes.relevance: one number of bits for each feature is needed")
    if not all(arc in known and 0 <= bits < np.inf for arc, bits in arcs.items()):
        raise ModelFileError("notes.arcs: an arc is not in the network, or its information is not a number of bits")
    states = model.network.variables[CLASS].states
    learned = model.notes["learned"]
    if not isinstance(learned, dict) or not set(learned) <= set(_saved(classifier)):
        raise ModelFileError(f"notes.learned: {quoted(learned)} are not all known to this version")
    _check_temperature(learned, classifier)
    for name in ("selected_", "naive_"):
        _check_selected(learned.get(name, []), name, len(features))
    for group in learned.get("groups_", []):
        _check_selected(group, "groups_", len(features))
    labels: Any = np.array(states, DTYPES[model.notes["labels"]])
    beside: dict[str, Any] = {"rows_": 0, "passes_": 0, "relevance_": relevance, "arc_information_": arcs, **learned}
    tokens = model.notes.get("missing_tokens", [])
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        raise ModelFileError(f"notes.missing_tokens: {quoted(tokens)} is not a list of texts")
    if tokens:
        beside["missing_tokens_"] = tuple(tokens)
    if "cases" in model.notes:
        beside["cases_"] = _checked_cases(model.notes["cases"])
    more = classifier.more_of(model.more, model.network)
    if "counts" in model.optional:
        from naivete.classifiers.kept_file import kept_of

        more["_kept"] = kept_of(model.optional["counts"], model.network, bool(model.notes["framed"]))
    return classifier._adopt(model.network, labels, bool(model.notes["framed"]), {**beside, **more})


def _checked_cases(cases: object) -> float:
    """Return the total weight of the training cases; an error is raised unless it is a positive number."""
    if type(cases) is not float or not 0 < cases < np.inf:
        raise ModelFileError(f"notes.cases: {quoted(cases)} is not a positive number")
    return cases


def _saved(classifier: NetworkClassifier) -> tuple[str, ...]:
    """Return the names of the attributes that are stored beside the network."""
    return (*classifier.saved_attributes, "temperature_")


def _check_temperature(learned: Mapping[str, Any], classifier: NetworkClassifier) -> None:
    """Raise an error unless there is a positive temperature exactly where the classifier is calibrated."""
    temperature = learned.get("temperature_")
    if (classifier.calibration is None) != (temperature is None):
        raise ModelFileError("notes.learned.temperature_: a classifier has a temperature if and only if it has a calibration")
    if temperature is not None and (type(temperature) is not float or not 0 < temperature < np.inf):
        raise ModelFileError(f"notes.learned.temperature_: {quoted(temperature)} is not a positive number")


def _check_selected(selected: object, name: str, features: int) -> None:
    """Raise an error if this is not a list of different features."""
    if not isinstance(selected, list) or not all(type(x) is int and 0 <= x < features for x in selected):
        raise ModelFileError(f"notes.learned.{name}: {quoted(selected)} is not a list of features of the network")
    if len(set(selected)) < len(selected):
        raise ModelFileError(f"notes.learned.{name}: {quoted(selected)} has a feature twice")


def _unfitted(kind: str, plain: Mapping[str, Any]) -> NetworkClassifier:
    """The unfitted classifier with these parameters, one of which may be a classifier itself."""
    parameters = dict(plain)
    parameters["encoder"] = _encoder(parameters.get("encoder"))
    for name in ("prior", "class_weight"):
        value = parameters.get(name)
        if isinstance(value, list) and value and isinstance(value[0], list):
            parameters[name] = {label: float(number) for label, number in value}
    inner = parameters.get("learner")
    if isinstance(inner, dict):
        parameters["learner"] = _unfitted(str(inner["kind"]), inner["parameters"])
    return BY_WORD[kind].estimator(**parameters)


def _plain_parameters(classifier: NetworkClassifier) -> dict[str, Any]:
    """Return the parameters as plain data; newer ones only if they are used, so that files are as they were before."""
    values = classifier.get_params(deep=False).items()
    return {name: plain_value(name, value) for name, value in values if name not in _NEWER or value is not None}


def plain_value(name: str, value: Any) -> Any:
    """Return the value of a parameter as plain data; an error is raised for a user-defined function."""
    if name == "encoder":
        return None if value is None else _plain_encoder(value)
    if isinstance(value, NetworkClassifier):
        return {"kind": _kind(value), "parameters": _plain_parameters(value)}
    if name in ("criterion", "test") and callable(value):
        return _plain_function(name, value)
    if name == "random_state" and not isinstance(value, (int, np.integer)):
        return None  # the state of a generator has changed since; its choices are in the network
    if isinstance(value, (list, tuple, np.ndarray)) and name in ("order", "groups", "states"):
        return [plain_value(name, v) for v in value]
    if name == "smoothing":
        return _plain_smoothing(value)
    if name in ("prior", "class_weight") and isinstance(value, Mapping):
        return [[label.item() if isinstance(label, np.generic) else label, float(number)] for label, number in value.items()]
    if name == "prior" and value is not None and not isinstance(value, str):
        return [float(p) for p in value]
    return value.item() if isinstance(value, np.generic) else value


def _plain_function(name: str, value: Any) -> str:
    """The name of a score or a test."""
    from naivete.counts.independence import g, pearson
    from naivete.counts.scores import BDeu, aic, bic, k2

    if isinstance(value, BDeu):
        return f"bdeu:{value.weight!r}"
    functions = {"k2": k2, "bic": bic, "aic": aic, "chi2": pearson, "g": g}
    word = next((word for word, function in functions.items() if function is value), None)
    if word is not None:
        return word
    raise ParameterError(
        f"{name}={quoted(value)}: a user-defined function cannot be written to a file; its result is in the network already, so "
        f"set {name} to a word before saving"
    )


def _plain_smoothing(value: Any) -> float | str:
    from naivete.network.smoothing import ClarkNiblett, Lidstone, MEstimate, smoothing_of

    smoothing = smoothing_of(value)
    if isinstance(smoothing, Lidstone):
        return float(smoothing.alpha)
    if isinstance(smoothing, ClarkNiblett):
        return "clark-niblett"
    return f"{'m-estimate' if isinstance(smoothing, MEstimate) else 'backoff'}:{float(smoothing.m)!r}"


def _plain_encoder(encoder: Encoder) -> dict[str, Any]:
    kinds = encoder.kinds if encoder.kinds is None or isinstance(encoder.kinds, str) else [[n, k] for n, k in encoder.kinds.items()]
    return {
        "kinds": kinds,
        "cut": _cut_word(encoder.cut),
        "missing": encoder.missing,
        "unseen": encoder.unseen,
        "unlabelled": encoder.unlabelled,
        "max_integer_states": encoder.max_integer_states,
        **({} if encoder.numbers == "cut" else {"numbers": encoder.numbers}),
        **({"keep": encoder.keep if encoder.keep is True else list(encoder.keep)} if encoder.keep else {}),
    }


def _encoder(plain: dict[str, Any] | None) -> Encoder | None:
    if plain is None:
        return None
    kinds: Any = plain["kinds"] if plain["kinds"] is None or isinstance(plain["kinds"], str) else dict(plain["kinds"])
    return Encoder(**{**plain, "kinds": kinds, "cut": None if plain["cut"] is None else cut_of(plain["cut"])})


def _cut_word(cut: Cut | None) -> str | None:
    from naivete.encoding.discretization import EqualFrequency, EqualWidth, distinct, mdl

    words = {None: None, mdl: "mdl", distinct: "distinct"}
    if cut in words:
        return words[cut]
    if isinstance(cut, EqualFrequency):
        return f"frequency:{cut.bins}"
    if isinstance(cut, EqualWidth):
        return f"width:{cut.bins}"
    raise ParameterError(
        f"cut={quoted(cut)}: a user-defined function cannot be written to a file; the cut points are in the network already, "
        "so set the encoder's cut to mdl before saving"
    )


def cut_of(word: str) -> Cut:
    """Return the discretization method of a name: "mdl", "distinct", "frequency:10" or "width:10".

    >>> cut_of("width:4")
    EqualWidth(bins=4)
    """
    from naivete.encoding.discretization import EqualFrequency, EqualWidth, distinct, mdl

    name, _, bins = str(word).partition(":")
    if name in ("mdl", "distinct") and not bins:
        return mdl if name == "mdl" else distinct
    if name in ("frequency", "width") and (not bins or (bins.isdecimal() and 0 < int(bins) < 10_000)):
        kind = EqualFrequency if name == "frequency" else EqualWidth
        return kind(int(bins)) if bins else kind()
    raise ParameterError(f"cut {quoted(word)}: choose mdl, distinct, frequency:BINS or width:BINS")
