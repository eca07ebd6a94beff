"""Latencies of single rows and of cold starts, beside scikit-learn: `python -m benchmarks.latency`.

Each measurement runs in a process of its own. Times are processor time, since wall-clock time depends on what else the machine
does: the least of several repetitions for single rows, the whole process for cold starts.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

SETUP = """
import json, sys, time
import numpy as np
path = sys.argv[1]
rng = np.random.default_rng(0)
y = rng.integers(0, 2, 2000)
X = np.where(rng.random((2000, 20)) < 0.5, y[:, None], rng.integers(0, 5, (2000, 20)))
names = ["c%d" % i for i in range(20)]
def texts():
    import pandas as pd
    return pd.DataFrame(np.array(list("abcde"))[X], columns=names)
def least(function):
    function(), function()
    start = time.process_time()
    function()
    count = max(1, int(0.02 / max(time.process_time() - start, 1e-6)))
    times = []
    for _ in range(7):
        start = time.process_time()
        for _ in range(count):
            function()
        times.append((time.process_time() - start) / count)
    print(json.dumps(min(times)))
"""

ROWS = {
    "naivete TAN, row_predictor, dict": """
import naivete
F = texts(); row = F.iloc[0].to_dict(); predict = naivete.TAN().fit(F, y).row_predictor()
least(lambda: predict(row))""",
    "naivete NaiveBayes, row_predictor, dict": """
import naivete
F = texts(); row = F.iloc[0].to_dict(); predict = naivete.NaiveBayes().fit(F, y).row_predictor()
least(lambda: predict(row))""",
    "naivete TAN, row_predictor, dict with a missing value": """
import naivete
F = texts(); row = {**F.iloc[0].to_dict(), "c7": None}; predict = naivete.TAN().fit(F, y).row_predictor()
least(lambda: predict(row))""",
    "naivete TAN, predict_proba, array": """
import naivete
model = naivete.TAN().fit(X, y); row = X[:1]
least(lambda: model.predict_proba(row))""",
    "naivete TAN, predict_proba, data frame": """
import naivete
F = texts(); model = naivete.TAN().fit(F, y); row = F.iloc[:1]
least(lambda: model.predict_proba(row))""",
    "naivete TAN, predict_proba, dict": """
import naivete
F = texts(); model = naivete.TAN().fit(F, y); row = F.iloc[0].to_dict()
least(lambda: model.predict_proba(row))""",
    "scikit-learn CategoricalNB, array": """
from sklearn.naive_bayes import CategoricalNB
model = CategoricalNB().fit(X, y); row = X[:1]
least(lambda: model.predict_proba(row))""",
    "scikit-learn OrdinalEncoder and CategoricalNB, data frame": """
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
F = texts(); model = make_pipeline(OrdinalEncoder(), CategoricalNB()).fit(F, y); row = F.iloc[:1]
least(lambda: model.predict_proba(row))""",
    "scikit-learn HistGradientBoosting, array": """
from sklearn.ensemble import HistGradientBoostingClassifier
model = HistGradientBoostingClassifier().fit(X, y); row = X[:1]
least(lambda: model.predict_proba(row))""",
}

SAVE = "import naivete; naivete.save(naivete.TAN().fit([list('ab'), list('bc'), list('ac')] * 9, [0, 1, 1] * 9), path)"

STARTS = {
    "naivete: load a model and predict": "import sys, naivete; naivete.load(sys.argv[1]).predict([['a', 'b']])",
    "naivete predict, on the command line": (
        "import sys; from naivete.cli import main\n"
        "main(['predict', sys.argv[1], sys.argv[1] + '.csv', '--out', sys.argv[1] + '.out.csv', '--force'])"
    ),
    "import sklearn.naive_bayes": "import sklearn.naive_bayes",
    "import numpy": "import numpy",
}


def run(code: str, path: str) -> str:
    """Return the last line that a new process prints."""
    command = [sys.executable, "-W", "ignore", "-c", code, path]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip().splitlines()[-1]


def cold_start(code: str, path: str) -> float:
    """Return the processor seconds of a new process, the least of three, after one run that writes the compiled files."""
    timed = f"{code}\nimport time\nprint('\\n' + repr(time.process_time()))"
    run(timed, path)
    return min(float(run(timed, path)) for _ in range(3))


def main() -> None:
    """Print both tables."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.nvt")
        Path(f"{path}.csv").write_text("x0,x1\na,b\n")
        run(f"{SETUP}{SAVE}\nprint()\nprint(0)", path)
        print("| one row, 20 features | microseconds |\n|---|---|")
        for name, code in ROWS.items():
            print(f"| {name} | {1e6 * json.loads(run(SETUP + code, path)):,.0f} |", flush=True)
        print("\n| cold start | seconds |\n|---|---|")
        for name, code in STARTS.items():
            print(f"| {name} | {cold_start(code, path):.2f} |", flush=True)


if __name__ == "__main__":
    main()
