#!/usr/bin/env python3
"""Everything a developer runs, each with its own set-up: `python3 dev.py COMMAND [arguments]`.

The first call makes `.venv` beside this file and installs the package there, in place; later calls reuse it until the
configuration or the C source changes. Nothing outside the folder is touched.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
STAMP = VENV / "installed"
INSTALLED_FROM = ("pyproject.toml", "hatch_build.py", "src/naivete/_kernels/kernels.c")

COMMANDS = {
    "demo": ("the spectrum on embedded data, with a page to look at", [["-m", "naivete", "demo"]]),
    "test": ("the tests, in parallel", [["-m", "pytest", "-n", "auto", "--dist", "worksteal", "-q", "-m", "not slow"]]),
    "lint": (
        "ruff, mypy and the import contract",
        [
            ["-m", "ruff", "check", "."],
            ["-m", "ruff", "format", "--check", "."],
            ["-m", "mypy"],
            ["-c", "import sys; from importlinter.cli import lint_imports_command as go; sys.exit(go())"],
        ],
    ),
    "coverage": (
        "the tests with branch coverage",
        [
            ["-m", "coverage", "erase"],
            ["-m", "coverage", "run", "-m", "pytest", "-n", "auto", "-q", "-m", "not slow"],
            ["-m", "coverage", "combine"],
            ["-m", "coverage", "report"],
        ],
    ),
    "chaos": ("the slow tests: faults and kills at every file operation", [["-m", "pytest", "-q", "-m", "slow"]]),
    "fuzz": ("50,000 mutated inputs for every reader and the loader", [["-m", "tests.fuzz"]]),
    "bench": ("the benchmarks against the peers", [["-m", "benchmarks"]]),
    "reproduce": ("a published experiment, its figures beside ours: dev.py reproduce sahami-1996", [["-m", "studies"]]),
    "run": ("naivete itself: dev.py run fit data.csv --target y", [["-m", "naivete"]]),
}


def digest() -> str:
    """What the environment was installed from: the interpreter and the files that decide what is built."""
    found = [(ROOT / name).read_bytes() for name in INSTALLED_FROM if (ROOT / name).exists()]
    compiler = os.environ.get("NAIVETE_NO_COMPILER", "")
    return hashlib.sha256(b"\0".join([sys.version.encode(), compiler.encode(), *found])).hexdigest()


def set_up() -> None:
    """Make the environment, unless it is there and was made from these very files."""
    if STAMP.exists() and STAMP.read_text() == digest():
        return
    print(f"setting up {VENV.name} (once) ...", flush=True)
    if not PYTHON.exists():
        venv.create(VENV, with_pip=True)
    install = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--editable", f"{ROOT}[dev]"]
    subprocess.run(install, check=True)
    STAMP.write_text(digest())


def main(arguments: list[str]) -> int:
    """Set up, then run the command; its exit status is ours."""
    if sys.version_info < (3, 11):
        print("naivete needs Python 3.11 or newer", file=sys.stderr)
        return 2
    if not arguments or arguments[0] not in COMMANDS:
        width = max(map(len, COMMANDS))
        print(__doc__, *(f"    {name:{width}}  {what}" for name, (what, _) in COMMANDS.items()), sep="\n")
        return 0 if arguments[:1] in ([], ["--help"], ["-h"]) else 2
    set_up()
    steps = COMMANDS[arguments[0]][1]
    for step in steps:
        extra = arguments[1:] if step is steps[-1] else []
        status = subprocess.run([PYTHON, *step, *extra], cwd=ROOT, check=False).returncode
        if status:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
