"""Mutated files for every reader: `python -m tests.fuzz [reader ...] [--count N] [--seed S]`.

A reader passes if nothing but an error of the library leaves it, and no input takes longer than ten seconds of processor time.
"""

from __future__ import annotations

import argparse
import faulthandler
import gzip
import io
import random
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from naivete.data.files import read_arff, read_csv, read_parquet
from naivete.errors import NaiveteError, NaiveteWarning
from tests import fuzz_formats, fuzz_model

SECONDS = 10.0  # of processor time
LONGEST = 1 << 16

ARFF = (
    b"% weather\n@relation 'wea ther'\n\n@attribute outlook {sunny, 'light rain',\"it\\'s\"}\n@attribute t REAL [0,1]\n"
    b"@ATTRIBUTE s string\n@attribute d date 'yyyy-MM-dd HH:mm'\n@attribute class {yes , no}\n@data\n"
    b"sunny,1.5,'a, b','2001-02-03 04:05',yes\n'light rain',?,x,?,no, {2.5}\n?,-1e3,\"q\\\"\",?,?\n"
    b"{1 2.5, 2 'u\\t', 4 no}\n{0 \"it's\", 2 ?}, {0.5} % end\n",
    b"@relation r\r\n@attribute a {x,y}\r\n@attribute b {0,1}\r\n@data\r\nx,0\r\ny,1\r\n?,?\r\n",
    b"@relation r @attribute".replace(b" ", b"\r") + b" a numeric\r@data\r1\r2\r",
    gzip.compress(b"@relation r\n@attribute a {x,y}\n@data\nx\ny\n", mtime=0),
)
CSV = (
    b'name,n,x,"quo""ted"\nNA,01,1.5,"multi\nline"\n"a, b",2,1e5,""\n,3,-0.25,z\n',
    b"a;b;c\r\n1;2;3\r\n;;\r\n4;5;6\r\n",
    b"a\tb\n9007199254740993\ttrue\n1\tnan\n",
    b"\xef\xbb\xbfid|v\n1|2\n",
    gzip.compress(b"a,b\n1,2\n", mtime=0),
)
TOKENS = (
    *(
        b"'",
        b'"',
        b"\\",
        b"{",
        b"}",
        b"%",
        b",",
        b";",
        b"\t",
        b"|",
        b"\n",
        b"\r",
        b"\r\n",
        b" ",
        b"?",
        b"\x00",
        b"\xff",
        b"\xef\xbb\xbf",
    ),
    *(
        b"@relation r",
        b"@attribute a {",
        b"@attribute b numeric\n",
        b"@attribute c relational\n",
        b"@data\n",
        b"@end",
        b"{1 x}",
        b", {5}",
    ),
    *(
        b"nan",
        b"inf",
        b"1e999",
        b"-0",
        b"00",
        b"9" * 400,
        b"0x1p3",
        b"1_0",
        b"\xd9\xa3",
        b"\\u001E",
        b"\\101",
        b'""',
        b"''",
        b'"""',
    ),
    *(
        b"date",
        b"date 'yyyy'",
        b"date '''''",
        b"\xf0\x9f\x98\x80",
        b"\xc2\x85",
        b"\xe2\x80\xa8",
        b"\x1f\x8b",
        b"PAR1",
        b"[" * 50,
        b"{" * 50,
    ),
)


@dataclass(frozen=True)
class Reader:
    """What the fuzzer needs of a reader: some good files, how their names end, and the function that reads one."""

    corpus: Callable[[], Sequence[bytes]]
    ending: str
    read: Callable[[Path], Any]
    mutant: Callable[[random.Random, Sequence[bytes]], bytes] = lambda rng, corpus: mutated(rng.choice(corpus), rng, corpus)


def parquet_corpus() -> tuple[bytes, ...]:
    import pyarrow as pa
    from pyarrow import parquet

    levels = pa.DictionaryArray.from_arrays(pa.array([0, 2, None], pa.int8()), pa.array(["a", "b", "c"]))
    columns = {"i": [1, None, 3], "x": [0.5, 1.5, None], "s": ["u", None, "v"], "b": [True, False, True], "d": levels}
    found = []
    for options in ({"compression": "none"}, {"compression": "snappy", "row_group_size": 2}, {"write_page_checksum": True}):
        sink = io.BytesIO()
        parquet.write_table(pa.table(columns), sink, **options)
        found.append(sink.getvalue())
    return tuple(found)


READERS: dict[str, Reader] = {
    "arff": Reader(lambda: ARFF, ".arff", read_arff),
    "csv": Reader(lambda: CSV, ".csv", read_csv),
    "parquet": Reader(parquet_corpus, ".parquet", read_parquet),
    "model": Reader(fuzz_model.corpus, ".nvt", fuzz_model.load, fuzz_model.mutant),
    **{
        name: Reader(fuzz_formats.corpus(name), ending, fuzz_formats.reader(name), fuzz_formats.mutant)
        for name, ending in fuzz_formats.ENDINGS.items()
    },
}


def mutated(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """The file after one to six random changes."""
    for _ in range(rng.randint(1, 6)):
        data = rng.choice(CHANGES)(data, rng, others)[:LONGEST]
    return data


def cut(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    return data[: rng.randint(0, len(data))]


def drop(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    start, end = sorted((rng.randint(0, len(data)), rng.randint(0, len(data))))
    return data[:start] + data[min(end, start + 20) :]


def flip(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes([rng.choice((data[at] ^ (1 << rng.randrange(8)), rng.randrange(256)))]) + data[at + 1 :]


def insert(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    at = rng.randint(0, len(data))
    return data[:at] + rng.choice(TOKENS) + data[at:]


def repeat(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    start, end = sorted((rng.randint(0, len(data)), rng.randint(0, len(data))))
    return data[:end] + data[start:end] * rng.choice((1, 2, 3, 50)) + data[end:]


def splice(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    other = rng.choice(others)
    return data[: rng.randint(0, len(data))] + other[rng.randint(0, len(other)) :]


def escape(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """Put a word in quotes, with one of its characters as an escape."""
    words = list(re.finditer(rb"[@\w]+", data))
    if not words:
        return data
    start, end = rng.choice(words).span()
    at = rng.randrange(start, end)
    written = rng.choice((b"\\%03o" % data[at], b"\\" + data[at : at + 1], b"\\u%04X" % data[at], data[at : at + 1]))
    quote = rng.choice((b"'", b'"', b""))
    return data[:start] + quote + data[start:at] + written + data[at + 1 : end] + quote + data[end:]


CHANGES = (cut, drop, flip, flip, insert, insert, insert, repeat, splice, escape, escape)


def failure(reader: Reader, path: Path) -> str | None:
    """What is wrong with the way the reader takes this file, None if nothing is."""
    start = time.process_time()
    try:
        reader.read(path)
    except NaiveteError as error:
        if not str(error):
            return "an error without a message"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return f"{type(error).__name__}: {error}"
    seconds = time.process_time() - start
    return f"{seconds:.1f} s" if seconds > SECONDS else None


def fuzz(reader: Reader, count: int, seed: int) -> list[tuple[bytes, str]]:
    """The inputs that the reader does not take as it should, with what went wrong; the first ten of them."""
    rng = random.Random(seed)
    corpus = reader.corpus()
    finds: list[tuple[bytes, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"input{reader.ending}")
        for _ in range(count):
            data = reader.mutant(rng, corpus)
            path.write_bytes(data)
            faulthandler.dump_traceback_later(60, exit=True, file=sys.__stderr__)
            problem = failure(reader, path)
            if problem is not None:
                finds.append((data, problem))
                if len(finds) == 10:
                    break
        faulthandler.cancel_dump_traceback_later()
    return finds


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("reader", nargs="*", help=f"which readers, of {', '.join(READERS)}; by default all")
    parser.add_argument("--count", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    unknown = [name for name in options.reader if name not in READERS]
    if unknown:
        parser.error(f"unknown reader {unknown[0]!r}")
    failed = False
    warnings.simplefilter("ignore", NaiveteWarning)
    for name in options.reader or READERS:
        start = time.perf_counter()
        finds = fuzz(READERS[name], options.count, options.seed)
        print(f"{name}: {options.count} inputs, {len(finds)} finds, {time.perf_counter() - start:.0f} s")
        for data, problem in finds:
            print(f"  {problem}\n    {data[:2000]!r}")
        failed = failed or bool(finds)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
