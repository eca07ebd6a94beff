"""C4.5 and the recursive classifier compared with scikit-learn's tree and Weka's J48: `python -m benchmarks.trees [W2 W3 ...]`.

Each run is a new process. scikit-learn's `DecisionTreeClassifier` has its default settings: it treats the codes as numbers, makes
binary splits and does not prune. J48 and C45 have the same settings, including subtree raising. Prints the time of the first fit
and of the fastest, the peak memory beyond the data in the first fit, the passes over the rows, leaves and nodes, and the accuracy
on the test rows (for J48 the first 20,000). Weka has 8 GiB and `--timeout` seconds, which include reading its file; its fit time
is the one it reports.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import contenders, measuring, workloads

Answer = dict[str, Any]
TESTED = 20_000


def ours(data: workloads.Workload, repeat: int, **parameters: Any) -> Answer:
    """Measure C45 of naivete on the array of codes."""
    from naivete import Encoder
    from naivete.classifiers.trees import C45
    from naivete.network.derived_columns import Tree

    figures = learned(lambda: C45(encoder=Encoder(kinds="nominal"), **parameters).fit(data.X, data.y), repeat, data)
    model = figures.pop("model")
    (tree,) = model.network_.derived.values()
    assert isinstance(tree, Tree)
    return {**figures, "passes": model.passes_, "leaves": len(tree.leaves), "nodes": tree.nodes}


def recursive(data: workloads.Workload, repeat: int) -> Answer:
    """Measure the recursive classifier of naivete; its leaves are the classifiers without further recursion."""
    from naivete import Encoder, Recursive

    figures = learned(lambda: Recursive(encoder=Encoder(kinds="nominal")).fit(data.X, data.y), repeat, data)
    model = figures.pop("model")
    (cells,) = model.network_.derived.values()
    leaves = int((cells.children < 0).all(axis=1).sum())
    return {**figures, "passes": model.passes_, "leaves": leaves, "nodes": len(cells.children)}


def scikit_learn(data: workloads.Workload, repeat: int) -> Answer:
    """Measure scikit-learn's tree on the same array."""
    from sklearn.tree import DecisionTreeClassifier

    figures = learned(lambda: DecisionTreeClassifier(random_state=0).fit(data.X, data.y), repeat, data)
    model = figures.pop("model")
    return {**figures, "leaves": int(model.get_n_leaves()), "nodes": int(model.tree_.node_count)}


def learned(fit: Callable[[], Any], repeat: int, data: workloads.Workload) -> Answer:
    """Return time, memory and accuracy of a classifier with the scikit-learn interface."""
    peak = measuring.Peak()
    first = measuring.timed(fit, 0)
    used = peak.beyond()
    best = measuring.timed(fit, repeat - 1) if repeat > 1 else first
    accuracy = float((best.result.predict(data.X_test) == data.y_test).mean())
    return {
        "first": first.first,
        "seconds": min(first.first, best.first, best.best),
        "bytes": used,
        "accuracy": accuracy,
        "model": best.result,
    }


def weka(data: workloads.Workload, timeout: float) -> Answer:
    """Measure J48 in its own virtual machine on ARFF files."""
    with tempfile.TemporaryDirectory() as folder:
        train, test = Path(folder, "train.arff"), Path(folder, "test.arff")
        contenders.write_arff(train, data.X, data.y, data.states, data.classes)
        contenders.write_arff(test, data.X_test[:TESTED], data.y_test[:TESTED], data.states, data.classes)
        call = ["java", "-Xmx8g", "-cp", str(contenders.weka_jar()), "weka.classifiers.trees.J48"]
        try:
            done = subprocess.run(
                [*call, "-t", str(train), "-T", str(test)], capture_output=True, text=True, timeout=timeout, check=False
            )
        except subprocess.TimeoutExpired:
            return {"failed": f"over {timeout:.0f} s"}
    if done.returncode or "Error on test data" not in done.stdout:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
        return {"failed": lines[0] if lines else "no reason given"}
    tested = done.stdout.split("Error on test data", 1)[1]
    numbers = [int(re.findall(marker + r"\s*:\s*(\d+)", done.stdout)[0]) for marker in ("Number of Leaves", "Size of the tree")]
    return {
        "seconds": contenders.weka_number(done.stdout, "Time taken to build model:"),
        "leaves": numbers[0],
        "nodes": numbers[1],
        "accuracy": contenders.weka_number(tested, "Correctly Classified Instances") / min(TESTED, len(data.X_test)),
    }


RUNS: dict[str, Callable[[workloads.Workload, int, float], Answer]] = {
    "scikit-learn": lambda data, repeat, _: scikit_learn(data, repeat),
    "J48": lambda data, _, timeout: weka(data, timeout),
    "C45": lambda data, repeat, _: ours(data, repeat),
    "C45, subtree_raising=False": lambda data, repeat, _: ours(data, repeat, subtree_raising=False),
    "C45, prune=False": lambda data, repeat, _: ours(data, repeat, prune=False),
    "Recursive": lambda data, repeat, _: recursive(data, repeat),
}


def alone(job: Answer) -> Answer:
    """Return the figures of a run in a new process."""
    call = [sys.executable, "-m", "benchmarks.trees", "--job", json.dumps(job)]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["no reason given"])[-1]}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def line(name: str, figures: Answer) -> str:
    """Return one row of the table."""
    if "failed" in figures:
        return f"  {name:20} {figures['failed']}"
    first = f"{figures['first']:8.2f}" if "first" in figures else " " * 8
    used = f"{figures['bytes'] / 2**20:6.0f} MiB" if "bytes" in figures else " " * 10
    return (
        f"  {name:20} {first} {figures['seconds']:8.2f} {used} {figures.get('passes') or '-':>6} {figures['leaves']:8,} "
        f"{figures['nodes']:8,} {figures['accuracy']:9.4f}"
    )


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trees", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="W2", default=["W2", "W3"], help="workloads (default W2 W3)")
    parser.add_argument("--repeat", type=int, default=3, help="number of calls, of which the fastest counts (default 3)")
    parser.add_argument("--timeout", type=float, default=300, help="time limit of Weka in seconds (default 300)")
    parser.add_argument("--only", help=f"some of {', '.join(RUNS)}, separated by semicolons")
    parser.add_argument("--data", type=Path, help="the folder of the workloads; by default $NAIVETE_BENCH, else bench-data")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.job:
        job = json.loads(options.job)
        print(json.dumps(RUNS[job["run"]](workloads.load(job["workload"], Path(job["folder"])), job["repeat"], job["timeout"])))
        return 0
    folder = options.data or Path(os.environ.get("NAIVETE_BENCH") or "bench-data")
    for name in options.names:
        workloads.ensure(name, folder)
        print(
            f"{name}: {'':18} {'first':>8} {'seconds':>8} {'memory':>10} {'passes':>6} {'leaves':>8} {'nodes':>8} {'accuracy':>9}"
        )
        for run in options.only.split(";") if options.only else RUNS:
            common = {"workload": name, "folder": str(folder), "repeat": options.repeat, "timeout": options.timeout}
            print(line(run, alone({**common, "run": run})), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
