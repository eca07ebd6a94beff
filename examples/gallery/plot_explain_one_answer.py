"""
Why this answer? One prediction explained
=========================================

A probability alone does not convince anybody. The log odds of a class are the sum of a base and of one contribution for
each feature; ``explain`` returns these contributions, exactly, and draws them as a waterfall.
"""

# %%
# 303 patients of the Cleveland Clinic; the class says whether a coronary artery is narrowed. The network is learned
# from 250 of them; patient 283 is one of the others.

import numpy as np

import naivete

table = naivete.read("../../studies/data/heart-c.arff.gz")
X, y = table.without("class"), np.where(table["class"] == "<50", "healthy", "diseased")
model = naivete.TAN().fit(X[:250], y[:250])
explanation = model.explain(X[[283]])
print(explanation.sentence())

# %%
# Each bit doubles the odds of the class, and each bit less halves them. The interval says how well the 250 training
# patients determine the probability; ``typicality`` is the share of patients, among those that the model considers
# possible, who are at most as probable as this one.

print(f"95 % interval: {explanation.interval()[0].round(2).tolist()}, typicality: {explanation.typicality[0]:.2f}")
print(model.sufficient_reason({name: X[name][283] for name in X.names}))

# %%
# The picture starts at the base, the log odds before anything is known about the patient. Each bar is the contribution
# of one finding, the largest first, and the last bar ends at the log odds of the prediction.

explanation
