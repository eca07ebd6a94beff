"""
Missing values: marginalized or imputed?
========================================

Most libraries need complete rows, so that a missing value is replaced by a guess before the model sees the row. A
Bayesian network can sum over all values that the missing one could have. Does the difference matter?
"""

# %%
# Mushrooms: 21 nominal features (and one that is the same for all mushrooms); the class is edible or poisonous. A
# network (TAN) is learned from 4,000 complete rows.

import numpy as np
from matplotlib import pyplot as plt
from sklearn.metrics import log_loss

import naivete

rng = np.random.default_rng(0)
table = naivete.read("../../studies/data/mushroom.arff.gz")
frame = table.to_pandas().astype(object).iloc[rng.permutation(len(table))].reset_index(drop=True)
X, y = frame.drop(columns=["class", "veil-type"]), frame["class"]
X_train, y_train, X_test, y_test = X[:4000], y[:4000], X[4000:6000], y[4000:6000]
model = naivete.TAN().fit(X_train, y_train)

# %%
# In 2,000 other rows a growing share of the values is deleted at random. The same network then predicts the class in
# three ways: with the missing values marginalized (nothing has to be done), with each replaced by the most frequent
# value of its column, and with each replaced by the value of a random training row.

frequent = X_train.mode().iloc[0]
random_rows = X_train.iloc[rng.integers(0, len(X_train), len(X_test))].set_axis(X_test.index)
shares = np.arange(0, 1, 0.1)
losses = {"marginalized": [], "most frequent value": [], "value of a random row": []}
errors = {name: [] for name in losses}
for share in shares:
    missing = rng.random(X_test.shape) < share
    rows = X_test.mask(missing, None)
    for name, given in zip(losses, (rows, rows.fillna(frequent), X_test.mask(missing, random_rows)), strict=True):
        posterior = model.predict_proba(given)
        losses[name].append(log_loss(y_test, posterior) / np.log(2))
        errors[name].append(np.mean(model.classes_[posterior.argmax(axis=1)] != y_test))

# %%
# With the same network and the same rows, marginalization is better at every share of missing values: where half of the
# values are missing it is wrong in 2 % of the rows, and the imputations in 19 % and 28 %. The difference is even larger
# in the log loss: an imputed row looks complete, and the model is as sure of it as of any other.

fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
styles = dict(zip(losses, ("#0072B2 o -", "#D55E00 s --", "#009E73 D -."), strict=True))
for ax, results, label in ((axes[0], errors, "error rate"), (axes[1], losses, "log loss (bits)")):
    for name, values in results.items():
        color, marker, line = styles[name].split()
        ax.plot(100 * shares, values, color=color, marker=marker, linestyle=line, label=name)
    ax.set(xlabel="missing values (%)", ylabel=label, ylim=(0, None))
    ax.grid(alpha=0.3)
axes[0].legend()
fig.suptitle("Mushrooms: one network, three ways to treat missing values")
plt.show()
