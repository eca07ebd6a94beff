"""Structure learning compared with pyAgrum's, with the same score and data: `python -m benchmarks.structure [W1 W2 ...]`.

Greedy hill climbing from a network without arcs, with the scores BIC, BDeu and K2, then prediction with the learned network. Each
run is a new process and starts from the codes in memory: naivete from an array, pyAgrum from a pandas DataFrame. Prints the
shortest time of several calls, the peak memory beyond the data, the passes over the rows, the arcs, the score of the learned
network and its accuracy on the test rows (both computed by naivete, for both libraries), and the rows predicted per second.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import contenders, measuring, workloads

SCORES = ("bic", "bdeu", "k2")
PREDICTED_ROWS = 1000


def ours(data: workloads.Workload, score: str, tabu: int, repeat: int) -> dict[str, Any]:
    """Measure HillClimb of naivete: without a tabu list, as the peer, or with one, which is the default."""
    from naivete import Encoder, HillClimb

    model = HillClimb(criterion=score, tabu=tabu, encoder=Encoder(kinds="nominal"))
    peak = measuring.Peak()
    fit = measuring.timed(lambda: model.fit(data.X, data.y), repeat)
    used = peak.beyond()
    answer = measuring.timed(lambda: model.predict_proba(data.X_test), 3)
    parents = {v: list(p) for v, p in model.network_.parents.items()}
    return {
        "seconds": fit.best,
        "bytes": used,
        "passes": model.passes_,
        "rows_per_s": len(data.X_test) / answer.best,
        **judged(data, parents, score),
    }


def pyagrum(data: workloads.Workload, score: str, repeat: int) -> dict[str, Any]:
    """Measure pyAgrum's greedy hill climbing, and its classifier for the predictions."""
    import pandas as pd
    import pyagrum as gum
    from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
    from pyagrum.skbn import BNClassifier

    names = [f"x{i}" for i in range(data.X.shape[1])] + ["c"]
    frame = pd.DataFrame(np.column_stack([data.X, data.y]), columns=names).astype(str)

    def learn() -> Any:
        learner = gum.BNLearner(frame)
        learner.useGreedyHillClimbing()
        getattr(learner, {"bic": "useScoreBIC", "bdeu": "useScoreBDeu", "k2": "useScoreK2"}[score])()
        return learner.learnBN()

    peak = measuring.Peak()
    fit = measuring.timed(learn, min(repeat, 1))
    used, network = peak.beyond(), fit.result
    number = {name: i for i, name in enumerate(names[:-1])} | {"c": -1}
    parents = {number[n]: [number[network.variable(p).name()] for p in network.parents(n)] for n in network.names()}
    classifier = BNClassifier(type_processor=DiscreteTypeProcessor(discretizationThreshold=data.states + 1))
    classifier.fromTrainedModel(network, "c")
    some = pd.DataFrame(data.X_test[:PREDICTED_ROWS], columns=names[:-1]).astype(str)
    started = time.perf_counter()
    classifier.predict_proba(some)
    rate = len(some) / (time.perf_counter() - started)
    return {"seconds": fit.best, "bytes": used, "rows_per_s": rate, **judged(data, parents, score)}


def judged(data: workloads.Workload, parents: dict[int, list[int]], score: str) -> dict[str, Any]:
    """Return the score of a structure and the accuracy of its network, both computed by naivete."""
    from benchmarks.job import counted
    from naivete import Encoder, estimate
    from naivete.counts.family_scores import FamilyScores
    from naivete.counts.scores import score_of
    from naivete.inference.predictor import Predictor
    from naivete.learners.k2 import class_last

    counts = counted(data.X, data.y, Encoder(kinds="nominal"))()
    structure = {v: class_last(family) for v, family in parents.items()}
    network = estimate(counts, structure)
    codes = (*(np.ascontiguousarray(c) for c in data.X_test.T), data.y_test)
    probabilities, _ = Predictor(network).posterior(codes, np.zeros(data.X.shape[1], bool))
    return {
        "arcs": sum(map(len, parents.values())),
        "score": FamilyScores(counts, score_of(score)).total(structure),
        "accuracy": float((probabilities.argmax(axis=1) == data.y_test).mean()),
    }


def alone(job: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of a run in a new process."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.structure", "--job", json.dumps(job)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["no reason given"])[-1]}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def line(name: str, figures: dict[str, Any], beside: dict[str, Any] | None) -> str:
    if "failed" in figures:
        return f"  {name:28} {figures['failed']}"
    ratio = f"{beside['seconds'] / figures['seconds']:6.1f}x" if beside and "seconds" in beside else " " * 7
    faster = f"{figures['rows_per_s'] / beside['rows_per_s']:8,.0f}x" if beside and "seconds" in beside else " " * 9
    return (
        f"  {name:28} {figures['seconds']:8.3f} s {ratio} {figures['bytes'] / 2**20:7.0f} MiB {figures.get('passes') or '-':>5} "
        f"{figures['arcs']:5} {figures['score']:16,.1f} {figures['accuracy']:9.4f} {figures['rows_per_s']:12,.0f} {faster}"
    )


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.structure", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="W1", default=["W1", "W2"], help="workloads (default W1 W2)")
    parser.add_argument("--scores", default=",".join(SCORES), help=f"of {','.join(SCORES)}")
    parser.add_argument("--repeat", type=int, default=3, help="calls after a warm-up call, of which the fastest counts (default 3)")
    parser.add_argument("--data", type=Path, help="the folder of the workloads; by default $NAIVETE_BENCH, else bench-data")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.job:
        job = json.loads(options.job)
        data = workloads.load(job["workload"], Path(job["folder"]))
        if job["library"] == contenders.OURS:
            print(json.dumps(ours(data, job["score"], job["tabu"], job["repeat"])))
        else:
            print(json.dumps(pyagrum(data, job["score"], job["repeat"])))
        return 0
    folder = options.data or Path(os.environ.get("NAIVETE_BENCH") or "bench-data")
    for name in options.names:
        workloads.ensure(name, folder)
        print(f"{name}: {'':24} seconds   ratio  memory      passes  arcs           score  accuracy       rows/s     ratio")
        for score in options.scores.split(","):
            common = {"workload": name, "folder": str(folder), "score": score, "repeat": options.repeat}
            peer = alone({**common, "library": "pyAgrum"})
            print(line(f"{score}: pyAgrum", peer, None), flush=True)
            for tabu in (0, 10):
                figures = alone({**common, "library": contenders.OURS, "tabu": tabu})
                print(line(f"{score}: naivete, tabu={tabu}", figures, peer), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
