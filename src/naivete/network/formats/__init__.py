"""Reading and writing networks in the formats of other programs: BIF, XMLBIF, HUGIN .net, GeNIe .xdsl, model strings and DOT.

A written network is read back unchanged: names and states of any type, cut points, the order of parents, and every probability
to the last bit. What a format cannot express is written into a property that other programs ignore (`formats.notes`). Model
strings and DOT have only names and arcs; variables read from them have no states.
"""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from naivete.data.files.opening import Limits, PathLike, display_name, open_file, text_blocks
from naivete.errors import DataError, ParameterError, close_matches, quoted
from naivete.network.formats import bif, dot, hugin, strings, xdsl, xmlbif
from naivete.network.formats.assembly import Draft, network_of
from naivete.network.network import Network, check_uncomputed
from naivete.storage.atomic import atomic_write
from naivete.variables import Name

__all__ = ["ENDINGS", "FORMATS", "dumps", "loads", "named_network_format", "read_network", "write_network"]


@dataclass(frozen=True)
class _Format:
    """A format: its reader, its writer, and whether it is XML."""

    draft: Callable[[str, str], Draft]
    pieces: Callable[[Network], Iterator[str]]
    xml: bool = False


_FORMATS: Final[Mapping[str, _Format]] = {
    "bif": _Format(bif.draft, bif.pieces),
    "xmlbif": _Format(xmlbif.draft, xmlbif.pieces, xml=True),
    "hugin": _Format(hugin.draft, hugin.pieces),
    "xdsl": _Format(xdsl.draft, xdsl.pieces, xml=True),
    "string": _Format(strings.draft, strings.pieces),
    "dot": _Format(dot.draft, dot.pieces),
}
FORMATS: Final = tuple(_FORMATS)
"""The formats."""

ENDINGS: Final[Mapping[str, str]] = {
    ".bif": "bif",
    ".xml": "xmlbif",
    ".xmlbif": "xmlbif",
    ".bifxml": "xmlbif",
    ".net": "hugin",
    ".xdsl": "xdsl",
    ".dot": "dot",
    ".gv": "dot",
    ".bnl": "string",
}
"""The endings of file names, optionally followed by .gz, and their formats."""

_BYTES: Final = 1 << 29
_LIMITS: Final = Limits(line=_BYTES, decompressed=_BYTES)
_DECLARED: Final = re.compile(rb"""<\?xml[^>]{1,200}?encoding=["']([A-Za-z0-9._-]{1,40})["']""")


def read_network(
    path: PathLike, *, format: str | None = None, target: Name = None, encoding: str = "utf-8", tolerance: float = 1e-6
) -> Network:
    """Return the network of a file, gzipped or not.

    Parameters
    ----------
    path : str or path-like
        The file.
    format : {"bif", "xmlbif", "hugin", "xdsl", "string", "dot"} or None, default=None
        The format; by default the one of the ending of the file name.
    target : str or None, default=None
        The name of the variable that becomes the class; by default the one that the file marks, else the last one.
    encoding : str, default="utf-8"
        The character encoding of the file; XML may declare another one.
    tolerance : float, default=1e-6
        The largest allowed distance from 1 of the sum of a distribution of two states; n/2 times as much for n states, because
        rounding errors add up. A distribution that is off by more than 1e-9 is divided by its sum, with a warning.

    Returns
    -------
    Network
        The network.

    Raises
    ------
    FileError
        If the file cannot be read.
    DataError
        If the content is not a network; the message names the line.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from naivete import NaiveBayes, read_network, write_network
    >>> model = NaiveBayes().fit([["sun"], ["rain"], ["sun"]], ["out", "in", "out"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_network(model.network_, Path(folder, "weather.bif"))
    ...     read_network(Path(folder, "weather.bif"), target="class").parents[0]
    (-1,)
    """
    file_format = _format_of(path, format)
    name = display_name(path)
    with open_file(path) as file:
        if os.fstat(file.fileno()).st_size > _BYTES:
            raise DataError(f"{name}: more than {_BYTES:,} bytes, too large for a network file")
        if file_format.xml and encoding == "utf-8":
            encoding = _declared(file.read(512)) or encoding
            file.seek(0)
        text = "".join(block.text for block in text_blocks(file, name, encoding, _LIMITS))
    return network_of(file_format.draft(text, name), target, _checked(tolerance))


def write_network(network: Network, path: PathLike, *, format: str | None = None, overwrite: bool = True) -> None:
    """Write a network to a file; if writing fails, an existing file is left unchanged.

    Parameters
    ----------
    network : Network
        The network; sparse tables are written in full if they fit, hidden columns like other variables. A network with a computed
        column, the leaf of a tree or the cell of a hierarchy, is refused.
    path : str or path-like
        The file; if the name ends in .gz it is compressed.
    format : {"bif", "xmlbif", "hugin", "xdsl", "string", "dot"} or None, default=None
        The format; by default the one of the ending of the file name.
    overwrite : bool, default=True
        Whether an existing file may be replaced.

    Raises
    ------
    FileError
        If the file cannot be written, or exists and `overwrite` is False.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from naivete import NaiveBayes, write_network
    >>> model = NaiveBayes().fit([["sun"], ["rain"], ["sun"]], ["out", "in", "out"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_network(model.network_, Path(folder, "weather.bif"))
    ...     print(Path(folder, "weather.bif").read_text().splitlines()[0])
    network naivete {
    """
    if not isinstance(network, Network):
        raise ParameterError(
            f"network={quoted(network)}: a Network is needed; a fitted classifier that is one network has it as `model.network_`"
        )
    data = _written(network, _format_of(path, format)).encode()
    packed = os.fsdecode(path).lower().endswith(".gz")
    atomic_write(Path(os.fsdecode(path)), gzip.compress(data, mtime=0) if packed else data, overwrite=overwrite)


def loads(text: str, format: str, *, target: Name = None, tolerance: float = 1e-6, where: str = "text") -> Network:
    """Return the network of a text.

    Parameters
    ----------
    text : str
        The text of a network file.
    format : {"bif", "xmlbif", "hugin", "xdsl", "string", "dot"}
        The format of the text.
    target : str or None, default=None
        The name of the variable that becomes the class, as for `read_network`.
    tolerance : float, default=1e-6
        The largest allowed distance from 1 of the sum of a distribution, as for `read_network`.
    where : str, default="text"
        The name of the text in error messages.

    Returns
    -------
    Network
        The network.

    Examples
    --------
    >>> from naivete.network.formats import loads
    >>> network = loads("[sky][play|sky]", "string")
    >>> [variable.name for variable in network.variables], network.parents[-1]
    (['sky', 'play'], (0,))
    """
    return network_of(_named(format).draft(text, where), target, _checked(tolerance))


def dumps(network: Network, format: str) -> str:
    """Return the network as text.

    Parameters
    ----------
    network : Network
        The network.
    format : {"bif", "xmlbif", "hugin", "xdsl", "string", "dot"}
        The format of the text.

    Returns
    -------
    str
        The text of a network file.

    Examples
    --------
    >>> from naivete.network.formats import dumps, loads
    >>> dumps(loads("[sky][play|sky]", "string", target="sky"), "string")
    '[play|sky][sky]\\n'
    """
    return _written(network, _named(format))


def named_network_format(path: PathLike) -> str | None:
    """Return the format of the ending of a file name, None if the ending is unknown.

    >>> named_network_format("alarm.BIF.gz"), named_network_format("alarm.csv")
    ('bif', None)
    """
    name = os.fsdecode(path).lower().removesuffix(".gz")
    return next((format for ending, format in ENDINGS.items() if name.endswith(ending)), None)


def _written(network: Network, format: _Format) -> str:
    check_uncomputed(network, "writing it for other programs")
    return "".join(format.pieces(network))


def _format_of(path: PathLike, format: str | None) -> _Format:
    name = display_name(path)
    file_format = format or named_network_format(path)
    if file_format is None:
        raise ParameterError(
            f"{name}: the ending of the name is of no known format; end it in {', '.join(ENDINGS)}, or pass `format=`"
        )
    return _named(file_format)


def _named(format: str) -> _Format:
    if format not in _FORMATS:
        hint = close_matches(format, _FORMATS) or _FORMATS
        raise ParameterError(f"format={quoted(format)} is unknown; use {' or '.join(map(repr, hint))}")
    return _FORMATS[format]


def _checked(tolerance: float) -> float:
    if not 0 <= tolerance < 1:
        raise ParameterError(f"tolerance={quoted(tolerance)} has to be at least 0 and less than 1")
    return tolerance


def _declared(start: bytes) -> str | None:
    """Return the encoding of an XML declaration, None if there is none."""
    declaration = _DECLARED.search(start)
    return declaration[1].decode("ascii") if declaration else None
