"""
Text with 5,000 words
=====================

Documents are rows with thousands of columns, one for each word, and nearly all cells are zero. Naive Bayes learns from
such a sparse matrix in one pass over the words that occur. How many documents does it need, and how many words?
"""

# %%
# The documents are generated, so that nothing has to be downloaded. There are four topics and 5,000 words whose
# frequencies follow Zipf's law, as in natural languages; in each topic 150 words are eight times as frequent as
# elsewhere.

import numpy as np
from matplotlib import pyplot as plt
from scipy.sparse import csr_matrix

import naivete

TOPICS, WORDS, DOCUMENTS = ("sport", "music", "health", "space"), 5000, 3000
rng = np.random.default_rng(0)
frequency = 1 / np.arange(1, WORDS + 1)
in_topic = np.tile(np.minimum(60 * frequency / frequency.sum(), 0.5), (len(TOPICS), 1))
for words in in_topic:
    words[rng.choice(np.arange(50, WORDS), 150, replace=False)] *= 8
topic = rng.integers(0, len(TOPICS), DOCUMENTS)
documents = csr_matrix(rng.random((DOCUMENTS, WORDS)) < in_topic[topic], dtype=np.int8)
labels = np.array(TOPICS)[topic]
print(f"{documents.nnz:,} of {np.prod(documents.shape):,} cells are not zero")

# %%
# The last 1,000 documents are for tests. On the left, all 5,000 words and more and more documents, with two values of
# ``smoothing``, the number of pseudo-cases that is added to each cell: one document more or less is much for a rare
# word. On the right, 2,000 documents and only those words that have the most mutual information with the topic
# (``relevance_``).

encoder = naivete.Encoder(keep=True, unseen="smooth")  # all words, also those that the training documents do not have


def accuracy(documents_used, words_used, smoothing):
    """Return the accuracy on the test documents."""
    model = naivete.NaiveBayes(smoothing=smoothing, encoder=encoder).fit(
        documents[:documents_used, words_used], labels[:documents_used]
    )
    return model.score(documents[2000:, words_used], labels[2000:])


all_words = np.arange(WORDS)
sizes = (50, 100, 200, 400, 800, 1600)
by_documents = {smoothing: [accuracy(n, all_words, smoothing) for n in sizes] for smoothing in (0.1, 1.0)}
relevance = naivete.NaiveBayes(encoder=encoder).fit(documents[:2000], labels[:2000]).relevance_
informative = np.argsort(-np.asarray(relevance), kind="stable")
counts = (5, 20, 80, 320, 1280, 5000)
by_words = [accuracy(2000, np.sort(informative[:n]), 0.1) for n in counts]

# %%
# With few documents, little smoothing is much better: with ``smoothing=1.0``, a word that is missing in a small topic
# seems more frequent there than in a large one. With many documents the larger value is better. On the right, 320 words
# predict the topic better than all 5,000: the other words only add noise.

fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained", sharey=True)
axes[0].plot(sizes, by_documents[0.1], "o-", color="#0072B2", label="smoothing=0.1")
axes[0].plot(sizes, by_documents[1.0], "s--", color="#D55E00", label="smoothing=1.0")
axes[1].plot(counts, by_words, "o-", color="#0072B2", label="smoothing=0.1")
for ax, x, label in ((axes[0], sizes, "training documents (5,000 words)"), (axes[1], counts, "words (2,000 documents)")):
    ax.axhline(0.25, color="#777777", linewidth=0.8, linestyle=":", label="guessing")
    ax.set(xscale="log", xlabel=label, ylim=(0.2, 1))
    ax.set_xticks(x, [f"{n:,}" for n in x])
    ax.minorticks_off()
    ax.grid(alpha=0.3)
    ax.legend(loc="center right")
axes[0].set_ylabel("accuracy")
fig.suptitle("Naive Bayes on generated documents of four topics")
plt.show()
