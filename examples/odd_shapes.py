"""
Shapes that no member finds
===========================

k-means cuts two moons into pieces for any k. The pieces differ between members, but almost none contains parts of both
moons. Single link on the co-association of the members joins the pieces of each moon.
"""

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import make_moons

import quorate as qt

X, moons = make_moons(600, noise=0.06, random_state=0)
members = [KMeans(10 + seed % 20, n_init=1, random_state=seed).fit_predict(X) for seed in range(30)]
answers = {
    "k-means at 2": KMeans(2, n_init=10, random_state=0).fit_predict(X),
    "one member": members[0],
    "WEAC, single link": qt.consensus(members, 2, "weac", linkage="single").labels,
}

figure, axes = plt.subplots(1, 3, figsize=(12, 3.2), layout="constrained")
for ax, (name, labels) in zip(axes, answers.items(), strict=True):
    score = qt.evaluate(labels, moons).ari
    print(f"{name}: ARI with the moons {score:.3f}")
    ax.scatter(*X.T, c=labels, s=6, cmap="tab20")
    ax.set(title=f"{name}: ARI {score:.2f}", xticks=[], yticks=[])
plt.show()
