"""
How certain is each row?
========================

The margin of a row is the support for its cluster minus the support for the runner-up. It is low where clusters meet,
because members disagree there.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

import quorate as qt

X, groups = make_blobs(900, centers=4, cluster_std=1.1, random_state=5)
members = [KMeans(3 + seed % 5, n_init=1, random_state=seed).fit_predict(X) for seed in range(20)]
result = qt.consensus(members, 4)

order = np.argsort(result.margin)
for cluster in result.clusters:
    merge = f"nearest {cluster.nearest}, merge cost {cluster.merge_cost:.0%}"
    print(f"cluster {cluster.label}: {cluster.size:.0f} rows, stability {cluster.stability:.2f}; {merge}")
least = order[0]
print(f"row {least}: cluster {result.labels[least]}, runner-up {result.runner_up[least]}")

# %%

figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
axes[0].scatter(*X.T, c=result.labels, s=8, cmap="tab10")
axes[0].set(title="clusters", xticks=[], yticks=[])
drawn = axes[1].scatter(*X[order].T, c=result.margin[order], s=8, cmap="viridis")
axes[1].set(title="margin", xticks=[], yticks=[])
figure.colorbar(drawn, ax=axes[1])
plt.show()
