"""
From a member's clusters to the consensus
=========================================

Bands show which clusters of a member were merged, split or preserved. A member with far more clusters than the
consensus is mostly merged. Its clusters that are split show where the other members disagree.
"""

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans

import quorate as qt

iris = qt.datasets.load("iris")
members = {f"k-means {k}": KMeans(k, n_init=1, random_state=k).fit_predict(iris.features) for k in range(2, 13)}
result = qt.consensus(qt.Ensemble(list(members.values()), names=list(members)), 3)
for cluster in result.clusters:
    opponents = ", ".join(name for name, _ in cluster.opponents)
    print(f"cluster {cluster.label}: {cluster.size:.0f} rows; opposed by {opponents}")

# %%

figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
for ax, member in zip(axes, ("k-means 2", "k-means 12"), strict=True):
    qt.plot.flow(result, member, ax=ax)
plt.show()
