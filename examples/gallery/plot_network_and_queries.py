"""
A network, drawn and queried
============================

A Bayesian network describes all variables together: any of them can be observed, and any of them can be asked for. This
example makes a network by hand, draws rows from it, learns it again from these rows, and asks it questions.
"""

# %%
# A burglar or an earthquake sets off the alarm; after an alarm John or Mary may call (Pearl 1988). The axes of a table
# are the variable and its parents by position; ``-1`` is the last variable.

import numpy as np
from matplotlib import pyplot as plt

import naivete

names = ("burglary", "earthquake", "John calls", "Mary calls", "alarm")
network = naivete.Network(
    tuple(naivete.Variable(name, ("no", "yes")) for name in names),
    parents={0: (), 1: (), 2: (-1,), 3: (-1,), -1: (0, 1)},
    cpts={
        0: np.array([0.95, 0.05]),
        1: np.array([0.9, 0.1]),
        2: np.array([[0.95, 0.1], [0.05, 0.9]]),  # (John calls, alarm)
        3: np.array([[0.99, 0.3], [0.01, 0.7]]),  # (Mary calls, alarm)
        -1: np.array([[[0.99, 0.01], [0.7, 0.3]], [[0.06, 0.94], [0.05, 0.95]]]),  # (burglary, earthquake, alarm)
    },
)

# %%
# 20,000 rows drawn from the network are enough for :class:`naivete.HillClimb` to find its arcs again.

rows = naivete.sample(network, 20_000, random_state=0)
model = naivete.HillClimb().fit(rows.without("alarm"), rows["alarm"])
model

# %%
# John calls. Then the radio reports an earthquake, which *explains away* the alarm, and the burglary becomes less
# probable again.

stories = {
    "nothing is known": {},
    "John calls": {"John calls": "yes"},
    "and an earthquake": {"John calls": "yes", "earthquake": "yes"},
}
shown = ("burglary", "earthquake", "alarm", "Mary calls")
fig, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
for i, (story, evidence) in enumerate(stories.items()):
    probabilities = naivete.marginals(model, evidence)
    color, places = ("#777777", "#0072B2", "#E69F00")[i], np.arange(len(shown)) + 0.27 * (i - 1)
    bars = ax.bar(places, [probabilities[name]["yes"] for name in shown], 0.25, label=story, color=color)
    ax.bar_label(bars, fmt="%.2f", fontsize="small")
ax.set_xticks(range(len(shown)), shown)
ax.set(ylabel="probability of yes", ylim=(0, 1.1), title="The same network, three states of knowledge")
ax.legend()
plt.show()
