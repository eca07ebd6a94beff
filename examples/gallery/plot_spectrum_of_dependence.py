"""
How much dependence helps: from naive Bayes to Spectrum
=======================================================

A Bayesian network classifier can model no dependence between the features (naive Bayes), some (KDB with ``k`` parents),
or weigh all degrees of dependence (Spectrum). This example measures all of them on a small problem where the right
degree is known.

The problem is *corral*: the class is ``(A0 and A1) or (B0 and B1)``. A fifth feature is irrelevant, and a sixth,
``Correlated``, agrees with the class in three of four cases and tempts every learner that cannot combine two features.
"""

# %%
# The data come with the library: all 128 cases, the class in the last column.

from matplotlib import pyplot as plt

import naivete
from naivete.data.generated import corral
from naivete.evaluation import label_table, run
from naivete.evaluation.plots import mean_and_bar

cases = label_table(corral(), "class")

# %%
# Seven classifiers on the same folds. ``theta=-inf`` gives each feature all ``k`` parents; by default KDB keeps
# significant arcs only. ``run`` fits and tests all models on all folds and returns one record for each.

models = {"naive\nBayes": naivete.NaiveBayes()}
models |= {f"KDB\nk={k}": naivete.KDB(k=k, theta=float("-inf")) for k in range(1, 6)}
models["Spectrum"] = naivete.Spectrum()
results = run(models, {"corral": cases}, "10-fold", jobs=1)

# %%
# Naive Bayes is wrong in 13 % of the cases, because it cannot combine ``A0`` with ``A1``. With one or two parents
# nearly all errors disappear. With four and five they come back: the tables have more cells than there are cases.
# Spectrum weighs all degrees of dependence by leave-one-out and makes no error. The log loss, which also measures the
# probabilities, shows the same.

fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for ax, measure, label in zip(axes, ("error", "log_loss"), ("error rate", "log loss (bits)"), strict=True):
    means, halves = zip(*[mean_and_bar(results.scores("corral", name, measure)) for name in models], strict=True)
    ax.errorbar(range(len(models)), means, halves, fmt="o", capsize=4, color="#0072B2", markersize=7)
    ax.set_xticks(range(len(models)), models)
    ax.set(ylabel=label, ylim=(0, None))
    ax.grid(axis="y", alpha=0.3)
fig.suptitle("Corral: 10-fold cross-validation, means with 95 % intervals")
plt.show()
