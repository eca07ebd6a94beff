"""One job in one process: `python -m benchmarks.job '{"do": "classify", ...}'` prints one line of JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import contenders, measuring, workloads
from benchmarks.contenders import Array, Contender

Answer = dict[str, Any]


def classify(job: dict[str, Any]) -> Answer:
    """Measure fit and predict_proba of one classifier on one workload."""
    data = workloads.load(job["workload"], Path(job["folder"]))
    if job["library"] == "Weka":
        return in_weka(job, data)
    classifier = contenders.contender(job["library"], job["model"], data.states)
    X, y = data.X, data.y
    if classifier.cells < X.size:
        X, y = (np.ascontiguousarray(part[: int(classifier.cells) // data.X.shape[1]]) for part in (X, y))
    rows = int(min(classifier.rows, len(data.X_test)))
    return {
        "rows": len(data.X),
        "fitted_rows": len(X),
        "codes_bytes": X.nbytes,
        **fitted(classifier, X, y, data.X_test[:rows], data.y_test[:rows], job["repeat"]),
    }


def fitted(classifier: Contender, X: Array, y: Array, X_test: Array, y_test: Array, repeat: int) -> Answer:
    """Return time, memory and quality; memory of the first fit, and of a later one, when all modules are loaded."""

    def learn() -> Any:
        return classifier.learn(X, y)

    peak = measuring.Peak()
    first = measuring.timed(learn, 0)
    cold, warm, fit = peak.beyond(), None, first
    if first.first < measuring.PATIENCE:
        peak = measuring.Peak()
        fit = measuring.timed(learn, repeat, measuring.PATIENCE - first.first)
        warm = peak.beyond()
    peak = measuring.Peak()
    answer = measuring.timed(lambda: classifier.answer(fit.result, X_test), repeat)
    return {
        "fit_s": fit.best,
        "first_fit_s": first.first,
        "fit_bytes": cold,
        "warm_fit_bytes": warm,
        "predict_s": answer.best,
        "predict_bytes": peak.beyond(),
        "predicted_rows": len(X_test),
        "passes": classifier.passes(fit.result),
        "tables_bytes": classifier.tables(fit.result),
        **quality(answer.result, y_test),
    }


def quality(posterior: Array, y: Array) -> Answer:
    """Return the accuracy and the mean of -ln P(true class)."""
    right = posterior[np.arange(len(y)), y]
    return {
        "accuracy": float((posterior.argmax(axis=1) == y).mean()),
        "log_loss": float(-np.log(np.maximum(right, 1e-15)).mean()),
    }


def in_weka(job: dict[str, Any], data: workloads.Workload) -> Answer:
    """Run Weka in its own virtual machine on ARFF files."""
    rows = int(min(contenders.WEKA_CELLS // data.X.shape[1], len(data.X)))
    tests = min(20_000, len(data.X_test))
    with tempfile.TemporaryDirectory() as folder:
        train, test = Path(folder, "train.arff"), Path(folder, "test.arff")
        contenders.write_arff(train, data.X[:rows], data.y[:rows], data.states, data.classes)
        contenders.write_arff(test, data.X_test[:tests], data.y_test[:tests], data.states, data.classes)
        command = contenders.weka_command(job["model"], train, test)
        try:
            output = subprocess.run(command, capture_output=True, text=True, timeout=job["timeout"], check=True).stdout
        except subprocess.TimeoutExpired:
            return {"failed": f"over {job['timeout']:.0f} s"}
        except subprocess.CalledProcessError as error:
            return {"failed": (error.stderr.strip().splitlines() or ["no reason given"])[0]}
    tested = output.split("Error on test data", 1)[1]
    return {
        "rows": len(data.X),
        "fitted_rows": rows,
        "predicted_rows": tests,
        "fit_s": max(contenders.weka_number(output, "Time taken to build model:"), 0.005),
        "predict_s": predicted_seconds(output, tests),
        "accuracy": contenders.weka_number(tested, "Correctly Classified Instances") / tests,
    }


def predicted_seconds(output: str, tests: int) -> float:
    """Return the time of Weka for the test rows, estimated from its time per row for the training rows."""
    marker = "Time taken to test model on training data:"
    trained = contenders.weka_number(output, "Total Number of Instances")
    return max(contenders.weka_number(output, marker), 0.005) * tests / trained


def pairs(job: dict[str, Any]) -> Answer:
    """Measure the counting of all pairs of features with the class, from the rows: only the kernels, and the complete tables."""
    from naivete import Encoder, _kernels
    from naivete.counts.bit_planes import PLANE_STATES

    data = workloads.load(job["workload"], Path(job["folder"]))
    columns = list(data.X.T)
    cards, complete = [data.states] * len(columns), [False] * len(columns)

    def bare() -> None:
        planes = _kernels.pack(columns, cards, complete, data.y, data.classes)
        _kernels.margins(planes)
        _kernels.gram(planes, slice(None), slice(None))

    counts = counted(data.X, data.y, Encoder(kinds="nominal"))
    tables = measuring.timed(lambda: drained(counts()), job["repeat"]).best
    kernels = measuring.timed(bare, job["repeat"]).best if data.states <= PLANE_STATES else tables
    return {"kernels_s": kernels, "tables_s": tables}


def counted(X: Array, y: Array, encoder: Any) -> Callable[[], Any]:
    """Return a function that returns new counts of the encoded table, in which nothing is counted yet."""
    from naivete.cases import Block, MemoryCases
    from naivete.counts.counts import Counts
    from naivete.data.frames import table_of
    from naivete.encoding.column_codes import encode
    from naivete.variables import Variable

    table, classes = table_of(X), int(y.max()) + 1
    features = encoder.schema(encoder.value_counts(table, y, range(classes), None))
    encoded = encode(table, features)
    target = Variable("class", tuple(range(classes)))
    return lambda: Counts(MemoryCases((*features, target), Block((*encoded.codes, y), None), encoded.has_missing))


def drained(counts: Any) -> None:
    """Count all pairs of features."""
    for pairs in counts.pairs():
        assert pairs.tables is not None


def steps(classifier: Contender, X: Array, y: Array) -> tuple[Callable[[], Any], Callable[[Any], Array]]:
    """Return functions that fit a table and predict the same table."""
    return lambda: classifier.learn(X, y), lambda fitted: classifier.answer(fitted, X)


def growth(job: dict[str, Any]) -> Answer:
    """Measure the costs at one size."""
    X, y = workloads.uniform(job["rows"], job["features"], job["states"], job["classes"])
    answer: Answer = {}
    for model in ("nb", "kdb2"):
        learn, predict = steps(contenders.contender(contenders.OURS, model, job["states"]), X, y)
        fit = measuring.timed(learn, job["repeat"])
        answer[f"{model} fit"] = fit.best
        answer[f"{model} predict"] = measuring.timed(partial(predict, fit.result), job["repeat"]).best
    from naivete import Encoder

    counts = counted(X, y, Encoder(kinds="nominal"))
    answer["all pairs"] = measuring.timed(lambda: drained(counts()), job["repeat"]).best
    return answer


def versions(job: dict[str, Any]) -> Answer:
    """Return the versions of the libraries, the tier of the kernels and the number of threads."""
    del job
    import scipy
    import sklearn

    import naivete
    from naivete import _kernels

    return {
        "naivete": naivete.__version__,
        "kernels": _kernels.tier(),
        "threads": _kernels.threads(),
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "cores": os.cpu_count(),
    }


JOBS: dict[str, Callable[[dict[str, Any]], Answer]] = {
    "classify": classify,
    "pairs": pairs,
    "growth": growth,
    "versions": versions,
}

if __name__ == "__main__":
    parameters = json.loads(sys.argv[1])
    print(json.dumps(JOBS[parameters["do"]](parameters)))
