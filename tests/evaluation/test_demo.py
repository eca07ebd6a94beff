from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from typing import Any, NamedTuple

import numpy as np
import pytest

from naivete.classifiers.specification import Spec, classifier_of
from naivete.classifiers.spectrum import Spectrum
from naivete.evaluation import Result
from naivete.evaluation.demo import models
from naivete.evaluation.demo.models import (
    BASELINES,
    DIVIDING,
    FURTHER,
    MODELS,
    Domain,
    domains,
    models_of,
    result_groups,
    run_all,
    steps,
)
from naivete.evaluation.demo.page import report
from naivete.evaluation.peers import Peer
from tests import LONG


class Balanced(HTMLParser):
    """Collects the tags that are not closed, and all references to other files."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag != "meta":
            self.open.append(tag)
        self.fetched += [str(v) for k, v in attrs if k in ("src", "href") and not str(v).startswith("#")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


class Run(NamedTuple):
    """The demonstration on all data sets with two folds; in the long run with all rows and the baselines as they are."""

    domains: list[Domain]
    results: dict[str, list[Result]]
    steps: int


def fewer_rows(domain: Domain, most: int = 180) -> Domain:
    return replace(domain, cases=domain.cases.take(np.arange(0, len(domain.cases), -(-len(domain.cases) // most))))


def fewer_trees(model: Spec, **options: Any) -> Any:
    classifier = classifier_of(model, **options)
    return classifier.set_params(members=1, trees=2) if isinstance(classifier, Spectrum) else classifier


@pytest.fixture(scope="module")
def full_run() -> Run:
    reported: list[str] = []
    chosen = domains()
    with pytest.MonkeyPatch.context() as patch:
        if not LONG:
            chosen = [fewer_rows(domain) for domain in chosen]
            patch.setattr(models, "classifier_of", fewer_trees)
            patch.setattr(models, "Peer", lambda _: Peer("sk:tree"))
        results = run_all(chosen, folds=2, progress=reported.append)
    return Run(chosen, results, len(reported))


def test_progress_is_reported_for_every_fold(full_run: Run) -> None:
    assert full_run.steps == steps(full_run.domains, 2)


@pytest.mark.parametrize("quick", [True, False])
def test_the_page_is_complete_and_has_no_scripts_or_references(full_run: Run, quick: bool) -> None:
    names = [domain.name for domain in domains(quick=quick)]
    chosen = [domain for domain in full_run.domains if domain.name in names]
    text = str(report(chosen, {name: full_run.results[name] for name in names}, folds=2))
    page = Balanced()
    page.feed(text)
    assert not page.open
    assert not page.fetched
    assert "script" not in page.tags
    assert page.tags.count("svg") >= 5
    assert f"data sets: {', '.join(names)}; cross-validation: 2 folds" in text
    assert "P(A1 | class = 1, B0 = 0)" in text
    assert "The most probable explanation of class = 1 and B0 = 0, all at once: A0 = 1, A1 = 1" in text
    assert "selected, in this order" in text
    for name in ("hill climbing", "K2, the class first", "Info-AS", "C4.5", "recursive naive Bayes"):
        assert f'aria-label="{name}' in text


def test_dependences_improve_the_accuracy_on_corral(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "models_of", lambda _: (*MODELS, *FURTHER))
    chosen = [domain for domain in domains(quick=True) if domain.name == "corral"]
    (results,) = run_all(chosen, folds=10).values()
    accuracy = {result.model: result.accuracy[0] for result in results}
    assert accuracy["kdb:k=1"] > 0.98 > accuracy["nb"] > accuracy["majority"]
    assert min(accuracy[model] for model in ("k2:order=relevance", "hc", "info-as")) > 0.98


def test_data_with_many_features_have_fewer_models(full_run: Run) -> None:
    assert [result.model for result in full_run.results["corral"]] == [*MODELS, *BASELINES, *FURTHER, *DIVIDING]
    sizes = {domain.name: len(models_of(domain)) for domain in full_run.domains}
    assert sizes == {"corral": 19, "led7": 19, "iris": 19, "wine": 19, "breast cancer": 11, "digits": 11}
    wide = {name: full_run.results[name] for name in ("breast cancer",)}
    shown = [[result.model for result in group["breast cancer"]] for group in result_groups(wide)]
    assert shown == [list(MODELS), ["nb", *BASELINES]]
