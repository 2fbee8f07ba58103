"""
Three analysts, three sets of words
===================================

Three analysts sorted the same 400 customers into segments. Each uses words of their own, one also splits a segment, and
each left some customers out. Quorate compares their words, combines their segments and lists the customers to discuss.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import quorate as qt

rng = np.random.default_rng(0)
segment = rng.choice(4, size=400, p=[0.45, 0.3, 0.15, 0.1])


def sort_customers(words, n_wrong, n_skipped):
    """Return the words of one analyst for every customer: some are wrong, some are missing."""
    chosen = np.array(words, dtype=object)[segment]
    wrong = rng.choice(400, n_wrong, replace=False)
    chosen[wrong] = rng.choice(words, n_wrong)
    chosen[rng.choice(400, n_skipped, replace=False)] = None
    return chosen


segments = pd.DataFrame(
    {
        "ana": sort_customers(["families", "students", "firms", "tourists"], 20, 15),
        "ben": sort_customers(["regular", "young", "business", "visitor"], 40, 0),
        "eva": sort_customers(["household", "campus", "company", "guest"], 30, 25),
    }
)
# Eva distinguishes two kinds of households.
split = (segments["eva"] == "household") & (rng.random(400) < 0.4)
segments.loc[split, "eva"] = "large household"

# %%
# Which word of Ana's corresponds to which of Eva's? One word may correspond to several.

for pair in qt.match(segments["ana"], segments["eva"]):
    if pair.second_share > 0.5:
        print(f"{pair.second_share:.0%} of Eva's {pair.second!r} are Ana's {pair.first!r}")

# %%
# The consensus names its clusters by the analysts' words.

result = qt.consensus(segments, 4)
for cluster in result.clusters:
    words = ", ".join(f"{word} {share:.0%}" for word, share in cluster.label_shares)
    print(f"cluster {cluster.label}: {cluster.size:.0f} customers ({words})")
for name, trust in zip(result.ensemble.names, result.trust, strict=True):
    print(f"{name}: agreement with the others {trust:.2f} (AMI)")

# %%
# Customers that all three place alike need no meeting; the others are sorted by how close the vote is.

agreed = qt.core(result, agreement=1.0)
print(f"All analysts agree on {agreed.share:.0%} of the customers.")
discuss = segments.assign(cluster=result.labels, margin=result.margin)[agreed.labels < 0].sort_values("margin")
print(discuss.head())

# %%

qt.plot.flow(result, "eva")
plt.show()
