"""
From features to a consensus
============================

If you have features and no clusterings, `ConsensusClustering` generates members of different kinds and combines them.
It suggests the number of clusters, works in a scikit-learn pipeline and labels new rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import quorate as qt

X, groups = make_blobs(500, centers=5, cluster_std=0.9, random_state=8)
model = make_pipeline(StandardScaler(), qt.ConsensusClustering(random_state=0)).fit(X)
labels = model[-1].labels_
print(f"{model[-1].n_clusters_} clusters, ARI with the groups {qt.evaluate(labels, groups).ari:.3f}")

# %%
# The cluster of every point of the plane.

low, high = X.min(axis=0) - 1, X.max(axis=0) + 1
x, y = np.meshgrid(np.linspace(low[0], high[0], 150), np.linspace(low[1], high[1], 150))
region = model.predict(np.column_stack([x.ravel(), y.ravel()])).reshape(x.shape)
figure, ax = plt.subplots(figsize=(6, 5), layout="constrained")
ax.pcolormesh(x, y, region, cmap="tab10", vmax=9, alpha=0.25)
ax.scatter(*X.T, c=labels, s=8, cmap="tab10", vmax=9)
ax.set(xticks=[], yticks=[])
plt.show()
