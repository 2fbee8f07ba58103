"""
How much does the method matter?
================================

Several methods on the same members. If they agree with each other, the choice of the method does not matter. If one of
them differs, inspect its result first.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

import quorate as qt

wine = qt.datasets.load("wine")
X = (wine.features - wine.features.min(axis=0)) / (wine.features.max(axis=0) - wine.features.min(axis=0))
ens = qt.Ensemble([KMeans(k, n_init=1, random_state=k).fit_predict(X) for k in range(3, 13)])

answers = {name: qt.consensus(ens, 3, name).labels for name in ("gp-mgla", "weac", "eac", "hbgf", "wct", "srs")}
scores = {name: qt.evaluate(labels, wine.classes).ari for name, labels in answers.items()}
for name, score in scores.items():
    print(f"{name:8} ARI with the cultivars {score:.3f}")

# %%

figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
axes[0].barh(list(scores), list(scores.values()))
axes[0].set(xlabel="ARI with the cultivars", xlim=(0, 1))
pairs = np.array([[qt.evaluate(a, b).ari for b in answers.values()] for a in answers.values()])
drawn = axes[1].imshow(pairs, vmin=0, vmax=1, cmap="Blues")
axes[1].set_xticks(range(len(answers)), answers, rotation=30)
axes[1].set_yticks(range(len(answers)), answers)
axes[1].set_title("ARI between methods")
figure.colorbar(drawn, ax=axes[1])
plt.show()
