"""
Members that label only some of the rows
========================================

Each of twenty members labels a random half of the rows. The consensus covers every row that at least one member
labels.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

import quorate as qt

X, groups = make_blobs(400, centers=4, cluster_std=0.9, random_state=1)
rng = np.random.default_rng(0)
labels = np.full((len(X), 20), -1)  # negative: missing
for member in range(labels.shape[1]):
    seen = rng.choice(len(X), len(X) // 2, replace=False)
    labels[seen, member] = KMeans(rng.integers(3, 8), n_init=1, random_state=member).fit_predict(X[seen])

ens = qt.Ensemble(labels)
result = qt.consensus(ens, 4)
print(f"{(labels >= 0).mean():.0%} of the labels are present; ARI {qt.evaluate(result.labels, groups).ari:.3f}")

# %%

figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
for ax, member in zip(axes, (0, 1), strict=False):
    ax.scatter(*X.T, c="lightgray", s=6)
    ax.scatter(*X[labels[:, member] >= 0].T, c=labels[labels[:, member] >= 0, member], s=8, cmap="tab10")
    ax.set_title(f"member {member}")
axes[2].scatter(*X.T, c=result.labels, s=8, cmap="tab10")
axes[2].set_title("consensus of all twenty")
plt.setp(axes, xticks=[], yticks=[])
plt.show()
