"""
Decisions by cost
=================

To send a patient with a heart disease home costs more than to examine a healthy one again. The probabilities do not
depend on these costs, but the decision does. :class:`naivete.LossAware` chooses the decision with the smallest expected
cost.
"""

# %%
# 303 patients of the Cleveland Clinic, 13 findings; the class says whether a coronary artery is narrowed. Every patient
# is decided by a model that was learned from others, in a 10-fold cross-validation.

import numpy as np
from matplotlib import pyplot as plt
from sklearn.model_selection import cross_val_predict

import naivete

table = naivete.read("../../studies/data/heart-c.arff.gz")
X, y = table.without("class"), np.where(table["class"] == "<50", "healthy", "ill")
classifier = naivete.TAN(calibration="leave-one-out")

# %%
# To examine a healthy patient costs 1, to miss a disease costs ``ratio``. Three rules: the more probable class, the
# smallest expected cost, and everybody is examined.

ratios = (1, 2, 3, 5, 8, 12, 20)


def cost(decided, ratio):
    """Return the mean cost of a patient."""
    missed, examined = (decided == "healthy") & (y == "ill"), (decided == "ill") & (y == "healthy")
    return (ratio * missed + examined).mean()


by_probability = cross_val_predict(classifier, X, y, cv=10)
costs = {"more probable class": [], "smallest expected cost": [], "examine everybody": []}
for ratio in ratios:
    aware = naivete.LossAware(classifier, loss={("healthy", "ill"): ratio, ("ill", "healthy"): 1})
    decisions = by_probability, cross_val_predict(aware, X, y, cv=10), np.full(len(y), "ill")
    for name, decided in zip(costs, decisions, strict=True):
        costs[name].append(cost(decided, ratio))

# %%
# The rule of the more probable class becomes expensive when the two kinds of errors have different costs; above a ratio
# of about 4 it would be cheaper to examine everybody. The smallest expected cost decides for an examination above a
# probability of 1 / (1 + ratio) instead of 1/2, and is the cheapest rule from a ratio of 3 on.

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for (name, values), color, style in zip(costs.items(), ("#D55E00", "#0072B2", "#777777"), ("s--", "o-", ":"), strict=True):
    ax.plot(ratios, values, style, color=color, label=name)
ax.set(xlabel="cost of a missed disease (an unnecessary examination costs 1)", ylabel="mean cost of a patient", ylim=(0, None))
ax.set_title("Heart disease: the same probabilities, three rules")
ax.set_xticks(ratios)
ax.grid(alpha=0.3)
ax.legend()
plt.show()
