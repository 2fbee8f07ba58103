"""
How many clusters?
==================

One solution of the ensemble gives the result for every number of clusters. Confidence and agreement with the members
show which numbers the members support. The data have six groups; no member was given that number.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

import quorate as qt

angles = np.arange(6) * np.pi / 3
X, groups = make_blobs(600, centers=5 * np.column_stack([np.cos(angles), np.sin(angles)]), random_state=3)
members = [KMeans(k, n_init=1, random_state=seed).fit_predict(X) for seed, k in enumerate(range(4, 16))]
result = qt.consensus(members)
print(f"suggested: {result.n_clusters} clusters, ARI with the groups {qt.evaluate(result.labels, groups).ari:.3f}")

# %%
# The score against the groups (`truth`) is drawn for comparison only.

figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
qt.plot.by_n_clusters(result, range(2, 13), truth=groups, ax=axes[0])
axes[1].scatter(*X.T, c=result.labels, s=8, cmap="tab10")
axes[1].set(title=f"consensus with {result.n_clusters} clusters", xticks=[], yticks=[])
plt.show()
