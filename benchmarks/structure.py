"""Structure learning against pyAgrum's, on the same score and the same data: `python -m benchmarks.structure [W1 W2 ...]`.

Greedy hill climbing from no arcs at all, with the scores BIC, BDeu and K2, then prediction from the network that was found. Each
run is a process of its own and starts from the codes in memory: ours from the array, pyAgrum's from a frame of pandas. Printed
are the best time of several runs, the peak of memory beyond the data, the passes over the rows, the arcs, the score of the
network that was found (by our own count, the same for both), its accuracy on the test rows when its tables are estimated our
way, and the rows answered in a second.
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
ASKED = 1000


def ours(data: workloads.Workload, score: str, tabu: int, repeat: int) -> dict[str, Any]:
    """Our hill climbing: without a tabu list as the peers', or with it as by default."""
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
    """pyAgrum's greedy hill climbing, and its classifier for the answers."""
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
    place = {name: i for i, name in enumerate(names[:-1])} | {"c": -1}
    parents = {place[n]: [place[network.variable(p).name()] for p in network.parents(n)] for n in network.names()}
    classifier = BNClassifier(type_processor=DiscreteTypeProcessor(discretizationThreshold=data.states + 1))
    classifier.fromTrainedModel(network, "c")
    some = pd.DataFrame(data.X_test[:ASKED], columns=names[:-1]).astype(str)
    started = time.perf_counter()
    classifier.predict_proba(some)
    rate = len(some) / (time.perf_counter() - started)
    return {"seconds": fit.best, "bytes": used, "rows_per_s": rate, **judged(data, parents, score)}


def judged(data: workloads.Workload, parents: dict[int, list[int]], score: str) -> dict[str, Any]:
    """The score of a structure and the accuracy of its network, both by this library."""
    from benchmarks.job import counted
    from naivete import Encoder, estimate
    from naivete.counts.scores import FamilyScores, score_of
    from naivete.inference.predictor import Predictor
    from naivete.learners.k2 import class_last

    counts = counted(data.X, data.y, Encoder(kinds="nominal"))()
    structure = {v: class_last(own) for v, own in parents.items()}
    network = estimate(counts, structure)
    codes = (*(np.ascontiguousarray(c) for c in data.X_test.T), data.y_test)
    answers, _ = Predictor(network).posterior(codes, np.zeros(data.X.shape[1], bool))
    return {
        "arcs": sum(map(len, parents.values())),
        "score": FamilyScores(counts, score_of(score)).total(structure),
        "accuracy": float((answers.argmax(axis=1) == data.y_test).mean()),
    }


def alone(job: dict[str, Any]) -> dict[str, Any]:
    """What a process of its own finds."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.structure", "--job", json.dumps(job)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["no reason given"])[-1]}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def line(name: str, found: dict[str, Any], beside: dict[str, Any] | None) -> str:
    if "failed" in found:
        return f"  {name:28} {found['failed']}"
    ratio = f"{beside['seconds'] / found['seconds']:6.1f}x" if beside and "seconds" in beside else " " * 7
    faster = f"{found['rows_per_s'] / beside['rows_per_s']:8,.0f}x" if beside and "seconds" in beside else " " * 9
    return (
        f"  {name:28} {found['seconds']:8.3f} s {ratio} {found['bytes'] / 2**20:7.0f} MiB {found.get('passes') or '-':>5} "
        f"{found['arcs']:5} {found['score']:16,.1f} {found['accuracy']:9.4f} {found['rows_per_s']:12,.0f} {faster}"
    )


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.structure", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="W1", default=["W1", "W2"], help="workloads (default W1 W2)")
    parser.add_argument("--scores", default=",".join(SCORES), help=f"of {','.join(SCORES)}")
    parser.add_argument("--repeat", type=int, default=3, help="best of so many, after one to warm up (default 3)")
    parser.add_argument("--data", type=Path, help="the folder of the workloads; by default $NAIVETE_BENCH, else bench-data")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.job:
        job = json.loads(asked.job)
        data = workloads.load(job["workload"], Path(job["folder"]))
        if job["library"] == contenders.OURS:
            print(json.dumps(ours(data, job["score"], job["tabu"], job["repeat"])))
        else:
            print(json.dumps(pyagrum(data, job["score"], job["repeat"])))
        return 0
    folder = asked.data or Path(os.environ.get("NAIVETE_BENCH") or "bench-data")
    for name in asked.names:
        workloads.ensure(name, folder)
        print(f"{name}: {'':24} seconds   ratio  memory      passes  arcs           score  accuracy       rows/s     ratio")
        for score in asked.scores.split(","):
            common = {"workload": name, "folder": str(folder), "score": score, "repeat": asked.repeat}
            peer = alone({**common, "library": "pyAgrum"})
            print(line(f"{score}: pyAgrum", peer, None), flush=True)
            for tabu in (0, 10):
                own = alone({**common, "library": contenders.OURS, "tabu": tabu})
                print(line(f"{score}: naivete, tabu={tabu}", own, peer), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
