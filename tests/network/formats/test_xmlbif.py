from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from naivete.network.formats import dumps, elements, loads, read_network
from naivete.network.network import Network
from naivete.variables import CLASS
from tests.network import formats as shared

DTD = """<!DOCTYPE BIF [
  <!ELEMENT BIF ( NETWORK )*>
    <!ATTLIST BIF VERSION CDATA #REQUIRED>
  <!ELEMENT NETWORK ( NAME, ( PROPERTY | VARIABLE | DEFINITION )* )>
  <!ELEMENT NAME (#PCDATA)>
  <!ELEMENT VARIABLE ( NAME, ( OUTCOME |  PROPERTY )* ) >
    <!ATTLIST VARIABLE TYPE (nature|decision|utility) "nature">
  <!ELEMENT OUTCOME (#PCDATA)>
  <!ELEMENT DEFINITION ( FOR | GIVEN | TABLE | PROPERTY )* >
]>
"""
BODY = """<BIF VERSION="0.3">
<NETWORK>
<NAME>Dog</NAME>
<PROPERTY>short</PROPERTY>
<VARIABLE TYPE="nature"><NAME>light on</NAME><OUTCOME>true</OUTCOME><OUTCOME>a &lt; b</OUTCOME><PROPERTY>position = (1, 2)</PROPERTY></VARIABLE>
<VARIABLE><NAME>family</NAME><OUTCOME>1</OUTCOME><OUTCOME>2</OUTCOME><OUTCOME>3</OUTCOME></VARIABLE>
<DEFINITION><FOR>light on</FOR><GIVEN>family</GIVEN>
  <TABLE>.5 .5 <!-- one --> 0.25 75e-2 <!-- two -->
  1 0</TABLE></DEFINITION>
<DEFINITION><FOR>family</FOR><TABLE>0.25 0.25 0.5</TABLE></DEFINITION>
</NETWORK>
</BIF>
"""
GOOD = f'<?xml version="1.0"?>\n{DTD}{BODY}'


@given(shared.some_networks)
def test_a_written_network_is_read_back(network: Network) -> None:
    assert shared.same(loads(dumps(network, "xmlbif"), "xmlbif"), network)


def test_awkward_names_and_states() -> None:
    assert shared.same(loads(dumps(shared.awkward(), "xmlbif"), "xmlbif"), shared.awkward())


def test_sparse_tables_are_written_in_full() -> None:
    network = shared.sparse_network()
    assert shared.same(loads(dumps(network, "xmlbif"), "xmlbif"), shared.dense(network))


def test_cut_anywhere() -> None:
    shared.check_every_cut(dumps(shared.plain_network(), "xmlbif"), "xmlbif", shared.plain_network())


def test_a_file_of_others_with_its_document_type() -> None:
    network = loads(GOOD, "xmlbif")
    assert network.variables[0].states == ("true", "a < b")
    assert network.parents == {0: (CLASS,), CLASS: ()}
    assert np.array_equal(network.cpts[0], [[0.5, 0.25, 1], [0.5, 0.75, 0]])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<!ELEMENT BIF", "<!ENTITY x 'y'> <!ELEMENT BIF", "f:3: the entity 'x' is refused"),
        ("<!ELEMENT BIF", "<!ENTITY % x 'y'> <!ELEMENT BIF", "the entity 'x' is refused"),
        ("<!ELEMENT BIF", "<!ENTITY x SYSTEM 'file:///etc/passwd'> <!ELEMENT BIF", "the entity 'x' is refused"),
        ("<!ELEMENT BIF", "<!NOTATION x SYSTEM 'y'> <!ELEMENT BIF", "the entity 'x' is refused"),
        ("<!ELEMENT BIF", "%x; <!ELEMENT BIF", "the entity '%x;' is refused"),
        ("<!DOCTYPE BIF [", "<!DOCTYPE BIF SYSTEM 'http://example.org/bif.dtd' [", "an external document type"),
        ("<!DOCTYPE BIF [", "<!DOCTYPE BIF PUBLIC 'a' 'b' [", "an external document type"),
        (".5 .5", "&x; .5 .5", "not well-formed XML: undefined entity"),
        (".5 .5", "&lt; .5", "something that is not a number stands in the table"),
        (".5 .5", ".5", "f:18: 'light on': 5 numbers in a table of 3 x 2 = 6 cells"),
        (".5 .5", ".5 .6", "f:18: a distribution of 'light on' sums to 1.1, not to 1"),
        (".5 .5", "-.5 1.5", "which is not a probability"),
        (".5 .5", "nan .5", "something that is not a number"),
        (".5 .5", "\u0661 .5", "something that is not a number"),
        ("<GIVEN>family", "<GIVEN>famly", "has an unknown parent 'famly'; did you mean 'family'?"),
        ("<GIVEN>family", "<GIVEN>light on", "is its own parent"),
        ("<FOR>light on</FOR>", "<FOR>family</FOR>", "two tables"),
        ("<FOR>light on</FOR>", "", "0 elements FOR where one is expected"),
        ("<NAME>light on", "<NAME>family", "declared twice"),
        ("<OUTCOME>1", "<OUTCOME>2", "has a state twice"),
        ("<VARIABLE><NAME>family", '<VARIABLE TYPE="decision"><NAME>family', "only those of type 'nature' are read"),
        ("</NETWORK>", "</NETWORK><NETWORK></NETWORK>", "2 networks in the file"),
        ("</BIF>", "</BIF><x/>", "not well-formed"),
        ("</NETWORK>", "", "not well-formed XML: mismatched tag"),
    ],
)
def test_errors_report_the_line(old: str, new: str, message: str) -> None:
    assert old in GOOD
    assert message in shared.refused(GOOD.replace(old, new, 1), "xmlbif")


class CountingParser:
    """An XML parser that counts the bytes that it is fed."""

    def __init__(self, parser: Any) -> None:
        self.__dict__.update(parser=parser, fed=0)

    def __getattr__(self, name: str) -> Any:
        return self._feed if name == "Parse" else getattr(self.parser, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.parser, name, value)

    def _feed(self, data: bytes, final: bool) -> Any:
        self.__dict__["fed"] += len(data)
        return self.parser.Parse(data, final)


LONG = "x" * 4_000_000
TOKEN = (1 << 20) + (3 << 16)
"""The bytes after which a tag, comment or document type has to be refused: the limit and a few chunks."""


@pytest.mark.parametrize("format", ["xmlbif", "xdsl"])
@pytest.mark.parametrize(
    ("text", "message", "most"),
    [
        ("<a>" * 200_000, "an element more than 64 deep is refused", 1 << 16),
        (f"<a {LONG}='1'/>", "of more than 1048576 bytes is refused", TOKEN),
        (f"<!--{LONG}--><a/>", "of more than 1048576 bytes is refused", TOKEN),
        (f"<!DOCTYPE a [<!ATTLIST a b CDATA '{LONG}'>]><a/>", "of more than 1048576 bytes is refused", TOKEN),
        (
            "<!DOCTYPE a [" + "".join(f"<!ATTLIST a b{i} CDATA 'x'>" for i in range(20_000)) + "]><a/>",
            "more than 1000 attributes",
            1 << 16,
        ),
        (f"<a>{LONG}</a>", "the root is 'a'", len(LONG) + 7),
        (f"<a>{'<b/>' * 50_000}</a>", "a document of more than 1,000 elements is refused", 1 << 16),
        ("<!DOCTYPE a [<!ENTITY b 'cccccccc'>]><a>&b;</a>", "the entity 'b' is refused", 1 << 16),
        ("<?xml version='1.0'?>", "not well-formed XML: no element found", 1 << 16),
        ("", "not well-formed XML: no element found", 0),
    ],
    ids=["depth", "attribute", "comment", "default", "attlists", "text", "elements", "entity", "nothing", "empty"],
)
def test_hostile_xml_is_refused_early(format: str, text: str, message: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    parsers: list[CountingParser] = []
    original = elements._parser

    def counting(builder: Any) -> CountingParser:
        parsers.append(CountingParser(original(builder)))
        return parsers[-1]

    monkeypatch.setattr(elements, "_parser", counting)
    monkeypatch.setattr(elements, "_ELEMENTS", 1000)
    assert message in shared.refused(text, format)
    assert [parser.fed <= most for parser in parsers] == [True]


def test_a_declared_encoding(tmp_path: Path) -> None:
    text = GOOD.replace('version="1.0"', 'version="1.0" encoding="ISO-8859-1"').replace("family", "famille é")
    (tmp_path / "a.xml").write_bytes(text.encode("latin-1"))
    assert read_network(tmp_path / "a.xml").name(CLASS) == "famille é"


def test_pyagrum_reads_ours(tmp_path: Path) -> None:
    shared.check_agrum_reads(shared.plain_network(), tmp_path / "a.bifxml")
    shared.check_awkward_with_agrum(tmp_path / "b.bifxml")


def test_we_read_those_of_pyagrum(tmp_path: Path) -> None:
    shared.check_we_read_agrum(tmp_path / "a.bifxml", 1e-6)


def test_pgmpy(tmp_path: Path) -> None:
    shared.check_pgmpy("xmlbif", tmp_path / "a.xml")
