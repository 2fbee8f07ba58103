"""
How certain is each row?
========================

The confidence of a row is the mean evidence that it belongs with the rest of its cluster. It is low where members part
ways, which is where clusters meet.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

import quorate as qt

X, groups = make_blobs(900, centers=4, cluster_std=1.1, random_state=5)
members = [KMeans(3 + seed % 5, n_init=1, random_state=seed).fit_predict(X) for seed in range(20)]
result = qt.consensus(members, 4)

order = np.argsort(result.confidence)
for cluster in result.clusters:
    print(f"cluster {cluster.label}: {cluster.size:.0f} rows, stability {cluster.stability:.2f}")

# %%

figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
axes[0].scatter(*X.T, c=result.labels, s=8, cmap="tab10")
axes[0].set(title="clusters", xticks=[], yticks=[])
drawn = axes[1].scatter(*X[order].T, c=result.confidence[order], s=8, cmap="viridis")
axes[1].set(title="confidence", xticks=[], yticks=[])
figure.colorbar(drawn, ax=axes[1])
plt.show()
