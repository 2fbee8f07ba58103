"""
One set of topics from several topic models
===========================================

A topic model gives every document a share of each topic, and a different answer for every seed and number of topics.
The shares are soft members: they need not be cut to one topic per document first.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import LatentDirichletAllocation

import quorate as qt

rng = np.random.default_rng(0)
THEMES = ("sport", "health", "money", "travel", "music")
N_WORDS = 300

# %%
# 500 synthetic documents of 30 words. Every theme prefers 60 of 300 words; 30 % of a document come from any theme.

vocabulary = np.full((len(THEMES), N_WORDS), 0.2)
for number in range(len(THEMES)):
    vocabulary[number, number * 60 : (number + 1) * 60] = rng.gamma(1.0, 3.0, size=60)
vocabulary /= vocabulary.sum(axis=1, keepdims=True)
theme = rng.integers(len(THEMES), size=500)
mixed = 0.7 * np.eye(len(THEMES))[theme] + 0.3 * rng.dirichlet(np.ones(len(THEMES)), size=500)
words = np.array([rng.multinomial(30, share @ vocabulary) for share in mixed])

# %%
# Six models with 4 to 7 topics, each with few iterations, as on a large collection.

models = [LatentDirichletAllocation(n, max_iter=4, random_state=seed) for seed, n in enumerate((4, 5, 5, 6, 6, 7))]
shares = [model.fit_transform(words) for model in models]
ensemble = qt.SoftEnsemble(shares)
result = qt.consensus(ensemble, len(THEMES))

alone = [qt.evaluate(share.argmax(axis=1), theme).ari for share in shares]
print("ARI with the themes")
for model, ari in zip(models, alone, strict=True):
    print(f"  {model.n_components} topics: {ari:.2f}")
print(f"  consensus: {qt.evaluate(result.labels, theme).ari:.2f}")

# %%
# The most frequent words of a cluster, relative to all documents, name it.

for cluster in range(result.n_clusters):
    frequency = words[result.labels == cluster].sum(axis=0) / words.sum(axis=0).clip(1)
    typical = THEMES[np.bincount(np.argsort(frequency)[-20:] // 60, minlength=len(THEMES)).argmax()]
    print(f"cluster {cluster}: {np.sum(result.labels == cluster)} documents about {typical}")

# %%

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.bar(range(len(models)), alone, color="lightgray")
axes.set_xticks(range(len(models)), [f"{model.n_components} topics" for model in models])
axes.axhline(qt.evaluate(result.labels, theme).ari, color="tab:blue", label="consensus")
axes.set(ylabel="ARI with the themes", ylim=(0, 1.05))
axes.legend()
plt.show()
