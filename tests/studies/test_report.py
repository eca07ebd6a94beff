"""Reports: every form has the same content, and any text is escaped."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from studies.report import html, lines, markdown, sections

from studies import Cell, Claim, Figure, Reproduction, Sheet, reproduce

EVIL = "<script>alert(1)</script> | `x` [a](http://b)"
HOSTILE = Reproduction(
    EVIL, EVIL, (EVIL,),
    (Sheet(EVIL, (Cell(EVIL, (1.0, 2.0), (3.0, 4.0), "differs (p = 0.001)", EVIL, 0.001), Cell(EVIL, None, None, EVIL))),),
    ((EVIL, EVIL),), EVIL, (Claim(EVIL, 1.0, 0.01, -2.0, 0.02, 0.03, "not confirmed"),),
    figures=(Figure(EVIL, EVIL, EVIL, {EVIL: ((1.0, 2.0, 0.5), (2.0, 3.0, 0.5))}),),
)  # fmt: skip


@pytest.fixture(scope="module")
def jensen() -> Reproduction:
    return reproduce("jensen-2007")


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.links: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.links += [value for name, value in attrs if name in ("href", "src")]


def test_the_page_runs_and_fetches_nothing(jensen: Reproduction) -> None:
    for result in (HOSTILE, jensen):
        parser = Tags()
        parser.feed(html(result))
        assert not {"script", "img", "link", "iframe"} & set(parser.seen)
        assert all(link is not None and link.startswith("#") for link in parser.links)
    assert html(HOSTILE).count("<svg") == 1


def test_markdown_is_escaped() -> None:
    text = markdown(HOSTILE)
    assert "<script>" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert [line.replace("\\|", "").count("|") for line in rows] == [7] * 4 + [8] * 3 + [3] * 4


def test_columns_that_would_be_empty_are_left_out() -> None:
    plain = Reproduction("", "", (), (Sheet("x", (Cell("a", 1.0, 2.0, "v"),)),), (), "")
    (section,) = sections(plain)
    assert section.heads == ["", "printed", "ours", "verdict"]
    assert section.rows == [["a", "1.0", "2.0", "v"]]
    assert next(sections(HOSTILE)).heads == ["", "printed", "ours", "p", "verdict", "note"]


def test_every_form_has_the_values(jensen: Reproduction) -> None:
    for text in (markdown(jensen), html(jensen), "\n".join(lines(jensen))):
        for value in ("0.945", "1.381", "misprint", "states by BIC", "33 of 35 printed values reproduced"):
            assert value in text


def test_lines_fit_a_terminal(jensen: Reproduction) -> None:
    shown = list(lines(jensen))
    assert all(line.isascii() for line in shown)
    assert max(map(len, shown)) <= 120
    assert shown[-1] == jensen.summary
    assert "E[Ent(MH)]                          0.735  0.945    misprint" in shown
