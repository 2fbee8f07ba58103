"""
Random members
==============

Three of twelve clusterings are random labels. They agree with no other member and get almost no weight. With equal
weights they would have a quarter of the weight.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

import quorate as qt

seeds = qt.datasets.load("seeds")
rng = np.random.default_rng(0)
members = {f"k-means {k}": KMeans(k, n_init=1, random_state=k).fit_predict(seeds.features) for k in range(3, 12)}
members |= {f"random {i}": rng.integers(4, size=len(seeds.features)) for i in range(3)}
ens = qt.Ensemble(list(members.values()), names=list(members))

for name, index, weight in zip(ens.names, qt.ncai(ens), qt.member_weights(ens), strict=True):
    print(f"{name:10} NCAI {index:.2f}  weight {weight:.3f}")
for weights in ("ncai", "equal"):
    labels = qt.consensus(ens, 3, "weac", weights=weights).labels
    print(f"{weights:5} weights: NMI with the varieties {qt.evaluate(labels, seeds.classes).nmi_sqrt:.3f}")

# %%
# Left: agreement of each member with the others. Right: agreement of every two members.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
qt.plot.trust(ens, ax=axes[0])
qt.plot.agreement(ens, ax=axes[1])
plt.show()
