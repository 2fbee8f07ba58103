"""
A first consensus
=================

Ten k-means clusterings of the handwritten digits, each with a different number of clusters. Their consensus is closer
to the true digits than the best of them, and you do not need to know which one is the best.
"""

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

import quorate as qt

X, digits = load_digits(return_X_y=True)
members = [KMeans(k, n_init=1, random_state=k).fit_predict(X) for k in range(8, 28, 2)]
result = qt.consensus(members, 10)

alone = [qt.evaluate(labels, digits).nmi_sqrt for labels in members]
together = qt.evaluate(result.labels, digits).nmi_sqrt
print(f"members {min(alone):.3f} to {max(alone):.3f}, consensus {together:.3f}")

# %%
# How often pairs of digits are in the same cluster, ordered by the consensus: ten blocks, some of them close.

qt.plot.consensus_matrix(result)

# %%
# Agreement of each member with the others, and the scores against the digits, which were not used for the weights.

figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
qt.plot.trust(result, ax=axes[0])
axes[1].bar(range(len(alone)), alone, color="tab:gray")
axes[1].axhline(together, color="tab:red", label="consensus")
axes[1].set(ylim=(0.6, 0.85), xlabel="member", ylabel="NMI with the digits")
axes[1].legend(frameon=False)
plt.show()
