"""
One clustering of cells from several Leiden resolutions
=======================================================

Leiden clustering gives a different result for every resolution. An AnnData object stores each of them as a column of
``obs``. With scanpy the columns come from::

    for resolution in (0.3, 0.5, 0.8, 1.2, 2.0):
        sc.tl.leiden(adata, resolution=resolution, key_added=f"leiden_{resolution}")

This example uses a small synthetic object; AnnData is used if it is installed
(``pip install "quorate[anndata]"``).
"""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import quorate as qt

RESOLUTIONS = (0.3, 0.5, 0.8, 1.2, 2.0)
CELL_TYPES = ("B cell", "T cell", "monocyte", "NK cell", "platelet")


def synthetic_cells(n_cells=600, seed=0):
    """Return an object with `obs`: a known cell type, and communities at several resolutions, as text categories."""
    rng = np.random.default_rng(seed)
    cell_type = rng.integers(len(CELL_TYPES), size=n_cells)
    within = rng.normal(size=n_cells)
    obs = pd.DataFrame(
        {"cell_type": pd.Categorical.from_codes(cell_type, CELL_TYPES)}, index=[f"cell_{i}" for i in range(n_cells)]
    )
    for resolution in RESOLUTIONS:
        # Low resolutions join types, high ones split them, and each misplaces some cells.
        joined = np.minimum(cell_type, round(4 * min(resolution, 0.8) / 0.8) + (resolution >= 0.8))
        split = joined * 4 + np.digitize(within, np.linspace(-1, 1, round(2 * max(0.0, resolution - 0.8))))
        misplaced = rng.random(n_cells) < 0.06
        split[misplaced] = rng.permutation(split)[misplaced]
        obs[f"leiden_{resolution}"] = pd.Categorical(pd.factorize(split)[0].astype(str))
    try:
        from anndata import AnnData
    except ImportError:
        return SimpleNamespace(obs=obs)
    return AnnData(X=rng.normal(size=(n_cells, 3)).astype(np.float32), obs=obs)


def add_consensus(adata, n_clusters="auto"):
    """Combine the Leiden columns of `adata.obs` and add the consensus and its confidence."""
    resolutions = [name for name in adata.obs.columns if name.startswith("leiden_")]
    if not isinstance(adata, SimpleNamespace):
        return qt.consensus(adata, n_clusters, keys=resolutions, key_added="consensus")
    result = qt.consensus(adata.obs[resolutions], n_clusters=n_clusters)
    adata.obs["consensus"] = pd.Categorical(result.labels.astype(str))
    adata.obs["consensus_confidence"] = result.confidence
    return result


adata = synthetic_cells()
# The automatic number would follow the finer resolutions; the number of cell types is requested instead.
result = add_consensus(adata, len(CELL_TYPES))
print(f"{result.n_clusters} clusters of {len(adata.obs)} cells")
for name, trust, weight in zip(result.ensemble.names, result.trust, result.member_weights, strict=True):
    agreement = qt.evaluate(adata.obs[name], adata.obs["cell_type"]).ari
    print(f"{name:12} trust {trust:.2f}  weight {weight:.2f}  ARI with the cell types {agreement:.2f}")
print(f"{'consensus':12} ARI with the cell types {qt.evaluate(result.labels, adata.obs['cell_type']).ari:.2f}")
print(pd.crosstab(adata.obs["consensus"], adata.obs["cell_type"]))

# %%
# From the clusters of a fine resolution to the consensus.

qt.plot.flow(result, "leiden_2.0")
plt.show()
