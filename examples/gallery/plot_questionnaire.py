"""
Which question next?
====================

Is this mushroom poisonous? Nobody wants to answer 21 questions. :class:`naivete.Questionnaire` asks for the feature
that is expected to give the most information about the class, given the answers so far, and stops when the class is
sure.
"""

# %%
# The network is learned from 7,000 mushrooms. (``veil-type`` is the same for all of them.) Before any answer, the smell
# is the most informative question.

import numpy as np
from matplotlib import pyplot as plt

import naivete

table = naivete.read("../../studies/data/mushroom.arff.gz")
table = table[np.random.default_rng(0).permutation(len(table))]
X, y = table.without("class").without("veil-type"), table["class"]
model = naivete.TAN().fit(X[:7000], y[:7000])
for question in model.ask_next()[:4]:
    print(f"{question.feature}: {question.gain:.3f} bits")

# %%
# 100 other mushrooms are asked until one class has a probability of 0.999: once the best question first, once in the
# order of the columns.


def probabilities(row, best_first):
    """Return P(poisonous) before the first and after every answer."""
    questionnaire = naivete.Questionnaire(model, stop=0.999)
    after = [questionnaire.posterior[1]]
    columns = iter(X.names)
    while (question := questionnaire.next()) is not None:
        feature = question.feature if best_first else next(columns)
        questionnaire.answer(row[feature], feature)
        after.append(questionnaire.posterior[1])
    return after


rows = [{name: X[name][i] for name in X.names} for i in range(7000, 7100)]
best_first = [probabilities(row, True) for row in rows]
in_order = [probabilities(row, False) for row in rows]

# %%
# Most mushrooms need one to three questions. For a few, the first answers point to the wrong class and the
# questionnaire goes on until the evidence is sufficient. In the order of the columns, at least five questions are
# needed.

fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
colors = {"e": "#0072B2", "p": "#D55E00"}
for answers, label in zip(best_first, y[7000:7100], strict=True):
    axes[0].plot(answers, "o-", color=colors[label], alpha=0.35, markersize=3)
for label, name in (("e", "edible"), ("p", "poisonous")):
    axes[0].plot([], "o-", color=colors[label], label=name)
axes[0].set(xlabel="questions answered", ylabel="P(poisonous)", title="100 mushrooms, best question first")
axes[0].legend(loc=(0.22, 0.64))
questions = [[len(answers) - 1 for answers in way] for way in (best_first, in_order)]
most = max(map(max, questions))
axes[1].hist(
    questions, np.arange(0.5, most + 1), color=["#009E73", "#E69F00"], label=["best question first", "order of the columns"]
)
axes[1].set(xlabel="questions until sure", ylabel="mushrooms", title="How many questions?")
axes[1].set_xticks(range(1, most + 1, 2))
axes[1].legend()
plt.show()
