"""
Members that made up their labels
=================================

Three of twelve clusterings are random numbers. Nobody says which; they agree with nobody, and so count for next to
nothing, while with equal weights they have a quarter of the say.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

import quorate as qt

seeds = qt.datasets.load("seeds")
rng = np.random.default_rng(0)
members = {f"k-means {k}": KMeans(k, n_init=1, random_state=k).fit_predict(seeds.features) for k in range(3, 12)}
members |= {f"made up {i}": rng.integers(4, size=len(seeds.features)) for i in range(3)}
ens = qt.Ensemble(list(members.values()), names=list(members))

for name, index, weight in zip(ens.names, qt.ncai(ens), qt.member_weights(ens), strict=True):
    print(f"{name:10} NCAI {index:.2f}  weight {weight:.3f}")
for weights in ("ncai", "equal"):
    labels = qt.consensus(ens, 3, "weac", weights=weights).labels
    print(f"{weights:5} weights: NMI with the varieties {qt.evaluate(labels, seeds.classes).nmi_sqrt:.3f}")

# %%
# Left: the index of each member. Right: who agrees with whom.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
qt.plot.crowd(ens, ax=axes[0])
qt.plot.agreement(ens, ax=axes[1])
plt.show()
