"""The error about a classifier that was used before it was fitted.

It is derived from scikit-learn's error, as scikit-learn requires; so this module is imported only where it is raised or caught.
"""

from __future__ import annotations

from sklearn.exceptions import NotFittedError as SklearnNotFitted

from naivete.errors import NaiveteError

__all__ = ["NotFittedError"]


class NotFittedError(NaiveteError, SklearnNotFitted):  # type: ignore[misc]
    """The classifier was used before it was fitted.

    It is also a `sklearn.exceptions.NotFittedError`, so that scikit-learn's tools recognize it. Call `fit`, `partial_fit` or
    `fit_cases` first.

    Examples
    --------
    >>> from naivete import KDB, NotFittedError
    >>> try:
    ...     KDB().predict([["a"]])
    ... except NotFittedError as error:
    ...     print(error)
    this KDB instance is not fitted yet; call 'fit' first
    """
