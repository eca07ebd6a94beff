from __future__ import annotations

import inspect

import pytest
from sklearn.base import ClassifierMixin

from naivete.encoding import Encoder
from naivete.errors import ParameterError
from naivete.models import PARAMETERS, Spec, classifier_of, parsed, spec_of, split
from naivete.saving import KINDS


def test_the_words_and_parameters_are_those_of_the_classifiers() -> None:
    assert set(PARAMETERS) == set(KINDS)
    for word, names in PARAMETERS.items():
        assert set(names) <= set(inspect.signature(KINDS[word]).parameters)


@pytest.mark.parametrize(
    "text",
    ["majority", "lookup", "nb", "nb:smoothing=0.5", "tan", "tan:root=windy", "kdb:k=0", "kdb:k=auto", "kdb:k=2,theta=0.03",
     "kdb:k=3,theta=chi2,alpha=0.01", "kdb:k=2,smoothing=m-estimate:3", "kdb:k=1,theta=-inf", "kdb:k=auto,k_max=3",
     "nb:prior=0.2/0.8", "majority:prior=1/1", "tan:prior=1/1/1"],
)  # fmt: skip
def test_text_to_classifier_and_back(text: str) -> None:
    classifier = classifier_of(text)
    again = spec_of(classifier)
    assert classifier_of(again).get_params() == classifier.get_params()
    assert str(parsed(text)) == text
    assert isinstance(classifier, ClassifierMixin)


def test_usual_parameters_are_not_written_but_k_is() -> None:
    assert str(spec_of(classifier_of("kdb"))) == "kdb:k=2"
    assert str(spec_of(classifier_of("nb:smoothing=1.0"))) == "nb"


def test_the_encoder_is_passed_on() -> None:
    encoder = Encoder(few=3)
    assert classifier_of(Spec("nb"), encoder=encoder).encoder is encoder


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("kbd:k=2", "did you mean kdb?"),
        ("naive", "did you mean nb?"),
        ("forest", "choose among majority, lookup, nb, tan, kdb"),
        ("", "choose among"),
        ("kdb:", "nothing follows the colon"),
        ("kdb:kk=2", "did you mean k"),
        ("kdb:zzz=2", "choose among k, theta"),
        ("kdb:k", "has no value"),
        ("kdb:k=", "has no value"),
        ("kdb:k=1,k=2", "given twice"),
        ("lookup:k=1", "lookup has no parameters"),
        ("kdb:2", "has no parameter '2'"),
    ],
)
def test_what_is_not_a_model_is_refused_with_a_hint(text: str, hint: str) -> None:
    with pytest.raises(ParameterError, match="model") as caught:
        parsed(text)
    assert hint in str(caught.value)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["nb", "kdb:k=2,theta=0.03"], ["nb", "kdb:k=2,theta=0.03"]),
        (["nb,kdb:k=2,theta=0.03,tan"], ["nb", "kdb:k=2,theta=0.03", "tan"]),
        (["nb;kdb:k=1; tan ;"], ["nb", "kdb:k=1", "tan"]),
        (["nb", "nb,,nb,"], ["nb"]),
        (["kdb:k=1,smoothing=m-estimate:3,nb"], ["kdb:k=1,smoothing=m-estimate:3", "nb"]),
    ],
)
def test_lists_of_models(words: list[str], expected: list[str]) -> None:
    assert [str(spec) for spec in split(words)] == expected


def test_no_models_at_all() -> None:
    with pytest.raises(ParameterError, match="no model is given"):
        split([" ; "])


def test_other_classifiers_have_no_text() -> None:
    from sklearn.dummy import DummyClassifier

    with pytest.raises(ParameterError, match="not a classifier of naivete"):
        spec_of(DummyClassifier())  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["uniform", "0/0", "-1/2", "1//2", "nan/1", "inf/1"])
def test_shares_that_are_none(text: str) -> None:
    with pytest.raises(ParameterError, match="write a share for every class"):
        classifier_of(f"nb:prior={text}")


def test_the_budget_is_passed_on() -> None:
    assert classifier_of("kdb:k=1", budget=1000).budget == 1000
    assert classifier_of("kdb:k=1").budget == KINDS["kdb"]().budget
