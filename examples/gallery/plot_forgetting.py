"""
Data that change: learn new rows, forget old ones
=================================================

Customers, machines and spam change. A model that was learned once becomes worse; a model that learns from all rows so
far keeps what is no longer true. ``partial_fit`` adds rows. With ``window`` it forgets old ones, with ``half_life`` they
lose their weight, both exactly: the model is always the one that a fit on the remaining rows with these weights would give.
"""

# %%
# A stream of 60 batches of 100 rows with ten binary features. After batch 30 the features change their meaning: what
# spoke for one class now speaks for the other.

import numpy as np
from matplotlib import pyplot as plt

import naivete

rng = np.random.default_rng(0)
BATCHES, ROWS, WINDOW = 60, 100, 10


def batch(number):
    """Return the rows and labels of a batch."""
    label = rng.integers(0, 2, ROWS)
    agrees = label if number < BATCHES // 2 else 1 - label
    return np.where(rng.random((ROWS, 10)) < 0.65, agrees[:, None], 1 - agrees[:, None]), label


stream = [batch(number) for number in range(BATCHES)]

# %%
# Each batch is first predicted and then learned. Four models: learned from the first ten batches only, from all
# batches so far, from the last ten, and from all, with weights that are halved after every third batch.

ages = {
    "first ten batches": {},
    "all batches so far": {},
    "last ten batches": {"window": WINDOW * ROWS},
    "halved every three batches": {"half_life": 3 * ROWS},
}
models = {name: naivete.NaiveBayes() for name in ages}
correct = {name: [] for name in models}
for number, (X, y) in enumerate(stream):
    for name, model in models.items():
        if number:
            correct[name].append(model.score(X, y))
        if number < WINDOW or name != "first ten batches":
            model.partial_fit(X, y, classes=[0, 1], **ages[name])

# %%
# After the change, the model of the first ten batches stays wrong, and that of all batches needs as many new rows as it
# has learned old ones. The model of a window has recovered after six batches, that of halved weights after four.

fig, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
colors, lines = ("#777777", "#D55E00", "#0072B2", "#009E73"), (":", "--", "-", "-.")
for (name, values), color, line in zip(correct.items(), colors, lines, strict=True):
    ax.plot(range(1, BATCHES), values, color=color, linestyle=line, label=name)
ax.axvline(BATCHES // 2, color="black", linewidth=0.8)
ax.text(BATCHES // 2 + 0.4, 0.02, "the meaning changes", fontsize="small")
ax.set(xlabel="batch", ylabel="accuracy on the next batch", ylim=(0, 1), title="Naive Bayes on a stream")
ax.grid(alpha=0.3)
ax.legend(loc="center left")
plt.show()
