"""
Read the probability tables of a network
========================================

A Bayesian network has no weights to interpret: its parameters are probabilities. How are they read?
"""

# %%
# A network (TAN) of 303 patients of the Cleveland Clinic; the class says whether a coronary artery is narrowed.
# ``parents_`` has the parents of each variable by name.

import numpy as np

import naivete

table = naivete.read("../../studies/data/heart-c.arff.gz")
X, y = table.without("class"), np.where(table["class"] == "<50", "healthy", "diseased")
model = naivete.TAN().fit(X, y)
print("the parents of cp:", model.parents_["cp"])

# %%
# ``tables_`` has the table P(variable | parents) of each variable as a data frame, with the number of training cases of
# each cell. ``cp`` is the kind of chest pain (``asympt``: none), ``exang`` says whether exercise causes it.
# ``smoothing=1.0``, the default, adds one case to each cell, so that no probability is zero.

model.tables_["cp"].round(3)

# %%
# The same table as a heat map: one panel for each class, one row for each value of the other parent. Of the diseased
# patients with pain during exercise, 89 % have no other chest pain; of the healthy patients without it, 21 %.

model.heatmap("cp")
