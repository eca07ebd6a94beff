from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.base import is_classifier

from naivete.classifiers.augmented import KDB
from naivete.classifiers.registry import REGISTRY, Entry, entry_of
from naivete.classifiers.selective import InfoAS, SelectiveNaive
from naivete.classifiers.specification import Spec, classifier_of, parse_spec, spec_of, split_specs
from naivete.classifiers.unrestricted import CB, K2
from naivete.counts.independence import g, pearson
from naivete.counts.scores import BDeu, bic
from naivete.encoding.encoder import Encoder
from naivete.errors import ParameterError


@pytest.mark.parametrize("entry", REGISTRY, ids=[entry.word for entry in REGISTRY])
def test_every_entry_can_be_written_and_read(entry: Entry) -> None:
    classifier = entry.estimator()
    assert entry_of(classifier) is entry
    assert type(classifier_of(entry.word)) is type(classifier_of(spec_of(classifier))) is entry.estimator
    assert set(entry.always) <= set(entry.parameters) <= set(inspect.signature(entry.estimator).parameters)
    for example in (*entry.help, *entry.presets):
        assert parse_spec(example).word == entry.word
        assert isinstance(classifier_of(example), entry.estimator)


def test_no_word_has_two_meanings() -> None:
    words = [word for entry in REGISTRY for word in (entry.word, *entry.similar, *entry.presets)]
    assert len(set(words)) == len(words)
    assert len({entry.name for entry in REGISTRY}) == len(REGISTRY)


@pytest.mark.parametrize(
    "text",
    ["majority", "lookup", "nb", "nb:smoothing=0.5", "tan", "tan:root=windy", "kdb:k=0", "kdb:k=auto", "kdb:k=2,theta=0.03",
     "kdb:k=3,theta=chi2,alpha=0.01", "kdb:k=2,smoothing=m-estimate:3", "kdb:k=1,theta=-inf", "kdb:k=auto,k_max=3",
     "nb:prior=0.2/0.8", "majority:prior=1/1", "tan:prior=1/1/1",
     "k2", "k2:order=relevance,max_parents=2,criterion=bdeu:10", "k2:max_parents=0,criterion=aic", "hc",
     "hc:criterion=bic,max_parents=3,tabu=0,max_steps=7,class_root=true", "cb",
     "cb:alpha=0.05,test=g,criterion=bdeu,stopping_rule=score,class_root=false,partial_order=true,max_order=none,max_parents=4",
     "cb:max_order=3", "pc", "pc:alpha=0.01,test=chi2,max_order=1", "naive-as", "naive-as:random_state=7,smoothing=0.5",
     "naive-as:random_state=none", "k2-as", "k2-as:accept_ties=true,learner=hc,criterion=k2,max_parents=1,random_state=3", "info-as",
     "info-as:metric=cig,learner=nb,stopping_rule=chi2,alpha=0.2,guided=stays,backward=true,random_state=2", "info-as:prior=1/3"],
)  # fmt: skip
def test_text_to_classifier_and_back(text: str) -> None:
    classifier = classifier_of(text)
    again = spec_of(classifier)
    assert classifier_of(again).get_params() == classifier.get_params()
    assert str(parse_spec(text)) == text
    assert is_classifier(classifier)


def test_truth_values_and_none_are_words_in_any_case() -> None:
    assert parse_spec("hc:class_root=True").parameters == {"class_root": True}
    assert parse_spec("cb:max_order=None,class_root=FALSE").parameters == {"max_order": None, "class_root": False}
    assert str(parse_spec("cb:max_order=NONE,class_root=False")) == "cb:max_order=none,class_root=false"


def test_what_has_no_text_of_its_own_is_told_as_near_as_text_comes() -> None:
    assert str(spec_of(K2(criterion=bic))) == "k2:criterion=bic"
    assert str(spec_of(K2(criterion=BDeu(2.0)))) == "k2:criterion=bdeu:2.0"
    assert str(spec_of(CB(test=pearson))) == "cb:test=chi2"
    assert str(spec_of(CB(test=g))) == "cb"
    assert str(spec_of(InfoAS(learner=KDB(k=1)))) == "info-as:learner=KDB(k=1)"
    assert str(spec_of(SelectiveNaive(random_state=np.random.RandomState(0)))) == "naive-as:random_state=none"
    for order in (["b", None, "a"], np.array([1, 0, -1])):
        assert str(spec_of(K2(order=order))).startswith("k2:order=[")


def test_usual_parameters_are_not_written_but_k_is() -> None:
    assert str(spec_of(classifier_of("kdb"))) == "kdb:k=2"
    assert str(spec_of(classifier_of("nb:smoothing=1.0"))) == "nb"


def test_the_encoder_is_passed_on() -> None:
    encoder = Encoder(max_integer_states=3)
    assert classifier_of(Spec("nb"), encoder=encoder).encoder is encoder


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("kbd:k=2", "did you mean kdb or skdb?"),
        ("naive", "did you mean nb?"),
        ("forest", "choose among spectrum, majority, lookup, nb, tan, "),
        ("hillclimb", "did you mean hc?"),
        ("cgr", "did you mean info-as?"),
        ("k2as", "did you mean k2-as?"),
        ("k2:score=bic", "did you mean criterion?"),
        ("hc:tabuu=3", "did you mean tabu"),
        ("", "choose among"),
        ("kdb:", "nothing follows the colon"),
        ("kdb:kk=2", "did you mean k"),
        ("kdb:zzz=2", "choose among k, theta"),
        ("kdb:k", "has no value"),
        ("kdb:k=", "has no value"),
        ("kdb:k=1,k=2", "given twice"),
        ("lookup:k=1", "choose among prior"),
        ("kdb:2", "has no parameter '2'"),
    ],
)
def test_what_is_not_a_model_is_refused_with_a_hint(text: str, hint: str) -> None:
    with pytest.raises(ParameterError, match="model") as caught:
        parse_spec(text)
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
    assert [str(spec) for spec in split_specs(words)] == expected


def test_no_models_at_all() -> None:
    with pytest.raises(ParameterError, match="no model is given"):
        split_specs([" ; "])


def test_other_classifiers_have_no_text() -> None:
    from sklearn.dummy import DummyClassifier

    with pytest.raises(ParameterError, match="not a classifier of naivete"):
        spec_of(DummyClassifier())  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["even", "0/0", "-1/2", "1//2", "nan/1", "inf/1"])
def test_shares_that_are_none(text: str) -> None:
    with pytest.raises(ParameterError, match="write a share for every class"):
        classifier_of(f"nb:prior={text}")


def test_the_budget_is_passed_on() -> None:
    assert classifier_of("kdb:k=1", budget=1000).budget == 1000
    assert classifier_of("kdb:k=1").budget == KDB().budget
