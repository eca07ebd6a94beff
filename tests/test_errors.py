"""Messages: parameters in backticks, and the same messages with options of the command line."""

from __future__ import annotations

import warnings

import pytest

from naivete.errors import quoted, warn, with_options

OPTIONS = {
    "encoding": "--encoding",
    "missing": "--missing-token",
    "missing='em'": "--missing em",
    "kinds": "--kinds",
    "restart": "--restart",
}


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("pass another `encoding=`", "pass another --encoding"),
        ("`encoding='utf 9'` is unknown", "--encoding 'utf 9' is unknown"),
        ("use `restart=True` to begin again", "use --restart to begin again"),
        ("`missing=('', 'NA', '?')`", "--missing-token NA --missing-token '?'"),
        ("`missing='em'`", "--missing em"),
        ("`kinds={'a': 'nominal', 'b': 'numeric'}`", "--kinds a=nominal,b=numeric"),
        ("`kinds=...`", "--kinds"),
        (f"`encoding={quoted('x' * 100)}`", f"--encoding {quoted('x' * 100)}"),
        ("`other=1` and encoding='a' stay", "`other=1` and encoding='a' stay"),
    ],
)
def test_options_take_the_place_of_parameters(message: str, shown: str) -> None:
    assert with_options(message, OPTIONS) == shown


def test_a_warning_points_at_the_line_of_the_user() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn("text")
    assert caught[0].filename == __file__
