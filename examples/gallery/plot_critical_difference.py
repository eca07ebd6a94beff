"""
Compare classifiers over many data sets
=======================================

Which of several classifiers is better in general? One data set cannot answer that. Over many data sets the ranks of the
classifiers can be tested, and a critical-difference diagram shows the result in one picture.
"""

# %%
# Ten data sets: eight of the repository, of the large ones every fourth row, and two that are generated. ``run`` tests
# all classifiers on the same folds. ``keep=True`` uses all columns without a warning, also those with a single value.

import naivete
from naivete.data.generated import corral, led7
from naivete.evaluation import compare_many, label_table, run
from naivete.evaluation.diagram import critical_difference_diagram

names = ("glass-window", "heart-c", "kr-vs-kp", "mushroom", "soybean", "splice", "vote", "wdbc-mean10")
tables = {name: naivete.read(f"../../studies/data/{name}.arff.gz") for name in names}
tables = {name: table[::4] if len(table) > 1000 else table for name, table in tables.items()}
tables |= {"corral": corral(random_state=0), "led7": led7(800)}
data = {name: label_table(table, table.names[-1]) for name, table in tables.items()}

encoder = naivete.Encoder(keep=True)
models = {
    "naive Bayes": naivete.NaiveBayes(encoder=encoder),
    "TAN": naivete.TAN(encoder=encoder),
    "KDB (k=2)": naivete.KDB(k=2, encoder=encoder),
    "AODE": naivete.AODE(encoder=encoder),
    "C4.5": naivete.C45(smoothing=1.0, encoder=encoder),
    "Spectrum": naivete.Spectrum(members=1, encoder=encoder),
}
results = run(models, data, "3-fold", jobs=1)

# %%
# ``compare_many`` ranks the classifiers on each data set by their log loss, tests whether the average ranks differ at
# all (Friedman's test), and which pairs differ (Nemenyi's test).

comparison = compare_many(results.table("log_loss"), test_share=results.test_shares(), higher_is_better=False, measure="log_loss")
print("\n".join(comparison.sentences[:2]))

# %%
# In the diagram the best average rank is on the left. A bar joins classifiers that do not differ significantly: their
# ranks differ by less than the critical difference, which is drawn above the axis.

critical_difference_diagram(comparison.nemenyi, comparison.models, title="Log loss on ten data sets, 3-fold cross-validation")
