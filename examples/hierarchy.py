"""
A hierarchy from flat clusterings
=================================

WEAC merges rows by their co-association: the weighted share of members that put them together. One exact dendrogram
gives the result for every number of clusters.
"""

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans

import quorate as qt

wine = qt.datasets.load("wine")
X = (wine.features - wine.features.min(axis=0)) / (wine.features.max(axis=0) - wine.features.min(axis=0))
members = [KMeans(k, n_init=1, random_state=k).fit_predict(X) for k in range(3, 15)]
weac = qt.WEAC(n_clusters=3, linkage="average").fit(members)

ks = [2, 3, 4, 6, 9]
for k, labels in zip(ks, weac.sweep(ks).T, strict=True):
    print(f"{k} clusters: ARI with the cultivars {qt.evaluate(labels, wine.classes).ari:.3f}")

# %%

qt.plot.dendrogram(weac)
plt.show()
