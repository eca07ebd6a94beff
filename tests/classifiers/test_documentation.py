"""Every estimator documents all of its parameters and attributes, with an example and a reference."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

from naivete import KDB, InfoSelector, K2Selector, LossAware, NaiveSelector, NetworkClassifier
from naivete.classifiers.registry import REGISTRY

ESTIMATORS: list[type[Any]] = [*(entry.estimator for entry in REGISTRY), InfoSelector, K2Selector, LossAware, NaiveSelector]
each = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: estimator.__name__)


def section(docstring: str, title: str) -> str:
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", inspect.cleandoc(docstring), re.MULTILINE | re.DOTALL)
    assert found is not None, title
    return found[1]


def names(text: str) -> list[str]:
    return [name.strip() for entry in re.findall(r"^(\S.*?) : ", text, re.MULTILINE) for name in entry.split(",")]


@each
def test_every_parameter_is_described_once_in_the_order_of_the_constructor(estimator: type[Any]) -> None:
    assert names(section(estimator.__doc__, "Parameters")) == list(inspect.signature(estimator).parameters)


@each
def test_attributes_examples_and_references_are_there(estimator: type[Any]) -> None:
    described = names(section(estimator.__doc__, "Attributes"))
    assert {*getattr(estimator, "saved_attributes", ()), "classes_" if hasattr(estimator, "predict") else "selected_"} <= set(
        described
    )
    assert len(set(described)) == len(described)
    assert ">>> " in section(estimator.__doc__, "Examples")
    assert re.search(r"\(\d{4}\)", section(estimator.__doc__, "References"))


def test_a_class_describes_a_shared_parameter_in_its_own_way() -> None:
    class Mine(KDB):
        """A class of a user.

        Parameters
        ----------
        prior : str
            Something else.
        """

    text = section(Mine.__doc__ or "", "Parameters")
    assert "prior : str\n    Something else." in text
    assert text.count("prior :") == 1
    assert "encoder : Encoder or None, default=None\n    How columns are encoded" in text

    class Undocumented(NetworkClassifier):
        pass

    assert Undocumented.__doc__ is None
