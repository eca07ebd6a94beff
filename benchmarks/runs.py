"""The runs, each job in a new process, and their results."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import contenders, measuring, workloads
from benchmarks.contenders import MODELS, OURS, PEERS

Record = dict[str, Any]

TIERS = ("c", "numpy")
LIMIT = "limit"
ROUNDS = 3
SIZES: dict[str, tuple[int, ...]] = {  # of the tables on which growth is measured; one of them is varied at a time
    "rows": (250_000, 500_000, 1_000_000, 2_000_000),
    "features": (16, 32, 64, 128),
    "states": (2, 4, 6, 8),
    "classes": (2, 4, 8, 16),
}
BASE = {"rows": 250_000, "features": 24, "states": 4, "classes": 2}


@dataclass
class Plan:
    """The selected runs, and the folder of the data."""

    names: list[str]
    jobs: list[str]
    libraries: list[str]
    tiers: list[str]
    folder: Path
    repeat: int
    timeout: float
    say: Callable[[str], None] = lambda text: print(text, file=sys.stderr, flush=True)
    too_slow: dict[tuple[str, str], str] = field(default_factory=dict)

    def do(self, job: Record, *, library: str = OURS, tier: str | None = None, module: str = "benchmarks.job") -> Record:
        """Run a job within the time limit of the plan, which is extended for peers with further work outside of the job."""
        job = {"folder": str(self.folder.resolve()), "repeat": self.repeat, "timeout": self.timeout, **job}
        python = os.environ["NAIVETE_LIMIT_PYTHON"] if library == LIMIT else contenders.interpreter(library)
        assert python is not None
        spare = 60 if library in ("Weka", LIMIT) else 0
        environment = {} if tier is None else {"NAIVETE_KERNELS": tier}
        if library == LIMIT:
            environment = {"NUMBA_CACHE_DIR": str(self.folder.resolve() / "numba"), "PYTHONDONTWRITEBYTECODE": "1"}
        return measuring.in_fresh_process(module, job, python=python, timeout=self.timeout + spare, environment=environment)


def classified(plan: Plan) -> Iterator[Record]:
    """Yield the figures of fit and predict of naivete in each tier and of every peer, on every workload, the smallest first."""
    ours = [(OURS, model, tier) for model in MODELS for tier in plan.tiers]
    # all models of naivete are compared with the naive Bayes of scikit-learn
    wanted = [
        (library, m, None) for library, models in PEERS.items() for m in models if m in plan.jobs or library == "scikit-learn"
    ]
    chosen = [entry for entry in [*ours, *wanted] if entry[1] in plan.jobs or entry[0] == "scikit-learn"]
    if not set(plan.jobs) & set(MODELS):
        return
    for name in workloads.smallest_first(plan.names, plan.folder):
        for library, model, tier in chosen:
            if library in plan.libraries:
                yield classified_one(plan, name, library, model, tier)


def classified_one(plan: Plan, name: str, library: str, model: str, tier: str | None) -> Record:
    """Return the figures of one classifier on one workload; a peer that was too slow on a smaller workload is not run."""
    record: Record = {"workload": name, "library": library, "model": model, "tier": tier}
    before = plan.too_slow.get((library, model))
    if contenders.interpreter(library) is None:
        return {**record, "failed": "not found"}
    if before is not None:
        return {**record, "failed": f"not run ({before})"}
    plan.say(f"{name}  {library} {model} {tier or ''}")
    record |= plan.do({"do": "classify", "workload": name, "library": library, "model": model}, library=library, tier=tier)
    if library != OURS and record.get("failed", "").startswith("over"):
        plan.too_slow[library, model] = f"{record['failed']} on {name}"
    return record


def all_pairs(plan: Plan) -> list[Record]:
    """Return the times of the all-pairs pass of naivete in each tier and of the prototype: the best of alternating rounds."""
    records = []
    limit = os.environ.get("NAIVETE_LIMIT"), os.environ.get("NAIVETE_LIMIT_PYTHON")
    for name in plan.names if "pairs" in plan.jobs else ():
        plan.say(f"{name}  all pairs")
        record: Record = {"workload": name}
        for _ in range(ROUNDS):
            for tier in plan.tiers:
                record[tier] = least(record.get(tier), plan.do({"do": "pairs", "workload": name}, tier=tier))
            if all(limit):
                job = {"workload": name, "limit": str(Path(str(limit[0])).resolve())}
                record[LIMIT] = least(record.get(LIMIT), plan.do(job, library=LIMIT, module="benchmarks.limit_job"))
        records.append({LIMIT: {"failed": "not found (NAIVETE_LIMIT, NAIVETE_LIMIT_PYTHON)"}, **record})
    return records


def least(one: Record | None, two: Record) -> Record:
    """Return the smaller of each of the times of two records of the same job; a failed record is ignored.

    >>> least({"a": 2.0, "b": 1.0}, {"a": 1.0, "b": 3.0})
    {'a': 1.0, 'b': 1.0}
    """
    if one is None or "failed" in one:
        return two
    return one if "failed" in two else {name: min(one[name], two[name]) for name in one}


def grown(plan: Plan) -> list[Record]:
    """Return the costs of naivete at several sizes, one varied at a time, and the slopes of their logarithms."""
    records = []
    for tier in plan.tiers if "growth" in plan.jobs else ():
        for varied, sizes in SIZES.items():
            plan.say(f"growth with {varied}, {tier}")
            costs = [plan.do({"do": "growth", **BASE, varied: size}, tier=tier) for size in sizes]
            failure = next((c["failed"] for c in costs if "failed" in c), None)
            record: Record = {"tier": tier, "with": varied, "sizes": sizes}
            records.append({**record, "failed": failure} if failure else {**record, "costs": costs, "slopes": slopes(sizes, costs)})
    return records


def slopes(sizes: Sequence[int], costs: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return the exponent of each cost: the slope of its logarithm over the logarithm of the size.

    >>> slopes([1, 2, 4], [{"a": 3.0}, {"a": 12.0}, {"a": 48.0}])
    {'a': 2.0}
    """
    x = np.log(np.array(sizes, float))
    return {name: round(float(np.polyfit(x, np.log([c[name] for c in costs]), 1)[0]), 2) for name in costs[0]}


def cold(plan: Plan) -> Record | None:
    """Return the times of `naivete fit` on W1 as CSV from the shell, and of the import that a user of CategoricalNB needs."""
    if "cold" not in plan.jobs:
        return None
    plan.say("cold start")
    workloads.ensure("W1", plan.folder)
    data = workloads.load("W1", plan.folder)
    script = shutil.which("naivete", path=str(Path(sys.executable).parent))
    naivete = [script] if script else [sys.executable, "-m", "naivete"]
    with tempfile.TemporaryDirectory() as folder:
        table, model = Path(folder, "w1.csv"), Path(folder, "w1.nvt")
        names = [*(f"x{i}" for i in range(data.X.shape[1])), "y"]
        np.savetxt(table, np.column_stack([data.X, data.y]), fmt="%d", delimiter=",", header=",".join(names), comments="")
        fit = [*naivete, "fit", str(table), "--target", "y", "--model", "kdb:k=2", "--out", str(model), "--force"]
        imports = [sys.executable, "-c", "import sklearn.naive_bayes"]
        return alternately({"fit": fit, "import": imports}, max(5, plan.repeat))


def alternately(commands: dict[str, list[str]], repeat: int) -> Record:
    """Return the shortest wall-clock times of commands that are run alternately, after one warm-up round."""
    best: dict[str, float] = {}
    for turn in range(repeat + 1):
        for name, command in commands.items():
            start = time.perf_counter()
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            took = time.perf_counter() - start
            if done.returncode:
                return {"failed": f"{name}: {(done.stderr.strip().splitlines() or ['?'])[-1][:160]}"}
            if turn:
                best[name] = min(took, best.get(name, took))
    return {**best}


def machine(plan: Plan) -> Record:
    """Return the versions, the processor and the load of the machine."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    about = plan.do({"do": "versions"})
    return {**about, "processor": processor(), "load of others": round(load, 2)}


def processor() -> str:
    """Return the model of the processor, and the instruction sets that the kernels use."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return "unknown"
    pairs = (line.partition(":") for line in lines)
    facts = {key.strip(): value.strip() for key, _, value in pairs}
    flags = set(facts.get("flags", "").split())
    return ", ".join([facts.get("model name", "unknown"), *(f for f in ("avx2", "avx512_vpopcntdq") if f in flags)])
