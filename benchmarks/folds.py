"""Cross-validation by subtraction, compared with scikit-learn's, which fits every classifier to every training set.

`python -m benchmarks.folds` evaluates naive Bayes, TAN and KDB with k = 1, 2, 3 by 10 x 10 folds on `kr-vs-kp` (or, if the
published data are not available, on a generated table of the same size), once with `naivete.evaluation.cross_validate` and once
with `sklearn.model_selection.cross_validate` on the same folds, checks that all accuracies are equal, and prints both times.
scikit-learn gets the rows in two forms: as a table of naivete, which is the fastest to index, and as a pandas DataFrame, the
most common form.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import naivete
from naivete.classifiers.specification import classifier_of
from naivete.data.table import Column, Table
from naivete.evaluation import LabelledTable, cross_validate, label_table
from naivete.evaluation.protocols import KFold

MODELS = ("nb", "tan", "kdb:k=1", "kdb:k=2", "kdb:k=3")
ROWS, FEATURES = 3196, 36


def cases() -> LabelledTable:
    """Return kr-vs-kp, or a generated table of the same size."""
    folder = Path(os.environ.get("NAIVETE_DATA") or Path(__file__).parents[2] / "shared" / "data")
    file = folder / "kr-vs-kp.arff.gz"
    if file.exists():
        table = naivete.read(file)
        return label_table(table, table.names[-1])
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, ROWS)
    values = [label]
    for j in range(FEATURES):  # each copies an earlier column with a probability that grows with j
        follows = rng.random(ROWS) < 0.2 + 0.7 * j / FEATURES
        values.append(np.where(follows, values[rng.integers(0, len(values))], rng.integers(0, 2, ROWS)))
    columns = [Column(f"x{j}", codes, ("f", "t")) for j, codes in enumerate(values[1:])]
    return label_table(Table((*columns, Column("class", label, ("won", "nowin")))), "class")


def forms(features: Table) -> Iterator[tuple[str, Any]]:
    """Yield the forms in which scikit-learn gets the features."""
    yield "table", features
    try:
        import pandas as pd
    except ImportError:
        return
    yield "pandas", pd.DataFrame({c.name: pd.Categorical.from_codes(c.values, list(c.states or ())) for c in features.columns})


def ours(data: LabelledTable, folds: int, repeat: int) -> tuple[float, dict[str, list[float]]]:
    """Return the time and the accuracies of cross-validation by subtraction."""
    started = time.perf_counter()
    results = cross_validate({name: classifier_of(name) for name in MODELS}, data, folds=folds, repeat=repeat)
    return time.perf_counter() - started, {result.model: result.accuracies.tolist() for result in results}


def theirs(X: Any, data: LabelledTable, folds: int, repeat: int) -> tuple[float, dict[str, list[float]]]:
    """Return the time and the accuracies of scikit-learn's cross-validation."""
    from sklearn.model_selection import cross_validate as fitted_one_by_one

    splits = [(split.train, split.test) for split in KFold(folds, repeat).splits(data)]
    accuracies = {}
    started = time.perf_counter()
    for name in MODELS:
        result = fitted_one_by_one(classifier_of(name), X, data.labels, cv=splits, scoring="accuracy")
        accuracies[name] = result["test_score"].tolist()
    return time.perf_counter() - started, accuracies


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--least", type=float, default=5.0, help="the required ratio for the faster form (default 5)")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    data = cases()
    ours(data, 2, 1)
    seconds, accuracies = ours(data, args.folds, args.repeat)
    count = args.folds * args.repeat * len(MODELS)
    print(f"{len(data):,} rows, {args.repeat} x {args.folds} folds, {len(MODELS)} models: {count:,} models fitted and tested")
    print(f"naivete.evaluation.cross_validate  {seconds:8.2f} s")
    ratios = []
    for form, X in forms(data.features):
        other, other_accuracies = theirs(X, data, args.folds, args.repeat)
        assert other_accuracies == accuracies, f"{form}: the accuracies differ"
        ratios.append(other / seconds)
        print(f"sklearn cross_validate, {form:12}{other:8.2f} s   {ratios[-1]:5.1f} times as long, all accuracies equal")
    if min(ratios) < args.least:
        raise SystemExit(f"the ratio {min(ratios):.1f} is below {args.least:g}")


if __name__ == "__main__":
    main()
