"""What scikit-learn documents for its estimators, implemented without importing scikit-learn.

A class that is derived from `sklearn.base.BaseEstimator` imports scikit-learn, SciPy and pandas, which takes longer than loading a
model and predicting. Here scikit-learn is imported only in methods that scikit-learn itself calls, and in `score`.
"""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any, ClassVar, Self

from naivete.errors import ParameterError

__all__ = ["Estimator", "check_fitted"]

_LINE = 80
"""The length of the lines of a repr, as in scikit-learn."""
_NOT_METADATA = ("self", "X", "y")


class Estimator:
    """The methods of a scikit-learn classifier: parameters, accuracy, tags, metadata routing.

    `docs/decisions/0022-estimators-without-scikit-learn.md` explains what differs from `sklearn.base.BaseEstimator`.
    """

    routed_methods: ClassVar[tuple[str, ...]] = ("fit", "partial_fit", "score")
    """The methods with parameters that scikit-learn's metadata routing can set, such as `sample_weight`."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return the names of the parameters of the constructor, sorted."""
        kind: Any = cls
        return sorted(_parameters(kind))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether to return the parameters of the encoder and of inner classifiers too, as `encoder__missing` and so on.

        Returns
        -------
        dict of {str: object}
            The values of the parameters.
        """
        params: dict[str, Any] = {}
        for name in self._get_param_names():
            value = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                params |= {f"{name}__{inner}": inner_value for inner, inner_value in value.get_params().items()}
            params[name] = value
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, and return the classifier.

        Parameters
        ----------
        **params : object
            The values by name; `encoder__missing` sets the parameter `missing` of the parameter `encoder`.

        Returns
        -------
        self : NetworkClassifier
            The classifier itself.
        """
        nested: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, separator, inner = key.partition("__")
            if name not in (names := self._get_param_names()):
                raise ParameterError(f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {names!r}.")
            if separator:
                nested.setdefault(name, {})[inner] = value
            else:
                setattr(self, name, value)
        for name, inner_params in nested.items():
            getattr(self, name).set_params(**inner_params)
        return self

    def __repr__(self) -> str:
        """Return the class and the parameters that differ from their default values."""
        kind: Any = type(self)
        defaults = _parameters(kind)
        params = [f"{name}={value!r}" for name, value in self.get_params(deep=False).items() if repr(value) != repr(defaults[name])]
        return _wrapped(f"{type(self).__name__}(", params)

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of the rows that are predicted correctly.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or Table of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,)
            Their classes.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            The weight of every row.

        Returns
        -------
        float
            The accuracy, between 0 and 1.
        """
        from sklearn.metrics import accuracy_score

        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))  # type: ignore[attr-defined]

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(sparse=True, allow_nan=True, categorical=True, string=True),
        )

    def get_metadata_routing(self) -> Any:
        """Return what `set_fit_request`, `set_partial_fit_request` and `set_score_request` have requested, for scikit-learn.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRequest
            The requests.
        """
        from sklearn.utils.metadata_routing import MetadataRequest, get_routing_for_object

        if hasattr(self, "_metadata_request"):
            return get_routing_for_object(self._metadata_request)
        requests = MetadataRequest(owner=self)
        for method in self.routed_methods:
            for name in self._metadata(method):
                getattr(requests, method).add_request(param=name, alias=None)
        return requests

    def set_fit_request(self, **requests: bool | str | None) -> Self:
        """Set which metadata scikit-learn's meta-estimators pass to `fit`, for instance `sample_weight=True`.

        Parameters
        ----------
        **requests : bool, str or None
            Whether each parameter of the method is passed; a text is the name under which it is passed.

        Returns
        -------
        self : NetworkClassifier
            The classifier itself.
        """
        return self._set_request("fit", requests)

    def set_partial_fit_request(self, **requests: bool | str | None) -> Self:
        """Set which metadata scikit-learn's meta-estimators pass to `partial_fit`, for instance `sample_weight=True`.

        Parameters
        ----------
        **requests : bool, str or None
            Whether each parameter of the method is passed; a text is the name under which it is passed.

        Returns
        -------
        self : NetworkClassifier
            The classifier itself.
        """
        return self._set_request("partial_fit", requests)

    def set_score_request(self, **requests: bool | str | None) -> Self:
        """Set which metadata scikit-learn's meta-estimators pass to `score`, for instance `sample_weight=True`.

        Parameters
        ----------
        **requests : bool, str or None
            Whether each parameter of the method is passed; a text is the name under which it is passed.

        Returns
        -------
        self : NetworkClassifier
            The classifier itself.
        """
        return self._set_request("score", requests)

    def _set_request(self, method: str, requests: dict[str, bool | str | None]) -> Self:
        from sklearn import get_config

        if not get_config()["enable_metadata_routing"]:
            raise RuntimeError(
                "This method is only available when metadata routing is enabled. You can enable it using "
                "sklearn.set_config(enable_metadata_routing=True)."
            )
        accepted = self._metadata(method)
        if unexpected := sorted(set(requests) - set(accepted)):
            raise TypeError(f"Unexpected args: {unexpected} in {method}. Accepted arguments are: {accepted}")
        routing = self.get_metadata_routing()
        for name, alias in requests.items():
            getattr(routing, method).add_request(param=name, alias=alias)
        self._metadata_request = routing
        return self

    def _metadata(self, method: str) -> list[str]:
        """Return the parameters of a method that are not the rows or the classes."""
        names = inspect.signature(getattr(type(self), method)).parameters
        return sorted(name for name in names if name not in _NOT_METADATA)

    def _repr_html_(self) -> str:
        """Return scikit-learn's table of parameters."""
        from sklearn.utils import estimator_html_repr

        return str(estimator_html_repr(self))

    def _get_params_html(self, *arguments: Any, **options: Any) -> Any:
        """Return the parameters as scikit-learn's drawings of pipelines show them."""
        from sklearn.base import BaseEstimator

        return BaseEstimator._get_params_html(self, *arguments, **options)


def check_fitted(classifier: object, advice: str = "call 'fit' first") -> None:
    """Raise an error if the classifier is not fitted.

    Parameters
    ----------
    classifier : the classifier.
    advice : the last words of the message.
    """
    if not hasattr(classifier, "network_"):
        from naivete.classifiers.not_fitted import NotFittedError

        raise NotFittedError(f"this {type(classifier).__name__} instance is not fitted yet; {advice}")


@cache
def _parameters(cls: type) -> dict[str, Any]:
    """Return the parameters of the constructor and their default values."""
    parameters = inspect.signature(cls).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is not p.VAR_KEYWORD}


def _wrapped(start: str, items: list[str]) -> str:
    """Return the items in parentheses, with a new line before an item that does not fit into the line."""
    lines = [start]
    for i, item in enumerate(items):
        text = f"{item}," if i < len(items) - 1 else f"{item})"
        if i and len(lines[-1]) + 1 + len(text) > _LINE:
            lines.append(" " * len(start) + text)
        else:
            lines[-1] += f" {text}" if i else text
    return "\n".join(lines) + ("" if items else ")")
