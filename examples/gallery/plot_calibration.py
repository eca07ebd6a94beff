"""
Calibration before and after
============================

Naive Bayes is often right and nearly always too sure: dependent features count as if each were new evidence. One
number, a temperature found by leave-one-out on the training rows, corrects the probabilities and leaves the predicted
classes as they are.
"""

# %%
# Handwritten digits of 8 x 8 pixels (scikit-learn): neighboring pixels depend strongly on each other. Half of the
# images are for tests. Some pixels are always white, and ``keep=True`` uses them without a warning.

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import naivete
from naivete.evaluation.measures import Cases, calibration, log_loss
from naivete.evaluation.plots import calibration as draw_calibration

X_train, X_test, y_train, y_test = train_test_split(*load_digits(return_X_y=True), test_size=0.5, random_state=0)
encoder = naivete.Encoder(keep=True, unseen="smooth")
models = {
    "before": naivete.NaiveBayes(encoder=encoder),
    "after": naivete.NaiveBayes(encoder=encoder, calibration="leave-one-out"),
}

# %%
# Both models predict the same digits; the log loss says how good the probabilities are.

curves, certainty = {}, {}
for name, model in models.items():
    posterior = model.fit(X_train, y_train).predict_proba(X_test)
    cases = Cases.of(y_test, posterior)
    curves[f"{name}: log loss {log_loss(cases):.2f} bits"] = calibration(cases)
    certainty[name] = posterior.max(axis=1)
    print(f"{name}: {np.mean(posterior.argmax(axis=1) == y_test):.3f} correct")
print(f"temperature: {models['after'].temperature_:.2f}")

# %%
# On the left, the predictions are grouped by their probability: of those with a probability of 0.8, four in five should
# be correct. Before the calibration, fewer are; after it, the points lie near the diagonal. On the right is how sure
# the models are of their predictions.

fig, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
draw_calibration(curves, ax=axes[0])
axes[0].set_title("Predicted and observed frequency")
axes[1].hist(list(certainty.values()), bins=np.linspace(0, 1, 11), color=["#0072B2", "#D55E00"], label=list(certainty))
axes[1].set(xlabel="probability of the predicted digit", ylabel="images", title="How sure?")
axes[1].legend(loc="upper left")
plt.show()
