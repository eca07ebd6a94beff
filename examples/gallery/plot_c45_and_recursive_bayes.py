"""
C4.5 beside recursive Bayes: two ways to divide a problem
=========================================================

Naive Bayes describes each class once. A classification tree (C4.5) divides the space by thresholds; recursive Bayes
(Langley 1993) divides it by naive Bayes classifiers, and each cluster of cases that is still mixed gets a classifier of
its own. What do their boundaries look like?
"""

# %%
# Two measurements and two classes. In the first problem five clouds on a diagonal belong to the classes in turn; in the
# second the classes are rings around each other. One normal density for each class describes neither of them.

import numpy as np
from matplotlib import pyplot as plt

import naivete

rng = np.random.default_rng(0)
clouds = np.vstack([rng.normal(center, 0.6, (80, 2)) for center in (-4, -2, 0, 2, 4)]), np.repeat(list("ababa"), 80)
radius, angle = np.repeat([0.8, 2.4, 4.0], (100, 200, 100)) + rng.normal(0, 0.3, 400), rng.uniform(0, 2 * np.pi, 400)
rings = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), np.repeat(list("aba"), (100, 200, 100))

# %%
# Each model learns from 250 cases, and its errors are counted on the others. Naive Bayes draws one closed curve and is
# wrong in a third of the cases. Both others divide the problem and are wrong in less than a tenth: the tree by boxes,
# recursive Bayes by curves, because the classifier for the cases inside the first curve draws a second one.

normal = naivete.Encoder(numbers="normal")
models = {
    "naive Bayes": naivete.NaiveBayes(encoder=normal),
    "C4.5": naivete.C45(),
    "recursive Bayes": naivete.Recursive(encoder=normal, refit=False),
}
side = np.linspace(-5.5, 5.5, 150)
grid = np.array([(a, b) for b in side for a in side])
fig, axes = plt.subplots(2, 3, figsize=(10, 7), layout="constrained", sharex=True, sharey=True)
for row, (X, y) in zip(axes, (clouds, rings), strict=True):
    train = rng.permutation(len(y)) < 250
    for ax, (name, model) in zip(row, models.items(), strict=True):
        model.fit(X[train], y[train])
        decided = (model.predict(grid) == "b").reshape(len(side), -1)
        ax.contourf(side, side, decided, levels=[-0.5, 0.5, 1.5], colors=["#56B4E9", "#E69F00"], alpha=0.35)
        for label, color, marker in (("a", "#0072B2", "o"), ("b", "#D55E00", "^")):
            ax.plot(*X[train & (y == label)].T, marker, color=color, markersize=3, label=f"class {label}")
        errors = np.mean(model.predict(X[~train]) != y[~train])
        ax.set(title=f"{name}: {100 * errors:.0f} % errors", aspect="equal")
axes[0, 0].legend(loc="upper left")
fig.supxlabel("first measurement")
fig.supylabel("second measurement")
plt.show()
