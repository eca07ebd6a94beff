"""
Continuous features: intervals, normal densities or kernel densities?
=====================================================================

naivete discretizes numeric columns by default. ``Encoder(numbers=...)`` models them by densities instead. What does
each of them say about one feature, and which is better for how many rows?
"""

# %%
# 569 tumors with ten measurements of cell nuclei; the class is benign or malignant. First one feature alone.

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

import naivete
from naivete.evaluation import LearningCurve, label_table, run
from naivete.evaluation.plots import learning_curve

table = naivete.read("../../studies/data/wdbc-mean10.arff.gz")
X, y = table.without("class"), table["class"]
one = X[["mean_concavity"]]
values = pd.DataFrame({"mean_concavity": np.linspace(0, 0.45, 400)})
models = {
    "intervals (cut)": naivete.Encoder(numbers="cut"),
    "normal": naivete.Encoder(numbers="normal"),
    "kernel": naivete.Encoder(numbers="kernel"),
}
curves = {}
for name, encoder in models.items():
    model = naivete.NaiveBayes(encoder=encoder).fit(one, y)
    malignant = list(model.classes_).index("malignant")
    curves[name] = model.predict_proba(values)[:, malignant]

# %%
# Then all ten features, with growing training sets. ``"auto"`` chooses intervals or a normal density for each column by
# leave-one-out.

models = {name: naivete.NaiveBayes(encoder=encoder) for name, encoder in models.items()}
models["auto"] = naivete.NaiveBayes(encoder=naivete.Encoder(numbers="auto"))
protocol = LearningCurve(sizes=(20, 50, 100, 200, 400), count=10, test=150)
results = run(models, {"tumors": label_table(table, "class")}, protocol, jobs=1)
runs = {
    model: {size: [r.measures["log_loss"] for r in results.of("tumors", model) if r.train == size] for size in protocol.sizes}
    for model in models
}

# %%
# On the left, the intervals are steps that the data support. The normal density is smooth, and sure of large values
# that hardly occur; the kernel density follows single tumors there. On the right, intervals are the best choice for
# these skewed measurements at every size, ``"auto"`` is as good from 50 rows on, and the densities stay behind.

fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for (name, curve), color, line in zip(curves.items(), ("#0072B2", "#D55E00", "#009E73"), ("-", "--", "-."), strict=True):
    axes[0].plot(values["mean_concavity"], curve, color=color, linestyle=line, label=name)
axes[0].plot(one["mean_concavity"], np.where(y == "malignant", 1.04, -0.04), "|", color="#777777", markersize=5)
axes[0].set(xlabel="mean concavity", ylabel="P(malignant | mean concavity)", title="One feature")
axes[0].legend(loc=(0.55, 0.12))
learning_curve(runs, y="log loss (bits)", ax=axes[1])
axes[1].set(xscale="log", title="All ten features, naive Bayes")
axes[1].set_xticks(protocol.sizes, protocol.sizes)
axes[1].minorticks_off()
axes[1].grid(alpha=0.3)
plt.show()
