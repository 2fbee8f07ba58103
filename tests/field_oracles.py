"""Slow, dense, obvious versions of the later consensus functions, row by row."""

import numpy as np

import oracles


def certainty(labels, theta=0.4):
    """(n_c,) ECI of every cluster, by the entropies of the other members over its rows."""
    membership, _ = oracles.indicators(labels)
    found = []
    for rows in membership.T > 0:
        uncertainty = covered = 0.0
        for column in labels[rows].T:
            known = column[column >= 0]
            if len(known) == 0:
                continue
            share = np.unique(known, return_counts=True)[1] / len(known)
            uncertainty -= len(known) / rows.sum() * np.sum(share * np.log2(share))
            covered += len(known) / rows.sum()
        found.append(np.exp(-uncertainty / (theta * covered)))
    return np.array(found)


def local_evidence(labels, weights, theta=0.4):
    """(n, n) locally weighted co-association of rows; the diagonal is that of two equal rows."""
    membership, member = oracles.indicators(labels)
    weights = weights / weights.sum()
    total = membership * (weights[member] * certainty(labels, theta)) @ membership.T
    covering = (labels >= 0) @ weights
    scale = np.sqrt(np.outer(covering, covering))
    return np.divide(total, scale, out=np.zeros_like(scale), where=scale > 0)


def embedding(links, k):
    """Eigenvalues and (n, k) unit rows of the transfer cut of the bipartite graph of rows with these links."""
    return oracles.transfer_cut_embedding(links[:, links.sum(axis=0) > 0], len(links), k)
