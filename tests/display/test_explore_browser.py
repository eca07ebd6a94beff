"""The page of `naivete explore` in a real browser: results, keyboard, shared addresses, no message and no request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from naivete.classifiers.base import NetworkClassifier
from naivete.display.explore import explore_page
from tests.display.browser import Browser, needs_browser
from tests.display.test_explore import HOSTILE, case, hostile_model, training_of

pytestmark = needs_browser
READY = "document.getElementById('reason').textContent !== ''"


def written(model: NetworkClassifier, path: Path) -> Path:
    path.write_text(str(explore_page(model.network_, "page", training=training_of(model))), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser(390, 844) as window:
        yield window


def text(browser: Browser, id_: str) -> str:
    return str(browser.run("return document.getElementById(arguments[0]).textContent", id_))


def is_quiet(browser: Browser, path: Path) -> bool:
    """Whether there was no message on the console, and no request but for the page itself."""
    return browser.messages() == [] and {url.partition("#")[0] for url in browser.requests()} == {path.as_uri()}


@pytest.mark.parametrize("name", ["TAN", "C4.5", "linked normal densities", "hidden"])
def test_pages_run_without_messages_and_requests(browser: Browser, tmp_path: Path, name: str) -> None:
    path = written(case(name).model, tmp_path / "page.html")
    browser.open(path, "a=s1&n0=0.25")
    browser.wait(READY)
    model = case(name).model
    row = {"a": "s1", **({"n0": 0.25} if "n0" in [variable.name for variable in model.schema_] else {})}
    questions = model.ask_next(row)
    best = int(questions.posterior.argmax())
    assert text(browser, "prediction") == f"class is {model.classes_[best]} with probability {questions.posterior[best]:.3f}."
    assert browser.run("return document.querySelector('#questions button').textContent") == questions.best.feature
    assert is_quiet(browser, path)
    assert browser.run("return document.documentElement.scrollWidth") <= 390


def test_keyboard_and_address(browser: Browser, tmp_path: Path) -> None:
    path = written(case("intervals").model, tmp_path / "page.html")
    browser.open(path)
    browser.wait(READY)
    before = text(browser, "prediction")
    browser.run("document.getElementById('f0').focus()")
    browser.press("s", "\ue015")  # the first state that begins with s, then the next
    browser.press("\ue004", "\ue004", "s")
    browser.wait(f"document.getElementById('prediction').textContent !== {before!r}")
    address = browser.run("return location.hash")
    assert address == "#a=s1&c=s0"
    assert browser.run("return document.activeElement.id") == "f2"
    assert browser.run("return document.querySelectorAll('#drawing .observed').length") == 2
    unlabelled = "return [...document.querySelectorAll('input,select')].filter(e => !e.labels.length && !e.ariaLabel).length"
    assert browser.run(unlabelled) == 0
    after = text(browser, "prediction")
    browser.open(path, address[1:])
    browser.wait(READY)
    assert text(browser, "prediction") == after
    browser.run("document.getElementById('clear').click()")
    assert (text(browser, "prediction"), browser.run("return location.hash")) == (before, "")
    assert is_quiet(browser, path)


def test_typed_numbers(browser: Browser, tmp_path: Path) -> None:
    model = case("intervals").model
    path = written(model, tmp_path / "page.html")
    browser.open(path)
    browser.wait(READY)
    position = [variable.name for variable in model.schema_].index("n2")
    browser.run(f"document.getElementById('n{position}').focus()")
    browser.press(*"-9")
    browser.wait("location.hash === '#n2=-9'")
    assert browser.run(f"return document.getElementById('f{position}').value") == "0"
    browser.press("x")
    assert browser.run("return location.hash") == ""
    assert browser.run(f"return document.getElementById('n{position}').ariaInvalid") == "true"
    assert is_quiet(browser, path)


@pytest.mark.parametrize(
    "fragment", ["%", "a=%E0%A4%A", "__proto__=1&constructor=2", "<img src=x onerror=alert(1)>", "a=" + "s" * 5000]
)
def test_hostile_addresses(browser: Browser, tmp_path: Path, fragment: str) -> None:
    path = written(case("intervals").model, tmp_path / "page.html")
    browser.open(path, fragment)
    browser.wait(READY)
    assert text(browser, "count").startswith("0 of")
    assert "of the link did not fit" in text(browser, "status")
    assert is_quiet(browser, path)


def test_hostile_names(browser: Browser, tmp_path: Path) -> None:
    path = written(hostile_model(), tmp_path / "page.html")
    fragment = "&".join(f"{quote(name, safe='')}={quote(name + ' 1', safe='')}" for name in HOSTILE)
    browser.open(path, fragment)
    browser.wait(READY)
    assert text(browser, "count") == f"{len(HOSTILE)} of {len(HOSTILE)} features have a value"
    assert browser.run("return [...document.querySelectorAll('.field label')].map(label => label.textContent)") == HOSTILE
    assert browser.run("return document.scripts.length") == 2
    assert browser.run("return document.querySelector('img')") is None
    assert is_quiet(browser, path)
