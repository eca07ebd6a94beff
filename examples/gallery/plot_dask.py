"""
Learn on a Dask cluster
=======================

Counts are sums, so that rows can be counted where they are stored. The same classifiers learn from a Dask DataFrame:
each worker counts its partitions, and only tables of counts are sent. Is the model really the same?
"""

# %%
# 8,124 mushrooms in eight partitions. The cluster of this example consists of two threads in this process; a real one
# is given by its address or by its client.

import dask.dataframe as dd
from distributed import Client

import naivete

frame = naivete.read("../../studies/data/mushroom.arff.gz").to_pandas().drop(columns="veil-type")
rows = dd.from_pandas(frame, npartitions=8)
with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None) as client:
    model = naivete.TAN().fit_cases(rows, "class", cluster=client)
    predicted = naivete.predict_partitions(model, rows).compute()

# %%
# The hash of a model covers its structure and every bit of its probabilities: it is the same as for a fit in memory.

in_memory = naivete.TAN().fit(frame.drop(columns="class"), frame["class"])
print("the same model:", naivete.model_hash(model) == naivete.model_hash(in_memory))
print("the same predictions:", bool((predicted["predicted"] == in_memory.predict(frame.drop(columns="class"))).all()))

# %%
# The network that was learned on the cluster. Darker features have more information about the class; the numbers are
# the information of the arcs, in bits.

model
