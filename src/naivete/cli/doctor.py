"""`naivete doctor`: report the installed versions and check that the library works."""

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
    "torch": "counting on a GPU",
}


def arguments(parser: ArgumentParser) -> None:
    """Add no arguments: the command has none besides those of every command."""


def run(args: Namespace) -> int:
    """Report versions and kernels, and run some checks; the exit code is 1 if any of them fails."""
    report: dict[str, Any] = {
        "naivete": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "needed": {name: _version(name) for name in _NEEDED},
        "optional": {name: _version(name) for name in _OPTIONAL},
    }
    report["kernels"], report["threads"] = _kernels()
    report["device"] = _device(report["kernels"]["tier"])
    report["checks"] = _checks()
    report["well"] = all(report["needed"].values()) and all(outcome == "passed" for outcome in report["checks"].values())
    say(*([json_text(report)] if args.json else _lines(report)))
    return 0 if report["well"] else 1


def _version(name: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _kernels() -> tuple[dict[str, str], int | str]:
    """Return which kernels are used and why, and the number of threads."""
    from naivete import _kernels
    from naivete.errors import ParameterError

    wanted = os.environ.get("NAIVETE_KERNELS")
    try:
        tier, threads = _kernels.tier(), _kernels.threads()
    except ParameterError as error:
        return {"tier": "none", "why": str(error)}, "unknown"
    if wanted:
        why = f"NAIVETE_KERNELS={wanted} selects it"
    elif tier == "c":
        why = "the compiled library is installed"
    else:
        why = "the compiled library is missing or was built for another machine; install a C compiler, then reinstall naivete"
    return {"tier": tier, "why": why}, threads


def _device(tier: str) -> str:
    """Return the name of the GPU that counts, or why none does."""
    from naivete._kernels.device import device_name
    from naivete.errors import ParameterError

    if _version("torch") is None:
        return "none: torch is not installed"
    try:
        name = device_name()
    except ParameterError as error:
        return f"none: {error}"
    return name if tier == "gpu" else f"{name}; not used: set NAIVETE_KERNELS=gpu to count on it"


def _checks() -> dict[str, str]:
    """Return the outcome of every check, by name."""
    checks = {
        "all kernels count alike": _counts_agree,
        "a saved and loaded model predicts the same": _round_trip,
        "kdb:k=1 learns the corral data": _learns,
    }
    outcomes = {}
    for name, check in checks.items():
        try:
            outcomes[name] = "passed" if check() else "failed"
        except Exception as error:  # noqa: BLE001 - any error is an outcome
            outcomes[name] = f"failed: {type(error).__name__}: {error}"
    return outcomes


def _counts_agree() -> bool:
    import numpy as np

    from naivete import _kernels
    from naivete._kernels import Layout, gather, scatter

    rng = np.random.default_rng(0)
    codes = [rng.integers(0, 3, 1000).astype(np.uint8) for _ in range(4)]
    layout = Layout(((0, 1, -1), (2, -1)), (3, 3, 3, 3))
    results = []
    for tier in ("numpy", *(["c"] if _kernels.compiled() is not None else [])):
        with _kernels.use(tier):  # type: ignore[arg-type]
            counts = scatter(codes, layout)
            results.append((counts, gather(codes, layout, np.log(counts + 1.0), 3)))
    if _kernels.tier() == "gpu":
        from naivete._kernels.device_counting import gather_on_device, scatter_on_device

        counts = scatter_on_device(codes, layout, None)
        results.append((counts, gather_on_device(codes, layout, np.log(counts + 1.0), 3)))
    equal = all(np.array_equal(a, b) for result in results for a, b in zip(result, results[0], strict=True))
    return equal and int(results[0][0].sum()) == 2 * len(codes[0])


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
        loaded = load(file)
    return np.array_equal(loaded.predict_proba(cases.features), model.predict_proba(cases.features))


def _learns() -> bool:
    model, cases = _corral()
    return bool((model.predict(cases.features) == cases.y).all())


def _lines(report: dict[str, Any]) -> list[str]:
    lines = {
        "naivete": report["naivete"],
        "python": f"{report['python']} ({sys.executable})",
        "platform": report["platform"],
        **{name: version or "missing: install it" for name, version in report["needed"].items()},
        **{name: version or f"not installed (optional: {_OPTIONAL[name]})" for name, version in report["optional"].items()},
        "kernels": f"{report['kernels']['tier']}: {report['kernels']['why']}",
        "threads": report["threads"],
        "device": report["device"],
        **{f"check: {name}": outcome for name, outcome in report["checks"].items()},
    }
    width = max(map(len, lines))
    last = "all checks passed" if report["well"] else "something is missing or a check failed; see the lines above"
    return [*(f"{name:<{width}}  {escaped(value)}" for name, value in lines.items()), last]


COMMAND = Command(
    "doctor",
    "Report versions, kernels and threads, and check that the library works.",
    ("naivete doctor", "NAIVETE_KERNELS=numpy naivete doctor --json"),
    arguments,
    run,
)
