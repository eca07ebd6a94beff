"""
A hidden variable behind the symptoms
=====================================

Symptoms of a disease depend on one another, because they have a common cause that nobody has recorded.
:class:`naivete.HiddenNaive` adds such a cause to naive Bayes: a hidden variable between the class and a group of
features. Does it find how many states the cause has?
"""

# %%
# The patients are generated. There are three courses: mild, with fever, cough and headache, or with nausea, cramps and
# rash. The course is not recorded; it determines the six symptoms, and depends on whether the patient is ill.

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.metrics import log_loss

import naivete

rng = np.random.default_rng(0)
ROWS = 3000
ill = rng.random(ROWS) < 0.5
course = np.where(ill, rng.choice(3, ROWS, p=[0.2, 0.4, 0.4]), rng.choice(3, ROWS, p=[0.7, 0.15, 0.15]))
often = np.array([[0.1] * 6, [0.85] * 3 + [0.1] * 3, [0.1] * 3 + [0.85] * 3])  # (course, symptom)
names = ["fever", "cough", "headache", "nausea", "cramps", "rash"]
X = pd.DataFrame(np.where(rng.random((ROWS, 6)) < often[course], "yes", "no"), columns=names)
X["age"] = np.where(rng.random(ROWS) < np.where(ill, 0.6, 0.4), "above 60", "below 60")
y = np.where(ill, "ill", "well")

# %%
# The groups of features are found by tests of dependence, the number of states by the Bayesian information criterion
# (BIC). Without the hidden variable, naive Bayes counts related symptoms several times, and its log loss is larger.

train, test = slice(0, 2000), slice(2000, None)
model = naivete.HiddenNaive().fit(X[train], y[train])
print("groups:", [[X.columns[i] for i in group] for group in model.groups_], "states:", model.states_)
naive = naivete.NaiveBayes().fit(X[train], y[train])
for name, classifier in {"naive Bayes": naive, "with a hidden variable": model}.items():
    print(f"{name}: log loss {log_loss(y[test], classifier.predict_proba(X[test])):.3f} nats")

# %%
# The BIC is largest with three states, the true number.

trials = model.convergence_[0]["trials"]
fig, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.plot([t["states"] for t in trials], [t["bic"] for t in trials], "o-", color="#0072B2")
ax.set(xlabel="states of the hidden variable", ylabel="BIC (larger is better)", title="How many courses are there?")
ax.set_xticks([t["states"] for t in trials])
ax.grid(alpha=0.3)
plt.show()

# %%
# In the drawing of the network the hidden variable has a dotted outline.

model
