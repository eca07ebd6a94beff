"""`naivete doctor`: what is installed, what is in use, and whether it works."""

from __future__ import annotations

import os
import platform
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from naivete import __version__
from naivete.cli.output import escaped, json_text, say
from naivete.cli.parsing import Command

__all__ = ["COMMAND"]

_NEEDED = ("numpy", "scipy", "scikit-learn", "narwhals")
_OPTIONAL = {
    "pyarrow": "reads and writes Parquet",
    "rich": "progress bars",
    "pandas": "data frames",
    "polars": "data frames",
    "matplotlib": "plots",
    "dask": "distributed counting",
}


def arguments(parser: ArgumentParser) -> None:
    """The command takes nothing of its own."""


def run(args: Namespace) -> int:
    """Tell versions and tiers, try the essentials; 1 where something is broken."""
    found: dict[str, Any] = {
        "naivete": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "needed": {name: _version(name) for name in _NEEDED},
        "optional": {name: _version(name) for name in _OPTIONAL},
    }
    found["kernels"], found["threads"] = _kernels()
    found["checks"] = _checks()
    well = all(found["needed"].values()) and all(outcome == "passed" for outcome in found["checks"].values())
    found["well"] = well
    say(*([json_text(found)] if args.json else _told(found)))
    return 0 if well else 1


def _version(name: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _kernels() -> tuple[dict[str, str], int | str]:
    """Which kernels are in use and why, and how many threads."""
    from naivete import _kernels
    from naivete.errors import ParameterError

    wanted = os.environ.get("NAIVETE_KERNELS")
    try:
        tier, threads = _kernels.tier(), _kernels.threads()
    except ParameterError as error:
        return {"tier": "none", "why": str(error)}, "unknown"
    if wanted:
        why = f"NAIVETE_KERNELS={wanted} asks for it"
    elif tier == "c":
        why = "the compiled library is there"
    else:
        why = "the compiled library is not there or is of another machine; with a C compiler, installing again builds it"
    return {"tier": tier, "why": why}, threads


def _checks() -> dict[str, str]:
    """The name of every check and how it ended."""
    checks = {
        "counts agree in all tiers": _counts_agree,
        "a model survives saving and loading": _round_trip,
        "corral is learned": _learns,
    }
    outcomes = {}
    for name, check in checks.items():
        try:
            outcomes[name] = "passed" if check() else "failed"
        except Exception as error:  # noqa: BLE001 - the doctor tells, whatever it is
            outcomes[name] = f"failed: {type(error).__name__}: {error}"
    return outcomes


def _counts_agree() -> bool:
    import numpy as np

    from naivete import _kernels
    from naivete._kernels import Layout, gather, scatter

    draw = np.random.default_rng(0)
    codes = [draw.integers(0, 3, 1000).astype(np.uint8) for _ in range(4)]
    layout = Layout(((0, 1, -1), (2, -1)), (3, 3, 3, 3))
    results = []
    for tier in ("numpy", *(["c"] if _kernels.tier() == "c" else [])):
        with _kernels.use(tier):  # type: ignore[arg-type]
            counts = scatter(codes, layout)
            results.append((counts, gather(codes, layout, np.log(counts + 1.0), 3)))
    alike = all(np.array_equal(a, b) for own in results for a, b in zip(own, results[0], strict=True))
    return alike and int(results[0][0].sum()) == 2 * len(codes[0])


def _corral() -> tuple[Any, Any]:
    from naivete.classifiers.specification import classifier_of
    from naivete.data.generated import corral
    from naivete.data.labelled_table import label_table

    cases = label_table(corral(), "class")
    return classifier_of("kdb:k=1").fit(cases.features, cases.y), cases


def _round_trip() -> bool:
    import tempfile

    import numpy as np

    from naivete.classifiers.saving import load, save

    model, cases = _corral()
    with tempfile.TemporaryDirectory(prefix="naivete-") as folder:
        file = Path(folder, "model.nvt")
        save(model, file)
        again = load(file)
    return np.array_equal(again.predict_proba(cases.features), model.predict_proba(cases.features))


def _learns() -> bool:
    model, cases = _corral()
    return bool((model.predict(cases.features) == cases.y).all())


def _told(found: dict[str, Any]) -> list[str]:
    lines = {
        "naivete": found["naivete"],
        "python": f"{found['python']} ({sys.executable})",
        "platform": found["platform"],
        **{name: version or "missing: install it" for name, version in found["needed"].items()},
        **{n: v or f"not installed (optional: {_OPTIONAL[n]})" for n, v in found["optional"].items()},
        "kernels": f"{found['kernels']['tier']}: {found['kernels']['why']}",
        "threads": found["threads"],
        **{f"check: {name}": outcome for name, outcome in found["checks"].items()},
    }
    width = max(map(len, lines))
    last = "everything works" if found["well"] else "something is broken; the lines above say what"
    return [*(f"{name:<{width}}  {escaped(value)}" for name, value in lines.items()), last]


COMMAND = Command(
    "doctor",
    "Tell versions, kernels and threads, and check that the essentials work.",
    ("naivete doctor", "NAIVETE_KERNELS=numpy naivete doctor --json"),
    arguments,
    run,
)
