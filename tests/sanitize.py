"""The compiled kernels under AddressSanitizer and UndefinedBehaviorSanitizer: `python -m tests.sanitize [pytest arguments]`.

The package is copied, its C sources are compiled with both sanitizers, and the tests that compare the kernels with their NumPy
versions and with slow, obvious ones run on the copy, with many random examples. The first finding ends
the run. A C compiler with the libraries of the sanitizers is needed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLAGS = [
    *("-O1", "-g", "-std=c99", "-fPIC", "-shared", "-ffp-contract=off", "-fno-omit-frame-pointer"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
]
TESTS = [
    "tests/_kernels",
    *(f"tests/learners/test_{name}.py" for name in ("linear", "boosted")),
    "tests/inference/test_predictor.py",
]


def preloaded(compiler: str) -> str | None:
    """The runtime of AddressSanitizer, which has to be loaded before all other libraries; None if there is none."""
    found = subprocess.run([compiler, "-print-file-name=libasan.so"], capture_output=True, text=True, check=False).stdout.strip()
    return found if Path(found).is_absolute() else None


def built(folder: Path, compiler: str) -> Path:
    """Copy the package, compile its kernels with the sanitizers, and return the folder to import from."""
    source = folder / "src"
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    kernels = source / "naivete/_kernels"
    files = [str(path) for path in sorted(kernels.glob("*.c"))]
    subprocess.run([compiler, *FLAGS, *files, "-o", str(kernels / "libkernels.so"), "-lm"], check=True)
    return source


def run(source: Path, runtime: str, arguments: list[str]) -> int:
    """Run the tests on the copy, print what they print, and the number of random examples; return the status of pytest."""
    environment = {
        **os.environ,
        "PYTHONPATH": f"{source}{os.pathsep}{ROOT}",
        "LD_PRELOAD": runtime,
        "ASAN_OPTIONS": f"detect_leaks=0:log_path={source}/finding",  # the interpreter frees little when it ends
        "UBSAN_OPTIONS": f"print_stacktrace=1:log_path={source}/finding",  # pytest would keep what is printed
        "NAIVETE_KERNELS": "c",
        "NAIVETE_EXAMPLES": "long",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--hypothesis-show-statistics", "-k", "not numpy"]
    command += arguments or TESTS
    examples, summary = 0, ""
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        for line in process.stdout or ():
            examples += sum(map(int, re.findall(r"- (\d+) passing\b", line)))
            if not line.startswith(("  ", "tests/", "\n")):
                print(line, end="", flush=True)
            summary = line.strip() or summary
    for report in sorted(source.glob("finding*")):
        print(report.read_text(errors="replace")[:5000])
    print(f"sanitizers: {examples:,} random cases; {summary}; {'no finding' if process.returncode == 0 else 'FAILED'}")
    return process.returncode


def main(arguments: list[str]) -> int:
    """Build, run, and return 0 if nothing was found, 1 if something was, and 2 without a suitable compiler."""
    compiler = next(
        (path for name in (os.environ.get("CC", ""), "gcc", "cc", "clang") if name and (path := shutil.which(name))), None
    )
    runtime = None if compiler is None else preloaded(compiler)
    if compiler is None or runtime is None:
        print("a C compiler with the libraries of -fsanitize=address,undefined is needed, such as gcc on Linux", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        return run(built(Path(folder), compiler), runtime, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
