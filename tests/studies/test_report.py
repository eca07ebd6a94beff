"""Reports: text of anybody's is inert, and every form tells the same."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest
from studies.report import as_html, as_markdown, as_record, cell_heads, cell_rows

from studies import Cell, Claim, Remark, Reproduction, Sheet, jensen_2007

EVIL = "<script>alert(1)</script> | `x` [a](http://b)"
HOSTILE = Reproduction(
    EVIL, EVIL, (EVIL,),
    (Sheet(EVIL, (Cell(EVIL, (1.0, 2.0), (3.0, 4.0), "outside (p = 0.001)", EVIL, 0.001), Cell(EVIL, None, None, EVIL))),),
    (Claim(EVIL, 1.0, 0.01, -2.0, 0.02, 0.03, "not confirmed"),), (Remark(EVIL, EVIL),), EVIL,
)  # fmt: skip


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.links: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.links += [value for name, value in attrs if name in ("href", "src")]


@pytest.mark.parametrize("result", [HOSTILE, jensen_2007()], ids=["hostile", "jensen"])
def test_the_page_runs_and_fetches_nothing(result: Reproduction) -> None:
    parser = Tags()
    parser.feed(as_html(result))
    assert "script" not in parser.seen
    assert not {"img", "link", "iframe"} & set(parser.seen)
    assert all(link is not None and link.startswith("#") for link in parser.links)


def test_markdown_is_inert() -> None:
    text = as_markdown(HOSTILE)
    assert "<script>" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    bare = [line.replace("\\|", "").count("|") for line in rows]
    assert bare == [7] * 4 + [8] * 3


def test_columns_that_would_be_empty_are_left_out() -> None:
    plain = Sheet("x", (Cell("a", 1.0, 2.0, "v"),))
    assert cell_heads(plain) == ["", "printed", "ours", "verdict"]
    assert cell_rows(plain) == [["a", "1.0", "2.0", "v"]]
    assert cell_heads(HOSTILE.sheets[0]) == ["", "printed", "ours", "p", "verdict", "note"]


def test_the_record_is_plain_and_complete() -> None:
    record = as_record(HOSTILE)
    assert json.loads(json.dumps(record)) == record
    first = record["sheets"][0]["cells"][0]
    assert (first["printed"], first["printed_deviation"], first["ours"], first["ours_deviation"]) == (1.0, 2.0, 3.0, 4.0)
    assert first["difference"] == 2.0
    assert record["claims"][0]["corrected_p"] == 0.03


@pytest.mark.parametrize("form", [as_markdown, as_html])
def test_every_figure_is_there(form: object) -> None:
    result = jensen_2007()
    text = form(result)  # type: ignore[operator]
    for told in ("0.945", "1.381", "misprint", "states by BIC", "33 of 35 printed figures reproduced"):
        assert told in text
