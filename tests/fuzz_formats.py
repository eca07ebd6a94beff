"""The readers of networks as the fuzzer sees them: some good files, and a reader that also writes what it has read."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Sequence
from pathlib import Path

from naivete.network.formats import dumps, loads, read_network
from tests.oracles import identical

ENDINGS = {"bif": ".bif", "xmlbif": ".xml", "hugin": ".net", "xdsl": ".xdsl", "string": ".bnl", "dot": ".dot"}
"""How the files of each reader are called."""

TOKENS = (
    *(b"variable", b"probability (", b"network", b"property", b"table", b"default", b"type discrete [ 2 ] { a, b };"),
    *(
        b"node",
        b"potential (",
        b"data = ",
        b"states = ",
        b"net {",
        b"class x {",
        b"digraph {",
        b"->",
        b"--",
        b"strict ",
        b"subgraph",
    ),
    *(
        b"<cpt id='a'>",
        b"</cpt>",
        b"<state id='x' />",
        b"<parents>",
        b"<TABLE>",
        b"<GIVEN>",
        b"<FOR>",
        b"<NAME>",
        b"<!--",
        b"-->",
    ),
    *(b"<!DOCTYPE a [", b"<!ENTITY x 'y'>", b"<!ENTITY % x SYSTEM 'y'>", b"%x;", b"&x;", b"&#0;", b"&lt;", b"<![CDATA[", b"]]>"),
    *(b"nan", b"inf", b"-1", b"1e999", b"1e-320", b"0.5", b"1", b"1_0", b"9" * 500, b"0x1p3", b"\xd9\xa3", b"0.3333333"),
    *(
        b"|",
        b":",
        b"[",
        b"]",
        b"(",
        b")",
        b"{",
        b"}",
        b"=",
        b";",
        b",",
        b"%",
        b"#",
        b"//",
        b"/*",
        b"*/",
        b'"',
        b"\\",
        b"\n",
        b"\r\n",
    ),
    *(
        b"naivete = ",
        b"name:s:a",
        b"states:s:a,i:1",
        b"cuts:f:0.5",
        b"cuts:f:nan",
        b"place:0",
        b"place:-1",
        b"target",
        b"~ff",
        b"missing",
    ),
    *(b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xc2\x85", b"\x1f\x8b", b"(" * 80, b"<a>" * 80, b"[a|b]" * 3),
)


def corpus(format: str) -> Callable[[], Sequence[bytes]]:
    """Good files to begin with: ours, with plain and awkward names, and one as others write it."""

    def files() -> Sequence[bytes]:
        from tests.network.formats import NAMES, awkward, plain_network, test_bif, test_hugin, test_xdsl, test_xmlbif

        others = {
            "bif": test_bif.FOREIGN,
            "xmlbif": test_xmlbif.GOOD,
            "hugin": test_hugin.GOOD,
            "xdsl": test_xdsl.GOOD,
            "string": "[A][B|A] [C|A:B]\n[a b|C]",
            "dot": 'strict digraph g { a [x="y"]; rankdir=LR; a -> b -> "c d"; a -> "c d" }',
        }
        texts = [dumps(plain_network(), format), others[format]]
        if format != "string":
            texts.append(dumps(awkward(NAMES[:8]), format))
        return [*(text.encode() for text in texts), gzip.compress(texts[0].encode(), mtime=0)]

    return files


def reader(format: str) -> Callable[[Path], None]:
    """Read a network, and see that what is written of it is read as the same."""

    def read(path: Path) -> None:
        network = read_network(path)
        again = loads(dumps(network, format), format)
        if not identical(again, network):
            raise AssertionError("what was read is written as something else")

    return read


def mutant(rng: random.Random, files: Sequence[bytes]) -> bytes:
    """One of the good files after some changes: those of any file, and words of the formats in place of others."""
    from tests.fuzz import mutated

    data = rng.choice(files)
    if rng.random() < 0.5:
        data = mutated(data, rng, files)
    for _ in range(rng.randint(0 if len(data) != len(files[0]) else 1, 3)):
        at = rng.randint(0, len(data))
        data = data[:at] + rng.choice(TOKENS) + data[at + rng.choice((0, 0, 1, 3, 8)) :]
    return data
