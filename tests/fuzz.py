"""Mutated files for every reader; `tests.fuzz_run` is the command.

A reader passes if nothing but an error or a warning of the library leaves it, and if no input takes more than 256 MiB of memory. In
`tests.fuzz_run` no input may take more than two seconds of processor time, either, or two for each 100 kB of a longer one; the
ordinary tests have no such limit, since other threads of the process use the processor, too.
"""

from __future__ import annotations

import faulthandler
import gzip
import io
import math
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from naivete.data.files import read_arff, read_csv, read_parquet
from naivete.data.files.pieces import pieces
from naivete.errors import NaiveteError
from tests import fuzz_formats, fuzz_model

try:
    import resource
except ImportError:  # pragma: no cover - Windows
    resource = None  # type: ignore[assignment]

SECONDS = 2.0  # of processor time for 100 kB, in `tests.fuzz_run`
STUCK = 60.0
MEMORY = 256 << 20
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


def read_parquet_twice(path: Path) -> Any:
    """Read the footer for streaming, then the table."""
    pieces([path])
    return read_parquet(path)


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
    "parquet": Reader(cache(parquet_corpus), ".parquet", read_parquet_twice),
    "model": Reader(cache(fuzz_model.corpus), ".nvt", fuzz_model.load, fuzz_model.mutant),
    **{
        name: Reader(cache(fuzz_formats.corpus(name)), ending, fuzz_formats.reader(name), fuzz_formats.mutant)
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


@dataclass
class Found:
    """What a reader did with some inputs."""

    inputs: int = 0
    refused: int = 0
    """Inputs for which it raised an error of the library."""
    slowest: float = 0.0
    """The most processor seconds for an input, per 100 kB where it is longer than that."""
    memory: int = 0
    """How far the peak of the memory of the process is above that before the first input, in bytes: a bound for each input."""
    problems: list[tuple[bytes, str]] = field(default_factory=list)
    """The inputs that it did not take as it should, with what went wrong."""


def failure(reader: Reader, path: Path, found: Found | None = None, limit: float = math.inf) -> str | None:
    """What is wrong with the way the reader takes this file, None if nothing is; `limit` is in processor seconds for 100 kB."""
    found = Found() if found is None else found
    start = time.process_time()
    try:
        reader.read(path)
    except NaiveteError as error:
        found.refused += 1
        if not str(error):
            return "an error without a message"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return f"{type(error).__name__}: {error}"
    seconds = (time.process_time() - start) / max(1.0, path.stat().st_size / 100_000)
    found.slowest = max(found.slowest, seconds)
    return f"{seconds:.1f} s of processor time" if seconds > limit else None


def fuzz(reader: Reader, count: int, seed: int | str, baseline: int | None = None, limit: float = math.inf) -> Found:
    """Read mutated inputs, and stop at the tenth problem or at the first input that takes too much memory.

    Parameters
    ----------
    reader : the reader.
    count : the number of inputs.
    seed : the seed of the changes.
    baseline : the memory of the process before the first input of all, in bytes; by default that of now.
    limit : the most processor seconds for 100 kB of an input.
    """
    rng, found = random.Random(seed), Found()
    corpus = reader.corpus()
    baseline = memory() if baseline is None else baseline
    with tempfile.TemporaryDirectory() as folder, stopped_when_stuck() as restart:
        path = Path(folder, f"input{reader.ending}")
        while found.inputs < count and len(found.problems) < 10 and found.memory <= MEMORY:
            data = reader.mutant(rng, corpus)
            path.write_bytes(data)
            restart()
            problem = failure(reader, path, found, limit)
            found.inputs += 1
            found.memory = peak_memory() - baseline
            if problem is None and found.memory > MEMORY:
                problem = f"{found.memory / 2**20:.0f} MiB of memory"
            if problem is not None:
                found.problems.append((data, problem))
    return found


def memory() -> int:
    """The resident memory of the process now, in bytes; its peak where the system does not report it."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if statm.exists() else peak_memory()


def peak_memory() -> int:
    """The largest resident memory that the process has had, in bytes; 0 where the system does not report it."""
    if resource is None:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


@contextmanager
def stopped_when_stuck() -> Iterator[Callable[[], None]]:
    """Yield a function that allows `STUCK` more processor seconds, after which the process prints where it is, and ends."""
    if not hasattr(signal, "setitimer"):
        yield lambda: None
        return
    faulthandler.register(signal.SIGPROF, file=sys.__stderr__, chain=True)  # the default handler ends the process
    try:
        yield lambda: signal.setitimer(signal.ITIMER_PROF, STUCK) and None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.unregister(signal.SIGPROF)
