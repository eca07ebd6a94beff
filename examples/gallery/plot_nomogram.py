"""
A model on paper: the nomogram
==============================

Can a model be used without a computer? That of naive Bayes can: look up the points of each finding, add them, and read
the probability below.
"""

# %%
# The patients of the Cleveland Clinic; the class says whether a coronary artery is narrowed.

import numpy as np

import naivete

table = naivete.read("../../studies/data/heart-c.arff.gz")
X, y = table.without("class"), np.where(table["class"] == "<50", "healthy", "diseased")
model = naivete.NaiveBayes(calibration="leave-one-out").fit(X, y)
nomogram = model.nomogram("diseased")

# %%
# Some of the points in figures: a man has 53 points more than a woman.

for scale in nomogram.scales[:3]:
    print(f"{scale.name}: {dict(zip(scale.states, scale.points.round().tolist(), strict=True))}")

# %%
# Look up the points of each finding, add them, and read the probability below the total. Long lines belong to findings
# with much influence. ``trestbps`` and ``chol`` have no line: no cut point of them carries information about the class.
# ``calibration`` has corrected the probabilities, of which naive Bayes is otherwise too sure.

nomogram
