"""One fit of one learner on one wide table: `python benchmarks/wide_job.py '{"learner": "hc", "rows": 1000, "columns": 500}'`.

Prints one line of JSON. Only public names of naivete are used, so that the script also measures other versions of it.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

LEARNERS = {
    "hc": ("HillClimb", {}),
    "k2": ("K2", {}),
    "pc": ("PC", {}),
    "cb": ("CB", {}),
    "naive-as": ("SelectiveNaive", {}),
    "k2-as": ("K2AS", {}),
    "fssj": ("JoinedNaive", {"search": "forward"}),
    "bsej": ("JoinedNaive", {"search": "backward"}),
}


def sampled(rows: int, columns: int, seed: int = 0) -> tuple[Any, Any]:
    """Return codes sampled from a random network of variables with 3 or 4 states, and a class of 3 states.

    Each variable has at most two parents among those before it; the rows of its table are Dirichlet(0.4) distributed. The class is
    one of the variables, so that it has children, too.
    """
    rng = np.random.default_rng(seed)
    place, values = columns // 2, []
    cards = np.where(rng.random(columns + 1) < 0.5, 3, 4)
    cards[place] = 3
    for v in range(columns + 1):
        parents = rng.choice(v, min(v, int(rng.integers(0, 3))), replace=False) if v else []
        configuration = np.zeros(rows, np.int64)
        for p in parents:
            configuration = configuration * cards[p] + values[p]
        table = rng.dirichlet(np.full(cards[v], 0.4), int(np.prod([cards[p] for p in parents], dtype=np.int64)))
        bounds = np.cumsum(table, axis=1)[configuration][:, :-1]
        values.append((rng.random(rows)[:, None] > bounds).sum(axis=1))
    y = values.pop(place)
    return np.stack(values, axis=1).astype(np.uint8), y


def memory(field: str) -> int:
    """Return the memory of this process in bytes: VmRSS, or VmHWM, its largest value so far."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def main(job: dict[str, Any]) -> dict[str, Any]:
    """Fit, and return time, memory, the estimates of both, and the number of arcs."""
    import naivete

    X, y = sampled(job["rows"], job["columns"])
    name, parameters = LEARNERS[job["learner"]]
    learner = getattr(naivete, name)
    known = {key: value for key, value in parameters.items() if key in learner().get_params()}
    model = learner(**known, encoder=naivete.Encoder(kinds="nominal"))
    few = slice(0, 200)
    learner(**known, encoder=naivete.Encoder(kinds="nominal")).fit(X[few, :5], y[few])  # modules are loaded
    started = time.perf_counter()
    estimate = model.estimate_cost(X, y) if hasattr(model, "estimate_cost") else None
    figures: dict[str, Any] = {}
    if estimate is not None:
        figures = {"estimate": estimate.seconds, "estimated_bytes": estimate.bytes, "estimating": time.perf_counter() - started}
    Path("/proc/self/clear_refs").write_text("5")  # the peak is measured from now on
    before, started, cpu = memory("VmRSS"), time.perf_counter(), time.process_time()
    model.fit(X, y)
    figures |= {"seconds": time.perf_counter() - started, "cpu": time.process_time() - cpu, "bytes": memory("VmHWM") - before}
    arcs = sum(map(len, model.network_.parents.values()))
    return {**figures, "passes": model.passes_, "arcs": arcs, "structure": structure(model)}


def structure(model: Any) -> int:
    """Return a number that depends on all arcs, to compare versions."""
    import zlib

    parents = {int(v): sorted(map(int, family)) for v, family in model.network_.parents.items()}
    return zlib.crc32(json.dumps(sorted(parents.items())).encode())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(main(json.loads(sys.argv[1]))))
