#!/usr/bin/env python3
"""Commands for development, each with its own set-up: `python3 dev.py COMMAND [arguments]`.

The first call creates `.venv` beside this file and installs the package there in editable mode with all that the tests need;
later calls reuse it until the configuration or the C source changes. The documentation has an environment of its own,
`.venv-docs`. Nothing outside this folder is touched. `pip install -e '.[dev]'` followed by plain `pytest` works too.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
KERNELS = ROOT / "src" / "naivete" / "_kernels"
INSTALLED_FROM = (ROOT / "pyproject.toml", ROOT / "hatch_build.py", *sorted(KERNELS.glob("*.[ch]")))
"""The files that decide what is installed and compiled."""

PYTEST = ["-m", "pytest", "-q"]
PARALLEL = [*PYTEST, "-n", "auto", "--dist", "worksteal"]
SPHINX = ["-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", "-d", "docs/_build/doctrees", "docs", "docs/_build/html"]
LINT_IMPORTS = ["-c", "import sys; from importlinter.cli import lint_imports_command as main; sys.exit(main())"]

COMMANDS = {
    "demo": ("compare the classifiers on embedded data and write a page to look at", [["-m", "naivete", "demo"]]),
    "test": ("run the tests in parallel", [PARALLEL]),
    "lint": (
        "check style, types and the import contract",
        [["-m", "ruff", "check", "."], ["-m", "ruff", "format", "--check", "."], ["-m", "mypy"], LINT_IMPORTS],
    ),
    "coverage": (
        "run the tests with branch coverage",
        [
            ["-m", "coverage", "erase"],
            ["-m", "coverage", "run", *PARALLEL],
            ["-m", "coverage", "combine"],
            ["-m", "coverage", "report"],
        ],
    ),
    "long": ("run the property tests on many random examples", [PARALLEL]),
    "chaos": ("run the slow tests: failures and kills at every file operation, lost workers", [[*PYTEST, "-m", "slow"]]),
    "fuzz": (
        "read mutated inputs with every reader and the model loader: 50,000 each, or --total N --state FILE",
        [["-m", "tests.fuzz_run"]],
    ),
    "sanitize": ("run the tests of the C code with AddressSanitizer and UndefinedBehaviorSanitizer", [["-m", "tests.sanitize"]]),
    "memory": ("compare the memory of fit and predict with their limit, on a larger table", [["-m", "tests.memory_run"]]),
    "bench": ("compare speed and memory with other libraries", [["-m", "benchmarks"]]),
    "reproduce": ("repeat a published experiment: dev.py reproduce sahami-1996", [["-m", "studies"]]),
    "docs": ("build the documentation into docs/_build/html and check its links", [SPHINX, ["docs/check.py"]]),
    "run": ("run naivete itself: dev.py run fit data.csv --target y", [["-m", "naivete"]]),
}
ENVIRONMENT = {"long": {"NAIVETE_EXAMPLES": "long"}}
BYTECODE = {"PYTHONDONTWRITEBYTECODE": ""}
"""Compiled modules are kept in `__pycache__`, whatever the caller's setting: the tests start many processes."""


def python_of(folder: Path) -> Path:
    """Return the interpreter of a virtual environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def digest() -> str:
    """Return a hash of what an environment was installed from: the interpreter and the files that decide what is built."""
    contents = [path.read_bytes() for path in INSTALLED_FROM]
    compiler = os.environ.get("NAIVETE_NO_COMPILER", "")
    return hashlib.sha256(b"\0".join([sys.version.encode(), compiler.encode(), *contents])).hexdigest()


def set_up(command: str) -> Path:
    """Create the environment of a command, unless it exists and was made from the same files, and return its interpreter."""
    folder, extra = (ROOT / ".venv-docs", "docs") if command == "docs" else (ROOT / ".venv", "dev")
    python, stamp = python_of(folder), folder / "installed"
    if stamp.exists() and stamp.read_text() == digest():
        return python
    print(f"setting up {folder.name} (once) ...", flush=True)
    if not python.exists():
        venv.create(folder, with_pip=True)
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--editable", f"{ROOT}[{extra}]"]
    subprocess.run(install, check=True)
    stamp.write_text(digest())
    return python


def main(arguments: list[str]) -> int:
    """Set up, run the command, and return its exit status."""
    if sys.version_info < (3, 11):
        print("naivete needs Python 3.11 or newer", file=sys.stderr)
        return 2
    if not arguments or arguments[0] not in COMMANDS:
        width = max(map(len, COMMANDS))
        print(__doc__, *(f"    {name:{width}}  {help_line}" for name, (help_line, _) in COMMANDS.items()), sep="\n")
        return 0 if arguments[:1] in ([], ["--help"], ["-h"]) else 2
    python = set_up(arguments[0])
    environment = {**os.environ, **BYTECODE, **ENVIRONMENT.get(arguments[0], {})}
    steps = COMMANDS[arguments[0]][1]
    for step in steps:
        extra = arguments[1:] if step is steps[-1] else []
        status = subprocess.run([python, *step, *extra], cwd=ROOT, env=environment, check=False).returncode
        if status:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
