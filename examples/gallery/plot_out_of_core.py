"""
Files larger than memory, and why more rows help
================================================

``fit_cases`` reads files piece by piece, so that they need not fit into memory, and gives exactly the model that
``fit`` gives for the whole table. Is it worth to learn from so many rows? For naive Bayes hardly; for models with more
dependences it is.
"""

# %%
# 32 CSV files of 5,000 rows are written to a temporary folder. Six features have four values each; the class depends on
# a random table of the first four of them, which we keep to know the best possible predictions.

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

import naivete

rng = np.random.default_rng(0)
values, columns = np.array(["none", "few", "some", "many"]), [f"x{i}" for i in range(6)]
probability = rng.beta(0.4, 0.4, (4, 4, 4, 4))  # of "yes", for each combination


def some_rows(rows):
    """Return features, labels, and the true probability of "yes" of each row."""
    codes = rng.integers(0, 4, (rows, 6))
    true = probability[tuple(codes[:, :4].T)]
    return values[codes], np.where(rng.random(rows) < true, "yes", "no"), true


temporary = tempfile.TemporaryDirectory()
paths = [Path(temporary.name, f"{i:02}.csv") for i in range(32)]
for path in paths:
    X, y, _ = some_rows(5000)
    path.write_text("\n".join(map(",".join, [[*columns, "y"], *np.column_stack([X, y]).tolist()])))

# %%
# Three models learn from the first 1, 2, 8 and 32 files. ``fit_cases`` also takes a pattern or a folder, Parquet files,
# and ``memory=``, the most bytes that the process may take.

models = {
    "naive Bayes": naivete.NaiveBayes(),
    "KDB, k=1": naivete.KDB(k=1, theta=float("-inf")),
    "KDB, k=5": naivete.KDB(k=5, theta=float("-inf")),
}
files = (1, 2, 8, 32)
X_test, y_test, true = some_rows(20_000)
new = pd.DataFrame(X_test, columns=columns)


def bits(yes):
    """Return the log loss of probabilities of "yes"."""
    return -np.log2(np.where(y_test == "yes", yes, 1 - yes)).mean()


losses = {name: [bits(model.fit_cases(paths[:n], "y").predict_proba(new)[:, 1]) for n in files] for name, model in models.items()}
temporary.cleanup()

# %%
# Naive Bayes and KDB with one parent have few probabilities to learn, and 5,000 rows are enough for them. KDB with five
# parents has many, and each further file brings it nearer to the true probabilities.

fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
rows = [5000 * n for n in files]
for (name, losses_of), color, style in zip(losses.items(), ("#777777", "#E69F00", "#0072B2"), ("^:", "s--", "o-"), strict=True):
    ax.plot(rows, losses_of, style, color=color, label=name)
ax.axhline(bits(true), color="black", linewidth=0.8)
ax.text(rows[-1], bits(true) - 0.01, "true probabilities", ha="right", va="top")
ax.set(xscale="log", xlabel="rows in the files", ylabel="log loss on new rows (bits)", ylim=(0.45, 1.05))
ax.set_title("Three models learned from CSV files")
ax.set_xticks(rows, [f"{n:,}" for n in rows])
ax.minorticks_off()
ax.grid(alpha=0.3)
ax.legend()
plt.show()
