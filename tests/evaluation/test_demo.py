from __future__ import annotations

from html.parser import HTMLParser

import pytest

from naivete.evaluation.demo.models import DIVIDING, FURTHER, MODELS, domains, models_of, result_groups, run_all, steps
from naivete.evaluation.demo.page import report


class Balanced(HTMLParser):
    """Notes tags that are opened and not closed, and everything that would be fetched."""

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


@pytest.mark.parametrize("quick", [True, False])
def test_the_page_is_whole_and_fetches_nothing(quick: bool) -> None:
    chosen = domains(quick=quick)
    told: list[str] = []
    results = run_all(chosen, folds=2, progress=told.append)
    assert len(told) == steps(chosen, 2)
    text = str(report(chosen, results, folds=2))
    page = Balanced()
    page.feed(text)
    assert not page.open
    assert not page.fetched
    assert "script" not in page.tags
    assert page.tags.count("svg") >= 5
    assert all(domain.name in text for domain in chosen)
    assert "P(A1 | class = 1, B0 = 0)" in text
    assert "The most probable explanation of class = 1 and B0 = 0, all at once: A0 = 1, A1 = 1" in text
    assert "selected, in this order" in text
    for name in ("hill climbing", "K2, the class first", "Info-AS", "C4.5", "naive Bayes within"):
        assert f'aria-label="{name}' in text


def test_the_spectrum_is_there() -> None:
    chosen = [domain for domain in domains(quick=True) if domain.name == "corral"]
    (own,) = run_all(chosen, folds=10).values()
    accuracy = {result.model: result.accuracy[0] for result in own}
    assert list(accuracy) == [*MODELS, *FURTHER, *DIVIDING]
    assert accuracy["kdb:k=1"] > 0.98 > accuracy["nb"] > accuracy["majority"]
    assert min(accuracy[model] for model in ("k2:order=relevance", "hc", "info-as")) > 0.98


def test_wide_domains_have_the_usual_models_only() -> None:
    sizes = {domain.name: len(models_of(domain)) for domain in domains()}
    assert sizes == {"corral": 16, "led7": 16, "iris": 16, "wine": 16, "breast cancer": 8, "digits": 8}
    wide = [domain for domain in domains() if domain.name == "breast cancer"]
    results = run_all(wide, folds=2)
    assert result_groups(results) == [results]
