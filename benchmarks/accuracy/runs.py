"""Runs of the contenders on the data sets, with limits of threads and time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.accuracy import contenders
from benchmarks.accuracy.results import Record, Results
from benchmarks.measuring import ROOT


@dataclass(frozen=True)
class Plan:
    """What is run.

    Parameters
    ----------
    sets, contenders : their names; the first contender is run on all sets, then the next one.
    data : the folder with the data sets.
    cpu_limit : the most CPU seconds of one contender on all folds of one set.
    say : a function that reports progress.
    """

    sets: Sequence[str]
    contenders: Sequence[str]
    data: Path
    cpu_limit: float = 600
    say: Callable[[str], None] = print


def run(plan: Plan, results: Results) -> None:
    """Compute the results of the plan that are missing in the results file, and append them as soon as they are known."""
    for contender in plan.contenders:
        if reason := contenders.absence(contender):
            plan.say(f"{contender} is left out: {reason}")
        else:
            run_contender(contender, plan, results)


def run_contender(contender: str, plan: Plan, results: Results) -> None:
    """Compute the missing results of one contender."""
    specification = contenders.specification(contender)
    folds = {name: results.missing_folds(name, contender, specification, plan.cpu_limit) for name in plan.sets}
    folds = {name: missing for name, missing in folds.items() if missing}
    if not folds:
        return
    setting = {"folds": results.setting.folds, "rows": results.setting.rows}
    common = {"contender": contender, **setting, "specification": specification, "versions": contenders.versions(contender)}
    common["date"] = datetime.now(UTC).date().isoformat()
    job = {"contender": contender, **setting, "sets": folds, "data": str(plan.data.resolve()), "cpu_limit": plan.cpu_limit}
    of_set: list[Record] = []
    for record in printed_records(job):
        ended = record.pop("ended", False)
        if not ended or "failed" in record:
            of_set.append({**common, **record})
        if "failed" in record and record["failed"].startswith("over"):
            of_set[-1]["cpu_limit"] = plan.cpu_limit
        if ended:
            results.add(of_set)
            plan.say(summary(of_set))
            of_set = []


def printed_records(job: Record) -> Iterator[Record]:
    """Yield the records that a job prints; the job is ended with all its processes if the iteration is interrupted."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.accuracy.job", json.dumps(job)]
    environment = {**os.environ, **contenders.THREAD_LIMITS}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if line.startswith("{"):
                yield json.loads(line)
        if process.wait():
            raise SystemExit(f"the job of {job['contender']} ended with status {process.returncode}")
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()
        process.wait()


def summary(records: Sequence[Record]) -> str:
    """Return a line about the records of one contender on one set."""
    folds = [record for record in records if "failed" not in record]
    parts = [f"{records[0]['contender']:14}{records[0]['set']:18}"]
    if folds:
        loss, error, seconds = (sum(r[key] for r in folds) / len(folds) for key in ("log_loss", "error", "fit_cpu_s"))
        parts.append(f"log loss {loss:.4f}  error {error:.4f}  fit {seconds:.2f} s CPU")
    parts += [record["failed"] for record in records if "failed" in record]
    return "  ".join(parts)
