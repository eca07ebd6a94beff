"""
Learning curves: which classifier for how many rows?
====================================================

A simple model needs few rows and soon stops improving; a model with more parameters starts worse and goes further.
Where do the curves cross?
"""

# %%
# Chess end games: 3,196 positions of king and rook against king and pawn, 36 features; can White win? The training sets
# of one curve contain each other, and all are tested on the same rows.

from matplotlib import pyplot as plt

import naivete
from naivete.evaluation import LearningCurve, label_table, run
from naivete.evaluation.plots import learning_curve

cases = label_table(naivete.read("../../studies/data/kr-vs-kp.arff.gz"), "class")
models = {
    "naive Bayes": naivete.NaiveBayes(),
    "TAN": naivete.TAN(),
    "KDB, k=4": naivete.KDB(k=4),
    "Spectrum, members=1": naivete.Spectrum(members=1),
}
protocol = LearningCurve(sizes=(25, 50, 100, 200, 400, 800, 1600), count=5, test=1000)
results = run(models, {"chess": cases}, protocol)

# %%
# With 25 rows all classifiers have about the same error, and naive Bayes has the best probabilities. From 200 rows on,
# the classifiers with more dependences are better, and the distances grow: TAN stops improving at 400 rows, naive Bayes
# improves slowly, the others still improve at 1,600. (``members=1`` is Spectrum with one structure, which is quicker.)

fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, measure, label in zip(axes, ("error", "log_loss"), ("error rate", "log loss (bits)"), strict=True):
    runs = {
        model: {size: [r.measures[measure] for r in results.of("chess", model) if r.train == size] for size in protocol.sizes}
        for model in models
    }
    learning_curve(runs, y=label, ax=ax)
    ax.set(xscale="log", ylim=(0, None))
    ax.set_xticks(protocol.sizes, protocol.sizes)
    ax.minorticks_off()
    ax.grid(alpha=0.3)
fig.suptitle("Chess end games (kr-vs-kp), tested on 1,000 rows")
plt.show()
