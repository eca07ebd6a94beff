"""Build hook: compiles the optional kernels if a C compiler is found; without one the package is built without them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from itertools import product
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FILES = ("kernels.c", "contexts.c", "trees.c", "weights.c", "boosting.c", "spectrum.c", "spectrum_tables.c", "changes.c")
SOURCES = [Path("src/naivete/_kernels") / name for name in FILES]
LIBRARY = Path("src/naivete/_kernels") / ("libkernels.dll" if os.name == "nt" else "libkernels.so")
FLAGS = ["-O3", "-std=c99", "-fPIC", "-shared", "-ffp-contract=off", "-fno-trapping-math"]


def compile_kernels(root: Path) -> bool:
    """Compile the kernels into their own folder; return whether that succeeded. If not, there is no library afterwards."""
    target = root / LIBRARY
    target.unlink(missing_ok=True)
    if os.environ.get("NAIVETE_NO_COMPILER"):
        return False
    for name, extra in product((os.environ.get("CC", ""), "cc", "gcc", "clang"), ([], ["-DPLAIN"])):
        compiler = shutil.which(name) if name else None
        if compiler is None:
            continue
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            built = Path(folder) / target.name
            command = [compiler, *FLAGS, *extra, *(str(root / source) for source in SOURCES), "-o", str(built), "-lm"]
            if subprocess.run(command, capture_output=True, check=False).returncode == 0:
                built.replace(target)
                return True
    return False


class CustomBuildHook(BuildHookInterface[Any]):
    """Adds the compiled kernels to the wheel and sets its platform tag; without them the wheel is pure Python."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the kernels; called by hatchling before it builds a wheel, editable or not."""
        if not compile_kernels(Path(self.root)) or version == "editable":
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        build_data["force_include"][str(Path(self.root) / LIBRARY)] = f"naivete/_kernels/{LIBRARY.name}"


if __name__ == "__main__":
    sys.exit(0 if compile_kernels(Path(__file__).resolve().parent) else 1)
